/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * The checker on histories written by hand: each file of histories/ is one situation, with the counts that the
 * definitions in check.h give when worked out on paper.
 */
#include "history/history_load.h"
#include "story/check_print.h"
#include "test.h"
#include "base/error.h"
#include "lines.h"
#include "check/check.h"
#include "brute.h"

#define GRANTS(all, handed_off, useful) .grants = all, .handoffs = handed_off, .useful_handoffs = useful
#define DOUBLE(holds, ns) .double_holds = holds, .double_hold_ns = ns
#define NO_TIMES TIMES(-1, -1, -1)
#define TIMES(unavailable, orphan, blind)                                                                              \
  .unavailable_ns = unavailable, .orphan_ns = orphan, .blind_ns = blind, .servers_left = -1

static const struct expectation {
  const char *file;
  struct lb_check counts;
} expected[] = {
    {"good/two-clients", {GRANTS(2, 1, 1), .depth = 1, NO_TIMES}},
    {"good/ties", {GRANTS(3, 2, 0), .depth = 1, NO_TIMES}},
    {"good/lost-in-time", {GRANTS(2, 1, 0), .depth = 1, TIMES(-1, -1, 0)}},
    {"good/crash", {GRANTS(4, 2, 0), .depth = 1, TIMES(20, 59, -1)}},
    {"good/crash-nobody-after", {GRANTS(2, 1, 0), .depth = 1, TIMES(469, 470, -1)}},
    {"good/stands-still", /* of five faults, the first and the fourth were followed by a grant before the next */
     {GRANTS(3, 2, 0), .depth = 1, .faults_tested = 2, TIMES(40, 39, -1)}},
    {"good/closing",
     {.grants = 1, .depth = 1, NO_TIMES}}, /* what is granted when it was asked for again is not judged */
    {"good/two-keys", {GRANTS(3, 1, 0), .depth = 1, NO_TIMES}},
    {"good/granted-again", {GRANTS(3, 1, 0), .depth = 1, NO_TIMES}},
    {"good/granted-again-and-lost", /* a loss and a death end a hold of any depth */
     {GRANTS(8, 4, 0), .depth = 1, TIMES(-1, 1, 0)}},
    {"good/granted-again-fenced", {GRANTS(4, 1, 0), .depth = 1, NO_TIMES}}, /* as Hazelcast's FencedLock numbers them */
    {"good/renewed", {GRANTS(2, 1, 0), .renewals = 4, .depth = 1, NO_TIMES}},
    {"good/unknown-outcome", {GRANTS(2, 1, 0), .depth = 1, .unknown_acquires = 1, NO_TIMES}},
    {"good/any-order", {GRANTS(2, 1, 1), .depth = 1, NO_TIMES}},
    {"good/refused-write", {GRANTS(2, 1, 1), .depth = 1, .fenced_off = 1, .refused = 1, TIMES(-1, -1, 0)}},
    {"good/two-readers", {GRANTS(4, 3, 1), .depth = 2, NO_TIMES}},
    {"good/reader-turns-writer", {GRANTS(5, 3, 1), .depth = 2, NO_TIMES}},
    {"good/two-permits", /* values, numbers and accesses say nothing: two use the resource together */
     {GRANTS(3, 2, 1), .depth = 2, TIMES(-1, -1, 0)}},
    {"bad/reader-beside-writer", /* dirty: the readers at 4 and 6, the writer at 7 */
     {.within_lease = 1, GRANTS(3, 2, 1), .depth = 3, DOUBLE(1, 5), .dirty_accesses = 3, TIMES(-1, -1, 5)}},
    {"bad/reader-writes", {GRANTS(2, 1, 0), .depth = 2, .dirty_accesses = 1, NO_TIMES}}, /* at 4; at 6 it is alone */
    {"bad/reader-turns-writer", /* from 4 on, when the other's lease was over; dirty at 5 and 6 */
     {GRANTS(3, 2, 0), .depth = 2, DOUBLE(1, 3), .dirty_accesses = 2, NO_TIMES}},
    {"bad/three-of-two-permits", /* too many from 3 to 5 and from 6 to 7; the leases of two at most in the first */
     {.within_lease = 0, GRANTS(4, 3, 1), .depth = 3, DOUBLE(2, 3), NO_TIMES}},
    {"bad/early-read", {GRANTS(2, 1, 1), .depth = 1, .lost_updates = 1, .early_lost_updates = 1, NO_TIMES}},
    {"bad/readers-numbers", /* at 6 a reader's against a writer's, at 10 a writer's against readers' */
     {GRANTS(5, 4, 0), .depth = 3, .token_regressions = 2, NO_TIMES}},
    {"bad/paused-holder",
     {GRANTS(2, 1, 1), .depth = 2, DOUBLE(1, 99000000), .dirty_accesses = 3, .lost_updates = 1, .stale_writes = 1,
      .fenced_off = 1, TIMES(300000000, -1, 100000000)}},
    {"bad/paused-holder-fenced",
     {.within_lease = 1,
      GRANTS(2, 1, 0),
      .depth = 2,
      DOUBLE(1, 300),
      .fenced_off = 1,
      .refused = 2,
      TIMES(-1, -1, 300)}},
    {"bad/renewed",
     {.within_lease = 1, GRANTS(2, 1, 0), .renewals = 7, .depth = 2, DOUBLE(1, 1000000), TIMES(98000000, -1, 1000000)}},
    {"bad/three-at-once", {.within_lease = 1, GRANTS(3, 2, 0), .depth = 3, DOUBLE(1, 30), NO_TIMES}},
    {"bad/one-stale-many-successors",
     {.within_lease = 2, GRANTS(4, 3, 0), .depth = 2, DOUBLE(2, 30), TIMES(-1, -1, 50)}},
    {"bad/late-write",
     {GRANTS(2, 1, 1), .depth = 1, .dirty_accesses = 1, .lost_updates = 1, .stale_writes = 1, NO_TIMES}},
    {"bad/overtaken-writers", /* a at 40, b at 80, and c, who was never granted x, at 90; nobody was ever granted y; a releases one of two */
     {.within_lease = 1,
      GRANTS(3, 2, 2),
      .depth = 2,
      DOUBLE(1, 100),
      .dirty_accesses = 6,
      .stale_writes = 3,
      .refused = 1,
      NO_TIMES}},
    {"bad/nobody-holds", {.grants = 1, .depth = 1, .dirty_accesses = 2, NO_TIMES}},
    {"bad/never-released", {.within_lease = 1, GRANTS(2, 1, 0), .depth = 2, .double_holds = 1, NO_TIMES}},
    /* https://github.com/redisson/redisson/issues/2665: taken twice, released once, and granted to another */
    {"bad/one-release-of-two", {.within_lease = 1, GRANTS(3, 1, 0), .depth = 2, DOUBLE(1, 1), NO_TIMES}},
    {"bad/token-regression", {GRANTS(7, 5, 0), .depth = 1, .token_regressions = 2, NO_TIMES}},
    {"bad/token-of-an-earlier-hold", /* at 4, 7, 9, 10 and 13 */
     {.grants = 9, .depth = 1, .token_regressions = 5, TIMES(-1, 5, 0)}},
    {"bad/lost-updates-two-keys", {GRANTS(3, 1, 1), .depth = 1, .lost_updates = 4, NO_TIMES}},
    {"bad/crash-is-not-of-others", {.within_lease = 1, GRANTS(3, 2, 0), .depth = 2, DOUBLE(1, 1), TIMES(-1, 5, -1)}}};

static void load(const char *file, struct lb_history *ret) {
  const char *root = getenv("LB_SOURCE_DIR");
  struct lb_error err;
  char path[1000];
  snprintf(path, sizeof path, "%s/tests/data/histories/%s.jsonl", root ? root : ".", file);
  if (lb_history_load(path, NULL, ret, &err) < 0) fail_msg("%s", err.text);
}

static void parse(const char *text, struct lb_history *ret) {
  struct lb_error err;
  if (parse_lines("text", text, ret, &err) < 0) fail_msg("%s", err.text);
}

static struct lb_history h; /* the last that was checked */
static struct lb_check c;

static int clear(void **state) {
  (void)state;
  lb_check_clear(&c);
  lb_history_clear(&h);
  return 0;
}
EACH(NULL, clear);

static void check_text(const char *text) {
  clear(NULL);
  parse(text, &h);
  lb_check_history(&h, &c);
}

static void check_file(const char *file) {
  clear(NULL);
  load(file, &h);
  lb_check_history(&h, &c);
}

TEST(each_history_has_the_counts_worked_out_on_paper) {
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    struct lb_history history;
    struct lb_check check, counts = expected[i].counts;
    char text[200];
    load(expected[i].file, &history);
    lb_check_history(&history, &check);
    assert_int_equal(check.episode_count, check.double_holds);
    counts.episode_count = check.episode_count; /* of the episodes themselves only the counts stand above */
    counts.episodes = check.episodes;
    counts.unexcused = check.unexcused;
    counts.excluded = check.excluded;
    if (!brute_same(&history, &check, &counts, text, sizeof text)) fail_msg("%s: %s", expected[i].file, text);
    lb_check_clear(&check);
    lb_history_clear(&history);
  }
}

/* Nothing where no step looked. */
TEST(servers_that_left_are_counted) {
  static const struct {
    const char *text;
    int64_t left;
  } cases[] = {
      {"{\"format\":2}\n{\"t\":1,\"e\":\"note\",\"what\":\"n\"}\n", -1},
      {"{\"format\":2}\n{\"t\":1,\"e\":\"left\",\"host\":\"z-1\",\"present\":false}\n", 0},
      {"{\"format\":2}\n{\"t\":1,\"e\":\"left\",\"host\":\"z-1\",\"present\":true}\n{\"t\":2,\"e\":\"left\",\"host\":\"z-2\",\"present\":true}\n"
       "{\"t\":3,\"e\":\"left\",\"host\":\"z-3\",\"present\":false}\n",
       2}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct lb_history history;
    struct lb_check check;
    parse(cases[i].text, &history);
    lb_check_history(&history, &check);
    assert_int_equal(check.servers_left, cases[i].left);
    lb_check_clear(&check);
    lb_history_clear(&history);
  }
}

TEST(work_that_failed_counts_and_ends_no_hold) {
  struct lb_history history;
  struct lb_check check;
  parse(
      "{\"format\":2}\n{\"t\":1,\"c\":\"a\",\"k\":\"x\",\"e\":\"granted\"}\n"
      "{\"t\":2,\"c\":\"a\",\"k\":\"x\",\"e\":\"work-failed\"}\n{\"t\":3,\"c\":\"b\",\"k\":\"x\",\"e\":\"granted\"}\n",
      &history);
  lb_check_history(&history, &check);
  assert_int_equal(check.work_failed, 1);
  assert_int_equal(check.double_holds, 1);
  lb_check_clear(&check);
  lb_history_clear(&history);
}

TEST(the_brute_checker_agrees_on_them) {
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    struct lb_history history;
    struct lb_check check, brute;
    char text[200];
    load(expected[i].file, &history);
    lb_check_history(&history, &check);
    brute_check(&history, &brute);
    if (!brute_same(&history, &check, &brute, text, sizeof text)) fail_msg("%s: %s", expected[i].file, text);
    lb_check_clear(&brute);
    lb_check_clear(&check);
    lb_history_clear(&history);
  }
}

TEST(bad_histories_are_violated_and_good_ones_are_not) {
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
    assert_int_equal(lb_check_violated(&expected[i].counts, true), strncmp(expected[i].file, "bad/", 4) == 0);
}

static struct lb_check checked(const char *text, bool lines) {
  struct lb_history read;
  struct lb_check check, kept;
  struct lb_error err;
  if (parse_lines("test", text, &read, &err) != 0) fail_msg("%s", err.text);
  read.lines = lines;
  lb_check_history(&read, &check);
  kept = check;
  lb_check_clear(&check);
  lb_history_clear(&read);
  return kept;
}

#define DID(t, c, what) "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"k\",\"e\":\"" what "\"}\n"
#define TWO_HOLD DID(1, "a", "granted") DID(2, "b", "granted")

/* Only another tool's operations may leave out how long a renewed lease is. */
TEST(a_renewal_without_an_end_is_no_measure) {
  assert_true(checked(TWO_HOLD DID(3, "a", "renewed"), true).unmeasured);
  assert_false(checked(TWO_HOLD DID(3, "a", "renewed"), false).unmeasured);
  assert_false(checked(TWO_HOLD "{\"t\":3,\"c\":\"a\",\"k\":\"k\",\"e\":\"renewed\",\"until\":9}\n", true).unmeasured);
}

TEST(a_renewal_without_an_answer_is_no_measure_either) {
  assert_true(checked(DID(1, "a", "granted") DID(2, "a", "renew") DID(3, "b", "granted"), true).unmeasured);
  assert_false(checked("{\"t\":1,\"c\":\"a\",\"k\":\"k\",\"e\":\"granted\",\"until\":9}\n" DID(2, "a", "renew"), true)
                   .unmeasured);
}

static enum lb_ruled ruled(const char *text, bool lines) {
  struct lb_check check = checked(text, lines);
  return lb_check_rule(&check, false).verdict;
}

#define GRANTED(t, c, fence) "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"k\",\"e\":\"granted\",\"fence\":" #fence "}\n"

TEST(a_token_regression_is_never_excused) {
  assert_int_equal(ruled(GRANTED(1, "a", 9) DID(2, "a", "renewed") DID(3, "a", "release") GRANTED(4, "b", 3), true),
                   LB_RULED_VIOLATED);
}

TEST(a_double_hold_before_a_stranger_frees_is_sure) {
#define FREES(t) DID(t, "x", "release") DID(t, "x", "released")
  assert_int_equal(ruled(TWO_HOLD FREES(3), true), LB_RULED_VIOLATED);
  assert_int_equal(ruled(DID(1, "a", "granted") FREES(2) DID(3, "b", "granted"), true), LB_RULED_UNDECIDED);
}

TEST(a_first_write_of_nothing_follows_less_than_nothing) {
#define WROTE(t, c, value) "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"k\",\"e\":\"write\",\"value\":" #value "}\n"
#define READ(t, c, value) "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"k\",\"e\":\"read\",\"value\":" #value "}\n"
  const char *a = DID(1, "a", "granted") WROTE(2, "a", 0) WROTE(3, "a", 1) DID(4, "a", "release") DID(5, "b", "granted")
      READ(6, "b", 1) WROTE(7, "b", 2);
  assert_int_equal(checked(a, false).lost_updates, 0);
  assert_int_equal(checked(DID(1, "a", "granted") WROTE(2, "a", 0) READ(3, "a", 0), false).lost_updates, 0);
  assert_int_equal(checked(DID(1, "a", "granted") WROTE(2, "a", 0) WROTE(3, "a", 0), false).lost_updates, 1);
}

TEST(a_semaphore_that_was_never_full_was_not_tested) {
#define PERMITS(count) "{\"t\":0,\"e\":\"permits\",\"total\":" #count "}\n"
  const char *turns = DID(1, "a", "granted") DID(2, "a", "release") DID(3, "b", "granted");
  char text[600];
  snprintf(text, sizeof text, "%s%s", PERMITS(2), turns);
  assert_int_equal(ruled(text, false), LB_RULED_UNDECIDED);
  assert_int_equal(ruled(PERMITS(2) DID(1, "a", "granted") DID(2, "b", "granted") DID(3, "a", "release")
                             DID(4, "c", "granted"),
                         false),
                   LB_RULED_SAFE);
}

TEST(readers_are_not_revived_beside_readers) {
#define SHARED(t, c) "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"k\",\"e\":\"granted\",\"shared\":true}\n"
  assert_false(checked(SHARED(1, "a") DID(2, "a", "lost") SHARED(3, "b") DID(4, "a", "renewed"), false).revived);
  assert_false(checked("{\"t\":0,\"e\":\"permits\",\"total\":2}\n" DID(1, "a", "granted") DID(2, "a", "lost")
                           DID(3, "b", "granted") DID(4, "a", "renewed"),
                       false)
                   .revived);
}

TEST(a_renewal_revives_beside_who_holds_beyond_its_instant) {
#define LOST_TO_B DID(1, "a", "granted") DID(2, "a", "lost") DID(3, "b", "granted")
  assert_false(checked(LOST_TO_B DID(4, "a", "renewed") DID(4, "b", "release"), false).revived);
  assert_false(checked(LOST_TO_B "{\"t\":4,\"c\":\"a\",\"k\":\"k\",\"e\":\"renewed\",\"until\":3}\n", false).revived);
  assert_true(checked(LOST_TO_B "{\"t\":4,\"c\":\"a\",\"k\":\"k\",\"e\":\"renewed\",\"until\":5}\n", false).revived);
}

TEST(a_lock_is_revived_if_it_is_renewed_after_a_loss_beside_a_holder) {
#define LOSES DID(1, "a", "granted") DID(2, "a", "lost")
  assert_true(checked(LOSES DID(5, "b", "granted") DID(6, "a", "renewed"), false).revived);
  assert_false(checked(LOSES DID(6, "a", "renewed"), false).revived);
  /* it was granted again, and that hold ended with its lease */
  assert_false(
      checked(LOSES DID(3, "a", "granted") DID(4, "a", "expired") DID(5, "b", "granted") DID(6, "a", "renewed"), false)
          .revived);
}

/* A guard is judged by damage: what two holders did while nobody wrote from the past is none. */
TEST(damage_is_a_lost_update_or_a_stale_write) {
  struct lb_check double_hold = {.double_holds = 1, .dirty_accesses = 1, .token_regressions = 1, .fenced_off = 1};
  struct lb_check lost = {.lost_updates = 1}, stale = {.stale_writes = 1};
  assert_true(lb_check_violated(&double_hold, true) && !lb_check_damaged(&double_hold, true));
  assert_true(lb_check_violated(&lost, true) && lb_check_damaged(&lost, true));
  assert_true(!lb_check_violated(&stale, true) && lb_check_damaged(&stale, true));
  struct lb_check lost_in_time = {.lost_updates = 1, .unexcused.lost_updates = 1},
                  stale_in_time = {.stale_writes = 1, .unexcused.stale_writes = 1};
  assert_true(lb_check_damaged(&lost_in_time, false) && lb_check_damaged(&stale_in_time, false));
  assert_false(lb_check_damaged(&lost, false) || lb_check_damaged(&stale, false));
}

TEST(each_kind_of_violation_is_one_by_itself_and_once) {
  assert_true(lb_check_violated(&(struct lb_check){.double_holds = 1}, true));
  assert_true(lb_check_violated(&(struct lb_check){.dirty_accesses = 1}, true));
  assert_true(lb_check_violated(&(struct lb_check){.lost_updates = 1}, true));
  assert_true(lb_check_violated(&(struct lb_check){.token_regressions = 1}, true));
  assert_false(lb_check_violated(&(struct lb_check){GRANTS(1, 1, 0), .fenced_off = 1, .unknown_acquires = 1}, true));
}

TEST(an_episode_names_its_clients_in_order_and_the_events_at_its_ends) {
  check_file("bad/one-stale-many-successors");
  const struct lb_episode *e = &c.episodes[0];
  assert_int_equal(e->begin_t, 10);
  assert_int_equal(e->end_t, 30);
  assert_int_equal(e->begin_event, 1);
  assert_int_equal(e->end_event, 4);
  assert_int_equal(e->client_count, 3);
  assert_string_equal(h.clients.name[e->clients[0]], "stale");
  assert_string_equal(h.clients.name[e->clients[1]], "b");
  assert_string_equal(h.clients.name[e->clients[2]], "c");
}

TEST(an_episode_that_lasts_to_the_end_ends_behind_the_last_event) {
  check_text("{\"t\":1,\"c\":\"a\",\"k\":\"x\",\"e\":\"granted\"}\n"
             "{\"t\":3,\"c\":\"b\",\"k\":\"x\",\"e\":\"granted\"}\n"
             "{\"t\":7,\"e\":\"note\",\"what\":\"the trial is over\"}\n");
  assert_int_equal(c.episode_count, 1);
  assert_int_equal(c.episodes[0].end_t, 7);
  assert_int_equal(c.episodes[0].end_event, 3);
  assert_int_equal(c.double_hold_ns, 4);
}

/* What a client wrote before its successor looked is as if it had been in time. */
TEST(a_write_before_the_next_holder_looked_is_not_stale) {
#define EVENT(t, c, e) "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"x\",\"e\":\"" e "\"}\n"
#define ACCESS(t, c, e, more) "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"x\",\"e\":\"" e "\",\"value\":1" more "}\n"
  static const struct {
    const char *text;
    uint64_t stale;
  } cases[] = {
      {EVENT(1, "a", "granted") EVENT(2, "b", "granted") ACCESS(4, "a", "write", ""), 0},
      {EVENT(1, "a", "granted") EVENT(2, "b", "granted") ACCESS(3, "b", "read", "") ACCESS(4, "a", "write", ""), 1},
      {EVENT(1, "a", "granted") EVENT(2, "b", "granted") ACCESS(3, "b", "write", "") ACCESS(4, "a", "write", ""), 1},
      {EVENT(1, "a", "granted") EVENT(2, "b", "granted") ACCESS(3, "b", "read", ",\"ok\":false")
           ACCESS(4, "a", "write", ""),
       0},
      {EVENT(1, "a", "granted") EVENT(2, "b", "granted") ACCESS(4, "b", "read", "") ACCESS(4, "a", "write", ""), 0},
      {EVENT(1, "a", "granted") EVENT(2, "b", "granted") ACCESS(3, "b", "read", "") ACCESS(4, "a", "read", ""), 0},
      {EVENT(1, "b", "granted") ACCESS(2, "b", "read", "") EVENT(3, "a", "granted") ACCESS(4, "a", "write", ""), 0},
      /* a slow holder's access does not make its successor's write stale */
      {EVENT(1, "b", "granted") EVENT(2, "a", "granted") ACCESS(3, "b", "write", "") ACCESS(4, "a", "write", ""), 0},
      {EVENT(1, "a", "granted") EVENT(2, "b", "granted") EVENT(3, "c", "granted") ACCESS(4, "b", "read", "")
           ACCESS(5, "a", "write", ""),
       1},
      {EVENT(1, "a", "granted") EVENT(2, "b", "granted") ACCESS(3, "b", "read", "") ACCESS(4, "c", "write", ""), 1},
      {EVENT(1, "a", "granted") ACCESS(2, "b", "read", "") ACCESS(3, "a", "write", ""), 0}, /* b was never granted it */
      {EVENT(1, "a", "granted") EVENT(2, "b", "granted") ACCESS(3, "b", "read", "") EVENT(4, "a", "granted")
           ACCESS(5, "a", "write", ""),
       0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    check_text(cases[i].text);
    if (c.stale_writes != cases[i].stale)
      fail_msg("case %zu: %llu stale writes", i, (unsigned long long)c.stale_writes);
  }
}

TEST(a_number_is_too_small_only_beside_those_granted_before_it_was_asked_for) {
#define NUMBER(t, c, fence) "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"x\",\"e\":\"granted\",\"fence\":" #fence "}\n"
  static const struct {
    const char *text;
    uint64_t regressions;
  } cases[] = {
      {EVENT(1, "a", "acquire") EVENT(2, "b", "acquire") NUMBER(3, "b", 6) NUMBER(4, "a", 5),
       0}, /* answers that crossed */
      {EVENT(1, "b", "acquire") NUMBER(2, "b", 6) EVENT(3, "a", "acquire") NUMBER(4, "a", 5), 1},
      {EVENT(1, "b", "acquire") NUMBER(2, "b", 6) EVENT(3, "a", "acquire") NUMBER(4, "a", 6), 1},
      {EVENT(1, "a", "acquire") EVENT(2, "b", "acquire") NUMBER(3, "b", 5) NUMBER(4, "a", 5),
       1},                                                               /* one number for two */
      {EVENT(1, "a", "acquire") NUMBER(3, "a", 5) NUMBER(4, "a", 5), 0}, /* the same once more */
      {EVENT(1, "a", "acquire") EVENT(2, "a", "busy") EVENT(3, "b", "acquire") NUMBER(4, "b", 6)
           EVENT(5, "a", "acquire") NUMBER(6, "a", 5),
       1},                                      /* the latest question counts */
      {NUMBER(1, "b", 6) NUMBER(2, "a", 5), 1}, /* without a question */
      {EVENT(1, "a", "acquire") NUMBER(2, "b", 6) EVENT(3, "c", "acquire") NUMBER(4, "b", 9) NUMBER(5, "c", 6), 1},
      {EVENT(1, "a", "acquire") NUMBER(2, "b", 6) EVENT(3, "c", "acquire") NUMBER(4, "b", 9) NUMBER(5, "c", 7), 0},
      {EVENT(1, "a", "acquire") NUMBER(2, "a", 5) EVENT(3, "a", "release") EVENT(4, "b", "acquire") NUMBER(5, "b", 6)
           EVENT(6, "b", "release") NUMBER(7, "a", 4),
       1}, /* the question was answered by the first grant */
      {EVENT(1, "a", "acquire") EVENT(2, "b", "acquire") EVENT(3, "c", "acquire") NUMBER(4, "b", 5) NUMBER(5, "c", 6)
           NUMBER(6, "a", 5),
       1} /* one number for two, and a larger one between */};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    check_text(cases[i].text);
    if (c.token_regressions != cases[i].regressions)
      fail_msg("case %zu: %llu token regressions", i, (unsigned long long)c.token_regressions);
  }
}

/* Every write is what was read plus one, so the first one says what was read, too. */
TEST(a_write_that_comes_first_says_where_the_value_stood) {
#define AT(t, c, kind, value) "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"x\",\"e\":\"" kind "\",\"value\":" #value "}\n"
  check_text(AT(1, "a", "write", 1) AT(2, "b", "read", 1) AT(3, "b", "write", 2));
  assert_int_equal(c.lost_updates, 0);
  check_text(AT(1, "a", "write", 7) AT(2, "b", "write", 7));
  assert_int_equal(c.lost_updates, 1);
  check_text(AT(1, "a", "write", 0) AT(2, "b", "read", 0) AT(3, "b", "write", 1));
  assert_int_equal(c.lost_updates, 0); /* the first one makes the resource */
}

TEST(wild_values_saturate_the_lost_updates) {
  check_text("{\"t\":1,\"c\":\"a\",\"k\":\"x\",\"e\":\"read\",\"value\":9223372036854775807}\n"
             "{\"t\":2,\"c\":\"a\",\"k\":\"x\",\"e\":\"write\",\"value\":0}\n"
             "{\"t\":3,\"c\":\"a\",\"k\":\"y\",\"e\":\"read\",\"value\":9223372036854775807}\n"
             "{\"t\":4,\"c\":\"a\",\"k\":\"y\",\"e\":\"write\",\"value\":0}\n");
  assert_true(c.lost_updates == INT64_MAX);
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

static char *printed(const char *file, size_t episodes) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  assert_non_null(out);
  check_file(file);
  lb_check_print(&h, &c, false, episodes, out);
  fclose(out);
  return text;
}

static void assert_printed(const char *file, size_t episodes, const char *part) {
  char *text = printed(file, episodes);
  if (!strstr(text, part)) fail_msg("%s: expected \"%s\" in:\n%s", file, part, text);
  free(text);
}

TEST(the_first_line_is_the_verdict) {
  char *text = printed("bad/paused-holder", 10);
  const char *line = "undecided: exclusion was lost, but only after the earlier holder's lease was over: "
                     "1 double hold of 99.0 ms (0 within a lease), 3 dirty accesses, 1 lost update\n";
  assert_memory_equal(text, line, strlen(line));
  free(text);
  text = printed("bad/early-read", 10);
  line =
      "violated: 1 lost update (no two held at once: what was written had been read before the lock was asked for)\n";
  assert_memory_equal(text, line, strlen(line));
  free(text);
  text = printed("good/two-readers", 10);
  line = "safe: 0 violations in 4 grants, 3 hand-offs\n";
  assert_memory_equal(text, line, strlen(line));
  free(text);
  text = printed("good/two-clients", 10);
  line = "safe: 0 violations in 2 grants, 1 hand-off\n";
  assert_memory_equal(text, line, strlen(line));
  free(text);
}

TEST(what_is_late_is_violated_where_it_counts) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  check_file("bad/paused-holder");
  lb_check_print_verdict(&c, true, out);
  fclose(out);
  assert_string_equal(text, "violated: 1 double hold of 99.0 ms (0 within a lease), 3 dirty accesses, 1 lost update\n");
  free(text);
}

TEST(the_ruling_is_violated_undecided_or_safe) {
  struct lb_check own = {GRANTS(2, 1, 0), .excluded = true};
  struct lb_ruling ruling = lb_check_rule(&own, true);
  assert_string_equal(lb_ruled_name(ruling.verdict), "safe");
  assert_null(ruling.why);
  own.excluded = false;
  ruling = lb_check_rule(&own, true);
  assert_string_equal(lb_ruled_name(ruling.verdict), "undecided");
  assert_string_equal(ruling.why, "no hand-off put the lock to the test");
  own.lost_updates = 1;
  ruling = lb_check_rule(&own, true);
  assert_string_equal(lb_ruled_name(ruling.verdict), "violated");
  assert_null(ruling.why);
  ruling = lb_check_rule(&own, false);
  assert_string_equal(lb_ruled_name(ruling.verdict), "undecided");
  assert_string_equal(ruling.why, LB_CHECK_LATE);
  own.token_regressions = 1;
  assert_int_equal(lb_check_rule(&own, false).verdict, LB_RULED_VIOLATED);
}

/* Readers exclude nobody among themselves, and what was cut off may have the violation. */
TEST(what_could_not_be_violated_is_undecided) {
#define READS(t, c) "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"x\",\"e\":\"granted\",\"shared\":true}\n"
  check_text(READS(1, "a") READS(2, "b"));
  assert_int_equal(c.handoffs, 1);
  assert_int_equal(lb_check_rule(&c, true).verdict, LB_RULED_UNDECIDED);
  check_text(READS(1, "a") EVENT(2, "a", "release") EVENT(3, "b", "granted"));
  assert_int_equal(lb_check_rule(&c, true).verdict, LB_RULED_SAFE);
  check_text(READS(1, "a") EVENT(2, "a", "release")
                 EVENT(3, "b", "granted") "{\"t\":4,\"e\":\"shortened\",\"kept\":3,\"total\":70000}\n");
  assert_int_equal(lb_check_rule(&c, true).verdict, LB_RULED_UNDECIDED);
}

/* That the client had read too early is said of nothing else: neither where exclusion was lost, nor where another write
 * took an update away. */
TEST(an_early_read_is_blamed_for_what_it_did_alone) {
  assert_true(lb_check_read_early(&(struct lb_check){.lost_updates = 2, .early_lost_updates = 2}));
  assert_false(lb_check_read_early(&(struct lb_check){.lost_updates = 2, .early_lost_updates = 1}));
  assert_false(lb_check_read_early(&(struct lb_check){.double_holds = 0}));
  assert_false(lb_check_read_early(&(struct lb_check){.lost_updates = 1, .early_lost_updates = 1, .double_holds = 1}));
  assert_false(
      lb_check_read_early(&(struct lb_check){.lost_updates = 1, .early_lost_updates = 1, .dirty_accesses = 1}));
  assert_false(
      lb_check_read_early(&(struct lb_check){.lost_updates = 1, .early_lost_updates = 1, .token_regressions = 1}));
}

TEST(json_has_every_episode_with_who_when_and_where) {
  check_text(
      "{\"t\":1000,\"c\":\"a\",\"k\":\"x\",\"e\":\"granted\"}\n{\"t\":3000,\"c\":\"b\",\"k\":\"x\",\"e\":\"granted\"}\n"
      "{\"t\":5000,\"c\":\"a\",\"k\":\"x\",\"e\":\"release\"}\n{\"t\":6000,\"c\":\"a\",\"k\":\"x\",\"e\":\"granted\"}\n");
  json_t *o = lb_check_json(&h, &c, false);
  char *text = json_dumps(json_object_get(o, "episodes"), JSON_COMPACT);
  assert_string_equal(
      text,
      "[{\"clients\":[\"a\",\"b\"],\"key\":\"x\",\"depth\":2,\"within_lease\":true,\"begin_ns\":3000,\"end_ns\":5000,"
      "\"begin_ms\":0.002,\"end_ms\":0.0040000000000000001},"
      "{\"clients\":[\"b\",\"a\"],\"key\":\"x\",\"depth\":2,\"within_lease\":true,\"begin_ns\":6000,\"end_ns\":6000,"
      "\"begin_ms\":0.0050000000000000001,\"end_ms\":0.0050000000000000001}]");
  assert_string_equal(json_string_value(json_object_get(o, "verdict")), "violated");
  assert_true(json_is_null(json_object_get(o, "why")));
  free(text);
  json_decref(o);
}

TEST(a_history_without_hand_off_is_not_called_safe) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  check_text("{\"t\":1,\"c\":\"a\",\"k\":\"x\",\"e\":\"granted\"}\n");
  lb_check_print(&h, &c, false, 1, out);
  fclose(out);
  assert_memory_equal(text, "undecided: ", 11);
  free(text);
}

TEST(each_episode_is_told_with_the_events_around_it) {
  assert_printed("bad/paused-holder", 10, "double hold 1 of 1: key lock-1, held by client-1 and client-2\n");
  assert_printed("bad/paused-holder", 10, "from 303.000000 to 402.000000 ms (99.0 ms), at most 2 at once");
  assert_printed("bad/paused-holder", 10, "  |     303.000000 ms  client-2 granted fence 2\n");
  assert_printed("bad/reader-beside-writer", 10, " b granted (shared)\n");
  assert_printed("bad/three-of-two-permits", 10, " note: at most 2 may hold x at once\n");
  assert_printed("bad/three-of-two-permits", 10, "at most 3 at once where 2 may, after the earlier lease was over\n");
  assert_printed("bad/paused-holder", 10, "         10.000000 ms  client-2 acquire\n");
  assert_printed("bad/renewed", 10, "        401.000000 ms  client-1 renewed until 700.000000 ms\n");
  assert_printed("bad/paused-holder", 10, "          1.000000 ms  client-1 granted fence 1\n");
  assert_printed("bad/paused-holder", 10, "fault: resume client-1\n");
  assert_printed("bad/paused-holder", 10, "client-1 lost\n");
  assert_printed("bad/never-released", 10, "| the history ends\n");
  assert_printed("bad/overtaken-writers", 10, "  stale writes       3\n");
}

TEST(only_as_many_episodes_are_told_as_asked_for) {
  assert_printed("bad/one-stale-many-successors", 1, "... and 1 more double holds");
  char *text = printed("bad/one-stale-many-successors", 1);
  assert_null(strstr(text, "double hold 2 of 2"));
  free(text);
}

TEST(nothing_in_a_name_reaches_the_terminal_as_a_command) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  check_text(
      "{\"t\":1,\"c\":\"a\\u001b[2J\",\"k\":\"x\\n\",\"e\":\"granted\"}\n{\"t\":2,\"c\":\"b\",\"k\":\"x\\n\",\"e\":\"granted\"}\n");
  lb_check_print(&h, &c, false, 1, out);
  fclose(out);
  assert_null(strchr(text, '\033'));
  assert_non_null(strstr(text, "key x?, held by a?[2J and b"));
  free(text);
}
