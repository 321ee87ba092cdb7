/* SPDX-License-Identifier: MIT
 *
 * workload.h - plays a trial: all clients in a closed loop.
 */
#ifndef LB_WORKLOAD_H
#define LB_WORKLOAD_H

#include "stage.h"

/* 0, or -ECANCELED after lb_stage_doubt(). */
int lb_workload_play(struct lb_stage *stage);

#endif
