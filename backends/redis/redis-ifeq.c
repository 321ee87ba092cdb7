/* SPDX-License-Identifier: MIT
 *
 * redis-ifeq - redis-token without scripts: SET NX PX acquires, SET IFEQ PX extends, DELIFEQ releases. Valkey 9.
 *
 *     SET key token NX PX ttl
 *     SET key token IFEQ token PX ttl
 *     DELIFEQ key token
 *
 * Promises    What redis-token promises. The server compares the token and writes in one command, so a release or an
 *             extension never touches somebody else's lock. A key that has ended stays ended: IFEQ makes none.
 * Assumes     What redis-token assumes; and a server that knows the words: Valkey 8.1 has IFEQ, 9.0 has DELIFEQ. Redis
 *             8.4 spells the release DELEX key IFEQ token, which this file does not say. Others refuse both commands.
 * Breaks it   What breaks redis-token. A script is as safe: what is won is that no script is loaded, which some
 *             services forbid, and that the access list of a client may name three commands.
 * Source      valkey.io, SET and DELIFEQ.
 *
 * What can be known of a request whose reply never came, stands in redis_session.h.
 */
#include "redis_key.h"

static int ifeq_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char ttl[REDIS_DECIMAL_MAX];
  struct redis_command set = {
      .argv = {"SET", lock->key, grant->token, "IFEQ", grant->token, "PX", redis_decimal(lock->ttl_ms, ttl)}};
  return redis_session_extend(&redis_key(s)->redis, set, lock->ttl_ms, grant, deadline);
}

static int ifeq_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  return redis_key_leave_with(s, (struct redis_command){.argv = {"DELIFEQ", lock->key, grant->token}}, grant, deadline);
}

const struct lb_protocol lb_redis_ifeq = {
    .abi = LB_ABI,
    .name = "redis-ifeq",
    .summary = "one Valkey server: SET NX PX, extended by SET IFEQ and released by DELIFEQ, without a script",
    .needs = "valkey >= 9.0",
    .traits = LB_TRAIT_LEASED | LB_TRAIT_SERVER_CLOCK | LB_TRAIT_NEEDS_MEMORY | LB_TRAIT_NEEDS_SUCCESSOR |
              LB_TRAIT_NEEDS_RATE,
    /* after-set: the reply has been read, or given up, and not been looked at. */
    .points = (const char *const[]){"before-set", "after-set", "before-release", "before-del", NULL},
    .session_size = sizeof(struct redis_key),
    REDIS_KEY_HOOKS,
    .try_acquire = redis_key_try,
    .release = ifeq_release,
    .extend = ifeq_extend,
    .resolve = redis_key_resolve,
    .holds = redis_key_holds,
};
