/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * Intervals against published tables, and against what they promise.
 */
#include <math.h>

#include "test.h"
#include "base/interval.h"

static void near(double found, double expected, double error) {
  if (!(fabs(found - expected) <= error)) fail_msg("%.9g, expected %.9g", found, expected);
}

/* ---- shares ------------------------------------------------------------------------------------------------------ */

TEST(zero_of_n_has_the_rule_of_three_as_its_bound) {
  near(lb_interval_upper95_zero(0), 1, 0);
  near(lb_interval_upper95_zero(1), 0.95, 5e-6);
  near(lb_interval_upper95_zero(10), 0.25887, 5e-6);
  near(lb_interval_upper95_zero(59), 0.04951, 5e-6);
  near(lb_interval_upper95_zero(10000) * 10000, 3, 0.01);
}

/* ---- rates over trials ------------------------------------------------------------------------------------------- */

/* Trials with so many events each, of so much exposure each. */
static struct lb_rate per(const double *events, size_t count, double exposure, double unit) {
  struct lb_part part[20];
  for (size_t i = 0; i < count; i++) part[i] = (struct lb_part){.events = events[i], .exposure = exposure};
  return lb_rate_per(part, count, unit);
}

static struct lb_rate share(const double *events, size_t count, double exposure) {
  struct lb_part part[20];
  for (size_t i = 0; i < count; i++) part[i] = (struct lb_part){.events = events[i], .exposure = exposure};
  return lb_rate_share(part, count);
}

TEST(one_trial_has_the_interval_of_independent_events) {
  static const struct {
    double k, n, low, high;
  } known[] = {/* Wilson's score intervals, as published */
               {1, 10, 0.01788, 0.40415},
               {5, 10, 0.23659, 0.76341},
               {81, 263, 0.25529, 0.36621}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    struct lb_rate of = share((double[]){known[i].k}, 1, known[i].n);
    near(of.value, known[i].k / known[i].n, 1e-12);
    near(of.low, known[i].low, 5e-6);
    near(of.high, known[i].high, 5e-6);
  }
  struct lb_rate x =
      per((double[]){10}, 1, 1, 1); /* the score interval of a Poisson count of 10, as published: 5.43 to 18.41 */
  near(x.low, 5.4319, 5e-4);
  near(x.high, 18.4096, 5e-4);
}

TEST(a_rate_is_per_exposure) {
  struct lb_rate x = per((double[]){3}, 1, 2000, 1000), y = per((double[]){3}, 1, 2, 1);
  near(x.value, 1.5, 1e-12);
  near(x.low, y.low, 1e-12);
  near(x.high, y.high, 1e-12);
}

/* Reckoned by hand: 5 trials of 20, 10 events; squares 4 + 4 + 0 + 0 + 0, so variance 5/4 * 8 = 10 against 10 * 0.9 =
 * 9, an effect of 1.1111 and n = 90; t of 4 is 2.7764. */
TEST(trials_that_differ_make_the_interval_wider) {
  struct lb_rate x = share((double[]){0, 4, 2, 2, 2}, 5, 20), alike = share((double[]){10}, 1, 100);
  double n = 90, t = 2.7764, middle = (0.1 + t * t / n / 2) / (1 + t * t / n);
  double half = t * sqrt(0.09 / n + t * t / (4 * n * n)) / (1 + t * t / n);
  near(x.low, middle - half, 1e-9);
  near(x.high, middle + half, 1e-9);
  assert_true(x.low < alike.low && x.high > alike.high);
  struct lb_rate worse = share((double[]){0, 10, 0, 0, 0}, 5, 20);
  assert_true(worse.high > x.high && worse.low < x.low);
  near(worse.value, x.value, 1e-12);
}

/* The same for a rate: the variance is compared with the 10 of a Poisson count, so the effect is 1. */
TEST(a_rate_over_trials_is_reckoned_alike) {
  struct lb_rate x = per((double[]){0, 4, 2, 2, 2}, 5, 1, 1);
  double t = 2.7764, half = t * sqrt(10 + t * t / 4);
  near(x.value, 2, 1e-12);
  near(x.low, (10 + t * t / 2 - half) / 5, 1e-9);
  near(x.high, (10 + t * t / 2 + half) / 5, 1e-9);
}

/* Chance alone can make trials alike. They are no more events than were counted: the interval is never inside the one
 * of independent events. */
TEST(trials_that_happen_to_be_alike_count_as_no_more_events_than_there_were) {
  double events[20];
  for (size_t count = 2; count <= 20; count++) {
    for (size_t i = 0; i < 20; i++) events[i] = 2;
    struct lb_rate x = share(events, count, 20), y = per(events, count, 20, 20);
    struct lb_rate all = share((double[]){2.0 * (double)count}, 1, 20.0 * (double)count);
    struct lb_rate alone = per((double[]){2.0 * (double)count}, 1, 20.0 * (double)count, 20);
    if (!(x.low <= all.low && x.high >= all.high))
      fail_msg("%zu trials: %g to %g, inside %g to %g", count, x.low, x.high, all.low, all.high);
    if (!(y.low <= alone.low && y.high >= alone.high))
      fail_msg("%zu: %g to %g, inside %g to %g", count, y.low, y.high, alone.low, alone.high);
  }
}

/* From 11 degrees of freedom on t is reckoned: no step between table and series, and the normal quantile far out. */
TEST(many_trials_come_near_the_normal_quantile) {
  double events[20];
  for (size_t i = 0; i < 20; i++) events[i] = i % 2 ? 0 : 4; /* variance 20/19 * 80: effect 20/19 * 80 / 40 */
  struct lb_rate x = per(events, 20, 1, 1);
  double effect = 20.0 / 19 * 80 / 40, k = 40 / effect, t = 2.0930, half = t * sqrt(k + t * t / 4);
  near(x.low, (k + t * t / 2 - half) * effect / 20, 5e-4);
  near(x.high, (k + t * t / 2 + half) * effect / 20, 5e-4);
}

/* Where nothing happened there is no spread to be seen, and one side only: the bound of a safe cell, everywhere. */
TEST(nothing_in_all_trials_has_a_one_sided_bound) {
  struct lb_rate x = share((double[]){0, 0, 0}, 3, 20), y = per((double[]){0, 0, 0}, 3, 20, 1000);
  near(x.high, lb_interval_upper95_zero(60), 1e-12);
  near(y.high, 2.9957 / 60 * 1000, 0.001);
  assert_true(memcmp(&x.low, &(double){0}, sizeof x.low) == 0 && memcmp(&y.low, &(double){0}, sizeof y.low) == 0);
  near(x.value + y.value, 0, 0);
  x = share((double[]){20, 20, 20}, 3, 20);
  near(x.low, 1 - lb_interval_upper95_zero(60), 1e-12);
  assert_true(memcmp(&x.high, &(double){1}, sizeof x.high) == 0);
}

/* Two trials know one degree of freedom; a third that tested nothing is none. */
TEST(a_trial_without_exposure_adds_nothing) {
  struct lb_part two[] = {{3, 20}, {1, 20}}, three[] = {{3, 20}, {0, 0}, {1, 20}};
  struct lb_rate x = lb_rate_share(two, 2), y = lb_rate_share(three, 3);
  near(x.low, y.low, 0);
  near(x.high, y.high, 0);
}

TEST(without_exposure_nothing_is_known) {
  struct lb_rate x = lb_rate_share(NULL, 0), y = lb_rate_per(&(struct lb_part){0}, 1, 1000);
  assert_true(isnan(x.value) && isnan(y.value) && isinf(y.high));
  near(x.low + y.low, 0, 0);
  near(x.high, 1, 0);
}
