/* SPDX-License-Identifier: MIT
 *
 * site.h - where a trial takes place: its network and its servers. A site is opened by one trial; those
 * after it in the same series find it as it was left.
 */
#ifndef LB_SITE_H
#define LB_SITE_H

#include "stage.h"

/* Builds stage->net with a host for each server and for so many clients, and starts stage->cluster in
 * a folder named like the trial; their logs go to the one of the trial. 0, or -ECANCELED after lb_stage_doubt(): it then has
 * to be closed all the same. */
int lb_site_open(struct lb_stage *stage, size_t clients);
/* Gives the clients of a trial, gathered before, their hosts and their target. */
void lb_site_enter(struct lb_stage *stage);
/* Stops the servers and removes what they left. Nothing, if it is not open. */
void lb_site_close(struct lb_stage *stage);

#endif
