/* SPDX-License-Identifier: MIT
 *
 * The sum over the trials of a cell. One violation is enough for `violated`: absence is what has to
 * be shown many times. Identity: trials = safe + violated + stuck + undecided.
 *
 * An undecided trial outweighs safe ones and nothing else: a lock that was safe in two trials and
 * undecided in a third has not been shown to be safe in three. Its counters are in the sums all the
 * same.
 */
#include "tally.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* States of a cell's verdict: safe, undecided, stuck, violated, each of which can only be left to
 * the right. */
void lb_cell_add(struct lb_cell_sum *cell, const struct lb_outcome *x) {
  if (cell->trials++ == 0) cell->sum = lb_counters_none();
  lb_counters_add(&cell->sum, &x->counters);
  cell->safe += x->verdict == LB_SAFE;
  cell->violated += x->verdict == LB_VIOLATED;
  cell->stuck += x->verdict == LB_STUCK;
  cell->undecided += x->verdict == LB_UNDECIDED;
  assert(cell->trials == cell->safe + cell->violated + cell->stuck + cell->undecided);
  cell->verdict = cell->violated ? LB_VIOLATED : cell->stuck ? LB_STUCK : cell->undecided ? LB_UNDECIDED : LB_SAFE;
  if (x->why[0] && !cell->why[0]) memcpy(cell->why, x->why, sizeof cell->why);
}

/* `any` is met by every decided verdict. Without an expectation a lock is taken to be safe, so a
 * violation that nobody foresaw is one against expectation. */
int lb_cell_as_expected(const struct lb_cell_sum *sum) {
  const struct lb_expect *expect = sum->cell->expect;
  if (sum->verdict == LB_NA) return expect && expect->verdict == LB_NA ? 1 : -1;
  if (sum->verdict == LB_UNDECIDED || sum->verdict == LB_SKIPPED || sum->verdict == LB_VERDICT_NONE) return -1;
  if (expect && expect->verdict == LB_ANY) return 1;
  return sum->verdict == (expect ? expect->verdict : LB_SAFE);
}

/* One more than needed of each, so that an empty plan is not taken for a lack of memory. */
int lb_tally_begin(const struct lb_plan *plan, struct lb_tally *ret) {
  *ret = (struct lb_tally){.plan = plan,
                           .cells = calloc(plan->cell_count + 1, sizeof *ret->cells),
                           .jobs = calloc(plan->job_count + 1, sizeof *ret->jobs)};
  if (!ret->cells || !ret->jobs) {
    lb_tally_clear(ret);
    return -ENOMEM;
  }
  for (size_t i = 0; i < plan->cell_count; i++) {
    const struct lb_cell *cell = &plan->cells[i];
    ret->cells[i] = (struct lb_cell_sum){.cell = cell, .verdict = !cell->skip[0] ? LB_VERDICT_NONE : cell->means_nothing ? LB_NA : LB_SKIPPED};
  }
  for (size_t i = 0; i < plan->job_count; i++) ret->jobs[i].job = &plan->jobs[i];
  return 0;
}

void lb_tally_add(struct lb_tally *tally, struct lb_job_result *result, const struct lb_outcome *outcome) {
  result->outcome = *outcome;
  result->done = true;
  tally->done++;
  lb_cell_add(&tally->cells[result->job->cell], outcome);
}

void lb_tally_clear(struct lb_tally *tally) {
  free(tally->cells);
  free(tally->jobs);
  *tally = (struct lb_tally){0};
}
