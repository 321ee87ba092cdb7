/* SPDX-License-Identifier: MIT
 *
 * workload.h - plays a trial: all clients in a closed loop.
 *
 * Whatever returns something returns 0, or -ECANCELED after lb_stage_doubt().
 */
#ifndef LB_WORKLOAD_H
#define LB_WORKLOAD_H

#include "stage.h"

/* The whole of a load: begin, the measured window, end. 0, or -ECANCELED after lb_stage_doubt(). */
int lb_workload_play(struct lb_stage *stage);

/* Its parts, for a campaign. Begin: sends all clients to work, lets them warm up, notes "phase
 * measure". */
int lb_workload_begin(struct lb_stage *stage);
/* Lets them work until `when` (lb_clock_ns()) or until `enough`. */
void lb_workload_continue(struct lb_stage *stage, lb_ns when, const _Atomic bool *enough);
/* Notes "phase end", tells all clients to stop and waits for their answers. */
int lb_workload_end(struct lb_stage *stage);

#endif
