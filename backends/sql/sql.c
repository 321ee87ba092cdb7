/* SPDX-License-Identifier: MIT
 *
 * sql.c - one connection after the other to the server that is no standby, and the token of a grant.
 */
#include "sql.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CONNECT_MS 400 /* per server, so that one whose packets are dropped does not eat the caller's deadline */
/* A primary that does not answer for so long is looked for elsewhere: it may be stopped, and another one promoted. */
#define SILENCE_MS 1500
#define NAP_MS 20 /* between two rounds over servers of which none was a primary */
#define SHORT_NAP_MS 5

static lb_ns sooner(lb_ns a, lb_ns b) { return a < b ? a : b; }

static lb_ns in_ms(const struct sql_primary *primary, lb_ns deadline, int64_t ms) {
  return sooner(deadline, lb_now(primary->env) + (lb_ns)ms * LB_NS_PER_MS);
}

static lb_ns answer_by(const struct sql_primary *primary, lb_ns deadline) {
  return primary->unhurried ? deadline : in_ms(primary, deadline, SILENCE_MS);
}

static bool usable(const struct sql_primary *primary) {
  return primary->conn && primary->server->usable(primary->conn);
}

void sql_primary_drop(struct sql_primary *primary) {
  primary->losses += primary->conn != NULL;
  if (primary->conn) primary->server->close(primary->conn);
  primary->conn = NULL;
}

int sql_primary_server(const struct sql_primary *primary) { return usable(primary) ? (int)primary->endpoint : -ENOENT; }

static int try_endpoint(struct sql_primary *primary, size_t endpoint, lb_ns deadline) {
  int rc = primary->server->connect(primary, &primary->target->endpoints[endpoint], deadline);
  if (!rc) rc = primary->server->greet(primary, deadline);
  if (rc) sql_primary_drop(primary);
  else primary->endpoint = endpoint;
  return rc;
}

static int try_round(struct sql_primary *primary, lb_ns deadline) {
  const char *name = primary->server->service;
  size_t count = primary->target->count, first = primary->endpoint;
  int rc = lb_fail(primary->env, -EDESTADDRREQ, "%s: no such server in this topology", name);
  for (size_t i = 0; i < count; i++) {
    size_t endpoint = (first + i) % count;
    if (strcmp(primary->target->endpoints[endpoint].service, name) != 0) continue;
    rc = try_endpoint(primary, endpoint, in_ms(primary, deadline, CONNECT_MS));
    if (!rc) break;
  }
  return rc;
}

static void nap(struct sql_primary *primary, lb_ns deadline) {
  lb_sleep_until(primary->env, in_ms(primary, deadline, NAP_MS));
}

/* The last round is cut short by the deadline; the reason worth telling is that of the one before. */
static int next_round(struct sql_primary *primary, lb_ns deadline, int earlier) {
  char text[sizeof primary->env->err];
  memcpy(text, primary->env->err, sizeof text);
  nap(primary, deadline);
  int rc = lb_now(primary->env) < deadline ? try_round(primary, deadline) : -ETIMEDOUT;
  if (rc == -ETIMEDOUT && lb_now(primary->env) >= deadline) return lb_fail(primary->env, earlier, "%s", text);
  return rc;
}

int sql_primary_get(struct sql_primary *primary, lb_ns deadline) {
  if (usable(primary)) return 0;
  sql_primary_drop(primary);
  int rc = try_round(primary, deadline);
  while (rc && rc != -EDESTADDRREQ && lb_now(primary->env) < deadline) rc = next_round(primary, deadline, rc);
  return rc;
}

int sql_primary_call(struct sql_primary *primary, lb_ns deadline, const struct sql_stmt *stmt,
                     const char *const params[], struct sql_origin *origin, struct sql_answer *ret) {
  for (;;) {
    *ret = (struct sql_answer){0};
    int rc = sql_primary_get(primary, deadline);
    if (rc) return rc;
    if (origin) {
      origin->pid = primary->pid;
      memcpy(origin->born, primary->born, sizeof origin->born);
    }
    rc = primary->server->run(primary, answer_by(primary, deadline), stmt, params, ret);
    if (!rc && ret->unconfirmed && !primary->careless)
      return lb_fail(primary->env, -EIO, "%s: committed on this server, and perhaps on no standby",
                     primary->server->service),
             LB_UNKNOWN;
    bool standby = !rc && ret->outcome == SQL_STANDBY, again = !rc && ret->outcome == SQL_AGAIN;
    if (standby || !usable(primary)) sql_primary_drop(primary);
    if (rc > 0 || (!rc && !standby && !again)) return rc;
    if (standby) nap(primary, deadline);
    if (lb_now(primary->env) >= deadline) return LB_TIMEOUT;
  }
}

int sql_primary_ask(struct sql_primary *primary, lb_ns deadline, const struct sql_stmt *stmt,
                    const char *const params[], struct sql_answer *ret) {
  *ret = (struct sql_answer){0};
  if (!usable(primary))
    return lb_fail(primary->env, -ENOTCONN, "%s: the connection was lost", primary->server->service);
  int rc = primary->server->run(primary, answer_by(primary, deadline), stmt, params, ret);
  if (!usable(primary)) sql_primary_drop(primary);
  return rc;
}

int sql_primary_settled(struct sql_primary *primary, lb_ns deadline, const struct sql_origin *origin) {
  return primary->server->settled(primary, deadline, origin);
}

/* ---- what a run has on the servers ------------------------------------------------------------------------- */

/* A statement that makes or removes something, and does nothing where that is done already: so what was not answered,
 * or waited too long for another transaction, is repeated. LB_OK, LB_UNKNOWN, LB_TIMEOUT (not done), -errno. */
static int define(struct sql_primary *primary, const char *sql, lb_ns deadline) {
  struct sql_stmt stmt = {sql, 0};
  struct sql_answer answer;
  bool again;
  int rc;
  do {
    rc = sql_primary_call(primary, deadline, &stmt, NULL, NULL, &answer);
    again = rc == LB_UNKNOWN || (!rc && answer.outcome == SQL_BUSY);
    if (!rc && again) rc = LB_TIMEOUT;
  } while (again && lb_now(primary->env) < deadline);
  /* Two sessions that create it at once collide in the catalog; either way it exists then. */
  return rc || answer.outcome == SQL_EXISTS ? rc : answer.code;
}

/* Whatever else stands in it, it goes with it. */
int sql_schema_make(struct sql_primary *primary, const char *const create[], lb_ns deadline) {
  char sql[160];
  snprintf(sql, sizeof sql, "CREATE SCHEMA IF NOT EXISTS \"%s\"", primary->schema);
  int rc = primary->server->durable ? define(primary, primary->server->durable, deadline) : 0;
  if (!rc) rc = define(primary, sql, deadline);
  for (; !rc && *create; create++) rc = define(primary, *create, deadline);
  if (rc > 0)
    rc = lb_fail(primary->env, -ETIMEDOUT, "%s: table not created before the deadline", primary->server->service);
  return rc ? rc : primary->server->await_copies(primary, deadline);
}

int sql_schema_drop(struct sql_primary *primary, lb_ns deadline) {
  char sql[160];
  snprintf(sql, sizeof sql, "DROP SCHEMA IF EXISTS \"%s\"%s", primary->schema, primary->server->drop_more);
  return define(primary, sql, deadline);
}

int sql_end_others(struct sql_primary *primary, lb_ns deadline) {
  for (;;) {
    int left = primary->server->end_others(primary, deadline);
    if (left <= 0 && left != -ETIMEDOUT) return left;
    if (lb_now(primary->env) >= deadline) return LB_TIMEOUT;
    lb_sleep_until(primary->env, in_ms(primary, deadline, SHORT_NAP_MS));
  }
}

int sql_inspect(struct sql_primary *primary, size_t endpoint, const struct sql_stmt *held, const char *const params[],
                lb_ns deadline) {
  struct lb_env *env = primary->env;
  const char *name = primary->server->service;
  struct sql_primary other = *primary;
  struct sql_answer answer = {0};
  if (endpoint >= primary->target->count)
    return lb_fail(env, -EINVAL, "%s: there is no server %zu", name, endpoint + 1);
  const struct lb_endpoint *at = &primary->target->endpoints[endpoint];
  other.conn = NULL;
  int rc = primary->server->connect(&other, at, deadline);
  if (!rc) rc = primary->server->run(&other, deadline, held, params, &answer);
  if (rc > 0) rc = lb_fail(env, -ETIMEDOUT, "%s: no answer from %s", name, at->host);
  else if (rc == 0) rc = answer.code && answer.outcome != SQL_NO_TABLE ? answer.code : answer.yes;
  sql_primary_drop(&other);
  return rc;
}

/* ---- the token of a grant ---------------------------------------------------------------------------------- */

struct sql_attempt sql_attempt_new(struct lb_env *env, const char *client) {
  struct sql_attempt attempt = {0};
  uint64_t unique;
  lb_random(env, &unique, sizeof unique);
  snprintf(attempt.owner, sizeof attempt.owner, "%.40s-%016" PRIx64, client, unique);
  for (char *at = attempt.owner; (at = strchr(at, '@'));) *at = '-';
  return attempt;
}

struct sql_attempt sql_attempt_get(const struct lb_grant *grant) {
  struct sql_attempt attempt = {0};
  char text[LB_TOKEN_MAX + 1], state = 0;
  snprintf(text, sizeof text, "%.*s", (int)grant->token_len, grant->token);
  int fields = sscanf(text, "%63[^@]@%c %d %31s", attempt.owner, &state, &attempt.origin.pid, attempt.origin.born);
  attempt.state = fields == 4 ? (enum sql_attempt_state)state : SQL_NO_PROCESS;
  return attempt;
}

void sql_attempt_put(const struct sql_attempt *attempt, struct lb_grant *grant) {
  int n = attempt->state ? snprintf(grant->token, sizeof grant->token, "%s@%c %d %s", attempt->owner,
                                    (char)attempt->state, attempt->origin.pid, attempt->origin.born)
                         : snprintf(grant->token, sizeof grant->token, "%s", attempt->owner);
  grant->token_len = (size_t)n;
}
