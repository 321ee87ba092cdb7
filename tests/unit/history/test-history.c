/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * Histories: both file forms in and out, the order of events, and that whatever is not exactly a history is refused
 * with the place, what was found and what was expected.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "history/history_load.h"
#include "test.h"
#include "skip.h"
#include "lines.h"
#include "history/history.h"
#include "base/rng.h"

static struct lb_error err;

static struct lb_history h; /* the last that was parsed */

static int clear(void **state) {
  (void)state;
  lb_history_clear(&h);
  return 0;
}
EACH(NULL, clear);

static void parse(const char *text) {
  lb_history_clear(&h);
  if (parse_lines("FILE", text, &h, &err) < 0) fail_msg("%s", err.text);
}

static void assert_refused(const void *data, size_t size, const char *message) {
  struct lb_history none;
  err.text[0] = '\0';
  assert_int_equal(lb_history_parse("FILE", data, size, &none, &err), -EINVAL);
  if (strncmp(err.text, message, strlen(message)) != 0) fail_msg("expected: %s\n     got: %s", message, err.text);
  assert_int_equal(none.count, 0);
  assert_null(none.events);
}

/* Both with ' for ". */
static void assert_quoted_refused(const char *text, const char *message) {
  char copy[2][400];
  snprintf(copy[0], sizeof *copy, "%s", text);
  snprintf(copy[1], sizeof *copy, "%s", message);
  for (size_t i = 0; i < 2; i++)
    for (char *c = copy[i]; *c; c++) *c = *c == '\'' ? '"' : *c;
  assert_refused(copy[0], strlen(copy[0]), copy[1]);
}

static char *written(const struct lb_history *from, int (*write_form)(const struct lb_history *, FILE *),
                     size_t *ret_size) {
  char *data = NULL;
  FILE *out = open_memstream(&data, ret_size);
  assert_non_null(out);
  assert_int_equal(write_form(from, out), 0);
  fclose(out);
  return data;
}

static void assert_same_histories(const struct lb_history *a, const struct lb_history *b) {
  char x[500], y[500];
  assert_int_equal(a->count, b->count);
  for (size_t i = 0; i < a->count; i++) {
    lb_event_format_json(a, &a->events[i], x, sizeof x);
    lb_event_format_json(b, &b->events[i], y, sizeof y);
    assert_string_equal(x, y);
  }
}

/* ---- JSON lines -------------------------------------------------------------------------------------------------- */

TEST(a_line_carries_every_member) {
  parse("{\"t\":1200,\"s\":7,\"c\":\"client-1\",\"k\":\"lock-a\",\"e\":\"granted\",\"fence\":33,\"until\":9000}\n"
        "{\"t\":1300,\"c\":\"client-1\",\"k\":\"lock-a\",\"e\":\"write\",\"value\":5,\"fence\":33,\"ok\":false}\n"
        "{\"t\":1400,\"e\":\"fault\",\"what\":\"kill primary\"}");
  assert_int_equal(h.count, 3);
  const struct lb_event *e = h.events;
  assert_int_equal(e[0].t, 1200);
  assert_int_equal(e[0].s, 7);
  assert_int_equal(e[0].kind, LB_EV_GRANTED);
  assert_int_equal(e[0].flags, LB_EVF_FENCE | LB_EVF_UNTIL);
  assert_int_equal(e[0].fence, 33);
  assert_int_equal(e[0].until, 9000);
  assert_string_equal(h.clients.name[e[0].client], "client-1");
  assert_string_equal(h.keys.name[e[0].key], "lock-a");
  assert_int_equal(e[0].fact, LB_NO_NAME);
  assert_int_equal(e[1].flags, LB_EVF_FENCE | LB_EVF_VALUE | LB_EVF_REFUSED);
  assert_int_equal(e[1].value, 5);
  assert_int_equal(e[2].client, LB_NO_NAME);
  assert_int_equal(e[2].key, LB_NO_NAME);
  assert_string_equal(h.texts.name[lb_event_fact(&h, &e[2])->what], "kill primary");
}

/* As others write it, and as it is written again. */
TEST(a_shared_hold_may_be_said_in_two_ways_and_an_exclusive_one_not_at_all) {
  static const char *const as_written[] = {"\"shared\":true", "\"mode\":\"shared\"", "\"shared\":false",
                                           "\"mode\":\"exclusive\""};
  for (size_t i = 0; i < 4; i++) {
    char text[200], line[200];
    snprintf(text, sizeof text, "{\"format\":2}\n{\"t\":1,\"c\":\"a\",\"k\":\"x\",\"e\":\"granted\",%s}",
             as_written[i]);
    parse(text);
    assert_int_equal(h.events[0].flags, i < 2 ? LB_EVF_SHARED : 0);
    lb_event_format_json(&h, &h.events[0], line, sizeof line);
    assert_int_equal(strstr(line, "\"shared\":true") != NULL, i < 2);
  }
}

TEST(the_last_permits_of_a_key_count) {
  parse(
      "{\"format\":2}\n{\"t\":1,\"e\":\"permits\",\"k\":\"x\",\"total\":2}\n{\"t\":2,\"e\":\"permits\",\"k\":\"x\",\"total\":3}\n"
      "{\"t\":3,\"e\":\"permits\",\"total\":4}\n{\"t\":4,\"c\":\"a\",\"k\":\"y\",\"e\":\"granted\"}");
  assert_int_equal(lb_history_permits(&h, 0), 3);
  assert_int_equal(lb_history_permits(&h, 1), 4);
  parse("{\"t\":4,\"c\":\"a\",\"k\":\"y\",\"e\":\"granted\"}");
  assert_int_equal(lb_history_permits(&h, 0), 1);
}

TEST(times_are_exact_to_the_last_bit) {
  parse(
      "{\"t\":9223372036854775807,\"e\":\"note\",\"what\":\"\"}\n{\"t\":9007199254740993,\"e\":\"note\",\"what\":\"\"}\n");
  assert_true(h.events[0].t == UINT64_C(9007199254740993));
  assert_true(h.events[1].t == INT64_MAX);
  char line[100];
  lb_event_format_json(&h, &h.events[1], line, sizeof line);
  assert_string_equal(line, "{\"t\":9223372036854775807,\"e\":\"note\",\"what\":\"\"}");
}

TEST(formatting_into_a_short_buffer_tells_the_length_needed) {
  char line[10];
  parse("{\"t\":1,\"e\":\"note\",\"what\":\"abc\"}");
  assert_int_equal(lb_event_format_json(&h, &h.events[0], line, sizeof line), 31);
  assert_string_equal(line, "{\"t\":1,\"e");
}

#define TWO "{\"format\":2}\n"
TEST(malformed_lines_are_refused_with_what_was_found_and_expected) {
#define GOOD "{\"t\":1,\"c\":\"a\",\"k\":\"x\",\"e\":\"granted\"}\n"
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"", "FILE:1: found no events, expected at least one"},
      {"\n", "FILE:1: found an empty line, expected an event"},
      {TWO GOOD "\n" GOOD, "FILE:3: found an empty line, expected an event"},
      {TWO GOOD "\n", "FILE:3: found an empty line"},
      {TWO GOOD "{'t':1", "FILE:3: found broken JSON at column 6 ("},
      {TWO GOOD "hello", "FILE:3: found broken JSON at column 5 ("},
      {TWO GOOD "[]", "FILE:3: found an array, expected one JSON object"},
      {TWO GOOD "17", "FILE:3: found an integer, expected one JSON object"},
      {TWO GOOD "{} {}", "FILE:3: found broken JSON"},
      {TWO "{'e':'note','what':''}", "FILE:2: found no 't', expected one on a 'note' event"},
      {TWO "{'t':1}", "FILE:2: found no 'e', expected the name of an event"},
      {TWO "{'t':1,'k':'x','e':'busy'}", "FILE:2: found no 'c', expected one on a 'busy' event"},
      {TWO "{'t':1,'c':'a','e':'granted'}", "FILE:2: found no 'k', expected one on a 'granted' event"},
      {TWO "{'t':1,'c':'a','k':'x','e':'read'}", "FILE:2: found no 'value', expected one on a 'read' event"},
      {TWO "{'t':1,'c':'a','k':'x','e':'write','ok':false}",
       "FILE:2: found no 'value', expected one on a 'write' event"},
      {TWO "{'t':1,'e':'fault'}", "FILE:2: found no 'what', expected one on a 'fault' event"},
      {TWO "{'t':1,'e':'crash'}", "FILE:2: found no 'c', expected one on a 'crash' event"},
      {TWO "{'t':-1,'e':'note','what':''}", "FILE:2: found -1 in 't', expected an integer of at least 0"},
      {TWO "{'t':1.5,'e':'note','what':''}",
       "FILE:2: found a number with a fraction or an exponent in 't', expected an integer"},
      {TWO "{'t':1e3,'e':'note','what':''}",
       "FILE:2: found a number with a fraction or an exponent in 't', expected an integer"},
      {TWO "{'t':'1','e':'note','what':''}", "FILE:2: found a string in 't', expected an integer"},
      {TWO "{'t':9223372036854775808,'e':'note','what':''}", "FILE:2: found a number at column "},
      {TWO "{'t':1,'s':null,'e':'note','what':''}", "FILE:2: found null in 's', expected an integer"},
      {TWO "{'t':1,'c':7,'k':'x','e':'busy'}", "FILE:2: found an integer in 'c', expected a string"},
      {TWO "{'t':1,'c':'','k':'x','e':'busy'}", "FILE:2: found an empty string in 'c', expected a name"},
      {TWO "{'t':1,'c':'a','k':'x','e':7}", "FILE:2: found an integer in 'e', expected the name of an event"},
      {TWO "{'t':1,'c':'a','k':'x','e':'grnted'}",
       "FILE:2: found unknown event 'grnted' (did you mean 'granted'?), expected one of: acquire granted busy"},
      {TWO "{'t':1,'c':'a','k':'x','e':'granted','fnce':1}",
       "FILE:2: found unknown member 'fnce' (did you mean 'fence'?), expected one of: t s c k e fence until value ok what"},
      {TWO "{'t':1,'c':'a','k':'x','e':'granted','colour':1}",
       "FILE:2: found unknown member 'colour', expected one of: t s c"},
      {TWO "{'t':1,'c':'a','k':'x','e':'busy','fence':1}",
       "FILE:2: found 'fence' on a 'busy' event, expected only 't' 's' 'c' 'k' 'e'"},
      {TWO "{'t':1,'c':'a','k':'x','e':'granted','ok':true}", "FILE:2: found 'ok' on a 'granted' event, expected only"},
      {TWO "{'t':1,'c':'a','e':'fault','what':''}", "FILE:2: found 'c' on a 'fault' event, expected only"},
      {TWO "{'t':1,'c':'a','k':'x','e':'read','value':1,'ok':1}",
       "FILE:2: found an integer in 'ok', expected true or false"},
      {TWO "{'t':1,'t':2,'e':'note','what':''}", "FILE:2: found a member twice ("},
      {TWO "{'t':1,'e':'note','what':'\xff'}", "FILE:2: found a byte at column "},
      {TWO "{'t':1,'e':'note','what':'a\\u0000b'}", "FILE:2: found \\u0000 in a string, expected text without it"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) assert_quoted_refused(cases[i].text, cases[i].message);
  static const char zero[] = TWO GOOD "{\"t\":1,\0\"e\":\"note\",\"what\":\"\"}";
  assert_refused(zero, sizeof zero - 1, "FILE:3: found a zero byte at column 8, expected text");
}

TEST(malformed_lines_of_format_2_are_refused_too) {
  static const struct {
    const char *text, *message;
  } cases[] = {
      {TWO, "FILE:1: found no events, expected at least one"},
      {"{'format':3}\n", "FILE:1: found format 3, expected 2: it was written by another release"},
      {"{'format':1}\n", "FILE:1: found format 1, expected 2: it was written by another release"},
      {GOOD,
       "FILE:1: found no 'format', expected {'format':2} in the first line: files of format 1, which lack it, are no longer read"},
      {"{'format':0}\n", "FILE:1: found 0 in 'format', expected an integer of at least 1"},
      {"{'format':'2'}\n", "FILE:1: found a string in 'format', expected an integer"},
      {"{'format':2,'t':1}\n", "FILE:1: found more than 'format', expected {'format':2} alone in the first line"},
      {TWO GOOD TWO, "FILE:3: found unknown member 'format'"},
      {TWO "{'t':1,'c':'a','k':'x','e':'granted','permits':2}",
       "FILE:2: found unknown member 'permits', expected an event of its own: {'t':0,'e':'permits','total':2}"},
      {TWO "{'t':1,'e':'permits'}", "FILE:2: found no 'total', expected one on a 'permits' event"},
      {TWO "{'t':1,'e':'leases','ms':-1}", "FILE:2: found -1 in 'ms', expected a length from 1 on a 'leases' event"},
      {TWO "{'t':1,'e':'permits','total':0}", "FILE:2: found 0 in 'total', expected at least 1 on a 'permits' event"},
      {TWO "{'t':1,'c':'a','k':'x','e':'granted','mode':'read'}",
       "FILE:2: found unknown word in 'mode': 'read', expected one of: exclusive shared"},
      {TWO "{'t':1,'c':'a','k':'x','e':'granted','mode':1}",
       "FILE:2: found an integer in 'mode', expected 'shared' or 'exclusive'"},
      {TWO "{'t':1,'c':'a','k':'x','e':'granted','shared':1}",
       "FILE:2: found an integer in 'shared', expected true or false"},
      {TWO "{'t':1,'c':'a','k':'x','e':'release','shared':true}",
       "FILE:2: found 'shared' on a 'release' event, expected only"},
      {TWO "{'t':1,'c':'a','k':'x','e':'release','mode':'shared'}",
       "FILE:2: found 'shared' on a 'release' event, expected only"},
      {TWO "{'t':1,'c':'a','k':'x','e':'write','value':1,'early':true}",
       "FILE:2: found 'early' on a 'write' event, expected only"},
      {"{'format':2,'permits':2}\n", "FILE:1: found more than 'format', expected {'format':2} alone in the first line"},
      {TWO TWO,
       "FILE:2: found unknown member 'format', expected one of: t s c k e fence until value ok what due step verb"},
      {TWO "{'t':1,'e':'provd','what':'x'}", "FILE:2: found unknown event 'provd' (did you mean 'proved'?), expected"},
      {TWO "{'t':1,'e':'proved'}", "FILE:2: found no 'what', expected one on a 'proved' event"},
      {TWO "{'t':1,'e':'observed','role':'primary'}", "FILE:2: found no 'present', expected one on a 'observed' event"},
      {TWO "{'t':1,'e':'observed','role':'','present':true}",
       "FILE:2: found an empty string in 'role', expected a name"},
      {TWO "{'t':1,'e':'observed','present':1}", "FILE:2: found an integer in 'present', expected true or false"},
      {TWO "{'t':1,'e':'note','what':'x','step':1}",
       "FILE:2: found 'step' on a 'note' event, expected only 't' 's' 'e' 'what'"},
      {TWO "{'t':1,'e':'proved','what':'x','step':0}", "FILE:2: found 0 in 'step', expected an integer of at least 1"},
      {TWO "{'t':1,'e':'proved','what':'x','step':4294967296}",
       "FILE:2: found 4294967296 in 'step', expected an integer of at most 4294967295"},
      {TWO "{'t':1,'e':'phase','phase':'mesure'}",
       "FILE:2: found unknown word in 'phase': 'mesure' (did you mean 'measure'?), expected one of: measure end"},
      {TWO "{'t':1,'c':'a','k':'x','e':'check'}", "FILE:2: found no 'check', expected one on a 'check' event"},
      {TWO "{'t':1,'c':'a','k':'x','e':'check','check':'in doubt'}",
       "FILE:2: found unknown word in 'check': 'in doubt' (did you mean 'in-doubt'?), expected one of: passed lease-over"},
      {TWO "{'t':1,'c':'a','k':'x','e':'lost','check':'error'}", "FILE:2: found 'check' on a 'lost' event"},
      {TWO "{'t':1,'e':'phase','phase':1}", "FILE:2: found an integer in 'phase', expected a word"},
      {TWO "{'t':1,'e':'clock','host':'a','clock':'rate','ms':1,'in_ms':0}",
       "FILE:2: found 0 in 'in_ms', expected an integer of at least 1"},
      {TWO "{'t':5,'c':'a','k':'x','e':'acquire','due':6}", "FILE:2: found 6 in 'due', expected at most 't', 5"},
      {TWO "{'t':5,'c':'a','k':'x','e':'granted','due':5}", "FILE:2: found 'due' on a 'granted' event, expected only"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) assert_quoted_refused(cases[i].text, cases[i].message);
}

TEST(a_refusal_is_one_line_without_terminal_codes) {
  static const char text[] = TWO "{\"t\":1,\"\\u001b[2J\\n\":1}";
  assert_refused(text, sizeof text - 1, "FILE:2: found unknown member \"?[2J?\", expected one of");
}

TEST(a_line_above_a_mebibyte_is_refused) {
  size_t size = (1 << 20) + 1;
  char *text = malloc(size);
  memset(text, ' ', size);
  assert_refused(text, size, "FILE:1: found a line of more than 1 MiB, expected one event in at most that");
  free(text);
}

TEST(deep_nesting_is_refused) {
  char text[10000];
  memset(text, '[', sizeof text);
  assert_refused(text, sizeof text, "FILE:1: found broken JSON");
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

TEST(events_are_sorted_by_time_then_sequence_then_place) {
  parse("{\"t\":5,\"s\":2,\"e\":\"note\",\"what\":\"e\"}\n{\"t\":5,\"s\":1,\"e\":\"note\",\"what\":\"c\"}\n"
        "{\"t\":5,\"e\":\"note\",\"what\":\"b\"}\n{\"t\":5,\"s\":1,\"e\":\"note\",\"what\":\"d\"}\n"
        "{\"t\":1,\"s\":9,\"e\":\"note\",\"what\":\"a\"}\n");
  for (size_t i = 0; i < h.count; i++)
    assert_int_equal(h.texts.name[lb_event_fact(&h, &h.events[i])->what][0], "abcde"[i]);
}

TEST(sorting_is_stable_for_any_number_of_events) {
  struct lb_rng rng = lb_rng_fork(1, 0, 0);
  for (size_t n = 0; n < 130; n++) {
    struct lb_history own = {0};
    for (size_t i = 0; i < n; i++)
      lb_history_add(&own, &(struct lb_event){.t = lb_rng_below(&rng, 8), .s = lb_rng_below(&rng, 3), .value = i});
    lb_history_sort(&own);
    assert_int_equal(own.count, n);
    for (size_t i = 1; i < n; i++) {
      const struct lb_event *a = &own.events[i - 1], *b = &own.events[i];
      assert_true(a->t < b->t || (a->t == b->t && (a->s < b->s || (a->s == b->s && a->value < b->value))));
    }
    lb_history_clear(&own);
  }
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

TEST(names_are_numbered_in_order_of_first_use) {
  struct lb_names names = {0};
  char name[20];
  for (int round = 0; round < 2; round++)
    for (uint32_t i = 0; i < 1000; i++) {
      snprintf(name, sizeof name, "name-%u", i);
      assert_int_equal(lb_names_add(&names, name), i);
    }
  assert_int_equal(names.count, 1000);
  struct lb_history own = {.keys = names};
  lb_history_clear(&own);
}

TEST(bytes_that_are_not_utf8_become_question_marks) {
  struct lb_history own = {0};
  static const struct {
    const char *given, *kept;
  } cases[] = {
      {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\x92", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\x92"},
      {"cut \xe2\x82", "cut ??"},
      {"\xc0\xaf overlong \xe0\x80\xaf", "?? overlong ???"},
      {"surrogate \xed\xa0\x80", "surrogate ???"},
      {"beyond \xf4\x90\x80\x80 \xff", "beyond ???? ?"},
  };
  for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(lb_names_add(&own.texts, cases[i].given), i);
    assert_string_equal(own.texts.name[i], cases[i].kept);
    assert_int_equal(lb_names_add(&own.texts, cases[i].given), i);
    assert_int_equal(lb_names_add(&own.texts, cases[i].kept), i);
  }
  lb_history_clear(&own);
}

/* ---- both forms -------------------------------------------------------------------------------------------------- */

/* Every kind, with every member that it can have, and without those that it may lack. */
static const char sample[] = TWO
    "{\"t\":1,\"s\":1,\"c\":\"a\",\"k\":\"x\",\"e\":\"acquire\",\"due\":0}\n"
    "{\"t\":2,\"s\":2,\"c\":\"a\",\"k\":\"x\",\"e\":\"granted\",\"fence\":3,\"until\":9}\n"
    "{\"t\":3,\"c\":\"b \\\"q\\\" \\\\ \\u0007\",\"k\":\"y\xc3\xa9\",\"e\":\"read\",\"value\":0}\n"
    "{\"t\":4,\"c\":\"a\",\"k\":\"x\",\"e\":\"write\",\"value\":1,\"ok\":false}\n"
    "{\"t\":5,\"e\":\"fault\",\"what\":\"kill\\nnode 1\"}\n"
    "{\"t\":6,\"c\":\"a\",\"e\":\"crash\"}\n"
    "{\"t\":7,\"c\":\"a\",\"k\":\"x\",\"e\":\"crash\"}\n"
    "{\"t\":8,\"e\":\"note\",\"what\":\"\"}\n"
    "{\"t\":10,\"e\":\"fault\",\"what\":\"cut primary from replicas\",\"step\":4294967295,\"verb\":\"cut\",\"role\":\"primary\",\"from\":\"replicas\"}\n"
    "{\"t\":11,\"e\":\"proved\",\"what\":\"cut primary from replicas\",\"step\":4}\n"
    "{\"t\":12,\"e\":\"proved\",\"what\":\"\"}\n"
    "{\"t\":13,\"e\":\"over\",\"what\":\"cut primary from replicas\",\"step\":4}\n"
    "{\"t\":14,\"e\":\"not-done\",\"what\":\"kill holder\",\"step\":5,\"why\":\"nobody held it\"}\n"
    "{\"t\":15,\"e\":\"not-proved\",\"what\":\"kill holder\",\"step\":6,\"why\":\"\"}\n"
    "{\"t\":16,\"c\":\"a\",\"e\":\"reply\",\"what\":\"client 1 read\",\"step\":7,\"answer\":\"failed\",\"why\":\"refused\"}\n"
    "{\"t\":17,\"e\":\"reply\",\"what\":\"client 9 read\",\"answer\":\"not-holding\"}\n"
    "{\"t\":18,\"e\":\"met\",\"what\":\"await client 1 holds within 1s\",\"step\":8}\n"
    "{\"t\":19,\"e\":\"observed\",\"step\":9,\"host\":\"redis-1\",\"present\":true}\n"
    "{\"t\":20,\"e\":\"observed\",\"role\":\"current primary\",\"present\":false}\n"
    "{\"t\":21,\"e\":\"role\",\"role\":\"primary\",\"host\":\"redis-1\"}\n"
    "{\"t\":22,\"e\":\"failover\",\"host\":\"redis-2\"}\n"
    "{\"t\":23,\"e\":\"clock\",\"step\":10,\"host\":\"redis-2\",\"clock\":\"wall\",\"ms\":-31000}\n"
    "{\"t\":24,\"e\":\"clock\",\"host\":\"redis-2\",\"clock\":\"monotonic\",\"ms\":0}\n"
    "{\"t\":25,\"e\":\"clock\",\"host\":\"redis-2\",\"clock\":\"rate\",\"ms\":8,\"in_ms\":400}\n"
    "{\"t\":26,\"c\":\"a\",\"e\":\"error\",\"why\":\"cannot connect\"}\n"
    "{\"t\":27,\"e\":\"error\",\"why\":\"cannot connect\"}\n"
    "{\"t\":28,\"e\":\"phase\",\"phase\":\"measure\"}\n"
    "{\"t\":29,\"e\":\"phase\",\"phase\":\"end\"}\n"
    "{\"t\":30,\"e\":\"shortened\",\"kept\":0,\"total\":9223372036854775807}\n"
    "{\"t\":30,\"c\":\"a\",\"k\":\"x\",\"e\":\"server\",\"host\":\"redis-2\"}\n"
    "{\"t\":30,\"c\":\"a\",\"e\":\"server\",\"step\":3,\"role\":\"current primary\",\"host\":\"redis-2\",\"present\":true}\n"
    "{\"t\":30,\"c\":\"a\",\"e\":\"holds\",\"step\":4,\"present\":false,\"ms\":-20}\n"
    "{\"t\":30,\"e\":\"touched\",\"step\":5,\"verb\":\"cut\",\"from\":\"redis-4, redis-5\",\"host\":\"client-1\"}\n"
    "{\"t\":30,\"e\":\"unused\",\"what\":\"cut client 1 from all\",\"step\":5}\n"
    "{\"t\":30,\"e\":\"not-met\",\"what\":\"await client 2 holds within 3s\",\"step\":6}\n"
    "{\"t\":31,\"c\":\"client-1\",\"k\":\"k\",\"e\":\"voted\",\"host\":\"redis-1, redis-3\"}\n"
    "{\"t\":31,\"e\":\"trip\",\"step\":5,\"from\":\"zookeeper-1\",\"host\":\"zookeeper-3\",\"ms\":700}\n"
    "{\"t\":31,\"e\":\"trip\",\"from\":\"zookeeper-3\",\"host\":\"zookeeper-1\",\"ms\":0}\n"
    "{\"t\":31,\"e\":\"left\",\"step\":5,\"role\":\"node 1\",\"host\":\"zookeeper-1\",\"present\":true}\n"
    "{\"t\":31,\"e\":\"left\",\"host\":\"zookeeper-1\",\"present\":false}\n"
    "{\"t\":31,\"e\":\"unsynced\",\"step\":5,\"role\":\"primary\",\"host\":\"redis-1\",\"kept\":0,\"total\":385}\n"
    "{\"t\":31,\"e\":\"message\",\"step\":5,\"verb\":\"drop\",\"from\":\"redis-1:7001\",\"host\":\"client-1:40122\",\"kept\":2,\"total\":5}\n"
    "{\"t\":31,\"e\":\"carried\",\"step\":5,\"from\":\"redis-1\",\"host\":\"client-1\",\"kept\":0,\"total\":13}\n"
    "{\"t\":31,\"c\":\"a\",\"k\":\"x\",\"e\":\"seen\",\"value\":4294967310}\n"
    "{\"t\":31,\"c\":\"a\",\"k\":\"x\",\"e\":\"busy\"}\n"
    "{\"t\":31,\"s\":3,\"c\":\"a\",\"k\":\"x\",\"e\":\"check\",\"check\":\"passed\"}\n"
    "{\"t\":31,\"s\":4,\"c\":\"a\",\"k\":\"x\",\"e\":\"check\",\"check\":\"error\"}\n"
    "{\"t\":32,\"c\":\"a\",\"k\":\"x\",\"e\":\"timeout\"}\n"
    "{\"t\":33,\"c\":\"a\",\"k\":\"x\",\"e\":\"unknown\"}\n"
    "{\"t\":34,\"c\":\"a\",\"k\":\"x\",\"e\":\"release\"}\n"
    "{\"t\":35,\"c\":\"a\",\"k\":\"x\",\"e\":\"released\"}\n"
    "{\"t\":36,\"c\":\"a\",\"k\":\"x\",\"e\":\"lost\"}\n"
    "{\"t\":37,\"c\":\"a\",\"k\":\"x\",\"e\":\"renewed\",\"until\":90}\n"
    "{\"t\":38,\"c\":\"a\",\"k\":\"x\",\"e\":\"not-renewed\",\"check\":\"no-answer\"}\n"
    "{\"t\":38,\"c\":\"a\",\"k\":\"x\",\"e\":\"renew\"}\n"
    "{\"t\":38,\"c\":\"a\",\"k\":\"x\",\"e\":\"expired\"}\n"
    "{\"t\":38,\"c\":\"a\",\"k\":\"x\",\"e\":\"work-failed\"}\n"
    "{\"t\":38,\"c\":\"a\",\"e\":\"silent\",\"until\":90}\n"
    "{\"t\":38,\"c\":\"a\",\"e\":\"silent\"}\n"
    "{\"t\":39,\"e\":\"leases\"}\n"
    "{\"t\":39,\"e\":\"permits\",\"total\":1}\n"
    "{\"t\":39,\"k\":\"x\",\"e\":\"permits\",\"total\":9223372036854775807}\n"
    "{\"t\":39,\"c\":\"a\",\"k\":\"x\",\"e\":\"acquire\",\"due\":3,\"shared\":true}\n"
    "{\"t\":39,\"c\":\"a\",\"k\":\"x\",\"e\":\"granted\",\"fence\":3,\"shared\":true}\n"
    "{\"t\":39,\"c\":\"a\",\"k\":\"x\",\"e\":\"read\",\"value\":1,\"ok\":false,\"early\":true}\n";

TEST(json_lines_come_back_as_they_were) {
  size_t size;
  parse(sample);
  char *text = written(&h, lb_history_write_json, &size);
  assert_string_equal(text, sample);
  free(text);
}

TEST(the_binary_form_comes_back_as_it_was) {
  struct lb_history again;
  size_t size;
  parse(sample);
  char *data = written(&h, lb_history_write, &size);
  assert_memory_equal(data, "LBHIST2\n", 8);
  if (lb_history_parse("FILE", data, size, &again, &err) < 0) fail_msg("%s", err.text);
  assert_same_histories(&h, &again);
  free(data);
  lb_history_clear(&again);
}

/* The sample has them all, so that none is forgotten. */
TEST(the_sample_has_every_kind) {
  parse(sample);
  for (unsigned kind = 1; lb_event_kind_name(kind); kind++) {
    bool found = false;
    for (size_t i = 0; i < h.count; i++) found |= h.events[i].kind == kind;
    if (!found) fail_msg("%s", lb_event_kind_name(kind));
  }
}

TEST(a_fact_has_its_fields) {
  parse(
      TWO
      "{\"t\":1,\"e\":\"fault\",\"what\":\"cut primary from replicas\",\"step\":4,\"verb\":\"cut\",\"role\":\"primary\",\"from\":\"replicas\"}\n"
      "{\"t\":2,\"e\":\"observed\",\"host\":\"redis-1\",\"present\":true}\n"
      "{\"t\":3,\"c\":\"a\",\"e\":\"reply\",\"what\":\"client 1 read\",\"answer\":\"not-in-time\"}\n"
      "{\"t\":9,\"c\":\"a\",\"k\":\"x\",\"e\":\"acquire\",\"due\":4}\n");
  const struct lb_fact *cut = lb_event_fact(&h, &h.events[0]), *seen = lb_event_fact(&h, &h.events[1]);
  assert_int_equal(cut->step, 4);
  assert_string_equal(h.texts.name[cut->verb], "cut");
  assert_string_equal(h.texts.name[cut->role], "primary");
  assert_string_equal(h.texts.name[cut->from], "replicas");
  assert_int_equal(cut->host, LB_NO_NAME);
  assert_int_equal(seen->present, 1);
  assert_string_equal(h.texts.name[seen->host], "redis-1");
  assert_int_equal(seen->role, LB_NO_NAME);
  assert_int_equal(lb_event_fact(&h, &h.events[2])->answer, LB_ANSWER_NOT_IN_TIME);
  assert_int_equal(h.events[2].client, 0);
  assert_true(lb_event_is_fact(&h.events[2]));
  assert_false(lb_event_is_fact(&h.events[3]));
  assert_int_equal(h.events[3].flags, LB_EVF_DUE);
  assert_int_equal(h.events[3].due, 4);
  assert_ptr_equal(lb_event_fact(&h, &h.events[3]), &lb_no_fact);
}

TEST(a_hold_for_ever_has_no_until_in_json) {
  struct lb_history own = {0};
  char line[200];
  struct lb_event e = {.t = 1, .until = UINT64_MAX, .fact = LB_NO_NAME, .kind = LB_EV_GRANTED, .flags = LB_EVF_UNTIL};
  e.client = lb_names_add(&own.clients, "a");
  e.key = lb_names_add(&own.keys, "x");
  lb_history_add(&own, &e);
  lb_event_format_json(&own, &own.events[0], line, sizeof line);
  assert_string_equal(line, "{\"t\":1,\"c\":\"a\",\"k\":\"x\",\"e\":\"granted\"}");
  lb_history_clear(&own);
}

TEST(a_renewal_goes_through_both_forms) {
  struct lb_history again;
  size_t size;
  static const char text[] = TWO "{\"t\":5,\"s\":2,\"c\":\"a\",\"k\":\"x\",\"e\":\"renewed\",\"until\":90}\n"
                                 "{\"t\":6,\"c\":\"a\",\"k\":\"x\",\"e\":\"renewed\"}\n"; /* for ever */
  parse(text);
  assert_int_equal(h.events[0].kind, LB_EV_RENEWED);
  assert_int_equal(h.events[0].flags, LB_EVF_UNTIL);
  assert_int_equal(h.events[0].until, 90);
  assert_int_equal(h.events[1].flags, 0);
  char *binary = written(&h, lb_history_write, &size);
  assert_int_equal(lb_history_parse("FILE", binary, size, &again, &err), 0);
  assert_same_histories(&h, &again);
  char *json = written(&again, lb_history_write_json, &size);
  assert_string_equal(json, text);
  free(json);
  free(binary);
  lb_history_clear(&again);
}

/* Binary files of earlier releases have these numbers in them. */
TEST(kinds_keep_their_numbers) {
  static const char *const words[] = {
      "acquire",  "granted",  "busy",       "timeout", "unknown",     "release",     "released", "lost",
      "read",     "write",    "crash",      "fault",   "note",        "renewed",     "phase",    "proved",
      "over",     "not-done", "not-proved", "reply",   "met",         "observed",    "role",     "failover",
      "clock",    "error",    "shortened",  "check",   "server",      "holds",       "touched",  "unused",
      "voted",    "not-met",  "trip",       "seen",    "not-renewed", "left",        "message",  "carried",
      "unsynced", "permits",  "renew",      "expired", "leases",      "work-failed", "silent"};
  enum { COUNT = sizeof words / sizeof *words };
  for (unsigned i = 0; i < COUNT; i++) assert_string_equal(lb_event_kind_name(i + 1), words[i]);
  assert_null(lb_event_kind_name(0));
  assert_null(lb_event_kind_name(COUNT + 1));
}

TEST(an_event_that_could_not_be_read_back_is_not_written) {
  static const struct lb_event wrong[] = {
      {.t = 1, .kind = 99, .client = 0, .key = 0, .fact = LB_NO_NAME},
      {.t = 1, .kind = LB_EV_SEEN, .client = 0, .key = 0, .fact = LB_NO_NAME},
      {.t = 1, .kind = LB_EV_SILENT + 1, .client = 0, .key = 0, .fact = LB_NO_NAME},
      {.t = 1, .kind = LB_EV_CHECK, .client = 0, .key = 0, .fact = LB_NO_NAME},
      {.t = 1, .kind = LB_EV_CHECK, .client = 0, .key = 0, .fact = LB_NO_NAME, .flags = LB_EVF_CHECK},
      {.t = 1,
       .kind = LB_EV_CHECK,
       .client = 0,
       .key = 0,
       .fact = LB_NO_NAME,
       .flags = LB_EVF_CHECK,
       .check = LB_CHECK_NO_MAJORITY + 1},
      {.t = 1, .kind = LB_EV_RENEWED, .client = 0, .key = LB_NO_NAME, .fact = LB_NO_NAME},
      {.t = 1, .kind = LB_EV_RENEWED, .client = 0, .key = 0, .fact = LB_NO_NAME, .flags = LB_EVF_FENCE},
      {.t = 1, .kind = LB_EV_GRANTED, .client = 1, .key = 0, .fact = LB_NO_NAME},
      {.t = 1, .kind = LB_EV_GRANTED, .client = LB_NO_NAME, .key = 0, .fact = LB_NO_NAME},
      {.t = 1, .kind = LB_EV_READ, .client = 0, .key = 0, .fact = LB_NO_NAME},
      {.t = 1, .kind = LB_EV_BUSY, .client = 0, .key = 0, .fact = 0},
      {.t = UINT64_MAX, .kind = LB_EV_BUSY, .client = 0, .key = 0, .fact = LB_NO_NAME},
      {.t = 1, .kind = LB_EV_NOTE, .client = LB_NO_NAME, .key = LB_NO_NAME, .fact = LB_NO_NAME},
      {.t = 1, .kind = LB_EV_ACQUIRE, .client = 0, .key = 0, .fact = LB_NO_NAME, .flags = LB_EVF_DUE, .due = 2},
      {.t = 1, .kind = LB_EV_GRANTED, .client = 0, .key = 0, .fact = LB_NO_NAME, .flags = LB_EVF_DUE, .due = 1},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    struct lb_history own = {0};
    char *data = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&data, &size);
    lb_names_add(&own.clients, "a");
    lb_names_add(&own.keys, "x");
    lb_history_add(&own, &wrong[i]);
    assert_int_equal(lb_history_write(&own, out), -EINVAL);
    assert_int_equal(lb_history_write_json(&own, out), -EINVAL);
    fclose(out);
    assert_int_equal(size, 0);
    free(data);
    lb_history_clear(&own);
  }
}

TEST(a_full_disk_is_reported) {
  FILE *out = fopen("/dev/full", "w");
  if (!out) SKIP("no /dev/full");
  parse(sample);
  assert_true(lb_history_write(&h, out) < 0);
  fclose(out);
}

/* ---- damaged binary files ---------------------------------------------------------------------------------------- */

static void put64(char *data, size_t at, uint64_t value) { memcpy(data + at, &value, sizeof value); }

TEST(damaged_binary_files_are_refused_with_the_place) {
  size_t size;
  enum { NAMES = 56, EVENTS = NAMES + 6 };
  parse("{\"t\":1,\"c\":\"a\",\"k\":\"x\",\"e\":\"granted\"}\n{\"t\":2,\"c\":\"b\",\"k\":\"x\",\"e\":\"granted\"}\n");
  char *data = written(&h, lb_history_write, &size), *copy = malloc(size);
  assert_int_equal(size, EVENTS + 2 * 56);
#define DAMAGED(message, change) (memcpy(copy, data, size), change, assert_refused(copy, size, message))
  assert_refused(data, 7, "FILE: byte 7: found the end of the file, expected a header of 56 bytes");
  assert_refused(data, 55, "FILE: byte 55: found the end of the file");
  assert_refused(
      data, size - 1,
      "FILE: byte 32: found a count of 2 events, expected it to fill the 111 bytes after the names and facts");
  DAMAGED("FILE: byte 6: found a binary history of format 3, expected format 2: it was", copy[6] = '3');
  DAMAGED("FILE: byte 6: found a binary history of format 1, expected format 2: it was", copy[6] = '1');
  DAMAGED("FILE: byte 6: found a binary history of format ?, expected format 2", copy[6] = '\x1b');
  DAMAGED("FILE: byte 6: found an unknown header", copy[7] = '\r');
  DAMAGED("FILE: byte 40: found 18446744073709551615 bytes of names, expected at most the 118",
          put64(copy, 40, UINT64_MAX));
  DAMAGED(
      "FILE: byte 48: found a count of 288230376151711744 facts, expected them to fit into the 112 bytes after the names (64 each)",
      put64(copy, 48, UINT64_C(1) << 58));
  DAMAGED("FILE: byte 32: found a count of 2 events, expected it to fill the 48 bytes", put64(copy, 48, 1));
  DAMAGED("FILE: byte 32: found a count of 1152921504606846976 events", put64(copy, 32, UINT64_C(1) << 60));
  DAMAGED("FILE: byte 62: found the end of the names, expected 18446744073709551612 more", put64(copy, 8, UINT64_MAX));
  DAMAGED("FILE: byte 60: found 2 bytes after the names, expected the facts", put64(copy, 16, 0));
  DAMAGED("FILE: byte 58: found a name twice", copy[NAMES + 2] = 'a');
  DAMAGED("FILE: byte 56: found an empty name", copy[NAMES] = 0);
  DAMAGED("FILE: byte 56: found a name that is not UTF-8", copy[NAMES] = '\xff');
  DAMAGED("FILE: byte 62: event 1: found kind 99", copy[EVENTS + 52] = 99);
  DAMAGED("FILE: byte 62: event 1: found kind 48 with flags 0, expected a kind from 1 to 47", copy[EVENTS + 52] = 48);
  DAMAGED("FILE: byte 62: event 1: found kind 2 with flags 0x100", copy[EVENTS + 55] = 1);
  DAMAGED("FILE: byte 62: event 1: found \"early\" on a \"granted\" event", copy[EVENTS + 54] |= (char)LB_EVF_EARLY);
  DAMAGED("FILE: byte 118: event 2: found name 77 in \"c\", expected one of 2", copy[EVENTS + 56 + 40] = 77);
  DAMAGED("FILE: byte 118: event 2: found no \"c\", expected one on a \"granted\" event",
          memset(copy + EVENTS + 56 + 40, 0xff, 4));
  free(copy);
  free(data);
}

TEST(damaged_facts_are_refused_with_the_place) {
  size_t size;
  parse(TWO "{\"t\":1,\"e\":\"observed\",\"host\":\"h\",\"present\":true}");
  char *data = written(&h, lb_history_write, &size), *copy = malloc(size);
  size_t fact = size - 56 - sizeof(struct lb_fact), event = size - 56;
#define FACT_BYTE(field) copy[fact + offsetof(struct lb_fact, field)]
  DAMAGED("FILE: byte 122: event 1: found name 1 in \"fact\", expected one of 1",
          copy[event + offsetof(struct lb_event, fact)] = 1);
  DAMAGED("FILE: byte 122: event 1: found name 7 in \"host\", expected one of 1", FACT_BYTE(host) = 7);
  DAMAGED("FILE: byte 122: event 1: found word 2 in \"present\", expected one that is known", FACT_BYTE(present) = 2);
  DAMAGED("FILE: byte 122: event 1: found word 10 in \"answer\", expected one that is known", FACT_BYTE(answer) = 10);
  DAMAGED("FILE: byte 122: event 1: found \"phase\" on a \"observed\" event, expected only", FACT_BYTE(phase) = 1);
  DAMAGED("FILE: byte 122: event 1: found \"ms\" on a \"observed\" event", FACT_BYTE(ms) = 1);
  DAMAGED("FILE: byte 122: event 1: found \"why\" on a \"observed\" event", memset(&FACT_BYTE(why), 0, 4));
  DAMAGED("FILE: byte 122: event 1: found no \"what\", expected one on a \"fault\" event",
          copy[event + offsetof(struct lb_event, kind)] = LB_EV_FAULT);
  free(copy);
  free(data);
}

TEST(an_empty_binary_history_has_no_events_to_judge) {
  struct lb_history own = {0};
  size_t size;
  char *data = written(&own, lb_history_write, &size);
  assert_refused(data, size, "FILE:1: found no events, expected at least one");
  free(data);
}

TEST(a_binary_file_cut_anywhere_is_refused) {
  struct lb_history none;
  size_t size;
  parse(sample);
  char *data = written(&h, lb_history_write, &size);
  for (size_t n = 0; n < size; n++) {
    char *exact = malloc(n ? n : 1); /* so that a read behind the end is seen by a sanitizer */
    memcpy(exact, data, n);
    assert_int_equal(lb_history_parse("FILE", exact, n, &none, &err), -EINVAL);
    free(exact);
  }
  free(data);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

TEST(a_file_is_read_whatever_its_form) {
  struct lb_history again;
  char path[] = "/tmp/test-history-XXXXXX";
  int fd = mkstemp(path);
  FILE *out = fdopen(fd, "w");
  assert_non_null(out);
  parse(sample);
  assert_int_equal(lb_history_write(&h, out), 0);
  assert_int_equal(lb_history_load(path, NULL, &again, &err), 0);
  assert_same_histories(&h, &again);
  lb_history_clear(&again);
  assert_int_equal(ftruncate(fd, 0), 0);
  rewind(out);
  assert_int_equal(lb_history_write_json(&h, out), 0);
  assert_int_equal(lb_history_load(path, NULL, &again, &err), 0);
  assert_same_histories(&h, &again);
  lb_history_clear(&again);
  fclose(out);
  unlink(path);
}

/* More than is read at once; an operation may be cut anywhere. */
TEST(lines_from_a_pipe_are_read_as_they_come) {
  enum { EVENTS = 60000 };
  struct lb_history from_pipe;
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  pid_t writer = fork();
  if (writer == 0) {
    FILE *out = fdopen(ends[1], "w");
    close(ends[0]);
    fputs("{\"format\":2}\n", out);
    for (int i = 0; i < EVENTS; i++)
      fprintf(out, "{\"t\":%d,\"e\":\"acquire\",\"c\":\"client-%d\",\"k\":\"some key\"}\n", i, i % 9);
    _exit(fclose(out) != 0);
  }
  close(ends[1]);
  assert_int_equal(lb_history_read(ends[0], "PIPE", NULL, &from_pipe, &err), 0);
  close(ends[0]);
  waitpid(writer, NULL, 0);
  assert_int_equal(from_pipe.count, EVENTS);
  assert_int_equal(from_pipe.clients.count, 9);
  assert_int_equal(from_pipe.events[EVENTS - 1].t, EVENTS - 1);
  lb_history_clear(&from_pipe);
}

TEST(a_file_that_cannot_be_read_is_named) {
  struct lb_history own;
  assert_int_equal(lb_history_load("/nowhere/at/all", NULL, &own, &err), -ENOENT);
  assert_string_equal(err.text, "/nowhere/at/all: cannot be read: No such file or directory");
  assert_int_equal(lb_history_load("/", NULL, &own, &err), -EISDIR);
  assert_int_equal(own.count, 0);
}
