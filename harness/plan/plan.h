/* SPDX-License-Identifier: MIT
 *
 * plan.h - what a run will do: cells (scenario x system x guard) and their trials, in a seeded random order. Once made,
 * it does not change; results are in run/tally.h.
 */
#ifndef LB_PLAN_H
#define LB_PLAN_H

#include "base/error.h"
#include "job.h"
#include "settings.h"
#include "theory/theory.h"
#include "trial/trial.h"

struct lb_asked {                  /* a scenario of the request. Private to plan*.c */
  struct lb_scenario scenario;     /* as its file says, and what was set */
  struct lb_settings options, own; /* of its file; what a suite changes in it alone */
  char *words;                     /* of `own` */
  char *set;                       /* what was set, for messages; NULL = nothing */
};

enum { LB_VARIED_MAX = 4 };
struct lb_variant { /* what tells it from the others of its scenario. Private to plan*.c */
  size_t asked;
  const struct lb_change *by[LB_VARIED_MAX];
  size_t which[LB_VARIED_MAX]; /* of the values */
  size_t count;
};

/* One question: this scenario, on this system, under this guard. It is also a row of the results. */
struct lb_judging;
struct lb_cell {
  const struct lb_scenario *scenario;
  size_t asked; /* its place in the request: whose question it is */
  const struct lb_protocol *protocol;
  const struct lb_topology *topology;
  char system[LB_SYSTEM_MAX];
  bool own;     /* the user's: a lock of --plugin or --exec, or any on servers of the user's own */
  bool brought; /* not a lock of ours: a plugin, an adapter or a library */
  enum lb_guard guard;
  union lb_value *options;        /* of the protocol, owned */
  const struct lb_expect *expect; /* NULL = nothing is expected */
  /* What the rules say of it, whether or not that is what is expected. `predicted` is false where the attack has no
   * rules. */
  struct lb_prediction prediction;
  bool predicted;
  /* What they say of a sound lock of its kind there: the same facts, without those that no lock needs to have. */
  struct lb_prediction of_kind;
  struct lb_expect *derived; /* the prediction as an expectation, owned; NULL = the expectation is somebody's */
  /* Not empty: why it is not run. Such a cell has no jobs. */
  char skip[300];
  /* For a cell with `skip`: true = the question means nothing there (LB_NA), false = something is missing on this
   * machine (LB_SKIPPED). */
  bool means_nothing;
  /* For a cell that means nothing: the number of its reason among those of the plan, from 1, in the order of the cells.
   * Tables write it, and the reason once below. */
  int note;
};

struct lb_plan {
  struct lb_scenario *scenarios; /* owned: those of the request, each as often as it has variants */
  size_t scenario_count;
  struct lb_asked *asked;
  size_t asked_count;
  struct lb_variant *variants; /* of each of `scenarios` */
  struct lb_settings settings; /* of the request */
  struct lb_cell *cells;
  size_t cell_count;
  size_t *noted; /* per number of a reason, from 1: the first cell that has it */
  int note_count;
  struct lb_job *jobs; /* in the order of cells, clients, trials */
  size_t job_count;
  struct lb_pool *pools; /* of jobs that share their servers */
  /* Job indexes in the order they are run: measuring ones first, each group shuffled; jobs that share
   * heated servers are neighbours. */
  size_t *order;
  /* Expectations of the cells for which their scenario states nothing, one for each guard at most. Owned. */
  struct lb_expect *own_expect;
  size_t own_expect_count;
  uint64_t seed;
  bool strict; /* a lock that was brought and is not as predicted fails the run */
  /* Borrowed; NULL = expectations decide. Else the run asks whether one lock is safe (run/judging.h). */
  const struct lb_judging *judging;
};

/* What a user asks for, as it was typed. Texts are borrowed and have to outlive the plan. */
struct lb_plan_request {
  const struct lb_scenario *scenarios; /* as they were read; the plan has copies */
  size_t scenario_count;
  /* NULL, or of each scenario what varies it, "key=value,value key=..." (NULL = nothing). Applied before `settings`. */
  const char *const *own_settings;
  /* NULL, or of each scenario of a product those of `guards` that it is asked under, a bit each; 0 = all. */
  const unsigned *own_guards;
  /* "a@x,b", groups and `peers` among them, or NULL = the usual ones (plan_systems.c). A protocol alone: its systems that
   * the scenario names, else those in a group, else each of its topologies on which the scenario means something. */
  const char *systems;
  bool installed; /* of `peers` those that are installed; it says so if some are not */
  /* Those of -g, a bit each; 0 = not given. They win over `guards`. */
  unsigned only_guards;
  /* A suite: each scenario on every system under every guard, cells that mean nothing included. The
   * systems are then one list for all scenarios: `systems`, or the usual ones of all of them. */
  bool product;
  unsigned guards; /* one bit each; 0 = of a product all, else those that the scenario names, or `none` */
  /* Expectations of systems that a scenario states nothing for, one for each guard at most (copied; their texts must
   * outlive the plan). One that fits no cell is refused. */
  const struct lb_expect *expect;
  size_t expect_count;
  /* For each cell and number of clients; 0 = as many as the scenario says. */
  int trials;
  /* Under a guard at most so many, if `trials` is 0; 0 = as many as without. */
  int guard_trials;
  /* "key=value" of scenarios, "protocol.option=value". Several values, "key=a,b", make variants of
   * each scenario that has the key; so do those of `own_settings`. */
  const char *const *settings;
  size_t setting_count;
  uint64_t seed;
  const struct lb_judging *judging; /* of the plan */
  bool reuse;                       /* timelines may share their servers (trial/site.h) */
  bool strict;                      /* of the plan */
  const char *hook;                 /* of each trial */
  bool keep_logs;                   /* of every trial, not only of those with a surprising verdict */
};

/* 0 (release with lb_plan_clear()); -EINVAL with one line in err (unknown system, topology, option
 * ... with the nearest known word; a scenario that is named twice; a setting that no system of the
 * run has); -ENXIO if `installed` left no system. */
int lb_plan_make(const struct lb_plan_request *request, struct lb_plan *ret, struct lb_error *err);
/* The same for the scenarios of some files, in place of those of the request; also other -errno. */
int lb_plan_load(const char *const *paths, size_t count, const struct lb_plan_request *request, struct lb_plan *ret,
                 struct lb_error *err);
void lb_plan_clear(struct lb_plan *plan);

/* ---- The steps of making a plan, in their order. Private to plan*.c.
 *
 * All of them add to a plan that is not whole yet. On an error the plan stays as it is, to be released by
 * lb_plan_make(). 0, or -EINVAL with one line in err. ---- */

/* Copies the scenarios of the request, sets them, and makes their variants (plan_scenarios.c). */
int lb_plan_add_scenarios(struct lb_plan *plan, const struct lb_plan_request *request, struct lb_error *err);

/* Adds the cells of all scenarios (plan_systems.c). */
int lb_plan_add_cells(struct lb_plan *plan, const struct lb_plan_request *request, struct lb_error *err);

struct lb_wanted { /* a cell, before it is known what comes of it */
  const struct lb_scenario *scenario;
  const char *system;
  enum lb_guard guard;
  bool product;     /* of the request */
  bool guard_named; /* -g */
};
/* Adds one cell, unless it is there already (plan_cell.c). */
int lb_plan_add_cell(struct lb_plan *plan, const struct lb_wanted *wanted, struct lb_error *err);

/* Sets the order in which the jobs are run, once all of them are there. */
void lb_plan_set_order(struct lb_plan *plan);

#endif
