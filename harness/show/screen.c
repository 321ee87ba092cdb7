/* SPDX-License-Identifier: MIT
 *
 * One screen for a run of many cells. What stands above and below the table is written first, so that the table can
 * take the lines that are left. A scenario's name is broken into short pieces, one below the other: columns are then
 * hardly wider than the words in them. The sentences are about locks that have servers: a mutex and the liar are
 * controls of the harness.
 */
#include "screen.h"

#include <stdlib.h>
#include <string.h>

#include "base/need.h"
#include "base/process.h"
#include "base/text.h"
#include "display.h"

/* The cells of a run by scenario, system and guard: plans have tens of thousands. */
struct lb_screen_grid {
  const struct lb_tally *tally;
  const char **systems; /* each once, in the order of the plan */
  size_t systems_count;
  const struct lb_cell_sum **cells;
};

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

static void screen_grid_end(struct lb_screen_grid *grid) {
  free(grid->systems);
  free(grid->cells);
  *grid = (struct lb_screen_grid){0};
}

/* Release with screen_grid_end(). */
static void screen_grid_begin(const struct lb_tally *tally, struct lb_screen_grid *ret) {
  const struct lb_plan *plan = tally->plan;
  *ret =
      (struct lb_screen_grid){.tally = tally, .systems = lb_need(calloc(plan->cell_count + 1, sizeof *ret->systems))};
  for (size_t i = 0; i < plan->cell_count; i++) system_of(ret, plan->cells[i].system);
  ret->cells = lb_need(calloc(plan->scenario_count * ret->systems_count * LB_GUARD_COUNT + 1, sizeof *ret->cells));
  for (size_t i = 0; i < plan->cell_count; i++)
    *place(ret, (size_t)(plan->cells[i].scenario - plan->scenarios), system_of(ret, plan->cells[i].system),
           plan->cells[i].guard) = &tally->cells[i];
}

/* NULL = it was not asked for. */
static const struct lb_cell_sum *screen_at(const struct lb_screen_grid *grid, size_t scenario, size_t system,
                                           enum lb_guard guard) {
  return *place(grid, scenario, system, guard);
}

/* The cell that stands for this scenario and system in the table: without a guard, else the first one. NULL = there is
 * none. */
static const struct lb_cell_sum *screen_cell(const struct lb_screen_grid *grid, size_t scenario, size_t system) {
  const struct lb_cell_sum *cell = NULL;
  for (int guard = 0; guard < LB_GUARD_COUNT && !cell; guard++)
    cell = screen_at(grid, scenario, system, (enum lb_guard)guard);
  return cell;
}

/* It is violated, and two held at once. Else what is violated did damage, or numbers repeated. */
static bool screen_lost(const struct lb_cell_sum *cell) { return cell->violated > 0 && cell->sum.double_holds > 0; }

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
  bool speed;       /* loads alone: a number says more than `ok` */
  bool meet, apart; /* in some column clients meet; in some they never do */
};

/* ---- a cell ---------------------------------------------------------------------------------- */

/* Without a common lock there are no hand-offs. */
static bool clients_meet(const struct lb_scenario *scenario) { return scenario->keys > 0; }

/* With the most clients that it was measured with, hand-offs per second, or grants where clients never meet; the median
 * of its trials. -1 = none was measured. */
static double rate_of(const struct lb_tally *tally, const struct lb_cell_sum *cell) {
  enum { TRIALS_MOST = 1000 };
  static double rates[TRIALS_MOST];
  int clients = 0;
  size_t count = 0;
  for (size_t i = 0; i < tally->plan->job_count; i++) {
    const struct lb_job *job = &tally->plan->jobs[i];
    if (&tally->plan->cells[job->cell] != cell->cell || !tally->jobs[i].done || job->plan.clients < clients ||
        tally->jobs[i].outcome.speed_void || tally->jobs[i].outcome.grants == 0)
      continue;
    if (job->plan.clients > clients) count = 0;
    clients = job->plan.clients;
    if (count == TRIALS_MOST) break;
    rates[count++] = clients_meet(cell->cell->scenario) ? tally->jobs[i].outcome.handoffs_per_s
                                                        : tally->jobs[i].outcome.grants_per_s;
  }
  return count ? lb_interval_median(rates, count) : -1;
}

static bool is_unexpected(const struct table *t, size_t c, size_t r) {
  for (int guard = 0; guard < LB_GUARD_COUNT; guard++) {
    const struct lb_cell_sum *cell = screen_at(t->grid, c, r, (enum lb_guard)guard);
    if (cell && lb_cell_sum_as_expected(cell) == 0) return true;
  }
  return false;
}

static bool is_fenced(const struct table *t, size_t c, size_t r) {
  const struct lb_cell_sum *bare = screen_at(t->grid, c, r, LB_GUARD_NONE),
                           *fence = screen_at(t->grid, c, r, LB_GUARD_FENCE);
  return bare && bare->violated && fence && fence->verdict == LB_SAFE;
}

static const char *word(const struct lb_cell_sum *cell) {
  static const char *const words[] = {
      [LB_SAFE] = "ok",     [LB_VIOLATED] = "LOST", [LB_STUCK] = "stuck", [LB_DELAYED] = "late",  [LB_UNDECIDED] = "?",
      [LB_MIXED] = "mixed", [LB_SKIPPED] = "skip",  [LB_NA] = "-",        [LB_VERDICT_NONE] = "."};
  return screen_lost(cell) ? "LOST" : cell->violated ? "DATA" : words[cell->verdict];
}

/* "" = it was not asked for. */
static const struct lb_cell_sum *cell_text(const struct table *t, size_t c, size_t r, char *buf, size_t size) {
  const struct lb_cell_sum *cell = screen_cell(t->grid, c, r);
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

static void find_lines(struct table *t) {
  const struct lb_plan *plan = t->grid->tally->plan;
  t->columns = lb_need(calloc(plan->scenario_count + 1, sizeof *t->columns));
  t->rows = lb_need(calloc(t->grid->systems_count + 1, sizeof *t->rows));
  t->speed = true;
  t->column_count = plan->scenario_count;
  t->row_count = t->grid->systems_count;
  for (size_t c = 0; c < t->column_count; c++) {
    t->columns[c].scenario = &plan->scenarios[c];
    set_head(&t->columns[c]);
    t->speed &= plan->scenarios[c].kind == LB_KIND_LOAD;
    t->meet |= clients_meet(&plan->scenarios[c]);
    t->apart |= !clients_meet(&plan->scenarios[c]);
  }
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
      const struct lb_cell_sum *cell = t->columns[c].shown ? screen_cell(t->grid, c, r) : NULL;
      if (!cell) continue;
      bool lost = screen_lost(cell), bad = cell->violated && !lost;
      seen |= (lost ? 1u << LB_VIOLATED : bad ? 0 : 1u << cell->verdict) | (cell->undecided ? 1u << LB_UNDECIDED : 0);
      damaged |= bad;
      fenced |= is_fenced(t, c, r);
      marked |= is_unexpected(t, c, r);
    }
  }
  ret[0] = '\0';
  if (t->speed)
    n += (size_t)snprintf(ret, size, "number: %s/s with the most clients",
                          !t->meet    ? "grants"
                          : !t->apart ? "hand-offs"
                                      : "hand-offs (own lock: grants)");
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
    fprintf(out, "not shown: %zu of %zu scenarios, %zu of %zu systems, those that lost least\n",
            t->column_count - columns, t->column_count, t->row_count - rows, t->row_count);
}

/* Rows are systems, columns are scenarios, with a legend below: at most so many lines. */
static void screen_table(const struct lb_screen_grid *grid, size_t lines, size_t width, FILE *out) {
  struct table t = {.grid = grid};
  find_lines(&t);
  put_table(&t, lines, width, out);
  free(t.columns);
  free(t.rows);
}

enum { NAMES_SHOWN = 4 };

static bool is_lock(const struct lb_cell *cell) {
  return cell->own || (cell->topology && cell->topology->data_count > 0);
}

static bool is_decided(const struct lb_cell_sum *cell) { return lb_cell_sum_decided(cell) > 0; }

struct count {
  int asked, lost, stood; /* scenarios that were decided; of these lost; of these stuck or late */
  bool failover;          /* one was lost in a failover */
};

static bool has_failover(const struct lb_scenario *scenario) {
  for (size_t i = 0; i < scenario->step_count; i++)
    if (strstr(scenario->steps[i].text, "await failover")) return true;
  return false;
}

/* Nothing is asked of what is no lock. */
static struct count count_of(const struct lb_screen_grid *grid, size_t system) {
  struct count count = {0};
  for (size_t s = 0; s < grid->tally->plan->scenario_count; s++) {
    const struct lb_cell_sum *cell = screen_cell(grid, s, system);
    if (!cell || !is_lock(cell->cell) || !is_decided(cell)) continue;
    count.asked++;
    count.lost += screen_lost(cell);
    count.stood += cell->verdict == LB_STUCK || cell->verdict == LB_DELAYED;
    count.failover |= screen_lost(cell) && has_failover(cell->cell->scenario);
  }
  return count;
}

/* ---- the sentences --------------------------------------------------------------------------- */

static void add_failovers(const struct lb_screen_grid *grid, struct lb_text *text) {
  size_t named = 0, all = 0;
  for (size_t i = 0; i < grid->systems_count; i++) {
    if (!count_of(grid, i).failover || all++ >= NAMES_SHOWN) continue;
    lb_text_add(text, "%s%s", named++ ? ", " : " A failover lost a held lock on ", grid->systems[i]);
  }
  if (all > named) lb_text_add(text, " and %zu more", all - named);
  if (named) lb_text_add(text, ".");
}

static void say_lost(const struct lb_screen_grid *grid, struct lb_text *text) {
  size_t locks = 0, lost = 0, named = 0;
  for (size_t i = 0; i < grid->systems_count; i++) {
    struct count count = count_of(grid, i);
    locks += count.asked > 0;
    lost += count.lost > 0;
  }
  if (!locks) return;
  if (!lost) return lb_text_add(text, "None of %zu lock%s lost exclusion.", locks, locks == 1 ? "" : "s");
  lb_text_add(text, "%zu of %zu locks lost exclusion in some scenarios: ", lost, locks);
  for (size_t i = 0; i < grid->systems_count && named < NAMES_SHOWN; i++) {
    struct count count = count_of(grid, i);
    if (count.lost)
      lb_text_add(text, "%s%s in %d of %d", named++ ? ", " : "", grid->systems[i], count.lost, count.asked);
  }
  if (lost > named) lb_text_add(text, " and %zu more", lost - named);
  lb_text_add(text, ".");
  add_failovers(grid, text);
}

static void say_kept(const struct lb_screen_grid *grid, struct lb_text *text) {
  size_t named = 0, kept = 0;
  for (size_t i = 0; i < grid->systems_count; i++) {
    struct count count = count_of(grid, i);
    if (!count.asked || count.lost || kept++ >= NAMES_SHOWN) continue;
    lb_text_add(text, "%s%s in %d scenario%s", named++ ? ", " : "Exclusion was kept by ", grid->systems[i], count.asked,
                count.asked == 1 ? "" : "s");
    if (count.stood) lb_text_add(text, " (stuck or late in %d)", count.stood);
  }
  if (kept > named) lb_text_add(text, " and %zu more", kept - named);
  lb_text_add(text, kept ? ". That is no proof: " : "What is `ok` is no proof: ");
  lb_text_add(text, "few trials of each fault were run, and other timings were not tried.");
}

struct guarded {
  int lost, kept; /* cells that lost exclusion without the guard; of these the data was right with it */
  const struct lb_cell_sum *damaged; /* one of which it was not */
};

static struct guarded guarded_by(const struct lb_screen_grid *grid, enum lb_guard guard) {
  struct guarded g = {0};
  for (size_t s = 0; s < grid->tally->plan->scenario_count; s++) {
    for (size_t i = 0; i < grid->systems_count; i++) {
      const struct lb_cell_sum *bare = screen_at(grid, s, i, LB_GUARD_NONE), *cell = screen_at(grid, s, i, guard);
      if (!bare || !cell || !is_lock(cell->cell) || !bare->violated || !is_decided(cell)) continue;
      g.lost++;
      if (!cell->violated) g.kept++;
      else if (!g.damaged) g.damaged = cell;
    }
  }
  return g;
}

static void say_guards(const struct lb_screen_grid *grid, struct lb_text *text) {
  const struct lb_cell_sum *damaged = NULL;
  for (int guard = LB_GUARD_NONE + 1; guard < LB_GUARD_COUNT; guard++) {
    struct guarded g = guarded_by(grid, (enum lb_guard)guard);
    if (!g.lost) continue;
    lb_text_add(text, "%s%s in %d of %d", text->length ? ", " : "Where exclusion was lost, the data stayed right with ",
                lb_guard_name((enum lb_guard)guard), g.kept, g.lost);
    if (guard == LB_GUARD_FENCE) damaged = g.damaged;
  }
  if (text->length) lb_text_add(text, ".");
  if (!damaged) return;
  lb_text_add(text, " The fence failed in %s on %s", damaged->cell->scenario->name, damaged->cell->system);
  lb_text_add(text, damaged->sum.token_regressions > 0 ? ": the later holder's number was not larger." : ".");
}

/* Which locks lost exclusion (0), which kept it (1), what a guard changed (2). "" = nothing to say; false behind the
 * last. */
static bool say_sentence(const struct lb_screen_grid *grid, size_t index, char *ret, size_t size) {
  static void (*const say[])(const struct lb_screen_grid *, struct lb_text *) = {say_lost, say_kept, say_guards};
  struct lb_text text = {ret, size, 0};
  ret[0] = '\0';
  if (index >= sizeof say / sizeof *say) return false;
  say[index](grid, &text);
  return true;
}

/* The cell whose history is worth reading first: an unexpected one, else one that a failover has lost, else any that
 * was lost. */
static const struct lb_cell *most_telling(const struct lb_tally *tally) {
  const struct lb_cell *best = NULL;
  int most = 0;
  for (size_t i = 0; i < tally->plan->cell_count; i++) {
    const struct lb_cell_sum *cell = &tally->cells[i];
    int worth = cell->trials == 0                         ? 0
                : lb_cell_sum_as_expected(cell) == 0      ? 4
                : !cell->violated || !is_lock(cell->cell) ? 0
                : has_failover(cell->cell->scenario)      ? 3
                                                          : 2;
    if (worth > most) most = worth, best = cell->cell;
  }
  return best;
}

/* ---- the screen ----------------------------------------------------------------------------------- */

/* Lines: of all together there are LB_SCREEN_LINES, and the table needs some. */
enum { VERDICT_LINES = 2, REMARK_LINES = 3 };
static const size_t sentence_lines[] = {3, 2, 2};

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static size_t lines_in(const char *text) {
  size_t lines = 0;
  for (; (text = strchr(text, '\n')); text++) lines++;
  return lines;
}

static void put_line(const char *line, size_t length, bool cut, size_t width, FILE *out) {
  if (length > width) cut = true;
  if (cut && length + 3 > width) length = width - 3;
  fprintf(out, "%.*s%s\n", (int)length, line, cut ? "..." : "");
}

/* At most so many lines of a text; what is longer ends with dots. */
static void put_text(const char *text, size_t lines, size_t width, FILE *out) {
  char *wrapped = NULL;
  size_t size;
  FILE *all = lb_need(open_memstream(&wrapped, &size));
  lb_display_wrap_at(text, width, 0, 2, all);
  fclose(all);
  for (const char *at = wrapped, *end; lines > 0 && (end = strchr(at, '\n')); at = end + 1, lines--)
    put_line(at, (size_t)(end - at), lines == 1 && end[1], width, out);
  free(wrapped);
}

/* ---- above the table ------------------------------------------------------------------------- */

/* Unexpected verdicts come first, then undecided and skipped cells. One alone has the room of all, several are cut to a
 * line each. */
static void put_remarks(const struct lb_tally *tally, size_t width, FILE *out) {
  char *text = NULL;
  size_t size, shown = 0;
  FILE *lines = lb_need(open_memstream(&text, &size));
  lb_display_remarks(tally, lines);
  fclose(lines);
  size_t all = lines_in(text);
  if (all == 1) put_text(text, REMARK_LINES, width, out);
  for (const char *at = text, *end; all > 1 && (end = strchr(at, '\n')) && shown < REMARK_LINES; at = end + 1, shown++)
    put_line(at, (size_t)(end - at), false, width, out);
  if (all > 1 && all > shown) fprintf(out, "  and %zu more of these: the report has all, and so has -v\n", all - shown);
  free(text);
}

static void put_unpredicted(const struct lb_tally *tally, size_t width, FILE *out) {
  char *text = NULL;
  size_t size;
  FILE *lines = lb_need(open_memstream(&text, &size));
  lb_display_unpredicted(tally, lines);
  fclose(lines);
  for (const char *at = text, *end; (end = strchr(at, '\n')); at = end + 1)
    put_line(at, (size_t)(end - at), false, width, out);
  free(text);
}

/* ---- below it -------------------------------------------------------------------------------- */

void lb_screen_see_one(const struct lb_tally *tally, const char *dir, FILE *out) {
  const struct lb_cell *cell = most_telling(tally);
  if (!cell) return;
  fprintf(out, "See one: %s explain %s %s.%s", lb_process_called(), lb_process_from_here(dir), cell->scenario->name,
          cell->system);
  fprintf(out, cell->guard == LB_GUARD_NONE ? "\n" : ".%s\n", lb_guard_name(cell->guard));
}

static void put_next(const struct lb_screen *screen, FILE *out) {
  lb_screen_see_one(screen->tally, screen->dir, out);
  if (*screen->longer) fprintf(out, "%s\n", screen->longer);
}

static char *above(const struct lb_screen *screen, size_t width) {
  char *text = NULL;
  size_t size;
  FILE *out = lb_need(open_memstream(&text, &size));
  put_text(screen->verdict, VERDICT_LINES, width, out);
  put_unpredicted(screen->tally, width, out);
  put_remarks(screen->tally, width, out);
  fclose(out);
  return text;
}

static char *below(const struct lb_screen *screen, const struct lb_screen_grid *grid, size_t width) {
  char *text = NULL, sentence[4000];
  size_t size;
  FILE *out = lb_need(open_memstream(&text, &size));
  for (size_t i = 0; say_sentence(grid, i, sentence, sizeof sentence); i++)
    if (*sentence) put_text(sentence, sentence_lines[i], width, out);
  put_next(screen, out);
  fclose(out);
  return text;
}

void lb_screen_print(const struct lb_screen *screen, FILE *out) {
  struct lb_screen_grid grid = {0};
  size_t width = least(lb_display_width(out), LB_SCREEN_COLUMNS);
  screen_grid_begin(screen->tally, &grid);
  char *first = above(screen, width), *last = below(screen, &grid, width);
  size_t used = screen->after + lines_in(first) + lines_in(last);
  fputs(first, out);
  screen_table(&grid, used < LB_SCREEN_LINES ? LB_SCREEN_LINES - used : 0, width, out);
  fputs(last, out);
  free(first);
  free(last);
  screen_grid_end(&grid);
}
