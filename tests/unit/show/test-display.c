/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * What a person sees of a run: every line fits the terminal, nothing that ran is missing, and what is not as expected
 * is marked and explained.
 */
#include "test.h"
#include "show/display.h"

enum { CELLS = 400, SCENARIOS = 20, WIDTH = 120 };

static struct lb_scenario scenarios[SCENARIOS];
static struct lb_cell cells[CELLS];
static const struct lb_protocol some;
static char names[SCENARIOS][40];
static struct lb_cell_sum sums[CELLS];
static struct lb_plan plan;
static struct lb_tally tally;

static int clear(void **state) {
  (void)state;
  memset(scenarios, 0, sizeof scenarios);
  memset(cells, 0, sizeof cells);
  memset(sums, 0, sizeof sums);
  unsetenv("COLUMNS"); /* of the shell that calls the tests */
  plan = (struct lb_plan){.scenarios = scenarios, .cells = cells};
  tally = (struct lb_tally){.plan = &plan, .cells = sums};
  return 0;
}
EACH(clear, NULL);

static struct lb_scenario *scenario(const char *name) {
  struct lb_scenario *s = &scenarios[plan.scenario_count];
  snprintf(names[plan.scenario_count++], sizeof names[0], "%s", name);
  s->name = names[plan.scenario_count - 1];
  s->ttl_ms = 1000;
  return s;
}

/* A cell in which k of n trials ended like this and the rest was safe. */
static struct lb_cell_sum *cell(struct lb_scenario *s, const char *system, enum lb_guard guard, enum lb_verdict verdict,
                                int k, int n) {
  struct lb_cell *planned = &cells[plan.cell_count];
  struct lb_cell_sum *c = &sums[plan.cell_count++];
  assert_true(plan.cell_count <= CELLS);
  *planned = (struct lb_cell){.scenario = s, .protocol = &some, .guard = guard};
  snprintf(planned->system, sizeof planned->system, "%s", system);
  *c = (struct lb_cell_sum){.cell = planned, .verdict = verdict, .trials = n};
  if (verdict == LB_VIOLATED) c->violated = k;
  else if (verdict == LB_STUCK) c->stuck = k;
  else if (verdict == LB_UNDECIDED) c->undecided = k;
  c->safe = n - c->violated - c->stuck - c->undecided;
  return c;
}

static void expect(const struct lb_cell_sum *sum, const struct lb_expect *expected) {
  cells[sum - sums].expect = expected;
}

static const char *printed(void (*print)(const struct lb_tally *, FILE *)) {
  static char text[60000];
  memset(text, 0, sizeof text);
  FILE *out = fmemopen(text, sizeof text - 1, "w");
  assert_non_null(out);
  print(&tally, out);
  fclose(out);
  return text;
}

static void assert_has(const char *text, const char *part) {
  if (!strstr(text, part)) fail_msg("missing: %s\nin:\n%s", part, text);
}

static void assert_has_not(const char *text, const char *part) {
  if (strstr(text, part)) fail_msg("unwanted: %s\nin:\n%s", part, text);
}

static void assert_fits(const char *text) {
  const char *columns = getenv("COLUMNS");
  int width = columns ? atoi(columns) : WIDTH;
  for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
    if (end - text > width) fail_msg("%d columns: %.*s", (int)(end - text), (int)(end - text), text);
    if (end > text && end[-1] == ' ') fail_msg("ends with a blank: %.*s", (int)(end - text), text);
  }
  assert_string_equal(text, ""); /* the last line is a whole one */
}

static size_t count(const char *text, const char *part) {
  size_t n = 0;
  for (; (text = strstr(text, part)); text += strlen(part)) n++;
  return n;
}

/* ---- the truth table --------------------------------------------------------------------------------------------- */

TEST(rows_are_scenarios_and_columns_are_systems_under_two_lines) {
  struct lb_scenario *a = scenario("first"), *b = scenario("second");
  cell(a, "redis-token@redis", LB_GUARD_NONE, LB_SAFE, 0, 3);
  expect(cell(a, "pg-row@pg", LB_GUARD_NONE, LB_VIOLATED, 2, 3), &(struct lb_expect){.verdict = LB_VIOLATED});
  expect(cell(b, "pg-row@pg", LB_GUARD_NONE, LB_STUCK, 3, 3), &(struct lb_expect){.verdict = LB_STUCK});
  const char *text = printed(lb_display_truth_table);
  assert_has(text, "        redis-token  pg-row\n"
                   "        redis        pg\n"
                   "first   safe 3       VIOLATED 2/3\n"
                   "second  -            stuck 3/3\n");
  assert_fits(text);
}

TEST(undecided_trials_do_not_count_as_trials_of_a_verdict) {
  struct lb_cell_sum *c = cell(scenario("s"), "a@t", LB_GUARD_NONE, LB_VIOLATED, 2, 5);
  c->safe = 0, c->undecided = 3;
  cell(scenario("u"), "a@t", LB_GUARD_NONE, LB_UNDECIDED, 2, 5);
  cell(scenario("n"), "a@t", LB_GUARD_NONE, LB_SKIPPED, 0, 0);
  c = cell(scenario("m"), "a@t", LB_GUARD_NONE, LB_SAFE, 0, 21);
  c->safe = 15, c->undecided = 6;
  assert_has(printed(lb_display_remarks), " m a@t: decided 15 of 21; the others: ");
  const char *text = printed(lb_display_truth_table);
  assert_has(text, "\nm  safe 15 of 21\n");
  assert_has(text, "\ns  VIOLATED 2/2!\n");
  assert_has(text, "\nu  undecided 2/5\n");
  assert_has(text, "\nn  skipped\n");
}

TEST(what_is_not_as_expected_is_marked_and_repeated_with_its_reason) {
  struct lb_expect safe = {.verdict = LB_SAFE, .reason = (char *)"a majority is left"};
  struct lb_cell_sum *c = cell(scenario("s"), "a@t", LB_GUARD_FENCE, LB_STUCK, 1, 3);
  expect(c, &safe);
  snprintf(c->why, sizeof c->why, "await failover within 3s: it did not");
  expect(cell(&scenarios[0], "b@t", LB_GUARD_NONE, LB_SAFE, 0, 3), &safe);
  assert_has(printed(lb_display_truth_table), "stuck 1/3!");
  const char *text = printed(lb_display_remarks);
  assert_has(
      text,
      "! s a@t (guard fence): stuck, expected safe: a majority is left; seen: await failover within 3s: it did not\n");
  assert_int_equal(count(text, "\n"), 1);
}

TEST(of_any_no_decided_verdict_is_marked) {
  struct lb_expect any = {.verdict = LB_ANY};
  expect(cell(scenario("s"), "a@t", LB_GUARD_NONE, LB_VIOLATED, 1, 3), &any);
  assert_has_not(printed(lb_display_truth_table), "!\n");
  assert_string_equal(printed(lb_display_remarks), "");
}

static const char *const systems[] = {"local@none",         "broken@none",
                                      "redis-token@redis",  "redis-token@sentinel",
                                      "redlock@redis-x3",   "redlock@redis-x5",
                                      "zk-sequential@zk",   "zk-sequential@zk-x3",
                                      "pg-row@pg",          "pg-row@pg-async",
                                      "pg-row@pg-sync",     "pg-lease@pg",
                                      "pg-lease-client@pg", "a-very-long-name-of-a-lock@a-long-topology"};

/* `count` systems in 16 scenarios, k of n violated in every second cell. */
static void fill(size_t count, int k, int n) {
  for (size_t s = 0; s < 16; s++) {
    char name[32];
    snprintf(name, sizeof name, "some-scenario-%zu", s + 1);
    struct lb_scenario *x = scenario(name);
    for (size_t i = 0; i < count; i++) cell(x, systems[i], LB_GUARD_NONE, (i + s) % 2 ? LB_VIOLATED : LB_SAFE, k, n);
  }
}

TEST(twelve_systems_in_sixteen_scenarios_fit_the_width) {
  for (size_t n = 1; n <= sizeof systems / sizeof *systems; n++) {
    clear(state);
    fill(n, 17, 20);
    const char *text = printed(lb_display_truth_table);
    assert_fits(text);
    assert_int_equal(count(text, "VIO"), 16 * n / 2 + (strstr(text, "VIOL:") ? 1 : 0));
    assert_int_equal(count(text, "safe 20"), 16 * n / 2);
  }
}

TEST(a_table_that_fits_is_not_shortened) {
  fill(5, 3, 3);
  const char *text = printed(lb_display_truth_table);
  assert_has(text, "VIOLATED 3/3");
  assert_has(text, "redis-token  ");
}

STATES(no_colour_where_there_is_no_terminal, fill(3, 1, 3),
       assert_null(strchr(printed(lb_display_truth_table), '\033')));

/* ---- guards ------------------------------------------------------------------------------------------------------ */

TEST(a_guard_is_shown_beside_none_with_what_happened_to_the_resource) {
  struct lb_scenario *a = scenario("plain"), *b = scenario("guarded");
  struct lb_expect violated = {.verdict = LB_VIOLATED};
  cell(a, "a@t", LB_GUARD_NONE, LB_SAFE, 0, 3);
  struct lb_cell_sum *c = cell(b, "a@t", LB_GUARD_NONE, LB_VIOLATED, 3, 3);
  c->sum.lost_updates = 3, c->sum.stale_writes = 3, expect(c, &violated);
  c = cell(b, "a@t", LB_GUARD_FENCE, LB_SAFE, 0, 3);
  c->sum.refused = 4;
  c = cell(b, "a@t", LB_GUARD_RECHECK, LB_VIOLATED, 1, 3);
  c->sum.stale_writes = 1, c->sum.stopped_told_no = 2, expect(c, &violated);
  c = cell(b, "b@t", LB_GUARD_RECHECK, LB_SAFE, 0, 3);
  c->sum.stopped_lease_over = 1, c->sum.stopped_in_doubt = 2, c->sum.stopped_no_answer = 3;
  c = cell(b, "c@t", LB_GUARD_RECHECK, LB_SAFE, 0, 3);
  c->sum.stopped_no_majority = 3;
  cell(b, "b@t", LB_GUARD_FENCE, LB_SKIPPED, 0, 0);
  const char *text = printed(lb_display_truth_table);
  assert_has(text, "what each guard changes\n"
                   "       none                  recheck                                        fence\n"
                   "guarded\n"
                   "  a@t  VIOLATED 3/3, 3 lost  VIOLATED 1/3, 1 stale                          safe 3, 4 refused\n"
                   "  b@t  -                     safe 3, 1 lease over, 2 in doubt, 3 no answer  skipped\n"
                   "  c@t  -                     safe 3, 3 no majority                          -\n");
  assert_has_not(strstr(text, "what each"), "plain");
  assert_fits(text);
}

STATES(without_guards_there_is_no_such_table, cell(scenario("s"), "a@t", LB_GUARD_NONE, LB_SAFE, 0, 3),
       assert_has_not(printed(lb_display_truth_table), "guard"));

/* ---- rates ------------------------------------------------------------------------------------------------------- */

static struct lb_protocol honest = {.name = "a"};

struct played { /* a job and its outcome */
  size_t cell;
  struct lb_outcome outcome;
};

static void jobs_are(const struct played *played, size_t count) {
  static struct lb_job jobs[400];
  static struct lb_job_result results[400];
  assert_true(count <= 400);
  for (size_t i = 0; i < count; i++) {
    const struct lb_cell *c = &cells[played[i].cell];
    jobs[i] = (struct lb_job){.cell = played[i].cell,
                              .plan = {.scenario = c->scenario, .protocol = &honest, .system = c->system}};
    results[i] = (struct lb_job_result){.job = &jobs[i], .done = true, .outcome = played[i].outcome};
  }
  plan.jobs = jobs, plan.job_count = count;
  tally.jobs = results, tally.done = count;
}

static struct lb_scenario *campaign(const char *name) {
  static struct lb_step faults[2] = {{.text = (char *)"pause holder"}, {.text = (char *)"clock node any +5s"}};
  struct lb_scenario *s = scenario(name);
  s->kind = LB_KIND_CAMPAIGN;
  s->faults = faults, s->fault_count = 2;
  return s;
}

#define TRIAL                                                                                                          \
  {                                                                                                                    \
    .verdict = LB_VIOLATED, .useful_handoffs = 1000, .stale_writes = 3, .measured_s = 1800, .faults_tested = 50,       \
    .faults_of = {50}, .faults_overlapped = 25, .faults_within_lease = 1                                               \
  }

TEST(a_campaign_is_a_rate_with_its_interval) {
  cell(campaign("storm"), "a@t", LB_GUARD_NONE, LB_VIOLATED, 2, 2);
  struct played jobs[] = {{.outcome = TRIAL}, {.outcome = TRIAL}};
  jobs_are(jobs, 2);
  const char *text = printed(lb_display_rates);
  assert_has(
      text,
      " measured,   two held, within a lease,     damage, violations violations per\n"
      "system guard verdict faults         s % of faults     % of faults % of faults   per hour 1000 hand-offs\n");
  assert_has(
      text,
      "a@t    none  VIOL 2!    100      3600  50 [23,77]     2 [0.09,32]      0 (<3) 6 [0.7,52]    3 [0.35,26]\n");
  assert_has(text, "  proved over all rows: 100 pause holder; never: clock node any +5s\n");
  assert_has(text, "  Nothing tells what the violations of these rows would be without faults: ");
  assert_has(text, "by time, not by cause");
  assert_has_not(text, "no-fault control");
  assert_fits(text);
}

/* The control of the same load has no violation in the same time. */
TEST(the_control_is_said_where_it_does_not_separate) {
  struct lb_scenario *calm;
  cell(campaign("storm"), "a@t", LB_GUARD_NONE, LB_VIOLATED, 2, 2);
  calm = campaign("calm");
  calm->control = true;
  cell(calm, "a@t", LB_GUARD_NONE, LB_SAFE, 0, 2);
  struct played jobs[] = {{.outcome = TRIAL},
                          {.outcome = TRIAL},
                          {.cell = 1, .outcome = {.measured_s = 1800}},
                          {.cell = 1, .outcome = {.measured_s = 1800}}};
  jobs_are(jobs, 4);
  assert_has(printed(lb_display_rates), "does not separate from a@t: ");
  jobs[2].outcome.measured_s = 36000;
  jobs_are(jobs, 4);
  const char *text = printed(lb_display_rates);
  assert_has(text, "every row that has any lies above the control");
  assert_has_not(text, "does not separate");
  calm->hold_ms = 7; /* another load */
  assert_has(printed(lb_display_rates), "Nothing tells what the violations of these rows");
}

TEST(the_control_is_one_line) {
  struct lb_scenario *calm = scenario("s");
  calm->control = true;
  cell(calm, "a@t", LB_GUARD_NONE, LB_SAFE, 0, 2);
  struct played jobs[] = {{.outcome = {.handoffs = 123000, .stall_ns = 12300000}}, {.outcome = {.handoffs = 456}}};
  jobs_are(jobs, 2);
  assert_string_equal(printed(lb_display_rates),
                      "\nno-fault control: 123456 hand-offs, 0 violations; longest stall of the harness 12.3 ms\n");
}

TEST(a_dead_holders_lock_has_a_time_unless_nobody_ever_gets_it) {
  struct lb_scenario *s = scenario("crash");
  s->kind = LB_KIND_TIMELINE;
  cell(s, "a@t", LB_GUARD_NONE, LB_SAFE, 0, 3);
  cell(s, "b@t", LB_GUARD_NONE, LB_STUCK, 1, 1);
  struct played jobs[] = {{.outcome = {.orphan_ns = 900000000}},
                          {.outcome = {.orphan_ns = 1000000000}},
                          {.outcome = {.orphan_ns = 500000000}},
                          {.cell = 1, .outcome = {.verdict = LB_STUCK, .orphan_ns = 3}}};
  jobs_are(jobs, 4);
  const char *text = printed(lb_display_figures);
  assert_has(text, " 900    1000 of 3 trials, ttl 1000 ms\n");
  assert_has(text, " -       - never in 1 of 1 trials");
  assert_fits(text);
}

/* The last of many trials counts like the first: it is the one that was never had again. */
TEST(no_trial_is_left_out_of_a_figure) {
  static struct played jobs[400];
  struct lb_scenario *s = scenario("crash");
  s->kind = LB_KIND_TIMELINE;
  cell(s, "a@t", LB_GUARD_NONE, LB_STUCK, 1, 400);
  for (size_t i = 0; i < 400; i++) jobs[i].outcome.orphan_ns = 1000000;
  jobs[399].outcome.verdict = LB_STUCK;
  jobs_are(jobs, 400);
  assert_has(printed(lb_display_figures), "of 399, never in 1 of 400 trials");
}

/* ---- names that are longer than somebody thought, and terminals that are narrow ---------------------------------- */

/* In the line that begins with this. */
static size_t column_of(const char *text, const char *line, const char *what) {
  char begin[120];
  snprintf(begin, sizeof begin, "\n%s", line);
  const char *at = strstr(text, begin), *found = at ? strstr(at + 1, what) : NULL;
  if (!found || memchr(at + 1, '\n', (size_t)(found - at - 1)))
    fail_msg("no '%s' in the line of '%s' in:\n%s", what, line, text);
  return (size_t)(found - at);
}

#define LONG_NAME "a-lock-whose-name-is-longer-than-any-that-was-thought-of@a-topology"

TEST(a_long_name_widens_its_column_and_shifts_nothing) {
  struct lb_scenario *s = scenario("crash"), *long_one = scenario("some-scenario-with-a-long-name");
  s->kind = long_one->kind = LB_KIND_TIMELINE;
  cell(s, "a@t", LB_GUARD_NONE, LB_SAFE, 0, 3);
  cell(long_one, LONG_NAME, LB_GUARD_DEADLINE, LB_SAFE, 0, 3);
  struct played dead[] = {{.outcome = {.orphan_ns = 900000000}}, {.cell = 1, .outcome = {.orphan_ns = 900000000}}};
  jobs_are(dead, 2);
  const char *text = printed(lb_display_figures);
  assert_int_equal(column_of(text, "crash ", "of 1 trials"),
                   column_of(text, "some-scenario-with-a-long-name ", "of 1 trials"));
  clear(state);
  struct lb_scenario *storm = campaign("storm");
  cell(storm, "a@t", LB_GUARD_NONE, LB_VIOLATED, 2, 2);
  struct lb_cell_sum *many = cell(storm, LONG_NAME, LB_GUARD_DEADLINE, LB_VIOLATED, 1234567, 1234568);
  struct played trials[] = {
      {.outcome = TRIAL}, {.outcome = TRIAL}, {.cell = 1, .outcome = TRIAL}, {.cell = 1, .outcome = TRIAL}};
  jobs_are(trials, 4);
  many->trials = 1234568;
  text = printed(lb_display_rates);
  assert_int_equal(column_of(text, "a@t ", "50 [23"), column_of(text, LONG_NAME, "50 [23"));
}

TEST(the_heads_of_a_load_are_explained_and_its_names_shift_nothing) {
  static const char *const heads[] = {"c",        "hand-offs/s", "again",  "grants/s", "Jain",  "wait",
                                      "hand-off", "release",     "writes", "requests", "warm s"};
  struct lb_scenario *s = scenario("contention"), *variant = scenario("contention~hold_ms=0.25");
  s->kind = variant->kind = LB_KIND_LOAD;
  cell(s, "a@t", LB_GUARD_NONE, LB_SAFE, 0, 1);
  cell(variant, LONG_NAME, LB_GUARD_NONE, LB_SAFE, 0, 1);
  struct played loads[] = {{.outcome = {.grants = 100, .grants_per_s = 100, .measured_s = 1}},
                           {.cell = 1, .outcome = {.grants = 100, .grants_per_s = 123456789, .measured_s = 1}}};
  jobs_are(loads, 2);
  char text[20000], word[40];
  snprintf(text, sizeof text, "\n%s", printed(lb_display_figures));
  assert_int_equal(column_of(text, "contention ", " 0.000 "), column_of(text, "contention~", " 0.000 "));
  const char *legend = strstr(text, "Medians over");
  assert_non_null(legend);
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
    column_of(text, "  ", heads[i]);
    bool explained = false;
    for (int k = 0; k < 2; k++) {
      snprintf(word, sizeof word, "%s%s", heads[i], k ? "," : ":");
      explained |= strstr(legend, word) != NULL;
    }
    if (!explained) fail_msg("what is '%s'?", heads[i]);
  }
}

TEST(on_a_narrow_terminal_everything_but_numbers_fits) {
  setenv("COLUMNS", "60", 1);
  struct lb_scenario *s = scenario("some-scenario-of-the-suite"), *load = scenario("contention");
  for (size_t i = 0; i < 8; i++)
    for (int k = 0; k < LB_GUARD_COUNT; k++) {
      struct lb_cell_sum *c = cell(s, systems[i], (enum lb_guard)k, LB_VIOLATED, 12, 20);
      c->sum.lost_updates = c->sum.token_regressions = 1234, c->sum.stale_writes = 1235;
    }
  const char *text = printed(lb_display_truth_table);
  assert_fits(text);
  assert_int_equal(count(text, "1234 lost"), 8 * LB_GUARD_COUNT);
  assert_int_equal(count(text, "regressions"), 8 + 1); /* and in the legend */
  cells[0].means_nothing = true, cells[0].note = 1, sums[0].verdict = LB_NA;
  snprintf(cells[0].skip, sizeof cells[0].skip,
           "the reason is a long sentence, which says at some length why nothing was asked there");
  assert_fits(printed(lb_display_truth_table));
  load->kind = LB_KIND_LOAD;
  cell(load, "a@t", LB_GUARD_NONE, LB_SAFE, 0, 1);
  struct played played = {.cell = plan.cell_count - 1, .outcome = {.grants = 100, .unsettled = 1}};
  jobs_are(&played, 1);
  assert_fits(strstr(printed(lb_display_figures), "Medians over"));
  clear(state);
  setenv("COLUMNS", "60", 1);
  cell(campaign("storm"), "a@t", LB_GUARD_NONE, LB_VIOLATED, 2, 2);
  struct played storm[] = {{.outcome = TRIAL}, {.outcome = TRIAL}};
  jobs_are(storm, 2);
  assert_fits(strstr(printed(lb_display_rates), "  proved over"));
}

/* ---- while it runs ----------------------------------------------------------------------------------------------- */

static const char *line_of(const struct lb_live_state *state, int columns) {
  static char line[LB_LIVE_LINE];
  lb_live_line(state, columns, line);
  return line;
}

TEST(the_live_line_has_done_left_elapsed_time_left_and_violations) {
  struct lb_live_state s = {.done = 12,
                            .all = 555,
                            .elapsed_s = 62.9,
                            .left_s = 655,
                            .violations = 3,
                            .what = "failover.redis-token@redis.none.c2.t1"};
  assert_string_equal(
      line_of(&s, LB_LIVE_LINE),
      "[12/555] 543 left, 1m02s, about 11 min left, 3 violations, failover.redis-token@redis.none.c2.t1");
  s.left_s = 43;
  assert_has(line_of(&s, LB_LIVE_LINE), "about 43 s left");
  s.left_s = 42.2;
  assert_has(line_of(&s, LB_LIVE_LINE), "about 42 s left");
  s.violations = 1, s.left_s = -1;
  assert_has(line_of(&s, LB_LIVE_LINE), "1m02s, 1 violation, failover");
  s.done = 555, s.left_s = 0, s.what = "";
  assert_string_equal(line_of(&s, LB_LIVE_LINE), "[555/555] 0 left, 1m02s, 1 violation");
}

/* A line as wide as the terminal wraps in some of them. */
TEST(the_live_line_never_wraps) {
  char name[300];
  memset(name, 'x', sizeof name - 1), name[sizeof name - 1] = '\0';
  struct lb_live_state s = {
      .done = 99999, .all = 100000, .elapsed_s = 1e6, .left_s = 1e6, .violations = 99999, .what = name};
  for (int columns = 10; columns < 200; columns++)
    if ((int)strlen(line_of(&s, columns)) >= columns) fail_msg("%d columns: %s", columns, line_of(&s, columns));
}

TEST(a_time_is_rounded_as_one_would_say_it) {
  static const struct {
    double s;
    const char *text;
  } said[] = {{0, "about 1 s"},     {7.4, "about 7 s"},    {43, "about 45 s"},     {94, "about 90 s"},
              {129, "about 2 min"}, {690, "about 12 min"}, {2700, "about 45 min"}, {9000, "about 2.5 h"}};
  for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
    char text[40];
    lb_live_about(said[i].s, text, sizeof text);
    assert_string_equal(text, said[i].text);
  }
}

enum { HALF_A_MINUTE = 31 };

/* What stays of a run with one trial that ends after half a minute: on a terminal, or in a pipe; with a line for the
 * trial, or without. */
static const char *progress_of(bool terminal, bool verbose) {
  static char text[2000];
  struct played played = {.outcome = {.verdict = LB_VIOLATED, .trial_ns = 3000000000}};
  clear(NULL);
  cell(scenario("s"), "a@t", LB_GUARD_NONE, LB_VIOLATED, 1, 1);
  jobs_are(&played, 1);
  const struct lb_job *running[] = {tally.jobs[0].job};
  memset(text, 0, sizeof text);
  FILE *out = fmemopen(text, sizeof text - 1, "w");
  assert_non_null(out);
  struct lb_display display = {.live = {out, .terminal = terminal}, .verbose = verbose};
  struct lb_progress progress = lb_display_progress(&display);
  progress.tick(&display, &tally, running, 1);
  progress.finished(&display, &tally, &tally.jobs[0]);
  display.live.said_ns -= HALF_A_MINUTE * UINT64_C(1000000000);
  progress.tick(&display, &tally, running, 1);
  progress.tick(&display, &tally, running, 1);
  lb_display_end(&display);
  fclose(out);
  return text;
}

TEST(in_a_pipe_there_is_a_line_every_half_a_minute_and_none_per_trial) {
  const char *text = progress_of(false, false);
  assert_int_equal(count(text, "\n"), 1);
  assert_has(text, "0 left, 0s, 1 violation");
  assert_has_not(text, "\r");
  text = progress_of(false, true);
  assert_int_equal(count(text, "\n"), 2);
  assert_has(text, ": violated, 3.0 s\n");
}

TEST(on_a_terminal_nothing_stays_but_the_lines_that_were_asked_for) {
  const char *text = progress_of(true, false);
  assert_int_equal(count(text, "\n"), 0);
  assert_int_equal(count(text, "1 violation"), 3);
  assert_string_equal(text + strlen(text) - strlen("\r\033[K"), "\r\033[K");
  assert_int_equal(count(progress_of(true, true), "\n"), 1);
}
