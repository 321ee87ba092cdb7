/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../harness/scenario.h"

static char err[512];

/* Parses what must be good. The text is freed at once: tests look at the rest. */
static struct lb_step good(const char *text) {
  struct lb_step step = {.line = 7};
  err[0] = '\0';
  int r = lb_step_parse(text, &step, err, sizeof err);
  if (r != 0) fail_msg("%s: %s", text, err);
  assert_string_equal(step.text, text);
  assert_int_equal(step.line, 7);
  free(step.text);
  return step;
}

static void refused(const char *text, const char *message) {
  struct lb_step step = {.line = 7};
  assert_int_equal(lb_step_parse(text, &step, err, sizeof err), -EINVAL);
  assert_string_equal(err, message);
  assert_null(step.text);
}

static void assert_role(struct lb_role role, enum lb_role_kind kind, int number) {
  assert_int_equal(role.kind, kind);
  assert_int_equal(role.number, number);
}

#define ROLES "primary, current primary, replicas, node N, majority, minority, all, client N or clients"

static void every_form_of_the_table_has_an_example_that_parses(void **state) {
  (void)state;
  static const char *const examples[] = {
      "cut primary from replicas",
      "heal",
      "kill node 2",
      "pause client 1",
      "resume client 1",
      "client 1 acquire within 2s",
      "client 2 release within 250ms",
      "client 3 read",
      "client 4 write",
      "await failover within 20s",
      "wait 1s",
      "observe key on primary",
  };
  assert_int_equal(sizeof examples / sizeof *examples, lb_step_form_count);
  for (size_t i = 0; i < lb_step_form_count; i++) assert_int_equal(good(examples[i]).verb, lb_step_forms[i].verb);
}

static void from_may_be_left_out_of_a_cut(void **state) {
  (void)state;
  struct lb_step with = good("cut primary from replicas"), without = good("cut primary replicas");
  assert_role(with.a, LB_ROLE_PRIMARY, 0);
  assert_role(with.b, LB_ROLE_REPLICAS, 0);
  assert_role(without.a, LB_ROLE_PRIMARY, 0);
  assert_role(without.b, LB_ROLE_REPLICAS, 0);
}

static void every_role_is_known_and_written_as_it_is_read(void **state) {
  (void)state;
  static const char *const names[] = {"primary", "current primary", "replicas", "node 3", "majority", "minority",
                                      "all",     "client 2",        "clients"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char text[64] = "kill ", name[32];
    lb_role_format(good(strcat(text, names[i])).a, name, sizeof name);
    assert_string_equal(name, names[i]);
  }
}

static void roles_of_two_words_stand_anywhere(void **state) {
  (void)state;
  struct lb_step step = good("cut current primary client 12");
  assert_role(step.a, LB_ROLE_CURRENT_PRIMARY, 0);
  assert_role(step.b, LB_ROLE_CLIENT, 12);
  step = good("cut node 1 from node 2");
  assert_role(step.a, LB_ROLE_NODE, 1);
  assert_role(step.b, LB_ROLE_NODE, 2);
}

static void durations_have_units_and_are_exact(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int64_t ms;
  } cases[] = {{"wait 250ms", 250}, {"wait 2s", 2000},     {"wait 1.5s", 1500},   {"wait 0.001s", 1},
               {"wait 1m", 60000},  {"wait 1.25m", 75000}, {"wait 60m", 3600000}, {"wait 10.000ms", 10}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_int_equal(good(cases[i].text).within_ms, cases[i].ms);
}

static void extra_blanks_do_not_matter(void **state) {
  (void)state;
  struct lb_step step = good("  client\t 1  acquire   within 5s  ");
  assert_int_equal(step.verb, LB_STEP_ACQUIRE);
  assert_role(step.a, LB_ROLE_CLIENT, 1);
  assert_int_equal(step.within_ms, 5000);
}

static void a_bad_duration_is_refused(void **state) {
  (void)state;
  static const char *const durations[] = {
      "5", "0s", "0.5ms", "1.5ms", "61m", "1h", "s", ".5s", "1.s", "-1s", "1.0005s", "99999999999999999999s", "1e3s"};
  for (size_t i = 0; i < sizeof durations / sizeof *durations; i++) {
    char text[80] = "wait ", message[160];
    snprintf(message, sizeof message, "'%s': expected a duration from 1ms to 60m, like 250ms, 2s, 1.5s or 1m",
             durations[i]);
    refused(strcat(text, durations[i]), message);
  }
}

static void a_misspelt_verb_gets_the_nearest_one(void **state) {
  (void)state;
  refused("client 1 acquier within 5s",
          "unknown verb 'acquier', did you mean 'acquire'? expected client N and acquire, release, read or write");
  refused(
      "kil primary",
      "unknown verb 'kil', did you mean 'kill'? expected cut, heal, kill, pause, resume, client N ..., await, wait or observe");
  refused("cleint 1 read", "unknown word 'cleint', did you mean 'client'?");
  refused("explode",
          "unknown verb 'explode': expected cut, heal, kill, pause, resume, client N ..., await, wait or observe");
}

static void a_verb_of_the_other_kind_is_not_suggested(void **state) {
  (void)state;
  refused("client 1 kill", "unknown verb 'kill': expected client N and acquire, release, read or write");
}

static void a_verb_of_a_client_needs_its_client(void **state) {
  (void)state;
  refused("acquire within 5s", "found 'acquire', expected 'client': client N acquire within T");
}

static void a_misspelt_role_gets_the_nearest_one(void **state) {
  (void)state;
  refused("kill primry", "'primry' is not a role, did you mean 'primary'? expected " ROLES);
  refused("kill the primary", "'the' is not a role: expected " ROLES);
  refused("kill current leader", "'current leader': expected 'current primary'");
  refused("kill current", "'current ': expected 'current primary'");
}

static void a_number_is_in_range(void **state) {
  (void)state;
  refused("kill node 0", "'node 0': expected node and its number from 1 to 99");
  refused("kill node", "'node ': expected node and its number from 1 to 99");
  refused("kill node 1x", "'node 1x': expected node and its number from 1 to 99");
  refused("client 129 read", "'client 129': expected client and its number from 1 to 128");
  refused("client -1 read", "'client -1': expected client and its number from 1 to 128");
  refused("client 99999999999999999999 read",
          "'client 99999999999999999999': expected client and its number from 1 to 128");
}

static void a_step_that_ends_early_says_what_is_missing(void **state) {
  (void)state;
  refused("", "an empty step: expected for example 'kill primary'");
  refused("  ", "an empty step: expected for example 'kill primary'");
  refused("kill", "it ends where a role was expected: " ROLES);
  refused("cut primary", "it ends where a role was expected: " ROLES);
  refused("cut primary from", "it ends where a role was expected: " ROLES);
  refused("client 1", "it ends early: expected client N and acquire, release, read or write");
  refused("client 1 acquire", "it ends where 'within' was expected: client N acquire within T");
  refused("client 1 acquire within", "it ends where 'T' was expected: client N acquire within T");
  refused("wait", "it ends where 'T' was expected: wait T");
}

static void a_wrong_word_is_named(void **state) {
  (void)state;
  refused("client 1 acquire witihn 5s", "found 'witihn', did you mean 'within'? expected client N acquire within T");
  refused("await restart within 5s", "found 'restart', expected 'failover': await failover within T");
}

static void words_after_the_end_are_refused(void **state) {
  (void)state;
  refused("heal everything", "found 'everything' after its end: expected heal");
  refused("client 1 read 5", "found '5' after its end: expected client N read");
  refused("kill primary 1", "found '1' after its end: expected kill A");
  refused("a b c d e f g h i j k l m", "a step of more than 12 words");
}

static void an_endless_step_is_refused(void **state) {
  (void)state;
  char text[1000];
  memset(text, 'x', sizeof text);
  text[sizeof text - 1] = '\0';
  refused(text, "a step of more than 255 bytes");
}

static void upper_case_is_refused(void **state) {
  (void)state;
  refused("kill Primary", "'Primary' is not a role, did you mean 'primary'? expected " ROLES);
}

static void cuts_that_nobody_can_mean_are_refused(void **state) {
  (void)state;
  refused("cut client 1 from clients", "clients do not talk to each other: expected a server on one side");
  refused("cut primary from primary", "'primary' cannot be cut from itself");
  refused("cut node 2 from node 2", "'node 2' cannot be cut from itself");
  good("cut all from all");
  good("cut client 1 from node 1");
}

static void only_one_server_is_observed(void **state) {
  (void)state;
  refused("observe key on replicas", "'replicas' is not one server: expected primary, current primary or node N");
  refused("observe key on client 1", "'client 1' is not one server: expected primary, current primary or node N");
  good("observe key on current primary");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_form_of_the_table_has_an_example_that_parses),
      cmocka_unit_test(from_may_be_left_out_of_a_cut),
      cmocka_unit_test(every_role_is_known_and_written_as_it_is_read),
      cmocka_unit_test(roles_of_two_words_stand_anywhere),
      cmocka_unit_test(durations_have_units_and_are_exact),
      cmocka_unit_test(extra_blanks_do_not_matter),
      cmocka_unit_test(a_bad_duration_is_refused),
      cmocka_unit_test(a_misspelt_verb_gets_the_nearest_one),
      cmocka_unit_test(a_verb_of_the_other_kind_is_not_suggested),
      cmocka_unit_test(a_verb_of_a_client_needs_its_client),
      cmocka_unit_test(a_misspelt_role_gets_the_nearest_one),
      cmocka_unit_test(a_number_is_in_range),
      cmocka_unit_test(a_step_that_ends_early_says_what_is_missing),
      cmocka_unit_test(a_wrong_word_is_named),
      cmocka_unit_test(words_after_the_end_are_refused),
      cmocka_unit_test(an_endless_step_is_refused),
      cmocka_unit_test(upper_case_is_refused),
      cmocka_unit_test(cuts_that_nobody_can_mean_are_refused),
      cmocka_unit_test(only_one_server_is_observed),
  };
  return cmocka_run_group_tests_name("step", tests, NULL, NULL);
}
