/* SPDX-License-Identifier: MIT
 *
 * The jobs of a plan: trials of its cells, their seeds, their order, and which of them share servers.
 *
 * A seed is made of the run's seed and a name, never of a position. So a trial can be repeated alone, with one of
 * twenty systems or in another order, and draws the same numbers.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/rng.h"
#include "plan.h"
#include "trial/site.h"
#include "trial/workload.h"

/* Numbers of random streams: two uses of the run's seed must never draw the same. */
enum { STREAM_ORDER = 11, STREAM_TRIAL = 12 };

/* A trial's seed depends on its name only: the same trial alone, or among others, makes the same
 * choices. */
static uint64_t trial_seed(uint64_t seed, const char *name) {
  return lb_rng_fork(seed, STREAM_TRIAL, lb_hash(LB_HASH_BEGIN, name, strlen(name))).state;
}

/* Of each number of clients. */
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
  return lb_heat_shared(&plan->jobs[a].plan, &plan->jobs[b].plan);
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

/* A trial that measures runs alone, so all of them come first. They come in rounds: the first trial of
 * every cell in random order, then the second ones, so that no system and no variant has a slow hour
 * of the machine to itself. Those of a round that share their servers are neighbours. Of the others the order is
 * random. */
int lb_plan_set_order(struct lb_plan *plan) {
  struct lb_rng rng = lb_rng_fork(plan->seed, STREAM_ORDER, 0);
  plan->order = malloc((plan->job_count + 1) * sizeof *plan->order);
  if (!plan->order) return -ENOMEM;
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
  return 0;
}

/* Loads that share heated servers always do; timelines if that was asked for. */
static int pool_jobs(struct lb_plan *plan, bool timelines) {
  size_t count = 0;
  plan->pools = calloc(plan->job_count + 1, sizeof *plan->pools);
  if (!plan->pools) return -ENOMEM;
  for (size_t i = 0; i < plan->job_count; i++)
    if (timelines || lb_job_measures(&plan->jobs[i]))
      plan->jobs[i].plan.pool = lb_pool_join(plan->pools, &count, &plan->jobs[i].plan);
  for (size_t i = 0; i < plan->job_count; i++)
    if (plan->jobs[i].plan.pool && plan->jobs[i].plan.pool->jobs == 1) plan->jobs[i].plan.pool = NULL;
  return 0;
}

int lb_plan_add_jobs(struct lb_plan *plan, const struct lb_plan_request *request) {
  size_t count = 0;
  for (size_t i = 0; i < plan->cell_count; i++)
    count += plan->cells[i].scenario->client_count_count * (size_t)trials_of(&plan->cells[i], request);
  plan->jobs = calloc(count + 1, sizeof *plan->jobs);
  if (!plan->jobs) return -ENOMEM;
  for (size_t i = 0; i < plan->cell_count; i++) add_jobs_of(plan, i, request);
  int r = lb_plan_set_order(plan);
  return r == 0 ? pool_jobs(plan, request->reuse) : r;
}
