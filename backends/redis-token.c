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
 *             a restart that forgets the key (no persistence, or with appendfsync everysec a machine that crashes);
 *             a jump of the server's wall clock, by which Redis counts a TTL; eviction.
 *
 * Numbers     With the option `fence` acquiring is a script that sets the key and counts the key's grants in another
 *             one, in one round trip. The counter expires a day after its latest number, so that it does not stay for
 *             ever. Numbers grow from holder to holder as long as the server keeps the counter and the lock is used
 *             at least once a day. It is forgotten with everything else: after a failover the promoted replica may lack
 *             the latest counts, a server restarted without persistence begins at 1 again, and then a later holder gets
 *             a number that an earlier one had, or a smaller one. A failover is just when a fence would be needed.
 * Cluster     The master of the key's slot decides; the counter is in the same slot, by the braces in its name. A failover is as
 *             asynchronous there as with Sentinel. A master that is cut off grants until it has missed most others for
 *             cluster-node-timeout.
 * Waking      With the option `wake` the script that releases publishes, too, and who waits is subscribed (redis_ear.h).
 *             Nothing that is promised rests on it: a message only says when to ask again.
 * Source      redis.io, SET and "Distributed Locks with Redis", single-instance form; for Sentinel the clients' guide.
 *
 * What can be known of a request whose reply never came, stands in redis_session.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "redis_ear.h"

enum { OPT_FENCE, OPT_WAKE };
static const struct lb_option token_options[] = {
    [OPT_FENCE] = {"fence", LB_OPT_BOOL, 0, 0, 1, "grants carry a number, counted by the same server"},
    [OPT_WAKE] = {"wake", LB_OPT_BOOL, 0, 0, 1, "a release is published, and waiters hear of it instead of polling"},
    {0},
};

struct lb_session {
  struct redis_session redis;
  struct redis_ear ear; /* of use with wake */
  bool fence, wake;
};

/* ---- acquire ------------------------------------------------------------------------------------------ */

static int read_set(const struct redis_request *set, struct lb_grant *grant) {
  const redisReply *reply = set->reply;
  bool numbered = reply->type == REDIS_REPLY_INTEGER;
  bool done = numbered ? reply->integer > 0 : reply->type == (set->repeated ? REDIS_REPLY_NIL : REDIS_REPLY_STATUS);
  bool earlier = numbered ? reply->integer < 0 : set->repeated && redis_is_token(reply, grant);
  if (!done && !earlier) return LB_BUSY;
  if (numbered) grant->fence = (uint64_t)llabs(reply->integer);
  /* Set by an earlier try: its lease runs since then, or as far as it was extended. */
  if (done) grant->valid_until = lb_lease_end(set->sent_at, set->ttl_ms);
  else if (!grant->valid_until) grant->valid_until = lb_lease_end(grant->asked_at, set->ttl_ms);
  return LB_OK;
}

/* The first try is plain SET NX. A repeated one adds GET (Redis 7), which tells the own token from somebody else's. */
static int set_key(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, bool repeated,
                   lb_ns deadline) {
  char ttl[REDIS_DECIMAL_MAX];
  redis_decimal(lock->ttl_ms, ttl);
  struct redis_command plain = {.argv = {"SET", lock->key, grant->token, "NX", "PX", ttl, repeated ? "GET" : NULL}};
  struct redis_command numbered = {&redis_set_numbered, {lock->key, grant->token, ttl}};
  struct redis_request set = {
      .command = s->fence ? numbered : plain,
      .grant = grant,
      .repeated = repeated,
      .ttl_ms = lock->ttl_ms,
      .before = "before-set",
      .after = "after-set",
  };
  int rc = redis_session_once(&s->redis, &set, deadline);
  if (!rc) rc = read_set(&set, grant);
  freeReplyObject(set.reply);
  return rc;
}

static int token_try_acquire(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  bool repeated = grant->token_len != 0;
  if (!repeated) redis_new_token(s->redis.env, grant);
  int rc = set_key(s, lock, grant, repeated, deadline);
  if (rc == -ETIMEDOUT) rc = LB_TIMEOUT;
  /* What this try was refused says nothing about the earlier one. */
  if (repeated && (rc < 0 || rc == LB_TIMEOUT)) rc = LB_UNKNOWN;
  if (rc == LB_BUSY) rc = redis_session_absent(&s->redis, grant, LB_BUSY);
  if (rc == LB_OK) redis_session_confirm(&s->redis, grant);
  if (rc != LB_OK && rc != LB_UNKNOWN) *grant = LB_GRANT_INIT;
  return rc;
}

static int token_wait(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  (void)grant;
  return redis_ear_wait(&s->ear, &s->redis, lock->key, deadline);
}

/* ---- a grant we have, or may have ----------------------------------------------------------------------- */

static int token_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct redis_request delete = {
      .command = {s->wake ? &redis_delete_and_tell : &redis_delete_if_mine, {lock->key, grant->token}}, .grant = grant, .undoes = true};
  lb_point(s->redis.env, "before-release");
  int rc = redis_session_ask(&s->redis, &delete, deadline);
  /* valid_until == 0 says: never known as held, or an earlier release may have done it. "Not mine" is then no loss. */
  if (delete.unsure) grant->valid_until = 0;
  if (!rc && !redis_is_one(delete.reply))
    rc = redis_session_absent(&s->redis, grant, grant->valid_until ? LB_LOST : LB_OK);
  freeReplyObject(delete.reply);
  return rc;
}

static int token_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char ttl[REDIS_DECIMAL_MAX];
  struct redis_request expire = {
      .command = {&redis_expire_if_mine, {lock->key, grant->token, redis_decimal(lock->ttl_ms, ttl)}}};
  lb_ns end = lb_lease_end(lb_now(s->redis.env), lock->ttl_ms);
  int rc = redis_session_ask(&s->redis, &expire, deadline);
  if (!rc && !redis_is_one(expire.reply)) rc = LB_LOST;
  freeReplyObject(expire.reply);
  if (rc == LB_OK) redis_session_confirm(&s->redis, grant);
  return lb_lease_extended(grant, rc, end);
}

static int token_resolve(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct redis_request get = {.command = {.argv = {"GET", lock->key}}};
  if (s->fence) get.command = (struct redis_command){&redis_number_if_mine, {lock->key, grant->token}};
  int rc = redis_session_ask(&s->redis, &get, deadline);
  bool numbered = !rc && get.reply->type == REDIS_REPLY_INTEGER && get.reply->integer > 0;
  if (!rc && !numbered && !redis_is_token(get.reply, grant)) rc = redis_session_absent(&s->redis, grant, LB_BUSY);
  if (!rc && numbered) grant->fence = (uint64_t)get.reply->integer;
  if (!rc && !grant->valid_until) grant->valid_until = lb_lease_end(grant->asked_at, lock->ttl_ms);
  freeReplyObject(get.reply);
  return rc == LB_OK ? redis_session_confirm(&s->redis, grant) : rc;
}

static int token_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline) {
  struct redis_request get = {.command = {.argv = {"GET", lock->key}}};
  int rc = redis_session_ask(&s->redis, &get, deadline);
  if (!rc && !redis_is_token(get.reply, grant)) rc = LB_LOST;
  freeReplyObject(get.reply);
  return rc == LB_OK ? redis_session_confirm(&s->redis, grant) : rc;
}

static int token_doubt(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
  (void)lock;
  return redis_session_doubt(&s->redis, grant);
}

static int token_inspect(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  return redis_inspect(s->redis.env, s->redis.link.target, endpoint, lock->key, deadline);
}

/* ---- session ------------------------------------------------------------------------------------------ */

static int token_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  (void)deadline;
  s->fence = config->options[OPT_FENCE].b;
  s->wake = config->options[OPT_WAKE].b;
  return redis_session_open(&s->redis, config);
}

static int token_teardown(struct lb_session *s, lb_ns deadline) { return redis_session_teardown(&s->redis, deadline); }

static int token_server(struct lb_session *s) { return redis_session_server(&s->redis); }

static void token_close(struct lb_session *s) {
  redis_ear_close(&s->ear);
  redis_session_close(&s->redis);
}

const struct lb_protocol lb_redis_token = {
    .abi = LB_ABI,
    .size = sizeof(struct lb_protocol),
    .name = "redis-token",
    .summary = "one Redis server: SET NX PX with a random token, released by compare-and-delete",
    .promises =
        "One holder per key while one and the same server decides and keeps the key, its clock does not jump\n"
        "or drift by more than 1 % of the ttl and 2 ms, and holders stop at valid_until. Never releases or extends\n"
        "somebody else's lock. A lost reply is reported as unknown. With fence=yes grants carry numbers that grow\n"
        "while the server keeps its counter, which ends a day after the latest of them.",
    .breaks =
        "Working on past the lease; a failover (replication is asynchronous, a cut-off master goes on\n"
        "granting); a restart without persistence; a jump of the server's wall clock (ahead: the lease ends at once; back:\n"
        "a dead holder keeps the key) or its drift; eviction. The fence does not help after a failover or such a\n"
        "restart: the counter may have gone back, too.",
    .source = "redis.io: SET, and Distributed Locks with Redis (single instance)",
    .topologies = (const char *const[]){"redis", "sentinel", "cluster", NULL},
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
    .wait = token_wait,
    .resolve = token_resolve,
    .holds = token_holds,
    .inspect = token_inspect,
    .teardown = token_teardown,
    .doubt = token_doubt,
    .server = token_server,
};
