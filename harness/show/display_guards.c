/* SPDX-License-Identifier: MIT
 *
 * What each guard changes: a line per system, a column per guard, below the name of the scenario.
 * Only scenarios that were run with a guard are here.
 *
 * A cell says more than in the truth table. Under a guard the verdict is about the resource, so
 * what happened there stands beside it: lost updates and stale writes, and how often the guard
 * stopped a client, by reason.
 */
#include <string.h>

#include "display.h"
#include "display_parts.h"

/* True if some cell of the scenario was asked under a guard: only then there is something to
 * compare. */
static bool has_guards(const struct lb_plan *plan, const struct lb_scenario *scenario) {
  for (size_t i = 0; i < plan->cell_count; i++)
    if (plan->cells[i].scenario == scenario && plan->cells[i].guard != LB_GUARD_NONE && !plan->cells[i].means_nothing) return true;
  return false;
}

/* The verdict and, where there is room, what happened at the resource, which is what a guard is for. Stale writes are
 * named only where there are more of them than of lost updates: fewer say nothing new. */
static void guard_text(const struct lb_cell_sum *cell, enum lb_display_style style, char *buf, size_t size) {
  lb_display_cell_text(cell, style, buf, size);
  if (style == LB_DISPLAY_SHORT) return;
  const struct {
    long long count;
    const char *what;
  } more[] = {
      {cell->sum.lost_updates, "lost"},
      {(long long)cell->sum.stale_writes > cell->sum.lost_updates ? (long long)cell->sum.stale_writes : 0, "stale"},
      {cell->cell->guard == LB_GUARD_FENCE ? (long long)cell->sum.token_regressions : 0, "regressions"},
      {(long long)cell->sum.stopped_lease_over, "lease over"},
      {(long long)cell->sum.stopped_in_doubt, "in doubt"},
      {(long long)cell->sum.stopped_told_no, "told no"},
      {(long long)cell->sum.stopped_no_majority, "no majority"},
      {(long long)cell->sum.stopped_no_answer, "no answer"},
      {(long long)cell->sum.refused, "refused"},
  };
  enum { DAMAGE = 3 }; /* so many of these come first; where there is any, who was stopped does not matter */
  bool damaged = cell->sum.lost_updates > 0 || cell->sum.stale_writes > 0;
  for (size_t i = 0; i < sizeof more / sizeof *more && (i < DAMAGE || !damaged); i++) {
    size_t n = strlen(buf);
    if (more[i].count > 0) snprintf(buf + n, size - n, ", %lld %s", more[i].count, more[i].what);
  }
}

/* What has to be known of the whole table before its first line: a width of 0 means that no cell
 * has this guard, and the column is left out. */
struct guards {
  size_t width[LB_GUARD_COUNT];
  size_t label;
  enum lb_display_style style;
};

/* A row is a scenario on a system. The plan has a cell for each of its guards, not always next to
 * each other; the first one stands for the row. */
static bool first_of_row(const struct lb_plan *plan, size_t index) {
  for (size_t i = 0; i < index; i++)
    if (plan->cells[i].scenario == plan->cells[index].scenario &&
        strcmp(plan->cells[i].system, plan->cells[index].system) == 0)
      return false;
  return true;
}

/* Two passes are needed: columns are as wide as their widest cell, so all texts are made once to be
 * measured and once to be printed. `label` stays 0 if there is no row. The width of the table, in
 * bytes. */
static size_t measure_guards(const struct lb_tally *tally, enum lb_display_style style, struct guards *g) {
  char text[120];
  *g = (struct guards){.style = style};
  for (size_t i = 0; i < tally->plan->cell_count; i++) {
    const struct lb_cell *cell = &tally->plan->cells[i];
    if (!has_guards(tally->plan, cell->scenario)) continue;
    guard_text(&tally->cells[i], style, text, sizeof text);
    size_t *width = &g->width[cell->guard];
    if (*width == 0) *width = strlen(lb_guard_name(cell->guard));
    if (strlen(text) > *width) *width = strlen(text);
    if (strlen(cell->system) + 2 > g->label) g->label = strlen(cell->system) + 2;
  }
  size_t all = g->label;
  for (int k = 0; k < LB_GUARD_COUNT; k++) all += g->width[k] ? g->width[k] + 2 : 0;
  return all;
}

static void print_guard_row(const struct lb_tally *tally, const struct guards *g, const struct lb_cell *first,
                            bool colour, FILE *out) {
  char text[120];
  struct lb_display_line line = {.pending = 2};
  lb_display_field(&line, first->system, g->label - 2, NULL, out);
  for (int k = 0; k < LB_GUARD_COUNT; k++) {
    if (!g->width[k]) continue;
    const struct lb_cell_sum *cell = lb_display_cell_at(tally, first->scenario, first->system, (enum lb_guard)k);
    if (cell) guard_text(cell, g->style, text, sizeof text);
    line.pending += 2;
    lb_display_field(&line, cell ? text : "-", g->width[k], cell && colour ? lb_display_colour(cell->verdict) : NULL, out);
  }
  putc('\n', out);
}

static void print_columns(const struct lb_tally *tally, const struct guards *g, FILE *out) {
  const struct lb_plan *plan = tally->plan;
  bool colour = lb_display_has_colour(out);
  struct lb_display_line head = {0};
  lb_display_field(&head, "", g->label, NULL, out);
  for (int k = 0; k < LB_GUARD_COUNT; k++) {
    if (!g->width[k]) continue;
    head.pending += 2;
    lb_display_field(&head, lb_guard_name((enum lb_guard)k), g->width[k], NULL, out);
  }
  putc('\n', out);
  for (size_t s = 0; s < plan->scenario_count; s++) {
    if (!has_guards(plan, &plan->scenarios[s])) continue;
    fprintf(out, "%s\n", plan->scenarios[s].name);
    for (size_t i = 0; i < plan->cell_count; i++)
      if (plan->cells[i].scenario == &plan->scenarios[s] && first_of_row(plan, i)) print_guard_row(tally, g, &plan->cells[i], colour, out);
  }
}

/* A line for each guard, where the columns have no room side by side. */
static void print_list(const struct lb_tally *tally, FILE *out) {
  const struct lb_plan *plan = tally->plan;
  char text[120], line[160];
  for (size_t i = 0; i < plan->cell_count; i++) {
    const struct lb_cell *first = &plan->cells[i];
    if (!has_guards(plan, first->scenario) || !first_of_row(plan, i)) continue;
    fprintf(out, "%s %s\n", first->scenario->name, first->system);
    for (int k = 0; k < LB_GUARD_COUNT; k++) {
      const struct lb_cell_sum *cell = lb_display_cell_at(tally, first->scenario, first->system, (enum lb_guard)k);
      if (!cell) continue;
      guard_text(cell, LB_DISPLAY_WORDS, text, sizeof text);
      snprintf(line, sizeof line, "%-9s %s", lb_guard_name((enum lb_guard)k), text);
      lb_display_wrap(line, 2, 12, out);
    }
  }
}

/* The sentences below the table belong to it: without them a reader would take "safe" under a guard
 * for a statement on the lock. */
void lb_display_guards(const struct lb_tally *tally, FILE *out) {
  static const char *const legend[] = {
      "without a guard: judged by who held the lock",
      "with a guard: judged by lost updates, stale writes and (fence) token regressions",
      "lease over: its own clock stopped the client",
      "in doubt: its library or its connection did",
      "told no: a server did",
      "no majority: most servers answered, too few said yes",
      "no answer: nobody, too few servers, or the question failed. That alone makes nothing safe, unless the client was cut off, asleep as it asked, or not overtaken",
      "refused: by the resource",
  };
  struct guards g;
  size_t most = lb_display_width(out);
  bool fits = measure_guards(tally, LB_DISPLAY_WORDS, &g) <= most || measure_guards(tally, LB_DISPLAY_SHORT, &g) <= most;
  if (g.label == 0) return;
  fputs("\nwhat each guard changes\n", out);
  if (fits) print_columns(tally, &g, out);
  else print_list(tally, out);
  if (fits && g.style == LB_DISPLAY_SHORT) lb_display_wrap("VIOL: violated; MIX: mixed; ??: undecided; where a guard has nothing to stop a scenario is left out", 0, 2, out);
  for (size_t i = 0; i < sizeof legend / sizeof *legend; i++) lb_display_wrap(legend[i], 0, 2, out);
}
