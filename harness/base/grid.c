/* SPDX-License-Identifier: MIT */
#include "grid.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void lb_grid_begin(struct lb_grid *grid, const char *align) { *grid = (struct lb_grid){.align = align}; }

void lb_grid_add(struct lb_grid *grid, const char *format, ...) {
  if (grid->count == grid->room) {
    grid->room = grid->room ? 2 * grid->room : 64;
    grid->text = realloc(grid->text, grid->room * sizeof *grid->text);
    if (!grid->text) abort();
  }
  va_list args;
  va_start(args, format);
  if (vasprintf(&grid->text[grid->count++], format, args) < 0) abort();
  va_end(args);
}

/* Blanks are owed until a text comes, so that no line ends with them. */
static void print_row(const struct lb_grid *grid, char *const *row, const size_t *width, FILE *out) {
  size_t owed = 0;
  for (size_t c = 0; grid->align[c]; c++) {
    size_t length = strlen(row[c]), pad = width[c] - length;
    if (length == 0) {
      owed += width[c] + 1;
      continue;
    }
    fprintf(out, "%*s%s", (int)(owed + (grid->align[c] == 'r' ? pad : 0)), "", row[c]);
    owed = (grid->align[c] == 'r' ? 0 : pad) + 1;
  }
  putc('\n', out);
}

void lb_grid_end(struct lb_grid *grid, FILE *out) {
  size_t columns = strlen(grid->align), rows = grid->count / columns, width[LB_GRID_COLUMNS_MAX] = {0};
  for (size_t i = 0; i < rows * columns; i++)
    if (strlen(grid->text[i]) > width[i % columns]) width[i % columns] = strlen(grid->text[i]);
  for (size_t r = 0; r < rows; r++) print_row(grid, grid->text + r * columns, width, out);
  for (size_t i = 0; i < grid->count; i++) free(grid->text[i]);
  free(grid->text);
  *grid = (struct lb_grid){0};
}
