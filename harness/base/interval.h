/* SPDX-License-Identifier: MIT
 *
 * interval.h - how sure a count is: 95 % confidence intervals for a share of trials and for a rate
 * of events. Pure functions.
 */
#ifndef LB_INTERVAL_H
#define LB_INTERVAL_H

#include <stdint.h>

/* Wilson score interval at 95 % for k of n: bounds in [0,1]; n = 0 gives 0 and 1. For k = 0 the
 * one-sided upper bound is 1 - 0.05^(1/n) (the "rule of three"), which is what "safe" quotes. */
void lb_wilson95(uint64_t k, uint64_t n, double *ret_low, double *ret_high);
double lb_upper95_zero(uint64_t n);

/* Events per `per` units of exposure, as in "violations per 1000 hand-offs", with the exact
 * two-sided 95 % interval of a Poisson count (Garwood): never narrower than it claims, and low = 0
 * exactly for no event. A count that cannot exceed its exposure (violated trials of n) is a share
 * and belongs to lb_wilson95(). Without exposure nothing is known: *rate is NAN, *low 0, *high
 * INFINITY; none of the latter two may reach a file, so look at the exposure first. */
void lb_interval_rate(uint64_t events, uint64_t exposure, double per, double *rate, double *low, double *high);

#endif
