/* SPDX-License-Identifier: MIT */
#include "error.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

int lb_error_va(struct lb_error *err, int code, const char *format, va_list args) {
  if (!err) return code;
  char text[sizeof err->text];
  vsnprintf(text, sizeof text, format, args);
  memcpy(err->text, text, strlen(text) + 1);
  return err->code = code;
}

int lb_error(struct lb_error *err, int code, const char *format, ...) {
  va_list args;
  va_start(args, format);
  lb_error_va(err, code, format, args);
  va_end(args);
  return code;
}

int lb_refuse(struct lb_error *err, const char *format, ...) {
  va_list args;
  va_start(args, format);
  lb_error_va(err, -EINVAL, format, args);
  va_end(args);
  return -EINVAL;
}

int lb_error_prefix(struct lb_error *err, const char *format, ...) {
  char text[sizeof err->text];
  va_list args;
  va_start(args, format);
  int n = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (n >= 0 && (size_t)n < sizeof text) snprintf(text + n, sizeof text - (size_t)n, "%s", err->text);
  memcpy(err->text, text, strlen(text) + 1);
  return err->code;
}
