/* test: compute, memory, wraps lb_clock_ns lb_clock_sleep_until lb_cluster_primary */
/* SPDX-License-Identifier: MIT
 *
 * Which server `primary`, `primary 2` and what is told from them stand for, on servers that say who decides when the
 * test says so. The linker puts the functions below in the place of those that ask (tests/meson.build).
 */
#include "test.h"
#include "base/clock.h"
#include "trial/cast.h"

enum { SERVERS = 3 };

static struct world {
  lb_ns now;
  int leads[3]; /* who decides, one after the other */
  lb_ns until[3];
  struct lb_topology topology;
  struct lb_trial_plan plan;
  struct lb_stage stage;
  struct lb_error err;
} w;

lb_ns __wrap_lb_clock_ns(void);
void __wrap_lb_clock_sleep_until(lb_ns when);
int __wrap_lb_cluster_primary(struct lb_cluster *cluster, lb_ns deadline);
lb_ns __wrap_lb_clock_ns(void) { return w.now; }
void __wrap_lb_clock_sleep_until(lb_ns when) { w.now = when > w.now ? when : w.now; }
int __wrap_lb_cluster_primary(struct lb_cluster *cluster, lb_ns deadline) {
  (void)cluster, (void)deadline;
  int i = 0;
  while (i < 2 && w.now >= w.until[i]) i++;
  return w.leads[i];
}

static int setup(void **state) {
  (void)state;
  w = (struct world){.now = LB_NS_PER_MS, .topology = {.name = "sentinel"}};
  w.plan.topology = &w.topology;
  w.stage = (struct lb_stage){.plan = &w.plan, .primary = -1, .memory = lb_memory_map(1, 1, 1)};
  w.stage.cluster.data_count = w.stage.cluster.server_count = SERVERS;
  for (int i = 0; i < SERVERS; i++)
    snprintf(w.stage.cluster.server[i].name, sizeof w.stage.cluster.server[i].name, "redis-%d", i + 1);
  return w.stage.memory ? 0 : -1;
}

static int teardown(void **state) {
  (void)state;
  lb_history_clear(&w.stage.history);
  lb_memory_unmap(w.stage.memory);
  return 0;
}
EACH(setup, teardown);

/* Who plays the role: "1", "23"; "" = nobody, and w.err says why. */
static const char *who(enum lb_role_kind kind, int number) {
  static char names[SERVERS + 1];
  struct lb_role role = {kind, number};
  struct lb_cast cast;
  names[0] = '\0';
  if (lb_cast_find(&w.stage, &role, &cast, &w.err) < 0) return names;
  for (size_t i = 0; i < cast.server_count; i++)
    names[i] = (char)('1' + (cast.server[i] - w.stage.cluster.server)), names[i + 1] = '\0';
  return names;
}

static void lead(int first, lb_ns first_ms, int second, lb_ns second_ms, int third) {
  w.leads[0] = first - 1, w.leads[1] = second - 1, w.leads[2] = third - 1;
  w.until[0] = first_ms * LB_NS_PER_MS, w.until[1] = second_ms * LB_NS_PER_MS;
}

TEST(primary_2_stays_who_took_over) {
  lead(1, 100, 3, 10000, 2);
  assert_string_equal(who(LB_ROLE_PRIMARY, 0), "1");
  w.now = 200 * LB_NS_PER_MS;
  assert_string_equal(who(LB_ROLE_PRIMARY, 2), "3");
  assert_int_equal(lb_cast_latest_primary(&w.stage), 2);
  w.now = 20000 * LB_NS_PER_MS; /* its undo is about the same server, whoever leads by then */
  assert_string_equal(who(LB_ROLE_PRIMARY, 2), "3");
  assert_string_equal(who(LB_ROLE_PRIMARY, 0), "1");
  assert_string_equal(who(LB_ROLE_CURRENT_PRIMARY, 0), "2");
  assert_string_equal(who(LB_ROLE_PRIMARY, 3), "2");
  assert_string_equal(who(LB_ROLE_REPLICAS, 0), "23");
  assert_string_equal(who(LB_ROLE_REPLICAS, 2), "12");
  assert_string_equal(who(LB_ROLE_MAJORITY, 2), "13");
  assert_string_equal(who(LB_ROLE_PARTNERS, 2), "1");
  assert_string_equal(who(LB_ROLE_MINORITY, 2), "2");
}

TEST(witnesses_hold_no_locks) {
  w.stage.cluster.data_count = 2;
  assert_string_equal(who(LB_ROLE_WITNESS, 1), "3");
  assert_string_equal(who(LB_ROLE_NODE, 3), "");
  assert_string_equal(who(LB_ROLE_WITNESS, 2), "");
  assert_string_equal(w.err.text, "witness 2: sentinel has 1");
}

/* One that needs its time is waited for, for five seconds; a server that leads on is nobody's successor. */
TEST(primary_2_is_nobody_until_somebody_took_over) {
  lead(1, 3000, 2, 1000000, 2);
  assert_string_equal(who(LB_ROLE_PRIMARY, 0), "1");
  assert_string_equal(who(LB_ROLE_PRIMARY, 2), "2");
  assert_true(w.now < 3100 * LB_NS_PER_MS);
  assert_string_equal(who(LB_ROLE_PRIMARY, 3), "");
  assert_string_equal(w.err.text, "primary 3: redis-2 still decides, nobody replaced it");
  assert_true(w.now > 8000 * LB_NS_PER_MS && w.now < 8200 * LB_NS_PER_MS);
  assert_string_equal(who(LB_ROLE_PRIMARY, 4), "");
  assert_string_equal(w.err.text, "primary 4: nobody has named primary 3");
}

/* What it was bound to stands in the history. */
TEST(the_history_names_it) {
  lead(1, 100, 3, 10000, 2);
  assert_string_equal(who(LB_ROLE_PRIMARY, 0), "1");
  w.now = 200 * LB_NS_PER_MS;
  assert_string_equal(who(LB_ROLE_PRIMARY, 2), "3");
  struct lb_history *h = &w.stage.history;
  assert_int_equal(lb_memory_collect(w.stage.memory, h), 0);
  assert_int_equal(h->count, 2);
  const struct lb_fact *first = lb_event_fact(h, &h->events[0]), *second = lb_event_fact(h, &h->events[1]);
  assert_string_equal(h->texts.name[first->role], "primary");
  assert_string_equal(h->texts.name[second->role], "primary 2");
  assert_string_equal(h->texts.name[second->host], "redis-3");
}
