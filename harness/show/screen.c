/* SPDX-License-Identifier: MIT
 *
 * One screen for a run of many cells. What stands above and below the table is written first, so that the table
 * (screen_table.c) can take the lines that are left. The sentences are about locks that have servers: a mutex and the
 * liar are controls of the harness.
 */
#include "screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/called.h"
#include "base/text.h"
#include "display.h"

enum { NAMES_SHOWN = 4 };

static bool is_lock(const struct lb_cell *cell) {
  return cell->own || (cell->topology && cell->topology->data_count > 0);
}

static bool is_decided(const struct lb_cell_sum *cell) { return lb_cell_decided(cell) > 0; }

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
    const struct lb_cell_sum *cell = lb_screen_cell(grid, s, system);
    if (!cell || !is_lock(cell->cell) || !is_decided(cell)) continue;
    count.asked++;
    count.lost += lb_screen_lost(cell);
    count.stood += cell->verdict == LB_STUCK || cell->verdict == LB_DELAYED;
    count.failover |= lb_screen_lost(cell) && has_failover(cell->cell->scenario);
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
      const struct lb_cell_sum *bare = lb_screen_at(grid, s, i, LB_GUARD_NONE), *cell = lb_screen_at(grid, s, i, guard);
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
                : lb_cell_as_expected(cell) == 0          ? 4
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
  FILE *all = open_memstream(&wrapped, &size);
  if (!all) return;
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
  FILE *lines = open_memstream(&text, &size);
  if (!lines) return;
  lb_print_remarks(tally, lines);
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
  FILE *lines = open_memstream(&text, &size);
  if (!lines) return;
  lb_print_unpredicted(tally, lines);
  fclose(lines);
  for (const char *at = text, *end; (end = strchr(at, '\n')); at = end + 1)
    put_line(at, (size_t)(end - at), false, width, out);
  free(text);
}

/* ---- below it -------------------------------------------------------------------------------- */

void lb_print_see_one(const struct lb_tally *tally, const char *dir, FILE *out) {
  const struct lb_cell *cell = most_telling(tally);
  if (!cell) return;
  fprintf(out, "See one: %s explain %s %s.%s", lb_called(), lb_from_here(dir), cell->scenario->name, cell->system);
  fprintf(out, cell->guard == LB_GUARD_NONE ? "\n" : ".%s\n", lb_guard_name(cell->guard));
}

static void put_next(const struct lb_screen *screen, FILE *out) {
  lb_print_see_one(screen->tally, screen->dir, out);
  if (*screen->longer) fprintf(out, "%s\n", screen->longer);
}

static char *above(const struct lb_screen *screen, size_t width) {
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  if (!out) return NULL;
  put_text(screen->verdict, VERDICT_LINES, width, out);
  put_unpredicted(screen->tally, width, out);
  put_remarks(screen->tally, width, out);
  fclose(out);
  return text;
}

static char *below(const struct lb_screen *screen, const struct lb_screen_grid *grid, size_t width) {
  char *text = NULL, sentence[4000];
  size_t size;
  FILE *out = open_memstream(&text, &size);
  if (!out) return NULL;
  for (size_t i = 0; say_sentence(grid, i, sentence, sizeof sentence); i++)
    if (*sentence) put_text(sentence, sentence_lines[i], width, out);
  put_next(screen, out);
  fclose(out);
  return text;
}

void lb_print_screen(const struct lb_screen *screen, FILE *out) {
  struct lb_screen_grid grid = {0};
  size_t width = least(lb_display_width(out), LB_SCREEN_COLUMNS);
  int r = lb_screen_grid_begin(screen->tally, &grid);
  char *first = r == 0 ? above(screen, width) : NULL, *last = r == 0 ? below(screen, &grid, width) : NULL;
  if (first && last) {
    size_t used = screen->after + lines_in(first) + lines_in(last);
    fputs(first, out);
    lb_screen_table(&grid, used < LB_SCREEN_LINES ? LB_SCREEN_LINES - used : 0, width, out);
    fputs(last, out);
  } else {
    fprintf(out, "%s\nno table: out of memory\n", screen->verdict);
  }
  free(first);
  free(last);
  lb_screen_grid_end(&grid);
}
