/* SPDX-License-Identifier: MIT
 *
 * Confidence intervals of shares (Wilson) and of rates (Poisson, exact while the counts are small).
 */
#include "interval.h"

#include <float.h>
#include <math.h>

#define TAIL 0.025          /* on either side */
#define Z 1.959963984540054 /* what a normal variable exceeds with that chance */
#define MANY 1e6            /* events from which on the exact sum is not worth its time */

/* E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22
 * (1927). Unlike the normal approximation it keeps its promise for few trials and for rates near 0
 * and 1. */
void lb_wilson95(uint64_t k, uint64_t n, double *ret_low, double *ret_high) {
  *ret_low = 0;
  *ret_high = 1;
  if (n == 0) return;
  double rate = (double)k / (double)n, zz = Z * Z / (double)n;
  double middle = (rate + zz / 2) / (1 + zz);
  double half = Z * sqrt(rate * (1 - rate) / (double)n + zz / (4 * (double)n)) / (1 + zz);
  if (k > 0) *ret_low = middle - half;
  if (k < n) *ret_high = middle + half;
}

double lb_upper95_zero(uint64_t n) { return n ? 1 - pow(0.05, 1 / (double)n) : 1; }

/* ---- Poisson --------------------------------------------------------------------------------- */

/* F. Garwood, "Fiducial limits for the Poisson distribution", Biometrika 28 (1936): the mean is at
 * least the one under which k or more events have a chance of 2.5 %, and at most the one under
 * which k or fewer have. Both chances are tails of a gamma distribution, for P(at least a events |
 * mean x) = P(a, x), the regularised lower incomplete gamma function; its quantile is found by
 * bisection. */

/* P(a, x) for a whole a >= 1 and 0 < x: the terms x^j e^-x / j! from j = a on, or 1 less those
 * below a. The largest term is near j = x, so on either side of it they shrink, and are added until
 * they no longer matter. */
static double at_least(double a, double x) {
  double sum = 0;
  if (x < a) {
    double term = exp(a * log(x) - x - lgamma(a + 1));
    for (double j = a; term > 0 && term >= sum * DBL_EPSILON; term *= x / ++j) sum += term;
    return sum;
  }
  double term = exp((a - 1) * log(x) - x - lgamma(a));
  for (double j = a - 1; j >= 0 && term > 0 && term >= sum * DBL_EPSILON; term *= j-- / x) sum += term;
  return 1 - sum;
}

/* E. B. Wilson and M. M. Hilferty, "The distribution of chi-square", PNAS 17 (1931): the cube root
 * of a gamma variable is nearly normal. For a million the error is 2e-11 of the mean, and it
 * shrinks further. */
static double mean_for_many(double a, double z) {
  double root = 1 - 1 / (9 * a) + z / (3 * sqrt(a));
  return a * root * root * root;
}

/* The mean under which `a` or more events have the chance `p`, TAIL or 1 - TAIL. */
static double mean_for(double a, double p) {
  if (a > MANY) return mean_for_many(a, p < 0.5 ? -Z : Z);
  double low = 0, high = a + 10 * sqrt(a) + 10; /* beyond any quantile that is asked for */
  for (int i = 0; i < 200 && high - low > 4 * DBL_EPSILON * high; i++) {
    double middle = low + (high - low) / 2;
    if (at_least(a, middle) < p) low = middle;
    else high = middle;
  }
  return low + (high - low) / 2;
}

void lb_interval_rate(uint64_t events, uint64_t exposure, double per, double *rate, double *low, double *high) {
  *rate = NAN;
  *low = 0;
  *high = INFINITY;
  if (exposure == 0) return;
  double k = (double)events, unit = per / (double)exposure;
  *rate = k * unit;
  if (events > 0) *low = mean_for(k, TAIL) * unit;
  *high = mean_for(k + 1, 1 - TAIL) * unit;
}
