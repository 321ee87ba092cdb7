/* SPDX-License-Identifier: MIT
 *
 * null - grants at once and remembers nothing: what the harness itself costs.
 *
 * Promises: nothing but speed: the figures of `null` are the ceiling (but for noise) of every other protocol's on the
 * same machine. Breaks: as soon as two clients want the same key. Only meaningful where every client has a key of its
 * own. Source: fio's null engine, as an idea.
 */
#include "backends/backend.h"

struct lb_session {
  struct lb_env *env;
};

static int null_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  (void)deadline;
  s->env = config->env;
  return 0;
}

static void null_close(struct lb_session *s) { (void)s; }

static int null_try_acquire(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  (void)lock, (void)deadline;
  grant->asked_at = lb_now(s->env);
  grant->valid_until = LB_NEVER;
  grant->token_len = 1;
  return LB_OK;
}

static int null_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  (void)s, (void)lock, (void)grant, (void)deadline;
  return LB_OK;
}

/* There is no connection that could be lost. */
static int null_doubt(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
  (void)s, (void)lock, (void)grant;
  return LB_OK;
}

static const char *const null_topologies[] = {"none", NULL};

const struct lb_protocol lb_null = {
    .abi = LB_ABI,
    .name = "null",
    .summary = "grants everything at once: the cost of the harness",
    .topologies = null_topologies,
    .traits = LB_TRAIT_NO_EXPIRY | LB_TRAIT_UNSAFE | LB_TRAIT_SHARED | LB_TRAIT_PERMITS,
    .unsafe_why = "never refuses",
    .session_size = sizeof(struct lb_session),
    .open = null_open,
    .close = null_close,
    .try_acquire = null_try_acquire,
    .release = null_release,
    .doubt = null_doubt,
};
