/* SPDX-License-Identifier: MIT
 *
 * rate.h - what trials say together, beyond the sums of tally.h: rates of violation, and the
 * control they are compared with.
 *
 * Only decided trials (safe, violated, stuck) count here: what an undecided one saw is no evidence.
 */
#ifndef LB_RATE_H
#define LB_RATE_H

#include "tally.h"

struct lb_cell_rate {
  uint64_t handoffs, violations;
  double per_1000, low, high; /* violations per 1000 hand-offs, exact 95 % Poisson interval; not set if handoffs == 0 */
};

/* Without faults: what every system is compared with. */
struct lb_control { /* [scenario] control = yes */
  int trials, undecided; /* undecided: of these */
  uint64_t handoffs, violations;
  uint64_t stall_ns; /* the longest stall of the harness, undecided trials included */
};

/* How often the lock failed those who relied on it: accepted writes of an overtaken holder, one for
 * each critical section that was overrun. (Episodes would count one stale holder once for each
 * successor, lost updates once for each of their writes.) A trial that was judged violated counts
 * as one at least. */
uint64_t lb_outcome_violations(const struct lb_outcome *outcome);
/* Sums over the trials of cell number `cell`. */
void lb_cell_rate(const struct lb_tally *tally, size_t cell, struct lb_cell_rate *ret);
/* Sums over the trials of scenarios that declare themselves a control, with protocols that are
 * meant to exclude. */
void lb_tally_control(const struct lb_tally *tally, struct lb_control *ret);

#endif
