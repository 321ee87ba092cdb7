/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * What answered writes say of a session: never more than the servers would keep to (backends/zookeeper/zk_life.h).
 */
#include "test.h"
#include "backends/zookeeper/zk_life.h"

#define MS LB_NS_PER_MS
enum { SESSION = 77, TIMEOUT_MS = 1200, SPAN_MS = 500 };

/* A session that was asked for at 1 s. */
static struct zk_alive begun(void) {
  struct zk_alive alive = {0};
  zk_alive_meet(&alive, SESSION, 1000 * MS, TIMEOUT_MS * MS);
  return alive;
}

static void write_for(struct zk_alive *alive, uint64_t sent_ms, uint64_t read_ms) {
  zk_alive_answered(alive, zk_alive_mark(alive, sent_ms * MS), read_ms * MS);
}

/* Answered within a millisecond. */
static void write_at(struct zk_alive *alive, uint64_t sent_ms) { write_for(alive, sent_ms, sent_ms + 1); }

TEST(of_no_session_nothing_is_known) {
  struct zk_alive alive = {0};
  assert_int_equal(alive.until, 0);
}

TEST(a_session_lives_from_when_it_was_asked_for) {
  struct zk_alive alive = begun();
  assert_int_equal(alive.span, SPAN_MS * MS);
  assert_int_equal(alive.until, 1500 * MS);
  zk_alive_meet(&alive, SESSION, 9000 * MS, TIMEOUT_MS * MS); /* known already */
  assert_int_equal(alive.until, 1500 * MS);
}

/* The leader may end it in the moment after. */
TEST(one_write_after_a_long_silence_says_nothing) {
  struct zk_alive alive = begun();
  write_at(&alive, 5000);
  assert_int_equal(alive.until, 1500 * MS);
}

TEST(the_write_before_counts_once_a_later_one_is_answered) {
  struct zk_alive alive = begun();
  write_at(&alive, 5000);
  write_at(&alive, 5010);
  assert_int_equal(alive.until, 5500 * MS);
  write_at(&alive, 5200);
  assert_int_equal(alive.until, 5510 * MS);
}

/* Nothing came back between the two. */
TEST(two_writes_in_one_breath_are_one) {
  struct zk_alive alive = begun();
  struct zk_mark first = zk_alive_mark(&alive, 5000 * MS), second = zk_alive_mark(&alive, 5001 * MS);
  zk_alive_answered(&alive, first, 5002 * MS);
  zk_alive_answered(&alive, second, 5002 * MS);
  assert_int_equal(alive.until, 1500 * MS);
}

TEST(a_write_without_an_answer_says_nothing) {
  struct zk_alive alive = begun();
  write_at(&alive, 5000);
  zk_alive_mark(&alive, 5400 * MS);
  write_at(&alive, 5800);
  assert_int_equal(alive.until, 5500 * MS);
}

/* It is worth what was known when it left, whenever it comes. */
TEST(a_late_answer_takes_nothing_back) {
  struct zk_alive alive = begun();
  write_at(&alive, 5000);
  struct zk_mark late = zk_alive_mark(&alive, 5010 * MS);
  write_at(&alive, 5200);
  write_at(&alive, 5250);
  assert_int_equal(alive.until, 5700 * MS);
  zk_alive_answered(&alive, late, 5260 * MS);
  assert_int_equal(alive.until, 5700 * MS);
  assert_int_equal(alive.answered, 5250 * MS);
}

TEST(another_session_begins_anew) {
  struct zk_alive alive = begun();
  struct zk_mark of_the_first = zk_alive_mark(&alive, 9000 * MS);
  zk_alive_meet(&alive, SESSION + 1, 2000 * MS, 2 * TIMEOUT_MS * MS);
  assert_int_equal(alive.until, 3000 * MS);
  zk_alive_answered(&alive, of_the_first, 9001 * MS);
  assert_int_equal(alive.until, 3000 * MS);
  assert_int_equal(alive.answered, 2000 * MS);
}

/* Who writes when it is told to has half of the span left at any time. */
TEST(knowledge_is_kept_up) {
  struct zk_alive alive = begun();
  for (int i = 0; i < 20; i++) {
    lb_ns at = zk_alive_renew_at(&alive);
    assert_true(alive.until >= at + SPAN_MS * MS / 2);
    zk_alive_answered(&alive, zk_alive_mark(&alive, at), at + MS);
  }
}

/* A quarter of the timeout after the first was answered the second leaves: 300 ms. */
TEST(three_writes_are_good_for_the_whole_timeout) {
  struct zk_alive alive = begun();
  write_for(&alive, 5000, 5020);
  write_at(&alive, 5320);
  assert_int_equal(alive.until, 5500 * MS);
  write_at(&alive, 5330);
  assert_int_equal(alive.until, (5000 + TIMEOUT_MS) * MS);
}

/* The ping before the answer to the second may be older than the first. */
TEST(the_second_may_not_come_sooner) {
  struct zk_alive alive = begun();
  write_for(&alive, 5000, 5020);
  write_at(&alive, 5319);
  write_at(&alive, 5330);
  assert_int_equal(alive.until, 5819 * MS); /* by the two latest */
}

TEST(the_third_leaves_after_the_second_was_answered) {
  struct zk_alive alive = begun();
  write_at(&alive, 5000);
  struct zk_mark second = zk_alive_mark(&alive, 5600 * MS), third = zk_alive_mark(&alive, 5601 * MS);
  zk_alive_answered(&alive, second, 5602 * MS);
  zk_alive_answered(&alive, third, 5602 * MS);
  assert_int_equal(alive.until, 5500 * MS);
}

/* T = 4 s and ticks of 2 s. The follower hears of the session by a write at 10 s, and of nothing else until that is
 * answered 2.6 s later, because the library sends no ping meanwhile. It says so at once. It need not say more in time:
 * the ping before the two quick writes that follow may be a second old. So the leader may end the session from 14 s
 * on. */
TEST(while_an_answer_is_due_the_library_sends_nothing) {
  struct zk_alive alive = {0};
  zk_alive_meet(&alive, SESSION, 1000 * MS, 4000 * MS);
  write_for(&alive, 10000, 12600);
  write_for(&alive, 12600, 12601);
  write_for(&alive, 12601, 12602);
  assert_in_range(alive.until, 12602 * MS, 14000 * MS);
}

/* The same, where nobody waits for the answer any more. */
TEST(nor_while_one_is_due_that_was_given_up) {
  struct zk_alive alive = {0};
  zk_alive_meet(&alive, SESSION, 1000 * MS, 4000 * MS);
  struct zk_mark mark = zk_alive_mark(&alive, 10000 * MS);
  zk_alive_given_up(&alive, mark, 12600 * MS);
  write_for(&alive, 12600, 12601);
  write_for(&alive, 12601, 12602);
  assert_in_range(alive.until, 12602 * MS, 14000 * MS);
}

TEST(it_does_again_afterwards) {
  struct zk_alive alive = {0};
  zk_alive_meet(&alive, SESSION, 1000 * MS, 4000 * MS);
  write_for(&alive, 10000, 12600);
  write_for(&alive, 13600, 13601);
  write_for(&alive, 13602, 13603);
  assert_in_range(alive.until, 13600 * MS + alive.span, 13602 * MS + alive.span);
}

/* Of a whole series: never more than T after a write that was answered a quarter of T before another one, which was
 * answered before the latest left; and no less than what writes at these distances have to tell. */
TEST(who_writes_all_the_time_knows_of_more) {
  struct zk_alive alive = begun();
  for (uint64_t at = 5000; at < 9000; at += 2) write_at(&alive, at);
  lb_ns last = 8998 * MS, first = last - (2 + 301) * MS; /* the newest that could be the first of three */
  assert_in_range(alive.until, first + (TIMEOUT_MS - TIMEOUT_MS / 24) * MS, first + TIMEOUT_MS * MS);
}
