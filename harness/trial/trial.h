/* SPDX-License-Identifier: MIT
 *
 * trial.h - a trial, or a series of them, as the tool sees it: plan, outcome, and controller. The controller is a
 * process of its own (a sandbox where there is one). It starts servers and clients, plays the load or the timeline, and judges
 * the history when all clients have ended.
 */
#ifndef LB_TRIAL_H
#define LB_TRIAL_H

#include <stdatomic.h>
#include <sys/types.h>

#include "backends/backend.h"
#include "check/counter.h"
#include "scenario/scenario.h"
#include "servers/cluster.h"

struct lb_site_needs { /* what a site is built with */
  size_t clients;      /* hosts for so many */
  bool network;        /* hosts have links of their own */
  bool shared;         /* for several timelines: hosts note nothing of connections that have ended */
  bool clocks;         /* clocks of servers can be set */
  int64_t late_ms;     /* hosts put up with packets that are late by so much; 0 = with none */
  bool lossy;          /* ... and with some that are lost */
};

/* Trials that can use the same servers, one after the other (site.h). A site is built for all of them. */
struct lb_pool {
  const struct lb_trial_plan *first;
  struct lb_site_needs needs;
  size_t jobs;
};

/* Made before the run (plan/plan.c), and never written again. Nothing in it is owned: the scenario, the tables and the
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
  int trial;                  /* from 1 within (cell, clients) */
  const char *hook;           /* does what `operator` orders; NULL = a person does */
  bool keep_logs;             /* of servers and clients, also if the trial ends as expected */
  bool fresh;                 /* wants servers that have served no other trial */
  const struct lb_pool *pool; /* NULL = its servers serve no other trial */
  uint64_t seed;
  /* The seed of a campaign's schedule: the same for this trial of every other system and guard. */
  uint64_t fault_seed;
  char name[160]; /* "failover.PROTOCOL@TOPOLOGY.none.c2.t1": names its files */
};

enum { LB_FAULT_KINDS_MAX = 16 };

/* What the process of a trial returns. Everything else stays in its files. */
struct lb_outcome { /* plain data: travels through a pipe */
  enum lb_verdict verdict;
  char why[400]; /* of undecided, stuck and delayed */
  LB_COUNTERS_MEMBER;
  /* For a campaign: how many of `faults` were of each kind, by its place in the scenario. Further kinds count in
   * `faults` only. */
  uint32_t faults_of[LB_FAULT_KINDS_MAX];
  bool history_kept;
  bool fresh;             /* its servers were started for it, and had served no other trial */
  bool premises_observed; /* all that the scenario states */
  bool uncontested;       /* of an undecided one: because no client asked, or was answered, while another one held */
};

enum { LB_HAND_FREE, LB_HAND_ORDERED, LB_HAND_DONE, LB_HAND_REFUSED };
struct lb_by_hand { /* an order for a person: written by the trial, answered by the tool */
  _Atomic int state;
  lb_ns deadline; /* of the answer */
  char order[256];
};

struct lb_live {           /* shared with the tool */
  _Atomic uint64_t grants; /* for the live line */
  _Atomic bool started;    /* the servers and clients of the trial are there */
  struct lb_slow slow;     /* its servers do not answer */
  struct lb_by_hand by_hand;
};

/* Called after each trial with its result and its outcome, which is gone after the call. */
typedef void lb_trial_told(void *to, int result, const struct lb_outcome *outcome);

/* Which trial is next; NULL = none any more. */
typedef const struct lb_trial_plan *lb_trial_next(void *to);

/* Runs a trial and, if it is of a pool, those that `next` names, and calls `tell` for each. A trial gets the servers of
 * the one before, unless it wants fresh ones or these are not healthy; outcome->fresh says so. Files go to the folder
 * `run_dir` with histories/, faults/, logs/, parts/ and scratch/ (judge.h). `live` may be NULL. 0, also for undecided trials;
 * -errno with outcome->why when results could not be written: then no other trial runs. */
int lb_trial_run(const struct lb_trial_plan *plan, const char *run_dir, struct lb_live *live, lb_trial_next *next,
                 lb_trial_told *tell, void *to);

#endif
