/* test: compute, table */
/* SPDX-License-Identifier: MIT
 *
 * A run of many cells ends in one screen, however large it is and whatever went wrong.
 */
#include "test.h"
#include "scenario/scenario.h"
#include "scenario/suite.h"
#include "network/sandbox.h"
#include "plan/system.h"
#include "show/screen.h"
#include "skip.h"

enum { AFTER = 1 };

static struct lb_plan plan;
static struct lb_tally tally;
static char text[100000];

static void make(const char *suite_name) {
  struct lb_error err;
  char path[1200];
  struct lb_suite suite;
  snprintf(path, sizeof path, LB_SOURCE_ROOT "/scenarios/suites/%s.ini", suite_name);
  if (lb_suite_load(path, LB_SOURCE_ROOT "/scenarios", &suite, &err) < 0) fail_msg("%s", err.text);
  struct lb_plan_request request = {.scenarios = suite.scenarios,
                                    .own_settings = (const char *const *)suite.varied,
                                    .own_guards = suite.own_guards,
                                    .scenario_count = suite.count,
                                    .systems = suite.systems,
                                    .product = true,
                                    .guards = suite.guards,
                                    .seed = 1};
  if (lb_plan_make(&request, &plan, &err) < 0) fail_msg("%s", err.text);
  lb_tally_begin(&plan, &tally);
  lb_suite_clear(&suite);
}

static int clear(void **state) {
  (void)state;
  lb_tally_clear(&tally);
  lb_plan_clear(&plan);
  return 0;
}
EACH(NULL, clear);

static void end(size_t i, enum lb_verdict verdict) {
  struct lb_outcome outcome = {.verdict = verdict, .counters = {.double_holds = verdict == LB_VIOLATED}};
  if (!plan.cells[i].skip[0]) lb_cell_sum_add(&tally.cells[i], &outcome);
}

/* As it is expected of each. */
static void end_all(void) {
  for (size_t i = 0; i < plan.cell_count; i++) {
    const struct lb_expect *expect = plan.cells[i].expect;
    end(i, expect && expect->verdict <= LB_DELAYED ? expect->verdict : LB_SAFE);
  }
}

static size_t first_cell(enum lb_verdict verdict) {
  for (size_t i = 0; i < plan.cell_count; i++)
    if (tally.cells[i].verdict == verdict && plan.cells[i].expect) return i;
  fail_msg("no such cell");
  return 0;
}

static const char *shown(const char *verdict) {
  memset(text, 0, sizeof text);
  FILE *out = fmemopen(text, sizeof text - 1, "w");
  unsetenv("COLUMNS");
  lb_screen_print(&(struct lb_screen){&tally, verdict, "/results/x", "Longer: something", AFTER}, out);
  fclose(out);
  return text;
}

static void assert_is_a_screen(const char *at) {
  size_t lines = 0;
  for (const char *line = at, *stop; (stop = strchr(line, '\n')); line = stop + 1, lines++) {
    if (stop - line > LB_SCREEN_COLUMNS) fail_msg("%d columns: %.*s", (int)(stop - line), (int)(stop - line), line);
    if (stop > line && stop[-1] == ' ') fail_msg("ends with a blank: %.*s", (int)(stop - line), line);
  }
  if (lines + AFTER > LB_SCREEN_LINES) fail_msg("%zu lines:\n%s", lines, at);
}

static void assert_has(const char *part) {
  if (!strstr(text, part)) fail_msg("missing: %s\nin:\n%s", part, text);
}

TEST(the_default_suite_is_shown_whole) {
  if (lb_isolation_probe()->kind == LB_ISOLATION_NONE) SKIP("what needs links is skipped without namespaces");
  make("quick");
  end_all();
  assert_is_a_screen(shown("as expected: counts"));
  if (strstr(text, "left out")) fail_msg("%s", text);
  for (size_t i = 0; i < plan.cell_count; i++) assert_has(plan.cells[i].system);
  assert_has("explain /results/x failover.redis-token@sentinel\n");
  assert_has("Longer: something\n");
}

/* A line for each of many is too much: some are named, and the rest is counted. */
TEST(what_is_wrong_comes_first) {
  make("quick");
  end_all();
  size_t i = first_cell(LB_SAFE);
  end(i, LB_VIOLATED);
  shown("NOT as expected: counts");
  assert_is_a_screen(text);
  const char *second = strchr(text, '\n') + 1;
  char begin[200];
  snprintf(begin, sizeof begin, "! %s %s", plan.cells[i].scenario->name, plan.cells[i].system);
  if (strncmp(second, begin, strlen(begin)) != 0) fail_msg("expected '%s' in the second line of\n%s", begin, text);
  snprintf(begin, sizeof begin, "explain /results/x %s.%s\n", plan.cells[i].scenario->name, plan.cells[i].system);
  assert_has(begin);
}

/* Numbers that repeat are no two holders. */
TEST(lost_is_said_of_two_holders_only) {
  make("quick");
  size_t i = 0;
  while (plan.cells[i].skip[0] || plan.cells[i].guard != LB_GUARD_NONE ||
         strcmp(plan.cells[i].system, "redis-token@redis") != 0)
    i++;
  lb_cell_sum_add(&tally.cells[i], &(struct lb_outcome){.verdict = LB_VIOLATED, .counters = {.token_regressions = 1}});
  shown("as expected: counts");
  assert_is_a_screen(text);
  assert_has(" DATA! ");
  assert_has("None of 1 lock lost exclusion");
  if (strstr(text, "LOST")) fail_msg("%s", text);
}

/* Nobody hands over where each client has a lock of its own: a column of zeros. */
TEST(speed_of_clients_that_never_meet_is_in_grants) {
  static const char *const spread[] = {LB_SOURCE_ROOT "/scenarios/speed/spread.ini"};
  struct lb_plan_request request = {.systems = "local@none", .seed = 1};
  struct lb_error err;
  if (lb_plan_load(spread, 1, &request, &plan, &err) < 0) fail_msg("%s", err.text);
  lb_tally_begin(&plan, &tally);
  for (size_t i = 0; i < plan.job_count; i++)
    lb_tally_add(&tally, &tally.jobs[i],
                 &(struct lb_outcome){.verdict = LB_SAFE, .counters = {.grants = 1, .grants_per_s = 4321}});
  shown("as expected: counts");
  assert_has(" 4321");
  assert_has("number: grants/s with the most clients");
}

TEST(the_largest_suites_have_one_screen) {
  static const char *const suites[] = {"guards", "truth", "full", "speed", "flaws", "paper"};
  char verdict[2000];
  memset(verdict, 'v', sizeof verdict - 1), verdict[sizeof verdict - 1] = '\0';
  for (size_t k = 5; k < sizeof verdict; k += 9) verdict[k] = ' ';
  verdict[sizeof verdict - 1] = '\0';
  for (size_t s = 0; s < sizeof suites / sizeof *suites; s++) {
    make(suites[s]);
    assert_is_a_screen(shown("nothing was run yet"));
    end_all();
    assert_is_a_screen(shown("as expected: counts"));
    for (size_t i = 0; i < plan.cell_count; i++)
      end(i, i % 3 == 0 ? LB_UNDECIDED : i % 3 == 1 ? LB_VIOLATED : LB_STUCK);
    assert_is_a_screen(shown(verdict));
    clear(state);
  }
}

static int before_all(void **state) {
  (void)state;
  struct lb_error err_known;
  if (lb_system_load_known(LB_SOURCE_ROOT, &err_known) < 0) return fprintf(stderr, "%s\n", err_known.text), 1;
  return 0;
}

GROUP(before_all, NULL);
