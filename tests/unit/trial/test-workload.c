/* test: compute, memory, wraps lb_clock_ns lb_clock_sleep_until lb_cluster_commits lb_cluster_requests lb_cluster_compiling */
/* SPDX-License-Identifier: MIT
 *
 * When the measured window of a load begins and ends, and what is asked of the servers at both ends: on a clock that
 * only the waiting moves, with clients that are a rate. The linker puts the functions below in the place of those of
 * the world (tests/meson.build).
 */
#include "test.h"
#include "base/clock.h"
#include "trial/workload.h"

enum { MS = 1000000, S = 1000 * MS };

static struct world {
  struct lb_scenario scenario;
  struct lb_topology topology;
  struct lb_trial_plan plan;
  struct lb_stage stage;
  lb_ns now, begin;
  double (*rate)(double s); /* grants per second at that time of the load */
  double done;
  lb_ns warm_at;        /* then a log is an eighth full; 0 = never */
  double compiled_s;    /* for so long the servers compile; 0 = they compile nothing */
  int asked, answer[2]; /* of the servers: how often, and with which result */
  int phase_when_asked[2];
  lb_ns asked_at[2];
  int asked_requests, answer_requests[2]; /* the same of their requests */
} world;

/* ---- what stands in for time and servers ------------------------------------------------------------------------- */

lb_ns __wrap_lb_clock_ns(void);
void __wrap_lb_clock_sleep_until(lb_ns when);
int __wrap_lb_cluster_commits(struct lb_cluster *cluster, lb_ns deadline, uint64_t *ret);
int __wrap_lb_cluster_requests(struct lb_cluster *cluster, lb_ns deadline, uint64_t *ret);
int __wrap_lb_cluster_compiling(struct lb_cluster *cluster, lb_ns *ret);

lb_ns __wrap_lb_clock_ns(void) { return world.now; }

void __wrap_lb_clock_sleep_until(lb_ns when) {
  if (when <= world.now) return;
  world.done += world.rate((double)(world.now - world.begin) / S) * (double)(when - world.now) / S;
  world.now = when;
  atomic_store(&world.stage.memory->grants, (uint64_t)world.done);
  if (world.warm_at && world.now >= world.warm_at) atomic_store(&world.stage.memory->log_warm, true);
}

/* 1000 before the window, 1600 at its end. */
int __wrap_lb_cluster_commits(struct lb_cluster *cluster, lb_ns deadline, uint64_t *ret) {
  int i = world.asked++;
  assert_ptr_equal(cluster, &world.stage.cluster);
  assert_true(deadline > world.now);
  assert_true(i < 2);
  world.asked_at[i] = world.now;
  world.phase_when_asked[i] = atomic_load(&world.stage.memory->phase);
  *ret = i ? 1600 : 1000;
  return world.answer[i];
}

/* 20000 before the window, 29000 at its end. */
int __wrap_lb_cluster_requests(struct lb_cluster *cluster, lb_ns deadline, uint64_t *ret) {
  int i = world.asked_requests++;
  assert_ptr_equal(cluster, &world.stage.cluster);
  assert_true(deadline > world.now);
  assert_true(i < 2);
  *ret = i ? 29000 : 20000;
  return world.answer_requests[i];
}

/* Half a processor, without a pause. */
int __wrap_lb_cluster_compiling(struct lb_cluster *cluster, lb_ns *ret) {
  lb_ns most = (lb_ns)(world.compiled_s * S), since = world.now - world.begin;
  assert_ptr_equal(cluster, &world.stage.cluster);
  *ret = (since < most ? since : most) / 2;
  return world.compiled_s > 0 ? 0 : -EOPNOTSUPP;
}

static double steady(double s) { return s >= 0 ? 400 : 0; }
static double growing(double s) { return 100 + 50 * s; }
/* As a compiler does: four seconds. */
static double warming(double s) { return s < 4 ? 100 + 100 * s : 500; }
static double slow_at_first(double s) { return s < 10 ? 100 : 500; }

/* ---- a load without clients -------------------------------------------------------------------------------------- */

static int set_up(void **state) {
  (void)state;
  world = (struct world){.now = 1000 * (lb_ns)S, .begin = 1000 * (lb_ns)S, .rate = steady};
  world.scenario =
      (struct lb_scenario){.kind = LB_KIND_LOAD, .warmup_s = 1, .duration_s = 5, .settle_s = 20, .wait_ms = 100};
  world.plan = (struct lb_trial_plan){.scenario = &world.scenario, .topology = &world.topology};
  world.stage = (struct lb_stage){.plan = &world.plan, .memory = lb_memory_map(1, 1, 1), .cluster = {.data_count = 1}};
  return world.stage.memory ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  lb_history_clear(&world.stage.history);
  lb_memory_unmap(world.stage.memory);
  return 0;
}
EACH(set_up, tear_down);

/* When the window began or ended, in ms of the load. */
static int64_t at(enum lb_fact_phase phase) {
  const struct lb_log *log = &world.stage.memory->log[world.stage.memory->controller];
  for (uint32_t i = 0; i < atomic_load(&log->count); i++) {
    const struct lb_event *e = &world.stage.memory->events[log->first + i];
    if (e->kind == LB_EV_PHASE && world.stage.history.facts[e->fact].phase == phase)
      return (int64_t)(e->t - world.begin) / MS;
  }
  fail_msg("no such phase");
  return -1;
}

static void play(void) { assert_int_equal(lb_workload_play(&world.stage), 0); }

static void assert_window(int64_t begin_ms) {
  assert_in_range(at(LB_PHASE_MEASURE), begin_ms, begin_ms + 1);
  assert_int_equal(world.stage.warmup_ns / MS, at(LB_PHASE_MEASURE));
  assert_in_range(at(LB_PHASE_END), begin_ms + 5000, begin_ms + 5001);
}

STATES(a_load_that_need_not_settle_begins_after_its_warm_up, world.scenario.settle_s = 0, world.rate = growing, play(),
       assert_window(1000), assert_false(world.stage.unsettled));
STATES(a_steady_rate_begins_when_that_is_seen, play(), assert_window(1500), assert_false(world.stage.unsettled));
STATES(the_warm_up_is_never_shorter_than_asked, world.scenario.warmup_s = 3, play(), assert_window(3000));
STATES(a_rate_that_grows_is_waited_for, world.rate = warming, play(),
       assert_in_range(at(LB_PHASE_MEASURE), 8000, 12000), assert_false(world.stage.unsettled));
STATES(what_does_not_settle_is_measured_all_the_same_and_says_so, world.rate = growing, play(), assert_window(21000),
       assert_true(world.stage.unsettled));

/* They rest from 10 to 13 s, and the rate is looked at from then on. */
STATES(servers_that_compile_are_waited_for_before_the_rate, world.compiled_s = 10, play(), assert_window(14500),
       assert_false(world.stage.unsettled));
STATES(what_was_done_while_they_compiled_is_not_looked_at, world.compiled_s = 10, world.rate = slow_at_first, play(),
       assert_window(14500), assert_false(world.stage.unsettled));
STATES(servers_that_go_on_compiling_are_not_warm_however_steady_the_rate, world.compiled_s = 1000, play(),
       assert_window(21500), assert_true(world.stage.unsettled));
STATES(under_a_guard_nobody_waits_for_the_compilers, world.compiled_s = 1000, world.plan.guard = LB_GUARD_RECHECK,
       play(), assert_window(1000));

/* Under a guard only the verdict is asked for. */
STATES(under_a_guard_nobody_waits_for_the_rate, world.rate = growing, world.plan.guard = LB_GUARD_RECHECK, play(),
       assert_window(1000), assert_false(world.stage.unsettled));

TEST(a_log_that_fills_ends_the_warm_up) {
  world.rate = growing;
  world.warm_at = world.begin + 300 * MS;
  play();
  assert_in_range(at(LB_PHASE_MEASURE), 300, 301);
  assert_false(world.stage.unsettled);
}

TEST(what_the_servers_commit_in_the_window_is_counted_while_the_clients_work) {
  play();
  assert_int_equal(world.asked, 2);
  assert_int_equal((world.asked_at[0] - world.begin) / MS, at(LB_PHASE_MEASURE));
  assert_int_equal((world.asked_at[1] - world.begin) / MS, at(LB_PHASE_END));
  assert_int_equal(world.phase_when_asked[1], LB_PHASE_RUN);
  assert_int_equal(world.stage.commits, 600);
  assert_int_equal(atomic_load(&world.stage.memory->phase), LB_PHASE_STOP);
}

STATES(what_the_servers_are_asked_in_the_window_is_counted_beside_it, play(), assert_int_equal(world.asked_requests, 2),
       assert_int_equal(world.stage.requests, 9000));
STATES(servers_that_count_one_of_the_two_are_asked_for_that_alone, world.answer_requests[0] = -EOPNOTSUPP, play(),
       assert_int_equal(world.asked_requests, 1), assert_int_equal(world.stage.requests, -1),
       assert_int_equal(world.stage.commits, 600));
STATES(servers_that_do_not_say_have_committed_nobody_knows_what, world.answer[0] = -EOPNOTSUPP, play(),
       assert_int_equal(world.asked, 1), assert_int_equal(world.stage.commits, -1));
STATES(a_count_without_its_end_is_none, world.answer[1] = -ETIMEDOUT, play(), assert_int_equal(world.asked, 2),
       assert_int_equal(world.stage.commits, -1));

TEST(nobody_is_asked_without_servers_or_under_faults) {
  world.stage.cluster.data_count = 0;
  play();
  assert_int_equal(world.asked, 0);
  assert_int_equal(world.stage.commits, -1);
  world.stage.cluster.data_count = 1;
  world.scenario.kind = LB_KIND_CAMPAIGN;
  assert_int_equal(lb_workload_begin(&world.stage), 0);
  assert_int_equal(world.asked, 0);
}
