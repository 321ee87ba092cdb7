/* SPDX-License-Identifier: MIT
 *
 * redis-stamp - SETNX with the time at which the lock ends as the value; who finds that time passed takes over with
 * GETSET.
 *
 *     expires = now + ttl + 1
 *     SETNX key expires                  1: acquired
 *     GET key                            nothing: from the beginning; a time to come: somebody holds it
 *     GETSET key expires                 it gives back a time that has passed: acquired; another one was first:
 *                                        somebody holds it
 *     DEL key                            to release, if the own time has not passed
 *
 * Promises    One holder per key while the wall clocks of all clients agree, and no loser of the race with GETSET had
 *             worked out its time before the winner did. A dead holder's lock is taken over when its time has passed:
 *             no key needs an expiry, and no client can die between two commands that belong together.
 * Assumes     Wall clocks that agree, to within what the lease is longer than the work. The server's clock does not
 *             matter.
 * Breaks it   A client whose clock runs ahead finds every lock expired, and steals it. One whose clock is behind leaves
 *             a lock for longer. GETSET is also done by who comes second: it is told so, and its time stands in the
 *             key. If it had stood still since it worked that out, the winner's lock ends as early as the loser's would
 *             have, within the winner's lease, and is taken over then. Else it ends later, and if the winner dies,
 *             everybody waits for a holder that there never was. A release that compares the value would fail for the
 *             winner. A release looks at the own time and then sends DEL: who stands still between the two, until
 *             another one has taken over, deletes that one's key. The value is a time: it says not whose.
 * Source      redis.io, SETNX, "Design pattern: Locking with SETNX"; kenn/redis-mutex #5, #6.
 *
 * What can be known of a request whose reply never came, stands in redis_key.h: the value tells as little, as two
 * clients may have the same time, and another one may have written over it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "redis_blind.h"

enum { FROM_THE_BEGINNING = 100 }; /* beside enum lb_result */

static struct redis_session *redis_of(struct lb_session *s) { return &redis_key(s)->redis; }

static bool has_passed(struct lb_session *s, int64_t time_ms) { return time_ms <= lb_wall_ms(redis_of(s)->env); }

/* The token of a grant is its time. */
static void set_time(struct lb_session *s, int64_t ttl_ms, struct lb_grant *grant) {
  redis_decimal(lb_wall_ms(redis_of(s)->env) + ttl_ms + 1, grant->token);
  grant->token_len = strlen(grant->token);
}

static int64_t time_in(const redisReply *reply) {
  return reply->type == REDIS_REPLY_STRING ? strtoll(reply->str, NULL, 10) : 0;
}

/* LB_OK: somebody holds it; LB_LOST: the time in the key has passed; FROM_THE_BEGINNING: there is no key; LB_UNKNOWN;
 * -errno. */
static int look(struct lb_session *s, const struct lb_lock *lock, lb_ns deadline) {
  struct redis_request get = {.command = {.argv = {"GET", lock->key}}};
  int rc = redis_session_ask(redis_of(s), &get, deadline);
  if (!rc && get.reply->type == REDIS_REPLY_NIL) rc = FROM_THE_BEGINNING;
  if (!rc && has_passed(s, time_in(get.reply))) rc = LB_LOST;
  freeReplyObject(get.reply);
  return rc;
}

/* ---- acquire ------------------------------------------------------------------------------------------ */

static int take_over(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct redis_request getset = {.command = {.argv = {"GETSET", lock->key, grant->token}},
                                 .grant = grant,
                                 .repeated = true, /* it is the attempt of the SETNX before it */
                                 .ttl_ms = lock->ttl_ms,
                                 .before = "before-getset"};
  int rc = redis_session_once(redis_of(s), &getset, deadline);
  if (!rc && !has_passed(s, time_in(getset.reply))) rc = LB_BUSY; /* who was first has our time in its key now */
  freeReplyObject(getset.reply);
  return rc;
}

static int try_once(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  set_time(s, lock->ttl_ms, grant);
  struct redis_request setnx = {.command = {.argv = {"SETNX", lock->key, grant->token}},
                                .grant = grant,
                                .ttl_ms = lock->ttl_ms,
                                .before = "before-set",
                                .after = "after-set"};
  int rc = redis_session_once(redis_of(s), &setnx, deadline);
  bool done = !rc && redis_is_one(setnx.reply);
  freeReplyObject(setnx.reply);
  if (rc || done) return rc;
  rc = look(s, lock, deadline);
  if (rc == LB_LOST) return take_over(s, lock, grant, deadline);
  return rc == LB_OK ? LB_BUSY : rc == LB_UNKNOWN ? -ETIMEDOUT : rc;
}

static int stamp_resolve(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct redis_session *redis = redis_of(s);
  int rc = look(s, lock, deadline);
  if (rc == FROM_THE_BEGINNING) return redis_session_absent(redis, grant, LB_BUSY);
  if (rc != LB_OK && rc != LB_LOST) return rc;
  bool over = lb_now(redis->env) >= grant->asked_at + (lb_ns)lock->ttl_ms * LB_NS_PER_MS;
  if (over || redis_blind_was_deleted(s, grant)) return LB_BUSY;
  lb_fail(redis->env, -ETIMEDOUT, "there is a key, and nothing in it says whose");
  return LB_UNKNOWN;
}

static int stamp_try_acquire(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct lb_env *env = redis_of(s)->env;
  lb_ns begin;
  int rc;
  if (grant->token_len) return stamp_resolve(s, lock, grant, deadline);
  do {
    begin = lb_now(env);
    rc = try_once(s, lock, grant, deadline);
  } while (rc == FROM_THE_BEGINNING && lb_now(env) < deadline);
  if (rc == FROM_THE_BEGINNING) rc = LB_TIMEOUT;
  if (rc == LB_OK) grant->valid_until = lb_lease_end(begin, lock->ttl_ms);
  return redis_key_tried(s, grant, false, rc);
}

/* ---- a grant we have, or may have --------------------------------------------------------------------- */

static int stamp_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  lb_point(redis_of(s)->env, "before-release");
  if (grant->valid_until) {
    if (has_passed(s, strtoll(grant->token, NULL, 10))) return LB_LOST;
    lb_point(redis_of(s)->env, "before-del");
    return redis_blind_delete(s, lock, grant, deadline);
  }
  int rc = stamp_resolve(s, lock, grant, deadline);
  return rc == LB_BUSY ? LB_OK : rc;
}

/* Another time, in whosever key it is. XX: a key that is gone is not made anew. */
static int stamp_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct lb_grant longer = *grant;
  if (has_passed(s, strtoll(grant->token, NULL, 10))) return LB_LOST;
  lb_ns end = lb_lease_end(lb_now(redis_of(s)->env), lock->ttl_ms);
  set_time(s, lock->ttl_ms, &longer);
  struct redis_request set = {.command = {.argv = {"SET", lock->key, longer.token, "XX"}}};
  int rc = redis_session_ask(redis_of(s), &set, deadline);
  if (!rc && set.reply->type == REDIS_REPLY_NIL) rc = LB_LOST;
  freeReplyObject(set.reply);
  if (rc == LB_OK) *grant = longer, redis_session_confirm(redis_of(s), grant);
  return lb_lease_extended(grant, rc, end);
}

static int stamp_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline) {
  int rc = look(s, lock, deadline);
  if (rc == FROM_THE_BEGINNING) return LB_LOST;
  return rc == LB_OK ? redis_session_confirm(redis_of(s), grant) : rc;
}

/* A key whose time has passed is no record that somebody holds it. */
static int stamp_inspect(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  int there = redis_key_inspect(s, lock, endpoint, deadline);
  return there == 1 && look(s, lock, deadline) == LB_LOST ? 0 : there;
}

const struct lb_protocol lb_redis_stamp = {
    .abi = LB_ABI,
    .name = "redis-stamp",
    .summary = "one Redis server: SETNX with the end of the lock as its value, taken over by GETSET, released by DEL",
    .topologies = redis_key_topologies,
    .facts = "release=timed lost=blind",
    .traits = LB_TRAIT_LEASED | LB_TRAIT_CLIENT_CLOCK | LB_TRAIT_NO_OWNER | LB_TRAIT_NEEDS_MEMORY |
              LB_TRAIT_NEEDS_SUCCESSOR | LB_TRAIT_NEEDS_RATE,
    /* after-set: the reply of SETNX has been read, or given up, and not been looked at. before-getset: the time in the
     * key has passed, the own one is worked out. before-del: the own time has not passed, when it was looked at. */
    .points = (const char *const[]){"before-set", "after-set", "before-getset", "before-release", "before-del", NULL},
    .session_size = sizeof(struct redis_blind),
    .open = redis_key_open,
    .close = redis_key_close,
    .try_acquire = stamp_try_acquire,
    .release = stamp_release,
    .extend = stamp_extend,
    .resolve = stamp_resolve,
    .holds = stamp_holds,
    .break_lock = redis_key_break,
    .teardown = redis_key_teardown,
    .doubt = redis_key_doubt,
    .proofs = &(const struct lb_proofs){.inspect = stamp_inspect, .server = redis_key_server},
};
