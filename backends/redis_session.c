/* SPDX-License-Identifier: MIT
 *
 * One connection after the other to the server that decides, and the doubt that a given-up one leaves behind.
 */
#include "redis_session.h"

#include <errno.h>

#define GRACE_MS 200
#define IDLE_MS 10 /* after that long it is worth a system call to see whether the server has hung up meanwhile */

/* ---- the connection ----------------------------------------------------------------------------------- */

static void forget_doubt(struct redis_session *s) { s->doubt.from = s->doubt.to = 0; }

static void give_up_conn(struct redis_session *s) {
  if (!s->conn) return;
  if (s->doubt.in_conn && redis_ended_by_server(s->conn)) forget_doubt(s);
  s->doubt.in_conn = false;
  redis_close(s->conn);
  s->conn = NULL;
  s->losses++;
}

static bool is_silent(const struct redis_session *s) { return s->conn && redis_owed(s->conn) > 0; }

/* Looks at the connection there is and connects if there is none, or if it is silent and shall not be waited for. */
static int use_conn(struct redis_session *s, bool allow_silent, lb_ns deadline) {
  lb_ns now = lb_now(s->env);
  if (s->conn && (is_silent(s) || now > s->used_at + IDLE_MS * LB_NS_PER_MS)) redis_drain(s->conn);
  if (s->conn && (redis_lost(s->conn) || (!allow_silent && is_silent(s)))) give_up_conn(s);
  if (s->conn) return 0;
  s->used_at = now;
  return redis_link_open(&s->link, deadline, &s->conn);
}

/* After a call on conn that returned rc. */
static void note_result(struct redis_session *s, int rc) {
  if (redis_lost(s->conn)) {
    give_up_conn(s);
  } else if (rc == 0) {
    s->used_at = lb_now(s->env);
    if (s->doubt.in_conn) forget_doubt(s);
  }
}

int redis_session_open(struct redis_session *s, const struct lb_config *config) {
  *s = (struct redis_session){.env = config->env, .prefix = config->prefix};
  return redis_link_init(&s->link, config->env, config->target);
}

int redis_session_teardown(struct redis_session *s, lb_ns deadline) {
  return redis_link_clean(&s->link, s->prefix, deadline);
}

int redis_session_server(const struct redis_session *s) {
  if (!s->conn || redis_lost(s->conn) || !s->link.reached) return -ENOENT;
  return (int)(s->link.reached - s->link.target->endpoints);
}

void redis_session_close(struct redis_session *s) {
  redis_close(s->conn);
  s->conn = NULL;
}

/* ---- doubt -------------------------------------------------------------------------------------------- */

/* The request that takes the lock, sent just now on conn, got no reply. */
static void note_doubt(struct redis_session *s, const struct redis_request *request) {
  lb_ns asked_at = request->grant->asked_at;
  lb_ns until = request->ttl_ms ? request->sent_at + (lb_ns)request->ttl_ms * LB_NS_PER_MS : LB_NEVER;
  bool more = s->doubt.to && lb_now(s->env) < s->doubt.until;
  if (!more) {
    s->doubt.from = s->doubt.to = asked_at;
    s->doubt.until = until;
    s->doubt.in_conn = true;
    return;
  }
  if (asked_at < s->doubt.from) s->doubt.from = asked_at;
  if (asked_at > s->doubt.to) s->doubt.to = asked_at;
  if (until > s->doubt.until) s->doubt.until = until;
}

int redis_session_absent(struct redis_session *s, const struct lb_grant *grant, int result) {
  bool doubtful = grant->asked_at >= s->doubt.from && grant->asked_at <= s->doubt.to;
  if (!doubtful || lb_now(s->env) >= s->doubt.until) return result;
  lb_fail(s->env, -ETIMEDOUT, "the request may still arrive over a connection that was given up");
  return LB_UNKNOWN;
}

/* The delete without a reply stands right behind the doubtful SET: whether they arrive or not, nothing remains. */
static void settle_doubt(struct redis_session *s, const struct lb_grant *grant) {
  bool written = !(redis_events(s->conn) & POLLOUT), alone = s->doubt.from == s->doubt.to;
  if (s->doubt.in_conn && written && alone && s->doubt.to == grant->asked_at) forget_doubt(s);
}

int redis_session_confirm(struct redis_session *s, const struct lb_grant *grant) {
  lb_confirm(&s->confirmed, grant, s->losses);
  return LB_OK;
}

int redis_session_doubt(struct redis_session *s, const struct lb_grant *grant) {
  s->env->err[0] = '\0';
  if (s->conn) redis_drain(s->conn);
  if (s->conn && redis_lost(s->conn)) give_up_conn(s);
  if (s->conn && lb_still_confirmed(&s->confirmed, grant, s->losses)) return LB_OK;
  if (!s->env->err[0]) lb_fail(s->env, -ENOTCONN, "the connection to redis was lost since the grant");
  return LB_UNKNOWN;
}

/* ---- requests ----------------------------------------------------------------------------------------- */

/* An error reply is a refusal, and no answer. */
static int check_reply(struct redis_session *s, struct redis_request *request) {
  int rc = redis_refusal(s->env, request->reply);
  if (!rc) return 0;
  freeReplyObject(request->reply);
  request->reply = NULL;
  return rc;
}

static int try_once(struct redis_session *s, struct redis_request *request, lb_ns deadline) {
  int rc = use_conn(s, false, deadline);
  if (rc) return rc;
  if (request->before) lb_point(s->env, request->before);
  request->sent_at = lb_now(s->env);
  if (request->grant && !request->repeated) request->grant->asked_at = request->sent_at;
  rc = redis_run(s->conn, deadline, &request->reply, &request->command);
  if (request->after) lb_point(s->env, request->after);
  if (rc == LB_UNKNOWN && request->grant) note_doubt(s, request);
  note_result(s, rc);
  if (!rc) rc = check_reply(s, request);
  if (rc == -EROFS) give_up_conn(s);
  return rc;
}

int redis_session_once(struct redis_session *s, struct redis_request *request, lb_ns deadline) {
  for (;;) {
    bool had_conn = s->conn != NULL;
    int rc = try_once(s, request, deadline);
    bool again = rc == -EROFS ? s->link.target->sentinel_master != NULL : rc < 0 && had_conn && !s->conn;
    if (!again || lb_now(s->env) >= deadline) return rc;
  }
}

static int ask_once(struct redis_session *s, struct redis_request *request, lb_ns deadline) {
  lb_ns now = lb_now(s->env), limit = deadline, grace = deadline > now ? (deadline - now) / 2 : 0;
  if (grace > GRACE_MS * LB_NS_PER_MS) grace = GRACE_MS * LB_NS_PER_MS;
  if (is_silent(s)) limit = now + grace;
  /* With Sentinel another server may be the master by now: half of the time is left to find and to ask it. */
  else if (s->link.target->sentinel_master && deadline > now) limit = now + (deadline - now) / 2;
  int rc = redis_run(s->conn, limit, &request->reply, &request->command);
  if (rc == LB_UNKNOWN) request->unsure = true;
  if (rc == LB_UNKNOWN && request->undoes) settle_doubt(s, request->grant);
  note_result(s, rc);
  return rc ? rc : check_reply(s, request);
}

int redis_session_ask(struct redis_session *s, struct redis_request *request, lb_ns deadline) {
  for (;;) {
    bool had_conn = s->conn != NULL;
    int rc = use_conn(s, true, deadline);
    if (!rc) rc = ask_once(s, request, deadline);
    if (!rc) return 0;
    bool late = lb_now(s->env) >= deadline;
    if (rc == -EROFS || (is_silent(s) && !late)) give_up_conn(s);
    if (late || !had_conn || s->conn) return request->unsure ? LB_UNKNOWN : rc;
  }
}
