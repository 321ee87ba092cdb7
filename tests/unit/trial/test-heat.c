/* test: compute, memory, wraps lb_clock_ns lb_clock_sleep_until lb_cluster_compiling */
/* SPDX-License-Identifier: MIT
 *
 * Which trials share servers that are heated, in which order they are run, and when the servers are warm: on a clock
 * that only the waiting moves, with compilers that are a rate. The linker puts the functions below in the place of
 * those of the world.
 */
#include "test.h"
#include "base/clock.h"
#include "plan/plan.h"
#include "servers/family.h"
#include "trial/workload.h"

enum { S = 1000000000, JOBS = 24, SEEDS = 50 };

/* ---- what stands in for time and servers ------------------------------------------------------------------------- */

static struct world {
  struct lb_stage stage;
  struct lb_trial_plan plan;
  struct lb_scenario scenario;
  struct lb_topology topology;
  lb_ns now, begin;
  double (*busy)(double s); /* processors that the compilers use at that time */
  double spent;
  int result;
} world;

lb_ns __wrap_lb_clock_ns(void);
void __wrap_lb_clock_sleep_until(lb_ns when);
int __wrap_lb_cluster_compiling(struct lb_cluster *cluster, lb_ns *ret);

lb_ns __wrap_lb_clock_ns(void) { return world.now; }

void __wrap_lb_clock_sleep_until(lb_ns when) {
  if (when <= world.now) return;
  world.spent += world.busy((double)(world.now - world.begin) / S) * (double)(when - world.now);
  world.now = when;
}

int __wrap_lb_cluster_compiling(struct lb_cluster *cluster, lb_ns *ret) {
  assert_ptr_equal(cluster, &world.stage.cluster);
  *ret = (lb_ns)world.spent;
  return world.result;
}

static double never(double s) { return s < 0 ? 1 : 0; }
static double always(double s) { return s < 0 ? 0 : 0.5; }
/* Twelve seconds of work, then a method now and then. */
static double at_first(double s) { return s < 12 ? 1 : 0.05; }

static int set_up(void **state) {
  (void)state;
  world = (struct world){.now = 1000 * (lb_ns)S, .begin = 1000 * (lb_ns)S, .busy = at_first};
  world.scenario = (struct lb_scenario){.kind = LB_KIND_LOAD, .settle_s = 20, .wait_ms = 100};
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

/* ---- when servers are warm --------------------------------------------------------------------------------------- */

static void heats_for(lb_ns seconds, bool warm) {
  assert_int_equal(lb_workload_heat_play(&world.stage), 0);
  assert_in_range(world.stage.site.heated_ns, seconds * S, seconds * S + S / 100);
  assert_int_equal(world.stage.site.warm, warm);
  assert_int_equal(atomic_load(&world.stage.memory->phase), LB_PHASE_STOP);
}

/* From 12 to 15 s they are at rest for three seconds. */
TEST(servers_are_warm_when_they_have_stopped_compiling) { heats_for(15, true); }

STATES(rest_is_seen_for_three_seconds, world.busy = never, heats_for(3, true));
STATES(heating_ends_although_the_compilers_go_on, world.busy = always, heats_for(lb_workload_heat_most() / S, false));
STATES(a_server_that_cannot_be_looked_at_is_not_warm, world.busy = never, world.result = -ESRCH,
       heats_for(lb_workload_heat_most() / S, false));
STATES(a_full_log_ends_it, atomic_store(&world.stage.memory->log_full, true), heats_for(0, false));

/* ---- which trials share servers ---------------------------------------------------------------------------------- */

static int compile(struct lb_cluster *cluster, size_t index, lb_ns *ret) {
  return (void)cluster, (void)index, (void)ret, 0;
}
static const struct lb_family compiled = {.compiling = compile}, native;
static const struct lb_topology jvm = {.family = &compiled}, other_jvm = {.family = &compiled},
                                program = {.family = &native};

TEST(sharing_needs_the_same_servers_in_the_same_round) {
  struct lb_scenario scenario[2] = {{.kind = LB_KIND_LOAD, .settle_s = 1, .ttl_ms = 10},
                                    {.kind = LB_KIND_LOAD, .settle_s = 2, .ttl_ms = 10, .keys = 1}};
  struct lb_trial_plan a = {.scenario = &scenario[0], .topology = &jvm, .trial = 1},
                       b = {.scenario = &scenario[1], .topology = &jvm, .trial = 1, .clients = 8};
  assert_true(lb_workload_heat_shared(&a, &b));
  struct lb_trial_plan c = b;
  c.trial = 2;
  assert_false(lb_workload_heat_shared(&a, &c));
  c = b, c.topology = &other_jvm;
  assert_false(lb_workload_heat_shared(&a, &c));
  c = b, c.guard = LB_GUARD_FENCE;
  assert_false(lb_workload_heat_shared(&a, &c));
  scenario[1].ttl_ms = 20;
  assert_false(lb_workload_heat_shared(&a, &b));
  scenario[1].ttl_ms = 10, scenario[1].memory_storage = true;
  assert_false(lb_workload_heat_shared(&a, &b));
  scenario[1].memory_storage = false, scenario[1].settle_s = 0;
  assert_false(lb_workload_heat_shared(&a, &b));
  a.topology = c.topology = &program, c.guard = LB_GUARD_NONE;
  assert_false(lb_workload_heat_needed(&a) || lb_workload_heat_shared(&a, &c));
}

static const struct lb_trial_plan *at(const struct lb_plan *plan, size_t position) {
  return &plan->jobs[plan->order[position]].plan;
}

/* How many from this position on share their servers. */
static size_t series_at(const struct lb_plan *plan, size_t position) {
  size_t end = position + 1;
  while (end < plan->job_count && lb_workload_heat_shared(at(plan, position), at(plan, end))) end++;
  return end - position;
}

/* Two rounds of six trials on each of two topologies, of which one has a JVM. */
TEST(those_that_share_are_neighbours_and_each_is_run_once) {
  static struct lb_job jobs[JOBS];
  struct lb_scenario load = {.kind = LB_KIND_LOAD, .settle_s = 1};
  for (size_t i = 0; i < JOBS; i++)
    jobs[i] = (struct lb_job){
        .plan = {.scenario = &load, .topology = i % 2 ? &jvm : &program, .trial = i < JOBS / 2 ? 1 : 2}};
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    struct lb_plan plan = {.jobs = jobs, .job_count = JOBS, .seed = seed};
    bool seen[JOBS] = {false};
    size_t series = 0;
    lb_plan_set_order(&plan);
    for (size_t i = 0, count; i < JOBS; i += count) {
      count = series_at(&plan, i);
      assert_int_equal(count, at(&plan, i)->topology == &jvm ? JOBS / 4 : 1);
      series += count > 1;
      for (size_t k = i; k < i + count; k++) {
        assert_true(!seen[plan.order[k]] && at(&plan, k)->topology == at(&plan, i)->topology);
        assert_int_equal(at(&plan, k)->trial, k < JOBS / 2 ? 1 : 2);
        seen[plan.order[k]] = true;
      }
    }
    assert_int_equal(series, 2);
    free(plan.order);
  }
}

/* ---- the load that heats ----------------------------------------------------------------------------------------- */

TEST(the_load_that_heats_is_one_of_its_own) {
  struct lb_scenario asked = {.kind = LB_KIND_LOAD,
                              .settle_s = 5,
                              .keys = 1,
                              .hold_ms = 10,
                              .think_ms = 10,
                              .ttl_ms = 7000},
                     scenario;
  struct lb_trial_plan
      plan = {.scenario = &asked, .topology = &jvm, .system = "a@b", .clients = 1, .trial = 3, .seed = 5, .name = "x"},
      heat;
  lb_workload_heat_plan(&plan, &scenario, &heat);
  assert_ptr_equal(heat.scenario, &scenario);
  assert_true(scenario.keys > 1 && heat.clients > scenario.keys && scenario.hold_ms == 0 && scenario.think_ms == 0);
  assert_int_equal(scenario.ttl_ms, 7000);
  assert_ptr_equal(heat.topology, &jvm);
  assert_string_equal(heat.name, "heat.a@b.t3");
  assert_int_not_equal(heat.seed, plan.seed);
}
