/* SPDX-License-Identifier: MIT
 *
 * From what was asked for to a plan: scenarios (plan_scenarios.c), the systems that each is asked on and their cells
 * (plan_systems.c, plan_cell.c), and the jobs of these.
 *
 * The order of the steps matters. Settings are applied before cells are made, since cells and jobs are made of what the
 * scenario then says. All cells are there before the first job points at one of them, and all jobs before their order
 * is drawn. Every name is checked before anything starts: a spelling mistake in the last of twenty systems must not
 * show after an hour. What this machine cannot run becomes a skipped cell that says why, not a missing row.
 */
#include "plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fit.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/need.h"
#include "base/rng.h"
#include "scenario/scenario_load.h"
#include "trial/site.h"
#include "trial/workload.h"

/* ---- the jobs: trials of cells, their seeds, their order, and which of them share servers -------------------------
 *
 * A seed is made of the run's seed and a name, never of a position. So a trial can be repeated alone, with one of
 * twenty systems or in another order, and draws the same numbers. */

/* Numbers of random streams: two uses of the run's seed must never draw the same. */
enum { STREAM_ORDER = 11, STREAM_TRIAL = 12 };

/* A trial's seed depends on its name only: the same trial alone, or among others, makes the same
 * choices. */
static uint64_t trial_seed(uint64_t seed, const char *name) {
  return lb_rng_fork(seed, STREAM_TRIAL, lb_hash(LB_HASH_BEGIN, name, strlen(name))).state;
}

/* For each number of clients. */
static int trials_of(const struct lb_cell *cell, const struct lb_plan_request *request) {
  int each = request->trials ? request->trials : cell->scenario->trials, under_guard = request->guard_trials;
  if (cell->skip[0]) return 0;
  return !request->trials && cell->guard != LB_GUARD_NONE && under_guard && under_guard < each ? under_guard : each;
}

/* Jobs of a cell are neighbours, in the order of clients and trials: tables and trials.csv rely on
 * it. */
static void add_jobs_of(struct lb_plan *plan, size_t cell_index, const struct lb_plan_request *request) {
  const struct lb_cell *cell = &plan->cells[cell_index];
  int each = trials_of(cell, request);
  for (size_t c = 0; c < cell->scenario->client_count_count; c++) {
    for (int t = 1; t <= each; t++) {
      struct lb_job *job = &plan->jobs[plan->job_count];
      plan->job_count++;
      *job = (struct lb_job){.cell = cell_index,
                             .plan = {.scenario = cell->scenario,
                                      .expect = cell->expect,
                                      .protocol = cell->protocol,
                                      .topology = cell->topology,
                                      .system = cell->system,
                                      .options = cell->options,
                                      .guard = cell->guard,
                                      .hook = request->hook,
                                      .keep_logs = request->keep_logs,
                                      .trial = t,
                                      .clients = cell->scenario->client_counts[c]}};
      snprintf(job->plan.name, sizeof job->plan.name, "%s.%s.%s.c%d.t%d", cell->scenario->name, cell->system,
               lb_guard_name(cell->guard), job->plan.clients, t);
      job->plan.seed = trial_seed(plan->seed, job->plan.name);
      /* Systems, guards and variants are compared under the same faults, so these know nothing of them. */
      char faults[120];
      snprintf(faults, sizeof faults, "%s.c%d.t%d", cell->scenario->base, job->plan.clients, t);
      job->plan.fault_seed = trial_seed(plan->seed, faults);
    }
  }
}

static bool share(const struct lb_plan *plan, size_t a, size_t b) {
  return lb_workload_heat_shared(&plan->jobs[a].plan, &plan->jobs[b].plan);
}

/* The shuffle is that of Fisher and Yates. */
static void shuffle(size_t *order, size_t count, struct lb_rng *rng) {
  for (size_t i = count; i > 1; i--) {
    size_t j = lb_rng_below(rng, i), swap = order[i - 1];
    order[i - 1] = order[j];
    order[j] = swap;
  }
}

/* Jobs that share their servers become neighbours of the first of them; the rest keeps its order. */
static void bring_together(const struct lb_plan *plan, size_t *order, size_t count) {
  for (size_t i = 0; i < count; i++) {
    size_t first = order[i];
    for (size_t j = i + 1; j < count; j++) {
      size_t job = order[j];
      if (!share(plan, first, job)) continue;
      memmove(&order[i + 2], &order[i + 1], (j - i - 1) * sizeof *order);
      order[++i] = job;
    }
  }
}

/* A trial that measures runs alone, so all of them come first. They come in rounds: the first trial of every cell in
 * random order, then the second ones, so that no system and no variant has a slow hour of the machine to itself. Those
 * of a round that share their servers are neighbours. The others are in random order. */
void lb_plan_set_order(struct lb_plan *plan) {
  struct lb_rng rng = lb_rng_fork(plan->seed, STREAM_ORDER, 0);
  plan->order = lb_need(malloc((plan->job_count + 1) * sizeof *plan->order));
  size_t n = 0, measured = 0, first;
  for (size_t i = 0; i < plan->job_count; i++) measured += lb_job_measures(&plan->jobs[i]);
  for (int round = 1; n < measured; round++) {
    first = n;
    for (size_t i = 0; i < plan->job_count; i++)
      if (lb_job_measures(&plan->jobs[i]) && plan->jobs[i].plan.trial == round) plan->order[n++] = i;
    shuffle(plan->order + first, n - first, &rng);
    bring_together(plan, plan->order + first, n - first);
  }
  first = n;
  for (size_t i = 0; i < plan->job_count; i++)
    if (!lb_job_measures(&plan->jobs[i])) plan->order[n++] = i;
  shuffle(plan->order + first, n - first, &rng);
}

/* Loads that share heated servers always do; timelines if that was asked for. */
static void pool_jobs(struct lb_plan *plan, bool timelines) {
  size_t count = 0;
  plan->pools = lb_need(calloc(plan->job_count + 1, sizeof *plan->pools));
  for (size_t i = 0; i < plan->job_count; i++)
    if (timelines || lb_job_measures(&plan->jobs[i]))
      plan->jobs[i].plan.pool = lb_site_pool_join(plan->pools, &count, &plan->jobs[i].plan);
  for (size_t i = 0; i < plan->job_count; i++)
    if (plan->jobs[i].plan.pool && plan->jobs[i].plan.pool->jobs == 1) plan->jobs[i].plan.pool = NULL;
}

/* Adds the jobs of all cells, and sets their order. */
static void add_jobs(struct lb_plan *plan, const struct lb_plan_request *request) {
  size_t count = 0;
  for (size_t i = 0; i < plan->cell_count; i++)
    count += plan->cells[i].scenario->client_count_count * (size_t)trials_of(&plan->cells[i], request);
  plan->jobs = lb_need(calloc(count + 1, sizeof *plan->jobs));
  for (size_t i = 0; i < plan->cell_count; i++) add_jobs_of(plan, i, request);
  lb_plan_set_order(plan);
  pool_jobs(plan, request->reuse);
}

static bool has_protocol(const struct lb_plan *plan, const struct lb_protocol *protocol) {
  for (size_t i = 0; i < plan->cell_count; i++)
    if (plan->cells[i].protocol == protocol) return true;
  return false;
}

/* True if some cell relies on this very expectation. */
static bool is_expected(const struct lb_plan *plan, const struct lb_expect *expect) {
  for (size_t i = 0; i < plan->cell_count; i++)
    if (plan->cells[i].expect == expect) return true;
  return false;
}

/* Whether the scenario would touch the servers, where every cell of it is on somebody's own ones: then it runs nowhere. */
static bool touches_all(const struct lb_plan *plan, const struct lb_scenario *scenario, struct lb_error *why) {
  bool touches = false;
  for (size_t i = 0; i < plan->cell_count; i++) {
    if (plan->cells[i].scenario != scenario) continue;
    touches = lb_fit_touches(scenario, plan->cells[i].topology, why);
    if (!touches) return false;
  }
  return touches;
}

/* What was asked for and would change nothing is a mistake of the user's: he would believe that it
 * did. */
static int check_use(const struct lb_plan *plan, bool product, struct lb_error *err) {
  for (size_t i = 0; i < plan->settings.count; i++) {
    const struct lb_change *s = &plan->settings.of[i];
    if (s->protocol && s->count == 1 && !has_protocol(plan, s->protocol))
      return lb_refuse(err, "-s %s=%s: no system of this run is of protocol %s", s->key, s->value[0],
                       s->protocol->name);
  }
  for (size_t i = 0; i < plan->scenario_count && !product; i++) {
    struct lb_error why;
    if (touches_all(plan, &plan->scenarios[i], &why))
      return lb_refuse(err, "%s: %s: expected a scenario with faults of clients and of their links, such as %s%s",
                       plan->scenarios[i].name, why.text,
                       "control, contention, pause-holder, partition or clock-client",
                       plan->cells[0].topology->mandate ? "" : "; or --operator FILE");
  }
  for (size_t i = 0; i < plan->own_expect_count; i++) {
    const struct lb_expect *expect = &plan->own_expect[i];
    if (!is_expected(plan, expect))
      return lb_refuse(
          err, "--expect %s=%s: no system of this run is under that guard without an expectation of the scenario",
          lb_guard_name(expect->guard), lb_verdict_name(expect->verdict));
  }
  return 0;
}

/* Equal reasons have one number. */
static void number_reasons(struct lb_plan *plan) {
  plan->noted = lb_need(calloc(plan->cell_count + 1, sizeof *plan->noted));
  for (size_t i = 0; i < plan->cell_count; i++) {
    struct lb_cell *cell = &plan->cells[i];
    if (!cell->means_nothing) continue;
    while (cell->note < plan->note_count && strcmp(plan->cells[plan->noted[cell->note]].skip, cell->skip) != 0)
      cell->note++;
    if (cell->note == plan->note_count) plan->noted[plan->note_count++] = i;
    cell->note++;
  }
}

static void take_expects(struct lb_plan *plan, const struct lb_expect *expect, size_t count) {
  for (size_t i = 0; i < count; i++) LB_APPEND(plan->own_expect, plan->own_expect_count) = expect[i];
}

int lb_plan_make(const struct lb_plan_request *request, struct lb_plan *ret, struct lb_error *err) {
  *ret = (struct lb_plan){0};
  take_expects(ret, request->expect, request->expect_count);
  int r = lb_settings_parse(&ret->settings, request->settings, request->setting_count, err);
  if (r == 0) r = lb_plan_add_scenarios(ret, request, err);
  if (r == 0) r = lb_plan_add_cells(ret, request, err);
  if (r == 0) r = check_use(ret, request->product, err);
  if (r < 0) return lb_plan_clear(ret), r;
  number_reasons(ret);
  ret->seed = request->seed;
  ret->strict = request->strict;
  ret->judging = request->judging;
  add_jobs(ret, request);
  return 0;
}

int lb_plan_load(const char *const *paths, size_t count, const struct lb_plan_request *request, struct lb_plan *ret,
                 struct lb_error *err) {
  struct lb_plan_request of = *request;
  struct lb_scenario *scenarios;
  *ret = (struct lb_plan){0};
  int r = lb_scenario_load_all(paths, count, &scenarios, err);
  if (r < 0) return r;
  of.scenarios = scenarios;
  of.scenario_count = count;
  r = lb_plan_make(&of, ret, err);
  lb_scenario_clear_all(scenarios, count);
  return r;
}

void lb_plan_clear(struct lb_plan *plan) {
  for (size_t i = 0; i < plan->scenario_count; i++) lb_scenario_clear(&plan->scenarios[i]);
  for (size_t i = 0; i < plan->asked_count; i++) {
    lb_scenario_clear(&plan->asked[i].scenario);
    lb_settings_clear(&plan->asked[i].options);
    lb_settings_clear(&plan->asked[i].own);
    free(plan->asked[i].words);
    free(plan->asked[i].set);
  }
  lb_settings_clear(&plan->settings);
  free(plan->asked);
  free(plan->variants);
  for (size_t i = 0; i < plan->cell_count; i++) free(plan->cells[i].options), free(plan->cells[i].derived);
  free(plan->scenarios);
  free(plan->cells);
  free(plan->noted);
  free(plan->jobs);
  free(plan->order);
  free(plan->pools);
  free(plan->own_expect);
  *plan = (struct lb_plan){0};
}
