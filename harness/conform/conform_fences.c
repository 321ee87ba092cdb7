/* SPDX-License-Identifier: MIT
 *
 * Fencing tokens: a resource refuses those that are smaller than the largest it has seen, so a new
 * grant of a key has to have a larger one, whoever gets it.
 */
#include <inttypes.h>

#include "conform_statement.h"

/* In turns, because a session that counts for itself would pass alone. Gaps are allowed. */
void lb_statement_fences_grow(struct lb_conform *c) {
  KEY;
  uint64_t latest = 0;
  for (int i = 0; i < 6; i++) {
    struct lb_grant g = LB_GRANT_INIT;
    int who = i % LB_CONFORM_SESSIONS;
    WANT(LB_OK, lb_conform_acquire(c, who, key, &g, 2000));
    lb_conform_check(c, g.fence > latest, "expected a fence above %" PRIu64 " in grant %d, got %" PRIu64, latest, i + 1,
                     g.fence);
    latest = g.fence;
    WANT(LB_OK, lb_conform_release(c, who, key, &g));
  }
}

/* 0 says "no number". Anything else would be taken for one by the guard. */
void lb_statement_no_fence(struct lb_conform *c) {
  KEY;
  struct lb_grant g = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &g));
  lb_conform_check(c, g.fence == 0, "expected fence = 0 from a lock that numbers no grants, got %" PRIu64, g.fence);
  WANT(LB_OK, lb_conform_release(c, 0, key, &g));
}
