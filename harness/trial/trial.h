/* SPDX-License-Identifier: MIT
 *
 * trial.h - a trial, or a series of them, as the tool sees it: what it is asked to do, what came of it, and its
 * controller. That runs in a process of its own (a sandbox where there is one), starts the servers and the clients,
 * leads them through the workload or the timeline, and judges their history when all of them have ended.
 */
#ifndef LB_TRIAL_H
#define LB_TRIAL_H

#include <stdatomic.h>
#include <sys/types.h>

#include "backends/backend.h"
#include "history/counter.h"
#include "scenario/scenario.h"
#include "servers/topology.h"

/* Made before the run (run/plan.c), and never written again. Nothing in it is owned: the scenario, the tables and the
 * names live as long as the plan of the run. */
struct lb_trial_plan {
  const struct lb_scenario *scenario;
  const struct lb_expect *expect;     /* NULL = nothing is stated */
  const struct lb_protocol *protocol; /* NULL = only its site is wanted (serve/) */
  const struct lb_topology *topology;
  const union lb_value *options;
  const char *system; /* "PROTOCOL@TOPOLOGY" */
  enum lb_guard guard;
  int clients;
  int trial;      /* from 1 within (cell, clients) */
  bool keep_logs; /* of servers and clients, also if the trial ends as expected */
  bool fresh;     /* wants servers that have served no other trial */
  uint64_t seed;
  /* Of a campaign's schedule: that of the same trial of every other system and guard. */
  uint64_t fault_seed;
  char name[160]; /* "failover.PROTOCOL@TOPOLOGY.none.c2.t1": names its files */
};

enum { LB_FAULT_KINDS_MAX = 16 };

/* All that the process of a trial hands to the tool at its end; whatever else it knows stays in its files. */
struct lb_outcome { /* plain data: travels through a pipe */
  enum lb_verdict verdict;
  char why[400]; /* of undecided, stuck and delayed */
  LB_COUNTERS_MEMBER;
  /* Of a campaign: how many of `faults` were of each kind, by the place of the kind in the scenario. Kinds beyond the
   * room are counted in `faults` only. */
  uint32_t faults_of[LB_FAULT_KINDS_MAX];
  bool history_kept;
  bool fresh;             /* its servers were started for it, and had served nobody else */
  bool premises_observed; /* all that the scenario states */
  bool uncontested;       /* of an undecided one: because nobody asked, or was answered, while another one held */
};

struct lb_live {           /* shared with the tool */
  _Atomic uint64_t grants; /* for the live line */
  _Atomic bool
      started; /* the servers and clients of the trial are there; false while they are started, also once more within a series */
};

/* Is told of each trial when it has ended: its result, and its outcome, which is gone after the call. */
typedef void lb_trial_told(void *to, int result, const struct lb_outcome *outcome);

/* Which of the plans is next: its index, or -1 = none any more. */
typedef ptrdiff_t lb_trial_next(void *to);

/* Runs one trial, or several one after the other, and tells `tell` of each: all of these plans in their order, or, if
 * there is a `next`, the first one and then those that it names, each at most once; all of them can then share their
 * servers. Neighbours that can share their servers do (lb_heat_shared(), lb_share_together()), unless the later one
 * wants fresh ones, or the servers are not as good as new after the earlier one; outcome->fresh says so. Their files go
 * to the folder `run_dir`, in which histories/, logs/, parts/ and scratch/ are (see judge.h; unless all went well the
 * logs stay, too). `live` (NULL = nobody looks) is kept up to date. 0, also for undecided trials; -errno with
 * outcome->why when the results of one could not be written: those after it are then not run. */
int lb_trial_run(const struct lb_trial_plan *const plan[], size_t count, lb_trial_next *next, const char *run_dir,
                 struct lb_live *live, lb_trial_told *tell, void *to);

#endif
