/* SPDX-License-Identifier: MIT
 *
 * tally.h - what came of a plan: the outcome of every job, and their sum over every cell. The
 * runner fills it; results, display and the exit code read it.
 */
#ifndef LB_TALLY_H
#define LB_TALLY_H

#include "base/interval.h"
#include "plan/plan.h"
#include "trial/trial.h"

struct lb_job_result {
  const struct lb_job *job;
  bool done;      /* the outcome is there */
  bool elsewhere; /* another shard plays it (shard.h) */
  int machine;    /* where it was played: its place among those of the run, from 0 */
  struct lb_outcome outcome;
};

struct lb_cell_sum {
  const struct lb_cell *cell;
  /* By the rule in tally.c; before the first trial that of the plan: LB_SKIPPED, LB_NA or
   * LB_VERDICT_NONE. */
  enum lb_verdict verdict;
  /* The reason of the verdict: that of its first trial in the order of the plan that has one. */
  char why[400];
  int trials, safe, violated, stuck, delayed, undecided;
  int premises_observed; /* trials that observed all premises of the scenario */
  /* Summed over all its trials, undecided ones included. */
  struct lb_counters sum;
};

struct lb_tally {
  const struct lb_plan *plan;
  struct lb_cell_sum *cells;  /* as many as the plan has, in its order */
  struct lb_job_result *jobs; /* the same */
  /* How many jobs have an outcome, and how many this process is to play. */
  size_t done, wanted;
  int machine; /* this one */
};

/* Nothing is done yet. Release with lb_tally_clear(); the plan must live longer. */
void lb_tally_begin(const struct lb_plan *plan, struct lb_tally *ret);
/* `result` (one of tally->jobs) has this outcome, which is added to its cell. */
void lb_tally_add(struct lb_tally *tally, struct lb_job_result *result, const struct lb_outcome *outcome);
void lb_tally_clear(struct lb_tally *tally);

/* The reason of the first trial of a cell, in the order of the plan, that ended like this; "" = none
 * did, or it has no reason. Lives as long as the tally. */
const char *lb_tally_why(const struct lb_tally *tally, size_t cell, enum lb_verdict verdict);

/* Adds one trial. The reason of the cell is left as it is. */
void lb_cell_sum_add(struct lb_cell_sum *sum, const struct lb_outcome *outcome);
/* How many of its trials were decided. If that is not all of them, it is shown with the verdict: "decided 15 of 21". */
int lb_cell_sum_decided(const struct lb_cell_sum *sum);
/* 1 = as expected (or safe where nothing is expected), 0 = not, -1 = unknown. It is unknown for undecided, too few
 * decided trials, skipped, and n/a where the scenario does not say so. */
int lb_cell_sum_as_expected(const struct lb_cell_sum *sum);
/* The same for a lock that was brought and what the rules say of it. Also -1 if there is an expectation; that of a
 * library is the prediction. */
int lb_cell_sum_as_predicted(const struct lb_cell_sum *sum);
/* Safe, where the expectation is that a race decides: worth a note, and never against expectation. A stated `violated`
 * that comes out safe is none: the question may not have been put. */
bool lb_cell_sum_is_better(const struct lb_cell_sum *sum);
/* It was played, and too few trials were decided to say whether it is as expected. */
bool lb_cell_sum_is_open(const struct lb_cell_sum *sum);

/* ---- What trials say together, beyond their sums: rates of violation, and the
 * control they are compared with.
 *
 * Only decided trials (safe, violated, stuck) count here: what an undecided one saw is no evidence. ---- */

/* A lock that is fast changes hands often between two faults, so its rate per hand-off is small for
 * that alone: the rates per fault and per hour come first. All have 95 % intervals that allow for
 * trials that differ (base/interval.h). */
struct lb_cell_rate {
  uint64_t faults;               /* tested: see faults_tested in check/counter.h */
  double hours;                  /* of load */
  uint64_t handoffs, violations; /* the useful ones */
  uint64_t grants;               /* critical sections */
  size_t servers;                /* that hold the lock; 0 = none */
  bool
      stands_still; /* the verdict of the cell is stuck: its hours are of the standstill, so there is no rate by them or by hand-offs */
  uint32_t faults_of[LB_FAULT_KINDS_MAX]; /* proved, by their place among the scenario's faults */
  struct lb_rate overlapped_per_fault, within_lease_per_fault, damaged_per_fault; /* not set if faults == 0 */
  struct lb_rate
      within_lease_per_server_hour; /* per hour in which each server has one fault: times `servers`; not set if faults or servers == 0 */
  struct lb_rate lost_per_1000;       /* updates, of grants; not set if grants == 0 */
  struct lb_rate violations_per_hour; /* not set if hours == 0 or stands_still */
  struct lb_rate violations_per_1000; /* useful hand-offs; not set if handoffs == 0 or stands_still */
};

/* Without faults: what every system is compared with. */
struct lb_control {      /* [scenario] control = yes */
  int trials, undecided; /* undecided: of these */
  uint64_t handoffs, violations;
  uint64_t stall_ns; /* the longest stall of the harness, undecided trials included */
};

/* How often the lock failed those who relied on it: accepted writes of an overtaken holder, one for
 * each critical section that was overrun. (Episodes would count one stale holder once for each
 * successor, lost updates once for each of their writes.) A trial that was judged violated counts
 * as one at least. */
uint64_t lb_tally_violations_of(const struct lb_outcome *outcome);
/* Over the trials of cell number `cell`. Ends the process when memory is exhausted. */
void lb_cell_rate(const struct lb_tally *tally, size_t cell, struct lb_cell_rate *ret);
/* Whether the violations of a cell come from its faults: 1 = the interval of violations per hour lies above that of the
 * control, 0 = the two meet, -1 = nothing to compare: the cell has no violation, there is no control of this load, or
 * one of the two stands still or has fewer than LB_LEAST_TRIALS decided trials. The control is the cell of the same
 * system in a control scenario with the same load. It is under the same guard, or else without one. */
int lb_tally_above_control(const struct lb_tally *tally, size_t cell);
/* Sums over the trials of scenarios that declare themselves a control, with protocols that are
 * meant to exclude. */
void lb_tally_control(const struct lb_tally *tally, struct lb_control *ret);

#endif
