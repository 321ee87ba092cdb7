/* SPDX-License-Identifier: MIT
 *
 * compare_parts.h - what compare*.c share.
 */
#ifndef LB_COMPARE_PARTS_H
#define LB_COMPARE_PARTS_H

#include "compare.h"

/* Adds a line, unless it is there. Ends the process when memory is exhausted. */
void lb_remark(struct lb_remarks *remarks, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Of two runs, what differs for the rows that are there: machine, versions of servers, and whatever
 * else the runs say of themselves as a whole. Added to c->differs. */
void lb_compare_runs(const struct lb_run *a, const struct lb_run *b, struct lb_comparison *c);
/* Of two cells: their scenarios as they were run, and the options of the protocol, but for what the
 * scenarios say that they vary. */
void lb_compare_cells(const struct lb_run *a, const struct lb_run_trial *a_cell, const struct lb_run *b, const struct lb_run_trial *b_cell,
                      struct lb_remarks *ret);

#endif
