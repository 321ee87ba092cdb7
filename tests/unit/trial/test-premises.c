/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * Premises against histories: each kind observed, not observed, and with its opposite observed. What is given to the
 * judge is a history as a trial leaves it.
 */
#include "scenario/scenario_load.h"
#include "test.h"
#include "lines.h"
#include "trial/judge.h"
#include "trial/premises.h"

/* Steps 2 and 5 look whether client 1 holds, 3 at its server, 4 at the key. */
#define FILE_OF(premises)                                                                                              \
  "[scenario]\ntitle = t\nquestion = q\nrefuted = r\n[workload]\nclients = 2\n[timeline]\n"                            \
  "step = client 1 acquire within 1s\nstep = observe client 1\nstep = observe server of client 1\n"                    \
  "step = observe key on current primary\nstep = observe client 1\n[proof]\n" premises "[expect]\n* = safe\n"

#define HELD "{\"t\":1,\"c\":\"client-1\",\"e\":\"holds\",\"step\":2,\"present\":true,\"ms\":900}\n"
#define HELD_NO_MORE "{\"t\":5,\"c\":\"client-1\",\"e\":\"holds\",\"step\":5,\"present\":false,\"ms\":-5}\n"
#define HELD_AGAIN "{\"t\":5,\"c\":\"client-1\",\"e\":\"holds\",\"step\":5,\"present\":true}\n"

static struct lb_error why;
typedef bool question(const struct lb_scenario *scenario, const struct lb_history *history, struct lb_error *why);
static question *asks = lb_premises_observed;

static bool of_safe(const struct lb_scenario *s, const struct lb_history *h, struct lb_error *ret) {
  return lb_premises_shown(s, h, LB_PREMISE_OF_SAFE, ret);
}
static bool of_test(const struct lb_scenario *s, const struct lb_history *h, struct lb_error *ret) {
  return lb_premises_shown(s, h, LB_PREMISE_OF_TEST, ret);
}

static bool observed(const char *scenario_text, const char *history_text) {
  struct lb_scenario scenario;
  struct lb_history history;
  struct lb_error err;
  char text[2000];
  snprintf(text, sizeof text, "{\"format\":2}\n%s", history_text);
  if (lb_scenario_parse("f.ini", scenario_text, strlen(scenario_text), &scenario, &err) < 0) fail_msg("%s", err.text);
  if (parse_lines("FILE", text, &history, &err) < 0) fail_msg("%s", err.text);
  why.text[0] = '\0';
  bool r = asks(&scenario, &history, &why);
  lb_scenario_clear(&scenario);
  lb_history_clear(&history);
  return r;
}

#define OBSERVED(premises, history) assert_true(observed(FILE_OF(premises), history))
#define NOT(premises, history, reason)                                                                                 \
  assert_false(observed(FILE_OF(premises), history)), assert_string_equal(why.text, "the premise \"" reason)

TEST(nothing_is_asked_without_a_premise) { OBSERVED("", "{\"t\":1,\"e\":\"note\",\"what\":\"n\"}\n"); }

TEST(a_premise_has_to_hold_at_every_step_that_looks) {
  OBSERVED("premise = client 1 holds\n", HELD HELD_AGAIN);
  NOT("premise = client 1 holds\n", HELD HELD_NO_MORE, "client 1 holds\" does not hold: the opposite was observed");
  NOT("premise = client 1 holds\n", HELD, "client 1 holds\" was not observed"); /* the trial ended before step 5 */
  NOT("premise = client 1 does not hold\n", HELD HELD_NO_MORE,
      "client 1 does not hold\" does not hold: the opposite was observed");
}

TEST(several_premises_speak_of_one_step_each_in_order) {
  OBSERVED("premise = client 1 holds\npremise = client 1 does not hold\n", HELD HELD_NO_MORE);
  NOT("premise = client 1 does not hold\npremise = client 1 holds\n", HELD HELD_NO_MORE,
      "client 1 does not hold\" does not hold: the opposite was observed");
  NOT("premise = client 1 holds\npremise = client 1 does not hold\n", HELD,
      "client 1 does not hold\" was not observed");
}

/* The proof of `pause client 1` says that it held, too; only a step that observes speaks for a premise. */
TEST(what_another_step_saw_is_no_observation) {
  NOT("premise = client 1 holds\n",
      "{\"t\":1,\"c\":\"client-1\",\"e\":\"holds\",\"step\":1,\"present\":true}\n" HELD_AGAIN,
      "client 1 holds\" was not observed");
}

#define SERVER "{\"t\":3,\"c\":\"client-1\",\"e\":\"server\",\"step\":3"

TEST(a_server_is_held_against_the_role_of_its_premise) {
  const char *yes = SERVER ",\"role\":\"primary\",\"host\":\"zookeeper-2\",\"present\":true}\n";
  const char *no = SERVER ",\"role\":\"primary\",\"host\":\"zookeeper-2\",\"present\":false}\n";
  OBSERVED("premise = server of client 1 is primary\n", yes);
  OBSERVED("premise = server of client 1 is not primary\n", no);
  NOT("premise = server of client 1 is primary\n", no,
      "server of client 1 is primary\" does not hold: the opposite was observed");
  NOT("premise = server of client 1 is not primary\n", yes,
      "server of client 1 is not primary\" does not hold: the opposite was observed");
  NOT("premise = server of client 1 is current primary\n", yes,
      "server of client 1 is current primary\" was not observed");
}

#define LEAVES(premises)                                                                                               \
  "[scenario]\ntitle = t\nquestion = q\nrefuted = r\n[workload]\nclients = 2\n[timeline]\n"                            \
  "step = client 1 acquire within 1s\nstep = observe server of client 1 leaves within 1s\n[proof]\n" premises          \
  "[expect]\n* = safe\n"
#define LEFT(role, present)                                                                                            \
  "{\"t\":3,\"e\":\"left\",\"step\":2,\"role\":\"" role "\",\"host\":\"zookeeper-2\",\"present\":" present "}\n"

TEST(a_server_left_or_did_not) {
  assert_true(observed(LEAVES("premise = server of client 1 left\n"), LEFT("server of client 1", "true")));
  assert_false(observed(LEAVES("premise = server of client 1 left\n"), LEFT("server of client 1", "false")));
  assert_string_equal(why.text, "the premise \"server of client 1 left\" does not hold: the opposite was observed");
  assert_true(observed(LEAVES("premise = server of client 1 did not leave\n"), LEFT("server of client 1", "false")));
  assert_false(observed(LEAVES("premise = server of client 1 did not leave\n"), LEFT("server of client 1", "true")));
  assert_false(observed(LEAVES("premise = server of client 1 left\n"), LEFT("primary", "true")));
  assert_string_equal(why.text, "the premise \"server of client 1 left\" was not observed");
}

STATES(a_client_that_talks_to_nobody_is_no_observation_either_way,
       NOT("premise = server of client 1 is primary\n", SERVER "}\n",
           "server of client 1 is primary\" was not observed"),
       NOT("premise = server of client 1 is not primary\n", SERVER "}\n",
           "server of client 1 is not primary\" was not observed"));

/* The server of a grant has no step. */
TEST(who_answered_a_grant_is_no_observation) {
  NOT("premise = server of client 1 is primary\n",
      "{\"t\":3,\"c\":\"client-1\",\"k\":\"x\",\"e\":\"server\",\"host\":\"zookeeper-2\"}\n",
      "server of client 1 is primary\" was not observed");
}

TEST(a_key_is_that_of_the_role) {
  const char *there = "{\"t\":4,\"e\":\"observed\",\"step\":4,\"host\":\"redis-1\",\"present\":false}\n"
                      "{\"t\":4,\"e\":\"observed\",\"step\":4,\"role\":\"current primary\",\"present\":true}\n";
  OBSERVED("premise = key present on current primary\n", there);
  NOT("premise = key absent on current primary\n", there,
      "key absent on current primary\" does not hold: the opposite was observed");
  NOT("premise = key present on current primary\n", HELD, "key present on current primary\" was not observed");
}

#define ASKS "{\"t\":2,\"c\":\"client-1\",\"k\":\"x\",\"e\":\"acquire\"}\n"
#define TALKS "{\"t\":3,\"c\":\"client-1\",\"k\":\"x\",\"e\":\"server\",\"host\":\"redis-1\"}\n"
#define TALKED "{\"t\":1,\"c\":\"client-1\",\"k\":\"x\",\"e\":\"server\",\"host\":\"redis-1\"}\n"
#define GAVE_UP(more) "{\"t\":3,\"c\":\"client-1\",\"k\":\"x\",\"e\":\"unknown\"" more "}\n"
#define REPLY(answer)                                                                                                  \
  "{\"t\":4,\"c\":\"client-1\",\"e\":\"reply\",\"step\":1,\"what\":\"w\",\"answer\":\"" answer "\"}\n"

#define NOT_SO "client 1 asked and was granted\" does not hold: the opposite was observed"
#define NOTHING "client 1 asked and was granted\" was not observed"

TEST(what_came_of_asking_counts_if_something_left) {
  OBSERVED("premise = client 1 asked and was granted\n", ASKS TALKS REPLY("granted"));
  NOT("premise = client 1 asked and was granted\n", ASKS REPLY("refused"), NOT_SO);
  NOT("premise = client 1 asked and was granted\n", ASKS REPLY("unknown"), NOT_SO);
  NOT("premise = client 1 asked and was granted\n", ASKS TALKS REPLY("no-answer"), NOT_SO);
  NOT("premise = client 1 asked and was granted\n", ASKS REPLY("no-answer"), NOTHING);
  NOT("premise = client 1 asked and was granted\n", TALKED ASKS REPLY("no-answer"),
      NOTHING); /* that was another time */
  NOT("premise = client 1 asked and was granted\n", ASKS REPLY("failed"), NOTHING);
  NOT("premise = client 1 asked and was granted\n", ASKS TALKS, NOTHING);
  OBSERVED("premise = client 1 asked and was not granted\n", ASKS REPLY("unknown"));
  OBSERVED("premise = client 1 asked and was not granted\n", ASKS TALKS REPLY("no-answer"));
  OBSERVED("premise = client 1 asked and was not granted\n", ASKS REPLY("refused"));
  OBSERVED("premise = client 1 asked and was refused\n", ASKS REPLY("refused"));
  NOT("premise = client 1 asked and was refused\n", ASKS REPLY("unknown"),
      "client 1 asked and was refused\" does not hold: the opposite was observed");
  NOT("premise = client 1 asked and was refused\n", ASKS GAVE_UP("") REPLY("unknown"),
      "client 1 asked and was refused\" does not hold: the opposite was observed");
  OBSERVED("premise = client 1 asked and was refused\n",
           ASKS GAVE_UP(",\"ok\":false") REPLY("unknown")); /* an earlier try was */
  OBSERVED("premise = client 1 asked and was refused\n", ASKS GAVE_UP(",\"ok\":false") TALKS REPLY("unknown"));
  NOT("premise = client 1 asked and was granted\n", TALKS REPLY("no-answer"), NOT_SO); /* the begin was cut off */
  NOT("premise = client 1 asked and was granted\n", ASKS GAVE_UP(",\"ok\":false") REPLY("unknown"), NOT_SO);
}

/* To whom another client talks, to whom for another key, and what a step saw, says nothing. */
TEST(only_its_own_connection_speaks_for_a_client) {
  static const char *const others[] = {
      "{\"t\":3,\"c\":\"client-2\",\"k\":\"x\",\"e\":\"server\",\"host\":\"redis-1\"}\n",
      "{\"t\":3,\"c\":\"client-1\",\"e\":\"server\",\"step\":3,\"host\":\"redis-1\"}\n",
      "{\"t\":3,\"c\":\"client-1\",\"k\":\"x\",\"e\":\"server\"}\n"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    char text[600];
    snprintf(text, sizeof text, ASKS "%s" REPLY("no-answer"), others[i]);
    assert_false(observed(FILE_OF("premise = client 1 asked and was not granted\n"), text));
  }
}

/* Of a safe trial, once is enough, and nothing is asked of the others. */
TEST(what_a_safe_trial_has_to_show_is_asked_of_it_alone) {
  static const char missing[] = "a safe trial would have to show \"client 1 holds\", and no step observed it";
  OBSERVED("safe = client 1 holds\n", HELD_NO_MORE);
  asks = of_safe;
  OBSERVED("safe = client 1 holds\n", HELD HELD_NO_MORE);
  OBSERVED("safe = client 1 does not hold\n", HELD HELD_NO_MORE);
  OBSERVED("premise = client 1 holds\n", HELD_NO_MORE);
  assert_false(observed(FILE_OF("safe = client 1 holds\n"), HELD_NO_MORE));
  assert_string_equal(why.text, missing);
  assert_false(observed(FILE_OF("safe = client 1 does not hold\nsafe = client 1 holds\n"), HELD_NO_MORE));
  assert_string_equal(why.text, missing);
  asks = lb_premises_observed;
}

TEST(what_tests_the_lock_is_no_matter_of_what_makes_it_safe) {
  asks = of_test;
  OBSERVED("safe = client 1 holds\n", HELD_NO_MORE);
  OBSERVED("test = client 1 asked and was not granted\n", ASKS GAVE_UP(",\"ok\":false") REPLY("unknown"));
  assert_false(observed(FILE_OF("test = client 1 asked and was not granted\n"), HELD)); /* it did not ask */
  assert_string_equal(
      why.text, "a safe trial would have to show \"client 1 asked and was not granted\", and no step observed it");
  asks = lb_premises_observed;
}

#define LASTS(fault, end)                                                                                              \
  "[scenario]\ntitle = t\nquestion = q\nrefuted = r\n[workload]\nclients = 2\n[timeline]\n"                            \
  "step = client 1 acquire within 1s\nstep = " fault "\nstep = client 2 acquire within 1s\nstep = " end                \
  "\nstep = client 2 acquire within 1s\n[expect]\n* = safe\n"
#define FAULT(step) "{\"t\":9,\"e\":\"fault\",\"what\":\"w\",\"step\":" #step "}\n"
#define ANSWER(what) "{\"t\":9,\"c\":\"client-2\",\"k\":\"x\",\"e\":\"" what "\"}\n"
#define FAULT_FIRST                                                                                                    \
  "[scenario]\ntitle = t\nquestion = q\nrefuted = r\n[workload]\nclients = 2\n[timeline]\n"                            \
  "step = restart primary\nstep = client 2 acquire within 1s\n[expect]\n* = safe\n"
#define UNTIL_MINUTE LASTS("clock primary +1m", "clock primary -1m")

TEST(somebody_is_answered_while_a_clock_is_wrong_or_after_a_restart) {
  asks = lb_premises_answered;
  assert_true(observed(UNTIL_MINUTE, FAULT(2) ANSWER("acquire") ANSWER("busy") FAULT(4)));
  assert_true(observed(UNTIL_MINUTE, FAULT(2) ANSWER("acquire") ANSWER("granted") FAULT(4)));
  assert_true(observed(UNTIL_MINUTE, ANSWER("acquire") FAULT(2) FAULT(4) ANSWER("busy"))); /* it waited all the while */
  assert_true(observed(UNTIL_MINUTE, ANSWER("acquire") ANSWER("unknown")));                /* the fault never came */
  assert_false(observed(UNTIL_MINUTE, FAULT(2) ANSWER("acquire") ANSWER("unknown") FAULT(4)));
  assert_string_equal(why.text, "nobody who asked while \"clock primary +1m\" lasted was answered");
  assert_false(observed(UNTIL_MINUTE, FAULT(2) FAULT(4) ANSWER("acquire") ANSWER("busy")));
  assert_false(observed(UNTIL_MINUTE, ANSWER("acquire") ANSWER("busy") FAULT(2) FAULT(4)));
  assert_false(observed(LASTS("restart primary", "wait 1s"), ANSWER("acquire") ANSWER("busy") FAULT(2)));
  assert_true(observed(LASTS("restart primary", "wait 1s"), FAULT(2) ANSWER("acquire") ANSWER("busy")));
  assert_true(observed(LASTS("pause primary", "resume primary"), FAULT(2))); /* of other faults nothing is asked */
  assert_false(observed(FAULT_FIRST, FAULT(1)));
  assert_true(observed(FAULT_FIRST, FAULT(1) ANSWER("acquire") ANSWER("granted")));
  asks = lb_premises_observed;
}

STATES(the_first_that_is_missing_is_named, NOT("premise = client 1 holds\npremise = key present on current primary\n",
                                               HELD HELD_AGAIN, "key present on current primary\" was not observed"));
