/* SPDX-License-Identifier: MIT
 *
 * explain.h - a history as a story: the about ten to twenty events that made a violation, with what
 * is wrong said beside them. For readers who know neither the format nor the rules; `lockbench
 * check` has all counts and all episodes.
 */
#ifndef LB_EXPLAIN_H
#define LB_EXPLAIN_H

#include "check.h"

/* Writes the story of a sorted history and, after an empty line, what happened in a sentence or
 * two. `check` is its judgement. Times count from the first event. 0, or -ENOMEM; errors of the
 * stream are the caller's to look for. */
int lb_explain(const struct lb_history *history, const struct lb_check *check, FILE *out);

#endif
