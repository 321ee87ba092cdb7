/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * Which violations a lease that was over excuses: those of holders that went on too long, and no others. On histories
 * written by hand; the very moments at which a lease ends and a hand-over happens are among them.
 */
#include "test.h"
#include "base/error.h"
#include "lines.h"
#include "check/check.h"

static struct lb_check c; /* of the last that was judged */

static int clear(void **state) {
  (void)state;
  lb_check_clear(&c);
  return 0;
}
EACH(NULL, clear);

static void judge(const char *text) {
  struct lb_history h;
  struct lb_error err;
  if (parse_lines("test", text, &h, &err) != 0) fail_msg("%s", err.text);
  lb_check_clear(&c);
  lb_check_history(&h, &c);
  lb_history_clear(&h);
}

/* Whether something counts although leases end, or nothing is wrong at all. */
static bool counts(const char *text) {
  judge(text);
  return !lb_check_violated(&c, true) || lb_check_violated(&c, false);
}

/* The same of a history with so many episodes. */
static bool counts_of(const char *text, uint64_t episodes) {
  judge(text);
  assert_int_equal(c.double_holds, episodes);
  return counts(text);
}

#define EVENT(t, c, e) "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"k\",\"e\":\"" e "\"}\n"
#define ON(t, c, key, e) "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"" key "\",\"e\":\"" e "\"}\n"
#define CRASH(t, c) "{\"t\":" #t ",\"c\":\"" c "\",\"e\":\"crash\"}\n"
#define GRANTED(t, c, until) "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"k\",\"e\":\"granted\",\"until\":" #until "}\n"
#define SILENT(t, c, until) "{\"t\":" #t ",\"c\":\"" c "\",\"e\":\"silent\",\"until\":" #until "}\n"
#define HEARD(t, c) "{\"t\":" #t ",\"c\":\"" c "\",\"e\":\"silent\"}\n"
#define RENEWED(t, c, until) "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"k\",\"e\":\"renewed\",\"until\":" #until "}\n"
#define ACCESS(t, c, e, value) "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"k\",\"e\":\"" e "\",\"value\":" #value "}\n"

TEST(an_overlap_inside_the_first_lease_counts) {
  assert_true(counts(GRANTED(10, "a", 100) GRANTED(50, "b", 200) EVENT(60, "a", "release") EVENT(70, "b", "release")));
}

TEST(an_overlap_after_the_first_lease_does_not) {
  assert_false(counts(GRANTED(10, "a", 40) GRANTED(50, "b", 200) EVENT(60, "a", "release") EVENT(70, "b", "release")));
}

TEST(an_overlap_inside_a_renewed_lease_counts) {
  assert_true(counts(GRANTED(10, "a", 40) RENEWED(20, "a", 50) RENEWED(30, "a", 60) GRANTED(55, "b", 200)
                         EVENT(70, "a", "release")));
  assert_true(counts(GRANTED(10, "a", 40) EVENT(20, "a", "renewed") GRANTED(55, "b", 200))); /* for ever */
}

/* The first overlap is only a slow holder, but then the service confirms it beside the next one. */
TEST(a_renewal_beside_the_next_holder_counts) {
  assert_true(counts(GRANTED(10, "a", 40) GRANTED(50, "b", 200) RENEWED(60, "a", 300) EVENT(70, "a", "release")));
  assert_true(counts(GRANTED(10, "a", 40) GRANTED(50, "b", 200) EVENT(60, "a", "renewed"))); /* for ever */
}

TEST(a_renewal_read_too_late_or_after_the_hold_does_not) {
  assert_false(counts(GRANTED(10, "a", 40) GRANTED(50, "b", 200) RENEWED(60, "a", 60) EVENT(70, "a", "release")));
  assert_false(counts(GRANTED(10, "a", 40) GRANTED(50, "b", 55) RENEWED(60, "a", 300) EVENT(70, "a", "release")));
  assert_false(counts(GRANTED(10, "c", 20) GRANTED(30, "a", 40) EVENT(45, "a", "lost") GRANTED(50, "b", 200)
                          RENEWED(60, "a", 300) EVENT(70, "c", "release")));
}

TEST(an_overlap_after_the_last_renewal_ran_out_does_not) {
  assert_false(counts(GRANTED(10, "a", 40) RENEWED(20, "a", 50) GRANTED(55, "b", 200) EVENT(70, "a", "release")));
  assert_false(counts(EVENT(10, "a", "granted") RENEWED(20, "a", 50) GRANTED(55, "b", 200))); /* it was for ever */
}

TEST(only_the_renewals_of_the_same_hold_before_the_overlap_count) {
  const char *release = EVENT(60, "a", "release") EVENT(70, "b", "release");
  char text[1000];
  const char *const holds[] = {
      GRANTED(10, "a", 40) GRANTED(55, "b", 200) RENEWED(56, "a", 56), /* over already */
      GRANTED(10, "a", 40) RENEWED(20, "c", 90) GRANTED(55, "b", 200), /* another client's */
      RENEWED(5, "a", 90) GRANTED(10, "a", 40) GRANTED(55, "b", 200),  /* of an earlier hold */
      GRANTED(10, "a", 40) EVENT(15, "a", "release") RENEWED(20, "a", 90) GRANTED(25, "a", 40) GRANTED(55, "b", 200),
      GRANTED(10, "a", 40) "{\"t\":20,\"c\":\"a\",\"k\":\"other\",\"e\":\"renewed\"}\n" GRANTED(55, "b", 200)};
  for (size_t i = 0; i < sizeof holds / sizeof *holds; i++) {
    snprintf(text, sizeof text, "%s%s", holds[i], release);
    assert_false(counts(text));
  }
  assert_true(counts(GRANTED(10, "a", 100) EVENT(20, "a", "release") RENEWED(25, "a", 900) GRANTED(30, "b", 200)));
}

TEST(a_hold_without_an_end_of_its_lease_is_always_inside) {
  assert_true(counts(EVENT(10, "a", "granted") GRANTED(50, "b", 200) EVENT(60, "a", "release")));
}

STATES(one_overlap_inside_is_enough,
       assert_true(counts(GRANTED(10, "a", 40) GRANTED(50, "b", 200) EVENT(60, "a", "release") GRANTED(70, "c", 300)
                              EVENT(80, "b", "release") EVENT(90, "c", "release"))));

TEST(a_third_holder_is_measured_against_each_earlier_one) {
  assert_true(counts(GRANTED(10, "a", 40) GRANTED(50, "b", 200) GRANTED(70, "c", 300) EVENT(80, "a", "release")));
}

TEST(a_fence_that_went_backwards_is_never_excused) {
#define NUMBERED(t, c, until, fence)                                                                                   \
  "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"k\",\"e\":\"granted\",\"until\":" #until ",\"fence\":" #fence "}\n"
  const char *grown = NUMBERED(10, "a", 40, 5) NUMBERED(50, "b", 200, 6) EVENT(60, "a", "lost")
      EVENT(70, "b", "release") NUMBERED(80, "a", 300, 7);
  const char *shrunk = NUMBERED(10, "a", 40, 5) NUMBERED(50, "b", 200, 6) EVENT(60, "a", "lost")
      EVENT(70, "b", "release") NUMBERED(80, "a", 300, 2);
  assert_false(counts(grown));
  assert_true(counts(shrunk));
}

TEST(each_key_has_its_own_episodes_and_leases) {
#define OTHER(t, c, until) "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"other\",\"e\":\"granted\",\"until\":" #until "}\n"
  assert_false(counts(GRANTED(10, "a", 40) OTHER(20, "a", 900) GRANTED(50, "b", 200) EVENT(60, "a", "release")));
  assert_true(counts(GRANTED(10, "a", 40) OTHER(20, "a", 900) GRANTED(50, "b", 200) OTHER(55, "b", 900)));
}

TEST(a_crash_ends_what_a_client_believed_of_every_key) {
  assert_false(counts(GRANTED(10, "c", 900) "{\"t\":15,\"c\":\"c\",\"e\":\"crash\"}\n" GRANTED(20, "a", 40)
                          GRANTED(50, "b", 200) EVENT(60, "a", "release")));
}

STATES(a_grant_in_the_instant_of_a_release_overruns_nothing,
       assert_false(counts(GRANTED(10, "a", 900) GRANTED(50, "b", 60) EVENT(50, "a", "release") GRANTED(70, "c", 200)
                               EVENT(80, "b", "release"))));

TEST(a_lease_is_over_in_the_moment_it_ends) {
  assert_true(counts_of(GRANTED(10, "a", 51) GRANTED(50, "b", 200) EVENT(60, "a", "release"), 1));
  assert_false(counts_of(GRANTED(10, "a", 50) GRANTED(50, "b", 200) EVENT(60, "a", "release"), 1));
}

STATES(a_hand_over_in_one_instant_is_no_overlap_inside_a_lease,
       assert_false(counts_of(GRANTED(10, "a", 40) GRANTED(50, "b", 200) EVENT(60, "a", "release") GRANTED(70, "c", 300)
                                  EVENT(70, "b", "release") EVENT(80, "c", "release"),
                              1)));

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
  bool result = counts_of(text, count);
  free(text);
  return result;
}

STATES(of_very_many_overlaps_every_one_is_looked_at, assert_true(one_of_many_is_within(1001, 0)),
       assert_true(one_of_many_is_within(1001, 999)), assert_true(one_of_many_is_within(1001, 1000)),
       assert_false(one_of_many_is_within(1001, 1001)));

TEST(of_several_keys_the_last_one_has_beliefs_of_its_own) {
  assert_false(counts_of(ON(1, "a", "x", "granted") ON(2, "a", "x", "release") ON(3, "b", "y", "granted")
                             ON(4, "b", "y", "release") GRANTED(10, "a", 40) GRANTED(50, "b", 200)
                                 EVENT(60, "a", "release"),
                         1));
  assert_true(counts_of(ON(1, "a", "x", "granted") ON(2, "a", "x", "release") ON(3, "b", "y", "granted")
                            ON(4, "b", "y", "release") GRANTED(10, "a", 51) GRANTED(50, "b", 200)
                                EVENT(60, "a", "release"),
                        1));
}

STATES(of_several_clients_the_last_one_dies_like_the_first,
       assert_false(counts_of(EVENT(1, "a", "granted") EVENT(2, "a", "release") EVENT(3, "b", "granted")
                                  EVENT(4, "b", "release") GRANTED(10, "c", 900) CRASH(15, "c") GRANTED(20, "a", 40)
                                      GRANTED(50, "b", 200) EVENT(60, "a", "release"),
                              1)));
STATES(after_the_last_overlap_of_a_key_nothing_is_held_against_anybody,
       assert_false(counts_of(GRANTED(10, "a", 40) GRANTED(50, "b", 200) EVENT(60, "a", "release")
                                  EVENT(70, "b", "release") EVENT(80, "c", "granted") GRANTED(90, "a", 300)
                                      EVENT(90, "c", "release"),
                              1)));

TEST(an_overlap_that_lasts_to_the_end_counts_to_its_last_grant) {
  assert_true(counts_of(GRANTED(10, "a", 40) GRANTED(50, "b", 200) GRANTED(60, "c", 300), 1));
  assert_false(counts_of(GRANTED(10, "a", 40) GRANTED(50, "b", 60) GRANTED(60, "c", 300), 1));
}

/* Its library renews it, and nobody sees that. */
#define KEPT_UP EVENT(10, "a", "granted")
#define NEXT GRANTED(50, "b", 200) EVENT(60, "a", "release")
STATES(what_a_library_keeps_up_runs_as_long_as_it_reaches_a_server, assert_true(counts(KEPT_UP NEXT)),
       assert_false(counts_of(KEPT_UP SILENT(20, "a", 50) NEXT, 1)),
       assert_true(counts(KEPT_UP SILENT(20, "a", 51) NEXT)),
       assert_true(counts(KEPT_UP SILENT(20, "a", 50) HEARD(49, "a") NEXT)),
       assert_false(counts_of(KEPT_UP SILENT(20, "a", 30) HEARD(30, "a") NEXT, 1)),
       assert_true(counts(KEPT_UP SILENT(20, "b", 30) NEXT)));
STATES(a_silence_takes_nothing_from_an_end_that_was_said,
       assert_true(counts(GRANTED(10, "a", 100) SILENT(20, "a", 30) NEXT)),
       assert_false(counts_of(GRANTED(10, "a", 40) SILENT(20, "a", 100) HEARD(30, "a") NEXT, 1)));
STATES(the_first_silence_says_when_it_ends,
       assert_false(counts_of(KEPT_UP SILENT(20, "a", 40) SILENT(30, "a", 90) NEXT, 1)));

/* ---- who contests what ------------------------------------------------------------------------------------------- */

/* The answer to a came so late that its lease was over when it was read: it is a that should have stopped. */
TEST(a_grant_that_is_read_after_its_own_lease_is_late) {
  assert_false(counts(GRANTED(10, "b", 200) GRANTED(50, "a", 50) EVENT(60, "a", "release")));
  assert_true(counts(GRANTED(10, "b", 200) GRANTED(50, "a", 51) EVENT(60, "a", "release")));
}

/* ---- each violation by itself ------------------------------------------------------------------------------------ */

/* a stops in time for b, but not for c. */
TEST(each_episode_is_of_one_class_or_the_other) {
  judge(GRANTED(10, "a", 100) GRANTED(50, "b", 200) EVENT(60, "a", "release") EVENT(70, "b", "release")
            GRANTED(80, "a", 90) GRANTED(95, "c", 300) EVENT(99, "a", "release"));
  assert_int_equal(c.double_holds, 2);
  assert_int_equal(c.within_lease, 1);
  assert_true(c.episodes[0].within_lease);
  assert_false(c.episodes[1].within_lease);
}

/* Paused beyond its lease: a's write is dirty, stale, and takes b's away. */
/* clang-format off */
#define LATE_WRITE(t)                                                                                          \
  GRANTED(1##t, "a", 2##t) ACCESS(1##t, "a", "read", 0) GRANTED(3##t, "b", 9##t) ACCESS(3##t, "b", "read", 0) \
      ACCESS(4##t, "b", "write", 1) ACCESS(5##t, "a", "write", 1) EVENT(6##t, "a", "release")                 \
          EVENT(6##t, "b", "release")
/* clang-format on */

TEST(what_a_late_holder_does_is_counted_but_excused) {
  judge(LATE_WRITE(0));
  assert_int_equal(c.double_holds, 1);
  assert_int_equal(c.within_lease, 0);
  assert_int_equal(c.dirty_accesses, 3);
  assert_int_equal(c.unexcused.dirty_accesses, 0);
  assert_int_equal(c.stale_writes, 1);
  assert_int_equal(c.unexcused.stale_writes, 0);
  assert_int_equal(c.lost_updates, 1);
  assert_int_equal(c.unexcused.lost_updates, 0);
  assert_true(lb_check_violated(&c, true) && lb_check_damaged(&c, true));
  assert_false(lb_check_violated(&c, false) || lb_check_damaged(&c, false));
}

/* The late one comes first, then c is granted beside b. */
TEST(one_violation_within_a_lease_leaves_the_others_excused) {
  judge(LATE_WRITE(0) GRANTED(100, "b", 900) ACCESS(101, "b", "read", 1) GRANTED(110, "c", 900)
            ACCESS(111, "c", "read", 1) EVENT(120, "b", "release") EVENT(130, "c", "release"));
  assert_int_equal(c.double_holds, 2);
  assert_int_equal(c.within_lease, 1);
  assert_int_equal(c.dirty_accesses, 4);
  assert_int_equal(c.unexcused.dirty_accesses, 1);
  assert_true(lb_check_violated(&c, false));
  assert_false(lb_check_damaged(&c, false)); /* what was damaged was damaged late */
}

TEST(within_a_lease_every_violation_counts) {
  judge(GRANTED(10, "a", 900) ACCESS(11, "a", "read", 0) GRANTED(30, "b", 900) ACCESS(31, "b", "read", 0)
            ACCESS(40, "b", "write", 1) ACCESS(50, "a", "write", 1) EVENT(60, "a", "release"));
  assert_int_equal(c.unexcused.dirty_accesses, 3);
  assert_int_equal(c.unexcused.stale_writes, 1);
  assert_int_equal(c.unexcused.lost_updates, 1);
}

/* c's update is lost by b, who only met the late a: what takes away is excused, not what is taken. */
TEST(a_loss_belongs_to_the_write_that_takes_away) {
  judge(GRANTED(10, "a", 20) ACCESS(11, "a", "read", 0) GRANTED(30, "b", 900) ACCESS(31, "b", "read", 0) ACCESS(
      40, "a", "write", 1) EVENT(45, "a", "release") ACCESS(50, "b", "write", 1) EVENT(60, "b", "release"));
  assert_int_equal(c.lost_updates, 1);
  assert_int_equal(c.unexcused.lost_updates, 0);
}

/* a late write by a jumps back over two, another one of a late holder gives them back: nothing is lost but one. */
TEST(what_is_given_back_is_not_lost) {
  judge(GRANTED(1, "d", 900) ACCESS(2, "d", "read", 0) ACCESS(3, "d", "write", 1) EVENT(4, "d", "release")
            GRANTED(10, "a", 900) ACCESS(11, "a", "write", 1) EVENT(12, "a", "release"));
  assert_int_equal(c.lost_updates, 1); /* nobody met anybody, so no lease excuses it */
  assert_int_equal(c.unexcused.lost_updates, 1);
}

/* a lets go at 60 and writes all the same. */
STATES(an_access_without_a_hold_is_excused_by_no_lease,
       judge(GRANTED(10, "a", 20) GRANTED(30, "b", 900) EVENT(60, "a", "lost") ACCESS(61, "a", "write", 1)
                 EVENT(70, "b", "release")),
       assert_int_equal(c.unexcused.dirty_accesses, 1), assert_true(lb_check_violated(&c, false)));
STATES(a_new_hold_is_not_excused_by_what_the_last_one_met,
       judge(GRANTED(10, "a", 20) GRANTED(30, "b", 900) EVENT(60, "a", "release") EVENT(61, "b", "release")
                 ACCESS(62, "c", "read", 0) GRANTED(70, "a", 900) ACCESS(71, "a", "write", 5)
                     ACCESS(72, "a", "write", 5)),
       assert_int_equal(c.unexcused.lost_updates, c.lost_updates));

/* ---- what no client of lockbench does, but a file may say ---- */

static enum lb_ruled ruling(const char *text) {
  judge(text);
  return lb_check_rule(&c, false).verdict;
}

TEST(a_release_of_who_never_asked_leaves_it_open_whose_it_was) {
  assert_int_equal(ruling(EVENT(10, "a", "granted") EVENT(20, "worker", "release") EVENT(21, "worker", "released")
                              EVENT(30, "b", "granted")),
                   LB_RULED_UNDECIDED);
  /* not confirmed; nobody held; it may have been its own; safe all the same */
  assert_int_equal(ruling(EVENT(10, "a", "granted") EVENT(20, "worker", "release") EVENT(30, "b", "granted")),
                   LB_RULED_VIOLATED);
  assert_int_equal(ruling(EVENT(5, "worker", "release") EVENT(6, "worker", "released") EVENT(10, "a", "granted")
                              EVENT(30, "b", "granted")),
                   LB_RULED_VIOLATED);
  assert_int_equal(ruling(EVENT(5, "worker", "acquire") EVENT(6, "worker", "unknown") EVENT(10, "a", "granted")
                              EVENT(20, "worker", "release") EVENT(21, "worker", "released") EVENT(30, "b", "granted")),
                   LB_RULED_VIOLATED);
  assert_int_equal(ruling(EVENT(10, "a", "granted") EVENT(20, "worker", "release") EVENT(21, "worker", "released")
                              EVENT(25, "a", "release") EVENT(30, "b", "granted")),
                   LB_RULED_SAFE);
}

TEST(what_was_lost_is_not_renewed_beside_the_next_holder) {
  assert_int_equal(ruling(GRANTED(10, "a", 40) EVENT(40, "a", "lost") GRANTED(60, "b", 90) RENEWED(65, "a", 95)),
                   LB_RULED_VIOLATED);
  assert_int_equal(ruling(GRANTED(10, "a", 40) EVENT(40, "a", "release") GRANTED(60, "b", 90) RENEWED(65, "a", 95)),
                   LB_RULED_SAFE);
  assert_int_equal(ruling(GRANTED(10, "a", 40) EVENT(40, "a", "lost") GRANTED(60, "b", 90) EVENT(64, "b", "release")
                              RENEWED(65, "a", 95)),
                   LB_RULED_SAFE);
}

/* ---- how long the dead keep others out ---- */

#define SHARED(t, c, e) "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"k\",\"e\":\"" e "\",\"shared\":true}\n"
#define PHASE(t, phase) "{\"t\":" #t ",\"e\":\"phase\",\"phase\":\"" phase "\"}\n"

static int64_t orphan(const char *text) {
  judge(text);
  return c.orphan_ns;
}

TEST(an_orphan_lasts_to_the_grant_also_of_who_asked_again_at_the_end) {
  assert_int_equal(orphan(EVENT(10, "a", "granted") CRASH(20, "a") EVENT(70, "b", "granted")), 50);
  assert_int_equal(orphan(EVENT(10, "a", "granted") CRASH(20, "a") EVENT(30, "b", "acquire") EVENT(40, "b", "busy")
                              PHASE(50, "closing") EVENT(55, "b", "acquire") EVENT(70, "b", "granted")
                                  PHASE(75, "closed")),
                   50);
  assert_int_equal(orphan(EVENT(10, "a", "granted") CRASH(20, "a") PHASE(50, "closing") PHASE(75, "closed")), 55);
}

TEST(a_dead_reader_keeps_out_writers_only) {
  assert_int_equal(orphan(SHARED(10, "a", "granted") EVENT(15, "w", "acquire") CRASH(20, "a") SHARED(30, "b", "granted")
                              EVENT(40, "b", "release") EVENT(90, "w", "granted")),
                   70);
  assert_int_equal(orphan(SHARED(10, "a", "granted") CRASH(20, "a") SHARED(30, "b", "granted")), -1);
  assert_int_equal(
      orphan(SHARED(10, "a", "granted") CRASH(20, "a") EVENT(30, "w", "acquire") SHARED(50, "b", "granted")), 30);
  assert_int_equal(orphan(EVENT(10, "a", "granted") CRASH(20, "a") SHARED(30, "b", "granted")), 10);
}
