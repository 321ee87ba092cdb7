/* SPDX-License-Identifier: MIT
 *
 * share.h - timelines that are played one after the other on the same servers. That is sound where nothing of a timeline outlives
 * its end: its keys are its own, its clients end with it, its faults are taken back and proved to be gone, and the servers say
 * that they are as good as new. Where one of these is not so, the next timeline has fresh servers.
 */
#ifndef LB_SHARE_H
#define LB_SHARE_H

#include "stage.h"

/* Whether two timelines can be played on one site, as far as that can be said before: they have the same servers with the same settings, and these can
 * be asked whether they are well. */
bool lb_share_together(const struct lb_trial_plan *a, const struct lb_trial_plan *b);
/* What a site needs for the first of these plans and those behind it that can share it. */
struct lb_site_needs lb_share_needs(const struct lb_trial_plan *const plan[], size_t count);
/* Whether the site as it was built has what this plan needs. */
bool lb_share_fits(const struct lb_site *site, const struct lb_trial_plan *plan);
/* Between two trials, when the clients of the first have ended: takes back what its faults have left, proves that, and waits
 * for the servers to be well. True if another trial may be played on the site; else err says why not. */
bool lb_share_go_on(struct lb_stage *stage, char *err, size_t err_size);

#endif
