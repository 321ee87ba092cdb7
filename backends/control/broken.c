/* SPDX-License-Identifier: MIT
 *
 * broken - the liar: a lock in shared memory that now and then grants what somebody else holds.
 *
 * Promises: nothing. It exists so that every suite can show that its checker catches a lock that does not exclude; a
 *   checker that finds it clean is not to be believed about any other lock.
 * Breaks: by design. With probability `rate`, a try that finds the lock held is answered "granted"; the owner word is
 *   overwritten, so the first holder's release later finds that it has lost it. The fence then repeats the number of
 *   the grant it overran, so token checks have something to catch, too.
 * Source: our own; the idea of a planted bug as a negative control is old (mutation testing).
 */
#include <errno.h>

#include "backends/backend.h"
#include "shm.h"

struct lb_session {
  struct lb_env *env;
  const struct lb_target *target;
  double rate;
};

enum { OPT_RATE };
static const struct lb_option broken_options[] = {
    [OPT_RATE] = {.name = "rate",
                  .type = LB_OPT_REAL,
                  .def = 0.05,
                  .min = 0,
                  .max = 1,
                  .help = "probability that a try is granted although another client holds the lock"},
    {.name = NULL},
};

static int broken_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  (void)deadline;
  *s = (struct lb_session){.env = config->env, .target = config->target, .rate = config->options[OPT_RATE].f};
  return config->target->shared ? 0 : lb_fail(s->env, -EINVAL, "the topology offers no shared memory");
}

static void broken_close(struct lb_session *s) { (void)s; }

static bool lies(struct lb_session *s) {
  uint64_t word;
  lb_random(s->env, &word, sizeof word);
  return (double)(word >> 11) * 0x1p-53 < s->rate;
}

static int broken_try_acquire(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant,
                              lb_ns deadline) {
  (void)deadline;
  struct shm_slot *slot = shm_slot_of(s->target, lock->key);
  if (!slot) return lb_fail(s->env, -ENOSPC, "more keys than the shared table has slots");
  if (grant->token_len == 0) grant->asked_at = lb_now(s->env);
  uint64_t id = shm_attempt_id(s->env, grant), free_word = 0;
  if (atomic_compare_exchange_strong(&slot->owner, &free_word, id)) {
    grant->fence = atomic_fetch_add(&slot->fence, 1) + 1;
  } else if (lies(s)) {
    atomic_store(&slot->owner, id);
    grant->fence = atomic_load(&slot->fence);
  } else {
    return LB_BUSY;
  }
  grant->valid_until = LB_NEVER;
  return LB_OK;
}

static int broken_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  (void)deadline;
  return shm_release(s->env, s->target, lock->key, grant);
}

static int broken_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant,
                        lb_ns deadline) {
  (void)deadline;
  return shm_holds(s->env, s->target, lock->key, grant);
}

/* There is no connection that could be lost. */
static int broken_doubt(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
  (void)s, (void)lock, (void)grant;
  return LB_OK;
}

static const char *const broken_topologies[] = {"none", NULL};

const struct lb_protocol lb_broken = {
    .abi = LB_ABI,
    .name = "broken",
    .summary = "grants twice now and then: the checker has to catch it",
    .topologies = broken_topologies,
    .traits = LB_TRAIT_NO_EXPIRY | LB_TRAIT_FENCED | LB_TRAIT_UNSAFE,
    .unsafe_why = "grants twice on purpose",
    .options = broken_options,
    .session_size = sizeof(struct lb_session),
    .open = broken_open,
    .close = broken_close,
    .try_acquire = broken_try_acquire,
    .release = broken_release,
    .holds = broken_holds,
    .doubt = broken_doubt,
};
