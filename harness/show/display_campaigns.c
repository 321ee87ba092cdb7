/* SPDX-License-Identifier: MIT
 *
 * Campaigns on the terminal: a table per scenario, what was played below it, and once for all the meaning of the columns. The
 * control, one line for all trials without faults, comes last.
 */
#include <string.h>

#include "base/grid.h"
#include "campaign_text.h"
#include "display.h"
#include "display_parts.h"
#include "run/tally.h"

static bool is_campaign(const struct lb_tally *tally, size_t i, const struct lb_scenario *scenario) {
  const struct lb_cell *cell = &tally->plan->cells[i];
  return cell->scenario == scenario && scenario->kind == LB_KIND_CAMPAIGN && tally->cells[i].trials > 0;
}

/* The first line has the scenario in place of its column. Numbers are at the right of their columns. */
static const char columns[] = "lllrrrrrrr";

static void add_head(const char *scenario, struct lb_grid *grid) {
  const struct lb_campaign_column *c = lb_campaign_columns;
  for (size_t i = 1; i < LB_CAMPAIGN_COLUMNS; i++) lb_grid_add(grid, "%s", i == 1 ? scenario : *c[i].per ? c[i].what : "");
  for (size_t i = 1; i < LB_CAMPAIGN_COLUMNS; i++) lb_grid_add(grid, "%s", *c[i].per ? c[i].per : c[i].what);
}

static void add_row(const struct lb_tally *tally, size_t index, struct lb_grid *grid) {
  const struct lb_cell_sum *sum = &tally->cells[index];
  const struct lb_cell *cell = sum->cell;
  struct lb_cell_rate x;
  char text[5][80], verdict[64], measured[40];
  int trials = sum->trials - sum->undecided;
  lb_cell_rate(tally, index, &x);
  lb_campaign_seconds_text(x.hours, measured, sizeof measured);
  if (x.stands_still) x.hours = 0, x.handoffs = 0; /* shown as exposed to nothing */
  lb_display_cell_text(sum, LB_DISPLAY_SHORT, verdict, sizeof verdict);
  lb_campaign_share_text(&x.overlapped_per_fault, x.faults > 0, text[0], sizeof text[0]);
  lb_campaign_share_text(&x.within_lease_per_fault, x.faults > 0, text[1], sizeof text[1]);
  lb_campaign_share_text(&x.damaged_per_fault, x.faults > 0, text[2], sizeof text[2]);
  lb_campaign_rate_text(&(struct lb_campaign_rate){LB_PER_HOUR, x.violations_per_hour, x.violations, x.hours, trials}, text[3], sizeof text[3]);
  lb_campaign_rate_text(&(struct lb_campaign_rate){LB_PER_1000, x.violations_per_1000, x.violations, (double)x.handoffs, trials}, text[4],
                        sizeof text[4]);
  lb_grid_add(grid, "%s", cell->system);
  lb_grid_add(grid, "%s", lb_guard_name(cell->guard));
  lb_grid_add(grid, "%s", verdict);
  lb_grid_add(grid, "%llu", (unsigned long long)x.faults);
  lb_grid_add(grid, "%s", measured);
  for (size_t i = 0; i < 5; i++) lb_grid_add(grid, "%s", text[i]);
}

static void note(const struct lb_tally *tally, size_t index, struct lb_campaign_notes *notes) {
  const struct lb_cell *cell = &tally->plan->cells[index];
  const struct lb_scenario *s = cell->scenario;
  struct lb_cell_rate x;
  if (s->control) return;
  lb_cell_rate(tally, index, &x);
  for (size_t k = 0; k < s->fault_count && k < LB_FAULT_KINDS_MAX; k++) lb_campaign_note_kind(notes, s->faults[k].text, x.faults_of[k]);
  if (x.violations) lb_campaign_note_control(notes, cell->system, lb_guard_name(cell->guard), lb_cell_above_control(tally, index));
}

static bool print_scenario(const struct lb_tally *tally, const struct lb_scenario *scenario, FILE *out) {
  struct lb_campaign_notes notes = {0};
  char text[1400];
  struct lb_grid grid;
  lb_grid_begin(&grid, columns);
  for (size_t i = 0; i < tally->plan->cell_count; i++) {
    if (!is_campaign(tally, i, scenario)) continue;
    if (grid.count == 0) add_head(scenario->name, &grid);
    add_row(tally, i, &grid);
    note(tally, i, &notes);
  }
  if (grid.count == 0) return false;
  putc('\n', out);
  lb_grid_end(&grid, out);
  lb_campaign_kinds_text(&notes, text, sizeof text);
  if (*text) lb_display_wrap(text, 2, 2, out);
  lb_campaign_control_text(&notes, text, sizeof text);
  if (*text) lb_display_wrap(text, 2, 2, out);
  return true;
}

/* What the rates above are compared with: the same harness without faults. A violation or a long
 * stall here says that the rates are not those of the locks alone. */
static void print_control(const struct lb_tally *tally, FILE *out) {
  struct lb_control control;
  lb_tally_control(tally, &control);
  if (control.trials == 0) return;
  char text[300], undecided[80] = "";
  if (control.undecided) snprintf(undecided, sizeof undecided, ", %d of %d trials undecided", control.undecided, control.trials);
  snprintf(text, sizeof text, "no-fault control: %llu hand-offs, %llu violations%s; longest stall of the harness %.1f ms", (unsigned long long)control.handoffs,
           (unsigned long long)control.violations, undecided, (double)control.stall_ns / 1e6);
  putc('\n', out);
  lb_display_wrap(text, 0, 2, out);
}

void lb_print_rates(const struct lb_tally *tally, FILE *out) {
  bool any = false;
  for (size_t i = 0; i < tally->plan->scenario_count; i++)
    if (print_scenario(tally, &tally->plan->scenarios[i], out)) any = true;
  if (any) putc('\n', out);
  if (any) lb_display_wrap(lb_campaign_caption, 2, 2, out);
  print_control(tally, out);
}
