/* SPDX-License-Identifier: MIT
 *
 * screen_parts.h - the parts of one screen. Private to screen*.c.
 */
#ifndef LB_SCREEN_PARTS_H
#define LB_SCREEN_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "run/tally.h"

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
const struct lb_cell_sum *lb_screen_at(const struct lb_screen_grid *grid, size_t scenario, size_t system, enum lb_guard guard);
/* The cell that stands for this scenario and system in the table: without a guard, else the first one. NULL = there is none. */
const struct lb_cell_sum *lb_screen_cell(const struct lb_screen_grid *grid, size_t scenario, size_t system);
/* It is violated, and two held at once. Else what is violated did damage, or numbers repeated. */
bool lb_screen_lost(const struct lb_cell_sum *cell);
/* Rows are systems, columns are scenarios, with a legend below: at most so many lines. */
void lb_screen_table(const struct lb_screen_grid *grid, size_t lines, size_t width, FILE *out);
/* Which locks lost exclusion (0), which kept it (1), what a guard changed (2). "" = nothing to say; false behind the last. */
bool lb_screen_sentence(const struct lb_screen_grid *grid, size_t index, char *ret, size_t size);
/* The cell whose history is worth reading first: an unexpected one, else one that a failover has lost, else any that was lost. */
const struct lb_cell *lb_screen_most_telling(const struct lb_tally *tally);

#endif
