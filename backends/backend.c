/* SPDX-License-Identifier: MIT */
#include "backend.h"

#include <stdarg.h>
#include <stdio.h>

int lb_fail(struct lb_env *env, int negative_errno, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(env->err, sizeof env->err, format, args);
  va_end(args);
  return negative_errno;
}
