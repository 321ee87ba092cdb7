/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * When a rate counts as settled: steady ones do at once, growing ones do not, and the first that is steady ends the
 * wait.
 */
#include "test.h"
#include "base/rng.h"
#include "trial/workload.h"

static struct lb_settle settle;

/* Ticks until it has settled, at most `most`; 0 = it never does. `done(tick)`: how much is done in that tick, from
 * 1. */
static size_t settles_after(uint64_t (*done)(size_t tick), size_t most) {
  uint64_t count = 0;
  memset(&settle, 0, sizeof settle);
  for (size_t tick = 1; tick <= most; tick++)
    if (lb_settle_add(&settle, count += done(tick))) return tick;
  return 0;
}

static uint64_t steady(size_t tick) { return tick ? 50 : 0; }
static uint64_t nothing(size_t tick) { return tick ? 0 : 1; }
static uint64_t growing(size_t tick) { return 10 * tick; }
static uint64_t falling(size_t tick) { return tick < 100 ? 1000 - 10 * tick : 0; }
/* What a compiler does: 1 % more with each tick, for 100 ticks. */
static uint64_t warming(size_t tick) { return 1000 + 10 * (tick < 100 ? tick : 100); }
/* Nothing for long, then steady. */
static uint64_t late(size_t tick) { return tick > 40 ? 50 : 0; }

TEST(a_steady_rate_has_settled_after_the_shortest_time) { assert_int_equal(settles_after(steady, 100), 12); }

TEST(nothing_done_is_no_steady_rate) { assert_int_equal(settles_after(nothing, 100), 0); }

STATES(a_rate_that_grows_or_falls_does_not_settle, assert_int_equal(settles_after(growing, 1000), 0),
       assert_int_equal(settles_after(falling, 99), 0));

/* At 100 ticks the thirds still differ by a fifth; when the growth lies two thirds back they are alike. */
TEST(a_rate_that_grows_for_a_while_settles_after_it) {
  size_t ticks = settles_after(warming, 1000);
  assert_in_range(ticks, 150, 300);
}

TEST(what_began_late_settles_when_two_thirds_of_the_time_are_alike) {
  assert_in_range(settles_after(late, 1000), 110, 130);
}

/* One in each tick: 100 in a third of 300. */
static uint64_t slow(size_t tick) { return tick > 0; }

TEST(a_few_that_are_alike_are_so_by_chance) { assert_int_equal(settles_after(slow, 1000), 300); }

static uint64_t edge;
static uint64_t stepping(size_t tick) { return tick <= 8 ? 100 : edge; }

/* Ticks 5 to 8 against 9 to 12. */
TEST(three_percent_are_alike_and_four_are_not) {
  for (edge = 97; edge <= 103; edge += 6) assert_int_equal(settles_after(stepping, 12), 12);
  for (edge = 96; edge <= 104; edge += 8) assert_int_equal(settles_after(stepping, 12), 0);
}

/* A quarter up or down at random in each tick: it takes longer, and comes to an end. */
static struct lb_rng rng;
static uint64_t wavering(size_t tick) { return tick ? 75 + lb_rng_below(&rng, 51) : 0; }

TEST(a_rate_that_wavers_settles_at_last) {
  for (uint64_t seed = 1; seed <= 50; seed++) {
    rng = lb_rng_fork(seed, 0, 0);
    assert_in_range(settles_after(wavering, 400), 12, 400);
  }
}

TEST(ticks_beyond_the_room_change_nothing) {
  memset(&settle, 0, sizeof settle);
  for (uint64_t i = 1; i <= LB_SETTLE_TICKS_MAX; i++) lb_settle_add(&settle, i);
  assert_int_equal(settle.ticks, LB_SETTLE_TICKS_MAX);
  assert_true(lb_settle_add(&settle, UINT64_MAX));
  assert_int_equal(settle.ticks, LB_SETTLE_TICKS_MAX);
}
