/* SPDX-License-Identifier: MIT
 *
 * redis-getdel - SET key token NX PX ttl; released by GET, a comparison in the client, and DEL.
 *
 *     if redis.get(key) == token:
 *         redis.delete(key)
 *
 * Promises    One holder per key while no client's lease ends between its GET and its DEL, and all that redis-token
 *             assumes holds. Who is late by more than that leaves the next holder's lock alone: the token in the key is
 *             another one by then.
 * Assumes     That the answer to GET is still true when DEL arrives. Nothing says so: it is a check, then an act.
 * Breaks it   A client that stands still between the two (a pause of its process, a retransmission) until its lease is
 *             over and another one holds: DEL deletes that one's lock. The window is a round trip wide, and the damage
 *             is that of redis-del, so it is found in production. A renewal does the same with GET and PEXPIRE. And all
 *             that breaks redis-token.
 * Source      The release of many clients that know that a token is needed and not what for; redis.io, SET, has the
 *             script in its place.
 *
 * DEL goes over the connection that GET was answered on, or not at all: a server that has taken over meanwhile is asked
 * first. What can be known of a request whose reply never came, stands in redis_session.h.
 */
#include "redis_key.h"

/* What follows upon the answer to GET. LB_OK: done; LB_LOST: there was no key any more; LB_UNKNOWN; -errno: not
 * done. */
static int write_after_get(struct lb_session *s, struct redis_request *write, lb_ns deadline) {
  write->stays = true;
  int rc = redis_session_once(&redis_key(s)->redis, write, deadline);
  if (!rc && !redis_is_one(write->reply)) rc = LB_LOST;
  freeReplyObject(write->reply);
  return rc;
}

static int getdel_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct redis_session *redis = &redis_key(s)->redis;
  lb_point(redis->env, "before-release");
  int rc = redis_key_look(s, lock, grant, deadline);
  if (rc == LB_LOST) return redis_session_absent(redis, grant, grant->valid_until ? LB_LOST : LB_OK);
  if (rc) return rc;
  lb_point(redis->env, "before-del");
  rc = write_after_get(s, &(struct redis_request){.command = {.argv = {"DEL", lock->key}}}, deadline);
  if (rc == LB_UNKNOWN) grant->valid_until = 0; /* it may be done: "not mine" is then no loss */
  return rc;
}

static int getdel_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct redis_session *redis = &redis_key(s)->redis;
  char ttl[REDIS_DECIMAL_MAX];
  int rc = redis_key_look(s, lock, grant, deadline);
  if (rc) return rc;
  lb_ns end = lb_lease_end(lb_now(redis->env), lock->ttl_ms);
  struct redis_request expire = {.command = {.argv = {"PEXPIRE", lock->key, redis_decimal(lock->ttl_ms, ttl)}}};
  rc = write_after_get(s, &expire, deadline);
  if (rc == LB_OK) redis_session_confirm(redis, grant);
  return lb_lease_extended(grant, rc, end);
}

const struct lb_protocol lb_redis_getdel = {
    .abi = LB_ABI,
    .name = "redis-getdel",
    .summary = "one Redis server: SET NX PX with a random token, which the client compares before it sends DEL",
    .facts = "release=looked",
    .traits = LB_TRAIT_LEASED | LB_TRAIT_SERVER_CLOCK | LB_TRAIT_NEEDS_MEMORY | LB_TRAIT_NEEDS_SUCCESSOR |
              LB_TRAIT_NEEDS_RATE,
    /* after-set: the reply has been read, or given up, and not been looked at. before-del: between GET, which found the
     * own token, and DEL. */
    .points = (const char *const[]){"before-set", "after-set", "before-release", "before-del", NULL},
    .session_size = sizeof(struct redis_key),
    REDIS_KEY_HOOKS,
    .try_acquire = redis_key_try,
    .release = getdel_release,
    .extend = getdel_extend,
    .resolve = redis_key_resolve,
    .holds = redis_key_holds,
};
