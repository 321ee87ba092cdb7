/* SPDX-License-Identifier: MIT
 *
 * cli_table.h - the whole table before anything has run, every scenario on some systems, and what is said of a cell of
 * it: shared by `theory`, `predict`, `which` and `list expectations`.
 */
#ifndef LB_CLI_TABLE_H
#define LB_CLI_TABLE_H

#include <jansson.h>

#include "show/explain_run.h"
#include "cli.h"
#include "plan/plan.h"
#include "plan/system.h"

/* The systems of the table without -b. */
#define LB_TABLE_SYSTEMS "all,libraries,museum"
enum { LB_TABLE_COLUMNS = 100 }; /* of what these commands print for people */

struct lb_table {
  const char *systems; /* as of -b, groups among them */
  unsigned guards; /* a bit each: these, also where a guard has nothing to stop; 0 = those that a suite would play */
  /* Called with the plan of each scenario. It may keep the plan: it copies it and leaves a zeroed one. Not 0 ends the
   * walk. */
  int (*visit)(void *data, struct lb_plan *plan);
  void *data;
};
/* All scenarios in the order of their files. 0, what `visit` returned, or an exit code after one line on stderr. */
int lb_table_walk(const struct lb_table *table);
/* What is said of a cell before it runs, with static or borrowed texts: an exception of its file, else what the rules
 * say, also of the user's own. LB_NA: it means nothing there, and `source` says who says so. On servers of the user's
 * own a fault that lockbench does not put there is predicted all the same. */
struct lb_told {
  enum lb_verdict verdict; /* LB_VERDICT_NONE: there is no prediction */
  const char *reason;
  const char *source;         /* the attack of a rule, "guards", "exception", "fit"; NULL = none */
  const struct lb_rule *rule; /* NULL = none, or it is not the source */
};
struct lb_told lb_table_told(const struct lb_cell *cell);
/* Text in lines of LB_TABLE_COLUMNS, all of them behind `indent` blanks but the first, which is printed behind `at`
 * columns that stand there. Ends the line. */
void lb_table_wrap(const char *text, size_t at, size_t indent);

/* ---- facts and rules, as JSON (cli_theory.c): new references, NULL when out of memory --------------------------- */

/* What is known of a system before any scenario: {system, facts: {NAME: VALUE}}. */
json_t *lb_cli_theory_system(const struct lb_system *system);

/* What rules say of the cells that the runs args->words have decided (cli_measured.c): {cells, by_rules, share_by_rules,
 * race, stated, rules, cells_of_one_protocol, rules_of_one_protocol: [{attack, line, text, protocols}]}. 0, or an exit
 * code after one line on stderr. */
int lb_cli_measured(const struct lb_args *args, json_t **ret);

/* ---- one cell and one system (cli_predict.c) --------------------------------------------------------------------- */

/* Whether a lock gets over it: safe, or by its facts the attack takes nothing from it. Too few servers for the attack
 * is no such fact. Where n/a says that the guard is not put to the test there, the rules behind that one decide; where
 * a step cannot be done to this lock, the rules decide alone. A guard that the lock has not got saves nothing. */
bool lb_cli_which_survives(const struct lb_cell *cell);
/* The single facts of the lock or its servers with which it would survive this cell: [{fact, now, value, verdict,
 * reason}], those that make it safe or, if there are none, those that make it n/a. Empty where not a rule says what
 * becomes of the cell. A new reference. */
json_t *lb_cli_which_changes(const struct lb_cell *cell);
/* What it cost in a reference run, medians of `contention` without a guard: {run, grants_per_s_1, grants_per_s_16,
 * handoff_us_16}, what was not measured null; or null. A new reference. */
json_t *lb_cli_which_cost(const char *system);
/* Lets go of the runs that lb_cli_which_cost() has read. */
void lb_cli_which_cost_end(void);

#endif
