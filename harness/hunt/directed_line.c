/* SPDX-License-Identifier: MIT
 *
 * A line of a directed timeline. What is to be waited for before it becomes a line of its own, and only then: at the end nobody waits.
 */
#include <stdarg.h>

#include "directed_parts.h"

void lb_directed_step(struct lb_directed_writer *w, const char *format, ...) {
  va_list args;
  if (w->wait_ms > 0) fprintf(w->file, "step = wait %lldms\n", w->wait_ms);
  w->wait_ms = 0;
  va_start(args, format);
  fputs("step = ", w->file);
  vfprintf(w->file, format, args);
  fputc('\n', w->file);
  va_end(args);
}
