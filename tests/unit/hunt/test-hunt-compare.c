/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * What a hunt says of scenarios: they are read in the words of the hunt, and a set is in one only if it is done to the
 * same hosts, in the same slots and until the same part of the program.
 */
#include <unistd.h>

#include "scenario/scenario_load.h"
#include "test.h"
#include "backends/registry.h"
#include "plan/system.h"
#include "hunt/tell.h"
#include "hunted_system.h"

/* ---- scenarios in the words of the hunt -------------------------------------------------------------------------- */

static void parse(const char *workload, const char *steps, struct lb_scenario *ret) {
  struct lb_error err;
  char text[4000], *at = text;
  at += sprintf(at, "[scenario]\ntitle = t\nquestion = q\nrefuted = r\n[workload]\nclients = 3\n%s\n[timeline]\n",
                workload);
  for (const char *step = steps, *end; *step; step = *end ? end + 2 : end) {
    end = strstr(step, "; ");
    if (!end) end = step + strlen(step);
    at += sprintf(at, "step = %.*s\n", (int)(end - step), step);
  }
  sprintf(at, "[proof]\npast_lease = yes\n[expect]\n* = race: it is a test\n");
  if (lb_scenario_parse("test.ini", text, strlen(text), ret, &err) < 0) fail_msg("%s\n%s", err.text, text);
}

static void say(const struct lb_hunt_deeds *d, char *ret, size_t size) {
  size_t at = (size_t)snprintf(ret, size, "%s", "");
  for (size_t i = 0; i < d->count; i++) {
    char fault[40];
    lb_hunt_fault_format(d->deed[i], fault, sizeof fault);
    at += (size_t)snprintf(ret + at, size - at, "%s%s", i ? " " : "", fault);
  }
}

#define TEN "ttl_ms = 10000"
#define TWO "ttl_ms = 2000"
#define HOLDS "client 1 acquire within 5s; client 1 read; "
#define WRITES "; client 2 acquire within 1s; client 1 write; client 1 release within 2s"
#define READY "client 1 acquire within 5s; client 1 release within 2s; "

TEST(steps_are_faults_of_their_slots) {
  static const struct {
    const char *system, *workload, *steps, *deeds;
    enum lb_hunt_why foreign;
    bool ends;
  } cases[] = {
      {"redis-token@redis", TEN, HOLDS "restart primary" WRITES, "restart-P@H", LB_HUNT_NO_WHY, false},
      {"redis-token@redis", TEN, "cut client 1 from minority; " HOLDS "restart primary" WRITES, "restart-P@H",
       LB_HUNT_NO_WHY, false}, /* there is no minority */
      {"redlock@redis-x3", TEN, "cut client 1 from minority; " HOLDS "restart primary" WRITES, "cut-c1@B restart-P@H",
       LB_HUNT_NO_WHY, false},
      {"redlock@redis-x3", TEN, HOLDS "restart majority" WRITES, "restart-most@H", LB_HUNT_NO_WHY, false},
      {"redlock@redis-x5", TEN, "cut client 1 from node 5; " HOLDS "restart node 4" WRITES, "cutone-c1@B restart-one@H",
       LB_HUNT_NO_WHY, false},
      {"redlock@redis-x3", TEN, HOLDS "restart node 2" WRITES, "", LB_HUNT_WHY_PART, false},
      {"redis-token@redis", TWO, HOLDS "kill primary; wait 2200ms; restart primary" WRITES, "kill-P@H-mid",
       LB_HUNT_WHY_LONGER, true},
      {"redis-token@redis", TWO, HOLDS "kill client 1; restart primary; client 2 acquire within 5s", "kill-c1@H",
       LB_HUNT_NO_WHY, true}, /* nobody holds by then */
      {"redis-token@sentinel", TEN,
       READY "cut primary from replicas; " HOLDS "kill primary; await failover within 9s" WRITES,
       "part-P@B-gone kill-P@H-gone", LB_HUNT_NO_WHY, false},
      {"redis-token@sentinel", TEN,
       READY "cut primary from node 3; " HOLDS "kill primary; await failover within 9s" WRITES, "kill-P@H-gone",
       LB_HUNT_WHY_PART, false},
      {"redis-token@sentinel", TEN,
       READY
       "pause primary; await failover within 9s; client 1 begin acquire within 3s; resume primary; client 1 read; client 1 write",
       "pause-P@B-back", LB_HUNT_NO_WHY, false},
      {"redis-token@redis", TWO,
       HOLDS
       "pause client 1; client 2 begin acquire within 8s; await client 2 holds within 5s; resume client 1; client 1 write",
       "pause-c1@H", LB_HUNT_NO_WHY, true},
      {"redis-token@redis", TWO,
       HOLDS
       "stop client 1 at after-check; client 1 write; client 2 begin acquire within 8s; await client 2 holds within 5s; resume client 1; client 1 release within 2s",
       "pause-c1@X", LB_HUNT_NO_WHY, true},
      {"redis-token@redis", TWO,
       HOLDS
       "cut client 1 from all; client 2 begin acquire within 8s; await client 2 holds within 5s; client 1 write; heal",
       "cutoff-c1@H", LB_HUNT_NO_WHY, true},
      {"redis-token@redis", TWO, "clock client 1 rate 0.9; " HOLDS "client 2 acquire within 2500ms; client 1 write",
       "slow-c1@B", LB_HUNT_NO_WHY, true},
      {"redis-token@redis", TEN,
       HOLDS
       "client 2 begin acquire within 8s; await client 2 waits within 2s; client 1 write late; client 1 release within 2s; deliver write of client 1",
       "", LB_HUNT_WHY_VERB, false},
      {"redis-token@redis", TEN, HOLDS "kill client 1; client 1 start within 2s; client 2 acquire within 2s",
       "kill-c1@H", LB_HUNT_WHY_START, false},
      {"redis-token@redis", TEN, HOLDS "clock primary monotonic +60m" WRITES, "", LB_HUNT_WHY_VERB, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct lb_scenario scenario;
    struct lb_hunt_system system = system_of(cases[i].system);
    char deeds[400];
    parse(cases[i].workload, cases[i].steps, &scenario);
    struct lb_hunt_deeds d = lb_hunt_deeds_of(&scenario, &system);
    say(&d, deeds, sizeof deeds);
    if (strcmp(deeds, cases[i].deeds) != 0 || d.foreign != cases[i].foreign || d.ends != cases[i].ends)
      fail_msg("%s: %s\nare: %s (%s)%s\nexpected: %s (%s)%s", cases[i].system, cases[i].steps, deeds,
               lb_hunt_why_text(d.foreign), d.ends ? ", ends" : "", cases[i].deeds, lb_hunt_why_text(cases[i].foreign),
               cases[i].ends ? ", ends" : "");
    lb_scenario_clear(&scenario);
  }
}

/* ---- sets beside the scenarios of this repository ---------------------------------------------------------------- */

static struct lb_hunt hunt;
static char folder[] = "/tmp/test-hunt-compare-XXXXXX";

static void enter(const char *id, enum lb_hunt_outcome outcome, int trials) {
  struct lb_hunt_timeline timeline;
  struct lb_error err;
  assert_int_equal(lb_hunt_of_id(id, &timeline, &err), 0);
  ptrdiff_t at = lb_hunt_find(&hunt.space, &timeline);
  if (at < 0) fail_msg("there is no %s", id);
  for (int i = 0; i < trials; i++) lb_hunt_journal_add(&hunt.journal, (size_t)at, LB_GUARD_NONE, outcome, "");
}

/* Of a lock that breaks within a lease in these, and not without a fault. */
static struct lb_hunt_comparison compare(const char *system_name, const char *const *breaking) {
  struct lb_hunt_system system = system_of(system_name);
  struct lb_hunt_comparison ret;
  struct lb_error err;
  char path[200];
  hunt = (struct lb_hunt){0};
  snprintf(path, sizeof path, "%s/trials.csv", folder);
  assert_int_equal(lb_hunt_space_make(&system, 2, NULL, &hunt.space), 0);
  assert_int_equal(lb_hunt_journal_open(&hunt.journal, &hunt.space, path, "test", &err), 0);
  unlink(path);
  enter("L0", LB_HUNT_SAFE, LB_HUNT_SURE);
  enter("S0", LB_HUNT_SAFE, LB_HUNT_SURE);
  for (; *breaking; breaking++) enter(*breaking, LB_HUNT_LEASE, LB_HUNT_SURE);
  lb_hunt_sets_find(&hunt.journal, &hunt.sets);
  if (lb_hunt_compare(&hunt, NULL, 0, LB_SOURCE_ROOT "/scenarios", &ret, &err) < 0) fail_msg("%s", err.text);
  return ret;
}

static void end(struct lb_hunt_comparison *c) {
  lb_hunt_comparison_clear(c);
  lb_hunt_clear(&hunt);
}

static void says(const struct lb_hunt_comparison *c, const char *name, enum lb_hunt_relation relation,
                 enum lb_hunt_why why) {
  for (size_t i = 0; i < c->count; i++) {
    const struct lb_hunt_told *t = &c->scenario[i];
    if (strcmp(t->name, name) != 0) continue;
    if (t->relation != relation || t->why != why)
      fail_msg("%s is %s (%s), expected %s (%s)", name, lb_hunt_relation_name(t->relation), lb_hunt_why_text(t->why),
               lb_hunt_relation_name(relation), lb_hunt_why_text(why));
    return;
  }
  fail_msg("nothing is said of %s", name);
}

TEST(what_is_done_at_another_time_explains_and_contradicts_nothing) {
  struct lb_hunt_comparison c =
      compare("redis-token@redis", (const char *const[]){"L1.restart-P@H", "L1.ahead-P@H", NULL});
  says(&c, "restart-node", LB_HUNT_EXPLAINED, LB_HUNT_NO_WHY);
  says(&c, "clock-jump", LB_HUNT_EXPLAINED, LB_HUNT_NO_WHY);
  says(&c, "restart-delayed", LB_HUNT_FOREIGN, LB_HUNT_WHY_LONGER);
  says(&c, "dead-owner-restart", LB_HUNT_AGREES, LB_HUNT_NO_WHY);
  says(&c, "control", LB_HUNT_AGREES, LB_HUNT_NO_WHY);
  says(&c, "clock-drift-client-10", LB_HUNT_UNEXPLAINED, LB_HUNT_WHY_ENDS);
  says(&c, "late-write", LB_HUNT_FOREIGN, LB_HUNT_WHY_VERB);
  for (size_t i = 0; i < hunt.sets.count; i++) assert_true(c.written[i]);
  end(&c);
}

TEST(a_pair_is_explained_by_that_pair) {
  struct lb_hunt_comparison c = compare(
      "redis-token@sentinel", (const char *const[]){"L2.part-P@B-back+kill-P@H-back", "L1.pause-P@B-back", NULL});
  says(&c, "failover", LB_HUNT_EXPLAINED, LB_HUNT_NO_WHY);
  says(&c, "split-brain", LB_HUNT_EXPLAINED, LB_HUNT_NO_WHY);
  says(&c, "wait-priority", LB_HUNT_FOREIGN, LB_HUNT_WHY_PART);
  says(&c, "restart-node", LB_HUNT_UNEXPLAINED, LB_HUNT_WHY_UNRUN);
  end(&c);
}

TEST(a_safe_scenario_with_a_set_in_it_is_contradicted) {
  struct lb_hunt_comparison c = compare("redis-token@redis", (const char *const[]){"L1.kill-c2@H", NULL});
  says(&c, "dead-waiter", LB_HUNT_CONTRADICTED, LB_HUNT_WHY_SAME);
  says(&c, "crash-holder", LB_HUNT_AGREES, LB_HUNT_NO_WHY);
  assert_false(c.written[0]); /* it expects no violation */
  end(&c);
}

/* It may explain a violation, but contradicts nothing. */
TEST(what_breaks_now_and_then_says_less) {
  struct lb_hunt_comparison c =
      compare("redis-token@redis", (const char *const[]){"L1.restart-P@H", "L1.kill-c2@H", NULL});
  enter("L1.restart-P@H", LB_HUNT_SAFE, 1);
  enter("L1.kill-c2@H", LB_HUNT_SAFE, 1);
  lb_hunt_comparison_clear(&c);
  lb_hunt_sets_clear(&hunt.sets);
  struct lb_error err;
  lb_hunt_sets_find(&hunt.journal, &hunt.sets);
  assert_int_equal(lb_hunt_compare(&hunt, NULL, 0, LB_SOURCE_ROOT "/scenarios", &c, &err), 0);
  says(&c, "restart-node", LB_HUNT_EXPLAINED, LB_HUNT_NO_WHY);
  says(&c, "dead-waiter", LB_HUNT_AGREES, LB_HUNT_NO_WHY);
  end(&c);
}

TEST(the_table_has_the_columns_of_the_page) {
  char path[200], line[300];
  struct lb_hunt_comparison c = compare("redis-token@redis", (const char *const[]){"L1.restart-P@H", NULL});
  snprintf(path, sizeof path, "%s/scenarios.csv", folder);
  assert_int_equal(lb_hunt_keep_scenarios(&hunt, &c, folder), 0);
  FILE *file = fopen(path, "re");
  assert_non_null(file);
  bool found = false;
  assert_non_null(fgets(line, sizeof line, file));
  assert_string_equal(line, "scenario,expected,says,set,class,why\n");
  while (fgets(line, sizeof line, file))
    found |= strcmp(line, "restart-node,violated,explained,L1.restart-P@H,lease,\"\"\n") == 0;
  fclose(file);
  assert_true(found);
  unlink(path);
  end(&c);
}

static int before_all(void **state) {
  (void)state;
  struct lb_error err_known;
  if (lb_load_known(LB_SOURCE_ROOT, &err_known) < 0) return fprintf(stderr, "%s\n", err_known.text), 1;
  if (!mkdtemp(folder)) return 1;
  return 0;
}

static int after_all(void **state) {
  (void)state;
  rmdir(folder);
  return 0;
}

GROUP(before_all, after_all);
