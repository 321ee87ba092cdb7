/* SPDX-License-Identifier: MIT
 *
 * The truth table in the width of a terminal: what every lock did in every scenario without a guard, then what each
 * guard changes. Scenarios are rows, because they are the longer list and have the longer names; systems are columns
 * under a wrapped heading. The widest way to write a cell that fits is taken; if none does, the columns go on in a
 * second block. Colour only repeats what the words say.
 */
#include "display.h"

#include <stdlib.h>
#include <string.h>

#include "base/need.h"

/* In bytes. A heading has HEAD_LINES lines at most, of about HEAD_WRAP bytes when it is wrapped. */
enum { HEAD_LINES = 4, HEAD_WRAP = 8 };

/* ---- rows and columns ------------------------------------------------------------------------ */

struct column {
  const char *system;
  /* Lines of the heading, from the top. The last one is the topology. */
  char head[HEAD_LINES][48];
  size_t lines, width;
};

struct table {
  const struct lb_tally *tally;
  struct column *columns;
  size_t count, label; /* label: width of the first column */
  size_t gap;          /* blanks between columns */
  size_t most;         /* bytes of a line */
  enum lb_display_style style;
};

/* What is no lock has no verdict to show. */
static bool is_floor(const struct lb_cell *cell) { return cell->protocol->traits & LB_TRAIT_FLOOR; }

/* The systems that were run without a guard, in the order of the plan. Other cells have a table of
 * their own. */
static void find_columns(struct table *t) {
  for (size_t i = 0; i < t->tally->plan->cell_count; i++) {
    const char *system = t->tally->plan->cells[i].system;
    bool known = t->tally->plan->cells[i].guard != LB_GUARD_NONE || is_floor(&t->tally->plan->cells[i]);
    for (size_t c = 0; c < t->count && !known; c++) known = strcmp(t->columns[c].system, system) == 0;
    if (!known) t->columns[t->count++].system = system;
  }
}

/* Breaks a name behind hyphens into lines of at most HEAD_WRAP bytes, where there are enough
 * hyphens and lines. A piece that is longer than that has a line of its own. The last line but one
 * takes the rest, for the topology needs the last. */
static void wrap(struct column *c, const char *name, size_t length) {
  for (size_t from = 0; from < length;) {
    size_t end = from, next = from;
    do { /* one more piece */
      end = next;
      while (next < length && name[next++] != '-') {
      }
    } while (end < length && (next - from <= HEAD_WRAP || end == from) && next > end);
    if (c->lines + 2 >= HEAD_LINES) end = length; /* the rest */
    snprintf(c->head[c->lines++], sizeof c->head[0], "%.*s", (int)(end - from), name + from);
    from = end;
  }
}

/* Protocol above, topology below. Also widens the column to its heading, so lay_out() has to reset
 * the width first. */
static void set_heading(struct column *c, enum lb_display_style style) {
  const char *at = strchr(c->system, '@');
  size_t length = at ? (size_t)(at - c->system) : strlen(c->system);
  c->lines = 0;
  if (style == LB_DISPLAY_SHORT) wrap(c, c->system, length);
  else snprintf(c->head[c->lines++], sizeof c->head[0], "%.*s", (int)length, c->system);
  snprintf(c->head[c->lines++], sizeof c->head[0], "%s", at ? at + 1 : "");
  for (size_t i = 0; i < c->lines; i++)
    if (strlen(c->head[i]) > c->width) c->width = strlen(c->head[i]);
}

/* The cell of these three; NULL = it is not in the plan. Scenarios are compared by address: they are the plan's own.
 * The walk over all cells is cheap beside a single trial. */
static const struct lb_cell_sum *cell_at(const struct lb_tally *tally, const struct lb_scenario *scenario,
                                         const char *system, enum lb_guard guard) {
  const struct lb_plan *plan = tally->plan;
  for (size_t i = 0; i < plan->cell_count; i++)
    if (plan->cells[i].scenario == scenario && plan->cells[i].guard == guard &&
        strcmp(plan->cells[i].system, system) == 0)
      return &tally->cells[i];
  return NULL;
}

/* Sets style, gap and the width of every column, and returns the width of the whole table in bytes.
 * Each call starts anew, so that the caller can try one style after the other. */
static size_t lay_out(struct table *t, enum lb_display_style style, size_t gap) {
  char text[64];
  size_t width = t->label;
  t->style = style;
  t->gap = gap;
  for (size_t c = 0; c < t->count; c++) {
    struct column *column = &t->columns[c];
    column->width = 0;
    set_heading(column, style);
    for (size_t s = 0; s < t->tally->plan->scenario_count; s++) {
      const struct lb_cell_sum *cell = cell_at(t->tally, &t->tally->plan->scenarios[s], column->system, LB_GUARD_NONE);
      if (!cell) continue;
      lb_display_cell_text(cell, style, text, sizeof text);
      if (strlen(text) > column->width) column->width = strlen(text);
    }
    width += gap + column->width;
  }
  return width;
}

/* ---- the truth table ------------------------------------------------------------------------- */

/* Headings have different numbers of lines; they stand on the ground, so that the topologies come
 * to stand on one line. */
static void print_head(const struct table *t, size_t from, size_t end, FILE *out) {
  size_t lines = 0;
  for (size_t c = from; c < end; c++)
    if (t->columns[c].lines > lines) lines = t->columns[c].lines;
  for (size_t i = 0; i < lines; i++) {
    struct lb_display_line line = {.pending = t->label};
    for (size_t c = from; c < end; c++) { /* the topologies on one line */
      const struct column *column = &t->columns[c];
      line.pending += t->gap;
      lb_display_field(&line, i + column->lines >= lines ? column->head[i + column->lines - lines] : "", column->width,
                       NULL, out);
    }
    putc('\n', out);
  }
}

/* A scenario that was run on none of these systems has no row: in a second block it would be
 * empty. */
static void print_row(const struct table *t, const struct lb_scenario *scenario, size_t from, size_t end, bool colour,
                      FILE *out) {
  char text[64];
  struct lb_display_line line = {0};
  bool any = false;
  for (size_t c = from; c < end; c++) any = any || cell_at(t->tally, scenario, t->columns[c].system, LB_GUARD_NONE);
  if (!any) return;
  lb_display_field(&line, scenario->name, t->label, NULL, out);
  for (size_t c = from; c < end; c++) {
    const struct lb_cell_sum *cell = cell_at(t->tally, scenario, t->columns[c].system, LB_GUARD_NONE);
    line.pending += t->gap;
    if (cell) lb_display_cell_text(cell, t->style, text, sizeof text);
    lb_display_field(&line, cell ? text : "-", t->columns[c].width,
                     cell && colour ? lb_display_colour(cell->verdict) : NULL, out);
  }
  putc('\n', out);
}

/* Columns per block: with the fewest blocks of which each fits into the width. Columns are spread
 * evenly over them, since a last block of one column looks like a mistake. */
static size_t block_size(const struct table *t) {
  for (size_t blocks = 1; blocks < t->count; blocks++) {
    size_t size = (t->count + blocks - 1) / blocks, widest = 0;
    for (size_t from = 0; from < t->count; from += size) {
      size_t width = t->label;
      for (size_t c = from; c < from + size && c < t->count; c++) width += t->gap + t->columns[c].width;
      if (width > widest) widest = width;
    }
    if (widest <= t->most) return size;
  }
  return 1;
}

static void print_blocks(const struct table *t, FILE *out) {
  bool colour = lb_display_has_colour(out);
  size_t size = block_size(t);
  for (size_t from = 0; from < t->count; from += size) {
    size_t end = from + size < t->count ? from + size : t->count;
    if (from) putc('\n', out);
    print_head(t, from, end, out);
    for (size_t s = 0; s < t->tally->plan->scenario_count; s++)
      print_row(t, &t->tally->plan->scenarios[s], from, end, colour, out);
  }
}

/* The styles in the order in which a reader would like them. If none fits in one block there will
 * be several anyway, and then the words have room. */
static void print_truth(const struct lb_tally *tally, FILE *out) {
  const struct lb_plan *plan = tally->plan;
  struct table t = {.tally = tally,
                    .columns = lb_need(calloc(plan->cell_count + 1, sizeof *t.columns)),
                    .most = lb_display_width(out)};
  find_columns(&t);
  for (size_t s = 0; s < plan->scenario_count; s++)
    if (strlen(plan->scenarios[s].name) > t.label) t.label = strlen(plan->scenarios[s].name);
  if (lay_out(&t, LB_DISPLAY_WORDS, 2) > t.most && lay_out(&t, LB_DISPLAY_SHORT, 2) > t.most &&
      lay_out(&t, LB_DISPLAY_SHORT, 1) > t.most)
    lay_out(&t, LB_DISPLAY_WORDS, 2);
  print_blocks(&t, out);
  if (t.count)
    lb_display_wrap(
        t.style == LB_DISPLAY_SHORT
            ? "n: all of n trials; k/n: k of n decided ones; VIOL: violated; ??: undecided; !: not as expected; -: not asked"
            : "n: all of n trials; k/n: k of n decided ones; !: not as expected; -: not asked",
        0, 0, out);
  free(t.columns);
}

/* ---- what each guard changes --------------------------------------------------------------------
 *
 * A line per system, a column per guard, below the name of the scenario; only scenarios that were run with a guard.
 * Under a guard the verdict is about the resource, so what happened there stands beside it: lost updates and stale
 * writes, and how often the guard stopped a client, by reason. */

/* True if some cell of the scenario was asked under a guard: only then there is something to
 * compare. */
static bool has_guards(const struct lb_plan *plan, const struct lb_scenario *scenario) {
  for (size_t i = 0; i < plan->cell_count; i++)
    if (plan->cells[i].scenario == scenario && plan->cells[i].guard != LB_GUARD_NONE && !plan->cells[i].means_nothing)
      return true;
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
  enum { DAMAGE = 3 }; /* so many of these come first; where there is any, stopped clients do not matter */
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
  if (is_floor(&plan->cells[index])) return false;
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
    const struct lb_cell_sum *cell = cell_at(tally, first->scenario, first->system, (enum lb_guard)k);
    if (cell) guard_text(cell, g->style, text, sizeof text);
    line.pending += 2;
    lb_display_field(&line, cell ? text : "-", g->width[k], cell && colour ? lb_display_colour(cell->verdict) : NULL,
                     out);
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
      if (plan->cells[i].scenario == &plan->scenarios[s] && first_of_row(plan, i))
        print_guard_row(tally, g, &plan->cells[i], colour, out);
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
      const struct lb_cell_sum *cell = cell_at(tally, first->scenario, first->system, (enum lb_guard)k);
      if (!cell) continue;
      guard_text(cell, LB_DISPLAY_WORDS, text, sizeof text);
      snprintf(line, sizeof line, "%-9s %s", lb_guard_name((enum lb_guard)k), text);
      lb_display_wrap(line, 2, 12, out);
    }
  }
}

/* The sentences below the table belong to it: without them a reader would take "safe" under a guard
 * for a statement on the lock. */
static void print_guards(const struct lb_tally *tally, FILE *out) {
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
  bool fits =
      measure_guards(tally, LB_DISPLAY_WORDS, &g) <= most || measure_guards(tally, LB_DISPLAY_SHORT, &g) <= most;
  if (g.label == 0) return;
  fputs("\nwhat each guard changes\n", out);
  if (fits) print_columns(tally, &g, out);
  else print_list(tally, out);
  if (fits && g.style == LB_DISPLAY_SHORT)
    lb_display_wrap(
        "VIOL: violated; MIX: mixed; ??: undecided; scenarios in which a guard has nothing to stop are not shown", 0, 2,
        out);
  for (size_t i = 0; i < sizeof legend / sizeof *legend; i++) lb_display_wrap(legend[i], 0, 2, out);
}

/* ---- the tables in their order --------------------------------------------------------------- */

/* The reasons of cells that mean nothing, each once: notes are numbered in the order of the cells. */
static void print_notes(const struct lb_plan *plan, FILE *out) {
  int told = 0;
  for (size_t i = 0; i < plan->cell_count; i++) {
    const struct lb_cell *cell = &plan->cells[i];
    if (cell->note <= told) continue;
    if (told++ == 0) fputs("\nn/a: the question means nothing there\n", out);
    char text[400];
    snprintf(text, sizeof text, "[%d] %s%s", cell->note, cell->note < 10 ? " " : "", cell->skip);
    lb_display_wrap(text, 0, 5, out);
  }
}

/* What needs no guard comes first: it is the question that a reader has. */
void lb_display_truth_table(const struct lb_tally *tally, FILE *out) {
  print_truth(tally, out);
  print_guards(tally, out);
  print_notes(tally->plan, out);
  lb_display_rates(tally, out);
}
