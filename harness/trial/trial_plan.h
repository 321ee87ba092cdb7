/* SPDX-License-Identifier: MIT
 *
 * trial_plan.h - what one trial is asked to do. Made before the run (run/plan.c), and never written
 * again.
 *
 * Nothing in it is owned: the scenario, the tables and the names live as long as the plan of the
 * run.
 */
#ifndef LB_TRIAL_PLAN_H
#define LB_TRIAL_PLAN_H

#include "backends/backend.h"
#include "scenario/scenario.h"
#include "servers/topology.h"

struct lb_trial_plan {
  const struct lb_scenario *scenario;
  const struct lb_expect *expect; /* NULL = nothing is stated */
  const struct lb_protocol *protocol; /* NULL = only its site is wanted (serve/) */
  const struct lb_topology *topology;
  const union lb_value *options;
  const char *system; /* "PROTOCOL@TOPOLOGY" */
  enum lb_guard guard;
  int clients;
  int trial; /* from 1 within (cell, clients) */
  bool keep_logs; /* of servers and clients, also if the trial ends as expected */
  bool fresh;     /* wants servers that have served no other trial */
  uint64_t seed;
  /* Of a campaign's schedule: that of the same trial of every other system and guard. */
  uint64_t fault_seed;
  char name[160]; /* "failover.PROTOCOL@TOPOLOGY.none.c2.t1": names its files */
};

#endif
