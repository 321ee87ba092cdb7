/* SPDX-License-Identifier: MIT
 *
 * screen.h - a run of many cells on one screen: what is wrong first, then a table of a word per cell, three
 * sentences on what it means, and what to type next. The long tables are in display.h.
 */
#ifndef LB_SCREEN_H
#define LB_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "run/tally.h"

enum { LB_SCREEN_LINES = 24, LB_SCREEN_COLUMNS = 100 };

struct lb_screen {
  const struct lb_tally *tally;
  const char *verdict; /* the first line */
  const char *dir;     /* results folder, for the command that explains a violation */
  const char *longer;  /* a suite to run next, and its time; "" = none */
  size_t after;        /* lines that the caller prints below */
};

/* At most LB_SCREEN_LINES - after lines of LB_SCREEN_COLUMNS columns, fewer on a narrow terminal. Only a path can be
 * longer. Scenarios and systems that do not fit are left out, those with the fewest losses first; how many is said. */
void lb_print_screen(const struct lb_screen *screen, FILE *out);

/* A line with the command that explains the cell whose history is worth reading first; nothing where none was lost or
 * unexpected. */
void lb_print_see_one(const struct lb_tally *tally, const char *dir, FILE *out);

/* ---- what the two files of the screen share ---- */

/* The cells of a run by scenario, system and guard: plans have tens of thousands. */
struct lb_screen_grid {
  const struct lb_tally *tally;
  const char **systems; /* each once, in the order of the plan */
  size_t systems_count;
  const struct lb_cell_sum **cells;
};

/* 0 (release with lb_screen_grid_end()) or -ENOMEM. */
int lb_screen_grid_begin(const struct lb_tally *tally, struct lb_screen_grid *ret);
void lb_screen_grid_end(struct lb_screen_grid *grid);
/* NULL = it was not asked for. */
const struct lb_cell_sum *lb_screen_at(const struct lb_screen_grid *grid, size_t scenario, size_t system,
                                       enum lb_guard guard);
/* The cell that stands for this scenario and system in the table: without a guard, else the first one. NULL = there is
 * none. */
const struct lb_cell_sum *lb_screen_cell(const struct lb_screen_grid *grid, size_t scenario, size_t system);
/* It is violated, and two held at once. Else what is violated did damage, or numbers repeated. */
bool lb_screen_lost(const struct lb_cell_sum *cell);
/* Rows are systems, columns are scenarios, with a legend below: at most so many lines. */
void lb_screen_table(const struct lb_screen_grid *grid, size_t lines, size_t width, FILE *out);

#endif
