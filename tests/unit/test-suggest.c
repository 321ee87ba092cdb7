/* SPDX-License-Identifier: MIT
 *
 * Which known word is near enough to a mistyped one.
 */
#include "test.h"
#include "base/suggest.h"

static const char *const words[] = {"acquire", "release", "read", "write", "redis-token@sentinel", "pg"};

static const char *nearest(const char *word) { return lb_suggest(word, words, sizeof words / sizeof *words); }

TEST(a_swap_of_neighbours_is_one_slip) {
  const char *const known[] = {"acquired", "acquire"}; /* plain Levenshtein would tie at two */
  assert_string_equal(lb_suggest("acquier", known, 2), "acquire");
  assert_string_equal(nearest("raed"), "read");
}

TEST(the_nearest_word_wins_and_the_first_of_equals) {
  const char *const known[] = {"cat", "car", "cab"};
  assert_string_equal(lb_suggest("cax", known, 3), "cat");
  assert_string_equal(lb_suggest("caab", known, 3), "cab");
  assert_string_equal(nearest("reads"), "read");
}

TEST(a_known_word_suggests_itself) { assert_string_equal(nearest("write"), "write"); }

STATES(a_long_word_may_be_off_by_a_third, assert_string_equal(nearest("redis-tokne@sentinal"), "redis-token@sentinel"),
       assert_string_equal(nearest("redis_token@sntnel"), "redis-token@sentinel"),
       assert_null(nearest("redlock@redis-x5")));
STATES(a_far_word_suggests_nothing, assert_null(nearest("explode")), assert_null(nearest("x")),
       assert_null(nearest("xy")), assert_null(nearest("")), assert_null(lb_suggest("read", NULL, 0)));

TEST(endless_words_are_left_alone) {
  char endless[1000];
  memset(endless, 'r', sizeof endless);
  endless[sizeof endless - 1] = '\0';
  assert_null(nearest(endless));
  const char *const known[] = {endless, "read"};
  assert_string_equal(lb_suggest("rread", known, 2), "read");
}
