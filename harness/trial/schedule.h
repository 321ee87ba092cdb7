/* SPDX-License-Identifier: MIT
 *
 * schedule.h - the faults of one trial of a campaign, drawn before it begins: which, on whom, from
 * when to when.
 *
 * Drawn from the trial's fault_seed and the scenario: trial 1 of every system, under every guard,
 * meets the same faults, planned for the same times. They are played one after the other, so later
 * where servers start slowly, and the trial takes longer there. A fault that means nothing on a system (`cut primary from replicas` of a
 * single server, or of servers that do not know each other) is replaced by one that does, drawn from
 * the same seed, so that all systems meet as many faults.
 */
#ifndef LB_SCHEDULE_H
#define LB_SCHEDULE_H

#include "trial_plan.h"

struct lb_planned { /* times from the begin of the campaign */
  size_t kind;         /* its place among the scenario's faults */
  struct lb_step step; /* with a number in place of `any`; its text is owned */
  char *drawn;         /* owned: what was drawn first, where another fault had to be played; NULL = this one */
  lb_ns begin, end;
};
struct lb_schedule {
  struct lb_planned *fault;
  size_t count;
};

/* On the topology of the plan. A control has no faults. 0 or -ENOMEM; release *ret in either case. */
int lb_schedule_draw(const struct lb_trial_plan *plan, size_t clients, struct lb_schedule *ret);
void lb_schedule_clear(struct lb_schedule *schedule);
/* As schedules/NAME.txt in the run folder, a line per fault. 0 or -errno. */
int lb_schedule_write(const struct lb_schedule *schedule, const char *run_dir, const char *name);
/* Whether the fault means something on these servers: each of its roles is played, and a cut between
 * servers parts such as talk to each other. */
bool lb_schedule_applies(const struct lb_step *fault, const struct lb_topology *on);

#endif
