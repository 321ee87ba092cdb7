/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * How long a run will take: what measures takes its turn, what waits goes side by side, what computes takes longer
 * beside others, dear servers start one after the other; and what was measured before is corrected by what is measured now.
 */
#include "test.h"
#include "run/estimate.h"
#include "servers/topology.h"

enum { MANY = 40 };
#define NEAR 0.01 /* s */

static void assert_near(double value, double expected) {
  if (value < expected - NEAR || value > expected + NEAR) fail_msg("%f, expected %f", value, expected);
}

static struct lb_room room(int cores, double others, int jobs) {
  return (struct lb_room){.cores = cores, .others = others, .jobs = {jobs, jobs}};
}

/* ---- trials ------------------------------------------------------------------------------------------------------ */

static double play(struct lb_effort each, size_t count, struct lb_room r) {
  struct lb_share sum = {0};
  for (size_t i = 0; i < count; i++) lb_estimate_add(&sum, lb_estimate_share(&each, &r));
  return lb_estimate_of(sum);
}

static const struct lb_effort waits = {.rest_s = 3},
                              computes = {.start_s = 1, .start_cpu_s = 1, .start_ms = 1000, .rest_s = 2};

TEST(nothing_takes_no_time) { assert_near(play(waits, 0, room(2, 0, 8)), 0); }

STATES(trials_that_wait_go_side_by_side_as_many_as_there_are_jobs, assert_near(play(waits, 8, room(2, 0, 8)), 3),
       assert_near(play(waits, 2, room(2, 0, 8)), 3), assert_near(play(waits, 16, room(2, 0, 8)), 6),
       assert_near(play(waits, 9, room(2, 0, 1)), 27));

TEST(trials_that_measure_take_turns) {
  static const struct lb_effort effort[] = {
      {.rest_s = 3, .alone = true}, {.rest_s = 3, .alone = true}, {.rest_s = 4}, {.rest_s = 4}};
  struct lb_room r = room(2, 0, 8);
  struct lb_share sum = {0};
  for (size_t i = 0; i < 4; i++) lb_estimate_add(&sum, lb_estimate_share(&effort[i], &r));
  assert_near(lb_estimate_of(sum), 3 + 3 + 4);
}

TEST(servers_that_are_dear_start_one_after_the_other) {
  /* 1000 ms together on 2 processors: a second each. */
  assert_near(play(computes, 8, room(2, 0, 64)), 8);
  assert_near(play(computes, 8, room(8, 0, 64)), 3); /* four start together, so two seconds; each takes three */
}

/* What the guess exceeds where processors stand still is not exceeded where they do not. */
TEST(more_side_by_side_need_idle_processors) {
  static const struct lb_effort busy = {.rest_s = 3, .rest_cpu_s = 1.5};
  struct lb_room r = {.cores = 2, .jobs = {2, 8}};
  assert_near(play(waits, 16, r), 6);
  assert_near(play(busy, 16, r), 24);
}

TEST(what_others_want_stretches_what_computes_and_not_what_waits) {
  double alone = play(computes, 1, room(2, 0, 8)), beside = play(computes, 1, room(2, 4, 8)),
         crowded = play(computes, 1, room(2, 40, 8));
  assert_near(alone, 1 + 2);
  assert_true(beside > alone && beside < crowded && crowded < 40);
  assert_near(play(waits, 8, room(2, 3, 8)), 3);
}

/* ---- a run ------------------------------------------------------------------------------------------------------- */

static struct lb_topology topology = {.name = "t", .start_ms = 100};
static struct lb_scenario scenario = {.name = (char *)"known", .base = (char *)"known", .kind = LB_KIND_TIMELINE};
static struct lb_cell cell;
static struct lb_job jobs[MANY];
static struct lb_job_result results[MANY];
static size_t order[MANY];
static struct lb_plan plan = {.cells = &cell, .cell_count = 1, .jobs = jobs, .job_count = MANY, .order = order};
static struct lb_tally tally = {.plan = &plan, .jobs = results};
static struct lb_times_row rows[] = {
    {.scenario = "known", .system = "a@t", .clients = 2, .start_s = 0.5, .rest_s = 3.4}};
static const struct lb_times times = {rows, 1};

static void done(size_t count) {
  for (size_t i = 0; i < MANY; i++) {
    jobs[i].plan = (struct lb_trial_plan){.scenario = &scenario, .topology = &topology, .system = "a@t", .clients = 2};
    order[i] = MANY - 1 - i;
    results[i] = (struct lb_job_result){.job = &jobs[i], .done = i < count};
  }
  tally.done = count;
}

TEST(what_is_done_already_takes_no_time) {
  struct lb_room r = room(2, 0, 1);
  struct lb_estimate all, half;
  done(0);
  lb_estimate_begin(&tally, &times, &r, &all);
  done(MANY / 2);
  lb_estimate_begin(&tally, &times, &r, &half);
  assert_near(half.whole_s, all.whole_s / 2);
  /* A run that is resumed begins with the same: what was done before it is not taken for its speed. */
  assert_near(lb_estimate_left_s(&half, &tally, 0), half.whole_s);
  lb_estimate_end(&all);
  lb_estimate_end(&half);
}

TEST(a_run_that_is_slower_than_expected_is_corrected_bit_by_bit) {
  struct lb_room r = room(2, 0, 1);
  struct lb_estimate e;
  done(0);
  lb_estimate_begin(&tally, &times, &r, &e);
  double each = e.whole_s / MANY, early, late;
  done(1);
  early = lb_estimate_left_s(&e, &tally, 3 * each);
  assert_true(early > (MANY - 1) * each && early < 3 * (MANY - 1) * each);
  done(MANY / 2);
  late = lb_estimate_left_s(&e, &tally, 3 * MANY / 2 * each);
  assert_true(late > 2.5 * MANY / 2 * each && late < 3 * MANY / 2 * each);
  done(MANY);
  assert_near(lb_estimate_left_s(&e, &tally, 3 * MANY * each), 0);
  lb_estimate_end(&e);
}

STATES(what_came_as_expected_is_not_corrected, assert_near(lb_estimate_corrected(60, 30, 30, 90), 60),
       assert_near(lb_estimate_corrected(60, 0, 0, 90), 60));

/* ---- the table --------------------------------------------------------------------------------------------------- */

static struct lb_took find(const struct lb_times_row *row, size_t count, struct lb_scenario *s, const char *system,
                           const char *on, int clients) {
  struct lb_topology t = {.name = on, .start_ms = 700};
  struct lb_trial_plan wanted = {.scenario = s, .topology = &t, .system = system, .clients = clients};
  const struct lb_times table = {(struct lb_times_row *)row, count};
  return lb_times_find(&table, &wanted);
}

TEST(the_row_that_is_most_like_the_trial_counts) {
  static const struct lb_times_row row[] = {{"s", "a@t", 2, 0, 1, 10},     {"s", "a@t", 4, 0, 1, 20},
                                            {"s", "b@t", 2, 0, 1, 30},     {"s", "a@u", 2, 0, 1, 40},
                                            {"other", "a@t", 2, 0, 1, 50}, {"s~x=1", "a@t", 2, 0, 1, 60}};
  enum { COUNT = sizeof row / sizeof *row };
  struct lb_scenario s = {.name = (char *)"s", .base = (char *)"s", .kind = LB_KIND_TIMELINE}, variant = s, unknown = s;
  variant.name = (char *)"s~x=1";
  unknown.name = unknown.base = (char *)"unknown";
  assert_near(find(row, COUNT, &s, "a@t", "t", 2).rest_s, 10);
  assert_near(find(row, COUNT, &s, "a@t", "t", 4).rest_s, 20);
  assert_near(find(row, COUNT, &s, "b@t", "t", 2).rest_s, 30);
  assert_near(find(row, COUNT, &variant, "a@t", "t", 2).rest_s, 60);
  assert_near(find(row, COUNT, &s, "c@u", "u", 2).rest_s, 40);
  /* Another topology starts as it starts. */
  assert_near(find(row, COUNT, &s, "c@v", "v", 2).start_s, 0.7);
  /* Nobody measured it: as timelines on these servers. */
  assert_near(find(row, COUNT, &unknown, "a@u", "u", 2).rest_s, 40);
  assert_true(find(row, 0, &unknown, "a@t", "t", 2).rest_s > 0);
}

TEST(a_load_that_is_told_to_take_longer_takes_longer) {
  static const struct lb_times_row row[] = {{"s", "a@t", 2, 2, 0.5, 2.3}};
  struct lb_scenario s = {
      .name = (char *)"s", .base = (char *)"s", .kind = LB_KIND_LOAD, .duration_s = 9, .warmup_s = 1};
  assert_near(find(row, 1, &s, "a@t", "t", 2).rest_s, 10.3);
  s.kind = LB_KIND_CAMPAIGN;
  assert_near(find(row, 1, &s, "a@t", "t", 2).rest_s, 11.5);
}

TEST(the_shipped_table_can_be_read) {
  struct lb_error err = {0};
  char path[4000];
  struct lb_times t;
  snprintf(path, sizeof path, "%s/scenarios/times.csv", getenv("LB_SOURCE_DIR"));
  if (lb_times_read(path, &t, &err) < 0) fail_msg("%s", err.text);
  assert_true(t.count > 0);
  for (size_t i = 0; i < t.count; i++)
    if (!(t.row[i].rest_s > 0 && t.row[i].start_s >= 0 && t.row[i].clients > 0))
      fail_msg("%s %s", t.row[i].scenario, t.row[i].system);
  lb_times_clear(&t);
  assert_true(lb_times_read("/nonexistent/times.csv", &t, &err) < 0);
  assert_int_equal(t.count, 0);
}
