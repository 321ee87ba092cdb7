/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * Figures of speed: the histogram against exact small sets and its promised error, and the figures of a history against
 * what they are on paper.
 */
#include <math.h>

#include "test.h"
#include "base/error.h"
#include "base/rng.h"
#include "lines.h"
#include "check/stats.h"

static struct lb_hist hist; /* 15 kB */

static void assert_near(double value, double expected) {
  if (!(fabs(value - expected) < 5e-5)) fail_msg("%.6f, expected %.6f", value, expected);
}

/* ---- what is drawn at random ------------------------------------------------------------------------------------- */

/* Each of five ranks by its weight, to four standard deviations of 100 000 draws. */
static void assert_zipf(double skew) {
  struct lb_rng rng = lb_rng_fork(7, 1, 0);
  double sum = 0, seen[5] = {0};
  for (int k = 1; k <= 5; k++) sum += pow(k, -skew);
  for (int i = 0; i < 100000; i++) seen[lb_rng_zipf(&rng, 5, skew)]++;
  for (int k = 1; k <= 5; k++) {
    double p = pow(k, -skew) / sum, off = fabs(seen[k - 1] - 1e5 * p);
    if (off > 4 * sqrt(1e5 * p * (1 - p)))
      fail_msg("skew %g: rank %d seen %g times, expected %g", skew, k, seen[k - 1], 1e5 * p);
  }
}

TEST(ranks_are_drawn_by_their_weight) {
  assert_zipf(0.5);
  assert_zipf(0.99);
  assert_zipf(1);
  assert_zipf(2.5);
}

TEST(a_single_rank_and_none_are_0_and_many_need_no_table) {
  struct lb_rng rng = lb_rng_fork(7, 1, 0);
  assert_int_equal(lb_rng_zipf(&rng, 1, 0.99), 0);
  assert_int_equal(lb_rng_zipf(&rng, 0, 0.99), 0);
  uint64_t most = 0;
  for (int i = 0; i < 10000; i++) {
    uint64_t rank = lb_rng_zipf(&rng, 1000000, 0.5);
    assert_in_range(rank, 0, 999999);
    if (rank > most) most = rank;
  }
  assert_in_range(most, 900000, 999999);
}

TEST(exponential_times_have_their_mean_and_median) {
  struct lb_rng rng = lb_rng_fork(7, 1, 0);
  double sum = 0, below = 0;
  for (int i = 0; i < 100000; i++) {
    uint64_t x = lb_rng_exponential(&rng, 1000000);
    sum += (double)x;
    below += x < 693147;
  }
  assert_true(fabs(sum / 1e5 - 1e6) < 4 * 1e6 / sqrt(1e5));
  assert_true(fabs(below - 5e4) < 4 * sqrt(2.5e4));
}

/* ---- the histogram ----------------------------------------------------------------------------------------------- */

TEST(every_value_lies_between_low_and_high_of_a_bucket_and_buckets_leave_no_gap) {
  assert_true(lb_hist_bucket_low(0) == 0);
  for (unsigned i = 1; i < LB_HIST_BUCKETS; i++) {
    assert_true(lb_hist_bucket_low(i) == lb_hist_bucket_high(i - 1) + 1);
    assert_true(lb_hist_bucket_high(i) >= lb_hist_bucket_low(i));
  }
  assert_true(lb_hist_bucket_high(LB_HIST_BUCKETS - 1) == UINT64_MAX);
  static const uint64_t edges[] = {0, 1, 63, 64, 127, 128, 129, 1000000, UINT64_MAX / 2, UINT64_MAX - 1, UINT64_MAX};
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
    lb_hist_init(&hist);
    lb_hist_add(&hist, edges[i]);
    unsigned b = 0;
    while (hist.bucket[b] == 0) b++;
    assert_true(lb_hist_bucket_low(b) <= edges[i] && edges[i] <= lb_hist_bucket_high(b));
  }
}

TEST(quantiles_of_small_values_are_exact) {
  lb_hist_init(&hist);
  for (uint64_t v = 10; v >= 1; v--) lb_hist_add(&hist, v);
  assert_int_equal(lb_hist_quantile(&hist, 0), 1);
  assert_int_equal(lb_hist_quantile(&hist, 0.1), 1);
  assert_int_equal(lb_hist_quantile(&hist, 0.100001), 2);
  assert_int_equal(lb_hist_quantile(&hist, 0.5), 5);
  assert_int_equal(lb_hist_quantile(&hist, 0.51), 6);
  assert_int_equal(lb_hist_quantile(&hist, 0.9), 9);
  assert_int_equal(lb_hist_quantile(&hist, 0.99), 10);
  assert_int_equal(lb_hist_quantile(&hist, 1), 10);
  assert_int_equal(hist.min, 1);
  assert_int_equal(hist.max, 10);
  assert_int_equal(hist.count, 10);
  assert_near(hist.sum, 55);
}

TEST(a_rank_is_not_moved_by_binary_rounding) {
  lb_hist_init(&hist);
  for (uint64_t n = 1; n <= 100; n++) /* 50 values twice: 7 % of 100 is the 7th, 0.07 * 100 > 7 in binary */
    lb_hist_add(&hist, n / 2);
  assert_true(0.07 * 100 > 7);
  assert_int_equal(lb_hist_quantile(&hist, 0.07), 3);
  assert_int_equal(lb_hist_quantile(&hist, 0.08), 4);
}

STATES(an_empty_histogram_has_quantile_0, lb_hist_init(&hist), assert_int_equal(lb_hist_quantile(&hist, 0.5), 0));
STATES(one_value_is_returned_exactly_however_large, lb_hist_init(&hist), lb_hist_add(&hist, 123456789012345),
       assert_true(lb_hist_quantile(&hist, 0.5) == 123456789012345));

TEST(quantiles_are_off_by_less_than_a_64th) {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    struct lb_rng rng = lb_rng_fork(seed, 0, 0);
    enum { N = 999 };
    uint64_t sorted[N];
    lb_hist_init(&hist);
    for (size_t i = 0; i < N; i++) {
      uint64_t v = lb_rng_next(&rng) >> lb_rng_below(&rng, 64);
      size_t at = i;
      for (; at > 0 && sorted[at - 1] > v; at--) sorted[at] = sorted[at - 1];
      sorted[at] = v;
      lb_hist_add(&hist, v);
    }
    for (size_t rank = 1; rank <= N; rank++) {
      uint64_t exact = sorted[rank - 1], got = lb_hist_quantile(&hist, (double)rank / N);
      uint64_t error = got > exact ? got - exact : exact - got;
      if (error > exact / 64)
        fail_msg("seed %llu, rank %zu: %llu for %llu", (unsigned long long)seed, rank, (unsigned long long)got,
                 (unsigned long long)exact);
    }
  }
}

/* ---- histories --------------------------------------------------------------------------------------------------- */

static struct lb_stats stats; /* of the last stats_of() */

static int clear(void **state) {
  (void)state;
  lb_stats_clear(&stats);
  return 0;
}
EACH(NULL, clear);

static void stats_of(const char *text) {
  struct lb_history h;
  struct lb_error err;
  if (parse_lines("text", text, &h, &err) < 0) fail_msg("%s", err.text);
  lb_stats_clear(&stats);
  lb_stats_history(&h, &stats);
  lb_history_clear(&h);
}

#define EVENT(t, c, e) "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"x\",\"e\":\"" e "\"}\n"
#define PHASE(t, phase) "{\"t\":" #t ",\"e\":\"phase\",\"phase\":\"" phase "\"}\n"

TEST(wait_hold_and_handoff_are_measured) {
  stats_of(EVENT(0, "a", "acquire") EVENT(2, "a", "granted") EVENT(5, "b", "acquire") EVENT(12, "a", "release")
               EVENT(15, "b", "granted") EVENT(16, "b", "release") EVENT(20, "c", "acquire") EVENT(21, "c", "granted")
                   EVENT(25, "c", "lost"));
  assert_int_equal(stats.grants, 3);
  assert_int_equal(stats.wait.count, 3);
  assert_int_equal(stats.wait.min, 1);  /* c */
  assert_int_equal(stats.wait.max, 10); /* b */
  assert_near(stats.wait.sum, 2 + 10 + 1);
  assert_int_equal(stats.hold.count, 2); /* c lost its own */
  assert_near(stats.hold.sum, 10 + 1);
  assert_int_equal(stats.handoff.count, 1); /* c was not yet waiting when b let go */
  assert_int_equal(stats.handoff.max, 3);
}

TEST(a_hold_lasts_until_as_many_releases_as_grants) {
  stats_of(EVENT(1, "a", "granted") EVENT(2, "b", "acquire") EVENT(3, "a", "granted") EVENT(5, "a", "release")
               EVENT(9, "a", "release") EVENT(10, "b", "granted") EVENT(13, "b", "release"));
  assert_int_equal(stats.hold.count, 2);
  assert_near(stats.hold.sum, 8 + 3);
  assert_int_equal(stats.handoff.max, 1);
}

TEST(a_handoff_starts_at_the_release_of_who_had_it_before) {
  stats_of(EVENT(0, "b", "acquire") EVENT(1, "a", "granted") EVENT(2, "a", "release") EVENT(3, "c", "granted")
               EVENT(5, "c", "release") EVENT(6, "b", "release") EVENT(9, "b", "granted"));
  assert_int_equal(stats.handoff.count, 1);
  assert_int_equal(stats.handoff.max, 4);
}

/* Else a lock on which the waiters poll would seem the faster, the more often they are passed over. */
TEST(a_handoff_lasts_as_long_as_the_waiter_is_passed_over) {
  stats_of(EVENT(1, "a", "granted") EVENT(2, "b", "acquire") EVENT(3, "a", "release") EVENT(4, "a", "acquire")
               EVENT(5, "a", "granted") EVENT(6, "c", "acquire") EVENT(7, "a", "release") EVENT(8, "a", "granted")
                   EVENT(9, "a", "release") EVENT(12, "c", "granted") EVENT(13, "c", "release")
                       EVENT(15, "b", "granted"));
  assert_int_equal(stats.handoff.count, 2);
  assert_int_equal(stats.handoff.max, 12 - 7); /* c, who had not asked at 3 */
  assert_int_equal(stats.handoff.min, 15 - 13);
  stats_of(EVENT(1, "a", "granted") EVENT(2, "b", "acquire") EVENT(3, "a", "release") EVENT(4, "a", "granted")
               EVENT(6, "a", "release") EVENT(9, "b", "granted"));
  assert_int_equal(stats.handoff.max, 9 - 3);
}

/* Readers hold together: the last of them lets the writer in. */
TEST(a_handoff_begins_when_nobody_holds_it_any_more) {
  stats_of(EVENT(1, "a", "granted") EVENT(2, "b", "granted") EVENT(3, "w", "acquire") EVENT(4, "b", "release")
               EVENT(100, "a", "release") EVENT(101, "w", "granted"));
  assert_int_equal(stats.handoff.count, 1);
  assert_int_equal(stats.handoff.max, 1);
  stats_of(EVENT(1, "a", "granted") EVENT(3, "w", "acquire") EVENT(4, "a", "lost") EVENT(5, "w", "granted")
               EVENT(6, "b", "acquire") EVENT(7, "a", "release") EVENT(8, "w", "release") EVENT(10, "b", "granted"));
  assert_int_equal(stats.handoff.count, 1);
  assert_int_equal(stats.handoff.max, 2); /* the late release of what it had lost is none */
}

TEST(an_acquire_that_was_refused_is_a_wait_of_its_own) {
  stats_of(EVENT(0, "a", "acquire") EVENT(1, "a", "busy") EVENT(4, "a", "acquire") EVENT(7, "a", "busy")
               EVENT(8, "a", "acquire") EVENT(10, "a", "granted"));
  assert_int_equal(stats.busy, 2);
  assert_int_equal(stats.wait.count, 3);
  assert_int_equal(stats.wait.max, 3);
}

TEST(an_attempt_given_up_is_a_wait_of_its_own) {
  stats_of(EVENT(0, "a", "acquire") EVENT(5, "a", "timeout") EVENT(6, "a", "acquire") EVENT(7, "a", "unknown")
               EVENT(10, "a", "acquire") EVENT(12, "a", "granted"));
  assert_int_equal(stats.timeouts, 1);
  assert_int_equal(stats.unknowns, 1);
  assert_int_equal(stats.wait.count, 3);
  assert_int_equal(stats.wait.max, 5);
}

TEST(an_attempt_that_was_granted_late_has_one_wait) {
  stats_of(EVENT(0, "a", "acquire") EVENT(5, "a", "timeout") EVENT(9, "a", "granted"));
  assert_int_equal(stats.grants, 1);
  assert_int_equal(stats.wait.count, 1);
  assert_int_equal(stats.wait.max, 5);
}

TEST(a_wait_counts_from_when_the_attempt_was_due) {
  stats_of("{\"format\":2}\n"
           "{\"t\":5,\"c\":\"a\",\"k\":\"x\",\"e\":\"acquire\",\"due\":1}\n" EVENT(7, "a", "granted")
               EVENT(8, "a", "release")
           /* one that was on time, and one that was not scheduled */
           "{\"t\":10,\"c\":\"a\",\"k\":\"x\",\"e\":\"acquire\",\"due\":10}\n" EVENT(13, "a", "granted")
               EVENT(14, "a", "release") EVENT(20, "a", "acquire") EVENT(30, "a", "granted"));
  assert_int_equal(stats.wait.count, 3);
  assert_int_equal(stats.wait.min, 3);
  assert_int_equal(stats.wait.max, 10);
  assert_near(stats.wait.sum, 6 + 3 + 10);
  assert_int_equal(stats.service.count, 2);
  assert_near(stats.service.sum, 2 + 3);
}

/* It began to wait when it asked, whenever it should have: who let go before then kept nobody waiting. */
TEST(a_handoff_does_not_begin_before_the_waiter_asked) {
  stats_of("{\"format\":2}\n" EVENT(1, "b", "granted") EVENT(
      4, "b", "release") "{\"t\":5,\"c\":\"a\",\"k\":\"x\",\"e\":\"acquire\",\"due\":1}\n" EVENT(7, "a", "granted"));
  assert_int_equal(stats.handoff.count, 0);
  assert_int_equal(stats.wait.max, 6);
}

/* ---- hand-offs and re-grants ------------------------------------------------------------------------------------- */

TEST(a_grant_is_a_handoff_or_a_regrant_by_who_was_granted_the_key_before) {
  stats_of(EVENT(1, "a", "granted") EVENT(2, "a", "release") EVENT(3, "a", "granted") EVENT(3, "a", "release")
               EVENT(4, "a", "granted") EVENT(4, "a", "release") EVENT(5, "b", "granted") EVENT(6, "b", "release")
                   EVENT(7, "b", "granted") EVENT(8, "b", "release")
                       EVENT(9, "a", "granted") "{\"t\":10,\"c\":\"b\",\"k\":\"other\",\"e\":\"granted\"}\n");
  assert_int_equal(stats.grants, 7);
  assert_int_equal(stats.handoffs,
                   2); /* the first grant of a key is neither, that of another key says nothing of this one */
  assert_int_equal(stats.regrants, 3);
}

TEST(only_handoffs_in_the_window_count_by_whomever_held_before_it) {
  struct lb_counters counters = lb_counters_none();
  stats_of(EVENT(1, "a", "granted") EVENT(2, "a", "release") EVENT(3, "b", "granted") EVENT(4, "b", "release")
               PHASE(1000000000, "measure") EVENT(1000000003, "a", "granted") EVENT(1000000004, "a", "release")
                   EVENT(1000000005, "a", "granted") EVENT(1000000006, "a", "release") EVENT(1000000007, "a", "granted")
                       EVENT(1000000008, "a", "release") EVENT(1000000009, "b", "granted") PHASE(3000000000, "end")
                           EVENT(3000000001, "b", "release") EVENT(3000000002, "a", "granted"));
  assert_int_equal(stats.handoffs, 2);
  assert_int_equal(stats.regrants, 2);
  assert_near(stats.handoffs_per_s, 1);
  lb_stats_counters(&stats, &counters);
  assert_near(counters.handoffs_per_s, 1);
  assert_near(counters.regranted, 0.5);
}

TEST(a_history_without_a_grant_has_no_share_of_regrants) {
  struct lb_counters counters = lb_counters_none();
  stats_of(EVENT(1, "a", "acquire"));
  lb_stats_counters(&stats, &counters);
  assert_true(counters.regranted == 0);
}

/* ---- releases ---------------------------------------------------------------------------------------------------- */

TEST(a_release_lasts_from_its_request_to_its_confirmation) {
  stats_of(EVENT(1, "a", "granted") EVENT(10, "a", "release") EVENT(14, "a", "released") /* 4 */
           EVENT(20, "a", "released")                                                    /* of a debt */
           EVENT(21, "a", "granted") EVENT(22, "a", "lost") EVENT(23, "a", "released")   /* what a lost hold left */
           EVENT(30, "b", "granted") EVENT(31, "b", "release") EVENT(32, "b", "acquire")
               EVENT(33, "b", "released") /* given up */
           EVENT(40, "c", "granted")
               EVENT(41, "c", "release") "{\"t\":42,\"c\":\"c\",\"e\":\"crash\"}\n" EVENT(50, "c", "released"));
  assert_int_equal(stats.release.count, 1);
  assert_int_equal(stats.release.max, 4);
}

TEST(releases_that_began_in_the_window_count) {
  struct lb_counters counters = lb_counters_none();
  stats_of(EVENT(1, "a", "granted") EVENT(2, "a", "release") PHASE(5, "measure") EVENT(6, "a", "released")
               EVENT(7, "a", "granted") EVENT(8, "a", "release") PHASE(10, "end") EVENT(11, "a", "released")
                   EVENT(12, "a", "granted") EVENT(13, "a", "release") EVENT(15, "a", "released"));
  assert_int_equal(stats.release.count, 1);
  assert_int_equal(stats.release.max, 3);
  lb_stats_counters(&stats, &counters);
  assert_int_equal(counters.release_p50_ns, 3);
  assert_int_equal(counters.handoff_p50_ns, -1);
}

/* ---- times without a grant ------------------------------------------------------------------------------------- */

static int64_t no_grant_of(const char *text) {
  stats_of(text);
  int64_t ns = stats.no_grant_ns;
  assert_int_equal(stats.no_grant.until - stats.no_grant.since, ns < 0 ? 0 : ns);
  return ns;
}

TEST(nobody_waits_where_nobody_asked) {
  assert_int_equal(no_grant_of(EVENT(10, "a", "granted") EVENT(50, "a", "release")), -1);
}

TEST(the_longest_wait_for_any_grant_counts) {
  assert_int_equal(no_grant_of(EVENT(0, "a", "acquire") EVENT(7, "a", "granted") EVENT(9, "a", "release")
                                   EVENT(20, "b", "acquire") EVENT(25, "b", "granted")),
                   7);
  /* who waits on has waited since the grant of another one */
  assert_int_equal(
      no_grant_of(EVENT(0, "a", "acquire") EVENT(1, "b", "acquire") EVENT(7, "a", "granted") EVENT(17, "b", "granted")),
      10);
}

STATES(a_wait_goes_on_over_refusals_and_other_clients,
       assert_int_equal(no_grant_of(EVENT(0, "a", "acquire") EVENT(5, "a", "busy") EVENT(8, "a", "acquire")
                                        EVENT(9, "a", "timeout") EVENT(11, "b", "acquire") EVENT(30, "b", "granted")),
                        30));

TEST(what_is_never_granted_counts_until_nobody_asks_any_more) {
  assert_int_equal(no_grant_of(EVENT(0, "a", "acquire") EVENT(2, "a", "granted") EVENT(3, "a", "release")
                                   EVENT(10, "b", "acquire") EVENT(50, "b", "timeout") EVENT(90, "a", "release")),
                   40);
  /* b is still asking at the end */
  assert_int_equal(no_grant_of(EVENT(0, "a", "acquire") EVENT(2, "a", "granted") EVENT(10, "b", "acquire")
                                   EVENT(90, "a", "release")),
                   80);
}

/* Key y is wanted for 30, key x for 20 before it and, as long as y, after it. */
TEST(the_first_of_the_longest_is_told_with_its_key) {
  stats_of(EVENT(0, "a", "acquire") EVENT(
      20, "a", "granted") "{\"t\":40,\"c\":\"b\",\"k\":\"y\",\"e\":\"acquire\"}\n"
                          "{\"t\":70,\"c\":\"b\",\"k\":\"y\",\"e\":\"granted\"}\n" EVENT(100, "c", "acquire")
                              EVENT(130, "c", "granted"));
  assert_int_equal(stats.no_grant.key, 1);
  assert_int_equal(stats.no_grant.since, 40);
  assert_int_equal(stats.no_grant.until, 70);
}

STATES(only_the_part_in_the_window_counts,
       assert_int_equal(no_grant_of(EVENT(0, "a", "acquire") PHASE(100, "measure") EVENT(130, "a", "granted")
                                        EVENT(140, "a", "release") EVENT(150, "b", "acquire") PHASE(200, "end")
                                            EVENT(900, "b", "granted")),
                        50));

/* ---- the window -------------------------------------------------------------------------------------------------- */

/* The longest time for which one client was refused, by its name, in `who`; "a+": it was not granted again. */
static int64_t left_out(const char *text, const char *who) {
  struct lb_history h;
  struct lb_error err;
  if (parse_lines("test", text, &h, &err) != 0) fail_msg("%s", err.text);
  lb_stats_clear(&stats);
  lb_stats_history(&h, &stats);
  bool open = stats.left_out_open.ns == stats.left_out.ns;
  if (*who) {
    assert_int_equal(h.clients.name[stats.left_out.client][0], who[0]);
    assert_int_equal(open, who[1] == '+');
  }
  lb_history_clear(&h);
  return stats.left_out.ns;
}

TEST(who_is_refused_while_others_are_granted_is_left_out) {
#define OTHERS EVENT(1, "b", "granted") EVENT(2, "b", "release") EVENT(30, "b", "granted") EVENT(31, "b", "release")
  assert_int_equal(left_out(OTHERS EVENT(0, "a", "acquire") EVENT(10, "a", "busy") EVENT(11, "a", "acquire")
                                EVENT(40, "a", "busy"),
                            "a+"),
                   40);
  assert_int_equal(stats.never_granted, 1);
  assert_int_equal(stats.unanswered, 0);
  assert_int_equal(left_out(OTHERS EVENT(0, "a", "acquire") EVENT(10, "a", "busy") EVENT(11, "a", "acquire")
                                EVENT(50, "a", "granted"),
                            "a"),
                   50);
  assert_int_equal(stats.never_granted, 0);
  assert_int_equal(left_out(OTHERS EVENT(0, "a", "acquire") EVENT(50, "a", "granted"), "a"), 50);
  assert_int_equal(left_out(OTHERS EVENT(0, "a", "acquire") EVENT(1, "a", "busy") EVENT(40, "a", "acquire")
                                EVENT(41, "a", "busy"),
                            "a+"),
                   41); /* it was asked for between two tries */
  assert_int_equal(left_out(EVENT(0, "a", "acquire") EVENT(50, "a", "busy"), ""), -1); /* nobody was granted it */
  assert_int_equal(stats.longest.ns, 50);
}

/* When the window is over the others stop asking, so a grant then is no turn. */
TEST(who_is_granted_when_all_is_over_was_left_out) {
  assert_int_equal(left_out(PHASE(0, "measure") EVENT(1, "a", "acquire") EVENT(5, "b", "granted") EVENT(60, "a", "busy")
                                EVENT(61, "a", "acquire") PHASE(100, "end") EVENT(150, "a", "granted"),
                            "a+"),
                   59);
}

#define READS(t, c, e) "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"x\",\"e\":\"" e "\",\"shared\":true}\n"

TEST(a_reader_is_passed_over_by_writers_alone_and_a_writer_by_both) {
  assert_int_equal(left_out(EVENT(0, "a", "acquire") READS(5, "b", "granted") EVENT(50, "a", "busy"), "a+"), 50);
  assert_int_equal(left_out(READS(0, "a", "acquire") EVENT(5, "b", "granted") EVENT(50, "a", "busy"), "a+"), 50);
  assert_true(stats.left_out.shared);
  assert_int_equal(left_out(READS(0, "a", "acquire") READS(5, "b", "granted") EVENT(50, "a", "busy"), ""), -1);
  /* who reads on still waits to write, and its own reading does not pass it over */
  assert_int_equal(left_out(EVENT(0, "a", "acquire") EVENT(1, "a", "busy") READS(2, "a", "acquire")
                                READS(3, "a", "granted") EVENT(50, "a", "acquire") EVENT(51, "a", "busy"),
                            ""),
                   -1);
  assert_int_equal(stats.longest.ns, 51);
}

TEST(who_got_no_answer_was_not_refused) {
  assert_int_equal(left_out(OTHERS EVENT(0, "a", "acquire") EVENT(10, "a", "timeout") EVENT(11, "a", "acquire")
                                EVENT(40, "a", "unknown"),
                            ""),
                   -1);
  assert_int_equal(stats.unanswered, 1);
  assert_int_equal(stats.never_granted, 0);
}

TEST(only_what_is_granted_in_the_measured_window_counts) {
  stats_of(EVENT(0, "a", "acquire") EVENT(1, "a", "granted") EVENT(2, "b", "acquire") EVENT(3, "b", "busy")
               PHASE(1000000010, "measure") EVENT(1000000020, "a", "release") EVENT(1000000030, "b", "granted")
                   EVENT(1000000035, "c", "acquire") EVENT(1000000040, "c", "timeout") PHASE(3000000010, "end")
                       EVENT(3000000020, "b", "release") EVENT(3000000030, "c", "acquire")
                           EVENT(3000000040, "c", "granted") EVENT(3000000050, "c", "release"));
  assert_near(stats.seconds, 2);
  assert_int_equal(stats.grants, 1);
  assert_near(stats.grants_per_s, 0.5);
  assert_int_equal(stats.busy, 0);
  assert_int_equal(stats.timeouts, 1);
  assert_int_equal(stats.wait.count, 2);
  assert_int_equal(stats.wait.max, 1000000028); /* the wait began before the window */
  assert_int_equal(stats.hold.count, 1);
  assert_int_equal(stats.hold.max, 1999999990); /* the hold ended after it */
  assert_int_equal(stats.handoff.count, 1);
  assert_int_equal(stats.series_count, 2);
  assert_int_equal(stats.series[0].grants, 1);
  assert_int_equal(stats.series[1].grants, 0);
}

TEST(each_second_has_its_own_figures) {
  stats_of(PHASE(500, "measure") EVENT(600, "a", "acquire") EVENT(610, "a", "granted") EVENT(620, "a", "release")
               EVENT(700, "b", "acquire") EVENT(730, "b", "granted") EVENT(740, "b", "busy")
                   EVENT(2000000500, "a", "acquire") EVENT(2000000507, "a", "granted") EVENT(2000000600, "b", "unknown")
                       EVENT(2500000500, "b", "timeout"));
  assert_near(stats.seconds, 2.5);
  assert_int_equal(stats.series_count, 3);
  for (uint32_t i = 0; i < 3; i++) assert_int_equal(stats.series[i].second, i);
  assert_int_equal(stats.series[0].grants, 2);
  assert_int_equal(stats.series[0].busy, 1);
  assert_int_equal(stats.series[0].wait_p50_ns, 10);
  assert_int_equal(stats.series[0].wait_p99_ns, 30);
  assert_int_equal(stats.series[1].grants, 0);
  assert_int_equal(stats.series[1].wait_p99_ns, 0);
  assert_int_equal(stats.series[2].grants, 1);
  assert_int_equal(stats.series[2].wait_p50_ns, 7);
  assert_int_equal(stats.series[2].unknowns, 1);
  assert_int_equal(stats.series[2].timeouts, 1);
}

STATES(what_happens_at_the_very_end_is_in_the_last_second,
       stats_of(PHASE(0, "measure") EVENT(1000000000, "a", "granted")), assert_int_equal(stats.series_count, 1),
       assert_int_equal(stats.series[0].grants, 1), lb_stats_clear(&stats));
STATES(wild_times_do_not_ask_for_wild_memory,
       stats_of(EVENT(0, "a", "granted") EVENT(9223372036854775807, "b", "granted")),
       assert_int_equal(stats.series_count, 0), assert_int_equal(stats.grants, 2), lb_stats_clear(&stats));

TEST(fairness_counts_everyone_who_asked_even_if_only_before) {
  stats_of(EVENT(0, "starved", "acquire") EVENT(0, "gone", "acquire") EVENT(1, "gone", "timeout")
               EVENT(1, "dead", "acquire") "{\"t\":1,\"c\":\"dead\",\"e\":\"crash\"}\n" PHASE(2, "measure")
                   EVENT(3, "a", "acquire") EVENT(4, "a", "granted") EVENT(5, "a", "release") EVENT(6, "a", "granted")
                       EVENT(7, "a", "release") EVENT(8, "a", "granted") EVENT(9, "a", "release")
                           EVENT(10, "b", "granted"));
  assert_int_equal(stats.grants, 4);
  assert_int_equal(stats.client_min, 0);
  assert_int_equal(stats.client_max, 3);
  assert_near(stats.jain, 16.0 / (3 * (9 + 1)));
}

TEST(equal_shares_are_fair_and_one_for_all_is_one_nth) {
  stats_of(EVENT(1, "a", "granted") EVENT(2, "b", "granted") EVENT(3, "c", "granted"));
  assert_near(stats.jain, 1);
  stats_of(EVENT(1, "a", "granted") EVENT(2, "b", "acquire") EVENT(3, "c", "acquire") EVENT(3, "d", "acquire"));
  assert_near(stats.jain, 0.25);
  stats_of(EVENT(1, "a", "acquire"));
  assert_near(stats.jain, 0);
  assert_int_equal(stats.series_count, 1);
}

TEST(a_crash_forgets_what_the_client_was_doing) {
  stats_of(EVENT(1, "a", "acquire") EVENT(2, "a", "granted")
               EVENT(3, "b", "acquire") "{\"t\":4,\"c\":\"a\",\"e\":\"crash\"}\n"
                                        "{\"t\":5,\"c\":\"b\",\"e\":\"crash\"}\n" EVENT(6, "a", "release")
                                            EVENT(7, "b", "granted"));
  assert_int_equal(stats.hold.count, 0);
  assert_int_equal(stats.wait.count, 1);
  assert_int_equal(stats.wait.max, 1);
  assert_int_equal(stats.handoff.count, 0);
}
