/* SPDX-License-Identifier: MIT
 *
 * judge.h - from the events of a finished trial to its outcome: history, checker, statistics, verdict, files.
 */
#ifndef LB_JUDGE_H
#define LB_JUDGE_H

#include "stage.h"

/* Fills the counts, figures and verdict of *out from the stage's memory and writes the trial's files (see lb_trial_run).
 * 0, or -errno with out->why when a file could not be written. */
int lb_judge(struct lb_stage *stage, struct lb_outcome *out);

#endif
