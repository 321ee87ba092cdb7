/* SPDX-License-Identifier: MIT
 *
 * What stands above and below the table is written first, so that the table can take the lines that are left.
 */
#include "screen.h"

#include <stdlib.h>
#include <string.h>

#include "base/called.h"
#include "display.h"
#include "display_parts.h"
#include "screen_parts.h"

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

/* Unexpected verdicts come first, then undecided and skipped cells. One alone has the room of all, several are cut to a line each. */
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
  for (const char *at = text, *end; (end = strchr(at, '\n')); at = end + 1) put_line(at, (size_t)(end - at), false, width, out);
  free(text);
}

/* ---- below it -------------------------------------------------------------------------------- */

void lb_print_see_one(const struct lb_tally *tally, const char *dir, FILE *out) {
  const struct lb_cell *cell = lb_screen_most_telling(tally);
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
  for (size_t i = 0; lb_screen_sentence(grid, i, sentence, sizeof sentence); i++)
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
