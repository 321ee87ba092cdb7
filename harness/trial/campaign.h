/* SPDX-License-Identifier: MIT
 *
 * campaign.h - plays a trial: all clients in a closed loop, and faults drawn at random, one after
 * the other, while they work.
 *
 * The schedule (which fault, on which `any`, when, how long) is drawn before the first of them from
 * the trial's fault_seed alone and written to schedules/NAME.txt: trial 1 of every system with as
 * many nodes, under every guard, has the same schedule, byte by byte. What a role like `primary` or
 * `holder` stands for is only known when its fault begins.
 */
#ifndef LB_CAMPAIGN_H
#define LB_CAMPAIGN_H

#include "stage.h"

/* 0, or -ECANCELED after lb_stage_doubt(); *ret_proved = how many faults were proved. Fewer than
 * half of those tried = undecided. */
int lb_campaign_play(struct lb_stage *stage, uint64_t *ret_proved);

#endif
