/* SPDX-License-Identifier: MIT
 *
 * local - a lock in memory that all clients of one machine share: the correct reference.
 *
 * Promises: mutual exclusion among the processes of one trial, always; every grant of a key carries a larger fencing
 *   number than all earlier ones.
 * Assumes: coherent shared memory. No clock, no server, no message.
 * Breaks: liveness only: a holder that dies keeps the lock (no lease). Not a distributed lock.
 * How: one compare-and-swap on the key's owner word from "free" to this attempt's id; release swaps it back, so that it
 *   can only free its own. The fence counts grants and is drawn while the word is ours, hence in grant order.
 * Source: the test-and-set lock of every textbook, e.g. Herlihy and Shavit, "The Art of Multiprocessor Programming",
 * ch. 7.
 */
#include <errno.h>

#include "backends/backend.h"
#include "shm.h"

struct lb_session {
  struct lb_env *env;
  const struct lb_target *target;
};

static int local_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  (void)deadline;
  *s = (struct lb_session){.env = config->env, .target = config->target};
  return config->target->shared ? 0 : lb_fail(s->env, -EINVAL, "the topology offers no shared memory");
}

static void local_close(struct lb_session *s) { (void)s; }

static int local_try_acquire(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  (void)deadline;
  struct shm_slot *slot = shm_slot_of(s->target, lock->key);
  if (!slot) return lb_fail(s->env, -ENOSPC, "more keys than the shared table has slots");
  if (grant->token_len == 0) grant->asked_at = lb_now(s->env);
  uint64_t id = shm_attempt_id(s->env, grant), free_word = 0;
  if (!atomic_compare_exchange_strong(&slot->owner, &free_word, id) && free_word != id) return LB_BUSY;
  if (free_word != id) grant->fence = atomic_fetch_add(&slot->fence, 1) + 1;
  grant->valid_until = LB_NEVER;
  return LB_OK;
}

static int local_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  (void)deadline;
  return shm_release(s->env, s->target, lock->key, grant);
}

static int local_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline) {
  (void)deadline;
  return shm_holds(s->env, s->target, lock->key, grant);
}

/* There is no connection that could be lost. */
static int local_doubt(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
  (void)s, (void)lock, (void)grant;
  return LB_OK;
}

static const char *const local_topologies[] = {"none", NULL};

const struct lb_protocol lb_local = {
    .abi = LB_ABI,
    .name = "local",
    .summary = "compare-and-swap in shared memory: the correct reference",
    .topologies = local_topologies,
    .traits = LB_TRAIT_NO_EXPIRY | LB_TRAIT_FENCED,
    .session_size = sizeof(struct lb_session),
    .open = local_open,
    .close = local_close,
    .try_acquire = local_try_acquire,
    .release = local_release,
    .holds = local_holds,
    .doubt = local_doubt,
};
