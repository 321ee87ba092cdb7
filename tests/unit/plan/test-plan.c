/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * From what a user asks for to cells and jobs. No server is needed: jobs are those of protocols without one, and of the
 * others only what the plan says is looked at (a file by the name of redis-server is enough for that). Namespaces are
 * switched off, so that a scenario with a cut cannot run.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"
#include "backends/foreign/foreign.h"
#include "backends/registry.h"
#include "base/files.h"
#include "scenario/scenario.h"
#include "scenario/suite.h"
#include "plan/system.h"
#include "plan/plan.h"
#include "run/tally.h"
#include "plan/settings.h"
#include "own/own.h"

#define HEAD "[scenario]\ntitle = t\nquestion = q\nrefuted = r\ntrials = 2\n"
#define ON(systems) HEAD "systems = " systems "\n"
#define A_LOAD "[workload]\nclients = 1, 2\n[expect]\n"
#define SOME_STEPS "[workload]\nclients = 2\n[timeline]\nstep = client 1 acquire within 1s\n[expect]\n"
#define CUTS "[workload]\nclients = 2\n[timeline]\nstep = cut client 1 from primary\nstep = heal\n[expect]\n"
#define LOAD HEAD A_LOAD
#define STEPS HEAD SOME_STEPS
#define BARE "local@none, null@none, broken@none" /* the systems of NO_SERVERS */
#define NO_SERVERS "local@none = safe\nnull@none = safe\nbroken@none = violated\n"
enum { SCENARIOS_MAX = 4 };

struct world {
  struct lb_error err;
  char dir[64], path[SCENARIOS_MAX][128];
  const char *paths[SCENARIOS_MAX];
  size_t count;
  struct lb_plan_request request;
  struct lb_plan plan;
};
static struct world *w;

static int set_up(void **state) {
  w = calloc(1, sizeof *w);
  if (!w) return -1;
  *state = w;
  snprintf(w->dir, sizeof w->dir, "/tmp/test-plan-XXXXXX");
  w->request = (struct lb_plan_request){.only_guards = 1u << LB_GUARD_NONE, .seed = 1};
  return mkdtemp(w->dir) ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  lb_plan_clear(&w->plan);
  lb_files_remove_tree(w->dir);
  free(w);
  return 0;
}
EACH(set_up, tear_down);

/* ---- servers, to be looked for only ------------------------------------------------------------------------------ */

static char servers[] = "/tmp/test-plan-servers-XXXXXX";

static int install_servers(void **state) {
  char path[128], search[4096];
  (void)state;
  if (!mkdtemp(servers)) return -1;
  snprintf(path, sizeof path, "%s/redis-server", servers);
  snprintf(search, sizeof search, "%s:%s", servers, getenv("PATH"));
  FILE *out = fopen(path, "we");
  if (!out || fputs("#!/bin/false\n", out) < 0 || lb_files_close_written(out) < 0 || chmod(path, 0755) < 0) return -1;
  return setenv("PATH", search, 1);
}

static int remove_servers(void **state) {
  (void)state;
  return lb_files_remove_tree(servers), 0;
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

static void scenario(const char *name, const char *text) {
  size_t i = w->count++;
  char path[sizeof *w->path];
  snprintf(path, sizeof path, "%s/%02zu-%s.ini", w->dir, i + 1, name);
  w->paths[i] = strcpy(w->path[i], path);
  FILE *out = fopen(path, "we");
  assert_non_null(out);
  fputs(text, out);
  assert_int_equal(lb_files_close_written(out), 0);
}

static void make(void) {
  lb_plan_clear(&w->plan);
  if (lb_plan_load(w->paths, w->count, &w->request, &w->plan, &w->err) != 0) fail_msg("%s", w->err.text);
}

static void assert_refused(const char *message) {
  static const struct lb_plan empty;
  lb_plan_clear(&w->plan);
  assert_int_equal(lb_plan_load(w->paths, w->count, &w->request, &w->plan, &w->err), -EINVAL);
  assert_string_equal(w->err.text, message);
  assert_memory_equal(&w->plan, &empty, sizeof empty);
}

/* The systems of all cells, in order, with blanks between. */
static void assert_systems(const char *expected) {
  char list[1000] = "";
  for (size_t i = 0, at = 0; i < w->plan.cell_count; i++)
    at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i ? " " : "", w->plan.cells[i].system);
  assert_string_equal(list, expected);
}

static void makes_systems(const char *expected) {
  make();
  assert_systems(expected);
}

static void gives(const char *systems, const char *expected) {
  w->request.systems = systems;
  makes_systems(expected);
}

static void refuses(const char *systems, const char *message) {
  w->request.systems = systems;
  assert_refused(message);
}

#define SETTINGS(w, ...)                                                                                               \
  const char *const settings[] = {__VA_ARGS__};                                                                        \
  (w)->request.settings = settings, (w)->request.setting_count = sizeof settings / sizeof *settings

/* ---- systems ----------------------------------------------------------------------------------------------------- */

TEST(the_default_systems_are_those_that_the_scenario_names) {
  scenario("a", ON("redis-token@sentinel, local@none") A_LOAD
           "null@none = safe\n* = safe\nredis-token@sentinel = violated\n");
  makes_systems("redis-token@sentinel local@none");
  assert_int_equal(w->plan.cells[0].expect->verdict, LB_VIOLATED);
  assert_string_equal(w->plan.cells[0].protocol->name, "redis-token");
  assert_string_equal(w->plan.cells[0].topology->name, "sentinel");
}

TEST(a_scenario_that_names_no_system_takes_the_usual_ones_whatever_it_expects_of_others) {
  scenario("a", LOAD "local@none = safe\n[expect fence]\nredis-token@redis = safe\n");
  w->request.only_guards = 0;
  make();
  size_t usual = 1;
  for (const char *at = lb_system_group("standard"); *at; at++) usual += *at == ',';
  assert_int_equal(w->plan.cell_count, usual);
  for (size_t i = 0; i < usual; i++) {
    assert_string_not_equal(w->plan.cells[i].system, "local@none");
    assert_int_equal(w->plan.cells[i].guard, LB_GUARD_NONE);
  }
}

STATES(a_protocol_alone_is_all_its_systems_in_the_scenario,
       scenario("a", ON("pg-row@pg-async, local@none, pg-row@pg-sync") A_LOAD
                "pg-row@pg-async = violated\nlocal@none = safe\npg-row@pg-sync = safe\n"),
       gives("pg-row", "pg-row@pg-async pg-row@pg-sync"));
STATES(a_protocol_that_the_scenario_does_not_name_is_its_systems_in_a_group, scenario("a", LOAD "* = stuck\n"),
       gives("pg-row,null,zk-sequential@zk", "pg-row@pg null@none zk-sequential@zk"),
       assert_int_equal(w->plan.cells[0].expect->verdict, LB_STUCK));

/* An adapter by this name, once for the process. */
static void add_adapter(const char *name) {
  struct lb_error err;
  char says[200];
  snprintf(says, sizeof says, "name=%s topologies=redis,sentinel,none ends=lease can=holds", name);
  const struct lb_foreign_plan plan = {.kind = "exec", .command = "true", .says = says};
  assert_non_null(lb_foreign_add(&plan, &err));
}

TEST(one_of_no_group_has_each_topology_on_which_the_steps_mean_something) {
  add_adapter("mine");
  scenario("a", HEAD "[workload]\nclients = 2\n[timeline]\nstep = kill primary\nstep = await failover within 5s\n"
                     "[expect]\nredis-token@sentinel = violated\n");
  gives("exec:mine", "exec:mine@sentinel");
  gives("local", "local@none"); /* and says why it cannot */
  assert_string_equal(w->plan.cells[0].skip, "there are no servers");
}

STATES(
    a_jump_that_no_server_could_prove_means_nothing,
    scenario(
        "a", HEAD
        "[workload]\nclients = 2\n[timeline]\nstep = clock primary monotonic +5s\n[expect]\nredis-token@redis = safe\n"),
    make(), assert_string_equal(w->plan.cells[0].skip, "redis tells nobody its monotonic clock"),
    assert_true(w->plan.cells[0].means_nothing));

/* What not every lock and server can do is asked of none of the others. */
TEST(a_step_that_a_lock_or_its_servers_lack_means_nothing) {
  static const struct {
    const char *system, *step, *why;
  } rows[] = {
      {"redis-token@redis", "end renewals of client 1", "no loop in a client of redis-token renews what it holds"},
      {"redis-token@redis", "shut down client 1", "nobody can tell a client of redis-token to stop"},
      {"redis-token@redis", "client 1 work within 1s",
       "what a client of redis-token does under its lock does not meet the lock"},
      {"redis-token@redis", "await client 1 has a place within 1s",
       "no server here can be asked for the place of a waiter of redis-token"},
      {"redis-token@redis", "client 1 reopen on node 1 within 1s",
       "no client of redis-token on redis could do with one server of several"},
      {"zk-sequential@zk", "client 1 acquire ttl 3s within 1s", "an acquire of zk-sequential has no length of its own"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[400], why[200];
    snprintf(text, sizeof text,
             HEAD "[workload]\nclients = 2\n[timeline]\nstep = client 1 acquire within 1s\nstep = %s\n"
                  "[expect]\n* = race\n",
             rows[i].step);
    snprintf(why, sizeof why, "%s: %s", rows[i].step, rows[i].why);
    w->request.systems = rows[i].system;
    w->count = 0;
    scenario("a", text);
    make();
    assert_string_equal(w->plan.cells[0].skip, why);
    assert_true(w->plan.cells[0].means_nothing);
  }
}

/* A premise that no trial could observe would leave every one undecided. */
TEST(a_premise_about_a_proxy_means_nothing_without_one) {
  const char *text =
      HEAD "[workload]\nclients = 2\n[timeline]\nstep = client 1 acquire within 1s\nstep = observe server of client 1\n"
           "[proof]\npremise = server of client 1 is proxy\n[expect]\npg-lease@pg = safe\n";
  scenario("a", text);
  w->request.systems = "pg-lease@pg,pg-lease@pg-pooled";
  make();
  assert_string_equal(w->plan.cells[0].skip, "no proxy stands before the servers");
  assert_true(w->plan.cells[0].means_nothing);
  assert_string_equal(w->plan.cells[1].skip, "");
}

/* It is one that the protocol does not name: nobody gets cells that he did not ask for. */
TEST(a_topology_that_stands_for_another_is_taken_where_it_is_named) {
  scenario("a", LOAD "local@none = safe\n");
  gives("redis-token@redis-aof", "redis-token@redis-aof");
  gives("redis-token", "redis-token@redis redis-token@sentinel redis-token@cluster");
  refuses("redlock@redis-aof", "redlock does not run on topology 'redis-aof', see `lockbench show redlock`");
}

TEST(an_expectation_of_ones_own_is_for_what_the_scenario_says_nothing_of) {
  const struct lb_expect own[] = {
      {.guard = LB_GUARD_NONE, .system = (char *)"*", .verdict = LB_STUCK, .reason = (char *)"so"},
      {.guard = LB_GUARD_FENCE, .system = (char *)"*", .verdict = LB_SAFE, .reason = (char *)"so, too"}};
  scenario("a", ON(BARE "\nguards = none, fence") A_LOAD NO_SERVERS "[expect fence]\nlocal@none = safe\n");
  w->request.expect = own;
  w->request.expect_count = 1;
  w->request.systems = "local,pg-row@pg";
  make();
  assert_int_equal(w->plan.cells[0].expect->verdict, LB_SAFE);
  assert_int_equal(w->plan.cells[1].expect->verdict, LB_STUCK);
  assert_string_equal(w->plan.cells[1].expect->reason, "so");
  assert_ptr_equal(w->plan.jobs[0].plan.expect, w->plan.cells[0].expect);
  w->request.only_guards = 0;
  w->request.expect_count = 2;
  make();
  assert_int_equal(w->plan.cell_count, 4);
  assert_int_equal(w->plan.cells[3].guard, LB_GUARD_FENCE);
  assert_string_equal(w->plan.cells[3].expect->reason, "so, too");
  w->request.only_guards = 1u << LB_GUARD_NONE;
  assert_refused(
      "--expect fence=safe: no system of this run is under that guard without an expectation of the scenario");
  refuses("local",
          "--expect none=stuck: no system of this run is under that guard without an expectation of the scenario");
}

STATES(a_system_named_twice_is_one_cell, scenario("a", LOAD NO_SERVERS), gives("local,local@none,local", "local@none"));
STATES(every_scenario_gets_its_own_cells, scenario("a", ON("local@none") A_LOAD "local@none = safe\n"),
       scenario("b", ON("local@none, null@none") SOME_STEPS "local@none = safe\nnull@none = safe\n"),
       makes_systems("local@none local@none null@none"), assert_string_equal(w->plan.cells[0].scenario->name, "a"),
       assert_string_equal(w->plan.cells[1].scenario->name, "b"));
STATES(an_unknown_protocol_is_refused_with_the_nearest, scenario("a", LOAD NO_SERVERS),
       refuses("null,locla@none", "unknown protocol 'locla', did you mean 'local'?"),
       refuses("qqqqqqqqqq", "unknown protocol 'qqqqqqqqqq', expected one of `lockbench list protocols`"));
STATES(an_unknown_topology_is_refused_with_the_nearest, scenario("a", LOAD NO_SERVERS),
       refuses("redis-token@sentinle", "unknown topology 'sentinle', did you mean 'sentinel'?"),
       refuses("redis-token@qqqqqqqqqq", "unknown topology 'qqqqqqqqqq', expected one of `lockbench list topologies`"));
STATES(a_topology_that_does_not_fit_is_refused, scenario("a", LOAD NO_SERVERS),
       refuses("local@redis", "local does not run on topology 'redis', see `lockbench show local`"));
STATES(an_empty_name_is_refused, scenario("a", LOAD NO_SERVERS),
       refuses("local,", "system '': expected PROTOCOL@TOPOLOGY"),
       refuses("@none", "system '@none': expected PROTOCOL@TOPOLOGY"));

TEST(a_wrong_system_in_expect_is_refused_with_its_file) {
  char message[300];
  scenario("a", LOAD "lokal@none = safe\n");
  snprintf(message, sizeof message, "%s: [expect]: unknown protocol 'lokal', did you mean 'local'?", w->path[0]);
  assert_refused(message);
}

/* ---- guards ------------------------------------------------------------------------------------------------------ */

#define GUARDS                                                                                                         \
  "local@none = safe\nbroken@none = violated\n[expect deadline]\n* = race: it is\n[expect fence]\n"                    \
  "broken@none = violated\n"

/* As assert_systems(), each with its guard. */
static void assert_cells(const char *expected) {
  char list[1000] = "";
  for (size_t i = 0, at = 0; i < w->plan.cell_count; i++)
    at += (size_t)snprintf(list + at, sizeof list - at, "%s%s/%s", i ? " " : "", w->plan.cells[i].system,
                           lb_guard_name(w->plan.cells[i].guard));
  assert_string_equal(list, expected);
}

static void makes_cells(const char *expected) {
  make();
  assert_cells(expected);
}

static void under(enum lb_guard guard, const char *expected) {
  w->request.only_guards = 1u << guard;
  makes_cells(expected);
}

#define TWO_GUARDS ON("local@none, broken@none\nguards = none, fence") SOME_STEPS GUARDS

TEST(without_a_guard_those_that_the_scenario_names_are_run) {
  w->request.only_guards = 0;
  scenario("a", TWO_GUARDS);
  makes_cells("local@none/none broken@none/none local@none/fence broken@none/fence");
  assert_int_equal(w->plan.cells[0].expect->verdict, LB_SAFE);
  assert_int_equal(w->plan.cells[1].expect->verdict, LB_VIOLATED);
  assert_null(w->plan.cells[2].expect); /* that section speaks of another system */
  assert_int_equal(w->plan.cells[3].expect->verdict, LB_VIOLATED);
}

STATES(a_scenario_that_names_no_guard_is_run_without, scenario("a", ON("local@none") SOME_STEPS GUARDS),
       w->request.only_guards = 0, makes_cells("local@none/none"));
STATES(a_guard_of_the_request_is_the_only_one, scenario("a", TWO_GUARDS),
       under(LB_GUARD_DEADLINE, "local@none/deadline broken@none/deadline"),
       assert_int_equal(w->plan.cells[0].expect->verdict, LB_ANY),
       under(LB_GUARD_RECHECK, "local@none/recheck broken@none/recheck"), assert_null(w->plan.cells[0].expect));
STATES(systems_of_the_request_are_run_under_the_same_guards, scenario("a", TWO_GUARDS), w->request.only_guards = 0,
       w->request.systems = "null,broken",
       makes_cells("null@none/none broken@none/none null@none/fence broken@none/fence"));
STATES(a_scenario_under_a_guard_alone_does_not_run_without,
       scenario("a", ON("local@none\nguards = fence") SOME_STEPS "local@none = safe\n"), w->request.only_guards = 0,
       makes_cells("local@none/fence"));

TEST(a_wrong_system_in_a_section_of_a_guard_is_refused_with_its_file) {
  char message[300];
  w->request.only_guards = 0;
  scenario("a", STEPS "local@none = safe\n[expect fence]\nlokal@none = safe\n");
  snprintf(message, sizeof message, "%s: [expect]: unknown protocol 'lokal', did you mean 'local'?", w->path[0]);
  assert_refused(message);
}

TEST(a_job_has_the_guard_of_its_cell) {
  w->request.only_guards = 0, w->request.trials = 1;
  scenario("a", ON("local@none\nguards = none, deadline") SOME_STEPS "local@none = safe\n");
  make();
  assert_int_equal(w->plan.job_count, 2);
  assert_string_equal(w->plan.jobs[0].plan.name, "a.local@none.none.c2.t1");
  assert_int_equal(w->plan.jobs[0].plan.guard, LB_GUARD_NONE);
  assert_string_equal(w->plan.jobs[1].plan.name, "a.local@none.deadline.c2.t1");
  assert_int_equal(w->plan.jobs[1].plan.guard, LB_GUARD_DEADLINE);
}

/* ---- faults of a campaign ---------------------------------------------------------------------------------------- */

TEST(systems_and_guards_are_compared_under_the_same_faults) {
  w->request.only_guards = 0;
  scenario("a", ON("local@none, broken@none\nguards = none, fence") A_LOAD "* = safe\n");
  make();
  assert_int_equal(w->plan.job_count, 16);
  for (size_t i = 0; i < 16; i++)
    for (size_t j = 0; j < 16; j++) {
      const struct lb_trial_plan *a = &w->plan.jobs[i].plan, *b = &w->plan.jobs[j].plan;
      bool alike = a->clients == b->clients && a->trial == b->trial;
      assert_int_equal(a->fault_seed == b->fault_seed, alike);
      assert_int_equal(a->seed == b->seed, i == j);
    }
  uint64_t before = w->plan.jobs[0].plan.fault_seed;
  w->request.seed = 2;
  make();
  assert_true(w->plan.jobs[0].plan.fault_seed != before);
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

TEST(jobs_are_client_counts_times_trials) {
  scenario("a", ON("local@none, null@none") A_LOAD "local@none = safe\nnull@none = safe\n");
  make();
  static const char *const names[] = {"a.local@none.none.c1.t1", "a.local@none.none.c1.t2", "a.local@none.none.c2.t1",
                                      "a.local@none.none.c2.t2", "a.null@none.none.c1.t1",  "a.null@none.none.c1.t2",
                                      "a.null@none.none.c2.t1",  "a.null@none.none.c2.t2"};
  assert_int_equal(w->plan.job_count, 8);
  for (size_t i = 0; i < w->plan.job_count; i++) {
    const struct lb_job *job = &w->plan.jobs[i];
    assert_string_equal(job->plan.name, names[i]);
    assert_int_equal(job->cell, i / 4);
    assert_ptr_equal(job->plan.system, w->plan.cells[i / 4].system);
    assert_int_equal(job->plan.clients, i / 2 % 2 + 1);
    assert_int_equal(job->plan.trial, i % 2 + 1);
  }
}

STATES(the_number_of_trials_of_the_request_is_taken, scenario("a", ON("local@none") A_LOAD "local@none = safe\n"),
       w->request.trials = 5, make(), assert_int_equal(w->plan.job_count, 10));

TEST(every_job_has_a_seed_of_its_own_that_the_plans_seed_decides) {
  uint64_t seeds[12];
  scenario("a", ON(BARE) A_LOAD NO_SERVERS);
  make();
  assert_int_equal(w->plan.job_count, 12);
  for (size_t i = 0; i < 12; i++) {
    seeds[i] = w->plan.jobs[i].plan.seed;
    for (size_t j = 0; j < i; j++) assert_true(seeds[i] != seeds[j]);
  }
  make();
  for (size_t i = 0; i < 12; i++) assert_true(w->plan.jobs[i].plan.seed == seeds[i]);
  w->request.seed = 2;
  make();
  for (size_t i = 0; i < 12; i++) assert_true(w->plan.jobs[i].plan.seed != seeds[i]);
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

enum { JOBS = 18 }; /* of the two scenarios below: 12 measure, 6 do not */

static void make_mixed(uint64_t seed, size_t ret_order[JOBS]) {
  w->request.seed = seed;
  make();
  assert_int_equal(w->plan.job_count, JOBS);
  memcpy(ret_order, w->plan.order, JOBS * sizeof *ret_order);
}

static void mixed_scenarios(void) {
  scenario("b", ON(BARE) SOME_STEPS NO_SERVERS);
  scenario("a", ON(BARE) A_LOAD NO_SERVERS);
}

TEST(the_order_has_every_job_once_and_those_that_measure_first) {
  size_t order[JOBS];
  mixed_scenarios();
  for (uint64_t seed = 0; seed < 20; seed++) {
    bool seen[JOBS] = {false};
    make_mixed(seed, order);
    for (size_t i = 0; i < JOBS; i++) {
      assert_true(order[i] < JOBS && !seen[order[i]]);
      seen[order[i]] = true;
      assert_string_equal(w->plan.jobs[order[i]].plan.scenario->name, i < 12 ? "a" : "b");
    }
  }
}

TEST(the_same_seed_gives_the_same_order) {
  size_t first[JOBS], again[JOBS];
  mixed_scenarios();
  make_mixed(7, first);
  make_mixed(7, again);
  assert_memory_equal(first, again, sizeof first);
}

TEST(another_seed_gives_another_order_in_both_groups) {
  size_t first[JOBS], other[JOBS];
  mixed_scenarios();
  make_mixed(7, first);
  make_mixed(8, other);
  assert_memory_not_equal(first, other, 12 * sizeof *first);
  assert_memory_not_equal(first + 12, other + 12, 6 * sizeof *first);
}

/* The first trial of each before the second of any. */
TEST(those_that_measure_run_in_rounds) {
  size_t order[JOBS];
  mixed_scenarios();
  for (uint64_t seed = 0; seed < 20; seed++) {
    make_mixed(seed, order);
    for (size_t i = 0; i < 12; i++) assert_int_equal(w->plan.jobs[order[i]].plan.trial, i < 6 ? 1 : 2);
  }
}

/* Over many seeds each first trial is first about as often as any other: 6 jobs, 1200 seeds, 200 each (+- 5 sigma =
 * 65). */
TEST(any_job_may_come_first) {
  unsigned first[JOBS] = {0};
  size_t order[JOBS];
  mixed_scenarios();
  for (uint64_t seed = 0; seed < 1200; seed++) {
    make_mixed(seed, order);
    first[order[0]]++;
  }
  for (size_t i = 6; i < JOBS; i++)
    assert_in_range(first[i], w->plan.jobs[i].plan.trial == 1 ? 135 : 0, w->plan.jobs[i].plan.trial == 1 ? 265 : 0);
}

/* ---- what cannot run here ---------------------------------------------------------------------------------------- */

/* Before any trial: -1 unless `n/a` is stated. */
static int as_expected(size_t cell) {
  struct lb_tally tally;
  lb_tally_begin(&w->plan, &tally);
  int r = lb_cell_sum_as_expected(&tally.cells[cell]);
  lb_tally_clear(&tally);
  return r;
}

TEST(a_scenario_with_cuts_is_skipped_without_namespaces) {
  scenario("c", ON("redis-token@redis") CUTS "redis-token@redis = safe\n");
  scenario("b", ON("local@none") SOME_STEPS "local@none = safe\n");
  make();
  assert_int_equal(w->plan.cell_count, 2);
  assert_string_equal(w->plan.cells[0].skip,
                      "cutting links needs network namespaces: switched off by LOCKBENCH_NO_NAMESPACES=1");
  assert_int_equal(as_expected(0), -1);
  assert_string_equal(w->plan.cells[1].skip, "");
  assert_int_equal(w->plan.job_count, 2);
  for (size_t i = 0; i < w->plan.job_count; i++) assert_int_equal(w->plan.jobs[i].cell, 1);
}

STATES(a_plan_in_which_all_is_skipped_has_no_jobs, scenario("c", ON("local@none") CUTS "local@none = safe\n"), make(),
       assert_int_equal(w->plan.job_count, 0));

/* One cell, skipped for that reason; "" = not skipped. */
static void assert_skip(const char *system, const char *guard, const char *reason) {
  w->request.systems = system, w->request.only_guards = guard ? 1u << lb_guard_find(guard) : 0;
  make();
  assert_int_equal(w->plan.cell_count, 1);
  assert_string_equal(w->plan.cells[0].skip, reason);
  assert_int_equal(w->plan.job_count == 0, reason[0] != '\0');
}

static void with_steps(const char *steps) {
  char text[1000];
  snprintf(text, sizeof text, HEAD "[workload]\nclients = 2\n[timeline]\n%s[expect]\n* = safe\n", steps);
  w->count = 0;
  scenario("a", text);
}

TEST(many_clients_in_a_process_need_a_library_without_threads) {
  w->count = 0;
  scenario("a", HEAD "[workload]\nclients = 4, 256\n[expect]\n* = safe\n");
  assert_skip("local", "none", "256 clients are too many processes: expected driver=coroutine");
  SETTINGS(w, "driver=coroutine");
  assert_skip("local", "none", "");
  assert_skip("zk-ephemeral@zk", "none", "the client library of zk-ephemeral has threads of its own for each client");
}

TEST(an_open_loop_has_a_rate) {
  w->count = 0;
  scenario("a", HEAD "[workload]\nclients = 4\narrivals = poisson\n[expect]\n* = safe\n");
  w->request.systems = "local";
  assert_refused("a: an open loop has a rate: expected rate_per_s");
  SETTINGS(w, "rate_per_s=100");
  assert_skip("local", "none", "");
  const char *const skewed[] = {"rate_per_s=100", "skew=1"};
  w->request.settings = skewed, w->request.setting_count = 2;
  assert_refused("a: one lock is not chosen: expected keys=2 or more beside skew");
  const char *const closed[] = {"rate_per_s=100", "arrivals=closed"}, *const thinks[] = {"rate_per_s=100",
                                                                                         "think_ms=1"};
  w->request.settings = closed, w->request.setting_count = 2;
  assert_refused("a: a closed loop has no rate: expected arrivals=constant or poisson");
  w->request.settings = thinks;
  assert_refused("a: nobody thinks in an open loop: expected no think_ms");
}

TEST(a_guard_needs_what_it_looks_at) {
  with_steps("step = client 1 acquire within 1s\n");
  assert_skip("null", "fence", "null has no fencing token");
  assert_skip("null", "recheck", "null has no way to ask whether it still holds");
  assert_skip("null", "deadline", "");
  assert_skip("null", "none", "");
  assert_skip("local", "fence", "");
  assert_skip("local", "recheck", "");
  assert_skip("redlock@redis-x3", "fence", "redlock has no fencing token");
  assert_skip("redlock@redis-x3", "recheck", "");
  assert_skip("redis-token@redis", "fence", ""); /* by an option */
}

/* Not even a suite has an expectation of it. */
TEST(a_floor_runs_where_no_two_clients_meet_and_nothing_is_predicted_of_it) {
  static const char no_lock[] = "floor-redis is no lock: it runs without a guard where no two clients meet";
  with_steps("step = client 1 acquire within 1s\n");
  assert_skip("floor-redis@redis", "none", no_lock);
  w->count = 0;
  scenario("a", LOAD "local@none = safe\n");
  assert_skip("floor-redis@redis", "none", no_lock);
  w->count = 0;
  scenario("a", HEAD "attack = nobody-meets\nmin_handoffs = 0\n[workload]\nclients = 2\nkeys = own\n");
  assert_skip("floor-redis@redis", "deadline", no_lock);
  w->request.product = true;
  assert_skip("floor-redis@redis", "none", "");
  assert_false(w->plan.cells[0].predicted);
  assert_null(w->plan.cells[0].expect);
}

/* Two ticks: of 200 ms where faults are played, of 2 s where speed is measured. */
TEST(a_lease_shorter_than_any_session_means_nothing) {
  w->request.only_guards = 1u << LB_GUARD_NONE;
  with_steps("step = client 1 acquire within 1s\n");
  SETTINGS(w, "ttl_ms=399");
  assert_skip("zk-sequential@zk", "none", "zk grants no lease or session shorter than 400 ms");
  assert_skip("zk-sequential@zk-x3-stock", "none", "zk-x3-stock grants no lease or session shorter than 4000 ms");
  assert_skip("redis-token@redis", "none", "");
}

TEST(where_speed_is_measured_ticks_are_longer) {
  scenario("b", LOAD "* = safe\n");
  SETTINGS(w, "ttl_ms=3999");
  assert_skip("zk-sequential@zk", "none", "zk grants no lease or session shorter than 4000 ms");
}

/* A suite: nothing is missing in scenarios x systems x guards, whoever is named where. */
TEST(a_product_has_every_cell_and_says_which_of_them_mean_nothing) {
  scenario("a", STEPS "local@none = safe\n[expect fence]\nnull@none = safe\n");
  scenario("b", ON("local@none, broken@none") "[workload]\nclients = 2\n[expect]\n*@none = safe\n");
  w->request.only_guards = 0;
  w->request.systems = "null@none,local@none,broken@none";
  w->request.product = true;
  make();
  static const char *const systems[] = {"null@none", "local@none", "broken@none"};
  static const char overtakes[] = "nothing overtakes a client here, so no guard has anything to stop";
  static const char unsafe[] = "known to be unsafe: it runs only where the harness has to catch it";
  size_t n = 0;
  for (size_t s = 0; s < 2; s++) {
    for (int g = 0; g < LB_GUARD_COUNT; g++) {
      for (size_t i = 0; i < 3; i++, n++) {
        const struct lb_cell *cell = &w->plan.cells[n];
        assert_true(n < w->plan.cell_count && cell->scenario == &w->plan.scenarios[s] && (int)cell->guard == g);
        assert_string_equal(cell->system, systems[i]);
        if (s == 1 && g != LB_GUARD_NONE) assert_string_equal(cell->skip, overtakes);
        else if (i == 2 || (s == 0 && i == 0)) assert_string_equal(cell->skip, unsafe);
        else assert_string_equal(cell->skip, i == 0 ? "it is asked of a choice of locks (`systems` in its file)" : "");
        assert_int_equal(cell->means_nothing, cell->skip[0] != '\0');
      }
    }
  }
  assert_int_equal(w->plan.cell_count, n);
  w->request.systems = NULL;
  make(); /* those of the first scenario are the usual ones, and the second one names two */
  assert_string_equal(w->plan.cells[w->plan.cell_count - 1].system, "broken@none");
  w->request.guards = 1u << LB_GUARD_NONE | 1u << LB_GUARD_FENCE;
  w->request.systems = "local,redis-token@redis";
  makes_cells("local@none/none redis-token@redis/none local@none/fence redis-token@redis/fence local@none/none "
              "redis-token@redis/none local@none/fence redis-token@redis/fence");
  under(LB_GUARD_RECHECK, "local@none/recheck redis-token@redis/recheck local@none/recheck redis-token@redis/recheck");
  w->request.systems = "lokal";
  lb_plan_clear(&w->plan);
  assert_int_equal(lb_plan_load(w->paths, w->count, &w->request, &w->plan, &w->err), -EINVAL);
}

/* Of a shipped suite: what the machine does not see to mean nothing is stated by the scenario, with its reason. */
static void check_suite(const char *name) {
  struct lb_suite suite;
  char path[600], folder[600];
  size_t missing = 0;
  snprintf(path, sizeof path, LB_SOURCE_ROOT "/scenarios/suites/%s.ini", name);
  snprintf(folder, sizeof folder, LB_SOURCE_ROOT "/scenarios");
  assert_int_equal(lb_suite_load(path, folder, &suite, &w->err), 0);
  w->request = (struct lb_plan_request){.scenarios = suite.scenarios,
                                        .own_settings = (const char *const *)suite.varied,
                                        .scenario_count = suite.count,
                                        .systems = suite.systems,
                                        .own_guards = suite.own_guards,
                                        .guards = suite.guards,
                                        .guard_trials = suite.guard_trials,
                                        .product = true};
  if (lb_plan_make(&w->request, &w->plan, &w->err) < 0) fail_msg("%s", w->err.text);
  for (size_t i = 0; i < w->plan.cell_count; i++) {
    const struct lb_cell *cell = &w->plan.cells[i];
    if (cell->means_nothing ? cell->skip[0] != '\0' : cell->expect && cell->expect->reason[0]) continue;
    if (cell->protocol->traits & LB_TRAIT_FLOOR) continue; /* nothing is predicted of what is no lock */
    print_error("%s: %s %s %s: nothing is expected, or for no reason\n", name, cell->scenario->name, cell->system,
                lb_guard_name(cell->guard));
    missing++;
  }
  assert_int_equal(missing, 0);
  lb_plan_clear(&w->plan);
  lb_suite_clear(&suite);
}

TEST(every_cell_of_the_shipped_suites_has_an_expectation_with_its_reason) {
  check_suite("quick");
  check_suite("guards");
  check_suite("paper");
  check_suite("full");
  check_suite("truth");
  check_suite("flaws");
  check_suite("speed");
}

TEST(under_a_guard_a_suite_may_want_fewer_trials) {
  scenario("a", ON("local@none") SOME_STEPS "local@none = safe\n");
  w->request.only_guards = 0;
  w->request.product = true, w->request.guards = 1u << LB_GUARD_NONE | 1u << LB_GUARD_DEADLINE;
  w->request.guard_trials = 2;
  const char *setting = "trials=3";
  w->request.settings = &setting, w->request.setting_count = 1;
  make();
  assert_int_equal(w->plan.job_count, 5);
  w->request.trials = 4;
  make();
  assert_int_equal(w->plan.job_count, 8);
}

TEST(a_foreign_lock_has_to_be_named) {
  scenario(
      "a", ON("local@none") SOME_STEPS
      "local@none, peer:none-such@none = safe: also with a colon in its name\n[expect deadline]\npeer:none-such@none = n/a: so\n");
  w->request.only_guards = 0;
  make();
  assert_int_equal(w->plan.cell_count, 1); /* nor is its guard asked of others */
  assert_string_equal(w->plan.cells[0].system, "local@none");
  refuses("peer:none-such@none", "unknown protocol 'peer:none-such', expected one of `lockbench list protocols`");
}

TEST(a_line_for_servers_of_the_user_wins_over_that_of_ours) {
  scenario(
      "a", ON("redis-token@redis, redis-lua@redis") SOME_STEPS
      "redis-token@* = safe: all\nredis-token@redis = stuck: ours\nredis-lua@redis = delayed: like ours\n*@own-redis = violated: own\n"
      "[expect deadline]\nredis-token@own-redis = safe: own\n");
  w->request.only_guards = 0;
  make(); /* nobody has named such servers: what is said of them is for another run */
  assert_systems("redis-token@redis redis-lua@redis");
  assert_int_equal(w->plan.cells[0].expect->verdict, LB_STUCK);
  assert_int_equal(lb_own_add(LB_OWN_REDIS, "127.0.0.1:1", &w->err), 0);
  w->request.systems = "redis-token@own-redis,redis-lua@own-redis,redis-token@redis";
  w->request.only_guards = 1u << LB_GUARD_NONE;
  make();
  assert_int_equal(w->plan.cells[0].expect->verdict, LB_VIOLATED);
  assert_int_equal(w->plan.cells[1].expect->verdict, LB_VIOLATED);
  assert_int_equal(w->plan.cells[2].expect->verdict, LB_STUCK);
}

TEST(what_is_said_of_servers_like_them_holds_for_those_of_the_user) {
  scenario("a", ON("redis-token@redis") SOME_STEPS "redis-token@* = safe: all\nredis-token@redis = stuck: ours\n");
  w->request.systems = "redis-token@own-redis"; /* the test before has named them */
  make();
  assert_int_equal(w->plan.cells[0].expect->verdict, LB_STUCK);
}

TEST(what_means_nothing_is_as_expected_where_it_is_stated) {
  scenario(
      "a", STEPS
      "local@none = safe\n[expect fence]\nnull@none = n/a: it has none\nredlock@redis-x3 = safe\nlocal@none = n/a: so\n");
  w->request.only_guards = 1u << LB_GUARD_FENCE;
  w->request.systems = "null@none,redlock@redis-x3,local@none";
  make();
  assert_int_equal(w->plan.job_count, 0);
  static const char *const reasons[] = {"it has none", "redlock has no fencing token", "so"};
  for (size_t i = 0; i < 3; i++) {
    assert_true(w->plan.cells[i].means_nothing);
    assert_string_equal(w->plan.cells[i].skip, reasons[i]);
    assert_int_equal(as_expected(i), i == 1 ? -1 : 1);
  }
}

/* What nobody can do anything about is said before what could be installed. */
TEST(what_means_nothing_misses_nothing) {
  scenario("c", HEAD CUTS "redlock@redis-x3 = safe\n");
  w->request.systems = "redlock@redis-x3", w->request.only_guards = 1u << LB_GUARD_FENCE;
  make();
  assert_string_equal(w->plan.cells[0].skip, "redlock has no fencing token");
  assert_true(w->plan.cells[0].means_nothing);
  w->request.only_guards = 1u << LB_GUARD_NONE;
  make();
  assert_true(w->plan.cells[0].skip[0] && !w->plan.cells[0].means_nothing);
}

TEST(a_pattern_is_the_expectation_of_those_it_fits) {
  scenario(
      "a", ON("local@none, null@none\nguards = none, deadline, recheck") SOME_STEPS
      "local@none = safe: own\nnull@* = violated: p\n*=race: all\n[expect deadline recheck]\nnull@none = safe\nlo*@none = stuck\n");
  w->request.only_guards = 0;
  make();
  static const char *const wanted[][3] = {{"local@none", "none", "safe"},      {"null@none", "none", "violated"},
                                          {"local@none", "deadline", "stuck"}, {"null@none", "deadline", "safe"},
                                          {"local@none", "recheck", "stuck"},  {"null@none", "recheck", "safe"}};
  assert_int_equal(w->plan.cell_count, 6);
  for (size_t i = 0; i < 6; i++) {
    assert_string_equal(w->plan.cells[i].system, wanted[i][0]);
    assert_string_equal(lb_guard_name(w->plan.cells[i].guard), wanted[i][1]);
    assert_string_equal(lb_verdict_name(w->plan.cells[i].expect->verdict), wanted[i][2]);
  }
}

TEST(a_point_has_to_be_one_of_the_system) {
  with_steps("step = stop client 1 at after-set\nstep = client 1 acquire within 1s\n");
  assert_skip("redis-token@redis", "none", "");
  assert_skip("redlock@redis-x3", "none", "redlock has no point 'after-set', see `lockbench list points`");
  assert_skip("local", "none", "local has no point 'after-set', see `lockbench list points`");
  with_steps("step = crash client 1 at after-quorum\nstep = client 1 acquire within 1s\n");
  assert_skip("redlock@redis-x3", "none", "");
  assert_skip("redis-token@redis", "none", "redis-token has no point 'after-quorum', see `lockbench list points`");
  with_steps("step = stop client 1 at after-check\nstep = client 1 acquire within 1s\n");
  assert_skip("local", "none", ""); /* every client has it */
  with_steps("step = hang client 1 at after-check\nstep = client 1 acquire within 1s\n");
  assert_skip("redis-token@redis", "none", "");
  with_steps("step = hang client 1 at after-set\nstep = client 1 acquire within 1s\n");
  assert_skip("redis-token@redis", "none",
              "hang client 1 at after-set: that is inside a call of redis-token, where nobody could renew");
}

/* A client that asks several servers at once has none that it talks to; one without servers has none at all. */
TEST(the_server_of_a_client_needs_a_system_where_it_has_one) {
  static const char *const steps[] = {"kill server of client 1", "restart server of client 1",
                                      "observe server of client 1", "observe key on server of client 1"};
  char text[200], why[300];
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    snprintf(text, sizeof text, "step = client 1 acquire within 1s\nstep = %s\n", steps[i]);
    with_steps(text);
    snprintf(why, sizeof why, "%s: no client of redlock has one server that it talks to", steps[i]);
    assert_skip("redlock@redis-x3", "none", why);
    assert_skip("redis-token@redis", "none", "");
    assert_skip("zk-sequential@zk-x3", "none", "");
    assert_skip("pg-row@pg-async", "none", "");
  }
}

TEST(a_fault_of_a_server_needs_one) {
  setenv("LOCKBENCH_CLOCK_SHIM", "/proc/self/exe", 1);
  static const char *const faults[] = {"kill primary", "pause primary", "restart node 1", "clock node 1 +5s",
                                       "clock all rate 2"};
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    char step[100], reason[100];
    snprintf(step, sizeof step, "step = %s\n", faults[i]);
    snprintf(reason, sizeof reason, "there are no servers");
    with_steps(step);
    assert_skip("local", "none", reason);
    assert_skip("redis-token@redis", "none", "");
  }
  static const char *const of_clients[] = {"kill holder", "pause client 1", "pause waiters", "clock clients +5s"};
  for (size_t i = 0; i < sizeof of_clients / sizeof *of_clients; i++) {
    char step[100];
    snprintf(step, sizeof step, "step = client 2 acquire within 1s\nstep = %s\n", of_clients[i]);
    with_steps(step);
    assert_skip("local", "none", "");
  }
}

TEST(a_failover_and_a_node_need_servers_enough) {
  with_steps("step = kill primary\nstep = await failover within 5s\n");
  assert_skip("redis-token@redis", "none", "one server, so no failover");
  assert_skip("redis-token@sentinel", "none", "");
  with_steps("step = kill node 4\n");
  assert_skip("redlock@redis-x3", "none", "kill node 4: redis-x3 has 3 data servers");
  assert_skip("redlock@redis-x5", "none", "");
}

STATES(only_some_servers_say_that_they_left, with_steps("step = observe node 1 leaves within 1s\n"),
       assert_skip("redis-token@redis", "none", "no server here says that it has left the others"),
       assert_skip("zk-sequential@zk-x3", "none", ""));

/* A server's clock is set from inside the server; a client's needs no library. */
TEST(clocks_of_servers_need_the_clock_shim) {
  static const char why[] = "setting clocks needs the clock shim, which was not found beside the program";
  setenv("LOCKBENCH_CLOCK_SHIM", "/nowhere/shim.so", 1);
  with_steps("step = clock primary +5s\n");
  assert_skip("redis-token@redis", "none", why);
  with_steps("step = clock node 1 rate 1.5\n");
  assert_skip("redis-token@redis", "none", why);
  with_steps("step = clock client 1 +5s\n");
  assert_skip("redis-token@redis", "none", "");
  with_steps("step = clock primary +5s\n");
  setenv("LOCKBENCH_CLOCK_SHIM", "/proc/self/exe", 1);
  assert_skip("redis-token@redis", "none", "");
}

/* Of a campaign, a system without servers has only the faults of clients. */
TEST(a_campaign_asks_of_a_system_with_servers_only) {
  setenv("LOCKBENCH_CLOCK_SHIM", "/nowhere/shim.so", 1);
  scenario("a", HEAD "[workload]\nclients = 2\n[campaign]\nfault = clock node any +5s\nfault = kill holder\n[expect]\n"
                     "* = safe\n");
  assert_skip("local", "none", "");
  assert_skip("redis-token@redis", "none",
              "setting clocks needs the clock shim, which was not found beside the program");
}

/* ---- settings of scenarios --------------------------------------------------------------------------------------- */

TEST(a_setting_is_applied_to_the_scenarios_that_take_it) {
  SETTINGS(w, "duration_s=7.5", "ttl_ms=2000");
  scenario("b", STEPS "local@none = safe\n");
  scenario("a", LOAD "local@none = safe\n");
  make();
  assert_true(w->plan.scenarios[0].duration_s == 0);
  assert_true(w->plan.scenarios[1].duration_s == 7.5);
  assert_int_equal(w->plan.scenarios[0].ttl_ms, 2000);
  assert_int_equal(w->plan.scenarios[1].ttl_ms, 2000);
}

TEST(a_setting_changes_the_jobs) {
  SETTINGS(w, "clients=1, 2, 4", "trials=3");
  scenario("a", ON("local@none") A_LOAD "local@none = safe\n");
  make();
  assert_int_equal(w->plan.job_count, 9);
}

TEST(a_setting_that_no_scenario_takes_is_refused) {
  SETTINGS(w, "duration_s=7");
  scenario("b", STEPS "local@none = safe\n");
  assert_refused("-s: duration_s = 7: b has a timeline, and a timeline has no duration_s");
}

TEST(an_unknown_setting_is_refused_with_the_nearest) {
  SETTINGS(w, "duration=7");
  scenario("a", LOAD "local@none = safe\n");
  assert_int_equal(lb_plan_load(w->paths, w->count, &w->request, &w->plan, &w->err), -EINVAL);
  assert_non_null(strstr(w->err.text, "'duration', did you mean 'duration_s'?"));
}

TEST(a_bad_value_is_what_the_refusal_speaks_of) {
  SETTINGS(w, "duration_s=long");
  scenario("a", LOAD "local@none = safe\n");
  scenario("b", STEPS "local@none = safe\n");
  assert_int_equal(lb_plan_load(w->paths, w->count, &w->request, &w->plan, &w->err), -EINVAL);
  assert_non_null(strstr(w->err.text, "long"));
  assert_null(strstr(w->err.text, "timeline"));
}

TEST(a_setting_without_an_equals_sign_is_refused) {
  SETTINGS(w, "duration_s");
  scenario("a", LOAD "local@none = safe\n");
  assert_refused("-s duration_s: expected key=value or protocol.option=value");
}

TEST(a_value_that_one_scenario_refuses_is_refused) {
  SETTINGS(w, "clients=1");
  scenario("a", LOAD "local@none = safe\n");
  scenario("b", HEAD
           "[workload]\nclients = 2\n[timeline]\nstep = client 2 acquire within 1s\n[expect]\nlocal@none = safe\n");
  assert_int_equal(lb_plan_load(w->paths, w->count, &w->request, &w->plan, &w->err), -EINVAL);
  assert_non_null(strstr(w->err.text, "-s: clients = 1: b: "));
}

TEST(a_suite_changes_single_scenarios) {
  static const char *const own[] = {"trials=3 clients=1,2,4 duration_s=2", NULL, ""};
  scenario("a", ON("local@none") A_LOAD "local@none = safe\n");
  scenario("b", ON("local@none") A_LOAD "local@none = safe\n");
  scenario("c", ON("local@none") A_LOAD "local@none = safe\n");
  w->request.own_settings = own;
  make();
  assert_true(w->plan.scenarios[0].duration_s == 2);
  assert_true(w->plan.scenarios[1].duration_s == 5);
  assert_int_equal(w->plan.job_count, 9 + 4 + 4);
}

/* ---- variants ---------------------------------------------------------------------------------------------------- */

/* The names of all scenarios of the plan, with blanks between. */
static void assert_names(const char *expected) {
  char list[2000] = "";
  for (size_t i = 0, at = 0; i < w->plan.scenario_count; i++)
    at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i ? " " : "", w->plan.scenarios[i].name);
  assert_string_equal(list, expected);
}

static void makes_names(const char *expected) {
  make();
  assert_names(expected);
}

TEST(several_values_make_a_variant_of_each) {
  scenario("a", ON("local@none") A_LOAD "local@none = safe: it is\n");
  scenario("b", ON("local@none") SOME_STEPS "local@none = safe\n");
  SETTINGS(w, "hold_ms=0.5, 3", "think_ms=7");
  makes_names("a~hold_ms=0.5 a~hold_ms=3 b"); /* a timeline holds for as long as its steps say */
  assert_true(w->plan.scenarios[0].hold_ms < 0.6 && w->plan.scenarios[1].hold_ms > 2.9 &&
              w->plan.scenarios[1].think_ms > 6.9);
  assert_string_equal(w->plan.scenarios[1].base, "a");
  assert_string_equal(w->plan.scenarios[1].varied, "hold_ms=3");
  assert_null(w->plan.scenarios[2].varied);
  assert_systems("local@none local@none local@none");
  assert_string_equal(w->plan.cells[1].expect->reason, "it is");
  assert_int_equal(w->plan.job_count, 10);
  assert_string_equal(w->plan.jobs[4].plan.name, "a~hold_ms=3.local@none.none.c1.t1");
  assert_true(w->plan.jobs[0].plan.seed != w->plan.jobs[4].plan.seed);
  assert_true(w->plan.jobs[0].plan.fault_seed == w->plan.jobs[4].plan.fault_seed);
}

TEST(several_keys_make_a_variant_of_each_combination) {
  scenario("a", LOAD "local@none = safe\n");
  SETTINGS(w, "renew=no,yes", "ttl_ms=100,200", "clients=3,4");
  makes_names("a~renew=no~ttl_ms=100 a~renew=no~ttl_ms=200 a~renew=yes~ttl_ms=100 a~renew=yes~ttl_ms=200");
  assert_string_equal(w->plan.scenarios[2].varied, "renew=yes ttl_ms=100");
  assert_true(w->plan.scenarios[2].renew && w->plan.scenarios[2].ttl_ms == 100);
  assert_int_equal(w->plan.scenarios[2].client_count_count, 2); /* a list of its own */
}

/* The trials of the variants are run side by side in time: a round has one of each. */
TEST(variants_are_interleaved) {
  scenario("a", ON("local@none") A_LOAD "local@none = safe\n");
  SETTINGS(w, "hold_ms=0,1,2", "clients=1", "trials=7");
  make();
  assert_int_equal(w->plan.job_count, 21);
  for (size_t i = 0; i < 21; i += 3) {
    unsigned seen = 0;
    for (size_t k = i; k < i + 3; k++) seen |= 1u << (int)w->plan.jobs[w->plan.order[k]].plan.scenario->hold_ms;
    assert_int_equal(seen, 7);
  }
}

TEST(an_option_can_be_varied_if_all_systems_have_it) {
  scenario("a", ON("local@none, redis-token@redis") A_LOAD "local@none = safe\nredis-token@redis = safe\n");
  SETTINGS(w, "redis-token.fence=no,yes");
  w->request.systems = "redis-token";
  makes_names("a~fence=no a~fence=yes");
  assert_string_equal(w->plan.scenarios[1].varied, "redis-token.fence=yes");
  const struct lb_option *option = w->plan.cells[0].protocol->options;
  size_t at = 0;
  while (strcmp(option[at].name, "fence") != 0) at++;
  assert_false(w->plan.cells[0].options[at].b);
  assert_true(w->plan.cells[1].options[at].b);
  refuses(
      "redis-token,local",
      "-s redis-token.fence=no: a run that varies an option is of its protocol alone (-b redis-token), this one has local@none");
}

TEST(the_last_setting_of_a_key_counts) {
  scenario("a", LOAD "local@none = safe\n");
  SETTINGS(w, "hold_ms=1,2", "hold_ms=3");
  makes_names("a");
  assert_true(w->plan.scenarios[0].hold_ms > 2.9);
  const char *const other[] = {"hold_ms=3", "hold_ms=1,2"};
  w->request.settings = other;
  makes_names("a~hold_ms=1 a~hold_ms=2");
}

TEST(a_suite_may_vary_a_scenario_and_the_user_may_take_it_back) {
  scenario("a", LOAD "local@none = safe\n");
  scenario("b", LOAD "local@none = safe\n");
  const char *const own[] = {"hold_ms=0,10 think_ms=5", NULL};
  w->request.own_settings = own;
  makes_names("a~hold_ms=0 a~hold_ms=10 b");
  assert_true(w->plan.scenarios[1].think_ms > 4.9 && w->plan.scenarios[1].hold_ms > 9.9);
  SETTINGS(w, "hold_ms=3");
  makes_names("a b");
  assert_true(w->plan.scenarios[0].hold_ms > 2.9 && w->plan.scenarios[1].hold_ms > 2.9);
}

/* One of two lists is replaced, and the other one stays. */
TEST(the_user_may_vary_otherwise_what_a_suite_varies) {
  static const char *const own[] = {"hold_ms=0,10 think_ms=5,6"};
  scenario("a", LOAD "local@none = safe\n");
  w->request.own_settings = own;
  SETTINGS(w, "hold_ms=1,2");
  makes_names("a~think_ms=5~hold_ms=1 a~think_ms=5~hold_ms=2 a~think_ms=6~hold_ms=1 a~think_ms=6~hold_ms=2");
}

/* Keys that only fit together may be set in any order: what they say together is checked once. */
TEST(settings_are_checked_when_all_are_there) {
  scenario("a", LOAD "local@none = safe\n");
  SETTINGS(w, "readers=3", "clients=4");
  make();
  assert_int_equal(w->plan.scenarios[0].readers, 3);
  w->request.setting_count = 1;
  lb_plan_clear(&w->plan);
  assert_int_equal(lb_plan_load(w->paths, w->count, &w->request, &w->plan, &w->err), -EINVAL);
  assert_non_null(strstr(w->err.text, "-s: readers = 3: a: "));
}

TEST(lists_that_make_no_sense_are_refused) {
  static const struct {
    const char *setting, *message;
  } bad[] = {{"hold_ms=1,1", "-s hold_ms: 1 stands there twice"},
             {"hold_ms=1,", "-s hold_ms: '' is no value"},
             {"hold_ms=1,x", "-s: hold_ms = x: expected a number from 0 to 3600000"},
             {"keys=own,1/2", "-s keys: '1/2' is no value"},
             {"hold_ms=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16", "-s hold_ms: expected at most 16 values"},
             {"redis-token.fence=no,maybe", "-s redis-token.fence=maybe: expected yes or no"},
             {"trials=1,2", "-s: trials = 1,2: expected a whole number from 1 to 10000"},
             {"every_ms=100,200", "-s every_ms: no scenario of this run has such a key"}};
  scenario("a", LOAD "local@none = safe\n");
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    w->request.settings = &bad[i].setting, w->request.setting_count = 1;
    assert_refused(bad[i].message);
  }
}

TEST(too_many_variants_are_refused) {
  scenario("a", LOAD "local@none = safe\n");
  SETTINGS(w, "hold_ms=0,1,2,3,4", "think_ms=0,1,2,3,4", "wait_ms=1,2,3");
  char message[300];
  snprintf(message, sizeof message, "-s: 75 variants of %s, expected at most 64", w->path[0]);
  assert_refused(message);
}

TEST(settings_of_the_user_come_after_those_of_the_suite) {
  static const char *const own[] = {"trials=3 ttl_ms=700", NULL};
  SETTINGS(w, "ttl_ms=900");
  scenario("a", ON("local@none") SOME_STEPS "local@none = safe\n");
  scenario("b", ON("local@none") SOME_STEPS "local@none = safe\n");
  w->request.own_settings = own;
  make();
  assert_int_equal(w->plan.scenarios[0].trials, 3);
  assert_int_equal(w->plan.scenarios[1].trials, 2);
  assert_int_equal(w->plan.scenarios[0].ttl_ms, 900);
  w->request.trials = 1;
  make();
  assert_int_equal(w->plan.job_count, 2);
}

TEST(settings_of_a_suite_that_do_not_fit_are_refused) {
  const char *own[] = {NULL, "trials=3 duration_s=2"};
  scenario("a", LOAD "local@none = safe\n");
  scenario("b", STEPS "local@none = safe\n");
  w->request.own_settings = own;
  assert_refused("-s: duration_s = 2: b has a timeline, and a timeline has no duration_s");
  own[1] = "trials=none";
  assert_int_equal(lb_plan_load(w->paths, w->count, &w->request, &w->plan, &w->err), -EINVAL);
  assert_non_null(strstr(w->err.text, "trials = none"));
  own[1] = "trials=3 alone";
  assert_refused("b: 'alone': expected key=value");
  own[1] = "trils=3 trials=4"; /* the first one counts */
  assert_int_equal(lb_plan_load(w->paths, w->count, &w->request, &w->plan, &w->err), -EINVAL);
  assert_non_null(strstr(w->err.text, "'trils', did you mean 'trials'?"));
}

/* ---- options of protocols ---------------------------------------------------------------------------------------- */

STATES(options_have_their_defaults,
       scenario("a", ON("broken@none, pg-row@pg, local@none") A_LOAD
                "broken@none = violated\npg-row@pg = safe\nlocal@none = safe\n"),
       make(), assert_true(w->plan.cells[0].options[0].f == 0.05), assert_int_equal(w->plan.cells[1].options[0].i, 100),
       assert_non_null(w->plan.cells[2].options));

TEST(an_option_is_set_for_its_protocol_only_and_the_last_one_counts) {
  SETTINGS(w, "broken.rate=0.9", "pg-row.lock_wait_ms=250", "broken.rate=0.5");
  scenario("a", ON("broken@none, pg-row@pg, redlock@redis-x5") A_LOAD
           "broken@none = violated\npg-row@pg = safe\nredlock@redis-x5 = safe\n");
  make();
  assert_true(w->plan.cells[0].options[0].f == 0.5);
  assert_int_equal(w->plan.cells[1].options[0].i, 250);
  assert_int_equal(w->plan.cells[2].options[0].i, 50);
  assert_ptr_equal(w->plan.jobs[0].plan.options, w->plan.cells[0].options);
}

/* Each for its own scenario. */
TEST(an_option_of_the_scenario_counts_unless_the_user_sets_it) {
  scenario(
      "a",
      ON("broken@none, pg-row@pg") "[workload]\nclients = 1\noption = broken.rate=0.9\noption = pg-row.lock_wait_ms=250\n[expect]\nbroken@none = violated\npg-row@pg = safe\n");
  scenario("b", ON("broken@none") A_LOAD "broken@none = violated\n");
  make();
  assert_true(w->plan.cells[0].options[0].f == 0.9);
  assert_int_equal(w->plan.cells[1].options[0].i, 250);
  assert_true(w->plan.cells[2].options[0].f == 0.05);
  SETTINGS(w, "broken.rate=0.5");
  make();
  assert_true(w->plan.cells[0].options[0].f == 0.5);
  assert_int_equal(w->plan.cells[1].options[0].i, 250);
}

TEST(a_wrong_option_of_a_scenario_is_refused_with_its_file) {
  char message[300];
  scenario("a", HEAD "[workload]\nclients = 1\noption = broken.rat=0.9\n[expect]\nlocal@none = safe\n");
  snprintf(message, sizeof message, "%s: option = broken.rat: broken has no option 'rat', did you mean 'rate'?",
           w->path[0]);
  assert_refused(message);
}

TEST(yes_and_no_are_the_values_of_a_switch) {
  static const struct lb_option options[] = {{"a", LB_OPT_BOOL, 1, 0, 1, "a"},
                                             {"b", LB_OPT_BOOL, 0, 0, 1, "b"},
                                             {"c", LB_OPT_BOOL, 1, 0, 1, "c"},
                                             {.name = NULL}};
  static const char *const settings[] = {"p.a=no", "p.b=yes", "q.c=no"};
  const struct lb_protocol protocol = {.name = "p", .options = options};
  union lb_value *values = lb_settings_options(&protocol, settings, 3);
  assert_non_null(values);
  assert_false(values[0].b);
  assert_true(values[1].b);
  assert_true(values[2].b);
  free(values);
}

TEST(a_choice_is_the_index_of_its_word_and_a_text_is_as_it_stands) {
  static const char *const words[] = {"one", "two", "three", NULL};
  static const struct lb_option options[] = {
      {.name = "a", .type = LB_OPT_CHOICE, .def = 1, .words = words, .help = "a"},
      {.name = "b", .type = LB_OPT_CHOICE, .def = 1, .words = words, .help = "b"},
      {.name = "c", .type = LB_OPT_TEXT, .max = 9, .text = "", .help = "c"},
      {.name = "d", .type = LB_OPT_TEXT, .max = 9, .text = "rest", .help = "d"},
      {.name = NULL}};
  static const char *const settings[] = {"p.b=three", "p.c=x=y.z", "q.d=no"};
  const struct lb_protocol protocol = {.name = "p", .options = options};
  union lb_value *values = lb_settings_options(&protocol, settings, 3);
  assert_non_null(values);
  assert_int_equal(values[0].i, 1);
  assert_int_equal(values[1].i, 2);
  assert_string_equal(values[2].text, "x=y.z");
  assert_string_equal(values[3].text, "rest");
  free(values);
}

static int never_waits(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  (void)s, (void)lock, (void)grant, (void)deadline;
  return LB_TIMEOUT;
}

TEST(the_pause_of_who_polls_is_an_option_behind_its_own) {
  static const struct lb_option options[] = {{"a", LB_OPT_BOOL, 1, 0, 1, "a"}, {.name = NULL}};
  static const char *const settings[] = {"p.poll_ms=100"};
  struct lb_protocol protocol = {.name = "p", .options = options, .poll_ms = 7};
  union lb_value *set = lb_settings_options(&protocol, settings, 1), *unset = lb_settings_options(&protocol, NULL, 0);
  assert_non_null(set);
  assert_non_null(unset);
  assert_true(set[0].b);
  assert_int_equal(lb_poll_ms(&protocol, set), 100);
  assert_int_equal(lb_poll_ms(&protocol, unset), 7);
  assert_null(lb_option_at(&protocol, 2));
  protocol.wait = never_waits;
  assert_null(lb_option_find(&protocol, "poll_ms"));
  free(set);
  free(unset);
}

static bool fence_option(const struct lb_cell *cell) {
  size_t i = 0;
  while (strcmp(cell->protocol->options[i].name, "fence") != 0) i++;
  return cell->options[i].b;
}

TEST(the_guard_fence_switches_on_the_option_of_that_name) {
  SETTINGS(w, "redis-token.fence=no");
  w->request.only_guards = 0, w->request.systems = "redis-token@redis,broken";
  scenario("a", ON("local@none\nguards = none, deadline, recheck, fence") SOME_STEPS "* = safe\n");
  for (w->request.setting_count = 0; w->request.setting_count <= 1; w->request.setting_count++) {
    make();
    assert_int_equal(w->plan.cell_count, 8);
    for (size_t i = 0; i < 8; i += 2)
      assert_int_equal(fence_option(&w->plan.cells[i]), w->plan.cells[i].guard == LB_GUARD_FENCE);
    assert_true(w->plan.cells[7].options[0].f == 0.05); /* of another protocol, whatever it is called */
  }
}

TEST(the_option_fence_can_be_had_without_the_guard) {
  SETTINGS(w, "redis-token.fence=yes");
  w->request.systems = "redis-token@redis";
  scenario("a", STEPS "local@none = safe\n");
  make();
  assert_true(fence_option(&w->plan.cells[0]));
}

TEST(options_that_are_wrong_are_refused) {
  static const char *const cases[][2] = {
      {"brokn.rate=1", "-s brokn.rate: unknown protocol 'brokn', did you mean 'broken'?"},
      {"qqqqqqqqq.rate=1", "-s qqqqqqqqq.rate: unknown protocol 'qqqqqqqqq'"},
      {"broken.rat=1", "-s broken.rat: broken has no option 'rat', did you mean 'rate'?"},
      {"broken.qqqqqqqq=1", "-s broken.qqqqqqqq: broken has no option 'qqqqqqqq', see `lockbench show broken`"},
      {"local.rate=1", "-s local.rate: local has no option 'rate', see `lockbench show local`"},
      {"broken.rate=1.5", "-s broken.rate=1.5: expected a number from 0 to 1"},
      {"broken.rate=", "-s broken.rate=: expected a number from 0 to 1"},
      {"broken.rate=nan", "-s broken.rate=nan: expected a number from 0 to 1"},
      {"broken.rate=0.1x", "-s broken.rate=0.1x: expected a number from 0 to 1"},
      {"pg-row.lock_wait_ms=1.5", "-s pg-row.lock_wait_ms=1.5: expected a whole number from 1 to 60000"},
      {"pg-row.lock_wait_ms=0", "-s pg-row.lock_wait_ms=0: expected a whole number from 1 to 60000"}};
  scenario("a", LOAD "local@none = safe\n");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    SETTINGS(w, cases[i][0]);
    assert_refused(cases[i][1]);
  }
}

TEST(the_ends_of_a_range_belong_to_it) {
  SETTINGS(w, "broken.rate=1", "pg-row.lock_wait_ms=60000");
  scenario("a", ON("local@none, broken@none, pg-row@pg") A_LOAD
           "local@none = safe\nbroken@none = violated\npg-row@pg = safe\n");
  make();
}

TEST(a_setting_that_nobody_reads_is_refused) {
  SETTINGS(w, "broken.rate=1");
  scenario("a", LOAD "local@none = safe\n");
  assert_refused("-s broken.rate=1: no system of this run is of protocol broken");
  w->request.systems = "local,broken";
  make();
}

/* ---- scenarios --------------------------------------------------------------------------------------------------- */

/* Their cells and files would have the same names. */
TEST(a_scenario_that_is_named_twice_is_refused) {
  char message[400];
  scenario("a", LOAD "local@none = safe\n");
  scenario("b", LOAD "local@none = safe\n");
  scenario("a", LOAD "null@none = safe\n");
  snprintf(message, sizeof message, "scenario 'a' is named twice (%s and %s): expected each once", w->path[0],
           w->path[2]);
  assert_refused(message);
}

TEST(a_scenario_that_cannot_be_read_is_refused) {
  scenario("a", LOAD "local@none = safe\n");
  scenario("b", "nonsense\n");
  assert_int_equal(lb_plan_load(w->paths, w->count, &w->request, &w->plan, &w->err), -EINVAL);
  assert_non_null(strstr(w->err.text, w->path[1]));
  assert_int_equal(unlink(w->path[1]), 0);
  assert_int_equal(lb_plan_load(w->paths, w->count, &w->request, &w->plan, &w->err), -ENOENT);
  assert_non_null(strstr(w->err.text, w->path[1]));
}

static int before_all(void **state) {
  (void)state;
  struct lb_error err_known;
  if (lb_system_load_known(LB_SOURCE_ROOT, &err_known) < 0) return fprintf(stderr, "%s\n", err_known.text), 1;
  setenv("LOCKBENCH_NO_NAMESPACES", "1", 1); /* before the first question, whose answer is kept */
  return install_servers(state);
}

GROUP(before_all, remove_servers);
