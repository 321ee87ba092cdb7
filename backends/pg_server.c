/* SPDX-License-Identifier: MIT
 *
 * pg_server.c - what a lock at PostgreSQL needs of its server: who it is, whether what an unanswered statement did is
 * known by now, and a release that is told to those who wait.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pg_util.h"

/* Sequential scans are off for a reason: a lock table is planned for when it has one page, and read when it has
 * thousands of pages of dead rows. The plan is kept in between. */
static const char hello_sql[] =
    "SELECT pg_is_in_recovery(), extract(epoch FROM backend_start), set_config('lock_timeout', $1, false),"
    " set_config('enable_seqscan', 'off', false), set_config('idle_in_transaction_session_timeout', $2, false), pg_backend_pid()"
    " FROM pg_stat_get_activity(pg_backend_pid())";

/* Idle, or idle in a transaction. */
static const struct sql_stmt settled_sql = {
    "SELECT CASE WHEN state LIKE 'idle%' THEN pg_terminate_backend(pid) END FROM pg_stat_activity"
    " WHERE pid = $1::int AND extract(epoch FROM backend_start) = $2::numeric",
    2};
/* Behind a pooler an idle process may be lent to somebody else by now, so none is ended; and the one that answers may
 * be that very process, which has done whatever came before. What the network keeps for longer may still come: a lease
 * then ends by itself, and a row stays. */
static const struct sql_stmt settled_pooled_sql = {
    "SELECT FROM pg_stat_activity WHERE pid = $1::int AND extract(epoch FROM backend_start) = $2::numeric"
    " AND pid <> pg_backend_pid() AND state NOT LIKE 'idle%'",
    2};

const char *const pg_topologies[] = {"pg", "pg-async", "pg-sync", NULL};

static int connect_to(struct sql_primary *primary, const struct lb_endpoint *at, lb_ns deadline) {
  struct pg_conn *conn = NULL;
  int rc = pg_open(primary->env, primary->target, at, primary->schema, deadline, &conn);
  primary->conn = conn;
  return rc;
}

static int greet(struct sql_primary *primary, lb_ns deadline) {
  PGresult *result = NULL;
  char lock[24], idle[24];
  snprintf(lock, sizeof lock, "%lld", (long long)primary->lock_timeout_ms);
  snprintf(idle, sizeof idle, "%lld", (long long)primary->idle_timeout_ms);
  int rc = pg_query(primary->conn, deadline, &result, hello_sql, 2, (const char *[]){lock, idle});
  if (rc) return rc < 0 ? rc : -ETIMEDOUT;
  if (PQresultStatus(result) != PGRES_TUPLES_OK || PQntuples(result) != 1)
    rc = lb_fail(primary->env, -EPROTO, "postgres: greeting: %.200s", PQresultErrorMessage(result));
  else if (*PQgetvalue(result, 0, 0) != 'f')
    rc = lb_fail(primary->env, -EROFS, "postgres: the server that answers is a standby");
  else {
    snprintf(primary->born, sizeof primary->born, "%s", PQgetvalue(result, 0, 1));
    primary->pid = atoi(PQgetvalue(result, 0, 5));
    primary->pooled = pg_pooled(primary->conn, primary->pid);
  }
  PQclear(result);
  return rc;
}

static void close_conn(void *conn) { pg_close(conn); }
static bool is_usable(const void *conn) { return pg_usable(conn); }
static bool is_still_open(void *conn) { return pg_still_open(conn); }

static enum sql_outcome outcome_of(const PGresult *result, int code) {
  static const struct {
    const char *sqlstate;
    enum sql_outcome outcome;
  } known[] = {{"55P03", SQL_BUSY},  {"23505", SQL_EXISTS},  {"40001", SQL_AGAIN},
               {"40P01", SQL_AGAIN}, {"25006", SQL_STANDBY}, {"42P01", SQL_NO_TABLE}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (pg_is(result, known[i].sqlstate)) return known[i].outcome;
  return code ? SQL_REFUSED : SQL_DONE;
}

static int run(struct sql_primary *primary, lb_ns deadline, const struct sql_stmt *stmt, const char *const params[],
               struct sql_answer *ret) {
  PGresult *result = NULL;
  int rc = pg_call(primary->conn, deadline, &result, stmt, params);
  if (rc) return rc;
  int code = pg_refusal(primary->env, result);
  *ret = (struct sql_answer){.outcome = outcome_of(result, code), .unconfirmed = pg_unconfirmed(primary->conn)};
  if (ret->outcome == SQL_REFUSED || ret->outcome == SQL_NO_TABLE) ret->code = code;
  if (!code) {
    ret->yes = PQntuples(result) > 0 || strtoul(PQcmdTuples(result), NULL, 10) > 0;
    if (PQntuples(result) && PQnfields(result)) snprintf(ret->text, sizeof ret->text, "%s", PQgetvalue(result, 0, 0));
  }
  PQclear(result);
  return 0;
}

static int settled(struct sql_primary *primary, lb_ns deadline, const struct sql_origin *origin) {
  struct sql_answer answer;
  char pid[16];
  snprintf(pid, sizeof pid, "%d", origin->pid);
  const struct sql_stmt *stmt = primary->pooled
                                    ? &settled_pooled_sql
                                    : &settled_sql; /* of the pooler that there was, if the connection is lost now */
  int rc = sql_primary_call(primary, deadline, stmt, (const char *[]){pid, origin->born}, NULL, &answer);
  if (rc) return rc < 0 ? rc : lb_fail(primary->env, -ETIMEDOUT, "postgres: no answer about the earlier statement");
  return answer.code ? answer.code : !answer.yes;
}

/* Until the log on disk and every connected standby have the tables, too: a server that comes back without them, or is
 * promoted without them, would refuse everybody, and nothing about locks would be learnt from it. (A commit may be
 * acknowledged before it is in the log.) */
static int await_copies(struct sql_primary *primary, lb_ns deadline) {
  static const struct sql_stmt here = {"SELECT pg_current_wal_insert_lsn()", 0};
  static const struct sql_stmt there = {
      "SELECT coalesce(bool_and(replay_lsn >= $1::pg_lsn), true) AND pg_current_wal_flush_lsn() >= $1::pg_lsn FROM pg_stat_replication",
      1};
  struct lb_env *env = primary->env;
  char lsn[64], all[64];
  int rc = sql_ask_text(primary, &here, NULL, lsn, deadline);
  while (!rc && !(rc = sql_ask_text(primary, &there, (const char *[]){lsn}, all, deadline)) && all[0] != 't') {
    if (lb_now(env) >= deadline) return lb_fail(env, -ETIMEDOUT, "postgres: the log or a standby does not follow");
    lb_sleep_until(env, lb_now(env) + 5 * LB_NS_PER_MS);
  }
  return rc;
}

/* Behind a pooler the process that answers may be one that a client has left its locks on, and the next one may be
 * about to end: then it is asked again. */
static int end_others(struct sql_primary *primary, lb_ns deadline) {
  static const struct sql_stmt others = {
      "SELECT count(pg_terminate_backend(pid)), pg_advisory_unlock_all() FROM pg_stat_activity WHERE application_name = $1 AND pid <> pg_backend_pid()",
      1};
  char left[64];
  int rc = sql_ask_text(primary, &others, (const char *[]){primary->schema}, left, deadline);
  return rc ? rc : atoi(left);
}

/* ---- waiting -----------------------------------------------------------------------------------------------
 *
 * Waiters are told of a release by NOTIFY, and LISTEN on their session's own connection.
 *
 * The notification is sent behind the release, not in it. Transactions that notify commit one after the other in the
 * whole server (it takes a lock of the database "0" before the commit record, and keeps it through the flush and the
 * wait for a standby), so a release that notifies would stand in line for the disk with all other releases of other
 * keys. Behind it there is nothing that has to be kept: the notification commits without waiting for the log. Nobody
 * hears of a release before it is committed, because it was answered first. The price: a client that dies in between
 * has told nobody.
 *
 * A notification is for those that listen when it is sent, one may be missing, and a lease that runs out is told to
 * nobody. So who has just begun to listen looks once whether the key is held, and nobody waits for longer than WAKE_MS.
 * That all who wait ask, and one gets it, is the price of a channel for each key.
 *
 * Source: PostgreSQL's documentation of NOTIFY; src/backend/commands/async.c, PreCommit_Notify(). */

enum { WAKE_MS = 200 };
/* The channel of a key is what fits into a name of PostgreSQL: two keys that begin alike are woken together, which
 * harms nobody. */
#define CHANNEL_MAX "60"

/* set_config(..., true) is for this transaction, and is read when it commits. */
static const struct sql_stmt tell_sql = {
    "SELECT set_config('synchronous_commit', 'off', true), pg_notify(left($1, " CHANNEL_MAX "), '')", 1};

static void tell(struct sql_primary *primary, const char *key, lb_ns deadline) {
  if (primary->conn && pg_usable(primary->conn)) pg_tell(primary->conn, deadline, &tell_sql, (const char *[]){key});
}

/* 0; -errno, also where there was no answer: the connection is then of no use. */
static int do_sql(struct sql_primary *primary, const char *sql, lb_ns until) {
  PGresult *result = NULL;
  int rc = pg_query(primary->conn, until, &result, sql, 0, NULL);
  if (rc) return rc < 0 ? rc : -ETIMEDOUT;
  rc = pg_refusal(primary->env, result);
  PQclear(result);
  return rc;
}

/* To this key alone. */
static int listen(struct sql_primary *primary, struct sql_ear *ear, const char *key, lb_ns until) {
  char sql[100];
  int rc = ear->key[0] ? do_sql(primary, "UNLISTEN *", until) : 0;
  ear->key[0] = '\0';
  if (rc) return rc;
  snprintf(sql, sizeof sql, "LISTEN \"%." CHANNEL_MAX "s\"", key);
  rc = do_sql(primary, sql, until);
  if (rc) return rc;
  ear->losses = primary->losses;
  snprintf(ear->key, sizeof ear->key, "%s", key);
  return 0;
}

/* No answer counts as held: the next try will ask again. */
static bool is_free(struct sql_primary *primary, const struct sql_stmt *held, const char *const params[], lb_ns until) {
  PGresult *result = NULL;
  int rc = pg_query(primary->conn, until, &result, held->sql, held->params, params);
  bool gone = rc == 0 && PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 0;
  PQclear(result);
  return gone;
}

static int wait_for(struct sql_primary *primary, struct sql_ear *ear, const struct sql_stmt *held,
                    const char *const params[], lb_ns deadline) {
  struct lb_env *env = primary->env;
  const char *key = params[0];
  lb_ns until = lb_now(env) + WAKE_MS * LB_NS_PER_MS;
  if (until > deadline) until = deadline;
  int rc = sql_primary_get(primary, until);
  if (rc) return rc;
  if (ear->losses != primary->losses) ear->key[0] = '\0'; /* that was another connection */
  if (strcmp(ear->key, key) != 0) {
    rc = listen(primary, ear, key, until);
    if (rc == 0 && is_free(primary, held, params, until)) return LB_OK;
  }
  if (rc == 0) rc = pg_await_notice(primary->conn, until);
  if (rc) return rc < 0 ? rc : LB_OK;
  return lb_now(env) >= deadline ? LB_TIMEOUT : LB_OK;
}

const struct sql_server pg_server = {
    .service = "postgres",
    .durable = "SET synchronous_commit = on",
    .drop_more = " CASCADE",
    .connect = connect_to,
    .greet = greet,
    .close = close_conn,
    .usable = is_usable,
    .still_open = is_still_open,
    .run = run,
    .settled = settled,
    .end_others = end_others,
    .await_copies = await_copies,
    .tell = tell,
    .wait = wait_for,
};
