/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * What a history has to show before its verdict counts, on histories written by hand.
 */
#include "test.h"
#include "base/error.h"
#include "lines.h"
#include "check/evidence.h"

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

STATES(asking_while_another_holds_contests_the_lock,
       assert_true(contested(EVENT(5, "a", "acquire") GRANTED(10, "a", 100) EVENT(20, "b", "acquire")
                                 EVENT(30, "b", "timeout"))));
STATES(asking_while_another_may_hold_does_too,
       assert_true(contested(EVENT(5, "a", "acquire") EVENT(10, "a", "unknown") EVENT(20, "b", "acquire")
                                 EVENT(30, "b", "timeout"))));

TEST(asking_after_a_release_or_a_timeout_does_not) {
  assert_false(contested(EVENT(5, "a", "acquire") EVENT(10, "a", "unknown") EVENT(15, "a", "released")
                             EVENT(20, "b", "acquire")));
  assert_false(
      contested(GRANTED(10, "a", 100) EVENT(15, "a", "release") EVENT(20, "b", "acquire") EVENT(30, "b", "granted")));
  assert_false(contested(EVENT(5, "a", "acquire") EVENT(10, "a", "timeout") EVENT(20, "b", "acquire")));
}

/* The service does not know that its client is dead. */
TEST(the_lock_of_a_dead_holder_is_contested_until_its_lease_ends) {
  assert_true(contested(GRANTED(10, "a", 100) EVENT(15, "a", "crash") EVENT(20, "b", "acquire")));
  assert_true(contested(EVENT(10, "a", "granted") EVENT(15, "a", "crash") EVENT(9000, "b", "acquire")));
  assert_true(contested(GRANTED(10, "a", 40) RENEWED(20, "a", 100) EVENT(30, "a", "crash") EVENT(50, "b", "acquire")));
  assert_true(contested(EVENT(10, "a", "unknown") EVENT(15, "a", "crash") EVENT(20, "b", "acquire")));
  assert_false(contested(GRANTED(10, "a", 100) EVENT(15, "a", "crash") EVENT(100, "b", "acquire")));
  assert_false(
      contested(GRANTED(10, "a", 100) EVENT(12, "a", "release") EVENT(15, "a", "crash") EVENT(20, "b", "acquire")));
  assert_false(contested(EVENT(15, "a", "crash") EVENT(20, "b", "acquire")));
}

TEST(what_a_client_died_asking_for_may_be_held) {
  assert_true(contested(EVENT(10, "a", "acquire") EVENT(15, "a", "crash") EVENT(20, "b", "acquire")));
  assert_true(contested(GRANTED(2, "a", 9) EVENT(5, "a", "release") EVENT(10, "a", "acquire") EVENT(15, "a", "crash")
                            EVENT(20, "b", "acquire")));
  assert_false(
      contested(EVENT(10, "a", "acquire") EVENT(12, "a", "timeout") EVENT(15, "a", "crash") EVENT(20, "b", "acquire")));
}

STATES(a_later_grant_shows_that_the_dead_holder_is_forgotten,
       assert_false(contested(EVENT(10, "a", "granted") EVENT(15, "a", "crash") EVENT(20, "b", "granted")
                                  EVENT(30, "b", "release") EVENT(40, "b", "acquire"))));

TEST(a_renewal_is_no_hold_to_contest) {
  assert_false(contested(RENEWED(10, "a", 100) EVENT(20, "b", "acquire")));
  assert_false(
      contested(GRANTED(10, "a", 100) EVENT(15, "a", "release") RENEWED(17, "a", 90) EVENT(20, "b", "acquire")));
  assert_true(contested(GRANTED(10, "a", 100) RENEWED(17, "a", 190) EVENT(20, "b", "acquire")));
}

TEST(a_client_does_not_contest_itself) { assert_false(contested(GRANTED(10, "a", 100) EVENT(20, "a", "acquire"))); }

/* ---- what was observed ------------------------------------------------------------------------------------------- */

static bool observed(const char *text, const char *role, bool present) {
  struct lb_history h;
  struct lb_error err;
  assert_int_equal(parse_lines("test", text, &h, &err), 0);
  bool result = lb_evidence_observed(&h, role, present);
  lb_history_clear(&h);
  return result;
}

#define OBSERVED(where, present) "{\"t\":5,\"e\":\"observed\"," where ",\"present\":" present "}\n"

TEST(an_observation_is_of_a_role_and_of_what_was_seen_there) {
  static const char gone[] = "{\"format\":2}\n" OBSERVED("\"role\":\"primary\"", "false");
  assert_true(observed(gone, "primary", false));
  assert_false(observed(gone, "primary", true));
  assert_false(observed(gone, "current primary", false));
}

TEST(one_of_several_observations_is_enough) {
  static const char twice[] =
      "{\"format\":2}\n" OBSERVED("\"role\":\"primary\"", "true") OBSERVED("\"role\":\"primary\"", "false");
  assert_true(observed(twice, "primary", false));
  assert_true(observed(twice, "primary", true));
}

TEST(what_was_seen_at_a_host_or_only_said_is_no_observation_of_a_role) {
  static const char others[] = "{\"format\":2}\n" OBSERVED("\"host\":\"primary\"", "false") OBSERVED(
      "\"host\":\"redis-1\"", "false") "{\"t\":5,\"e\":\"note\",\"what\":\"key absent on primary\"}\n"
                                       "{\"t\":5,\"e\":\"role\",\"role\":\"primary\",\"host\":\"redis-1\"}\n"
                                       "{\"t\":5,\"e\":\"fault\",\"what\":\"kill primary\",\"role\":\"primary\"}\n";
  assert_false(observed(others, "primary", false));
}

/* ---- who was answered -------------------------------------------------------------------------------------------- */

static bool answered(const char *text) {
  struct lb_history h;
  struct lb_error err;
  if (parse_lines("test", text, &h, &err) != 0) fail_msg("%s", err.text);
  bool asked, result = lb_evidence_contested(&h, &asked);
  assert_true(asked || !result);
  lb_history_clear(&h);
  return result;
}

TEST(a_question_without_an_answer_contests_nothing) {
  assert_true(answered(GRANTED(10, "a", 100) EVENT(20, "b", "acquire") EVENT(30, "b", "busy")));
  assert_true(
      answered(GRANTED(10, "a", 100) EVENT(20, "b", "acquire") EVENT(25, "a", "release") EVENT(30, "b", "granted")));
  assert_false(answered(GRANTED(10, "a", 100) EVENT(20, "b", "acquire") EVENT(30, "b", "timeout")));
  assert_false(answered(GRANTED(10, "a", 100) EVENT(20, "b", "acquire") EVENT(30, "b", "unknown")));
  assert_true(answered(GRANTED(10, "a", 100) EVENT(
      20, "b", "acquire") "{\"t\":30,\"c\":\"b\",\"k\":\"k\",\"e\":\"unknown\",\"ok\":false}\n"));
  assert_false(answered(GRANTED(10, "a", 100) EVENT(20, "b", "acquire")));
  assert_false(answered(GRANTED(10, "a", 100) EVENT(20, "b", "acquire") EVENT(30, "b", "timeout") EVENT(
      35, "a", "release") EVENT(40, "b", "acquire") EVENT(50, "b", "granted"))); /* that was another question */
  assert_false(answered(GRANTED(10, "a", 100) EVENT(20, "b", "acquire") EVENT(25, "b", "acquire")));
  assert_false(answered(GRANTED(10, "a", 100) EVENT(20, "b", "acquire") EVENT(30, "c", "busy")));
  assert_true(
      answered(GRANTED(10, "a", 100) EVENT(20, "b", "acquire") EVENT(30, "c", "timeout") EVENT(31, "b", "busy")));
  assert_false(answered(GRANTED(10, "a", 100)
                            EVENT(20, "b", "acquire") "{\"t\":30,\"c\":\"b\",\"k\":\"other\",\"e\":\"busy\"}\n"));
}

#define FORMAT "{\"format\":2}\n"
#define SERVER(t, c) "{\"t\":" #t ",\"c\":\"" c "\",\"e\":\"server\",\"step\":1,\"host\":\"zk-1\"}\n"

#define TOUCHED(t, host, from)                                                                                         \
  "{\"t\":" #t ",\"e\":\"touched\",\"step\":2,\"verb\":\"cut\",\"host\":\"" host "\"" from "}\n"
#define FROM(host) ",\"from\":\"" host "\""

struct silence {
  const char *before, *after;
  bool counts;
};

/* `asked`: what is the same in all of them. */
static void each_counts(const struct silence *cases, size_t count, const char *asked) {
  for (size_t i = 0; i < count; i++) {
    char text[1000];
    snprintf(text, sizeof text, FORMAT "%s%s%s", cases[i].before, asked, cases[i].after);
    if (answered(text) != cases[i].counts) fail_msg("case %zu", i);
  }
}

TEST(silence_is_an_answer_of_whom_the_client_was_seen_to_talk_to) {
  static const struct silence cases[] = {
      {SERVER(5, "b"), EVENT(30, "b", "unknown"), true},
      {SERVER(5, "b"), "", true}, /* it still asks when the history ends */
      {SERVER(5, "a"), EVENT(30, "b", "unknown"), false},
      {"", SERVER(25, "b") EVENT(30, "b", "unknown"), false},
      {SERVER(5, "b"), EVENT(30, "b", "timeout"), false}, /* it may have sent nothing */
      {SERVER(5, "b"), EVENT(25, "a", "timeout") EVENT(30, "b", "unknown"), true},
      {SERVER(5, "b"), "{\"t\":25,\"c\":\"b\",\"k\":\"other\",\"e\":\"timeout\"}\n" EVENT(30, "b", "unknown"), true},
      {"{\"t\":5,\"c\":\"b\",\"e\":\"server\",\"step\":1}\n", EVENT(30, "b", "unknown"), false}, /* to none */
      {SERVER(4, "b") "{\"t\":5,\"c\":\"b\",\"e\":\"server\",\"step\":1}\n", EVENT(30, "b", "unknown"), false},
      {"{\"t\":5,\"c\":\"b\",\"k\":\"k\",\"e\":\"server\",\"host\":\"zk-1\"}\n", EVENT(30, "b", "unknown"),
       false}, /* no step */
  };
  each_counts(cases, sizeof cases / sizeof *cases, GRANTED(10, "a", 100) EVENT(20, "b", "acquire"));
}

/* Then nobody knows whom it talks to. */
TEST(whom_a_client_talks_to_is_forgotten_when_a_fault_touches_either) {
  static const struct silence cases[] = {
      {SERVER(5, "b") TOUCHED(6, "b", FROM("zk-2")), "", false},
      {SERVER(5, "b") TOUCHED(6, "client-1, b", ""), "", false},
      {SERVER(5, "b") TOUCHED(6, "zk-2, zk-3", FROM("b")), "", false},
      {SERVER(5, "b") TOUCHED(6, "zk-1", ""), "", false},
      {SERVER(5, "b") TOUCHED(6, "zk-3, zk-1, zk-2", ""), "", false},
      {SERVER(5, "b") TOUCHED(6, "a", FROM("zk-2, zk-1")), "", false},
      {TOUCHED(4, "zk-1", FROM("b")) SERVER(5, "b"), "", true},
      {SERVER(5, "b") TOUCHED(6, "a", FROM("zk-2")), "", true},
      {SERVER(5, "b") TOUCHED(6, "zk-10, a-zk-1, bb", FROM("zk-1a, ab")), "", true}, /* others, with longer names */
      {SERVER(5, "b") TOUCHED(6, "zk-10, zk-1", ""), "", false},
      {SERVER(5, "b") "{\"t\":6,\"e\":\"observed\",\"step\":2,\"host\":\"zk-1\",\"present\":true}\n", "", true},
      {SERVER(5, "b") TOUCHED(6, "b", "") SERVER(7, "b"), "", true}, /* looked again */
      {SERVER(5, "b") TOUCHED(19, "zk-1", ""), "", false},           /* just before it asks */
      {SERVER(5, "b") TOUCHED(21, "zk-1", ""), "", true},            /* when it had asked */
  };
  each_counts(cases, sizeof cases / sizeof *cases,
              GRANTED(10, "a", 100) EVENT(20, "b", "acquire") EVENT(30, "b", "unknown"));
}

#define HOLDS(t, c, holds) "{\"t\":" #t ",\"c\":\"" c "\",\"e\":\"holds\",\"present\":" holds ",\"step\":3}\n"
#define FAULT(t) "{\"t\":" #t ",\"e\":\"fault\",\"what\":\"kill primary\",\"step\":2}\n"

TEST(silence_is_an_answer_where_a_step_saw_the_holder_after_the_fault) {
  static const struct silence cases[] = {
      {GRANTED(10, "a", 100) FAULT(12) HOLDS(13, "a", "true"), "", true},
      {GRANTED(10, "a", 100) HOLDS(11, "a", "true") FAULT(12), "", false},
      {GRANTED(10, "a", 100) FAULT(12) HOLDS(13, "a", "false"), "", false},
      {GRANTED(10, "a", 100) FAULT(12) HOLDS(13, "b", "true"), "", false},
      {GRANTED(10, "a", 100) FAULT(12), "", false},
      {HOLDS(5, "a", "true") GRANTED(10, "a", 100), "", true}, /* no fault at all */
  };
  each_counts(cases, sizeof cases / sizeof *cases, EVENT(20, "b", "acquire") EVENT(30, "b", "unknown"));
}

/* Who gave up and certainly does not hold may have sent nothing, whoever was seen to hold. */
TEST(silence_is_no_answer_to_a_question_that_may_not_have_left) {
  static const struct silence cases[] = {
      {"", EVENT(30, "b", "timeout"), false},
      {"", EVENT(30, "b", "timeout") "{\"t\":30,\"c\":\"b\",\"k\":\"k\",\"e\":\"server\",\"host\":\"zk-1\"}\n",
       true}, /* still connected */
      {"", EVENT(30, "b", "timeout") "{\"t\":30,\"c\":\"b\",\"k\":\"k\",\"e\":\"server\"}\n", false},
      {"", EVENT(30, "b", "timeout") "{\"t\":30,\"c\":\"a\",\"k\":\"k\",\"e\":\"server\",\"host\":\"zk-1\"}\n", false},
      {"", EVENT(30, "b", "timeout") EVENT(40, "b", "acquire") EVENT(50, "b", "timeout"), false},
      {"", EVENT(30, "b", "timeout") EVENT(40, "b", "acquire") EVENT(50, "b", "unknown"), true}, /* the second one */
      {"", "", true}, /* it still asks when the history ends */
  };
  each_counts(cases, sizeof cases / sizeof *cases,
              GRANTED(10, "a", 100) HOLDS(13, "a", "true") EVENT(20, "b", "acquire"));
}

/* ---- who asked in vain ------------------------------------------------------------------------------------------- */

/* For how long nobody had a right to the lock; 0 = it was not asked for in vain. The ttl is 100. */
static uint64_t in_vain(const char *text) {
  struct lb_history h;
  struct lb_in_vain found = {0};
  struct lb_error err;
  if (parse_lines("test", text, &h, &err) != 0) fail_msg("%s", err.text);
  bool result = lb_evidence_in_vain(&h, 100, &found);
  lb_history_clear(&h);
  return result ? found.free_ns : 0;
}

/* What came of asking again, with a ttl of 100. */
static enum lb_closing_end closing(const char *text) {
  struct lb_history h;
  struct lb_closing found;
  struct lb_error err;
  if (parse_lines("test", text, &h, &err) != 0) fail_msg("%s", err.text);
  lb_evidence_closing(&h, 100, &found);
  lb_history_clear(&h);
  return found.end;
}

#define V2 "{\"format\":2}\n"
#define PHASE(t, word) "{\"t\":" #t ",\"e\":\"phase\",\"phase\":\"" word "\"}\n"

/* By 600 every lease that there was at 500 has ended, if none said more. */
TEST(a_lock_that_is_asked_for_again_is_free_later_or_never) {
  assert_int_equal(closing(GRANTED(10, "a", 90) EVENT(40, "b", "acquire") EVENT(700, "b", "busy")), LB_CLOSING_NONE);
  assert_int_equal(closing(V2 EVENT(40, "b", "acquire") PHASE(500, "closing") EVENT(520, "b", "granted")),
                   LB_CLOSING_GRANTED);
  assert_int_equal(
      closing(V2 EVENT(40, "b", "acquire") PHASE(500, "closing") EVENT(650, "b", "busy") PHASE(660, "closed")),
      LB_CLOSING_REFUSED);
  assert_int_equal(closing(V2 EVENT(40, "b", "acquire") PHASE(500, "closing") PHASE(650, "closed")),
                   LB_CLOSING_REFUSED); /* it asks still */
  assert_int_equal(closing(V2 EVENT(40, "b", "acquire") PHASE(500, "closing") PHASE(649, "closed")),
                   LB_CLOSING_UNKNOWN);
  assert_int_equal(
      closing(V2 EVENT(40, "b", "acquire") PHASE(500, "closing") EVENT(649, "b", "busy") PHASE(900, "closed")),
      LB_CLOSING_UNKNOWN);
  assert_int_equal(
      closing(V2 GRANTED(10, "a", 700) EVENT(40, "b", "acquire") PHASE(500, "closing") PHASE(749, "closed")),
      LB_CLOSING_UNKNOWN);
  assert_int_equal(
      closing(V2 GRANTED(10, "a", 700) EVENT(40, "b", "acquire") PHASE(500, "closing") PHASE(750, "closed")),
      LB_CLOSING_REFUSED);
  assert_int_equal(closing(V2 GRANTED(10, "a", 90) PHASE(500, "closing") PHASE(900, "closed")),
                   LB_CLOSING_NONE); /* nobody asked */
}

/* Of an acquire by b that gave up, with a ttl of 100. */
static bool by_nobody(const char *text) {
  struct lb_history h;
  uint32_t client, holder;
  parse(text, &h);
  bool result = lb_evidence_kept_out_by_nobody(&h, 100, &client, &holder);
  if (result) assert_string_equal(h.clients.name[client], "b"), assert_string_equal(h.clients.name[holder], "a");
  lb_history_clear(&h);
  return result;
}

/* It was its own key, say, of an attempt whose answer was lost. */
TEST(a_holder_whose_lease_is_over_keeps_nobody_out) {
#define HELD GRANTED(10, "a", 100) EVENT(20, "b", "acquire")
  assert_true(by_nobody(HELD EVENT(150, "b", "unknown")));
  assert_true(by_nobody(HELD EVENT(400, "b", "busy")));
  assert_false(by_nobody(HELD EVENT(149, "b", "unknown")));
  assert_false(by_nobody(HELD EVENT(90, "a", "release") EVENT(150, "b", "unknown")));
  assert_false(
      by_nobody(HELD "{\"t\":90,\"c\":\"a\",\"k\":\"k\",\"e\":\"renewed\",\"until\":300}\n" EVENT(150, "b", "busy")));
  assert_false(by_nobody(HELD EVENT(140, "b", "granted") EVENT(300, "a", "timeout")));
  assert_false(by_nobody(EVENT(10, "a", "granted") EVENT(20, "b", "acquire") EVENT(400, "b", "busy")));
  assert_false(by_nobody("{\"t\":1,\"e\":\"fault\",\"what\":\"x\"}\n" HELD EVENT(400, "b", "busy")));
}

#define IN_VAIN(from, to) EVENT(from, "b", "acquire") EVENT(to, "b", "busy")

/* What was over is not prolonged by an answer that comes late: of its loss, or of a release long ago. */
TEST(a_late_answer_gives_no_right_back) {
#define LET_GO_AT_20 GRANTED(10, "a", 90) EVENT(20, "a", "release")
  assert_int_equal(in_vain(LET_GO_AT_20 IN_VAIN(100, 300)), 200);
  assert_int_equal(in_vain(LET_GO_AT_20 EVENT(100, "b", "acquire") EVENT(290, "a", "lost") EVENT(300, "b", "busy")),
                   200);
  assert_int_equal(in_vain(LET_GO_AT_20 EVENT(100, "b", "acquire") EVENT(290, "a", "released") EVENT(300, "b", "busy")),
                   200);
}

/* A record without an end is the holder's until its release has arrived, however long that is on its way; but not any
 * more when another one had it in between. */
TEST(a_release_under_way_keeps_a_record_that_has_no_end) {
#define ENDLESS_TO_20 EVENT(10, "a", "granted") EVENT(20, "a", "release")
  assert_int_equal(in_vain(ENDLESS_TO_20 EVENT(40, "b", "acquire") EVENT(390, "a", "released") EVENT(400, "b", "busy")),
                   0);
  assert_int_equal(in_vain(ENDLESS_TO_20 EVENT(40, "b", "acquire") EVENT(390, "a", "lost") EVENT(400, "b", "busy")), 0);
  assert_int_equal(in_vain(ENDLESS_TO_20 EVENT(100, "c", "granted") EVENT(110, "c", "crash") EVENT(220, "b", "acquire")
                               EVENT(390, "a", "lost") EVENT(400, "b", "busy")),
                   180);
}

TEST(a_lock_that_was_let_go_and_cannot_be_had_is_asked_for_in_vain) {
  const char *let_go = GRANTED(10, "a", 90) EVENT(20, "a", "release") EVENT(30, "a", "released") IN_VAIN(40, 140);
  assert_int_equal(in_vain(let_go), 100);
  assert_int_equal(in_vain(GRANTED(10, "a", 90) EVENT(20, "a", "release") EVENT(30, "a", "released")
                               EVENT(40, "b", "acquire") EVENT(140, "b", "timeout")),
                   100);
  assert_int_equal(in_vain(GRANTED(10, "a", 90) EVENT(20, "a", "release") EVENT(30, "a", "released")
                               EVENT(40, "b", "acquire") EVENT(140, "b", "unknown")),
                   100);
  assert_int_equal(in_vain(GRANTED(10, "a", 90) EVENT(20, "a", "release") EVENT(30, "a", "released") IN_VAIN(40, 140)
                               EVENT(150, "c", "acquire") EVENT(160, "c", "granted")),
                   0); /* it could be had */
}

TEST(a_refusal_is_right_while_somebody_holds) {
  assert_int_equal(in_vain(EVENT(10, "a", "granted") IN_VAIN(40, 900)), 0);
  assert_int_equal(in_vain(EVENT(10, "a", "granted") EVENT(11, "a", "granted") EVENT(20, "a", "release")
                               EVENT(21, "a", "released") IN_VAIN(40, 900)),
                   0);                                                 /* it has let go of one of two */
  assert_int_equal(in_vain(GRANTED(10, "a", 90) IN_VAIN(40, 900)), 0); /* it is there to let go */
  assert_int_equal(in_vain(GRANTED(10, "a", 90) IN_VAIN(40, 140) EVENT(150, "a", "release")), 0);
}

/* Who was granted it after a reader, or by another permit, has taken nothing away. */
TEST(a_reader_keeps_its_right_beside_others) {
#define READER(t, c) "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"k\",\"e\":\"granted\",\"shared\":true}\n"
#define LET_GO(t, c) EVENT(t, c, "release") EVENT(t, c, "released")
  assert_int_equal(in_vain(V2 READER(10, "a") READER(11, "c") LET_GO(12, "c") IN_VAIN(40, 140)), 0);
  assert_int_equal(in_vain(V2 READER(10, "a") READER(11, "c") LET_GO(12, "c") LET_GO(13, "a") IN_VAIN(40, 140)), 100);
  assert_int_equal(in_vain(V2 READER(10, "a") EVENT(11, "c", "granted") LET_GO(12, "c") IN_VAIN(40, 140)), 100);
  assert_int_equal(in_vain(V2 EVENT(10, "a", "granted") READER(11, "c") LET_GO(12, "c") IN_VAIN(40, 140)), 100);
  assert_int_equal(
      in_vain(V2 EVENT(9, "a", "granted") READER(10, "a") READER(11, "c") LET_GO(12, "c") IN_VAIN(40, 140)),
      100); /* a writer still */
  assert_int_equal(in_vain(V2 "{\"t\":1,\"e\":\"permits\",\"total\":2}\n" EVENT(10, "a", "granted")
                               EVENT(11, "c", "granted") LET_GO(12, "c") IN_VAIN(40, 140)),
                   0);
}

TEST(a_lease_gives_a_right_to_its_end) {
  assert_int_equal(in_vain(GRANTED(10, "a", 90) EVENT(20, "a", "release") IN_VAIN(40, 140)),
                   50); /* not confirmed: to 90 */
  assert_int_equal(in_vain(GRANTED(10, "a", 90) RENEWED(15, "a", 91) EVENT(20, "a", "release") IN_VAIN(40, 140)), 0);
  assert_int_equal(in_vain(EVENT(10, "a", "granted") EVENT(20, "a", "release") IN_VAIN(40, 140)),
                   100); /* no lease, no right */
  assert_int_equal(in_vain(GRANTED(10, "a", 90) EVENT(20, "a", "release") EVENT(21, "a", "lost") IN_VAIN(40, 140)),
                   100);
  assert_int_equal(in_vain(GRANTED(10, "a", 90) EVENT(20, "a", "lost") IN_VAIN(40, 140)), 50);
}

TEST(for_a_dead_client_the_key_is_kept_a_ttl_and_no_longer) {
#define DEAD(t, c) "{\"t\":" #t ",\"c\":\"" c "\",\"e\":\"crash\"}\n"
  assert_int_equal(in_vain(EVENT(10, "a", "granted") DEAD(20, "a") IN_VAIN(40, 120)), 0);
  assert_int_equal(in_vain(EVENT(10, "a", "granted") DEAD(20, "a") IN_VAIN(40, 220)), 100);
  assert_int_equal(in_vain(GRANTED(10, "a", 150) DEAD(20, "a") IN_VAIN(40, 240)), 0); /* to 150: 90 of 200 */
  assert_int_equal(in_vain(GRANTED(10, "a", 140) DEAD(20, "a") IN_VAIN(40, 240)), 100);
  assert_int_equal(in_vain(EVENT(5, "c", "granted") EVENT(6, "c", "release") EVENT(10, "a", "acquire") DEAD(20, "a")
                               IN_VAIN(40, 220)),
                   100);
  assert_int_equal(in_vain(EVENT(5, "c", "granted") EVENT(6, "c", "release") EVENT(10, "a", "acquire")
                               EVENT(11, "a", "busy") DEAD(20, "a") IN_VAIN(40, 220)),
                   180); /* it did not ask any more */
}

TEST(an_unknown_outcome_gives_a_right_for_a_ttl) {
#define BEFORE EVENT(1, "c", "granted") EVENT(2, "c", "release") EVENT(3, "c", "released")
  assert_int_equal(in_vain(BEFORE EVENT(10, "a", "acquire") EVENT(20, "a", "unknown") IN_VAIN(40, 120)), 0);
  assert_int_equal(in_vain(BEFORE EVENT(10, "a", "acquire") EVENT(20, "a", "unknown") IN_VAIN(40, 220)), 100);
  assert_int_equal(
      in_vain(BEFORE EVENT(10, "a", "acquire") EVENT(20, "a", "unknown") EVENT(30, "a", "released") IN_VAIN(40, 140)),
      100);
}

TEST(a_grant_to_another_ends_the_rights_of_those_before) {
  assert_int_equal(in_vain(GRANTED(10, "a", 900) EVENT(20, "a", "release") GRANTED(30, "c", 50)
                               EVENT(35, "c", "release") EVENT(36, "c", "released") IN_VAIN(40, 140)),
                   100);
  assert_int_equal(
      in_vain(GRANTED(10, "a", 900) EVENT(
          20, "a", "release") "{\"t\":30,\"c\":\"c\",\"k\":\"other\",\"e\":\"granted\"}\n" IN_VAIN(40, 140)),
      0);
}

TEST(who_gave_up_last_decides) {
  /* c lets go of nothing when the others do: each client's rights are its own */
  assert_int_equal(in_vain(EVENT(5, "c", "granted") EVENT(6, "a", "release") EVENT(7, "b", "release") IN_VAIN(40, 140)),
                   0);
  assert_int_equal(in_vain(GRANTED(10, "a", 90) EVENT(20, "a", "release") EVENT(30, "a", "released") IN_VAIN(40, 140)
                               EVENT(150, "c", "acquire") EVENT(190, "c", "busy")),
                   40);
  assert_int_equal(in_vain(GRANTED(10, "a", 90) EVENT(20, "a", "release") EVENT(30, "a", "released") IN_VAIN(40, 140)
                               EVENT(150, "c", "acquire")),
                   100);
  assert_int_equal(in_vain(EVENT(40, "b", "busy")), 0); /* nobody knows since when it asked */
}

/* ---- the edges: the very moment a lease ends, the very instant of a hand-over, who came first ---- */

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
