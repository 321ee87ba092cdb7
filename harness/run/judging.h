/* SPDX-License-Identifier: MIT
 *
 * judging.h - what `judge` makes of the cells of a run. It asks whether one lock is safe, so expectations do not decide:
 * a violation that is expected of a lock is one all the same. What they do say is whose it is: a lock that breaks where
 * the rules let a sound lock of its kind break, on these servers, has no fault of its own there.
 */
#ifndef LB_JUDGING_H
#define LB_JUDGING_H

#include "baseline.h"
#include "exit.h"
#include "fate.h"
#include "tally.h"

enum { LB_STATEMENTS_MAX = 128 };

/* What is known beside the cells, filled before the first trial. A plan that has one is judged. */
struct lb_judging {
  const char *check; /* the command that holds it against the contract, "conform"; NULL = it was not checked */
  int statements, failed;
  struct {
    char text[100];
    bool holds;
  } statement[LB_STATEMENTS_MAX];     /* the first ones of these */
  bool chosen;                        /* the user said on which servers */
  const struct lb_baseline *baseline; /* NULL = none: what counts is whether it is safe */
};

struct lb_fates {
  int asked, broken, held, stuck, open, skipped; /* questions; held: broken, and two held at once */
  int own;                                       /* broken or stuck, and by a fault of its own */
  bool several;                                  /* topologies */
};
void lb_fates_count(const struct lb_tally *tally, struct lb_fates *ret);
/* "with a lease on redis": what it has in common with others of its kind. */
const char *lb_fates_kind(const struct lb_tally *tally, char *buf, size_t size);

/* The exit code of a plan that is judged, and the verdict as one sentence. */
enum lb_exit lb_judging_exit(const struct lb_tally *tally, char *line, size_t size);

#endif
