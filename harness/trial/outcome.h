/* SPDX-License-Identifier: MIT
 *
 * outcome.h - one run of a scenario on a system: what it is asked to do (plan), and what came of it (outcome).
 */
#ifndef LB_OUTCOME_H
#define LB_OUTCOME_H

#include <stdatomic.h>

#include "backends/backend.h"
#include "scenario/scenario.h"
#include "servers/topology.h"

struct lb_live { /* shared with the tool, for the live line */
  _Atomic uint64_t grants;
};

struct lb_trial_plan {
  const struct lb_scenario *scenario;
  const struct lb_expect *expect; /* NULL = nothing is stated */
  const struct lb_protocol *protocol;
  const struct lb_topology *topology;
  const union lb_value *options;
  const char *system; /* "PROTOCOL@TOPOLOGY" */
  enum lb_guard guard;
  int clients;
  int trial; /* from 1 within (cell, clients) */
  uint64_t seed;
  uint64_t fault_seed; /* of a campaign's schedule: that of the same trial of every other system and guard */
  char name[160];       /* "failover.PROTOCOL@TOPOLOGY.none.c2.t1": names its files */
  const char *run_dir;  /* histories/, logs/, parts/ and scratch/ exist there */
  struct lb_live *live; /* may be NULL */
};

#define LB_QUANTILES 3 /* 50 %, 99 %, 99.9 % */

struct lb_outcome { /* plain data: travels through a pipe */
  enum lb_verdict verdict;
  char why[400]; /* of undecided and stuck */
  uint64_t grants, handoffs, double_holds, double_hold_ns, dirty_accesses, stale_writes, fenced_off, token_regressions;
  uint64_t measured_grants, busy, timeouts, unknowns; /* in the measured window */
  int64_t lost_updates, unavailable_ns, orphan_ns, blind_ns; /* times: -1 = does not apply */
  uint32_t depth;
  double measured_s, grants_per_s, jain;
  uint64_t client_min, client_max;
  uint64_t wait_ns[LB_QUANTILES], hold_ns[LB_QUANTILES], handoff_ns[LB_QUANTILES];
  uint64_t start_ns, trial_ns, stall_ns;
  uint64_t faults; /* of a campaign: how many were proved */
  bool history_kept;
};

#endif
