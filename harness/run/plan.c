/* SPDX-License-Identifier: MIT
 *
 * From what was asked for to a plan. Every name is checked before anything starts: a spelling
 * mistake in the last of twenty systems must not show after an hour. What this machine cannot run
 * becomes a skipped cell that says why, not a missing row.
 *
 * The order of the steps matters. Settings are applied before cells are made, since cells and jobs
 * are made of what the scenario then says. All cells are there before the first job points at one
 * of them, and all jobs before their order is drawn. Cells are made in plan_cells.c, jobs in
 * plan_jobs.c.
 */
#include "plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/refuse.h"
#include "plan_parts.h"
#include "settings.h"

/* What a suite changes in this scenario alone, "key=value key=value". */
static int set_own(struct lb_scenario *scenario, const char *settings, char *err, size_t err_size) {
  int r = 0;
  char *list = strdup(settings), *rest = list;
  if (!list) return -ENOMEM;
  for (char *word; r == 0 && (word = strsep(&rest, " "));) {
    char *value = strchr(word, '=');
    if (value) *value++ = '\0';
    if (value) r = lb_scenario_set(scenario, word, value, err, err_size);
    else if (*word) r = lb_refuse(err, err_size, "%s: '%s': expected key=value", scenario->name, word);
  }
  free(list);
  return r == -ENOTSUP ? -EINVAL : r; /* a suite names the scenario itself */
}

/* Cells, and the files of their trials, are named after their scenario: two of one name would
 * overwrite each other. */
static int check_names(const struct lb_plan *plan, char *err, size_t err_size) {
  const struct lb_scenario *s = plan->scenarios;
  for (size_t i = 0; i < plan->scenario_count; i++)
    for (size_t k = 0; k < i; k++)
      if (strcmp(s[i].name, s[k].name) == 0)
        return lb_refuse(err, err_size, "scenario '%s' is named twice (%s and %s): expected each once", s[i].name, s[k].path,
                         s[i].path);
  return 0;
}

/* The room of scenarios knows no protocol, so what a file says of their options is checked here. A
 * refusal begins with "-s ", which nobody has typed in this case. */
static int check_options(const struct lb_scenario *scenario, char *err, size_t err_size) {
  char why[300];
  int r = lb_settings_check((const char *const *)scenario->options, scenario->option_count, why, sizeof why);
  return r < 0 ? lb_refuse(err, err_size, "%s: option = %s", scenario->path, why + strlen("-s ")) : 0;
}

/* Scenarios stand in an array that does not move any more: cells, jobs and expectations point into
 * it. Settings of the command line come last, so they win over those of a suite. */
static int load_scenarios(struct lb_plan *plan, const struct lb_plan_request *request, char *err, size_t err_size) {
  plan->scenarios = calloc(request->scenario_count, sizeof *plan->scenarios);
  if (!plan->scenarios) return -ENOMEM;
  for (size_t i = 0; i < request->scenario_count; i++) {
    int r = lb_scenario_load(request->scenario_paths[i], &plan->scenarios[i], err, err_size);
    if (r < 0) return r;
    plan->scenario_count++;
    r = check_options(&plan->scenarios[i], err, err_size);
    if (r == 0 && request->own_settings && request->own_settings[i])
      r = set_own(&plan->scenarios[i], request->own_settings[i], err, err_size);
    if (r < 0) return r;
  }
  int r = check_names(plan, err, err_size);
  return r < 0 ? r
               : lb_settings_apply(plan->scenarios, plan->scenario_count, request->settings, request->setting_count, err,
                                   err_size);
}

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

/* On an error nothing has to be released. The name of a job's system is a text inside its cell, so
 * it is set when nothing moves any more. */
int lb_plan_make(const struct lb_plan_request *request, struct lb_plan *ret, char *err, size_t err_size) {
  *ret = (struct lb_plan){.seed = request->seed};
  int r = lb_settings_check(request->settings, request->setting_count, err, err_size);
  if (r == 0) r = take_expect(ret, request);
  if (r == 0) r = load_scenarios(ret, request, err, err_size);
  if (r == 0 && request->product) r = lb_plan_add_product(ret, request, err, err_size);
  for (size_t i = 0; r == 0 && !request->product && i < ret->scenario_count; i++)
    r = lb_plan_add_cells(ret, request, &ret->scenarios[i], err, err_size);
  if (r == 0) r = check_use(ret, request, err, err_size);
  for (size_t i = 0; r == 0 && i < ret->cell_count; i++) r = lb_plan_add_jobs(ret, i, request->trials, request->guard_trials);
  if (r == 0) r = lb_plan_set_order(ret);
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
