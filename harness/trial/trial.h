/* SPDX-License-Identifier: MIT
 *
 * trial.h - the controller of one trial. It runs in a process of its own (a sandbox where there is
 * one), starts the servers and the clients, leads them through the workload or the timeline, and
 * judges their history when all of them have ended.
 */
#ifndef LB_TRIAL_H
#define LB_TRIAL_H

#include <stdatomic.h>

#include "outcome.h"
#include "trial_plan.h"

struct lb_live { /* shared with the tool, for the live line */
  _Atomic uint64_t grants;
};

/* Runs it and fills *ret. Its files go to the folder `run_dir`, in which histories/, logs/, parts/
 * and scratch/ are (see keep.h; unless all went well the logs stay, too). `live` (NULL =
 * nobody looks) is kept up to date. 0, also for an undecided trial; -errno with ret->why when the
 * results could not be written. */
int lb_trial_run(const struct lb_trial_plan *plan, const char *run_dir, struct lb_live *live, struct lb_outcome *ret);

#endif
