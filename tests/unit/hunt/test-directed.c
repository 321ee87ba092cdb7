/* test: compute, table */
/* SPDX-License-Identifier: MIT
 *
 * A violation of a campaign as a directed timeline: from a history whose story is known, with every part of its faults.
 */
#include "scenario/scenario_load.h"
#include "test.h"
#include "lines.h"
#include "hunt/directed.h"
#include "scenario/scenario.h"

#define MS(ms) #ms "000000"
#define FAULT(from, proved, to, n, what, verb, role, more)                                                             \
  "{\"t\":" MS(from) ",\"s\":" #from ",\"e\":\"fault\",\"what\":\"" what "\",\"step\":" #n ",\"verb\":\"" verb         \
                     "\",\"role\":\"" role "\"}\n"                                                                     \
                     "{\"t\":" MS(from) ",\"s\":" #from ",\"e\":\"touched\",\"step\":" #n ",\"verb\":\"" verb          \
                                        "\"," more "}\n"                                                               \
                                        "{\"t\":" MS(proved) ",\"s\":" #proved ",\"e\":\"proved\",\"what\":\"" what    \
                                                             "\",\"step\":" #n "}\n"                                   \
                                                             "{\"t\":" MS(to) ",\"s\":" #to                            \
                                                                              ",\"e\":\"over\",\"what\":\"" what       \
                                                                              "\",\"step\":" #n "}\n"
#define EVENT(at, client, what)                                                                                        \
  "{\"t\":" MS(at) ",\"s\":" #at ",\"c\":\"client-" #client "\",\"k\":\"lock-1\",\"e\":\"" what "\"}\n"
#define GRANT(at, client, host, until)                                                                                 \
  "{\"t\":" MS(at) ",\"s\":" #at ",\"c\":\"client-" #client "\",\"k\":\"lock-1\",\"e\":\"server\",\"host\":\"" host    \
                   "\"}\n"                                                                                             \
                   "{\"t\":" MS(at) ",\"s\":" #at ",\"c\":\"client-" #client                                           \
                                    "\",\"k\":\"lock-1\",\"e\":\"granted\",\"until\":" MS(until) "}\n"

/* A primary is killed and another one takes over, which is cut off; client 4 dies as a holder; a clock jumps. */
static const char before[] = "{\"format\":2}\n" EVENT(1, 4, "acquire") GRANT(2, 4, "redis-1", 1002) EVENT(
    3, 4, "release") FAULT(10, 12, 900, 1, "kill primary", "kill", "primary", "\"host\":\"redis-1\"")
    EVENT(910, 4, "acquire") GRANT(920, 4, "redis-2", 1920) FAULT(
        930, 931, 1500, 2, "kill holder", "kill", "holder",
        "\"host\":\"client-4\"") "{\"t\":931000000,\"s\":931,\"c\":\"client-4\",\"e\":\"crash\"}\n" FAULT(1600, 1650,
                                                                                                          1900, 3,
                                                                                                          "cut primary from replicas",
                                                                                                          "cut",
                                                                                                          "primary",
                                                                                                          "\"from\":\"redis-1, redis-3\",\"host\":\"redis-2\"")
        FAULT(2000, 2100, 2200, 4, "clock node 3 +5s", "clock", "node 3", "\"host\":\"redis-3\"")
            FAULT(2300, 2310, 2400, 5, "cut client 5 from all", "cut", "client 5",
                  "\"from\":\"redis-1, redis-2, redis-3\",\"host\":\"client-5\"");
/* Client 3 is stopped while it holds, and client 5 comes when its lease is over. */
static const char late[] = EVENT(2500, 3, "acquire") GRANT(2501, 3, "redis-2", 3501) EVENT(2501, 5, "acquire")
    FAULT(2502, 2503, 4000, 6, "pause holder", "pause", "holder", "\"host\":\"client-3\"")
        GRANT(3600, 5, "redis-2", 4600) EVENT(3610, 5, "release") EVENT(4001, 3, "release");
/* Client 3 asks a primary that stands still, and is granted the lock when it goes on, beside client 5. */
static const char leased[] =
    EVENT(2490, 3, "acquire") FAULT(2500, 2501, 4000, 6, "pause primary", "pause", "primary", "\"host\":\"redis-2\"")
        EVENT(3900, 5, "acquire") GRANT(3950, 5, "redis-1", 4950) GRANT(4001, 3, "redis-2", 5001)
            EVENT(4003, 3, "release") EVENT(4003, 5, "release");

static const struct lb_directed_of of = {.scenario = "storm",
                                         .system = "redis-token@sentinel",
                                         .trial = "2",
                                         .seed = "7",
                                         .run = "run",
                                         .ttl_ms = 1000,
                                         .hold_ms = 2};

static void read_it(const char *end, struct lb_directed *ret) {
  struct lb_error err = {0};
  char text[16000];
  struct lb_history history;
  struct lb_check check;
  snprintf(text, sizeof text, "%s%s", before, end);
  if (parse_lines("h", text, &history, &err) < 0) fail_msg("%s", err.text);
  lb_check_history(&history, &check);
  if (lb_directed_read(&history, &check, &of, ret, &err) < 0) fail_msg("%s", err.text);
  lb_check_clear(&check);
  lb_history_clear(&history);
}

/* The text, malloc'd; it has to be a scenario. */
static char *write_it(const struct lb_directed *d, unsigned mask) {
  bool keep[LB_DIRECTED_FAULTS_MAX];
  struct lb_error err;
  char *text = NULL;
  size_t size;
  struct lb_scenario scenario;
  for (size_t i = 0; i < LB_DIRECTED_FAULTS_MAX; i++) keep[i] = i < 32 && mask & 1u << i;
  FILE *file = open_memstream(&text, &size);
  assert_int_equal(lb_directed_write(d, keep, &of, "note", "violated", file), 0);
  fclose(file);
  if (lb_scenario_parse("shrunk.ini", text, size, &scenario, &err) < 0) fail_msg("%s\n%s", err.text, text);
  lb_scenario_clear(&scenario);
  return text;
}

static void expect(const struct lb_directed *d, unsigned mask, const char *steps) {
  char *text = write_it(d, mask);
  const char *own = strstr(text, "step = client 2 release within 2000ms\n");
  assert_non_null(own);
  own += strlen("step = client 2 release within 2000ms\n");
  if (strncmp(own, steps, strlen(steps)) != 0) fail_msg("expected\n%s\nfound\n%s", steps, own);
  free(text);
}

TEST(an_overlap_after_the_lease) {
  struct lb_directed d;
  read_it(late, &d);
  assert_true(d.late);
  assert_int_equal(d.fault_count, 6);
  expect(
      &d, 1u << 5,
      "step = client 1 acquire within 11000ms\nstep = client 1 read\nstep = client 2 begin section within 12000ms\nstep = wait 1ms\n"
      "step = pause client 1\nstep = let client 2 write within 2500ms\nstep = resume client 1\nstep = client 1 write\n"
      "step = client 1 release within 2000ms\n\n[proof]\npast_lease = yes\n");
  /* Without what stopped it client 1 goes on at once, and holds no longer than its program takes. */
  expect(
      &d, 0,
      "step = client 1 acquire within 11000ms\nstep = client 1 read\nstep = client 2 begin section within 12000ms\nstep = wait 2ms\nstep = client 1 write\n");
  lb_directed_clear(&d);
}

TEST(an_overlap_within_the_lease) {
  struct lb_directed d;
  read_it(leased, &d);
  assert_false(d.late);
  /* Who holds first is client 1, here client 5; client 2 has asked before the fault, and waits at the primary that
   * stands still. */
  expect(
      &d, 1u << 5,
      "step = client 2 begin section within 12000ms\nstep = wait 10ms\nstep = pause primary\nstep = wait 1449ms\nstep = client 1 acquire within 11000ms\n"
      "step = client 1 read\nstep = wait 50ms\nstep = resume primary\nstep = let client 2 write within 1000ms\nstep = client 1 write\n");
  lb_directed_clear(&d);
}

/* Where the first primary is dead another one decides: which one is not said, as the servers choose it. */
TEST(who_is_primary) {
  struct lb_directed d;
  read_it(leased, &d);
  char *both = write_it(&d, 1u | 1u << 2), *one = write_it(&d, 1u << 2);
  assert_non_null(strstr(both, "step = kill primary\n"));
  assert_non_null(strstr(both, "step = cut primary 2 from replicas\n"));
  assert_non_null(strstr(one, "step = cut primary from replicas\n"));
  free(both), free(one);
  lb_directed_clear(&d);
}

/* Whoever is killed as a holder takes the lock first, and is started again. */
TEST(who_is_holder) {
  struct lb_directed d;
  read_it(late, &d);
  char *text = write_it(&d, 1u << 1);
  assert_non_null(strstr(text, "clients = 3\n"));
  assert_non_null(strstr(
      text,
      "step = client 3 acquire within 10000ms\nstep = kill client 3\nstep = wait 569ms\nstep = client 3 start within 10000ms\n"));
  free(text);
  lb_directed_clear(&d);
}

TEST(every_part_is_a_scenario) {
  static const char *const ends[] = {late, leased};
  for (size_t e = 0; e < 2; e++) {
    struct lb_directed d;
    read_it(ends[e], &d);
    for (int way = 0; way < 3; way++) {
      d.way = (enum lb_directed_way)way;
      for (unsigned mask = 0; mask < 64; mask++) free(write_it(&d, mask));
    }
    lb_directed_clear(&d);
  }
}
