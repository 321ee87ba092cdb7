/* SPDX-License-Identifier: MIT
 *
 * What a history has to show before its verdict counts, on histories written by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "history/evidence.h"

static bool contested(const char *text) {
  struct lb_history h;
  char err[300];
  assert_int_equal(lb_history_parse("test", text, strlen(text), &h, err, sizeof err), 0);
  bool result = lb_evidence_contested(&h);
  lb_history_clear(&h);
  return result;
}

#define EVENT(t, c, e) "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"k\",\"e\":\"" e "\"}\n"
#define GRANTED(t, c, until) "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"k\",\"e\":\"granted\",\"until\":" #until "}\n"

#define RENEWED(t, c, until) "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"k\",\"e\":\"renewed\",\"until\":" #until "}\n"

static void asking_while_another_holds_contests_the_lock(void **state) {
  (void)state;
  assert_true(contested(EVENT(5, "a", "acquire") GRANTED(10, "a", 100) EVENT(20, "b", "acquire") EVENT(30, "b", "timeout")));
}

static void asking_while_another_may_hold_does_too(void **state) {
  (void)state;
  assert_true(contested(EVENT(5, "a", "acquire") EVENT(10, "a", "unknown") EVENT(20, "b", "acquire") EVENT(30, "b", "timeout")));
}

static void asking_after_a_release_or_a_timeout_does_not(void **state) {
  (void)state;
  assert_false(contested(EVENT(5, "a", "acquire") EVENT(10, "a", "unknown") EVENT(15, "a", "released")
                             EVENT(20, "b", "acquire")));
  assert_false(contested(GRANTED(10, "a", 100) EVENT(15, "a", "release") EVENT(20, "b", "acquire") EVENT(30, "b", "granted")));
  assert_false(contested(EVENT(5, "a", "acquire") EVENT(10, "a", "timeout") EVENT(20, "b", "acquire")));
}

/* The service does not know that its client is dead. */
static void the_lock_of_a_dead_holder_is_contested_until_its_lease_ends(void **state) {
  (void)state;
  assert_true(contested(GRANTED(10, "a", 100) EVENT(15, "a", "crash") EVENT(20, "b", "acquire")));
  assert_true(contested(EVENT(10, "a", "granted") EVENT(15, "a", "crash") EVENT(9000, "b", "acquire")));
  assert_true(contested(GRANTED(10, "a", 40) RENEWED(20, "a", 100) EVENT(30, "a", "crash") EVENT(50, "b", "acquire")));
  assert_true(contested(EVENT(10, "a", "unknown") EVENT(15, "a", "crash") EVENT(20, "b", "acquire")));
  assert_false(contested(GRANTED(10, "a", 100) EVENT(15, "a", "crash") EVENT(100, "b", "acquire")));
  assert_false(contested(GRANTED(10, "a", 100) EVENT(12, "a", "release") EVENT(15, "a", "crash") EVENT(20, "b", "acquire")));
  assert_false(contested(EVENT(15, "a", "crash") EVENT(20, "b", "acquire")));
}

static void what_a_client_died_asking_for_may_be_held(void **state) {
  (void)state;
  assert_true(contested(EVENT(10, "a", "acquire") EVENT(15, "a", "crash") EVENT(20, "b", "acquire")));
  assert_true(contested(GRANTED(2, "a", 9) EVENT(5, "a", "release") EVENT(10, "a", "acquire") EVENT(15, "a", "crash")
                            EVENT(20, "b", "acquire")));
  assert_false(contested(EVENT(10, "a", "acquire") EVENT(12, "a", "timeout") EVENT(15, "a", "crash")
                             EVENT(20, "b", "acquire")));
}

static void a_later_grant_shows_that_the_dead_holder_is_forgotten(void **state) {
  (void)state;
  assert_false(contested(EVENT(10, "a", "granted") EVENT(15, "a", "crash") EVENT(20, "b", "granted")
                             EVENT(30, "b", "release") EVENT(40, "b", "acquire")));
}

static void a_renewal_is_no_hold_to_contest(void **state) {
  (void)state;
  assert_false(contested(RENEWED(10, "a", 100) EVENT(20, "b", "acquire")));
  assert_false(
      contested(GRANTED(10, "a", 100) EVENT(15, "a", "release") RENEWED(17, "a", 90) EVENT(20, "b", "acquire")));
  assert_true(contested(GRANTED(10, "a", 100) RENEWED(17, "a", 190) EVENT(20, "b", "acquire")));
}

static void a_client_does_not_contest_itself(void **state) {
  (void)state;
  assert_false(contested(GRANTED(10, "a", 100) EVENT(20, "a", "acquire")));
}

/* ---- what was observed ---------------------------------------------------------------------------------------------- */

static bool observed(const char *text, const char *role, bool present) {
  struct lb_history h;
  char err[300];
  assert_int_equal(lb_history_parse("test", text, strlen(text), &h, err, sizeof err), 0);
  bool result = lb_evidence_observed(&h, role, present);
  lb_history_clear(&h);
  return result;
}

#define OBSERVED(where, present) "{\"t\":5,\"e\":\"observed\"," where ",\"present\":" present "}\n"

static void an_observation_is_of_a_role_and_of_what_was_seen_there(void **state) {
  (void)state;
  static const char gone[] = "{\"format\":2}\n" OBSERVED("\"role\":\"primary\"", "false");
  assert_true(observed(gone, "primary", false));
  assert_false(observed(gone, "primary", true));
  assert_false(observed(gone, "current primary", false));
}

static void one_of_several_observations_is_enough(void **state) {
  (void)state;
  static const char twice[] = "{\"format\":2}\n" OBSERVED("\"role\":\"primary\"", "true") OBSERVED("\"role\":\"primary\"", "false");
  assert_true(observed(twice, "primary", false));
  assert_true(observed(twice, "primary", true));
}

static void what_was_seen_at_a_host_or_only_said_is_no_observation_of_a_role(void **state) {
  (void)state;
  static const char others[] = "{\"format\":2}\n" OBSERVED("\"host\":\"primary\"", "false") OBSERVED("\"host\":\"redis-1\"", "false")
      "{\"t\":5,\"e\":\"note\",\"what\":\"key absent on primary\"}\n"
      "{\"t\":5,\"e\":\"role\",\"role\":\"primary\",\"host\":\"redis-1\"}\n"
      "{\"t\":5,\"e\":\"fault\",\"what\":\"kill primary\",\"role\":\"primary\"}\n";
  assert_false(observed(others, "primary", false));
}

/* As the releases of format 1 wrote it. */
static void the_sentence_of_format_1_is_an_observation(void **state) {
  (void)state;
  static const char said[] = "{\"t\":5,\"e\":\"note\",\"what\":\"key absent on current primary\"}\n";
  assert_true(observed(said, "current primary", false));
  assert_false(observed(said, "current primary", true));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(asking_while_another_holds_contests_the_lock),
      cmocka_unit_test(asking_while_another_may_hold_does_too),
      cmocka_unit_test(asking_after_a_release_or_a_timeout_does_not),
      cmocka_unit_test(the_lock_of_a_dead_holder_is_contested_until_its_lease_ends),
      cmocka_unit_test(what_a_client_died_asking_for_may_be_held),
      cmocka_unit_test(a_later_grant_shows_that_the_dead_holder_is_forgotten),
      cmocka_unit_test(a_renewal_is_no_hold_to_contest),
      cmocka_unit_test(a_client_does_not_contest_itself),
      cmocka_unit_test(an_observation_is_of_a_role_and_of_what_was_seen_there),
      cmocka_unit_test(one_of_several_observations_is_enough),
      cmocka_unit_test(what_was_seen_at_a_host_or_only_said_is_no_observation_of_a_role),
      cmocka_unit_test(the_sentence_of_format_1_is_an_observation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
