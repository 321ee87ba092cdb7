/* SPDX-License-Identifier: MIT
 *
 * The user's own Redis: alone, several that do not know each other, watched by Sentinels, or a cluster. For the last
 * two the user names one server or some, and they name the others.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/redis/redis_record.h"
#include "own.h"

enum { POLL_MS = 100 };
#define GLOB LB_OWN_PREFIX LB_OWN_DIGITS

/* A reply that is no error, or NULL with the reason in env->err and *ret_rc: -EACCES = it wants a login, or does not
 * let this one ask. */
static redisReply *ask_server(struct lb_env *env, const struct lb_endpoint *at, lb_ns deadline, int *ret_rc,
                              const char *const argv[]) {
  struct redis_conn *conn = NULL;
  redisReply *reply = NULL;
  int argc = 0, rc = redis_open(env, at, deadline, &conn);
  while (argv[argc]) argc++;
  if (!rc) rc = redis_call(conn, deadline, &reply, argc, argv, NULL);
  if (rc == LB_UNKNOWN) rc = -ETIMEDOUT;
  redis_close(conn);
  if (!rc && reply->type == REDIS_REPLY_ERROR) {
    bool login = strncmp(reply->str, "NOAUTH", 6) == 0, allowed = strncmp(reply->str, "NOPERM", 6) != 0;
    rc = lb_fail(env,
                 login     ? -EACCES
                 : allowed ? -EPROTO
                           : -EPERM,
                 "redis %s:%u: %s: %s", at->host, (unsigned)at->port, argv[0], reply->str);
    freeReplyObject(reply);
    reply = NULL;
  }
  *ret_rc = rc;
  return reply;
}
#define ASK(env, at, deadline, rc, ...) ask_server(env, at, deadline, rc, (const char *const[]){__VA_ARGS__, NULL})

/* What stands behind "name:" in the answer to INFO; "" = nothing does. */
static void field(const redisReply *info, const char *name, char *buf, size_t size) {
  const char *at = info && info->str ? strstr(info->str, name) : NULL;
  at = at ? at + strlen(name) : "";
  snprintf(buf, size, "%.*s", (int)strcspn(at, "\r\n"), at);
}

/* Version and mode. A user that may not ask for them may still lock. Valkey names a Redis too, whose clients it serves:
 * its own name comes first. */
static int ask_version(struct lb_env *env, const struct lb_endpoint *at, const char *mode, const char *other,
                       lb_ns deadline, struct lb_own_found *ret) {
  char said[32], version[32];
  int rc;
  redisReply *info = ASK(env, at, deadline, &rc, "INFO", "server");
  if (rc == -EPERM) rc = 0;
  if (rc) return rc;
  field(info, "valkey_version:", version, sizeof version);
  const char *name = version[0] ? "valkey" : "redis";
  if (!version[0]) field(info, "redis_version:", version, sizeof version);
  field(info, "server_mode:", said, sizeof said);
  if (!said[0]) field(info, "redis_mode:", said, sizeof said);
  freeReplyObject(info);
  if (said[0] && strcmp(said, mode) != 0)
    return lb_fail(env, -EINVAL, "%s %s:%u runs in mode '%s': expected '%s', %s", name, at->host, (unsigned)at->port,
                   said, mode, other);
  snprintf(ret->version, sizeof ret->version, "%s %s", name,
           version[0] ? version : "of a version that it does not tell");
  return 0;
}

/* One that follows another would refuse every write. */
static int check_master(struct lb_env *env, const struct lb_endpoint *at, lb_ns deadline) {
  int rc;
  redisReply *role = ASK(env, at, deadline, &rc, "ROLE");
  if (rc == -EPERM) return 0;
  if (!rc && (role->type != REDIS_REPLY_ARRAY || role->elements == 0 || !role->element[0]->str ||
              strcmp(role->element[0]->str, "master") != 0))
    rc = lb_fail(env, -EROFS, "redis %s:%u is no master, so nobody can lock there", at->host, (unsigned)at->port);
  if (role) freeReplyObject(role);
  return rc;
}

static int ask_redis(struct lb_env *env, const struct lb_own *own, lb_ns deadline, struct lb_own_found *ret) {
  struct lb_endpoint endpoint[LB_SERVERS_MAX];
  struct lb_target target;
  int rc = 0;
  lb_own_target(own, endpoint, &target);
  for (size_t i = 0; i < target.count && !rc; i++) {
    rc = ask_version(env, &endpoint[i], "standalone", "see --redis-cluster and --sentinel", deadline, ret);
    if (!rc) rc = check_master(env, &endpoint[i], deadline);
    if (!rc) rc = lb_own_note(env, own, ret, endpoint[i].host, endpoint[i].port);
  }
  ret->data_count = ret->count;
  return rc;
}

/* ---- Sentinel ----------------------------------------------------------------------------------- */

static struct lb_endpoint data_server(const char *host, uint16_t port) {
  const struct lb_own_login *login = lb_own_login(LB_LOGIN_REDIS);
  return (struct lb_endpoint){.service = "redis",
                              .host = host,
                              .port = port,
                              .tls = login->tls,
                              .user = login->user[0] ? login->user : NULL,
                              .password = login->password[0] ? login->password : NULL};
}

static const char *text_of(const redisReply *list, const char *name) {
  for (size_t i = 0; list->type == REDIS_REPLY_ARRAY && i + 1 < list->elements; i += 2)
    if (list->element[i]->str && strcmp(list->element[i]->str, name) == 0)
      return list->element[i + 1]->str ? list->element[i + 1]->str : "";
  return "";
}

/* The master as this Sentinel knows it, then the replicas. */
static int learn_from(struct lb_env *env, const struct lb_own *own, const struct lb_endpoint *sentinel, lb_ns deadline,
                      struct lb_own_found *ret) {
  int rc;
  redisReply *master = ASK(env, sentinel, deadline, &rc, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", own->master);
  if (rc) return rc;
  if (master->type == REDIS_REPLY_ARRAY && master->elements == 2)
    rc = lb_own_note(env, own, ret, master->element[0]->str, (uint16_t)strtoul(master->element[1]->str, NULL, 10));
  else
    rc = lb_fail(env, -ENOENT, "sentinel %s:%u watches no master '%s'", sentinel->host, (unsigned)sentinel->port,
                 own->master);
  freeReplyObject(master);
  redisReply *replicas = rc ? NULL : ASK(env, sentinel, deadline, &rc, "SENTINEL", "REPLICAS", own->master);
  for (size_t i = 0; !rc && i < replicas->elements; i++)
    rc = lb_own_note(env, own, ret, text_of(replicas->element[i], "ip"),
                     (uint16_t)strtoul(text_of(replicas->element[i], "port"), NULL, 10));
  if (replicas) freeReplyObject(replicas);
  ret->data_count = ret->count;
  ret->replicas = ret->count ? ret->count - 1 : 0;
  return rc;
}

/* In the middle of a failover a Sentinel names the new master, and lists it as a replica still. */
static bool is_changing(const struct lb_own_found *found) {
  for (size_t i = 1; i < found->count; i++)
    if (found->server[i].port == found->server[0].port && strcmp(found->server[i].host, found->server[0].host) == 0)
      return true;
  return false;
}

static int learn(struct lb_env *env, const struct lb_own *own, const struct lb_endpoint *sentinel, lb_ns deadline,
                 struct lb_own_found *ret) {
  for (;;) {
    *ret = (struct lb_own_found){0};
    int rc = learn_from(env, own, sentinel, deadline, ret);
    if (rc || !is_changing(ret)) return rc;
    if (lb_now(env) > deadline) return lb_fail(env, -EAGAIN, "the failover of '%s' does not end", own->master);
    lb_sleep_until(env, lb_now(env) + POLL_MS * LB_NS_PER_MS);
  }
}

static int ask_sentinel(struct lb_env *env, const struct lb_own *own, lb_ns deadline, struct lb_own_found *ret) {
  struct lb_endpoint endpoint[LB_SERVERS_MAX];
  struct lb_target target;
  lb_own_target(own, endpoint, &target);
  int rc = learn(env, own, &endpoint[0], deadline, ret);
  if (rc) return rc;
  struct lb_endpoint master = data_server(ret->server[0].host, ret->server[0].port);
  rc = ask_version(env, &master, "standalone", "as the Sentinels name it", deadline, ret);
  if (!rc) rc = check_master(env, &master, deadline);
  for (size_t i = 0; i < target.count && !rc; i++) {
    redisReply *pong = i > 0 ? ASK(env, &endpoint[i], deadline, &rc, "PING") : NULL;
    if (pong) freeReplyObject(pong);
    if (!rc) rc = lb_own_note(env, own, ret, endpoint[i].host, endpoint[i].port);
  }
  return rc;
}

/* ---- cluster ------------------------------------------------------------------------------------ */

/* One line of CLUSTER NODES: "ID HOST:PORT@BUS[,NAME] FLAGS ...". A server that was never told its own address leaves
 * it out: it is the one that was asked. */
static int note_node(struct lb_env *env, const struct lb_own *own, const char *line, const char *asked,
                     const char *role, struct lb_own_found *ret) {
  char address[300], flags[64];
  if (sscanf(line, "%*s %299s %63s", address, flags) != 2 || !strstr(flags, role) || strstr(flags, "fail") ||
      strstr(flags, "noaddr"))
    return 0;
  address[strcspn(address, "@,")] = '\0';
  char *colon = strrchr(address, ':');
  if (!colon) return 0;
  *colon = '\0';
  return lb_own_note(env, own, ret, address[0] ? address : asked, (uint16_t)strtoul(colon + 1, NULL, 10));
}

static int note_nodes(struct lb_env *env, const struct lb_own *own, const redisReply *nodes, const char *asked,
                      const char *role, struct lb_own_found *ret) {
  int rc = 0;
  for (const char *line = nodes->str; !rc && line && *line; line += strcspn(line, "\n"), line += *line == '\n')
    rc = note_node(env, own, line, asked, role, ret);
  return rc;
}

static int ask_cluster(struct lb_env *env, const struct lb_own *own, lb_ns deadline, struct lb_own_found *ret) {
  struct lb_endpoint endpoint[LB_SERVERS_MAX];
  struct lb_target target;
  lb_own_target(own, endpoint, &target);
  int rc = ask_version(env, &endpoint[0], "cluster", "see --redis", deadline, ret);
  redisReply *nodes = rc ? NULL : ASK(env, &endpoint[0], deadline, &rc, "CLUSTER", "NODES");
  if (rc) return rc;
  rc = note_nodes(env, own, nodes, endpoint[0].host, "master", ret);
  ret->shards = ret->count;
  if (!rc) rc = note_nodes(env, own, nodes, endpoint[0].host, "slave", ret);
  freeReplyObject(nodes);
  if (!rc && ret->shards == 0)
    rc = lb_fail(env, -ENOENT, "redis %s:%u knows of no master", endpoint[0].host, (unsigned)endpoint[0].port);
  ret->data_count = ret->count;
  ret->replicas = ret->shards ? ret->count / ret->shards - 1 : 0;
  return rc;
}

/* ---- cleaning ----------------------------------------------------------------------------------- */

static int clean(struct lb_env *env, const struct lb_own *own, lb_ns deadline) {
  struct lb_endpoint endpoint[LB_SERVERS_MAX];
  struct lb_target target;
  struct redis_link link;
  lb_own_target(own, endpoint, &target);
  if (!target.sentinel_master) return redis_record_clean_each(env, &target, GLOB, deadline);
  int rc = redis_link_init(&link, env, &target);
  return rc ? rc : redis_record_clean(&link, GLOB, deadline);
}

/* ---- the kinds ---------------------------------------------------------------------------------- */

const struct lb_own_kind lb_own_kind_redis = {
    "--redis", "own-redis", "HOST:PORT[,HOST:PORT...]", LB_LOGIN_REDIS, 6379, "redis", "redis-x3", true,
    ask_redis, clean};

const struct lb_own_kind lb_own_kind_sentinel = {
    "--sentinel", "own-sentinel", "HOST:PORT[,HOST:PORT...]=NAME", LB_LOGIN_REDIS, 26379, "sentinel", "sentinel", true,
    ask_sentinel, clean};

const struct lb_own_kind lb_own_kind_cluster = {
    "--redis-cluster", "own-cluster", "HOST:PORT[,HOST:PORT...]", LB_LOGIN_REDIS, 6379, "cluster", "cluster", true,
    ask_cluster,       clean};
