/* SPDX-License-Identifier: MIT
 *
 * redis-del - SET key 1 NX PX ttl, released by DEL: the lock of most snippets.
 *
 * Promises    One holder per key while every holder releases within its lease, one and the same server decides, and its
 *             clock does not jump. The key and its end are set in one command, so a client that dies at any place
 *             leaves a lock that ends.
 * Assumes     That no client is ever late: no pause, no long answer, no work that takes longer than the lease. Else as
 *             redis-token.
 * Breaks it   A release after the end of the lease. DEL does not ask whose key it is, so it frees the next holder's
 *             lock, and a third client is granted it while the second one works, well inside its lease. The second
 *             one's own release then frees the third one's: one late client is enough for a row of thefts that does not
 *             end while there are waiters. A renewal likewise makes somebody else's lease longer. To ask the server
 *             (recheck) does not help: it can only say that somebody holds. And all that breaks redis-token.
 * Source      redis.io, SET (a simple way to make a lock), which goes on to say that a random value and a script make it
 *             more robust.
 *
 * What can be known of a request whose reply never came, stands in redis_key.h.
 */
#include "redis_blind.h"

static int del_try_acquire(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char ttl[REDIS_DECIMAL_MAX];
  struct redis_request set = {
      .command = {.argv = {"SET", lock->key, REDIS_BLIND_VALUE, "NX", "PX", redis_decimal(lock->ttl_ms, ttl)}},
      .ttl_ms = lock->ttl_ms,
      .before = "before-set",
      .after = "after-set",
  };
  return redis_blind_try(s, &set, lock, grant, deadline);
}

const struct lb_protocol lb_redis_del = {
    .abi = LB_ABI,
    .name = "redis-del",
    .summary = "one Redis server: SET NX PX without a token, released by DEL without a look at its holder",
    .facts = "release=blind lost=blind",
    .traits = LB_TRAIT_LEASED | LB_TRAIT_SERVER_CLOCK | LB_TRAIT_NO_OWNER | LB_TRAIT_NEEDS_MEMORY |
              LB_TRAIT_NEEDS_SUCCESSOR | LB_TRAIT_NEEDS_RATE,
    /* after-set: the reply has been read, or given up, and not been looked at. */
    .points = (const char *const[]){"before-set", "after-set", "before-release", NULL},
    REDIS_BLIND_HOOKS,
    .try_acquire = del_try_acquire,
};
