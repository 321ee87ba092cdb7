/* SPDX-License-Identifier: MIT
 *
 * The sum over the trials of a cell. One violation is enough for `violated`: absence is what has to be shown many
 * times. Identity: trials = safe + violated + stuck + undecided.
 */
#include "cell.h"

#include <assert.h>
#include <string.h>

#include "base/interval.h"

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

static void add_counts(struct lb_outcome *sum, const struct lb_outcome *x) {
  sum->grants += x->grants;
  sum->handoffs += x->handoffs;
  sum->double_holds += x->double_holds;
  sum->double_hold_ns += x->double_hold_ns;
  sum->dirty_accesses += x->dirty_accesses;
  sum->lost_updates += x->lost_updates;
  sum->stale_writes += x->stale_writes;
  sum->fenced_off += x->fenced_off;
  sum->token_regressions += x->token_regressions;
  sum->faults += x->faults;
  sum->unavailable_ns = larger(sum->unavailable_ns, x->unavailable_ns);
  sum->orphan_ns = larger(sum->orphan_ns, x->orphan_ns);
  sum->blind_ns = larger(sum->blind_ns, x->blind_ns);
  if (x->depth > sum->depth) sum->depth = x->depth;
  if (x->stall_ns > sum->stall_ns) sum->stall_ns = x->stall_ns;
}

void lb_cell_add(struct lb_cell *cell, const struct lb_outcome *x) {
  if (cell->trials++ == 0) cell->sum = (struct lb_outcome){.unavailable_ns = -1, .orphan_ns = -1, .blind_ns = -1};
  add_counts(&cell->sum, x);
  cell->safe += x->verdict == LB_SAFE;
  cell->violated += x->verdict == LB_VIOLATED;
  cell->stuck += x->verdict == LB_STUCK;
  cell->undecided += x->verdict == LB_UNDECIDED;
  assert(cell->trials == cell->safe + cell->violated + cell->stuck + cell->undecided);
  cell->verdict = cell->violated ? LB_VIOLATED : cell->stuck ? LB_STUCK : cell->undecided ? LB_UNDECIDED : LB_SAFE;
  if (x->why[0] && !cell->why[0]) memcpy(cell->why, x->why, sizeof cell->why);
}

int lb_cell_as_expected(const struct lb_cell *cell) {
  if (cell->verdict == LB_SKIPPED) return cell->expect && cell->expect->verdict == LB_SKIPPED ? 1 : -1;
  if (cell->verdict == LB_UNDECIDED || cell->verdict == LB_VERDICT_NONE) return -1;
  if (cell->expect && cell->expect->verdict == LB_ANY) return 1;
  return cell->verdict == (cell->expect ? cell->expect->verdict : LB_SAFE);
}

/* ---- rates ------------------------------------------------------------------------------------------ */

uint64_t lb_outcome_violations(const struct lb_outcome *x) {
  return x->stale_writes == 0 && x->verdict == LB_VIOLATED ? 1 : x->stale_writes;
}

static bool is_decided(const struct lb_job *job) { return job->done && job->outcome.verdict != LB_UNDECIDED; }

void lb_cell_rate(const struct lb_plan *plan, size_t cell, struct lb_cell_rate *ret) {
  *ret = (struct lb_cell_rate){0};
  for (size_t i = 0; i < plan->job_count; i++) {
    const struct lb_job *job = &plan->jobs[i];
    if (job->cell != cell || !is_decided(job)) continue;
    ret->handoffs += job->outcome.handoffs;
    ret->violations += lb_outcome_violations(&job->outcome);
  }
  if (ret->handoffs) lb_interval_rate(ret->violations, ret->handoffs, 1000, &ret->per_1000, &ret->low, &ret->high);
}

/* ---- the control ---------------------------------------------------------------------------------------- */

void lb_plan_control(const struct lb_plan *plan, struct lb_control *ret) {
  *ret = (struct lb_control){0};
  for (size_t i = 0; i < plan->job_count; i++) {
    const struct lb_job *job = &plan->jobs[i];
    const struct lb_outcome *x = &job->outcome;
    bool honest = !(job->plan.protocol->traits & LB_TRAIT_UNSAFE);
    if (!job->done || !honest || !job->plan.scenario->control) continue;
    ret->trials++;
    if (x->stall_ns > ret->stall_ns) ret->stall_ns = x->stall_ns;
    if (!is_decided(job)) {
      ret->undecided++;
      continue;
    }
    ret->handoffs += x->handoffs;
    ret->violations += lb_outcome_violations(x);
  }
}
