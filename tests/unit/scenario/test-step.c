/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * One step from its text: every form, every role, and what is refused with which words. And the tables of verbs: no
 * verb is missing in one of them, and no row contradicts itself.
 */
#include "test.h"
#include "scenario/scenario.h"
#include "trial/fault.h"
#include "trial/timeline.h"

static struct lb_error err;

/* Parses what must be good. The text is freed at once: tests look at the rest. */
static struct lb_step good(const char *text) {
  struct lb_step step = {.line = 7};
  err.text[0] = '\0';
  int r = lb_step_parse(text, &step, &err);
  if (r != 0) fail_msg("%s: %s", text, err.text);
  assert_string_equal(step.text, text);
  assert_int_equal(step.line, 7);
  free(step.text);
  return step;
}

static void refused(const char *text, const char *message) {
  struct lb_step step = {.line = 7};
  assert_int_equal(lb_step_parse(text, &step, &err), -EINVAL);
  assert_says(err.text, message);
  assert_null(step.text);
}

static void assert_role(struct lb_role role, enum lb_role_kind kind, int number) {
  assert_int_equal(role.kind, kind);
  assert_int_equal(role.number, number);
}

#define ROLES                                                                                                          \
  "primary, primary N, current primary, replicas, node N, majority, partners, minority, proxy, witness N, all, client N, clients, holder, waiters or server of client N"
#define VERBS                                                                                                          \
  "cut, slow, hold, drop, release, reset, heal, kill, power, shut, depose, remove, cancel, delete, end, back, restore, wipe, move, fill, free, stall, unstall, occupy, vacate, lock, unlock, operator, pause, resume, restart, clock, client, meanwhile, deliver, stop, crash, hang, gate, pass, await, let, wait or observe"
#define CLIENT_VERBS "client N and acquire, begin, open, release, work, read, write, reopen or start"
#define CUTS "cut A [from] B or cut A to B"
#define SLOW "slow A to B T [jitter J] [loss P]"
#define CLOCKS "clock A [wall|monotonic] OFFSET or clock A rate R"
#define AWAIT_CLIENT                                                                                                                                                                                                                            \
  "await client N asks within T, await client N waits within T, await client N holds within T, await client N is granted within T, await client N gave up within T, await client N has a place within T, await client N has written within T, " \
  "await client N is stopped within T, await client N has crashed within T"
#define AWAIT_WOKEN "await client N is woken within T"

TEST(every_form_of_the_table_has_an_example_that_parses) {
  char examples[] =
      "cut primary from replicas, cut node 1 to client 2, "
      "slow primary to server of client 2 700ms jitter 20ms loss 1.5%, hold primary to client 1, "
      "drop next primary to client 1 after 2, hold next client 1 to server of client 1, "
      "release primary to client 1, reset client 1 from all, heal primary from replicas, heal, kill node 2, power off primary, "
      "shut down client 1, shut down node 1, depose current primary, remove node 2, cancel wait of client 1 on primary, "
      "delete key on primary, end session of client 1 on primary, end renewals of client 1, back up all, restore all, wipe node 2, "
      "move slot of key to node 2, move slot of key to node 2 without its keys, fill memory of primary policy volatile-ttl, free memory of primary, "
      "fill disk of primary, free disk of primary, stall disk of replicas, unstall disk of replicas, occupy proxy, vacate proxy, lock tables on primary, "
      "unlock tables on primary, operator \"fail over the primary\", pause client 1, resume client 1, restart all, restart node 1 as next, clock node 2 monotonic +31s, "
      "clock clients rate 1.02, client 1 acquire shared lock 2 within 2s, client 1 begin acquire within 2s, "
      "client 2 begin section within 4s, client 3 open and begin section within 4s, "
      "meanwhile client 3 repeats: acquire shared lock 2 within 2s hold 1s rest 250ms, "
      "client 2 release within 250ms, client 2 release lock of client 1 within 1s, "
      "client 2 release anyway lock 2 within 1s, client 2 work within 1s, client 3 read, client 3 read early, client 4 write, "
      "client 4 write late, deliver write of client 4, client 2 reopen on node 2 within 10s, "
      "client 2 start within 10s, stop client 1 at after-check, crash client 2 at after-setnx, "
      "hang client 2 at before-check, gate client 1 at after-set, pass client 1, await failover within 20s, "
      "await client 1 asks within 1s, await client 2 waits within 3s, await client 2 holds within 3s, "
      "await client 2 is granted within 3s, await client 2 gave up within 3s, await client 2 has a place within 3s, "
      "await client 128 has written within 1m, await client 2 is stopped within 1s, "
      "await client 2 has crashed within 1s, await client 2 is woken within 1s, "
      "await key absent on node 2 within 1s, await replica node 2 is online and caught up within 1s, "
      "await session of client 2 ended within 5s, let failover within 3s, let primary sync within 2s, "
      "let client 1 hold within 1s, let client 1 write within 1s, let client 2 or 3 write within 1s, "
      "wait 1s, observe key on primary, observe client 1, observe server of client 2, "
      "observe server of client 2 leaves within 2s";
  char *rest = examples;
  for (enum lb_verb verb = LB_STEP_NONE + 1; verb < LB_VERB_COUNT; verb++)
    assert_int_equal(good(strsep(&rest, ",") + (verb > LB_STEP_NONE + 1)).verb, verb);
  assert_null(rest);
}

TEST(every_verb_has_a_row_and_somebody_who_plays_it) {
  assert_null(lb_step_rows[LB_STEP_NONE].form);
  assert_false(lb_timeline_knows(LB_STEP_NONE));
  for (enum lb_verb verb = LB_STEP_NONE + 1; verb < LB_VERB_COUNT; verb++) {
    const struct lb_step_row *row = &lb_step_rows[verb];
    if (!row->form || !row->help) fail_msg("verb %d has no row", verb);
    if (!lb_timeline_knows(verb)) fail_msg("nobody plays: %s", row->form);
  }
}

/* What is done to hosts is done by a fault, and a campaign can only draw what it can do and undo. */
TEST(a_row_does_not_contradict_itself) {
  for (enum lb_verb verb = LB_STEP_NONE + 1; verb < LB_VERB_COUNT; verb++) {
    const struct lb_step_row *row = &lb_step_rows[verb];
    bool of_hosts = (row->class == LB_STEP_FAULT && (lb_step_form_has(row, "A") || verb == LB_STEP_OPERATOR)) ||
                    row->class == LB_STEP_CURE;
    if (lb_fault_knows(verb) != of_hosts) fail_msg("%s: is it a fault of hosts?", row->form);
    if (row->drawn && row->class != LB_STEP_FAULT) fail_msg("%s: a campaign draws faults", row->form);
    if (row->drawn && !lb_fault_has_undo(verb)) fail_msg("%s: a campaign cannot undo it", row->form);
    if (row->class == LB_STEP_COMMAND && !lb_step_form_has(row, "N")) fail_msg("%s: which client?", row->form);
    if ((row->needs & LB_NEED_POINT) && !lb_step_form_has(row, "POINT")) fail_msg("%s: which point?", row->form);
    for (int i = 0; i < 2 && row->undone_by[i]; i++)
      if (!lb_fault_knows(row->undone_by[i])) fail_msg("%s: nobody undoes it", row->form);
  }
}

TEST(verbs_are_listed_by_their_first_words) {
  char list[200];
  bool chosen[LB_VERB_COUNT] = {false};
  lb_step_list(chosen, list, sizeof list);
  assert_string_equal(list, "");
  chosen[LB_STEP_CLOCK_RATE] = true;
  lb_step_list(chosen, list, sizeof list);
  assert_string_equal(list, "clock");
  chosen[LB_STEP_CLOCK_JUMP] = chosen[LB_STEP_CUT] = chosen[LB_STEP_AWAIT_HOLDS] = true;
  lb_step_list(chosen, list, sizeof list);
  assert_string_equal(list, "cut, clock or await");
}

TEST(from_may_be_left_out_of_a_cut) {
  struct lb_step with = good("cut primary from replicas"), without = good("cut primary replicas");
  assert_role(with.a, LB_ROLE_PRIMARY, 0);
  assert_role(with.b, LB_ROLE_REPLICAS, 0);
  assert_role(without.a, LB_ROLE_PRIMARY, 0);
  assert_role(without.b, LB_ROLE_REPLICAS, 0);
}

TEST(every_role_is_known_and_written_as_it_is_read) {
  static const char *const names[] = {"primary",  "current primary", "replicas",   "node 3",   "majority", "partners",
                                      "minority", "proxy",           "all",        "client 2", "clients",  "holder",
                                      "waiters",  "node any",        "client any", "witness 2"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char text[64] = "kill ", name[32];
    lb_role_format(good(strcat(text, names[i])).a, name, sizeof name);
    assert_string_equal(name, names[i]);
  }
}

TEST(roles_of_two_words_stand_anywhere) {
  struct lb_step step = good("cut current primary client 12");
  assert_role(step.a, LB_ROLE_CURRENT_PRIMARY, 0);
  assert_role(step.b, LB_ROLE_CLIENT, 12);
  step = good("cut node 1 from node 2");
  assert_role(step.a, LB_ROLE_NODE, 1);
  assert_role(step.b, LB_ROLE_NODE, 2);
}

TEST(who_took_over_has_a_number) {
  assert_role(good("pause primary").a, LB_ROLE_PRIMARY, 0);
  assert_role(good("pause primary 2").a, LB_ROLE_PRIMARY, 2);
  struct lb_step step = good("slow primary 2 to replicas 700ms"); /* the others beside that one */
  assert_role(step.a, LB_ROLE_PRIMARY, 2);
  assert_role(step.b, LB_ROLE_REPLICAS, 2);
  assert_int_equal(step.within_ms, 700);
  assert_int_equal(lb_step_later_primary(&step), 2);
  step = good("slow replicas to primary 700ms");
  assert_role(step.a, LB_ROLE_REPLICAS, 0);
  assert_role(step.b, LB_ROLE_PRIMARY, 0);
  assert_int_equal(lb_step_later_primary(&step), 0);
  step = good("cut primary 3 from primary");
  assert_int_equal(lb_step_later_primary(&step), 3);
  char words[32];
  lb_role_format(good("observe key on primary 9").a, words, sizeof words);
  assert_string_equal(words, "primary 9");
  refused("kill primary 1", "'primary 1': the first one is called primary; primary 2 is the server that replaced it");
  refused("kill primary 10", "'primary 10': expected primary and its number from 1 to 9");
  refused("cut primary 2 from primary 2", "'primary 2' has no link to itself");
}

TEST(durations_have_units_and_are_exact) {
  static const struct {
    const char *text;
    int64_t ms;
  } cases[] = {{"wait 250ms", 250}, {"wait 2s", 2000},     {"wait 1.5s", 1500},   {"wait 0.001s", 1},
               {"wait 1m", 60000},  {"wait 1.25m", 75000}, {"wait 60m", 3600000}, {"wait 10.000ms", 10}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_int_equal(good(cases[i].text).within_ms, cases[i].ms);
}

TEST(a_clock_jumps_by_a_signed_duration) {
  static const struct {
    const char *text;
    int64_t ms;
    bool monotonic;
  } cases[] = {{"clock all +31s", 31000, false},
               {"clock holder wall -5s", -5000, false},
               {"clock node any monotonic +250ms", 250, true},
               {"clock client any -60m", -3600000, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct lb_step step = good(cases[i].text);
    assert_int_equal(step.verb, LB_STEP_CLOCK_JUMP);
    assert_int_equal(step.offset_ms, cases[i].ms);
    assert_int_equal(step.monotonic, cases[i].monotonic);
    assert_int_equal(step.within_ms, 0);
  }
}

TEST(a_jump_without_sign_or_length_is_refused) {
  static const char *const offsets[] = {"31s", "+", "-", "+5", "+0s", "-61m", "+-5s", "++5s", "fast", "+1e3s"};
  for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
    char text[80], message[256];
    snprintf(message, sizeof message, "'%s': expected a sign and a duration from 1ms to 60m, like +31s, -5s or +250ms",
             offsets[i]);
    snprintf(text, sizeof text, "clock primary monotonic %s", offsets[i]);
    refused(text, message);
    strcat(message, ": " CLOCKS);
    snprintf(text, sizeof text, "clock primary %s", offsets[i]);
    refused(text, message);
  }
}

TEST(a_clock_runs_at_a_rate_from_one_half_to_two) {
  assert_true(good("clock primary rate 0.5").rate == 0.5);
  assert_true(good("clock primary rate 2").rate == 2);
  assert_true(good("clock clients rate 1.0001").rate == 1.0001);
  static const char *const rates[] = {"0.49", "2.01", "1.", ".9", "1e0", "0x1", "nan", "-1", "+1", "1.0.1", "1,1"};
  for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
    char text[80], message[160];
    snprintf(text, sizeof text, "clock primary rate %s", rates[i]);
    snprintf(message, sizeof message, "'%s': expected a rate from 0.5 to 2, like 1.02", rates[i]);
    refused(text, message);
  }
}

#define POINT31 "a-point-with-exactly-31-letters"

TEST(a_point_has_a_name) {
  struct lb_step step = good("stop client 2 at " POINT31);
  assert_string_equal(step.point, POINT31);
  assert_role(step.a, LB_ROLE_CLIENT, 2);
  static const char *const points[] = {POINT31 "x", "After", "after_check", "a.b"};
  for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
    char text[80], message[160];
    snprintf(text, sizeof text, "crash client 1 at %s", points[i]);
    snprintf(message, sizeof message, "'%s': expected the name of a point: at most 31 small letters, digits and '-'",
             points[i]);
    refused(text, message);
  }
  refused("crash client 1 at", "it ends where 'POINT' was expected: crash client N at POINT");
  refused("crash clients at after-check", "found 'clients', did you mean 'client'? ...");
}

TEST(any_stands_for_a_number_in_a_role_only) {
  struct lb_step step = good("cut node any from client any");
  assert_role(step.a, LB_ROLE_NODE, 0);
  assert_role(step.b, LB_ROLE_CLIENT, 0);
  refused("client any read", "'client any': expected client and its number from 1 to 128");
  refused("stop client any at after-check", "'client any': expected client and its number from 1 to 128");
  refused("kill any", "'any' is not a role, did you mean 'all'? expected " ROLES);
}

TEST(extra_blanks_do_not_matter) {
  struct lb_step step = good("  client\t 1  acquire   within 5s  ");
  assert_int_equal(step.verb, LB_STEP_ACQUIRE);
  assert_role(step.a, LB_ROLE_CLIENT, 1);
  assert_int_equal(step.within_ms, 5000);
}

TEST(a_bad_duration_is_refused) {
  static const char *const durations[] = {
      "5", "0s", "0.5ms", "1.5ms", "61m", "1h", "s", ".5s", "1.s", "-1s", "1.0005s", "99999999999999999999s", "1e3s"};
  for (size_t i = 0; i < sizeof durations / sizeof *durations; i++) {
    char text[80] = "wait ", message[160];
    snprintf(message, sizeof message, "'%s': expected a duration from 1ms to 60m, like 250ms, 2s, 1.5s or 1m",
             durations[i]);
    refused(strcat(text, durations[i]), message);
  }
}

TEST(a_misspelt_verb_gets_the_nearest_one) {
  refused("client 1 acquier within 5s", "unknown verb 'acquier', did you mean 'acquire'? expected " CLIENT_VERBS);
  refused("kil primary", "unknown verb 'kil', did you mean 'kill'? expected " VERBS);
  refused("cleint 1 read", "unknown verb 'cleint', did you mean 'client'? expected " VERBS);
  refused("explode", "unknown verb 'explode': expected " VERBS);
}

TEST(a_verb_of_the_other_kind_is_not_suggested) {
  refused("client 1 kill", "unknown verb 'kill': expected " CLIENT_VERBS);
}

STATES(a_verb_of_a_client_needs_its_client,
       refused("acquire within 5s",
               "found 'acquire', expected 'client': client N acquire [shared] [lock L] [ttl D] within T"),
       refused("begin acquire within 5s", "found 'begin', ..."),
       refused("client holder read", "'client holder': expected client and its number from 1 to 128"));

TEST(a_misspelt_role_gets_the_nearest_one) {
  refused("kill primry", "'primry' is not a role, did you mean 'primary'? expected " ROLES);
  refused("kill the primary", "'the' is not a role: expected " ROLES);
  refused("kill current leader", "'current leader': expected 'current primary'");
  refused("kill current", "'current ': expected 'current primary'");
}

TEST(a_number_is_in_range) {
  refused("kill node 0", "'node 0': expected node and its number from 1 to 99");
  refused("kill node", "'node ': expected node and its number from 1 to 99");
  refused("cut primary from witness any", "'witness any': expected witness and its number from 1 to 99");
  refused("kill node 1x", "'node 1x': expected node and its number from 1 to 99");
  refused("client 129 read", "'client 129': expected client and its number from 1 to 128");
  refused("client -1 read", "'client -1': expected client and its number from 1 to 128");
  refused("client 99999999999999999999 read",
          "'client 99999999999999999999': expected client and its number from 1 to 128");
}

TEST(a_step_that_ends_early_says_what_is_missing) {
  refused("", "an empty step: expected for example 'kill primary'");
  refused("  ", "an empty step: expected for example 'kill primary'");
  refused("kill", "it ends where a role was expected: " ROLES);
  refused("cut primary", "it ends where a role was expected: " ROLES ": " CUTS);
  refused("cut primary to", "it ends where a role was expected: " ROLES);
  refused("cut primary from", "it ends where a role was expected: " ROLES);
  refused("client 1", "it ends early: expected " CLIENT_VERBS);
  refused(
      "client 1 acquire",
      "it ends where 'shared', 'lock', 'ttl' or 'within' was expected: client N acquire [shared] [lock L] [ttl D] within T");
  refused("client 1 acquire within",
          "it ends where 'T' was expected: client N acquire [shared] [lock L] [ttl D] within T");
  refused("wait", "it ends where 'T' was expected: wait T");
}

TEST(a_wrong_word_is_named) {
  refused("client 1 acquire witihn 5s", "found 'witihn', did you mean 'within'? ...");
  refused("cut primary form replicas", "found 'form', did you mean 'from'? expected " CUTS);
  refused("client 1 begin acqire within 5s", "found 'acqire', did you mean 'acquire'? ...");
  refused("stop client 1 before after-check", "found 'before', expected 'at': stop client N at POINT");
}

TEST(forms_that_share_their_begin_are_told_apart_by_the_word_that_differs) {
  refused("await restart within 5s", "found 'restart', ...");
  refused("await failvoer within 5s", "found 'failvoer', did you mean 'failover'? ...");
  refused("await client 1 hodls within 5s", "found 'hodls', did you mean 'holds'? ...");
  refused("await client 1 sleeps", "found 'sleeps', ...");
  refused("await client 1", "it ends where 'asks', 'waits', 'holds', 'is', 'gave' or 'has' was expected: " AWAIT_CLIENT
                            " or " AWAIT_WOKEN);
  refused("await client 1 has within 5s", "found 'within', ...");
  refused("await failover within 5", "'5': expected a duration from 1ms to 60m, like 250ms, 2s, 1.5s or 1m");
  refused("await client 1 has written within 5", "'5': expected a duration from 1ms to 60m, ...");
  refused("await client holder holds within 5s", "'client holder': expected client and its number from 1 to 128");
  refused("clock primary", "it ends where 'wall', 'monotonic', 'OFFSET' or 'rate' was expected: " CLOCKS);
  refused("clock primary walll +5s", "found 'walll', did you mean 'wall'? expected " CLOCKS);
  refused("clock primary rat 1.02", "found 'rat', did you mean 'rate'? expected " CLOCKS);
  refused("clock primary wall", "it ends where 'OFFSET' was expected: clock A [wall|monotonic] OFFSET");
  refused("clock primary rate", "it ends where 'R' was expected: clock A rate R");
  refused("clock primry +5s", "'primry' is not a role, did you mean 'primary'? expected " ROLES);
  refused("clock", "it ends where a role was expected: " ROLES);
}

TEST(an_order_is_a_text_in_quotes) {
  refused("operator", "it ends where 'ORDER' was expected: operator ORDER");
  refused("operator fail over", "found 'fail', expected a text in quotes, ...");
  refused("operator \"fail over", "found '\"fail', expected a text in quotes, ...");
  refused("operator \"\"", "found '\"\"', expected a text in quotes, ...");
  refused("operator \"fail over\" within 5s", "found '\"fail', expected a text in quotes, ...");
  refused("oprator \"fail over\"", "unknown verb 'oprator', did you mean 'operator'? ...");
}

TEST(what_is_done_to_connections_renewals_and_releases_is_told_from_what_is_near) {
  refused("reset primary", "it ends where a role was expected: " ROLES);
  refused("reset client 1 form all", "found 'form', did you mean 'from'? expected reset A [from] B");
  refused("reset node 2 from node 2", "'node 2' has no link to itself");
  refused("end renewal of client 1", "found 'renewal', did you mean 'renewals'? ...");
  refused("end renewals of primary", "found 'primary', expected 'client': end renewals of client N");
  refused("shut down clients", "'clients' is no server: expected servers");
  refused("shut dwon client 1", "found 'dwon', did you mean 'down'? ...");
  refused("client 1 release anyways within 1s", "found 'anyways', did you mean 'anyway'? ...");
  refused("client 1 release anyway", "it ends where 'lock' or 'within' was expected: ...");
  refused("client 1 wrok within 1s", "unknown verb 'wrok', did you mean 'work'? ...");
  refused("client 1 work", "it ends where 'lock' or 'within' was expected: client N work [lock L] within T");
  refused("await client 1 has place within 1s", "found 'place', ...");
  refused("await primary has a place within 1s", "found 'primary', ...");
}

TEST(words_after_the_end_are_refused) {
  refused("heal all from primary now", "found 'now' after its end: expected heal A [from] B");
  refused("client 1 read 5", "found '5' after its end: ...");
  refused("kill holder 1", "found '1' after its end: expected kill A");
  refused("a b c d e f g h i j k l m n o p q", "a step of more than 16 words");
}

TEST(an_endless_step_is_refused) {
  char text[1000];
  memset(text, 'x', sizeof text);
  text[sizeof text - 1] = '\0';
  refused(text, "a step of more than 255 bytes");
}

TEST(upper_case_is_refused) {
  refused("kill Primary", "'Primary' is not a role, did you mean 'primary'? expected " ROLES);
}

TEST(a_cut_of_one_way_says_to) {
  struct lb_step step = good("cut current primary to client any");
  assert_int_equal(step.verb, LB_STEP_CUT_TO);
  assert_role(step.a, LB_ROLE_CURRENT_PRIMARY, 0);
  assert_role(step.b, LB_ROLE_CLIENT, 0);
  assert_int_equal(good("cut current primary client any").verb, LB_STEP_CUT);
}

TEST(a_heal_names_the_two_roles_of_a_cut_or_none) {
  struct lb_step step = good("heal");
  assert_role(step.a, LB_ROLE_NONE, 0);
  assert_role(step.b, LB_ROLE_NONE, 0);
  step = good("heal current primary client 2");
  assert_role(step.a, LB_ROLE_CURRENT_PRIMARY, 0);
  assert_role(step.b, LB_ROLE_CLIENT, 2);
  refused("heal everything", "'everything' is not a role: expected " ROLES);
  refused("heal primary", "it ends where a role was expected: " ROLES);
}

TEST(a_cut_may_part_clients) {
  static const char *const texts[] = {"cut client 1 from clients", "cut holder from waiters",
                                      "cut client 1 to client 2", "cut clients from clients"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    struct lb_step step = good(texts[i]);
    assert_true(lb_role_is_client(step.a) && lb_role_is_client(step.b));
    assert_false(lb_step_hits_server(&step));
  }
  good("heal client 1 from clients");
}

TEST(cuts_that_nobody_can_mean_are_refused) {
  refused("cut client 1 from client 1", "'client 1' has no link to itself");
  refused("cut primary from primary", "'primary' has no link to itself");
  refused("cut node 2 from node 2", "'node 2' has no link to itself");
  refused("cut node any from node any", "'node any' has no link to itself");
  refused("cut primary to primary", "'primary' has no link to itself");
  good("cut all from all");
  good("cut client 1 from node 1");
}

TEST(a_delay_is_of_one_direction_and_says_how_long) {
  struct lb_step step = good("slow server of client 1 to server of client 2 1.5s");
  assert_int_equal(step.verb, LB_STEP_SLOW);
  assert_role(step.a, LB_ROLE_SERVER_OF, 1);
  assert_role(step.b, LB_ROLE_SERVER_OF, 2);
  assert_int_equal(step.within_ms, 1500);
  assert_true(lb_step_hits_server(&step));
  step = good("hold client 1 to all");
  assert_int_equal(step.verb, LB_STEP_HOLD);
  assert_int_equal(step.within_ms, 0);
  step = good("release client 1 to all");
  assert_int_equal(step.verb, LB_STEP_RELEASE_HELD);
  refused("slow primary replicas 5s", "found 'replicas', expected 'to': " SLOW);
  refused("slow primary from replicas 5s", "found 'from', expected 'to': " SLOW);
  refused("slow primary to replicas", "it ends where 'T' was expected: " SLOW);
  refused("slow primary to replicas 0s", "'0s': expected a duration from 1ms to 60m, like 250ms, 2s, 1.5s or 1m");
  refused("hold primary to replicas 5s", "found '5s' after its end: expected hold A to B");
  refused("slow primary to primary 5s", "'primary' has no link to itself");
  refused("hold client 1 to clients", "only a cut parts clients: expected a server on one side");
}

TEST(a_delay_may_vary_and_lose) {
  struct lb_step step = good("slow primary to client 1 20ms jitter 5ms");
  assert_true(step.within_ms == 20 && step.jitter_ms == 5 && step.loss == 0);
  step = good("slow primary to client 1 delay loss 0.5%");
  assert_true(step.delayed && step.jitter_ms == 0 && step.loss == 0.005);
  step = good("slow server of client 1 to server of client 2 20ms jitter 20ms loss 50%");
  assert_true(step.jitter_ms == 20 && step.loss == 0.5);
  refused("slow primary to client 1 20ms jitter 21ms", "it cannot be early: ...");
  refused("slow primary to client 1 20ms jitter", "it ends where 'J' was expected: " SLOW);
  refused("slow primary to client 1 20ms jiter 5ms", "found 'jiter', did you mean 'jitter'? expected " SLOW);
  refused("slow primary to client 1 20ms loss 1", "'1': expected a loss from 0.1% to 50%, like 1%");
  refused("slow primary to client 1 20ms loss 1.%", "'1.%': expected a loss from 0.1% to 50%, like 1%");
  refused("slow primary to client 1 20ms loss 1.2.3%", "'1.2.3%': expected a loss from 0.1% to 50%, like 1%");
  refused("slow primary to client 1 20ms loss 51%", "'51%': expected a loss from 0.1% to 50%, like 1%");
  refused("slow primary to client 1 20ms jitter 0ms", "'0ms': expected a jitter, a duration from 1ms ...");
}

TEST(one_message_is_named_by_its_place) {
  struct lb_step step = good("drop next primary to client 1");
  assert_int_equal(step.verb, LB_STEP_DROP_NEXT);
  assert_int_equal(step.after, 0);
  step = good("hold next client 1 to primary after 1000");
  assert_int_equal(step.verb, LB_STEP_HOLD_NEXT);
  assert_int_equal(step.after, 1000);
  assert_true(lb_step_undoes(&(struct lb_step){.verb = LB_STEP_RELEASE_HELD, .a = step.a, .b = step.b}, &step));
  assert_false(lb_step_undoes(&(struct lb_step){.verb = LB_STEP_HEAL_ONE, .a = step.a, .b = step.b}, &step));
  refused("drop next primary to client 1 after 0", "'0': expected a number of messages from 1 to 1000");
  refused("drop next primary to client 1 after 1001", "'1001': expected a number of messages from 1 to 1000");
  refused("drop primary to client 1", "found 'primary', expected 'next': drop next A to B [after K]");
  refused("hold nxt primary to client 1", "found 'nxt', did you mean 'next'? ...");
}

/* How long the delay is stands in the scenario. */
TEST(a_time_may_be_the_delay) {
  struct lb_step step = good("slow primary to replicas delay");
  assert_true(step.delayed && step.beyond_ms == 0 && step.within_ms == 0);
  step = good("wait delay+1.5s");
  assert_true(step.delayed && step.beyond_ms == 1500);
  step = good("wait 2s");
  assert_false(step.delayed);
  refused("wait delay+", "'delay+': expected delay, or delay and a duration, like delay+300ms");
  refused("wait delay+0ms", "'delay+0ms': expected delay, or delay and a duration, like delay+300ms");
  refused("wait delayed", "'delayed': expected delay, or delay and a duration, like delay+300ms");
  refused("wait delay-1s", "'delay-1s': expected delay, or delay and a duration, like delay+300ms");
  refused("clock all delay", "'delay': expected a sign and a duration from 1ms ...");
}

TEST(only_one_server_is_observed) {
  refused("cancel wait of primary on primary", "'primary' is not one client: expected client N");
  refused("cancel wait of client 1 on all", "'all' is not one server: ...");
  refused("delete key on all", "'all' is not one server: ...");
  refused("client 2 reopen on replicas within 1s", "'replicas' is not one server: expected for example node 2");
  refused("end session of primary on primary", "'primary' is not one client: expected client N");
  refused("end session of client 1 on replicas", "'replicas' is not one server: ...");
  refused("move slot of key to replicas", "'replicas' is not one server: ...");
  refused("move slot of key to all without its keys", "'all' is not one server: ...");
  refused("move slot of key to node 2 without it keys", "found 'it', did you mean 'its'? ...");
  refused("move slot of key to node 2 witout its keys", "found 'witout', ...");
  refused("back up client 1", "'client 1' is no server: expected servers");
  refused("restore clients", "'clients' is no server: expected servers");
  refused("observe key on replicas", "'replicas' is not one server: ...");
  refused("observe key on client 1", "'client 1' is not one server: ...");
  refused("observe key on node any", "'node any' is not one server: ...");
  refused("observe key on holder", "'holder' is not one server: ...");
  good("observe key on current primary");
  good("observe key on server of client 2");
  refused("observe replicas leaves within 1s", "'replicas' is not one server: ...");
}

TEST(the_server_of_a_client_is_a_role_of_four_words) {
  struct lb_step step = good("cut client 1 from server of client 1");
  assert_role(step.a, LB_ROLE_CLIENT, 1);
  assert_role(step.b, LB_ROLE_SERVER_OF, 1);
  step = good("kill server of client 12");
  assert_role(step.a, LB_ROLE_SERVER_OF, 12);
  assert_true(lb_step_hits_server(&step));
  step = good("observe server of client 3");
  assert_int_equal(step.verb, LB_STEP_OBSERVE_SERVER);
  assert_role(step.a, LB_ROLE_CLIENT, 3);
  refused("kill server", "'server' alone is not a role: expected server of client N");
  refused("kill server 1", "'server' alone is not a role: expected server of client N");
  refused("kill server of client any", "'server of client any': expected server of client and its ...");
  refused("kill server of client", "'server of client ': expected server of client and its number from 1 to 128");
  refused("cut server of client 1 from server of client 1", "'server of client 1' has no link to itself");
}

TEST(only_servers_are_restarted) {
  static const char *const clients[] = {"client 1", "clients", "holder", "waiters"};
  for (size_t i = 0; i < sizeof clients / sizeof *clients; i++) {
    char text[64], message[128];
    snprintf(text, sizeof text, "restart %s", clients[i]);
    snprintf(message, sizeof message, "'%s' is no server: expected servers", clients[i]);
    refused(text, message);
  }
  good("restart current primary");
}
