/* SPDX-License-Identifier: MIT
 *
 * error.h - why something failed: one line for the user, a code for the caller. Every function that may fail for more
 * than one reason takes an error last; after a failure it holds both.
 */
#ifndef LB_ERROR_H
#define LB_ERROR_H

#include <stdarg.h>

struct lb_error {
  int code; /* -errno */
  char text[1200];
};

/* Puts a printf text and the code into err (NULL: the caller wants no text), returns the code. The arguments may point
 * into the text that err holds. */
int lb_error(struct lb_error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
int lb_error_va(struct lb_error *err, int code, const char *format, va_list args) __attribute__((format(printf, 3, 0)));
/* The same with -EINVAL: bad input. */
int lb_refuse(struct lb_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Puts a printf text before the text of err, returns its code. */
int lb_error_prefix(struct lb_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
