/* SPDX-License-Identifier: MIT
 *
 * A percentile bootstrap of a ratio of medians (B. Efron, "Bootstrap methods: another look at the
 * jackknife", Annals of Statistics 7, 1979): each side is drawn again with replacement, as many
 * repeats as it has, and the interval lies between two quantiles of the ratios of the medians.
 *
 * It is an interval of 99 %, not of 95 %, because a comparison looks at many metrics at once, and
 * nobody looks twice at the one of twenty that differs by chance. With five repeats on either side it
 * leaves out 1 about where all of one side lie above all of the other, which chance does once in 126
 * draws (2 of 252 orders). tests/test-bootstrap.c counts how often it is wrong.
 */
#include "bootstrap.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rng.h"

enum { RESAMPLES = 10000, TAIL = RESAMPLES * (100 - LB_RATIO_PERCENT) / 200, SEED = 20261122 };

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double middle(const double *sorted, size_t count) { return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2; }

double lb_median(double *values, size_t count) {
  qsort(values, count, sizeof *values, by_size);
  return middle(values, count);
}

/* The value at place `rank` of a sample in which value i stands drawn[i] times. */
static double at_rank(const double *sorted, const uint32_t *drawn, size_t rank) {
  size_t i = 0;
  for (size_t seen = drawn[0]; seen <= rank; seen += drawn[i]) i++;
  return sorted[i];
}

/* `drawn` has room for a count of each value. */
static double redrawn_median(const double *sorted, size_t count, uint32_t *drawn, struct lb_rng *rng) {
  memset(drawn, 0, count * sizeof *drawn);
  for (size_t i = 0; i < count; i++) drawn[lb_rng_below(rng, count)]++;
  return (at_rank(sorted, drawn, (count - 1) / 2) + at_rank(sorted, drawn, count / 2)) / 2;
}

/* What is drawn again. */
struct sides {
  const double *a, *b; /* sorted; b NULL = there is one side, of ratios */
  size_t a_count, b_count;
};

static double redrawn(const struct sides *s, uint32_t *drawn, struct lb_rng *rng) {
  double below = redrawn_median(s->a, s->a_count, drawn, rng);
  return s->b ? redrawn_median(s->b, s->b_count, drawn, rng) / below : below;
}

/* 0, -ENOMEM. */
static int between_quantiles(const struct sides *s, struct lb_ratio *ret) {
  double *ratio = malloc(RESAMPLES * sizeof *ratio);
  uint32_t *drawn = malloc((s->a_count > s->b_count ? s->a_count : s->b_count) * sizeof *drawn);
  struct lb_rng rng = {SEED};
  for (size_t i = 0; ratio && drawn && i < RESAMPLES; i++) ratio[i] = redrawn(s, drawn, &rng);
  int r = ratio && drawn ? 0 : -ENOMEM;
  if (r == 0) {
    qsort(ratio, RESAMPLES, sizeof *ratio, by_size);
    ret->low = ratio[TAIL];
    ret->high = ratio[RESAMPLES - 1 - TAIL];
  }
  free(ratio);
  free(drawn);
  return r;
}

int lb_ratio_of_medians(double *a, size_t a_count, double *b, size_t b_count, struct lb_ratio *ret) {
  double a_median = lb_median(a, a_count), b_median = lb_median(b, b_count);
  if (!(a[0] > 0) || !(b[0] > 0)) return -ERANGE;
  *ret = (struct lb_ratio){.value = b_median / a_median, .low = NAN, .high = NAN};
  if (a_count < LB_RATIO_REPEATS || b_count < LB_RATIO_REPEATS) return 0;
  return between_quantiles(&(struct sides){.a = a, .b = b, .a_count = a_count, .b_count = b_count}, ret);
}

int lb_ratio_of_pairs(const double *a, const double *b, size_t count, struct lb_ratio *ret) {
  double *ratio = malloc(count * sizeof *ratio);
  int r = ratio ? 0 : -ENOMEM;
  for (size_t i = 0; i < count && r == 0; i++) {
    if (!(a[i] > 0) || !(b[i] > 0)) r = -ERANGE;
    else ratio[i] = b[i] / a[i];
  }
  if (r == 0) *ret = (struct lb_ratio){.value = lb_median(ratio, count), .low = NAN, .high = NAN};
  if (r == 0 && count >= LB_RATIO_REPEATS) r = between_quantiles(&(struct sides){.a = ratio, .a_count = count}, ret);
  free(ratio);
  return r;
}
