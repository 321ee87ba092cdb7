/* SPDX-License-Identifier: MIT
 *
 * compare.h - two runs, or the variants of a scenario in one: what differs in speed, and how sure
 * that is.
 */
#ifndef LB_COMPARE_H
#define LB_COMPARE_H

#include "base/interval.h"
#include "compare_run.h"

/* Of B, beside A: by the interval of the ratio alone. */
enum lb_difference {
  LB_DIFFERENCE_NONE, /* cannot be told apart: the interval has 1 in it */
  LB_DIFFERENCE_FASTER,
  LB_DIFFERENCE_SLOWER,
  LB_DIFFERENCE_UNKNOWN, /* too few repeats (base/interval.h), or a value of 0 */
  LB_DIFFERENCE_COUNT,
};
/* "same", "faster", "slower", "unknown". */
const char *lb_difference_name(enum lb_difference difference);

struct lb_compared { /* a metric of a cell with one number of clients */
  const struct lb_run_trial *a, *b; /* the first trial of each: they say which cell */
  const struct lb_counter *metric;
  double a_median, b_median;
  size_t a_repeats, b_repeats;
  bool paired; /* the ratio is the median of those of the pairs, which were measured one after the other */
  struct lb_ratio ratio;
  enum lb_difference difference;
};

struct lb_remarks { /* lines */
  char **line;      /* owned */
  size_t count;
};

struct lb_comparison {
  struct lb_compared *row; /* in the order of B, the metrics of a cell together */
  size_t count;
  size_t differences[LB_DIFFERENCE_COUNT]; /* how many rows are of each */
  /* What of machine and settings is not the same, "machine.cpu: X in A, Y in B". Not what a run
   * varied on purpose. */
  struct lb_remarks differs;
  /* Cells of B that are not compared, and why. */
  struct lb_remarks left_out;
};

/* Compares what B measured with the same cell of A. Only trials that were decided safe count: what
 * did not exclude has no speed. If `a` and `b` are the same, each variant of a scenario is compared
 * with the first one of that scenario. Trials of the same round are a pair: those with the same
 * number in one run, or in two that are rounds in turn. Both have to live as long as *ret. 0 (release with
 * lb_comparison_clear()) or -ENOMEM. */
int lb_compare(const struct lb_run *a, const struct lb_run *b, struct lb_comparison *ret);
void lb_comparison_clear(struct lb_comparison *comparison);

#endif
