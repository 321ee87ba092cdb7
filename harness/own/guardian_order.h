/* SPDX-License-Identifier: MIT
 *
 * guardian_order.h - an order of a trial, done and proved. Private to the guardian.
 */
#ifndef LB_GUARDIAN_ORDER_H
#define LB_GUARDIAN_ORDER_H

#include "guardian_journal.h"

/* Does it to these servers. 0, or -errno with err; what was done is written down in any case. */
int lb_guardian_order(const struct lb_own *own, const struct lb_mandate_order *order, struct lb_error *err);

/* Proves the cuts that show late: a lone leader notices after seconds, and what it answers meanwhile is what a trial asks
 * for. Likewise. */
int lb_guardian_order_prove_late(struct lb_error *err);

/* Whether what was killed, stopped or paused is so still, unless an order has taken it back: somebody who watches a server
 * may start it again. Likewise. */
int lb_guardian_order_lasts(struct lb_error *err);

#endif
