/* SPDX-License-Identifier: MIT
 *
 * From what was asked for to a plan. Every name is checked before anything starts: a spelling
 * mistake in the last of twenty systems must not show after an hour. What this machine cannot run
 * becomes a skipped cell that says why, not a missing row.
 *
 * The order of the steps matters. Settings are applied before cells are made, since cells and jobs
 * are made of what the scenario then says. All cells are there before the first job points at one
 * of them, and all jobs before their order is drawn. Scenarios are loaded and set in
 * plan_scenarios.c, cells are made in plan_cells.c, jobs in plan_jobs.c.
 */
#include "plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/refuse.h"
#include "fit.h"
#include "plan_parts.h"
#include "groups.h"
#include "settings.h"

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
static int check_use(const struct lb_plan *plan, const struct lb_plan_request *request, char *err, size_t err_size) {
  char protocol[64];
  for (size_t i = 0; i < request->setting_count; i++)
    if (lb_settings_protocol(request->settings[i], protocol, sizeof protocol) && !has_protocol(plan, protocol))
      return lb_refuse(err, err_size, "-s %s: no system of this run is of protocol %s", request->settings[i], protocol);
  for (size_t i = 0; i < plan->scenario_count && !request->product; i++)
    if (runs_on_own_only(plan, &plan->scenarios[i]) && lb_scenario_touches(&plan->scenarios[i]))
      return lb_refuse(err, err_size, "%s: '%s' would touch the servers or their network, which are your own: expected a scenario with faults of clients only, such as %s",
                       plan->scenarios[i].name, lb_scenario_touches(&plan->scenarios[i])->text, "control, contention, pause-holder, crash-holder or clock-client");
  for (size_t i = 0; i < plan->own_expect_count; i++) {
    const struct lb_expect *expect = &plan->own_expect[i];
    if (!is_expected(plan, expect))
      return lb_refuse(err, err_size,
                       "--expect %s=%s: no system of this run is under that guard without an expectation of the scenario",
                       lb_guard_name(expect->guard), lb_verdict_name(expect->verdict));
  }
  return 0;
}

/* What comes after the scenarios. The name of a job's system is a text inside its cell, so it is set
 * when nothing moves any more. */
static int make(const struct lb_plan_request *request, struct lb_plan *ret, char *err, size_t err_size) {
  int r = take_expect(ret, request);
  if (r == 0 && request->product) r = lb_plan_add_product(ret, request, err, err_size);
  for (size_t i = 0; r == 0 && !request->product && i < ret->scenario_count; i++)
    r = lb_plan_add_cells(ret, request, &ret->scenarios[i], err, err_size);
  if (r == 0) r = check_use(ret, request, err, err_size);
  for (size_t i = 0; r == 0 && i < ret->cell_count; i++) r = lb_plan_add_jobs(ret, i, request->trials, request->guard_trials);
  if (r == 0) r = lb_plan_set_order(ret);
  for (size_t i = 0; r == 0 && i < ret->job_count; i++) {
    ret->jobs[i].plan.system = ret->cells[ret->jobs[i].cell].system;
    ret->jobs[i].plan.keep_logs = request->keep_logs;
  }
  return r;
}

/* A list of values has become variants of the scenarios when the rest is made, which only knows
 * settings of one value. */
int lb_plan_make(const struct lb_plan_request *request, struct lb_plan *ret, char *err, size_t err_size) {
  struct lb_plan_request plain = *request;
  const char **settings = calloc(request->setting_count + 1, sizeof *settings);
  *ret = (struct lb_plan){.seed = request->seed, .reuse = request->reuse, .in_order = request->in_order, .strict = request->strict};
  int r = settings ? 0 : -ENOMEM;
  char *systems = request->systems ? lb_groups_expand(request->systems) : NULL;
  if (request->systems && !systems) r = -ENOMEM;
  plain.systems = systems;
  plain.settings = settings;
  plain.setting_count = 0;
  for (size_t i = 0; r == 0 && i < request->setting_count; i++)
    if (!lb_settings_is_list(request->settings[i])) settings[plain.setting_count++] = request->settings[i];
  if (r == 0) r = lb_settings_check(plain.settings, plain.setting_count, err, err_size);
  if (r == 0) r = lb_plan_add_scenarios(ret, request, &plain, err, err_size);
  if (r == 0) r = make(&plain, ret, err, err_size);
  if (r == -ENOMEM) snprintf(err, err_size, "out of memory");
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
  free(plan->own_expect);
  *plan = (struct lb_plan){0};
}
