/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * Whether a guard was what kept the resource whole, on histories written by hand. Client-1 holds and is overtaken by
 * client-2, unless a test says otherwise.
 */
#include "test.h"
#include "base/error.h"
#include "lines.h"
#include "check/evidence.h"

static const char *const servers[] = {"redis-1", "redis-2", "redis-3"};
static char stopped[20]; /* whom the latest answer named */

static enum lb_guard_evidence with(const char *text, size_t count, size_t needed) {
  struct lb_history h;
  struct lb_error err;
  uint32_t client;
  if (parse_lines("test", text, &h, &err) < 0) fail_msg("%s", err.text);
  enum lb_guard_evidence result = lb_evidence_guard(&h, servers, count, needed, &client);
  strcpy(stopped, client == LB_NO_NAME ? "" : h.clients.name[client]);
  lb_history_clear(&h);
  return result;
}

static enum lb_guard_evidence of(const char *text) { return with(text, 3, 3); }

#define HEAD "{\"format\":2}\n"
#define OF(t, c, e) "{\"t\":" #t ",\"c\":\"client-" #c "\",\"k\":\"k\",\"e\":\"" e "\"}\n"
#define CHECK(t, c, result)                                                                                            \
  "{\"t\":" #t ",\"c\":\"client-" #c "\",\"k\":\"k\",\"e\":\"check\",\"check\":\"" result "\"}\n"
#define TAKEN_OVER HEAD OF(1, 1, "granted") CHECK(2, 1, "passed") OF(10, 2, "granted") CHECK(11, 2, "passed")
#define FAULT(t, n, verb, role, from)                                                                                  \
  "{\"t\":" #t ",\"e\":\"fault\",\"what\":\"x\",\"step\":" #n ",\"verb\":\"" verb "\",\"role\":\"" role                \
  "\",\"from\":\"" from "\"}\n"
#define TOUCHED(t, n, verb, hosts, from)                                                                               \
  "{\"t\":" #t ",\"e\":\"touched\",\"step\":" #n ",\"verb\":\"" verb "\",\"host\":\"" hosts "\",\"from\":\"" from      \
  "\"}\n"
#define ASKED(t, due, c, result)                                                                                       \
  "{\"t\":" #t ",\"c\":\"client-" #c "\",\"k\":\"k\",\"e\":\"check\",\"check\":\"" result "\",\"due\":" #due "}\n"
#define PAUSED(t, n, hosts)                                                                                            \
  "{\"t\":" #t ",\"e\":\"touched\",\"step\":" #n ",\"verb\":\"pause\",\"host\":\"" hosts "\"}\n"
#define STEP(t, n, e) "{\"t\":" #t ",\"e\":\"" e "\",\"what\":\"x\",\"step\":" #n "}\n"
#define CUT(t, n, hosts, from)                                                                                         \
  FAULT(t, n, "cut", "client 1", "all") TOUCHED(t, n, "cut", hosts, from) STEP(t, n, "proved")
#define ALL "redis-1, redis-2, redis-3"

TEST(a_guard_that_nobody_came_to_decided_nothing) {
  assert_int_equal(of(HEAD OF(1, 1, "granted") OF(2, 2, "granted")), LB_GUARD_NOT_ASKED);
}

STATES(a_guard_that_let_everybody_pass_stopped_nobody, assert_int_equal(of(TAKEN_OVER), LB_GUARD_STOPPED_NOBODY),
       assert_string_equal(stopped, ""));

TEST(a_question_that_nobody_ever_answered_is_no_guard) {
  assert_int_equal(of(HEAD OF(1, 1, "granted") CHECK(2, 1, "no-answer") OF(10, 2, "granted") CHECK(11, 2, "error")),
                   LB_GUARD_NOT_ANSWERED);
  assert_int_equal(of(HEAD OF(1, 1, "granted") CHECK(2, 1, "told-no")),
                   LB_GUARD_STOPPED_NOBODY); /* against is an answer, too */
}

TEST(any_answer_against_the_overtaken_one_counts) {
  assert_int_equal(of(TAKEN_OVER CHECK(20, 1, "lease-over")), LB_GUARD_WORKED);
  assert_int_equal(of(TAKEN_OVER CHECK(20, 1, "in-doubt")), LB_GUARD_WORKED);
  assert_int_equal(of(TAKEN_OVER CHECK(20, 1, "session-over")), LB_GUARD_WORKED);
  assert_int_equal(of(TAKEN_OVER CHECK(20, 1, "no-majority")), LB_GUARD_WORKED); /* most servers answered */
  assert_int_equal(of(TAKEN_OVER CHECK(20, 1, "told-no")), LB_GUARD_WORKED);
}

STATES(silence_does_not_count, assert_int_equal(of(TAKEN_OVER CHECK(20, 1, "no-answer")), LB_GUARD_STOPPED_UNANSWERED),
       assert_string_equal(stopped, "client-1"),
       assert_int_equal(of(TAKEN_OVER CHECK(20, 1, "error")), LB_GUARD_STOPPED_UNANSWERED));

/* Whom nobody had overtaken could have written: to stop it prevented nothing. */
TEST(silence_towards_one_that_nobody_overtook_matters_to_nobody) {
  assert_int_equal(of(HEAD OF(1, 1, "granted") CHECK(2, 1, "passed") CHECK(5, 1, "no-answer") OF(5, 1, "lost")
                          OF(10, 2, "granted") CHECK(11, 2, "passed")),
                   LB_GUARD_STOPPED_NOBODY);
  assert_int_equal(of(TAKEN_OVER CHECK(20, 2, "no-answer")), LB_GUARD_STOPPED_NOBODY);
}

TEST(one_stop_with_an_answer_speaks_for_the_guard) {
  assert_int_equal(of(TAKEN_OVER CHECK(20, 1, "no-answer") OF(30, 1, "granted") CHECK(31, 2, "told-no")),
                   LB_GUARD_WORKED);
  assert_string_equal(stopped, "");
  assert_int_equal(of(TAKEN_OVER CHECK(20, 1, "told-no") OF(30, 1, "granted") CHECK(31, 2, "no-answer")),
                   LB_GUARD_WORKED);
}

TEST(who_is_stopped_at_a_key_that_was_never_granted_is_overtaken_by_nobody) {
  assert_int_equal(of(HEAD CHECK(2, 1, "told-no")), LB_GUARD_STOPPED_NOBODY);
}

TEST(keys_are_apart) {
  assert_int_equal(
      of(HEAD OF(1, 1, "granted")
             CHECK(2, 1, "passed") "{\"t\":10,\"c\":\"client-2\",\"k\":\"other\",\"e\":\"granted\"}\n" CHECK(
                 20, 1, "no-answer")),
      LB_GUARD_STOPPED_NOBODY);
}

/* ---- paused ------------------------------------------------------------------------------------------------------ */

TEST(who_stood_still_while_it_asked_is_right_to_stop) {
  assert_int_equal(of(TAKEN_OVER PAUSED(15, 3, "client-1") STEP(16, 3, "proved") ASKED(20, 14, 1, "no-answer")),
                   LB_GUARD_WORKED);
  assert_int_equal(of(TAKEN_OVER PAUSED(15, 3, "client-1") STEP(16, 3, "proved") ASKED(20, 17, 1, "no-answer")),
                   LB_GUARD_STOPPED_UNANSWERED); /* it asked after that */
  assert_int_equal(of(TAKEN_OVER PAUSED(15, 3, "client-1") STEP(16, 3, "proved") CHECK(20, 1, "no-answer")),
                   LB_GUARD_STOPPED_UNANSWERED); /* perhaps, too */
  assert_int_equal(of(TAKEN_OVER PAUSED(15, 3, "client-2") STEP(16, 3, "proved") ASKED(20, 14, 1, "no-answer")),
                   LB_GUARD_STOPPED_UNANSWERED);
  assert_int_equal(of(TAKEN_OVER PAUSED(15, 3, "client-1") ASKED(20, 14, 1, "no-answer")), LB_GUARD_STOPPED_UNANSWERED);
}

/* ---- cut off ----------------------------------------------------------------------------------------------------- */

TEST(who_is_cut_off_from_all_is_right_to_stop) {
  assert_int_equal(of(TAKEN_OVER CUT(5, 3, "client-1", ALL) CHECK(20, 1, "no-answer")), LB_GUARD_WORKED);
  assert_int_equal(of(TAKEN_OVER CUT(5, 3, ALL, "client-2, client-1") CHECK(20, 1, "error")), LB_GUARD_WORKED);
}

TEST(who_is_cut_off_from_some_or_too_late_is_not) {
  assert_int_equal(of(TAKEN_OVER CUT(5, 3, "client-1", "redis-1, redis-3") CHECK(20, 1, "no-answer")),
                   LB_GUARD_STOPPED_UNANSWERED);
  assert_int_equal(of(TAKEN_OVER CUT(21, 3, "client-1", ALL) CHECK(20, 1, "no-answer")), LB_GUARD_STOPPED_UNANSWERED);
  assert_int_equal(of(TAKEN_OVER CUT(5, 3, "client-2", ALL) CHECK(20, 1, "no-answer")), LB_GUARD_STOPPED_UNANSWERED);
  assert_int_equal(of(TAKEN_OVER CUT(5, 3, "client-11", ALL) CHECK(20, 1, "no-answer")), LB_GUARD_STOPPED_UNANSWERED);
  assert_int_equal(of(TAKEN_OVER CUT(5, 3, "redis-1", "redis-2, redis-3") CHECK(20, 1, "no-answer")),
                   LB_GUARD_STOPPED_UNANSWERED);
}

STATES(two_cuts_add_up, assert_int_equal(of(TAKEN_OVER CUT(5, 3, "client-1", "redis-1, redis-2")
                                                CUT(6, 4, "redis-2, redis-3", "client-1") CHECK(20, 1, "no-answer")),
                                         LB_GUARD_WORKED));
STATES(of_servers_that_decide_each_for_itself_a_majority_is_enough,
       assert_int_equal(with(TAKEN_OVER CUT(5, 3, "client-1", "redis-1, redis-3") CHECK(20, 1, "no-answer"), 3, 2),
                        LB_GUARD_WORKED),
       assert_int_equal(with(TAKEN_OVER CUT(5, 3, "client-1", "redis-1") CHECK(20, 1, "no-answer"), 3, 2),
                        LB_GUARD_STOPPED_UNANSWERED));

/* Without servers nobody can be cut off. */
TEST(no_servers_are_no_excuse) {
  assert_int_equal(with(TAKEN_OVER CHECK(20, 1, "no-answer"), 0, 0), LB_GUARD_STOPPED_UNANSWERED);
}

TEST(a_cut_has_to_be_proved_and_to_last) {
  assert_int_equal(of(TAKEN_OVER FAULT(5, 3, "cut", "client 1", "all") TOUCHED(5, 3, "cut", "client-1", ALL)
                          CHECK(20, 1, "no-answer")),
                   LB_GUARD_STOPPED_UNANSWERED);
  assert_int_equal(of(TAKEN_OVER CUT(5, 3, "client-1", ALL) STEP(15, 3, "over") CHECK(20, 1, "no-answer")),
                   LB_GUARD_STOPPED_UNANSWERED);
  assert_int_equal(of(TAKEN_OVER CUT(5, 3, "client-1", ALL) STEP(15, 4, "over") CHECK(20, 1, "no-answer")),
                   LB_GUARD_WORKED);
  assert_int_equal(of(TAKEN_OVER CUT(5, 3, "client-1", ALL) STEP(25, 3, "over") CHECK(20, 1, "no-answer")),
                   LB_GUARD_WORKED);
}

TEST(a_heal_ends_all_cuts_or_those_it_names) {
#define HEAL_ALL "{\"t\":15,\"e\":\"fault\",\"what\":\"heal\",\"step\":7,\"verb\":\"heal\"}\n"
  assert_int_equal(of(TAKEN_OVER CUT(5, 3, "client-1", ALL) HEAL_ALL CHECK(20, 1, "no-answer")),
                   LB_GUARD_STOPPED_UNANSWERED);
  assert_int_equal(
      of(TAKEN_OVER CUT(5, 3, "client-1", ALL) FAULT(15, 7, "heal", "client 1", "all") CHECK(20, 1, "no-answer")),
      LB_GUARD_STOPPED_UNANSWERED);
  assert_int_equal(
      of(TAKEN_OVER CUT(5, 3, "client-1", ALL) FAULT(15, 7, "heal", "primary", "all") CHECK(20, 1, "no-answer")),
      LB_GUARD_WORKED);
  assert_int_equal(
      of(TAKEN_OVER CUT(5, 3, "client-1", ALL) FAULT(15, 7, "kill", "client 1", "all") CHECK(20, 1, "no-answer")),
      LB_GUARD_WORKED);
}

STATES(another_fault_is_no_cut,
       assert_int_equal(of(TAKEN_OVER FAULT(5, 3, "pause", "client 1", "all") TOUCHED(5, 3, "pause", "client-1", ALL)
                               STEP(5, 3, "proved") CHECK(20, 1, "no-answer")),
                        LB_GUARD_STOPPED_UNANSWERED));

/* ---- where the resource checks ----------------------------------------------------------------------------------- */

static bool refused(const char *text) {
  struct lb_history h;
  struct lb_error err;
  if (parse_lines("test", text, &h, &err) < 0) fail_msg("%s", err.text);
  bool result = lb_evidence_refused(&h);
  lb_history_clear(&h);
  return result;
}

#define ACCESS(t, c, e, ok)                                                                                            \
  "{\"t\":" #t ",\"c\":\"client-" #c "\",\"k\":\"k\",\"e\":\"" e "\",\"value\":1,\"ok\":" ok "}\n"
#define BOTH HEAD OF(1, 1, "granted") OF(10, 2, "granted")

TEST(a_refusal_of_the_overtaken_one_counts) {
  assert_true(refused(BOTH ACCESS(11, 2, "read", "true") ACCESS(20, 1, "write", "false")));
  assert_true(refused(BOTH ACCESS(11, 2, "write", "true") ACCESS(20, 1, "read", "false")));
  /* Under a claim it is who came to the resource first, whoever was granted first. */
  assert_true(
      refused(BOTH ACCESS(11, 2, "read", "true") ACCESS(12, 1, "read", "true") ACCESS(13, 2, "write", "false")));
}

STATES(without_a_refusal_the_resource_did_nothing,
       assert_false(refused(BOTH ACCESS(11, 2, "read", "true") ACCESS(20, 1, "write", "true"))),
       assert_false(refused(BOTH ACCESS(11, 2, "read", "true") CHECK(20, 1, "told-no"))));

TEST(a_refusal_of_one_that_nobody_overtook_does_not_count) {
  assert_false(refused(BOTH ACCESS(20, 1, "write", "false")));
  assert_false(refused(BOTH ACCESS(11, 2, "read", "false") ACCESS(20, 1, "write", "false")));
  assert_false(refused(BOTH ACCESS(11, 1, "read", "true") ACCESS(20, 1, "write", "false")));
  assert_false(refused(HEAD OF(1, 1, "granted") ACCESS(2, 1, "read", "true") OF(10, 2, "granted")
                           ACCESS(20, 2, "read", "false")));
  assert_false(refused(
      HEAD OF(1, 1, "granted")
          OF(2, 2, "granted") "{\"t\":3,\"c\":\"client-2\",\"k\":\"other\",\"e\":\"read\",\"value\":1}\n" ACCESS(
              20, 1, "write", "false")));
}

#define FENCED(t, c, e, fence, ok)                                                                                     \
  "{\"t\":" #t ",\"c\":\"client-" #c "\",\"k\":\"k\",\"e\":\"" e "\",\"value\":1,\"fence\":" #fence ",\"ok\":" ok "}\n"

/* Client-1 was the first in an old state, and learns of it late: client-2 has been there. */
TEST(who_comes_late_with_a_smaller_number_is_overtaken) {
#define LATE(number)                                                                                                   \
  HEAD OF(1, 2, "granted") FENCED(2, 2, "read", number, "true") OF(10, 1, "granted") FENCED(11, 1, "read", 7, "false")
  assert_true(refused(LATE(8)));
  assert_false(refused(LATE(7)));
  assert_false(refused(LATE(6)));
  assert_false(refused(HEAD FENCED(2, 2, "read", 8, "false") OF(10, 1, "granted") FENCED(11, 1, "read", 7, "false")));
  assert_false(refused(HEAD FENCED(2, 1, "read", 8, "true") OF(10, 1, "granted") FENCED(11, 1, "read", 7, "false")));
  assert_false(refused(HEAD "{\"t\":2,\"c\":\"client-2\",\"k\":\"other\",\"e\":\"read\",\"value\":1,\"fence\":8}\n" OF(
      10, 1, "granted") FENCED(11, 1, "read", 7, "false")));
}

static uint64_t refused_holder(const char *text) {
  struct lb_history h;
  struct lb_error err;
  if (parse_lines("test", text, &h, &err) < 0) fail_msg("%s", err.text);
  uint64_t result = lb_evidence_refused_holder(&h);
  lb_history_clear(&h);
  return result;
}

/* Client-1 drew its number before it had the lock, and client-2 was served in between. */
TEST(the_holder_itself_is_refused) {
#define EARLY OF(1, 2, "granted") FENCED(2, 2, "read", 8, "true") OF(3, 2, "release") OF(10, 1, "granted")
  assert_int_equal(refused_holder(HEAD EARLY FENCED(11, 1, "read", 7, "false")), 1);
  assert_int_equal(refused_holder(HEAD EARLY FENCED(11, 1, "read", 9, "true") FENCED(12, 1, "write", 9, "false")), 1);
  assert_int_equal(refused_holder(HEAD EARLY FENCED(11, 1, "read", 9, "true")), 0);
  assert_int_equal(refused_holder(HEAD EARLY FENCED(11, 2, "write", 8, "false")), 0); /* it was overtaken */
  assert_int_equal(refused_holder(HEAD CUT(5, 3, "client-1", ALL) EARLY FENCED(11, 1, "read", 7, "false")), 0);
  assert_int_equal(refused_holder(HEAD EARLY FENCED(11, 1, "read", 7, "false") CUT(12, 3, "client-1", ALL)), 0);
  assert_int_equal(
      refused_holder(HEAD OF(
          1, 2,
          "granted") "{\"t\":10,\"c\":\"client-1\",\"k\":\"k\",\"e\":\"granted\",\"shared\":true}\n" FENCED(11, 1,
                                                                                                            "read", 7,
                                                                                                            "false")),
      0);
}

/* What it was granted of another key, and what others were, is not its latest grant. */
TEST(its_latest_grant_of_this_key_decides) {
  assert_true(
      refused(BOTH ACCESS(11, 2, "read", "true") "{\"t\":12,\"c\":\"client-1\",\"k\":\"other\",\"e\":\"granted\"}\n" OF(
          13, 3, "granted") ACCESS(20, 1, "write", "false")));
  assert_true(refused(HEAD ACCESS(11, 2, "read", "true") ACCESS(20, 1, "write", "false")));
}
