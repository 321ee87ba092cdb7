/* SPDX-License-Identifier: MIT
 *
 * The few functions of the contract that are not inline.
 */
#include "backend.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int lb_fail(struct lb_env *env, int negative_errno, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(env->err, sizeof env->err, format, args);
  va_end(args);
  return negative_errno;
}

lb_ns lb_lease_end(lb_ns asked_at, int64_t ttl_ms) {
  lb_ns ttl = (lb_ns)ttl_ms * LB_NS_PER_MS, drift = ttl / 100 + 2 * LB_NS_PER_MS;
  return asked_at + (ttl > drift ? ttl - drift : 0);
}

int lb_lease_extended(struct lb_grant *grant, int result, lb_ns end) {
  if (result == LB_OK || (result == LB_UNKNOWN && end < grant->valid_until)) grant->valid_until = end;
  return result;
}

bool lb_wakes(const struct lb_protocol *protocol, const union lb_value *options) {
  for (size_t i = 0; protocol->options && protocol->options[i].name; i++)
    if (strcmp(protocol->options[i].name, "wake") == 0) return protocol->wait && options && options[i].b;
  return protocol->wait;
}
