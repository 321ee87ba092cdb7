/* SPDX-License-Identifier: MIT
 *
 * One line of why, and -EINVAL.
 */
#include "refuse.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int lb_refuse(char *err, size_t err_size, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(err, err_size, format, args);
  va_end(args);
  return -EINVAL;
}
