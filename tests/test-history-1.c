/* SPDX-License-Identifier: MIT
 *
 * Histories of format 1, which had facts as sentences: both forms are read, and each sentence that a release wrote becomes the fact
 * it was.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "history/history.h"
#include "history/say.h"

static char err[700];

static char *text_of(const struct lb_history *h, void (*write_it)(const struct lb_history *, FILE *)) {
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  assert_non_null(out);
  write_it(h, out);
  fclose(out);
  return text;
}

static void write_json(const struct lb_history *h, FILE *out) { assert_int_equal(lb_history_write_json(h, out), 0); }

static void say_last(const struct lb_history *h, FILE *out) { lb_event_say(h, &h->events[h->count - 1], out); }

static void parse(const void *data, size_t size, struct lb_history *ret) {
  if (lb_history_parse("FILE", data, size, ret, err, sizeof err) < 0) fail_msg("%s", err);
}

/* ---- sentences ---------------------------------------------------------------------------------------------------- */

/* What comes first in each history: two clients, and a fault. */
#define BEFORE                                                \
  "{\"t\":1,\"c\":\"client-1\",\"k\":\"x\",\"e\":\"acquire\"}\n" \
  "{\"t\":2,\"c\":\"client-2\",\"k\":\"x\",\"e\":\"acquire\"}\n" \
  "{\"t\":3,\"e\":\"fault\",\"what\":\"pause client 1\"}\n"

static const struct {
  const char *said, *fact;
} sentences[] = {
    {"proved: pause client 1", "\"e\":\"proved\",\"what\":\"pause client 1\",\"step\":1"},
    {"over: pause client 1", "\"e\":\"over\",\"what\":\"pause client 1\",\"step\":1"},
    {"proved: kill primary", "\"e\":\"proved\",\"what\":\"kill primary\""},
    {"not done: pause client 1: nobody held the lock: yet",
     "\"e\":\"not-done\",\"what\":\"pause client 1\",\"why\":\"nobody held the lock: yet\""},
    {"not proved: pause client 1: it is gone", "\"e\":\"not-proved\",\"what\":\"pause client 1\",\"step\":1,\"why\":\"it is gone\""},
    {"phase measure", "\"e\":\"phase\",\"phase\":\"measure\""},
    {"phase end", "\"e\":\"phase\",\"phase\":\"end\""},
    {"client 2 acquire within 3s: granted", "\"c\":\"client-2\",\"e\":\"reply\",\"what\":\"client 2 acquire within 3s\",\"answer\":\"granted\""},
    {"client 1 acquire within 3s: refused in time",
     "\"c\":\"client-1\",\"e\":\"reply\",\"what\":\"client 1 acquire within 3s\",\"answer\":\"refused\""},
    {"client 1 begin acquire within 3s: no answer from the service in time",
     "\"c\":\"client-1\",\"e\":\"reply\",\"what\":\"client 1 begin acquire within 3s\",\"answer\":\"no-answer\""},
    {"client 1 read: done", "\"c\":\"client-1\",\"e\":\"reply\",\"what\":\"client 1 read\",\"answer\":\"done\""},
    {"client 1 write: not holding", "\"c\":\"client-1\",\"e\":\"reply\",\"what\":\"client 1 write\",\"answer\":\"not-holding\""},
    {"client 1 release within 1s: not in time",
     "\"c\":\"client-1\",\"e\":\"reply\",\"what\":\"client 1 release within 1s\",\"answer\":\"not-in-time\""},
    {"client 1 release within 1s: lost", "\"c\":\"client-1\",\"e\":\"reply\",\"what\":\"client 1 release within 1s\",\"answer\":\"lost\""},
    {"client 9 release within 1s: unknown", "\"e\":\"reply\",\"what\":\"client 9 release within 1s\",\"answer\":\"unknown\""},
    {"client 1 read: it holds a lock already",
     "\"c\":\"client-1\",\"e\":\"reply\",\"what\":\"client 1 read\",\"answer\":\"failed\",\"why\":\"it holds a lock already\""},
    {"await client 1 holds within 3s: it does", "\"e\":\"met\",\"what\":\"await client 1 holds within 3s\""},
    {"key absent at redis-1", "\"e\":\"observed\",\"host\":\"redis-1\",\"present\":false"},
    {"key present on current primary", "\"e\":\"observed\",\"role\":\"current primary\",\"present\":true"},
    {"primary is postgres-2", "\"e\":\"role\",\"role\":\"primary\",\"host\":\"postgres-2\""},
    {"failover: redis-2 decides", "\"e\":\"failover\",\"host\":\"redis-2\""},
    {"redis-1 says it is -31.004 s off", "\"e\":\"clock\",\"host\":\"redis-1\",\"clock\":\"wall\",\"ms\":-31004"},
    {"redis-1 says it is -0.250 s off", "\"e\":\"clock\",\"host\":\"redis-1\",\"clock\":\"wall\",\"ms\":-250"},
    {"client-1 says its monotonic clock jumped by +1.250 s",
     "\"e\":\"clock\",\"host\":\"client-1\",\"clock\":\"monotonic\",\"ms\":1250"},
    {"redis-1 gained +8 ms in 400 ms", "\"e\":\"clock\",\"host\":\"redis-1\",\"clock\":\"rate\",\"ms\":8,\"in_ms\":400"},
    {"last error of client-2: release: refused", "\"c\":\"client-2\",\"e\":\"error\",\"why\":\"release: refused\""},
    {"last error of the observer: inspect: no", "\"e\":\"error\",\"why\":\"inspect: no\""},
    {"the first 50000 of 60004 events are kept", "\"e\":\"shortened\",\"kept\":50000,\"total\":60004"},
};

/* The JSON of the last line without its time. */
static void assert_last(const struct lb_history *h, const char *fact, const char *of) {
  char line[700], expected[700];
  snprintf(expected, sizeof expected, "{\"t\":9,%s}", fact);
  lb_event_format_json(h, &h->events[h->count - 1], line, sizeof line);
  if (strcmp(line, expected) != 0) fail_msg("%s: expected %s\n got %s", of, expected, line);
}

static void read_sentence(const char *said, struct lb_history *ret) {
  char text[1000];
  size_t size = (size_t)snprintf(text, sizeof text, BEFORE "{\"t\":9,\"e\":\"note\",\"what\":\"%s\"}\n", said);
  parse(text, size, ret);
}

static void each_sentence_is_the_fact_it_was(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++) {
    struct lb_history h;
    read_sentence(sentences[i].said, &h);
    assert_last(&h, sentences[i].fact, sentences[i].said);
    assert_int_equal(h.clients.count, 2);
    lb_history_clear(&h);
  }
}

static void each_of_them_is_said_as_it_was(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++) {
    struct lb_history h;
    read_sentence(sentences[i].said, &h);
    char *text = text_of(&h, say_last);
    assert_string_equal(text, sentences[i].said);
    free(text);
    lb_history_clear(&h);
  }
}

static void any_other_note_stays_one(void **state) {
  (void)state;
  static const char *const notes[] = {"",
                                      "proved",
                                      "not done: kill primary",
                                      "phase",
                                      "phase measured",
                                      "phase end ",
                                      "client one read: done",
                                      "client 1: done",
                                      "client 1 read",
                                      "client 1234567890 read: done",
                                      "await client 1 holds within 3s",
                                      "key absent",
                                      "key absent on ",
                                      "key absent at ",
                                      "key absent at a b",
                                      "key gone on primary",
                                      "primary is",
                                      "primary is redis-1 now",
                                      "failover: redis-1",
                                      "failover:  decides",
                                      " says it is +1.000 s off",
                                      "a says it is 1.000 s off",
                                      "a says it is +1.00 s off",
                                      "a says it is +1.0000 s off",
                                      "a says it is +9999999999999999999.000 s off",
                                      "a says it is +1.000 s of",
                                      "a gained much",
                                      "a gained +8 ms in 0 ms",
                                      "a gained +8 ms in 99999999999999999999 ms",
                                      "last error of client-3: x",
                                      "last error of client-1",
                                      "the first 5 events are kept",
                                      "the first -5 of 6 events are kept",
                                      "the first 5 of 6 events are kept!",
                                      "the first 99999999999999999999 of 6 events are kept"};
  for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
    struct lb_history h;
    char fact[200];
    read_sentence(notes[i], &h);
    snprintf(fact, sizeof fact, "\"e\":\"note\",\"what\":\"%s\"", notes[i]);
    assert_last(&h, fact, notes[i]);
    lb_history_clear(&h);
  }
}

static void a_note_of_format_2_is_never_taken_for_more(void **state) {
  (void)state;
  struct lb_history h;
  static const char text[] = "{\"format\":2}\n{\"t\":1,\"e\":\"note\",\"what\":\"phase measure\"}\n";
  parse(text, strlen(text), &h);
  assert_int_equal(h.events[0].kind, LB_EV_NOTE);
  lb_history_clear(&h);
}

/* ---- faults ------------------------------------------------------------------------------------------------------- */

static void faults_are_numbered_and_tied_to_their_proofs(void **state) {
  (void)state;
  struct lb_history h;
  static const char text[] = "{\"t\":1,\"e\":\"fault\",\"what\":\"cut primary from node 2\"}\n"
                             "{\"t\":2,\"e\":\"note\",\"what\":\"proved: cut primary from node 2\"}\n"
                             "{\"t\":3,\"e\":\"fault\",\"what\":\"kill current primary\"}\n"
                             "{\"t\":4,\"e\":\"fault\",\"what\":\"cut primary from node 2\"}\n"
                             "{\"t\":5,\"e\":\"note\",\"what\":\"over: kill current primary\"}\n"
                             "{\"t\":6,\"e\":\"note\",\"what\":\"proved: cut primary from node 2\"}\n"
                             "{\"t\":7,\"e\":\"fault\",\"what\":\"heal\"}\n"
                             "{\"t\":8,\"e\":\"fault\",\"what\":\"power cut from hell\"}\n"
                             "{\"t\":9,\"e\":\"fault\",\"what\":\"cut  from \"}\n"
                             "{\"t\":10,\"e\":\"fault\",\"what\":\"clock primary +31s\"}\n";
  parse(text, strlen(text), &h);
  char *json = text_of(&h, write_json);
  assert_string_equal(
      json,
      "{\"format\":2}\n"
      "{\"t\":1,\"e\":\"fault\",\"what\":\"cut primary from node 2\",\"step\":1,\"verb\":\"cut\",\"role\":\"primary\",\"from\":\"node 2\"}\n"
      "{\"t\":2,\"e\":\"proved\",\"what\":\"cut primary from node 2\",\"step\":1}\n"
      "{\"t\":3,\"e\":\"fault\",\"what\":\"kill current primary\",\"step\":2,\"verb\":\"kill\",\"role\":\"current primary\"}\n"
      "{\"t\":4,\"e\":\"fault\",\"what\":\"cut primary from node 2\",\"step\":3,\"verb\":\"cut\",\"role\":\"primary\",\"from\":\"node 2\"}\n"
      "{\"t\":5,\"e\":\"over\",\"what\":\"kill current primary\",\"step\":2}\n"
      "{\"t\":6,\"e\":\"proved\",\"what\":\"cut primary from node 2\",\"step\":3}\n"
      "{\"t\":7,\"e\":\"fault\",\"what\":\"heal\",\"step\":4,\"verb\":\"heal\"}\n"
      "{\"t\":8,\"e\":\"fault\",\"what\":\"power cut from hell\",\"step\":5}\n"
      "{\"t\":9,\"e\":\"fault\",\"what\":\"cut  from \",\"step\":6,\"verb\":\"cut\"}\n"
      "{\"t\":10,\"e\":\"fault\",\"what\":\"clock primary +31s\",\"step\":7,\"verb\":\"clock\"}\n");
  free(json);
  lb_history_clear(&h);
}

/* ---- the binary form ---------------------------------------------------------------------------------------------- */

enum { HEADER = 48, NAMES_SIZE = 30, BODY = HEADER + NAMES_SIZE, EVENTS = 2 };
static char binary[BODY + EVENTS * sizeof(struct lb_event)];

static void put64(size_t at, uint64_t value) { memcpy(binary + at, &value, sizeof value); }

/* As the releases of format 1 wrote it: what is `fact` today was the index of a text. */
static void make_binary(void) {
  const struct lb_event events[EVENTS] = {
      {.t = 5, .client = 0, .key = 0, .fact = LB_NO_NAME, .kind = LB_EV_GRANTED, .flags = LB_EVF_UNTIL, .until = 9},
      {.t = 6, .client = LB_NO_NAME, .key = LB_NO_NAME, .fact = 0, .kind = LB_EV_NOTE},
  };
  memcpy(binary, "LBHIST1\n", 8);
  put64(8, 1), put64(16, 1), put64(24, 1); /* clients, keys, texts */
  put64(32, EVENTS), put64(40, NAMES_SIZE);
  memcpy(binary + HEADER, "client-1\0lock-1\0phase measure", NAMES_SIZE);
  memcpy(binary + BODY, events, sizeof events);
}

static void the_binary_form_is_read(void **state) {
  (void)state;
  struct lb_history h;
  make_binary();
  parse(binary, sizeof binary, &h);
  char *json = text_of(&h, write_json);
  assert_string_equal(json, "{\"format\":2}\n"
                            "{\"t\":5,\"c\":\"client-1\",\"k\":\"lock-1\",\"e\":\"granted\",\"until\":9}\n"
                            "{\"t\":6,\"e\":\"phase\",\"phase\":\"measure\"}\n");
  free(json);
  lb_history_clear(&h);
}

static void assert_refused(size_t size, const char *message) {
  struct lb_history h;
  assert_int_equal(lb_history_parse("FILE", binary, size, &h, err, sizeof err), -EINVAL);
  if (strncmp(err, message, strlen(message)) != 0) fail_msg("expected: %s\n     got: %s", message, err);
}

static void a_damaged_binary_file_is_refused_with_the_place(void **state) {
  (void)state;
  make_binary();
  assert_refused(47, "FILE: byte 47: found the end of the file, expected a header of 48 bytes");
  assert_refused(sizeof binary - 1, "FILE: byte 32: found a count of 2 events, expected it to fill the 111 bytes after the names (56 each)");
#define DAMAGED(message, at, value) (make_binary(), binary[at] = (char)(value), assert_refused(sizeof binary, message))
  DAMAGED("FILE: byte 78: event 1: found kind 15 with flags 0x2, expected a kind from 1 to 14", BODY + 52, LB_EV_PHASE);
  DAMAGED("FILE: byte 78: event 1: found kind 2 with flags 0x10, expected a kind from 1 to 14 and flags within 0xf", BODY + 54, LB_EVF_DUE);
  DAMAGED("FILE: byte 134: event 2: found name 7 in \"what\", expected one of 1", BODY + 56 + 48, 7);
  DAMAGED("FILE: byte 134: event 2: found kind 0", BODY + 56 + 52, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_sentence_is_the_fact_it_was),
      cmocka_unit_test(each_of_them_is_said_as_it_was),
      cmocka_unit_test(any_other_note_stays_one),
      cmocka_unit_test(a_note_of_format_2_is_never_taken_for_more),
      cmocka_unit_test(faults_are_numbered_and_tied_to_their_proofs),
      cmocka_unit_test(the_binary_form_is_read),
      cmocka_unit_test(a_damaged_binary_file_is_refused_with_the_place),
  };
  return cmocka_run_group_tests_name("history-1", tests, NULL, NULL);
}
