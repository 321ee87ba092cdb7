/* SPDX-License-Identifier: MIT
 *
 * A lock that a server process holds: the connections of a session, then the life of an attempt, for all protocols of
 * that kind.
 */
#include "sql_hold.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the connections: only what the client itself knows, without a question
 * --------------------------------------- */

/* All lines are made like `like`, and none is connected. */
static void lines_open(struct sql_lines *lines, const struct sql_primary *like, bool one_each) {
  lines->one_each = one_each;
  lines->latest = lines->line;
  for (size_t i = 0; i < SQL_LINES_MAX; i++) lines->line[i].primary = *like;
}

static void lines_drop(struct sql_lines *lines) {
  for (size_t i = 0; i < SQL_LINES_MAX; i++) sql_primary_drop(&lines->line[i].primary);
}

static void lines_close(struct sql_lines *lines) {
  lines_drop(lines);
  free(lines->held);
}

/* A connection that has ended is dropped, and what it held is forgotten. */
static void look_after(struct sql_lines *lines) {
  size_t kept = 0;
  for (size_t i = 0; i < SQL_LINES_MAX; i++) {
    struct sql_primary *primary = &lines->line[i].primary;
    if (primary->conn && !primary->server->still_open(primary->conn)) sql_primary_drop(primary);
  }
  for (size_t i = 0; i < lines->held_count; i++)
    if (lines->held[i].losses == lines->held[i].line->primary.losses) lines->held[kept++] = lines->held[i];
  lines->held_count = kept;
}

/* Room is made before the lock is taken: afterwards it must not fail. */
static bool has_room(struct sql_lines *lines) {
  if (lines->held_count < lines->held_room) return true;
  size_t room = lines->held_room ? 2 * lines->held_room : 4;
  struct sql_held *held = realloc(lines->held, room * sizeof *held);
  if (!held) return false;
  lines->held = held;
  lines->held_room = room;
  return true;
}

static bool line_holds(const struct sql_lines *lines, const struct sql_line *line) {
  for (size_t i = 0; i < lines->held_count; i++)
    if (lines->held[i].line == line) return true;
  return false;
}

static struct sql_line *lines_next(struct sql_lines *lines) { return &lines->line[lines->turn++ % lines->pool]; }

static struct sql_line *lines_free(struct sql_lines *lines, int *ret_error) {
  struct sql_line *line = lines->pool > 1 ? lines_next(lines) : lines->line, *end = lines->line + SQL_LINES_MAX;
  struct lb_env *env = line->primary.env;
  const char *name = line->primary.server->service;
  look_after(lines);
  while (lines->one_each && line < end && line_holds(lines, line)) line++;
  *ret_error = 0;
  if (line == end)
    *ret_error =
        lb_fail(env, -EMFILE, "%s: each of the %d connections of this session holds a lock", name, SQL_LINES_MAX);
  else if (!has_room(lines)) *ret_error = lb_fail(env, -ENOMEM, "%s: out of memory", name);
  if (*ret_error) return NULL;
  if (!line->primary.conn) line->primary.endpoint = lines->latest->primary.endpoint;
  return lines->latest = line;
}

static struct sql_held *lines_held(struct sql_lines *lines, const char *owner) {
  look_after(lines);
  for (size_t i = 0; i < lines->held_count; i++) {
    struct sql_held *held = &lines->held[i];
    if (strcmp(held->owner, owner) != 0) continue;
    lines->latest = held->line;
    return held;
  }
  return NULL;
}

static void lines_remember(struct sql_lines *lines, struct sql_line *line, const char *owner, const char *key) {
  struct sql_held *held = &lines->held[lines->held_count++];
  *held = (struct sql_held){.line = line, .losses = line->primary.losses};
  snprintf(held->owner, sizeof held->owner, "%s", owner);
  snprintf(held->key, sizeof held->key, "%s", key);
}

static void lines_forget(struct sql_lines *lines, struct sql_held *held) { *held = lines->held[--lines->held_count]; }

static bool lines_lead_to(struct sql_lines *lines, const struct sql_origin *origin) {
  look_after(lines);
  for (size_t i = 0; i < SQL_LINES_MAX; i++) {
    const struct sql_primary *primary = &lines->line[i].primary;
    if (!primary->conn || primary->pid != origin->pid) continue;
    if (strcmp(primary->born, origin->born) == 0) return true;
  }
  return false;
}

enum { LOCK_WAIT_MS = 100, WORK_WAIT_MS = 3600000, SETTLE_NAP_MS = 5 };

struct answer {
  bool came, yes, refused; /* refused: somebody else has locked it */
  uint64_t fence;
};

/* ---- statements ------------------------------------------------------------------------------------------- */

/* 0, or the refusal as -errno. */
static int read_answer(const struct sql_answer *answer, struct answer *ret) {
  *ret = (struct answer){.came = true, .refused = answer->outcome == SQL_BUSY, .yes = answer->yes};
  if (answer->yes) ret->fence = strtoull(answer->text, NULL, 10);
  return answer->code;
}

/* On the connection that there is. LB_UNKNOWN, and -errno that leaves no connection: it is lost, and what it held. */
static int ask_line(struct sql_line *line, const struct sql_stmt *stmt, const char *key, lb_ns deadline,
                    struct answer *ret) {
  struct sql_answer answer;
  *ret = (struct answer){0};
  int rc = sql_primary_ask(&line->primary, deadline, stmt, (const char *[]){key}, &answer);
  return rc ? rc : read_answer(&answer, ret);
}

/* On whatever connection there is or can be made, which is noted in `origin` (may be NULL). As sql_primary_call(). */
static int call(struct sql_line *line, const struct sql_stmt *stmt, const char *key, lb_ns deadline,
                struct sql_origin *origin, struct answer *ret) {
  struct sql_answer answer;
  *ret = (struct answer){0};
  int rc = sql_primary_call(&line->primary, deadline, stmt, (const char *[]){key}, origin, &answer);
  return rc ? rc : read_answer(&answer, ret);
}

/* On the line that holds, or the one that a pool lends, which may have to connect first. */
static int ask_held(struct lb_session *s, const struct sql_held *held, const struct sql_stmt *stmt, lb_ns deadline,
                    struct answer *ret) {
  if (s->lines.pool > 1) return call(lines_next(&s->lines), stmt, held->key, deadline, NULL, ret);
  return ask_line(held->line, stmt, held->key, deadline, ret);
}

/* A server process that was this session's, and is not any more. What another session was granted is its own affair. */
static bool is_left_behind(struct lb_session *s, const struct sql_attempt *attempt) {
  if (attempt->state == SQL_NO_PROCESS || strncmp(attempt->owner, s->name, strlen(s->name)) != 0) return false;
  return !lines_lead_to(&s->lines, &attempt->origin);
}

/* Until the server process that got a statement of the attempt has ended: 0. LB_UNKNOWN: it lives, or that cannot be
 * told. -errno. */
static int settle(struct lb_session *s, const struct sql_attempt *attempt, lb_ns deadline) {
  int error;
  struct sql_line *line = lines_free(&s->lines, &error);
  if (!line) return LB_UNKNOWN;
  for (;;) {
    int settled = sql_primary_settled(&line->primary, deadline, &attempt->origin);
    if (settled) return settled == 1 ? 0 : settled == -ETIMEDOUT ? LB_UNKNOWN : settled;
    lb_ns next = lb_now(s->env) + SETTLE_NAP_MS * LB_NS_PER_MS;
    if (next >= deadline) return LB_UNKNOWN;
    lb_sleep_until(s->env, next);
  }
}

/* ---- acquire ---------------------------------------------------------------------------------------------- */

/* Ends a transaction that took nothing. If it cannot be ended it goes with its connection. */
static void end_transaction(struct sql_line *line, lb_ns deadline) {
  static const struct sql_stmt rollback = {"ROLLBACK", 0};
  struct answer answer;
  if (ask_line(line, &rollback, NULL, deadline, &answer)) sql_primary_drop(&line->primary);
}

/* A number for what was just taken. Without one it is no grant: the connection is given up, and what it holds. */
static int draw(struct lb_session *s, struct sql_line *line, struct sql_attempt *attempt, lb_ns deadline,
                struct answer *ret) {
  int rc = ask_line(line, &s->kind->number, NULL, deadline, ret);
  if (rc == 0 && ret->yes) return 0;
  sql_primary_drop(&line->primary);
  attempt->state = SQL_TAKING;
  return LB_UNKNOWN;
}

/* The server gives up a little before the client does, which would lose its connection. LB_UNKNOWN as call(). */
static int take_waiting(struct lb_session *s, struct sql_line *line, const char *key, struct sql_attempt *attempt,
                        lb_ns deadline, struct answer *ret) {
  enum { ANSWER_MS = 100 };
  const struct sql_hold_kind *kind = s->kind;
  struct sql_answer answer;
  char ms[24];
  lb_ns now = lb_now(s->env), until = now + ANSWER_MS * LB_NS_PER_MS;
  snprintf(ms, sizeof ms, "%llu", deadline > until ? (unsigned long long)((deadline - until) / LB_NS_PER_MS) + 1 : 1);
  *ret = (struct answer){0};
  line->primary.unhurried = true;
  int rc = sql_primary_call(&line->primary, deadline, s->fence ? &kind->take_waiting_number : &kind->take_waiting,
                            (const char *[]){key, ms}, &attempt->origin, &answer);
  line->primary.unhurried = false;
  return rc ? rc : read_answer(&answer, ret);
}

static int take_plainly(struct lb_session *s, struct sql_line *line, const char *key, struct sql_attempt *attempt,
                        lb_ns deadline, struct answer *ret) {
  const struct sql_hold_kind *kind = s->kind;
  lb_point(s->env, kind->before_take);
  bool both = s->fence && !kind->number.sql;
  int rc = s->patient ? take_waiting(s, line, key, attempt, deadline, ret)
                      : call(line, both ? &kind->take_number : &kind->take, key, deadline, &attempt->origin, ret);
  if (rc == LB_UNKNOWN) attempt->state = SQL_TAKING;
  return rc == 0 && ret->yes && s->fence && kind->number.sql ? draw(s, line, attempt, deadline, ret) : rc;
}

/* In a transaction of its own, which is to hold. A begin without an answer has taken nothing: LB_TIMEOUT. */
static int take_in_transaction(struct lb_session *s, struct sql_line *line, const char *key,
                               struct sql_attempt *attempt, lb_ns deadline, struct answer *ret) {
  const struct sql_hold_kind *kind = s->kind;
  int rc = call(line, &kind->begin, NULL, deadline, &attempt->origin, ret);
  if (rc) return rc < 0 ? rc : LB_TIMEOUT;
  lb_point(s->env, kind->before_take);
  const struct sql_stmt *statement = s->fence   ? s->reads ? &kind->take_shared_number : &kind->take_number
                                     : s->reads ? &kind->take_shared
                                                : &kind->take;
  rc = ask_line(line, statement, key, deadline, ret);
  if (rc == LB_UNKNOWN) attempt->state = SQL_TAKING;
  if (!ret->yes) end_transaction(line, deadline);
  return rc;
}

static int take(struct lb_session *s, struct sql_line *line, const char *key, struct sql_attempt *attempt,
                lb_ns deadline, struct answer *ret) {
  return s->kind->begin.sql ? take_in_transaction(s, line, key, attempt, deadline, ret)
                            : take_plainly(s, line, key, attempt, deadline, ret);
}

/* What take looks for. LB_TIMEOUT: it may be there or not; nothing was taken. */
static int make(struct lb_session *s, struct sql_line *line, const char *key, lb_ns deadline) {
  struct answer answer;
  int rc = call(line, &s->kind->make, key, deadline, NULL, &answer);
  if (rc) return rc < 0 ? rc : LB_TIMEOUT;
  if (answer.refused)
    rc = lb_fail(s->env, -EAGAIN, "%s: another transaction makes this row and has not ended yet",
                 s->kind->server->service);
  return rc;
}

/* A transaction may idle from its latest statement on; that was sent after `asked`. */
static lb_ns end_of(const struct lb_session *s, lb_ns asked) {
  return s->idle_ms ? lb_lease_end(asked, s->idle_ms) : LB_NEVER;
}

static int acquire(struct lb_session *s, const char *key, struct sql_attempt *attempt, struct lb_grant *grant,
                   lb_ns deadline) {
  struct answer answer;
  int rc;
  struct sql_line *line = lines_free(&s->lines, &rc);
  if (!line) return rc;
  lb_ns asked = lb_now(s->env);
  rc = take(s, line, key, attempt, deadline, &answer);
  if (rc == 0 && !answer.yes && !answer.refused && s->kind->make.sql) {
    rc = make(s, line, key, deadline);
    if (rc == 0) rc = take(s, line, key, attempt, deadline, &answer);
  }
  if (rc || !answer.yes) return rc ? rc : LB_BUSY;
  attempt->state = SQL_HELD_BY;
  lines_remember(&s->lines, line, attempt->owner, key);
  grant->fence = s->fence ? answer.fence : 0;
  grant->valid_until = end_of(s, asked);
  lb_point(s->env, s->kind->after_take);
  return LB_OK;
}

/* Whether the server process that holds for an attempt says so. */
static int confirm(struct lb_session *s, const struct sql_held *held, lb_ns deadline) {
  struct answer answer;
  int rc = ask_held(s, held, &s->kind->holds, deadline, &answer);
  return rc ? rc : answer.yes ? LB_OK : LB_LOST;
}

int sql_hold_try(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  bool repeated = grant->token_len > 0;
  s->reads = lock->shared;
  s->patient = s->blocks && lock->patient;
  struct sql_attempt attempt = repeated ? sql_attempt_get(grant) : sql_attempt_new(s->env, s->name);
  const struct sql_held *held = lines_held(&s->lines, attempt.owner);
  if (attempt.state == SQL_FREEING)
    return lb_fail(s->env, -EINVAL, "%s: this attempt is being released", s->kind->server->service);
  if (held) return confirm(s, held, deadline) == LB_OK ? LB_OK : LB_UNKNOWN;
  if (!repeated) grant->asked_at = lb_now(s->env);
  if (is_left_behind(s, &attempt) && settle(s, &attempt, deadline)) return LB_UNKNOWN;
  attempt.state = SQL_NO_PROCESS;
  int rc = acquire(s, lock->key, &attempt, grant, deadline);
  if (rc == LB_OK || rc == LB_UNKNOWN || repeated) sql_attempt_put(&attempt, grant);
  return rc;
}

/* ---- a grant we have, or may have ------------------------------------------------------------------------- */

/* For an attempt that this session does not hold for: nothing of it is left, or nothing will be. */
static int outlive(struct lb_session *s, const struct sql_attempt *attempt, lb_ns deadline) {
  return is_left_behind(s, attempt) ? settle(s, attempt, deadline) : 0;
}

/* A transaction that has answered its end is over, whatever it answered. LB_LOST: it was not held. LB_UNKNOWN; -errno:
 * not sent; without a connection, lost. */
static int free_held(struct lb_session *s, struct sql_held *held, lb_ns deadline) {
  struct answer answer;
  struct sql_line *line = held->line;
  lb_point(s->env, s->kind->before_free);
  int rc = ask_held(s, held, &s->kind->free, deadline, &answer);
  if (s->kind->begin.sql && answer.came) answer.yes = true, rc = 0;
  if (rc) return rc;
  if (s->wakes) line->primary.server->tell(&line->primary, held->key, deadline);
  lines_forget(&s->lines, held);
  return answer.yes ? LB_OK : LB_LOST;
}

int sql_hold_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct sql_attempt attempt = sql_attempt_get(grant);
  struct sql_held *held = lines_held(&s->lines, attempt.owner);
  (void)lock;
  if (held) {
    const struct sql_line *line = held->line;
    int rc = free_held(s, held, deadline);
    if (rc == LB_UNKNOWN) attempt.state = SQL_FREEING;
    if (rc == LB_UNKNOWN) sql_attempt_put(&attempt, grant);
    if (rc >= 0 || line->primary.conn) return rc;
  }
  int rc = outlive(s, &attempt, deadline);
  if (rc) return rc;
  return attempt.state == SQL_FREEING || !grant->valid_until ? LB_OK : LB_LOST;
}

/* The question is a statement, which begins the time anew that the transaction may idle. */
int sql_hold_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  lb_ns asked = lb_now(s->env);
  int rc = sql_hold_holds(s, lock, grant, deadline);
  if (rc == LB_OK) grant->valid_until = end_of(s, asked);
  return rc;
}

int sql_hold_resolve(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct sql_attempt attempt = sql_attempt_get(grant);
  const struct sql_held *held = lines_held(&s->lines, attempt.owner);
  (void)lock;
  if (held) return confirm(s, held, deadline) == LB_OK ? LB_OK : LB_UNKNOWN;
  int rc = outlive(s, &attempt, deadline);
  return rc ? rc : LB_BUSY;
}

int sql_hold_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline) {
  struct sql_attempt attempt = sql_attempt_get(grant);
  const struct sql_held *held = lines_held(&s->lines, attempt.owner);
  (void)lock;
  int rc = held ? confirm(s, held, deadline) : -ENOTCONN;
  if (rc != -ENOTCONN) return rc;
  rc = outlive(s, &attempt, deadline);
  return rc ? rc : LB_LOST;
}

/* Without its connection a hold is over for its client, whatever the server knows of it. */
int sql_hold_doubt(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
  struct sql_attempt attempt = sql_attempt_get(grant);
  (void)lock;
  if (lines_held(&s->lines, attempt.owner)) return LB_OK;
  lb_fail(s->env, -ENOTCONN, "%s: the connection whose server process held it was lost", s->kind->server->service);
  return LB_LOST;
}

/* ---- the work of a holder ---------------------------------------------------------------------------------- */

const char *const sql_hold_waits[] = {"poll", "block", NULL};
const char *const sql_hold_work_on[] = {"lock", "other", NULL};

/* A transaction that failed is over at the server, and the lock with it. The next statement would be in another one, or
 * be refused, and COMMIT would say yes all the same. */
static void forget_failed(struct lb_session *s, struct sql_held *held, const struct sql_answer *answer,
                          lb_ns deadline) {
  struct sql_line *line = held->line;
  bool failed = answer->outcome == SQL_AGAIN || (s->kind->fails_whole && answer->outcome != SQL_DONE);
  if (!failed || !s->kind->begin.sql || s->works_apart) return;
  lines_forget(&s->lines, held);
  end_transaction(line, deadline);
}

/* The server ends one of those that wait for each other: -EDEADLK. */
int sql_hold_work(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline) {
  struct sql_attempt attempt = sql_attempt_get(grant);
  struct sql_held *held = lines_held(&s->lines, attempt.owner);
  const struct sql_stmt work = {s->work, 0};
  const char *name = s->kind->server->service;
  struct sql_answer answer;
  (void)lock;
  if (!held) return lb_fail(s->env, -ENOTCONN, "%s: the connection that held was lost", name);
  int rc = s->works_apart ? sql_primary_call(&s->apart, deadline, &work, NULL, NULL, &answer)
                          : sql_primary_ask(&held->line->primary, deadline, &work, NULL, &answer);
  if (rc) return rc == LB_UNKNOWN ? LB_TIMEOUT : rc;
  forget_failed(s, held, &answer, deadline);
  if (answer.outcome == SQL_BUSY) return lb_fail(s->env, -EAGAIN, "%s: it waits for another client", name), LB_TIMEOUT;
  if (answer.outcome == SQL_AGAIN)
    return lb_fail(s->env, -EDEADLK, "%s: it and another client wait for each other", name);
  return answer.code;
}

static void read_work(struct lb_session *s, const struct lb_config *config, const struct sql_primary *like) {
  const struct lb_option *work = lb_option_find(config->protocol, "work"),
                         *on = lb_option_find(config->protocol, "work_on");
  s->apart = *like;
  s->apart.lock_timeout_ms = WORK_WAIT_MS; /* the step says how long */
  s->apart.unhurried = true;
  if (work) s->work = config->options[lb_option_index(config->protocol, work)].text;
  if (on) s->works_apart = config->options[lb_option_index(config->protocol, on)].i != 0;
}

/* ---- the session ------------------------------------------------------------------------------------------ */

int sql_hold_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  uint32_t unique;
  s->env = config->env;
  s->kind = config->protocol->data;
  lb_random(s->env, &unique, sizeof unique);
  snprintf(s->name, sizeof s->name, "%.31s-%08" PRIx32, config->client, unique);
  for (char *at = s->name; (at = strchr(at, '@'));) *at = '-';
  s->fence = config->options[SQL_HOLD_OPT_FENCE].b;
  s->wakes = lb_wakes(config->protocol, config->options);
  s->blocks = lb_waits_inside(config->protocol, config->options);
  int64_t idle_ms = config->options[SQL_HOLD_OPT_IDLE].b ? config->ttl_ms : 0;
  if (s->kind->begin.sql) s->idle_ms = idle_ms;
  struct sql_primary like = {.server = s->kind->server,
                             .env = s->env,
                             .target = config->target,
                             .schema = config->prefix,
                             .lock_timeout_ms = LOCK_WAIT_MS,
                             .idle_timeout_ms = idle_ms,
                             .idles_outside = !s->kind->begin.sql};
  const struct lb_option *lasts = lb_option_find(config->protocol, "transaction_timeout");
  if (lasts && config->options[lb_option_index(config->protocol, lasts)].b) like.lasts_ms = config->ttl_ms;
  lines_open(&s->lines, &like, s->kind->begin.sql != NULL);
  const struct lb_option *pool = lb_option_find(config->protocol, "pool");
  if (pool) s->lines.pool = (size_t)config->options[lb_option_index(config->protocol, pool)].i;
  read_work(s, config, &like);
  return sql_primary_get(&s->lines.line[0].primary, deadline);
}

void sql_hold_close(struct lb_session *s) {
  sql_primary_drop(&s->apart);
  lines_close(&s->lines);
}

/* On a line without a transaction: it would not be committed there. */
int sql_hold_setup(struct lb_session *s, lb_ns deadline) {
  int rc;
  struct sql_line *line = lines_free(&s->lines, &rc);
  return line ? sql_schema_make(&line->primary, s->kind->create, deadline) : rc;
}

/* Also what this session itself holds, and the server processes of clients that are dead or were given up. */
int sql_hold_teardown(struct lb_session *s, lb_ns deadline) {
  struct sql_primary *primary = &s->lines.line[0].primary;
  sql_primary_drop(&s->apart);
  lines_drop(&s->lines);
  int rc = sql_end_others(primary, deadline);
  return rc ? rc : sql_schema_drop(primary, deadline);
}

int sql_hold_wait(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  int rc;
  struct sql_line *line = lines_free(&s->lines, &rc);
  (void)grant;
  return line ? s->kind->server->wait(&line->primary, &line->ear, &s->kind->held, (const char *[]){lock->key}, deadline)
              : rc;
}

static int sql_hold_inspect(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  return sql_inspect(&s->lines.line[0].primary, endpoint, &s->kind->held, (const char *[]){lock->key}, deadline);
}

static int sql_hold_server(struct lb_session *s) {
  return s->lines.latest ? sql_primary_server(&s->lines.latest->primary) : -ENOENT;
}

const struct lb_proofs sql_hold_proofs = {.inspect = sql_hold_inspect, .server = sql_hold_server};
