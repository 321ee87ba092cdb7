/* SPDX-License-Identifier: MIT
 *
 * The primary, wherever it is: one connection after the other to the server that is no standby, and the question
 * whether what an unanswered statement did is known by now.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pg_util.h"

#define CONNECT_MS 400 /* per server, so that one whose packets are dropped does not eat the caller's deadline */
/* A primary that does not answer for so long is looked for elsewhere: it may be stopped, and another one promoted. */
#define SILENCE_MS 1500
#define NAP_MS 20 /* between two rounds over servers of which none was a primary */

/* Sequential scans are off for a reason: a lock table is planned for when it has one page, and read when it has
 * thousands of pages of dead rows. The plan is kept in between. */
static const char hello_sql[] =
    "SELECT pg_is_in_recovery(), extract(epoch FROM backend_start), set_config('lock_timeout', $1, false),"
    " set_config('enable_seqscan', 'off', false), set_config('idle_in_transaction_session_timeout', $2, false), pg_backend_pid()"
    " FROM pg_stat_get_activity(pg_backend_pid())";

/* Idle, or idle in a transaction. */
static const struct pg_stmt settled_sql = {
    "SELECT CASE WHEN state LIKE 'idle%' THEN pg_terminate_backend(pid) END FROM pg_stat_activity"
    " WHERE pid = $1::int AND extract(epoch FROM backend_start) = $2::numeric",
    2};
/* Behind a pooler an idle process may be lent to somebody else by now, so none is ended; and the one that answers may
 * be that very process, which has done whatever came before. What the network keeps for longer may still come: a lease
 * then ends by itself, and a row stays. */
static const struct pg_stmt settled_pooled_sql = {
    "SELECT FROM pg_stat_activity WHERE pid = $1::int AND extract(epoch FROM backend_start) = $2::numeric"
    " AND pid <> pg_backend_pid() AND state NOT LIKE 'idle%'",
    2};

static lb_ns sooner(lb_ns a, lb_ns b) { return a < b ? a : b; }

void pg_primary_drop(struct pg_primary *primary) {
  primary->losses += primary->conn != NULL;
  pg_close(primary->conn);
  primary->conn = NULL;
}

int pg_primary_server(const struct pg_primary *primary) {
  return primary->conn && pg_usable(primary->conn) ? (int)primary->endpoint : -ENOENT;
}

static int greet(struct pg_primary *primary, lb_ns deadline) {
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

static int try_endpoint(struct pg_primary *primary, size_t endpoint, lb_ns deadline) {
  const struct lb_endpoint *at = &primary->target->endpoints[endpoint];
  int rc = pg_open(primary->env, primary->target, at, primary->schema, deadline, &primary->conn);
  if (!rc) rc = greet(primary, deadline);
  if (rc) pg_primary_drop(primary);
  else primary->endpoint = endpoint;
  return rc;
}

static int try_round(struct pg_primary *primary, lb_ns deadline) {
  size_t count = primary->target->count, first = primary->endpoint;
  int rc = lb_fail(primary->env, -EDESTADDRREQ, "postgres: no such server in this topology");
  for (size_t i = 0; i < count; i++) {
    size_t endpoint = (first + i) % count;
    if (strcmp(primary->target->endpoints[endpoint].service, "postgres") != 0) continue;
    rc = try_endpoint(primary, endpoint, sooner(deadline, lb_now(primary->env) + CONNECT_MS * LB_NS_PER_MS));
    if (!rc) break;
  }
  return rc;
}

static void nap(struct pg_primary *primary, lb_ns deadline) {
  lb_sleep_until(primary->env, sooner(deadline, lb_now(primary->env) + NAP_MS * LB_NS_PER_MS));
}

/* The last round is cut short by the deadline; the reason worth telling is that of the one before. */
static int next_round(struct pg_primary *primary, lb_ns deadline, int earlier) {
  char text[sizeof primary->env->err];
  memcpy(text, primary->env->err, sizeof text);
  nap(primary, deadline);
  int rc = lb_now(primary->env) < deadline ? try_round(primary, deadline) : -ETIMEDOUT;
  if (rc == -ETIMEDOUT && lb_now(primary->env) >= deadline) return lb_fail(primary->env, earlier, "%s", text);
  return rc;
}

int pg_primary_get(struct pg_primary *primary, lb_ns deadline) {
  if (primary->conn && pg_usable(primary->conn)) return 0;
  pg_primary_drop(primary);
  int rc = try_round(primary, deadline);
  while (rc && rc != -EDESTADDRREQ && lb_now(primary->env) < deadline) rc = next_round(primary, deadline, rc);
  return rc;
}

int pg_primary_call(struct pg_primary *primary, lb_ns deadline, PGresult **ret, const struct pg_stmt *stmt,
                    const char *const params[], struct pg_origin *origin) {
  for (;;) {
    int rc = pg_primary_get(primary, deadline);
    if (rc) return rc;
    if (origin) {
      origin->pid = primary->pid;
      memcpy(origin->born, primary->born, sizeof origin->born);
    }
    rc = pg_call(primary->conn, sooner(deadline, lb_now(primary->env) + SILENCE_MS * LB_NS_PER_MS), ret, stmt, params);
    if (!rc && pg_unconfirmed(primary->conn) && !primary->careless) {
      PQclear(*ret);
      return lb_fail(primary->env, -EIO, "postgres: committed on this server, and perhaps on no standby"), LB_UNKNOWN;
    }
    bool standby = !rc && pg_is(*ret, "25006"), again = !rc && (pg_is(*ret, "40001") || pg_is(*ret, "40P01"));
    if (standby || !pg_usable(primary->conn)) pg_primary_drop(primary);
    if (rc > 0 || (!rc && !standby && !again)) return rc;
    if (!rc) PQclear(*ret);
    if (standby) nap(primary, deadline);
    if (lb_now(primary->env) >= deadline) return LB_TIMEOUT;
  }
}

int pg_primary_ask(struct pg_primary *primary, lb_ns deadline, PGresult **ret, const struct pg_stmt *stmt,
                   const char *const params[]) {
  if (!primary->conn || !pg_usable(primary->conn))
    return lb_fail(primary->env, -ENOTCONN, "postgres: the connection was lost");
  int rc =
      pg_call(primary->conn, sooner(deadline, lb_now(primary->env) + SILENCE_MS * LB_NS_PER_MS), ret, stmt, params);
  if (!pg_usable(primary->conn)) pg_primary_drop(primary);
  return rc;
}

int pg_primary_settled(struct pg_primary *primary, lb_ns deadline, const struct pg_origin *origin) {
  PGresult *result = NULL;
  char pid[16];
  snprintf(pid, sizeof pid, "%d", origin->pid);
  const struct pg_stmt *stmt = primary->pooled
                                   ? &settled_pooled_sql
                                   : &settled_sql; /* of the pooler that there was, if the connection is lost now */
  int rc = pg_primary_call(primary, deadline, &result, stmt, (const char *[]){pid, origin->born}, NULL);
  if (rc) return rc < 0 ? rc : lb_fail(primary->env, -ETIMEDOUT, "postgres: no answer about the earlier statement");
  bool told = PQresultStatus(result) == PGRES_TUPLES_OK;
  rc = told ? PQntuples(result) == 0 : lb_fail(primary->env, -EPROTO, "postgres: %.200s", PQresultErrorMessage(result));
  PQclear(result);
  return rc;
}

/* ---- what a run has on the servers ------------------------------------------------------------------------- */

#define SHORT_NAP_MS 5

const char *const pg_topologies[] = {"pg", "pg-async", "pg-sync", NULL};

/* A statement that makes or removes something, and does nothing where that is done already: so what was not answered,
 * or waited too long for another transaction, is repeated. LB_OK, LB_UNKNOWN, LB_TIMEOUT (not done), -errno. */
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

/* Until the log on disk and every connected standby have the tables, too: a server that comes back without them, or is
 * promoted without them, would refuse everybody, and nothing about locks would be learnt from it. (A commit may be
 * acknowledged before it is in the log.) */
static int await_copies(struct pg_primary *primary, lb_ns deadline) {
  static const struct pg_stmt here = {"SELECT pg_current_wal_insert_lsn()", 0};
  static const struct pg_stmt there = {
      "SELECT coalesce(bool_and(replay_lsn >= $1::pg_lsn), true) AND pg_current_wal_flush_lsn() >= $1::pg_lsn FROM pg_stat_replication",
      1};
  struct lb_env *env = primary->env;
  char lsn[32], all[8];
  int rc = ask_text(primary, &here, NULL, lsn, sizeof lsn, deadline);
  while (!rc && !(rc = ask_text(primary, &there, (const char *[]){lsn}, all, sizeof all, deadline)) && all[0] != 't') {
    if (lb_now(env) >= deadline) return lb_fail(env, -ETIMEDOUT, "postgres: the log or a standby does not follow");
    lb_sleep_until(env, lb_now(env) + SHORT_NAP_MS * LB_NS_PER_MS);
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

/* Behind a pooler the process that answers may be one that a client has left its locks on, and the next one may be
 * about to end: then it is asked again. */
int pg_end_others(struct pg_primary *primary, lb_ns deadline) {
  static const struct pg_stmt others = {
      "SELECT count(pg_terminate_backend(pid)), pg_advisory_unlock_all() FROM pg_stat_activity WHERE application_name = $1 AND pid <> pg_backend_pid()",
      1};
  struct lb_env *env = primary->env;
  char left[24];
  int rc;
  for (;;) {
    rc = ask_text(primary, &others, (const char *[]){primary->schema}, left, sizeof left, deadline);
    if (rc == 0 && strcmp(left, "0") == 0) return LB_OK;
    if (rc && rc != -ETIMEDOUT) return rc;
    if (lb_now(env) >= deadline) return LB_TIMEOUT;
    lb_sleep_until(env, lb_now(env) + SHORT_NAP_MS * LB_NS_PER_MS);
  }
}

int pg_inspect(struct pg_primary *primary, size_t endpoint, const struct pg_stmt *held, const char *const params[],
               lb_ns deadline) {
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
static const struct pg_stmt tell_sql = {
    "SELECT set_config('synchronous_commit', 'off', true), pg_notify(left($1, " CHANNEL_MAX "), '')", 1};

void pg_wake_tell(struct pg_primary *primary, const char *key, lb_ns deadline) {
  if (primary->conn && pg_usable(primary->conn)) pg_tell(primary->conn, deadline, &tell_sql, (const char *[]){key});
}

/* 0; -errno, also where there was no answer: the connection is then of no use. */
static int do_sql(struct pg_primary *primary, const char *sql, lb_ns until) {
  PGresult *result = NULL;
  int rc = pg_query(primary->conn, until, &result, sql, 0, NULL);
  if (rc) return rc < 0 ? rc : -ETIMEDOUT;
  rc = pg_refusal(primary->env, result);
  PQclear(result);
  return rc;
}

/* To this key alone. */
static int listen(struct pg_primary *primary, struct pg_ear *ear, const char *key, lb_ns until) {
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
static bool is_free(struct pg_primary *primary, const struct pg_stmt *held, const char *const params[], lb_ns until) {
  PGresult *result = NULL;
  int rc = pg_query(primary->conn, until, &result, held->sql, held->params, params);
  bool gone = rc == 0 && PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 0;
  PQclear(result);
  return gone;
}

int pg_wake_wait(struct pg_primary *primary, struct pg_ear *ear, const struct pg_stmt *held, const char *const params[],
                 lb_ns deadline) {
  struct lb_env *env = primary->env;
  const char *key = params[0];
  lb_ns until = lb_now(env) + WAKE_MS * LB_NS_PER_MS;
  if (until > deadline) until = deadline;
  int rc = pg_primary_get(primary, until);
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

/* ---- the token of a grant ---------------------------------------------------------------------------------- */

struct pg_attempt pg_attempt_new(struct lb_env *env, const char *client) {
  struct pg_attempt attempt = {0};
  uint64_t unique;
  lb_random(env, &unique, sizeof unique);
  snprintf(attempt.owner, sizeof attempt.owner, "%.40s-%016" PRIx64, client, unique);
  for (char *at = attempt.owner; (at = strchr(at, '@'));) *at = '-';
  return attempt;
}

struct pg_attempt pg_attempt_get(const struct lb_grant *grant) {
  struct pg_attempt attempt = {0};
  char text[LB_TOKEN_MAX + 1], state = 0;
  snprintf(text, sizeof text, "%.*s", (int)grant->token_len, grant->token);
  int fields = sscanf(text, "%63[^@]@%c %d %31s", attempt.owner, &state, &attempt.origin.pid, attempt.origin.born);
  attempt.state = fields == 4 ? (enum pg_attempt_state)state : PG_NO_PROCESS;
  return attempt;
}

void pg_attempt_put(const struct pg_attempt *attempt, struct lb_grant *grant) {
  int n = attempt->state ? snprintf(grant->token, sizeof grant->token, "%s@%c %d %s", attempt->owner,
                                    (char)attempt->state, attempt->origin.pid, attempt->origin.born)
                         : snprintf(grant->token, sizeof grant->token, "%s", attempt->owner);
  grant->token_len = (size_t)n;
}
