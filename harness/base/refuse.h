/* SPDX-License-Identifier: MIT
 *
 * refuse.h - how bad input is refused: one line for the user, -EINVAL for the caller.
 */
#ifndef LB_REFUSE_H
#define LB_REFUSE_H

#include <stddef.h>

/* Puts a printf text into err and returns -EINVAL. */
int lb_refuse(char *err, size_t err_size, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
