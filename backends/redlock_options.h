/* SPDX-License-Identifier: MIT
 *
 * redlock_options.h - where implementations of Redlock differ: how long a client that was granted may believe it, when it asks again,
 * and how it goes through the servers.
 */
#ifndef LB_REDLOCK_OPTIONS_H
#define LB_REDLOCK_OPTIONS_H

#include "redis_fanout.h"

/* The first one's place is fixed: tests and benchmarks set it. */
enum {
  REDLOCK_NODE_TIMEOUT,
  REDLOCK_FANOUT,
  REDLOCK_DRIFT,
  REDLOCK_DRIFT_MS,
  REDLOCK_MIN_VALIDITY,
  REDLOCK_CHECK_VALIDITY,
  REDLOCK_CLOCK,
  REDLOCK_TRIES,
  REDLOCK_RETRY,
  REDLOCK_RETRY_MS,
  REDLOCK_EXTENSIONS_MAX,
  REDLOCK_KEEP_FAILED,
  REDLOCK_RELEASE,
  REDLOCK_OPTION_COUNT,
};
extern const struct lb_option redlock_options[REDLOCK_OPTION_COUNT + 1];

struct redlock_options {
  lb_ns node_timeout;
  enum redis_fanout_way way;
  double drift;
  lb_ns drift_ns, min_validity;
  bool check_validity, by_wall, fixed_retry, keep_failed, where_granted;
  int64_t tries, extensions_max; /* extensions_max: 0 = as many as it likes */
  lb_ns retry;
};

void redlock_options_read(struct redlock_options *ret, const union lb_value *values);

/* When a lease was asked for, on both clocks. */
struct redlock_since {
  lb_ns mono;
  int64_t wall_ms;
};

/* `asked_at`: on the monotonic clock, now or earlier. */
struct redlock_since redlock_since(const struct redlock_options *options, struct lb_env *env, lb_ns asked_at);
/* Until when the client believes in a lease that was asked for then, by the clock that it goes by, as it finds it now. */
lb_ns redlock_lease_end(const struct redlock_options *options, struct lb_env *env, struct redlock_since since, int64_t ttl_ms);
/* Whether a majority is enough for a grant that ends then. */
bool redlock_is_valid(const struct redlock_options *options, struct lb_env *env, lb_ns end);
/* Between two tries. False: the deadline does not leave the time for it. */
bool redlock_rest(const struct redlock_options *options, struct lb_env *env, lb_ns deadline);

#endif
