/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * What a scenario takes from another one, `like = NAME`, and several steps in one line.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "scenario/scenario_load.h"
#include "test.h"
#include "scenario/scenario.h"

#define OWN "[scenario]\ntitle = t\nquestion = q\n" /* 3 lines */
#define TIMELINE                                                                                                       \
  "[scenario]\ntitle = t\nquestion = q\nrefuted = r\n[workload]\nclients = 2\n[expect]\n* = safe\n[timeline]\n" /* 9 lines */

static struct lb_error err;
static char root[64] = "/tmp/test-like-XXXXXX";

/* ---- a tree of its own ----------------------------------------------------------------------- */

static const char *place(const char *name) {
  static char path[300];
  snprintf(path, sizeof path, "%s/scenarios/%s", root, name);
  return path;
}

static const char *const folders[] = {"", "failover"}, *const files[] = {"failover/base.ini", "failover/chained.ini",
                                                                         "failover/wrong.ini", "beside.ini"};

static void write_file(const char *name, const char *text) {
  FILE *out = fopen(place(name), "we");
  assert_non_null(out);
  fputs(text, out);
  assert_int_equal(fclose(out), 0);
}

static int make_tree(void **state) {
  (void)state;
  if (!mkdtemp(root)) return -1;
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) mkdir(place(folders[i]), 0700);
  write_file(
      "failover/base.ini",
      "[scenario]\ntitle = of the base\nquestion = of the base?\nrefuted = of the base\nattack = fault\nguards = none\ntrials = 7\n"
      "[workload]\nclients = 2\nttl_ms = 4000\nrenew = yes\noption = a.b=1\noption = a.c=2\n"
      "[timeline]\nstep = client 1 acquire within 5s\nstep = observe client 1\nstep = observe key on primary\n"
      "[proof]\npremise = client 1 holds\nsafe = key present on primary\npast_lease = yes\n[expect]\n*@pg = violated: of the base\n");
  write_file("failover/chained.ini", OWN "like = base\n");
  write_file("failover/wrong.ini", OWN "ttl = 5\n");
  return setenv("LOCKBENCH_ROOT", root, 1);
}

static int drop_tree(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) unlink(place(files[i]));
  for (size_t i = sizeof folders / sizeof *folders; i-- > 0;) rmdir(place(folders[i]));
  return rmdir(root);
}

static struct lb_scenario good(const char *path, const char *text) {
  struct lb_scenario s;
  if (lb_scenario_parse(path, text, strlen(text), &s, &err) != 0) fail_msg("%s", err.text);
  return s;
}

static void refused(const char *text, const char *message) {
  static const struct lb_scenario empty;
  struct lb_scenario s;
  assert_int_equal(lb_scenario_parse("f.ini", text, strlen(text), &s, &err), -EINVAL);
  assert_says(err.text, message);
  assert_memory_equal(&s, &empty, sizeof empty);
}

/* ---- like ------------------------------------------------------------------------------------ */

TEST(what_is_not_given_is_that_of_the_base) {
  struct lb_scenario s = good("f.ini", OWN "like = base\n");
  assert_string_equal(s.name, "f");
  assert_string_equal(s.title, "t");
  assert_string_equal(s.question, "q");
  assert_string_equal(s.refuted, "of the base");
  assert_string_equal(s.attack, "fault");
  assert_string_equal(s.guards, "none");
  assert_int_equal(s.trials, 7);
  assert_int_equal(s.client_count_count, 1);
  assert_int_equal(s.client_counts[0], 2);
  assert_int_equal(s.ttl_ms, 4000);
  assert_true(s.renew);
  assert_true(s.past_lease);
  assert_int_equal(s.kind, LB_KIND_TIMELINE);
  assert_int_equal(s.option_count, 2);
  assert_int_equal(s.step_count, 3);
  assert_int_equal(s.steps[2].number, 3);
  assert_int_equal(s.premise_count, 2);
  lb_scenario_clear(&s);
}

TEST(a_key_of_its_own_replaces_that_of_the_base) {
  struct lb_scenario s = good(
      "f.ini", OWN "like = base\nrefuted = mine\n[workload]\nttl_ms = 9000\nrenew = no\n[proof]\npast_lease = no\n");
  assert_string_equal(s.refuted, "mine");
  assert_int_equal(s.ttl_ms, 9000);
  assert_false(s.renew);
  assert_false(s.past_lease);
  assert_int_equal(s.client_counts[0], 2);
  lb_scenario_clear(&s);
}

TEST(a_list_replaces_the_whole_list) {
  struct lb_scenario s = good(
      "f.ini", OWN
      "like = base\n[workload]\noption = x.y=3\n[timeline]\nstep = client 2 acquire within 1s\nstep = client 2 read\n"
      "step = observe key on primary\nstep = observe client 2\n[proof]\npremise = client 2 holds\n");
  assert_int_equal(s.option_count, 1);
  assert_string_equal(s.options[0], "x.y=3");
  assert_int_equal(s.step_count, 4);
  assert_string_equal(s.steps[0].text, "client 2 acquire within 1s");
  assert_int_equal(s.premise_count, 2); /* `safe` is a list of its own */
  assert_string_equal(s.premises[0].text, "client 2 holds");
  assert_int_equal(s.premises[0].use, LB_PREMISE_OF_ALL);
  assert_int_equal(s.premises[1].use, LB_PREMISE_OF_SAFE);
  lb_scenario_clear(&s);
}

TEST(exceptions_are_those_of_the_file) {
  struct lb_scenario s = good("f.ini", OWN "like = base\n");
  assert_int_equal(s.expect_count, 0);
  lb_scenario_clear(&s);
  s = good("f.ini", OWN "like = base\n[expect]\n*@redis = safe: mine\n");
  assert_int_equal(s.expect_count, 1);
  assert_string_equal(s.expect[0].system, "*@redis");
  lb_scenario_clear(&s);
}

TEST(a_base_may_be_a_path_from_the_file) {
  char path[300];
  snprintf(path, sizeof path, "%s", place("beside.ini"));
  struct lb_scenario s = good(path, OWN "like = failover/base.ini\n");
  assert_int_equal(s.ttl_ms, 4000);
  lb_scenario_clear(&s);
  refused(OWN "like = nowhere/base.ini\n",
          "f.ini:4: like = nowhere/base.ini: nowhere/base.ini: No such file or directory");
}

TEST(a_base_that_is_not_there_is_refused_with_the_nearest) {
  refused(OWN "like = bse\n", "f.ini:4: like = bse: unknown scenario, did you mean 'base'?");
  refused(OWN "like = something-else\n", "f.ini:4: like = something-else: unknown scenario: ...");
}
STATES(a_base_is_like_nobody,
       refused(OWN "like = chained\n", "f.ini:4: like = chained: that one is like base itself: ..."));

TEST(a_refusal_of_the_base_has_both_places) {
  char message[600];
  snprintf(message, sizeof message, "f.ini:4: like = wrong: %s:4: [scenario] has no key 'ttl'",
           place("failover/wrong.ini"));
  struct lb_scenario s;
  const char *text = OWN "like = wrong\n";
  assert_int_equal(lb_scenario_parse("f.ini", text, strlen(text), &s, &err), -EINVAL);
  assert_memory_equal(err.text, message, strlen(message));
}

TEST(title_and_question_are_its_own) {
  refused("[scenario]\ntitle = t\nlike = base\n", "f.ini: [scenario] question is missing: ...");
  refused("[scenario]\nquestion = q\nlike = base\n", "f.ini: [scenario] title is missing: expected title = text");
}

/* The line of `like` is where to look. */
TEST(what_does_not_fit_names_the_line_of_like) {
  refused(OWN "like = base\n[workload]\nclients = 1, 2\n",
          "f.ini:6: clients: a timeline has one number of clients, not 2");
  refused(OWN "like = base\n[timeline]\nstep = client 1 acquire within 1s\nstep = observe client 1\n",
          "f.ini:4: safe = key present on primary: no step observes it: ...");
}

/* ---- several steps in one line --------------------------------------------------------------- */

TEST(a_line_of_steps_is_as_many_steps) {
  struct lb_scenario s = good(
      "f.ini", TIMELINE
      "step = client 1 acquire within 1s\nstep = 3 times: wait 100ms,  client 1 read ; comment\nstep = client 1 write,client 1 release within 1s\n");
  static const char *const texts[] = {"client 1 acquire within 1s",
                                      "wait 100ms",
                                      "client 1 read",
                                      "wait 100ms",
                                      "client 1 read",
                                      "wait 100ms",
                                      "client 1 read",
                                      "client 1 write",
                                      "client 1 release within 1s"};
  static const int lines[] = {10, 11, 11, 11, 11, 11, 11, 12, 12};
  assert_int_equal(s.step_count, sizeof texts / sizeof *texts);
  for (size_t i = 0; i < s.step_count; i++) {
    assert_string_equal(s.steps[i].text, texts[i]);
    assert_int_equal(s.steps[i].number, i + 1);
    assert_int_equal(s.steps[i].line, lines[i]);
  }
  lb_scenario_clear(&s);
}

TEST(a_bad_line_of_steps_is_refused) {
  static const char form[] = "expected N times: STEP, STEP with N from 1 to 1000";
  static const char *const words[] = {
      "3 time: heal", "3: heal", "0 times: heal", "1001 times: heal", "99999 times: heal", "3 times heal", "3"};
  char text[300], message[300];
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    snprintf(text, sizeof text, TIMELINE "step = %s\n", words[i]);
    snprintf(message, sizeof message, "f.ini:10: step = %s: %s", words[i], form);
    refused(text, message);
  }
  refused(TIMELINE "step = wait 1s,, heal\n",
          "f.ini:10: step = wait 1s,, heal: expected a step before and behind each comma");
  refused(TIMELINE "step = wait 1s,\n", "f.ini:10: step = wait 1s,: expected a step before and behind each comma");
  refused(TIMELINE "step = 2 times:\n", "f.ini:10: step = 2 times:: expected a step before and behind each comma");
  refused(TIMELINE "step = wait 1s, heal\n", "f.ini:10: step = heal: expected an earlier cut, slow, hold or drop");
  refused(TIMELINE "step = 600 times: wait 1s, wait 2s\n", "f.ini:10: step = wait 1s: expected at most 1000 of them");
}

GROUP(make_tree, drop_tree);
