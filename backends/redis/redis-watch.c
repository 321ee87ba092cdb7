/* SPDX-License-Identifier: MIT
 *
 * redis-watch - SETNX with a token, then EXPIRE; who is refused looks whether the key has an end, and sets one where it
 * has none. Released by WATCH, GET, MULTI, DEL, EXEC. Waiters ask again every millisecond. The lock of the book "Redis
 * in Action".
 *
 * Promises    One holder per key, as redis-token, without any script. EXEC does nothing if the key was changed, deleted
 *             or expired since WATCH, so a release or a renewal never touches somebody else's lock, wherever the client
 *             stands still. A client that dies between SETNX and EXPIRE does not block others for ever: the next one
 *             that is refused gives its key an end.
 * Assumes     As redis-token; and that the watched key's expiry ends the transaction, which is so since Redis 6.0.9.
 *             That every client is of this kind: a lock that has no end on purpose gets one.
 * Breaks it   As redis-token. The repair itself is a check, then an act: between PTTL and EXPIRE the key may have got
 *             another owner, whose lease then ends a ttl from now (in whole seconds, rounded up), sooner or later than
 *             it thinks (if all ask for the same ttl: later). The book's own listing asks "not ttl". It repairs with
 *             redis.Redis of redis-py 2, which turns -1 into None; with StrictRedis, as without that mapping, it
 *             repairs nothing, as -1 is not false. A release is three round trips (MULTI, DEL and EXEC leave together),
 *             and each waiter asks a thousand times a second: cheap only while few wait.
 * Source      J. Carlson, "Redis in Action" (2013), 6.2: acquire_lock_with_timeout, release_lock. redis.io,
 *             "Transactions".
 *
 * WATCH belongs to a connection, so all five go over one, or it begins anew. What can be known of a request whose reply
 * never came, stands in redis_session.h.
 */
#include <errno.h>

#include "redis_key.h"

static struct redis_session *redis_of(struct lb_session *s) { return &redis_key(s)->redis; }

/* ---- a change of the key that is ours, in a transaction ----------------------------------------------- */

/* Over the connection of the request before it, or not at all. */
static int follow(struct lb_session *s, struct redis_request *request, lb_ns deadline) {
  request->stays = true;
  return redis_session_once(redis_of(s), request, deadline);
}

/* LB_OK: the key is ours, and watched; LB_LOST: it is not; LB_UNKNOWN, -errno. */
static int watch(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline) {
  struct redis_request watch = {.command = {.argv = {"WATCH", lock->key}}},
                       get = {.command = {.argv = {"GET", lock->key}}};
  struct redis_request unwatch = {.command = {.argv = {"UNWATCH"}}};
  int rc = redis_session_once(redis_of(s), &watch, deadline);
  if (!rc) rc = follow(s, &get, deadline);
  if (!rc && !redis_is_token(get.reply, grant)) rc = LB_LOST;
  if (rc == LB_LOST) follow(s, &unwatch, deadline);
  freeReplyObject(watch.reply);
  freeReplyObject(get.reply);
  freeReplyObject(unwatch.reply);
  return rc;
}

/* Nothing is done yet, and what the connection watches would be so in the next transaction, too: it is closed. */
static int give_up(struct lb_session *s, int rc) {
  redis_session_hang_up(redis_of(s));
  return rc == LB_UNKNOWN ? -ETIMEDOUT : rc;
}

/* LB_OK: EXEC did it; LB_BUSY: it did nothing, as the key has changed since it is watched; LB_UNKNOWN, -errno. */
static int execute(struct lb_session *s, struct redis_command change, lb_ns deadline) {
  redisReply *reply;
  int rc = redis_session_exec(redis_of(s), &change, &reply, deadline);
  if (!rc && reply->type == REDIS_REPLY_NIL) rc = LB_BUSY;
  freeReplyObject(reply);
  return rc;
}

/* LB_OK; LB_LOST: the key is not ours; LB_UNKNOWN; -errno: nothing was changed. `between`: a point. */
static int change_ours(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant,
                       struct redis_command change, const char *between, lb_ns deadline) {
  for (;;) {
    int rc = watch(s, lock, grant, deadline);
    if (rc == LB_LOST) return rc;
    if (rc) return give_up(s, rc);
    if (between) lb_point(redis_of(s)->env, between);
    rc = execute(s, change, deadline);
    if (rc != LB_BUSY) return rc;
    if (lb_now(redis_of(s)->env) >= deadline)
      return lb_fail(redis_of(s)->env, -ETIMEDOUT, "the key was changed each time it was watched");
  }
}

static int change_end(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline) {
  char ttl[REDIS_DECIMAL_MAX];
  struct redis_command expire = {.argv = {"PEXPIRE", lock->key, redis_decimal(lock->ttl_ms, ttl)}};
  return change_ours(s, lock, grant, expire, NULL, deadline);
}

/* ---- acquire ------------------------------------------------------------------------------------------ */

/* The holder has died before it could set an end, or is just about to set it. */
static void repair(struct lb_session *s, const struct lb_lock *lock, lb_ns deadline) {
  struct redis_request pttl = {.command = {.argv = {"PTTL", lock->key}}};
  int rc = redis_session_ask(redis_of(s), &pttl, deadline);
  if (!rc && pttl.reply->integer == -1) redis_key_set_end(s, lock, deadline);
  freeReplyObject(pttl.reply);
}

static int watch_resolve(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  int rc = change_end(s, lock, grant, deadline);
  if (rc == LB_LOST) return redis_session_absent(redis_of(s), grant, LB_BUSY);
  if (rc != LB_OK) return rc;
  if (!grant->valid_until) grant->valid_until = lb_lease_end(grant->asked_at, lock->ttl_ms);
  return redis_session_confirm(redis_of(s), grant);
}

static int watch_try_acquire(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  if (redis_key_begin(s, grant)) return watch_resolve(s, lock, grant, deadline);
  struct redis_request setnx = {.command = {.argv = {"SETNX", lock->key, grant->token}},
                                .grant = grant,
                                .before = "before-set",
                                .after = "after-set"};
  int rc = redis_session_once(redis_of(s), &setnx, deadline);
  if (!rc && !redis_is_one(setnx.reply)) rc = LB_BUSY;
  freeReplyObject(setnx.reply);
  if (rc == LB_BUSY) repair(s, lock, deadline);
  if (!rc && redis_key_set_end(s, lock, deadline)) return LB_UNKNOWN; /* it is ours, perhaps without an end */
  if (!rc) grant->valid_until = lb_lease_end(grant->asked_at, lock->ttl_ms);
  return redis_key_tried(s, grant, false, rc);
}

/* ---- a grant we have, or may have --------------------------------------------------------------------- */

static int watch_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  lb_point(redis_of(s)->env, "before-release");
  int rc = change_ours(s, lock, grant, (struct redis_command){.argv = {"DEL", lock->key}}, "before-del", deadline);
  if (rc == LB_UNKNOWN) grant->valid_until = 0; /* it may be done: "not mine" is then no loss */
  return rc == LB_LOST ? redis_session_absent(redis_of(s), grant, grant->valid_until ? LB_LOST : LB_OK) : rc;
}

static int watch_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  lb_ns end = lb_lease_end(lb_now(redis_of(s)->env), lock->ttl_ms);
  int rc = change_end(s, lock, grant, deadline);
  if (rc == LB_OK) redis_session_confirm(redis_of(s), grant);
  return lb_lease_extended(grant, rc, end);
}

const struct lb_protocol lb_redis_watch = {
    .abi = LB_ABI,
    .name = "redis-watch",
    .summary = "one Redis server: SETNX and EXPIRE, repaired by who is refused, released by WATCH, MULTI, DEL, EXEC",
    .traits = LB_TRAIT_LEASED | LB_TRAIT_SERVER_CLOCK | LB_TRAIT_NEEDS_MEMORY | LB_TRAIT_NEEDS_SUCCESSOR |
              LB_TRAIT_NEEDS_RATE,
    /* after-set: between SETNX and EXPIRE; the reply has been read, or given up, and not been looked at. before-del:
     * between GET, which found the own token, and MULTI. */
    .points = (const char *const[]){"before-set", "after-set", "before-release", "before-del", NULL},
    .midway = "after-set",
    .poll_ms = 1,
    .session_size = sizeof(struct redis_key),
    REDIS_KEY_HOOKS,
    .try_acquire = watch_try_acquire,
    .release = watch_release,
    .extend = watch_extend,
    .resolve = watch_resolve,
    .holds = redis_key_holds,
};
