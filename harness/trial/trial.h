/* SPDX-License-Identifier: MIT
 *
 * trial.h - the controller of one trial. It runs in a process of its own (a sandbox where there is one), starts the servers and the
 * clients, leads them through the workload or the timeline, and judges their history when all of them have ended.
 */
#ifndef LB_TRIAL_H
#define LB_TRIAL_H

#include "outcome.h"

/* Runs it and fills *ret; writes the history (a timeline's always, a workload's when it is not safe), the rows of latency.csv
 * and series.csv (parts/NAME.latency, parts/NAME.series) and, unless all went well, keeps the server logs. 0, also for an
 * undecided trial; -errno with ret->why when the results could not be written. */
int lb_trial_run(const struct lb_trial_plan *plan, struct lb_outcome *ret);

#endif
