/* SPDX-License-Identifier: MIT
 *
 * The truth table in the width of a terminal: what every lock did in every scenario, without a
 * guard. Scenarios are rows, because they are the longer list and have the longer names; systems
 * are columns under a wrapped heading.
 *
 * The widest way to write a cell that fits into the width (lb_display_width) is taken; if none does,
 * the columns go on in a second block. Colour only repeats what the words say.
 */
#include <stdlib.h>
#include <string.h>

#include "display.h"
#include "display_parts.h"

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

/* The systems that were run without a guard, in the order of the plan. Other cells have a table of
 * their own. */
static void find_columns(struct table *t) {
  for (size_t i = 0; i < t->tally->plan->cell_count; i++) {
    const char *system = t->tally->plan->cells[i].system;
    bool known = t->tally->plan->cells[i].guard != LB_GUARD_NONE;
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
      const struct lb_cell_sum *cell = lb_display_cell_at(t->tally, &t->tally->plan->scenarios[s], column->system, LB_GUARD_NONE);
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
      lb_display_field(&line, i + column->lines >= lines ? column->head[i + column->lines - lines] : "", column->width, NULL,
                 out);
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
  for (size_t c = from; c < end; c++) any = any || lb_display_cell_at(t->tally, scenario, t->columns[c].system, LB_GUARD_NONE);
  if (!any) return;
  lb_display_field(&line, scenario->name, t->label, NULL, out);
  for (size_t c = from; c < end; c++) {
    const struct lb_cell_sum *cell = lb_display_cell_at(t->tally, scenario, t->columns[c].system, LB_GUARD_NONE);
    line.pending += t->gap;
    if (cell) lb_display_cell_text(cell, t->style, text, sizeof text);
    lb_display_field(&line, cell ? text : "-", t->columns[c].width, cell && colour ? lb_display_colour(cell->verdict) : NULL, out);
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
    for (size_t s = 0; s < t->tally->plan->scenario_count; s++) print_row(t, &t->tally->plan->scenarios[s], from, end, colour, out);
  }
}

/* The styles in the order in which a reader would like them. If none fits in one block there will
 * be several anyway, and then the words have room. */
static void print_truth(const struct lb_tally *tally, FILE *out) {
  const struct lb_plan *plan = tally->plan;
  struct table t = {.tally = tally, .columns = calloc(plan->cell_count + 1, sizeof *t.columns), .most = lb_display_width(out)};
  if (!t.columns) return;
  find_columns(&t);
  for (size_t s = 0; s < plan->scenario_count; s++)
    if (strlen(plan->scenarios[s].name) > t.label) t.label = strlen(plan->scenarios[s].name);
  if (lay_out(&t, LB_DISPLAY_WORDS, 2) > t.most && lay_out(&t, LB_DISPLAY_SHORT, 2) > t.most && lay_out(&t, LB_DISPLAY_SHORT, 1) > t.most)
    lay_out(&t, LB_DISPLAY_WORDS, 2);
  print_blocks(&t, out);
  if (t.count)
    lb_display_wrap(t.style == LB_DISPLAY_SHORT
                        ? "n: all of n trials; k/n: k of n decided ones; VIOL: violated; ??: undecided; !: not as expected; -: not asked"
                        : "n: all of n trials; k/n: k of n decided ones; !: not as expected; -: not asked",
                    0, 0, out);
  free(t.columns);
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
void lb_print_truth_table(const struct lb_tally *tally, FILE *out) {
  print_truth(tally, out);
  lb_display_guards(tally, out);
  print_notes(tally->plan, out);
  lb_print_rates(tally, out);
}
