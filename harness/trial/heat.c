/* SPDX-License-Identifier: MIT
 *
 * The compilers of the servers' JVMs are looked at, not the rate: a compiler that has a queue of work keeps
 * a processor busy, and the rate of a lock stands still meanwhile as if it had settled.
 *
 * The load is many locks, each of which a few clients contend for: what a hot lock makes a server do, what
 * a free one does, and as much of it as the clients can ask for.
 */
#include "heat.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/rng.h"
#include "compilers.h"
#include "servers/family.h"
#include "workload.h"

/* Three JVMs on two processors took 50 s. At the end they compile what is rarely done, a method now and then. */
enum { CLIENTS = 16, KEYS = 8, WAIT_MS = 5000, MOST_S = 120, STREAM_HEAT = 13 };

bool lb_heat_needed(const struct lb_trial_plan *plan) {
  return plan->scenario->kind == LB_KIND_LOAD && plan->scenario->settle_s > 0 && plan->guard == LB_GUARD_NONE && !plan->scenario->apart && plan->topology->family &&
         plan->topology->family->compiling;
}

bool lb_heat_shared(const struct lb_trial_plan *a, const struct lb_trial_plan *b) {
  return lb_heat_needed(a) && lb_heat_needed(b) && a->topology == b->topology && a->trial == b->trial &&
         a->scenario->ttl_ms == b->scenario->ttl_ms && a->scenario->memory_storage == b->scenario->memory_storage;
}

lb_ns lb_heat_most(void) { return MOST_S * LB_NS_PER_S; }

void lb_heat_plan(const struct lb_trial_plan *plan, struct lb_scenario *scenario, struct lb_trial_plan *ret) {
  *scenario = *plan->scenario;
  scenario->keys = KEYS;
  scenario->hold_ms = scenario->think_ms = 0;
  scenario->wait_ms = WAIT_MS;
  *ret = *plan;
  ret->scenario = scenario;
  ret->clients = CLIENTS;
  ret->seed = lb_rng_fork(plan->seed, STREAM_HEAT, 0).state;
  snprintf(ret->name, sizeof ret->name, "heat.%s.t%d", plan->system, plan->trial);
}

int lb_heat_play(struct lb_stage *s) {
  lb_ns begin = lb_clock_ns(), most = begin + lb_heat_most();
  struct lb_compilers compilers = {0};
  for (size_t i = 0; i < s->client_count; i++)
    if (lb_client_send(&s->client[i], (struct lb_command){.verb = LB_DO_WORK}) < 0) return lb_stage_died(s, &s->client[i]);
  s->commits_before = s->requests_before = -1;
  while (!(s->site.warm = lb_compilers_at_rest(&compilers, &s->cluster)) && lb_clock_ns() < most && !atomic_load(&s->memory->log_full))
    lb_workload_continue(s, lb_clock_ns() + LB_COMPILERS_LOOK_MS * LB_NS_PER_MS, &s->memory->log_full);
  s->site.heated_ns = lb_clock_ns() - begin;
  return lb_workload_end(s);
}
