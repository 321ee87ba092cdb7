/* SPDX-License-Identifier: MIT
 *
 * A text that is put together piece by piece, and never longer than its memory.
 */
#include "text.h"

#include <stdarg.h>
#include <stdio.h>

void lb_text_add(struct lb_text *text, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int n = vsnprintf(text->at + text->length, text->size - text->length, format, args);
  va_end(args);
  size_t room = text->size - text->length - 1;
  if (n > 0) text->length += (size_t)n < room ? (size_t)n : room;
}
