/* SPDX-License-Identifier: MIT
 *
 * redis-rw - a read-write lock in one Redis hash: its field `mode`, and one more field for each holder.
 *
 *   read     no key, or mode is read: add a field, and a key beside it that ends with this reader's lease. The hash
 *            lives as long as the longest of these leases
 *   write    no key: mode is write, one field, and the hash ends with the lease
 *   release  the own field goes. Readers are left: the hash ends with their longest lease. Else it is deleted, and the
 *            waiters are told
 *
 * Promises    Readers hold together, a writer holds alone, as long as one and the same Redis server decides, its clock
 *             does not jump, and holders stop at valid_until. A release or an extension never touches the hold of
 *             another client. A dead reader costs a writer the rest of its lease.
 * Assumes     The server keeps what it has confirmed, and its clock and the client's run at nearly the same rate.
 * Breaks it   All that breaks a lease in one Redis key: a holder that works on past its lease, a failover or a restart
 *             that forgets the hash, a cut-off old master, a jump of the server's clock. And a writer has no place in
 *             any queue: while one reader after the other comes in before the last one goes, it waits for ever.
 *
 * Redisson    This is its RReadWriteLock, but for two things. Redisson counts how often a thread holds, and lets a
 *             writer read; here each grant is a holder of its own. And Redisson renews a reader whose own key has
 *             expired, if other readers kept the hash alive; here that reader has lost its lock.
 * Source      Redisson: RedissonReadLock, RedissonWriteLock (tryLockInnerAsync, unlockInnerAsync, renewAsync).
 */
#include <errno.h>

#include "redis_key.h"

/* ---- scripts: KEYS[1], ARGV token, ttl in ms -------------------------------------------------------------------- */

/* In the same slot as the hash. */
#define LEASE_OF(token) "\"{\"..KEYS[1]..\"}:\".." token
#define MODE_IS(word) "redis.call(\"HGET\",KEYS[1],\"mode\")" word
#define LAST_FOR_TTL                                                                                                   \
  "if redis.call(\"PTTL\",KEYS[1])<tonumber(ARGV[2]) then redis.call(\"PEXPIRE\",KEYS[1],ARGV[2]) end "

/* Both: 1 granted, 0 refused. A client that has its field already is granted again. */
static const struct redis_script take_shared = {
    .sha1 = "15ec53c2e5fb3467c5170c9efea5d0a8930e186c",
    .text = "if " MODE_IS("==\"write\"") " then return 0 end "
                                         "redis.call(\"HSET\",KEYS[1],\"mode\",\"read\",ARGV[1],1) "
                                         "redis.call(\"SET\"," LEASE_OF("ARGV[1]") ",1,\"PX\",ARGV[2]) " LAST_FOR_TTL
                                                                                   "return 1",
};
static const struct redis_script take_alone = {
    .sha1 = "555e565945483da4a325f0becd642ea4a57b552d",
    .text = "local m=" MODE_IS("") " if m and (m==\"read\" or redis.call(\"HEXISTS\",KEYS[1],ARGV[1])==0) "
                                   "then return 0 end redis.call(\"HSET\",KEYS[1],\"mode\",\"write\",ARGV[1],1) "
                                   "redis.call(\"PEXPIRE\",KEYS[1],ARGV[2]) return 1",
};
/* These: 1 the token held, 0 it did not. A reader holds while its own lease lasts, whatever keeps the hash. */
static const struct redis_script leave = {
    .sha1 = "e05dbb23962ec8c2a2c537dc6750ed06531548a0",
    .text =
        "if redis.call(\"HDEL\",KEYS[1],ARGV[1])==0 then return 0 end local held,most=1,0 "
        "if " MODE_IS("==\"read\"") " then held=redis.call(\"DEL\"," LEASE_OF(
            "ARGV[1]") ") end "
                       "for _,f in ipairs(redis.call(\"HKEYS\",KEYS[1])) do "
                       "most=math.max(most,redis.call(\"PTTL\"," LEASE_OF(
                           "f") ")) end "
                                "if most>0 then redis.call(\"PEXPIRE\",KEYS[1],most) "
                                "else redis.call(\"DEL\",KEYS[1]) redis.call(\"PUBLISH\",KEYS[1],\"\") end return held",
};
static const struct redis_script renew = {
    .sha1 = "2c0f960e91340d3840f1c5b9f4e27b08a8df59d7",
    .text = "if redis.call(\"HEXISTS\",KEYS[1],ARGV[1])==0 then return 0 end "
            "if " MODE_IS("==\"write\"") " then return redis.call(\"PEXPIRE\",KEYS[1],ARGV[2]) end "
                                         "if redis.call(\"PEXPIRE\"," LEASE_OF(
                                             "ARGV[1]") ",ARGV[2])==0 then return 0 end " LAST_FOR_TTL "return 1",
};
static const struct redis_script look = {
    .sha1 = "657f7fec2447b0338062d139956c2ac145c5cc82",
    .text = "if redis.call(\"HEXISTS\",KEYS[1],ARGV[1])==0 then return 0 end "
            "if " MODE_IS("==\"write\"") " then return 1 end return redis.call(\"EXISTS\"," LEASE_OF("ARGV[1]") ")",
};

/* ---- hooks ------------------------------------------------------------------------------------------------------ */

static int rw_try(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char ttl[REDIS_DECIMAL_MAX];
  const struct redis_script *take = lock->shared ? &take_shared : &take_alone;
  struct redis_command command = {take, {lock->key, grant->token, redis_decimal(lock->ttl_ms, ttl)}};
  return redis_key_take_with(s, command, lock->ttl_ms, grant, deadline);
}

static int rw_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  return redis_key_leave_with(s, (struct redis_command){&leave, {lock->key, grant->token}}, grant, deadline);
}

static int rw_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char ttl[REDIS_DECIMAL_MAX];
  struct redis_command command = {&renew, {lock->key, grant->token, redis_decimal(lock->ttl_ms, ttl)}};
  return redis_session_extend(&redis_key(s)->redis, command, lock->ttl_ms, grant, deadline);
}

static int rw_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline) {
  return redis_key_holds_with(s, (struct redis_command){&look, {lock->key, grant->token}}, grant, deadline);
}

static int rw_resolve(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct redis_command command = {&look, {lock->key, grant->token}};
  return redis_key_resolve_with(s, command, lock->ttl_ms, grant, deadline);
}

/* The hash may live on after a reader's release: the time that it has to live is asked before each sleep. */
static int rw_wait(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  (void)grant;
  return redis_ear_wait(&redis_key(s)->ear, &redis_key(s)->redis, lock->key, REDIS_EAR_LIFE, true, deadline);
}

const struct lb_protocol lb_redis_rw = {
    .abi = LB_ABI,
    .name = "redis-rw",
    .summary = "one Redis server: a hash of mode and holders, which readers share and a writer has alone",
    .facts = "waits=by-lease comes-first=readers",
    .traits = LB_TRAIT_LEASED | LB_TRAIT_SERVER_CLOCK | LB_TRAIT_WAKES | LB_TRAIT_SHARED | LB_TRAIT_NEEDS_MEMORY |
              LB_TRAIT_NEEDS_SUCCESSOR | LB_TRAIT_NEEDS_RATE,
    /* after-take: the reply has been read, or given up, and not been looked at. */
    .points = (const char *const[]){"before-take", "after-take", "before-release", "before-del", NULL},
    .session_size = sizeof(struct redis_key),
    REDIS_KEY_HOOKS,
    .try_acquire = rw_try,
    .release = rw_release,
    .extend = rw_extend,
    .wait = rw_wait,
    .resolve = rw_resolve,
    .holds = rw_holds,
};
