/* SPDX-License-Identifier: MIT
 *
 * sentinel-lock: a lock of one's own on a Redis master that may move, written with the helpers of backends/: redis_link finds the
 * server that decides (the only one, or the master the Sentinels name), redis_lease has the scripts and the token, lb_lease_end the end.
 *
 * It is simpler than redis-token in one place: a SET whose reply did not come may arrive after its connection was given up, and then
 * blocks others for one ttl. Nobody believes in it, so that costs time, not safety.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "backends/redis_util.h"

struct lb_session {
  struct lb_env *env;
  struct redis_link link;
  struct redis_conn *conn; /* NULL: the next use looks for the master */
};

static void drop(struct lb_session *s) {
  redis_close(s->conn);
  s->conn = NULL;
}

/* A connection that owes a reply, or was closed meanwhile, is given up. */
static int connect_if_needed(struct lb_session *s, lb_ns deadline) {
  if (s->conn && (redis_drain(s->conn) < 0 || redis_owed(s->conn) > 0)) drop(s);
  return s->conn ? 0 : redis_link_open(&s->link, deadline, &s->conn);
}

/* After every call: an error reply is a result like any other, and after an error the next call connects anew. */
static int settle(struct lb_session *s, int rc, redisReply **reply) {
  if (!rc && (rc = redis_refusal(s->env, *reply))) freeReplyObject(*reply), *reply = NULL;
  if (rc) drop(s);
  return rc;
}

/* One yes or no about the grant's record: a script's 1, or a GET that finds the token. 1, 0, LB_UNKNOWN (4), -errno. */
static int ask(struct lb_session *s, const struct redis_script *script, const char *key, const struct lb_grant *grant,
               const char *extra, lb_ns deadline) {
  redisReply *reply = NULL;
  int rc = connect_if_needed(s, deadline);
  if (rc) return rc;
  rc = script ? redis_eval(s->conn, deadline, &reply, script, key, grant, extra)
              : redis_callf(s->conn, deadline, &reply, "GET %s", key);
  rc = settle(s, rc, &reply);
  if (!rc) rc = script ? reply->type == REDIS_REPLY_INTEGER && reply->integer == 1 : redis_is_token(reply, grant);
  freeReplyObject(reply);
  return rc;
}

static int as_result(int answer) { return answer == 1 ? LB_OK : answer == 0 ? LB_LOST : answer; }

static int sentinel_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  (void)deadline;
  s->env = config->env;
  return redis_link_init(&s->link, config->env, config->target);
}

static void sentinel_close(struct lb_session *s) { redis_close(s->conn); }

static int sentinel_try(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  bool repeated = grant->token_len != 0, set = false;
  redisReply *reply = NULL;
  char ttl[24];
  snprintf(ttl, sizeof ttl, "%" PRId64, lock->ttl_ms);
  int rc = connect_if_needed(s, deadline);
  if (!repeated) redis_new_token(s->env, grant);
  lb_ns sent = lb_now(s->env);
  if (!repeated) grant->asked_at = sent;
  if (!rc) {
    const char *argv[] = {"SET", lock->key, grant->token, "NX", "PX", ttl};
    rc = settle(s, redis_call(s->conn, deadline, &reply, 6, argv, NULL), &reply);
  }
  if (!rc && (set = reply->type == REDIS_REPLY_STATUS)) grant->valid_until = lb_lease_end(sent, lock->ttl_ms);
  freeReplyObject(reply);
  if (!rc && !set) { /* somebody has it: perhaps an earlier try of this attempt */
    int mine = repeated ? ask(s, NULL, lock->key, grant, NULL, deadline) : 0;
    rc = mine == 1 ? LB_OK : mine == 0 ? LB_BUSY : LB_UNKNOWN;
    if (mine == 1 && !grant->valid_until) grant->valid_until = lb_lease_end(grant->asked_at, lock->ttl_ms);
  }
  if (rc == -ETIMEDOUT) rc = LB_TIMEOUT;
  if (repeated && (rc < 0 || rc == LB_TIMEOUT)) rc = LB_UNKNOWN; /* says nothing about the earlier try */
  if (rc != LB_OK && rc != LB_UNKNOWN) *grant = LB_GRANT_INIT;
  return rc;
}

static int sentinel_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  return as_result(ask(s, &redis_delete_if_mine, lock->key, grant, NULL, deadline));
}

static int sentinel_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char ttl[24];
  snprintf(ttl, sizeof ttl, "%" PRId64, lock->ttl_ms);
  lb_ns end = lb_lease_end(lb_now(s->env), lock->ttl_ms);
  int rc = as_result(ask(s, &redis_expire_if_mine, lock->key, grant, ttl, deadline));
  if (rc == LB_OK || (rc == LB_UNKNOWN && end < grant->valid_until)) grant->valid_until = end;
  return rc;
}

static int sentinel_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline) {
  return as_result(ask(s, NULL, lock->key, grant, NULL, deadline));
}

static int sentinel_inspect(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  return redis_inspect(s->env, s->link.target, endpoint, lock->key, deadline);
}

static const char *const topologies[] = {"redis", "sentinel", NULL};

static const struct lb_protocol sentinel_lock = {
    .abi = LB_ABI,
    .size = sizeof(struct lb_protocol),
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
    .inspect = sentinel_inspect,
};

extern const struct lb_protocol *const lockbench_plugin;
const struct lb_protocol *const lockbench_plugin = &sentinel_lock;
