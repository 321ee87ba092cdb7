/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * Delta debugging, against rules: what breaks is a rule over the list, so the smallest answers are known.
 */
#include "test.h"
#include "base/rng.h"
#include "hunt/shrink.h"

enum { COUNT = 12 };

struct rule { /* any of these sets breaks, unless the mask that hides it is whole there, too */
  unsigned sets[3];
  unsigned hides;
  int asked, most; /* most: fails after so many questions; 0 = never */
};

static unsigned mask_of(const bool keep[]) {
  unsigned mask = 0;
  for (int i = 0; i < COUNT; i++) mask |= keep[i] ? 1u << i : 0;
  return mask;
}

static bool holds(const struct rule *rule, unsigned mask) {
  bool any = false;
  for (int i = 0; i < 3; i++) any |= rule->sets[i] && (mask & rule->sets[i]) == rule->sets[i];
  return any && !(rule->hides && (mask & rule->hides) == rule->hides);
}

static int test_rule(void *of, const bool keep[]) {
  struct rule *rule = of;
  assert_true(mask_of(keep) != 0);
  if (rule->most && rule->asked == rule->most) return -7;
  rule->asked++;
  return holds(rule, mask_of(keep));
}

static unsigned shrink(struct rule *rule, int expected) {
  bool keep[COUNT];
  memset(keep, 1, sizeof keep);
  assert_int_equal(lb_shrink_ddmin(keep, COUNT, test_rule, rule), expected);
  return mask_of(keep);
}

TEST(finds_the_one_set) {
  for (unsigned set = 1; set < 1u << COUNT; set++) assert_int_equal(shrink(&(struct rule){.sets = {set}}, 0), set);
}

/* Which of several is a matter of order; that nothing can go from it is not. */
TEST(what_is_left_is_minimal) {
  struct lb_rng rng = lb_rng_fork(42, 1, 0);
  for (int round = 0; round < 2000; round++) {
    struct rule rule = {
        .sets = {(unsigned)lb_rng_below(&rng, 1u << COUNT) | 1, (unsigned)lb_rng_below(&rng, 1u << COUNT) | 2}};
    unsigned left = shrink(&rule, 0);
    assert_true(holds(&rule, left));
    for (unsigned i = 0; i < COUNT; i++)
      if ((left & 1u << i) && left != 1u << i) assert_false(holds(&rule, left & ~(1u << i)));
  }
}

/* Failure is not monotone: where one fault is there, two others hide what they do alone. The whole breaks by another
 * set. */
TEST(not_monotone) {
  for (unsigned hides = 1; hides < 1u << COUNT; hides++) {
    struct rule rule = {.sets = {0x003, 0x83c}, .hides = hides};
    bool keep[COUNT];
    for (int i = 0; i < COUNT; i++) keep[i] = 0x83c & 1u << i || !(hides & 1u << i);
    if (!holds(&rule, mask_of(keep))) continue;
    assert_int_equal(lb_shrink_ddmin(keep, COUNT, test_rule, &rule), 0);
    assert_true(mask_of(keep) == 0x003 || mask_of(keep) == 0x83c);
  }
}

TEST(asks_little_for_one_of_many) {
  struct rule rule = {.sets = {1u << (COUNT - 1)}};
  assert_int_equal(shrink(&rule, 0), 1u << (COUNT - 1));
  assert_true(rule.asked <= 6);
}

TEST(keeps_what_it_has_when_a_test_fails) {
  for (int most = 1; most < 6; most++) {
    struct rule rule = {.sets = {0x821}, .most = most};
    assert_true(holds(&rule, shrink(&rule, -7)));
  }
}

/* ---- times --------------------------------------------------------------------------------------------- */

struct from { /* breaks from this value on, and at 0 if `zero` */
  long long least;
  bool zero;
  int asked;
};

static int test_from(void *of, long long value) {
  struct from *from = of;
  from->asked++;
  return value == 0 ? from->zero : value >= from->least;
}

static long long halve(struct from *from, long long value) {
  assert_int_equal(lb_shrink_halve(&value, 50, test_from, from), 0);
  return value;
}

TEST(times_are_halved) {
  struct from nothing = {.least = 1, .zero = true}, some = {.least = 300}, all = {.least = 1600}, tiny = {.least = 1};
  assert_int_equal(halve(&nothing, 1600), 0);
  assert_int_equal(nothing.asked, 1);
  assert_int_equal(halve(&some, 1600), 400);
  assert_int_equal(halve(&all, 1600), 1600);
  assert_int_equal(halve(&tiny, 1600), 50);
  struct from never = {.least = 9};
  assert_int_equal(halve(&never, 0), 0);
  assert_int_equal(never.asked, 0);
}
