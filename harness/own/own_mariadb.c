/* SPDX-License-Identifier: MIT
 *
 * The user's own MariaDB: one server, or a primary and its replicas. What a run makes is one database of its name.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "backends/mariadb/maria.h"
#include "own.h"

/* One statement over a connection of its own. 0, or -errno with env->err. */
static int say(struct lb_env *env, const struct lb_target *target, const struct lb_endpoint *at, lb_ns deadline,
               const char *sql, struct sql_answer *ret) {
  struct sql_primary asker = {.server = &maria_server, .env = env, .target = target};
  *ret = (struct sql_answer){0};
  int r = maria_server.connect(&asker, at, deadline);
  if (r == 0) r = maria_server.run(&asker, deadline, &(struct sql_stmt){sql, 0}, NULL, ret);
  sql_primary_drop(&asker);
  return r > 0 ? -ETIMEDOUT : r ? r : ret->code;
}

/* MySQL has no sequences, of which fencing tokens come. */
static int ask_version(struct lb_env *env, const struct lb_target *target, const struct lb_endpoint *at, lb_ns deadline,
                       struct lb_own_found *ret) {
  struct sql_answer answer;
  int r = say(env, target, at, deadline, "SELECT VERSION()", &answer);
  if (r < 0) return r;
  if (!strstr(answer.text, "MariaDB"))
    return lb_fail(env, -EINVAL, "%s:%u is no MariaDB: its version is '%.60s'", at->host, (unsigned)at->port,
                   answer.text);
  snprintf(ret->version, sizeof ret->version, "mariadb %.*s", (int)strspn(answer.text, "0123456789."), answer.text);
  return 0;
}

/* 1 = clients may write there, 0 = it is a replica; -errno. */
static int is_writable(struct lb_env *env, const struct lb_target *target, const struct lb_endpoint *at,
                       lb_ns deadline) {
  struct sql_answer answer;
  int r = say(env, target, at, deadline, "SELECT NOT @@GLOBAL.read_only", &answer);
  return r < 0 ? r : answer.yes;
}

/* Whether the user may make a database, by making one. */
static int try_database(struct lb_env *env, const struct lb_target *target, const struct lb_endpoint *at,
                        lb_ns deadline) {
  struct sql_answer answer;
  char sql[80];
  uint32_t random;
  lb_random(env, &random, sizeof random);
  snprintf(sql, sizeof sql, "CREATE DATABASE `" LB_OWN_PREFIX "%08x`", random);
  int r = say(env, target, at, deadline, sql, &answer);
  snprintf(sql, sizeof sql, "DROP DATABASE `" LB_OWN_PREFIX "%08x`", random);
  return r < 0 ? r : say(env, target, at, deadline, sql, &answer);
}

static int ask_all(struct lb_env *env, const struct lb_own *own, lb_ns deadline, struct lb_own_found *ret) {
  struct lb_endpoint endpoint[LB_SERVERS_MAX];
  struct lb_target target;
  size_t writable = 0;
  int r = 0;
  lb_own_target(own, endpoint, &target);
  for (size_t i = 0; i < target.count && r >= 0; i++) {
    r = ask_version(env, &target, &endpoint[i], deadline, ret);
    if (r == 0) r = is_writable(env, &target, &endpoint[i], deadline);
    if (r > 0 && writable++ == 0) r = try_database(env, &target, &endpoint[i], deadline);
    if (r >= 0) r = lb_own_note(env, own, ret, endpoint[i].host, endpoint[i].port);
  }
  ret->data_count = ret->count;
  ret->replicas = ret->count - writable;
  if (r >= 0 && writable == 0) r = lb_fail(env, -EROFS, "no client may write there: read_only is on");
  return r < 0 ? r : 0;
}

/* A replica is cleaned by its primary. */
static int clean_one(struct lb_env *env, const struct lb_target *target, const struct lb_endpoint *at, lb_ns deadline) {
  static const char first[] = "SELECT MIN(schema_name) FROM information_schema.schemata WHERE schema_name REGEXP"
                              " '^" LB_OWN_PREFIX LB_OWN_DIGITS "$'";
  struct sql_answer answer;
  char sql[120];
  int r = is_writable(env, target, at, deadline);
  if (r <= 0) return r;
  while ((r = say(env, target, at, deadline, first, &answer)) == 0 && answer.text[0]) {
    snprintf(sql, sizeof sql, "DROP DATABASE `%.60s`", answer.text);
    if ((r = say(env, target, at, deadline, sql, &answer)) < 0) break;
  }
  return r;
}

static int clean(struct lb_env *env, const struct lb_own *own, lb_ns deadline) {
  struct lb_endpoint endpoint[LB_SERVERS_MAX];
  struct lb_target target;
  int r = 0;
  lb_own_target(own, endpoint, &target);
  for (size_t i = 0; i < target.count && r == 0; i++) r = clean_one(env, &target, &endpoint[i], deadline);
  return r;
}

const struct lb_own_kind lb_own_kind_mariadb = {
    "--mariadb", "own-mariadb", "HOST:PORT[,HOST:PORT...]", LB_LOGIN_MARIADB, 3306, "maria", "maria-async", false,
    ask_all,     clean};
