/* SPDX-License-Identifier: MIT
 *
 * The few functions of the contract that are not inline.
 */
#include "backend.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct lb_assumption lb_assumptions[] = {
    {"memory", "a server that comes back has what it had confirmed", LB_TRAIT_NEEDS_MEMORY},
    {"successor", "the new primary has what was confirmed, and the old one grants and ends nothing",
     LB_TRAIT_NEEDS_SUCCESSOR},
    {"wall-clock", "the wall clock of a server that counts a lease does not jump", LB_TRAIT_SERVER_CLOCK},
    {"rate", "the clocks that count a lease run at nearly the rate of the holder's", LB_TRAIT_NEEDS_RATE},
    {"client-clock", "the wall clocks of all clients agree and do not jump", LB_TRAIT_CLIENT_CLOCK},
    {"stops", "a holder touches nothing when its lease or session may be over", LB_TRAIT_LEASED | LB_TRAIT_SESSION},
    {NULL, NULL, 0},
};

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

static const struct lb_option poll_option = {
    "poll_ms", LB_OPT_INT, 0, 0, 60000, "how long a refused client pauses before its next try; 0 = as `retry` says"};

static size_t table_size(const struct lb_protocol *protocol) {
  size_t count = 0;
  while (protocol->options && protocol->options[count].name) count++;
  return count;
}

static const struct lb_option *find_in_table(const struct lb_protocol *protocol, const char *name) {
  for (const struct lb_option *o = protocol->options; o && o->name; o++)
    if (strcmp(o->name, name) == 0) return o;
  return NULL;
}

/* Whether its waiters ask again and again, as far as its options allow. */
static bool may_poll(const struct lb_protocol *protocol) {
  if (protocol->traits & (LB_TRAIT_FLOOR | LB_TRAIT_FOREIGN | LB_TRAIT_WAITS_INSIDE)) return false;
  if (protocol->wait && !find_in_table(protocol, "wake")) return false;
  return !find_in_table(protocol, poll_option.name);
}

const struct lb_option *lb_option_at(const struct lb_protocol *protocol, size_t i) {
  size_t count = table_size(protocol);
  if (i < count) return &protocol->options[i];
  return i == count && may_poll(protocol) ? &poll_option : NULL;
}

const struct lb_option *lb_option_find(const struct lb_protocol *protocol, const char *name) {
  const struct lb_option *o;
  for (size_t i = 0; (o = lb_option_at(protocol, i)); i++)
    if (strcmp(o->name, name) == 0) return o;
  return NULL;
}

size_t lb_option_index(const struct lb_protocol *protocol, const struct lb_option *option) {
  return option == &poll_option ? table_size(protocol) : (size_t)(option - protocol->options);
}

/* The value of an option of this type. NULL: there is none. */
static const union lb_value *value_of(const struct lb_protocol *protocol, const union lb_value *options,
                                      const char *name, enum lb_option_type type, const struct lb_option **ret) {
  const struct lb_option *o = lb_option_find(protocol, name);
  *ret = o && o->type == type ? o : NULL;
  return *ret && options ? &options[lb_option_index(protocol, o)] : NULL;
}

bool lb_wakes(const struct lb_protocol *protocol, const union lb_value *options) {
  const struct lb_option *option;
  const union lb_value *value = value_of(protocol, options, "wake", LB_OPT_BOOL, &option);
  return protocol->wait && (!option || (value && value->b));
}

bool lb_waits_inside(const struct lb_protocol *protocol, const union lb_value *options) {
  const struct lb_option *option;
  const union lb_value *value = value_of(protocol, options, "wait", LB_OPT_CHOICE, &option);
  return protocol->traits & LB_TRAIT_WAITS_INSIDE || (value && strcmp(option->words[value->i], "block") == 0);
}

bool lb_believes_late(const struct lb_protocol *protocol, const union lb_value *options) {
  const struct lb_option *option;
  const union lb_value *value = value_of(protocol, options, "check_validity", LB_OPT_BOOL, &option);
  return value && !value->b;
}

bool lb_counts_by_wall(const struct lb_protocol *protocol, const union lb_value *options) {
  const struct lb_option *option;
  const union lb_value *value = value_of(protocol, options, "clock", LB_OPT_CHOICE, &option);
  return value && strcmp(option->words[value->i], "wall") == 0;
}

int64_t lb_poll_ms(const struct lb_protocol *protocol, const union lb_value *options) {
  const struct lb_option *option;
  const union lb_value *value = value_of(protocol, options, poll_option.name, LB_OPT_INT, &option);
  return value && value->i > 0 ? value->i : protocol->poll_ms;
}

lb_ns lb_renewed_for(const struct lb_protocol *protocol, const union lb_value *options) {
  const struct lb_option *option;
  const union lb_value *value = value_of(protocol, options, "renewed_for_ms", LB_OPT_INT, &option);
  return value && value->i > 0 ? (lb_ns)value->i * LB_NS_PER_MS : 0;
}
