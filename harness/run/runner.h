/* SPDX-License-Identifier: MIT
 *
 * runner.h - plays the jobs of a plan in its order (engine.h), and fills its tally.
 */
#ifndef LB_RUN_RUNNER_H
#define LB_RUN_RUNNER_H

#include "base/error.h"
#include "admit.h"
#include "rundir.h"
#include "tally.h"

struct lb_progress { /* what a display may want; called on the engine's thread */
  void (*finished)(void *display, const struct lb_tally *tally, const struct lb_job_result *result);
  /* About once a second and at every start of a trial. `running` lists them. */
  void (*tick)(void *display, const struct lb_tally *tally, const struct lb_job *const running[], size_t count);
  /* Once at most, see lb_source. */
  void (*slow)(void *display, const char *line);
  /* As in lb_source. */
  bool (*by_hand)(void *display, const char *order, lb_ns deadline);
  void *display;
};

struct lb_sitting {
  double budget_s; /* no job begins after it; 0 = all may */
  bool again;      /* who comes out undecided is played once more behind all others, and only that counts */
};

/* Runs all jobs of the tally's plan that are not done yet, so many side by side. `progress` may be NULL. Returns what
 * lb_engine_run() does, or -ETIME if the budget left some; trials that had not ended are then not in the tally. */
int lb_runner_run(struct lb_tally *tally, const struct lb_rundir *dir, struct lb_jobs jobs, struct lb_sitting sitting,
                  const struct lb_progress *progress, struct lb_error *err);

#endif
