/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * The minimal sets of a hunt, from journals that are filled in by a rule: who breaks is known, so it is known what has
 * to be found.
 */
#include <unistd.h>

#include "hunt/sample.h"
#include "test.h"
#include "backends/registry.h"
#include "hunt/search.h"
#include "network/sandbox.h"
#include "skip.h"

struct rule { /* a timeline breaks if it has all of these faults, and not the one that hides them */
  const char *faults[2], *hidden_by;
  const char *enough; /* instead of the second one */
  unsigned of_ten;    /* how many of ten trials break; 10 = all */
};

static struct lb_hunt_space space;
static struct lb_hunt_journal journal;
static char folder[] = "/tmp/test-hunt-XXXXXX";
static char path[200];

static int begin_with(const char *protocol, const char *topology) {
  struct lb_hunt_system system;
  struct lb_hunt_switches none = {0};
  struct lb_error err;
  lb_hunt_system_of(lb_protocol_find(protocol), lb_topology_find(topology), &system);
  snprintf(path, sizeof path, "%s/trials.csv", folder);
  unlink(path);
  assert_int_equal(lb_hunt_space_make(&system, 2, &none, &space), 0);
  assert_int_equal(lb_hunt_journal_open(&journal, &space, path, "test", &err), 0);
  return 0;
}
static int begin(void **state) { return (void)state, begin_with("redis-token", "redis"); }
static int begin_five(void **state) { return (void)state, begin_with("redlock", "redis-x5"); }

static int end(void **state) {
  (void)state;
  lb_hunt_journal_close(&journal);
  lb_hunt_space_clear(&space);
  unlink(path);
  return 0;
}
EACH(begin, end);

static bool has(const struct lb_hunt_timeline *t, const char *fault) {
  char name[40];
  for (size_t i = 0; i < t->fault_count; i++) {
    lb_hunt_fault_format(t->fault[i], name, sizeof name);
    if (strcmp(name, fault) == 0) return true;
  }
  return false;
}

static bool breaks(const struct rule *rule, const struct lb_hunt_timeline *t, unsigned trial) {
  for (int i = 0; i < 2; i++)
    if (rule->faults[i] && !has(t, rule->faults[i]) && !(i == 1 && rule->enough && has(t, rule->enough))) return false;
  return !(rule->hidden_by && has(t, rule->hidden_by)) && trial % 10 < rule->of_ten;
}

static void add(size_t timeline, const struct rule *rule, unsigned trials) {
  for (unsigned i = 0; i < trials; i++)
    lb_hunt_journal_add(&journal, timeline, LB_GUARD_NONE,
                        breaks(rule, &space.timeline[timeline], i) ? LB_HUNT_LEASE : LB_HUNT_SAFE, "");
}

static void look_at_all(const struct rule *rule, unsigned trials) {
  for (size_t i = 0; i < space.count; i++)
    if (space.timeline[i].pruned == LB_HUNT_RUN) add(i, rule, trials);
}

/* As a hunt does it: everything once, then what is wanting until nothing is. */
static struct lb_hunt_sets hunt(const struct rule *rule) {
  struct lb_hunt_sets sets;
  size_t *wanting;
  size_t count;
  look_at_all(rule, 1);
  for (size_t k = 0; k <= 2; k++) {
    lb_hunt_sets_find(&journal, &sets);
    while ((count = lb_hunt_sets_wanting(&journal, &sets, k, false, &wanting)) > 0) {
      for (size_t i = 0; i < count; i++) add(wanting[i], rule, 10);
      free(wanting);
      lb_hunt_sets_clear(&sets);
      lb_hunt_sets_find(&journal, &sets);
    }
    free(wanting);
    if (k < 2) lb_hunt_sets_clear(&sets);
  }
  return sets;
}

/* Two faults of the space that stand together in one timeline that is run: the first pair of it. */
static const struct lb_hunt_timeline *some_pair(size_t number) {
  for (size_t i = 0; i < space.count; i++)
    if (space.timeline[i].pruned == LB_HUNT_RUN && space.timeline[i].fault_count == 2 && number-- == 0)
      return &space.timeline[i];
  fail_msg("there are no pairs");
  return NULL;
}

TEST(a_single_fault_is_found_and_nothing_else) {
  struct lb_hunt_sets sets = hunt(&(struct rule){.faults = {"restart-P@H"}, .of_ten = 10});
  for (size_t i = 0; i < sets.count; i++) {
    assert_int_equal(sets.set[i].standing, LB_HUNT_MINIMAL);
    assert_int_equal(space.timeline[sets.set[i].timeline].fault_count, 1);
    assert_true(has(&space.timeline[sets.set[i].timeline], "restart-P@H"));
  }
  assert_true(sets.count >= 1);
  for (size_t i = 0; i < space.count; i++)
    if (space.timeline[i].fault_count == 2 && has(&space.timeline[i], "restart-P@H") &&
        space.timeline[i].regime == space.timeline[sets.set[0].timeline].regime)
      assert_true(lb_hunt_sets_contained(&sets, &space, i, LB_HUNT_LEASE));
  lb_hunt_sets_clear(&sets);
}

TEST(a_pair_is_found_whole_and_its_halves_are_not) {
  char a[40], b[40];
  const struct lb_hunt_timeline *pair = some_pair(5);
  lb_hunt_fault_format(pair->fault[0], a, sizeof a);
  lb_hunt_fault_format(pair->fault[1], b, sizeof b);
  struct lb_hunt_sets sets = hunt(&(struct rule){.faults = {a, b}, .of_ten = 10});
  assert_true(sets.count >= 1);
  for (size_t i = 0; i < sets.count; i++) {
    const struct lb_hunt_timeline *found = &space.timeline[sets.set[i].timeline];
    assert_int_equal(sets.set[i].standing, LB_HUNT_MINIMAL);
    assert_true(found->fault_count == 2 && has(found, a) && has(found, b));
  }
  lb_hunt_sets_clear(&sets);
}

TEST(what_breaks_now_and_then_is_no_minimal_set) {
  struct lb_hunt_sets sets = hunt(&(struct rule){.faults = {"restart-P@H"}, .of_ten = 3});
  assert_true(sets.count >= 1);
  for (size_t i = 0; i < sets.count; i++) assert_int_equal(sets.set[i].standing, LB_HUNT_SOMETIMES);
  lb_hunt_sets_clear(&sets);
}

/* A pair that breaks every time, and one of its parts `broke` times of five. The sets that follow from it. */
static struct lb_hunt_sets find_beside_part(unsigned broke, size_t *ret_pair) {
  const struct lb_hunt_timeline *pair = some_pair(0);
  struct lb_hunt_timeline part[LB_HUNT_SUBSETS_MAX];
  struct lb_hunt_sets sets;
  size_t parts = lb_hunt_space_subsets(&space, pair, part);
  *ret_pair = (size_t)(pair - space.timeline);
  for (unsigned n = 0; n < LB_HUNT_SURE; n++) {
    lb_hunt_journal_add(&journal, *ret_pair, LB_GUARD_NONE, LB_HUNT_LEASE, "");
    for (size_t i = 0; i < parts; i++) {
      ptrdiff_t at = lb_hunt_space_find(&space, &part[i]);
      bool breaks_now = part[i].fault_count == 1 && i == parts - 1 && n < broke;
      if (at >= 0)
        lb_hunt_journal_add(&journal, (size_t)at, LB_GUARD_NONE, breaks_now ? LB_HUNT_LEASE : LB_HUNT_SAFE, "");
    }
  }
  lb_hunt_sets_find(&journal, &sets);
  return sets;
}

TEST(a_part_that_seldom_breaks_hides_no_minimal_set) {
  size_t pair;
  struct lb_hunt_sets sets = find_beside_part(2, &pair);
  assert_int_equal(sets.count, 2);
  assert_int_equal(space.timeline[sets.set[0].timeline].fault_count, 1);
  assert_int_equal(sets.set[0].standing, LB_HUNT_SOMETIMES);
  assert_int_equal(sets.set[1].timeline, pair);
  assert_int_equal(sets.set[1].standing, LB_HUNT_MINIMAL);
  lb_hunt_sets_clear(&sets);
}

TEST(a_set_says_nothing_beside_a_part_that_mostly_breaks) {
  size_t pair;
  struct lb_hunt_sets sets = find_beside_part(3, &pair);
  assert_int_equal(sets.count, 1);
  assert_int_equal(space.timeline[sets.set[0].timeline].fault_count, 1);
  assert_int_equal(sets.set[0].standing, LB_HUNT_SOMETIMES);
  lb_hunt_sets_clear(&sets);
}

/* The first fault breaks it, the second hides that: it breaks with one, and is not asked with both. */
TEST(a_fault_that_hides_another_takes_nothing_away) {
  char a[40], b[40];
  const struct lb_hunt_timeline *pair = some_pair(0);
  lb_hunt_fault_format(pair->fault[0], a, sizeof a);
  lb_hunt_fault_format(pair->fault[1], b, sizeof b);
  struct lb_hunt_sets sets = hunt(&(struct rule){.faults = {a}, .hidden_by = b, .of_ten = 10});
  bool found = false;
  for (size_t i = 0; i < sets.count; i++)
    found |= sets.set[i].standing == LB_HUNT_MINIMAL && space.timeline[sets.set[i].timeline].fault_count == 1 &&
             has(&space.timeline[sets.set[i].timeline], a);
  assert_true(found);
  lb_hunt_sets_clear(&sets);
}

TEST(a_lock_that_breaks_by_itself_breaks_without_faults) {
  struct lb_hunt_sets sets = hunt(&(struct rule){.of_ten = 10});
  for (size_t i = 0; i < sets.count; i++) assert_int_equal(space.timeline[sets.set[i].timeline].fault_count, 0);
  assert_true(sets.count >= 1);
  lb_hunt_sets_clear(&sets);
}

TEST(a_set_of_which_a_part_is_undecided_stays_open) {
  const struct lb_hunt_timeline *pair = some_pair(0);
  size_t at = (size_t)(pair - space.timeline);
  struct lb_hunt_sets sets;
  for (int i = 0; i < 6; i++) lb_hunt_journal_add(&journal, at, LB_GUARD_NONE, LB_HUNT_LEASE, "");
  lb_hunt_sets_find(&journal, &sets);
  assert_int_equal(sets.count, 1);
  assert_int_equal(sets.set[0].standing, LB_HUNT_OPEN);
  assert_true(sets.set[0].open > 0);
  lb_hunt_sets_clear(&sets);
}

TEST(sets_are_those_under_the_guard_of_the_hunt) {
  struct lb_hunt_timeline timeline;
  struct lb_hunt_sets sets;
  struct lb_error err;
  assert_int_equal(lb_hunt_timeline_of_id("L1.restart-P@H", &timeline, &err), 0);
  size_t at = (size_t)lb_hunt_space_find(&space, &timeline);
  journal.guard = LB_GUARD_FENCE;
  for (int i = 0; i < LB_HUNT_SURE; i++) lb_hunt_journal_add(&journal, at, LB_GUARD_NONE, LB_HUNT_LEASE, "");
  lb_hunt_sets_find(&journal, &sets);
  assert_int_equal(sets.count, 0);
  assert_int_equal(lb_hunt_journal_core(&journal).decided, 0);
  for (int i = 0; i < LB_HUNT_SURE; i++) lb_hunt_journal_add(&journal, at, LB_GUARD_FENCE, LB_HUNT_LEASE, "");
  lb_hunt_sets_find(&journal, &sets);
  assert_int_equal(sets.count, 1);
  assert_int_equal(sets.set[0].broke, LB_HUNT_SURE);
  lb_hunt_sets_clear(&sets);
}

TEST(a_hunt_goes_on_from_its_journal) {
  struct lb_error err;
  look_at_all(&(struct rule){.faults = {"restart-P@H"}, .of_ten = 10}, 2);
  lb_hunt_journal_add(&journal, 3, LB_GUARD_FENCE, LB_HUNT_UNDECIDED, "client-1 died, and more");
  size_t trials = journal.trials;
  struct lb_hunt_count before = journal.count[3][LB_GUARD_NONE];
  assert_int_equal(lb_hunt_journal_close(&journal), 0);
  FILE *file = fopen(path, "ae");
  fputs("L1.restart-P@H,no", file); /* cut off by a death */
  fclose(file);
  assert_int_equal(lb_hunt_journal_open(&journal, &space, path, "test", &err), 0);
  assert_int_equal(journal.trials, trials);
  assert_memory_equal(&before, &journal.count[3][LB_GUARD_NONE], sizeof before);
  assert_int_equal(journal.count[3][LB_GUARD_FENCE].of[LB_HUNT_UNDECIDED], 1);
  assert_string_equal(journal.why[3], "client-1 died, and more");
}

TEST(a_journal_of_another_hunt_is_refused) {
  struct lb_error err;
  struct lb_hunt_journal other;
  assert_int_equal(lb_hunt_journal_open(&other, &space, path, "another", &err), -EINVAL);
  assert_non_null(strstr(err.text, "expected '# hunt 2 of another'"));
}

TEST(who_has_the_same_reason_twice_is_not_asked_again) {
  lb_hunt_journal_add(&journal, 3, LB_GUARD_NONE, LB_HUNT_UNDECIDED, "it stood there for 300 ms");
  lb_hunt_journal_add(&journal, 3, LB_GUARD_NONE, LB_HUNT_UNDECIDED, "it stood there for 301 ms");
  lb_hunt_journal_add(&journal, 3, LB_GUARD_FENCE, LB_HUNT_UNDECIDED, "it stood there for 301 ms");
  assert_false(lb_hunt_journal_is_hopeless(&journal, 3, LB_GUARD_NONE));
  lb_hunt_journal_add(&journal, 3, LB_GUARD_NONE, LB_HUNT_UNDECIDED, "it never passed that point");
  lb_hunt_journal_add(&journal, 3, LB_GUARD_NONE, LB_HUNT_SAFE, "");
  lb_hunt_journal_add(&journal, 3, LB_GUARD_NONE, LB_HUNT_UNDECIDED, "it never passed that point");
  assert_true(lb_hunt_journal_is_hopeless(&journal, 3, LB_GUARD_NONE));
  assert_false(lb_hunt_journal_is_hopeless(&journal, 3, LB_GUARD_FENCE));
  assert_false(lb_hunt_journal_is_hopeless(&journal, 4, LB_GUARD_NONE));
}

/* ---- hosts ------------------------------------------------------------------------------------------------------- */

static bool names(const struct lb_hunt_sets *sets, const char *id, size_t servers) {
  bool found = false;
  for (size_t i = 0; i < sets->count; i++) {
    char name[LB_HUNT_ID_MAX];
    lb_hunt_timeline_id(&space.timeline[sets->set[i].timeline], name);
    if (strcmp(name, id) != 0) continue;
    found = sets->set[i].standing == LB_HUNT_MINIMAL;
    assert_int_equal(lb_hunt_hosts_of(&space.system, &space.timeline[sets->set[i].timeline]).servers, servers);
  }
  return found;
}

TEST_WITH(two_hosts_are_refuted_if_one_is_enough, begin_five, end) {
  struct lb_hunt_sets sets =
      hunt(&(struct rule){.faults = {"restart-P@H", "kill-f@B-back"}, .enough = "kill-one@B-back", .of_ten = 10});
  assert_true(names(&sets, "L2.kill-one@B-back+restart-P@H", 2));
  for (size_t i = 0; i < sets.count; i++) assert_false(has(&space.timeline[sets.set[i].timeline], "kill-f@B-back"));
  lb_hunt_sets_clear(&sets);
}

TEST_WITH(two_hosts_stay_if_one_is_not_enough, begin_five, end) {
  struct lb_hunt_sets sets = hunt(&(struct rule){.faults = {"restart-P@H", "kill-f@B-back"}, .of_ten = 10});
  struct lb_hunt_timeline one;
  struct lb_error err;
  assert_true(names(&sets, "L2.kill-f@B-back+restart-P@H", 3));
  assert_int_equal(lb_hunt_timeline_of_id("L2.kill-one@B-back+restart-P@H", &one, &err), 0);
  assert_true(lb_hunt_count_decided(lb_hunt_journal_seen(&journal, (size_t)lb_hunt_space_find(&space, &one))) >=
              LB_HUNT_SURE); /* run, not assumed */
  lb_hunt_sets_clear(&sets);
}

/* Links, too; and all servers, if a majority is enough. */
TEST_WITH(fewer_links_and_fewer_than_all_are_parts, begin_five, end) {
  if (lb_isolation_probe()->kind == LB_ISOLATION_NONE) SKIP("no links without namespaces");
  struct lb_hunt_sets sets =
      hunt(&(struct rule){.faults = {"restart-P@H", "cut-c1@B-gone"}, .enough = "cutone-c1@B-gone", .of_ten = 10});
  assert_true(names(&sets, "L2.cutone-c1@B-gone+restart-P@H", 2));
  lb_hunt_sets_clear(&sets);
  assert_int_equal(end(NULL), 0);
  assert_int_equal(begin_five(NULL), 0);
  sets = hunt(&(struct rule){.faults = {NULL, "restart-all@H"}, .enough = "restart-most@H", .of_ten = 10});
  assert_true(names(&sets, "L1.restart-most@H", 3));
  assert_false(names(&sets, "L1.restart-all@H", 5));
  lb_hunt_sets_clear(&sets);
}

/* ---- what came of a trial ---------------------------------------------------------------------------------------- */

TEST(a_violation_is_of_the_worst_that_happened) {
  static const struct {
    struct lb_counters counters;
    enum lb_hunt_outcome outcome;
  } cases[] = {{{.within_lease = 1, .double_holds = 2, .lost_updates = 1, .token_regressions = 1}, LB_HUNT_LEASE},
               {{.double_holds = 1, .lost_updates = 1, .token_regressions = 1}, LB_HUNT_EXPIRED},
               {{.dirty_accesses = 1, .token_regressions = 1}, LB_HUNT_DAMAGE},
               {{.stale_writes = 1}, LB_HUNT_DAMAGE},
               {{.token_regressions = 3}, LB_HUNT_NUMBERS}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct lb_outcome outcome = {.verdict = LB_VIOLATED, .counters = cases[i].counters};
    struct lb_hunt_count count = {{0}};
    assert_int_equal(lb_hunt_outcome_of(&outcome), cases[i].outcome);
    assert_int_equal(lb_hunt_outcome_find(lb_hunt_outcome_name(cases[i].outcome)), cases[i].outcome);
    count.of[cases[i].outcome] = 1;
    assert_int_equal(lb_hunt_count_broke(&count),
                     cases[i].outcome == LB_HUNT_LEASE || cases[i].outcome == LB_HUNT_EXPIRED);
    assert_int_equal(lb_hunt_count_violated(&count), 1);
    outcome.verdict = LB_SAFE;
    assert_int_equal(lb_hunt_outcome_of(&outcome), LB_HUNT_SAFE);
  }
}

/* A fault that only repeats numbers is a set of that class, and stops nobody from asking whether two of them do
 * worse. */
TEST(each_class_has_minimal_sets_of_its_own) {
  const struct lb_hunt_timeline *pair = some_pair(0);
  struct lb_hunt_timeline part[LB_HUNT_SUBSETS_MAX];
  struct lb_hunt_sets sets;
  size_t at = (size_t)(pair - space.timeline), parts = lb_hunt_space_subsets(&space, pair, part);
  for (size_t i = 0; i < parts; i++) {
    ptrdiff_t p = lb_hunt_space_find(&space, &part[i]);
    for (int n = 0; n < LB_HUNT_SURE && p >= 0; n++)
      lb_hunt_journal_add(&journal, (size_t)p, LB_GUARD_NONE, i == 1 ? LB_HUNT_NUMBERS : LB_HUNT_SAFE, "");
  }
  for (int n = 0; n < LB_HUNT_SURE; n++) lb_hunt_journal_add(&journal, at, LB_GUARD_NONE, LB_HUNT_LEASE, "");
  lb_hunt_sets_find(&journal, &sets);
  assert_int_equal(sets.count, 2);
  assert_int_equal(sets.set[0].timeline, at);
  assert_int_equal(sets.set[0].class, LB_HUNT_LEASE);
  assert_int_equal(sets.set[0].standing, LB_HUNT_MINIMAL);
  assert_int_equal(sets.set[1].class, LB_HUNT_NUMBERS);
  assert_int_equal(sets.set[1].standing, LB_HUNT_MINIMAL);
  assert_int_equal(lb_hunt_journal_core(&journal).broke, 0);
  lb_hunt_sets_clear(&sets);
}

/* ---- how long it takes ------------------------------------------------------------------------------------------- */

static const struct lb_room idle = {.cores = 2, .jobs = {16, 16}};

TEST(what_is_known_is_not_ahead) {
  static const struct rule nothing = {.of_ten = 0};
  struct lb_hunt_ahead ahead, late;
  size_t all;
  assert_int_equal(lb_hunt_ahead_known(&journal, &all), 0);
  assert_true(all > 0);
  lb_hunt_ahead_begin(&journal, &idle, &ahead);
  double whole_s = ahead.look_s + ahead.follow_s;
  assert_true(whole_s > 0);
  assert_true(lb_hunt_ahead_left_s(&ahead, &journal, 0, 0) > 0.99 * whole_s &&
              lb_hunt_ahead_left_s(&ahead, &journal, 0, 0) < 1.01 * whole_s);
  look_at_all(&nothing, 1);
  assert_int_equal(lb_hunt_ahead_known(&journal, &all), all);
  lb_hunt_ahead_begin(&journal, &idle, &late); /* the same hunt goes on */
  assert_true(late.look_s == 0);
  /* All as expected: what follows is left, and runs down. */
  double follows_s = lb_hunt_ahead_left_s(&ahead, &journal, ahead.look_s, 0);
  assert_true(follows_s > 0 && follows_s < whole_s);
  assert_true(lb_hunt_ahead_left_s(&ahead, &journal, ahead.look_s + follows_s / 2, 0) < follows_s);
}

TEST(no_more_is_left_than_of_the_budget) {
  struct lb_hunt_ahead ahead;
  lb_hunt_ahead_begin(&journal, &idle, &ahead);
  assert_true(lb_hunt_ahead_left_s(&ahead, &journal, 0, 2) <= 2);
  assert_true(lb_hunt_ahead_left_s(&ahead, &journal, 3, 2) == 0);
}

static int before_all(void **state) {
  (void)state;
  if (!mkdtemp(folder)) return 1;
  return 0;
}

static int after_all(void **state) {
  (void)state;
  rmdir(folder);
  return 0;
}

GROUP(before_all, after_all);
