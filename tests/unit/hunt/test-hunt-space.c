/* test: compute, table */
/* SPDX-License-Identifier: MIT
 *
 * Whether the space of a hunt is what its rules say: against a brute force that was written apart, by its ids,
 * its orders and its scenario files.
 */
#include "hunt/sample.h"
#include "scenario/scenario_load.h"
#include "test.h"
#include "backends/registry.h"
#include "hunt/search.h"
#include "hunt/write.h"
#include "hunt_brute.h"
#include "hunted_system.h"
#include "scenario/scenario.h"

static const char *const systems[] = {"local@none",       "redis-token@redis",        "redlock@redis-x3",
                                      "redlock@redis-x5", "redis-token@sentinel",     "redis-token@cluster",
                                      "pg-lease@pg",      "pg-lease-client@pg-async", "zk-sequential@zk-x3",
                                      "zk-sequential@zk", "etcd-v3lock@etcd-x3",      "pg-advisory@pg-sync"};
enum { SYSTEM_COUNT = sizeof systems / sizeof *systems };

static int by_text(const void *a, const void *b) { return strcmp(a, b); }

struct ids {
  char (*id)[LB_HUNT_ID_MAX + 1]; /* with "+" or "-" in front: run or not */
  size_t count;
};
static struct ids ids_of(const struct lb_hunt_space *space, bool (*keep)(const char *fault)) {
  struct ids ids = {.id = calloc(space->count + 1, sizeof *ids.id)};
  assert_non_null(ids.id);
  for (size_t i = 0; i < space->count; i++) {
    const struct lb_hunt_timeline *t = &space->timeline[i];
    bool kept = true;
    for (size_t f = 0; f < t->fault_count && keep; f++) {
      char text[40];
      lb_hunt_fault_format(t->fault[f], text, sizeof text);
      kept &= keep(text);
    }
    if (!kept) continue;
    lb_hunt_timeline_id(t, ids.id[ids.count]);
    ids.id[ids.count++][LB_HUNT_ID_MAX] = t->pruned == LB_HUNT_RUN;
  }
  qsort(ids.id, ids.count, sizeof *ids.id, by_text);
  return ids;
}

static void compare(const char *name, int k, bool (*keep)(const char *fault)) {
  struct lb_hunt_system system = system_of(name);
  struct lb_hunt_space space;
  struct brute brute;
  assert_int_equal(lb_hunt_space_make(&system, k, NULL, &space), 0);
  brute_make(&system, k, keep, &brute);
  struct ids ids = ids_of(&space, keep);
  for (size_t i = 0; i < ids.count && i < brute.count; i++) {
    if (strcmp(ids.id[i], brute.id[i]) != 0 || (ids.id[i][LB_HUNT_ID_MAX] != 0) != brute.runs[i])
      fail_msg("%s: the space has %s (%s), brute force %s (%s)", name, ids.id[i],
               ids.id[i][LB_HUNT_ID_MAX] ? "run" : "not run", brute.id[i], brute.runs[i] ? "run" : "not run");
  }
  assert_int_equal(ids.count, brute.count);
  assert_true(brute.count > 0);
  free(ids.id);
  brute_clear(&brute);
  lb_hunt_space_clear(&space);
}

TEST(the_alphabet_of_every_system_equals_brute_force) {
  for (size_t i = 0; i < SYSTEM_COUNT; i++) compare(systems[i], 1, NULL);
}

/* One fault of each way to be left out. */
static bool is_few(const char *fault) {
  static const char *const few[] = {"kill-P@B-back",    "kill-P@H-gone", "pause-P@H-mid", "restart-all@H",
                                    "isolate-P@B-back", "part-P@B-back", "ahead-P@H",     "fast-c1@B",
                                    "slow-c1@B",        "kill-c1@H",     "pause-c1@H",    "pause-c1@A",
                                    "kill-c2@H",        "kill-c2@W",     "restart-P@R"};
  for (size_t i = 0; i < sizeof few / sizeof *few; i++)
    if (strcmp(few[i], fault) == 0) return true;
  return false;
}
TEST(three_faults_of_a_small_alphabet_equal_brute_force) {
  for (size_t i = 0; i < SYSTEM_COUNT; i += 3) compare(systems[i], 2, is_few);
  compare("redis-token@redis", 3, is_few);
}
STATES(two_faults_of_the_whole_alphabet_equal_brute_force, compare("redis-token@redis", 2, NULL),
       compare("redis-token@sentinel", 2, NULL), compare("zk-sequential@zk-x3", 2, NULL));

TEST(every_reason_occurs_and_is_said) {
  size_t seen[LB_HUNT_PRUNED_COUNT] = {0};
  for (size_t i = 0; i < SYSTEM_COUNT; i++) {
    struct lb_hunt_system system = system_of(systems[i]);
    struct lb_hunt_space space;
    assert_int_equal(lb_hunt_space_make(&system, 2, NULL, &space), 0);
    for (size_t t = 0; t < space.count; t++) {
      struct lb_hunt_timeline sub[LB_HUNT_SUBSETS_MAX];
      size_t count = lb_hunt_space_subsets(&space, &space.timeline[t], sub);
      seen[space.timeline[t].pruned]++;
      for (size_t s = 0; s < count; s++) seen[sub[s].pruned]++; /* of `drift`, without one */
    }
    lb_hunt_space_clear(&space);
  }
  for (int why = 0; why < LB_HUNT_PRUNED_COUNT; why++) {
    if (seen[why] == 0)
      fail_msg("nothing is pruned for reason %d: %s", why, lb_hunt_prune_text((enum lb_hunt_pruned)why));
    assert_int_equal(*lb_hunt_prune_text((enum lb_hunt_pruned)why) == '\0', why == LB_HUNT_RUN);
  }
}

TEST(an_id_says_what_its_timeline_is) {
  struct lb_hunt_system system = system_of("redis-token@sentinel");
  struct lb_hunt_space space;
  struct lb_error err;
  assert_int_equal(lb_hunt_space_make(&system, 2, NULL, &space), 0);
  struct ids ids = ids_of(&space, NULL);
  for (size_t i = 1; i < ids.count; i++) assert_true(strcmp(ids.id[i - 1], ids.id[i]) < 0); /* each is there once */
  for (size_t i = 0; i < space.count; i += 7) {
    struct lb_hunt_timeline back;
    char id[LB_HUNT_ID_MAX];
    lb_hunt_timeline_id(&space.timeline[i], id);
    assert_int_equal(lb_hunt_timeline_of_id(id, &back, &err), 0);
    assert_int_equal(lb_hunt_space_find(&space, &back), i);
  }
  free(ids.id);
  lb_hunt_space_clear(&space);
}

TEST(what_is_no_id_is_refused) {
  static const char *const bad[] = {"",
                                    "L",
                                    "X0",
                                    "L1",
                                    "L4.a",
                                    "L0.kill-P@B-back",
                                    "L1.kil-P@B-back",
                                    "L2.kill-P@B-back",
                                    "L1+kill-P@B-back",
                                    "L1.kill-P@B-back+",
                                    "L2.restart-P@H+kill-P@B-back",
                                    "L1.kill-P@B-back ",
                                    "l0"};
  struct lb_hunt_timeline t;
  struct lb_error err;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_int_equal(lb_hunt_timeline_of_id(bad[i], &t, &err), -22);
  assert_int_equal(lb_hunt_timeline_of_id("L1.kil-P@B-back", &t, &err), -22);
  assert_non_null(strstr(err.text, "no fault is called 'kil-P@B-back'"));
}

TEST(subsets_are_of_one_regime_and_in_the_order_that_is_run) {
  static const char *const wanted[] = {"L0",
                                       "L1.part-P@B-back",
                                       "L1.ahead-all@H",
                                       "L1.kill-P@H-back",
                                       "L2.part-P@B-back+ahead-all@H",
                                       "L2.part-P@B-back+kill-P@H-back",
                                       "L2.kill-P@H-back+ahead-all@H"};
  struct lb_hunt_system system = system_of("redis-token@sentinel");
  struct lb_hunt_space space = {.system = system};
  struct lb_hunt_timeline t, sub[LB_HUNT_SUBSETS_MAX];
  struct lb_error err;
  char id[LB_HUNT_ID_MAX];
  assert_int_equal(lb_hunt_timeline_of_id("L3.part-P@B-back+kill-P@H-back+ahead-all@H", &t, &err), 0);
  assert_int_equal(lb_hunt_space_subsets(&space, &t, sub), LB_HUNT_SUBSETS_MAX);
  for (size_t i = 0; i < LB_HUNT_SUBSETS_MAX; i++) {
    bool found = false;
    lb_hunt_timeline_id(&sub[i], id);
    for (size_t w = 0; w < LB_HUNT_SUBSETS_MAX; w++) found |= strcmp(wanted[w], id) == 0;
    if (!found) fail_msg("%s is no subset", id);
    if (i > 0) assert_true(sub[i].fault_count >= sub[i - 1].fault_count);
  }
  /* ahead-c1 and kill-f share no host: of the two orders the first by the alphabet is run. */
  assert_int_equal(lb_hunt_timeline_of_id("S3.pause-c2@H+kill-f@H-back+pause-c1@R", &t, &err), 0);
  assert_int_equal(lb_hunt_space_subsets(&space, &t, sub), LB_HUNT_SUBSETS_MAX);
  lb_hunt_timeline_id(&sub[4], id);
  assert_string_equal(id, "S2.kill-f@H-back+pause-c2@H");
}

static size_t *order_of(const struct lb_hunt_space *space, uint64_t seed, size_t *ret_count) {
  size_t *order;
  lb_hunt_search_order(space, seed, &order, ret_count);
  return order;
}
static int by_number(const void *a, const void *b) {
  return (*(const size_t *)a > *(const size_t *)b) - (*(const size_t *)a < *(const size_t *)b);
}

TEST(a_seed_chooses_the_order_and_nothing_else) {
  struct lb_hunt_system system = system_of("redis-token@sentinel");
  struct lb_hunt_space space;
  size_t count[3], *order[3];
  struct lb_hunt_switches switches = {.no_lineage = true};
  assert_int_equal(lb_hunt_space_make(&system, 2, &switches, &space), 0);
  for (int i = 0; i < 3; i++) order[i] = order_of(&space, i < 2 ? 7 : 8, &count[i]);
  assert_int_equal(count[0], count[2]);
  assert_memory_equal(order[0], order[1], count[0] * sizeof **order);
  assert_memory_not_equal(order[0], order[2], count[0] * sizeof **order);
  size_t kinds_seen[LB_HUNT_KIND_COUNT][LB_HUNT_KIND_COUNT] = {{0}}, rounds = 0;
  for (size_t i = 0; i < count[0]; i++) {
    const struct lb_hunt_timeline *t = &space.timeline[order[0][i]];
    assert_int_equal(t->pruned, LB_HUNT_RUN);
    assert_int_equal(t->fault_count == 0, i < LB_HUNT_CONTROLS);
    if (i > 0) assert_true(t->fault_count >= space.timeline[order[0][i - 1]].fault_count);
    if (t->fault_count != 2) continue;
    size_t a = t->fault[0].kind, b = t->fault[1].kind, turn = ++kinds_seen[a < b ? a : b][a < b ? b : a];
    assert_true(turn >= rounds); /* nobody's turn comes again before all had theirs */
    rounds = turn;
  }
  for (int i = 0; i < 3; i += 2) qsort(order[i], count[i], sizeof **order, by_number);
  assert_memory_equal(order[0], order[2], count[0] * sizeof **order);
  for (int i = 0; i < 3; i++) free(order[i]);
  lb_hunt_space_clear(&space);
}

TEST(every_system_with_servers_has_the_core) {
  for (size_t i = 0; i < SYSTEM_COUNT; i++) {
    struct lb_hunt_system system = system_of(systems[i]);
    struct lb_hunt_space space;
    size_t core = 0;
    assert_int_equal(lb_hunt_space_make(&system, 1, NULL, &space), 0);
    for (size_t t = 0; t < space.count; t++)
      core += space.timeline[t].pruned == LB_HUNT_RUN && lb_hunt_timeline_is_core(&space.timeline[t]);
    if (system.count > 0 && system.sets_servers && core != 28)
      fail_msg("%s has %zu faults of the core", systems[i], core);
    lb_hunt_space_clear(&space);
  }
}

TEST(a_kind_can_be_left_out) {
  struct lb_hunt_system system = system_of("redis-token@redis");
  struct lb_hunt_switches switches = {.without = 1u << LB_HUNT_RESTART};
  struct lb_hunt_space space;
  assert_int_equal(lb_hunt_space_make(&system, 2, &switches, &space), 0);
  for (size_t i = 0; i < space.count; i++)
    for (size_t f = 0; f < space.timeline[i].fault_count; f++)
      assert_int_not_equal(space.timeline[i].fault[f].kind, LB_HUNT_RESTART);
  lb_hunt_space_clear(&space);
  assert_int_equal(lb_hunt_space_make(&system, 4, NULL, &space), -22);
}

TEST(words_say_what_is_left_out) {
  struct lb_hunt_switches switches;
  struct lb_error err;
  char said[LB_HUNT_WITHOUT_MAX];
  assert_int_equal(lb_hunt_switches_parse("client-3,restart,slow", &switches, &err), 0);
  assert_true(switches.no_client_3);
  assert_int_equal(switches.without, 1u << LB_HUNT_RESTART | 1u << LB_HUNT_SLOW);
  lb_hunt_switches_format(&switches, said);
  assert_string_equal(said, "restart,slow,client-3");
  assert_int_equal(lb_hunt_switches_parse("", &switches, &err), 0);
  lb_hunt_switches_format(&switches, said);
  assert_string_equal(said, "");
  assert_int_equal(lb_hunt_switches_parse("restart,client3", &switches, &err), -22);
  assert_string_equal(err.text, "--without client3: no kind of fault, client-3 or lineage, did you mean 'client-3'?");
  assert_int_equal(lb_hunt_switches_parse("nonsense", &switches, &err), -22);
  assert_string_equal(err.text,
                      "--without nonsense: no kind of fault, client-3 or lineage, see the ids of `hunt --list`");
}

/* A scenario as it is written, parsed; the text is the caller's. */
static char *write_one(const struct lb_hunt_timeline *t, const struct lb_hunt_system *system, enum lb_guard guard,
                       const struct lb_hunt_settings *settings) {
  char *text = NULL;
  size_t size = 0;
  FILE *file = open_memstream(&text, &size);
  assert_non_null(file);
  assert_int_equal(lb_hunt_write(t, system, guard, settings, "race", file), 0);
  fclose(file);
  return text;
}

/* What a file expects holds for each version of the servers; it may not name one. */
TEST(a_timeline_on_other_servers_is_a_scenario) {
  struct lb_hunt_system system = system_of(systems[0]);
  struct lb_hunt_space space;
  struct lb_scenario scenario;
  struct lb_error err;
  snprintf(system.name, sizeof system.name, "redis-token@redis:valkey-9.1");
  assert_int_equal(lb_hunt_space_make(&system, 1, NULL, &space), 0);
  char *text = write_one(&space.timeline[0], &system, LB_GUARD_NONE, NULL);
  if (lb_scenario_parse("hunted.ini", text, strlen(text), &scenario, &err) < 0) fail_msg("%s\n%s", err.text, text);
  assert_string_equal(scenario.expect[0].system, "redis-token@redis");
  lb_scenario_clear(&scenario);
  free(text);
  lb_hunt_space_clear(&space);
}

TEST(every_timeline_is_a_scenario) {
  static const struct lb_hunt_settings alone = {.no_client_3 = true, .no_renewal = true, .note = "breaks 5 of 5"};
  for (size_t i = 0; i < SYSTEM_COUNT; i++) {
    struct lb_hunt_system system = system_of(systems[i]);
    struct lb_hunt_space space;
    assert_int_equal(lb_hunt_space_make(&system, 2, NULL, &space), 0);
    for (size_t n = 0; n < space.count; n += space.timeline[n].fault_count < 2 ? 1 : 11) {
      struct lb_scenario scenario;
      struct lb_error err;
      if (space.timeline[n].pruned != LB_HUNT_RUN) continue;
      char *text =
          write_one(&space.timeline[n], &system, n % 2 ? LB_GUARD_NONE : LB_GUARD_FENCE, n % 5 ? NULL : &alone);
      if (lb_scenario_parse("hunted.ini", text, strlen(text), &scenario, &err) < 0)
        fail_msg("%s: %s\n%s", systems[i], err.text, text);
      assert_int_equal(scenario.kind, LB_KIND_TIMELINE);
      assert_true(scenario.past_lease);
      lb_scenario_clear(&scenario);
      free(text);
    }
    lb_hunt_space_clear(&space);
  }
}

/* A session of 1 s is over after a tick more, and the ensemble bears a silence of 1.6 s: what lies between is a window.
 * One of 10 s is over after it. */
TEST(what_ends_before_a_takeover_ends_in_the_window_if_there_is_one) {
  static const struct lb_hunt_settings without = {.no_renewal = true};
  struct lb_hunt_system zk = system_of("zk-sequential@zk-x3"), sentinel = system_of("redis-token@sentinel"),
                        etcd = system_of("etcd-lease@etcd-x3");
  assert_int_equal(lb_hunt_times_of(&zk, LB_HUNT_SHORT, NULL).mid_ms, 1400);
  assert_int_equal(lb_hunt_times_of(&zk, LB_HUNT_LONG, NULL).mid_ms, 800);
  assert_int_equal(lb_hunt_times_of(&sentinel, LB_HUNT_SHORT, NULL).mid_ms, 150);
  assert_int_equal(lb_hunt_times_of(&sentinel, LB_HUNT_DRIFT, NULL).write_ms, 1600);
  assert_true(lb_hunt_times_of(&etcd, LB_HUNT_SHORT, NULL).ttl_ms >= etcd.least_ttl_ms);
  struct lb_hunt_times t = lb_hunt_times_of(&sentinel, LB_HUNT_SHORT, &without);
  assert_false(t.renew);
}
