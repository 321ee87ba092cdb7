/* SPDX-License-Identifier: MIT
 *
 * tally.h - what came of a plan: the outcome of every job, and their sum over every cell. The
 * runner fills it; results, display and the exit code read it.
 */
#ifndef LB_TALLY_H
#define LB_TALLY_H

#include "plan.h"
#include "trial/outcome.h"

struct lb_job_result {
  const struct lb_job *job;
  bool done; /* the outcome is there */
  struct lb_outcome outcome;
};

struct lb_cell_sum {
  const struct lb_cell *cell;
  /* By the rule at the head of tally.c; before the first trial that of the plan: LB_SKIPPED, LB_NA or
   * LB_VERDICT_NONE. */
  enum lb_verdict verdict;
  /* Of the verdict: the reason of its first trial in the order of the plan that has one. */
  char why[400];
  int trials, safe, violated, stuck, delayed, undecided;
  int premises_observed; /* trials that observed all premises of the scenario */
  /* Of all its trials, undecided ones included. */
  struct lb_counters sum;
};

struct lb_tally {
  const struct lb_plan *plan;
  struct lb_cell_sum *cells; /* as many as the plan has, in its order */
  struct lb_job_result *jobs;    /* the same */
  /* How many jobs have an outcome. */
  size_t done;
};

/* Nothing is done yet. 0 (release with lb_tally_clear(); the plan must live longer) or -ENOMEM. */
int lb_tally_begin(const struct lb_plan *plan, struct lb_tally *ret);
/* `result` (one of tally->jobs) has this outcome, which is added to its cell. */
void lb_tally_add(struct lb_tally *tally, struct lb_job_result *result, const struct lb_outcome *outcome);
void lb_tally_clear(struct lb_tally *tally);

/* The reason of the first trial of a cell, in the order of the plan, that ended like this; "" = none
 * did, or it has no reason. Lives as long as the tally. */
const char *lb_tally_why(const struct lb_tally *tally, size_t cell, enum lb_verdict verdict);

/* Adds one trial. The reason of the cell is left as it is. */
void lb_cell_add(struct lb_cell_sum *sum, const struct lb_outcome *outcome);
/* How many of its trials were decided. Where that is not all of them, whoever shows the verdict says it: "decided 15 of 21". */
int lb_cell_decided(const struct lb_cell_sum *sum);
/* 1 = as expected (or safe where nothing is expected), 0 = not, -1 = cannot be said (undecided, too few decided trials,
 * skipped, n/a where the scenario does not say so). */
int lb_cell_as_expected(const struct lb_cell_sum *sum);
/* The same of a lock that was brought and of what the rules say of it, -1 also where there is an expectation, which of a library is the prediction. */
int lb_cell_as_predicted(const struct lb_cell_sum *sum);
/* It was played, and too few trials were decided to say whether it is as expected. */
bool lb_cell_is_open(const struct lb_cell_sum *sum);

#endif
