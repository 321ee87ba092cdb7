/* SPDX-License-Identifier: MIT
 *
 * Redis: one server, or several that do not know each other.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "redis.h"

static const struct lb_setting settings[] = {LB_REDIS_SETTINGS, {0}};

/* "cmdstat_evalsha:calls=3,usec=..." in a line each. */
static int counts(struct lb_cluster *cluster, size_t index, lb_ns deadline, struct lb_counts *ret) {
  redisReply *reply = LB_REDIS_ASK(cluster, index, deadline, "INFO", "commandstats");
  if (!reply) return -EIO;
  for (const char *at = reply->str; at && (at = strstr(at, "cmdstat_")); at++) {
    char what[40], name[28];
    unsigned long long calls;
    if (sscanf(at, "cmdstat_%27[^:]:calls=%llu", name, &calls) != 2) continue;
    snprintf(what, sizeof what, "command %s", name);
    lb_counts_add(ret, what, calls);
  }
  freeReplyObject(reply);
  return 0;
}

/* Until its append-only file does not grow any more: one that syncs before it answers ends then, another one refuses. */
enum { TRIES = 8, VALUE_BYTES = 65536 };

static int need_room(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  static char value[VALUE_BYTES + 1];
  int r = 0;
  memset(value, 'x', VALUE_BYTES);
  for (int i = 0; i < TRIES && r == 0; i++)
    r = LB_REDIS_EXPECT(cluster, index, deadline, NULL, "not written", "SET", "lockbench:room", value);
  return r < 0 && strstr(cluster->env->err, "MISCONF") ? -ENOSPC : r;
}

static int launch(struct lb_cluster *cluster, size_t index) {
  return lb_redis_launch(cluster, &cluster->server[index], "redis-server");
}

static int start(struct lb_cluster *cluster, lb_ns deadline) {
  int r = 0;
  for (size_t i = 0; i < cluster->server_count && r == 0; i++)
    r = lb_redis_configure_data(cluster, &cluster->server[i], "");
  if (r == 0) r = lb_cluster_launch_all(cluster);
  return r < 0 ? r : lb_cluster_await(cluster, deadline, lb_cluster_all_answer, "every server answers");
}

/* The first server that answers, provided that a majority does. Without a majority no client gets a lock, so no server
 * decides. */
static int primary(struct lb_cluster *cluster, lb_ns deadline) {
  int first = -ENOENT;
  size_t answering = 0, enough = cluster->data_count / 2 + 1;
  for (size_t i = 0; i < cluster->data_count && answering < enough; i++) {
    if (lb_redis_ping(cluster, i, deadline) != 0) continue;
    if (answering++ == 0) first = (int)i;
  }
  return answering >= enough ? first : -ENOENT;
}

const struct lb_family lb_family_redis = {
    .name = "redis",
    .ends_by = LB_ENDS_BY_WALL,
    .needs = (const char *const[]){LB_NEED_REDIS, NULL},
    .service = "redis",
    .orders =
        {
            .ending = &lb_redis_ending,
            .fill_memory = lb_redis_fill_memory,
            .free_memory = lb_redis_free_memory,
            .end_session = lb_redis_end_session,
            .files = lb_redis_files,
            .save = lb_redis_save,
            .need_room = need_room,
            .no_room = LB_REDIS_NO_ROOM,
        },
    .settings = settings,
    .by_libc = true,
    .majority = true,
    .independent = true,
    .start = start,
    .launch = launch,
    .answers = lb_redis_ping,
    .healthy = lb_cluster_all_answer,
    .primary = primary,
    .identity = lb_redis_identity,
    .others = lb_redis_others,
    .wall_ms = lb_redis_wall_ms,
    .commits = lb_redis_commits,
    .requests = lb_redis_requests,
    .counts = counts,
    .stated = lb_redis_stated,
    .version = lb_redis_version,
};
