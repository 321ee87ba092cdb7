/* SPDX-License-Identifier: MIT
 *
 * floor-pg - what the two statements of a row as a lock cost alone: no lock, but the floor under pg-row's speed.
 *
 * Promises    Nothing: each client has a row of its own, whatever it is asked for, so no client is ever refused.
 * Breaks it   Any second client. It is measured only where no two clients meet (scenario spread).
 * Source      A loop over libpq: a prepared INSERT, then a prepared DELETE, each committed by itself.
 *
 * It does what pg-row does on a good day and nothing else: one connection, no number of the grant, no look whether the
 * server has hung up, no second server. The table is made like that of pg-row, and read by its index as there.
 */
#include <errno.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <string.h>

#include "pg.h"

struct lb_session {
  struct lb_env *env;
  PGconn *pg;                 /* from the first try on */
  struct sql_primary primary; /* for setup and teardown alone */
  char key[96];
};

static int say(struct lb_session *s, int code) {
  const char *text = PQerrorMessage(s->pg);
  return lb_fail(s->env, code, "postgres: %.*s", (int)strcspn(text, "\n"), text);
}

/* Blocks, as it is done once. */
static int prepare(struct lb_session *s, const char *name, const char *sql) {
  PGresult *result = PQprepare(s->pg, name, sql, 1, NULL);
  bool done = PQresultStatus(result) == PGRES_COMMAND_OK;
  PQclear(result);
  return done ? 0 : say(s, -EPROTO);
}

static int begin(struct lb_session *s) {
  const struct lb_endpoint *at = s->primary.target->endpoints;
  char port[8], sql[300];
  snprintf(port, sizeof port, "%u", (unsigned)at->port);
  const char *const keys[] = {"host", "port", "user", "dbname", "sslmode", "gssencmode", "options", NULL};
  const char *const values[] = {at->host, port, "lockbench", "postgres", "disable", "disable", "-c enable_seqscan=off",
                                NULL};
  s->pg = PQconnectdbParams(keys, values, 0);
  if (PQstatus(s->pg) != CONNECTION_OK) return say(s, -ECONNREFUSED);
  snprintf(sql, sizeof sql, "INSERT INTO \"%s\".lockbench_floor(name, owner) VALUES ($1, $1)", s->primary.schema);
  int r = prepare(s, "take", sql);
  snprintf(sql, sizeof sql, "DELETE FROM \"%s\".lockbench_floor WHERE name = $1 AND owner = $1", s->primary.schema);
  if (r == 0) r = prepare(s, "free", sql);
  if (r < 0) return r;
  return PQsetnonblocking(s->pg, 1) ? say(s, -EIO) : 0;
}

static int floor_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  const struct lb_endpoint *at = config->target->endpoints;
  (void)deadline;
  *s = (struct lb_session){.env = config->env};
  s->primary = (struct sql_primary){
      .env = config->env, .target = config->target, .schema = config->prefix, .server = &pg_server};
  if (at->tls || at->password)
    return lb_fail(s->env, -EPROTONOSUPPORT, "postgres %s: a floor knows neither passwords nor TLS", at->host);
  snprintf(s->key, sizeof s->key, "%s-%s", config->prefix, config->client);
  return 0;
}

static void floor_close(struct lb_session *s) {
  sql_primary_drop(&s->primary);
  PQfinish(s->pg);
}

static int call(struct lb_session *s, const char *statement, lb_ns deadline) {
  const char *params[] = {s->key};
  bool done = false;
  if (!PQsendQueryPrepared(s->pg, statement, 1, params, NULL, NULL, 0)) return say(s, -EIO);
  while (PQflush(s->pg) > 0 || PQisBusy(s->pg))
    if (lb_wait_fd(s->env, PQsocket(s->pg), POLLIN, deadline) <= 0 || !PQconsumeInput(s->pg))
      return say(s, -EIO), LB_UNKNOWN;
  for (PGresult *result; (result = PQgetResult(s->pg)); PQclear(result))
    done = PQresultStatus(result) == PGRES_COMMAND_OK;
  return done ? 0 : say(s, -EPROTO);
}

static int floor_try_acquire(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  (void)lock;
  int rc = s->pg ? 0 : begin(s);
  grant->asked_at = lb_now(s->env);
  if (!rc) rc = call(s, "take", deadline);
  if (rc) return rc;
  grant->token[0] = 'f';
  grant->token_len = 1;
  grant->valid_until = LB_NEVER;
  return LB_OK;
}

static int floor_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  (void)lock, (void)grant;
  return call(s, "free", deadline);
}

static int floor_setup(struct lb_session *s, lb_ns deadline) {
  static const char *const create[] = {
      "CREATE TABLE IF NOT EXISTS lockbench_floor(name text PRIMARY KEY, owner text NOT NULL)"
      " WITH (fillfactor = 100, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0,"
      " autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off)",
      NULL};
  return sql_schema_make(&s->primary, create, deadline);
}

static int floor_teardown(struct lb_session *s, lb_ns deadline) { return sql_schema_drop(&s->primary, deadline); }

const struct lb_protocol lb_floor_pg = {
    .abi = LB_ABI,
    .name = "floor-pg",
    .summary = "no lock: INSERT and DELETE of a row that nobody else wants, a commit each",
    .topologies = (const char *const[]){"pg", "pg-sync", NULL},
    .traits = LB_TRAIT_NO_EXPIRY | LB_TRAIT_UNSAFE | LB_TRAIT_FLOOR,
    .unsafe_why = "never refuses",
    .session_size = sizeof(struct lb_session),
    .open = floor_open,
    .close = floor_close,
    .try_acquire = floor_try_acquire,
    .release = floor_release,
    .setup = floor_setup,
    .teardown = floor_teardown,
};
