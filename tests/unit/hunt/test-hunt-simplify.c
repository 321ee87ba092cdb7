/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * Simpler forms of a set, played by a rule instead of servers: what breaks is known, so it is known where the steps
 * have to end, and how long a fault has to last.
 */
#include <unistd.h>

#include "test.h"
#include "hunted_system.h"
#include "backends/registry.h"
#include "hunt/replay.h"
#include "hunt/simplify.h"

static struct lb_hunt_space space;
static struct lb_hunt_count *counts[LB_HUNT_WITHOUT_COUNT];
static unsigned plays; /* trials */
static unsigned plays_max;
/* What comes of a trial of a form: number `trial` of it. */
static enum lb_hunt_outcome (*rule)(const char *id, unsigned without, unsigned trial);

static int begin(void **state) {
  struct lb_hunt_system system;
  (void)state;
  lb_hunt_system_of(lb_protocol_find("redis-token"), lb_topology_find("sentinel"), &system);
  system.network = true;
  assert_int_equal(lb_hunt_space_make(&system, 2, NULL, &space), 0);
  for (int i = 0; i < LB_HUNT_WITHOUT_COUNT; i++) assert_non_null(counts[i] = calloc(space.count, sizeof *counts[i]));
  plays = 0;
  plays_max = 10000;
  return 0;
}

static int end(void **state) {
  (void)state;
  for (int i = 0; i < LB_HUNT_WITHOUT_COUNT; i++) free(counts[i]);
  lb_hunt_space_clear(&space);
  return 0;
}
EACH(begin, end);

static size_t find(const char *id) { return find_in(&space, id); }

static void play_one(const struct lb_hunt_request *request, size_t timeline) {
  struct lb_hunt_count *c = &counts[request->without][timeline];
  char id[LB_HUNT_ID_MAX];
  lb_hunt_timeline_id(&space.timeline[timeline], id);
  for (int t = 0; t < request->repeats; t++, plays++)
    c->of[rule(id, request->without, lb_hunt_count_decided(c) + c->of[LB_HUNT_UNDECIDED])]++;
}

static int play(void *of, const struct lb_hunt_request request[], size_t count) {
  (void)of;
  if (plays >= plays_max) return 1;
  for (size_t i = 0; i < count; i++)
    for (size_t j = 0; j < request[i].count; j++) play_one(&request[i], request[i].timeline[j]);
  return 0;
}

static const struct lb_hunt_count *seen(void *of, const struct lb_hunt_form *form) {
  (void)of;
  return &counts[form->without][form->timeline];
}

/* The simplest form of this set, as the only one or beside another one that is minimal, too. */
static struct lb_hunt_form simplify(const char *id, enum lb_hunt_outcome class, const char *other) {
  struct lb_hunt_player player = {play, seen, NULL, 1};
  struct lb_hunt_set set[2] = {
      {.timeline = find(id), .class = class, .standing = LB_HUNT_MINIMAL, .simplest = {find(id), 0}},
      {.timeline = other ? find(other) : 0, .class = class, .standing = LB_HUNT_MINIMAL}};
  struct lb_hunt_sets sets = {set, other ? 2 : 1};
  set[1].simplest.timeline = set[1].timeline;
  assert_in_range(lb_hunt_simplify(&space, &sets, &player), 0, 1);
  return set[0].simplest;
}

static void expect(struct lb_hunt_form form, const char *id, unsigned without) {
  char found[LB_HUNT_ID_MAX];
  lb_hunt_timeline_id(&space.timeline[form.timeline], found);
  assert_string_equal(found, id);
  assert_int_equal(form.without, without);
}

static enum lb_hunt_outcome always(const char *id, unsigned without, unsigned trial) {
  return (void)id, (void)without, (void)trial, LB_HUNT_LEASE;
}
static enum lb_hunt_outcome never(const char *id, unsigned without, unsigned trial) {
  return (void)id, (void)without, (void)trial, LB_HUNT_SAFE;
}
static enum lb_hunt_outcome with_client_3(const char *id, unsigned without, unsigned trial) {
  return (void)id, (void)trial, without & LB_HUNT_WITHOUT_CLIENT_3 ? LB_HUNT_SAFE : LB_HUNT_LEASE;
}
static enum lb_hunt_outcome of_the_primary(const char *id, unsigned without, unsigned trial) {
  return (void)without, (void)trial, strstr(id, "-P@") ? LB_HUNT_LEASE : LB_HUNT_SAFE;
}
static enum lb_hunt_outcome after_a_takeover(const char *id, unsigned without, unsigned trial) {
  return (void)without, (void)trial, strstr(id, "-P@") && !strstr(id, "-mid") ? LB_HUNT_LEASE : LB_HUNT_SAFE;
}
static enum lb_hunt_outcome nearly(const char *id, unsigned without, unsigned trial) {
  return (void)id, (void)without, trial == LB_HUNT_SURE - 1 ? LB_HUNT_SAFE : LB_HUNT_LEASE;
}
static enum lb_hunt_outcome late(const char *id, unsigned without, unsigned trial) {
  return (void)id, (void)without, (void)trial, LB_HUNT_EXPIRED;
}
static enum lb_hunt_outcome nothing(const char *id, unsigned without, unsigned trial) {
  return (void)id, (void)without, (void)trial, LB_HUNT_UNDECIDED;
}
static enum lb_hunt_outcome at_times_nothing(const char *id, unsigned without, unsigned trial) {
  return (void)id, (void)without, trial % 2 ? LB_HUNT_LEASE : LB_HUNT_UNDECIDED;
}

TEST(what_always_breaks_loses_all_it_can) {
  rule = always;
  expect(simplify("S1.isolate-P@B-gone", LB_HUNT_LEASE, NULL), "S1.isolate-f@B-mid",
         LB_HUNT_WITHOUT_CLIENT_3 | LB_HUNT_WITHOUT_RENEWAL);
  expect(simplify("L1.restart-all@H", LB_HUNT_LEASE, NULL), "L1.restart-f@H",
         LB_HUNT_WITHOUT_CLIENT_3); /* never renewed */
}

TEST(what_does_not_break_simpler_stays_and_costs_a_trial_a_step) {
  struct lb_hunt_form form[LB_HUNT_SIMPLER_MAX], start = {find("S1.isolate-P@B-gone"), 0};
  rule = never;
  expect(simplify("S1.isolate-P@B-gone", LB_HUNT_LEASE, NULL), "S1.isolate-P@B-gone", 0);
  assert_int_equal(plays, lb_hunt_simplify_forms(&space, &start, LB_HUNT_LEASE, form));
}

STATES(what_a_set_needs_is_kept, rule = with_client_3,
       expect(simplify("S1.kill-P@H-gone", LB_HUNT_LEASE, NULL), "S1.kill-f@H-back", LB_HUNT_WITHOUT_RENEWAL));

TEST(of_hosts_and_undos_those_that_break_are_taken) {
  rule = of_the_primary;
  expect(simplify("L1.restart-all@H", LB_HUNT_LEASE, NULL), "L1.restart-P@H", LB_HUNT_WITHOUT_CLIENT_3);
  rule = after_a_takeover;
  for (int i = 0; i < LB_HUNT_WITHOUT_COUNT; i++) memset(counts[i], 0, space.count * sizeof *counts[i]);
  expect(simplify("L1.isolate-P@H-gone", LB_HUNT_LEASE, NULL), "L1.isolate-P@H-back", LB_HUNT_WITHOUT_CLIENT_3);
}

STATES(four_of_five_is_not_enough, rule = nearly,
       expect(simplify("L1.restart-all@H", LB_HUNT_LEASE, NULL), "L1.restart-all@H", 0));

TEST(another_class_is_no_simpler_form) {
  rule = late;
  expect(simplify("S1.kill-P@H-gone", LB_HUNT_LEASE, NULL), "S1.kill-P@H-gone", 0);
  for (int i = 0; i < LB_HUNT_WITHOUT_COUNT; i++) memset(counts[i], 0, space.count * sizeof *counts[i]);
  expect(simplify("S1.kill-P@H-gone", LB_HUNT_EXPIRED, NULL), "S1.kill-f@H-back",
         LB_HUNT_WITHOUT_CLIENT_3); /* without renewal every lease ends */
}

STATES(what_cannot_be_decided_is_no_simpler_and_ends, rule = nothing,
       expect(simplify("L1.restart-all@H", LB_HUNT_LEASE, NULL), "L1.restart-all@H", 0));
STATES(an_undecided_trial_is_asked_again, rule = at_times_nothing,
       expect(simplify("L1.restart-P@H", LB_HUNT_LEASE, NULL), "L1.restart-f@H", LB_HUNT_WITHOUT_CLIENT_3));

/* {restart all, kill c2} with fewer hosts would have {restart f} in it. */
STATES(a_form_with_a_smaller_set_in_it_is_not_minimal, rule = always,
       expect(simplify("L2.restart-all@H+kill-c2@H", LB_HUNT_LEASE, "L1.restart-f@H"), "L2.restart-P@H+kill-c2@H",
              LB_HUNT_WITHOUT_CLIENT_3));
STATES(it_stops_when_the_time_is_over, rule = always, plays_max = 1,
       expect(simplify("L1.restart-all@H", LB_HUNT_LEASE, NULL), "L1.restart-all@H", 0), assert_int_equal(plays, 1));

/* ---- replays ----------------------------------------------------------------------------------------------------- */

static struct lb_hunt_journal journal;
static int first = 1;

/* Replays this set, found and simplified to these forms; after it the set is as the hunt publishes it. */
static struct lb_hunt_set replay(const char *found, const char *simplest, unsigned without, int *ret_refuted) {
  struct lb_hunt_player player = {play, seen, NULL, first};
  struct lb_hunt_set set = {.timeline = find(found),
                            .class = LB_HUNT_LEASE,
                            .standing = LB_HUNT_MINIMAL,
                            .broke = 6,
                            .decided = 6,
                            .simplest = {find(simplest), without}};
  struct lb_hunt_sets sets = {&set, 1};
  journal.space = &space;
  assert_non_null(journal.replay = calloc(space.count, sizeof *journal.replay));
  *ret_refuted = lb_hunt_replay(&journal, &sets, &player);
  return set;
}
static void forget(void) {
  free(journal.replay);
  for (int i = 0; i < LB_HUNT_WITHOUT_COUNT; i++) memset(counts[i], 0, space.count * sizeof *counts[i]);
}

static enum lb_hunt_outcome nine_of_ten(const char *id, unsigned without, unsigned trial) {
  return (void)id, (void)without, trial == LB_HUNT_REPLAYS_IN_TIME - 1 ? LB_HUNT_EXPIRED : LB_HUNT_LEASE;
}
static enum lb_hunt_outcome whole_only(const char *id, unsigned without, unsigned trial) {
  return (void)id, without ? nine_of_ten(id, without, trial) : LB_HUNT_LEASE;
}

TEST(what_agrees_ten_times_is_minimal) {
  int refuted;
  rule = always;
  struct lb_hunt_set set = replay("L1.restart-P@H", "L1.restart-P@H", LB_HUNT_WITHOUT_CLIENT_3, &refuted);
  assert_int_equal(set.standing, LB_HUNT_MINIMAL);
  assert_int_equal(set.agreed, LB_HUNT_REPLAYS_IN_TIME);
  assert_int_equal(counts[LB_HUNT_WITHOUT_CLIENT_3][set.timeline].of[LB_HUNT_LEASE],
                   LB_HUNT_REPLAYS_IN_TIME); /* in the form that is published */
  assert_int_equal(refuted, 0);
  assert_int_equal(lb_hunt_replay_count(&journal).agreed, LB_HUNT_REPLAYS_IN_TIME);
  forget();
}

TEST(without_a_budget_it_has_to_agree_twice_as_often) {
  int refuted;
  rule = always;
  first = LB_HUNT_SURE;
  struct lb_hunt_set set = replay("L1.restart-P@H", "L1.restart-P@H", 0, &refuted);
  first = 1;
  assert_int_equal(set.standing, LB_HUNT_MINIMAL);
  assert_int_equal(set.agreed, LB_HUNT_REPLAYS);
  assert_int_equal(refuted, 0);
  forget();
}

TEST(another_class_once_is_sometimes_and_never_is_gone) {
  int refuted;
  rule = nine_of_ten;
  struct lb_hunt_set set = replay("L1.restart-P@H", "L1.restart-P@H", 0, &refuted);
  assert_int_equal(refuted, 1);
  assert_int_equal(set.standing, LB_HUNT_SOMETIMES);
  assert_int_equal(set.agreed, LB_HUNT_REPLAYS_IN_TIME - 1);
  assert_true(journal.replay[set.timeline].refuted);
  forget();
  rule = late;
  replay("L1.restart-P@H", "L1.restart-P@H", 0, &refuted);
  assert_int_equal(lb_hunt_replay_count(&journal).gone, 1);
  forget();
}

TEST(a_simpler_form_that_fails_is_given_up) {
  int refuted;
  rule = whole_only;
  struct lb_hunt_set set = replay("S1.restart-P@H", "S1.restart-P@H", LB_HUNT_WITHOUT_CLIENT_3, &refuted);
  assert_int_equal(refuted, 0);
  assert_int_equal(set.standing, LB_HUNT_MINIMAL);
  expect(set.simplest, "S1.restart-P@H", 0);
  forget();
}

TEST(without_time_or_decided_trials_it_is_not_replayed) {
  int refuted;
  rule = always;
  plays_max = 0;
  assert_int_equal(replay("L1.restart-P@H", "L1.restart-P@H", 0, &refuted).standing, LB_HUNT_NOT_REPLAYED);
  forget();
  plays_max = 10000;
  rule = nothing;
  assert_int_equal(replay("L1.restart-P@H", "L1.restart-P@H", 0, &refuted).standing, LB_HUNT_NOT_REPLAYED);
  assert_int_equal(refuted, 0);
  forget();
}
