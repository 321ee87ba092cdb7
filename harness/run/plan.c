/* SPDX-License-Identifier: MIT
 *
 * From what was asked for to a plan, a step a file: scenarios (plan_scenarios.c), the systems that each is asked on
 * (plan_systems.c), their cells (plan_cells.c), and the jobs of these (plan_jobs.c).
 *
 * The order of the steps matters. Settings are applied before cells are made, since cells and jobs are made of what the
 * scenario then says. All cells are there before the first job points at one of them, and all jobs before their order
 * is drawn. Every name is checked before anything starts: a spelling mistake in the last of twenty systems must not
 * show after an hour. What this machine cannot run becomes a skipped cell that says why, not a missing row.
 */
#include "plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "fit.h"
#include "settings.h"
#include "system.h"
#include "peers.h"

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
static int check_use(const struct lb_plan_making *m, struct lb_error *err) {
  const struct lb_plan *plan = m->plan;
  char protocol[64];
  for (size_t i = 0; i < m->setting_count; i++)
    if (lb_settings_protocol(m->settings[i], protocol, sizeof protocol) && !has_protocol(plan, protocol))
      return lb_refuse(err, "-s %s: no system of this run is of protocol %s", m->settings[i], protocol);
  for (size_t i = 0; i < plan->scenario_count && !m->request->product; i++)
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

/* Equal reasons have one number. */
static int number_reasons(struct lb_plan *plan) {
  plan->noted = calloc(plan->cell_count + 1, sizeof *plan->noted);
  if (!plan->noted) return -ENOMEM;
  for (size_t i = 0; i < plan->cell_count; i++) {
    struct lb_cell *cell = &plan->cells[i];
    if (!cell->means_nothing) continue;
    while (cell->note < plan->note_count && strcmp(plan->cells[plan->noted[cell->note]].skip, cell->skip) != 0)
      cell->note++;
    if (cell->note == plan->note_count) plan->noted[plan->note_count++] = i;
    cell->note++;
  }
  return 0;
}

/* Each name of a group put as its systems. malloc'd. */
static char *expand_groups(const char *systems) {
  char *list = NULL, *copy = strdup(systems), *rest = copy;
  size_t size;
  FILE *out = open_memstream(&list, &size);
  const char *between = "";
  for (char *word; copy && out && (word = strsep(&rest, ","));) {
    const char *group = lb_group(word);
    fprintf(out, "%s%s", between, group ? group : word);
    between = ",";
  }
  if (out) fclose(out);
  free(copy);
  return list;
}

/* A list of systems with each name of a group put as its systems, and `peers` as in lb_peers_expand(). malloc'd; NULL =
 * no memory. */
static char *systems_expand(const char *systems, bool missing_too) {
  char *list = expand_groups(systems);
  char *ret = list ? lb_peers_expand(list, missing_too) : NULL;
  free(list);
  return ret;
}

/* What the steps share. A list of values becomes variants of the scenarios, so the rest knows only settings of one
 * value. */
static int begin(struct lb_plan_making *m, struct lb_error *err) {
  const struct lb_plan_request *request = m->request;
  *m->plan = (struct lb_plan){.seed = request->seed, .strict = request->strict};
  m->settings = calloc(request->setting_count + 1, sizeof *m->settings);
  m->systems = request->systems ? systems_expand(request->systems, !request->installed) : NULL;
  m->plan->own_expect = calloc(request->expect_count + 1, sizeof *m->plan->own_expect);
  if (!m->settings || (request->systems && !m->systems) || !m->plan->own_expect) return -ENOMEM;
  if (request->installed && m->systems && !*m->systems) return lb_error(err, -ENXIO, "none of them is installed");
  for (size_t i = 0; i < request->setting_count; i++)
    if (!lb_settings_is_list(request->settings[i])) m->settings[m->setting_count++] = request->settings[i];
  for (size_t i = 0; i < request->expect_count; i++) m->plan->own_expect[i] = request->expect[i];
  m->plan->own_expect_count = request->expect_count;
  return lb_settings_check(m->settings, m->setting_count, err);
}

int lb_plan_make(const struct lb_plan_request *request, struct lb_plan *ret, struct lb_error *err) {
  struct lb_plan_making m = {.request = request, .plan = ret};
  int r = begin(&m, err);
  if (r == 0) r = lb_plan_add_scenarios(&m, err);
  if (r == 0) r = lb_plan_add_cells(&m, err);
  if (r == 0) r = check_use(&m, err);
  if (r == 0) r = number_reasons(ret);
  if (r == 0) r = lb_plan_add_jobs(ret, request);
  if (r == -ENOMEM) lb_error(err, r, "out of memory");
  if (r < 0) lb_plan_clear(ret);
  free(m.systems);
  free(m.settings);
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
