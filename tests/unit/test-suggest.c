/* SPDX-License-Identifier: MIT
 *
 * Which known word is near enough to a mistyped one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/suggest.h"

static const char *const words[] = {"acquire", "release", "read", "write", "redis-token@sentinel", "pg"};

static const char *nearest(const char *word) { return lb_suggest(word, words, sizeof words / sizeof *words); }

static void a_swap_of_neighbours_is_one_slip(void **state) {
  (void)state;
  const char *const known[] = {"acquired", "acquire"}; /* plain Levenshtein would tie at two */
  assert_string_equal(lb_suggest("acquier", known, 2), "acquire");
  assert_string_equal(nearest("raed"), "read");
}

static void the_nearest_word_wins_and_the_first_of_equals(void **state) {
  (void)state;
  const char *const known[] = {"cat", "car", "cab"};
  assert_string_equal(lb_suggest("cax", known, 3), "cat");
  assert_string_equal(lb_suggest("caab", known, 3), "cab");
  assert_string_equal(nearest("reads"), "read");
}

static void a_known_word_suggests_itself(void **state) {
  (void)state;
  assert_string_equal(nearest("write"), "write");
}

static void a_long_word_may_be_off_by_a_third(void **state) {
  (void)state;
  assert_string_equal(nearest("redis-tokne@sentinal"), "redis-token@sentinel");
  assert_string_equal(nearest("redis_token@sntnel"), "redis-token@sentinel");
  assert_null(nearest("redlock@redis-x5"));
}

static void a_far_word_suggests_nothing(void **state) {
  (void)state;
  assert_null(nearest("explode"));
  assert_null(nearest("x"));
  assert_null(nearest("xy"));
  assert_null(nearest(""));
  assert_null(lb_suggest("read", NULL, 0));
}

static void endless_words_are_left_alone(void **state) {
  (void)state;
  char endless[1000];
  memset(endless, 'r', sizeof endless);
  endless[sizeof endless - 1] = '\0';
  assert_null(nearest(endless));
  const char *const known[] = {endless, "read"};
  assert_string_equal(lb_suggest("rread", known, 2), "read");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_swap_of_neighbours_is_one_slip),
      cmocka_unit_test(the_nearest_word_wins_and_the_first_of_equals),
      cmocka_unit_test(a_known_word_suggests_itself),
      cmocka_unit_test(a_long_word_may_be_off_by_a_third),
      cmocka_unit_test(a_far_word_suggests_nothing),
      cmocka_unit_test(endless_words_are_left_alone),
  };
  return cmocka_run_group_tests_name("suggest", tests, NULL, NULL);
}
