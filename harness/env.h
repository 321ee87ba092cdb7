/* SPDX-License-Identifier: MIT
 *
 * env.h - the world as a client process sees it: real clocks, poll(2), a seeded random stream.
 * One per client (or controller) process; belongs to one thread.
 */
#ifndef LB_ENV_H
#define LB_ENV_H

#include "../backends/backend.h"
#include "rng.h"

struct lb_process_env {
  struct lb_env base; /* hand &x.base to a protocol */
  struct lb_rng rng;
};

/* Real time, real poll; random bytes from `seed`. Needs no release. */
void lb_env_init(struct lb_process_env *env, uint64_t seed);

#endif
