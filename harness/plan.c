/* SPDX-License-Identifier: MIT
 *
 * From what was asked for to cells and jobs. Every name is checked before anything starts; what this machine cannot run
 * becomes a skipped cell that says why, not a missing row.
 */
#include "plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../backends/registry.h"
#include "refuse.h"
#include "rng.h"
#include "sandbox.h"
#include "settings.h"
#include "suggest.h"

enum { STREAM_ORDER = 11, STREAM_TRIAL = 12, WORDS_MAX = 128 };

/* ---- systems ------------------------------------------------------------------------------------------------------ */

static int unknown_word(const char *what, const char *word, const char *const *words, size_t count, const char *list,
                        char *err, size_t err_size) {
  const char *near = lb_suggest(word, words, count);
  if (near) return lb_refuse(err, err_size, "unknown %s '%s', did you mean '%s'?", what, word, near);
  return lb_refuse(err, err_size, "unknown %s '%s', expected one of `lockbench list %s`", what, word, list);
}

static int find_protocol(const char *name, const struct lb_protocol **ret, char *err, size_t err_size) {
  const char *words[WORDS_MAX];
  size_t count = 0;
  for (const struct lb_protocol *p; count < WORDS_MAX && (p = lb_protocol_at(count)); count++) words[count] = p->name;
  *ret = lb_protocol_find(name);
  return *ret ? 0 : unknown_word("protocol", name, words, count, "protocols", err, err_size);
}

static int find_topology(const char *name, const struct lb_topology **ret, char *err, size_t err_size) {
  const char *words[WORDS_MAX];
  for (size_t i = 0; i < lb_topology_count; i++) words[i] = lb_topologies[i]->name;
  *ret = lb_topology_find(name);
  return *ret ? 0 : unknown_word("topology", name, words, lb_topology_count, "topologies", err, err_size);
}

static bool runs_on(const struct lb_protocol *protocol, const char *topology) {
  for (const char *const *t = protocol->topologies; *t; t++)
    if (strcmp(*t, topology) == 0) return true;
  return false;
}

static int parse_system(const char *text, struct lb_cell *cell, char *err, size_t err_size) {
  char protocol[64];
  const char *at = strchr(text, '@');
  size_t length = at ? (size_t)(at - text) : strlen(text);
  if (length == 0 || length >= sizeof protocol)
    return lb_refuse(err, err_size, "system '%s': expected PROTOCOL@TOPOLOGY", text);
  memcpy(protocol, text, length);
  protocol[length] = '\0';
  int r = find_protocol(protocol, &cell->protocol, err, err_size);
  if (r < 0) return r;
  r = find_topology(at ? at + 1 : cell->protocol->topologies[0], &cell->topology, err, err_size);
  if (r < 0) return r;
  if (!runs_on(cell->protocol, cell->topology->name))
    return lb_refuse(err, err_size, "%s does not run on topology '%s', see `lockbench show %s`", protocol,
                     cell->topology->name, protocol);
  snprintf(cell->system, sizeof cell->system, "%s@%s", protocol, cell->topology->name);
  return 0;
}

/* ---- cells ---------------------------------------------------------------------------------------------------------- */

static void find_skip(struct lb_cell *cell) {
  const char *missing = lb_topology_missing(cell->topology);
  const struct lb_isolation *isolation = lb_isolation_probe();
  if (missing)
    snprintf(cell->skip, sizeof cell->skip, "%s needs %s, which is not installed", cell->topology->name, missing);
  else if (lb_scenario_needs_network(cell->scenario) && isolation->kind == LB_ISOLATION_NONE)
    snprintf(cell->skip, sizeof cell->skip, "cutting links needs network namespaces: %s", isolation->why);
  if (cell->skip[0]) cell->verdict = LB_SKIPPED;
}

static int add_cell(struct lb_plan *plan, const struct lb_plan_request *request, struct lb_scenario *scenario,
                    const char *system, char *err, size_t err_size) {
  struct lb_cell cell = {.scenario = scenario, .guard = LB_GUARD_NONE, .verdict = LB_VERDICT_NONE};
  int r = parse_system(system, &cell, err, err_size);
  if (r < 0) return r;
  for (size_t i = 0; i < plan->cell_count; i++)
    if (plan->cells[i].scenario == scenario && strcmp(plan->cells[i].system, cell.system) == 0) return 0;
  cell.expect = lb_scenario_expect(scenario, cell.system, cell.guard);
  cell.options = lb_settings_options(cell.protocol, request->settings, request->setting_count);
  find_skip(&cell);
  struct lb_cell *grown = realloc(plan->cells, (plan->cell_count + 1) * sizeof *grown);
  if (!grown) return -ENOMEM;
  plan->cells = grown;
  plan->cells[plan->cell_count++] = cell;
  return 0;
}

/* A protocol alone means every system of it that the scenario speaks of, or its default topology. */
static int add_named(struct lb_plan *plan, const struct lb_plan_request *request, struct lb_scenario *scenario,
                     const char *name, char *err, size_t err_size) {
  size_t length = strlen(name), found = 0;
  for (size_t i = 0; !strchr(name, '@') && i < scenario->expect_count; i++) {
    const char *system = scenario->expect[i].system;
    if (strncmp(system, name, length) != 0 || system[length] != '@') continue;
    int r = add_cell(plan, request, scenario, system, err, err_size);
    if (r < 0) return r;
    found++;
  }
  return found ? 0 : add_cell(plan, request, scenario, name, err, err_size);
}

static int add_scenario_cells(struct lb_plan *plan, const struct lb_plan_request *request, struct lb_scenario *scenario,
                              char *err, size_t err_size) {
  int r = 0;
  if (!request->systems) {
    for (size_t i = 0; i < scenario->expect_count && r == 0; i++)
      if (strcmp(scenario->expect[i].system, "*") != 0) {
        char why[300];
        r = add_cell(plan, request, scenario, scenario->expect[i].system, why, sizeof why);
        if (r < 0) lb_refuse(err, err_size, "%s: [expect]: %s", scenario->path, why);
      }
    return r;
  }
  char *list = strdup(request->systems), *rest = list;
  if (!list) return -ENOMEM;
  for (char *name; r == 0 && (name = strsep(&rest, ","));) r = add_named(plan, request, scenario, name, err, err_size);
  free(list);
  return r;
}

/* ---- jobs ----------------------------------------------------------------------------------------------------------- */

/* A trial's seed depends on its name only: the same trial alone, or among others, makes the same choices. */
static uint64_t trial_seed(uint64_t seed, const char *name) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
  for (; *name; name++) hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
  return lb_rng_fork(seed, STREAM_TRIAL, hash).state;
}

static int add_jobs(struct lb_plan *plan, size_t cell_index, int trials) {
  struct lb_cell *cell = &plan->cells[cell_index];
  if (cell->skip[0]) return 0;
  int each = trials ? trials : cell->scenario->trials;
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
                                      .protocol = cell->protocol,
                                      .topology = cell->topology,
                                      .options = cell->options,
                                      .guard = cell->guard,
                                      .trial = t,
                                      .clients = cell->scenario->client_counts[c]}};
      snprintf(job->plan.name, sizeof job->plan.name, "%s.%s.%s.c%d.t%d", cell->scenario->name, cell->system,
               lb_guard_name(cell->guard), job->plan.clients, t);
      job->plan.seed = trial_seed(plan->seed, job->plan.name);
    }
  }
  return 0;
}

static bool measures(const struct lb_job *job) { return job->plan.scenario->step_count == 0; }

/* A trial that measures runs alone, so all of them come first; within a group the order is random, so that a slow phase of the
 * machine does not hit one system only. */
static int set_order(struct lb_plan *plan) {
  struct lb_rng rng = lb_rng_fork(plan->seed, STREAM_ORDER, 0);
  plan->order = malloc((plan->job_count + 1) * sizeof *plan->order);
  if (!plan->order) return -ENOMEM;
  size_t n = 0;
  for (int group = 1; group >= 0; group--) {
    size_t first = n;
    for (size_t i = 0; i < plan->job_count; i++)
      if (measures(&plan->jobs[i]) == (group == 1)) plan->order[n++] = i;
    for (size_t i = n; i > first + 1; i--) {
      size_t j = first + lb_rng_below(&rng, i - first), swap = plan->order[i - 1];
      plan->order[i - 1] = plan->order[j];
      plan->order[j] = swap;
    }
  }
  return 0;
}

static int load_scenarios(struct lb_plan *plan, const struct lb_plan_request *request, char *err, size_t err_size) {
  plan->scenarios = calloc(request->scenario_count, sizeof *plan->scenarios);
  if (!plan->scenarios) return -ENOMEM;
  for (size_t i = 0; i < request->scenario_count; i++) {
    int r = lb_scenario_load(request->scenario_paths[i], &plan->scenarios[i], err, err_size);
    if (r < 0) return r;
    plan->scenario_count++;
  }
  return lb_settings_apply(plan->scenarios, plan->scenario_count, request->settings, request->setting_count, err,
                           err_size);
}

int lb_plan_make(const struct lb_plan_request *request, struct lb_plan *ret, char *err, size_t err_size) {
  *ret = (struct lb_plan){.seed = request->seed};
  int r = lb_settings_check(request->settings, request->setting_count, err, err_size);
  if (r == 0) r = load_scenarios(ret, request, err, err_size);
  for (size_t i = 0; r == 0 && i < ret->scenario_count; i++)
    r = add_scenario_cells(ret, request, &ret->scenarios[i], err, err_size);
  for (size_t i = 0; r == 0 && i < ret->cell_count; i++) r = add_jobs(ret, i, request->trials);
  if (r == 0) r = set_order(ret);
  if (r == -ENOMEM) snprintf(err, err_size, "out of memory");
  for (size_t i = 0; r == 0 && i < ret->job_count; i++) ret->jobs[i].plan.system = ret->cells[ret->jobs[i].cell].system;
  if (r < 0) lb_plan_clear(ret);
  return r;
}

void lb_plan_set_folder(struct lb_plan *plan, const char *run_dir) {
  for (size_t i = 0; i < plan->job_count; i++) plan->jobs[i].plan.run_dir = run_dir;
}

void lb_plan_clear(struct lb_plan *plan) {
  for (size_t i = 0; i < plan->scenario_count; i++) lb_scenario_clear(&plan->scenarios[i]);
  for (size_t i = 0; i < plan->cell_count; i++) free(plan->cells[i].options);
  free(plan->scenarios);
  free(plan->cells);
  free(plan->jobs);
  free(plan->order);
  *plan = (struct lb_plan){0};
}
