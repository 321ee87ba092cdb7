/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * The story of a history: that the lines that made a violation are there and marked, and that a long history stays
 * short.
 */
#include "history/history_load.h"
#include "test.h"
#include "base/error.h"
#include "lines.h"
#include "story/explain.h"

static char *told;
static struct lb_explain_about about; /* all zero unless a test says more */

static void tell(const struct lb_history *h) {
  struct lb_check c;
  size_t size = 0;
  free(told);
  FILE *out = open_memstream(&told, &size);
  assert_non_null(out);
  lb_check_history(h, &c);
  lb_explain(h, &c, &about, out);
  fclose(out);
  lb_check_clear(&c);
}

static void tell_text(const char *text) {
  struct lb_history h;
  struct lb_error err;
  if (parse_lines("text", text, &h, &err) < 0) fail_msg("%s", err.text);
  tell(&h);
  lb_history_clear(&h);
}

static void tell_file(const char *file) {
  struct lb_history h;
  const char *root = getenv("LB_SOURCE_DIR");
  struct lb_error err;
  char path[1000];
  snprintf(path, sizeof path, "%s/tests/data/histories/%s.jsonl", root ? root : ".", file);
  if (lb_history_load(path, NULL, &h, &err) < 0) fail_msg("%s", err.text);
  tell(&h);
  lb_history_clear(&h);
}

static void says(const char *part) {
  if (!strstr(told, part)) fail_msg("expected \"%s\" in:\n%s", part, told);
}

static void says_not(const char *part) {
  if (strstr(told, part)) fail_msg("did not expect \"%s\" in:\n%s", part, told);
}

static size_t lines_with(const char *part) {
  size_t count = 0;
  for (const char *at = told; (at = strstr(at, part)); at++) count++;
  return count;
}

static int forget(void **state) {
  (void)state;
  free(told);
  told = NULL;
  return 0;
}

TEST_WITH(readers_together_are_no_double_hold, NULL, forget) {
  tell_file("good/two-readers");
  says("a bar: this client believes that it holds x (dotted: as a reader)\n");
  says("granted   shared, fence 4\n");
  says("  : :    b      granted");
  says("      |  c      granted");
  says("At no time did more clients hold the same lock than may, and no update was lost: 4 grants, 3 hand-offs.\n");
  says_not("<--");
  tell_file("good/reader-turns-writer");
  says_not("<--");
  tell_file("bad/reader-beside-writer");
  says("<-- granted while a holds (shared)");
  says("a, b and c held x at the same time");
  if (lines_with("<-- reads while ") != 3) fail_msg("expected three dirty reads in:\n%s", told);
  tell_file("bad/reader-turns-writer");
  says("granted   lease until +0.000099 ms  <-- granted while b holds (shared), lease over since ");
  if (lines_with("<--") != 3) fail_msg("expected the grant and two reads in:\n%s", told);
  tell_file("bad/readers-numbers");
  says("granted   shared, fence 5  <-- the fence does not grow: 5 came before\n");
  says("In this history: 2 fences that did not grow.\n");
}

TEST(a_paused_holder_is_told_line_by_line) {
  tell_file("bad/paused-holder");
  says("                  1 2   a bar: this client believes that it holds lock-1\n");
  says("  +       1.0 ms  |    client-1  granted   fence 1, lease until +300.0 ms\n");
  says("  +     303.0 ms  | |  client-2  granted   fence 2, lease until +602.0 ms"
       "  <-- granted while client-1 holds, lease over since 3.000 ms\n");
  says("  +     305.0 ms  | |  client-2  write     value 1, fence 2  <-- writes while client-1 holds, too\n");
  says("  +     400.0 ms  | |  FAULT     resume client-1\n");
  says(
      "  +     401.0 ms  | |  client-1  write     value 1, fence 1  <-- accepted although client-2 was granted it since; "
      "value 1 again: client-2's update is lost (the guard fence would refuse it)\n");
  says("  +     402.0 ms    |  client-1  release\n");
  says("client-1  lost      it knows 100.0 ms after client-2 was granted\n");
  says("\nclient-1 and client-2 held lock-1 at the same time for 99.0 ms, from +303.0 ms to +402.0 ms.\n"
       "At the resource: 1 update was lost, 1 write of an overtaken holder was accepted.\n");
  says_not("...");
}

TEST(the_last_renewal_before_an_overlap_is_told_and_runs_of_them_are_not) {
  tell_file("bad/renewed");
  says("client-1  granted   lease until +300.000 ms\n                 ... 2 renewals ...\n");
  says("client-1  renewed   lease until +700.000 ms\n");
  says("client-2  granted   lease until +800.000 ms  <-- granted while client-1 holds, lease not over for 200.0 ms\n");
  says("client-1  lost      it knows 1.000 ms after client-2 was granted\n                 ... 2 renewals ...\n");
  says_not("lease until +400.000 ms");
  says_not("lease until +900.000 ms");
}

/* A watchdog with a thousand renewals, which then fail: the last one lies far from what went wrong. */
static void write_renewals(struct lb_history *h, bool overrun) {
  uint64_t t = 2;
  lb_names_add(&h->clients, "a");
  lb_names_add(&h->clients, "b");
  lb_names_add(&h->keys, "x");
  lb_history_add(h, &(struct lb_event){.t = 0, .kind = LB_EV_ACQUIRE, .fact = LB_NO_NAME});
  lb_history_add(h, &(struct lb_event){.t = 1, .kind = LB_EV_GRANTED, .fact = LB_NO_NAME});
  for (uint32_t i = 0; i < 1000; i++, t++)
    lb_history_add(h, &(struct lb_event){
                          .t = t, .until = t + 30, .flags = LB_EVF_UNTIL, .kind = LB_EV_RENEWED, .fact = LB_NO_NAME});
  for (uint32_t i = 0; i < 50; i++, t++)
    lb_history_add(h, &(struct lb_event){.t = t, .flags = LB_EVF_VALUE, .kind = LB_EV_READ, .fact = LB_NO_NAME});
  if (overrun) lb_history_add(h, &(struct lb_event){.t = t, .client = 1, .kind = LB_EV_GRANTED, .fact = LB_NO_NAME});
  lb_history_add(h, &(struct lb_event){.t = t + 2, .kind = overrun ? LB_EV_RELEASE : LB_EV_LOST, .fact = LB_NO_NAME});
}

TEST(a_renewal_far_before_an_overlap_or_a_loss_is_told) {
  for (int overrun = 0; overrun <= 1; overrun++) {
    struct lb_history h = {0};
    write_renewals(&h, overrun);
    tell(&h);
    lb_history_clear(&h);
    says("a      renewed   lease until +0.001031 ms\n");
    assert_int_equal(lines_with("renewed "), 1);
    says("... 999 renewals ...");
    if (overrun) says("<-- granted while a holds, lease over since 0.000021 ms\n");
  }
}

TEST(a_lease_is_that_of_the_present_hold) {
  tell_text("{\"t\":1,\"c\":\"b\",\"k\":\"x\",\"e\":\"granted\",\"until\":9}\n"
            "{\"t\":2,\"c\":\"b\",\"k\":\"x\",\"e\":\"renewed\",\"until\":99}\n"
            "{\"t\":3,\"c\":\"b\",\"k\":\"x\",\"e\":\"release\"}\n"
            "{\"t\":4,\"c\":\"b\",\"k\":\"x\",\"e\":\"granted\",\"until\":8}\n"
            "{\"t\":20,\"c\":\"a\",\"k\":\"x\",\"e\":\"granted\"}\n");
  says("<-- granted while b holds, lease over since 0.000012 ms\n");
}

TEST(renewals_of_a_hold_that_is_over_are_not_told) {
  struct lb_history h = {0};
  uint64_t t = 0;
  lb_names_add(&h.clients, "a");
  lb_names_add(&h.clients, "b");
  lb_names_add(&h.keys, "x");
  static const struct lb_event over[] = {{.client = 1, .kind = LB_EV_ACQUIRE},
                                         {.kind = LB_EV_ACQUIRE},
                                         {.kind = LB_EV_GRANTED},
                                         {.kind = LB_EV_RENEWED},
                                         {.kind = LB_EV_RELEASE},
                                         {.kind = LB_EV_RELEASED}};
  for (size_t i = 0; i < 65; i++) {
    struct lb_event e = i < 6 ? over[i] : (struct lb_event){.client = 1, .kind = LB_EV_BUSY};
    e.t = t++, e.fact = LB_NO_NAME;
    lb_history_add(&h, &e);
  }
  for (uint32_t i = 0; i < 2; i++)
    lb_history_add(&h, &(struct lb_event){.t = t++, .client = !i, .kind = LB_EV_GRANTED, .fact = LB_NO_NAME});
  tell(&h);
  lb_history_clear(&h);
  says("granted while b holds");
  says_not("renewed");
}

/* A renewal between two failures makes the second one news again. */
TEST(a_renewal_that_fails_again_is_told_again) {
  tell_text("{\"format\":2}\n"
            "{\"t\":1,\"c\":\"a\",\"k\":\"x\",\"e\":\"granted\",\"until\":40}\n"
            "{\"t\":2,\"c\":\"a\",\"k\":\"x\",\"e\":\"not-renewed\",\"check\":\"error\"}\n"
            "{\"t\":3,\"c\":\"a\",\"k\":\"x\",\"e\":\"renewed\",\"until\":50}\n"
            "{\"t\":4,\"c\":\"a\",\"k\":\"x\",\"e\":\"not-renewed\",\"check\":\"error\"}\n"
            "{\"t\":5,\"c\":\"a\",\"k\":\"x\",\"e\":\"not-renewed\",\"check\":\"error\"}\n"
            "{\"t\":6,\"c\":\"a\",\"k\":\"x\",\"e\":\"not-renewed\",\"check\":\"error\"}\n"
            "{\"t\":7,\"c\":\"a\",\"k\":\"x\",\"e\":\"lost\"}\n");
  assert_int_equal(lines_with("not-renewed  error"), 2);
  says("... 2 events ...");
}

STATES(a_refused_write_is_said_to_be_fenced_off, tell_file("bad/paused-holder-fenced"),
       says("write     value 6, fence 1, refused  <-- fenced off: the resource has seen 2\n"),
       says("At the resource: 1 write was fenced off.\n"));
TEST(a_write_without_an_overlap_is_wrong_all_the_same) {
  tell_file("bad/late-write");
  says("a      write     value 1  <-- accepted although b was granted it since; value 1 again: b's update is lost\n");
  says("At the resource: 1 update was lost, 1 write of an overtaken holder was accepted.\n");
  says_not("at the same time for");
}
STATES(nobody_holds_and_someone_writes, tell_file("bad/nobody-holds"), says("<-- writes without holding it\n"),
       says("In this history: 2 dirty accesses.\n"));

TEST(a_fence_that_does_not_grow_is_marked) {
  tell_file("bad/token-regression");
  says("a      granted   fence 11  <-- the fence does not grow: 12 came before\n");
  says("In this history: 2 fences that did not grow.\n");
  tell_file("bad/token-of-an-earlier-hold");
  says("+  0.000003 ms  |  a      granted   fence 7  <-- the fence does not grow: 7 came before\n");
  says("+  0.000004 ms  |  a      granted   fence 7\n");
  tell_text("{\"t\":1,\"c\":\"a\",\"k\":\"x\",\"e\":\"acquire\"}\n"
            "{\"t\":2,\"c\":\"b\",\"k\":\"x\",\"e\":\"granted\",\"fence\":5}\n"
            "{\"t\":3,\"c\":\"b\",\"k\":\"x\",\"e\":\"release\"}\n"
            "{\"t\":4,\"c\":\"c\",\"k\":\"x\",\"e\":\"granted\",\"fence\":6}\n"
            "{\"t\":5,\"c\":\"c\",\"k\":\"x\",\"e\":\"release\"}\n"
            "{\"t\":6,\"c\":\"a\",\"k\":\"x\",\"e\":\"granted\",\"fence\":5}\n");
  says("a      granted   fence 5  <-- the fence does not grow: 5 came before\n");
}

STATES(a_safe_history_says_so, tell_file("good/two-clients"),
       says("At no time did two clients hold the same lock, and no update was lost: 2 grants, 1 hand-off.\n"),
       says_not("<--"));

/* Ties are no violation for the checker; so they are none for a reader. */
TEST(good_histories_have_nothing_marked) {
  static const char *const good[] = {"ties",
                                     "lost-in-time",
                                     "crash",
                                     "renewed",
                                     "crash-nobody-after",
                                     "two-keys",
                                     "granted-again",
                                     "granted-again-fenced",
                                     "granted-again-and-lost",
                                     "unknown-outcome",
                                     "any-order"};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    char file[64];
    snprintf(file, sizeof file, "good/%s", good[i]);
    tell_file(file);
    says_not("<--");
  }
}

/* The bar of a holder goes on behind the first of two releases, and the other client's grant is marked. */
STATES(a_hold_that_was_released_once_of_twice_goes_on, tell_file("bad/one-release-of-two"),
       says("+  0.000004 ms  |    a      release\n"),
       says("+  0.000007 ms  | |  b      granted   <-- granted while a holds\n"),
       says("a and b held x at the same time for 0.000001 ms"));

/* A lock that works for thousands of events, and once does not. */
/* Two cuts with the same words; the proof of the first comes after the second has begun. */
TEST(a_proof_belongs_to_the_fault_of_its_step) {
  tell_text(
      "{\"format\":2}\n"
      "{\"t\":0,\"e\":\"fault\",\"what\":\"pause client 1\",\"step\":1}\n"
      "{\"t\":1000000,\"e\":\"fault\",\"what\":\"pause client 1\",\"step\":2}\n"
      "{\"t\":3000000,\"e\":\"proved\",\"what\":\"it stands still\",\"step\":1}\n"
      "{\"t\":4000000,\"e\":\"fault\",\"what\":\"kill primary\"}\n"
      "{\"t\":5000000,\"e\":\"proved\",\"what\":\"kill primary\"}\n"
      "{\"t\":6000000,\"c\":\"client-1\",\"e\":\"reply\",\"what\":\"client 1 read\",\"answer\":\"done\"}\n"
      "{\"t\":7000000,\"c\":\"client-1\",\"e\":\"reply\",\"what\":\"client 1 write\",\"answer\":\"failed\",\"why\":\"refused\"}\n");
  says("+       0.0 ms   FAULT  pause client 1  (proved, 3.000 ms later)\n");
  says("+       1.0 ms   FAULT  pause client 1\n");
  says("+       4.0 ms   FAULT  kill primary\n"); /* a proof of no step belongs to none */
  says("seen   proved: kill primary\n");
  says_not("client 1 read");
  says("seen   client 1 write: refused\n");
}

TEST(a_long_history_is_cut_to_what_matters) {
  static const uint16_t kinds[] = {LB_EV_ACQUIRE, LB_EV_GRANTED, LB_EV_READ,
                                   LB_EV_WRITE,   LB_EV_RELEASE, LB_EV_RELEASED};
  struct lb_history h = {0};
  const char *names[] = {"client-1", "client-2", "client-3"};
  for (int i = 0; i < 3; i++) lb_names_add(&h.clients, names[i]);
  lb_names_add(&h.keys, "lock-1");
  for (uint64_t round = 0; round < 1000; round++)
    for (uint64_t step = 0; step < 6; step++) {
      struct lb_event e = {.t = (round * 6 + step) * 1000000, .client = (uint32_t)(round % 3), .fact = LB_NO_NAME};
      e.kind = kinds[step];
      if (step == 2 || step == 3) e.flags = LB_EVF_VALUE, e.value = round + (step == 3);
      if (round == 500 && step == 4)
        e.t += 6 * 1000000 - 500000; /* client-3 lets go after client-1's grant and write */
      lb_history_add(&h, &e);
    }
  lb_history_sort(&h);
  tell(&h);
  lb_history_clear(&h);
  says("client-1  granted   <-- granted while client-3 holds\n");
  says("client-3 and client-1 held lock-1 at the same time for 2.500 ms");
  says(" events ...\n");
  says_not("client-2");
  assert_in_range(lines_with("\n"), 10, 30);
  assert_in_range(lines_with(" events ...\n"), 2, 3); /* neighbours, no lines picked here and there */
}

/* The successors of a stale holder: of hundreds of rounds only the neighbours of what went wrong. */
TEST(a_long_double_hold_is_told_in_stretches) {
  static const uint16_t kinds[] = {LB_EV_ACQUIRE, LB_EV_GRANTED, LB_EV_READ,
                                   LB_EV_WRITE,   LB_EV_RELEASE, LB_EV_RELEASED};
  struct lb_history h = {0};
  lb_names_add(&h.clients, "stale");
  lb_names_add(&h.clients, "other");
  lb_names_add(&h.keys, "x");
  lb_history_add(&h, &(struct lb_event){.t = 0, .kind = LB_EV_ACQUIRE, .fact = LB_NO_NAME});
  lb_history_add(&h, &(struct lb_event){.t = 1, .kind = LB_EV_GRANTED, .fact = LB_NO_NAME});
  for (uint64_t i = 0; i < 600; i++) {
    struct lb_event e = {.t = 2 + i, .client = 1, .fact = LB_NO_NAME, .kind = kinds[i % 6]};
    if (i % 6 == 2 || i % 6 == 3) e.flags = LB_EVF_VALUE, e.value = i / 6 + (i % 6 == 3);
    lb_history_add(&h, &e);
  }
  lb_history_add(
      &h, &(struct lb_event){.t = 602, .kind = LB_EV_WRITE, .fact = LB_NO_NAME, .flags = LB_EVF_VALUE, .value = 1});
  tell(&h);
  lb_history_clear(&h);
  says("stale  granted\n");
  says("<-- accepted although other was granted it since; value 1 after a larger one: other's update is lost\n");
  assert_in_range(lines_with(" events ...\n"), 1, 2);
  assert_in_range(lines_with("\n"), 10, 30);
}

TEST(only_the_latest_faults_before_it_are_told) {
  struct lb_history h = {0};
  lb_names_add(&h.clients, "a");
  lb_names_add(&h.clients, "b");
  lb_names_add(&h.keys, "x");
  char text[32];
  for (uint64_t i = 0; i < 70; i++) {
    snprintf(text, sizeof text, "fault number %d", (int)i);
    struct lb_fact fact = lb_no_fact;
    fact.what = lb_names_add(&h.texts, text);
    struct lb_event e = {.t = i, .client = LB_NO_NAME, .key = LB_NO_NAME, .fact = lb_history_facts_add(&h, &fact)};
    e.kind = LB_EV_FAULT;
    lb_history_add(&h, &e);
  }
  for (uint32_t i = 0; i < 2; i++)
    lb_history_add(&h, &(struct lb_event){.t = 100 + i, .client = i, .kind = LB_EV_GRANTED, .fact = LB_NO_NAME});
  tell(&h);
  lb_history_clear(&h);
  says("fault number 69");
  says("fault number 68");
  says_not("fault number 67");
  says("... 68 events ...");
  says("when the history ends.\n");
}

TEST(what_was_kept_of_a_history_is_said) {
  tell_text("{\"t\":0,\"c\":\"a\",\"k\":\"x\",\"e\":\"granted\"}\n{\"t\":1,\"c\":\"b\",\"k\":\"x\",\"e\":\"granted\"}\n"
            "{\"t\":9,\"e\":\"shortened\",\"kept\":2,\"total\":70000}\n");
  says("seen   the first 2 of 70000 events are kept\n");
  says_not("not damaged");
}

TEST(nothing_in_a_name_reaches_the_terminal_as_a_command) {
  tell_text(
      "{\"t\":1,\"c\":\"a\\u001b[2J\",\"k\":\"x\\n\",\"e\":\"granted\"}\n"
      "{\"t\":2,\"c\":\"b\",\"k\":\"x\\n\",\"e\":\"granted\"}\n{\"t\":3,\"e\":\"fault\",\"what\":\"\\u001b[1m\"}\n");
  assert_null(strchr(told, '\033'));
  says("granted while a?[2J holds");
}

/* ---- what the history does not say of itself --------------------------------------------------------------------- */

#define LINE(t, c, e, more) "{\"t\":" #t "000000,\"c\":\"" c "\",\"k\":\"lock-1\",\"e\":\"" e "\"" more "}\n"

#define FORMAT_2 "{\"format\":2}\n"

TEST(a_stuck_story_ends_with_since_when) {
  static const char stuck[] = LINE(10, "client-1", "granted", ",\"until\":110000000")
      LINE(20, "client-1", "release", "") LINE(30, "client-2", "acquire", "") LINE(530, "client-2", "timeout", "");
  about.ttl_ns = 100 * 1000000;
  tell_text(stuck);
  says_not("Stuck");
  about.stuck = true;
  tell_text(stuck);
  says(
      "\nStuck since +100.0 ms: from then on nobody had a right to lock-1, and client-2 asked for it and was not granted, to the end of its 500.0 ms.\n");
  about.delayed = true;
  tell_text(FORMAT_2 LINE(10, "client-1", "granted", ",\"until\":110000000") LINE(20, "client-1", "release", "") LINE(
      30, "client-2", "acquire", "")
                LINE(530, "client-2", "timeout", "") "{\"t\":540000000,\"e\":\"phase\",\"phase\":\"closing\"}\n" LINE(
                    541, "client-2", "acquire", "") LINE(610, "client-2", "granted", ""));
  says(
      "\nDelayed since +100.0 ms: from then on nobody had a right to lock-1, and client-2 asked for it and was not granted, to the end of its 500.0 ms.\n"
      "Then client-2 was granted it, at +600.0 ms.\n");
  about.delayed = false;
  tell_text(LINE(10, "client-1", "granted", "") LINE(30, "client-2", "acquire", "")
                LINE(530, "client-2", "timeout", ""));
  says("\nStuck since +20.0 ms: lock-1 was asked for and granted to nobody for 500.0 ms; client-1 still had it.\n");
  about = (struct lb_explain_about){0};
}

/* Who asked last, and heard nothing, may have been granted it; who let go of it before has nothing to do with it. */
TEST(a_stuck_story_tells_of_the_attempt_without_an_answer) {
  static const char begin[] = FORMAT_2 LINE(10, "client-1", "granted", "") LINE(20, "client-1", "release", "")
      LINE(21, "client-1", "released", "") LINE(30, "client-1", "acquire", "");
  static const char seen[] = "{\"t\":50000000,\"e\":\"observed\",\"host\":\"redis-1\",\"present\":true}\n";
  static const char end[] =
      LINE(80, "client-1", "unknown", "") LINE(90, "client-2", "acquire", "") LINE(530, "client-2", "busy", "");
  char text[2000];
  about.stuck = true;
  snprintf(text, sizeof text, "%s%s%s", begin, seen, end);
  tell_text(text);
  says(
      "granted to nobody for 500.0 ms; no answer came to what client-1 asked at +20.0 ms, and the key was seen at +40.0 ms.\n");
  snprintf(text, sizeof text, "%s%s", begin, end);
  tell_text(text);
  says("; no answer came to what client-1 asked at +20.0 ms.\n");
  snprintf(text, sizeof text, "%s%s", begin, LINE(40, "client-1", "busy", "") LINE(530, "client-2", "acquire", ""));
  tell_text(text);
  says("; client-1, which had it last, had let go of it.\n");
  about = (struct lb_explain_about){0};
}

/* Client 2 was busy for a while, which held nobody up: client 3 is the one that did not get as far as to ask. */
TEST(a_stuck_story_tells_of_a_client_without_a_session) {
  static const char begin[] = FORMAT_2 LINE(10, "client-1", "granted", "") LINE(20, "client-2", "acquire", "")
      LINE(30, "client-2", "busy", "") LINE(40, "client-1", "release", "") LINE(41, "client-1", "released", "");
  static const char not_met[] =
      "{\"t\":540000000,\"e\":\"not-met\",\"step\":9,\"what\":\"await client 3 has written\"}\n";
  static const char error[] = "{\"t\":550000000,\"c\":\"client-3\",\"e\":\"error\",\"why\":\"open\"}\n";
  char text[2000];
  about.delayed = about.stuck = true;
  snprintf(text, sizeof text, "%s%s%s", begin, not_met, error);
  tell_text(text);
  says("\nDelayed at +530.0 ms: client-3 had not asked, as its session could not be opened.\n");
  says_not("had it");
  snprintf(text, sizeof text, "%s%s%s%s", begin, LINE(500, "client-3", "acquire", ""), not_met, error);
  tell_text(text);
  says_not("session");
  about = (struct lb_explain_about){0};
}

STATES(columns_of_two_digits_stand_apart,
       tell_text(LINE(10, "client-1", "granted", "") LINE(20, "client-16", "granted", "")),
       says("                   1 16   a bar:"), says("+ 10.000000 ms   |  |  client-16  granted"));

GROUP(NULL, forget);
