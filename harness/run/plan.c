/* SPDX-License-Identifier: MIT
 *
 * From what was asked for to cells and jobs. Every name is checked before anything starts; what
 * this machine cannot run becomes a skipped cell that says why, not a missing row.
 */
#include "plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/registry.h"
#include "fit.h"
#include "base/refuse.h"
#include "base/rng.h"
#include "settings.h"
#include "system.h"

enum { STREAM_ORDER = 11, STREAM_TRIAL = 12 };

/* ---- cells ----------------------------------------------------------------------------------- */

/* The guard `fence` switches on the option of that name, where a protocol draws its numbers only on
 * demand. */
static void choose_fence(struct lb_cell *cell) {
  for (size_t i = 0; cell->guard == LB_GUARD_FENCE && cell->protocol->options && cell->protocol->options[i].name; i++)
    if (strcmp(cell->protocol->options[i].name, "fence") == 0) cell->options[i].b = true;
}

/* What the user expects where the scenario states nothing, NULL = nothing. */
static const struct lb_expect *own_expect(const struct lb_plan *plan, enum lb_guard guard) {
  for (size_t i = 0; i < plan->own_expect_count; i++)
    if (plan->own_expect[i].guard == guard) return &plan->own_expect[i];
  return NULL;
}

static int add_cell(struct lb_plan *plan, const struct lb_plan_request *request, const struct lb_scenario *scenario,
                    const char *system, enum lb_guard guard, char *err, size_t err_size) {
  struct lb_system named;
  int r = lb_system_parse(system, &named, err, err_size);
  if (r < 0) return r;
  struct lb_cell cell = {.scenario = scenario, .protocol = named.protocol, .topology = named.topology, .guard = guard};
  snprintf(cell.system, sizeof cell.system, "%s", named.name);
  for (size_t i = 0; i < plan->cell_count; i++)
    if (plan->cells[i].scenario == scenario && plan->cells[i].guard == guard &&
        strcmp(plan->cells[i].system, cell.system) == 0)
      return 0;
  cell.expect = lb_scenario_expect(scenario, cell.system, cell.guard);
  if (!cell.expect) cell.expect = own_expect(plan, guard);
  cell.options = lb_settings_options(cell.protocol, request->settings, request->setting_count);
  if (!cell.options) return -ENOMEM;
  choose_fence(&cell);
  lb_fit(scenario, cell.protocol, cell.topology, guard, cell.skip, sizeof cell.skip);
  struct lb_cell *grown = realloc(plan->cells, (plan->cell_count + 1) * sizeof *grown);
  if (!grown) return -ENOMEM;
  plan->cells = grown;
  plan->cells[plan->cell_count++] = cell;
  return 0;
}

static bool states(const struct lb_scenario *scenario, enum lb_guard guard) {
  for (size_t i = 0; i < scenario->expect_count; i++)
    if (scenario->expect[i].guard == guard) return true;
  return false;
}

/* The systems a scenario names for a guard; `*` there stands for all that it names without one. */
static int add_stated(struct lb_plan *plan, const struct lb_plan_request *request, const struct lb_scenario *scenario,
                      enum lb_guard guard, enum lb_guard section, char *err, size_t err_size) {
  bool all = false;
  int r = 0;
  for (size_t i = 0; i < scenario->expect_count && r == 0; i++) {
    const struct lb_expect *expect = &scenario->expect[i];
    char why[300];
    if (expect->guard != section) continue;
    if (strcmp(expect->system, "*") == 0) {
      all = section != LB_GUARD_NONE;
      continue;
    }
    r = add_cell(plan, request, scenario, expect->system, guard, why, sizeof why);
    if (r < 0) lb_refuse(err, err_size, "%s: [expect]: %s", scenario->path, why);
  }
  return r == 0 && all ? add_stated(plan, request, scenario, guard, LB_GUARD_NONE, err, err_size) : r;
}

/* Every topology of the protocol on which the scenario means something. */
static int add_meaningful(struct lb_plan *plan, const struct lb_plan_request *request, const struct lb_scenario *scenario,
                          const struct lb_protocol *protocol, enum lb_guard guard, size_t *found, char *err,
                          size_t err_size) {
  for (const char *const *name = protocol->topologies; *name; name++) {
    const struct lb_topology *topology = lb_topology_find(*name);
    char system[96];
    if (topology && !lb_scenario_means_something(scenario, topology)) continue;
    snprintf(system, sizeof system, "%s@%s", protocol->name, *name);
    int r = add_cell(plan, request, scenario, system, guard, err, err_size);
    if (r < 0) return r;
    ++*found;
  }
  return 0;
}

/* A protocol alone means every system of it that the scenario speaks of. If it speaks of none (a
 * plugin): those on which it means something, or else the default topology, whose cell then says
 * why it cannot. */
static int add_named(struct lb_plan *plan, const struct lb_plan_request *request, const struct lb_scenario *scenario,
                     const char *name, enum lb_guard guard, char *err, size_t err_size) {
  size_t length = strlen(name), found = 0;
  for (size_t i = 0; !strchr(name, '@') && i < scenario->expect_count; i++) {
    const char *system = scenario->expect[i].system;
    if (strncmp(system, name, length) != 0 || system[length] != '@') continue;
    int r = add_cell(plan, request, scenario, system, guard, err, err_size);
    if (r < 0) return r;
    found++;
  }
  const struct lb_protocol *protocol = found ? NULL : lb_protocol_find(name);
  int r = protocol ? add_meaningful(plan, request, scenario, protocol, guard, &found, err, err_size) : 0;
  return found || r < 0 ? r : add_cell(plan, request, scenario, name, guard, err, err_size);
}

static int add_list(struct lb_plan *plan, const struct lb_plan_request *request, const struct lb_scenario *scenario,
                    enum lb_guard guard, char *err, size_t err_size) {
  int r = 0;
  char *list = strdup(request->systems), *rest = list;
  if (!list) return -ENOMEM;
  for (char *name; r == 0 && (name = strsep(&rest, ","));)
    r = add_named(plan, request, scenario, name, guard, err, err_size);
  free(list);
  return r;
}

/* Without -g: the guards the scenario states something for, and in any case none where it states
 * nothing at all. */
static bool wants_guard(const struct lb_plan_request *request, const struct lb_scenario *scenario, enum lb_guard guard) {
  if (request->guard) return strcmp(request->guard, lb_guard_name(guard)) == 0;
  return guard == LB_GUARD_NONE || states(scenario, guard);
}

static int add_scenario_cells(struct lb_plan *plan, const struct lb_plan_request *request, const struct lb_scenario *scenario,
                              char *err, size_t err_size) {
  int r = 0;
  for (int g = 0; g < LB_GUARD_COUNT && r == 0; g++) {
    enum lb_guard guard = (enum lb_guard)g;
    if (!wants_guard(request, scenario, guard)) continue;
    if (request->systems) r = add_list(plan, request, scenario, guard, err, err_size);
    else r = add_stated(plan, request, scenario, guard, states(scenario, guard) ? guard : LB_GUARD_NONE, err, err_size);
  }
  return r;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

/* A trial's seed depends on its name only: the same trial alone, or among others, makes the same
 * choices. */
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
      /* Systems and guards are compared under the same faults, so these know nothing of either. */
      char faults[120];
      snprintf(faults, sizeof faults, "%s.c%d.t%d", cell->scenario->name, job->plan.clients, t);
      job->plan.fault_seed = trial_seed(plan->seed, faults);
    }
  }
  return 0;
}

static bool measures(const struct lb_job *job) { return job->plan.scenario->kind == LB_KIND_LOAD; }

/* A trial that measures runs alone, so all of them come first; within a group the order is random,
 * so that a slow phase of the machine does not hit one system only. */
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

static int set_own(struct lb_scenario *scenario, const char *settings, char *err, size_t err_size) {
  int r = 0;
  char *list = strdup(settings), *rest = list;
  if (!list) return -ENOMEM;
  for (char *word; r == 0 && (word = strsep(&rest, " "));) {
    char *value = strchr(word, '=');
    if (!value) continue;
    *value++ = '\0';
    r = lb_scenario_set(scenario, word, value, err, err_size);
  }
  free(list);
  return r;
}

/* Cells, and the files of their trials, are named after their scenario. */
static int check_names(const struct lb_plan *plan, char *err, size_t err_size) {
  const struct lb_scenario *s = plan->scenarios;
  for (size_t i = 0; i < plan->scenario_count; i++)
    for (size_t k = 0; k < i; k++)
      if (strcmp(s[i].name, s[k].name) == 0)
        return lb_refuse(err, err_size, "scenario '%s' is named twice (%s and %s): expected each once", s[i].name, s[k].path,
                         s[i].path);
  return 0;
}

static int load_scenarios(struct lb_plan *plan, const struct lb_plan_request *request, char *err, size_t err_size) {
  plan->scenarios = calloc(request->scenario_count, sizeof *plan->scenarios);
  if (!plan->scenarios) return -ENOMEM;
  for (size_t i = 0; i < request->scenario_count; i++) {
    int r = lb_scenario_load(request->scenario_paths[i], &plan->scenarios[i], err, err_size);
    if (r < 0) return r;
    plan->scenario_count++;
    if (request->own_settings && request->own_settings[i])
      r = set_own(&plan->scenarios[i], request->own_settings[i], err, err_size);
    if (r < 0) return r;
  }
  int r = check_names(plan, err, err_size);
  return r < 0 ? r
               : lb_settings_apply(plan->scenarios, plan->scenario_count, request->settings, request->setting_count, err,
                                   err_size);
}

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

static bool is_expected(const struct lb_plan *plan, const struct lb_expect *expect) {
  for (size_t i = 0; i < plan->cell_count; i++)
    if (plan->cells[i].expect == expect) return true;
  return false;
}

/* What was asked for and would change nothing is a mistake of the user's: he would believe that it
 * did. */
static int check_use(const struct lb_plan *plan, const struct lb_plan_request *request, char *err, size_t err_size) {
  char protocol[64];
  for (size_t i = 0; i < request->setting_count; i++)
    if (lb_settings_protocol(request->settings[i], protocol, sizeof protocol) && !has_protocol(plan, protocol))
      return lb_refuse(err, err_size, "-s %s: no system of this run is of protocol %s", request->settings[i], protocol);
  for (size_t i = 0; i < plan->own_expect_count; i++) {
    const struct lb_expect *expect = &plan->own_expect[i];
    if (!is_expected(plan, expect))
      return lb_refuse(err, err_size,
                       "--expect %s=%s: no system of this run is under that guard without an expectation of the scenario",
                       lb_guard_name(expect->guard), lb_verdict_name(expect->verdict));
  }
  return 0;
}

int lb_plan_make(const struct lb_plan_request *request, struct lb_plan *ret, char *err, size_t err_size) {
  *ret = (struct lb_plan){.seed = request->seed};
  int r = lb_settings_check(request->settings, request->setting_count, err, err_size);
  if (r == 0) r = take_expect(ret, request);
  if (r == 0) r = load_scenarios(ret, request, err, err_size);
  for (size_t i = 0; r == 0 && i < ret->scenario_count; i++)
    r = add_scenario_cells(ret, request, &ret->scenarios[i], err, err_size);
  if (r == 0) r = check_use(ret, request, err, err_size);
  for (size_t i = 0; r == 0 && i < ret->cell_count; i++) r = add_jobs(ret, i, request->trials);
  if (r == 0) r = set_order(ret);
  if (r == -ENOMEM) snprintf(err, err_size, "out of memory");
  for (size_t i = 0; r == 0 && i < ret->job_count; i++) ret->jobs[i].plan.system = ret->cells[ret->jobs[i].cell].system;
  if (r < 0) lb_plan_clear(ret);
  return r;
}

void lb_plan_clear(struct lb_plan *plan) {
  for (size_t i = 0; i < plan->scenario_count; i++) lb_scenario_clear(&plan->scenarios[i]);
  for (size_t i = 0; i < plan->cell_count; i++) free(plan->cells[i].options);
  free(plan->scenarios);
  free(plan->cells);
  free(plan->jobs);
  free(plan->order);
  free(plan->own_expect);
  *plan = (struct lb_plan){0};
}
