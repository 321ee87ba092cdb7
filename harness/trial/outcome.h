/* SPDX-License-Identifier: MIT
 *
 * outcome.h - what came of one trial: its verdict and its figures.
 */
#ifndef LB_OUTCOME_H
#define LB_OUTCOME_H

#include "scenario/scenario.h"

#define LB_QUANTILES 3 /* 50 %, 99 %, 99.9 % */

struct lb_outcome { /* plain data: travels through a pipe */
  enum lb_verdict verdict;
  char why[400]; /* of undecided and stuck */
  uint64_t grants, handoffs, double_holds, double_hold_ns, dirty_accesses, stale_writes, fenced_off, token_regressions;
  uint64_t measured_grants, busy, timeouts, unknowns; /* in the measured window */
  int64_t lost_updates, unavailable_ns, orphan_ns, blind_ns; /* times: -1 = does not apply */
  uint32_t depth;
  double measured_s, grants_per_s, jain;
  uint64_t client_min, client_max;
  uint64_t wait_ns[LB_QUANTILES], hold_ns[LB_QUANTILES], handoff_ns[LB_QUANTILES];
  uint64_t start_ns, trial_ns, stall_ns;
  uint64_t faults; /* of a campaign: how many were proved */
  bool history_kept;
};

#endif
