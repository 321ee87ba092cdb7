/* SPDX-License-Identifier: MIT
 *
 * interval.h - how sure a figure is: 95 % confidence intervals for a share of trials and for a rate of
 * events, and 99 % ones for a ratio of medians. Pure functions.
 */
#ifndef LB_INTERVAL_H
#define LB_INTERVAL_H

#include <stddef.h>
#include <stdint.h>

/* The bound after 0 events in n trials: the one-sided upper bound 1 - 0.05^(1/n) (the "rule of three"), which "safe"
 * quotes. */
double lb_interval_upper95_zero(uint64_t n);

/* What a trial adds to a rate: events, and what they could have happened in (faults, hours,
 * hand-offs). A trial without exposure adds nothing. */
struct lb_part {
  double events, exposure;
};
/* Without exposure nothing is known: value NAN, low 0, high the largest that could be (1 of a share,
 * else INFINITY); NAN and INFINITY must not reach a file, so look at the exposure first. */
struct lb_rate {
  double value, low, high;
};

/* An interval from fewer trials does not show how trials differ. It is not shown for many events, and not compared. */
enum { LB_LEAST_TRIALS = 2 };

/* The share of the exposure in which something happened: events <= exposure in each trial.
 *
 * This interval and that of lb_rate_per() allow for trials that differ by more than chance. Trials have to be
 * independent; events within a trial need not be. One trial says nothing of that: the interval is then the one of
 * independent events. Without an event low = 0, and high is the one-sided 95 % bound of independent events, that of
 * lb_interval_upper95_zero(). */
struct lb_rate lb_rate_share(const struct lb_part *trial, size_t count);
/* Events per `per` units of exposure, as in "violations per 1000 hand-offs". */
struct lb_rate lb_rate_per(const struct lb_part *trial, size_t count, double per);

/* ---- how many times as large one median is as another
 *
 * The values are those of repeats: whole trials with servers of their own. Repeats are what is drawn
 * again, never operations, for those of one trial share its luck. What both sides have in common, or
 * what has changed between two runs beside what was meant to, no interval can know. */

/* The median of at least one value; of an even number the mean of the two in the middle. It sorts `values`. */
double lb_interval_median(double *values, size_t count);

#endif
