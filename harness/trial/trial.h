/* SPDX-License-Identifier: MIT
 *
 * trial.h - the controller of a trial, or of a series of them. It runs in a process of its own (a sandbox where there is
 * one), starts the servers and the clients, leads them through the workload or the timeline, and
 * judges their history when all of them have ended.
 */
#ifndef LB_TRIAL_H
#define LB_TRIAL_H

#include <stdatomic.h>
#include <sys/types.h>

#include "outcome.h"
#include "trial_plan.h"

struct lb_live { /* shared with the tool */
  _Atomic uint64_t grants; /* for the live line */
  _Atomic bool started;    /* the servers and clients of the trial are there; false while they are started, also once more within a series */
};

/* Is told of each trial when it has ended: its result, and its outcome, which is gone after the call. */
typedef void lb_trial_told(void *to, int result, const struct lb_outcome *outcome);

/* Which of the plans is next: its index, or -1 = none any more. */
typedef ptrdiff_t lb_trial_next(void *to);

/* Runs one trial, or several one after the other, and tells `tell`
 * of each: all of these plans in their order, or, if there is a `next`, the first one and then those that it names, each at most once; all of them can then share their
 * servers. Neighbours that can share their servers do (lb_heat_shared(), lb_share_together()), unless the later one wants fresh ones, or the servers
 * are not as good as new after the earlier one; outcome->fresh says so. Their files go to the folder `run_dir`, in which histories/, logs/, parts/ and scratch/ are (see
 * keep.h; unless all went well the logs stay, too). `live` (NULL = nobody looks) is kept up to date. 0,
 * also for undecided trials; -errno with outcome->why when the results of one could not be written:
 * those after it are then not run. */
int lb_trial_run(const struct lb_trial_plan *const plan[], size_t count, lb_trial_next *next, const char *run_dir, struct lb_live *live, lb_trial_told *tell, void *to);

#endif
