/* SPDX-License-Identifier: MIT
 *
 * Which trial may start beside others: cheap ones together, dear ones one after the other, and never more than there are places.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "run/admit.h"
#include "servers/topology.h"

static int cost(const char *name) { return lb_topology_find(name)->start_ms; }

/* How many of a topology start at once on so many processors, if all want to. */
static int together(const char *name, int cores, int most) {
  struct lb_crowd now = {.most = most, .cores = cores};
  while (lb_admits(&now, cost(name))) {
    now.running++;
    now.starting++;
    now.starting_ms += cost(name);
  }
  return now.running;
}

static void ensembles_start_one_after_the_other(void **state) {
  (void)state;
  assert_int_equal(together("zk-x3", 2, 8), 1);
  assert_int_equal(together("zk-x3", 8, 8), 2);
}

static void small_servers_start_together(void **state) {
  (void)state;
  assert_int_equal(together("redis", 2, 8), 8);
  assert_int_equal(together("none", 1, 8), 8);
  assert_in_range(together("zk", 2, 8), 2, 3);
}

/* More processors never admit less. */
static void the_processors_count(void **state) {
  (void)state;
  const struct lb_topology *t;
  for (size_t i = 0; (t = lb_topology_at(i)); i++)
    for (int cores = 1; cores < 16; cores++) assert_true(together(t->name, cores, 64) <= together(t->name, cores + 1, 64));
}

static void a_place_has_to_be_free(void **state) {
  (void)state;
  assert_int_equal(together("redis", 16, 3), 3);
  assert_false(lb_admits(&(struct lb_crowd){.running = 4, .most = 4, .cores = 8}, 0));
}

/* Those that run already cost nothing more: only starts are counted. */
static void who_has_started_holds_up_nobody(void **state) {
  (void)state;
  assert_true(lb_admits(&(struct lb_crowd){.running = 5, .most = 8, .cores = 1}, cost("zk-x3")));
  assert_false(lb_admits(&(struct lb_crowd){.running = 5, .most = 8, .cores = 1, .starting = 1, .starting_ms = cost("redis")}, cost("zk-x3")));
  assert_true(lb_admits(&(struct lb_crowd){.running = 5, .most = 8, .cores = 1, .starting = 1, .starting_ms = cost("redis")}, cost("redis")));
}

/* However dear it is, and however few processors are known. */
static void everything_gets_its_turn(void **state) {
  (void)state;
  assert_true(lb_admits(&(struct lb_crowd){.most = 1, .cores = 1}, 1000000));
  assert_true(lb_admits(&(struct lb_crowd){.most = 1, .cores = -1}, 1000000));
}

/* Others whose servers serve one trial after the other do the few that are left sooner than an ensemble would be there. */
static void who_shares_servers_is_worth_its_start(void **state) {
  (void)state;
  struct lb_crowd now = {.running = 3, .most = 16, .cores = 2, .serving = 3, .waiting = 4};
  assert_false(lb_admits(&now, cost("zk-x3")));
  assert_true(lb_admits(&now, cost("redis")));
  now.waiting = 40;
  assert_true(lb_admits(&now, cost("zk-x3")));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ensembles_start_one_after_the_other), cmocka_unit_test(small_servers_start_together),
      cmocka_unit_test(the_processors_count),                cmocka_unit_test(a_place_has_to_be_free),
      cmocka_unit_test(who_has_started_holds_up_nobody),     cmocka_unit_test(everything_gets_its_turn),
      cmocka_unit_test(who_shares_servers_is_worth_its_start),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
