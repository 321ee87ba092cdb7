/* SPDX-License-Identifier: MIT
 *
 * The tables of verdicts in the width of a terminal. Scenarios are rows, because they are the
 * longer list and have the longer names; systems are columns under a wrapped heading. The widest
 * way to write a cell that fits is taken; if none does, the columns go on in a second block. Colour
 * only repeats what the words say.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "display.h"

enum { WIDTH = 120, HEAD_LINES = 4, HEAD_WRAP = 8 };

enum style { WORDS, SHORT }; /* "VIOLATED 2/3", "VIOL 2/3" */

/* ---- a cell ---------------------------------------------------------------------------------- */

static const char *word(enum lb_verdict verdict, enum style style) {
  static const char *const words[][2] = {
      [LB_SAFE] = {"safe", "safe"},       [LB_VIOLATED] = {"VIOLATED", "VIOL"},
      [LB_STUCK] = {"stuck", "stuck"},    [LB_UNDECIDED] = {"undecided", "??"},
      [LB_SKIPPED] = {"skipped", "skip"}, [LB_VERDICT_NONE] = {"not run", "none"},
  };
  return words[verdict][style];
}

/* "safe 3" = all of 3; "VIOLATED 2/3" = 2 of 3 decided trials; of undecided: of all trials. */
static void cell_text(const struct lb_cell_sum *cell, enum style style, char *buf, size_t size) {
  int decided = cell->trials - cell->undecided, k = cell->safe, of = decided;
  const char *mark = lb_cell_as_expected(cell) == 0 ? "!" : "", *name = word(cell->verdict, style);
  if (cell->verdict == LB_VIOLATED) k = cell->violated;
  else if (cell->verdict == LB_STUCK) k = cell->stuck;
  else if (cell->verdict == LB_UNDECIDED) k = cell->undecided, of = cell->trials;
  if (of == 0) snprintf(buf, size, "%s", name);
  else if (k == of && (style == SHORT || cell->verdict == LB_SAFE)) snprintf(buf, size, "%s %d%s", name, of, mark);
  else snprintf(buf, size, "%s %d/%d%s", name, k, of, mark);
}

static const char *colour_of(enum lb_verdict verdict) {
  switch (verdict) {
    case LB_SAFE: return "\033[32m";
    case LB_VIOLATED: return "\033[31m";
    case LB_STUCK: return "\033[33m";
    default: return "\033[2m";
  }
}

bool lb_display_has_colour(FILE *out) {
  const char *refused = getenv("NO_COLOR"), *term = getenv("TERM");
  return isatty(fileno(out)) && !(refused && *refused) && !(term && strcmp(term, "dumb") == 0);
}

/* A line without blanks at its end. */
struct line {
  size_t pending; /* blanks owed */
};

/* Text in a field of `width` bytes (texts here are ASCII). */
static void line_field(struct line *line, const char *text, size_t width, const char *colour, FILE *out) {
  size_t length = strlen(text);
  if (length) {
    fprintf(out, "%*s%s%s%s", (int)line->pending, "", colour ? colour : "", text, colour ? "\033[0m" : "");
    line->pending = 0;
  }
  line->pending += length < width ? width - length : 0;
}

/* ---- rows and columns ------------------------------------------------------------------------ */

struct column {
  const char *system;
  char head[HEAD_LINES][48]; /* from the top; the last line is the topology */
  size_t lines, width;
};

struct table {
  const struct lb_tally *tally;
  struct column *columns;
  size_t count, label; /* label: width of the first column */
  size_t gap;          /* blanks between columns */
  enum style style;
};

static const struct lb_cell_sum *cell_at(const struct lb_tally *tally, const struct lb_scenario *scenario, const char *system,
                                     enum lb_guard guard) {
  const struct lb_plan *plan = tally->plan;
  for (size_t i = 0; i < plan->cell_count; i++)
    if (plan->cells[i].scenario == scenario && plan->cells[i].guard == guard &&
        strcmp(plan->cells[i].system, system) == 0)
      return &tally->cells[i];
  return NULL;
}

static void find_columns(struct table *t) {
  for (size_t i = 0; i < t->tally->plan->cell_count; i++) {
    const char *system = t->tally->plan->cells[i].system;
    bool known = t->tally->plan->cells[i].guard != LB_GUARD_NONE;
    for (size_t c = 0; c < t->count && !known; c++) known = strcmp(t->columns[c].system, system) == 0;
    if (!known) t->columns[t->count++].system = system;
  }
}

/* Breaks a name behind hyphens into lines of at most HEAD_WRAP bytes, where there are enough
 * hyphens and lines. */
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

static void set_heading(struct column *c, enum style style) {
  const char *at = strchr(c->system, '@');
  size_t length = at ? (size_t)(at - c->system) : strlen(c->system);
  c->lines = 0;
  if (style == SHORT) wrap(c, c->system, length);
  else snprintf(c->head[c->lines++], sizeof c->head[0], "%.*s", (int)length, c->system);
  snprintf(c->head[c->lines++], sizeof c->head[0], "%s", at ? at + 1 : "");
  for (size_t i = 0; i < c->lines; i++)
    if (strlen(c->head[i]) > c->width) c->width = strlen(c->head[i]);
}

/* The width of the whole table in this style. */
static size_t lay_out(struct table *t, enum style style, size_t gap) {
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
      cell_text(cell, style, text, sizeof text);
      if (strlen(text) > column->width) column->width = strlen(text);
    }
    width += gap + column->width;
  }
  return width;
}

/* ---- the truth table ------------------------------------------------------------------------- */

static void print_head(const struct table *t, size_t from, size_t end, FILE *out) {
  size_t lines = 0;
  for (size_t c = from; c < end; c++)
    if (t->columns[c].lines > lines) lines = t->columns[c].lines;
  for (size_t i = 0; i < lines; i++) {
    struct line line = {.pending = t->label};
    for (size_t c = from; c < end; c++) { /* the topologies on one line */
      const struct column *column = &t->columns[c];
      line.pending += t->gap;
      line_field(&line, i + column->lines >= lines ? column->head[i + column->lines - lines] : "", column->width, NULL,
                 out);
    }
    putc('\n', out);
  }
}

static void print_row(const struct table *t, const struct lb_scenario *scenario, size_t from, size_t end, bool colour,
                      FILE *out) {
  char text[64];
  struct line line = {0};
  bool any = false;
  for (size_t c = from; c < end; c++) any = any || cell_at(t->tally, scenario, t->columns[c].system, LB_GUARD_NONE);
  if (!any) return;
  line_field(&line, scenario->name, t->label, NULL, out);
  for (size_t c = from; c < end; c++) {
    const struct lb_cell_sum *cell = cell_at(t->tally, scenario, t->columns[c].system, LB_GUARD_NONE);
    line.pending += t->gap;
    if (cell) cell_text(cell, t->style, text, sizeof text);
    line_field(&line, cell ? text : "-", t->columns[c].width, cell && colour ? colour_of(cell->verdict) : NULL, out);
  }
  putc('\n', out);
}

/* How many blocks it takes until each fits; columns are spread evenly over them. */
static size_t block_size(const struct table *t) {
  for (size_t blocks = 1; blocks < t->count; blocks++) {
    size_t size = (t->count + blocks - 1) / blocks, widest = 0;
    for (size_t from = 0; from < t->count; from += size) {
      size_t width = t->label;
      for (size_t c = from; c < from + size && c < t->count; c++) width += t->gap + t->columns[c].width;
      if (width > widest) widest = width;
    }
    if (widest <= WIDTH) return size;
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
    for (size_t s = 0; s < t->tally->plan->scenario_count; s++) print_row(t, &t->tally->plan->scenarios[s], from, end, colour, out);
  }
}

static void print_truth(const struct lb_tally *tally, FILE *out) {
  const struct lb_plan *plan = tally->plan;
  struct table t = {.tally = tally, .columns = calloc(plan->cell_count + 1, sizeof *t.columns)};
  if (!t.columns) return;
  find_columns(&t);
  for (size_t s = 0; s < plan->scenario_count; s++)
    if (strlen(plan->scenarios[s].name) > t.label) t.label = strlen(plan->scenarios[s].name);
  if (lay_out(&t, WORDS, 2) > WIDTH && lay_out(&t, SHORT, 2) > WIDTH && lay_out(&t, SHORT, 1) > WIDTH)
    lay_out(&t, WORDS, 2);
  print_blocks(&t, out);
  if (t.count)
    fprintf(out, "n: all of n trials; k/n: k of n decided ones%s; !: not as expected; -: not asked\n",
            t.style == SHORT ? "; VIOL: violated; ??: undecided" : "");
  free(t.columns);
}

/* ---- what each guard changes ----------------------------------------------------------------- */

static bool has_guards(const struct lb_plan *plan, const struct lb_scenario *scenario) {
  for (size_t i = 0; i < plan->cell_count; i++)
    if (plan->cells[i].scenario == scenario && plan->cells[i].guard != LB_GUARD_NONE) return true;
  return false;
}

/* The verdict and what happened at the resource, which is what a guard is for. */
static void guard_text(const struct lb_cell_sum *cell, char *buf, size_t size) {
  cell_text(cell, WORDS, buf, size);
  const struct {
    long long count;
    const char *what;
  } more[] = {
      {cell->sum.lost_updates, "lost"},
      {(long long)cell->sum.stale_writes > cell->sum.lost_updates ? (long long)cell->sum.stale_writes : 0, "stale"},
      {cell->cell->guard == LB_GUARD_FENCE ? (long long)cell->sum.fenced_off : 0, "fenced off"},
      {cell->cell->guard == LB_GUARD_FENCE ? (long long)cell->sum.token_regressions : 0, "regressions"},
  };
  for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
    size_t n = strlen(buf);
    if (more[i].count > 0) snprintf(buf + n, size - n, ", %lld %s", more[i].count, more[i].what);
  }
}

struct guards { /* what the table has: columns, widths */
  size_t width[LB_GUARD_COUNT];
  size_t label;
};

static bool first_of_row(const struct lb_plan *plan, size_t index) {
  for (size_t i = 0; i < index; i++)
    if (plan->cells[i].scenario == plan->cells[index].scenario &&
        strcmp(plan->cells[i].system, plan->cells[index].system) == 0)
      return false;
  return true;
}

static void measure_guards(const struct lb_tally *tally, struct guards *g) {
  char text[120];
  *g = (struct guards){0};
  for (size_t i = 0; i < tally->plan->cell_count; i++) {
    const struct lb_cell *cell = &tally->plan->cells[i];
    if (!has_guards(tally->plan, cell->scenario)) continue;
    guard_text(&tally->cells[i], text, sizeof text);
    size_t *width = &g->width[cell->guard];
    if (*width == 0) *width = strlen(lb_guard_name(cell->guard));
    if (strlen(text) > *width) *width = strlen(text);
    if (strlen(cell->system) + 2 > g->label) g->label = strlen(cell->system) + 2;
  }
}

static void print_guard_row(const struct lb_tally *tally, const struct guards *g, const struct lb_cell *first,
                            bool colour, FILE *out) {
  char text[120];
  struct line line = {.pending = 2};
  line_field(&line, first->system, g->label - 2, NULL, out);
  for (int k = 0; k < LB_GUARD_COUNT; k++) {
    if (!g->width[k]) continue;
    const struct lb_cell_sum *cell = cell_at(tally, first->scenario, first->system, (enum lb_guard)k);
    if (cell) guard_text(cell, text, sizeof text);
    line.pending += 2;
    line_field(&line, cell ? text : "-", g->width[k], cell && colour ? colour_of(cell->verdict) : NULL, out);
  }
  putc('\n', out);
}

static void print_guards(const struct lb_tally *tally, FILE *out) {
  const struct lb_plan *plan = tally->plan;
  struct guards g;
  measure_guards(tally, &g);
  if (g.label == 0) return;
  bool colour = lb_display_has_colour(out);
  struct line head = {0};
  fputs("\nwhat each guard changes\n", out);
  line_field(&head, "", g.label, NULL, out);
  for (int k = 0; k < LB_GUARD_COUNT; k++) {
    if (!g.width[k]) continue;
    head.pending += 2;
    line_field(&head, lb_guard_name((enum lb_guard)k), g.width[k], NULL, out);
  }
  putc('\n', out);
  for (size_t s = 0; s < plan->scenario_count; s++) {
    if (!has_guards(plan, &plan->scenarios[s])) continue;
    fprintf(out, "%s\n", plan->scenarios[s].name);
    for (size_t i = 0; i < plan->cell_count; i++)
      if (plan->cells[i].scenario == &plan->scenarios[s] && first_of_row(plan, i))
        print_guard_row(tally, &g, &plan->cells[i], colour, out);
  }
  fputs("without a guard: judged by who held the lock; with one: by lost updates, stale writes and (fence) token regressions\n",
        out);
}

void lb_print_truth_table(const struct lb_tally *tally, FILE *out) {
  print_truth(tally, out);
  print_guards(tally, out);
  lb_print_rates(tally, out);
}
