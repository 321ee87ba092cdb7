/* SPDX-License-Identifier: MIT
 *
 * One connection after the other to the server that decides, the doubt that a given-up one leaves behind, requests, and
 * a second connection that hears of releases.
 */
#include "redis_session.h"

#include "redis_record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define GRACE_MS 200
#define IDLE_MS 10 /* after that long it is worth a system call to see whether the server has hung up meanwhile */
#define HOPS_MAX 5 /* times that one request is sent on: two servers may name each other for a moment */

/* ---- the connection ----------------------------------------------------------------------------------- */

static void forget_doubt(struct redis_session *s) { s->doubt.from = s->doubt.to = 0; }

static void give_up_conn(struct redis_session *s) {
  if (!s->conn) return;
  if (s->doubt.in_conn && redis_ended_by_server(s->conn)) forget_doubt(s);
  s->doubt.in_conn = false;
  redis_close(s->conn);
  s->conn = NULL;
  s->losses++;
  s->link.stale = true;
}

static bool is_silent(const struct redis_session *s) { return s->conn && redis_owed(s->conn) > 0; }

/* Where a connection to that server waits. */
static struct redis_conn **place_of(struct redis_session *s, const struct lb_endpoint *at) {
  return &s->parked[at - s->link.target->endpoints];
}

/* Nothing is owed to a connection that is put aside, so no answer on it can settle a doubt any more. It may be a second
 * one to its server, where the search for another server has led there. */
static void park_conn(struct redis_session *s) {
  struct redis_conn **place = place_of(s, s->link.reached);
  s->doubt.in_conn = false;
  redis_close(*place);
  *place = s->conn;
  s->conn = NULL;
}

/* In a cluster the connection becomes the one to the server that has the key's slot, if there is one. Where no server
 * says who has it, it stays what it is. */
static void turn_to(struct redis_session *s, const char *key, lb_ns deadline) {
  const struct lb_endpoint *to = redis_link_owner(&s->link, key, deadline);
  if (!to || (s->conn && to == s->link.reached)) return;
  if (is_silent(s)) give_up_conn(s);
  else if (s->conn) park_conn(s);
  s->conn = *place_of(s, to);
  *place_of(s, to) = NULL;
  s->link.reached = to;
  s->used_at = 0;
}

/* Looks at the connection there is and connects if there is none, or if it is silent and shall not be waited for. */
static int use_conn(struct redis_session *s, const char *key, bool allow_silent, lb_ns deadline) {
  s->sent_on = false;
  if (s->link.target->shards && key) turn_to(s, key, deadline);
  lb_ns now = lb_now(s->env);
  if (s->conn && (is_silent(s) || now > s->used_at + IDLE_MS * LB_NS_PER_MS)) redis_drain(s->conn);
  if (s->conn && (redis_lost(s->conn) || (!allow_silent && is_silent(s)))) give_up_conn(s);
  if (s->conn) return 0;
  s->used_at = now;
  return redis_link_open(&s->link, key, deadline, &s->conn);
}

/* What a connection knows (what it watches, what it wrote last) another one does not. */
static int stay_on_conn(struct redis_session *s) {
  s->sent_on = false;
  if (s->conn) redis_drain(s->conn);
  if (s->conn && redis_lost(s->conn)) give_up_conn(s);
  return s->conn && !is_silent(s) ? 0
                                  : lb_fail(s->env, -ENOTCONN, "the connection of the request before this one is gone");
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
  return redis_record_clean(&s->link, s->prefix, deadline);
}

int redis_session_server(const struct redis_session *s) {
  if (!s->conn || redis_lost(s->conn) || !s->link.reached) return -ENOENT;
  return (int)(s->link.reached - s->link.target->endpoints);
}

void redis_session_hang_up(struct redis_session *s) { give_up_conn(s); }

void redis_session_close(struct redis_session *s) {
  redis_close(s->conn);
  s->conn = NULL;
  for (size_t i = 0; i < REDIS_NODES_MAX; i++) {
    redis_close(s->parked[i]);
    s->parked[i] = NULL;
  }
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

int redis_session_extend(struct redis_session *s, struct redis_command command, int64_t ttl_ms, struct lb_grant *grant,
                         lb_ns deadline) {
  struct redis_request expire = {.command = command};
  lb_ns end = lb_lease_end(lb_now(s->env), ttl_ms);
  int rc = redis_session_ask(s, &expire, deadline);
  if (!rc && !redis_is_yes(expire.reply)) rc = LB_LOST;
  freeReplyObject(expire.reply);
  if (rc == LB_OK) redis_session_confirm(s, grant);
  return lb_lease_extended(grant, rc, end);
}

/* Which of them the grant is about is not known here, so the loss of any is one. */
static void look_at_parked(struct redis_session *s) {
  for (size_t i = 0; i < REDIS_NODES_MAX; i++) {
    if (!s->parked[i] || redis_drain(s->parked[i]) == 0) continue;
    redis_close(s->parked[i]);
    s->parked[i] = NULL;
    s->losses++;
  }
}

int redis_session_doubt(struct redis_session *s, const struct lb_grant *grant) {
  s->env->err[0] = '\0';
  if (s->conn) redis_drain(s->conn);
  if (s->conn && redis_lost(s->conn)) give_up_conn(s);
  look_at_parked(s);
  if (s->conn && lb_still_confirmed(&s->confirmed, grant, s->losses)) return LB_OK;
  if (!s->env->err[0]) lb_fail(s->env, -ENOTCONN, "the connection to redis was lost since the grant");
  return LB_UNKNOWN;
}

/* ---- requests ----------------------------------------------------------------------------------------- */

/* Behind ASKING, if the server that had the slot has sent us here. The reply to that is passed over as a late one, and
 * a script behind a reply that is owed is sent whole, which it has to be here: ASKING counts for one command. */
static int run_request(struct redis_session *s, struct redis_request *request, lb_ns deadline) {
  bool asking = s->link.ask != NULL;
  s->link.ask = NULL;
  if (asking) redis_queue(s->conn, 1, (const char *[]){"ASKING"}, NULL); /* if it fails, the connection is lost */
  return redis_command_run(s->conn, deadline, &request->reply, &request->command);
}

/* An error reply is a refusal, and no answer. */
static int check_reply(struct redis_session *s, struct redis_request *request) {
  int rc = redis_refusal(s->env, request->reply);
  if (!rc) return 0;
  s->sent_on = redis_link_heed(&s->link, request->reply);
  freeReplyObject(request->reply);
  request->reply = NULL;
  return rc;
}

static int try_once(struct redis_session *s, struct redis_request *request, lb_ns deadline) {
  int rc = request->stays ? stay_on_conn(s) : use_conn(s, redis_command_key(&request->command), false, deadline);
  if (rc) return rc;
  if (request->before) lb_point(s->env, request->before);
  request->sent_at = lb_now(s->env);
  if (request->grant && !request->repeated) request->grant->asked_at = request->sent_at;
  rc = run_request(s, request, deadline);
  if (request->after) lb_point(s->env, request->after);
  if (rc == LB_UNKNOWN && request->grant) note_doubt(s, request);
  note_result(s, rc);
  if (!rc) rc = check_reply(s, request);
  if (rc == -EROFS && !s->sent_on) give_up_conn(s);
  return rc;
}

int redis_session_once(struct redis_session *s, struct redis_request *request, lb_ns deadline) {
  s->link.ask = NULL; /* was for another request */
  for (int hops = 0;; hops++) {
    bool had_conn = s->conn != NULL;
    int rc = try_once(s, request, deadline);
    bool elsewhere = s->link.target->sentinel_master || (s->sent_on && hops < HOPS_MAX);
    bool again = rc == -EROFS ? elsewhere : rc < 0 && had_conn && !s->conn;
    if (!again || request->stays || lb_now(s->env) >= deadline) return rc;
  }
}

/* The replies to MULTI and to the command are passed over, as late ones are: where either was refused, EXEC is, too. */
int redis_session_exec(struct redis_session *s, const struct redis_command *command, redisReply **reply,
                       lb_ns deadline) {
  struct redis_request exec = {.command = {.argv = {"EXEC"}, .keyless = true}};
  int words = 0, rc = stay_on_conn(s);
  *reply = NULL;
  s->link.ask = NULL;
  if (rc) return rc;
  while (command->argv[words]) words++;
  redis_queue(s->conn, 1, (const char *[]){"MULTI"}, NULL); /* if it fails, the connection is lost */
  redis_queue(s->conn, words, command->argv, NULL);
  rc = run_request(s, &exec, deadline);
  note_result(s, rc);
  if (!rc) rc = check_reply(s, &exec);
  if (rc < 0) give_up_conn(s); /* what has not left yet must not */
  *reply = exec.reply;
  return rc;
}

static int ask_once(struct redis_session *s, struct redis_request *request, lb_ns deadline) {
  lb_ns now = lb_now(s->env), limit = deadline, grace = deadline > now ? (deadline - now) / 2 : 0;
  if (grace > GRACE_MS * LB_NS_PER_MS) grace = GRACE_MS * LB_NS_PER_MS;
  if (is_silent(s)) limit = now + grace;
  /* Another server may be the master by now: half of the time is left to find and to ask it. */
  else if (redis_link_moves(&s->link) && deadline > now) limit = now + (deadline - now) / 2;
  int rc = run_request(s, request, limit);
  if (rc == LB_UNKNOWN) request->unsure = true;
  if (rc == LB_UNKNOWN && request->undoes) settle_doubt(s, request->grant);
  note_result(s, rc);
  return rc ? rc : check_reply(s, request);
}

int redis_session_ask(struct redis_session *s, struct redis_request *request, lb_ns deadline) {
  s->link.ask = NULL;
  for (int hops = 0;; hops++) {
    bool had_conn = s->conn != NULL;
    int rc = use_conn(s, redis_command_key(&request->command), true, deadline);
    if (!rc) rc = ask_once(s, request, deadline);
    if (!rc) return 0;
    bool late = lb_now(s->env) >= deadline;
    if ((rc == -EROFS && !s->sent_on) || (is_silent(s) && !late)) give_up_conn(s);
    bool again = s->sent_on ? hops < HOPS_MAX : had_conn && !s->conn;
    if (late || !again) return request->unsure ? LB_UNKNOWN : rc;
  }
}
