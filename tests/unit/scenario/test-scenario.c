/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * The reader of scenario files: the shipped files, then one test per refusal. The
 * source folder is found by LB_SOURCE_DIR, else from where this file was compiled.
 */
#include <fcntl.h>
#include <unistd.h>

#include "scenario/expect.h"
#include "scenario/scenario_load.h"
#include "test.h"
#include "scenario/scenario.h"

#define SCENARIO "[scenario]\ntitle = t\nquestion = q\nrefuted = r\n" /* 4 lines */
#define WORKLOAD "[workload]\nclients = 2\n"                          /* 2 lines */
#define EXPECT "[expect]\n* = safe\n"
#define COMPLETE SCENARIO WORKLOAD EXPECT

static struct lb_error err;

static struct lb_scenario s; /* the last one that was good() */

static int clear(void **state) {
  (void)state;
  lb_scenario_clear(&s);
  return 0;
}
EACH(NULL, clear);

static void good(const char *text) {
  lb_scenario_clear(&s);
  if (lb_scenario_parse("dir/07-some-name.ini", text, strlen(text), &s, &err) != 0) fail_msg("%s", err.text);
}

static void assert_empty(const struct lb_scenario *scenario) {
  static const struct lb_scenario empty;
  assert_memory_equal(scenario, &empty, sizeof empty);
}

/* The message without its "f.ini". */
static void refused_bytes(const char *text, size_t size, const char *message) {
  struct lb_scenario none;
  assert_int_equal(lb_scenario_parse("f.ini", text, size, &none, &err), -EINVAL);
  assert_says(err.text, message);
  assert_empty(&none);
}

static void refused(const char *text, const char *message) { refused_bytes(text, strlen(text), message); }

static const char *source_path(const char *relative) {
  static char path[4096];
  const char *root = getenv("LB_SOURCE_DIR"), *slash = strrchr(__FILE__, '/');
  if (root) snprintf(path, sizeof path, "%s/%s", root, relative);
  else
    snprintf(path, sizeof path, "%.*s/../../%s", slash ? (int)(slash - __FILE__) : 1, slash ? __FILE__ : ".", relative);
  return path;
}

/* ---- what is shipped ---------------------------------------------------------------------------------- */

TEST(every_shipped_scenario_loads) {
  char **names, **paths;
  size_t count;
  assert_int_equal(lb_scenario_list(source_path("scenarios"), &names, &paths, &count), 0);
  assert_true(count >= 4);
  for (size_t i = 0; i < count; i++) {
    if (lb_scenario_load(paths[i], &s, &err) != 0) fail_msg("%s", err.text);
    assert_string_equal(s.name, names[i]);
    for (size_t j = 0; j < s.expect_count; j++) assert_true(strlen(s.expect[j].reason) > 0);
    lb_scenario_clear(&s);
    free(names[i]);
    free(paths[i]);
  }
  free(names);
  free(paths);
}

TEST(the_failover_scenario_is_the_story_it_tells) {
  char path[4200];
  snprintf(path, sizeof path, "%s", source_path("scenarios/failover/failover.ini"));
  if (lb_scenario_load(path, &s, &err) != 0) fail_msg("%s", err.text);
  assert_string_equal(s.path, path);
  assert_int_equal(s.client_counts[0], 2);
  assert_int_equal(s.steps[5].verb, LB_STEP_CUT);
  assert_int_equal(s.steps[10].verb, LB_STEP_KILL);
  assert_string_equal(s.proof_violated, "key absent on current primary");
  assert_true(s.memory_storage);
  assert_true(lb_scenario_needs(&s, LB_NEED_NETWORK));
  assert_string_equal(s.attack, "grant-unheard");
  assert_null(lb_scenario_expect(&s, "redis-token@sentinel", LB_GUARD_NONE));
}

/* ---- what is read ------------------------------------------------------------------------------------- */

TEST(the_name_loses_its_number_and_suffix) {
  static const char *const cases[][2] = {
      {"07-some-name.ini", "some-name"}, {"a/b/x.ini", "x"}, {"12.ini", "12"}, {"/dev/fd/63", "63"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(lb_scenario_parse(cases[i][0], COMPLETE, strlen(COMPLETE), &s, &err), 0);
    assert_string_equal(s.name, cases[i][1]);
    assert_string_equal(s.path, cases[i][0]);
    lb_scenario_clear(&s);
  }
}

TEST(a_minimal_load_gets_the_documented_defaults) {
  good(COMPLETE);
  assert_int_equal(s.trials, 3);
  assert_int_equal(s.min_handoffs, 1);
  assert_int_equal(s.client_count_count, 1);
  assert_int_equal(s.keys, 1);
  assert_true(s.hold_ms == 0 && s.think_ms == 0 && s.duration_s == 5 && s.warmup_s == 1 && s.settle_s == 0);
  assert_int_equal(s.ttl_ms, 10000);
  assert_int_equal(s.wait_ms, 5000);
  assert_false(s.memory_storage);
  assert_null(s.proof_violated);
  assert_false(s.renew || s.past_lease);
  assert_int_equal(s.fault_count, 0);
  assert_false(lb_scenario_needs(&s, LB_NEED_NETWORK) || lb_scenario_needs(&s, LB_NEED_CLOCKS));
  assert_int_equal(s.kind, LB_KIND_LOAD);
}

TEST(every_key_of_a_load_is_read) {
  good(
      "[scenario]\ntitle = a title\nquestion = why?\nrefuted = if so\nupstream = gh:a/b#1\n  by c\ntrials = 7\nmin_handoffs = 3\n"
      "[workload]\nclients = 1, 4 ,16\nkeys = 100\nhold_ms = 0.25\nthink_ms = 2\nttl_ms = 500\n"
      "wait_ms = 60\nduration_s = 1.5\nwarmup_s = 0.5\nsettle_s = 12\nrenew = yes\n[servers]\nstorage = memory\n"
      "[expect]\nlocal@none = safe: a reason: with a colon\nbroken@none=violated\n* = stuck :late\n");
  assert_string_equal(s.title, "a title");
  assert_string_equal(s.question, "why?");
  assert_string_equal(s.refuted, "if so");
  assert_string_equal(s.upstream, "gh:a/b#1 by c");
  assert_int_equal(s.trials, 7);
  assert_int_equal(s.min_handoffs, 3);
  assert_int_equal(s.client_count_count, 3);
  assert_int_equal(s.client_counts[0] + 100 * s.client_counts[1] + 10000 * s.client_counts[2], 160401);
  assert_int_equal(s.keys, 100);
  assert_true(s.hold_ms == 0.25 && s.think_ms == 2 && s.duration_s == 1.5 && s.warmup_s == 0.5 && s.settle_s == 12);
  assert_int_equal(s.ttl_ms, 500);
  assert_int_equal(s.wait_ms, 60);
  assert_true(s.memory_storage && s.renew);
  assert_string_equal(s.expect[0].reason, "a reason: with a colon");
  assert_string_equal(lb_scenario_expect(&s, "broken@none", LB_GUARD_NONE)->reason, "");
  assert_int_equal(lb_scenario_expect(&s, "redlock@redis-x5", LB_GUARD_NONE)->verdict, LB_STUCK);
  assert_string_equal(lb_scenario_expect(&s, "redlock@redis-x5", LB_GUARD_NONE)->reason, "late");
}

STATES(keys_of_their_own_ask_for_no_handoffs, good(SCENARIO WORKLOAD "keys = own\n" EXPECT),
       assert_int_equal(s.keys, 0), assert_int_equal(s.min_handoffs, 0),
       refused(SCENARIO "min_handoffs = 2\n" WORKLOAD "keys = own\n" EXPECT,
               "f.ini:5: min_handoffs = 2: with keys = own the clients never meet: ..."));

TEST(no_more_clients_read_than_there_are) {
  good(SCENARIO WORKLOAD "readers = 2\npermits = 3\n" EXPECT);
  assert_int_equal(s.readers, 2);
  assert_int_equal(s.permits, 3);
  refused(SCENARIO WORKLOAD "readers = 3\n" EXPECT, "f.ini:7: readers = 3: expected at most as many as clients = 2");
  refused(SCENARIO WORKLOAD "readers = 1\n" EXPECT "[timeline]\nstep = client 1 acquire shared within 1s\n",
          "f.ini:7: a timeline has no readers: expected it only without [timeline]");
}

/* A scenario without a fault is no control because of that: its lease may end under its holder. */
STATES(a_control_is_what_declares_itself_one, good(SCENARIO "control = yes\n" WORKLOAD EXPECT), assert_true(s.control),
       good(COMPLETE "[timeline]\nstep = client 1 acquire within 1s\nstep = wait 1s\n"), assert_false(s.control));

TEST(a_word_that_is_no_guard_is_refused) {
  good(SCENARIO "guards = none, fence\n" WORKLOAD EXPECT);
  assert_true(lb_scenario_asks_under(&s, LB_GUARD_FENCE) && !lb_scenario_asks_under(&s, LB_GUARD_CLAIM));
  refused(SCENARIO "guards = none, fense\n" WORKLOAD EXPECT,
          "f.ini:5: guards = none, fense: no guard 'fense', did you mean 'fence'?: ...");
}

TEST(a_control_has_no_fault_and_no_lease_that_ends) {
  static const char *const faults[] = {"cut primary from replicas",
                                       "kill primary",
                                       "pause client 1",
                                       "restart primary",
                                       "stop client 1 at after-check",
                                       "crash client 1 at after-check",
                                       "clock primary +5s",
                                       "clock primary rate 1.5"};
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    char text[300], message[200];
    snprintf(text, sizeof text, SCENARIO "control = yes\n" WORKLOAD EXPECT "[timeline]\nstep = wait 1s\nstep = %s\n",
             faults[i]);
    snprintf(message, sizeof message, "f.ini:12: step = %s: a fault, but control = yes: expected no fault in a control",
             faults[i]);
    refused(text, message);
  }
  good(SCENARIO "control = yes\n" WORKLOAD EXPECT
                "[campaign]\nfault = kill primary\n"); /* the same load, without its faults */
  assert_true(s.control && s.kind == LB_KIND_CAMPAIGN);
  refused(SCENARIO "control = yes\n" WORKLOAD EXPECT "[proof]\npast_lease = yes\n",
          "f.ini:11: past_lease = yes: leases run out, but control = yes: ...");
}

TEST(a_timeline_keeps_its_lines_and_its_memory) {
  good(COMPLETE "[timeline]\nstep = client 1 acquire within 1s\n\n# comment\nstep = kill primary\n");
  assert_int_equal(s.step_count, 2);
  assert_int_equal(s.steps[0].line, 10);
  assert_int_equal(s.steps[1].line, 13);
  assert_string_equal(s.steps[1].text, "kill primary");
  assert_true(s.memory_storage);
  assert_true(s.duration_s == 0 && s.warmup_s == 0 && s.settle_s == 0);
  assert_int_equal(s.kind, LB_KIND_TIMELINE);
  assert_false(lb_scenario_needs(&s, LB_NEED_NETWORK) || lb_scenario_needs(&s, LB_NEED_CLOCKS));
  good(COMPLETE "[servers]\nstorage = disk\n[timeline]\nstep = wait 1s\n");
  assert_false(s.memory_storage);
}

/* Their form only: the reader knows no protocol. */
TEST(options_of_protocols_are_kept_as_they_stand) {
  good(SCENARIO WORKLOAD "option = zk-sequential.recipe=yes\noption = a.b==\noption = a.c=d e\n" EXPECT);
  assert_int_equal(s.option_count, 3);
  assert_string_equal(s.options[0], "zk-sequential.recipe=yes");
  assert_string_equal(s.options[1], "a.b==");
  assert_string_equal(s.options[2], "a.c=d e"); /* a statement of SQL */
  static const char *const wrong[] = {"recipe=yes", "a.b", ".b=1", "a.=1", "a.b=", "a=b.c", "a.b = 1"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    char text[100], message[200];
    snprintf(text, sizeof text, "[workload]\noption = %s\n", wrong[i]);
    snprintf(message, sizeof message, "f.ini:2: option = %s: expected PROTOCOL.OPTION=VALUE", wrong[i]);
    refused(text, message);
  }
}

STATES(a_timeline_may_renew_and_set_clocks,
       good(SCENARIO WORKLOAD "renew = yes\n" EXPECT "[timeline]\nstep = clock client 1 -5s\n"), assert_true(s.renew),
       assert_true(lb_scenario_needs(&s, LB_NEED_CLOCKS)), assert_false(lb_scenario_needs(&s, LB_NEED_NETWORK)));

TEST(many_clients_in_a_process_have_no_faults_of_their_own) {
  good(SCENARIO "[workload]\nclients = 1024\ndriver = coroutine\n" EXPECT "[campaign]\nfault = kill primary\n");
  assert_int_equal(s.driver, LB_BY_COROUTINE);
  assert_int_equal(lb_scenario_set(&s, "driver", "process", &err), 0);
  assert_int_equal(s.driver, LB_BY_PROCESS);
  assert_int_equal(lb_scenario_set(&s, "driver", "fibre", &err), -EINVAL);
  assert_string_equal(err.text, "driver has no value 'fibre': expected process or coroutine");
  refused(SCENARIO WORKLOAD "driver = coroutine\n" EXPECT "[campaign]\nfault = kill primary\nfault = pause holder\n",
          "f.ini:12: fault = pause holder: expected driver = process, as no fault ...");
  refused(SCENARIO WORKLOAD "driver = coroutine\n" EXPECT "[campaign]\nfault = cut primary from replicas\n",
          "f.ini:11: fault = cut primary from replicas: expected driver = process, as the ...");
  refused(SCENARIO WORKLOAD "driver = coroutine\nround_trip_ms = 1\n" EXPECT,
          "f.ini:7: driver = coroutine: expected no round_trip_ms, as the ...");
  refused(SCENARIO WORKLOAD "driver = coroutine\n" EXPECT "[timeline]\nstep = client 1 acquire within 1s\n",
          "f.ini:7: a timeline has no driver: expected it only without [timeline]");
  refused(SCENARIO "[workload]\nclients = 129\n" EXPECT "[timeline]\nstep = client 1 acquire within 1s\n",
          "f.ini:6: clients: a timeline has at most 128 clients");
}

TEST(a_campaign_is_a_load_with_faults_and_memory) {
  good(SCENARIO
       "[workload]\nclients = 2, 8\nduration_s = 3\n" EXPECT
       "[campaign]\nfault = pause node any\nfault = kill client any\n# comment\nfault = clock primary rate 1.5\n");
  assert_int_equal(s.fault_count, 3);
  assert_int_equal(s.step_count, 0);
  assert_int_equal(s.faults[0].a.kind, LB_ROLE_NODE);
  assert_int_equal(s.faults[0].a.number, 0);
  assert_int_equal(s.faults[2].line, 14);
  assert_string_equal(s.faults[1].text, "kill client any");
  assert_int_equal(s.every_ms, 1000);
  assert_int_equal(s.lasts_ms, 1000);
  assert_true(s.duration_s == 3 && s.warmup_s == 1 && s.memory_storage);
  assert_int_equal(s.kind, LB_KIND_CAMPAIGN);
  assert_true(lb_scenario_needs(&s, LB_NEED_CLOCKS));
  assert_false(lb_scenario_needs(&s, LB_NEED_NETWORK));
  good(COMPLETE "[servers]\nstorage = disk\n[campaign]\nevery_ms = 50\nlasts_ms = 10\nfault = cut primary replicas\n");
  assert_int_equal(s.every_ms, 50);
  assert_int_equal(s.lasts_ms, 10);
  assert_false(s.memory_storage);
  assert_true(lb_scenario_needs(&s, LB_NEED_NETWORK));
}

TEST(each_guard_has_its_own_expectations) {
  good(SCENARIO WORKLOAD "[expect fence]\nlocal@none = safe: f\n* = race: others\n[expect]\nlocal@none = violated: n\n"
                         "[expect deadline]\nlocal@none = stuck: d\n");
  static const char *const reasons[] = {[LB_GUARD_NONE] = "n", [LB_GUARD_DEADLINE] = "d", [LB_GUARD_FENCE] = "f"};
  static const enum lb_guard guards[] = {LB_GUARD_NONE, LB_GUARD_DEADLINE, LB_GUARD_FENCE};
  for (size_t i = 0; i < sizeof guards / sizeof *guards; i++) {
    const struct lb_expect *expect = lb_scenario_expect(&s, "local@none", guards[i]);
    assert_non_null(expect);
    assert_int_equal(expect->guard, guards[i]);
    assert_string_equal(expect->reason, reasons[guards[i]]);
  }
  assert_null(lb_scenario_expect(&s, "local@none", LB_GUARD_RECHECK));
  assert_null(lb_scenario_expect(&s, "broken@none", LB_GUARD_NONE));
  assert_int_equal(lb_scenario_expect(&s, "broken@none", LB_GUARD_FENCE)->verdict, LB_ANY);
  good(SCENARIO WORKLOAD "[expect recheck]\n* = safe: r\n"); /* [expect] itself may be missing */
  assert_int_equal(lb_scenario_expect(&s, "local@none", LB_GUARD_RECHECK)->guard, LB_GUARD_RECHECK);
  refused(SCENARIO WORKLOAD "[expect recheck]\n* = safe\n* = race\n", "f.ini:9: * is expected twice");
}

TEST(a_line_may_speak_of_many_cells) {
  good(SCENARIO WORKLOAD "[expect none fence]\na@x, b@y ,*@z = mixed: a race\n[expect fence]\nc@x=n/a\n");
  assert_int_equal(s.expect_count, 7);
  static const char *const systems[] = {"a@x", "b@y", "c@z"};
  for (size_t i = 0; i < 6; i++) {
    const struct lb_expect *e = lb_scenario_expect(&s, systems[i / 2], i % 2 ? LB_GUARD_FENCE : LB_GUARD_NONE);
    assert_true(e == &s.expect[i]);
    assert_int_equal(e->verdict, LB_MIXED);
    assert_string_equal(e->reason, "a race");
  }
  assert_int_equal(lb_scenario_expect(&s, "c@x", LB_GUARD_FENCE)->verdict, LB_NA);
  assert_null(lb_scenario_expect(&s, "c@x", LB_GUARD_NONE));
  assert_null(lb_scenario_expect(&s, "a@x", LB_GUARD_RECHECK));
  refused(SCENARIO WORKLOAD "[expect]\na@x, b = safe\n",
          "f.ini:8: 'b' is not a system: expected PROTOCOL@TOPOLOGY, in which * ...");
  refused(SCENARIO WORKLOAD "[expect]\na@x, = safe\n",
          "f.ini:8: '' is not a system: expected PROTOCOL@TOPOLOGY, in which * ...");
  refused(SCENARIO WORKLOAD "[expect]\na@x, b@x, a@x = safe\n", "f.ini:8: a@x is expected twice");
  refused(SCENARIO WORKLOAD "[expect none fence]\na@x = safe\n[expect fence]\nb@x, a@x = race\n",
          "f.ini:10: a@x is expected twice");
}

TEST(the_most_exact_line_counts_wherever_it_stands) {
  good(SCENARIO WORKLOAD
       "[expect]\n* = safe: all\n*@pg* = safe: pg\npg-*@pg-async = safe: long\n"
       "pg-row@pg-async = safe: own\n*@pg = safe: one\npg-*@* = safe: first\n*@*-x3 = safe: second\n");
  static const char *const wanted[][2] = {{"pg-row@pg-async", "own"},  {"pg-lease@pg-async", "long"},
                                          {"a@pg-sync", "pg"},         {"a@pg", "pg"},
                                          {"redlock@redis-x5", "all"}, {"pg-a@b-x3", "first"}};
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
    assert_string_equal(lb_scenario_expect(&s, wanted[i][0], LB_GUARD_NONE)->reason, wanted[i][1]);
  assert_false(lb_expect_is_exact(&s.expect[1]));
  assert_true(lb_expect_is_exact(&s.expect[3]));
}

STATES(a_proof_may_only_say_that_leases_run_out, good(COMPLETE "[proof]\npast_lease = yes\n"),
       assert_true(s.past_lease), assert_null(s.proof_violated));

TEST(texts_go_on_in_indented_lines) {
  good(
      "[scenario]\ntitle = t\nquestion = one\n  two ; not this\n\t# nor this\n\tthree;four\n\nrefuted = five\n" WORKLOAD
          EXPECT);
  assert_string_equal(s.question, "one two three;four");
  assert_string_equal(s.refuted, "five");
}

TEST(comments_and_line_ends_of_other_systems_are_fine) {
  good("\xef\xbb\xbf# c\r\n; c\r\n[scenario] # c\r\ntitle = caf\xc3\xa9 ; c\r\nquestion = q\r\nrefuted = r\r\n" WORKLOAD
       "[expect] ; c\n* = safe");
  assert_string_equal(s.title, "caf\xc3\xa9");
}

STATES(a_proof_is_kept_in_one_spelling,
       good(COMPLETE "[timeline]\nstep = observe  key on node 2\n[proof]\nviolated = key  present on\tnode 02\n"),
       assert_string_equal(s.proof_violated, "key present on node 2"));

/* ---- what is refused: text ---------------------------------------------------------------------------- */

TEST(what_is_no_text_is_refused) {
  static const char nul[] = "[scenario]\nti\0tle = t\n";
  refused_bytes(nul, sizeof nul - 1,
                "f.ini:2: byte 3 is 0x00: not a text file; expected UTF-8 without control characters");
  refused("[scenario]\ntitle = a\x1b[1m\n", "f.ini:2: byte 10 is 0x1b: not a text file; ...");
  refused("\x7f"
          "ELF",
          "f.ini:1: byte 1 is 0x7f: not a text file; expected UTF-8 without control characters");
  static const char *const broken[] = {
      "\xff", "\xc3", "\xc3(", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80", "\xc2\x85"};
  for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
    char message[128];
    snprintf(message, sizeof message,
             "f.ini:1: byte 1 is 0x%02x: not a text file; expected UTF-8 without control characters",
             (unsigned)(unsigned char)broken[i][0]);
    refused(broken[i], message);
  }
}

TEST(a_line_is_as_long_as_it_has_to_be) {
  char text[5000], line[4000];
  memset(line, 'x', sizeof line);
  line[sizeof line - 1] = '\0';
  snprintf(text, sizeof text, "[scenario]\ntitle = %s\r\nquestion = q\nrefuted = r\n" WORKLOAD EXPECT, line);
  good(text);
  assert_int_equal(strlen(s.title), sizeof line - 1);
}

TEST(a_line_that_is_nothing_is_named) {
  refused("[scenario]\ntitle\nnonsense = 1\n", "f.ini:2: 'title': expected KEY = VALUE, a [section] or a ...");
  refused("[scenario]\ntitle = t\nwhat\n\x01", "f.ini:3: 'what': expected KEY = VALUE, a [section] or a ...");
  refused("hello", "f.ini:1: 'hello': expected KEY = VALUE, a [section] or a comment (# ...)");
}

TEST(the_first_refusal_wins) {
  refused("[scenario]\ntrials = x\nwhat\n", "f.ini:2: trials = x: expected a whole number from 1 to 10000");
}

/* ---- what is refused: sections and keys --------------------------------------------------------------- */

#define SECTIONS "[timeline], [campaign], [proof], [expect] or [expect GUARD ...]"
#define GUARDS "none, deadline, signal, recheck, claim or fence"

TEST(sections_are_known_closed_alone_and_unique) {
  refused("[workloda]\n", "f.ini:1: unknown section [workloda], did you mean [workload]? ...");
  refused("[x]\n", "f.ini:1: unknown section [x]: expected [scenario], [workload], [servers], " SECTIONS);
  refused("[campain]\n", "f.ini:1: unknown section [campain], did you mean [campaign]? ...");
  refused("[expect fnece]\n", "f.ini:1: [expect fnece]: no guard 'fnece', did you mean 'fence'? expected " GUARDS);
  refused("[expect recheck all]\n", "f.ini:1: [expect recheck all]: no guard 'all': expected " GUARDS);
  refused("[expect fence recheck fence]\n", "f.ini:1: [expect fence recheck fence]: fence stands there twice");
  refused("[expct fence]\n", "f.ini:1: unknown section [expct fence], did you mean [expect]? ...");
  refused(SCENARIO WORKLOAD "[expect fence recheck]\n* = safe\n[expect recheck  fence]\n",
          "f.ini:9: section [expect recheck  fence] stands in line 7 already");
  refused("[scenario\n", "f.ini:1: a section without its ']': expected [NAME]");
  refused("[workload] clients = 2\n", "f.ini:1: text after the ']' of a section: expected it on a line of its own");
  refused(COMPLETE "[workload]\n", "f.ini:9: section [workload] stands in line 5 already");
  refused("title = t\n", "f.ini:1: a key before any section: expected a [section] before it");
}

TEST(unknown_keys_are_named_with_the_nearest) {
  refused(
      SCENARIO "[workload]\nclient = 2\n",
      "f.ini:6: [workload] has no key 'client', did you mean 'clients'? expected clients, keys, skew, hold_ms, think_ms, hold, think, ttl_ms, wait_ms, "
      "duration_s, warmup_s, settle_s, round_trip_ms, delay_ms, request_ms, renew, permits, driver, readers, arrivals, rate_per_s, patience_ms or option");
  refused(
      "[campaign]\nevery_s = 1\n",
      "f.ini:2: [campaign] has no key 'every_s', did you mean 'every_ms'? expected fault, every_ms, lasts_ms, progress_ms or delayed_restart");
  refused(
      "[proof]\nviolate = x\n",
      "f.ini:2: [proof] has no key 'violate', did you mean 'violated'? expected violated, premise, safe, test or past_lease");
  refused("[servers]\nfsync = 1\n", "f.ini:2: [servers] has no key 'fsync': expected storage or next");
  refused(
      "[scenario]\n= 5\n",
      "f.ini:2: [scenario] has no key '': expected title, question, refuted, like, attack, rests, systems, guards, upstream, trials, min_handoffs, control, unreal or alike");
}

STATES(a_key_stands_once, refused(SCENARIO "title = again\n", "f.ini:5: title stands in line 2 already"),
       refused(COMPLETE "local@none = safe\nlocal@none = safe\n", "f.ini:10: local@none is expected twice"));

TEST(an_indented_line_is_refused_where_it_would_be_swallowed) {
  const char *const swallowed =
      "f.ini:%d: an indented line: it would go on with '%s'; expected keys and sections at the begin of a line";
  char message[256];
  snprintf(message, sizeof message, swallowed, 7, "clients");
  refused(SCENARIO WORKLOAD "  ttl_ms = 5\n", message);
  snprintf(message, sizeof message, swallowed, 4, "question");
  refused("[scenario]\ntitle = t\nquestion = q\n refuted = r\n", message);
  refused("[scenario]\ntitle = t\nquestion = q\n [workload]\n", message);
  snprintf(message, sizeof message, swallowed, 9, "SYSTEM");
  refused(COMPLETE "  more reason\n", message);
}

STATES(missing_sections_are_named, refused("", "f.ini: section [scenario] is missing"),
       refused(WORKLOAD EXPECT, "f.ini: section [scenario] is missing"),
       refused(SCENARIO EXPECT, "f.ini: section [workload] is missing"),
       refused(SCENARIO WORKLOAD, "f.ini: section [expect] is missing"));

TEST(missing_keys_are_named) {
  refused("[scenario]\ntitle = t\nrefuted = r\n" WORKLOAD EXPECT, "f.ini: [scenario] question is missing: ...");
  refused(SCENARIO "[workload]\n" EXPECT, "f.ini: [workload] clients is missing: ...");
  refused(SCENARIO WORKLOAD "[expect]\n", "f.ini: [expect] SYSTEM is missing: ...");
  refused(COMPLETE "[timeline]\n", "f.ini: [timeline] step is missing: expected step = step");
  refused(COMPLETE "[campaign]\nevery_ms = 50\n", "f.ini: [campaign] fault is missing: expected fault = step");
}

STATES(an_empty_value_is_refused,
       refused("[scenario]\ntitle = ; only a comment\n", "f.ini:2: title is empty: expected text"),
       refused("[workload]\nclients =\n", "f.ini:2: clients is empty: expected whole numbers"));

/* ---- what is refused: values -------------------------------------------------------------------------- */

TEST(numbers_are_plain_and_in_range) {
  static const char *const whole[] = {
      "-5", "9", "3600001", "1e3", "0x10", "10.5", "10ms", "+10", "ten", "99999999999999999999", "1 0"};
  for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
    char text[256], message[256];
    snprintf(text, sizeof text, SCENARIO WORKLOAD "ttl_ms = %s\n", whole[i]);
    snprintf(message, sizeof message, "f.ini:7: ttl_ms = %s: expected a whole number from 10 to 3600000", whole[i]);
    refused(text, message);
  }
  static const char *const real[] = {"nan", "inf", "1e9", "1.", ".5", "-1", "0.05", "86400.1", "1,5"};
  for (size_t i = 0; i < sizeof real / sizeof *real; i++) {
    char text[256], message[256];
    snprintf(text, sizeof text, SCENARIO WORKLOAD "duration_s = %s\n", real[i]);
    snprintf(message, sizeof message, "f.ini:7: duration_s = %s: expected a number from 0.1 to 86400", real[i]);
    refused(text, message);
  }
}

TEST(lists_of_clients_are_checked_one_by_one) {
  refused("[workload]\nclients = 1, x\n", "f.ini:2: clients = x: expected a whole number from 1 to 1024");
  refused("[workload]\nclients = 1,,2\n", "f.ini:2: clients = : expected a whole number from 1 to 1024");
  refused("[workload]\nclients = 1025\n", "f.ini:2: clients = 1025: expected a whole number from 1 to 1024");
  refused("[workload]\nclients = 1, 4, 1\n", "f.ini:2: clients: 1 stands there twice");
  refused("[workload]\nclients = 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17\n",
          "f.ini:2: clients: expected at most 16 numbers");
}

TEST(words_are_from_their_list) {
  refused("[servers]\nstorage = ssd\n", "f.ini:2: storage = ssd: expected memory or disk");
  refused("[workload]\nrenew = true\n", "f.ini:2: renew = true: expected yes or no");
  refused("[proof]\npast_lease = Yes\n", "f.ini:2: past_lease = Yes: expected yes or no");
  refused("[campaign]\nevery_ms = 9\n", "f.ini:2: every_ms = 9: expected a whole number from 10 to 3600000");
  refused("[campaign]\nlasts_ms = 3600001\n",
          "f.ini:2: lasts_ms = 3600001: expected a whole number from 10 to 3600000");
  refused("[workload]\nkeys = owner\n", "f.ini:2: keys = owner: expected a whole number from 1 to 1000000, or own");
}

TEST(expectations_name_a_system_and_a_verdict) {
  refused("[expect]\nlocal@none = save: x\n", "f.ini:2: local@none = save: did you mean 'safe'? ...");
  refused("[expect]\n* = undecided\n", "f.ini:2: * = undecided: expected safe, violated, stuck, ...");
  refused("[expect]\n* = maybe safe\n", "f.ini:2: * = maybe safe: expected safe, violated, stuck, ...");
  static const char *const names[] = {"redis-token", "@none", "local@", "Local@none", "a@b@c", "**", "a b@c"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char text[128], message[128];
    snprintf(text, sizeof text, "[expect]\n%s = safe\n", names[i]);
    snprintf(message, sizeof message,
             "f.ini:2: '%s' is not a system: expected PROTOCOL@TOPOLOGY, in which * stands for any text, or *",
             names[i]);
    refused(text, message);
  }
}

STATES(a_bad_step_names_its_line,
       refused("[timeline]\nstep = client 1 acquier within 5s\n",
               "f.ini:2: step = client 1 acquier within 5s: unknown verb 'acquier', did you mean 'acquire'? ..."));
STATES(a_name_that_cannot_name_results_is_refused,
       assert_int_equal(lb_scenario_parse("my file.ini", COMPLETE, strlen(COMPLETE), &s, &err), -EINVAL),
       assert_says(err.text, "my file.ini: the name 'my file' cannot name results: ..."), assert_empty(&s));

/* ---- what is refused: the whole ----------------------------------------------------------------------- */

#define TIMELINE COMPLETE "[timeline]\n" /* 9 lines */

/* A step behind others, which ';' parts. */
static void bad_step(const char *before, const char *step, const char *why) {
  char text[1000] = TIMELINE, message[600], steps[500], *rest = steps;
  int line = 10;
  snprintf(steps, sizeof steps, "%s", before);
  for (const char *one; *before && (one = strsep(&rest, ";")); line++)
    snprintf(text + strlen(text), sizeof text - strlen(text), "step = %s\n", one);
  snprintf(text + strlen(text), sizeof text - strlen(text), "step = %s\n", step);
  snprintf(message, sizeof message, "f.ini:%d: step = %s: %s", line, step, why);
  refused(text, message);
}

TEST(a_timeline_has_no_load) {
  refused(SCENARIO WORKLOAD "duration_s = 3\n" EXPECT "[timeline]\nstep = wait 1s\n",
          "f.ini:7: a timeline has no duration_s: expected it only without [timeline]");
  refused(SCENARIO WORKLOAD "keys = own\n" EXPECT "[timeline]\nstep = wait 1s\n",
          "f.ini:7: a timeline has no keys: expected it only without [timeline]");
  refused(SCENARIO "[workload]\nclients = 1, 2\n" EXPECT "[timeline]\nstep = wait 1s\n",
          "f.ini:6: clients: a timeline has one number of clients, not 2");
}

STATES(a_step_of_a_client_that_is_not_there_is_refused,
       bad_step("", "client 3 acquire within 5s", "names client 3, but clients = 2"),
       bad_step("", "cut primary from client 3", "names client 3, but clients = 2"));

TEST(a_step_of_a_client_that_never_asked_is_refused) {
  static const char *const steps[] = {"client 2 read",
                                      "client 2 write",
                                      "client 2 release within 1s",
                                      "client 2 release anyway within 1s",
                                      "client 2 work within 1s",
                                      "end renewals of client 2",
                                      "await client 2 has a place within 1s",
                                      "await client 2 holds within 1s",
                                      "await client 2 waits within 1s",
                                      "await client 2 has written within 1s"};
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    char text[256], message[256];
    snprintf(text, sizeof text, TIMELINE "step = client 1 acquire within 1s\nstep = %s\n", steps[i]);
    snprintf(
        message, sizeof message,
        "f.ini:11: step = %s: client 2 never asked for the lock: expected client 2 [begin] acquire within T before it",
        steps[i]);
    refused(text, message);
  }
}

TEST(a_step_of_a_dead_client_is_refused) {
  bad_step("kill client 1", "client 1 acquire within 1s", "client 1 was killed by an earlier step");
  bad_step("kill clients", "pause client 2", "client 2 was killed by an earlier step");
}

#define COMES_AGAIN "meanwhile client 1 repeats: acquire within 1s hold 10ms rest 10ms"

TEST(who_goes_on_to_the_end_hears_no_order) {
  bad_step(COMES_AGAIN, "client 1 release within 1s",
           "client 1 does '" COMES_AGAIN "' to the end: expected another client");
  bad_step(COMES_AGAIN, "stop client 1 at after-check", "client 1 does ...");
  bad_step(COMES_AGAIN, "clock client 1 +5s", "client 1 does ...");
  good(TIMELINE "step = " COMES_AGAIN "\nstep = pause client 1\nstep = await client 1 holds within 1s\n");
  assert_int_equal(s.steps[0].hold_ms, 10);
  assert_int_equal(s.steps[0].rest_ms, 10);
}

TEST(a_client_is_passed_over_only_where_that_is_asked) {
  good(TIMELINE "step = client 1 acquire ttl 3s within 1s\n");
  assert_int_equal(s.steps[0].ttl_ms, 3000);
  assert_int_equal(lb_scenario_patience_ms(&s), 0);
  s.patience_ms = 700;
  assert_int_equal(lb_scenario_patience_ms(&s), 700);
  s.patience_ms = 0, s.kind = LB_KIND_CAMPAIGN;
  assert_int_equal(lb_scenario_patience_ms(&s), lb_scenario_progress_ms(&s));
}

STATES(what_was_never_backed_up_is_not_restored, bad_step("", "restore all", "expected back up all before it"),
       good(TIMELINE "step = back up all\nstep = restore primary\n"), assert_true(lb_step_outlives(&s.steps[1])));

/* It knows nothing of its former life, so it has not asked for anything. */
TEST(only_a_dead_client_is_started_and_begins_anew) {
  bad_step("", "client 1 start within 1s", "client 1 lives: ...");
  bad_step("kill client 1;client 1 start within 1s", "client 1 start within 1s", "client 1 lives: ...");
  bad_step("client 1 acquire within 1s;kill client 1;client 1 start within 1s", "client 1 read",
           "client 1 never asked for the lock: ...");
  good(TIMELINE "step = kill client 1\nstep = client 1 start within 1s\nstep = client 1 acquire within 1s\n");
  assert_int_equal(s.step_count, 3);
}

TEST(a_session_is_opened_late_or_not) {
  bad_step("client 1 acquire within 1s", "client 1 open and begin section within 1s",
           "client 1 has done 'client 1 acquire within 1s' before: ...");
  good(TIMELINE "step = client 1 acquire within 1s\nstep = client 2 open and begin section within 1s\n"
                "step = let client 1 or 2 write within 1s\n");
  assert_false(lb_scenario_opens_late(&s, 1));
  assert_true(lb_scenario_opens_late(&s, 2));
}

TEST(a_gate_is_passed_once) {
  bad_step("", "pass client 1", "expected an earlier gate of client 1");
  bad_step("gate client 1 at after-check", "gate client 1 at after-write",
           "client 1 is at 'gate client 1 at after-check': ...");
  bad_step("", "let client 1 or 2 write within 1s", "client 2 never asked for the lock: ...");
  bad_step("client 1 acquire within 1s", "let client 1 or 1 write within 1s", "client 1 twice: ...");
}

TEST(who_took_over_is_told_from_the_one_before) {
  bad_step("kill node 1", "pause primary 2", "no step before it names primary, which primary 2 replaced");
  bad_step("kill primary", "kill primary 3", "no step before it names primary 2, which primary 3 replaced");
  bad_step("observe key on primary", "observe key on primary 2", "expected a fault of a server (cut, ...");
  good(TIMELINE "step = cut replicas from primary\nstep = cut primary 2 from replicas\nstep = heal primary 2 replicas\n"
                "step = pause primary 2\nstep = kill primary 3\nstep = resume primary 2\nstep = restart primary 3\n");
}

TEST(a_lock_is_let_go_of_by_who_asked_for_it) {
  bad_step("client 1 acquire within 1s", "client 1 release lock 2 within 1s", "client 1 never asked for lock 2: ...");
  bad_step("client 1 acquire lock 2 within 1s", "client 1 read", "client 1 never asked for the lock: ...");
  bad_step("", "client 1 acquire lock 9 within 1s", "'lock 9': expected lock and its number from 1 to 4");
}

TEST(what_undoes_or_awaits_needs_its_fault_before) {
  const char *const failover =
      "f.ini:%d: step = await failover within 5s: expected a fault of a server (cut, slow, hold, drop, reset, kill, power, shut, depose, remove, cancel, delete, end, back, restore, wipe, move, fill, stall, occupy, lock, pause, restart or clock) before it";
  char message[256];
  snprintf(message, sizeof message, failover, 10);
  refused(TIMELINE "step = await failover within 5s\n", message);
  snprintf(message, sizeof message, failover, 11);
  refused(TIMELINE "step = kill client 1\nstep = await failover within 5s\n", message);
  bad_step("", "heal", "expected an earlier cut, slow, hold or drop");
  bad_step("", "resume primary", "expected an earlier pause, stop or hang");
  bad_step("pause primary", "resume client 1", "expected an earlier pause, stop or hang");
  good(TIMELINE "step = pause primary\nstep = await failover within 5s\nstep = resume primary\n");
}

/* A cut is healed by the words it was made with, and once. */
TEST(a_heal_of_one_cut_needs_that_cut) {
  static const char *const before[] = {
      "",
      "step = cut replicas from primary\n",
      "step = cut replicas to primary\n",
      "step = cut primary from node 2\n",
      "step = cut primary from replicas\nstep = heal primary from replicas\n",
      "step = cut primary from replicas\nstep = heal\n",
      "step = cut primary replicas\nstep = cut primary replicas\nstep = heal\nstep = cut primary replicas\nstep = heal primary replicas\n"};
  for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
    char text[600], message[200];
    int line = 10;
    for (const char *at = before[i]; *at; at++) line += *at == '\n';
    snprintf(text, sizeof text, TIMELINE "%sstep = heal primary from replicas\n", before[i]);
    snprintf(
        message, sizeof message,
        "f.ini:%d: step = heal primary from replicas: expected an earlier cut, slow or drop of these two roles, in this order, that still holds",
        line);
    refused(text, message);
  }
  good(TIMELINE "step = cut primary from replicas\nstep = cut primary replicas\nstep = cut client 1 all\n"
                "step = heal primary replicas\nstep = heal primary from replicas\nstep = heal client 1 all\n"
                "step = cut primary to client 2\nstep = heal primary from client 2\n");
  assert_true(lb_scenario_needs(&s, LB_NEED_NETWORK));
}

/* Of that client, and once for each. */
TEST(a_delivery_needs_its_late_write) {
  static const char *const before[] = {"", "step = client 2 write late\n", "step = client 1 write\n",
                                       "step = client 1 write late\nstep = deliver write of client 1\n"};
  for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
    char text[600], message[200];
    int line = 12;
    for (const char *at = before[i]; *at; at++) line += *at == '\n';
    snprintf(
        text, sizeof text,
        TIMELINE
        "step = client 1 acquire within 1s\nstep = client 2 acquire within 1s\n%sstep = deliver write of client 1\n",
        before[i]);
    snprintf(
        message, sizeof message,
        "f.ini:%d: step = deliver write of client 1: expected a 'client 1 write late' before it that is not delivered yet",
        line);
    refused(text, message);
  }
  good(TIMELINE "step = client 1 acquire within 1s\nstep = client 1 write late\nstep = deliver write of client 1\n"
                "step = client 1 write late\nstep = deliver write of client 1\n");
}

/* Hosts are put apart by the key being there, whatever it says. */
TEST(the_hosts_of_a_load_are_apart_if_it_says_how_far) {
  good(SCENARIO WORKLOAD "round_trip_ms = 0\n" EXPECT);
  assert_true(s.apart && s.round_trip_ms == 0 && lb_scenario_needs(&s, LB_NEED_NETWORK));
  good(COMPLETE);
  assert_true(!s.apart && !lb_scenario_needs(&s, LB_NEED_NETWORK));
  assert_int_equal(lb_scenario_set(&s, "round_trip_ms", "0.5", &err), 0);
  assert_true(s.apart && s.round_trip_ms == 0.5);
  refused(SCENARIO WORKLOAD "round_trip_ms = 1\n" EXPECT "[campaign]\nfault = kill primary\n",
          "f.ini:7: a campaign has no round_trip_ms: expected it only of a load");
  good(COMPLETE "[campaign]\nfault = kill primary\n");
  assert_int_equal(lb_scenario_set(&s, "round_trip_ms", "0.5", &err), -ENOTSUP);
  assert_string_equal(err.text, "round_trip_ms = 0.5: some-name has a campaign, and a campaign has no round_trip_ms");
}

/* What is held is released by its words, or healed with everything; what is slow is healed. */
TEST(a_release_needs_its_hold) {
  static const char *const before[] = {"",
                                       "step = hold replicas to primary\n",
                                       "step = slow primary to replicas 1s\n",
                                       "step = cut primary to replicas\n",
                                       "step = hold primary to replicas\nstep = heal\n",
                                       "step = hold primary to replicas\nstep = release primary to replicas\n"};
  for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
    char text[600], message[200];
    int line = 10;
    for (const char *at = before[i]; *at; at++) line += *at == '\n';
    snprintf(text, sizeof text, TIMELINE "%sstep = release primary to replicas\n", before[i]);
    snprintf(
        message, sizeof message,
        "f.ini:%d: step = release primary to replicas: expected an earlier hold of these two roles, in this order, that still holds",
        line);
    refused(text, message);
  }
  bad_step("hold primary to replicas", "heal primary replicas", "expected an earlier cut, slow or drop ...");
  good(
      TIMELINE
      "step = hold primary to replicas\nstep = slow primary to client 1 5s\nstep = release primary to replicas\n"
      "step = heal primary client 1\nstep = hold primary to replicas\nstep = slow client 2 to all 20ms\nstep = heal\n");
  assert_true(lb_scenario_needs(&s, LB_NEED_NETWORK));
}

TEST(a_story_may_use_all_of_the_grammar) {
  good(TIMELINE "step = client 1 begin acquire within 5s\nstep = await client 1 holds within 5s\n"
                "step = stop client 1 at after-check\nstep = client 1 write\nstep = resume client 1\n"
                "step = await client 1 has written within 2s\nstep = crash client 1 at before-check\n"
                "step = client 1 write\nstep = client 1 read\nstep = kill holder\nstep = client 2 acquire within 2s\n"
                "step = restart primary\nstep = await failover within 5s\nstep = pause waiters\nstep = resume waiters\n"
                "step = restart minority\nstep = clock holder +5s\n");
  assert_int_equal(s.step_count, 17);
  good(TIMELINE "step = clock primary -5s\nstep = await failover within 5s\n");
}

STATES(a_dead_client_is_not_told_to_stop,
       bad_step("kill client 1", "stop client 1 at after-check", "client 1 was killed by an earlier step"),
       bad_step("kill client 1", "crash client 1 at after-check", "client 1 was killed by an earlier step"),
       bad_step("", "crash client 3 at after-check", "names client 3, but clients = 2"));

/* The clock of a client, its pause and its crash are no reason for servers to change. */
TEST(a_fault_of_a_client_is_none_of_a_server) {
  static const char *const faults[] = {"clock clients +5s",        "clock holder rate 2", "pause holder",
                                       "stop client 1 at a-point", "kill waiters",        "crash client 1 at a-point"};
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    char text[256];
    snprintf(text, sizeof text, TIMELINE "step = %s\nstep = await failover within 5s\n", faults[i]);
    refused(text, "f.ini:11: step = await failover within 5s: expected a fault of a server (cut, ...");
  }
}

STATES(a_timeline_names_whom_it_means, bad_step("", "kill node any", "'any' is drawn in a campaign only: ..."),
       bad_step("", "cut primary client any", "'any' is drawn in a campaign only: ..."));

#define CAMPAIGN COMPLETE "[campaign]\n" /* 9 lines */

TEST(a_campaign_draws_faults_that_can_be_undone) {
  static const char *const others[] = {"heal",
                                       "slow primary to replicas 1s",
                                       "hold primary to replicas",
                                       "release primary to replicas",
                                       "wait 1s",
                                       "resume primary",
                                       "restart primary",
                                       "client 1 acquire within 1s",
                                       "client 1 begin acquire within 1s",
                                       "stop client 1 at after-check",
                                       "crash client 1 at after-check",
                                       "await failover within 1s",
                                       "await client 1 holds within 1s",
                                       "observe key on primary"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    char text[256], message[256];
    snprintf(text, sizeof text, CAMPAIGN "fault = kill primary\nfault = %s\n", others[i]);
    snprintf(message, sizeof message,
             "f.ini:11: fault = %s: not a fault of a campaign: expected cut, kill, pause or clock", others[i]);
    refused(text, message);
  }
  refused(CAMPAIGN "fault = clock holder +5s\n",
          "f.ini:10: fault = clock holder +5s: a client at work tells nobody its time: ...");
  refused(CAMPAIGN "fault = kil primary\n",
          "f.ini:10: fault = kil primary: unknown verb 'kil', did you mean 'kill'? ...");
}

TEST(a_campaign_fits_every_number_of_clients) {
  refused(SCENARIO "[workload]\nclients = 4, 2, 8\n" EXPECT "[campaign]\nfault = pause client 3\n",
          "f.ini:10: fault = pause client 3: names client 3, but clients = 2");
  refused(SCENARIO "[workload]\nclients = 4, 2, 8\n" EXPECT "[campaign]\nfault = cut node 1 from client 3\n",
          "f.ini:10: fault = cut node 1 from client 3: names client 3, but clients = 2");
}

STATES(a_timeline_has_no_campaign,
       refused(CAMPAIGN "fault = kill primary\n[timeline]\nstep = wait 1s\n",
               "f.ini:10: a timeline has no campaign: expected one of [timeline] and [campaign]"));
STATES(a_campaign_observes_nothing_so_it_proves_nothing,
       refused(CAMPAIGN "fault = kill primary\n[proof]\nviolated = key absent on primary\n",
               "f.ini:12: violated = key absent on primary: no step observes it: ..."));

TEST(a_proof_is_a_fact_that_a_step_observes) {
  refused("[proof]\nviolated = clock jumped\n",
          "f.ini:2: violated = clock jumped: expected key absent on A or key present ...");
  refused("[proof]\nviolated = key absent on primary now\n",
          "f.ini:2: violated = key absent on primary now: expected key absent on A or key present ...");
  refused("[proof]\nviolated = key absent on primry\n",
          "f.ini:2: violated = key absent on primry: 'primry' is not a role, did you mean 'primary'? ...");
  refused(COMPLETE "[proof]\nviolated = key absent on primary\n[timeline]\nstep = observe key on current primary\n",
          "f.ini:10: violated = key absent on primary: no step observes it: ...");
}

#define STEPS                                                                                                          \
  COMPLETE "[timeline]\nstep = client 1 acquire within 1s\nstep = observe client 1\nstep = observe client 1\n"
#define FACTS                                                                                                          \
  "key absent|present on A, client N holds, client N does not hold, client N asked and was granted|not granted|refused, server of client N is A, server of client N is not A, A lost writes, A lost no writes, A left or A did not leave"

TEST(premises_are_kept_in_one_spelling) {
  good(STEPS "step = observe server of client 2\nstep = observe key on node 2\n"
             "[proof]\npremise = client  1   holds\npremise = server of client 2 is not current primary\n"
             "premise = key present on node 2\npremise = server of client 2 is server of client 1\n");
  assert_int_equal(s.premise_count, 4);
  assert_string_equal(s.premises[0].text, "client 1 holds");
  assert_true(s.premises[0].is);
  assert_string_equal(s.premises[1].text, "server of client 2 is not current primary");
  assert_false(s.premises[1].is);
  assert_int_equal(s.premises[1].client, 2);
  assert_string_equal(s.premises[2].text, "key present on node 2");
  assert_int_equal(s.premises[2].server.number, 2);
  assert_string_equal(s.premises[3].text, "server of client 2 is server of client 1");
}

TEST(a_premise_that_is_no_fact_is_refused_with_the_nearest_word) {
#define P "[proof]\npremise = "
  refused(P "client 1 hold\n", "f.ini:2: premise = client 1 hold: found 'hold', did you mean 'holds'? ...");
  refused(P "client 1 does hold\n", "f.ini:2: premise = client 1 does hold: found 'hold': expected " FACTS);
  refused(P "client one holds\n", "f.ini:2: premise = client one holds: 'client one': ...");
  refused(P "key absnt on primary\n",
          "f.ini:2: premise = key absnt on primary: found 'absnt', did you mean 'absent'? ...");
  refused(P "key absent on replicas\n", "f.ini:2: premise = key absent on replicas: 'replicas' is not one server: ...");
  refused(
      P "server of client 1 is\n",
      "f.ini:2: premise = server of client 1 is: it ends where a role was expected: primary, primary N, current primary, replicas, node N, majority, "
      "partners, minority, proxy, witness N, all, client N, clients, holder, waiters or server of client N: ...");
  refused(P "client 1\n", "f.ini:2: premise = client 1: it ends early: expected " FACTS);
  refused(P "client 1 holds now\n", "f.ini:2: premise = client 1 holds now: found 'now' after its end: ...");
#undef P
}

TEST(a_premise_is_observed_by_some_step) {
  refused(STEPS "[proof]\npremise = client 2 holds\n", "f.ini:14: premise = client 2 holds: no step observes it: ...");
  refused(STEPS "[proof]\npremise = server of client 1 is node 1\n",
          "f.ini:14: premise = server of client 1 is node 1: no step observes it: ...");
  refused(STEPS "[proof]\npremise = key absent on primary\n",
          "f.ini:14: premise = key absent on primary: no step observes it: ...");
  refused(STEPS "[proof]\npremise = client 9 holds\n",
          "f.ini:14: premise = client 9 holds: names client 9, but clients = 2");
}

TEST(what_a_loss_of_power_took_is_a_premise_too) {
#define POWER "[servers]\nstorage = disk\n" STEPS "step = power off primary\n[proof]\npremise = "
  good(POWER "primary  lost writes\n");
  assert_string_equal(s.premises[0].text, "primary lost writes");
  assert_true(s.premises[0].is);
  good(POWER "primary lost no writes\n");
  assert_false(s.premises[0].is);
  refused(POWER "node 2 lost writes\n", "f.ini:17: premise = node 2 lost writes: no step observes it: ...");
  refused(STEPS "step = power off primary\n",
          "f.ini:13: step = power off primary: in memory servers sync nothing: ...");
  refused(STEPS "step = stall disk of primary\n",
          "f.ini:13: step = stall disk of primary: in memory servers sync nothing: ...");
  refused(STEPS "step = power off client 1\n", "f.ini:13: step = power off client 1: 'client 1' is no server: ...");
#undef POWER
}

TEST(what_a_client_was_told_is_a_premise_too) {
  good(STEPS "[proof]\npremise = client 1 asked and was  granted\nsafe = client 1 asked and was not granted\n"
             "safe = client 1 asked and was refused\n");
  assert_string_equal(s.premises[0].text, "client 1 asked and was granted");
  assert_true(s.premises[0].is && s.premises[0].use == LB_PREMISE_OF_ALL);
  assert_string_equal(s.premises[1].text, "client 1 asked and was not granted");
  assert_true(!s.premises[1].is && s.premises[1].use == LB_PREMISE_OF_SAFE);
  assert_string_equal(s.premises[2].text, "client 1 asked and was refused");
  assert_false(lb_premise_same_subject(&s.premises[0], &s.premises[1]));
  refused(STEPS "[proof]\nsafe = client 2 asked and was granted\n",
          "f.ini:14: safe = client 2 asked and was granted: no step observes it: ...");
  refused(STEPS "[proof]\nsafe = client 9 holds\n", "f.ini:14: safe = client 9 holds: names client 9, but clients = 2");
  refused("[proof]\nsafe = client 1 asked\n", "f.ini:2: safe = client 1 asked: it ends early: expected " FACTS);
}

TEST(what_is_observed_twice_has_one_premise_or_two) {
  good(STEPS "[proof]\npremise = client 1 holds\n");
  good(STEPS "[proof]\npremise = client 1 holds\npremise = client 1 does not hold\n");
  refused(STEPS "[proof]\npremise = client 1 holds\npremise = client 1 holds\npremise = client 1 holds\n",
          "f.ini:14: premise = client 1 holds: 3 premises of it, but 2 steps observe client 1: ...");
}

/* ---- -s ----------------------------------------------------------------------------------------------- */

TEST(set_changes_one_key) {
  good(COMPLETE);
  assert_int_equal(lb_scenario_set(&s, "clients", "3,5", &err), 0);
  assert_int_equal(lb_scenario_set(&s, "trials", "9", &err), 0);
  assert_int_equal(lb_scenario_set(&s, "hold_ms", "1.5", &err), 0);
  assert_int_equal(s.client_count_count, 2);
  assert_int_equal(s.client_counts[1], 5);
  assert_int_equal(s.trials, 9);
  assert_true(s.hold_ms == 1.5);
  assert_int_equal(lb_scenario_set(&s, "keys", "own", &err), 0);
  assert_int_equal(s.min_handoffs, 0);
  assert_int_equal(lb_scenario_set(&s, "keys", "8", &err), 0);
  assert_int_equal(s.min_handoffs, 1);
}

TEST(set_changes_a_campaign_and_the_watchdog) {
  good(COMPLETE "[campaign]\nfault = pause client 2\n");
  assert_int_equal(lb_scenario_set(&s, "every_ms", "50", &err), 0);
  assert_int_equal(lb_scenario_set(&s, "lasts_ms", "70", &err), 0);
  assert_int_equal(lb_scenario_set(&s, "renew", "yes", &err), 0);
  assert_int_equal(s.every_ms, 50);
  assert_int_equal(s.lasts_ms, 70);
  assert_true(s.renew);
  assert_int_equal(lb_scenario_set(&s, "clients", "4, 1", &err), -EINVAL);
  assert_string_equal(err.text, "clients = 4, 1: some-name: fault = pause client 2: names client 2, but clients = 1");
  good(TIMELINE "step = wait 1s\n");
  assert_int_equal(lb_scenario_set(&s, "renew", "yes", &err), 0);
  assert_true(s.renew);
}

/* A key that the kind of scenario does not have is told from a bad value: of many scenarios, others may have it. */
static void set_refused(const char *key, const char *value, const char *message) {
  struct lb_scenario before = s;
  bool has_none = strstr(message, "a timeline has no ") || strstr(message, " has no campaign") ||
                  strstr(message, " names the delay");
  assert_int_equal(lb_scenario_set(&s, key, value, &err), has_none ? -ENOTSUP : -EINVAL);
  assert_says(err.text, message);
  assert_memory_equal(&s, &before, sizeof before);
}

TEST(set_refuses_as_the_file_does_and_changes_nothing) {
  good(TIMELINE "step = client 2 acquire within 1s\n");
  set_refused("ttl_ms", "-5", "ttl_ms = -5: expected a whole number from 10 to 3600000");
  set_refused("ttl_ms", "", "ttl_ms is empty: expected whole number");
  set_refused("ttl", "5", "cannot set 'ttl', did you mean 'ttl_ms'? ...");
  set_refused("trails", "5", "cannot set 'trails', did you mean 'trials'? ...");
  set_refused("title", "x", "cannot set 'title': expected one of ...");
  set_refused("clients", "1",
              "clients = 1: some-name: step = client 2 acquire within 1s: names client 2, but clients = 1");
  set_refused("renew", "maybe", "renew = maybe: expected yes or no");
  set_refused("past_lease", "yes", "cannot set 'past_lease': expected one of ...");
  set_refused("every_ms", "50", "every_ms = 50: some-name has no campaign");
  set_refused("lasts_ms", "50", "lasts_ms = 50: some-name has no campaign");
  set_refused("duration_s", "3", "duration_s = 3: some-name has a timeline, and a timeline has no duration_s");
  set_refused("delay_ms", "3", "delay_ms = 3: no step of some-name names the delay");
}

/* The delay is one number, and steps that name it follow it. */
TEST(steps_take_the_delay_of_the_scenario) {
  good(SCENARIO "[workload]\nclients = 2\ndelay_ms = 700\n[timeline]\nstep = slow client 1 to all delay\n"
                "step = wait delay+300ms\nstep = wait 5ms\n" EXPECT);
  assert_int_equal(s.steps[0].within_ms, 700);
  assert_int_equal(s.steps[1].within_ms, 1000);
  assert_int_equal(s.steps[2].within_ms, 5);
  assert_int_equal(lb_scenario_set(&s, "delay_ms", "1200", &err), 0);
  assert_int_equal(s.delay_ms, 1200);
  assert_int_equal(s.steps[0].within_ms, 1200);
  assert_int_equal(s.steps[1].within_ms, 1500);
  assert_int_equal(s.steps[2].within_ms, 5);
  assert_string_equal(s.steps[1].text, "wait delay+300ms");
  assert_true(lb_scenario_varies("delay_ms"));
  set_refused("delay_ms", "0", "delay_ms = 0: expected a whole number from 1 to 3600000");
  refused(SCENARIO "[workload]\nclients = 2\n[timeline]\nstep = wait 1s\nstep = wait delay\n" EXPECT,
          "f.ini:9: step = wait delay: how long is the delay? ...");
  refused(SCENARIO "[workload]\nclients = 2\ndelay_ms = 5\n[timeline]\nstep = wait 1s\n" EXPECT,
          "f.ini:7: delay_ms: no step names the delay: ...");
  refused(SCENARIO "[workload]\nclients = 2\ndelay_ms = 5\n" EXPECT, "f.ini:7: delay_ms: no step names the delay: ...");
}

/* ---- files -------------------------------------------------------------------------------------------- */

static char folder[64];

static void write_file(const char *name, const char *text, size_t size) {
  char path[128];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, text, size), (ssize_t)size);
  close(fd);
}

static int make_folder(void **state) {
  (void)state;
  strcpy(folder, "/tmp/test-scenario-XXXXXX");
  return mkdtemp(folder) ? 0 : -1;
}

/* Enough names that no file system keeps them sorted by luck. */
static const char *const files[] = {"05-e.ini", "02-b.ini", "08-h.ini", "01-z.ini", "07-g.ini", "03-a.ini",
                                    "06-f.ini", "04-d.ini", "x.txt",    ".x.ini",   ".ini"};

static int drop_folder(void **state) {
  (void)state;
  char path[128];
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, files[i]);
    unlink(path);
  }
  return rmdir(folder);
}

TEST_WITH(a_list_is_sorted_by_file_name_and_holds_only_scenarios, make_folder, drop_folder) {
  char **names, **paths, path[128];
  size_t count;
  static const char *const sorted[] = {"z", "b", "a", "d", "e", "f", "g", "h"};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) write_file(files[i], "", 0);
  assert_int_equal(lb_scenario_list(folder, &names, &paths, &count), 0);
  assert_int_equal(count, sizeof sorted / sizeof *sorted);
  snprintf(path, sizeof path, "%s/01-z.ini", folder);
  assert_string_equal(paths[0], path);
  for (size_t i = 0; i < count; i++) {
    assert_string_equal(names[i], sorted[i]);
    free(names[i]);
    free(paths[i]);
  }
  free(names);
  free(paths);
  assert_int_equal(lb_scenario_list("/nonexistent/scenarios", &names, &paths, &count), -ENOENT);
}

TEST(a_file_that_cannot_be_read_says_why) {
  assert_int_equal(lb_scenario_load("/nonexistent.ini", &s, &err), -ENOENT);
  assert_string_equal(err.text, "/nonexistent.ini: No such file or directory");
  assert_empty(&s);
  assert_int_equal(lb_scenario_load("/", &s, &err), -EISDIR);
  assert_empty(&s);
  assert_int_equal(lb_scenario_load("/dev/zero", &s, &err), -EINVAL);
  assert_string_equal(err.text, "/dev/zero: more than 256 kB: expected a text file of a few lines");
  assert_empty(&s);
}

TEST(verdicts_have_names) {
  assert_string_equal(lb_verdict_name(LB_SAFE), "safe");
  assert_string_equal(lb_verdict_name(LB_MIXED), "mixed");
  assert_string_equal(lb_verdict_name(LB_SKIPPED), "skipped");
  assert_string_equal(lb_verdict_name(LB_NA), "n/a");
  assert_string_equal(lb_verdict_name(LB_VERDICT_NONE), "none");
  assert_string_equal(lb_verdict_name(LB_ANY), "race");
}
