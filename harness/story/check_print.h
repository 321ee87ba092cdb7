/* SPDX-License-Identifier: MIT
 *
 * check_print.h - what the checker found, as text for people and as JSON.
 */
#ifndef LB_CHECK_PRINT_H
#define LB_CHECK_PRINT_H

#include <jansson.h>
#include <stdio.h>

#include "check/check.h"
#include "history/history.h"

/* One line: the verdict, why, and what was found: "violated: ...", "undecided: ...", "safe: ...". */
void lb_check_print_verdict(const struct lb_check *check, bool past_lease, FILE *out);
/* Text for humans: first that line, then the counts, then each episode (at most max_episodes):
 * clients, interval, the events around it. */
void lb_check_print(const struct lb_history *history, const struct lb_check *check, bool past_lease,
                    size_t max_episodes, FILE *out);

/* As JSON: what `check --json` prints (its members are in results/SCHEMA.md). Released with json_decref(); NULL = no
 * memory. */
json_t *lb_check_json(const struct lb_history *history, const struct lb_check *check, bool past_lease);

#endif
