/* SPDX-License-Identifier: MIT
 *
 * sentinel-lock: a lock of one's own on a Redis master that may move, written with the helpers of backends/:
 * redis_session keeps the connection to the server that decides (the only one, or the master the Sentinels name) and
 * knows what a request without a reply means, redis_lease has the scripts and the token, lb_lease_end the end.
 */
#include <errno.h>

#include "backends/redis/redis_session.h"
#include "backends/redis/redis_record.h"

struct lb_session {
  struct redis_session redis;
};

/* One yes or no about the grant's record: a script's 1, or a GET that finds the token. LB_OK, `no`, LB_UNKNOWN,
 * -errno. */
static int ask(struct lb_session *s, struct redis_request *request, const struct lb_grant *grant, int no,
               lb_ns deadline) {
  int rc = redis_session_ask(&s->redis, request, deadline);
  if (!rc && !redis_is_one(request->reply) && !redis_is_token(request->reply, grant))
    rc = redis_session_absent(&s->redis, grant, no);
  freeReplyObject(request->reply);
  return rc;
}

static int sentinel_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  (void)deadline; /* connects at the first use */
  return redis_session_open(&s->redis, config);
}

static void sentinel_close(struct lb_session *s) { redis_session_close(&s->redis); }

static int sentinel_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant,
                          lb_ns deadline) {
  struct redis_request get = {.command = {.argv = {"GET", lock->key}}};
  return ask(s, &get, grant, LB_LOST, deadline);
}

static int sentinel_try(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  bool repeated = grant->token_len != 0;
  char ttl[REDIS_DECIMAL_MAX];
  if (!repeated) redis_new_token(s->redis.env, grant);
  struct redis_request set = {
      .command = {.argv = {"SET", lock->key, grant->token, "NX", "PX", redis_decimal(lock->ttl_ms, ttl)}},
      .grant = grant,
      .repeated = repeated,
      .ttl_ms = lock->ttl_ms};
  int rc = redis_session_once(&s->redis, &set, deadline);
  bool is_set = !rc && set.reply->type == REDIS_REPLY_STATUS;
  freeReplyObject(set.reply);
  if (is_set) grant->valid_until = lb_lease_end(set.sent_at, lock->ttl_ms);
  if (!rc && !is_set) { /* somebody has it: perhaps an earlier try of this attempt */
    rc = repeated ? sentinel_holds(s, lock, grant, deadline) : LB_BUSY;
    if (rc == LB_LOST) rc = LB_BUSY;
    if (rc == LB_OK && !grant->valid_until) grant->valid_until = lb_lease_end(grant->asked_at, lock->ttl_ms);
  }
  if (rc == -ETIMEDOUT) rc = LB_TIMEOUT;
  if (repeated && (rc < 0 || rc == LB_TIMEOUT)) rc = LB_UNKNOWN; /* says nothing about the earlier try */
  if (rc != LB_OK && rc != LB_UNKNOWN) *grant = LB_GRANT_INIT;
  return rc;
}

static int sentinel_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct redis_request del = {
      .command = {&redis_script_delete_if_mine, {lock->key, grant->token}}, .grant = grant, .undoes = true};
  return ask(s, &del, grant, LB_LOST, deadline);
}

static int sentinel_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char ttl[REDIS_DECIMAL_MAX];
  struct redis_request expire = {
      .command = {&redis_script_expire_if_mine, {lock->key, grant->token, redis_decimal(lock->ttl_ms, ttl)}}};
  lb_ns end = lb_lease_end(lb_now(s->redis.env), lock->ttl_ms);
  return lb_lease_extended(grant, ask(s, &expire, grant, LB_LOST, deadline), end);
}

static int sentinel_inspect(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  return redis_record_inspect(s->redis.env, s->redis.link.target, endpoint, lock->key, deadline);
}

static int sentinel_teardown(struct lb_session *s, lb_ns deadline) {
  return redis_session_teardown(&s->redis, deadline);
}

static const char *const topologies[] = {"redis", "sentinel", NULL};

static const struct lb_protocol sentinel_lock = {
    .abi = LB_ABI,
    .name = "sentinel-lock",
    .summary = "SET NX PX with a token on whatever server is the master: an example of a plugin with helpers",
    .promises = "One holder per key while one and the same server decides, and holders stop at valid_until.",
    .breaks = "Working on past the lease; a failover, because replication is asynchronous.",
    .source = "redis.io: SET, and the clients' guide of Sentinel",
    .topologies = topologies,
    .traits = LB_TRAIT_LEASED | LB_TRAIT_SERVER_CLOCK,
    .session_size = sizeof(struct lb_session),
    .open = sentinel_open,
    .close = sentinel_close,
    .try_acquire = sentinel_try,
    .release = sentinel_release,
    .extend = sentinel_extend,
    .holds = sentinel_holds,
    .proofs = &(const struct lb_proofs){.inspect = sentinel_inspect},
    .teardown = sentinel_teardown,
};

extern const struct lb_protocol *const lockbench_plugin;
const struct lb_protocol *const lockbench_plugin = &sentinel_lock;
