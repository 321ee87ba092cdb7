/* SPDX-License-Identifier: MIT
 *
 * A lock as a row of a table: the life of an attempt, for all protocols on a database. They differ in their statements
 * only.
 */
#include "sql_row.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETTLE_NAP_MS 5

struct answer {
  bool yes;
  uint64_t fence;
};

/* ---- statements ------------------------------------------------------------------------------------------ */

/* $3: NULL, or the text in buf. */
static const char *clock_param(struct lb_session *s, char buf[24]) {
  if (!s->client_clock) return NULL;
  snprintf(buf, 24, "%" PRId64, lb_wall_ms(s->primary.env));
  return buf;
}

struct request { /* what does not matter stays 0 */
  const struct sql_stmt *stmt;
  const char *key, *owner;
  int64_t ttl_ms;
  const char *point; /* between the reading of the clock and the sending */
  struct sql_origin *origin;
};

/* One statement of the protocol. LB_BUSY: it waited too long for another transaction, and changed nothing. */
static int execute(struct lb_session *s, const struct request *request, lb_ns deadline, struct answer *ret) {
  struct sql_answer answer;
  char wall[24], ttl[24];
  snprintf(ttl, sizeof ttl, "%" PRId64, request->ttl_ms);
  const char *params[] = {request->key, request->owner, clock_param(s, wall), ttl};
  *ret = (struct answer){0};
  if (request->point) lb_point(s->primary.env, request->point);
  int rc = sql_primary_call(&s->primary, deadline, request->stmt, params, request->origin, &answer);
  if (rc) return rc;
  *ret = (struct answer){.yes = answer.yes, .fence = strtoull(answer.text, NULL, 10)};
  return answer.outcome == SQL_BUSY ? LB_BUSY : answer.code;
}

/* A question. LB_OK: yes; LB_BUSY: no; LB_UNKNOWN: no answer; -errno. */
static int ask_row(struct lb_session *s, const struct sql_stmt *stmt, const char *key, const char *owner,
                   lb_ns deadline, uint64_t *ret_fence) {
  struct request request = {.stmt = stmt, .key = key, .owner = owner};
  struct answer answer;
  int rc = execute(s, &request, deadline, &answer);
  if (rc) return rc < 0 ? rc : LB_UNKNOWN;
  *ret_fence = answer.fence;
  return answer.yes ? LB_OK : LB_BUSY;
}

/* Whether the row is the attempt's, by a write that is confirmed like the one that took it. */
static int confirm(struct lb_session *s, const char *key, const struct sql_attempt *attempt, lb_ns deadline,
                   uint64_t *ret_fence) {
  lb_point(s->primary.env, "before-confirm");
  return ask_row(s, &s->sql->again, key, attempt->owner, deadline, ret_fence);
}

/* What became of an unanswered take: LB_OK it stands, LB_BUSY it never will, LB_UNKNOWN, -errno. */
static int settle(struct lb_session *s, const char *key, const struct sql_attempt *attempt, lb_ns deadline,
                  uint64_t *ret_fence) {
  struct lb_env *env = s->primary.env;
  for (;;) {
    int settled = attempt->state ? sql_primary_settled(&s->primary, deadline, &attempt->origin) : 1;
    if (settled < 0) return settled == -ETIMEDOUT ? LB_UNKNOWN : settled;
    int rc = confirm(s, key, attempt, deadline, ret_fence);
    if (rc != LB_BUSY || settled) return rc;
    lb_ns next = lb_now(env) + SETTLE_NAP_MS * LB_NS_PER_MS;
    if (next >= deadline) return LB_UNKNOWN;
    lb_sleep_until(env, next);
  }
}

/* ---- the session ----------------------------------------------------------------------------------------- */

int sql_row_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  const struct sql_row_kind *kind = config->protocol->data;
  s->sql = kind->sql;
  s->client_clock = kind->client_clock;
  s->client = config->client;
  s->primary = (struct sql_primary){
      .env = config->env, .target = config->target, .schema = config->prefix, .server = kind->server};
  s->wakes = lb_wakes(config->protocol, config->options);
  if (kind->server->tell) {
    s->primary.lock_timeout_ms = config->options[SQL_ROW_OPT_WAIT].i;
    s->primary.careless = !config->options[SQL_ROW_OPT_HEED].b;
  }
  return sql_primary_get(&s->primary, deadline);
}

void sql_row_close(struct lb_session *s) { sql_primary_drop(&s->primary); }

/* ---- acquire --------------------------------------------------------------------------------------------- */

static lb_ns end_of(const struct lb_session *s, lb_ns sent, int64_t ttl_ms) {
  return s->sql->extend.sql ? lb_lease_end(sent, ttl_ms) : LB_NEVER;
}

/* `taken_at` 0: an earlier statement of the attempt did. The lease runs since then, or as far as it was extended. */
static int granted(struct lb_session *s, const struct sql_attempt *attempt, struct lb_grant *grant, uint64_t fence,
                   lb_ns taken_at, int64_t ttl_ms) {
  struct sql_attempt done = *attempt;
  done.state = SQL_NO_PROCESS;
  sql_attempt_put(&done, grant);
  grant->fence = fence;
  if (taken_at) grant->valid_until = end_of(s, taken_at, ttl_ms);
  else if (!grant->valid_until) grant->valid_until = end_of(s, grant->asked_at, ttl_ms);
  lb_confirm(&s->confirmed, grant, s->primary.losses);
  return LB_OK;
}

/* Another transaction that is deciding about the row does not mean that a client holds, and may go on for ever: its
 * client may be this one, whose earlier request was given up and waits for a standby. So it is no answer, and no
 * BUSY. */
static int undecided(struct lb_session *s) {
  return lb_fail(s->primary.env, -EAGAIN,
                 "%s: another transaction has changed this row and not ended yet; nobody is known to hold it",
                 s->primary.server->service);
}

struct taken {
  uint64_t fence;
  lb_ns at; /* when the request left that took it; 0 = it was an earlier one */
};

/* The statement that takes, while nothing of the attempt is under way. `maybe`: the attempt may have the lock already,
 * from an earlier call. */
static int take(struct lb_session *s, const struct lb_lock *lock, struct sql_attempt *attempt, bool maybe,
                lb_ns deadline, struct taken *ret) {
  struct request request = {&s->sql->take, lock->key,           attempt->owner,
                            lock->ttl_ms,  s->sql->before_take, &attempt->origin};
  struct answer answer;
  lb_ns sent = lb_now(s->primary.env);
  int rc = execute(s, &request, deadline, &answer);
  attempt->state = rc == LB_UNKNOWN ? SQL_TAKING : SQL_NO_PROCESS;
  if (rc == LB_BUSY) rc = undecided(s);
  *ret = (struct taken){answer.fence, sent};
  if (rc == LB_OK && answer.yes) lb_point(s->primary.env, s->sql->after_take);
  if (rc == LB_OK && !answer.yes) {
    ret->at = 0;
    rc = maybe ? confirm(s, lock->key, attempt, deadline, &ret->fence) : LB_BUSY;
  }
  /* Neither "timed out" nor "no server" may be said of an attempt that may have its row. */
  return maybe && rc != LB_OK && rc != LB_BUSY ? LB_UNKNOWN : rc;
}

int sql_row_try(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  bool repeated = grant->token_len > 0, unsettled;
  struct sql_attempt attempt = repeated ? sql_attempt_get(grant) : sql_attempt_new(s->primary.env, s->client);
  struct taken taken = {0};
  int rc = LB_BUSY;
  if (attempt.state == SQL_FREEING)
    return lb_fail(s->primary.env, -EINVAL, "%s: this attempt is being released", s->primary.server->service);
  unsettled = attempt.state;
  if (!repeated) grant->asked_at = lb_now(s->primary.env);
  if (unsettled) rc = settle(s, lock->key, &attempt, deadline, &taken.fence);
  if (rc < 0) rc = LB_UNKNOWN;
  if (rc == LB_BUSY) rc = take(s, lock, &attempt, repeated && !unsettled, deadline, &taken);
  if (!repeated && taken.at) taken.at = grant->asked_at;
  if (rc == LB_OK) return granted(s, &attempt, grant, taken.fence, taken.at, lock->ttl_ms);
  if (rc == LB_UNKNOWN || repeated) sql_attempt_put(&attempt, grant);
  return rc;
}

/* ---- a grant we have, or may have -------------------------------------------------------------------------- */

int sql_row_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct sql_attempt attempt = sql_attempt_get(grant);
  struct request request = {.stmt = &s->sql->free, .key = lock->key, .owner = attempt.owner, .origin = &attempt.origin};
  struct answer answer = {0};
  uint64_t fence;
  bool sent_before = attempt.state == SQL_FREEING;
  int rc = attempt.state == SQL_TAKING ? settle(s, lock->key, &attempt, deadline, &fence) : LB_OK;
  if (rc) return rc == LB_BUSY ? LB_OK : rc;
  lb_point(s->primary.env, s->sql->before_free);
  do rc = execute(s, &request, deadline, &answer);
  while (rc == LB_BUSY && lb_now(s->primary.env) < deadline);
  attempt.state = rc == LB_UNKNOWN || (rc && sent_before) ? SQL_FREEING : SQL_NO_PROCESS;
  sql_attempt_put(&attempt, grant);
  if (rc) return rc < 0 ? rc : LB_UNKNOWN;
  if (answer.yes && s->wakes) s->primary.server->tell(&s->primary, lock->key, deadline);
  /* Not ours: an unanswered release before this one did it, or it was never granted; or else it is lost. */
  return answer.yes || sent_before || !grant->valid_until ? LB_OK : LB_LOST;
}

int sql_row_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct sql_attempt attempt = sql_attempt_get(grant);
  struct request request = {.stmt = &s->sql->extend, .key = lock->key, .owner = attempt.owner, .ttl_ms = lock->ttl_ms};
  struct answer answer;
  lb_ns end;
  int rc;
  do {
    end = lb_lease_end(lb_now(s->primary.env), lock->ttl_ms);
    rc = execute(s, &request, deadline, &answer);
  } while (rc == LB_BUSY && lb_now(s->primary.env) < deadline);
  if (rc == LB_OK && !answer.yes) rc = LB_LOST;
  if (rc == LB_UNKNOWN) snprintf(s->extending, sizeof s->extending, "%s", attempt.owner);
  lb_lease_extended(grant, rc, end);
  if (rc == LB_OK) lb_confirm(&s->confirmed, grant, s->primary.losses);
  return rc == LB_BUSY || rc == LB_TIMEOUT ? LB_UNKNOWN : rc;
}

int sql_row_resolve(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct sql_attempt attempt = sql_attempt_get(grant);
  uint64_t fence = 0;
  int rc = settle(s, lock->key, &attempt, deadline, &fence);
  return rc == LB_OK ? granted(s, &attempt, grant, fence, 0, lock->ttl_ms) : rc;
}

/* The row of a grant was confirmed, so a read says enough. After an extension that was not answered a longer lease may
 * be seen that no standby has: then the row is written again, and the yes waits for the standby. */
static int ask_holds(struct lb_session *s, const char *key, const struct sql_attempt *attempt, lb_ns deadline) {
  uint64_t fence;
  if (strcmp(s->extending, attempt->owner) == 0) return confirm(s, key, attempt, deadline, &fence);
  return ask_row(s, &s->sql->holds, key, attempt->owner, deadline, &fence);
}

int sql_row_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline) {
  struct sql_attempt attempt = sql_attempt_get(grant);
  struct sql_primary *primary = &s->primary;
  lb_ns now = lb_now(primary->env), half = now < deadline ? now + (deadline - now) / 2 : deadline;
  int rc = ask_holds(s, lock->key, &attempt, half);
  /* A server that is silent may not be the primary any more. A question may be asked twice, and of another one. */
  if (rc == LB_UNKNOWN && half < deadline) {
    if (!primary->conn) primary->endpoint = (primary->endpoint + 1) % primary->target->count;
    rc = ask_holds(s, lock->key, &attempt, deadline);
  }
  if (rc == LB_OK) lb_confirm(&s->confirmed, grant, s->primary.losses);
  return rc == LB_BUSY ? LB_LOST : rc;
}

/* The row stays whatever becomes of the connection; but who has lost it does not know of which server it is a row
 * now. */
int sql_row_doubt(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
  struct sql_primary *primary = &s->primary;
  (void)lock;
  const struct sql_server *server = primary->server;
  bool open = primary->conn && server->usable(primary->conn) && server->still_open(primary->conn);
  if (open && lb_still_confirmed(&s->confirmed, grant, primary->losses)) return LB_OK;
  lb_fail(primary->env, -ENOTCONN, "%s: the connection was lost%s", server->service,
          open ? " since the grant, and made again" : "");
  return LB_UNKNOWN;
}

static int sql_row_inspect(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  char wall[24];
  return sql_inspect(&s->primary, endpoint, &s->sql->held, (const char *[]){lock->key, clock_param(s, wall)}, deadline);
}

int sql_row_break(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  char wall[24];
  return sql_inspect(&s->primary, endpoint, &s->sql->remove, (const char *[]){lock->key, clock_param(s, wall)},
                     deadline);
}

int sql_row_wait(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char wall[24];
  (void)grant;
  return s->primary.server->wait(&s->primary, &s->ear, &s->sql->held, (const char *[]){lock->key, clock_param(s, wall)},
                                 deadline);
}

int sql_row_setup(struct lb_session *s, lb_ns deadline) {
  return sql_schema_make(&s->primary, s->sql->create, deadline);
}

int sql_row_teardown(struct lb_session *s, lb_ns deadline) { return sql_schema_drop(&s->primary, deadline); }

static int sql_row_server(struct lb_session *s) { return sql_primary_server(&s->primary); }

const struct lb_proofs sql_row_proofs = {.inspect = sql_row_inspect, .server = sql_row_server};
