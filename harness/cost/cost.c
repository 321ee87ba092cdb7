/* SPDX-License-Identifier: MIT
 *
 * One process in a sandbox starts the servers and is both clients, one after the other: what is asked of it between two
 * looks at the counters is what they moved by. A look asks servers, which they count as well; how much that is was
 * measured before, by two looks with nothing in between.
 */
#include "cost.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/need.h"
#include "base/process.h"
#include "client/env.h"
#include "network/sandbox.h"
#include "servers/disk.h"
#include "servers/stand.h"

/* SETTLE_MS: what a server still does when the client has its answer, as the others of a majority do, belongs to that
 * call. */
enum { TTL_MS = 30000, CALL_MS = 5000, WARM = 10, AGAIN = 100, SETTLE_MS = 2, LIMIT_S = 240, SHARED_BYTES = 1 << 16 };

struct shared { /* with the tool */
  int result;
  struct lb_error err;
  struct lb_cost cost;
  _Alignas(64) unsigned char table[SHARED_BYTES]; /* lb_target.shared */
};

struct person { /* a client */
  struct lb_process_env env;
  struct lb_config config;
  struct lb_session *session;
};

static struct {
  const struct lb_cost_plan *plan;
  struct shared *shared;
  struct lb_stand stand;
  struct lb_process_env env;
  struct person a, b;
  char prefix[40], key[60];
  uint64_t trips, sent_before;
  struct lb_counts of_a_look;
  bool asked_twice; /* a server did not answer a look at once: the counts of what lies around it are not exact */
} c;                /* of one process */

/* ---- counters ------------------------------------------------------------------------------------------ */

static struct tcp_info info_of(int fd) {
  struct tcp_info info = {0};
  socklen_t size = sizeof info;
  getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size);
  return info;
}
static uint64_t bytes_sent(int fd) { return info_of(fd).tcpi_bytes_sent; }
static uint64_t bytes_received(int fd) { return info_of(fd).tcpi_bytes_received; }

static int (*real_wait)(struct lb_env *env, struct pollfd *fds, size_t count, lb_ns deadline);

/* A round trip is an answer after something was sent: those to requests that left together, to one server or to five,
 * are one. */
static int counting_wait(struct lb_env *env, struct pollfd *fds, size_t count, lb_ns deadline) {
  int n = real_wait(env, fds, count, deadline);
  bool came = false;
  for (size_t i = 0; n > 0 && i < count; i++) came |= (fds[i].revents & POLLIN) != 0;
  if (!came) return n;
  uint64_t sent = lb_env_sockets_sum(&c.stand.target, bytes_sent);
  c.trips += sent != c.sent_before;
  c.sent_before = sent;
  return n;
}

static lb_ns soon(void) { return lb_clock_ns() + CALL_MS * LB_NS_PER_MS; }

/* One number of the cluster, if it has it. */
static bool read_count(int (*hook)(struct lb_cluster *cluster, lb_ns deadline, uint64_t *ret), const char *what,
                       struct lb_counts *ret) {
  uint64_t n;
  int r = hook(&c.stand.cluster, soon(), &n);
  if (r == 0) lb_counts_add(ret, what, n);
  return r == 0 || r == -EOPNOTSUPP;
}

static bool try_look(struct lb_counts *ret, struct lb_error *err) {
  struct lb_cluster *cluster = &c.stand.cluster;
  const struct lb_family *family = cluster->topology->family;
  *ret = (struct lb_counts){0};
  lb_clock_sleep_until(lb_clock_ns() + SETTLE_MS * LB_NS_PER_MS);
  lb_counts_add(ret, "round trips", c.trips);
  lb_counts_add(ret, "bytes sent", lb_env_sockets_sum(&c.stand.target, bytes_sent));
  lb_counts_add(ret, "bytes received", lb_env_sockets_sum(&c.stand.target, bytes_received));
  if (!read_count(lb_cluster_requests, "requests", ret) || !read_count(lb_cluster_commits, "writes committed", ret))
    return lb_refuse(err, "%s", c.env.base.err), false;
  for (size_t i = 0; family->counts && i < cluster->data_count; i++)
    if (family->counts(cluster, i, soon(), ret) < 0) return lb_refuse(err, "%s", c.env.base.err), false;
  for (size_t i = 0; c.shared->cost.disk_counts && i < cluster->server_count; i++)
    lb_disk_counts(&c.stand.cluster.server[i], ret);
  return true;
}

/* A server that has much to do may not answer within the short time that a question is given. */
static bool look(struct lb_counts *ret, struct lb_error *err) {
  for (int i = 0; i < 20; i++) {
    if (try_look(ret, err)) return true;
    c.asked_twice = true;
  }
  return false;
}

/* Adds what lies between two looks, less what a look is. */
static void charge(enum lb_cost_column column, const struct lb_counts *before, const struct lb_counts *after) {
  for (size_t i = 0; i < after->size; i++) {
    const char *what = after->count[i].what;
    uint64_t moved = after->count[i].n - lb_counts_of(before, what), asked = lb_counts_of(&c.of_a_look, what);
    lb_counts_add(&c.shared->cost.sum[column], what, moved > asked ? moved - asked : 0);
  }
}

/* What a look itself adds to the counters. A server may also do something of its own meanwhile, so the least of several
 * looks counts. */
static bool look_at_looks(struct lb_error *err) {
  struct lb_counts before, after;
  c.of_a_look = (struct lb_counts){0};
  for (int i = 0; i < 5; i++) {
    if (!look(&before, err) || !look(&after, err)) return false;
    for (size_t k = 0; k < after.size; k++) {
      uint64_t moved = after.count[k].n - lb_counts_of(&before, after.count[k].what),
               least = lb_counts_of(&c.of_a_look, after.count[k].what);
      if (i == 0) lb_counts_add(&c.of_a_look, after.count[k].what, moved);
      else if (moved < least) lb_counts_add(&c.of_a_look, after.count[k].what, moved - least); /* wraps: less */
    }
  }
  return true;
}

/* ---- clients ------------------------------------------------------------------------------------------- */

static struct lb_lock lock(void) { return (struct lb_lock){.key = c.key, .ttl_ms = TTL_MS}; }

static int fail(const struct person *p, const char *hook, int wanted, int got, struct lb_error *err) {
  static const char *const words[] = {"OK", "BUSY", "TIMEOUT", "LOST", "UNKNOWN", "UNCONFIRMED"};
  lb_refuse(err, "expected %s from %s, got %s%s%s", words[wanted], hook, got < 0 ? strerror(-got) : words[got],
            got < 0 ? ": " : "", got < 0 ? p->env.base.err : "");
  return got < 0 ? got : -EPROTO;
}

static int begin(struct person *p, const char *name, struct lb_error *err) {
  const struct lb_protocol *protocol = c.plan->protocol;
  lb_env_init(&p->env, lb_clock_ns());
  real_wait = p->env.base.wait_fds;
  p->env.base.wait_fds = counting_wait;
  p->config = (struct lb_config){.env = &p->env.base,
                                 .target = &c.stand.target,
                                 .options = c.plan->options,
                                 .ttl_ms = TTL_MS,
                                 .client = name,
                                 .protocol = protocol,
                                 .prefix = c.prefix};
  p->session = lb_need(calloc(1, protocol->session_size));
  int r = protocol->open(p->session, &p->config, soon());
  return r == 0 ? 0 : fail(p, "open", LB_OK, r, err);
}

static void end(struct person *p) {
  if (p->session) c.plan->protocol->close(p->session);
  free(p->session);
}

static int acquire(struct person *p, struct lb_grant *grant) {
  struct lb_lock l = lock();
  *grant = LB_GRANT_INIT;
  return c.plan->protocol->try_acquire(p->session, &l, grant, soon());
}

static int release(struct person *p, struct lb_grant *grant) {
  struct lb_lock l = lock();
  return c.plan->protocol->release(p->session, &l, grant, soon());
}

/* A refused attempt, and leaving the queue where it has a place in one. LB_BUSY; LB_OK: it was granted, and has been
 * released. */
static int be_refused(struct person *p) {
  struct lb_grant grant;
  int r = acquire(p, &grant);
  if (r == LB_OK || (r == LB_BUSY && c.plan->protocol->traits & LB_TRAIT_QUEUES)) {
    int left = release(p, &grant);
    if (left != LB_OK && left != LB_LOST) return left;
  }
  return r;
}

/* ---- counting ------------------------------------------------------------------------------------------ */

/* One cycle. 1: it was to be counted, and could not be. */
static int cycle(bool counted, struct lb_error *err) {
  struct lb_counts before, between, after;
  struct lb_grant grant;
  c.asked_twice = false;
  if (counted && !look(&before, err)) return -EIO;
  int r = acquire(&c.a, &grant);
  if (r != LB_OK) return fail(&c.a, "try_acquire", LB_OK, r, err);
  if (counted && !look(&between, err)) return -EIO;
  if ((r = release(&c.a, &grant)) != LB_OK) return fail(&c.a, "release", LB_OK, r, err);
  if (!counted) return 0;
  if (!look(&after, err)) return -EIO;
  if (c.asked_twice) return 1;
  charge(LB_COST_ACQUIRE, &before, &between);
  charge(LB_COST_RELEASE, &between, &after);
  return 0;
}

static int count_alone(struct lb_error *err) {
  int r = 0;
  for (int i = 0; r == 0 && i < WARM; i++) r = cycle(false, err);
  if (r == 0 && !look_at_looks(err)) r = -EIO;
  for (int i = 0, left = AGAIN; r == 0 && i < c.plan->times; i++) {
    if ((r = cycle(true, err)) <= 0) continue;
    if (left-- == 0) return lb_error(err, -ETIMEDOUT, "the servers answer too slowly to be counted");
    r = 0, i--;
  }
  return r;
}

static int count_refused(struct lb_error *err) {
  struct lb_counts before, after;
  struct lb_grant held;
  int r = acquire(&c.a, &held);
  if (r != LB_OK) return fail(&c.a, "try_acquire", LB_OK, r, err);
  if ((r = begin(&c.b, "second", err)) < 0) return r;
  for (int i = -WARM, left = AGAIN; i < c.plan->times; i++) {
    c.asked_twice = false;
    if (i >= 0 && !look(&before, err)) return -EIO;
    r = be_refused(&c.b);
    if (r == LB_OK && i == -WARM) return c.shared->cost.refuses = false, 0;
    if (r != LB_BUSY) return fail(&c.b, "try_acquire", LB_BUSY, r, err);
    if (i >= 0 && !look(&after, err)) return -EIO;
    if (i >= 0 && !c.asked_twice) charge(LB_COST_REFUSED, &before, &after);
    else if (i >= 0 && left-- == 0) return lb_error(err, -ETIMEDOUT, "the servers answer too slowly to be counted");
    else if (i >= 0) i--;
  }
  r = release(&c.a, &held);
  return r == LB_OK ? 0 : fail(&c.a, "release", LB_OK, r, err);
}

static int control(struct lb_error *err) {
  const struct lb_cost_plan *plan = c.plan;
  struct lb_cost *cost = &c.shared->cost;
  struct lb_counts none = {0};
  lb_process_forget_environ();
  lb_env_init(&c.env, 1);
  snprintf(c.prefix, sizeof c.prefix, "cost-%08llx", (unsigned long long)(lb_clock_wall_ns() >> 10 & 0xffffffff));
  snprintf(c.key, sizeof c.key, "%s-1", c.prefix);
  c.stand.on_disk = lb_topology_on_disk(plan->topology, false);
  c.stand.ttl_ms = TTL_MS;
  c.stand.watch_disk = true;
  c.stand.measured = true;
  snprintf(c.stand.folder, sizeof c.stand.folder, "%s/scratch", plan->dir->partial);
  int r = lb_stand_up(&c.stand, plan->topology, &c.env.base, err);
  if (r < 0) return r;
  c.stand.target.shared = c.shared->table, c.stand.target.shared_size = sizeof c.shared->table;
  cost->has_servers = c.stand.cluster.server_count > 0;
  cost->disk_counts = cost->has_servers;
  for (size_t i = 0; i < c.stand.cluster.server_count; i++)
    cost->disk_counts &= lb_disk_counts(&c.stand.cluster.server[i], &none);
  cost->times = plan->times, cost->refuses = true;
  r = begin(&c.a, "first", err);
  if (r == 0 && plan->protocol->setup && (r = plan->protocol->setup(c.a.session, soon())) != LB_OK)
    r = fail(&c.a, "setup", LB_OK, r, err);
  if (r == 0) r = count_alone(err);
  if (r == 0) r = count_refused(err);
  end(&c.b), end(&c.a);
  return r;
}

/* ---- the tool ------------------------------------------------------------------------------------------ */

int lb_cost_count(const struct lb_cost_plan *plan, struct lb_cost *ret, struct lb_error *err) {
  struct shared *shared = lb_need_shared(sizeof *shared);
  shared->result = -ECHILD;
  lb_refuse(&shared->err, "the process of the clients died");
  fflush(NULL); /* or both processes would write it */
  pid_t pid = lb_sandbox_fork(plan->dir->alive, plan->dir->guard_pipe);
  if (pid == 0) {
    c.plan = plan, c.shared = shared;
    int r = control(&shared->err);
    lb_stand_down(&c.stand);
    shared->result = r;
    _exit(0);
  }
  int r = pid, status;
  if (pid < 0) lb_refuse(err, "no process: %s", strerror(-pid));
  else if (!lb_process_await(pid, lb_clock_ns() + LIMIT_S * LB_NS_PER_S, &status))
    r = lb_error(err, -ETIMEDOUT, "it did not end within %d s", LIMIT_S);
  else r = shared->result, *err = shared->err;
  *ret = shared->cost;
  munmap(shared, sizeof *shared);
  return r < 0 ? r : 0;
}
