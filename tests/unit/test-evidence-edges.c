/* SPDX-License-Identifier: MIT
 *
 * The edges of what counts as evidence: the very moment a lease ends, the very instant of a hand-over, who came first.
 */
#include "test.h"
#include "base/error.h"
#include "lines.h"
#include "history/evidence.h"

/* These many elements without room behind the last one: the sanitizers then see who looks there. */
static void *just(void *array, size_t count, size_t size) {
  void *exact = malloc(count * size);
  assert_non_null(exact);
  if (count) memcpy(exact, array, count * size);
  free(array);
  return exact;
}

static void parse(const char *text, struct lb_history *ret) {
  struct lb_error err;
  if (parse_lines("test", text, ret, &err) != 0) fail_msg("%s", err.text);
  ret->events = just(ret->events, ret->count, sizeof *ret->events);
  ret->capacity = ret->count;
}

/* Whether anybody asked for what another one held, answered or not. */
static bool contested(const char *text) {
  struct lb_history h;
  parse(text, &h);
  bool asked;
  lb_evidence_contested(&h, &asked);
  lb_history_clear(&h);
  return asked;
}

#define EVENT(t, c, e) "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"k\",\"e\":\"" e "\"}\n"
#define GRANTED(t, c, until) "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"k\",\"e\":\"granted\",\"until\":" #until "}\n"
#define RENEWED(t, c, until) "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"k\",\"e\":\"renewed\",\"until\":" #until "}\n"
#define ON(t, c, key, e) "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"" key "\",\"e\":\"" e "\"}\n"
#define CRASH(t, c) "{\"t\":" #t ",\"c\":\"" c "\",\"e\":\"crash\"}\n"

/* The overlap is that of a and b, after a's lease. Later b lets go in the instant in which c is granted the lock,
 * whichever of the two was recorded first: no overlap, though b's lease had long to go. */
/* So many overlaps, each after the earlier holder's lease but the one with this number (from 0). */
STATES(who_came_first_may_be_the_one_that_asks,
       assert_true(contested(EVENT(1, "a", "acquire") EVENT(2, "a", "timeout") GRANTED(10, "b", 100)
                                 EVENT(20, "a", "acquire"))),
       assert_true(contested(EVENT(1, "a", "acquire") EVENT(2, "b", "acquire") GRANTED(10, "c", 100)
                                 EVENT(20, "a", "acquire"))));
STATES(only_asking_contests_a_lock,
       assert_false(contested(GRANTED(10, "a", 100) EVENT(20, "b", "timeout") EVENT(30, "b", "release")
                                  EVENT(40, "a", "release"))),
       assert_false(contested(GRANTED(10, "a", 100) GRANTED(20, "b", 100))));

/* ---- several keys, several clients ------------------------------------------------------------------------------- */

TEST(what_others_did_or_did_with_other_keys_says_nothing_of_a_hold) {
  assert_true(contested(GRANTED(10, "a", 100) EVENT(15, "c", "timeout") EVENT(20, "b", "acquire")));
  assert_true(contested(GRANTED(10, "a", 100) EVENT(15, "c", "released") EVENT(20, "b", "acquire")));
  assert_true(contested(GRANTED(10, "a", 100) ON(15, "a", "other", "timeout") EVENT(20, "b", "acquire")));
  assert_true(contested(GRANTED(10, "a", 100) ON(15, "a", "other", "released") EVENT(20, "b", "acquire")));
  assert_true(contested(GRANTED(10, "a", 100) CRASH(15, "c") EVENT(20, "b", "acquire")));
  assert_false(contested(ON(10, "a", "other", "granted") EVENT(20, "b", "acquire")));
}

TEST(a_crash_that_names_no_key_is_one_on_every_key) {
  assert_true(contested(GRANTED(10, "a", 100) CRASH(15, "a") EVENT(99, "b", "acquire")));
  assert_false(contested(GRANTED(10, "a", 100) CRASH(15, "a") EVENT(100, "b", "acquire")));
}

TEST(the_lease_of_the_dead_is_that_of_the_latest_renewal_of_the_hold) {
  assert_true(contested(GRANTED(10, "a", 40) RENEWED(15, "a", 45) RENEWED(20, "a", 100) CRASH(30, "a")
                            EVENT(50, "b", "acquire")));
  assert_false(contested(GRANTED(10, "a", 100) RENEWED(15, "a", 100) RENEWED(20, "a", 40) CRASH(30, "a")
                             EVENT(50, "b", "acquire")));
  const char *const holds[] = {
      RENEWED(5, "a", 900) GRANTED(10, "a", 40),                                              /* before the grant */
      GRANTED(10, "a", 40) RENEWED(20, "c", 900),                                             /* another client's */
      GRANTED(10, "a", 40) ON(20, "a", "other", "renewed"),                                   /* of another key */
      GRANTED(10, "a", 40) EVENT(20, "a", "acquire") EVENT(21, "a", "busy"),                  /* no longer a hold */
      GRANTED(10, "a", 40) "{\"t\":20,\"c\":\"a\",\"k\":\"k\",\"e\":\"read\",\"value\":1}\n", /* no lease at all */
  };
  char text[1000];
  for (size_t i = 0; i < sizeof holds / sizeof *holds; i++) {
    snprintf(text, sizeof text, "%s%s", holds[i], CRASH(30, "a") EVENT(50, "b", "acquire"));
    assert_false(contested(text));
  }
}

TEST(only_a_grant_of_the_same_key_shows_that_the_dead_is_forgotten) {
  assert_true(
      contested(EVENT(10, "a", "granted") CRASH(15, "a") ON(20, "c", "other", "granted") EVENT(30, "b", "acquire")));
  assert_false(contested(EVENT(10, "a", "granted") CRASH(15, "a") EVENT(20, "c", "granted") EVENT(25, "c", "release")
                             EVENT(30, "b", "acquire")));
}

/* Two have died, the first with a lease for ever: the service had let go of that when it granted the key to the
 * second. */
STATES(the_lease_of_one_dead_client_is_not_that_of_the_next,
       assert_false(contested(EVENT(10, "a", "granted") CRASH(15, "a") GRANTED(20, "c", 40) CRASH(30, "c")
                                  EVENT(50, "b", "acquire"))),
       assert_true(contested(EVENT(10, "a", "granted") CRASH(15, "a") GRANTED(20, "c", 51) CRASH(30, "c")
                                 EVENT(50, "b", "acquire"))));

TEST(what_was_answered_before_the_crash_was_not_asked_in_it) {
  assert_false(contested(EVENT(1, "a", "acquire") GRANTED(2, "a", 9) CRASH(15, "a") EVENT(20, "b", "acquire")));
  assert_false(contested(ON(10, "a", "other", "acquire") CRASH(15, "a") EVENT(20, "b", "acquire")));
  assert_false(contested(EVENT(10, "c", "acquire") CRASH(15, "a") EVENT(20, "b", "acquire")));
  assert_false(contested(CRASH(5, "a") EVENT(10, "a", "acquire") EVENT(12, "a", "busy") CRASH(15, "a")
                             EVENT(20, "b", "acquire")));
}

TEST(what_was_asked_in_the_crash_counts_whatever_came_first) {
  assert_true(contested(EVENT(1, "c", "timeout") EVENT(2, "c", "timeout") EVENT(10, "a", "acquire") CRASH(15, "a")
                            EVENT(20, "b", "acquire")));
  assert_true(contested(EVENT(1, "a", "timeout") EVENT(2, "c", "timeout") EVENT(10, "a", "acquire") CRASH(15, "a")
                            EVENT(20, "b", "acquire")));
  assert_true(contested(EVENT(15, "a", "acquire") CRASH(15, "a") EVENT(15, "b", "acquire")));
}
