/* test: compute, table */
/* SPDX-License-Identifier: MIT
 *
 * Histories whose holds end with their lease: those of public reports, the very moments at which a lease ends, and many
 * random ones, which must be judged as by the brute-force checker. The seed of a failure is printed; run the test with
 * it as its argument to see only that one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/rng.h"
#include "brute.h"
#include "check/check.h"
#include "history/history_lease.h"
#include "lines.h"

enum { RANDOM_HISTORIES = 200000 };
static uint64_t first_seed = 1, last_seed = RANDOM_HISTORIES;

static enum lb_ruled ruling(const char *text) {
  struct lb_history h;
  struct lb_check check;
  struct lb_error err;
  if (parse_lines("test", text, &h, &err) != 0) fail_msg("%s", err.text);
  lb_check_history(&h, &check);
  enum lb_ruled verdict = lb_check_rule(&check, false).verdict;
  assert_int_equal(check.double_holds, check.within_lease);
  lb_check_clear(&check);
  lb_history_clear(&h);
  return verdict;
}

#define LEASES "{\"t\":0,\"e\":\"leases\",\"ms\":3}\n" /* 3 ms are 3000000 */
#define EVENT(t, c, e) "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"k\",\"e\":\"" e "\"}\n"
#define SHARED(t, c, e) "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"k\",\"e\":\"" e "\",\"shared\":true}\n"
#define UNTIL(t, c, e, until) "{\"t\":" #t ",\"c\":\"" c "\",\"k\":\"k\",\"e\":\"" e "\",\"until\":" #until "}\n"
#define FIRST LEASES EVENT(1000000, "a", "acquire") EVENT(1010000, "a", "granted")
#define SAFE(text) assert_int_equal(ruling(text), LB_RULED_SAFE)
#define VIOLATED(text) assert_int_equal(ruling(text), LB_RULED_VIOLATED)

/* AtlasDB, pull request 1473. */
static void a_hold_ends_with_its_lease(void **state) {
  (void)state;
  SAFE(FIRST EVENT(6000000, "b", "acquire") EVENT(6010000, "b", "granted"));
  VIOLATED(FIRST EVENT(3000000, "b", "acquire") EVENT(3999999, "b", "granted"));
  SAFE(FIRST EVENT(3000000, "b", "acquire") EVENT(4000000, "b", "granted"));
  VIOLATED(EVENT(1010000, "a", "granted") EVENT(6010000, "b", "granted")); /* without `leases` */
  VIOLATED("{\"t\":0,\"e\":\"leases\"}\n" EVENT(1, "a", "granted")
               EVENT(9000000, "b", "granted")); /* without a length */
}

static void a_renewal_after_the_next_grant_is_a_violation(void **state) {
  (void)state;
#define NEXT FIRST EVENT(6000000, "b", "acquire") EVENT(6010000, "b", "granted")
  VIOLATED(NEXT EVENT(6500000, "a", "renew") EVENT(6510000, "a", "renewed"));
  VIOLATED(NEXT EVENT(6510000, "a", "renewed")); /* who does not say when it began */
  VIOLATED(NEXT EVENT(6100000, "b", "release") EVENT(6500000, "a", "renew") EVENT(6510000, "a", "renewed"));
  SAFE(NEXT EVENT(6005000, "a", "renew") EVENT(6510000, "a", "renewed"));
  SAFE(NEXT EVENT(6500000, "a",
                  "renew") "{\"t\":6510000,\"c\":\"a\",\"k\":\"k\",\"e\":\"not-renewed\",\"check\":\"told-no\"}\n");
  SAFE(NEXT EVENT(6020000, "a", "release") EVENT(6500000, "a", "renewed"));
  SAFE(NEXT EVENT(6020000, "a", "lost"));
}

static void a_renewal_makes_the_lease_last(void **state) {
  (void)state;
#define RENEWS FIRST EVENT(5000000, "a", "renew") EVENT(5010000, "a", "renewed")
  SAFE(RENEWS EVENT(8000000, "b", "granted"));
  VIOLATED(RENEWS EVENT(7999999, "b", "granted"));
  SAFE(RENEWS EVENT(6000000, "a", "release") EVENT(6500000, "b", "granted"));
  VIOLATED(FIRST EVENT(4500000, "b", "granted") EVENT(5000000, "a", "renew") EVENT(5010000, "a", "renewed"));
  SAFE(FIRST UNTIL(1500000, "a", "renewed", 2000000) EVENT(2000000, "b", "granted")); /* the latest word counts */
  SAFE(FIRST EVENT(2000000, "a", "crash") EVENT(2500000, "b", "granted"));
}

/* What is known of who waited: it was granted the lock after the one before it. */
static void a_lease_counts_from_the_end_of_the_hold_before(void **state) {
  (void)state;
#define WAITS FIRST EVENT(1500000, "b", "acquire") EVENT(3500000, "a", "release") EVENT(5500000, "b", "granted")
  VIOLATED(WAITS EVENT(6000000, "c", "granted"));
  SAFE(WAITS EVENT(6500000, "c", "granted"));
  SAFE(FIRST EVENT(1500000, "b", "acquire") EVENT(2000000, "a", "lost") EVENT(3500000, "b", "granted")
           EVENT(5000000, "c", "granted"));
  VIOLATED(FIRST EVENT(1500000, "b", "acquire") EVENT(2000000, "a", "crash") EVENT(5000000, "b", "granted")
               EVENT(6000000, "c", "granted"));
  SAFE(FIRST EVENT(4900000, "b", "acquire") EVENT(5000000, "a", "granted") EVENT(5500000, "a", "release")
           EVENT(5600000, "b", "granted") EVENT(8550000, "c", "granted"));
}

/* A question that was answered is over: a grant that comes without one counts from when it came. */
static void who_was_refused_asks_no_more(void **state) {
  (void)state;
#define REFUSED LEASES EVENT(1000000, "a", "acquire") EVENT(1500000, "a", "busy") EVENT(5000000, "a", "granted")
  VIOLATED(REFUSED EVENT(7999999, "b", "granted"));
  SAFE(REFUSED EVENT(8000000, "b", "granted"));
}

static void readers_and_several_permits(void **state) {
  (void)state;
#define READER LEASES SHARED(1000000, "a", "granted") SHARED(1500000, "b", "granted")
  SAFE(READER EVENT(4500000, "c", "granted"));
  VIOLATED(READER EVENT(4499999, "c", "granted"));
  SAFE(READER SHARED(3000000, "c", "granted") EVENT(5000000, "a", "renewed") EVENT(8000000, "d", "granted"));
  VIOLATED(READER SHARED(3000000, "c", "granted") EVENT(5000000, "a", "renewed") EVENT(7999999, "d", "granted"));
#define TWO LEASES "{\"t\":0,\"e\":\"permits\",\"total\":2}\n" EVENT(1000000, "a", "granted")
  SAFE(TWO EVENT(1500000, "b", "granted") EVENT(4000000, "c", "granted"));
  VIOLATED(TWO EVENT(1500000, "b", "granted") EVENT(3999999, "c", "granted"));
  VIOLATED(TWO EVENT(3500000, "a", "renew") EVENT(3600000, "b", "granted") EVENT(3700000, "a", "renewed")
               EVENT(5000000, "c", "granted")); /* who of them came first is all the same */
}

static void each_promise_gets_its_end(void **state) {
  (void)state;
  struct lb_history h;
  struct lb_error err;
  SAFE(LEASES UNTIL(5000000, "a", "granted", 4000000) EVENT(6000000, "b", "granted")); /* it was over when it came */
  /* the end of the first lease is all that a renewal shows which another's grant has crossed */
  assert_int_equal(parse_lines("test",
                               FIRST EVENT(4005000, "a", "renew") EVENT(4010000, "b", "granted")
                                   EVENT(4020000, "a", "renewed"),
                               &h, &err),
                   0);
  for (size_t i = 0; i < h.count; i++)
    if (h.events[i].kind == LB_EV_RENEWED)
      assert_true(h.events[i].flags & LB_EVF_UNTIL && h.events[i].until == 4005000);
  lb_history_clear(&h);
  assert_int_equal(parse_lines("test", FIRST EVENT(2000000, "a", "renewed"), &h, &err), 0);
  assert_true(h.events[2].flags & LB_EVF_UNTIL && h.events[2].until == 4000000);
  assert_true(h.events[3].flags & LB_EVF_UNTIL && h.events[3].until == 5000000);
  lb_history_clear(&h);
  assert_int_equal(
      parse_lines("test", "{\"t\":0,\"e\":\"leases\",\"ms\":9223372036854775807}\n" EVENT(5, "a", "granted"), &h, &err),
      0);
  assert_true(h.events[1].until == INT64_MAX);
  lb_history_clear(&h);
}

/* ---- random ones ------------------------------------------------------------------------------------------------- */

static struct lb_event random_event(struct lb_rng *rng, struct lb_history *h, bool readers) {
  static const uint16_t kinds[] = {LB_EV_GRANTED, LB_EV_GRANTED, LB_EV_GRANTED, LB_EV_RENEW,
                                   LB_EV_RENEW,   LB_EV_RENEWED, LB_EV_RENEWED, LB_EV_RENEWED,
                                   LB_EV_RELEASE, LB_EV_LOST,    LB_EV_CRASH,   LB_EV_ACQUIRE};
  static const char *const clients[] = {"a", "b", "c"};
  struct lb_event e = {.t = 1 + lb_rng_below(rng, 14), .s = lb_rng_below(rng, 3), .fact = LB_NO_NAME};
  size_t client = lb_rng_below(rng, 3);
  e.kind = kinds[lb_rng_below(rng, sizeof kinds / sizeof *kinds)];
  e.client = lb_names_add(&h->clients, clients[client]);
  e.key = lb_names_add(&h->keys, lb_rng_below(rng, 6) ? "x" : "y");
  if (e.kind == LB_EV_CRASH) e.key = LB_NO_NAME;
  if (e.kind == LB_EV_GRANTED && readers && client) e.flags |= LB_EVF_SHARED;
  if (e.kind == LB_EV_GRANTED || e.kind == LB_EV_RENEWED) e.flags |= LB_EVF_UNTIL, e.until = e.t + lb_rng_below(rng, 5);
  return e;
}

static void random_histories_are_judged_as_by_brute_force(void **state) {
  (void)state;
  uint64_t crossed = 0, renewed = 0;
  for (uint64_t seed = first_seed; seed <= last_seed; seed++) {
    struct lb_rng rng = lb_rng_fork(seed, 1, 0);
    struct lb_history h = {0};
    struct lb_check check;
    for (uint64_t n = 2 + lb_rng_below(&rng, 9); n > 0; n--) {
      struct lb_event event = random_event(&rng, &h, seed % 3 == 0);
      lb_history_add(&h, &event);
    }
    lb_history_sort(&h);
    bool cross = brute_leases_cross(&h);
    lb_history_lease_add(&h, 0);
    lb_history_lease_write_out(&h);
    lb_check_history(&h, &check);
    size_t count = h.count;
    lb_history_lease_write_out(&h);
    if (cross != (check.double_holds > 0) || check.within_lease != check.double_holds || h.count != count) {
      char line[300];
      for (size_t i = 0; i < h.count; i++)
        lb_event_format_json(&h, &h.events[i], line, sizeof line), print_message("%s\n", line);
      fail_msg(
          "seed %llu: brute force says %d, the checker %llu double holds, %llu within a lease; %zu events, then %zu",
          (unsigned long long)seed, cross, (unsigned long long)check.double_holds,
          (unsigned long long)check.within_lease, count, h.count);
    }
    crossed += cross, renewed += cross && check.renewals > 0;
    lb_check_clear(&check);
    lb_history_clear(&h);
  }
  if (first_seed != last_seed) assert_true(crossed > 10000 && crossed < RANDOM_HISTORIES - 5000 && renewed > 5000);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_hold_ends_with_its_lease),
      cmocka_unit_test(a_renewal_after_the_next_grant_is_a_violation),
      cmocka_unit_test(a_renewal_makes_the_lease_last),
      cmocka_unit_test(a_lease_counts_from_the_end_of_the_hold_before),
      cmocka_unit_test(who_was_refused_asks_no_more),
      cmocka_unit_test(readers_and_several_permits),
      cmocka_unit_test(each_promise_gets_its_end),
      cmocka_unit_test(random_histories_are_judged_as_by_brute_force),
  };
  if (argc > 1) first_seed = last_seed = strtoull(argv[1], NULL, 10);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
