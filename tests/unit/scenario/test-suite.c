/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * Suite files: what they make of a run, and how bad ones are refused.
 */
#include "scenario/scenario_load.h"
#include "test.h"
#include "base/files.h"
#include "base/process.h"
#include "plan/peers.h"
#include "plan/plan.h"
#include "scenario/scenario.h"
#include "scenario/suite.h"

#define ABOUT "[suite]\ntitle = t\nquestion = q\n"

enum { COMPARED = 5 }; /* repeats that plots/compare.py asks for */

static char folder[1000];
static struct lb_error err;

static int read_suite(const char *text, struct lb_suite *ret) {
  return lb_suite_parse("dir/mine.ini", text, strlen(text), folder, ret, &err);
}

static void assert_refused(const char *text, const char *expected) {
  static const struct lb_suite empty;
  struct lb_suite suite;
  err.text[0] = '\0';
  assert_int_equal(read_suite(text, &suite), -EINVAL);
  assert_says(err.text, expected);
  assert_memory_equal(&suite, &empty, sizeof empty);
}

TEST(a_suite_says_which_scenarios_and_what_is_changed) {
  struct lb_suite s;
  assert_int_equal(read_suite("# about\n" ABOUT "[storm]\nduration_s = 60 ; long\n[control] ; as it is\n"
                              "[contention]\ntrials = 5\nclients = 1, 4,16\n",
                              &s),
                   0);
  assert_string_equal(s.name, "mine");
  assert_string_equal(s.path, "dir/mine.ini");
  assert_string_equal(s.title, "t");
  assert_string_equal(s.question, "q");
  assert_int_equal(s.count, 3);
  assert_non_null(strstr(s.scenarios[0].path, "/storm.ini"));
  assert_true(s.scenarios[0].duration_s == 60);
  assert_non_null(strstr(s.scenarios[1].path, "/control.ini"));
  assert_int_equal(s.scenarios[2].trials, 5);
  assert_int_equal(s.scenarios[2].client_count_count, 3);
  assert_int_equal(s.scenarios[2].client_counts[2], 16);
  for (size_t i = 0; i < s.count; i++) assert_string_equal(s.varied[i], "");
  lb_suite_clear(&s);
}

/* "0, 1" of a key that has one value: the plan makes a variant of each. */
TEST(a_suite_may_vary_a_key) {
  struct lb_suite s;
  assert_int_equal(read_suite(ABOUT "[contention]\nhold_ms = 0, 1.5 ,10\nkeys = 1,own\n", &s), 0);
  assert_string_equal(s.varied[0], "hold_ms=0,1.5,10 keys=1,own");
  assert_int_equal(s.scenarios[0].keys, 1); /* it is only tried */
  lb_suite_clear(&s);
  assert_refused(ABOUT "[contention]\nhold_ms = 0, many\n",
                 "dir/mine.ini:5: hold_ms = many: expected a number from 0 to 3600000");
  assert_refused(ABOUT "[contention]\nhold_ms = 0,\n", "dir/mine.ini:5: hold_ms is empty: expected number");
}

TEST(a_suite_may_name_systems_guards_and_trials) {
  struct lb_suite s;
  assert_int_equal(read_suite(ABOUT "[control]\n", &s), 0);
  assert_null(s.systems);
  assert_int_equal(s.guards, 0);
  assert_int_equal(s.guard_trials, 0);
  lb_suite_clear(&s);
  assert_int_equal(read_suite(ABOUT
                              "systems = a@x, b@y\nsystems = c@z\nguards = none, fence\ntrials = 7\nguard_trials = 2\n"
                              "[storm]\nduration_s = 60\n[control]\n[pause-holder]\ntrials = 3\n",
                              &s),
                   0);
  assert_string_equal(s.systems, "a@x,b@y,c@z");
  assert_int_equal(s.guards, 1u << LB_GUARD_NONE | 1u << LB_GUARD_FENCE);
  assert_int_equal(s.guard_trials, 2);
  assert_true(s.scenarios[0].duration_s == 60);
  assert_int_equal(s.scenarios[0].trials, 7);
  assert_int_equal(s.scenarios[1].trials, 7);
  assert_int_equal(s.scenarios[2].trials, 3);
  lb_suite_clear(&s);
  assert_int_equal(read_suite(ABOUT "[control]\nguards = fence\n[storm]\n", &s), 0);
  assert_int_equal(s.own_guards[0], 1u << LB_GUARD_FENCE);
  assert_int_equal(s.own_guards[1], 0);
  lb_suite_clear(&s);
  assert_refused(ABOUT "[control]\nguards = fnece\n", "dir/mine.ini:5: no guard 'fnece', did you mean 'fence'? ...");
  assert_refused(ABOUT "guards = none, fnece\n", "dir/mine.ini:4: no guard 'fnece', did you mean 'fence'? ...");
  assert_refused(ABOUT "guards = fence, fence\n", "dir/mine.ini:4: fence stands there twice");
  assert_refused(ABOUT "guard_trials = 0\n", "dir/mine.ini:4: trials = 0: expected a whole number from 1 to 10000");
}

TEST(a_path_is_looked_for_beside_the_suite) {
  struct lb_suite s;
  char path[1100], text[1300];
  snprintf(path, sizeof path, "%s/suites/mine.ini", folder);
  snprintf(text, sizeof text, ABOUT "[../crash/crash-holder.ini]\ntrials = 2\n");
  assert_int_equal(lb_suite_parse(path, text, strlen(text), folder, &s, &err), 0);
  snprintf(path, sizeof path, "%s/suites/../crash/crash-holder.ini", folder);
  assert_string_equal(s.scenarios[0].path, path);
  lb_suite_clear(&s);
}

TEST(a_scenario_that_is_not_there_is_refused_with_the_nearest) {
  assert_refused(ABOUT "[contol]\n", "dir/mine.ini:4: section [contol] names no scenario, did you mean [control]?");
  assert_refused(ABOUT "[scenarios]\n",
                 "dir/mine.ini:4: section [scenarios] names no scenario: expected [suite], or for each scenario ...");
  assert_refused("[siute]\ntitle = t\n", "dir/mine.ini:1: section [siute] names no scenario, did you mean [suite]?");
  assert_refused(ABOUT "[no.ini]\n", "dir/mine.ini:4: dir/no.ini: No such file or directory");
}

TEST(nothing_stands_twice) {
  char text[1300], expected[300];
  assert_refused(ABOUT "[control]\n[storm]\n[control]\n",
                 "dir/mine.ini:6: scenario 'control' stands in line 4 already");
  snprintf(text, sizeof text, ABOUT "[control]\n\n[%s/speed/control.ini]\n", folder);
  if (strlen(folder) < 150) assert_refused(text, "dir/mine.ini:6: scenario 'control' stands in line 4 already");
  assert_refused(ABOUT "[suite]\n", "dir/mine.ini:4: section [suite] stands in line 1 already");
  assert_refused(ABOUT "title = again\n", "dir/mine.ini:4: title stands twice in [suite]");
  snprintf(expected, sizeof expected, "dir/mine.ini:6: trials stands in line 5 already");
  assert_refused(ABOUT "[control]\ntrials = 1\ntrials = 2\n", expected);
}

TEST(a_setting_is_tried_on_its_scenario) {
  assert_refused(ABOUT "[control]\ntrils = 1\n", "dir/mine.ini:5: cannot set 'trils', did you mean 'trials'? ...");
  assert_refused(ABOUT "[control]\ntrials = none\n",
                 "dir/mine.ini:5: trials = none: expected a whole number from 1 to 10000");
  assert_refused(ABOUT "[failover]\nduration_s = 2\n",
                 "dir/mine.ini:5: duration_s = 2: failover has a timeline, and a timeline has no duration_s");
  assert_refused(ABOUT "[spread]\nlasts_ms = 20\n", "dir/mine.ini:5: lasts_ms = 20: spread has no campaign");
}

STATES(a_key_of_the_suite_that_is_none_is_refused,
       assert_refused("[suite]\ntitel = t\n", "dir/mine.ini:2: [suite] has no key 'titel', did you mean 'title'?"),
       assert_refused("[suite]\nx = t\n",
                      "dir/mine.ini:2: [suite] has no key 'x': expected title, question, systems, ..."),
       assert_refused("[suite]\ntitle =\n", "dir/mine.ini:2: title = : expected text"));

TEST(what_is_missing_is_named) {
  assert_refused("", "dir/mine.ini: section [suite] is missing");
  assert_refused("[suite]\nquestion = q\n[control]\n", "dir/mine.ini: [suite] title is missing: ...");
  assert_refused("[suite]\ntitle = t\n[control]\n", "dir/mine.ini: [suite] question is missing: ...");
  assert_refused(ABOUT, "dir/mine.ini: no scenario: expected for example [control]");
}

TEST(what_is_no_suite_file_is_refused_where_it_goes_wrong) {
  assert_refused("trials = 1\n" ABOUT, "dir/mine.ini:1: a key before any section: expected [suite] first");
  assert_refused(ABOUT " question = more\n",
                 "dir/mine.ini:4: an indented line: expected keys and sections at the begin of a line");
  assert_refused(ABOUT "[control\n", "dir/mine.ini:4: a section without its ']': expected [NAME]");
  assert_refused(ABOUT "[control]\ntrials\n", "dir/mine.ini:5: 'trials': expected KEY = VALUE, a [section] or a ...");
  assert_refused("[suite]\ntitle = \x01\n", "dir/mine.ini:2: byte 9 is 0x01: not a text file; ...");
}

TEST(a_folder_without_scenarios_is_named) {
  struct lb_suite s;
  assert_int_equal(lb_suite_parse("a.ini", ABOUT, strlen(ABOUT), "/nowhere", &s, &err), -ENOENT);
  assert_string_equal(err.text, "a.ini: cannot read its scenarios in /nowhere: No such file or directory");
  assert_int_equal(lb_suite_load("/nowhere.ini", folder, &s, &err), -ENOENT);
  assert_string_equal(err.text, "/nowhere.ini: No such file or directory");
}

static bool is_any_of(const char *name, const char *const *names) {
  for (; *names; names++)
    if (strcmp(name, *names) == 0) return true;
  return false;
}

static enum lb_scenario_kind kind_of(const char *path) {
  struct lb_scenario scenario;
  if (lb_scenario_load(path, &scenario, &err) < 0) fail_msg("%s", err.text);
  enum lb_scenario_kind kind = scenario.kind;
  lb_scenario_clear(&scenario);
  return kind;
}

static bool has(const struct lb_suite *suite, const char *path) {
  for (size_t i = 0; i < suite->count; i++)
    if (strcmp(suite->scenarios[i].path, path) == 0) return true;
  return false;
}

/* Loads that differ from contention in the time of the work, or in who is told, say no more of
 * exclusion, and half a minute for a trial is too long for `guards` and `truth`. What they cost is the
 * question of `speed`, which is about loads alone. What the suite `flaws` runs is known of one lock each. Attacks
 * that say the same of all locks, or ask one that the hunt finds by itself, are run by `full` alone. */
static bool is_left_out(const char *suite, const char *path, const struct lb_suite *flaws) {
  static const char *const only_speed[] = {"/contention-10ms-wake.ini",
                                           "/contention-10ms.ini",
                                           "/contention-1ms.ini",
                                           "/contention-wake.ini",
                                           "/herd.ini",
                                           NULL};
  static const char *const too_long[] = {"/clock-drift-2.ini", "/clock-drift-client-2.ini",
                                         "/lagging-follower-sweep.ini", NULL};
  static const char *const only_full[] = {
      "/contention-apart.ini", "/bad-link.ini",          "/late-reply.ini",   "/lost-one-reply.ini", "/late-write.ini",
      "/wait-priority.ini",    "/minreplicas-awake.ini", "/many-clients.ini", "/many-keys.ini",      NULL};
  /* States of servers: whole runs ask for them. */
  static const char *const states[] = {"/cancelled-wait-unheeded.ini",
                                       "/cancelled-wait.ini",
                                       "/dead-woken.ini",
                                       "/depose-behind.ini",
                                       "/depose.ini",
                                       "/leaders-change.ini",
                                       "/rolling-upgrade.ini",
                                       "/rolling-upgrade-pair.ini",
                                       "/disk-full.ini",
                                       "/eviction-lru.ini",
                                       "/eviction-none.ini",
                                       "/eviction.ini",
                                       "/key-deleted.ini",
                                       "/lost-commit.ini",
                                       "/lost-release.ini",
                                       "/power-loss.ini",
                                       "/restored-backup-taken.ini",
                                       "/restored-backup.ini",
                                       "/session-ended.ini",
                                       "/connection-reset.ini",
                                       "/renewals-ended.ini",
                                       "/handed-over.ini",
                                       "/retry-frees.ini",
                                       "/late-unlock.ini",
                                       "/work-ddl.ini",
                                       "/idle-session.ini",
                                       "/transaction-timeout.ini",
                                       "/summer-time.ini",
                                       "/work-waits.ini",
                                       "/work-waits-inside.ini",
                                       "/shut-down.ini",
                                       "/slot-moved.ini",
                                       "/slot-without-keys.ini",
                                       "/own-pool.ini",
                                       "/stalled-leader.ini",
                                       "/stalled-standby.ini",
                                       "/vanished-ahead-c-recipe.ini",
                                       "/vanished-ahead.ini",
                                       NULL};
  const char *name = strrchr(path, '/');
  if (strstr(path, "/museum/") || strstr(path, "/peers/")) return true; /* suites of their own */
  if (strcmp(suite, "full") == 0) return false;
  if (is_any_of(name, states)) return true;
  if (is_any_of(name, only_full)) return true;
  if (strcmp(suite, "flaws") == 0) return !has(flaws, path);
  if (strcmp(suite, "speed") == 0) return kind_of(path) != LB_KIND_LOAD || strstr(path, "/sharing/");
  if (strcmp(suite, "truth") == 0) return kind_of(path) != LB_KIND_TIMELINE || is_any_of(name, too_long);
  return is_any_of(name, only_speed) || has(flaws, path);
}

/* A scenario that somebody added, and that no suite runs, would be seen by nobody. */
TEST(the_shipped_suites_run_every_shipped_scenario) {
  static const char *const by_hand[] = {"museum", "quick", "judge",    "scale",  "guards",
                                        "claims", "paper", "restarts", "readme", NULL};
  char suites[1100], **names, **paths, **all_names, **all_paths;
  size_t count, all, in;
  struct lb_suite s, flaws;
  snprintf(suites, sizeof suites, "%s/suites/flaws.ini", folder);
  assert_int_equal(lb_suite_load(suites, folder, &flaws, &err), 0);
  snprintf(suites, sizeof suites, "%s/suites", folder);
  assert_int_equal(lb_scenario_list(suites, &names, &paths, &count), 0);
  assert_int_equal(lb_scenario_list(folder, &all_names, &all_paths, &all), 0);
  assert_true(count >= 3);
  for (size_t i = 0; i < count; i++) {
    if (lb_suite_load(paths[i], folder, &s, &err) < 0) fail_msg("%s", err.text);
    assert_string_equal(s.name, names[i]);
    if (strncmp(names[i], "peers", 5) == 0 || is_any_of(names[i], by_hand)) { /* chosen by hand; files of its own */
      lb_suite_clear(&s);
      free(names[i]);
      free(paths[i]);
      continue;
    }
    in = 0;
    for (size_t k = 0; k < all; k++) {
      if (is_left_out(names[i], all_paths[k], &flaws)) continue;
      if (!has(&s, all_paths[k])) fail_msg("suite %s: it lacks %s", names[i], all_paths[k]);
      in++;
    }
    assert_int_equal(in, s.count);
    lb_suite_clear(&s);
    free(names[i]);
    free(paths[i]);
  }
  for (size_t k = 0; k < all; k++) free(all_names[k]), free(all_paths[k]);
  lb_suite_clear(&flaws);
  free(names), free(paths), free(all_names), free(all_paths);
}

/* A load that is measured less often than this cannot be told apart from itself on another day, whatever the suite
 * took. `quick`, `guards`, `judge` and `peers` ask of their loads whether exclusion is kept, not at what cost. */
TEST(loads_have_the_repeats_that_compare_takes) {
  char suites[1100], **names, **paths;
  size_t count, loads = 0;
  snprintf(suites, sizeof suites, "%s/suites", folder);
  assert_int_equal(lb_scenario_list(suites, &names, &paths, &count), 0);
  for (size_t i = 0; i < count; i++) {
    struct lb_suite s;
    if (lb_suite_load(paths[i], folder, &s, &err) < 0) fail_msg("%s", err.text);
    for (size_t k = 0; k < s.count; k++) {
      struct lb_scenario scenario;
      if (lb_scenario_load(s.scenarios[k].path, &scenario, &err) < 0) fail_msg("%s", err.text);
      if (scenario.kind == LB_KIND_LOAD) {
        loads++;
        if (scenario.trials < COMPARED)
          fail_msg("%s: %d trials, compare takes %d", scenario.path, scenario.trials, COMPARED);
        bool asks_no_cost = strcmp(names[i], "quick") == 0 || strcmp(names[i], "guards") == 0 ||
                            strcmp(names[i], "judge") == 0 || strcmp(names[i], "peers") == 0;
        if (!asks_no_cost && s.scenarios[k].trials < COMPARED)
          fail_msg("suite %s, %s: %d trials, compare takes %d", names[i], scenario.name, s.scenarios[k].trials,
                   COMPARED);
      }
      lb_scenario_clear(&scenario);
    }
    lb_suite_clear(&s);
    free(names[i]), free(paths[i]);
  }
  free(names), free(paths);
  assert_true(loads >= 8);
}

/* A cell that is asked and of which nothing is stated ends the whole suite as not as expected, when it is violated. */
TEST(the_museum_states_what_comes_of_every_cell) {
  struct lb_suite museum;
  struct lb_plan plan;
  char path[1200];
  if (lb_peers_load(lb_process_root(), &err) < 0) fail_msg("%s", err.text);
  snprintf(path, sizeof path, "%s/theory/rules.ini", folder);
  if (lb_theory_load(path, &err) < 0) fail_msg("%s", err.text);
  snprintf(path, sizeof path, "%s/suites/museum.ini", folder);
  if (lb_suite_load(path, folder, &museum, &err) < 0) fail_msg("%s", err.text);
  struct lb_plan_request request = {.scenarios = museum.scenarios,
                                    .scenario_count = museum.count,
                                    .own_guards = museum.own_guards,
                                    .guards = museum.guards,
                                    .product = true,
                                    .trials = 1};
  if (lb_plan_make(&request, &plan, &err) < 0) fail_msg("%s", err.text);
  assert_true(plan.cell_count > museum.count);
  for (size_t i = 0; i < plan.cell_count; i++)
    if (!plan.cells[i].skip[0] && !plan.cells[i].expect)
      fail_msg("nothing is stated of %s on %s under %s", plan.cells[i].scenario->name, plan.cells[i].system,
               lb_guard_name(plan.cells[i].guard));
  lb_plan_clear(&plan);
  lb_suite_clear(&museum);
}

/* A folder of its own. Each of its scenarios says where its bug was published. */
TEST(the_museum_has_every_published_bug) {
  char path[1200], **names, **paths;
  size_t count;
  struct lb_suite museum;
  snprintf(path, sizeof path, "%s/suites/museum.ini", folder);
  if (lb_suite_load(path, folder, &museum, &err) < 0) fail_msg("%s", err.text);
  snprintf(path, sizeof path, "%s/museum", folder);
  assert_int_equal(lb_scenario_list(path, &names, &paths, &count), 0);
  assert_true(count > 0);
  assert_int_equal(count, museum.count);
  for (size_t i = 0; i < count; i++) {
    struct lb_scenario scenario;
    bool shown = false;
    for (size_t k = 0; k < museum.count; k++)
      shown = shown || strcmp(strrchr(museum.scenarios[k].path, '/'), strrchr(paths[i], '/')) == 0;
    if (!shown) fail_msg("%s is not in the museum", paths[i]);
    if (lb_scenario_load(paths[i], &scenario, &err) < 0) fail_msg("%s", err.text);
    if (!scenario.upstream || strncmp(scenario.upstream, "https://", 8) != 0)
      fail_msg("%s: expected upstream = https://...", paths[i]);
    lb_scenario_clear(&scenario);
    free(names[i]);
    free(paths[i]);
  }
  lb_suite_clear(&museum);
  free(names), free(paths);
}

static int before_all(void **state) {
  (void)state;
  const char *source = getenv("LB_SOURCE_DIR");
  snprintf(folder, sizeof folder, "%s/scenarios", source ? source : ".");
  return 0;
}

GROUP(before_all, NULL);
