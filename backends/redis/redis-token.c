/* SPDX-License-Identifier: MIT
 *
 * redis-token - the single-server Redis lock done right: SET key token NX PX ttl, released by compare-and-delete.
 *
 * Promises    One holder per key as long as one and the same Redis server decides, its clock does not jump, and holders
 *             stop at valid_until. The lease is counted from before the request left, minus drift, so the client's end
 *             comes before the server's. A release or an extension never touches somebody else's lock.
 * Assumes     The server keeps what it has confirmed, and its clock and the client's run at nearly the same rate: they
 *             drift apart by at most 1 % of the ttl and 2 ms.
 * Breaks it   A holder that works on past its lease (a pause, without a check); a failover, because replication is
 *             asynchronous and the promoted replica may not know the key; a cut-off old master, which goes on granting;
 *             a restart that forgets the key (no persistence, RDB snapshots only, or with appendfsync everysec a
 *             machine that crashes, and a killed process while a sync is slow); a jump of the server's wall clock, by
 *             which Redis counts a TTL; eviction. Since Redis 7.0 a TTL reaches the replicas as an absolute time: one
 *             that is promoted counts by its own wall clock, so a difference between the two clocks is a jump, too.
 *
 * Numbers     With the option `fence` acquiring is a script that sets the key and counts the key's grants in another
 *             one, in one round trip. The counter expires a day after its latest number or extension, so that it does
 *             not stay for ever. Numbers grow from holder to holder as long as the server keeps the counter and the
 *             lock is used at least once a day. It is forgotten with everything else: after a failover the promoted
 *             replica may lack the latest counts, a server restarted without persistence begins at 1 again, and then
 *             a later holder gets a number that an earlier one had, or a smaller one. A failover is just when a fence
 *             would be needed.
 * Cluster     The master of the key's slot decides; the counter is in the same slot, by the braces in its name. A
 *             failover is as asynchronous there as with Sentinel. A master that is cut off grants until it has missed
 *             most others for cluster-node-timeout.
 * Waking      With the option `wake` the script that releases publishes, too, and who waits is subscribed
 *             (redis_session.h). Nothing that is promised rests on it: a message only says when to ask again.
 * Source      redis.io, SET and "Distributed Locks with Redis", single-instance form; for Sentinel the clients' guide.
 *
 * What can be known of a request whose reply never came, stands in redis_session.h.
 */
#include "redis_key.h"

enum { OPT_FENCE, OPT_WAKE };
static const struct lb_option token_options[] = {
    [OPT_FENCE] = {"fence", LB_OPT_BOOL, 0, 0, 1, "grants carry a number, counted by the same server"},
    [OPT_WAKE] = {"wake", LB_OPT_BOOL, 0, 0, 1, "a release is published, and waiters hear of it instead of polling"},
    {0},
};

static bool has(struct lb_session *s, int option) { return redis_key(s)->options[option].b; }

static int token_try_acquire(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  return redis_key_try_by(s, has(s, OPT_FENCE) ? &redis_script_set_numbered : NULL, lock, grant, deadline);
}

static int token_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  return redis_key_release_by(s, has(s, OPT_WAKE) ? &redis_script_delete_and_tell : &redis_script_delete_if_mine, lock,
                              grant, deadline);
}

/* A holder that renews for days keeps its counter. */
static int token_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  return redis_key_extend_by(s,
                             has(s, OPT_FENCE) ? &redis_script_expire_numbered_if_mine : &redis_script_expire_if_mine,
                             lock, grant, deadline);
}

/* An attempt without a reply has no number yet. */
static int token_resolve(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  if (!has(s, OPT_FENCE)) return redis_key_resolve(s, lock, grant, deadline);
  struct redis_session *redis = &redis_key(s)->redis;
  struct redis_request number = {.command = {&redis_script_number_if_mine, {lock->key, grant->token}}};
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
    .extend = token_extend,
    .wait = redis_key_wait,
    .resolve = token_resolve,
    .holds = redis_key_holds,
};
