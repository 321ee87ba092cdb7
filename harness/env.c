/* SPDX-License-Identifier: MIT
 *
 * The real env: time from clock.c, waiting in ppoll(2) against an absolute deadline, so that neither an interrupted
 * call nor a slow reply in many small pieces can stretch it.
 */
#include "env.h"

#include <errno.h>
#include <poll.h>

#include "clock.h"

static lb_ns env_now(struct lb_env *env) {
  (void)env;
  return lb_clock_ns();
}

static int64_t env_wall_ms(struct lb_env *env) {
  (void)env;
  return lb_clock_wall_ms();
}

static int env_wait_fds(struct lb_env *env, struct pollfd *fds, size_t count, lb_ns deadline) {
  for (;;) {
    lb_ns now = env->now(env), left = deadline > now ? deadline - now : 0;
    struct timespec ts = {.tv_sec = (time_t)(left / LB_NS_PER_S), .tv_nsec = (long)(left % LB_NS_PER_S)};
    int n = ppoll(fds, count, deadline == LB_NEVER ? NULL : &ts, NULL);
    if (n >= 0) return n;
    if (errno != EINTR) return lb_fail(env, -errno, "poll failed: %m");
  }
}

static void env_sleep_until(struct lb_env *env, lb_ns when) {
  (void)env;
  lb_clock_sleep_until(when);
}

static void env_random(struct lb_env *env, void *buf, size_t size) {
  lb_rng_bytes(&((struct lb_process_env *)env)->rng, buf, size);
}

void lb_env_init(struct lb_process_env *env, uint64_t seed) {
  *env = (struct lb_process_env){
      .base = {.now = env_now,
               .wall_ms = env_wall_ms,
               .wait_fds = env_wait_fds,
               .sleep_until = env_sleep_until,
               .random = env_random},
      .rng = {seed},
  };
}
