/* SPDX-License-Identifier: MIT
 *
 * What an operator orders a Redis to do: to close the connections of a client, and to save what it has.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "family_redis.h"

enum { CONNECTIONS_MAX = 16, POLL_MS = 5 };

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

static bool share_one(const struct list *a, const struct list *b) {
  for (size_t i = 0; i < a->count; i++)
    for (size_t k = 0; k < b->count; k++)
      if (a->id[i] == b->id[k]) return true;
  return false;
}

/* A client may connect again meanwhile: that is another connection. One that has closed itself is as good as killed. */
int lb_redis_end_session(struct lb_cluster *cluster, size_t index, const char *client, uint64_t id, lb_ns deadline,
                         char *said, size_t size) {
  struct list had, has;
  char number[24];
  (void)id;
  int r = list(cluster, index, client, deadline, &had);
  if (r == 0 && had.count == 0)
    return lb_fail(cluster->env, -ENOENT, "%s has no connection of that client", cluster->server[index].name);
  for (size_t i = 0; r == 0 && i < had.count; i++) {
    snprintf(number, sizeof number, "%llu", had.id[i]);
    LB_REDIS_EXPECT(cluster, index, deadline, NULL, "not killed", "CLIENT", "KILL", "ID", number);
  }
  while (r == 0 && (r = list(cluster, index, client, deadline, &has)) == 0 && share_one(&had, &has)) {
    if (lb_now(cluster->env) >= deadline)
      return lb_fail(cluster->env, -ETIMEDOUT, "%s still has a connection of that client", cluster->server[index].name);
    lb_sleep_until(cluster->env, lb_now(cluster->env) + POLL_MS * LB_NS_PER_MS);
  }
  if (r == 0) snprintf(said, size, "has closed %zu connection%s", had.count, had.count == 1 ? "" : "s");
  return r;
}

/* Of one that keeps a file of appends the dump is only what a replica was sent. */
const char *const lb_redis_files[] = {"dump.rdb", "appendonlydir", NULL};

int lb_redis_save(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  return LB_REDIS_EXPECT(cluster, index, deadline, NULL, "not saved", "SAVE");
}
