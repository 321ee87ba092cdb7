/* SPDX-License-Identifier: MIT
 *
 * Waiters are told of a release by NOTIFY, and LISTEN on their session's own connection.
 *
 * The notification is sent behind the release, not in it. Transactions that notify commit one after the other in the whole server
 * (it takes a lock of the database "0" before the commit record, and keeps it through the flush and the wait for a standby), so a
 * release that notifies would stand in line for the disk with all other releases of other keys. Behind it there is nothing that has
 * to be kept: the notification commits without waiting for the log. Nobody hears of a release before it is committed,
 * because it was answered first. The price: a client that dies in between has told nobody.
 *
 * A notification is for those that listen when it is sent, one may be missing, and a lease that runs out is told to nobody. So who has
 * just begun to listen looks once whether the key is held, and nobody waits for longer than WAKE_MS. That all who wait ask, and one gets
 * it, is the price of a channel for each key.
 *
 * Source: PostgreSQL's documentation of NOTIFY; src/backend/commands/async.c, PreCommit_Notify().
 */
#include "pg_wake.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { WAKE_MS = 200 };
/* The channel of a key is what fits into a name of PostgreSQL: two keys that begin alike are woken together, which harms nobody. */
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
