/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * Facts that follow from the steps of a timeline.
 */
#include "scenario/scenario_load.h"
#include "test.h"
#include "theory/facts.h"
#include "theory/steps.h"
#include "theory/theory.h"

static struct lb_error err;

static void expect_fact(const char *topology, const char *steps, const char *fact, const char *value) {
  char text[1500], buf[80];
  struct lb_scenario s;
  struct lb_facts facts;
  snprintf(text, sizeof text,
           "[scenario]\ntitle = t\nquestion = q\nrefuted = r\n[workload]\nclients = 2\nttl_ms = 6000\n[timeline]\n%s"
           "[expect]\n* = safe\n",
           steps);
  if (lb_scenario_parse("t.ini", text, strlen(text), &s, &err) < 0) fail_msg("%s", err.text);
  lb_facts_default(&facts);
  lb_steps_facts(&s, lb_topology_find(topology), &facts);
  if (strcmp(lb_facts_get(&facts, fact, buf, sizeof buf), value) != 0)
    fail_msg("%s on %s: %s=%s, expected %s", steps, topology, fact, buf, value);
  lb_scenario_clear(&s);
}

#define CUT "step = cut client 1 from minority\n"
#define ASK "step = client 1 acquire within 5s\n"
#define LATE "step = slow client 1 to minority 800ms\n"
#define SLOW "step = slow primary to replicas 800ms\n"

TEST(how_many_servers_a_client_reached) {
  expect_fact("redis-x5", ASK "step = kill primary\n", "reached", "all");
  expect_fact("redis-x5", CUT ASK, "reached", "majority");
  expect_fact("redis-x5", ASK CUT, "reached", "all");                 /* the cut came later */
  expect_fact("redis-x5", CUT "step = heal\n" ASK, "reached", "all"); /* and here it was over */
  expect_fact("redis-x5", "step = cut client 2 from minority\n" ASK, "reached",
              "all"); /* who is cut off does not ask */
  expect_fact("redis-x5", "step = cut client 1 from node 5\n" ASK, "reached",
              "all"); /* four of five are no bare majority */
  expect_fact("redis-x5", "step = cut client 1 from node 4, cut node 5 from client 1\n" ASK, "reached", "majority");
  expect_fact("redis-x5", "step = kill node 4, kill node 5\n" ASK, "reached", "majority");
  expect_fact("redis-x3", "step = cut client 1 from node 3\n" ASK, "reached", "majority");
  expect_fact("redis", CUT ASK, "reached", "all");
  expect_fact("redis-x5", LATE ASK "step = kill primary\n", "reached", "majority"); /* on its way to two */
  expect_fact("redis-x5", LATE ASK "step = wait 900ms, kill primary\n", "reached", "all");
  expect_fact("redis-x5", LATE ASK "step = wait 500ms, kill primary\n", "reached", "majority");
  expect_fact("redis-x5", "step = slow minority to client 1 800ms\n" ASK "step = kill primary\n", "reached",
              "all"); /* their votes are late, not its request */
}

TEST(who_had_heard_of_the_grant) {
  expect_fact("sentinel", ASK "step = wait 500ms, kill primary\n", "heard", "yes");
  expect_fact("sentinel", ASK "step = kill primary\n", "heard", "perhaps");
  expect_fact("sentinel", "step = cut primary from replicas\n" ASK "step = wait 1s, kill primary\n", "heard", "no");
  expect_fact("sentinel", SLOW ASK "step = wait 500ms, kill primary\n", "heard", "perhaps"); /* it is on its way */
  expect_fact("sentinel", SLOW ASK "step = wait 500ms, cut primary from replicas, kill primary\n", "heard", "no");
  expect_fact("sentinel", SLOW ASK "step = wait 900ms, cut primary from replicas, kill primary\n", "heard", "yes");
  expect_fact("sentinel", SLOW ASK "step = await replica node 2 is online and caught up within 2s, kill primary\n",
              "heard", "yes");
  expect_fact("sentinel", ASK "step = wait 1s, kill primary, client 2 acquire within 5s\n", "heard", "yes");
}

TEST(how_far_a_clock_jumped) {
  expect_fact("pg", ASK "step = clock primary +60m\n", "jump", "lease");
  expect_fact("pg", ASK "step = wait 4s, clock primary +3s\n", "jump", "rest");
  expect_fact("pg", ASK "step = clock primary +3s\n", "jump", "less");
  expect_fact("pg", ASK "step = clock client 2 +3s\n", "jump", "lease"); /* no server's: the default */
}

TEST(whether_anybody_asked) {
  expect_fact("pg", ASK "step = clock primary +60m, wait 1s, clock primary -60m\n", "asked", "afterwards");
  expect_fact("pg", ASK "step = clock primary +60m, client 2 acquire within 1s, clock primary -60m\n", "asked",
              "meanwhile");
}
