/* SPDX-License-Identifier: MIT
 *
 * The walk over all scenarios, and what is said of a cell of the table before it runs.
 */
#include "cli_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/fit.h"

static int visit_file(const struct lb_table *table, const char *path) {
  struct lb_error err;
  struct lb_plan plan;
  struct lb_plan_request request = {.scenario_paths = &path,
                                    .scenario_count = 1,
                                    .systems = table->systems,
                                    .product = true,
                                    .only_guards = table->guards};
  if (lb_plan_make(&request, &plan, &err) < 0) return lb_complain(LB_EXIT_USAGE, "%s", err.text);
  int r = table->visit(table->data, &plan);
  lb_plan_clear(&plan);
  return r;
}

int lb_table_walk(const struct lb_table *table) {
  char path[4096], **names, **paths;
  size_t count;
  snprintf(path, sizeof path, "%s/" LB_SCENARIOS, lb_process_root());
  int r = lb_scenario_list(path, &names, &paths, &count);
  if (r < 0) return lb_complain(LB_EXIT_FAILURE, "cannot read %s: %s", path, strerror(-r));
  for (size_t i = 0; i < count; i++) {
    if (r == 0) r = visit_file(table, paths[i]);
    free(names[i]);
    free(paths[i]);
  }
  free(names);
  free(paths);
  return r;
}

/* It is left out because lockbench leaves servers of the user's own alone, and not because nothing could happen
 * there. */
static bool is_spared(const struct lb_cell *cell) {
  char why[300];
  const struct lb_topology *like =
      cell->topology->own && cell->topology->stands_for ? lb_topology_find(cell->topology->stands_for) : NULL;
  return like && lb_fit(cell->scenario, cell->protocol, like, cell->guard, why, sizeof why) != LB_NA;
}

struct lb_told lb_table_told(const struct lb_cell *cell) {
  const struct lb_expect *e = cell->derived ? NULL : cell->expect;
  struct lb_told told = {.verdict = LB_VERDICT_NONE, .reason = ""};
  if (e) told = (struct lb_told){e->verdict, e->reason ? e->reason : "", "exception", NULL};
  else if (cell->predicted)
    told = (struct lb_told){cell->prediction.verdict, cell->prediction.reason, cell->prediction.rule->attack,
                            cell->prediction.rule};
  if (cell->means_nothing && told.verdict != LB_NA && !is_spared(cell))
    told = (struct lb_told){LB_NA, cell->skip, "fit", NULL};
  return told;
}

void lb_table_wrap(const char *text, size_t at, size_t indent) {
  for (bool first = true; *text; first = false) {
    size_t length = strcspn(text, " ");
    if (!first && at + 1 + length > LB_TABLE_COLUMNS) printf("\n%*s", (int)indent, ""), at = indent;
    else if (!first) putchar(' '), at++;
    printf("%.*s", (int)length, text);
    at += length;
    text += length + strspn(text + length, " ");
  }
  putchar('\n');
}
