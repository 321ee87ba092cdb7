/* test: compute, memory, wraps lb_clock_ns lb_clock_sleep_until lb_guardian_look_at lb_guardian_look_await lb_guardian_command */
/* SPDX-License-Identifier: MIT
 *
 * What a guardian takes for undone, on servers and with commands that are the test's: the linker puts the functions below
 * in the place of those that look and act. Only waiting moves the clock.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "own/guardian_command.h"
#include "own/guardian_look.h"
#include "own/guardian_order.h"
#include "own/guardian_undo.h"
#include "test.h"

static struct lb_own_operator rules = {
    .ward = {{"one", {"one.example", 1}, 0}, {"two", {"two.example", 2}, 0}}, .count = 2, .at_once = 2};
static const struct lb_own own = {.found = {.server = {{"one.example", 1}, {"two.example", 2}}, .count = 2}};
static struct lb_error err;

/* ---- what stands in for time, servers and commands --------------------------------------------------------------- */

static struct world {
  lb_ns now;
  struct lb_guardian_look shown; /* by each server */
  int fails;                     /* so many commands, before one ends with 0 */
  size_t commands;
  int64_t given_ms[9]; /* by each, to a clock */
  int percent[9];      /* of that it moves */
} world;

lb_ns __wrap_lb_clock_ns(void);
void __wrap_lb_clock_sleep_until(lb_ns when);
void __wrap_lb_guardian_look_at(enum lb_mandate_verb verb, const struct lb_guardian_fault *f,
                                struct lb_guardian_look *ret);
bool __wrap_lb_guardian_look_await(enum lb_mandate_verb verb, const struct lb_guardian_fault *f,
                                   const struct lb_guardian_look *before, int64_t within_ms,
                                   struct lb_guardian_look *now);
int __wrap_lb_guardian_command(enum lb_mandate_verb verb, const struct lb_guardian_fault *f, struct lb_error *why);

lb_ns __wrap_lb_clock_ns(void) { return world.now; }

void __wrap_lb_clock_sleep_until(lb_ns when) {
  if (when > world.now) world.now = when;
}

void __wrap_lb_guardian_look_at(enum lb_mandate_verb verb, const struct lb_guardian_fault *f,
                                struct lb_guardian_look *ret) {
  (void)verb, (void)f;
  *ret = world.shown;
}

bool __wrap_lb_guardian_look_await(enum lb_mandate_verb verb, const struct lb_guardian_fault *f,
                                   const struct lb_guardian_look *before, int64_t within_ms,
                                   struct lb_guardian_look *now) {
  (void)within_ms;
  *now = world.shown;
  return lb_guardian_look_shows(verb, f, before, now);
}

int __wrap_lb_guardian_command(enum lb_mandate_verb verb, const struct lb_guardian_fault *f, struct lb_error *why) {
  size_t at = world.commands++;
  if (verb == LB_MAY_CLOCK) {
    assert_in_range(at, 0, sizeof world.percent / sizeof *world.percent - 1);
    world.given_ms[at] = f->offset_ms;
    world.shown.ahead_ms += f->offset_ms * world.percent[at] / 100;
  }
  return world.fails > 0 ? world.fails--, lb_error(why, -EIO, "it ended with 1") : 0;
}

static int set_up(void **state) {
  (void)state;
  world = (struct world){.now = LB_NS_PER_S};
  world.shown = (struct lb_guardian_look){.primary = -1, .accepts = true, .answers = true, .has_time = true};
  for (size_t i = 0; i < sizeof world.percent / sizeof *world.percent; i++) world.percent[i] = 100;
  lb_guardian = (struct lb_guardian){.rules = &rules, .journal = memfd_create("journal", MFD_CLOEXEC)};
  return lb_guardian.journal < 0;
}

static int tear_down(void **state) {
  (void)state;
  return close(lb_guardian.journal);
}
EACH(set_up, tear_down);

static void begin(struct lb_guardian_fault fault) {
  fault.seen = true;
  assert_non_null(lb_guardian_journal_add(&fault, &err));
}

static bool is_written_down(void) { return lseek(lb_guardian.journal, 0, SEEK_END) > 0; }

/* ---- links ------------------------------------------------------------------------------------------------------- */

static const struct lb_guardian_fault cut = {.verb = LB_MAY_CUT, .ward = 0, .other = 1};

TEST(a_cut_stays_written_down_until_a_command_that_heals_ends_with_0) {
  begin(cut);
  world.fails = 99;
  assert_int_equal(lb_guardian_undo_all(&err), -EIO);
  assert_int_equal(lb_guardian.count, 1);
  assert_true(is_written_down());
  assert_true(world.commands > 1);
  world.fails = 0;
  assert_int_equal(lb_guardian_undo_all(&err), 0);
  assert_int_equal(lb_guardian.count, 0);
  assert_false(is_written_down());
}

TEST(a_heal_that_fails_is_tried_again) {
  begin(cut);
  world.fails = 1;
  assert_int_equal(lb_guardian_undo_all(&err), 0);
  assert_int_equal(world.commands, 2);
}

TEST(a_heal_that_ends_with_0_is_not_the_proof_where_servers_tell) {
  begin(cut);
  world.shown.left = 1;
  assert_int_equal(lb_guardian_undo_all(&err), -EIO);
  assert_true(is_written_down());
}

TEST(of_a_server_what_is_seen_decides) {
  begin((struct lb_guardian_fault){.verb = LB_MAY_KILL, .other = rules.count});
  world.fails = 99;
  assert_int_equal(lb_guardian_undo_all(&err), 0);
  assert_false(is_written_down());
}

/* ---- clocks ------------------------------------------------------------------------------------------------------ */

enum { HOUR_MS = 3600000, SKEW_MS = 7000 };

static int set_clock(int64_t offset_ms) {
  struct lb_mandate_order order = {.verb = LB_MAY_CLOCK, .count = 1, .server = {0}, .offset_ms = offset_ms};
  return lb_guardian_order(&own, &order, &err);
}

TEST(a_clock_goes_back_to_what_it_was_off_before) {
  world.shown.ahead_ms = SKEW_MS;
  assert_int_equal(set_clock(HOUR_MS), 0);
  assert_int_equal(world.shown.ahead_ms, SKEW_MS + HOUR_MS);
  assert_int_equal(lb_guardian_undo_all(&err), 0);
  assert_int_equal(world.shown.ahead_ms, SKEW_MS);
  assert_int_equal(world.commands, 2);
}

TEST(a_clock_that_came_half_the_way_is_moved_by_the_rest) {
  world.percent[1] = 60;
  assert_int_equal(set_clock(HOUR_MS), 0);
  assert_int_equal(lb_guardian_undo_all(&err), 0);
  assert_int_equal(world.commands, 3);
  assert_int_equal(world.given_ms[1], -HOUR_MS);
  assert_int_equal(world.given_ms[2], -HOUR_MS * 4 / 10);
}

TEST(a_clock_that_does_not_come_back_stays_written_down) {
  assert_int_equal(set_clock(HOUR_MS), 0);
  for (size_t i = 1; i < sizeof world.percent / sizeof *world.percent; i++) world.percent[i] = 60;
  assert_int_equal(lb_guardian_undo_all(&err), -EIO);
  assert_int_equal(lb_guardian.count, 1);
  assert_true(is_written_down());
}

TEST(a_clock_that_is_right_again_is_left_alone) {
  assert_int_equal(set_clock(HOUR_MS), 0);
  world.shown.ahead_ms = 100;
  assert_int_equal(lb_guardian_undo_all(&err), 0);
  assert_int_equal(world.commands, 1);
}

TEST(a_clock_that_was_set_twice_goes_back_to_before_the_first) {
  world.shown.ahead_ms = SKEW_MS;
  assert_int_equal(set_clock(HOUR_MS), 0);
  assert_int_equal(set_clock(-HOUR_MS / 2), 0);
  assert_int_equal(lb_guardian_undo_all(&err), 0);
  assert_int_equal(world.shown.ahead_ms, SKEW_MS);
  assert_int_equal(world.commands, 3);
}

/* ---- what has to last -------------------------------------------------------------------------------------------- */

static int lasts_with(enum lb_mandate_verb verb, bool accepts, bool answers) {
  begin((struct lb_guardian_fault){.verb = verb, .other = rules.count});
  world.shown.accepts = accepts;
  world.shown.answers = answers;
  int r = lb_guardian_order_lasts(&err);
  lb_guardian_journal_strike(0);
  return r;
}

TEST(a_server_that_is_dead_or_paused_has_lasted_so_and_one_that_came_back_has_not) {
  assert_int_equal(lasts_with(LB_MAY_KILL, false, false), 0);
  assert_int_equal(lasts_with(LB_MAY_STOP, false, false), 0);
  assert_int_equal(lasts_with(LB_MAY_PAUSE, true, false), 0);
  assert_true(lasts_with(LB_MAY_KILL, true, true) < 0);
  assert_true(lasts_with(LB_MAY_STOP, true, false) < 0);
  assert_true(lasts_with(LB_MAY_PAUSE, true, true) < 0);
}

TEST(a_server_that_an_order_has_started_again_is_no_broken_promise) {
  begin((struct lb_guardian_fault){.verb = LB_MAY_KILL, .other = rules.count, .identity = "old"});
  world.shown.told = true;
  snprintf(world.shown.identity, sizeof world.shown.identity, "new");
  struct lb_mandate_order order = {.verb = LB_MAY_RESTART, .count = 1};
  assert_int_equal(lb_guardian_order(&own, &order, &err), 0);
  assert_int_equal(lb_guardian_order_lasts(&err), 0);
}
