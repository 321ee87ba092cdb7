/* SPDX-License-Identifier: MIT
 *
 * How often a lock failed those who relied on it, over decided trials. Rates come from sums over
 * the trials of a cell: a mean of rates would give a short trial as much weight as a long one.
 */
#include "rate.h"

#include "base/interval.h"

uint64_t lb_outcome_violations(const struct lb_outcome *x) {
  return x->stale_writes == 0 && x->verdict == LB_VIOLATED ? 1 : x->stale_writes;
}

static bool is_decided(const struct lb_job_result *result) { return result->done && result->outcome.verdict != LB_UNDECIDED; }

/* Without a hand-off there is no rate, and only the counts are set. */
void lb_cell_rate(const struct lb_tally *tally, size_t cell, struct lb_cell_rate *ret) {
  *ret = (struct lb_cell_rate){0};
  for (size_t i = 0; i < tally->plan->job_count; i++) {
    const struct lb_job_result *result = &tally->jobs[i];
    if (result->job->cell != cell || !is_decided(result)) continue;
    ret->handoffs += result->outcome.handoffs;
    ret->violations += lb_outcome_violations(&result->outcome);
  }
  struct lb_part all = {.events = (double)ret->violations, .exposure = (double)ret->handoffs};
  struct lb_rate rate = lb_rate_per(&all, 1, 1000);
  if (ret->handoffs) ret->per_1000 = rate.value, ret->low = rate.low, ret->high = rate.high;
}

/* ---- the control ----------------------------------------------------------------------------- */

/* An undecided trial adds its stall, though not its hand-offs: that the harness stalled is just
 * what may have made it undecided. */
void lb_tally_control(const struct lb_tally *tally, struct lb_control *ret) {
  *ret = (struct lb_control){0};
  for (size_t i = 0; i < tally->plan->job_count; i++) {
    const struct lb_job_result *result = &tally->jobs[i];
    const struct lb_outcome *x = &result->outcome;
    bool honest = !(result->job->plan.protocol->traits & LB_TRAIT_UNSAFE);
    if (!result->done || !honest || !result->job->plan.scenario->control) continue;
    ret->trials++;
    if (x->stall_ns > ret->stall_ns) ret->stall_ns = x->stall_ns;
    if (!is_decided(result)) {
      ret->undecided++;
      continue;
    }
    ret->handoffs += x->handoffs;
    ret->violations += lb_outcome_violations(x);
  }
}
