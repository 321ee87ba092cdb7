/* SPDX-License-Identifier: MIT
 *
 * The real env: time from clock.c as the host's clocks show it; waiting in ppoll(2) against an absolute deadline, so
 * that neither an interrupted call nor a slow reply in many small pieces can stretch it; and the connections of this
 * process.
 *
 * A host's clock may jump or change its speed while a client sleeps until it shows a certain time. The kernel sleeps by
 * the true clock. So with such a clock every sleep is cut into slices, and the clock is read after each.
 */
#include "env.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"

enum { SLICE_MS = 50 };

static struct lb_process_env *process_env(struct lb_env *env) { return (struct lb_process_env *)env; }

lb_ns lb_env_from_truth(const struct lb_process_env *env, lb_ns true_ns) {
  return true_ns == LB_NEVER || !env->skew ? true_ns : lb_skew_mono_ns(env->skew, true_ns);
}

lb_ns lb_env_to_truth(const struct lb_process_env *env, lb_ns ns) {
  return ns == LB_NEVER || !env->skew ? ns : lb_skew_mono_true_ns(env->skew, ns);
}

static lb_ns env_now(struct lb_env *env) { return lb_env_from_truth(process_env(env), lb_clock_ns()); }

static int64_t env_wall_ms(struct lb_env *env) {
  const struct lb_skew *skew = process_env(env)->skew;
  int64_t wall_ms = lb_clock_wall_ms();
  return skew ? (int64_t)(lb_skew_wall_ns(skew, (uint64_t)wall_ms * LB_NS_PER_MS) / LB_NS_PER_MS) : wall_ms;
}

static void tell_wall(struct lb_process_env *env) {
  if (!env->told) return;
  atomic_store(&env->told->ahead_ms, env_wall_ms(&env->base) - lb_clock_wall_ms());
  atomic_fetch_add(&env->told->looks, 1);
}

/* How long to wait, in true time, before the clock has to be looked at again; 0 = it shows `deadline` or later. */
static lb_ns patience(struct lb_env *env, lb_ns deadline) {
  lb_ns true_now = lb_clock_ns(), slice = SLICE_MS * LB_NS_PER_MS;
  if (!process_env(env)->skew) return deadline > true_now ? deadline - true_now : 0;
  tell_wall(process_env(env));
  if (env->now(env) >= deadline) return 0;
  lb_ns end = lb_env_to_truth(process_env(env), deadline);
  lb_ns left = end > true_now ? end - true_now : 1; /* rounded, or the clock has just been set */
  return left > slice ? slice : left;
}

static int true_poll(struct lb_process_env *env, struct pollfd *fds, size_t count, lb_ns most) {
  struct timespec ts = {.tv_sec = (time_t)(most / LB_NS_PER_S), .tv_nsec = (long)(most % LB_NS_PER_S)};
  (void)env;
  return ppoll(fds, count, most == LB_NEVER ? NULL : &ts, NULL);
}

static void true_sleep_until(struct lb_process_env *env, lb_ns when) {
  (void)env;
  lb_clock_sleep_until(when);
}

static int env_wait_fds(struct lb_env *env, struct pollfd *fds, size_t count, lb_ns deadline) {
  for (;;) {
    lb_ns left = deadline == LB_NEVER ? LB_NEVER : patience(env, deadline);
    int n = process_env(env)->poll(process_env(env), fds, count, left);
    if (n > 0 || (n == 0 && left == 0)) return n;
    if (n < 0 && errno != EINTR) return lb_fail(env, -errno, "poll failed: %m");
  }
}

static void env_sleep_until(struct lb_env *env, lb_ns when) {
  lb_ns left;
  struct lb_process_env *p = process_env(env);
  if (!p->skew) return p->sleep_until(p, when);
  while ((left = patience(env, when)) > 0) p->sleep_until(p, lb_clock_ns() + left);
}

static void env_random(struct lb_env *env, void *buf, size_t size) { lb_rng_bytes(&process_env(env)->rng, buf, size); }

void lb_env_init(struct lb_process_env *env, uint64_t seed) {
  *env = (struct lb_process_env){
      .base = {.now = env_now,
               .wall_ms = env_wall_ms,
               .wait_fds = env_wait_fds,
               .sleep_until = env_sleep_until,
               .random = env_random},
      .rng = {seed},
      .poll = true_poll,
      .sleep_until = true_sleep_until,
  };
}

/* ---- the connections of this process ---- */

/* The numeric address and the port of the peer. False: not a connected IP socket. */
static bool peer_of(int fd, char host[INET6_ADDRSTRLEN], uint16_t *ret_port) {
  struct sockaddr_storage any;
  socklen_t size = sizeof any;
  if (getpeername(fd, (struct sockaddr *)&any, &size) < 0) return false;
  const struct sockaddr_in *four = (const struct sockaddr_in *)&any;
  const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&any;
  const void *address = any.ss_family == AF_INET    ? (const void *)&four->sin_addr
                        : any.ss_family == AF_INET6 ? (const void *)&six->sin6_addr
                                                    : NULL;
  if (!address || !inet_ntop(any.ss_family, address, host, INET6_ADDRSTRLEN)) return false;
  *ret_port = ntohs(any.ss_family == AF_INET ? four->sin_port : six->sin6_port);
  return true;
}

/* Addresses are compared as text: endpoints of a sandbox are numeric. */
static bool leads_to(int fd, const struct lb_target *target) {
  char host[INET6_ADDRSTRLEN];
  uint16_t port;
  if (!peer_of(fd, host, &port)) return false;
  for (size_t i = 0; i < target->count; i++)
    if (target->endpoints[i].port == port && strcmp(target->endpoints[i].host, host) == 0) return true;
  return false;
}

uint64_t lb_env_sockets_sum(const struct lb_target *target, uint64_t (*act)(int fd)) {
  uint64_t sum = 0;
  DIR *files = opendir("/proc/self/fd");
  if (!files) return 0;
  for (struct dirent *entry; (entry = readdir(files));) {
    int fd = atoi(entry->d_name);
    if (entry->d_name[0] != '.' && leads_to(fd, target)) sum += act(fd);
  }
  closedir(files);
  return sum;
}
