/* SPDX-License-Identifier: MIT
 *
 * How often a lock failed those who relied on it, over decided trials. Rates come from sums over
 * the trials of a cell: a mean of rates would give a short trial as much weight as a long one.
 */
#include "rate.h"

#include <stdlib.h>

uint64_t lb_outcome_violations(const struct lb_outcome *x) {
  return x->stale_writes == 0 && x->verdict == LB_VIOLATED ? 1 : x->stale_writes;
}

static bool is_decided(const struct lb_job_result *result) { return result->done && result->outcome.verdict != LB_UNDECIDED; }

/* ---- rates ----------------------------------------------------------------------------------- */

enum part { OVERLAPPED, DAMAGED, BY_HOUR, BY_HANDOFF, PARTS };

/* What one trial adds to each rate. */
static void add_trial(const struct lb_outcome *x, struct lb_cell_rate *sum, struct lb_part part[PARTS]) {
  double violations = (double)lb_outcome_violations(x), hours = x->measured_s / 3600;
  sum->faults += x->faults_tested;
  sum->overlapped += x->faults_overlapped;
  sum->within_lease += x->faults_within_lease;
  sum->damaged += x->faults_damaged;
  sum->hours += hours;
  sum->handoffs += x->useful_handoffs;
  sum->violations += lb_outcome_violations(x);
  part[OVERLAPPED] = (struct lb_part){(double)x->faults_overlapped, (double)x->faults_tested};
  part[DAMAGED] = (struct lb_part){(double)x->faults_damaged, (double)x->faults_tested};
  part[BY_HOUR] = (struct lb_part){violations, hours};
  part[BY_HANDOFF] = (struct lb_part){violations, (double)x->useful_handoffs};
}

static struct lb_part *parts(size_t count) {
  struct lb_part *array = calloc(count + 1, sizeof *array);
  if (!array) abort();
  return array;
}

void lb_cell_rate(const struct lb_tally *tally, size_t cell, struct lb_cell_rate *ret) {
  struct lb_part *of[PARTS];
  size_t count = 0;
  *ret = (struct lb_cell_rate){0};
  for (size_t k = 0; k < PARTS; k++) of[k] = parts(tally->plan->job_count);
  for (size_t i = 0; i < tally->plan->job_count; i++) {
    const struct lb_job_result *result = &tally->jobs[i];
    struct lb_part part[PARTS];
    if (result->job->cell != cell || !is_decided(result)) continue;
    add_trial(&result->outcome, ret, part);
    for (size_t k = 0; k < PARTS; k++) of[k][count] = part[k];
    count++;
  }
  if (ret->faults) ret->overlapped_per_fault = lb_rate_share(of[OVERLAPPED], count);
  if (ret->faults) ret->damaged_per_fault = lb_rate_share(of[DAMAGED], count);
  if (ret->hours > 0) ret->violations_per_hour = lb_rate_per(of[BY_HOUR], count, 1);
  if (ret->handoffs) ret->violations_per_1000 = lb_rate_per(of[BY_HANDOFF], count, 1000);
  for (size_t k = 0; k < PARTS; k++) free(of[k]);
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
