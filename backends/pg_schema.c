/* SPDX-License-Identifier: MIT
 *
 * What a run has on a PostgreSQL server besides rows: its schema with tables and the like, made before the first client asks and
 * dropped after the last one; and what one server alone knows.
 */
#include "pg_schema.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NAP_MS 5

const char *const pg_topologies[] = {"pg", "pg-async", "pg-sync", NULL};

/* A statement that makes or removes something, and does nothing where that is done already: so what was not answered, or waited too
 * long for another transaction, is repeated. LB_OK, LB_UNKNOWN, LB_TIMEOUT (not done), -errno. */
static int define(struct pg_primary *primary, const char *sql, lb_ns deadline) {
  struct pg_stmt stmt = {sql, 0};
  PGresult *result = NULL;
  bool again;
  int rc;
  do {
    rc = pg_primary_call(primary, deadline, &result, &stmt, NULL, NULL);
    again = rc == LB_UNKNOWN || (!rc && pg_is(result, "55P03"));
    if (!rc && again) PQclear(result), rc = LB_TIMEOUT;
  } while (again && lb_now(primary->env) < deadline);
  if (rc) return rc;
  /* Two sessions that create it at once collide in the catalog; either way it exists then. */
  if (!pg_is(result, "23505")) rc = pg_refusal(primary->env, result);
  PQclear(result);
  return rc;
}

/* One value as text. */
static int ask_text(struct pg_primary *primary, const struct pg_stmt *stmt, const char *const params[], char *ret,
                    size_t size, lb_ns deadline) {
  PGresult *result = NULL;
  int rc = pg_primary_call(primary, deadline, &result, stmt, params, NULL);
  if (rc) return rc < 0 ? rc : lb_fail(primary->env, -ETIMEDOUT, "postgres: no answer before the deadline");
  rc = pg_refusal(primary->env, result);
  if (!rc && PQntuples(result) != 1) rc = lb_fail(primary->env, -EPROTO, "postgres: an answer without a row");
  if (!rc) snprintf(ret, size, "%s", PQgetvalue(result, 0, 0));
  PQclear(result);
  return rc;
}

/* Until the log on disk and every connected standby have the tables, too: a server that comes back without them, or is promoted
 * without them, would refuse everybody, and nothing about locks would be learnt from it. (A commit may be acknowledged before it is in
 * the log.) */
static int await_copies(struct pg_primary *primary, lb_ns deadline) {
  static const struct pg_stmt here = {"SELECT pg_current_wal_insert_lsn()", 0};
  static const struct pg_stmt there = {
      "SELECT coalesce(bool_and(replay_lsn >= $1::pg_lsn), true) AND pg_current_wal_flush_lsn() >= $1::pg_lsn FROM pg_stat_replication", 1};
  struct lb_env *env = primary->env;
  char lsn[32], all[8];
  int rc = ask_text(primary, &here, NULL, lsn, sizeof lsn, deadline);
  while (!rc && !(rc = ask_text(primary, &there, (const char *[]){lsn}, all, sizeof all, deadline)) && all[0] != 't') {
    if (lb_now(env) >= deadline) return lb_fail(env, -ETIMEDOUT, "postgres: the log or a standby does not follow");
    lb_sleep_until(env, lb_now(env) + NAP_MS * LB_NS_PER_MS);
  }
  return rc;
}

/* Whatever else stands in it, it goes with it. */
int pg_schema_make(struct pg_primary *primary, const char *const create[], lb_ns deadline) {
  char sql[128];
  snprintf(sql, sizeof sql, "CREATE SCHEMA IF NOT EXISTS \"%s\"", primary->schema);
  int rc = define(primary, "SET synchronous_commit = on", deadline);
  if (!rc) rc = define(primary, sql, deadline);
  for (; !rc && *create; create++) rc = define(primary, *create, deadline);
  if (rc > 0) rc = lb_fail(primary->env, -ETIMEDOUT, "postgres: table not created before the deadline");
  return rc ? rc : await_copies(primary, deadline);
}

int pg_schema_drop(struct pg_primary *primary, lb_ns deadline) {
  char sql[128];
  snprintf(sql, sizeof sql, "DROP SCHEMA IF EXISTS \"%s\" CASCADE", primary->schema);
  return define(primary, sql, deadline);
}

/* Behind a pooler the process that answers may be one that a client has left its locks on, and the next one may be about to end: then it
 * is asked again. */
int pg_end_others(struct pg_primary *primary, lb_ns deadline) {
  static const struct pg_stmt others = {
      "SELECT count(pg_terminate_backend(pid)), pg_advisory_unlock_all() FROM pg_stat_activity WHERE application_name = $1 AND pid <> pg_backend_pid()", 1};
  struct lb_env *env = primary->env;
  char left[24];
  int rc;
  for (;;) {
    rc = ask_text(primary, &others, (const char *[]){primary->schema}, left, sizeof left, deadline);
    if (rc == 0 && strcmp(left, "0") == 0) return LB_OK;
    if (rc && rc != -ETIMEDOUT) return rc;
    if (lb_now(env) >= deadline) return LB_TIMEOUT;
    lb_sleep_until(env, lb_now(env) + NAP_MS * LB_NS_PER_MS);
  }
}

int pg_inspect(struct pg_primary *primary, size_t endpoint, const struct pg_stmt *held, const char *const params[], lb_ns deadline) {
  struct lb_env *env = primary->env;
  const struct lb_target *target = primary->target;
  struct pg_conn *conn = NULL;
  PGresult *result = NULL;
  if (endpoint >= target->count) return lb_fail(env, -EINVAL, "postgres: there is no server %zu", endpoint + 1);
  const struct lb_endpoint *at = &target->endpoints[endpoint];
  int rc = pg_open(env, target, at, primary->schema, deadline, &conn);
  if (rc) return rc;
  rc = pg_query(conn, deadline, &result, held->sql, held->params, params);
  if (rc > 0) rc = lb_fail(env, -ETIMEDOUT, "postgres: no answer from %s", at->host);
  else if (rc == 0 && PQresultStatus(result) == PGRES_TUPLES_OK) rc = PQntuples(result) > 0;
  else if (rc == 0 && !pg_is(result, "42P01")) rc = pg_refusal(env, result); /* no table: no record */
  PQclear(result);
  pg_close(conn);
  return rc;
}
