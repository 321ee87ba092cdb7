/* SPDX-License-Identifier: MIT
 *
 * baseline.h - what an earlier `judge` of a lock had found, from its results folder or its JUnit file, and whether a
 * later one is worse.
 */
#ifndef LB_BASELINE_H
#define LB_BASELINE_H

#include "base/error.h"
#include "tally.h"

struct lb_baseline;
struct lb_judging;

/* Reads it. `path` must outlive it. NULL with one line in err. Lives as long as the process. */
const struct lb_baseline *lb_baseline_load(const char *path, struct lb_error *err);
const char *lb_baseline_path(const struct lb_baseline *baseline);
/* False, with one line in err: it has none of the questions of this plan. */
bool lb_baseline_fits(const struct lb_baseline *baseline, const struct lb_plan *plan, struct lb_error *err);

/* What a cell is beside the baseline. */
enum lb_versus {
  LB_VERSUS_NONE,  /* not compared: a guard, a race, which may come out either way, or not played yet */
  LB_VERSUS_AS_IT, /* no worse */
  LB_VERSUS_WORSE, /* stuck or violated now, and better there or not there */
  LB_VERSUS_OPEN,  /* undecided now, and decided there */
  LB_VERSUS_AWAY,  /* skipped on this machine, and decided there */
};
enum lb_versus lb_baseline_versus(const struct lb_baseline *baseline, const struct lb_cell_sum *cell);
/* Whether a statement of the contract failed there, too. `check`: of struct lb_judging. */
bool lb_baseline_failed(const struct lb_baseline *baseline, const char *check, const char *statement);

/* The next question, from *at on, that has an answer there and is not in this plan, which is judged: its servers are not
 * on this machine any more, or its scenario is gone. `ret_system`: of whom it was asked. Both live as long as the
 * baseline. NULL: there is none left. */
const char *lb_baseline_gone(const struct lb_baseline *baseline, const struct lb_plan *plan, size_t *at,
                             const char **ret_system);

struct lb_worse {
  int count, open, away; /* cells of that outcome; failed statements are in count, questions that are gone in away */
  char first[200], first_open[120], first_away[380];
};
void lb_baseline_compare(const struct lb_baseline *baseline, const struct lb_tally *tally,
                         const struct lb_judging *judging, struct lb_worse *ret);

#endif
