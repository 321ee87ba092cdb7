/* SPDX-License-Identifier: MIT
 *
 * runner.h - runs the jobs of a plan, each trial in a process (and sandbox) of its own, several
 * side by side.
 */
#ifndef LB_RUNNER_H
#define LB_RUNNER_H

#include "admit.h"
#include "queue.h"
#include "rundir.h"
#include "tally.h"

struct lb_progress { /* what a display may want; called on the runner's thread */
  void (*finished)(void *display, const struct lb_tally *tally, const struct lb_job_result *result);
  /* About once a second and at every start and end of a trial. `running` lists them, with `grants`
   * so far. */
  void (*tick)(void *display, const struct lb_tally *tally, const struct lb_job *const *running, const uint64_t *grants, size_t count);
  /* Asked before a trial is started. NULL = all are wanted. */
  lb_wanted_ask *wanted;
  void *display;
};

/* Runs all jobs of the tally's plan that are wanted and not done yet, and fills it: timelines side by side, as many as `jobs` says and as the
 * machine bears (admit.h), trials that measure alone. 0; -EINTR after SIGINT, SIGTERM or SIGHUP; other -errno when results
 * could not be written (-ENOSPC also if the disk is full when a trial is undecided). Then one line is in err, all trials are dead, and those that had not ended are not in the tally. */
int lb_runner_run(struct lb_tally *tally, const struct lb_rundir *dir, struct lb_jobs jobs, const struct lb_progress *progress,
                  char *err, size_t err_size);

#endif
