/* SPDX-License-Identifier: MIT
 *
 * check_order.h - what follows the sorted order of events and needs no holds. Private to the checker.
 */
#ifndef LB_CHECK_ORDER_H
#define LB_CHECK_ORDER_H

#include "check.h"

/* What follows the sorted order and needs no holds: grants, hand-offs, fences, what guards found.
 * `permits`: by key. */
void lb_check_order(const struct lb_history *history, const uint64_t *permits, struct lb_check *check);

#endif
