/* SPDX-License-Identifier: MIT
 *
 * campaign.h - plays a trial: a load, and random faults one after the other. Roles like `primary` and `holder` are
 * looked up when a fault begins. A control plays the same load on the same hosts without any fault.
 */
#ifndef LB_CAMPAIGN_H
#define LB_CAMPAIGN_H

#include "stage.h"
#include "trial.h"

/* 0, or -ECANCELED after lb_stage_doubt(). Adds the proved faults to out->faults and out->faults_of, which have to be 0
 * before. Undecided if fewer than half of the faults were proved, except in a control. After the last fault it waits
 * for a grant, for lb_scenario_progress_ms() at most. */
int lb_campaign_play(struct lb_stage *stage, struct lb_outcome *out);

/* ---- the schedule: which faults, on whom, from when to when ----
 *
 * It depends on the trial's fault_seed and the scenario, and is written to schedules/NAME.txt. Trial 1 of every system
 * and guard meets the same faults, planned for the same times. A fault that means nothing on a system is replaced from
 * the same seed, so that all systems meet as many. */

struct lb_planned {    /* times from the begin of the campaign */
  size_t kind;         /* its place among the scenario's faults */
  struct lb_step step; /* with a number in place of `any`; its text is owned */
  char *drawn;         /* owned: what was drawn first, where another fault had to be played; NULL = this one */
  lb_ns begin, end;
};
struct lb_schedule {
  struct lb_planned *fault;
  size_t count;
};

/* On the topology of the plan. A control has no faults. Release *ret. */
void lb_schedule_draw(const struct lb_trial_plan *plan, size_t clients, struct lb_schedule *ret);
void lb_schedule_clear(struct lb_schedule *schedule);
/* Whether the fault means something on these servers: its roles have hosts, and a cut between servers parts such as
 * talk to each other. */
bool lb_schedule_applies(const struct lb_step *fault, const struct lb_topology *on);

#endif
