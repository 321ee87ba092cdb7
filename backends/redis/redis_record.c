/* SPDX-License-Identifier: MIT
 *
 * A run leaves every key whose name has its prefix in it: the counters of keys have a brace in front, and a foreign
 * library a word of its own. Redis finds those only by a walk through all its keys; it answers others between two
 * pages. What stays is in the cache of scripts, from which nothing can be taken out one by one, and holds nothing of a
 * run but its program.
 *
 * No server of a cluster refuses that walk: not a replica, and not one that knows of no majority. So it also tells
 * whether a server has a key.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis_record.h"

enum { PATTERN_MAX = 300 };

struct walk { /* through the keys that fit a pattern */
  struct redis_conn *conn;
  lb_ns deadline;
  char pattern[PATTERN_MAX]; /* no letter of a key or a prefix means anything in it */
  char cursor[24];           /* "0" = the begin and the end */
};

/* One command that has to be answered as `type`. 0, LB_UNKNOWN, -errno. */
static int call(struct redis_conn *conn, lb_ns deadline, int type, int argc, const char *const argv[],
                redisReply **ret) {
  int rc = redis_call(conn, deadline, ret, argc, argv, NULL);
  if (!rc) rc = redis_refusal(redis_env(conn), *ret);
  if (!rc && (*ret)->type != type)
    rc = lb_fail(redis_env(conn), -EPROTO, "redis answered %s in a way it never does", argv[0]);
  return rc;
}

static int begin_walk(struct walk *walk, struct redis_conn *conn, lb_ns deadline, const char *before, const char *name,
                      const char *after) {
  *walk = (struct walk){.conn = conn, .deadline = deadline, .cursor = "0"};
  int length = snprintf(walk->pattern, PATTERN_MAX, "%s%s%s", before, name, after);
  return length < PATTERN_MAX ? 0 : lb_fail(redis_env(conn), -ENAMETOOLONG, "a name too long to look for");
}

/* One page. *ret holds the keys as its second element and is the caller's, also after an error. */
static int next_page(struct walk *walk, redisReply **ret) {
  const char *const argv[] = {"SCAN", walk->cursor, "MATCH", walk->pattern, "COUNT", "1000"};
  int rc = call(walk->conn, walk->deadline, REDIS_REPLY_ARRAY, 6, argv, ret);
  if (!rc && (*ret)->elements != 2)
    rc = lb_fail(redis_env(walk->conn), -EPROTO, "redis answered SCAN in a way it never does");
  if (!rc) snprintf(walk->cursor, sizeof walk->cursor, "%s", (*ret)->element[0]->str);
  return rc;
}

static bool ended(const struct walk *walk) { return strcmp(walk->cursor, "0") == 0; }

/* 1, 0, -errno. */
static int has_key(struct redis_conn *conn, const char *key, lb_ns deadline) {
  struct walk walk;
  size_t found = 0;
  int rc = begin_walk(&walk, conn, deadline, "", key, "");
  while (!rc) {
    redisReply *page = NULL;
    rc = next_page(&walk, &page);
    if (!rc) found += page->element[1]->elements;
    freeReplyObject(page);
    if (found || ended(&walk)) break;
  }
  return rc ? rc : found > 0;
}

/* ---- removal ------------------------------------------------------------------------------------------ */

/* At most `at_once` keys with a command: in a cluster the keys of one command must have one slot. */
static int delete_keys(const struct walk *walk, const redisReply *keys, size_t at_once) {
  int rc = 0;
  const char **argv = calloc(at_once + 1, sizeof *argv);
  if (!argv) return lb_fail(redis_env(walk->conn), -ENOMEM, "no memory to delete %zu keys", keys->elements);
  argv[0] = "DEL";
  for (size_t done = 0, count; done < keys->elements && !rc; done += count) {
    redisReply *reply = NULL;
    count = keys->elements - done < at_once ? keys->elements - done : at_once;
    for (size_t i = 0; i < count; i++) argv[i + 1] = keys->element[done + i]->str;
    rc = call(walk->conn, walk->deadline, REDIS_REPLY_INTEGER, (int)count + 1, argv, &reply);
    freeReplyObject(reply);
  }
  free(argv);
  return rc;
}

static int remove_all(struct redis_conn *conn, const char *before, const char *prefix, size_t at_once, lb_ns deadline) {
  struct walk walk;
  int rc = begin_walk(&walk, conn, deadline, before, prefix, "-*");
  while (!rc) {
    redisReply *page = NULL;
    rc = next_page(&walk, &page);
    if (!rc) rc = delete_keys(&walk, page->element[1], at_once);
    freeReplyObject(page);
    if (ended(&walk)) break;
  }
  return rc;
}

/* Libraries put words of their own before the prefix of a run, which no other run has. A pattern of many prefixes may
 * fit more than those, so there a key has to begin with it. */
static int remove_run(struct redis_conn *conn, const char *prefix, bool is_cluster, lb_ns deadline) {
  const size_t at_once = is_cluster ? 1 : 1000;
  if (!strchr(prefix, '[')) return remove_all(conn, "*", prefix, at_once, deadline);
  int rc = remove_all(conn, "", prefix, at_once, deadline);
  return rc ? rc : remove_all(conn, "{", prefix, at_once, deadline);
}

/* A replica of a cluster is cleaned by its master. */
static int clean_server(struct lb_env *env, const struct lb_target *target, const struct lb_endpoint *at,
                        const char *prefix, lb_ns deadline) {
  struct redis_conn *conn = NULL;
  int rc = redis_open(env, at, deadline, &conn);
  int other = !rc && target->shards ? redis_link_check_master(conn, deadline) : 0;
  if (!rc && other != -EROFS) rc = other ? other : remove_run(conn, prefix, target->shards > 0, deadline);
  redis_close(conn);
  return rc;
}

int redis_record_clean(struct redis_link *link, const char *prefix, lb_ns deadline) {
  struct redis_conn *conn = NULL;
  if (link->target->shards) return redis_record_clean_each(link->env, link->target, prefix, deadline);
  int rc = redis_link_open(link, NULL, deadline, &conn);
  if (!rc) rc = remove_run(conn, prefix, false, deadline);
  redis_close(conn);
  return rc;
}

int redis_record_clean_each(struct lb_env *env, const struct lb_target *target, const char *prefix, lb_ns deadline) {
  char text[sizeof env->err];
  int failed = 0;
  for (size_t i = 0; i < target->count; i++) {
    if (strcmp(target->endpoints[i].service, "redis") != 0) continue;
    int rc = clean_server(env, target, &target->endpoints[i], prefix, deadline);
    if (rc && !failed) failed = rc, memcpy(text, env->err, sizeof text);
  }
  if (failed) memcpy(env->err, text, sizeof text);
  return failed;
}

/* ---- what one server knows of a key by itself, and to remove that by hand ------------------------------------- */

/* What EXISTS or DEL counts: 1, 0 or -errno. Of a DEL a replica refuses, and so does a server of a cluster that does
 * not decide for the key. */
static int count(struct redis_conn *conn, const char *command, const char *key, lb_ns deadline) {
  redisReply *reply = NULL;
  int rc = redis_callf(conn, deadline, &reply, "%s %s", command, key);
  if (!rc) rc = redis_refusal(redis_env(conn), reply);
  if (!rc) rc = reply->integer > 0;
  freeReplyObject(reply);
  return rc;
}

static int open_at(struct lb_env *env, const struct lb_target *target, size_t endpoint, lb_ns deadline,
                   struct redis_conn **ret) {
  if (endpoint >= target->count || strcmp(target->endpoints[endpoint].service, "redis"))
    return lb_fail(env, -EINVAL, "endpoint %zu is not a redis server", endpoint);
  return redis_open(env, &target->endpoints[endpoint], deadline, ret);
}

/* A server of a cluster answers EXISTS only for what it decides, and only while the whole is up: there it is looked
 * through. */
int redis_record_inspect(struct lb_env *env, const struct lb_target *target, size_t endpoint, const char *key,
                         lb_ns deadline) {
  struct redis_conn *conn = NULL;
  int rc = open_at(env, target, endpoint, deadline, &conn);
  if (!rc) rc = target->shards ? has_key(conn, key, deadline) : count(conn, "EXISTS", key, deadline);
  redis_close(conn);
  return rc == LB_UNKNOWN ? -ETIMEDOUT : rc;
}

int redis_record_break(struct lb_env *env, const struct lb_target *target, size_t endpoint, const char *key,
                       lb_ns deadline) {
  struct redis_conn *conn = NULL;
  int rc = open_at(env, target, endpoint, deadline, &conn);
  if (!rc) rc = count(conn, "DEL", key, deadline);
  redis_close(conn);
  return rc == LB_UNKNOWN ? lb_fail(env, -ETIMEDOUT, "no answer to DEL in time") : rc;
}

/* ---- of a foreign lock --------------------------------------------------------------------------------------- */

static int inspect(const struct lb_record_at *at, const char *record) {
  return redis_record_inspect(at->env, at->config->target, at->endpoint, record, at->deadline);
}

static int remove_key(const struct lb_record_at *at, const char *record) {
  return redis_record_break(at->env, at->config->target, at->endpoint, record, at->deadline);
}

static int clean_run(const struct lb_record_at *at) {
  const struct lb_config *config = at->config;
  struct redis_link link;
  if (!config->target->sentinel_master)
    return redis_record_clean_each(at->env, config->target, config->prefix, at->deadline);
  int r = redis_link_init(&link, at->env, config->target);
  return r ? r : redis_record_clean(&link, config->prefix, at->deadline);
}

const struct lb_record_hooks redis_record_hooks = {
    .service = "redis", .inspect = inspect, .remove = remove_key, .clean_run = clean_run};
