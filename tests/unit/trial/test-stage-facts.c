/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * What a controller records: each fact with all of its fields, and nothing else. And what it doubts when it ends clients.
 */
#include "test.h"
#include "base/clock.h"
#include "base/error.h"
#include "client/driver.h"
#include "trial/crew.h"
#include "trial/fault.h"
#include "trial/stage.h"

enum { CLIENTS = 2 };

static struct lb_stage stage;
static struct lb_client client = {.name = "client-2", .number = 1};
static struct lb_server server = {.name = "redis-1"};

static int set_up(void **state) {
  (void)state;
  stage = (struct lb_stage){.client_count = CLIENTS, .memory = lb_memory_map(CLIENTS, CLIENTS, 1)};
  lb_names_add(&stage.history.clients, "client-1");
  lb_names_add(&stage.history.clients, "client-2");
  return stage.memory ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  lb_history_clear(&stage.history);
  lb_memory_unmap(stage.memory);
  return 0;
}
EACH(set_up, tear_down);

/* The latest event, without its stamps. */
static void assert_recorded(const char *expected) {
  struct lb_history *h = &stage.history;
  char line[700];
  free(h->events);
  h->events = NULL;
  h->count = h->capacity = 0;
  assert_int_equal(lb_memory_collect(stage.memory, h), 0);
  struct lb_event last = h->events[h->count - 1];
  assert_true(last.t > 0 && last.s > 0);
  last.t = 1, last.s = 0;
  lb_event_format_json(h, &last, line, sizeof line);
  assert_string_equal(line, expected);
}

static struct lb_step parsed(const char *text, uint32_t number) {
  static struct lb_step step;
  struct lb_error err;
  free(step.text);
  step = (struct lb_step){0};
  if (lb_step_parse(text, &step, &err) < 0) fail_msg("%s", err.text);
  step.number = number;
  return step;
}

TEST(a_fault_says_what_is_done_to_whom) {
  struct lb_step step = parsed("cut  client 2   from current primary", 4);
  lb_stage_fault(&stage, &step);
  assert_recorded(
      "{\"t\":1,\"e\":\"fault\",\"what\":\"cut  client 2   from current primary\",\"step\":4,\"verb\":\"cut\","
      "\"role\":\"client 2\",\"from\":\"current primary\"}");
  step = parsed("heal", 5);
  lb_stage_fault(&stage, &step);
  assert_recorded("{\"t\":1,\"e\":\"fault\",\"what\":\"heal\",\"step\":5,\"verb\":\"heal\"}");
}

TEST(what_becomes_of_a_step_has_its_number) {
  struct lb_step step = parsed("kill primary", 7);
  lb_stage_step(&stage, LB_EV_PROVED, &step);
  assert_recorded("{\"t\":1,\"e\":\"proved\",\"what\":\"kill primary\",\"step\":7}");
  lb_stage_step(&stage, LB_EV_OVER, &step);
  assert_recorded("{\"t\":1,\"e\":\"over\",\"what\":\"kill primary\",\"step\":7}");
  lb_stage_failed(&stage, LB_EV_NOT_DONE, &step, "nobody");
  assert_recorded("{\"t\":1,\"e\":\"not-done\",\"what\":\"kill primary\",\"step\":7,\"why\":\"nobody\"}");
  lb_stage_failed(&stage, LB_EV_NOT_PROVED, &step, "it lives");
  assert_recorded("{\"t\":1,\"e\":\"not-proved\",\"what\":\"kill primary\",\"step\":7,\"why\":\"it lives\"}");
  step = parsed("await client 1 holds within 1s", 8);
  lb_stage_step(&stage, LB_EV_MET, &step);
  assert_recorded("{\"t\":1,\"e\":\"met\",\"what\":\"await client 1 holds within 1s\",\"step\":8}");
  lb_stage_step(&stage, LB_EV_NOT_MET, &step);
  assert_recorded("{\"t\":1,\"e\":\"not-met\",\"what\":\"await client 1 holds within 1s\",\"step\":8}");
}

TEST(an_answer_is_that_of_what_was_asked) {
  static const struct {
    const char *step;
    int result;
    const char *answer;
  } cases[] = {{"client 2 acquire within 1s", LB_OK, "granted"},
               {"client 2 acquire within 1s", LB_BUSY, "refused"},
               {"client 2 acquire within 1s", LB_TIMEOUT, "no-answer"},
               {"client 2 acquire within 1s", LB_LOST, "lost"},
               {"client 2 acquire within 1s", LB_UNKNOWN, "unknown"},
               {"client 2 begin acquire within 1s", LB_OK, "granted"},
               {"client 2 read", LB_OK, "done"},
               {"client 2 read", LB_BUSY, "not-holding"},
               {"client 2 release within 1s", LB_TIMEOUT, "not-in-time"},
               {"client 2 write", LB_LOST, "lost"},
               {"client 2 release within 1s", LB_UNKNOWN, "unknown"}};
  char expected[300];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct lb_step step = parsed(cases[i].step, 3);
    lb_stage_reply(&stage, &step, &client, &(struct lb_reply){.result = cases[i].result, .err = "of old"});
    snprintf(expected, sizeof expected,
             "{\"t\":1,\"c\":\"client-2\",\"e\":\"reply\",\"what\":\"%s\",\"step\":3,\"answer\":\"%s\"}", cases[i].step,
             cases[i].answer);
    assert_recorded(expected);
  }
  struct lb_step step = parsed("client 2 read", 3);
  lb_stage_reply(&stage, &step, &client, &(struct lb_reply){.result = -EIO, .err = "gone"});
  assert_recorded(
      "{\"t\":1,\"c\":\"client-2\",\"e\":\"reply\",\"what\":\"client 2 read\",\"step\":3,\"answer\":\"failed\",\"why\":\"gone\"}");
}

TEST(an_observation_is_at_a_host_or_of_a_role) {
  struct lb_step step = parsed("observe key on current primary", 9);
  lb_stage_observed_at(&stage, &step, &server, true);
  assert_recorded("{\"t\":1,\"e\":\"observed\",\"step\":9,\"host\":\"redis-1\",\"present\":true}");
  lb_stage_observed(&stage, &step, false);
  assert_recorded("{\"t\":1,\"e\":\"observed\",\"step\":9,\"role\":\"current primary\",\"present\":false}");
}

TEST(a_fault_says_whom_it_touched) {
  struct lb_step step = parsed("cut client 1 from all", 3);
  lb_stage_touched(&stage, &step, "client-1", "redis-4, redis-5");
  assert_recorded(
      "{\"t\":1,\"e\":\"touched\",\"step\":3,\"verb\":\"cut\",\"from\":\"redis-4, redis-5\",\"host\":\"client-1\"}");
  lb_stage_touched(&stage, &step, "", "");
  assert_recorded("{\"t\":1,\"e\":\"touched\",\"step\":3,\"verb\":\"cut\"}");
  lb_stage_step(&stage, LB_EV_UNUSED, &step);
  assert_recorded("{\"t\":1,\"e\":\"unused\",\"what\":\"cut client 1 from all\",\"step\":3}");
}

TEST(a_trip_says_from_whom_to_whom_and_how_long) {
  struct lb_step step = parsed("slow primary to client 1 700ms", 4);
  const struct lb_host from = {.name = "zookeeper-1"}, to = {.name = "client-1"};
  lb_stage_trip(&stage, &step, &from, &to, 700 * LB_NS_PER_MS + 999999);
  assert_recorded("{\"t\":1,\"e\":\"trip\",\"step\":4,\"from\":\"zookeeper-1\",\"host\":\"client-1\",\"ms\":700}");
}

/* The latest event's ms, which depends on the clock. */
static int64_t latest_ms(void) {
  const struct lb_history *h = &stage.history;
  return h->facts[h->fact_count - 1].ms;
}

TEST(a_message_says_what_crossed_a_link) {
  struct lb_step step = parsed("hold next primary to client 2", 6);
  lb_stage_message(&stage, &step, "redis-1", "client-2", 120, 30);
  assert_recorded("{\"t\":1,\"e\":\"message\",\"step\":6,\"verb\":\"hold\",\"from\":\"redis-1\",\"host\":\"client-2\","
                  "\"kept\":30,\"total\":120}");
}

TEST(a_client_holds_while_it_believes_so_and_its_lease_is_not_over) {
  struct lb_step step = parsed("observe client 2", 4);
  struct lb_client_state *of = lb_stage_state(&stage, &client);
  assert_false(lb_stage_holds(&stage, &step, &client));
  assert_recorded("{\"t\":1,\"c\":\"client-2\",\"e\":\"holds\",\"step\":4,\"present\":false}");
  atomic_store(&of->holds, true);
  atomic_store(&of->until, LB_NEVER);
  assert_true(lb_stage_holds(&stage, &step, &client));
  assert_recorded("{\"t\":1,\"c\":\"client-2\",\"e\":\"holds\",\"step\":4,\"present\":true}");
  atomic_store(&of->until, lb_clock_ns() + 3600 * LB_NS_PER_S);
  assert_true(lb_stage_holds(&stage, &step, &client));
  assert_in_range(latest_ms(), 3000000, 3600000);
  atomic_store(&of->until, lb_clock_ns() - 5 * LB_NS_PER_S); /* it believes in a lease that is over */
  assert_false(lb_stage_holds(&stage, &step, &client));
  assert_true(latest_ms() <= -5000);
}

TEST(a_server_is_recorded_with_the_role_that_was_asked_for) {
  struct lb_step step = parsed("observe server of client 2", 5);
  lb_stage_server(&stage, &step, &client, &server, (struct lb_role){LB_ROLE_CURRENT_PRIMARY, 0}, true);
  assert_recorded(
      "{\"t\":1,\"c\":\"client-2\",\"e\":\"server\",\"step\":5,\"role\":\"current primary\",\"host\":\"redis-1\",\"present\":true}");
  lb_stage_server(&stage, &step, &client, NULL, (struct lb_role){LB_ROLE_NONE, 0}, false);
  assert_recorded("{\"t\":1,\"c\":\"client-2\",\"e\":\"server\",\"step\":5}");
}

TEST(who_decides_is_recorded) {
  lb_stage_primary(&stage, 0, &server);
  assert_recorded("{\"t\":1,\"e\":\"role\",\"role\":\"primary\",\"host\":\"redis-1\"}");
  lb_stage_failover(&stage, &server);
  assert_recorded("{\"t\":1,\"e\":\"failover\",\"host\":\"redis-1\"}");
}

TEST(a_clock_is_recorded_as_it_was_read) {
  struct lb_step step = parsed("clock primary -31s", 2);
  lb_stage_clock(&stage, &step, "redis-1", LB_CLOCK_WALL, -31004, 0);
  assert_recorded("{\"t\":1,\"e\":\"clock\",\"step\":2,\"host\":\"redis-1\",\"clock\":\"wall\",\"ms\":-31004}");
  lb_stage_clock(&stage, &step, "redis-1", LB_CLOCK_MONOTONIC, 0, 0);
  assert_recorded("{\"t\":1,\"e\":\"clock\",\"step\":2,\"host\":\"redis-1\",\"clock\":\"monotonic\",\"ms\":0}");
  lb_stage_clock(&stage, &step, "redis-1", LB_CLOCK_RATE, 8, 400);
  assert_recorded(
      "{\"t\":1,\"e\":\"clock\",\"step\":2,\"host\":\"redis-1\",\"clock\":\"rate\",\"ms\":8,\"in_ms\":400}");
}

TEST(phases_and_notes_are_recorded) {
  lb_stage_phase(&stage, LB_PHASE_MEASURE);
  assert_recorded("{\"t\":1,\"e\":\"phase\",\"phase\":\"measure\"}");
  lb_stage_phase(&stage, LB_PHASE_END);
  assert_recorded("{\"t\":1,\"e\":\"phase\",\"phase\":\"end\"}");
  lb_stage_note(&stage, "%d words", 2);
  assert_recorded("{\"t\":1,\"e\":\"note\",\"what\":\"2 words\"}");
}

/* ---- clients that are ended -------------------------------------------------------------------------------------- */

static int stop_answer;       /* of each signal to stop */
static unsigned stops, kills; /* that were sent; kills before a client was told to stop do not count */

static int signalled(struct lb_client *c, enum lb_client_signal signal) {
  (void)c;
  stops += signal == LB_CLIENT_STOP;
  kills += signal == LB_CLIENT_KILL && stops;
  return signal == LB_CLIENT_STOP ? stop_answer : 0;
}
static enum lb_life runs(struct lb_client *c) {
  (void)c;
  return LB_LIFE_RUNS;
}
static void ended(struct lb_client *c) { c->body = NULL; }

static const struct lb_driver fake = {.name = "fake", .signal = signalled, .look = runs, .end = ended};

static struct lb_client alive(uint32_t number) {
  static int body;
  return (struct lb_client){.driver = &fake, .name = "client", .number = number, .body = (struct lb_body *)&body};
}

/* It is killed all the same. */
TEST(who_does_not_stand_still_before_it_is_killed_is_a_doubt) {
  static const int answers[] = {0, -ESRCH, -ETIMEDOUT};
  for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
    struct lb_client one = alive(1);
    stage.verdict = LB_VERDICT_NONE;
    stops = kills = 0;
    stop_answer = answers[i];
    assert_true(lb_fault_bury(&stage, &one));
    assert_int_equal(stops, 1);
    assert_int_equal(kills, 1);
    assert_recorded("{\"t\":1,\"c\":\"client-2\",\"e\":\"crash\"}");
    assert_int_equal(stage.verdict, answers[i] == -ETIMEDOUT ? LB_UNDECIDED : LB_VERDICT_NONE);
  }
}

TEST(nor_are_all_ended_without_a_doubt) {
  static const int answers[] = {0, -ESRCH, -ETIMEDOUT};
  static struct lb_topology topology;
  struct lb_trial_plan plan = {.topology = &topology};
  for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
    struct lb_client all[CLIENTS] = {alive(0), alive(1)};
    stage.plan = &plan;
    stage.client = all;
    stage.verdict = LB_VERDICT_NONE;
    stops = 0;
    stop_answer = answers[i];
    lb_crew_end(&stage);
    assert_int_equal(stops, CLIENTS);
    assert_true(!all[0].body && !all[1].body);
    assert_int_equal(stage.verdict, answers[i] == -ETIMEDOUT ? LB_UNDECIDED : LB_VERDICT_NONE);
  }
}
