/* SPDX-License-Identifier: MIT
 *
 * keep.h - what of a trial goes into the folder of the run.
 */
#ifndef LB_KEEP_H
#define LB_KEEP_H

#include "judge.h"

/* Writes histories/NAME.hist (a timeline's always, another's when it is not safe), and parts/NAME.latency and
 * parts/NAME.series (not of a timeline), faults/NAME.jsonl (of a campaign: the controller's facts alone) and waits/NAME.jsonl
 * (not of a timeline: the longest wait of one client) into the
 * folder of the run. Says in *out whether there is a history, which it may have shortened. 0, or -errno when a file
 * could not be written. */
int lb_keep(struct lb_stage *stage, const struct lb_judgement *judgement, struct lb_outcome *out);

#endif
