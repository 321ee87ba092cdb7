/* SPDX-License-Identifier: MIT
 *
 * Intervals against published tables, and against what they promise.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/interval.h"

static void near(double found, double expected, double error) {
  if (!(fabs(found - expected) <= error)) fail_msg("%.9g, expected %.9g", found, expected);
}

/* ---- shares ------------------------------------------------------------------------------------------------------- */

static void wilson_intervals_match_published_values(void **state) {
  (void)state;
  static const struct {
    uint64_t k, n;
    double low, high;
  } known[] = {{0, 10, 0, 0.27753},  {1, 10, 0.01788, 0.40415},   {5, 10, 0.23659, 0.76341},
               {10, 10, 0.72247, 1}, {81, 263, 0.25529, 0.36621}, {0, 0, 0, 1},
               {0, 20, 0, 0.16113}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    double low, high;
    lb_wilson95(known[i].k, known[i].n, &low, &high);
    near(low, known[i].low, 5e-6);
    near(high, known[i].high, 5e-6);
  }
}

static void wilson_intervals_end_exactly_at_0_and_1(void **state) {
  (void)state;
  for (uint64_t n = 1; n < 1000; n++) {
    double low, high;
    lb_wilson95(0, n, &low, &high);
    assert_true(memcmp(&low, &(double){0}, sizeof low) == 0 && high < 1);
    lb_wilson95(n, n, &low, &high);
    assert_true(memcmp(&high, &(double){1}, sizeof high) == 0 && low > 0);
  }
}

static void zero_of_n_has_the_rule_of_three_as_its_bound(void **state) {
  (void)state;
  near(lb_upper95_zero(0), 1, 0);
  near(lb_upper95_zero(1), 0.95, 5e-6);
  near(lb_upper95_zero(10), 0.25887, 5e-6);
  near(lb_upper95_zero(59), 0.04951, 5e-6);
  near(lb_upper95_zero(10000) * 10000, 3, 0.01);
}

/* ---- rates -------------------------------------------------------------------------------------------------------- */

/* The table in Garwood's paper and in every textbook since, to its three digits. */
static void poisson_intervals_match_published_values(void **state) {
  (void)state;
  static const struct {
    uint64_t k;
    double low, high;
  } known[] = {{0, 0, 3.689},        {1, 0.025, 5.572},    {2, 0.242, 7.225},     {3, 0.619, 8.767},
               {4, 1.090, 10.242},   {5, 1.623, 11.668},   {6, 2.202, 13.059},    {7, 2.814, 14.423},
               {8, 3.454, 15.763},   {9, 4.115, 17.085},   {10, 4.795, 18.390},   {20, 12.217, 30.888},
               {30, 20.241, 42.827}, {50, 37.111, 65.919}, {100, 81.364, 121.627}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    double rate, low, high;
    lb_interval_rate(known[i].k, 1, 1, &rate, &low, &high);
    near(rate, (double)known[i].k, 0);
    near(low, known[i].low, 0.0006);
    near(high, known[i].high, 0.0006);
  }
}

/* P(at most k events | mean), added up term by term. */
static double at_most(uint64_t k, double mean) {
  double sum = 0;
  for (uint64_t j = 0; j <= k; j++) sum += exp((double)j * log(mean) - mean - lgamma((double)j + 1));
  return sum;
}

static void at_each_end_the_count_is_as_unlikely_as_promised(void **state) {
  (void)state;
  for (uint64_t k = 1; k < 2000; k = k * 3 / 2 + 1) {
    double rate, low, high;
    lb_interval_rate(k, 1, 1, &rate, &low, &high);
    near(1 - at_most(k - 1, low), 0.025, 1e-9);
    near(at_most(k, high), 0.025, 1e-9);
  }
}

static void a_rate_is_per_exposure(void **state) {
  (void)state;
  double rate, low, high;
  lb_interval_rate(3, 2000, 1000, &rate, &low, &high); /* 3 events in 2 units */
  near(rate, 1.5, 1e-12);
  near(low, 0.619 / 2, 0.0003);
  near(high, 8.767 / 2, 0.0003);
}

static void large_counts_come_near_the_normal_distribution(void **state) {
  (void)state;
  for (double k = 1e6; k < 1e11; k *= 100) {
    double rate, low, high;
    lb_interval_rate((uint64_t)k, 1, 1, &rate, &low, &high);
    near((rate - low) / sqrt(k), 1.96, 0.002);
    near((high - rate) / sqrt(k), 1.96, 0.004);
  }
  double rate, low, high, low_after, high_after; /* no step where the way of reckoning changes */
  lb_interval_rate(999999, 1, 1, &rate, &low, &high);
  lb_interval_rate(1000001, 1, 1, &rate, &low_after, &high_after);
  near(low_after - low, 2, 0.01);
  near(high_after - high, 2, 0.01);
}

static void no_event_has_exactly_0_as_its_lower_end(void **state) {
  (void)state;
  double rate, low, high;
  lb_interval_rate(0, 500, 1000, &rate, &low, &high);
  assert_true(memcmp(&low, &(double){0}, sizeof low) == 0);
  near(rate, 0, 0);
  near(high, 2 * 3.689, 0.001);
}

static void without_exposure_nothing_is_known(void **state) {
  (void)state;
  double rate, low, high;
  lb_interval_rate(0, 0, 1000, &rate, &low, &high);
  assert_true(isnan(rate) && isinf(high));
  near(low, 0, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wilson_intervals_match_published_values),
      cmocka_unit_test(wilson_intervals_end_exactly_at_0_and_1),
      cmocka_unit_test(zero_of_n_has_the_rule_of_three_as_its_bound),
      cmocka_unit_test(poisson_intervals_match_published_values),
      cmocka_unit_test(at_each_end_the_count_is_as_unlikely_as_promised),
      cmocka_unit_test(a_rate_is_per_exposure),
      cmocka_unit_test(large_counts_come_near_the_normal_distribution),
      cmocka_unit_test(no_event_has_exactly_0_as_its_lower_end),
      cmocka_unit_test(without_exposure_nothing_is_known),
  };
  return cmocka_run_group_tests_name("interval", tests, NULL, NULL);
}
