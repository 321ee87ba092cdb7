/* SPDX-License-Identifier: MIT
 *
 * What a history has to show before its verdict counts, on histories written by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "history/evidence.h"

static bool within_lease(const char *text) {
  struct lb_history h;
  struct lb_check check;
  char err[300];
  assert_int_equal(lb_history_parse("test", text, strlen(text), &h, err, sizeof err), 0);
  assert_int_equal(lb_check_history(&h, &check), 0);
  bool result = lb_evidence_within_lease(&h, &check);
  lb_check_clear(&check);
  lb_history_clear(&h);
  return result;
}

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

static void an_overlap_inside_the_first_lease_counts(void **state) {
  (void)state;
  assert_true(within_lease(GRANTED(10, "a", 100) GRANTED(50, "b", 200) EVENT(60, "a", "release") EVENT(70, "b", "release")));
}

static void an_overlap_after_the_first_lease_does_not(void **state) {
  (void)state;
  assert_false(within_lease(GRANTED(10, "a", 40) GRANTED(50, "b", 200) EVENT(60, "a", "release") EVENT(70, "b", "release")));
}

static void an_overlap_inside_a_renewed_lease_counts(void **state) {
  (void)state;
  assert_true(within_lease(GRANTED(10, "a", 40) RENEWED(20, "a", 50) RENEWED(30, "a", 60) GRANTED(55, "b", 200)
                               EVENT(70, "a", "release")));
  assert_true(within_lease(GRANTED(10, "a", 40) EVENT(20, "a", "renewed") GRANTED(55, "b", 200))); /* for ever */
}

/* The first overlap is only a slow holder, but then the service confirms it beside the next one. */
static void a_renewal_beside_the_next_holder_counts(void **state) {
  (void)state;
  assert_true(within_lease(GRANTED(10, "a", 40) GRANTED(50, "b", 200) RENEWED(60, "a", 300) EVENT(70, "a", "release")));
  assert_true(within_lease(GRANTED(10, "a", 40) GRANTED(50, "b", 200) EVENT(60, "a", "renewed"))); /* for ever */
}

static void a_renewal_read_too_late_or_after_the_hold_does_not(void **state) {
  (void)state;
  assert_false(within_lease(GRANTED(10, "a", 40) GRANTED(50, "b", 200) RENEWED(60, "a", 60) EVENT(70, "a", "release")));
  assert_false(within_lease(GRANTED(10, "a", 40) GRANTED(50, "b", 55) RENEWED(60, "a", 300) EVENT(70, "a", "release")));
  assert_false(within_lease(GRANTED(10, "c", 20) GRANTED(30, "a", 40) EVENT(45, "a", "lost") GRANTED(50, "b", 200)
                                RENEWED(60, "a", 300) EVENT(70, "c", "release")));
}

static void an_overlap_after_the_last_renewal_ran_out_does_not(void **state) {
  (void)state;
  assert_false(within_lease(GRANTED(10, "a", 40) RENEWED(20, "a", 50) GRANTED(55, "b", 200) EVENT(70, "a", "release")));
  assert_false(
      within_lease(EVENT(10, "a", "granted") RENEWED(20, "a", 50) GRANTED(55, "b", 200))); /* it was for ever */
}

static void only_the_renewals_of_the_same_hold_before_the_overlap_count(void **state) {
  (void)state;
  const char *release = EVENT(60, "a", "release") EVENT(70, "b", "release");
  char text[1000];
  const char *const holds[] = {
      GRANTED(10, "a", 40) GRANTED(55, "b", 200) RENEWED(56, "a", 56), /* over already */
      GRANTED(10, "a", 40) RENEWED(20, "c", 90) GRANTED(55, "b", 200), /* another client's */
      RENEWED(5, "a", 90) GRANTED(10, "a", 40) GRANTED(55, "b", 200),  /* of an earlier hold */
      GRANTED(10, "a", 40) EVENT(15, "a", "release") RENEWED(20, "a", 90) GRANTED(25, "a", 40) GRANTED(55, "b", 200),
      GRANTED(10, "a", 40) "{\"t\":20,\"c\":\"a\",\"k\":\"other\",\"e\":\"renewed\"}\n" GRANTED(55, "b", 200),
  };
  for (size_t i = 0; i < sizeof holds / sizeof *holds; i++) {
    snprintf(text, sizeof text, "%s%s", holds[i], release);
    assert_false(within_lease(text));
  }
  assert_true(
      within_lease(GRANTED(10, "a", 100) EVENT(20, "a", "release") RENEWED(25, "a", 900) GRANTED(30, "b", 200)));
}

static void a_hold_without_an_end_of_its_lease_is_always_inside(void **state) {
  (void)state;
  assert_true(within_lease(EVENT(10, "a", "granted") GRANTED(50, "b", 200) EVENT(60, "a", "release")));
}

static void one_overlap_inside_is_enough(void **state) {
  (void)state;
  assert_true(within_lease(GRANTED(10, "a", 40) GRANTED(50, "b", 200) EVENT(60, "a", "release") GRANTED(70, "c", 300)
                               EVENT(80, "b", "release") EVENT(90, "c", "release")));
}

static void a_third_holder_is_measured_against_each_earlier_one(void **state) {
  (void)state;
  assert_true(within_lease(GRANTED(10, "a", 40) GRANTED(50, "b", 200) GRANTED(70, "c", 300) EVENT(80, "a", "release")));
}

static void without_an_episode_there_is_nothing_to_excuse(void **state) {
  (void)state;
  assert_true(within_lease(GRANTED(10, "a", 40) EVENT(20, "a", "release")));
}

static const char *excuse(const char *text, bool past_lease) {
  struct lb_history h;
  struct lb_check check;
  char err[300];
  assert_int_equal(lb_history_parse("test", text, strlen(text), &h, err, sizeof err), 0);
  assert_int_equal(lb_check_history(&h, &check), 0);
  const char *why = lb_evidence_excuse(&h, &check, past_lease);
  lb_check_clear(&check);
  lb_history_clear(&h);
  return why;
}

static void an_overlap_after_the_lease_is_excused_unless_it_is_to_count(void **state) {
  (void)state;
  const char *late = GRANTED(10, "a", 40) GRANTED(50, "b", 200) EVENT(60, "a", "release");
  assert_string_equal(excuse(late, false), "exclusion was lost, but only after the earlier holder's lease was over");
  assert_null(excuse(late, true));
  assert_null(excuse(GRANTED(10, "a", 55) GRANTED(50, "b", 200) EVENT(60, "a", "release"), false));
  assert_null(excuse(GRANTED(10, "a", 40) EVENT(45, "a", "release") GRANTED(50, "b", 200), false));
}

static void a_fence_that_went_backwards_is_never_excused(void **state) {
  (void)state;
#define NUMBERED(t, c, until, fence) \
  "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"k\",\"e\":\"granted\",\"until\":" #until ",\"fence\":" #fence "}\n"
  const char *grown = NUMBERED(10, "a", 40, 5) NUMBERED(50, "b", 200, 6) EVENT(60, "a", "lost") EVENT(70, "b", "release")
      NUMBERED(80, "a", 300, 7);
  const char *shrunk = NUMBERED(10, "a", 40, 5) NUMBERED(50, "b", 200, 6) EVENT(60, "a", "lost") EVENT(70, "b", "release")
      NUMBERED(80, "a", 300, 2);
  assert_non_null(excuse(grown, false));
  assert_null(excuse(shrunk, false));
}

static void each_key_has_its_own_episodes_and_leases(void **state) {
  (void)state;
#define OTHER(t, c, until) "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"other\",\"e\":\"granted\",\"until\":" #until "}\n"
  assert_false(within_lease(GRANTED(10, "a", 40) OTHER(20, "a", 900) GRANTED(50, "b", 200) EVENT(60, "a", "release")));
  assert_true(within_lease(GRANTED(10, "a", 40) OTHER(20, "a", 900) GRANTED(50, "b", 200) OTHER(55, "b", 900)));
}

static void a_crash_ends_what_a_client_believed_of_every_key(void **state) {
  (void)state;
  assert_false(within_lease(GRANTED(10, "c", 900) "{\"t\":15,\"c\":\"c\",\"e\":\"crash\"}\n" GRANTED(20, "a", 40)
                                GRANTED(50, "b", 200) EVENT(60, "a", "release")));
}

static void a_grant_in_the_instant_of_a_release_overruns_nothing(void **state) {
  (void)state;
  assert_false(within_lease(GRANTED(10, "a", 900) GRANTED(50, "b", 60) EVENT(50, "a", "release") GRANTED(70, "c", 200)
                                EVENT(80, "b", "release")));
}

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
      cmocka_unit_test(an_overlap_inside_the_first_lease_counts),
      cmocka_unit_test(an_overlap_after_the_first_lease_does_not),
      cmocka_unit_test(an_overlap_inside_a_renewed_lease_counts),
      cmocka_unit_test(an_overlap_after_the_last_renewal_ran_out_does_not),
      cmocka_unit_test(a_renewal_beside_the_next_holder_counts),
      cmocka_unit_test(a_renewal_read_too_late_or_after_the_hold_does_not),
      cmocka_unit_test(only_the_renewals_of_the_same_hold_before_the_overlap_count),
      cmocka_unit_test(a_hold_without_an_end_of_its_lease_is_always_inside),
      cmocka_unit_test(one_overlap_inside_is_enough),
      cmocka_unit_test(a_third_holder_is_measured_against_each_earlier_one),
      cmocka_unit_test(without_an_episode_there_is_nothing_to_excuse),
      cmocka_unit_test(an_overlap_after_the_lease_is_excused_unless_it_is_to_count),
      cmocka_unit_test(a_fence_that_went_backwards_is_never_excused),
      cmocka_unit_test(each_key_has_its_own_episodes_and_leases),
      cmocka_unit_test(a_crash_ends_what_a_client_believed_of_every_key),
      cmocka_unit_test(a_grant_in_the_instant_of_a_release_overruns_nothing),
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
