/* SPDX-License-Identifier: MIT
 *
 * The sum over the trials of a cell: every combination of up to a few verdicts against a plain count, and what each field
 * of an outcome becomes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../harness/plan.h"

enum { VERDICTS = 4 }; /* those a trial can end with: safe, violated, stuck, undecided */

static struct lb_outcome ended(enum lb_verdict verdict, const char *why) {
  struct lb_outcome x = {.verdict = verdict, .unavailable_ns = -1, .orphan_ns = -1, .blind_ns = -1};
  snprintf(x.why, sizeof x.why, "%s", why);
  return x;
}

static void add(struct lb_cell *cell, enum lb_verdict verdict, const char *why) {
  struct lb_outcome x = ended(verdict, why);
  lb_cell_add(cell, &x);
}

/* ---- the verdict ------------------------------------------------------------------------------------------------- */

static enum lb_verdict gravest(const int count[VERDICTS]) {
  static const enum lb_verdict order[] = {LB_VIOLATED, LB_STUCK, LB_UNDECIDED};
  for (size_t i = 0; i < sizeof order / sizeof *order; i++)
    if (count[order[i]]) return order[i];
  return LB_SAFE;
}

/* All sequences of one to four verdicts: the digits of `code` in base 4. */
static void judge_sequence(unsigned code, int length) {
  struct lb_cell cell = {.verdict = LB_VERDICT_NONE};
  int count[VERDICTS] = {0};
  for (int i = 0; i < length; i++, code /= VERDICTS) {
    count[code % VERDICTS]++;
    add(&cell, (enum lb_verdict)(code % VERDICTS), "");
    assert_int_equal(cell.trials, i + 1);
    assert_int_equal(cell.trials, cell.safe + cell.violated + cell.stuck + cell.undecided);
  }
  assert_int_equal(cell.safe, count[LB_SAFE]);
  assert_int_equal(cell.violated, count[LB_VIOLATED]);
  assert_int_equal(cell.stuck, count[LB_STUCK]);
  assert_int_equal(cell.undecided, count[LB_UNDECIDED]);
  assert_int_equal(cell.verdict, gravest(count));
}

static void trials_are_counted_by_verdict_and_the_gravest_is_the_cells(void **state) {
  (void)state;
  unsigned codes = 1;
  for (int length = 1; length <= 4; length++) {
    codes *= VERDICTS;
    for (unsigned code = 0; code < codes; code++) judge_sequence(code, length);
  }
}

static void the_first_reason_is_kept(void **state) {
  (void)state;
  struct lb_cell cell = {.verdict = LB_VERDICT_NONE};
  add(&cell, LB_SAFE, "");
  assert_string_equal(cell.why, "");
  add(&cell, LB_UNDECIDED, "a server died");
  add(&cell, LB_STUCK, "no failover");
  add(&cell, LB_SAFE, "");
  assert_string_equal(cell.why, "a server died");
}

/* ---- the figures ------------------------------------------------------------------------------------------------- */

static struct lb_outcome figures(int64_t n) {
  struct lb_outcome x = {.verdict = LB_SAFE, .depth = (uint32_t)n, .unavailable_ns = n, .orphan_ns = n, .blind_ns = n};
  uint64_t u = (uint64_t)n;
  x.grants = u, x.handoffs = 2 * u, x.double_holds = 3 * u, x.double_hold_ns = 4 * u, x.dirty_accesses = 5 * u;
  x.lost_updates = 6 * n, x.fenced_off = 7 * u, x.token_regressions = 8 * u, x.stall_ns = 9 * u;
  return x;
}

static void counts_are_added_up(void **state) {
  (void)state;
  struct lb_cell cell = {.verdict = LB_VERDICT_NONE};
  struct lb_outcome a = figures(3), b = figures(10), c = figures(4);
  lb_cell_add(&cell, &a), lb_cell_add(&cell, &b), lb_cell_add(&cell, &c);
  assert_int_equal(cell.sum.grants, 17);
  assert_int_equal(cell.sum.handoffs, 2 * 17);
  assert_int_equal(cell.sum.double_holds, 3 * 17);
  assert_int_equal(cell.sum.double_hold_ns, 4 * 17);
  assert_int_equal(cell.sum.dirty_accesses, 5 * 17);
  assert_int_equal(cell.sum.lost_updates, 6 * 17);
  assert_int_equal(cell.sum.fenced_off, 7 * 17);
  assert_int_equal(cell.sum.token_regressions, 8 * 17);
}

static void of_times_and_depth_the_largest_stays(void **state) {
  (void)state;
  struct lb_cell cell = {.verdict = LB_VERDICT_NONE};
  struct lb_outcome a = figures(3), b = figures(10), c = figures(4);
  lb_cell_add(&cell, &a), lb_cell_add(&cell, &b), lb_cell_add(&cell, &c);
  assert_int_equal(cell.sum.depth, 10);
  assert_int_equal(cell.sum.unavailable_ns, 10);
  assert_int_equal(cell.sum.orphan_ns, 10);
  assert_int_equal(cell.sum.blind_ns, 10);
  assert_int_equal(cell.sum.stall_ns, 9 * 10);
}

static void a_time_that_applies_to_no_trial_stays_minus_one_and_zero_is_a_time(void **state) {
  (void)state;
  struct lb_cell cell = {.verdict = LB_VERDICT_NONE};
  struct lb_outcome none = ended(LB_SAFE, ""), zero = ended(LB_SAFE, "");
  zero.orphan_ns = 0;
  lb_cell_add(&cell, &none), lb_cell_add(&cell, &zero), lb_cell_add(&cell, &none);
  assert_int_equal(cell.sum.unavailable_ns, -1);
  assert_int_equal(cell.sum.orphan_ns, 0);
  assert_int_equal(cell.sum.blind_ns, -1);
}

/* ---- the expectation --------------------------------------------------------------------------------------------- */

static void as_expected_compares_what_was_decided_with_what_was_expected(void **state) {
  (void)state;
  for (int got = LB_SAFE; got <= LB_VERDICT_NONE; got++) {
    bool decided = got == LB_SAFE || got == LB_VIOLATED || got == LB_STUCK;
    for (int expected = LB_SAFE; expected <= LB_UNDECIDED; expected++) {
      struct lb_expect expect = {.verdict = (enum lb_verdict)expected};
      struct lb_cell cell = {.verdict = (enum lb_verdict)got, .expect = &expect};
      assert_int_equal(lb_cell_as_expected(&cell), decided ? got == expected : -1);
    }
  }
}

static void where_nothing_is_expected_only_safe_is_as_expected(void **state) {
  (void)state;
  static const int answer[] = {
      [LB_SAFE] = 1, [LB_VIOLATED] = 0, [LB_STUCK] = 0, [LB_UNDECIDED] = -1, [LB_SKIPPED] = -1, [LB_VERDICT_NONE] = -1};
  for (int got = LB_SAFE; got <= LB_VERDICT_NONE; got++) {
    struct lb_cell cell = {.verdict = (enum lb_verdict)got};
    assert_int_equal(lb_cell_as_expected(&cell), answer[got]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(trials_are_counted_by_verdict_and_the_gravest_is_the_cells),
      cmocka_unit_test(the_first_reason_is_kept),
      cmocka_unit_test(counts_are_added_up),
      cmocka_unit_test(of_times_and_depth_the_largest_stays),
      cmocka_unit_test(a_time_that_applies_to_no_trial_stays_minus_one_and_zero_is_a_time),
      cmocka_unit_test(as_expected_compares_what_was_decided_with_what_was_expected),
      cmocka_unit_test(where_nothing_is_expected_only_safe_is_as_expected),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
