/* SPDX-License-Identifier: MIT
 *
 * conform_outcome.h - from how the process of a statement ended to whether the statement holds.
 * Private to conform*.c.
 */
#ifndef LB_CONFORM_OUTCOME_H
#define LB_CONFORM_OUTCOME_H

#include "conform_parts.h"

/* How the process of a statement ended. */
struct lb_conform_end {
  const struct lb_conform_shared *shared; /* what it left in memory */
  const char *output;                     /* path of what it printed */
  int64_t limit_ms;                       /* how long it was given */
  bool in_time;                           /* false = it was killed for taking longer */
  int status;                             /* of waitpid() */
  const struct lb_flaw *flaw;             /* declared in this statement; NULL = none */
};

/* Sets whether it holds, and if not, why and what it printed: a declared flaw holds if the statement
 * fails. result->why is empty before. */
void lb_conform_judge(const struct lb_conform_end *end, struct lb_conform_result *result);

#endif
