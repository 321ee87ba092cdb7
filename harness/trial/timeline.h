/* SPDX-License-Identifier: MIT
 *
 * timeline.h - plays a trial: the steps of its scenario, one after the other.
 */
#ifndef LB_TIMELINE_H
#define LB_TIMELINE_H

#include "stage.h"

/* 0, or -ECANCELED after lb_stage_doubt(). */
int lb_timeline_play(struct lb_stage *stage);
/* Plays one step, wherever it comes from; it has to stay where it is for as long as what it did holds. 0, or
 * -ECANCELED after lb_stage_doubt(). */
int lb_timeline_step(struct lb_stage *stage, const struct lb_step *step);
/* Waits for the proofs that take their time (a packet that is to come late). Returns as lb_timeline_step() does. */
int lb_timeline_settle(struct lb_stage *stage);
/* True if something plays this verb. For the test that no verb was forgotten. */
bool lb_timeline_knows(enum lb_verb verb);

#endif
