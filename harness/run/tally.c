/* SPDX-License-Identifier: MIT
 *
 * The sum over the trials of a cell, and its verdict. Identity: trials = safe + violated + stuck +
 * undecided.
 *
 * A timeline asks the same question in each of its trials, so its answer is one only if all decided
 * trials give it: n of n violated is `violated`, n of n stuck is `stuck`. If they differ the cell is
 * `mixed`, also where some are violated and the rest stuck: a race decided, and one that nobody has
 * named is a surprise. A load or a campaign looks for something rare, so there one violation is
 * enough for `violated`, and without any one stuck trial for `stuck`.
 *
 * An undecided trial outweighs safe ones and nothing else. A lock that was safe in two trials and
 * undecided in a third has not been shown to be safe in three. But what was seen to go wrong is not
 * made better by a trial that is no evidence: violated twice and undecided once is `violated`, with
 * the undecided trial beside it. Its counters are in the sums all the same.
 */
#include "tally.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As many trials that agree leave less than 10 % to the other outcome (95 % confidence), which is no
 * race any more. */
#define AGREED_TRIALS 30

static enum lb_verdict verdict_of(const struct lb_cell_sum *sum, bool directed) {
  int kinds = (sum->safe > 0) + (sum->violated > 0) + (sum->stuck > 0);
  if (directed && kinds > 1) return LB_MIXED;
  if (sum->violated) return LB_VIOLATED;
  if (sum->stuck) return LB_STUCK;
  return sum->undecided ? LB_UNDECIDED : LB_SAFE;
}

void lb_cell_add(struct lb_cell_sum *cell, const struct lb_outcome *x) {
  if (cell->trials++ == 0) cell->sum = lb_counters_none();
  lb_counters_add(&cell->sum, &x->counters);
  cell->safe += x->verdict == LB_SAFE;
  cell->violated += x->verdict == LB_VIOLATED;
  cell->stuck += x->verdict == LB_STUCK;
  cell->undecided += x->verdict == LB_UNDECIDED;
  cell->premises_observed += x->premises_observed;
  assert(cell->trials == cell->safe + cell->violated + cell->stuck + cell->undecided);
  cell->verdict = verdict_of(cell, cell->cell->scenario->kind == LB_KIND_TIMELINE);
}

/* `any` is met by every decided verdict. So is `mixed` by few trials: a race may fall the same way
 * in all of them. Without an expectation a lock is taken to be safe, so a violation that nobody
 * foresaw is one against expectation. */
int lb_cell_as_expected(const struct lb_cell_sum *sum) {
  const struct lb_expect *expect = sum->cell->expect;
  if (sum->verdict == LB_NA) return expect && expect->verdict == LB_NA ? 1 : -1;
  if (sum->verdict == LB_UNDECIDED || sum->verdict == LB_SKIPPED || sum->verdict == LB_VERDICT_NONE) return -1;
  if (expect && expect->verdict == LB_ANY) return 1;
  if (expect && expect->verdict == LB_MIXED && sum->trials - sum->undecided < AGREED_TRIALS) return 1;
  return sum->verdict == (expect ? expect->verdict : LB_SAFE);
}

/* Jobs are in the order of the plan, whatever the order in which they ended. */
const char *lb_tally_why(const struct lb_tally *tally, size_t cell, enum lb_verdict verdict) {
  for (size_t i = 0; i < tally->plan->job_count; i++) {
    const struct lb_job_result *x = &tally->jobs[i];
    if (x->done && x->job->cell == cell && x->outcome.verdict == verdict && x->outcome.why[0]) return x->outcome.why;
  }
  return "";
}

/* The reason of the verdict that is shown; of a mixed cell that of its stuck trials, if there are
 * any, for a violation has none. */
static void keep_why(struct lb_tally *tally, size_t cell) {
  struct lb_cell_sum *sum = &tally->cells[cell];
  snprintf(sum->why, sizeof sum->why, "%s", lb_tally_why(tally, cell, sum->verdict == LB_MIXED ? LB_STUCK : sum->verdict));
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
  keep_why(tally, result->job->cell);
}

void lb_tally_clear(struct lb_tally *tally) {
  free(tally->cells);
  free(tally->jobs);
  *tally = (struct lb_tally){0};
}
