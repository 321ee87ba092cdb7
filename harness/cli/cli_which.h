/* SPDX-License-Identifier: MIT
 *
 * cli_which.h - what `lockbench which` says of one cell and of one system beside its verdicts.
 */
#ifndef LB_CLI_WHICH_H
#define LB_CLI_WHICH_H

#include <jansson.h>

#include "run/plan.h"

/* Whether a lock gets over it: safe, or by its facts the attack takes nothing from it. Too few servers for the attack is no such fact. Where n/a says that the guard is not put
 * to the test there, the rules behind that one decide; where a step cannot be done to this lock, the rules decide alone. A guard that the lock has not got saves nothing. */
bool lb_which_survives(const struct lb_cell *cell);
/* The single facts of the lock or its servers with which it would survive this cell: [{fact, now, value, verdict, reason}], those that make it safe or, if there are none,
 * those that make it n/a. Empty where not a rule says what becomes of the cell. A new reference. */
json_t *lb_which_changes(const struct lb_cell *cell);
/* What it cost in a reference run, medians of `contention` without a guard: {run, grants_per_s_1, grants_per_s_16, handoff_us_16}, what was not measured null; or null. A
 * new reference. */
json_t *lb_which_cost(const char *system);
/* Lets go of the runs that lb_which_cost() has read. */
void lb_which_cost_end(void);
/* The answer, for people (cli_which.c). Marks in it which systems it has told. */
void lb_which_tell(const json_t *answer);

#endif
