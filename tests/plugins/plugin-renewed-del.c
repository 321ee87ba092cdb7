/* SPDX-License-Identifier: MIT
 *
 * renewed-del: a lease in Redis that renews by itself and is released by DEL. It is here to be predicted: its row
 * follows from the facts that it declares, and no scenario names it. The hooks are those of the ownerless locks of
 * backends/.
 */
#include "backends/redis/redis_blind.h"

static int renewed_try(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char ttl[REDIS_DECIMAL_MAX];
  struct redis_request set = {
      .command = {.argv = {"SET", lock->key, REDIS_BLIND_VALUE, "NX", "PX", redis_decimal(lock->ttl_ms, ttl)}},
      .ttl_ms = lock->ttl_ms,
      .before = "before-set",
      .after = "after-set",
  };
  return redis_blind_try(s, &set, lock, grant, deadline);
}

static const char *const points[] = {"before-set", "after-set", "before-release", NULL};

static const struct lb_protocol renewed = {
    .abi = LB_ABI,
    .name = "renewed-del",
    .summary = "SET NX PX, renewed every third of its lease, released by DEL",
    .promises = "One holder per key while every holder releases within its lease.",
    .breaks = "A release after the end of the lease deletes the next holder's lock.",
    .source = "a test",
    .facts = "release=blind lost=blind",
    .traits = LB_TRAIT_LEASED | LB_TRAIT_SERVER_CLOCK | LB_TRAIT_NO_OWNER | LB_TRAIT_RENEWED | LB_TRAIT_NEEDS_MEMORY |
              LB_TRAIT_NEEDS_SUCCESSOR | LB_TRAIT_NEEDS_RATE,
    .points = points,
    REDIS_BLIND_HOOKS,
    .try_acquire = renewed_try,
};

extern const struct lb_protocol *const lockbench_plugin;
const struct lb_protocol *const lockbench_plugin = &renewed;
