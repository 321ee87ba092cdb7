/* SPDX-License-Identifier: MIT
 *
 * Numbers that are not uniform. Zipf by rejection-inversion, which needs no table, however many ranks there are:
 * W. Hörmann, G. Derflinger, "Rejection-inversion to generate variates from monotone discrete distributions", ACM TOMACS
 * 6(3), 1996.
 */
#include "rng.h"

#include <math.h>

/* In [0, 1). */
static double real(struct lb_rng *rng) { return (double)(lb_rng_next(rng) >> 11) * 0x1p-53; }

uint64_t lb_rng_exponential(struct lb_rng *rng, uint64_t mean) { return (uint64_t)((double)mean * -log1p(-real(rng))); }

/* Both are 1 at 0. */
static double log1p_over(double x) { return fabs(x) > 1e-8 ? log1p(x) / x : 1 - x / 2; }
static double expm1_over(double x) { return fabs(x) > 1e-8 ? expm1(x) / x : 1 + x / 2; }

static double weight(double x, double skew) { return exp(-skew * log(x)); }
static double integral(double x, double skew) { return expm1_over((1 - skew) * log(x)) * log(x); }
static double inverse(double y, double skew) { return exp(log1p_over(fmax(y * (1 - skew), -1)) * y); }

uint64_t lb_rng_zipf(struct lb_rng *rng, uint64_t count, double skew) {
  if (count < 2) return 0;
  double least = integral(1.5, skew) - 1, most = integral((double)count + 0.5, skew);
  double surely = 2 - inverse(integral(2.5, skew) - weight(2, skew), skew);
  for (;;) {
    double y = most + real(rng) * (least - most), x = inverse(y, skew);
    double rank = fmin(fmax(floor(x + 0.5), 1), (double)count);
    if (rank - x <= surely || y >= integral(rank + 0.5, skew) - weight(rank, skew)) return (uint64_t)rank - 1;
  }
}
