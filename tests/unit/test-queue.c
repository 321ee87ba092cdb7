/* SPDX-License-Identifier: MIT
 *
 * Which job is next: in order, none twice, none that is not wanted any more, and for servers that are there only what
 * can be played on them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "run/runner.h"

/* Three cells, twice each: two on one topology, the last one on another. */
enum { CELLS = 3, JOBS = 6 };
static struct lb_scenario scenario = {.kind = LB_KIND_TIMELINE};
static struct lb_cell cells[CELLS];
static struct lb_job jobs[JOBS];
static size_t order[JOBS] = {0, 2, 4, 1, 3, 5}; /* first trials before second ones */
static const struct lb_plan plan = {
    .cells = cells, .cell_count = CELLS, .jobs = jobs, .job_count = JOBS, .order = order};
static unsigned done[CELLS], enough;

static int begin(void **state) {
  (void)state;
  for (size_t i = 0; i < JOBS; i++) {
    jobs[i] = (struct lb_job){.cell = i / 2, .plan = {.scenario = &scenario, .trial = 1 + (int)i % 2}};
    jobs[i].plan.topology = lb_topology_find(i < 4 ? "redis" : "redis-x3");
  }
  for (size_t i = 0; i < CELLS; i++) done[i] = 0;
  enough = 2;
  return 0;
}

/* One that is done is enough, or two; those that run may be the ones that make it enough. */
static enum lb_wanted ask(void *to, const struct lb_job *job, size_t running) {
  (void)to;
  if (done[job->cell] >= enough) return LB_WANTED_NO_MORE;
  return done[job->cell] + running >= enough ? LB_WANTED_LATER : LB_WANTED_NOW;
}

static struct lb_queue make(lb_wanted_ask *asks) {
  struct lb_queue queue;
  assert_int_equal(lb_queue_begin(&plan, asks, NULL, &queue), 0);
  return queue;
}

static void expect_next(struct lb_queue *q, const struct lb_trial_plan *like, ptrdiff_t position) {
  assert_int_equal(lb_queue_next(q, like), position);
  assert_int_equal(lb_queue_next(q, like), position); /* asking takes nothing */
  if (position >= 0) lb_queue_take(q, (size_t)position);
}

static void jobs_come_in_their_order_and_once(void **state) {
  (void)state;
  struct lb_queue q = make(NULL);
  for (ptrdiff_t i = 0; i < JOBS; i++) expect_next(&q, NULL, i);
  expect_next(&q, NULL, -1);
  assert_int_equal(q.left, 0);
  lb_queue_clear(&q);
}

static void servers_get_what_can_be_played_on_them(void **state) {
  (void)state;
  struct lb_queue q = make(NULL);
  jobs[order[3]].plan.fresh = true; /* of the first cell: it wants servers of its own */
  expect_next(&q, &jobs[4].plan, 2);
  expect_next(&q, &jobs[4].plan, 5);
  assert_false(lb_queue_has(&q, &jobs[4].plan));
  assert_true(lb_queue_has(&q, &jobs[0].plan));
  expect_next(&q, &jobs[0].plan, 0);
  expect_next(&q, &jobs[0].plan, 1);
  expect_next(&q, &jobs[0].plan, 4);
  expect_next(&q, &jobs[0].plan, -1);
  expect_next(&q, NULL, 3);
  lb_queue_clear(&q);
}

/* Also of those that want servers of their own, which nobody will be told: whether they do is asked when they are
 * next. */
static void who_can_share_is_found_by_position(void **state) {
  (void)state;
  struct lb_queue q = make(NULL);
  size_t alike[JOBS];
  jobs[order[3]].plan.fresh = true;
  assert_true(lb_queue_shares(&q, 0));
  assert_int_equal(lb_queue_alike(&q, 1, alike), 4);
  assert_int_equal(alike[0], 1);
  assert_int_equal(alike[1], 0);
  lb_queue_take(&q, 0);
  lb_queue_take(&q, 1);
  assert_int_equal(lb_queue_alike(&q, 1, alike), 3);
  assert_int_equal(alike[0], 1);
  assert_int_equal(alike[1], 3);
  assert_int_equal(lb_queue_alike(&q, 5, alike), 2);
  lb_queue_clear(&q);
  static struct lb_scenario load = {.kind = LB_KIND_LOAD};
  jobs[order[2]].plan.scenario = &load;
  q = make(NULL);
  assert_false(lb_queue_shares(&q, 2));
  assert_int_equal(lb_queue_alike(&q, 2, alike), 1);
  lb_queue_clear(&q);
}

static void what_may_be_superfluous_waits_for_what_runs(void **state) {
  (void)state;
  struct lb_queue q = make(ask);
  enough = 1;
  for (ptrdiff_t i = 0; i < CELLS; i++) expect_next(&q, NULL, i);
  expect_next(&q, NULL, -1);
  assert_int_equal(q.left, 3);
  done[0] = 1; /* the second cell's did not count */
  lb_queue_done(&q, &jobs[0]);
  lb_queue_done(&q, &jobs[2]);
  expect_next(&q, NULL, 4);
  assert_int_equal(q.left, 1); /* of the first one nobody wants any more */
  lb_queue_clear(&q);
}

static void running_ones_are_counted_by_cell(void **state) {
  (void)state;
  struct lb_queue q = make(ask);
  for (ptrdiff_t i = 0; i < JOBS; i++) expect_next(&q, NULL, i);
  assert_int_equal(q.running[0], 2);
  lb_queue_done(&q, &jobs[1]);
  assert_int_equal(q.running[0], 1);
  assert_int_equal(q.running[1], 2);
  lb_queue_clear(&q);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(jobs_come_in_their_order_and_once, begin),
      cmocka_unit_test_setup(servers_get_what_can_be_played_on_them, begin),
      cmocka_unit_test_setup(who_can_share_is_found_by_position, begin),
      cmocka_unit_test_setup(what_may_be_superfluous_waits_for_what_runs, begin),
      cmocka_unit_test_setup(running_ones_are_counted_by_cell, begin),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
