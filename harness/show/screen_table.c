/* SPDX-License-Identifier: MIT
 *
 * The table of one screen. A scenario's name is broken into short pieces, one below the other: columns are then
 * hardly wider than the words in them.
 */
#include <stdlib.h>
#include <string.h>

#include "display.h"
#include "display_parts.h"
#include "screen_parts.h"

enum { COLUMNS_MOST = 12, HEAD_LINES = 5, PIECE = 7, LEAST_ROWS = 2, LEGEND_LINES = 2 };

struct column {
  const struct lb_scenario *scenario;
  char head[HEAD_LINES][48];
  size_t lines, width;
  long score; /* what makes it worth its room */
  bool shown;
};

struct row {
  const char *system;
  long score;
  bool shown;
};

struct table {
  const struct lb_tally *tally;
  struct column *columns;
  struct row *rows;
  size_t column_count, row_count, label, head_lines;
  bool speed; /* loads alone: a number says more than `ok` */
  unsigned seen; /* verdicts in the table, a bit each, for the legend */
  bool fenced, marked;
};

/* ---- a cell ---------------------------------------------------------------------------------- */

const struct lb_cell_sum *lb_screen_cell(const struct lb_tally *tally, const struct lb_scenario *scenario, const char *system) {
  const struct lb_cell_sum *cell = NULL;
  for (int guard = 0; guard < LB_GUARD_COUNT && !cell; guard++) cell = lb_display_cell_at(tally, scenario, system, (enum lb_guard)guard);
  return cell;
}

bool lb_screen_lost(const struct lb_cell_sum *cell) { return cell->violated > 0; }

/* With the most clients that it was measured with, hand-offs per second; the median of its trials. -1 = none was measured. */
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

static bool is_unexpected(const struct lb_tally *tally, const struct lb_cell_sum *cell) {
  for (int guard = 0; guard < LB_GUARD_COUNT; guard++) {
    const struct lb_cell_sum *other = lb_display_cell_at(tally, cell->cell->scenario, cell->cell->system, (enum lb_guard)guard);
    if (other && lb_cell_as_expected(other) == 0) return true;
  }
  return false;
}

static bool is_fenced(const struct lb_tally *tally, const struct lb_cell_sum *cell) {
  const struct lb_cell_sum *fence = lb_display_cell_at(tally, cell->cell->scenario, cell->cell->system, LB_GUARD_FENCE);
  return cell->cell->guard == LB_GUARD_NONE && lb_screen_lost(cell) && fence && fence->verdict == LB_SAFE;
}

static const char *word(const struct lb_cell_sum *cell) {
  static const char *const words[] = {[LB_SAFE] = "ok",       [LB_VIOLATED] = "LOST", [LB_STUCK] = "stuck", [LB_DELAYED] = "late",     [LB_UNDECIDED] = "?",
                                      [LB_MIXED] = "mixed", [LB_SKIPPED] = "skip",  [LB_NA] = "-",        [LB_VERDICT_NONE] = "."};
  return lb_screen_lost(cell) ? "LOST" : words[cell->verdict];
}

static void cell_text(const struct table *t, const struct lb_cell_sum *cell, char *buf, size_t size) {
  double rate = t->speed && cell->verdict == LB_SAFE ? rate_of(t->tally, cell) : -1;
  char name[32];
  snprintf(name, sizeof name, "%s", word(cell));
  if (rate >= 0) snprintf(name, sizeof name, "%.0f", rate);
  snprintf(buf, size, "%s%s%s%s", name, is_fenced(t->tally, cell) ? "*" : "", cell->undecided && cell->verdict != LB_UNDECIDED ? "?" : "",
           is_unexpected(t->tally, cell) ? "!" : "");
}

/* ---- what is shown --------------------------------------------------------------------------- */

/* A piece that is too long is halved. */
static void set_head(struct column *c) {
  for (const char *at = c->scenario->name; *at && c->lines < HEAD_LINES;) {
    size_t piece = strcspn(at, "-"), length = piece > PIECE && piece <= (size_t)2 * PIECE ? (piece + 1) / 2 : piece > PIECE ? PIECE : piece;
    snprintf(c->head[c->lines++], sizeof c->head[0], "%.*s", (int)length, at);
    at += length;
    if (*at == '-') at++;
  }
  for (size_t i = 0; i < c->lines; i++)
    if (strlen(c->head[i]) > c->width) c->width = strlen(c->head[i]);
}

/* What needs a look, then what was lost, then what stood still. */
static long score_of(const struct lb_tally *tally, const struct lb_cell_sum *cell) {
  if (is_unexpected(tally, cell) || cell->undecided) return 10000;
  if (lb_screen_lost(cell)) return 100;
  return cell->verdict == LB_STUCK || cell->verdict == LB_DELAYED ? 1 : 0;
}

static bool find_lines(struct table *t) {
  const struct lb_plan *plan = t->tally->plan;
  t->columns = calloc(plan->scenario_count + 1, sizeof *t->columns);
  t->rows = calloc(plan->cell_count + 1, sizeof *t->rows);
  if (!t->columns || !t->rows) return false;
  t->speed = true;
  for (size_t i = 0; i < plan->scenario_count; i++) {
    t->columns[t->column_count] = (struct column){.scenario = &plan->scenarios[i]};
    set_head(&t->columns[t->column_count++]);
    t->speed &= plan->scenarios[i].kind == LB_KIND_LOAD;
  }
  for (size_t i = 0; i < plan->cell_count; i++) {
    bool known = false;
    for (size_t r = 0; r < t->row_count && !known; r++) known = strcmp(t->rows[r].system, plan->cells[i].system) == 0;
    if (!known) t->rows[t->row_count++] = (struct row){.system = plan->cells[i].system};
  }
  return true;
}

static void measure(struct table *t) {
  char text[64];
  for (size_t r = 0; r < t->row_count; r++) {
    for (size_t c = 0; c < t->column_count; c++) {
      const struct lb_cell_sum *cell = lb_screen_cell(t->tally, t->columns[c].scenario, t->rows[r].system);
      if (!cell) continue;
      cell_text(t, cell, text, sizeof text);
      if (strlen(text) > t->columns[c].width) t->columns[c].width = strlen(text);
      t->rows[r].score += score_of(t->tally, cell);
      t->columns[c].score += score_of(t->tally, cell);
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
  for (struct row *row; shown < most && (row = best_row(t)); shown++) {
    row->shown = true;
    if (strlen(row->system) > t->label) t->label = strlen(row->system);
  }
  return shown;
}

static size_t choose_columns(struct table *t, size_t width) {
  size_t shown = 0, used = t->label;
  for (struct column *column; shown < COLUMNS_MOST && (column = best_column(t)) && used + 1 + column->width <= width; shown++) {
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

static void put_row(struct table *t, const struct row *row, bool colour, FILE *out) {
  char text[64];
  struct lb_display_line line = {0};
  lb_display_field(&line, row->system, t->label, NULL, out);
  for (size_t c = 0; c < t->column_count; c++) {
    const struct column *column = &t->columns[c];
    if (!column->shown) continue;
    const struct lb_cell_sum *cell = lb_screen_cell(t->tally, column->scenario, row->system);
    if (cell) {
      cell_text(t, cell, text, sizeof text);
      t->seen |= 1u << (lb_screen_lost(cell) ? LB_VIOLATED : cell->verdict);
      t->fenced |= is_fenced(t->tally, cell);
      t->marked |= is_unexpected(t->tally, cell);
    }
    line.pending++;
    lb_display_field(&line, cell ? text : "", column->width, cell && colour ? lb_display_colour(cell->verdict) : NULL, out);
  }
  putc('\n', out);
}

static void put_legend(const struct table *t, size_t width, FILE *out) {
  static const struct {
    enum lb_verdict verdict;
    const char *text;
  } words[] = {{LB_VIOLATED, "LOST: two held at once"},  {LB_STUCK, "stuck: nobody got it again"}, {LB_DELAYED, "late: only after long"}, {LB_MIXED, "mixed: trials differ"},
               {LB_NA, "-: means nothing there"}, {LB_UNDECIDED, "?: undecided"},             {LB_SKIPPED, "skip: something is missing"}, {LB_VERDICT_NONE, ".: not run"}};
  char text[600] = "";
  size_t n = 0;
  if (t->speed) n += (size_t)snprintf(text, sizeof text, "number: hand-offs/s with the most clients");
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (t->seen >> words[i].verdict & 1) n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? "; " : "", words[i].text);
  if (t->fenced) n += (size_t)snprintf(text + n, sizeof text - n, "%s*: a fence kept the data right", n ? "; " : "");
  if (t->marked) snprintf(text + n, sizeof text - n, "%s!: not as expected", n ? "; " : "");
  if (*text) lb_display_wrap_at(text, width, 0, 2, out);
}

/* The legend is bounded by what it can say, two lines; one more says what was left out. */
void lb_screen_table(const struct lb_tally *tally, size_t lines, size_t width, FILE *out) {
  struct table t = {.tally = tally};
  if (find_lines(&t)) {
    measure(&t);
    size_t around = HEAD_LINES + LEGEND_LINES + 1;
    size_t rows = choose_rows(&t, lines > around + LEAST_ROWS ? lines - around : LEAST_ROWS), columns = choose_columns(&t, width);
    bool colour = lb_display_has_colour(out);
    put_head(&t, out);
    for (size_t r = 0; r < t.row_count; r++)
      if (t.rows[r].shown) put_row(&t, &t.rows[r], colour, out);
    put_legend(&t, width, out);
    if (rows < t.row_count || columns < t.column_count)
      fprintf(out, "left out: %zu of %zu scenarios, %zu of %zu systems, those that lost least\n", t.column_count - columns, t.column_count, t.row_count - rows, t.row_count);
  }
  free(t.columns);
  free(t.rows);
}
