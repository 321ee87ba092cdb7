/* SPDX-License-Identifier: MIT
 *
 * What servers know of a foreign lock, without asking its program: the record of it, by what the adapter says of that, and what it has left.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "etcd_util.h"
#include "foreign_parts.h"
#include "pg_util.h"
#include "redis_util.h"
#include "zk_util.h"

enum { NAME_BYTES = 300 };

/* The record with this text for {key}. */
static void fill(const char *record, const char *key, char buf[NAME_BYTES]) {
  const char *at = strstr(record, "{key}");
  if (!at) snprintf(buf, NAME_BYTES, "%s", record);
  else snprintf(buf, NAME_BYTES, "%.*s%s%s", (int)(at - record), record, key, at + strlen("{key}"));
}

/* ---- etcd ----------------------------------------------------------------------------------------------------- */

/* All keys that begin with `name`. */
static json_t *beginning_with(const char *name) {
  char end[NAME_BYTES];
  snprintf(end, sizeof end, "%s", name);
  if (*end) end[strlen(end) - 1]++;
  return json_pack("{s:o,s:o}", "key", etcd_text(name), "range_end", etcd_text(end));
}

/* 1, 0, -errno: whether this member has any, or what became of removing them. */
static int ask_etcd(struct lb_env *env, const struct lb_target *target, const struct lb_endpoint *at, const char *path, const char *name, lb_ns deadline) {
  struct etcd_link *link = NULL;
  json_t *body = beginning_with(name), *said = NULL;
  if (strstr(path, "range") == path + strlen("/v3/kv/")) {
    json_object_set_new(body, "serializable", json_true()); /* as this member has it */
    json_object_set_new(body, "count_only", json_true());
  }
  int result = etcd_open(env, target, at, deadline, &link);
  if (result == 0) result = etcd_call(link, path, json_incref(body), deadline, &said);
  bool any = result == LB_OK && etcd_number(said, "count") > 0;
  etcd_close(link);
  json_decref(body);
  json_decref(said);
  return result > 0 ? -ETIMEDOUT : result < 0 ? result : any;
}

/* ---- PostgreSQL ------------------------------------------------------------------------------------------------ */

/* The servers of a trial are its own: whatever advisory lock there is, is this one. */
static int ask_postgres(struct lb_env *env, const struct lb_target *target, const struct lb_endpoint *at, lb_ns deadline) {
  struct pg_conn *conn = NULL;
  PGresult *result = NULL;
  int r = pg_open(env, target, at, NULL, deadline, &conn);
  if (!r) r = pg_query(conn, deadline, &result, "SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted LIMIT 1", 0, NULL);
  if (!r) r = pg_refusal(env, result);
  if (!r) r = PQntuples(result) > 0;
  else if (r > 0) r = -ETIMEDOUT;
  PQclear(result);
  pg_close(conn);
  return r;
}

/* ---- one server ------------------------------------------------------------------------------------------------- */

static int look(struct lb_env *env, const struct lb_config *config, const char *record, size_t endpoint, lb_ns deadline) {
  const struct lb_endpoint *at = &config->target->endpoints[endpoint];
  int children = 0;
  if (strcmp(at->service, "redis") == 0) return redis_inspect(env, config->target, endpoint, record, deadline);
  if (strcmp(at->service, "etcd") == 0) return ask_etcd(env, config->target, at, "/v3/kv/range", record, deadline);
  if (strcmp(at->service, "postgres") == 0) return ask_postgres(env, config->target, at, deadline);
  if (strcmp(at->service, "zookeeper") != 0) return lb_fail(env, -EOPNOTSUPP, "nobody knows what a %s has of a foreign lock", at->service);
  int r = zk_inspect(env, config->target, endpoint, config->ttl_ms, record, deadline, &children);
  return r > 0 ? children > 0 : r;
}

typedef int at_record(struct lb_env *env, const struct lb_config *config, const char *record, size_t endpoint, lb_ns deadline);

/* Until one of the records is there. */
static int at_first(at_record *act, struct lb_env *env, const struct lb_config *config, const struct foreign_says *says, const char *key, size_t endpoint, lb_ns deadline) {
  char record[NAME_BYTES];
  int found = says->record_count ? 0 : lb_fail(env, -EOPNOTSUPP, "the adapter does not say what a server has of its lock (record=)");
  for (size_t i = 0; i < says->record_count && found == 0; i++) {
    fill(says->record[i], key, record);
    found = act(env, config, record, endpoint, deadline);
  }
  return found;
}

int foreign_inspect(struct lb_env *env, const struct lb_config *config, const struct foreign_says *says, const char *key, size_t endpoint, lb_ns deadline) {
  return at_first(look, env, config, says, key, endpoint, deadline);
}

/* ---- by hand ----------------------------------------------------------------------------------------------------- */

/* A record of ZooKeeper is the folder of a queue; that of a plain node would have no children to delete. */
static int break_record(struct lb_env *env, const struct lb_config *config, const char *record, size_t endpoint, lb_ns deadline) {
  const char *service = config->target->endpoints[endpoint].service;
  if (strcmp(service, "redis") == 0) return redis_break(env, config->target, endpoint, record, deadline);
  if (strcmp(service, "etcd") == 0) return etcd_break(env, config->target, endpoint, beginning_with(record), deadline);
  if (strcmp(service, "zookeeper") == 0) return zk_break(env, config->target, endpoint, config->ttl_ms, record, true, deadline);
  return lb_fail(env, -EOPNOTSUPP, "a %s has no record of a foreign lock that could be removed", service);
}

int foreign_break(struct lb_env *env, const struct lb_config *config, const struct foreign_says *says, const char *key, size_t endpoint, lb_ns deadline) {
  return at_first(break_record, env, config, says, key, endpoint, deadline);
}

/* ---- clean-up ---------------------------------------------------------------------------------------------------- */

static int clean_redis(struct lb_env *env, const struct lb_config *config, lb_ns deadline) {
  struct redis_link link;
  if (!config->target->sentinel_master) return redis_clean_each(env, config->target, config->prefix, deadline);
  int r = redis_link_init(&link, env, config->target);
  return r ? r : redis_link_clean(&link, config->prefix, deadline);
}

/* Below the folder of the record, what is called after the run. */
static int clean_zookeeper(struct lb_env *env, const struct lb_config *config, const char *record, lb_ns deadline) {
  char folder[NAME_BYTES], path[NAME_BYTES * 2];
  struct zk_session *zk = NULL;
  snprintf(folder, sizeof folder, "%.*s", (int)(strstr(record, "/{key}") ? strstr(record, "/{key}") - record : 0), record);
  if (!*folder) return 0;
  int r = zk_open(env, config->target->endpoints, config->target->count, config->ttl_ms, false, &zk);
  if (!r) r = zk_connect(zk, deadline);
  struct zk_call *children = r ? NULL : zk_children(zk, folder);
  int rc = children ? zk_wait(zk, children, deadline) : ZK_NO_REPLY;
  const char *name = rc == ZOK ? children->names : NULL;
  for (size_t i = 0; rc == ZOK && !r && i < children->count; i++, name += strlen(name) + 1) {
    if (!strstr(name, config->prefix)) continue;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    r = zk_remove_tree(zk, path, deadline);
  }
  zk_drop(children);
  zk_close(zk);
  return r ? r : rc == ZOK || rc == ZNONODE ? LB_OK : LB_UNKNOWN;
}

int foreign_clean(struct lb_env *env, const struct lb_config *config, const struct foreign_says *says, lb_ns deadline) {
  char begin[NAME_BYTES], record[NAME_BYTES];
  const struct lb_target *target = config->target;
  int r = 0;
  if (target->count == 0) return LB_OK;
  snprintf(begin, sizeof begin, "%s-", config->prefix);
  if (strcmp(target->endpoints[0].service, "redis") == 0) return clean_redis(env, config, deadline);
  for (size_t i = 0; i < says->record_count && r >= 0; i++) {
    fill(says->record[i], begin, record);
    if (strcmp(target->endpoints[0].service, "etcd") == 0) r = ask_etcd(env, target, &target->endpoints[0], "/v3/kv/deleterange", record, deadline);
    else if (strcmp(target->endpoints[0].service, "zookeeper") == 0) r = clean_zookeeper(env, config, says->record[i], deadline);
  }
  return r < 0 ? r : LB_OK;
}
