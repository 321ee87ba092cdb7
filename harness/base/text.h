/* SPDX-License-Identifier: MIT
 *
 * text.h - a text that is put together piece by piece in memory of the caller's.
 */
#ifndef LB_TEXT_H
#define LB_TEXT_H

#include <stddef.h>

/* Begins as {memory, its size (at least 1), 0}; the memory then has to hold "". */
struct lb_text {
  char *at;
  size_t size, length;
};
/* Appends, as printf does; what does not fit is cut off. */
void lb_text_add(struct lb_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
