/* SPDX-License-Identifier: MIT
 *
 * The primary, wherever it is: one connection after the other to the server that is no standby, and the question whether what an
 * unanswered statement did is known by now.
 */
#include "pg_util.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
/* Behind a pooler an idle process may be lent to somebody else by now, so none is ended; and the one that answers may be that very process, which has
 * done whatever came before. What the network keeps for longer may still come: a lease then ends by itself, and a row stays. */
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

int pg_primary_ask(struct pg_primary *primary, lb_ns deadline, PGresult **ret, const struct pg_stmt *stmt, const char *const params[]) {
  if (!primary->conn || !pg_usable(primary->conn)) return lb_fail(primary->env, -ENOTCONN, "postgres: the connection was lost");
  int rc = pg_call(primary->conn, sooner(deadline, lb_now(primary->env) + SILENCE_MS * LB_NS_PER_MS), ret, stmt, params);
  if (!pg_usable(primary->conn)) pg_primary_drop(primary);
  return rc;
}

int pg_primary_settled(struct pg_primary *primary, lb_ns deadline, const struct pg_origin *origin) {
  PGresult *result = NULL;
  char pid[16];
  snprintf(pid, sizeof pid, "%d", origin->pid);
  const struct pg_stmt *stmt = primary->pooled ? &settled_pooled_sql : &settled_sql; /* of the pooler that there was, if the connection is lost now */
  int rc = pg_primary_call(primary, deadline, &result, stmt, (const char *[]){pid, origin->born}, NULL);
  if (rc) return rc < 0 ? rc : lb_fail(primary->env, -ETIMEDOUT, "postgres: no answer about the earlier statement");
  bool told = PQresultStatus(result) == PGRES_TUPLES_OK;
  rc = told ? PQntuples(result) == 0 : lb_fail(primary->env, -EPROTO, "postgres: %.200s", PQresultErrorMessage(result));
  PQclear(result);
  return rc;
}
