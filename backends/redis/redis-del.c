/* SPDX-License-Identifier: MIT
 *
 * redis-del - SET key 1 NX PX ttl, released by DEL: the lock of most snippets.
 *
 * Promises    One holder per key while every holder releases within its lease, one and the same server decides, and its
 *             clock does not jump. The key and its end are set in one command, so a client that dies at any place
 *             leaves a lock that ends.
 * Assumes     That nobody is ever late: no pause, no long answer, no work that takes longer than the lease. Else as
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
#include "redis_key.h"

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

/* redis-setnx - SETNX, then EXPIRE, released by DEL: the lock of every blog before 2013, and of many since.
 *
 *     if redis.setnx(key, 1):
 *         redis.expire(key, ttl)
 *         ...
 *         redis.delete(key)
 *
 * Promises    One holder per key while every holder gets from SETNX to EXPIRE, and releases within its lease.
 * Assumes     As redis-del, and that no client dies, and no answer is lost, between the two commands.
 * Breaks it   A client that dies between SETNX and EXPIRE: its key has no end, so nobody is ever granted that lock
 *             again, until an operator deletes the key. An answer of SETNX that is lost does the same: the client does
 *             not know that it holds, so it never comes to EXPIRE. The server does nothing wrong, and no restart helps
 *             where it keeps its data. As redis-del: a release after the end of the lease deletes the next holder's
 *             lock. To put both into one MULTI is no cure: EXPIRE then runs where SETNX said no, and moves the holder's
 *             end.
 * Source      redis.io, SETNX, as it was used before SET took NX and PX (Redis 2.6.12). redis-py 2.x Lock
 *             (redis/redis-py #554, #818) took it so, in two commands, but with a token as the value, and PEXPIRE: a
 *             source for the taking, not for a value of 1 and EXPIRE.
 *
 * The lock of the years before that, SETNX and DEL alone, is the option expire=no: whoever dies in it keeps it for
 * ever.
 *
 * EXPIRE counts whole seconds: the key stays for the ttl, rounded up, and the client counts on the ttl. It looks at no
 * answer of EXPIRE. What can be known of a request whose reply never came, stands in redis_key.h.
 */

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

/* redis-lua - SETNX and PEXPIRE in one script, released by DEL: how SETNX was made safe from crashes before there was
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
