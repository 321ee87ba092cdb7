/* SPDX-License-Identifier: MIT
 *
 * From what was asked for to a plan: cells (plan_scenarios.c, plan_cells.c, and here the product of a suite), their
 * trials, their seeds and their order. Every name is checked before anything starts.
 *
 * A seed is made of the run's seed and a name, never of a position. So a trial can be repeated alone, with one of
 * twenty systems or in another order, and draws the same numbers.
 */
#include "plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/registry.h"
#include "base/hash.h"
#include "base/error.h"
#include "base/rng.h"
#include "fit.h"
#include "system.h"
#include "settings.h"
#include "trial/site.h"
#include "trial/workload.h"

/* Numbers of random streams: two uses of the run's seed must never draw the same. */
enum { STREAM_ORDER = 11, STREAM_TRIAL = 12 };

/* A trial's seed depends on its name only: the same trial alone, or among others, makes the same
 * choices. */
static uint64_t trial_seed(uint64_t seed, const char *name) {
  return lb_rng_fork(seed, STREAM_TRIAL, lb_hash(LB_HASH_BEGIN, name, strlen(name))).state;
}

/* Jobs of a cell are neighbours, in the order of clients and trials: tables and trials.csv rely on
 * it. */
static int add_jobs(struct lb_plan *plan, size_t cell_index, int trials, int guard_trials) {
  struct lb_cell *cell = &plan->cells[cell_index];
  if (cell->skip[0]) return 0;
  int each = trials ? trials : cell->scenario->trials;
  if (!trials && cell->guard != LB_GUARD_NONE && guard_trials && guard_trials < each) each = guard_trials;
  size_t more = cell->scenario->client_count_count * (size_t)each;
  struct lb_job *grown = realloc(plan->jobs, (plan->job_count + more) * sizeof *grown);
  if (!grown) return -ENOMEM;
  plan->jobs = grown;
  for (size_t c = 0; c < cell->scenario->client_count_count; c++) {
    for (int t = 1; t <= each; t++) {
      struct lb_job *job = &plan->jobs[plan->job_count];
      plan->job_count++;
      *job = (struct lb_job){.cell = cell_index,
                             .plan = {.scenario = cell->scenario,
                                      .expect = cell->expect,
                                      .protocol = cell->protocol,
                                      .topology = cell->topology,
                                      .options = cell->options,
                                      .guard = cell->guard,
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
  return 0;
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

/* The cells of a suite: every scenario on every system under every guard, so that its tables have no
 * hole. What cannot be asked is there, too, with the reason why not (fit.h).
 *
 * The systems are one list for all scenarios. Without names it is the group `standard` and what any of the scenarios
 * names exactly, protocol after protocol as the registry has them, so that those of one server stand together in the
 * tables. */

struct systems { /* each once; the texts are owned */
  char **name;
  size_t count;
};

/* "PROTOCOL@TOPOLOGY", in two parts. */
static int add_system(struct systems *list, const char *protocol, const char *topology) {
  char *name = NULL;
  if (asprintf(&name, "%s%s%s", protocol, *topology ? "@" : "", topology) < 0) return -ENOMEM;
  for (size_t i = 0; i < list->count; i++) {
    if (strcmp(list->name[i], name) != 0) continue;
    free(name);
    return 0;
  }
  char **grown = realloc(list->name, (list->count + 1) * sizeof *grown);
  if (!grown) {
    free(name);
    return -ENOMEM;
  }
  list->name = grown;
  list->name[list->count++] = name;
  return 0;
}

/* What the scenarios name exactly: of one protocol, or of all (NULL). */
static int add_stated(struct systems *list, const struct lb_plan *plan, const char *protocol) {
  size_t length = protocol ? strlen(protocol) : 0;
  for (size_t s = 0; s < plan->scenario_count; s++) {
    const struct lb_scenario *scenario = &plan->scenarios[s];
    for (size_t i = 0; i < scenario->expect_count; i++) {
      const char *name = scenario->expect[i].system;
      if (protocol ? !lb_expect_is_exact(&scenario->expect[i]) : !lb_expect_adds(&scenario->expect[i])) continue;
      if (lb_plan_is_elsewhere(&scenario->expect[i])) continue;
      if (protocol && (strncmp(name, protocol, length) != 0 || name[length] != '@')) continue;
      if (add_system(list, name, "") < 0) return -ENOMEM;
    }
  }
  return 0;
}

/* Those of a group's systems that are of the protocol; `systems` is freed. */
static int add_those_of(struct systems *list, char *systems, const char *protocol) {
  int r = 0;
  size_t length = strlen(protocol);
  char *rest = systems;
  if (!systems) return -ENOMEM;
  for (char *name; r == 0 && (name = strsep(&rest, ","));)
    if (strncmp(name, protocol, length) == 0 && name[length] == '@') r = add_system(list, name, "");
  free(systems);
  return r;
}

static int add_of_group(struct systems *list, const char *protocol) {
  return add_those_of(list, lb_group_of_protocol(protocol), protocol);
}

/* A scenario without an attack is of the systems that it states. */
static int add_standard(struct systems *list, const struct lb_plan *plan, const char *protocol) {
  const char *standard = NULL;
  for (size_t i = 0; i < plan->scenario_count && !standard; i++)
    if (plan->scenarios[i].attack) standard = lb_group("standard");
  return add_those_of(list, strdup(standard ? standard : ""), protocol);
}

/* A protocol alone: those of a group, or else those of its systems that some scenario names, or else (a plugin) all of
 * its topologies. A word that is no protocol stays as it is, and is refused when its cell is made. */
static int add_named(struct systems *list, const struct lb_plan *plan, const char *name) {
  size_t before = list->count;
  const struct lb_protocol *protocol = lb_protocol_find(name);
  if (!protocol) return add_system(list, name, "");
  int r = add_of_group(list, name);
  if (r == 0 && list->count == before) r = add_stated(list, plan, name);
  bool stated = list->count > before;
  for (const char *const *t = protocol->topologies; r == 0 && !stated && *t; t++) r = add_system(list, name, *t);
  return r;
}

/* At the end what is of no protocol: it is refused when its cell is made. */
static int add_all_stated(struct systems *list, const struct lb_plan *plan) {
  const struct lb_protocol *protocol;
  for (size_t i = 0; (protocol = lb_protocol_at(i)); i++)
    if (!(protocol->traits & LB_TRAIT_FOREIGN) &&
        (add_standard(list, plan, protocol->name) < 0 || add_stated(list, plan, protocol->name) < 0))
      return -ENOMEM;
  return add_stated(list, plan, NULL);
}

static int find_systems(struct systems *list, const struct lb_plan *plan, const char *names) {
  int r = 0;
  if (!names) return add_all_stated(list, plan);
  char *copy = strdup(names), *rest = copy;
  if (!copy) return -ENOMEM;
  for (char *name; r == 0 && (name = strsep(&rest, ","));) r = add_named(list, plan, name);
  free(copy);
  return r;
}

/* Variants of a scenario have the guards of their file. */
static unsigned own_guards(const struct lb_plan_request *request, const struct lb_scenario *scenario) {
  for (size_t i = 0; request->own_guards && i < request->scenario_count; i++)
    if (strcmp(request->scenario_paths[i], scenario->path) == 0) return request->own_guards[i];
  return 0;
}

static bool wants_guard(const struct lb_plan_request *request, const struct lb_scenario *scenario,
                        enum lb_guard guard) {
  unsigned own = own_guards(request, scenario);
  if (request->only_guards) return request->only_guards >> guard & 1;
  if (own && !(own >> guard & 1)) return false;
  return !request->guards || request->guards & 1u << guard;
}

/* Adds the cells of all scenarios of the plan: each of them on every system under every guard that
 * the request wants. The same results. */
static int add_product(struct lb_plan *plan, const struct lb_plan_request *request, struct lb_error *err) {
  struct systems list = {0};
  int r = find_systems(&list, plan, request->systems);
  for (size_t s = 0; r == 0 && s < plan->scenario_count; s++)
    for (int g = 0; r == 0 && g < LB_GUARD_COUNT; g++)
      for (size_t i = 0; r == 0 && wants_guard(request, &plan->scenarios[s], (enum lb_guard)g) && i < list.count; i++)
        r = lb_plan_add_cell(plan, request, &plan->scenarios[s], list.name[i], (enum lb_guard)g, err);
  for (size_t i = 0; i < list.count; i++) free(list.name[i]);
  free(list.name);
  return r;
}

/* ---- From what was asked for to a plan. Every name is checked before anything starts: a spelling
 * mistake in the last of twenty systems must not show after an hour. What this machine cannot run
 * becomes a skipped cell that says why, not a missing row.
 *
 * The order of the steps matters. Settings are applied before cells are made, since cells and jobs
 * are made of what the scenario then says. All cells are there before the first job points at one
 * of them, and all jobs before their order is drawn. Scenarios are loaded and set in
 * plan_scenarios.c, cells are made in plan_cells.c. ---- */

/* A copy, since cells point at these and the request is the caller's. */
static int take_expect(struct lb_plan *plan, const struct lb_plan_request *request) {
  if (request->expect_count == 0) return 0;
  plan->own_expect = calloc(request->expect_count, sizeof *plan->own_expect);
  if (!plan->own_expect) return -ENOMEM;
  memcpy(plan->own_expect, request->expect, request->expect_count * sizeof *plan->own_expect);
  plan->own_expect_count = request->expect_count;
  return 0;
}

static bool has_protocol(const struct lb_plan *plan, const char *name) {
  for (size_t i = 0; i < plan->cell_count; i++)
    if (strcmp(plan->cells[i].protocol->name, name) == 0) return true;
  return false;
}

/* True if some cell relies on this very expectation. */
static bool is_expected(const struct lb_plan *plan, const struct lb_expect *expect) {
  for (size_t i = 0; i < plan->cell_count; i++)
    if (plan->cells[i].expect == expect) return true;
  return false;
}

/* And has cells. */
static bool runs_on_own_only(const struct lb_plan *plan, const struct lb_scenario *scenario) {
  bool any = false;
  for (size_t i = 0; i < plan->cell_count; i++) {
    if (plan->cells[i].scenario != scenario) continue;
    if (!plan->cells[i].topology->own) return false;
    any = true;
  }
  return any;
}

/* What was asked for and would change nothing is a mistake of the user's: he would believe that it
 * did. */
static int check_use(const struct lb_plan *plan, const struct lb_plan_request *request, struct lb_error *err) {
  char protocol[64];
  for (size_t i = 0; i < request->setting_count; i++)
    if (lb_settings_protocol(request->settings[i], protocol, sizeof protocol) && !has_protocol(plan, protocol))
      return lb_refuse(err, "-s %s: no system of this run is of protocol %s", request->settings[i], protocol);
  for (size_t i = 0; i < plan->scenario_count && !request->product; i++)
    if (runs_on_own_only(plan, &plan->scenarios[i]) && lb_scenario_touches(&plan->scenarios[i]))
      return lb_refuse(
          err,
          "%s: '%s' would touch the servers or their network, which are your own: expected a scenario with faults of clients only, such as %s",
          plan->scenarios[i].name, lb_scenario_touches(&plan->scenarios[i])->text,
          "control, contention, pause-holder, crash-holder or clock-client");
  for (size_t i = 0; i < plan->own_expect_count; i++) {
    const struct lb_expect *expect = &plan->own_expect[i];
    if (!is_expected(plan, expect))
      return lb_refuse(
          err, "--expect %s=%s: no system of this run is under that guard without an expectation of the scenario",
          lb_guard_name(expect->guard), lb_verdict_name(expect->verdict));
  }
  return 0;
}

/* What comes after the scenarios. The name of a job's system is a text inside its cell, so it is set
 * when nothing moves any more. */
static int make(const struct lb_plan_request *request, struct lb_plan *ret, struct lb_error *err) {
  int r = take_expect(ret, request);
  if (r == 0 && request->product) r = add_product(ret, request, err);
  for (size_t i = 0; r == 0 && !request->product && i < ret->scenario_count; i++)
    r = lb_plan_add_cells(ret, request, &ret->scenarios[i], err);
  if (r == 0) r = check_use(ret, request, err);
  for (size_t i = 0; r == 0 && i < ret->cell_count; i++) r = add_jobs(ret, i, request->trials, request->guard_trials);
  if (r == 0) r = lb_plan_set_order(ret);
  if (r == 0) r = pool_jobs(ret, request->reuse);
  for (size_t i = 0; r == 0 && i < ret->job_count; i++) {
    ret->jobs[i].plan.system = ret->cells[ret->jobs[i].cell].system;
    ret->jobs[i].plan.keep_logs = request->keep_logs;
  }
  return r;
}

/* A list of values has become variants of the scenarios when the rest is made, which only knows
 * settings of one value. */
int lb_plan_make(const struct lb_plan_request *request, struct lb_plan *ret, struct lb_error *err) {
  struct lb_plan_request plain = *request;
  const char **settings = calloc(request->setting_count + 1, sizeof *settings);
  *ret = (struct lb_plan){.seed = request->seed, .strict = request->strict};
  int r = settings ? 0 : -ENOMEM;
  char *systems = request->systems ? lb_groups_expand(request->systems) : NULL;
  if (request->systems && !systems) r = -ENOMEM;
  plain.systems = systems;
  plain.settings = settings;
  plain.setting_count = 0;
  for (size_t i = 0; r == 0 && i < request->setting_count; i++)
    if (!lb_settings_is_list(request->settings[i])) settings[plain.setting_count++] = request->settings[i];
  if (r == 0) r = lb_settings_check(plain.settings, plain.setting_count, err);
  if (r == 0) r = lb_plan_add_scenarios(ret, request, &plain, err);
  if (r == 0) r = make(&plain, ret, err);
  if (r == -ENOMEM) lb_error(err, r, "out of memory");
  if (r < 0) lb_plan_clear(ret);
  free(systems);
  free(settings);
  return r;
}

void lb_plan_clear(struct lb_plan *plan) {
  for (size_t i = 0; i < plan->scenario_count; i++) lb_scenario_clear(&plan->scenarios[i]);
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
