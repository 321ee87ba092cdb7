/* SPDX-License-Identifier: MIT
 *
 * env.h - the world as a client process sees it: the clocks of its host, poll(2), a seeded random stream. One per
 * client (or controller) process; belongs to one thread. Also the connections of this process.
 */
#ifndef LB_ENV_H
#define LB_ENV_H

#include <stdatomic.h>

#include "backends/backend.h"
#include "base/rng.h"
#include "preload/skew.h"

/* In shared memory: how far the wall clock of an env is ahead of the true one, told each time the env looks at it. With
 * clocks that can be set that is at least every 50 ms of a wait, so the clock of a busy client can be seen. */
struct lb_wall_told {
  _Atomic int64_t ahead_ms;
  _Atomic uint32_t looks; /* so far; counted after ahead_ms was written */
};

struct lb_process_env {
  struct lb_env base; /* hand &x.base to a protocol */
  struct lb_rng rng;
  const struct lb_skew *skew; /* its host's clocks, NULL = true ones; the owner sets it after lb_env_init() */
  struct lb_wall_told *told;  /* NULL = it tells no one; the owner sets it likewise */
  /* How it blocks, in true time: ppoll(2) and a sleep, unless a driver whose clients take turns sets others. poll: for
   * at most `most` (LB_NEVER = for ever); > 0, 0 or -1 with errno. */
  int (*poll)(struct lb_process_env *env, struct pollfd *fds, size_t count, lb_ns most);
  void (*sleep_until)(struct lb_process_env *env, lb_ns when);
};

/* True clocks, real poll; random bytes from `seed`. Needs no release. */
void lb_env_init(struct lb_process_env *env, uint64_t seed);
/* What this env's monotonic clock reads when the true one reads `true_ns`, and the other way; LB_NEVER stays. Deadlines
 * from outside and histories are true time, a protocol sees this env's time. */
lb_ns lb_env_from_truth(const struct lb_process_env *env, lb_ns true_ns);
lb_ns lb_env_to_truth(const struct lb_process_env *env, lb_ns ns);

/* What act(fd) says of each connection of this process to a server, summed up. They are found among its open files by
 * the address of their peer, whichever library opened them. */
uint64_t lb_env_sockets_sum(const struct lb_target *target, uint64_t (*act)(int fd));

#endif
