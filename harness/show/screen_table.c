/* SPDX-License-Identifier: MIT
 *
 * The table of one screen, and where each cell of a run is. A scenario's name is broken into short pieces, one below
 * the other: columns are then hardly wider than the words in them.
 */
#include "screen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "display.h"

/* Systems are few; neighbours in a plan mostly have the same one or the next. */
static size_t system_of(struct lb_screen_grid *g, const char *name) {
  for (size_t i = 0; i < g->systems_count; i++)
    if (strcmp(g->systems[i], name) == 0) return i;
  g->systems[g->systems_count] = name;
  return g->systems_count++;
}

static const struct lb_cell_sum **place(const struct lb_screen_grid *g, size_t scenario, size_t system,
                                        enum lb_guard guard) {
  return &g->cells[(scenario * g->systems_count + system) * LB_GUARD_COUNT + (size_t)guard];
}

int lb_screen_grid_begin(const struct lb_tally *tally, struct lb_screen_grid *ret) {
  const struct lb_plan *plan = tally->plan;
  *ret = (struct lb_screen_grid){.tally = tally, .systems = calloc(plan->cell_count + 1, sizeof *ret->systems)};
  for (size_t i = 0; ret->systems && i < plan->cell_count; i++) system_of(ret, plan->cells[i].system);
  if (ret->systems)
    ret->cells = calloc(plan->scenario_count * ret->systems_count * LB_GUARD_COUNT + 1, sizeof *ret->cells);
  if (!ret->cells) return lb_screen_grid_end(ret), -ENOMEM;
  for (size_t i = 0; i < plan->cell_count; i++)
    *place(ret, (size_t)(plan->cells[i].scenario - plan->scenarios), system_of(ret, plan->cells[i].system),
           plan->cells[i].guard) = &tally->cells[i];
  return 0;
}

void lb_screen_grid_end(struct lb_screen_grid *grid) {
  free(grid->systems);
  free(grid->cells);
  *grid = (struct lb_screen_grid){0};
}

const struct lb_cell_sum *lb_screen_at(const struct lb_screen_grid *grid, size_t scenario, size_t system,
                                       enum lb_guard guard) {
  return *place(grid, scenario, system, guard);
}

const struct lb_cell_sum *lb_screen_cell(const struct lb_screen_grid *grid, size_t scenario, size_t system) {
  const struct lb_cell_sum *cell = NULL;
  for (int guard = 0; guard < LB_GUARD_COUNT && !cell; guard++)
    cell = lb_screen_at(grid, scenario, system, (enum lb_guard)guard);
  return cell;
}

bool lb_screen_lost(const struct lb_cell_sum *cell) { return cell->violated > 0 && cell->sum.double_holds > 0; }

/* ---- the table ------------------------------------------------------------------------------------ */

enum { COLUMNS_MOST = 12, HEAD_LINES = 4, PIECE = 7, LEAST_ROWS = 2 };

struct column {
  const struct lb_scenario *scenario;
  char head[HEAD_LINES][48];
  size_t lines, width;
  long score; /* what makes it worth its room */
  bool shown;
};

struct row {
  long score;
  bool shown;
};

struct table {
  const struct lb_screen_grid *grid;
  struct column *columns;
  struct row *rows;
  size_t column_count, row_count, label, head_lines;
  bool speed; /* loads alone: a number says more than `ok` */
};

/* ---- a cell ---------------------------------------------------------------------------------- */

/* With the most clients that it was measured with, hand-offs per second; the mean of its trials. -1 = none was
 * measured. */
static double rate_of(const struct lb_tally *tally, const struct lb_cell_sum *cell) {
  double sum = 0;
  int clients = 0, count = 0;
  for (size_t i = 0; i < tally->plan->job_count; i++) {
    const struct lb_job *job = &tally->plan->jobs[i];
    if (&tally->plan->cells[job->cell] != cell->cell || !tally->jobs[i].done || job->plan.clients < clients) continue;
    if (job->plan.clients > clients) sum = 0, count = 0;
    clients = job->plan.clients;
    sum += tally->jobs[i].outcome.handoffs_per_s;
    count++;
  }
  return count ? sum / count : -1;
}

static bool is_unexpected(const struct table *t, size_t c, size_t r) {
  for (int guard = 0; guard < LB_GUARD_COUNT; guard++) {
    const struct lb_cell_sum *cell = lb_screen_at(t->grid, c, r, (enum lb_guard)guard);
    if (cell && lb_cell_as_expected(cell) == 0) return true;
  }
  return false;
}

static bool is_fenced(const struct table *t, size_t c, size_t r) {
  const struct lb_cell_sum *bare = lb_screen_at(t->grid, c, r, LB_GUARD_NONE),
                           *fence = lb_screen_at(t->grid, c, r, LB_GUARD_FENCE);
  return bare && bare->violated && fence && fence->verdict == LB_SAFE;
}

static const char *word(const struct lb_cell_sum *cell) {
  static const char *const words[] = {
      [LB_SAFE] = "ok",     [LB_VIOLATED] = "LOST", [LB_STUCK] = "stuck", [LB_DELAYED] = "late",  [LB_UNDECIDED] = "?",
      [LB_MIXED] = "mixed", [LB_SKIPPED] = "skip",  [LB_NA] = "-",        [LB_VERDICT_NONE] = "."};
  return lb_screen_lost(cell) ? "LOST" : cell->violated ? "DATA" : words[cell->verdict];
}

/* "" = it was not asked for. */
static const struct lb_cell_sum *cell_text(const struct table *t, size_t c, size_t r, char *buf, size_t size) {
  const struct lb_cell_sum *cell = lb_screen_cell(t->grid, c, r);
  char name[32];
  buf[0] = '\0';
  if (!cell) return NULL;
  double rate = t->speed && cell->verdict == LB_SAFE ? rate_of(t->grid->tally, cell) : -1;
  snprintf(name, sizeof name, "%s", word(cell));
  if (rate >= 0) snprintf(name, sizeof name, "%.0f", rate);
  snprintf(buf, size, "%s%s%s%s", name, is_fenced(t, c, r) ? "*" : "",
           cell->undecided && cell->verdict != LB_UNDECIDED ? "?" : "", is_unexpected(t, c, r) ? "!" : "");
  return cell;
}

/* ---- what is shown --------------------------------------------------------------------------- */

/* A piece that is too long is halved. */
static void set_head(struct column *c) {
  for (const char *at = c->scenario->name; *at && c->lines < HEAD_LINES;) {
    size_t piece = strcspn(at, "-"), length = piece > PIECE && piece <= (size_t)2 * PIECE ? (piece + 1) / 2
                                              : piece > PIECE                             ? PIECE
                                                                                          : piece;
    snprintf(c->head[c->lines++], sizeof c->head[0], "%.*s", (int)length, at);
    at += length;
    if (*at == '-') at++;
  }
  for (size_t i = 0; i < c->lines; i++)
    if (strlen(c->head[i]) > c->width) c->width = strlen(c->head[i]);
}

/* What needs a look, then what was lost, then what stood still. */
static long score_of(const struct table *t, size_t c, size_t r, const struct lb_cell_sum *cell) {
  if (is_unexpected(t, c, r) || cell->undecided) return 10000;
  if (cell->violated) return 100;
  return cell->verdict == LB_STUCK || cell->verdict == LB_DELAYED ? 1 : 0;
}

static bool find_lines(struct table *t) {
  const struct lb_plan *plan = t->grid->tally->plan;
  t->columns = calloc(plan->scenario_count + 1, sizeof *t->columns);
  t->rows = calloc(t->grid->systems_count + 1, sizeof *t->rows);
  if (!t->columns || !t->rows) return false;
  t->speed = true;
  t->column_count = plan->scenario_count;
  t->row_count = t->grid->systems_count;
  for (size_t c = 0; c < t->column_count; c++) {
    t->columns[c].scenario = &plan->scenarios[c];
    set_head(&t->columns[c]);
    t->speed &= plan->scenarios[c].kind == LB_KIND_LOAD;
  }
  return true;
}

static void measure(struct table *t) {
  char text[64];
  for (size_t r = 0; r < t->row_count; r++) {
    if (strlen(t->grid->systems[r]) > t->label) t->label = strlen(t->grid->systems[r]);
    for (size_t c = 0; c < t->column_count; c++) {
      const struct lb_cell_sum *cell = cell_text(t, c, r, text, sizeof text);
      if (!cell) continue;
      if (strlen(text) > t->columns[c].width) t->columns[c].width = strlen(text);
      t->rows[r].score += score_of(t, c, r, cell);
      t->columns[c].score += score_of(t, c, r, cell);
    }
  }
}

/* Takes the next best column that is not shown yet, the first of equal ones. */
static struct column *best_column(struct table *t) {
  struct column *best = NULL;
  for (size_t c = 0; c < t->column_count; c++)
    if (!t->columns[c].shown && (!best || t->columns[c].score > best->score)) best = &t->columns[c];
  return best;
}

static struct row *best_row(struct table *t) {
  struct row *best = NULL;
  for (size_t r = 0; r < t->row_count; r++)
    if (!t->rows[r].shown && (!best || t->rows[r].score > best->score)) best = &t->rows[r];
  return best;
}

static size_t choose_rows(struct table *t, size_t most) {
  size_t shown = 0;
  for (struct row *row; shown < most && (row = best_row(t)); shown++) row->shown = true;
  return shown;
}

static size_t choose_columns(struct table *t, size_t width) {
  size_t shown = 0, used = t->label;
  for (struct column *column; shown < COLUMNS_MOST && (column = best_column(t)) && used + 1 + column->width <= width;
       shown++) {
    column->shown = true;
    used += 1 + column->width;
    if (column->lines > t->head_lines) t->head_lines = column->lines;
  }
  return shown;
}

/* ---- as text --------------------------------------------------------------------------------- */

static void put_head(const struct table *t, FILE *out) {
  for (size_t i = 0; i < t->head_lines; i++) {
    struct lb_display_line line = {.pending = t->label};
    for (size_t c = 0; c < t->column_count; c++) {
      const struct column *column = &t->columns[c];
      if (!column->shown) continue;
      line.pending++;
      bool has = i + column->lines >= t->head_lines;
      lb_display_field(&line, has ? column->head[i + column->lines - t->head_lines] : "", column->width, NULL, out);
    }
    putc('\n', out);
  }
}

static void put_row(const struct table *t, size_t r, bool colour, FILE *out) {
  char text[64];
  struct lb_display_line line = {0};
  lb_display_field(&line, t->grid->systems[r], t->label, NULL, out);
  for (size_t c = 0; c < t->column_count; c++) {
    if (!t->columns[c].shown) continue;
    const struct lb_cell_sum *cell = cell_text(t, c, r, text, sizeof text);
    line.pending++;
    lb_display_field(&line, text, t->columns[c].width, cell && colour ? lb_display_colour(cell->verdict) : NULL, out);
  }
  putc('\n', out);
}

/* What the words in these columns mean. */
static void say_legend(const struct table *t, char *ret, size_t size) {
  static const struct {
    enum lb_verdict verdict;
    const char *text;
  } words[] = {{LB_VIOLATED, "LOST: two held at once"},
               {LB_STUCK, "stuck: never granted again"},
               {LB_DELAYED, "late: after long"},
               {LB_MIXED, "mixed: trials differ"},
               {LB_NA, "-: no question"},
               {LB_UNDECIDED, "?: undecided"},
               {LB_SKIPPED, "skip: missing"},
               {LB_VERDICT_NONE, ".: not run"}};
  unsigned seen = 0;
  bool fenced = false, marked = false, damaged = false;
  size_t n = 0;
  for (size_t r = 0; r < t->row_count; r++) {
    for (size_t c = 0; c < t->column_count; c++) {
      const struct lb_cell_sum *cell = t->columns[c].shown ? lb_screen_cell(t->grid, c, r) : NULL;
      if (!cell) continue;
      bool lost = lb_screen_lost(cell), bad = cell->violated && !lost;
      seen |= (lost ? 1u << LB_VIOLATED : bad ? 0 : 1u << cell->verdict) | (cell->undecided ? 1u << LB_UNDECIDED : 0);
      damaged |= bad;
      fenced |= is_fenced(t, c, r);
      marked |= is_unexpected(t, c, r);
    }
  }
  ret[0] = '\0';
  if (t->speed) n += (size_t)snprintf(ret, size, "number: hand-offs/s with the most clients");
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (seen >> words[i].verdict & 1) n += (size_t)snprintf(ret + n, size - n, "%s%s", n ? "; " : "", words[i].text);
  if (damaged)
    n +=
        (size_t)snprintf(ret + n, size - n, "%sDATA: never two at once, but data or numbers went wrong", n ? "; " : "");
  if (fenced) n += (size_t)snprintf(ret + n, size - n, "%s*: data right with a fence", n ? "; " : "");
  if (marked) snprintf(ret + n, size - n, "%s!: not as expected", n ? "; " : "");
}

/* Two lines in a line of 100 columns, whatever it says. */
static size_t lines_of(const char *legend, size_t width) { return !*legend ? 0 : strlen(legend) <= width ? 1 : 2; }

static void put_table(struct table *t, size_t lines, size_t width, FILE *out) {
  char legend[600];
  measure(t);
  size_t columns = choose_columns(t, width);
  say_legend(t, legend, sizeof legend);
  size_t around = t->head_lines + lines_of(legend, width), room = lines > around ? lines - around : 0;
  bool all = columns == t->column_count && t->row_count <= room;
  if (!all && room > 0) room--;
  size_t rows = choose_rows(t, room > LEAST_ROWS ? room : LEAST_ROWS);
  bool colour = lb_display_has_colour(out);
  put_head(t, out);
  for (size_t r = 0; r < t->row_count; r++)
    if (t->rows[r].shown) put_row(t, r, colour, out);
  if (*legend) lb_display_wrap_at(legend, width, 0, 2, out);
  if (!all)
    fprintf(out, "left out: %zu of %zu scenarios, %zu of %zu systems, those that lost least\n",
            t->column_count - columns, t->column_count, t->row_count - rows, t->row_count);
}

void lb_screen_table(const struct lb_screen_grid *grid, size_t lines, size_t width, FILE *out) {
  struct table t = {.grid = grid};
  if (find_lines(&t)) put_table(&t, lines, width, out);
  free(t.columns);
  free(t.rows);
}
