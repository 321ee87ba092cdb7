/* SPDX-License-Identifier: MIT
 *
 * redis-setnx - SETNX, then EXPIRE, released by DEL: the lock of every blog before 2013, and of many since.
 *
 *     if redis.setnx(key, 1):
 *         redis.expire(key, ttl)
 *         ...
 *         redis.delete(key)
 *
 * Promises    One holder per key while every holder gets from SETNX to EXPIRE, and releases within its lease.
 * Assumes     As redis-del, and that no client dies, and no answer is lost, between the two commands.
 * Breaks it   A client that dies between SETNX and EXPIRE: its key has no end, so no client is ever granted that lock
 *             again, until an operator deletes the key. An answer of SETNX that is lost does the same: the client does
 *             not know that it holds, so it never comes to EXPIRE. The server does nothing wrong, and no restart helps
 *             where it keeps its data. As redis-del: a release after the end of the lease deletes the next holder's
 *             lock. To put both into one MULTI is no cure: EXPIRE then runs where SETNX said no, and moves the holder's
 *             end.
 * Source      redis.io, SETNX, as it was used before SET took NX and PX (Redis 2.6.12). redis-py 2.x Lock
 *             (redis/redis-py #554, #818) took it so, in two commands, but with a token as the value, and PEXPIRE: a
 *             source for the taking, not for a value of 1 and EXPIRE.
 *
 * The lock of the years before that, SETNX and DEL alone, is the option expire=no: a client that dies in it keeps it
 * for ever.
 *
 * EXPIRE counts whole seconds: the key stays for the ttl, rounded up, and the client counts on the ttl. It looks at no
 * answer of EXPIRE. What can be known of a request whose reply never came, stands in redis_key.h.
 */
#include "redis_blind.h"

enum { OPT_EXPIRE };
static const struct lb_option setnx_options[] = {
    [OPT_EXPIRE] = {"expire", LB_OPT_BOOL, 1, 0, 1, "the key is given an end; without one only a release removes it"},
    {0},
};

static int setnx_try_acquire(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  bool repeated = grant->token_len != 0;
  struct redis_request setnx = {.command = {.argv = {"SETNX", lock->key, REDIS_BLIND_VALUE}},
                                .ttl_ms = 0,
                                .before = "before-set",
                                .after = "after-set"};
  int rc = redis_blind_try(s, &setnx, lock, grant, deadline);
  if (rc != LB_OK || repeated) return rc;
  if (!redis_key(s)->options[OPT_EXPIRE].b) return LB_OK; /* it counts on its ttl all the same */
  /* Without an answer it is not known whether it has an end; the key stays where it is. */
  return redis_key_set_end(s, lock, deadline) ? LB_UNKNOWN : LB_OK;
}

const struct lb_protocol lb_redis_setnx = {
    .abi = LB_ABI,
    .name = "redis-setnx",
    .summary = "one Redis server: SETNX, then EXPIRE, released by DEL",
    .facts = "release=blind lost=blind end=set-later",
    .traits = LB_TRAIT_LEASED | LB_TRAIT_SERVER_CLOCK | LB_TRAIT_NO_OWNER | LB_TRAIT_NEEDS_MEMORY |
              LB_TRAIT_NEEDS_SUCCESSOR | LB_TRAIT_NEEDS_RATE,
    .options = setnx_options,
    /* after-set: between SETNX and EXPIRE; the reply has been read, or given up, and not been looked at. */
    .points = (const char *const[]){"before-set", "after-set", "before-release", NULL},
    .midway = "after-set",
    REDIS_BLIND_HOOKS,
    .try_acquire = setnx_try_acquire,
    .flaws = (const struct lb_flaw[]){{"what nobody asks about ends with its lease or session",
                                       "without an answer to SETNX nobody sends EXPIRE, and the key has no end", NULL},
                                      {"what a dead client had ends with its lease or session",
                                       "who dies between SETNX and EXPIRE leaves a key without an end", NULL},
                                      {NULL, NULL, NULL}},
};
