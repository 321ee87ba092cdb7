/* SPDX-License-Identifier: MIT
 *
 * What a run has on a PostgreSQL server besides rows: its schema with the tables of pg_lock_sql.create, made before the first client
 * asks and dropped after the last one.
 */
#include "pg_lock.h"

#include <errno.h>
#include <stdio.h>

enum { FIRST_CREATE_ID = 8, DROP_ID = 26, SYNC_ID, SCHEMA_ID, THERE_ID, HERE_ID }; /* 31 is pg_primary.c's */
#define NAP_MS 5

/* A statement that makes or removes something, and does nothing where that is done already: so what was not answered, or waited too
 * long for another transaction, is repeated. LB_OK, LB_UNKNOWN, LB_TIMEOUT (not done), -errno. */
static int define(struct lb_session *s, unsigned id, const char *sql, lb_ns deadline) {
  struct pg_stmt stmt = {id, sql, 0};
  PGresult *result = NULL;
  bool again;
  int rc;
  do {
    rc = pg_primary_call(&s->primary, deadline, &result, &stmt, NULL, NULL);
    again = rc == LB_UNKNOWN || (!rc && pg_is(result, "55P03"));
    if (!rc && again) PQclear(result), rc = LB_TIMEOUT;
  } while (again && lb_now(s->primary.env) < deadline);
  if (rc) return rc;
  /* Two sessions that create it at once collide in the catalog; either way it exists then. */
  if (!pg_is(result, "23505")) rc = pg_refusal(s->primary.env, result);
  PQclear(result);
  return rc;
}

/* One value as text. */
static int ask_text(struct lb_session *s, const struct pg_stmt *stmt, const char *const params[], char *ret,
                    size_t size, lb_ns deadline) {
  PGresult *result = NULL;
  int rc = pg_primary_call(&s->primary, deadline, &result, stmt, params, NULL);
  if (rc) return rc < 0 ? rc : lb_fail(s->primary.env, -ETIMEDOUT, "postgres: no answer before the deadline");
  rc = pg_refusal(s->primary.env, result);
  if (!rc && PQntuples(result) != 1) rc = lb_fail(s->primary.env, -EPROTO, "postgres: an answer without a row");
  if (!rc) snprintf(ret, size, "%s", PQgetvalue(result, 0, 0));
  PQclear(result);
  return rc;
}

/* Until the log on disk and every connected standby have the tables, too: a server that comes back without them, or is promoted
 * without them, would refuse everybody, and nothing about locks would be learnt from it. (A commit may be acknowledged before it is in
 * the log.) */
static int await_copies(struct lb_session *s, lb_ns deadline) {
  static const struct pg_stmt here = {HERE_ID, "SELECT pg_current_wal_insert_lsn()", 0};
  static const struct pg_stmt there = {
      THERE_ID, "SELECT coalesce(bool_and(replay_lsn >= $1::pg_lsn), true) AND pg_current_wal_flush_lsn() >= $1::pg_lsn FROM pg_stat_replication", 1};
  struct lb_env *env = s->primary.env;
  char lsn[32], all[8];
  int rc = ask_text(s, &here, NULL, lsn, sizeof lsn, deadline);
  while (!rc && !(rc = ask_text(s, &there, (const char *[]){lsn}, all, sizeof all, deadline)) && all[0] != 't') {
    if (lb_now(env) >= deadline) return lb_fail(env, -ETIMEDOUT, "postgres: the log or a standby does not follow");
    lb_sleep_until(env, lb_now(env) + NAP_MS * LB_NS_PER_MS);
  }
  return rc;
}

/* The schema of the run: with it goes all that is in it. */
int pg_lock_setup(struct lb_session *s, lb_ns deadline) {
  char sql[128];
  snprintf(sql, sizeof sql, "CREATE SCHEMA IF NOT EXISTS \"%s\"", s->primary.schema);
  int rc = define(s, SYNC_ID, "SET synchronous_commit = on", deadline);
  if (!rc) rc = define(s, SCHEMA_ID, sql, deadline);
  for (unsigned i = 0; !rc && s->sql->create[i]; i++) rc = define(s, FIRST_CREATE_ID + i, s->sql->create[i], deadline);
  if (rc > 0) rc = lb_fail(s->primary.env, -ETIMEDOUT, "postgres: table not created before the deadline");
  return rc ? rc : await_copies(s, deadline);
}

int pg_lock_teardown(struct lb_session *s, lb_ns deadline) {
  char sql[128];
  snprintf(sql, sizeof sql, "DROP SCHEMA IF EXISTS \"%s\" CASCADE", s->primary.schema);
  return define(s, DROP_ID, sql, deadline);
}
