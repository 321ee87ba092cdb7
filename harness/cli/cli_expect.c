/* SPDX-License-Identifier: MIT
 *
 * `lockbench list expectations`: every expected cell of the whole table, before anything has run. A row for each
 * scenario, system and guard for which a verdict, or `n/a`, is known: the words a script would cut off come first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "run/groups.h"
#include "run/plan.h"

/* Where the verdict comes from: a rule by its attack, the line of a scenario's file, or what the cell is (run/fit.h). */
static const char *source_of(const struct lb_cell *cell) {
  bool of_rule = cell->derived && (!cell->means_nothing || cell->derived->verdict == LB_NA);
  bool of_line = cell->expect && !cell->derived && (!cell->means_nothing || cell->expect->verdict == LB_NA);
  return of_rule ? cell->prediction.rule->attack : of_line ? "exception" : "fit";
}

static void tell(const struct lb_cell *cell) {
  const char *verdict = lb_verdict_name(cell->means_nothing ? LB_NA : cell->expect->verdict);
  printf("%-26s %-34s %-9s %-9s %-22s %s\n", cell->scenario->name, cell->system, lb_guard_name(cell->guard), verdict, source_of(cell),
         cell->means_nothing ? cell->skip : cell->expect->reason);
}

static int tell_file(const char *path, const char *systems) {
  char err[1200];
  struct lb_plan plan;
  struct lb_plan_request request = {.scenario_paths = &path, .scenario_count = 1, .systems = systems, .product = true};
  if (lb_plan_make(&request, &plan, err, sizeof err) < 0) return lb_complain(LB_EXIT_USAGE, "%s", err);
  for (size_t i = 0; i < plan.cell_count; i++)
    if (plan.cells[i].expect || plan.cells[i].means_nothing) tell(&plan.cells[i]);
  lb_plan_clear(&plan);
  return LB_EXIT_OK;
}

int lb_list_expectations(const char *named) {
  int code = LB_EXIT_OK;
  char folder[4096], **names = NULL, **paths = NULL;
  size_t count = 0;
  char *systems = lb_systems_expand(named ? named : "all,libraries", true);
  if (!systems) return lb_complain(LB_EXIT_FAILURE, "out of memory");
  snprintf(folder, sizeof folder, "%s/" LB_SCENARIOS, lb_root());
  int r = lb_scenario_list(folder, &names, &paths, &count);
  if (r < 0) code = lb_complain(LB_EXIT_FAILURE, "cannot read %s: %s", folder, strerror(-r));
  for (size_t i = 0; i < count; i++) {
    int told = tell_file(paths[i], systems);
    if (told) code = told;
    free(names[i]);
    free(paths[i]);
  }
  free(names);
  free(paths);
  free(systems);
  return code;
}
