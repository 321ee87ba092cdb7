/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * Which trial may start beside others: cheap ones together, dear ones one after the other, and never more than there
 * are places.
 */
#include <unistd.h>

#include "test.h"
#include "backends/foreign/foreign.h"
#include "backends/registry.h"
#include "run/admit.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/machine.h"
#include "servers/topology.h"

static int cost(const char *name) { return lb_topology_find(name)->start_ms; }

static bool admits(struct lb_crowd now, int start_ms) {
  return lb_crowd_admits(&now, &(struct lb_entry){.start_ms = start_ms, .starts = true}) == LB_ADMIT_NOW;
}

/* How many of such a cost start at once on so many processors, if all want to. */
static int of_cost(int start_ms, int cores, int most) {
  struct lb_crowd now = {.jobs = {most, most}, .cores = cores};
  while (admits(now, start_ms)) {
    now.playing = ++now.running;
    now.starting++;
    now.starting_ms += start_ms;
  }
  return now.running;
}

static int together(const char *name, int cores, int most) { return of_cost(cost(name), cores, most); }

STATES(ensembles_start_one_after_the_other, assert_int_equal(together("zk-x3", 2, 8), 1),
       assert_int_equal(together("zk-x3", 8, 8), 2));

/* A program for each client, as dear as it was measured: fewer of them start at once, by clients and by program. */
TEST(adapters_cost_their_start) {
  const struct lb_topology *redis = lb_topology_find("redis");
  struct lb_error err;
  struct lb_foreign_plan plan = {
      .kind = "exec", .command = "true", .says = "name=quick topologies=redis ends=lease can=", .start_ms = 20};
  const struct lb_protocol *quick = lb_foreign_add(&plan, &err);
  plan.says = "name=slow topologies=redis ends=lease can=", plan.start_ms = 3000;
  const struct lb_protocol *slow = lb_foreign_add(&plan, &err);
  plan.says = "name=unknown topologies=redis ends=lease can=", plan.start_ms = 0;
  const struct lb_protocol *unknown = lb_foreign_add(&plan, &err);
  assert_true(quick && slow && unknown);
  assert_int_equal(lb_admit_start_ms(lb_protocol_find("redis-token"), redis, 3), redis->start_ms);
  assert_int_equal(lb_admit_start_ms(quick, redis, 2), redis->start_ms + 2 * 20);
  assert_int_equal(of_cost(lb_admit_start_ms(slow, redis, 2), 2, 8), 1);
  assert_in_range(of_cost(lb_admit_start_ms(unknown, redis, 1), 2, 8), 2, 4);
  assert_int_equal(of_cost(lb_admit_start_ms(quick, redis, 2), 2, 8), 8);
}

STATES(small_servers_start_together, assert_int_equal(together("redis", 2, 8), 8),
       assert_int_equal(together("none", 1, 8), 8), assert_in_range(together("zk", 2, 8), 2, 3));

/* More processors never admit less. */
TEST(the_processors_count) {
  const struct lb_topology *t;
  for (size_t i = 0; (t = lb_topology_at(i)); i++)
    for (int cores = 1; cores < 16; cores++)
      assert_true(together(t->name, cores, 64) <= together(t->name, cores + 1, 64));
}

TEST(a_place_has_to_be_free) {
  struct lb_crowd full = {.jobs = {4, 4}, .running = 4, .playing = 4, .cores = 8};
  struct lb_entry cheap = {.starts = true};
  assert_int_equal(together("redis", 16, 3), 3);
  assert_int_equal(lb_crowd_admits(&full, &cheap), LB_ADMIT_PLACE);
  full.playing = 3; /* one waits with its servers: it has to go first */
  assert_int_equal(lb_crowd_admits(&full, &cheap), LB_ADMIT_PLACE);
}

TEST(nothing_runs_beside_what_measures) {
  struct lb_crowd now = {.jobs = {4, 4}, .cores = 8};
  struct lb_entry measures = {.starts = true, .measures = true}, goes_on = {.measures = true}, other = {.starts = true};
  assert_int_equal(lb_crowd_admits(&now, &measures), LB_ADMIT_NOW);
  assert_int_equal(lb_crowd_admits(&now, &goes_on), LB_ADMIT_NOW);
  now.running = now.playing = 1;
  assert_int_equal(lb_crowd_admits(&now, &measures), LB_ADMIT_PLACE);
  assert_int_equal(lb_crowd_admits(&now, &goes_on), LB_ADMIT_PLACE);
  assert_int_equal(lb_crowd_admits(&now, &other), LB_ADMIT_NOW);
  now.measuring = true;
  assert_int_equal(lb_crowd_admits(&now, &other), LB_ADMIT_PLACE);
}

/* Those that run already cost nothing more: only starts are counted. */
TEST(who_has_started_holds_up_nobody) {
  struct lb_crowd now = {.jobs = {8, 8}, .running = 5, .playing = 5, .cores = 1};
  assert_true(admits(now, cost("zk-x3")));
  now.starting = 1, now.starting_ms = cost("redis");
  assert_false(admits(now, cost("zk-x3")));
  assert_true(admits(now, cost("redis")));
}

/* A start that has had its time waits for something else, unless the processors are busy and it may not have had it. */
STATES(a_start_that_takes_its_time_holds_up_nobody, assert_int_equal(lb_admit_start_left_ms(1400, 1000, 0.5), 400),
       assert_int_equal(lb_admit_start_left_ms(1400, 9000, 0.5), 0),
       assert_int_equal(lb_admit_start_left_ms(1400, 9000, 0), 1400));

/* However dear it is, and however few processors are known. */
TEST(everything_gets_its_turn) {
  assert_true(admits((struct lb_crowd){.jobs = {1, 1}, .cores = 1}, 1000000));
  assert_true(admits((struct lb_crowd){.jobs = {0, 0}, .cores = -1}, 1000000));
}

/* Others whose servers serve one trial after the other do the few that are left sooner than an ensemble would be
 * there. */
TEST(who_shares_servers_is_worth_its_start) {
  struct lb_crowd now = {.jobs = {16, 16}, .running = 3, .playing = 3, .cores = 2, .serving = 3, .waiting = 4};
  assert_false(admits(now, cost("zk-x3")));
  assert_true(admits(now, cost("redis")));
  now.waiting = 40;
  assert_true(admits(now, cost("zk-x3")));
}

/* Beyond those that always may run, the processors have to stand still, and each look at them lets few in: it does not
 * know those. */
static struct lb_crowd beyond(int playing, double spare) {
  return (struct lb_crowd){.jobs = {4, 12}, .cores = 2, .running = playing, .playing = playing, .spare = spare};
}

TEST(who_runs_beyond_that_needs_idle_processors) {
  struct lb_crowd now = beyond(4, 0.6);
  assert_true(admits(now, 0));
  now.since = 1;
  assert_true(admits(now, 0));
  now.since = 2;
  assert_false(admits(now, 0));
  assert_false(admits(beyond(4, 0.4), 0));
  assert_true(admits(beyond(3, 0.4), 0));
  assert_true(admits(beyond(4, 1), 0));
  assert_false(admits(beyond(12, 1), 0));
  now = beyond(4, 1);
  now.tight = true;
  assert_false(admits(now, 0));
  assert_int_equal(lb_crowd_admits(&now, &(struct lb_entry){.starts = true}), LB_ADMIT_LATER);
}

/* Nobody is stopped, but who has done a trial waits with its servers until the processors have some time for the next
 * one. */
TEST(who_has_servers_waits_for_processors) {
  static const struct lb_entry goes_on = {.start_ms = 1400};
  struct lb_crowd busy = beyond(7, 0.2), idle = beyond(7, 0.4), few = beyond(3, 0);
  assert_int_equal(lb_crowd_admits(&busy, &goes_on), LB_ADMIT_LATER);
  assert_int_equal(lb_crowd_admits(&idle, &goes_on), LB_ADMIT_NOW);
  assert_int_equal(lb_crowd_admits(&few, &goes_on), LB_ADMIT_NOW);
  few.starting = 1, few.starting_ms = 5000; /* it starts no server, so it need not wait for those that do */
  assert_int_equal(lb_crowd_admits(&few, &goes_on), LB_ADMIT_NOW);
  assert_int_equal(lb_crowd_admits(&few, &(struct lb_entry){.start_ms = 1400, .starts = true}), LB_ADMIT_LATER);
}

TEST(what_is_left_is_read_off_the_kernel) {
  unsigned long long idle, all;
  assert_true(lb_spare_read("cpu  10 20 30 400 50 6 7 8 9 0\n", &idle, &all));
  assert_int_equal(idle, 450);
  assert_int_equal(all, 531);
  assert_false(lb_spare_read("intr 10 20 30 400 50 6 7 8 9 0\n", &idle, &all));
  assert_false(lb_spare_read("cpu  10 20 30\n", &idle, &all));
  assert_false(lb_spare_read("", &idle, &all));
}

/* Somebody who works is seen, and a machine has no more than itself. */
TEST(a_look_has_to_be_some_time_ago) {
  struct lb_spare spare = {0};
  assert_true(lb_spare_look(&spare));
  assert_true(spare.share == 0);
  assert_false(lb_spare_look(&spare));
  lb_clock_sleep_until(lb_clock_ns() + 300 * LB_NS_PER_MS);
  assert_true(lb_spare_look(&spare));
  assert_true(spare.share >= 0 && spare.share <= 1);
  for (lb_ns until = lb_clock_ns() + 300 * LB_NS_PER_MS; lb_clock_ns() < until;) {
  }
  assert_true(lb_spare_look(&spare));
  assert_true(spare.share < 1);
  assert_true(spare.all > 0 || access("/proc/stat", R_OK) < 0);
}
