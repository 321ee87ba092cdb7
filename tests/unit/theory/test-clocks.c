/* test: compute, table */
/* SPDX-License-Identifier: MIT
 *
 * Which clocks a lock rests on, and the whole table: under a clock fault that neither the servers nor the clients of a
 * lock can read, the cell is `n/a`. `safe` would say that the lock stood a test that it was never put to.
 */
#include "scenario/scenario_load.h"
#include "test.h"
#include "backends/registry.h"
#include "plan/fit.h"
#include "plan/plan.h"
#include "plan/system.h"
#include "plan/settings.h"
#include "scenario/expect.h"
#include "theory/facts_cell.h"
#include "theory/theory.h"

static char root[1000];

struct looked {
  size_t put;    /* cells whose lock reads a clock that the scenario sets, and that are asked */
  size_t unread; /* ... reads none of them, and the cell is not n/a */
};

static unsigned set_by(const struct lb_step *step) {
  unsigned wall = lb_role_is_client(step->a) ? LB_CLOCK_CLIENT_WALL : LB_CLOCK_SERVER_WALL;
  unsigned monotonic = lb_role_is_client(step->a) ? LB_CLOCK_CLIENT_MONOTONIC : LB_CLOCK_SERVER_MONOTONIC;
  if (step->verb == LB_STEP_CLOCK_RATE) return wall | monotonic;
  if (step->verb == LB_STEP_CLOCK_JUMP) return step->monotonic ? monotonic : wall;
  return 0;
}

/* The clocks that the steps of a timeline, or the faults of a campaign, set. 0 = none. */
static unsigned clocks_set(const struct lb_scenario *scenario) {
  unsigned clocks = 0;
  for (size_t i = 0; i < scenario->step_count; i++) clocks |= set_by(&scenario->steps[i]);
  for (size_t i = 0; i < scenario->fault_count; i++) clocks |= set_by(&scenario->faults[i]);
  return clocks;
}

/* The line of the scenario's file that fits the system, else what the rules say. */
static enum lb_verdict expects(const struct lb_scenario *scenario, const struct lb_protocol *protocol,
                               const union lb_value *options, const struct lb_topology *topology, enum lb_guard guard) {
  char system[LB_SYSTEM_MAX];
  struct lb_facts facts;
  struct lb_prediction prediction;
  snprintf(system, sizeof system, "%s@%s", protocol->name, topology->base ? topology->base : topology->name);
  const struct lb_expect *line = lb_scenario_expect(scenario, system, guard);
  if (line) return line->verdict;
  lb_facts_of(protocol, options, topology, scenario, &facts);
  return lb_theory_predict(scenario->attack, &facts, guard, &prediction) ? prediction.verdict : LB_VERDICT_NONE;
}

static void look_at(const struct lb_scenario *s, const struct lb_protocol *p, const struct lb_topology *t,
                    struct looked *ret) {
  char system[96], set[160], rests[160], why[300];
  union lb_value *options = lb_settings_options(p, (const char *const *)s->options, s->option_count);
  unsigned of = lb_fit_clocks_of(p, options, t);
  snprintf(system, sizeof system, "%s@%s", p->name, t->name);
  for (enum lb_guard guard = LB_GUARD_NONE; guard < LB_GUARD_COUNT; guard++) {
    const struct lb_cell cell = {.scenario = s, .protocol = p, .topology = t, .guard = guard, .options = options};
    enum lb_verdict verdict = expects(s, p, options, t, guard);
    if (verdict == LB_NA || verdict == LB_VERDICT_NONE || !lb_scenario_asks(s, system) ||
        lb_fit(&cell, why, sizeof why) == LB_NA)
      continue;
    if (of & clocks_set(s)) ret->put++;
    else if (ret->unread++ < 20)
      print_error("%s: %s under %s is expected to be %s, but it sets %s, and the lock rests on %s\n", s->name, system,
                  lb_guard_name(guard), lb_verdict_name(verdict), lb_fit_clocks_say(clocks_set(s), set, sizeof set),
                  lb_fit_clocks_say(of, rests, sizeof rests));
  }
  free(options);
}

static void look_at_all_systems(const struct lb_scenario *s, struct looked *ret) {
  const struct lb_protocol *p;
  const struct lb_topology *t;
  for (size_t i = 0; (p = lb_protocol_at(i)); i++)
    for (size_t k = 0; (t = lb_topology_at(k)); k++)
      if (!t->own && lb_topology_serves(t, p->topologies)) look_at(s, p, t, ret);
}

/* The timelines that set a clock. How many. */
static size_t look_into(struct looked *ret) {
  struct lb_error err;
  char folder[1100], **names, **paths;
  size_t count, asked = 0;
  snprintf(folder, sizeof folder, "%s/scenarios", root);
  assert_int_equal(lb_scenario_list(folder, &names, &paths, &count), 0);
  for (size_t i = 0; i < count; i++) {
    struct lb_scenario s;
    if (lb_scenario_load(paths[i], &s, &err) < 0) fail_msg("%s", err.text);
    if (s.kind == LB_KIND_TIMELINE && clocks_set(&s) && !s.upstream) asked++, look_at_all_systems(&s, ret);
    lb_scenario_clear(&s);
    free(names[i]), free(paths[i]);
  }
  free(names), free(paths);
  return asked;
}

/* Not in the museum: there a published bug stands beside its mend, which may be just that another clock is read
 * (shedlock-231). */
TEST(no_lock_is_judged_by_a_clock_that_it_does_not_read) {
  struct looked looked = {0};
  assert_true(look_into(&looked) >= 9);
  assert_true(looked.put > 100);
  assert_int_equal(looked.unread, 0);
}

static unsigned clocks_of(const char *protocol, const char *topology, const char *setting) {
  const struct lb_protocol *p = lb_protocol_find(protocol);
  union lb_value *options = lb_settings_options(p, &setting, setting ? 1 : 0);
  unsigned clocks = lb_fit_clocks_of(p, options, lb_topology_find(topology));
  free(options);
  return clocks;
}

TEST(a_lock_rests_on_the_clocks_that_end_its_hold) {
  assert_int_equal(clocks_of("redis-token", "redis", NULL), LB_CLOCK_SERVER_WALL | LB_CLOCK_CLIENT_MONOTONIC);
  assert_int_equal(clocks_of("redlock", "redis-x3", NULL), LB_CLOCK_SERVER_WALL | LB_CLOCK_CLIENT_MONOTONIC);
  assert_int_equal(clocks_of("redlock", "redis-x3", "redlock.clock=wall"), LB_CLOCK_SERVER_WALL | LB_CLOCK_CLIENT_WALL);
  assert_int_equal(clocks_of("zk-sequential", "zk-x3", NULL), LB_CLOCK_SERVER_MONOTONIC | LB_CLOCK_CLIENT_MONOTONIC);
  assert_int_equal(clocks_of("zk-persistent", "zk-x3", NULL), 0);
  assert_int_equal(clocks_of("etcd-lease", "etcd-x3", NULL), LB_CLOCK_SERVER_MONOTONIC | LB_CLOCK_CLIENT_MONOTONIC);
  assert_int_equal(clocks_of("pg-lease", "pg", NULL), LB_CLOCK_SERVER_WALL | LB_CLOCK_CLIENT_MONOTONIC);
  assert_int_equal(clocks_of("pg-lease-client", "pg", NULL), LB_CLOCK_CLIENT_WALL | LB_CLOCK_CLIENT_MONOTONIC);
  assert_int_equal(clocks_of("pg-row", "pg", NULL), 0);
  assert_int_equal(clocks_of("pg-advisory", "pg", NULL), 0);
}

/* A session of a library in Redis is a key with a ttl; one in PostgreSQL is a connection. */
TEST(a_foreign_program_may_read_any_clock_of_its_host) {
  assert_int_equal(clocks_of("peer:tooz-redis", "redis", NULL),
                   LB_CLOCK_SERVER_WALL | LB_CLOCK_CLIENT_WALL | LB_CLOCK_CLIENT_MONOTONIC);
  assert_int_equal(clocks_of("peer:kazoo", "zk-x3", NULL),
                   LB_CLOCK_SERVER_MONOTONIC | LB_CLOCK_CLIENT_WALL | LB_CLOCK_CLIENT_MONOTONIC);
  assert_int_equal(clocks_of("peer:psycopg2", "pg", NULL), 0);
}

static int before_all(void **state) {
  (void)state;
  struct lb_error err;
  snprintf(root, sizeof root, "%s", getenv("LB_SOURCE_DIR") ? getenv("LB_SOURCE_DIR") : ".");
  if (lb_system_load_known(root, &err) < 0) return fprintf(stderr, "%s\n", err.text), 1;
  return 0;
}

GROUP(before_all, NULL);
