/* SPDX-License-Identifier: MIT
 *
 * redis-token - the single-server Redis lock done right: SET key token NX PX ttl, released by compare-and-delete.
 *
 * Promises    One holder per key as long as one and the same Redis server decides, its clock does not jump, and holders
 *             stop at valid_until. The lease is counted from before the request left, minus drift, so the client's end
 *             comes before the server's. A release or an extension never touches somebody else's lock.
 * Assumes     The server keeps what it has confirmed, and its clock and the client's run at nearly the same rate: they
 *             drift apart by at most 1 % of the ttl and 2 ms.
 * Breaks it   A holder that works on past its lease (a pause, with nobody checking); a failover, because replication is
 *             asynchronous and the promoted replica may not know the key; a cut-off old master, which goes on granting;
 *             a restart that forgets the key (no persistence, RDB snapshots only, or with appendfsync everysec a
 *             machine that crashes, and a killed process while a sync is slow); a jump of the server's wall clock, by which Redis counts a TTL; eviction. Since
 *             Redis 7.0 a TTL reaches the replicas as an absolute time: one that is promoted counts by its own wall
 *             clock, so a difference between the two clocks is a jump, too.
 *
 * Numbers     With the option `fence` acquiring is a script that sets the key and counts the key's grants in another
 *             one, in one round trip. The counter expires a day after its latest number, so that it does not stay for
 *             ever. Numbers grow from holder to holder as long as the server keeps the counter and the lock is used
 *             at least once a day. It is forgotten with everything else: after a failover the promoted replica may lack
 *             the latest counts, a server restarted without persistence begins at 1 again, and then a later holder gets
 *             a number that an earlier one had, or a smaller one. A failover is just when a fence would be needed.
 * Cluster     The master of the key's slot decides; the counter is in the same slot, by the braces in its name. A
 *             failover is as asynchronous there as with Sentinel. A master that is cut off grants until it has missed
 *             most others for cluster-node-timeout.
 * Waking      With the option `wake` the script that releases publishes, too, and who waits is subscribed
 *             (redis_session.h). Nothing that is promised rests on it: a message only says when to ask again.
 * Source      redis.io, SET and "Distributed Locks with Redis", single-instance form; for Sentinel the clients' guide.
 *
 * What can be known of a request whose reply never came, stands in redis_session.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "redis_key.h"

enum { OPT_FENCE, OPT_WAKE };
static const struct lb_option token_options[] = {
    [OPT_FENCE] = {"fence", LB_OPT_BOOL, 0, 0, 1, "grants carry a number, counted by the same server"},
    [OPT_WAKE] = {"wake", LB_OPT_BOOL, 0, 0, 1, "a release is published, and waiters hear of it instead of polling"},
    {0},
};

static bool has(struct lb_session *s, int option) { return redis_key(s)->options[option].b; }

static int token_try_acquire(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  return redis_key_try_by(s, has(s, OPT_FENCE) ? &redis_set_numbered : NULL, lock, grant, deadline);
}

static int token_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  return redis_key_release_by(s, has(s, OPT_WAKE) ? &redis_delete_and_tell : &redis_delete_if_mine, lock, grant,
                              deadline);
}

/* Whose reply never came has no number yet. */
static int token_resolve(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  if (!has(s, OPT_FENCE)) return redis_key_resolve(s, lock, grant, deadline);
  struct redis_session *redis = &redis_key(s)->redis;
  struct redis_request number = {.command = {&redis_number_if_mine, {lock->key, grant->token}}};
  int rc = redis_session_ask(redis, &number, deadline);
  uint64_t drawn = !rc && number.reply->type == REDIS_REPLY_INTEGER ? (uint64_t)number.reply->integer : 0;
  freeReplyObject(number.reply);
  if (rc) return rc;
  if (!drawn) return redis_session_absent(redis, grant, LB_BUSY);
  grant->fence = drawn;
  if (!grant->valid_until) grant->valid_until = lb_lease_end(grant->asked_at, lock->ttl_ms);
  return redis_session_confirm(redis, grant);
}

/* For an option `wake`, where the release publishes to a channel with the name of the key (struct redis_ear). */
static int redis_key_wait(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  (void)grant;
  return redis_ear_wait(&redis_key(s)->ear, &redis_key(s)->redis, lock->key, REDIS_EAR_MS, true, deadline);
}

const struct lb_protocol lb_redis_token = {
    .abi = LB_ABI,
    .name = "redis-token",
    .summary = "one Redis server: SET NX PX with a random token, released by compare-and-delete",
    .facts = "number=counter",
    .traits = LB_TRAIT_LEASED | LB_TRAIT_SERVER_CLOCK | LB_TRAIT_NEEDS_MEMORY | LB_TRAIT_NEEDS_SUCCESSOR |
              LB_TRAIT_NEEDS_RATE,
    .options = token_options,
    /* after-set: the reply has been read, or given up, and not been looked at. */
    .points = (const char *const[]){"before-set", "after-set", "before-release", "before-del", NULL},
    .session_size = sizeof(struct redis_key),
    REDIS_KEY_HOOKS,
    .try_acquire = token_try_acquire,
    .release = token_release,
    .extend = redis_key_extend,
    .wait = redis_key_wait,
    .resolve = token_resolve,
    .holds = redis_key_holds,
};

/* redis-pubsub - redis-token whose release tells the waiters, who sleep until then or until the lease is over: as locks
 * with a wake-up are shipped.
 *
 * Promises    What redis-token promises. A waiter asks again when the lock is released, and does not poll.
 * Assumes     What redis-token assumes; for the wake-up, that messages arrive.
 * Breaks it   What breaks redis-token. A message that does not arrive costs the rest of the lease: Redis keeps none for
 *             who is not connected just then, and without keyspace notifications (the default) a key that expires or is
 *             deleted by hand tells nobody. All who wait
 *             hear each message, and all but one ask in vain.
 *
 * redis-token has the same wake-up as an option, and does not rely on it: there a waiter looks again after 200 ms,
 * whatever it has heard. Here it asks how long the key has to live, and sleeps that long. So the two differ in what a
 * lost message costs, and in what waiting does.
 *
 * Missed      Who subscribes after the release would sleep in vain. So the key is looked at once after the subscription
 *             has been confirmed, and its time to live is asked before each sleep.
 * Source      Redisson's RedissonLock (subscribe, try, sleep for the time to live), with a token in place of its hash.
 */

static int pubsub_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  return redis_key_release_by(s, &redis_delete_and_tell, lock, grant, deadline);
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

/* redis-wait - SET NX PX, then WAIT: a grant counts when the replicas have it, and is taken back when too few say so in
 * time.
 *
 * Promises    What redis-token promises; and with all replicas, which is the default, whichever of them takes over has
 *             the key of every grant, as long as it keeps its memory. A primary that reaches too few grants nothing.
 * Assumes     What redis-token assumes; and that who takes over is one of those that confirmed. Replicas confirm that
 *             they have received it, not that it is on any disk (WAITAOF, since Redis 7.2, asks for the disk, too; it
 *             is not used here).
 * Breaks it   Fewer than all: the one that confirmed may be unreachable, or have the worse replica-priority, so that
 *             one is promoted that did not. (At equal priority Sentinel takes the one that has received most.) A
 *             restart that forgets the key. What is taken back after a failed WAIT may be on some replica already: if
 *             that is promoted before the DEL reaches it, nobody gets the lock until the lease ends. WAIT is no
 *             consensus (redis.io says so): what a cut-off primary answers to GET is not asked of anybody else, so a
 *             guard that asks it hears that all is well. And all that breaks a lease in one Redis key and is no
 *             failover.
 * Price       A grant takes one more round trip and the slowest replica's answer. With all replicas, the lock is not to
 *             be had while one of them is away.
 *
 * Details that matter
 *  - WAIT is about the writes of its own connection. Over another one it would say at once that all replicas have all
 *  of nothing.
 *  - So a client that finds its own key after a lost answer has to write it again before it can wait for it.
 *  - An extension waits, too. If too few confirm it, a replica may let the key end when the lease before would have
 *  ended: it is not known to be extended.
 *
 * Source      redis.io, WAIT, and "Distributed Locks with Redis"; Redisson waits after each of its lock's scripts, for
 *             as many replicas as it sees, and takes the lock back only if none confirmed.
 */

enum { OPT_REPLICAS, OPT_WAIT };
static const struct lb_option options[] = {
    [OPT_REPLICAS] = {"replicas", LB_OPT_INT, 0, 0, 15, "so many have to confirm a grant; 0 = all that there are"},
    [OPT_WAIT] = {"wait_ms", LB_OPT_INT, 1000, 1, 60000,
                  "how long they are waited for, and half of what is left for the try at most"},
    {0},
};

/* 0: as many as are wanted have all that the connection has written. -ENOLINK: too few. LB_UNKNOWN, -errno. */
static int wait_for_replicas(struct lb_session *s, lb_ns deadline) {
  struct redis_session *redis = &redis_key(s)->redis;
  const union lb_value *option = redis_key(s)->options;
  int64_t wanted = option[OPT_REPLICAS].i ? option[OPT_REPLICAS].i : (int64_t)redis->link.target->replicas;
  lb_ns now = lb_now(redis->env);
  int64_t half_ms = deadline > now ? (int64_t)((deadline - now) / 2 / LB_NS_PER_MS) : 0;
  int64_t most_ms = half_ms < option[OPT_WAIT].i ? half_ms : option[OPT_WAIT].i;
  char count[REDIS_DECIMAL_MAX], ms[REDIS_DECIMAL_MAX];
  redis_decimal(wanted, count);
  redis_decimal(most_ms > 0 ? most_ms : 1, ms); /* 0 would be for ever */
  struct redis_request wait = {.command = {.argv = {"WAIT", count, ms}, .keyless = true},
                               .stays = true,
                               .before = "before-wait",
                               .after = "after-wait"};
  int rc = redis_session_once(redis, &wait, deadline);
  int64_t have = !rc && wait.reply->type == REDIS_REPLY_INTEGER ? wait.reply->integer : 0;
  freeReplyObject(wait.reply);
  if (!rc && have < wanted)
    rc = lb_fail(redis->env, -ENOLINK, "%d of %d replicas have confirmed it in time", (int)have, (int)wanted);
  return rc;
}

/* The key is ours at the primary. What too few have is taken back, and refused when it is certain that it is gone. */
static int replicated(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct lb_env *env = redis_key(s)->redis.env;
  char why[sizeof env->err];
  int rc = wait_for_replicas(s, deadline);
  if (rc == LB_OK) return rc;
  memcpy(why, env->err, sizeof why);
  int gone = rc == LB_UNKNOWN ? rc : redis_key_release(s, lock, grant, deadline);
  memcpy(env->err, why, sizeof why);
  if (gone == LB_OK || gone == LB_LOST) return *grant = LB_GRANT_INIT, rc;
  grant->valid_until = 0; /* never known as held */
  return LB_UNKNOWN;
}

/* So that there is something to wait for. The end that the client counts on stays. LB_OK, LB_BUSY: it has ended;
 * LB_UNKNOWN. */
static int write_again(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  struct lb_grant copy = *grant;
  int rc = redis_key_extend(s, lock, &copy, deadline);
  if (rc == LB_LOST) return *grant = LB_GRANT_INIT, LB_BUSY;
  return rc < 0 ? LB_UNKNOWN : rc;
}

static int wait_try(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  bool repeated = grant->token_len != 0;
  int rc = redis_key_try(s, lock, grant, deadline);
  if (rc == LB_OK && repeated) rc = write_again(s, lock, grant, deadline);
  return rc == LB_OK ? replicated(s, lock, grant, deadline) : rc;
}

static int wait_resolve(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  int rc = redis_key_resolve(s, lock, grant, deadline);
  if (rc == LB_OK) rc = write_again(s, lock, grant, deadline);
  if (rc == LB_OK) rc = replicated(s, lock, grant, deadline);
  return rc < 0 && !grant->token_len ? LB_BUSY : rc; /* taken back */
}

static int wait_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  lb_ns before = grant->valid_until;
  int rc = redis_key_extend(s, lock, grant, deadline);
  if (rc != LB_OK || wait_for_replicas(s, deadline) == LB_OK) return rc;
  if (before < grant->valid_until) grant->valid_until = before;
  return LB_UNKNOWN;
}

const struct lb_protocol lb_redis_wait = {
    .abi = LB_ABI,
    .name = "redis-wait",
    .summary = "redis-token, and a grant counts when the replicas have confirmed it (WAIT)",
    .facts = "confirms=replicas",
    .traits = LB_TRAIT_LEASED | LB_TRAIT_SERVER_CLOCK | LB_TRAIT_NEEDS_MEMORY | LB_TRAIT_NEEDS_SUCCESSOR |
              LB_TRAIT_NEEDS_RATE,
    .options = options,
    /* after-wait: the reply has been read, or given up, and not been looked at. before-del: nothing has been
     * compared. */
    .points = (const char *const[]){"before-set", "after-set", "before-wait", "after-wait", "before-release",
                                    "before-del", NULL},
    .midway = "before-wait",
    .session_size = sizeof(struct redis_key),
    .topologies = (const char *const[]){"sentinel", "cluster", NULL},
    .open = redis_key_open,
    .close = redis_key_close,
    .try_acquire = wait_try,
    .release = redis_key_release,
    .extend = wait_extend,
    .resolve = wait_resolve,
    .holds = redis_key_holds,
    .break_lock = redis_key_break,
    .teardown = redis_key_teardown,
    .doubt = redis_key_doubt,
    .proofs = &redis_key_proofs,
};
