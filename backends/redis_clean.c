/* SPDX-License-Identifier: MIT
 *
 * For the hook teardown: removes what a run has left on Redis servers, which is every key that begins with its prefix. Redis finds those
 * only by a walk through all its keys; it answers others between two pages. What stays is in the cache of scripts, from which nothing can
 * be taken out one by one, and holds nothing of a run but its program.
 */
#include "redis_util.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CURSOR_MAX = 24 };

/* One command that has to be answered as `type`. 0, LB_UNKNOWN, -errno. */
static int call(struct redis_conn *conn, lb_ns deadline, int type, int argc, const char *const argv[], redisReply **ret) {
  int rc = redis_call(conn, deadline, ret, argc, argv, NULL);
  if (!rc) rc = redis_refusal(redis_env(conn), *ret);
  if (!rc && (*ret)->type != type) rc = lb_fail(redis_env(conn), -EPROTO, "redis answered %s in a way it never does", argv[0]);
  return rc;
}

static int delete_keys(struct redis_conn *conn, const redisReply *keys, lb_ns deadline) {
  if (keys->elements == 0) return 0;
  const char **argv = calloc(keys->elements + 1, sizeof *argv);
  redisReply *reply = NULL;
  if (!argv) return lb_fail(redis_env(conn), -ENOMEM, "no memory to delete %zu keys", keys->elements);
  argv[0] = "DEL";
  for (size_t i = 0; i < keys->elements; i++) argv[i + 1] = keys->element[i]->str;
  int rc = call(conn, deadline, REDIS_REPLY_INTEGER, (int)keys->elements + 1, argv, &reply);
  freeReplyObject(reply);
  free(argv);
  return rc;
}

/* One page of the walk, whose end is the cursor "0". */
static int remove_page(struct redis_conn *conn, const char *pattern, char cursor[CURSOR_MAX], lb_ns deadline) {
  redisReply *page = NULL;
  int rc = call(conn, deadline, REDIS_REPLY_ARRAY, 6, (const char *[]){"SCAN", cursor, "MATCH", pattern, "COUNT", "1000"}, &page);
  if (!rc && page->elements != 2) rc = lb_fail(redis_env(conn), -EPROTO, "redis answered SCAN in a way it never does");
  if (!rc) snprintf(cursor, CURSOR_MAX, "%s", page->element[0]->str);
  if (!rc) rc = delete_keys(conn, page->element[1], deadline);
  freeReplyObject(page);
  return rc;
}

int redis_remove(struct redis_conn *conn, const char *prefix, lb_ns deadline) {
  char pattern[128], cursor[CURSOR_MAX] = "0";
  snprintf(pattern, sizeof pattern, "%s-*", prefix); /* no letter of a prefix means anything in a pattern */
  int rc;
  do rc = remove_page(conn, pattern, cursor, deadline);
  while (!rc && strcmp(cursor, "0") != 0);
  return rc;
}

int redis_link_clean(struct redis_link *link, const char *prefix, lb_ns deadline) {
  struct redis_conn *conn = NULL;
  int rc = redis_link_open(link, deadline, &conn);
  if (!rc) rc = redis_remove(conn, prefix, deadline);
  redis_close(conn);
  return rc;
}

int redis_clean_each(struct lb_env *env, const struct lb_target *target, const char *prefix, lb_ns deadline) {
  char text[sizeof env->err];
  int failed = 0;
  for (size_t i = 0; i < target->count; i++) {
    if (strcmp(target->endpoints[i].service, "redis") != 0) continue;
    struct redis_link link = {.env = env, .target = target, .only = &target->endpoints[i]};
    int rc = redis_link_clean(&link, prefix, deadline);
    if (rc && !failed) failed = rc, memcpy(text, env->err, sizeof text);
  }
  if (failed) memcpy(env->err, text, sizeof text);
  return failed;
}
