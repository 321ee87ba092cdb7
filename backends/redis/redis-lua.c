/* SPDX-License-Identifier: MIT
 *
 * redis-lua - SETNX and PEXPIRE in one script, released by DEL: how SETNX was made safe from crashes before there was
 * SET NX PX.
 *
 * Promises    As redis-del. No client runs between two commands of a script, and none can die there, so a key never
 *             stays without an end.
 * Assumes     As redis-del, and a ttl that PEXPIRE accepts.
 * Breaks it   As redis-del: a release after the end of the lease deletes the next holder's lock.
 *             A script is not rolled back. If PEXPIRE fails (a ttl that is no number, or beyond what fits), the key
 *             stays, for ever.
 * Source      The advice of many answers to "SETNX and EXPIRE are not atomic"; redis.io, EVAL, on what a script
 *             guarantees.
 */
#include "redis_blind.h"

static const struct redis_script setnx_and_expire = {
    .sha1 = "aea5c445a537b1b612f9d319f584528bc2b34415",
    .text =
        "if redis.call(\"SETNX\",KEYS[1],ARGV[1])==1 then redis.call(\"PEXPIRE\",KEYS[1],ARGV[2]) return 1 end return 0",
};

static int lua_try_acquire(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char ttl[REDIS_DECIMAL_MAX];
  struct redis_request set = {
      .command = {&setnx_and_expire, {lock->key, REDIS_BLIND_VALUE, redis_decimal(lock->ttl_ms, ttl)}},
      .ttl_ms = lock->ttl_ms,
      .before = "before-set",
      .after = "after-set",
  };
  return redis_blind_try(s, &set, lock, grant, deadline);
}

const struct lb_protocol lb_redis_lua = {
    .abi = LB_ABI,
    .name = "redis-lua",
    .summary = "one Redis server: SETNX and PEXPIRE in one script, released by DEL",
    .facts = "release=blind lost=blind",
    .traits = LB_TRAIT_LEASED | LB_TRAIT_SERVER_CLOCK | LB_TRAIT_NO_OWNER | LB_TRAIT_NEEDS_MEMORY |
              LB_TRAIT_NEEDS_SUCCESSOR | LB_TRAIT_NEEDS_RATE,
    /* after-set: the reply has been read, or given up, and not been looked at. */
    .points = (const char *const[]){"before-set", "after-set", "before-release", NULL},
    REDIS_BLIND_HOOKS,
    .try_acquire = lua_try_acquire,
};
