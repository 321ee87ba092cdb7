/* SPDX-License-Identifier: MIT
 *
 * What answered writes say of a session: never more than the servers would keep to (backends/zk_alive.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "backends/zk_alive.h"

#define MS LB_NS_PER_MS
enum { SESSION = 77, TIMEOUT_MS = 1200, SPAN_MS = 500 };

/* A session that was asked for at 1 s. */
static struct zk_alive begun(void) {
  struct zk_alive alive = {0};
  zk_alive_meet(&alive, SESSION, 1000 * MS, TIMEOUT_MS * MS);
  return alive;
}

static void write_at(struct zk_alive *alive, uint64_t sent_ms) {
  zk_alive_answered(alive, zk_alive_mark(alive, sent_ms * MS));
}

static void of_no_session_nothing_is_known(void **state) {
  (void)state;
  struct zk_alive alive = {0};
  assert_int_equal(alive.until, 0);
}

static void a_session_lives_from_when_it_was_asked_for(void **state) {
  (void)state;
  struct zk_alive alive = begun();
  assert_int_equal(alive.span, SPAN_MS * MS);
  assert_int_equal(alive.until, 1500 * MS);
  zk_alive_meet(&alive, SESSION, 9000 * MS, TIMEOUT_MS * MS); /* known already */
  assert_int_equal(alive.until, 1500 * MS);
}

/* The leader may end it in the moment after. */
static void one_write_after_a_long_silence_says_nothing(void **state) {
  (void)state;
  struct zk_alive alive = begun();
  write_at(&alive, 5000);
  assert_int_equal(alive.until, 1500 * MS);
}

static void the_write_before_counts_once_a_later_one_is_answered(void **state) {
  (void)state;
  struct zk_alive alive = begun();
  write_at(&alive, 5000);
  write_at(&alive, 5010);
  assert_int_equal(alive.until, 5500 * MS);
  write_at(&alive, 5400);
  assert_int_equal(alive.until, 5510 * MS);
}

/* Nothing came back between the two. */
static void two_writes_in_one_breath_are_one(void **state) {
  (void)state;
  struct zk_alive alive = begun();
  struct zk_mark first = zk_alive_mark(&alive, 5000 * MS), second = zk_alive_mark(&alive, 5001 * MS);
  zk_alive_answered(&alive, first);
  zk_alive_answered(&alive, second);
  assert_int_equal(alive.until, 1500 * MS);
}

static void a_write_without_an_answer_says_nothing(void **state) {
  (void)state;
  struct zk_alive alive = begun();
  write_at(&alive, 5000);
  zk_alive_mark(&alive, 5400 * MS);
  write_at(&alive, 5800);
  assert_int_equal(alive.until, 5500 * MS);
}

/* It is worth what was known when it left, whenever it comes. */
static void a_late_answer_takes_nothing_back(void **state) {
  (void)state;
  struct zk_alive alive = begun();
  write_at(&alive, 5000);
  struct zk_mark late = zk_alive_mark(&alive, 5010 * MS);
  write_at(&alive, 5400);
  write_at(&alive, 5450);
  assert_int_equal(alive.until, 5900 * MS);
  zk_alive_answered(&alive, late);
  assert_int_equal(alive.until, 5900 * MS);
  assert_int_equal(alive.answered, 5450 * MS);
}

static void another_session_begins_anew(void **state) {
  (void)state;
  struct zk_alive alive = begun();
  struct zk_mark of_the_first = zk_alive_mark(&alive, 9000 * MS);
  zk_alive_meet(&alive, SESSION + 1, 2000 * MS, 2 * TIMEOUT_MS * MS);
  assert_int_equal(alive.until, 3000 * MS);
  zk_alive_answered(&alive, of_the_first);
  assert_int_equal(alive.until, 3000 * MS);
  assert_int_equal(alive.answered, 2000 * MS);
}

/* Who writes when it is told to has half of the span left at any time. */
static void knowledge_is_kept_up(void **state) {
  (void)state;
  struct zk_alive alive = begun();
  for (int i = 0; i < 20; i++) {
    lb_ns at = zk_alive_renew_at(&alive);
    assert_true(alive.until >= at + SPAN_MS * MS / 2);
    zk_alive_answered(&alive, zk_alive_mark(&alive, at));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(of_no_session_nothing_is_known),
      cmocka_unit_test(a_session_lives_from_when_it_was_asked_for),
      cmocka_unit_test(one_write_after_a_long_silence_says_nothing),
      cmocka_unit_test(the_write_before_counts_once_a_later_one_is_answered),
      cmocka_unit_test(two_writes_in_one_breath_are_one),
      cmocka_unit_test(a_write_without_an_answer_says_nothing),
      cmocka_unit_test(a_late_answer_takes_nothing_back),
      cmocka_unit_test(another_session_begins_anew),
      cmocka_unit_test(knowledge_is_kept_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
