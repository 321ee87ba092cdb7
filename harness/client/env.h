/* SPDX-License-Identifier: MIT
 *
 * env.h - the world as a client process sees it: the clocks of its host, poll(2), a seeded random
 * stream. One per client (or controller) process; belongs to one thread.
 */
#ifndef LB_ENV_H
#define LB_ENV_H

#include <stdatomic.h>

#include "backends/backend.h"
#include "base/rng.h"
#include "servers/skew.h"

/* How far the wall clock of an env is ahead of the true one, told each time it looks at it while it waits, which with clocks that can be
 * set is at least every 50 ms: so the clock of a client that is busy can be seen. In shared memory. */
struct lb_wall_told {
  _Atomic int64_t ahead_ms;
  _Atomic uint32_t looks; /* so far; counted after ahead_ms was written */
};

struct lb_process_env {
  struct lb_env base; /* hand &x.base to a protocol */
  struct lb_rng rng;
  const struct lb_skew *skew; /* its host's clocks, NULL = true ones; the owner sets it after lb_env_init() */
  struct lb_wall_told *told;  /* NULL = to nobody; likewise */
};

/* True clocks, real poll; random bytes from `seed`. Needs no release. */
void lb_env_init(struct lb_process_env *env, uint64_t seed);
/* What this env's monotonic clock reads when the true one reads `true_ns`, and the other way;
 * LB_NEVER stays LB_NEVER. Deadlines that come from outside are true time, history is true time, a
 * protocol sees this env's time. */
lb_ns lb_env_from_truth(const struct lb_process_env *env, lb_ns true_ns);
lb_ns lb_env_to_truth(const struct lb_process_env *env, lb_ns ns);

#endif
