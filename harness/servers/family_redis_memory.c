/* SPDX-License-Identifier: MIT
 *
 * The memory of a Redis, filled: it may use a little more than it does, and is given keys of ours until it shows what it does then. The
 * keys have an end far away, so that they count among those with one, as locks do.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "family_redis.h"

enum { ROOM_BYTES = 1 << 20, FILLER_BYTES = 16 << 10, FILLERS_MAX = 4000, LOOK_EVERY = 25, EVICTED_ENOUGH = 400, AT_ONCE = 100 };
#define FILLER "lockbench:filler:%d"

/* "used_memory:1031240" in a line of INFO. */
static int ask_number(struct lb_cluster *cluster, size_t index, lb_ns deadline, const char *section, const char *name, long long *ret) {
  redisReply *reply = LB_REDIS_ASK(cluster, index, deadline, "INFO", section);
  const char *at = reply && reply->str ? strstr(reply->str, name) : NULL;
  if (at) *ret = atoll(at + strlen(name));
  if (reply) freeReplyObject(reply);
  return at ? 0 : -EIO;
}

static int set(struct lb_cluster *cluster, size_t index, lb_ns deadline, const char *what, const char *value) {
  return LB_REDIS_EXPECT(cluster, index, deadline, NULL, "no", "CONFIG", "SET", what, value);
}

static bool says_full(const struct lb_cluster *cluster) { return strstr(cluster->env->err, "OOM") != NULL; }

static int write_filler(struct lb_cluster *cluster, size_t index, lb_ns deadline, int number) {
  static char value[FILLER_BYTES + 1];
  char name[40];
  memset(value, 'x', FILLER_BYTES);
  snprintf(name, sizeof name, FILLER, number);
  return LB_REDIS_EXPECT(cluster, index, deadline, NULL, "not written", "SET", name, value, "PX", "3600000");
}

/* Which key goes next is drawn from a few that are looked at, so it goes on for a while. */
int lb_redis_fill_memory(struct lb_cluster *cluster, size_t index, const char *policy, lb_ns deadline, char *said, size_t size) {
  long long used = 0, before = 0, evicted = 0;
  char limit[24];
  int r = ask_number(cluster, index, deadline, "memory", "\nused_memory:", &used);
  if (r == 0) r = ask_number(cluster, index, deadline, "stats", "\nevicted_keys:", &before);
  snprintf(limit, sizeof limit, "%lld", used + ROOM_BYTES);
  if (r == 0) r = set(cluster, index, deadline, "maxmemory-policy", policy);
  if (r == 0) r = set(cluster, index, deadline, "maxmemory", limit);
  for (int i = 0; r == 0 && i < FILLERS_MAX && evicted < EVICTED_ENOUGH; i++) {
    r = write_filler(cluster, index, deadline, i);
    if (r < 0 && says_full(cluster)) return snprintf(said, size, "refuses to write: OOM"), 0;
    if (r == 0 && i % LOOK_EVERY == 0) r = ask_number(cluster, index, deadline, "stats", "\nevicted_keys:", &evicted), evicted -= before;
  }
  if (r < 0) return r;
  if (evicted <= 0) return lb_fail(cluster->env, -EIO, "%s has given up no key and refused nothing", cluster->server[index].name);
  snprintf(said, size, "has given up %lld keys", evicted);
  return 0;
}

int lb_redis_free_memory(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  char name[AT_ONCE][40];
  const char *argv[AT_ONCE + 2] = {"DEL"};
  int r = set(cluster, index, deadline, "maxmemory", "0");
  if (r == 0) r = set(cluster, index, deadline, "maxmemory-policy", "noeviction");
  for (int i = 0; r == 0 && i < FILLERS_MAX; i += AT_ONCE) {
    for (int k = 0; k < AT_ONCE; k++) snprintf(name[k], sizeof name[k], FILLER, i + k), argv[k + 1] = name[k];
    r = lb_redis_expect(cluster, index, deadline, argv, NULL, "not deleted");
  }
  return r < 0 ? r : write_filler(cluster, index, deadline, 0) < 0 ? -EIO : LB_REDIS_EXPECT(cluster, index, deadline, NULL, "not deleted", "DEL", "lockbench:filler:0");
}
