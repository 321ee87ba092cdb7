/* SPDX-License-Identifier: MIT
 *
 * check_parts.h - what the files of the checker share; private to check*.c.
 */
#ifndef LB_CHECK_PARTS_H
#define LB_CHECK_PARTS_H

#include "check.h"

/* Fills in what follows the sorted order and needs no holds: grants, handoffs, renewals,
 * token_regressions, fenced_off, lost_updates, unknown_acquires, unavailable_ns. 0 or -ENOMEM. */
int lb_check_order(const struct lb_history *history, struct lb_check *check);

/* A time is -1 until there was one; so the first of length 0 is kept, too. */
static inline void lb_keep_longest(int64_t *longest, uint64_t from, uint64_t to) {
  if ((int64_t)(to - from) > *longest) *longest = (int64_t)(to - from);
}

#endif
