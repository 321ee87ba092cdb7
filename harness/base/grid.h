/* SPDX-License-Identifier: MIT
 *
 * grid.h - a table of texts whose columns are as wide as their widest text. A name that is longer than
 * somebody thought makes its column wider, in every row, and never shifts the rest of its own.
 */
#ifndef LB_GRID_H
#define LB_GRID_H

#include <stdio.h>

#define LB_GRID_COLUMNS_MAX 16

struct lb_grid {
  const char *align; /* a letter for each column: 'l' or 'r' */
  char **text;       /* row by row, owned */
  size_t count, room;
};

/* `align` is borrowed; at most LB_GRID_COLUMNS_MAX letters. */
void lb_grid_begin(struct lb_grid *grid, const char *align);
/* The next field: columns from left to right, then the next row. ASCII: bytes are columns. Ends the
 * process if there is no memory. */
void lb_grid_add(struct lb_grid *grid, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Writes all whole rows, one blank between columns, none at the end of a line, and takes the texts away. */
void lb_grid_end(struct lb_grid *grid, FILE *out);

#endif
