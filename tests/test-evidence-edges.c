/* SPDX-License-Identifier: MIT
 *
 * The edges of what counts as evidence: the very moment a lease ends, the very instant of a hand-over, who came first.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../harness/evidence.h"

/* With no room behind the last event: the sanitizers then see who looks there. */
static void parse(const char *text, struct lb_history *ret) {
  char err[300];
  if (lb_history_parse("test", text, strlen(text), ret, err, sizeof err) != 0) fail_msg("%s", err);
  struct lb_event *events = malloc(ret->count * sizeof *events);
  assert_non_null(events);
  memcpy(events, ret->events, ret->count * sizeof *events);
  free(ret->events);
  ret->events = events;
  ret->capacity = ret->count;
}

static bool within_lease(const char *text, uint64_t episodes) {
  struct lb_history h;
  struct lb_check check;
  parse(text, &h);
  assert_int_equal(lb_check_history(&h, &check), 0);
  assert_int_equal(check.double_holds, episodes);
  bool result = lb_evidence_within_lease(&h, &check);
  lb_check_clear(&check);
  lb_history_clear(&h);
  return result;
}

static bool contested(const char *text) {
  struct lb_history h;
  parse(text, &h);
  bool result = lb_evidence_contested(&h);
  lb_history_clear(&h);
  return result;
}

#define EVENT(t, c, e) "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"k\",\"e\":\"" e "\"}\n"
#define GRANTED(t, c, until) "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"k\",\"e\":\"granted\",\"until\":" #until "}\n"

static void a_lease_is_over_in_the_moment_it_ends(void **state) {
  (void)state;
  assert_true(within_lease(GRANTED(10, "a", 51) GRANTED(50, "b", 200) EVENT(60, "a", "release"), 1));
  assert_false(within_lease(GRANTED(10, "a", 50) GRANTED(50, "b", 200) EVENT(60, "a", "release"), 1));
}

/* The overlap is that of a and b, after a's lease. Later b lets go in the instant in which c is granted the lock, whichever of the two
 * was recorded first: no overlap, though b's lease had long to go. */
static void a_hand_over_in_one_instant_is_no_overlap_inside_a_lease(void **state) {
  (void)state;
  assert_false(within_lease(GRANTED(10, "a", 40) GRANTED(50, "b", 200) EVENT(60, "a", "release") GRANTED(70, "c", 300)
                                EVENT(70, "b", "release") EVENT(80, "c", "release"),
                            1));
}

/* So many overlaps, each after the earlier holder's lease but the one with this number (from 0). */
static bool one_of_many_is_within(unsigned count, unsigned which) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  assert_non_null(out);
  for (unsigned i = 0; i < count; i++) {
    unsigned t = 100 * i + 1;
    fprintf(out, "{\"t\":%u,\"c\":\"a\",\"k\":\"k\",\"e\":\"granted\",\"until\":%u}\n", t, t + (i == which ? 30 : 10));
    fprintf(out, "{\"t\":%u,\"c\":\"b\",\"k\":\"k\",\"e\":\"granted\"}\n", t + 20);
    fprintf(out, "{\"t\":%u,\"c\":\"a\",\"k\":\"k\",\"e\":\"release\"}\n", t + 40);
    fprintf(out, "{\"t\":%u,\"c\":\"b\",\"k\":\"k\",\"e\":\"release\"}\n", t + 50);
  }
  fclose(out);
  bool result = within_lease(text, count);
  free(text);
  return result;
}

static void of_very_many_overlaps_every_one_is_looked_at(void **state) {
  (void)state;
  assert_true(one_of_many_is_within(1001, 0));
  assert_true(one_of_many_is_within(1001, 999));
  assert_true(one_of_many_is_within(1001, 1000));
  assert_false(one_of_many_is_within(1001, 1001));
}

static void who_came_first_may_be_the_one_that_asks(void **state) {
  (void)state;
  assert_true(
      contested(EVENT(1, "a", "acquire") EVENT(2, "a", "timeout") GRANTED(10, "b", 100) EVENT(20, "a", "acquire")));
  assert_true(
      contested(EVENT(1, "a", "acquire") EVENT(2, "b", "acquire") GRANTED(10, "c", 100) EVENT(20, "a", "acquire")));
}

static void only_asking_contests_a_lock(void **state) {
  (void)state;
  assert_false(
      contested(GRANTED(10, "a", 100) EVENT(20, "b", "timeout") EVENT(30, "b", "release") EVENT(40, "a", "release")));
  assert_false(contested(GRANTED(10, "a", 100) GRANTED(20, "b", 100)));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_lease_is_over_in_the_moment_it_ends),
      cmocka_unit_test(a_hand_over_in_one_instant_is_no_overlap_inside_a_lease),
      cmocka_unit_test(of_very_many_overlaps_every_one_is_looked_at),
      cmocka_unit_test(who_came_first_may_be_the_one_that_asks),
      cmocka_unit_test(only_asking_contests_a_lock),
  };
  return cmocka_run_group_tests_name("evidence-edges", tests, NULL, NULL);
}
