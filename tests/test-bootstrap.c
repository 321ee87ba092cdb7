/* SPDX-License-Identifier: MIT
 *
 * The interval of a ratio of medians: what it is of values that can be looked at, and how often it is wrong. Pairs of runs are
 * drawn from a fixed seed, and it is counted how often two of the same build are told apart, and how often a planted 10 % is
 * found. The figures are lines of the output.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/interval.h"
#include "base/rng.h"

enum { PAIRS = 400, REPEATS_MAX = 20 };

static void near(double found, double expected) {
  if (!(fabs(found - expected) <= 1e-9)) fail_msg("%.12g, expected %.12g", found, expected);
}

/* ---- values that can be looked at --------------------------------------------------------------------------------- */

static void the_median_of_an_even_number_is_the_mean_of_the_two_in_the_middle(void **state) {
  (void)state;
  near(lb_median((double[]){7}, 1), 7);
  near(lb_median((double[]){9, 1, 5}, 3), 5);
  near(lb_median((double[]){9, 1, 5, 2}, 4), 3.5);
  near(lb_median((double[]){2, 2}, 2), 2);
}

static struct lb_ratio ratio_of(const double *a, size_t a_count, const double *b, size_t b_count) {
  double x[REPEATS_MAX], y[REPEATS_MAX];
  struct lb_ratio ratio;
  memcpy(x, a, a_count * sizeof *x);
  memcpy(y, b, b_count * sizeof *y);
  assert_int_equal(lb_ratio_of_medians(x, a_count, y, b_count, &ratio), 0);
  return ratio;
}

static bool apart(const struct lb_ratio *ratio) { return ratio->low > 1 || ratio->high < 1; }

static void the_ratio_is_that_of_the_medians_and_lies_in_its_interval(void **state) {
  (void)state;
  struct lb_ratio ratio = ratio_of((double[]){10, 30, 20, 40, 25}, 5, (double[]){60, 10, 70, 50, 20}, 5);
  near(ratio.value, 2);
  assert_true(ratio.low < 2 && ratio.high > 2);
  assert_false(apart(&ratio));
}

/* However the values come, the same ones give the same interval to the last bit. */
static void the_same_values_in_another_order_give_the_same_interval(void **state) {
  (void)state;
  struct lb_ratio one = ratio_of((double[]){1, 2, 3, 4, 5, 6}, 6, (double[]){2, 3, 4, 5, 6}, 5);
  struct lb_ratio other = ratio_of((double[]){6, 2, 5, 4, 1, 3}, 6, (double[]){6, 5, 4, 3, 2}, 5);
  assert_memory_equal(&one, &other, sizeof one);
}

static void values_that_do_not_spread_have_an_interval_without_length(void **state) {
  (void)state;
  struct lb_ratio ratio = ratio_of((double[]){4, 4, 4, 4, 4}, 5, (double[]){5, 5, 5, 5, 5, 5, 5}, 7);
  near(ratio.value, 1.25);
  near(ratio.low, 1.25);
  near(ratio.high, 1.25);
  ratio = ratio_of((double[]){4, 4, 4, 4, 4}, 5, (double[]){4, 4, 4, 4, 4}, 5);
  assert_false(apart(&ratio));
}

static void five_above_five_others_are_told_apart_and_four_are_not_asked(void **state) {
  (void)state;
  const double low[] = {1.00, 1.01, 1.02, 1.03, 1.04}, high[] = {1.05, 1.06, 1.07, 1.08, 1.09};
  struct lb_ratio ratio = ratio_of(low, 5, high, 5);
  assert_true(ratio.low > 1);
  ratio = ratio_of(high, 5, low, 5);
  assert_true(ratio.high < 1);
  ratio = ratio_of(low, 4, high, 5);
  assert_true(isnan(ratio.low) && isnan(ratio.high) && !isnan(ratio.value));
  ratio = ratio_of(low, 5, high, 4);
  assert_true(isnan(ratio.low) && isnan(ratio.high));
}

static void a_value_of_0_has_no_ratio(void **state) {
  (void)state;
  struct lb_ratio ratio;
  assert_int_equal(lb_ratio_of_medians((double[]){0, 1, 1, 1, 1}, 5, (double[]){1, 1, 1, 1, 1}, 5, &ratio), -ERANGE);
  assert_int_equal(lb_ratio_of_medians((double[]){1, 1, 1, 1, 1}, 5, (double[]){1, 1, 1, 1, 0}, 5, &ratio), -ERANGE);
  assert_int_equal(lb_ratio_of_medians((double[]){NAN}, 1, (double[]){1}, 1, &ratio), -ERANGE);
}

/* The machine was twice as fast for some pairs: that is no difference between the two. */
static void pairs_are_compared_with_each_other_only(void **state) {
  (void)state;
  const double a[] = {100, 205, 98, 220, 101, 199, 110}, b[] = {120, 240, 121, 260, 118, 244, 130};
  struct lb_ratio ratio;
  assert_int_equal(lb_ratio_of_pairs(a, b, 7, &ratio), 0);
  near(ratio.value, 260.0 / 220);
  assert_true(ratio.low > 1 && ratio.low < 1.18 && ratio.high > 1.2 && ratio.high < 1.3);
  struct lb_ratio unpaired = ratio_of(a, 7, b, 7);
  assert_false(apart(&unpaired));
  assert_int_equal(lb_ratio_of_pairs(a, b, 4, &ratio), 0);
  assert_true(isnan(ratio.low) && isnan(ratio.high));
  near(ratio.value, (1.2 + 260.0 / 220) / 2);
  assert_int_equal(lb_ratio_of_pairs((double[]){1, 0}, (double[]){1, 1}, 2, &ratio), -ERANGE);
}

/* ---- how often it is wrong ---------------------------------------------------------------------------------------- */

static double uniform(struct lb_rng *rng) { return ((double)(lb_rng_next(rng) >> 11) + 0.5) / 9007199254740992.0; }

static double normal(struct lb_rng *rng) { return sqrt(-2 * log(uniform(rng))) * cos(2 * M_PI * uniform(rng)); }

/* Repeats as they come: most near the median, now and then a slow one, because the machine had something else to do. */
static double repeat(struct lb_rng *rng, double median, double spread) {
  double slow = uniform(rng) < 0.1 ? 1 + 5 * spread * uniform(rng) : 1;
  return median * exp(spread * normal(rng)) * slow;
}

/* The share of pairs of runs that are told apart, where B is `times` as slow as A. */
static double share_apart(size_t repeats, double times, double spread, uint64_t seed) {
  struct lb_rng rng = {seed};
  size_t count = 0;
  for (int i = 0; i < PAIRS; i++) {
    double a[REPEATS_MAX], b[REPEATS_MAX];
    struct lb_ratio ratio;
    for (size_t k = 0; k < repeats; k++) a[k] = repeat(&rng, 100, spread), b[k] = repeat(&rng, 100 * times, spread);
    assert_int_equal(lb_ratio_of_medians(a, repeats, b, repeats, &ratio), 0);
    count += apart(&ratio);
  }
  double share = (double)count / PAIRS;
  print_message("# %zu repeats each, spread %.0f %%, B / A = %.2f: told apart in %.1f %% of %d pairs\n", repeats, 100 * spread, times, 100 * share,
                PAIRS);
  return share;
}

/* 1 % is promised; of 400 pairs three standard deviations more are 2.5 %. */
static void two_runs_of_the_same_build_are_hardly_ever_told_apart(void **state) {
  (void)state;
  static const size_t repeats[] = {5, 6, 10};
  for (size_t i = 0; i < sizeof repeats / sizeof *repeats; i++) assert_true(share_apart(repeats[i], 1, 0.05, i) < 0.025);
}

static void a_planted_tenth_is_found(void **state) {
  (void)state;
  assert_true(share_apart(5, 1.1, 0.02, 1) > 0.85);
  assert_true(share_apart(10, 1.1, 0.02, 2) > 0.95);
  assert_true(share_apart(10, 1 / 1.1, 0.03, 3) > 0.85);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_median_of_an_even_number_is_the_mean_of_the_two_in_the_middle),
      cmocka_unit_test(the_ratio_is_that_of_the_medians_and_lies_in_its_interval),
      cmocka_unit_test(the_same_values_in_another_order_give_the_same_interval),
      cmocka_unit_test(values_that_do_not_spread_have_an_interval_without_length),
      cmocka_unit_test(five_above_five_others_are_told_apart_and_four_are_not_asked),
      cmocka_unit_test(a_value_of_0_has_no_ratio),
      cmocka_unit_test(pairs_are_compared_with_each_other_only),
      cmocka_unit_test(two_runs_of_the_same_build_are_hardly_ever_told_apart),
      cmocka_unit_test(a_planted_tenth_is_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
