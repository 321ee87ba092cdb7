/* SPDX-License-Identifier: MIT
 *
 * timeline.h - plays a trial: the steps of its scenario, one after the other.
 */
#ifndef LB_TIMELINE_H
#define LB_TIMELINE_H

#include "stage.h"

/* 0, or -ECANCELED after lb_stage_doubt(). */
int lb_timeline_play(struct lb_stage *stage);
/* True if something plays this verb. For the test that no verb was forgotten. */
bool lb_timeline_knows(enum lb_verb verb);

#endif
