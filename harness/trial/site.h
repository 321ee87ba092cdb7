/* SPDX-License-Identifier: MIT
 *
 * site.h - where a trial takes place: its network and its servers. A site is opened by one trial; those
 * after it in the same series find it as it was left.
 */
#ifndef LB_SITE_H
#define LB_SITE_H

#include "stage.h"

/* What a trial asks of its site. */
struct lb_site_needs lb_site_needs(const struct lb_trial_plan *plan);
/* Builds stage->net with hosts for the servers and clients, and starts stage->cluster in
 * a folder named like the trial; their logs go to stage->site.logs, or if that is "" to the folder of the trial. 0, or -ECANCELED after
 * lb_stage_doubt(): it then has to be closed all the same. */
int lb_site_open(struct lb_stage *stage, const struct lb_site_needs *needs);
/* Gives the clients of a trial, gathered before, their hosts, their clocks and their target. 0, or -ECANCELED after
 * lb_stage_doubt(). */
int lb_site_enter(struct lb_stage *stage);
/* Stops the servers and removes what they left. Nothing, if it is not open. */
void lb_site_close(struct lb_stage *stage);

#endif
