/* SPDX-License-Identifier: MIT
 *
 * bootstrap.h - how many times as large one median is as another, and how sure that is. Pure
 * functions.
 *
 * The values are those of repeats: whole trials with servers of their own. Repeats are what is drawn
 * again, never operations, for those of one trial share its luck. What both sides have in common, or
 * what has changed between two runs beside what was meant to, no interval can know.
 */
#ifndef LB_BOOTSTRAP_H
#define LB_BOOTSTRAP_H

#include <stddef.h>

/* Fewer repeats than these on one side say nothing: all of 3 lie above all of 3 others in one of 20
 * draws from the same urn. */
#define LB_RATIO_REPEATS 5
#define LB_RATIO_PERCENT 99 /* of the interval */

struct lb_ratio {
  double value, low, high; /* low and high are NAN with too few repeats */
};

/* Of at least one value; the mean of the two in the middle where their number is even. `values` is
 * sorted by it. */
double lb_median(double *values, size_t count);
/* The median of b over that of a, with its interval. Both have at least one value; both are sorted by
 * it. The same values give the same interval. 0; -ERANGE if one of the values is not above 0: then
 * there is no ratio; -ENOMEM. */
int lb_ratio_of_medians(double *a, size_t a_count, double *b, size_t b_count, struct lb_ratio *ret);

/* The median of b[i] / a[i], with its interval: where each pair was measured in the same minutes, so that what slowed one side
 * slowed the other. At least one pair. The same pairs give the same interval, in whichever order. 0; -ERANGE as above; -ENOMEM. */
int lb_ratio_of_pairs(const double *a, const double *b, size_t count, struct lb_ratio *ret);

#endif
