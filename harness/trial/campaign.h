/* SPDX-License-Identifier: MIT
 *
 * campaign.h - plays a trial: all clients in a closed loop, and faults drawn at random, one after
 * the other, while they work.
 *
 * The schedule (schedule.h) is drawn before the first of them and written to schedules/NAME.txt.
 * What a role like `primary` or `holder` stands for is only known when its fault begins. A control
 * plays the same load on the same hosts without any fault.
 */
#ifndef LB_CAMPAIGN_H
#define LB_CAMPAIGN_H

#include "stage.h"

/* 0, or -ECANCELED after lb_stage_doubt(). Adds the proved faults to out->faults and out->faults_of,
 * which have to be 0 before, and leaves all else of it. Fewer proved than half of those tried =
 * undecided, but not of a control. The window may end late: it waits for a
 * grant after the last fault, for as long as lb_scenario_progress_ms() says. */
int lb_campaign_play(struct lb_stage *stage, struct lb_outcome *out);

#endif
