/* SPDX-License-Identifier: MIT
 *
 * site.h - where a trial takes place: its network and its servers. A site is opened by one trial; those after it in the
 * same series find it as it was left.
 */
#ifndef LB_SITE_H
#define LB_SITE_H

#include "base/error.h"
#include "stage.h"

/* What a trial asks of its site. */
struct lb_site_needs lb_site_needs(const struct lb_trial_plan *plan);
/* Builds stage->net with hosts for the servers and clients, and starts stage->cluster in a folder named like the trial;
 * their logs go to stage->site.logs, or if that is "" to the folder of the trial. 0, or -ECANCELED after
 * lb_stage_doubt(): it then has to be closed all the same. */
int lb_site_open(struct lb_stage *stage, const struct lb_site_needs *needs);
/* Gives the clients of a trial, gathered before, their hosts, their clocks and their target. 0, or -ECANCELED after
 * lb_stage_doubt(). */
int lb_site_enter(struct lb_stage *stage);
/* Stops the servers and removes what they left. Nothing, if it is not open. */
void lb_site_close(struct lb_stage *stage);

/* ---- timelines on the same servers, one after the other ----
 *
 * That is sound where nothing of a timeline outlives its end: its keys are its own, its clients end with it, its faults
 * are taken back and proved to be gone, and the servers say that they are as good as new. Otherwise the next one has
 * fresh servers. */

/* Whether two timelines can be played on one site, as far as that can be said before: they have the same servers with
 * the same settings, and these can be asked whether they are well. */
bool lb_site_together(const struct lb_trial_plan *a, const struct lb_trial_plan *b);
/* Puts a trial into the pool of those that can have its servers, or that share heated ones with it (workload.h); a new
 * one if there is none. `pools` has room for another one. NULL = no other trial can share its servers. */
struct lb_pool *lb_site_pool_join(struct lb_pool pools[], size_t *count, const struct lb_trial_plan *plan);
/* Whether the site as it was built has what this plan needs. */
bool lb_site_fits(const struct lb_site *site, const struct lb_trial_plan *plan);
/* Between two trials, when the clients of the first have ended: takes back what its faults have left, proves that, and
 * waits for the servers to be well. True if another trial may be played on the site; else err says why not. */
bool lb_site_go_on(struct lb_stage *stage, struct lb_error *err);

#endif
