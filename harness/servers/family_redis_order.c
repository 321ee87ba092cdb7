/* SPDX-License-Identifier: MIT
 *
 * What an operator orders a Redis to do: to close the connections of a client, and to save what it has.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "family_redis.h"

enum { CONNECTIONS_MAX = 16, POLL_MS = 5, LAST_MS = 1000 /* for the last answer behind the deadline */ };

struct list {
  unsigned long long id[CONNECTIONS_MAX];
  size_t count;
};

/* "id=7 addr=10.0.0.3:41234 ..." in a line each. */
static int list(struct lb_cluster *cluster, size_t index, const char *client, lb_ns deadline, struct list *ret) {
  redisReply *reply = LB_REDIS_ASK(cluster, index, deadline, "CLIENT", "LIST");
  char begin[80];
  if (!reply) return -EIO;
  snprintf(begin, sizeof begin, " addr=%s:", client);
  ret->count = 0;
  for (const char *line = reply->str; line && *line && ret->count < CONNECTIONS_MAX;
       line += strcspn(line, "\n"), line += *line == '\n') {
    const char *at = strstr(line, begin);
    if (at && at < line + strcspn(line, "\n") && sscanf(line, "id=%llu", &ret->id[ret->count]) == 1) ret->count++;
  }
  freeReplyObject(reply);
  return 0;
}

static bool has(const struct list *list, unsigned long long id) {
  for (size_t i = 0; i < list->count; i++)
    if (list->id[i] == id) return true;
  return false;
}

/* Those of `had` that are there still are told to go. How many. */
static size_t kill_again(struct lb_cluster *cluster, size_t index, const struct list *had, const struct list *now, lb_ns deadline) {
  char number[24];
  size_t left = 0;
  for (size_t i = 0; i < had->count; i++) {
    if (!has(now, had->id[i])) continue;
    left++;
    snprintf(number, sizeof number, "%llu", had->id[i]);
    LB_REDIS_EXPECT(cluster, index, deadline, NULL, "not killed", "CLIENT", "KILL", "ID", number);
  }
  return left;
}

/* On a busy machine a question may come to nothing, so it is asked again. A connection that the client makes meanwhile is another one. */
int lb_redis_end_session(struct lb_cluster *cluster, size_t index, const char *client, uint64_t id, lb_ns deadline, char *said, size_t size) {
  struct list had = {.count = 0}, now;
  const char *name = cluster->server[index].name;
  bool known = false;
  (void)id;
  for (; lb_now(cluster->env) < deadline; lb_sleep_until(cluster->env, lb_now(cluster->env) + POLL_MS * LB_NS_PER_MS)) {
    if (list(cluster, index, client, deadline, &now) < 0) continue;
    if (!known) had = now, known = true;
    if (had.count == 0) return lb_fail(cluster->env, -ENOENT, "%s has no connection of that client", name);
    if (kill_again(cluster, index, &had, &now, deadline) == 0) return snprintf(said, size, "has closed %zu connection%s", had.count, had.count == 1 ? "" : "s"), 0;
  }
  return lb_fail(cluster->env, -ETIMEDOUT, known ? "%s still has a connection of that client" : "%s does not list its connections", name);
}

/* Of one that keeps a file of appends the dump is only what a replica was sent. */
const char *const lb_redis_files[] = {"dump.rdb", "appendonlydir", NULL};

int lb_redis_save(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  return LB_REDIS_EXPECT(cluster, index, deadline, NULL, "not saved", "SAVE");
}
