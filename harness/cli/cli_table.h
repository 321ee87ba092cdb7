/* SPDX-License-Identifier: MIT
 *
 * cli_table.h - the whole table before anything has run: every scenario on some systems. Of the commands that say what is expected.
 */
#ifndef LB_CLI_TABLE_H
#define LB_CLI_TABLE_H

#include "run/plan.h"

/* The systems of the table where nobody names any. */
#define LB_TABLE_SYSTEMS "all,libraries,museum"
enum { LB_TABLE_COLUMNS = 100 }; /* of what these commands print for people */

struct lb_table {
  const char *systems; /* as of -b, groups among them */
  unsigned guards;     /* a bit each: these, also where a guard has nothing to stop; 0 = those that a suite would play */
  /* Called with the plan of each scenario. It may keep the plan: it copies it and leaves a zeroed one. Not 0 ends the walk. */
  int (*visit)(void *data, struct lb_plan *plan);
  void *data;
};
/* All scenarios in the order of their files. 0, what `visit` returned, or an exit code after one line on stderr. */
int lb_table_walk(const struct lb_table *table);
/* What is said of a cell before it runs, with static or borrowed texts: an exception of its file, else what the rules say, also of the user's own. LB_NA: it means nothing
 * there, and `source` says who says so. On servers of the user's own a fault that lockbench does not put there is predicted all the same. */
struct lb_told {
  enum lb_verdict verdict; /* LB_VERDICT_NONE: nobody says anything */
  const char *reason;
  const char *source; /* the attack of a rule, "guards", "exception", "fit"; NULL = none */
  const struct lb_rule *rule; /* NULL = none, or it is not the source */
};
struct lb_told lb_table_told(const struct lb_cell *cell);
/* Text in lines of LB_TABLE_COLUMNS, all of them behind `indent` blanks but the first, which is printed behind `at` columns that stand there. Ends the line. */
void lb_table_wrap(const char *text, size_t at, size_t indent);

#endif
