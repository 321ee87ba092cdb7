/* test: compute, table */
/* SPDX-License-Identifier: MIT
 *
 * The rules of this tree over the whole table: every scenario, on every system of the groups, of every library and
 * without servers, under every guard. Each rule, each word that a lock states and each exception has to make a
 * difference there, and each scenario to tell two locks apart. A cell counts if it can be put at all (plan/fit.h),
 * whether or not `systems` or `guards` of its scenario leave it out of a suite.
 */

#include "test.h"
#include "backends/foreign/foreign.h"
#include "backends/registry.h"
#include "base/files.h"
#include "base/ini.h"
#include "plan/fit.h"
#include "plan/system.h"
#include "plan/peers.h"
#include "plan/plan.h"
#include "scratch.h"
#include "theory/facts.h"
#include "theory/facts_cell.h"
#include "theory/versions.h"

enum { FILES_MAX = 300, EXCEPTIONS_MAX = 320 /* most are of libraries */, OF_RULES_PERCENT = 95 };

struct row {
  const struct lb_cell *cell;
  struct lb_facts facts;
};

static struct lb_plan plans[FILES_MAX]; /* one for each scenario */
static size_t plan_count, row_count;
static struct row *rows; /* those that can be put */
static struct lb_error err;

/* ---- the table --------------------------------------------------------------------------------------------------- */

static const char *root(void) { return getenv("LB_SOURCE_DIR"); }

static bool can_be_put(const struct lb_cell *cell) {
  char why[300];
  return lb_fit(cell, why, sizeof why) != LB_NA;
}

static int add_file(const char *path) {
  struct lb_plan *plan = &plans[plan_count];
  struct lb_plan_request request = {.systems = "all,peers,museum,broken@none,local@none,null@none", .product = true};
  if (plan_count == FILES_MAX) return lb_refuse(&err, "%s: expected at most %d scenarios", path, FILES_MAX);
  if (lb_plan_load(&path, 1, &request, plan, &err) < 0) return -1;
  struct row *grown = realloc(rows, (row_count + plan->cell_count) * sizeof *rows);
  if (!grown) return -1;
  rows = grown;
  plan_count++;
  for (size_t i = 0; i < plan->cell_count; i++) {
    const struct lb_cell *cell = &plan->cells[i];
    if (!can_be_put(cell)) continue;
    rows[row_count].cell = cell;
    lb_facts_of(cell->protocol, cell->options, cell->topology, cell->scenario, &rows[row_count++].facts);
  }
  return 0;
}

static int add_folder(const char *name) {
  char folder[1100], **names, **paths;
  size_t count;
  snprintf(folder, sizeof folder, "%s/scenarios%s", root(), name);
  int r = lb_scenario_list(folder, &names, &paths, &count);
  if (r < 0) return r;
  for (size_t i = 0; i < count; i++) {
    if (r == 0) r = add_file(paths[i]);
    free(names[i]);
    free(paths[i]);
  }
  free(names);
  free(paths);
  return r;
}

static int load(const char *name, int (*read)(const char *path, struct lb_error *err)) {
  char path[1100];
  snprintf(path, sizeof path, "%s/scenarios/theory/%s", root(), name);
  return read(path, &err);
}

static int make_table(void **state) {
  (void)state;
  setenv("LOCKBENCH_VERSIONS", "etcd 3.4.23", 1); /* whatever is installed here */
  if (lb_peers_load(root(), &err) < 0 || load("rules.ini", lb_theory_load) < 0 ||
      load("versions.ini", lb_versions_load) < 0 || load("systems.ini", lb_system_groups_load) < 0)
    return fprintf(stderr, "%s\n", err.text), -1;
  if (add_folder("") < 0 || add_folder("/museum") < 0 || add_folder("/peers") < 0)
    return fprintf(stderr, "%s\n", err.text), -1;
  return 0;
}

static int clear_table(void **state) {
  (void)state;
  for (size_t i = 0; i < plan_count; i++) lb_plan_clear(&plans[i]);
  free(rows);
  return 0;
}

/* The prediction with other facts; what no rule decides is LB_VERDICT_NONE. */
static struct lb_prediction predict(const struct row *row, const struct lb_facts *facts) {
  struct lb_prediction p = {.verdict = LB_VERDICT_NONE, .reason = ""};
  lb_theory_predict(row->cell->scenario->attack, facts, row->cell->guard, &p);
  return p;
}

static bool differs(const struct lb_prediction *a, const struct lb_prediction *b) {
  return a->verdict != b->verdict || strcmp(a->reason, b->reason) != 0;
}

TEST(the_table_is_there) {
  assert_true(plan_count > 80);
  assert_true(row_count > 10000);
  for (size_t i = 0; i < plan_count; i++) assert_true(plans[i].cell_count > 0);
}

/* Scenarios state few systems: a suite that names none would ask nobody. */
TEST(a_suite_without_systems_is_of_the_usual_ones) {
  char path[1100], wanted[4000];
  const char *file = path;
  struct lb_plan plan;
  struct lb_plan_request request = {.product = true, .only_guards = 1u << LB_GUARD_NONE};
  size_t usual = 1;
  snprintf(path, sizeof path, "%s/scenarios/failover/failover.ini", root());
  if (lb_plan_load(&file, 1, &request, &plan, &err) < 0) fail_msg("%s", err.text);
  for (const char *at = lb_system_group("standard"); *at; at++) usual += *at == ',';
  assert_int_equal(plan.cell_count, usual);
  for (size_t i = 0; i < plan.cell_count; i++) {
    snprintf(wanted, sizeof wanted, ",%s,", lb_system_group("standard"));
    char system[100];
    snprintf(system, sizeof system, ",%s,", plan.cells[i].system);
    assert_non_null(strstr(wanted, system));
  }
  lb_plan_clear(&plan);
}

/* Whoever names no system still puts the question. */
TEST(every_scenario_is_asked_of_somebody) {
  size_t unasked = 0;
  for (size_t i = 0; i < plan_count; i++) {
    const char *path = plans[i].scenarios[0].path;
    struct lb_plan plan;
    struct lb_plan_request request = {0};
    size_t asked = 0;
    if (lb_plan_load(&path, 1, &request, &plan, &err) < 0) fail_msg("%s", err.text);
    for (size_t c = 0; c < plan.cell_count; c++) asked += can_be_put(&plan.cells[c]) && !plan.cells[c].means_nothing;
    bool of_libraries = plans[i].scenarios[0].systems && strncmp(plans[i].scenarios[0].systems, "peer:", 5) == 0;
    if (!asked && !of_libraries) print_error("%s: nobody is asked\n", path), unasked++;
    lb_plan_clear(&plan);
  }
  assert_int_equal(unasked, 0);
}

TEST(every_cell_has_a_rule) {
  size_t without = 0;
  for (size_t i = 0; i < row_count; i++)
    if (rows[i].cell->scenario->attack && !rows[i].cell->predicted && without++ < 10)
      print_error("%s %s: no rule of [%s] holds\n", rows[i].cell->scenario->name, rows[i].cell->system,
                  rows[i].cell->scenario->attack);
  assert_int_equal(without, 0);
}

/* ---- rules ------------------------------------------------------------------------------------------------------- */

/* Rules that no lock of this table needs, and a user's own may. */
static const struct {
  const char *attack, *begins;
} for_others[] = {
    {"grant-answer-lost", "lost=forgotten "}, /* only one library forgets, on one topology: an exception says so */
    {"release-between", "release=blind "},    /* the blind locks here have no point between a look and the delete */
    {"loser-changes-record",
     "-> n/a"}, /* only one lock here has the point; without a default nothing is said of another one that has */
    {"server-gone", "copies=later heard=perhaps "}, /* server-lost waits, and failover-confirmed is of another attack */
    /* Each scenario here cuts its client off from a minority first. */
    {"power-lost", "votes=strangers reached=all "}, {"memory-full", "votes=strangers reached=all "},
    {"memory-full-any", "votes=strangers reached=all "}, {"server-clock-fast", "votes=strangers reached=all "},
    {"deposed-stopped", "deposed=asks "}, /* etcd from 3.4.31 and 3.5.13 on: this table is of an earlier one */
    {"deposed-stalled", "deposed=asks "},
