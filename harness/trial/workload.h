/* SPDX-License-Identifier: MIT
 *
 * workload.h - plays a trial: all clients in a closed loop.
 *
 * What plays or makes something returns 0, or -ECANCELED after lb_stage_doubt().
 */
#ifndef LB_WORKLOAD_H
#define LB_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "servers/cluster.h"
#include "stage.h"

/* The whole of a load: begin, the measured window, end. */
int lb_workload_play(struct lb_stage *stage);

/* Its parts, for a campaign. Begin: sends all clients to work, lets them warm up, notes "phase measure". */
int lb_workload_begin(struct lb_stage *stage);
/* Lets them work until `when` (lb_clock_ns()) or until `enough`. */
void lb_workload_continue(struct lb_stage *stage, lb_ns when, const _Atomic bool *enough);
/* Notes "phase end", tells all clients to stop and waits for their answers. */
int lb_workload_end(struct lb_stage *stage);

/* Whether a rate has settled. In the first seconds servers compile their code and fill their caches. The time so far is
 * cut into thirds: the rate has settled when the last two differ by at most 3 %, of 100 things or more. So a rate that
 * wavers settles at last, and one that grows slowly does not. */
enum { LB_SETTLE_TICK_MS = 125, LB_SETTLE_TICKS_MAX = 1 << 16 }; /* more than the two hours that a warm-up can last */

struct lb_settle {                         /* all zero = nothing counted yet */
  uint64_t count[LB_SETTLE_TICKS_MAX + 1]; /* how much had been done after so many ticks; [0] = 0 */
  size_t ticks;
};

/* One more tick is over; `count` = how much was done since the begin. True if the rate has settled. Ticks beyond the
 * room do not change the answer. */
bool lb_settle_add(struct lb_settle *settle, uint64_t count);

/* ---- servers that compile what they do often are heated before their speed is measured, by a load that is not ---- */

/* Whether the servers of this trial have to be heated: its rate has to settle, and they compile. */
bool lb_workload_heat_needed(const struct lb_trial_plan *plan);
/* Whether two trials can share servers that were heated once: both need it, their servers start alike, and they are of
 * the same round. So repeats have servers of their own. */
bool lb_workload_heat_shared(const struct lb_trial_plan *a, const struct lb_trial_plan *b);
lb_ns lb_workload_heat_most(void); /* the longest that heating may take */
/* The trial that heats the servers for `plan`. Fills both; *ret points to *scenario. False: nothing has to be heated. */
bool lb_workload_heat_plan(const struct lb_trial_plan *plan, struct lb_scenario *scenario, struct lb_trial_plan *ret);
/* Plays it, with a crew that has started; fills stage->site. */
int lb_workload_heat_play(struct lb_stage *stage);

#endif
