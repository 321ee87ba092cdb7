/* plugin: ownerless-untold -DLB_TEST_NO_TRAIT */
/* plugin: ownerless-flawed -DLB_TEST_FLAWS */
/* plugin: flaw-false -DLB_TEST_FLAW="a held lock is refused to another session" -DLB_TEST_WHERE=NULL */
/* plugin: flaw-unknown -DLB_TEST_FLAW="a held lock is refused to other sessions" -DLB_TEST_WHERE=NULL */
/* plugin: flaw-unasked -DLB_TEST_FLAW="fences grow" -DLB_TEST_WHERE=NULL */
/* plugin: flaw-where -DLB_TEST_FLAW="fences grow" -DLB_TEST_WHERE="fence=yes" */
/* SPDX-License-Identifier: MIT
 *
 * A lock without an owner, as a SETNX without a token is one: a word in shared memory that is set or not. Whoever
 * releases removes it, whoever set it. The trait no-owner says so; LB_TEST_NO_TRAIT builds the same lock without it,
 * which is then wrong about ownership. With LB_TEST_FLAWS it declares that as flaws; with LB_TEST_FLAW, which is a
 * statement, it declares this one.
 */
#include <errno.h>

#include "backends/backend.h"
#include "backends/control/shm.h"

#if defined LB_TEST_FLAWS
#define NAME "ownerless-flawed"
#define TRAITS LB_TRAIT_NO_EXPIRY
static const struct lb_flaw flaws[] = {
    {"a stale release leaves the next holder alone", "a release removes the word, whoever set it", NULL},
    {"who was refused releases nobody else's lock", "a release removes the word, whoever set it", NULL},
    {"asking again in the same attempt is granted again", "nobody can tell whose the word is", NULL},
    {"an attempt that was repeated is one hold", "nobody can tell whose the word is", NULL},
    {"an old grant is lost although its session holds again", "a grant is as good as any other", NULL},
    {"the server confirms a hold and nothing else", "that somebody holds is all that is known", NULL},
    {NULL, NULL, NULL},
};
#elif defined LB_TEST_FLAW
#define NAME "ownerless-misdeclared"
#define TRAITS LB_TRAIT_NO_EXPIRY | LB_TRAIT_NO_OWNER
static const struct lb_flaw flaws[] = {{LB_TEST_FLAW, "so we thought", LB_TEST_WHERE}, {NULL, NULL, NULL}};
#elif defined LB_TEST_NO_TRAIT
#define NAME "ownerless-untold"
#define TRAITS LB_TRAIT_NO_EXPIRY
#else
#define NAME "ownerless"
#define TRAITS LB_TRAIT_NO_EXPIRY | LB_TRAIT_NO_OWNER
#endif

struct lb_session {
  struct lb_env *env;
  const struct lb_target *target;
};

static int word_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  (void)deadline;
  *s = (struct lb_session){config->env, config->target};
  return s->target->shared ? 0 : lb_fail(s->env, -EINVAL, "the topology offers no shared memory");
}

static void word_close(struct lb_session *s) { (void)s; }

static int word_try_acquire(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  (void)deadline;
  struct shm_slot *slot = shm_slot_of(s->target, lock->key);
  uint64_t nobody = 0;
  if (!slot) return lb_fail(s->env, -ENOSPC, "more keys than the shared table has slots");
  lb_ns asked_at = lb_now(s->env);
  if (!atomic_compare_exchange_strong(&slot->owner, &nobody, 1)) return LB_BUSY;
  *grant = (struct lb_grant){.token = "set", .token_len = 3, .asked_at = asked_at, .valid_until = LB_NEVER};
  return LB_OK;
}

static int word_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  (void)grant, (void)deadline;
  struct shm_slot *slot = shm_slot_of(s->target, lock->key);
  return slot && atomic_exchange(&slot->owner, 0) ? LB_OK : LB_LOST;
}

static int word_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline) {
  (void)grant, (void)deadline;
  struct shm_slot *slot = shm_slot_of(s->target, lock->key);
  return slot && atomic_load(&slot->owner) ? LB_OK : LB_LOST;
}

static const char *const topologies[] = {"none", NULL};

static const struct lb_protocol word = {
    .abi = LB_ABI,
    .name = NAME,
    .summary = "a word that is set: an example of a lock without an owner",
    .promises = "Mutual exclusion as long as nobody releases what somebody else holds.",
    .breaks = "A release that comes late removes the next holder's lock. A holder that dies keeps it.",
    .source = "redis.io: SETNX, as it was used before there was SET NX PX",
    .topologies = topologies,
    .traits = TRAITS,
    .session_size = sizeof(struct lb_session),
    .open = word_open,
    .close = word_close,
    .try_acquire = word_try_acquire,
    .release = word_release,
    .holds = word_holds,
#if defined LB_TEST_FLAWS || defined LB_TEST_FLAW
    .flaws = flaws,
#endif
};

extern const struct lb_protocol *const lockbench_plugin;
const struct lb_protocol *const lockbench_plugin = &word;
