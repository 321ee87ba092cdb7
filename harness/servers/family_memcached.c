/* SPDX-License-Identifier: MIT
 *
 * memcached: one server, which keeps everything in memory, and gives up the oldest when that is full.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/memcached/mc.h"
#include "base/text.h"
#include "binary.h"
#include "cluster.h"

#define NEED_MEMCACHED "memcached or /usr/bin/memcached"

static const struct lb_setting settings[] = {
    {.name = "--conn-limit=", .stock = "1024", .faults = "1024", .place = LB_SETTING_PROGRAM},
    {.name = "--threads=", .stock = "4", .faults = "1", .place = LB_SETTING_PROGRAM},
    {0},
};
enum { OPTIONS_MAX = sizeof settings / sizeof *settings };

static int launch(struct lb_cluster *cluster, size_t index) {
  struct lb_server *server = &cluster->server[index];
  char port[16], texts[OPTIONS_MAX][LB_SETTING_TEXT_MAX];
  snprintf(port, sizeof port, "%u", (unsigned)server->port);
  const char *const fixed[] = {"-l", server->host->address, "-p", port, "-U", "0", NULL};
  const char *argv[1 + OPTIONS_MAX + sizeof fixed / sizeof *fixed] = {NEED_MEMCACHED};
  size_t count = 1 + lb_setting_options(cluster, settings, texts, argv + 1, OPTIONS_MAX);
  memcpy(argv + count, fixed, sizeof fixed);
  return lb_server_start(cluster, server, argv, NULL, true); /* it refuses uid 0, too */
}

static int open_at(struct lb_cluster *cluster, size_t index, lb_ns deadline, struct mc_conn *ret) {
  struct lb_target target;
  *ret = (struct mc_conn){.fd = -1};
  return mc_open(ret, cluster->env, lb_cluster_endpoint(cluster, index, &target), deadline);
}

static int answers(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  struct mc_conn conn;
  struct mc_reply reply;
  lb_ns until = lb_cluster_ask_until(cluster, deadline);
  int r = open_at(cluster, index, until, &conn);
  if (r == 0) r = mc_call(&conn, until, "mn\r\n", &reply);
  mc_close(&conn);
  return r > 0 ? -ETIMEDOUT : r;
}

/* Both count the same ticks, so their difference is exact. */
static int identity(struct lb_cluster *cluster, size_t index, lb_ns deadline, char *ret, size_t size) {
  struct mc_conn conn;
  uint64_t now = 0, uptime = 0, again = 0, pid = 0;
  lb_ns until = lb_cluster_ask_until(cluster, deadline);
  int r = open_at(cluster, index, until, &conn);
  do {
    if (r == 0) r = mc_stat(&conn, "time", until, &now);
    if (r == 0) r = mc_stat(&conn, "uptime", until, &uptime);
    if (r == 0) r = mc_stat(&conn, "time", until, &again);
  } while (r == 0 && again != now);
  if (r == 0) r = mc_stat(&conn, "pid", until, &pid);
  mc_close(&conn);
  if (r == 0)
    snprintf(ret, size, "process %llu started at %llu", (unsigned long long)pid, (unsigned long long)(now - uptime));
  return r > 0 ? -ETIMEDOUT : r;
}

static int start(struct lb_cluster *cluster, lb_ns deadline) {
  int r = lb_cluster_launch_all(cluster);
  return r < 0 ? r : lb_cluster_await(cluster, deadline, lb_cluster_all_answer, "the server answers");
}

static int primary(struct lb_cluster *cluster, lb_ns deadline) {
  return answers(cluster, 0, deadline) == 0 ? 0 : -ENOENT;
}

/* ---- full memory: keys of our own are written until some are given up ----
 *
 * memcached keeps keys of about one size together, in pages that stay with that size. So the large ones take the pages
 * that are left, and each of the small sizes, one of which is that of a lock, then has to give up its oldest. */

enum { LIMIT_MB = 8, STOCK_MB = 64, AT_ONCE = 50, VALUE_MAX = 8000 };
static const struct {
  int bytes, count;
} fillers[] = {{VALUE_MAX, 1200}, {10, 15000}, {35, 12000}, {65, 10000}, {105, 8000}, {150, 7000}};
#define FILLER "lockbench:filler:%d:%05d"

static int limit(struct mc_conn *conn, lb_ns deadline, int mb) {
  struct mc_reply reply;
  char text[40];
  snprintf(text, sizeof text, "cache_memlimit %d\r\n", mb);
  int r = mc_call(conn, deadline, text, &reply);
  if (r) return r < 0 ? r : -ETIMEDOUT;
  return strcmp(reply.line, "OK") == 0 ? 0 : lb_fail(conn->env, -EPROTO, "memcached: %s", reply.line);
}

/* Writes, or deletes, AT_ONCE of one size. A request that goes well is not answered; the last, which asks nothing, is. */
static int fill_some(struct mc_conn *conn, lb_ns deadline, size_t size, int from, bool write) {
  static char text[AT_ONCE * (VALUE_MAX + 80) + 1], value[VALUE_MAX + 1];
  struct lb_text add = {text, sizeof text, 0};
  struct mc_reply reply;
  memset(value, 'x', VALUE_MAX);
  text[0] = '\0';
  int bytes = fillers[size].bytes, count = bytes > 1000 ? 1 : AT_ONCE; /* no more than a connection takes at once */
  for (int i = from; i < from + count && write; i++)
    lb_text_add(&add, "ms " FILLER " %d T3600 q\r\n%.*s\r\n", bytes, i, bytes, bytes, value);
  for (int i = from; i < from + count && !write; i++) lb_text_add(&add, "md " FILLER " q\r\n", bytes, i);
  lb_text_add(&add, "mn\r\n");
  int r = mc_call(conn, deadline, text, &reply);
  if (r) return r < 0 ? r : -ETIMEDOUT;
  return strcmp(reply.line, "MN") == 0 ? count : lb_fail(conn->env, -EPROTO, "memcached: %s", reply.line);
}

static int fill(struct mc_conn *conn, lb_ns deadline, bool write) {
  for (size_t size = 0; size < sizeof fillers / sizeof *fillers; size++)
    for (int i = 0; i < fillers[size].count;) {
      int r = fill_some(conn, deadline, size, i, write);
      if (r < 0) return r;
      i += r;
    }
  return 0;
}

static int fill_memory(struct lb_cluster *cluster, size_t index, const char *policy, lb_ns deadline, char *said,
                       size_t size) {
  struct mc_conn conn;
  uint64_t before = 0, evicted = 0;
  (void)policy; /* the one it is started with */
  int r = open_at(cluster, index, deadline, &conn);
  if (r == 0) r = mc_stat(&conn, "evictions", deadline, &before);
  if (r == 0) r = limit(&conn, deadline, LIMIT_MB);
  if (r == 0) r = fill(&conn, deadline, true);
  if (r == 0) r = mc_stat(&conn, "evictions", deadline, &evicted);
  mc_close(&conn);
  if (r == 0 && evicted == before)
    return lb_fail(cluster->env, -EIO, "%s has given up no key", cluster->server[index].name);
  snprintf(said, size, "has given up %llu keys", (unsigned long long)(evicted - before));
  return r;
}

static int free_memory(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  struct mc_conn conn;
  int r = open_at(cluster, index, deadline, &conn);
  if (r == 0) r = limit(&conn, deadline, STOCK_MB);
  if (r == 0) r = fill(&conn, deadline, false);
  mc_close(&conn);
  return r;
}

static int version(const struct lb_origin *origin, char *buf, size_t size) {
  char said[100], number[40];
  int r = lb_binary_output(origin, (const char *const[]){NEED_MEMCACHED, "--version", NULL}, NULL, said, sizeof said);
  if (r < 0) return r;
  if (sscanf(said, "memcached %39s", number) != 1) return -EPROTO;
  return snprintf(buf, size, "memcached %s", number), 0;
}

static const struct lb_ending ending = {.signal = SIGTERM};

const struct lb_family lb_family_memcached = {
    .name = "memcached",
    .ends_by = LB_ENDS_BY_MONOTONIC,
    .needs = (const char *const[]){NEED_MEMCACHED, NULL},
    .service = "memcached",
    .orders =
        {
            .ending = &ending,
            .fill_memory = fill_memory,
            .free_memory = free_memory,
            .policy = "allkeys-lru",
        },
    .settings = settings,
    .start = start,
    .launch = launch,
    .answers = answers,
    .healthy = lb_cluster_all_answer,
    .primary = primary,
    .identity = identity,
    .version = version,
};
