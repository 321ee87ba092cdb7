/* SPDX-License-Identifier: MIT
 *
 * The hook wait of the PostgreSQL protocols, with the option `wake`: LISTEN, on the session's own connection. Who frees the
 * row notifies in the same transaction, so nobody hears of it before it is committed.
 *
 * A notification is for those that listen when it is sent, and a lease that runs out is told to nobody. So who has just
 * begun to listen looks at the row once, and nobody waits for longer than WAKE_MS. Transactions that notify commit one after the
 * other in PostgreSQL; that, and that all who wait ask and one gets it, is the price.
 *
 * Source: PostgreSQL's documentation of NOTIFY.
 */
#include "pg_lock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { WAKE_MS = 200 };

/* 0; -errno, also where there was no answer: the connection is then of no use. */
static int do_sql(struct lb_session *s, const char *sql, lb_ns until) {
  PGresult *result = NULL;
  int rc = pg_query(s->primary.conn, until, &result, sql, 0, NULL);
  if (rc) return rc < 0 ? rc : -ETIMEDOUT;
  rc = pg_refusal(s->primary.env, result);
  PQclear(result);
  return rc;
}

/* To this key alone. */
static int listen(struct lb_session *s, const char *key, lb_ns until) {
  char sql[PG_CHANNEL_MAX + 16];
  int rc = s->heard.key[0] ? do_sql(s, "UNLISTEN *", until) : 0;
  s->heard.key[0] = '\0';
  if (rc) return rc;
  snprintf(sql, sizeof sql, "LISTEN \"%.*s\"", PG_CHANNEL_MAX, key);
  rc = do_sql(s, sql, until);
  if (rc) return rc;
  s->heard.losses = s->primary.losses;
  snprintf(s->heard.key, sizeof s->heard.key, "%s", key);
  return 0;
}

/* No answer counts as held: the next try will ask again. */
static bool is_free(struct lb_session *s, const char *key, lb_ns until) {
  const struct pg_stmt *held = &s->sql->held;
  PGresult *result = NULL;
  char wall[24];
  snprintf(wall, sizeof wall, "%" PRId64, s->client_clock ? lb_wall_ms(s->primary.env) : 0);
  int rc = pg_query(s->primary.conn, until, &result, held->sql, held->params, (const char *[]){key, s->client_clock ? wall : NULL});
  bool gone = rc == 0 && PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) == 0;
  PQclear(result);
  return gone;
}

int pg_lock_wait(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct lb_env *env = s->primary.env;
  lb_ns until = lb_now(env) + WAKE_MS * LB_NS_PER_MS;
  (void)grant;
  if (until > deadline) until = deadline;
  int rc = pg_primary_get(&s->primary, until);
  if (rc) return rc;
  if (s->heard.losses != s->primary.losses) s->heard.key[0] = '\0'; /* that was another connection */
  if (strncmp(s->heard.key, lock->key, sizeof s->heard.key) != 0) {
    rc = listen(s, lock->key, until);
    if (rc == 0 && is_free(s, lock->key, until)) return LB_OK;
  }
  if (rc == 0) rc = pg_await_notice(s->primary.conn, until);
  if (rc) return rc < 0 ? rc : LB_OK;
  return lb_now(env) >= deadline ? LB_TIMEOUT : LB_OK;
}
