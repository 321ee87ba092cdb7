/* SPDX-License-Identifier: MIT
 *
 * Waiting for servers: until they answer, until they are well, or until one of them has ended.
 */
#include "cluster.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ASK_MS 200
#define ASK_OWN_MS 1000 /* they may be far away, and want a login */
#define POLL_MS 10

lb_ns lb_cluster_ask_until(struct lb_cluster *cluster, lb_ns deadline) {
  lb_ns soon = lb_now(cluster->env) + (cluster->topology->own ? ASK_OWN_MS : ASK_MS) * LB_NS_PER_MS;
  return soon < deadline ? soon : deadline;
}

/* A server that has ended will never be ready: waiting for the deadline would hide its own last
 * words, which usually name the cause. */
static int check_all_alive(struct lb_cluster *cluster) {
  int r = 0;
  for (size_t i = 0; i < cluster->server_count && r == 0; i++)
    if (cluster->server[i].proc.pid != 0)
      r = lb_server_check_alive(cluster, &cluster->server[i]); /* 0 = its turn to start has not come */
  return r;
}

void lb_cluster_doze(const struct lb_cluster *cluster) {
  int poll_ms = cluster->topology->family->poll_ms;
  lb_sleep_until(cluster->env, lb_now(cluster->env) + (lb_ns)(poll_ms > 0 ? poll_ms : POLL_MS) * LB_NS_PER_MS);
}

/* Once: which server is silent, or what is not so although all answer. The wait goes on, for many are only slow. */
static void tell_slow(struct lb_cluster *cluster, lb_ns begin, lb_ns deadline, const char *what) {
  struct lb_slow *slow = cluster->slow;
  size_t i = 0;
  if (!slow || atomic_load(&slow->said) || lb_now(cluster->env) < begin + LB_SLOW_S * LB_NS_PER_S) return;
  while (i < cluster->server_count &&
         cluster->topology->family->answers(cluster, i, lb_cluster_ask_until(cluster, deadline)) == 0)
    i++;
  int most_s = (int)((deadline - begin + LB_NS_PER_S / 2) / LB_NS_PER_S);
  if (i < cluster->server_count)
    snprintf(slow->line, sizeof slow->line, "%s has not answered for %d s (log: %s), waiting up to %d s",
             cluster->server[i].name, LB_SLOW_S, cluster->server[i].log, most_s);
  else
    snprintf(slow->line, sizeof slow->line, "%s: for %d s not yet: %s (logs: %.*s), waiting up to %d s",
             cluster->topology->name, LB_SLOW_S, what,
             (int)(strrchr(cluster->server[0].log, '/') - cluster->server[0].log), cluster->server[0].log, most_s);
  atomic_store(&slow->said, true);
}

int lb_cluster_await(struct lb_cluster *cluster, lb_ns deadline,
                     int (*ready)(struct lb_cluster *cluster, lb_ns deadline), const char *what) {
  struct lb_env *env = cluster->env;
  lb_ns begin = lb_now(env);
  for (;;) {
    int r = check_all_alive(cluster);
    if (r < 0) return r;
    env->err[0] = '\0';
    r = ready(cluster, deadline);
    if (r == 0) return 0;
    if (r == -ESTALE) return lb_error(&cluster->err, r, "%s: never: %s; %s", cluster->topology->name, what, env->err);
    if (lb_now(env) >= deadline)
      return lb_error(&cluster->err, -ETIMEDOUT, "%s: not in time: %s; last seen: %s", cluster->topology->name, what,
                      env->err);
    tell_slow(cluster, begin, deadline, what);
    lb_cluster_doze(cluster);
  }
}

int lb_cluster_all_answer(struct lb_cluster *cluster, lb_ns deadline) {
  int r = 0;
  for (size_t i = 0; i < cluster->server_count && r == 0; i++)
    r = cluster->topology->family->answers(cluster, i, deadline);
  return r;
}

/* ---- health -----------------------------------------------------------------------------------
 *
 * A connection that lost packets waits longer and longer before it sends them again, up to two minutes, also when the
 * cut is over. Each is read from /proc/PID/net/tcp of a server: the kernel shows there those of its host, with the
 * number of times that each has sent the same again without an answer. */

/* States and timers of /proc/net/tcp. */
enum { ESTABLISHED = 1, SYN_SENT = 2, SYN_RECV = 3, CLOSE_WAIT = 8 };
enum { TIMER_AGAIN = 1, TIMER_WINDOW = 4 };

static bool is_server(const struct lb_cluster *cluster, unsigned address) {
  for (size_t i = 0; i < cluster->server_count; i++)
    if (inet_addr(cluster->server[i].host->address) == address) return true;
  return false;
}

/* "  1: 0100600A:1F90 0200600A:9C40 01 00000000:00000000 01:00000014 00000003 ...": addresses, state, queues, timer,
 * how often it was sent again. */
static bool is_restless(const struct lb_cluster *cluster, const char *line) {
  unsigned to, state, timer, again;
  if (sscanf(line, " %*u: %*8x:%*x %8x:%*x %x %*x:%*x %x:%*x %x", &to, &state, &timer, &again) != 4 ||
      !is_server(cluster, to))
    return false;
  if (state == SYN_SENT || state == SYN_RECV) return true;
  return (state == ESTABLISHED || state == CLOSE_WAIT) && again > 0 && (timer == TIMER_AGAIN || timer == TIMER_WINDOW);
}

/* Whether no connection of this server to another one (or the beginning of one) waits to send again. Servers on one
 * loopback lose nothing. */
static bool is_at_rest(const struct lb_cluster *cluster, size_t index) {
  const struct lb_server *server = &cluster->server[index];
  char path[64], line[300];
  bool restless = false;
  if (server->host->netns < 0) return true;
  snprintf(path, sizeof path, "/proc/%d/net/tcp", (int)server->proc.pid);
  FILE *in = fopen(path, "re");
  if (!in) return false;
  while (!restless && fgets(line, sizeof line, in)) restless = is_restless(cluster, line);
  fclose(in);
  return !restless;
}

/* Between servers at rest, too: what was cut or late a moment ago would be slow for a while. Looked at behind their
 * answers, which may still have come late. */
static const char *restless(struct lb_cluster *cluster) {
  for (size_t i = 0; i < cluster->server_count; i++)
    if (!is_at_rest(cluster, i)) return cluster->server[i].name;
  return NULL;
}

static int well(struct lb_cluster *cluster, lb_ns deadline) {
  int r = cluster->topology->family->healthy(cluster, deadline);
  const char *who = r == 0 ? restless(cluster) : NULL; /* the kernel walks all its connections to say so */
  return who ? lb_fail(cluster->env, -EAGAIN, "%s still sends again to another server what was lost", who) : r;
}

int lb_cluster_await_health(struct lb_cluster *cluster, lb_ns deadline) {
  if (!cluster->topology->family->healthy)
    return lb_error(&cluster->err, -EOPNOTSUPP, "topology %s cannot be asked whether it is well",
                    cluster->topology->name);
  for (size_t i = 0; i < cluster->server_count; i++)
    if (cluster->server[i].proc.pid <= 0) return lb_error(&cluster->err, -ESRCH, "%s is dead", cluster->server[i].name);
  return lb_cluster_await(cluster, deadline, well, "all servers are well");
}
