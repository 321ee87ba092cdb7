/* SPDX-License-Identifier: MIT
 *
 * heat.h - servers that compile what they do often (lb_family.compiling) are heated before their speed is
 * measured: a load of its own, which is not measured, goes on until they have stopped compiling.
 */
#ifndef LB_HEAT_H
#define LB_HEAT_H

#include "stage.h"

/* Whether the servers of this trial have to be heated: its rate has to settle, and they compile. */
bool lb_heat_needed(const struct lb_trial_plan *plan);
/* Whether two trials can have the same servers, heated once: both need it, they differ in nothing that the
 * servers are started with, and they are of the same round, so that repeats have servers of their own. */
bool lb_heat_shared(const struct lb_trial_plan *a, const struct lb_trial_plan *b);
/* The longest that heating may take, in ns. */
lb_ns lb_heat_most(void);
/* The trial that heats the servers for `plan`. Fills both; *ret points to *scenario. */
void lb_heat_plan(const struct lb_trial_plan *plan, struct lb_scenario *scenario, struct lb_trial_plan *ret);
/* Plays it, with a crew that has started; fills stage->site. 0, or -ECANCELED after lb_stage_doubt(). */
int lb_heat_play(struct lb_stage *stage);

#endif
