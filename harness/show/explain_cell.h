/* SPDX-License-Identifier: MIT
 *
 * explain_cell.h - which cell of a run is meant by a few words.
 */
#ifndef LB_EXPLAIN_CELL_H
#define LB_EXPLAIN_CELL_H

#include <jansson.h>

#include "base/error.h"

enum { LB_CELL_NAME_MAX = 200 };

/* Gives the cells of a run.json all their members: what a cell of a published run lacks is in `usual`, by its verdict. */
void lb_explain_fill_cells(json_t *run);

/* "scenario.system.guard", without the guard if it is `none`. */
void lb_explain_cell_name(const json_t *cell, char ret[LB_CELL_NAME_MAX]);

/* The one of `cells` (a list, as in run.json) that the words name, borrowed. They name it by its whole name, or by
 * parts of it: scenario, system, protocol or guard, each a word of its own or joined by dots. No other cell may have
 * all these parts, unless it is n/a. Without words it is the first that was violated. NULL with one line in err, which
 * lists the cells that have them, as many as fit, or says what might be meant. */
const json_t *lb_explain_cell_named(const json_t *cells, const char *const *words, int count, struct lb_error *err);

#endif
