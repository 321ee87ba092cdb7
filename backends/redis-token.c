/* SPDX-License-Identifier: MIT
 *
 * redis-token - the single-server Redis lock done right: SET key token NX PX ttl, released by compare-and-delete.
 *
 * Promises    One holder per key as long as one and the same Redis server decides, its clock does not jump, and holders
 *             stop at valid_until. The lease is counted from before the request left, minus drift, so the client's end
 *             comes before the server's. A release or an extension never touches somebody else's lock.
 * Assumes     The server keeps what it has confirmed, and its clock and the client's run at nearly the same rate.
 * Breaks it   A holder that works on past its lease (a pause, with nobody checking); a failover, because replication is
 *             asynchronous and the promoted replica may not know the key; a cut-off old master, which goes on granting;
 *             a restart without persistence; a jump of the server's wall clock, by which Redis counts a TTL; eviction.
 *
 * Numbers     With the option `fence` acquiring is a script that sets the key and counts the key's grants in another
 *             one, without an expiry, in one round trip. So numbers grow from holder to holder as long as the server
 *             keeps the counter. It is forgotten with everything else: after a failover the promoted replica may lack
 *             the latest counts, a server restarted without persistence begins at 1 again, and then a later holder gets
 *             a number that an earlier one had, or a smaller one. A failover is just when a fence would be needed.
 * Source      redis.io, SET and "Distributed Locks with Redis", single-instance form; for Sentinel the clients' guide.
 *
 * Unknown outcomes. A SET without a reply may have been executed, or may still be on its way. Three things keep the
 * answers true afterwards:
 *  - The connection stays. Redis executes a connection's commands in order, so a GET (or the delete) that is answered
 *    there settles what the SET before it did, and nothing can follow.
 *  - Where the server has ended the connection, what it had not executed it never will: a new one tells the truth.
 *  - Only a connection given up because it stays silent leaves doubt: its SET may arrive after we looked elsewhere. Own
 *    token found = held. Not found = unknown until the lease would have run out anyway; from then on the client could
 *    not believe in it, which makes "not held" definite. All a SET can do after that is block others for one ttl.
 * A silent connection gets a short grace in the next call about an attempt, and none from a try to acquire.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "redis_util.h"

#define GRACE_MS 200
#define IDLE_MS 10 /* after that long it is worth a system call to see whether the server has hung up meanwhile */

enum { OPT_FENCE };
static const struct lb_option token_options[] = {
    [OPT_FENCE] = {"fence", LB_OPT_BOOL, 0, 0, 1, "grants carry a number, counted by the same server"},
    {0},
};

struct lb_session {
  struct lb_env *env;
  bool fence;
  struct redis_link link;
  struct redis_conn *conn; /* NULL: the next use connects */
  lb_ns used_at;           /* when conn last answered */
  int64_t ttl_ms;          /* the shortest asked for so far: resolve() is not told */
  struct {                 /* attempts, by asked_at, whose SET got no reply */
    lb_ns from, to;        /* both 0: none */
    lb_ns until;           /* their leases end before, whenever the server started them while it mattered */
    bool in_conn;          /* their SETs all stand in front of what conn will execute next */
  } doubt;
};

/* ---- the connection ----------------------------------------------------------------------------------- */

static void give_up_conn(struct lb_session *s) {
  if (!s->conn) return;
  if (s->doubt.in_conn && redis_ended_by_server(s->conn)) s->doubt.from = s->doubt.to = 0;
  s->doubt.in_conn = false;
  redis_close(s->conn);
  s->conn = NULL;
}

static bool is_silent(const struct lb_session *s) { return s->conn && redis_owed(s->conn) > 0; }

/* Looks at the connection there is and connects if there is none, or if it is silent and shall not be waited for. */
static int use_conn(struct lb_session *s, bool allow_silent, lb_ns deadline) {
  lb_ns now = lb_now(s->env);
  if (s->conn && (is_silent(s) || now > s->used_at + IDLE_MS * LB_NS_PER_MS)) redis_drain(s->conn);
  if (s->conn && (redis_lost(s->conn) || (!allow_silent && is_silent(s)))) give_up_conn(s);
  if (s->conn) return 0;
  s->used_at = now;
  return redis_link_open(&s->link, deadline, &s->conn);
}

/* After a call on conn that returned rc. */
static void note_result(struct lb_session *s, int rc) {
  if (redis_lost(s->conn)) {
    give_up_conn(s);
  } else if (rc == 0) {
    s->used_at = lb_now(s->env);
    if (s->doubt.in_conn) s->doubt.from = s->doubt.to = 0;
  }
}

/* ---- doubt -------------------------------------------------------------------------------------------- */

/* The grant's SET, sent just now on conn, got no reply. */
static void note_doubt(struct lb_session *s, const struct lb_grant *grant, lb_ns until) {
  bool more = s->doubt.to && lb_now(s->env) < s->doubt.until;
  if (!more) {
    s->doubt.from = s->doubt.to = grant->asked_at;
    s->doubt.until = until;
    s->doubt.in_conn = true;
    return;
  }
  if (grant->asked_at < s->doubt.from) s->doubt.from = grant->asked_at;
  if (grant->asked_at > s->doubt.to) s->doubt.to = grant->asked_at;
  if (until > s->doubt.until) s->doubt.until = until;
}

/* The server says that the key is not the grant's. `result`, unless its SET may still come. */
static int not_mine(struct lb_session *s, const struct lb_grant *grant, int result) {
  bool doubtful = grant->asked_at >= s->doubt.from && grant->asked_at <= s->doubt.to;
  if (!doubtful || lb_now(s->env) >= s->doubt.until) return result;
  lb_fail(s->env, -ETIMEDOUT, "the request may still arrive over a connection that was given up");
  return LB_UNKNOWN;
}

/* The delete without a reply stands right behind the doubtful SET: whether they arrive or not, nothing remains. */
static void settle_doubt(struct lb_session *s, const struct lb_grant *grant) {
  bool written = !(redis_events(s->conn) & POLLOUT), alone = s->doubt.from == s->doubt.to;
  if (s->doubt.in_conn && written && alone && s->doubt.to == grant->asked_at) s->doubt.from = s->doubt.to = 0;
}

/* ---- one question about a key and a token --------------------------------------------------------------- */

struct question {
  const struct redis_script *script; /* NULL: GET */
  const char *key;
  const struct lb_grant *grant;
  const char *extra;
  redisReply *reply; /* the answer; freed by whoever asked */
  bool unsure;       /* it was executed perhaps, before the try that answered */
};

static int ask_once(struct lb_session *s, struct question *q, lb_ns deadline) {
  lb_ns now = lb_now(s->env), limit = deadline, grace = deadline > now ? (deadline - now) / 2 : 0;
  if (grace > GRACE_MS * LB_NS_PER_MS) grace = GRACE_MS * LB_NS_PER_MS;
  if (is_silent(s)) limit = now + grace;
  int rc = q->script ? redis_eval(s->conn, limit, &q->reply, q->script, q->key, q->grant, q->extra)
                     : redis_call(s->conn, limit, &q->reply, 2, (const char *[]){"GET", q->key}, NULL);
  if (rc == LB_UNKNOWN) q->unsure = true;
  if (rc == LB_UNKNOWN && q->script == &redis_delete_if_mine) settle_doubt(s, q->grant);
  note_result(s, rc);
  if (rc || !(rc = redis_refusal(s->env, q->reply))) return rc;
  freeReplyObject(q->reply);
  q->reply = NULL;
  return rc;
}

/* All of these may be asked again. So a connection that existed before and fails is replaced within the call: it may
 * have been stale, silent, or to a server that is no master any more. 0 with q->reply, LB_UNKNOWN, or -errno: not
 * executed. */
static int ask(struct lb_session *s, struct question *q, lb_ns deadline) {
  for (;;) {
    bool had_conn = s->conn != NULL;
    int rc = use_conn(s, true, deadline);
    if (!rc) rc = ask_once(s, q, deadline);
    if (!rc) return 0;
    bool late = lb_now(s->env) >= deadline;
    if (rc == -EROFS || (is_silent(s) && !late)) give_up_conn(s);
    if (late || !had_conn || s->conn) return q->unsure ? LB_UNKNOWN : rc;
  }
}

static bool answered_one(const struct question *q) {
  return q->reply->type == REDIS_REPLY_INTEGER && q->reply->integer == 1;
}

/* ---- acquire ------------------------------------------------------------------------------------------ */

/* The first try is plain SET NX. A repeated one adds GET (Redis 7), which tells the own token from somebody else's. */
static int send_plain(struct lb_session *s, const char *key, const char *ttl, const struct lb_grant *grant,
                      bool repeated, lb_ns deadline, redisReply **ret) {
  const char *argv[] = {"SET", key, grant->token, "NX", "PX", ttl, "GET"};
  return redis_call(s->conn, deadline, ret, repeated ? 7 : 6, argv, NULL);
}

static int send_set(struct lb_session *s, const char *key, int64_t ttl_ms, struct lb_grant *grant, bool repeated,
                    lb_ns deadline, redisReply **ret, lb_ns *ret_asked_at) {
  char ttl[24];
  snprintf(ttl, sizeof ttl, "%" PRId64, ttl_ms);
  int rc = use_conn(s, false, deadline);
  if (rc) return rc;
  lb_point(s->env, "before-set");
  *ret_asked_at = lb_now(s->env);
  if (!repeated) grant->asked_at = *ret_asked_at;
  rc = s->fence ? redis_eval(s->conn, deadline, ret, &redis_set_numbered, key, grant, ttl)
                : send_plain(s, key, ttl, grant, repeated, deadline, ret);
  lb_point(s->env, "after-set");
  if (rc == LB_UNKNOWN) note_doubt(s, grant, *ret_asked_at + (lb_ns)ttl_ms * LB_NS_PER_MS);
  note_result(s, rc);
  if (!rc && (rc = redis_refusal(s->env, *ret))) {
    freeReplyObject(*ret);
    *ret = NULL;
    if (rc == -EROFS) give_up_conn(s);
  }
  return rc;
}

/* Tries again while that is harmless and time is left: on a new connection when the old one was lost before anything
 * was sent, and with Sentinel when the server is no master any more (the search for the master does the waiting). */
static int set_somewhere(struct lb_session *s, const char *key, int64_t ttl_ms, struct lb_grant *grant, bool repeated,
                         lb_ns deadline, redisReply **ret, lb_ns *ret_asked_at) {
  for (;;) {
    bool had_conn = s->conn != NULL;
    int rc = send_set(s, key, ttl_ms, grant, repeated, deadline, ret, ret_asked_at);
    bool again = rc == -EROFS ? s->link.target->sentinel_master != NULL : rc < 0 && had_conn && !s->conn;
    if (!again || lb_now(s->env) >= deadline) return rc;
  }
}

static int read_set(const redisReply *reply, struct lb_grant *grant, bool repeated, lb_ns asked_at, int64_t ttl_ms) {
  bool numbered = reply->type == REDIS_REPLY_INTEGER;
  bool set = numbered ? reply->integer > 0 : reply->type == (repeated ? REDIS_REPLY_NIL : REDIS_REPLY_STATUS);
  bool earlier = numbered ? reply->integer < 0 : repeated && redis_is_token(reply, grant);
  if (!set && !earlier) return LB_BUSY;
  if (numbered) grant->fence = (uint64_t)llabs(reply->integer);
  /* Set by an earlier try: its lease runs since then, or as far as it was extended. */
  if (set) grant->valid_until = lb_lease_end(asked_at, ttl_ms);
  else if (!grant->valid_until) grant->valid_until = lb_lease_end(grant->asked_at, ttl_ms);
  return LB_OK;
}

static int token_try_acquire(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  bool repeated = grant->token_len != 0;
  redisReply *reply = NULL;
  lb_ns asked_at = 0;
  if (!repeated) redis_new_token(s->env, grant);
  if (!s->ttl_ms || lock->ttl_ms < s->ttl_ms) s->ttl_ms = lock->ttl_ms;
  int rc = set_somewhere(s, lock->key, lock->ttl_ms, grant, repeated, deadline, &reply, &asked_at);
  if (!rc) rc = read_set(reply, grant, repeated, asked_at, lock->ttl_ms);
  freeReplyObject(reply);
  if (rc == -ETIMEDOUT) rc = LB_TIMEOUT;
  /* What this try was refused says nothing about the earlier one. */
  if (repeated && (rc < 0 || rc == LB_TIMEOUT)) rc = LB_UNKNOWN;
  if (rc == LB_BUSY) rc = not_mine(s, grant, LB_BUSY);
  if (rc != LB_OK && rc != LB_UNKNOWN) *grant = LB_GRANT_INIT;
  return rc;
}

/* ---- a grant we have, or may have ----------------------------------------------------------------------- */

static int token_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct question q = {.script = &redis_delete_if_mine, .key = lock->key, .grant = grant};
  lb_point(s->env, "before-release");
  int rc = ask(s, &q, deadline);
  /* valid_until == 0 says: never known as held, or an earlier release may have done it. "Not mine" is then no loss. */
  if (q.unsure) grant->valid_until = 0;
  if (!rc && !answered_one(&q)) rc = not_mine(s, grant, grant->valid_until ? LB_LOST : LB_OK);
  freeReplyObject(q.reply);
  return rc;
}

static int token_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char ttl[24];
  snprintf(ttl, sizeof ttl, "%" PRId64, lock->ttl_ms);
  struct question q = {.script = &redis_expire_if_mine, .key = lock->key, .grant = grant, .extra = ttl};
  lb_ns end = lb_lease_end(lb_now(s->env), lock->ttl_ms);
  int rc = ask(s, &q, deadline);
  if (!rc && !answered_one(&q)) rc = LB_LOST;
  /* Without a reply the old end stays, unless this would have brought it forward. */
  if (rc == LB_OK || (rc == LB_UNKNOWN && end < grant->valid_until)) grant->valid_until = end;
  freeReplyObject(q.reply);
  return rc;
}

static int token_resolve(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct question q = {.script = s->fence ? &redis_number_if_mine : NULL, .key = lock->key, .grant = grant};
  int rc = ask(s, &q, deadline);
  bool numbered = !rc && q.reply->type == REDIS_REPLY_INTEGER && q.reply->integer > 0;
  if (!rc && !numbered && !redis_is_token(q.reply, grant)) rc = not_mine(s, grant, LB_BUSY);
  if (!rc && numbered) grant->fence = (uint64_t)q.reply->integer;
  if (!rc && !grant->valid_until) grant->valid_until = lb_lease_end(grant->asked_at, s->ttl_ms);
  freeReplyObject(q.reply);
  return rc;
}

static int token_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline) {
  struct question q = {.key = lock->key, .grant = grant};
  int rc = ask(s, &q, deadline);
  if (!rc && !redis_is_token(q.reply, grant)) rc = LB_LOST;
  freeReplyObject(q.reply);
  return rc;
}

static int token_inspect(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  return redis_inspect(s->env, s->link.target, endpoint, lock->key, deadline);
}

/* ---- session ------------------------------------------------------------------------------------------ */

/* Connects at the first use: a client may be started while the server is down. */
static int token_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  (void)deadline;
  s->env = config->env;
  s->fence = config->options[OPT_FENCE].b;
  return redis_link_init(&s->link, config->env, config->target);
}

static void token_close(struct lb_session *s) { redis_close(s->conn); }

const struct lb_protocol lb_redis_token = {
    .abi = LB_ABI,
    .size = sizeof(struct lb_protocol),
    .name = "redis-token",
    .summary = "one Redis server: SET NX PX with a random token, released by compare-and-delete",
    .promises = "One holder per key while one and the same server decides, its clock does not jump, and holders stop\n"
                "at valid_until. Never releases or extends somebody else's lock. A lost reply is reported as unknown.\n"
                "With fence=yes grants carry numbers that grow while the server keeps its counter.",
    .breaks =
        "Working on past the lease; a failover (replication is asynchronous, a cut-off master goes on\n"
        "granting); a restart without persistence; a jump of the server's wall clock; eviction. The fence does not\n"
        "help after a failover or such a restart: the counter may have gone back, too.",
    .source = "redis.io: SET, and Distributed Locks with Redis (single instance)",
    .topologies = (const char *const[]){"redis", "sentinel", NULL},
    .traits = LB_TRAIT_LEASED | LB_TRAIT_SERVER_CLOCK,
    .options = token_options,
    /* after-set: the reply has been read, or given up, and not been looked at. */
    .points = (const char *const[]){"before-set", "after-set", "before-release", NULL},
    .session_size = sizeof(struct lb_session),
    .open = token_open,
    .close = token_close,
    .try_acquire = token_try_acquire,
    .release = token_release,
    .extend = token_extend,
    .resolve = token_resolve,
    .holds = token_holds,
    .inspect = token_inspect,
};
