/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * The sum over the trials of a cell: every combination of up to a few verdicts against a plain count, and what each
 * field of an outcome becomes.
 */
#include "test.h"
#include "run/exit.h"
#include "run/tally.h"

/* Those a trial can end with. */
static const enum lb_verdict ends[] = {LB_SAFE, LB_VIOLATED, LB_STUCK, LB_DELAYED, LB_UNDECIDED};
enum { VERDICTS = sizeof ends / sizeof *ends };

static struct lb_outcome ended(enum lb_verdict verdict, const char *why) {
  struct lb_outcome x = {.verdict = verdict, .unavailable_ns = -1, .orphan_ns = -1, .blind_ns = -1};
  snprintf(x.why, sizeof x.why, "%s", why);
  return x;
}

static void add(struct lb_cell_sum *cell, enum lb_verdict verdict, const char *why) {
  struct lb_outcome x = ended(verdict, why);
  lb_cell_sum_add(cell, &x);
}

/* ---- the verdict ------------------------------------------------------------------------------------------------- */

/* A cell of a scenario of this kind, before its first trial. */
static struct lb_cell_sum empty(enum lb_scenario_kind kind) {
  static struct lb_scenario scenarios[3];
  static struct lb_cell cells[3];
  scenarios[kind].kind = kind;
  cells[kind].scenario = &scenarios[kind];
  return (struct lb_cell_sum){.cell = &cells[kind], .verdict = LB_VERDICT_NONE};
}

/* The rule as a list of cases, the first that fits. */
static enum lb_verdict wanted(enum lb_scenario_kind kind, const int count[LB_ANY]) {
  int decided = count[LB_SAFE] + count[LB_VIOLATED] + count[LB_STUCK] + count[LB_DELAYED];
  if (count[LB_SAFE] == decided) return decided > count[LB_UNDECIDED] ? LB_SAFE : LB_UNDECIDED;
  if (kind != LB_KIND_TIMELINE) return count[LB_VIOLATED] ? LB_VIOLATED : count[LB_STUCK] ? LB_STUCK : LB_DELAYED;
  if (count[LB_VIOLATED] == decided) return LB_VIOLATED;
  if (count[LB_DELAYED] == decided) return LB_DELAYED;
  return count[LB_STUCK] == decided ? LB_STUCK : LB_MIXED;
}

/* All sequences of one to four verdicts: the digits of `code` in base 5. */
static void judge_sequence(enum lb_scenario_kind kind, unsigned code, int length) {
  struct lb_cell_sum cell = empty(kind);
  int count[LB_ANY] = {0};
  for (int i = 0; i < length; i++, code /= VERDICTS) {
    count[ends[code % VERDICTS]]++;
    add(&cell, ends[code % VERDICTS], "");
    assert_int_equal(cell.trials, i + 1);
    assert_int_equal(cell.trials, cell.safe + cell.violated + cell.stuck + cell.delayed + cell.undecided);
  }
  assert_int_equal(cell.safe, count[LB_SAFE]);
  assert_int_equal(cell.violated, count[LB_VIOLATED]);
  assert_int_equal(cell.stuck, count[LB_STUCK]);
  assert_int_equal(cell.delayed, count[LB_DELAYED]);
  assert_int_equal(cell.undecided, count[LB_UNDECIDED]);
  assert_int_equal(cell.verdict, wanted(kind, count));
}

TEST(trials_that_observed_their_premises_are_counted) {
  struct lb_cell_sum cell = empty(LB_KIND_TIMELINE);
  for (int i = 0; i < 5; i++)
    lb_cell_sum_add(&cell, &(struct lb_outcome){.verdict = i < 3 ? LB_SAFE : LB_UNDECIDED, .premises_observed = i < 3});
  assert_int_equal(cell.premises_observed, 3);
}

TEST(trials_are_counted_by_verdict_and_decide_the_cell) {
  unsigned codes = 1;
  for (int length = 1; length <= 4; length++) {
    codes *= VERDICTS;
    for (unsigned code = 0; code < codes; code++)
      for (int kind = LB_KIND_LOAD; kind <= LB_KIND_CAMPAIGN; kind++)
        judge_sequence((enum lb_scenario_kind)kind, code, length);
  }
}

/* Any number of trials of one verdict, then undecided ones. */
static struct lb_cell_sum cell_of(enum lb_scenario_kind kind, enum lb_verdict verdict, int decided, int undecided) {
  struct lb_cell_sum cell = empty(kind);
  for (int i = 0; i < decided; i++) add(&cell, verdict, "");
  for (int i = 0; i < undecided; i++) add(&cell, LB_UNDECIDED, "");
  return cell;
}

TEST(a_cell_is_judged_by_its_decided_trials_if_they_are_most) {
  static const struct {
    int decided, undecided;
    enum lb_verdict verdict;
  } cases[] = {{1, 0, LB_SAFE},  {1, 1, LB_UNDECIDED}, {2, 1, LB_SAFE},        {2, 2, LB_UNDECIDED},
               {15, 6, LB_SAFE}, {11, 10, LB_SAFE},    {10, 11, LB_UNDECIDED}, {0, 1, LB_UNDECIDED}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int kind = LB_KIND_LOAD; kind <= LB_KIND_CAMPAIGN; kind++) {
      struct lb_cell_sum cell = cell_of((enum lb_scenario_kind)kind, LB_SAFE, cases[i].decided, cases[i].undecided);
      assert_int_equal(cell.verdict, cases[i].verdict);
      assert_int_equal(lb_cell_sum_decided(&cell), cases[i].decided);
      assert_int_equal(lb_cell_sum_as_expected(&cell), cases[i].verdict == LB_SAFE ? 1 : -1);
      assert_int_equal(lb_cell_sum_is_open(&cell), cases[i].verdict == LB_UNDECIDED);
    }
}

/* It counts against `safe`. That a timeline always goes wrong is said by most of its trials, or by nobody. */
TEST(what_went_wrong_once_counts_and_does_not_meet_an_expectation_of_all) {
  struct lb_expect violated = {.verdict = LB_VIOLATED}, safe = {.verdict = LB_SAFE}, any = {.verdict = LB_ANY};
  for (int kind = LB_KIND_LOAD; kind <= LB_KIND_CAMPAIGN; kind++) {
    struct lb_cell_sum few = cell_of((enum lb_scenario_kind)kind, LB_VIOLATED, 1, 20),
                       most = cell_of((enum lb_scenario_kind)kind, LB_VIOLATED, 11, 10);
    struct lb_cell cell = *few.cell;
    bool all = kind == LB_KIND_TIMELINE;
    few.cell = most.cell = &cell;
    assert_int_equal(few.verdict, LB_VIOLATED);
    assert_int_equal(lb_cell_sum_as_expected(&few), 0);
    cell.expect = &safe;
    assert_int_equal(lb_cell_sum_as_expected(&few), 0);
    assert_false(lb_cell_sum_is_open(&few));
    cell.expect = &violated;
    assert_int_equal(lb_cell_sum_as_expected(&few), all ? -1 : 1);
    assert_int_equal(lb_cell_sum_is_open(&few), all);
    assert_int_equal(lb_cell_sum_as_expected(&most), 1);
    cell.expect = &any;
    assert_int_equal(lb_cell_sum_as_expected(&most), 1);
  }
}

static enum lb_exit exit_of(struct lb_cell_sum sum) {
  char line[200];
  struct lb_cell cell = *sum.cell;
  struct lb_plan plan = {.cells = &cell, .cell_count = 1};
  struct lb_tally tally = {.plan = &plan, .cells = &sum};
  return lb_exit_of_run(&tally, line, sizeof line);
}

TEST(a_run_whose_cells_were_decided_by_most_of_their_trials_is_decided) {
  struct lb_expect violated = {.verdict = LB_VIOLATED};
  struct lb_cell_sum few = cell_of(LB_KIND_TIMELINE, LB_VIOLATED, 1, 20);
  struct lb_cell cell = *few.cell;
  assert_int_equal(exit_of(cell_of(LB_KIND_LOAD, LB_SAFE, 15, 6)), LB_EXIT_OK);
  assert_int_equal(exit_of(cell_of(LB_KIND_LOAD, LB_SAFE, 10, 11)), LB_EXIT_UNDECIDED);
  assert_int_equal(exit_of(few), LB_EXIT_UNEXPECTED);
  cell.expect = &violated;
  few.cell = &cell;
  assert_int_equal(exit_of(few), LB_EXIT_UNDECIDED);
}

/* Ended in the order of `ended`: four jobs of one cell, and one of another. */
static const char *why_of(enum lb_scenario_kind kind, const enum lb_verdict verdict[4], const size_t order[4]) {
  static char text[400];
  static const char *const whys[] = {"first", "second", "third", "fourth"};
  struct lb_cell cells[] = {*empty(kind).cell, *empty(kind).cell};
  struct lb_job jobs[] = {{.cell = 0}, {.cell = 1}, {.cell = 1}, {.cell = 1}, {.cell = 1}};
  struct lb_plan plan = {.cells = cells, .cell_count = 2, .jobs = jobs, .job_count = 5};
  struct lb_tally tally;
  struct lb_outcome other = ended(verdict[0], "another cell");
  lb_tally_begin(&plan, &tally);
  lb_tally_add(&tally, &tally.jobs[0], &other);
  for (size_t i = 0; i < 4; i++) {
    enum lb_verdict v = verdict[order[i]];
    struct lb_outcome x = ended(v, v == LB_SAFE || v == LB_VIOLATED ? "" : whys[order[i]]);
    lb_tally_add(&tally, &tally.jobs[1 + order[i]], &x);
  }
  snprintf(text, sizeof text, "%s", tally.cells[1].why);
  lb_tally_clear(&tally);
  return text;
}

TEST(the_reason_is_that_of_the_verdict_in_the_order_of_the_plan) {
  static const size_t orders[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}};
  static const enum lb_verdict stuck[] = {LB_UNDECIDED, LB_STUCK, LB_STUCK, LB_UNDECIDED};
  static const enum lb_verdict mixed[] = {LB_UNDECIDED, LB_SAFE, LB_VIOLATED, LB_STUCK};
  static const enum lb_verdict both[] = {LB_DELAYED, LB_STUCK, LB_DELAYED, LB_STUCK};
  static const enum lb_verdict delayed[] = {LB_SAFE, LB_VIOLATED, LB_DELAYED, LB_SAFE};
  static const enum lb_verdict undecided[] = {LB_SAFE, LB_UNDECIDED, LB_SAFE, LB_UNDECIDED};
  static const enum lb_verdict violated[] = {LB_VIOLATED, LB_UNDECIDED, LB_VIOLATED, LB_UNDECIDED};
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
    assert_string_equal(why_of(LB_KIND_TIMELINE, stuck, orders[i]), "second");
    assert_string_equal(why_of(LB_KIND_TIMELINE, mixed, orders[i]), "fourth");
    assert_string_equal(why_of(LB_KIND_TIMELINE, both, orders[i]), "2 stuck, 2 delayed; second"); /* apart */
    assert_string_equal(why_of(LB_KIND_TIMELINE, delayed, orders[i]), "third");
    assert_string_equal(why_of(LB_KIND_TIMELINE, undecided, orders[i]), "second");
    assert_string_equal(why_of(LB_KIND_TIMELINE, violated, orders[i]), "");
  }
}

/* ---- the figures ------------------------------------------------------------------------------------------------- */

static struct lb_outcome figures(int64_t n) {
  struct lb_outcome x = {.verdict = LB_SAFE, .depth = (uint64_t)n, .unavailable_ns = n, .orphan_ns = n, .blind_ns = n};
  uint64_t u = (uint64_t)n;
  x.grants = u, x.handoffs = 2 * u, x.double_holds = 3 * u, x.double_hold_ns = 4 * u, x.dirty_accesses = 5 * u;
  x.lost_updates = 6 * n, x.fenced_off = 7 * u, x.token_regressions = 8 * u, x.stall_ns = 9 * u;
  x.stale_writes = 10 * u, x.faults = 11 * u;
  return x;
}

TEST(counts_are_added_up) {
  struct lb_cell_sum cell = empty(LB_KIND_LOAD);
  struct lb_outcome a = figures(3), b = figures(10), c = figures(4);
  lb_cell_sum_add(&cell, &a), lb_cell_sum_add(&cell, &b), lb_cell_sum_add(&cell, &c);
  assert_int_equal(cell.sum.grants, 17);
  assert_int_equal(cell.sum.handoffs, 2 * 17);
  assert_int_equal(cell.sum.double_holds, 3 * 17);
  assert_int_equal(cell.sum.double_hold_ns, 4 * 17);
  assert_int_equal(cell.sum.dirty_accesses, 5 * 17);
  assert_int_equal(cell.sum.lost_updates, 6 * 17);
  assert_int_equal(cell.sum.fenced_off, 7 * 17);
  assert_int_equal(cell.sum.token_regressions, 8 * 17);
  assert_int_equal(cell.sum.stale_writes, 10 * 17);
  assert_int_equal(cell.sum.faults, 11 * 17);
}

TEST(of_times_and_depth_the_largest_stays) {
  struct lb_cell_sum cell = empty(LB_KIND_LOAD);
  struct lb_outcome a = figures(3), b = figures(10), c = figures(4);
  lb_cell_sum_add(&cell, &a), lb_cell_sum_add(&cell, &b), lb_cell_sum_add(&cell, &c);
  assert_int_equal(cell.sum.depth, 10);
  assert_int_equal(cell.sum.unavailable_ns, 10);
  assert_int_equal(cell.sum.orphan_ns, 10);
  assert_int_equal(cell.sum.blind_ns, 10);
  assert_int_equal(cell.sum.stall_ns, 9 * 10);
}

TEST(a_time_that_applies_to_no_trial_stays_minus_one_and_zero_is_a_time) {
  struct lb_cell_sum cell = empty(LB_KIND_LOAD);
  struct lb_outcome none = ended(LB_SAFE, ""), zero = ended(LB_SAFE, "");
  zero.orphan_ns = 0;
  lb_cell_sum_add(&cell, &none), lb_cell_sum_add(&cell, &zero), lb_cell_sum_add(&cell, &none);
  assert_int_equal(cell.sum.unavailable_ns, -1);
  assert_int_equal(cell.sum.orphan_ns, 0);
  assert_int_equal(cell.sum.blind_ns, -1);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

TEST(an_outcome_stands_with_its_job_and_in_the_sum_of_its_cell) {
  struct lb_cell cells[] = {
      {.skip = "no server"}, *empty(LB_KIND_LOAD).cell, {.skip = "one server", .means_nothing = true}};
  struct lb_job jobs[] = {{.cell = 1}, {.cell = 1}};
  struct lb_plan plan = {.cells = cells, .cell_count = 3, .jobs = jobs, .job_count = 2};
  struct lb_tally tally;
  struct lb_outcome x = ended(LB_VIOLATED, "");
  lb_tally_begin(&plan, &tally);
  assert_int_equal(tally.cells[0].verdict, LB_SKIPPED);
  assert_int_equal(tally.cells[1].verdict, LB_VERDICT_NONE);
  assert_int_equal(tally.cells[2].verdict, LB_NA);
  lb_tally_add(&tally, &tally.jobs[1], &x);
  assert_int_equal(tally.done, 1);
  assert_false(tally.jobs[0].done);
  assert_true(tally.jobs[1].done && tally.jobs[1].job == &jobs[1]);
  assert_int_equal(tally.jobs[1].outcome.verdict, LB_VIOLATED);
  assert_int_equal(tally.cells[1].verdict, LB_VIOLATED);
  assert_int_equal(tally.cells[1].trials, 1);
  assert_int_equal(tally.cells[0].trials, 0);
  lb_tally_clear(&tally);
}

/* ---- the expectation --------------------------------------------------------------------------------------------- */

TEST(as_expected_compares_what_was_decided_with_what_was_expected) {
  for (int got = LB_SAFE; got <= LB_VERDICT_NONE; got++) {
    bool decided = got == LB_SAFE || got == LB_VIOLATED || got == LB_STUCK || got == LB_DELAYED || got == LB_MIXED;
    for (int expected = LB_SAFE; expected <= LB_MIXED; expected++) {
      struct lb_expect expect = {.verdict = (enum lb_verdict)expected};
      struct lb_cell cell = {.expect = &expect};
      struct lb_cell_sum sum = {.cell = &cell, .verdict = (enum lb_verdict)got};
      bool better = got == LB_SAFE && expected == LB_MIXED;
      sum.trials = 30;
      assert_int_equal(lb_cell_sum_as_expected(&sum), decided ? got == expected || better : -1);
      assert_int_equal(lb_cell_sum_is_better(&sum), better); /* an unexpected safe of a stated violation is none */
      sum.trials = 31, sum.undecided = 2;                    /* a race may fall the same way in 29 trials */
      assert_int_equal(lb_cell_sum_as_expected(&sum), decided ? got == expected || expected == LB_MIXED : -1);
    }
  }
}

TEST(where_nothing_is_expected_only_safe_is_as_expected) {
  static const int answer[] = {
      [LB_SAFE] = 1,       [LB_VIOLATED] = 0, [LB_STUCK] = 0, [LB_DELAYED] = 0,      [LB_MIXED] = 0,
      [LB_UNDECIDED] = -1, [LB_SKIPPED] = -1, [LB_NA] = -1,   [LB_VERDICT_NONE] = -1};
  for (int got = LB_SAFE; got <= LB_VERDICT_NONE; got++) {
    struct lb_cell cell = {0};
    struct lb_cell_sum sum = {.cell = &cell, .verdict = (enum lb_verdict)got};
    assert_int_equal(lb_cell_sum_as_expected(&sum), answer[got]);
  }
}

TEST(of_any_every_decided_verdict_is_as_expected) {
  struct lb_expect expect = {.verdict = LB_ANY};
  for (int got = LB_SAFE; got <= LB_VERDICT_NONE; got++) {
    struct lb_cell cell = {.expect = &expect};
    struct lb_cell_sum sum = {.cell = &cell, .verdict = (enum lb_verdict)got};
    bool decided = got == LB_SAFE || got == LB_VIOLATED || got == LB_STUCK || got == LB_DELAYED || got == LB_MIXED;
    assert_int_equal(lb_cell_sum_as_expected(&sum), decided ? 1 : -1);
  }
}

/* ---- rates ------------------------------------------------------------------------------------------------------- */

TEST(one_overrun_critical_section_is_one_violation) {
  struct lb_outcome x = {.verdict = LB_VIOLATED, .double_holds = 400, .stale_writes = 5, .lost_updates = 300};
  assert_int_equal(lb_tally_violations_of(&x), 5);
}

TEST(a_violated_trial_is_one_violation_at_least) {
  struct lb_outcome x = {.verdict = LB_VIOLATED, .dirty_accesses = 1};
  assert_int_equal(lb_tally_violations_of(&x), 1);
  x.verdict = LB_SAFE;
  assert_int_equal(lb_tally_violations_of(&x), 0);
}

/* A job, whether it is done, and its outcome, as a tally has them. */
enum { JOBS = 6, CELLS = 3 };
struct played {
  struct lb_job job;
  bool done;
  struct lb_outcome outcome;
};

static struct lb_scenario storm = {.kind = LB_KIND_CAMPAIGN}, calm = {.kind = LB_KIND_CAMPAIGN, .control = true};

/* Cell 2 is the control of the others. */
static struct lb_tally tally_of(const struct played *played, size_t count) {
  static struct lb_job_result results[JOBS];
  static struct lb_cell cells[CELLS];
  static struct lb_cell_sum sums[CELLS];
  static struct lb_plan plan;
  plan = (struct lb_plan){.job_count = count, .cells = cells, .cell_count = CELLS};
  for (size_t i = 0; i < CELLS; i++) {
    cells[i] = (struct lb_cell){.scenario = i == 2 ? &calm : &storm};
    sums[i] = (struct lb_cell_sum){.cell = &cells[i], .verdict = LB_VERDICT_NONE};
  }
  for (size_t i = 0; i < count; i++) {
    results[i] = (struct lb_job_result){.job = &played[i].job, .done = played[i].done, .outcome = played[i].outcome};
    if (played[i].done) lb_cell_sum_add(&sums[played[i].job.cell], &played[i].outcome);
  }
  return (struct lb_tally){.plan = &plan, .cells = sums, .jobs = results};
}

TEST(undecided_and_unfinished_trials_and_other_cells_are_in_no_rate) {
  struct played jobs[] = {
      {.job = {.cell = 1},
       .done = true,
       .outcome = {.verdict = LB_VIOLATED,
                   .measured_s = 1800,
                   .faults_tested = 20,
                   .faults_overlapped = 8,
                   .useful_handoffs = 1500,
                   .stale_writes = 3}},
      {.job = {.cell = 1},
       .done = true,
       .outcome = {.verdict = LB_SAFE, .measured_s = 1800, .faults_tested = 20, .useful_handoffs = 500}},
      {.job = {.cell = 1},
       .done = true,
       .outcome = {.verdict = LB_UNDECIDED, .faults_tested = 20, .useful_handoffs = 7000, .stale_writes = 70}},
      {.job = {.cell = 1}, .outcome = {.verdict = LB_VIOLATED, .handoffs = 7000, .stale_writes = 70}},
      {.job = {.cell = 0}, .done = true, .outcome = {.verdict = LB_VIOLATED, .handoffs = 7000, .stale_writes = 70}}};
  struct lb_tally tally = tally_of(jobs, sizeof jobs / sizeof *jobs);
  struct lb_cell_rate rate;
  lb_cell_rate(&tally, 1, &rate);
  assert_int_equal(rate.handoffs, 2000);
  assert_int_equal(rate.violations, 3);
  assert_int_equal(rate.faults, 40);
  assert_true(rate.overlapped_per_fault.value > 0.1999 && rate.overlapped_per_fault.value < 0.2001);
  assert_true(rate.damaged_per_fault.value < 1e-9 && rate.damaged_per_fault.high < 0.073); /* none of 40 */
  assert_true(rate.violations_per_hour.value > 2.999 && rate.violations_per_hour.value < 3.001);
  struct lb_rate x = rate.violations_per_1000;
  assert_true(x.value > 1.4999 && x.value < 1.5001 && x.low < x.value && x.high > x.value);
  lb_cell_rate(&tally, 2, &rate);
  assert_int_equal(rate.handoffs, 0);
}

/* Sections are what an update can be lost in; where one trial loses them all, its interval is wide. Five servers can
 * fail five times as often. */
TEST(lost_updates_are_counted_by_section_and_faults_by_server) {
  static const struct lb_topology five = {.name = "five", .data_count = 5};
  struct played jobs[] = {
      {.job = {.cell = 1},
       .done = true,
       .outcome = {.verdict = LB_VIOLATED,
                   .grants = 1000,
                   .lost_updates = 40,
                   .faults_tested = 20,
                   .faults_overlapped = 8,
                   .faults_within_lease = 4}},
      {.job = {.cell = 1}, .done = true, .outcome = {.verdict = LB_SAFE, .grants = 1000, .faults_tested = 20}},
      {.job = {.cell = 1}, .done = true, .outcome = {.verdict = LB_UNDECIDED, .grants = 9000, .lost_updates = 9}}};
  struct lb_tally tally = tally_of(jobs, sizeof jobs / sizeof *jobs);
  struct lb_cell_rate rate;
  lb_cell_rate(&tally, 1, &rate);
  assert_int_equal(rate.grants, 2000);
  assert_int_equal(rate.servers, 0);
  struct lb_rate x = rate.lost_per_1000, y = lb_rate_per(&(struct lb_part){40, 2000}, 1, 1000);
  assert_true(x.value > 19.999 && x.value < 20.001 && x.low < y.low / 2 && x.high > y.high * 2);
  ((struct lb_cell *)tally.cells[1].cell)->topology = &five;
  lb_cell_rate(&tally, 1, &rate);
  assert_int_equal(rate.servers, 5);
  assert_true(rate.within_lease_per_server_hour.value > 0.4999 && rate.within_lease_per_server_hour.value < 0.5001);
  assert_true(rate.within_lease_per_server_hour.high > 4.9 * rate.within_lease_per_fault.high);
}

/* What was measured is the standstill. Where exclusion was lost besides, the hours count. */
TEST(a_lock_that_stands_still_has_no_rate_by_hours_or_hand_offs) {
  struct played jobs[] = {
      {.job = {.cell = 1},
       .done = true,
       .outcome = {.verdict = LB_STUCK, .measured_s = 1800, .faults_tested = 2, .useful_handoffs = 1500}},
      {.job = {.cell = 1},
       .done = true,
       .outcome = {.verdict = LB_SAFE, .measured_s = 1800, .faults_tested = 20, .useful_handoffs = 500}},
      {.job = {.cell = 2},
       .done = true,
       .outcome = {.verdict = LB_STUCK, .measured_s = 1800, .faults_tested = 2, .useful_handoffs = 1500}},
      {.job = {.cell = 2},
       .done = true,
       .outcome = {.verdict = LB_VIOLATED, .measured_s = 1800, .useful_handoffs = 500, .stale_writes = 3}}};
  struct lb_tally tally = tally_of(jobs, sizeof jobs / sizeof *jobs);
  struct lb_cell_rate rate;
  lb_cell_rate(&tally, 1, &rate);
  assert_true(rate.stands_still);
  assert_int_equal(rate.faults, 22);
  assert_true(rate.overlapped_per_fault.high > 0.05);
  assert_true(rate.violations_per_hour.high < 1e-9 && rate.violations_per_1000.high < 1e-9); /* not set */
  lb_cell_rate(&tally, 2, &rate);
  assert_false(rate.stands_still);
  assert_true(rate.violations_per_hour.value > 2.999 && rate.violations_per_hour.value < 3.001);
}

/* ---- the control ------------------------------------------------------------------------------------------------- */

/* A trial of an hour. */
#define HOUR(number, ended, writes)                                                                                    \
  {                                                                                                                    \
    .job = {.cell = number}, .done = true, .outcome = {                                                                \
      .verdict = ended,                                                                                                \
      .measured_s = 3600,                                                                                              \
      .stale_writes = writes,                                                                                          \
      .useful_handoffs = 500                                                                                           \
    }                                                                                                                  \
  }

TEST(violations_are_compared_with_those_of_the_control) {
  struct played jobs[] = {HOUR(1, LB_VIOLATED, 50), HOUR(1, LB_VIOLATED, 60), HOUR(2, LB_SAFE, 0), HOUR(2, LB_SAFE, 0)};
  struct lb_tally tally = tally_of(jobs, 4);
  assert_int_equal(lb_tally_above_control(&tally, 1), 1);
  assert_int_equal(lb_tally_above_control(&tally, 0), -1); /* nothing decided */
  assert_int_equal(lb_tally_above_control(&tally, 2), -1); /* the control itself */
  struct played alike[] = {HOUR(1, LB_VIOLATED, 2), HOUR(1, LB_SAFE, 0), HOUR(2, LB_VIOLATED, 2), HOUR(2, LB_SAFE, 0)};
  tally = tally_of(alike, 4);
  assert_int_equal(lb_tally_above_control(&tally, 1), 0);
}

TEST(a_control_of_other_clients_is_none) {
  struct played jobs[] = {HOUR(1, LB_VIOLATED, 50), HOUR(1, LB_VIOLATED, 60), HOUR(2, LB_SAFE, 0), HOUR(2, LB_SAFE, 0)};
  struct lb_tally tally = tally_of(jobs, 4);
  const struct lb_scenario was = storm;
  storm.driver = LB_BY_COROUTINE;
  assert_int_equal(lb_tally_above_control(&tally, 1), -1);
  storm = was, storm.arrivals = LB_ARRIVE_POISSON;
  assert_int_equal(lb_tally_above_control(&tally, 1), -1);
  storm = was, storm.rate_per_s = 100;
  assert_int_equal(lb_tally_above_control(&tally, 1), -1);
  storm = was, storm.readers = 1;
  assert_int_equal(lb_tally_above_control(&tally, 1), -1);
  storm = was, storm.permits = 2;
  assert_int_equal(lb_tally_above_control(&tally, 1), -1);
  storm = was;
  assert_int_equal(lb_tally_above_control(&tally, 1), 1);
}

/* Of one trial nobody knows what its violations have in common: the table shows no interval of them either. */
TEST(one_decided_trial_is_not_compared) {
  struct played one[] = {HOUR(1, LB_VIOLATED, 50), HOUR(1, LB_UNDECIDED, 60), HOUR(2, LB_SAFE, 0), HOUR(2, LB_SAFE, 0)};
  struct lb_tally tally = tally_of(one, 4);
  assert_int_equal(lb_tally_above_control(&tally, 1), -1);
  struct played alone[] = {HOUR(1, LB_VIOLATED, 50), HOUR(1, LB_VIOLATED, 60), HOUR(2, LB_SAFE, 0),
                           HOUR(2, LB_UNDECIDED, 0)};
  tally = tally_of(alone, 4);
  assert_int_equal(lb_tally_above_control(&tally, 1), -1);
}

TEST(what_stands_still_is_not_compared) {
  struct played cell[] = {HOUR(1, LB_STUCK, 50), HOUR(1, LB_STUCK, 60), HOUR(2, LB_SAFE, 0), HOUR(2, LB_SAFE, 0)};
  struct lb_tally tally = tally_of(cell, 4);
  assert_int_equal(lb_tally_above_control(&tally, 1), -1);
  struct played control[] = {HOUR(1, LB_VIOLATED, 50), HOUR(1, LB_VIOLATED, 60), HOUR(2, LB_SAFE, 0),
                             HOUR(2, LB_STUCK, 0)};
  tally = tally_of(control, 4);
  assert_int_equal(lb_tally_above_control(&tally, 1), -1);
}

TEST(the_control_is_of_honest_protocols_and_knows_the_longest_stall) {
  struct lb_protocol honest = {.name = "honest"}, liar = {.name = "liar", .traits = LB_TRAIT_UNSAFE};
  struct lb_scenario rough = {.ttl_ms = 100};
  struct played jobs[] = {
      {.job.plan = {.scenario = &calm, .protocol = &honest}, .done = true, .outcome = {.handoffs = 10, .stall_ns = 2}},
      {.job.plan = {.scenario = &calm, .protocol = &honest},
       .done = true,
       .outcome = {.verdict = LB_UNDECIDED, .handoffs = 10, .stale_writes = 1, .stall_ns = 5}},
      {.job.plan = {.scenario = &calm, .protocol = &honest},
       .done = true,
       .outcome = {.verdict = LB_VIOLATED, .handoffs = 10, .stale_writes = 4}},
      {.job.plan = {.scenario = &calm, .protocol = &liar}, .done = true, .outcome = {.handoffs = 100, .stall_ns = 50}},
      {.job.plan = {.scenario = &rough, .protocol = &honest},
       .done = true,
       .outcome = {.handoffs = 100, .stall_ns = 50}},
      {.job.plan = {.scenario = &calm, .protocol = &honest}, .outcome = {.handoffs = 100, .stall_ns = 50}}};
  struct lb_tally tally = tally_of(jobs, sizeof jobs / sizeof *jobs);
  struct lb_control control;
  lb_tally_control(&tally, &control);
  assert_int_equal(control.trials, 3);
  assert_int_equal(control.undecided, 1);
  assert_int_equal(control.handoffs, 20);
  assert_int_equal(control.violations, 4);
  assert_int_equal(control.stall_ns, 5);
}

/* ---- how a run ends ---------------------------------------------------------------------------------------------- */

enum { ENDS = 12 };

struct ended {
  struct lb_scenario scenarios[ENDS];
  struct lb_cell cells[ENDS];
  struct lb_cell_sum sums[ENDS];
  struct lb_plan plan;
  struct lb_tally tally;
  char line[600];
};

static void add_end(struct ended *run, const char *name, const char *system, bool own, enum lb_guard guard,
                    enum lb_verdict verdict) {
  size_t i = run->plan.cell_count++;
  bool ran = verdict != LB_NA && verdict != LB_SKIPPED && verdict != LB_VERDICT_NONE;
  assert_true(i < ENDS);
  run->scenarios[i].name = (char *)name;
  run->cells[i] = (struct lb_cell){.scenario = &run->scenarios[i], .own = own, .guard = guard};
  snprintf(run->cells[i].system, sizeof run->cells[i].system, "%s", system);
  run->sums[i] = (struct lb_cell_sum){
      .cell = &run->cells[i], .verdict = verdict, .trials = ran, .violated = verdict == LB_VIOLATED};
}

static enum lb_exit end_of(struct ended *run) {
  run->plan.cells = run->cells;
  run->tally = (struct lb_tally){.plan = &run->plan, .cells = run->sums};
  return lb_exit_of_run(&run->tally, run->line, sizeof run->line);
}

TEST(a_run_in_which_nothing_was_asked_is_no_success) {
  static const struct lb_expect nothing = {.verdict = LB_NA};
  struct ended run = {0};
  for (int i = 0; i < 6; i++) add_end(&run, "failover", "local@none", false, (enum lb_guard)i, LB_NA);
  run.cells[0].expect = &nothing; /* that it means nothing there is no answer either */
  assert_int_equal(end_of(&run), LB_EXIT_MISSING);
  assert_string_equal(run.line, "nothing was asked: 6 cells mean nothing on local@none");
  add_end(&run, "failover", "redis-token@redis", false, LB_GUARD_NONE, LB_SKIPPED);
  assert_int_equal(end_of(&run), LB_EXIT_MISSING);
  assert_string_equal(run.line, "nothing was asked: 6 cells mean nothing there, 1 cell skipped");
  add_end(&run, "control", "local@none", false, LB_GUARD_NONE, LB_SAFE);
  assert_int_equal(end_of(&run), LB_EXIT_MISSING);
  assert_string_equal(run.line, "incomplete: 8 cells: 1 safe, 0 violated, 1 skipped, 6 n/a");
  run.sums[6].verdict = LB_NA;
  assert_int_equal(end_of(&run), LB_EXIT_OK);
  assert_string_equal(run.line, "as expected: 8 cells: 1 safe, 0 violated, 7 n/a");
}

TEST(of_the_users_own_lock_its_verdict_comes_first) {
  static const struct lb_expect violated = {.verdict = LB_VIOLATED};
  struct ended run = {0};
  add_end(&run, "failover", "mylock@redis", true, LB_GUARD_NONE, LB_VIOLATED);
  add_end(&run, "pause-holder", "mylock@redis", true, LB_GUARD_NONE, LB_VIOLATED);
  add_end(&run, "control", "mylock@redis", true, LB_GUARD_NONE, LB_SAFE);
  add_end(&run, "control", "mylock@redis", true, LB_GUARD_FENCE, LB_SAFE); /* under a guard: of the resource */
  add_end(&run, "control", "redis-token@redis", false, LB_GUARD_NONE, LB_SAFE);
  run.cells[0].expect = run.cells[1].expect = &violated;
  assert_int_equal(end_of(&run), LB_EXIT_OK);
  assert_string_equal(
      run.line,
      "mylock: violated in 2 of 3 scenarios (failover, pause-holder); safe in 1. As expected: 5 cells: 3 safe, 2 violated");
  assert_int_equal(lb_exit_lock_verdict(&run.tally), LB_VIOLATED);
  run.cells[0].expect = NULL;
  assert_int_equal(end_of(&run), LB_EXIT_UNEXPECTED);
  add_end(&run, "failover", "mylock@sentinel", true, LB_GUARD_DEADLINE,
          LB_SAFE); /* only under a guard: under that one */
  static const struct lb_protocol mylock = {.name = "mylock"};
  for (size_t i = 0; i < run.plan.cell_count; i++) run.cells[i].protocol = run.cells[i].own ? &mylock : NULL;
  end_of(&run);
  assert_non_null(strstr(run.line, "mylock@redis: violated"));
  assert_non_null(strstr(run.line, "mylock@sentinel under guard deadline: safe in failover"));
}

TEST(the_verdict_of_an_own_lock_is_the_worst_of_what_was_asked) {
  static const struct {
    enum lb_verdict a, b, wanted;
    const char *line;
  } rows[] = {{LB_SAFE, LB_SAFE, LB_SAFE, "mylock: safe in both scenarios. "},
              {LB_SAFE, LB_NA, LB_SAFE, "mylock: safe in 1 of 2 scenarios; n/a in 1. "},
              {LB_SAFE, LB_SKIPPED, LB_SKIPPED, "mylock: skipped in 1 of 2 scenarios (b); safe in 1. "},
              {LB_SAFE, LB_STUCK, LB_STUCK, "mylock: stuck in 1 of 2 scenarios (b); safe in 1. "},
              {LB_UNDECIDED, LB_SAFE, LB_UNDECIDED, "mylock: undecided in 1 of 2 scenarios (a); safe in 1. "},
              {LB_STUCK, LB_VIOLATED, LB_VIOLATED, "mylock: violated in 1 of 2 scenarios (b); stuck in 1 (a). "},
              {LB_SAFE, LB_VERDICT_NONE, LB_UNDECIDED, "mylock: not run in 1 of 2 scenarios (b); safe in 1. "}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct ended run = {0};
    add_end(&run, "a", "mylock@none", true, LB_GUARD_NONE, rows[i].a);
    add_end(&run, "b", "mylock@none", true, LB_GUARD_NONE, rows[i].b);
    end_of(&run);
    assert_int_equal(lb_exit_lock_verdict(&run.tally), rows[i].wanted);
    if (strncmp(run.line, rows[i].line, strlen(rows[i].line)) != 0) fail_msg("%s\nexpected %s", run.line, rows[i].line);
  }
  struct ended mixed = {0};
  add_end(&mixed, "a", "mylock@none", true, LB_GUARD_NONE, LB_MIXED);
  end_of(&mixed);
  assert_int_equal(lb_exit_lock_verdict(&mixed.tally), LB_MIXED);
  mixed.sums[0].violated = 1; /* once is enough */
  assert_int_equal(lb_exit_lock_verdict(&mixed.tally), LB_VIOLATED);
}

TEST(so_does_the_verdict_of_a_single_lock) {
  struct ended run = {0};
  add_end(&run, "a", "redis-token@redis", false, LB_GUARD_NONE, LB_VIOLATED);
  add_end(&run, "b", "redis-token@redis", false, LB_GUARD_NONE, LB_SAFE);
  add_end(&run, "a", "redis-token@redis", false, LB_GUARD_FENCE, LB_SAFE);
  end_of(&run);
  assert_string_equal(
      run.line,
      "redis-token@redis: violated in 1 of 2 scenarios (a); safe in 1. NOT as expected: 3 cells: 2 safe, 1 violated, 1 against expectation");
  assert_int_equal(lb_exit_lock_verdict(&run.tally), LB_VERDICT_NONE); /* it is not the user's */
  add_end(&run, "a", "pg-row@pg", false, LB_GUARD_NONE, LB_SAFE);
  end_of(&run);
  assert_int_equal(strncmp(run.line, "NOT as expected: 4 cells", 24), 0);
}

/* However many scenarios and locks there are, the line is whole and has its counts. */
TEST(a_line_of_many_own_locks_is_cut_and_keeps_the_expectation) {
  struct ended run = {0};
  char system[ENDS][90];
  for (int i = 0; i < ENDS; i++) {
    memset(system[i], 'a' + i, sizeof system[i]);
    snprintf(system[i] + 80, 10, "@none");
    add_end(&run, "a-scenario-with-a-name-that-is-long", system[i], true, LB_GUARD_NONE, LB_VIOLATED);
  }
  end_of(&run);
  assert_non_null(strstr(run.line, ". NOT as expected: 12 cells: 0 safe, 12 violated, 12 against expectation"));
  struct ended many = {0};
  for (int i = 0; i < 6; i++)
    add_end(&many, i < 5 ? "bad" : "good", "mylock@none", true, LB_GUARD_NONE, i < 5 ? LB_VIOLATED : LB_SAFE);
  end_of(&many);
  assert_non_null(strstr(many.line, "violated in 5 of 6 scenarios (bad, bad, bad, bad and 1 more); safe in 1."));
}
