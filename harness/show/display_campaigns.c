/* SPDX-License-Identifier: MIT
 *
 * Campaigns on the terminal: a table per scenario, what was played below it, and once for all the meaning of the columns. The
 * control, one line for all trials without faults, comes last.
 */
#include <string.h>

#include "campaign_text.h"
#include "display.h"
#include "display_parts.h"
#include "run/rate.h"

enum { GUARD = 8, VERDICT = 8, FAULTS = 6, MEASURED = 9, NUMBER = 14, FIRST_NUMBER = 6 };

/* Lines of WIDTH columns at most, broken at blanks, with an indent of two. */
static void print_wrapped(const char *text, FILE *out) {
  enum { WIDTH = 118 };
  while (*text) {
    size_t length = strlen(text), n = length;
    if (length > WIDTH)
      for (n = WIDTH; n > 0 && text[n] != ' ';) n--;
    if (n == 0) n = length;
    fprintf(out, "  %.*s\n", (int)n, text);
    text += n + (text[n] == ' ');
  }
}

static bool is_campaign(const struct lb_tally *tally, size_t i, const struct lb_scenario *scenario) {
  const struct lb_cell *cell = &tally->plan->cells[i];
  return cell->scenario == scenario && scenario->kind == LB_KIND_CAMPAIGN && tally->cells[i].trials > 0;
}

/* The first line has the scenario in place of its column. Numbers are at the right of their columns. */
static void print_head(const char *scenario, int system, FILE *out) {
  const struct lb_campaign_column *c = lb_campaign_columns;
  fprintf(out, "\n%-*s %-*s %-*s %*s %*s", system, scenario, GUARD, "", VERDICT, "", FAULTS, "", MEASURED, c[5].what);
  for (size_t i = FIRST_NUMBER; i < LB_CAMPAIGN_COLUMNS; i++) fprintf(out, " %*s", NUMBER, c[i].what);
  fprintf(out, "\n%-*s %-*s %-*s %*s %*s", system, c[1].what, GUARD, c[2].what, VERDICT, c[3].what, FAULTS, c[4].what, MEASURED, c[5].per);
  for (size_t i = FIRST_NUMBER; i < LB_CAMPAIGN_COLUMNS; i++) fprintf(out, " %*s", NUMBER, c[i].per);
  putc('\n', out);
}

static void print_row(const struct lb_tally *tally, size_t index, int system, FILE *out) {
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
  fprintf(out, "%-*s %-*s %-*s %*llu %*s", system, cell->system, GUARD, lb_guard_name(cell->guard), VERDICT, verdict, FAULTS,
          (unsigned long long)x.faults, MEASURED, measured);
  for (size_t i = 0; i < 5; i++) fprintf(out, " %*s", NUMBER, text[i]);
  putc('\n', out);
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
  int system = (int)strlen(scenario->name), head = (int)strlen(lb_campaign_columns[1].what);
  if (system < head) system = head;
  bool any = false;
  for (size_t i = 0; i < tally->plan->cell_count; i++) {
    if (!is_campaign(tally, i, scenario)) continue;
    int length = (int)strlen(tally->plan->cells[i].system);
    if (length > system) system = length;
    any = true;
  }
  if (!any) return false;
  print_head(scenario->name, system, out);
  for (size_t i = 0; i < tally->plan->cell_count; i++) {
    if (!is_campaign(tally, i, scenario)) continue;
    print_row(tally, i, system, out);
    note(tally, i, &notes);
  }
  lb_campaign_kinds_text(&notes, text, sizeof text);
  print_wrapped(text, out);
  lb_campaign_control_text(&notes, text, sizeof text);
  print_wrapped(text, out);
  return true;
}

/* What the rates above are compared with: the same harness without faults. A violation or a long
 * stall here says that the rates are not those of the locks alone. */
static void print_control(const struct lb_tally *tally, FILE *out) {
  struct lb_control control;
  lb_tally_control(tally, &control);
  if (control.trials == 0) return;
  fprintf(out, "\nno-fault control: %llu hand-offs, %llu violations", (unsigned long long)control.handoffs,
          (unsigned long long)control.violations);
  if (control.undecided) fprintf(out, ", %d of %d trials undecided", control.undecided, control.trials);
  fprintf(out, "; longest stall of the harness %.1f ms\n", (double)control.stall_ns / 1e6);
}

void lb_print_rates(const struct lb_tally *tally, FILE *out) {
  bool any = false;
  for (size_t i = 0; i < tally->plan->scenario_count; i++)
    if (print_scenario(tally, &tally->plan->scenarios[i], out)) any = true;
  if (any) putc('\n', out);
  if (any) print_wrapped(lb_campaign_caption, out);
  print_control(tally, out);
}
