/* SPDX-License-Identifier: MIT
 *
 * The user's own etcd. What a run makes are keys on leases, so nothing outlives it for long; cleaning only is quicker.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "backends/etcd/etcd.h"
#include "own.h"

/* What no client would miss an answer of, and no member executes twice. */
static int call_once(struct lb_env *env, struct etcd_link *link, const char *path, json_t *body, lb_ns deadline,
                     json_t **ret) {
  int rc = etcd_call(link, path, body, deadline, ret);
  if (rc > 0) rc = -ETIMEDOUT;
  if (rc == -EPROTO && strstr(env->err, "user name is empty")) rc = -EACCES;
  return rc;
}

static json_t *all_keys(void) {
  return json_pack("{s:o,s:o}", "key", etcd_text(LB_OWN_PREFIX), "range_end", etcd_text("lockbench;"));
}

static int ask_version(struct lb_env *env, struct etcd_link *link, lb_ns deadline, struct lb_own_found *ret) {
  json_t *said = NULL;
  int rc = call_once(env, link, "/version", NULL, deadline, &said);
  const char *version = json_string_value(json_object_get(said, "etcdserver"));
  if (!rc)
    snprintf(ret->version, sizeof ret->version, "etcd %s", version ? version : "of a version that it does not tell");
  json_decref(said);
  return rc;
}

/* A shorter lease is made longer without a word, but the answer says so. */
static int ask_least_ttl(struct lb_env *env, struct etcd_link *link, lb_ns deadline, struct lb_own_found *ret) {
  json_t *said = NULL;
  char id[24];
  int rc = call_once(env, link, "/v3/lease/grant", json_pack("{s:i}", "TTL", 1), deadline, &said);
  if (rc) return rc;
  ret->least_ttl_ms = (int64_t)etcd_number(said, "TTL") * 1000;
  snprintf(id, sizeof id, "%" PRIu64, etcd_number(said, "ID"));
  json_decref(said);
  rc = call_once(env, link, "/v3/lease/revoke", json_pack("{s:s}", "ID", id), deadline, &said);
  json_decref(said);
  return rc;
}

/* Whether the user may read what is to be locked. */
static int try_range(struct lb_env *env, struct etcd_link *link, lb_ns deadline) {
  json_t *body = all_keys(), *said = NULL;
  json_object_set_new(body, "count_only", json_true());
  int rc = call_once(env, link, "/v3/kv/range", body, deadline, &said);
  json_decref(said);
  return rc;
}

static int ask_all(struct lb_env *env, const struct lb_own *own, lb_ns deadline, struct lb_own_found *ret) {
  struct lb_endpoint endpoint[LB_SERVERS_MAX];
  struct lb_target target;
  int rc = 0;
  lb_own_target(own, endpoint, &target);
  for (size_t i = 0; i < target.count && !rc; i++) {
    struct etcd_link *link = NULL;
    rc = etcd_open(env, &target, &endpoint[i], deadline, &link);
    if (!rc) rc = ask_version(env, link, deadline, ret);
    if (!rc) rc = try_range(env, link, deadline);
    if (!rc && i == 0) rc = ask_least_ttl(env, link, deadline, ret);
    etcd_close(link);
    if (!rc) rc = lb_own_note(env, own, ret, endpoint[i].host, endpoint[i].port);
  }
  ret->data_count = ret->count;
  return rc;
}

enum { RUN_LENGTH = sizeof LB_OWN_PREFIX - 1 + 8, KEY_BYTES = 1000 };

/* All keys that begin as this one. */
static int remove_run(struct lb_env *env, struct etcd_link *link, const char *key, lb_ns deadline) {
  char begin[RUN_LENGTH + 1], end[RUN_LENGTH + 1];
  json_t *said = NULL;
  snprintf(begin, sizeof begin, "%.*s", RUN_LENGTH, key);
  memcpy(end, begin, sizeof end);
  end[RUN_LENGTH - 1]++;
  json_t *range = json_pack("{s:o,s:o}", "key", etcd_text(begin), "range_end", etcd_text(end));
  int rc = call_once(env, link, "/v3/kv/deleterange", range, deadline, &said);
  json_decref(said);
  return rc;
}

/* The keys of a run stand side by side. */
static int remove_runs(struct lb_env *env, struct etcd_link *link, const json_t *keys, lb_ns deadline) {
  char key[KEY_BYTES], last[RUN_LENGTH + 1] = "";
  const json_t *one;
  size_t i;
  int rc = 0;
  json_array_foreach(keys, i, one) {
    if (rc || etcd_read_text(json_object_get(one, "key"), key, sizeof key) < 0) continue;
    if (!lb_own_names_run(key + strlen(LB_OWN_PREFIX)) || strncmp(key, last, RUN_LENGTH) == 0) continue;
    snprintf(last, sizeof last, "%.*s", RUN_LENGTH, key);
    rc = remove_run(env, link, key, deadline);
  }
  return rc;
}

static int clean(struct lb_env *env, const struct lb_own *own, lb_ns deadline) {
  struct lb_endpoint endpoint[LB_SERVERS_MAX];
  struct lb_target target;
  struct etcd_link *link = NULL;
  json_t *body = all_keys(), *said = NULL;
  json_object_set_new(body, "keys_only", json_true());
  lb_own_target(own, endpoint, &target);
  int rc = etcd_open(env, &target, &endpoint[0], deadline, &link);
  if (!rc) rc = call_once(env, link, "/v3/kv/range", json_incref(body), deadline, &said);
  if (!rc) rc = remove_runs(env, link, json_object_get(said, "kvs"), deadline);
  json_decref(body);
  json_decref(said);
  etcd_close(link);
  return rc;
}

const struct lb_own_kind lb_own_kind_etcd = {
    "--etcd", "own-etcd", "HOST:PORT[,HOST:PORT...]", LB_LOGIN_ETCD, 2379, "etcd", "etcd-x3", false, ask_all, clean};
