/* SPDX-License-Identifier: MIT
 *
 * Where each cell of a run is, found once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "screen_parts.h"

/* Systems are few; neighbours in a plan mostly have the same one or the next. */
static size_t system_of(struct lb_screen_grid *g, const char *name) {
  for (size_t i = 0; i < g->systems_count; i++)
    if (strcmp(g->systems[i], name) == 0) return i;
  g->systems[g->systems_count] = name;
  return g->systems_count++;
}

static const struct lb_cell_sum **place(const struct lb_screen_grid *g, size_t scenario, size_t system, enum lb_guard guard) {
  return &g->cells[(scenario * g->systems_count + system) * LB_GUARD_COUNT + (size_t)guard];
}

int lb_screen_grid_begin(const struct lb_tally *tally, struct lb_screen_grid *ret) {
  const struct lb_plan *plan = tally->plan;
  *ret = (struct lb_screen_grid){.tally = tally, .systems = calloc(plan->cell_count + 1, sizeof *ret->systems)};
  for (size_t i = 0; ret->systems && i < plan->cell_count; i++) system_of(ret, plan->cells[i].system);
  if (ret->systems) ret->cells = calloc(plan->scenario_count * ret->systems_count * LB_GUARD_COUNT + 1, sizeof *ret->cells);
  if (!ret->cells) return lb_screen_grid_end(ret), -ENOMEM;
  for (size_t i = 0; i < plan->cell_count; i++)
    *place(ret, (size_t)(plan->cells[i].scenario - plan->scenarios), system_of(ret, plan->cells[i].system), plan->cells[i].guard) = &tally->cells[i];
  return 0;
}

void lb_screen_grid_end(struct lb_screen_grid *grid) {
  free(grid->systems);
  free(grid->cells);
  *grid = (struct lb_screen_grid){0};
}

const struct lb_cell_sum *lb_screen_at(const struct lb_screen_grid *grid, size_t scenario, size_t system, enum lb_guard guard) {
  return *place(grid, scenario, system, guard);
}

const struct lb_cell_sum *lb_screen_cell(const struct lb_screen_grid *grid, size_t scenario, size_t system) {
  const struct lb_cell_sum *cell = NULL;
  for (int guard = 0; guard < LB_GUARD_COUNT && !cell; guard++) cell = lb_screen_at(grid, scenario, system, (enum lb_guard)guard);
  return cell;
}

bool lb_screen_lost(const struct lb_cell_sum *cell) { return cell->violated > 0 && cell->sum.double_holds > 0; }
