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

struct lb_worse {
  int count, unknown; /* worse; undecided now, and decided there */
  char first[200], first_unknown[120];
};
/* Worse is what is stuck, violated or a failed statement now and was better there, or is not there. A question that
 * timing decides may come out either way. */
void lb_baseline_compare(const struct lb_baseline *baseline, const struct lb_tally *tally,
                         const struct lb_judging *judging, struct lb_worse *ret);

#endif
