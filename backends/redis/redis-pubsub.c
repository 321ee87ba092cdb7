/* SPDX-License-Identifier: MIT
 *
 * redis-pubsub - redis-token whose release tells the waiters, who sleep until then or until the lease is over: as locks
 * with a wake-up are shipped.
 *
 * Promises    What redis-token promises. A waiter asks again when the lock is released, and does not poll.
 * Assumes     What redis-token assumes; for the wake-up, that messages arrive.
 * Breaks it   What breaks redis-token. A message that does not arrive costs the rest of the lease: Redis keeps none for
 *             a client that is not connected just then, and without keyspace notifications (the default) a key that
 *             expires or is deleted by hand sends none. All waiters hear each message, and all but one are refused.
 *
 * redis-token has the same wake-up as an option, and does not rely on it: there a waiter looks again after 200 ms,
 * whatever it has heard. Here it asks how long the key has to live, and sleeps that long. So the two differ in what a
 * lost message costs, and in what waiting does.
 *
 * Missed      A client that subscribes after the release would sleep for nothing. So the key is looked at once after
 *             the subscription has been confirmed, and its time to live is asked before each sleep.
 * Source      Redisson's RedissonLock (subscribe, try, sleep for the time to live), with a token in place of its hash.
 */
#include "redis_key.h"

static int pubsub_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  return redis_key_release_by(s, &redis_script_delete_and_tell, lock, grant, deadline);
}

static int pubsub_wait(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  (void)grant;
  return redis_ear_wait(&redis_key(s)->ear, &redis_key(s)->redis, lock->key, REDIS_EAR_LIFE, true, deadline);
}

const struct lb_protocol lb_redis_pubsub = {
    .abi = LB_ABI,
    .name = "redis-pubsub",
    .summary = "redis-token whose release is published: waiters sleep until then, or until the lease is over",
    .facts = "waits=by-lease",
    .traits = LB_TRAIT_LEASED | LB_TRAIT_SERVER_CLOCK | LB_TRAIT_WAKES | LB_TRAIT_NEEDS_MEMORY |
              LB_TRAIT_NEEDS_SUCCESSOR | LB_TRAIT_NEEDS_RATE,
    /* after-set: the reply has been read, or given up, and not been looked at. before-del: nothing has been
     * compared. */
    .points = (const char *const[]){"before-set", "after-set", "before-release", "before-del", NULL},
    .session_size = sizeof(struct redis_key),
    REDIS_KEY_HOOKS,
    .try_acquire = redis_key_try,
    .release = pubsub_release,
    .extend = redis_key_extend,
    .wait = pubsub_wait,
    .resolve = redis_key_resolve,
    .holds = redis_key_holds,
};
