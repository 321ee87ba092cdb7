/* SPDX-License-Identifier: MIT
 *
 * Confidence intervals of shares (Wilson), and of rates over trials (Wilson and score, with the
 * number of events that the spread of the trials leaves).
 */
#include "interval.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define Z 1.959963984540054 /* what a normal variable exceeds with a chance of 2.5 % */
#define ONE_SIDED 0.05      /* of a bound where nothing happened: there is only one side */

double lb_interval_upper95_zero(uint64_t n) { return n ? 1 - pow(ONE_SIDED, 1 / (double)n) : 1; }

/* ---- rates over trials ----------------------------------------------------------------------- */

/* Trials are what is independent: the faults of one trial share its servers, and one fault can cost
 * many violations. So the spread of the trials is asked how much less the events are worth than as
 * many independent ones (the design effect). Few trials know their own spread badly, so they are
 * worth less again, by the square of Student's quantile over the normal one. The score interval is
 * taken of what is left: the effective number, which is never above the number counted.
 *
 * Design effect and effective number: J. N. K. Rao and A. J. Scott, "A simple method for the
 * analysis of clustered binary data", Biometrics 48 (1992). Its use in an interval with Student's t:
 * E. L. Korn and B. I. Graubard, "Confidence intervals for proportions with small expected number
 * of positive counts", Survey Methodology 24 (1998). Its cap: J. D. Parker et al., "National Center
 * for Health Statistics data presentation standards for proportions", Vital and Health Statistics 2 (2017). Why
 * Wilson's form: C. Franco, R. J. A. Little, T. A. Louis and E. V. Slud, "Comparative study of confidence intervals for
 * proportions in complex sample surveys", J. Survey Statistics and Methodology 7 (2019). A bootstrap over five trials
 * covers about 80 % where it says 95 % (tests/unit/base/test-coverage.c). */

#define LEAST_EFFECT 0.25 /* two or three trials that happen to be alike have not shown that all are */

/* What Student's t with that many degrees of freedom exceeds with a chance of 2.5 %. From 11 on by
 * the expansion of Abramowitz and Stegun, 26.7.5: right to four digits. */
static double student(size_t freedom) {
  static const double table[] = {INFINITY, 12.7062, 4.3027, 3.1824, 2.7764, 2.5706,
                                 2.4469,   2.3646,  2.3060, 2.2622, 2.2281};
  if (freedom < sizeof table / sizeof *table) return table[freedom];
  double n = (double)freedom, z3 = Z * Z * Z, z5 = z3 * Z * Z, z7 = z5 * Z * Z;
  return Z + (z3 + Z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * Z) / (96 * n * n) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * Z) / (384 * n * n * n);
}

struct total {
  double events, exposure;
  double
      effect; /* how many events are worth one independent one, at least 1; of one trial nothing is known of that: 1 */
};

/* `spread` is the variance that as many independent events would have. */
static struct total total_of(const struct lb_part *part, size_t count, bool share) {
  struct total sum = {.effect = 1};
  size_t used = 0;
  double squares = 0;
  for (size_t i = 0; i < count; i++) {
    if (part[i].exposure <= 0) continue;
    sum.events += part[i].events;
    sum.exposure += part[i].exposure;
    used++;
  }
  double rate = sum.exposure > 0 ? sum.events / sum.exposure : 0, spread = sum.events * (share ? 1 - rate : 1);
  if (used < 2 || spread <= 0) return sum;
  for (size_t i = 0; i < count; i++)
    if (part[i].exposure > 0) squares += pow(part[i].events - rate * part[i].exposure, 2);
  double effect = fmax((double)used / (double)(used - 1) * squares / spread, LEAST_EFFECT);
  sum.effect = fmax(effect * pow(student(used - 1) / Z, 2), 1);
  return sum;
}

/* E. B. Wilson's score interval (JASA 22, 1927): unlike the normal approximation it keeps its promise for few trials and
 * for rates near 0 and 1. Where nothing or all of it failed, the trials show no spread: the bound is the one-sided one
 * of independent events, as for a safe cell. */
struct lb_rate lb_rate_share(const struct lb_part *part, size_t count) {
  struct total sum = total_of(part, count, true);
  struct lb_rate x = {.value = NAN, .low = 0, .high = 1};
  if (sum.exposure <= 0) return x;
  double n = sum.exposure / sum.effect, p = sum.events / sum.exposure, zz = Z * Z / n;
  double middle = (p + zz / 2) / (1 + zz), half = Z * sqrt(p * (1 - p) / n + zz / (4 * n)) / (1 + zz);
  x.value = p;
  x.low = sum.events <= 0 ? 0 : p < 1 ? middle - half : pow(ONE_SIDED, 1 / sum.exposure);
  x.high = p >= 1 ? 1 : sum.events > 0 ? middle + half : 1 - pow(ONE_SIDED, 1 / sum.exposure);
  return x;
}

/* The score interval of a Poisson count, which is Wilson's for a share that may exceed 1: the means
 * m with |events - m| <= Z sqrt(m). */
struct lb_rate lb_rate_per(const struct lb_part *part, size_t count, double per) {
  struct total sum = total_of(part, count, false);
  struct lb_rate x = {.value = NAN, .low = 0, .high = INFINITY};
  if (sum.exposure <= 0) return x;
  double unit = per / sum.exposure, k = sum.events / sum.effect, zz = Z * Z, half = Z * sqrt(k + zz / 4);
  x.value = sum.events * unit;
  x.low = sum.events > 0 ? (k + zz / 2 - half) * sum.effect * unit : 0;
  x.high = (sum.events > 0 ? (k + zz / 2 + half) * sum.effect : -log(ONE_SIDED)) * unit;
  return x;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double lb_interval_median(double *values, size_t count) {
  qsort(values, count, sizeof *values, by_size);
  return (values[(count - 1) / 2] + values[count / 2]) / 2;
}
