/* test: memory, beside, threads */
/* SPDX-License-Identifier: MIT
 *
 * The same statements about every driver: what the calls of client.h promise, and that clients that it runs lock, log
 * and are judged in the same way. The protocols are the ones without a server.
 */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/coroutine.h"
#include "client/driver.h"
#include "backends/registry.h"
#include "base/clock.h"
#include "check/check.h"

enum { CLIENTS = 8, PATIENCE_MS = 20000, WORK_MS = 400 };

static struct lb_host here = {.name = "here", .netns = -1};

/* ---- a crew ------------------------------------------------------------------------------------------------------ */

static struct world {
  const struct lb_driver *driver;
  struct lb_memory *memory;
  struct lb_target target;
  union lb_value options[8];
  struct lb_client_plan plan;
  struct lb_client client[CLIENTS];
  struct lb_history history;
  struct lb_check check;
} w;

static lb_ns in_ms(int64_t ms) { return lb_clock_ns() + (lb_ns)ms * LB_NS_PER_MS; }

static int set_up(void **state) {
  const struct lb_driver *driver = *state;
  size_t writers = driver->writers(CLIENTS);
  w = (struct world){.driver = driver, .memory = lb_memory_map(CLIENTS, writers, CLIENTS)};
  if (!w.memory) return -1;
  w.target = (struct lb_target){.topology = "none", .shared = w.memory->shared, .shared_size = w.memory->shared_size};
  w.plan = (struct lb_client_plan){.target = &w.target,
                                   .options = w.options,
                                   .memory = w.memory,
                                   .ttl_ms = 1000,
                                   .seed = 7,
                                   .key_prefix = "test",
                                   .work = {.keys = 1, .wait_ns = 2 * LB_NS_PER_S, .hold_ns = 1000000}};
  for (uint32_t i = 0; i < CLIENTS; i++) {
    w.client[i] = (struct lb_client){
        .driver = driver, .number = i, .log = i % writers, .own_key = CLIENTS - 1 - i, .host = &here};
    snprintf(w.client[i].name, sizeof w.client[i].name, "client-%u", i + 1);
  }
  return driver->gather ? driver->gather(&w.plan, writers) : 0;
}

static void end_clients(void) {
  for (size_t i = 0; i < CLIENTS; i++) lb_client_end(&w.client[i]);
}

static int tear_down(void **state) {
  (void)state;
  end_clients();
  if (w.driver->dismiss) w.driver->dismiss(&w.plan);
  lb_check_clear(&w.check);
  lb_history_clear(&w.history);
  lb_memory_unmap(w.memory);
  return 0;
}

static void use(const char *protocol) {
  w.plan.protocol = lb_protocol_find(protocol);
  assert_non_null(w.plan.protocol);
  for (size_t i = 0; w.plan.protocol->options && w.plan.protocol->options[i].name; i++)
    w.options[i].f = w.plan.protocol->options[i].def;
}

static struct lb_reply answer(struct lb_client *client) {
  struct lb_reply reply;
  assert_int_equal(lb_client_await(client, in_ms(PATIENCE_MS), &reply), 0);
  return reply;
}

static void give(struct lb_client *client, enum lb_client_verb verb) {
  assert_int_equal(lb_client_send(client, (struct lb_command){.verb = verb, .deadline = in_ms(PATIENCE_MS)}), 0);
}

static int call(struct lb_client *client, enum lb_client_verb verb) {
  give(client, verb);
  return answer(client).result;
}

static void arm(struct lb_client *client, const char *point, enum lb_at_point told) {
  struct lb_command command = {.verb = LB_DO_ARM, .deadline = in_ms(PATIENCE_MS), .argument = told};
  strcpy(command.text, point);
  assert_int_equal(lb_client_send(client, command), 0);
  assert_int_equal(answer(client).result, LB_OK);
}

static void begin(size_t count) {
  for (size_t i = 0; i < count; i++) {
    assert_int_equal(lb_client_start(&w.client[i], &w.plan), 0);
    assert_int_equal(call(&w.client[i], LB_DO_OPEN), 0);
  }
}

/* A machine that is busy for a second is no reason to fail. */
static void stop(struct lb_client *client) {
  lb_ns deadline = in_ms(PATIENCE_MS);
  int r;
  do r = lb_client_signal(client, LB_CLIENT_STOP);
  while (r == -ETIMEDOUT && lb_clock_ns() < deadline);
  assert_int_equal(r, 0);
}

static void wait_for_life(struct lb_client *client, enum lb_life life) {
  lb_ns deadline = in_ms(PATIENCE_MS);
  while (lb_client_look(client) != life && lb_clock_ns() < deadline) lb_clock_sleep_until(in_ms(1));
  assert_int_equal(lb_client_look(client), life);
}

/* All of them work for a while; then what they have logged is judged. */
static void work(void) {
  begin(CLIENTS);
  for (size_t i = 0; i < CLIENTS; i++) give(&w.client[i], LB_DO_WORK);
  lb_clock_sleep_until(in_ms(WORK_MS));
  atomic_store(&w.memory->phase, LB_PHASE_STOP);
  for (size_t i = 0; i < CLIENTS; i++) assert_int_equal(answer(&w.client[i]).result, LB_OK);
  end_clients();
  assert_int_equal(lb_memory_collect(w.memory, &w.history), 0);
  for (size_t i = 0; i < CLIENTS; i++) {
    char name[32];
    lb_names_add(&w.history.clients, w.client[i].name);
    snprintf(name, sizeof name, "lock-%zu", i + 1);
    lb_names_add(&w.history.keys, name);
  }
  lb_history_sort(&w.history);
  lb_check_history(&w.history, &w.check);
}

static uint64_t count(enum lb_event_kind kind, uint32_t client) {
  uint64_t n = 0;
  for (size_t i = 0; i < w.history.count; i++)
    n += w.history.events[i].kind == kind && w.history.events[i].client == client;
  return n;
}

/* ---- locks ------------------------------------------------------------------------------------------------------- */

static void who_contends_for_local_is_clean(void **state) {
  (void)state;
  use("local");
  work();
  assert_false(lb_check_violated(&w.check, true));
  assert_false(lb_check_damaged(&w.check, true));
  assert_true(w.check.handoffs > 0);
  assert_int_equal(w.check.lost_updates, 0);
  for (uint32_t i = 0; i < CLIENTS; i++) assert_true(count(LB_EV_ACQUIRE, i) > 0);
  assert_true(atomic_load(&w.memory->resource[0].value) > 0);
}

static void who_contends_for_broken_is_caught(void **state) {
  (void)state;
  use("broken");
  work();
  assert_true(lb_check_violated(&w.check, true));
  assert_true(w.check.double_holds > 0);
}

/* Which key is its own is told to a client; it is neither its number nor its log. */
static void keys_of_their_own_meet_nobody(void **state) {
  (void)state;
  use("null");
  w.plan.work.keys = 0;
  work();
  assert_false(lb_check_violated(&w.check, true));
  assert_int_equal(w.check.handoffs, 0);
  for (size_t i = 0; i < w.history.count; i++)
    assert_int_equal(w.history.events[i].key, CLIENTS - 1 - w.history.events[i].client);
  for (uint32_t i = 0; i < CLIENTS; i++) assert_true(count(LB_EV_GRANTED, i) > 0);
}

/* In the order of the sequence number, so there was one writer at any time; and each client only where it was told
 * to. */
static void a_log_is_the_story_of_its_writer(void **state) {
  (void)state;
  use("local");
  work();
  uint32_t clients_of_log[CLIENTS] = {0};
  for (size_t log = 0; log < w.memory->controller; log++) {
    const struct lb_event *events = w.memory->events + w.memory->log[log].first;
    uint32_t n = atomic_load(&w.memory->log[log].count), seen = 0;
    for (uint32_t i = 0; i < n; i++) {
      assert_int_equal(w.client[events[i].client].log, log);
      if (i > 0) assert_true(events[i].s > events[i - 1].s);
      seen |= 1u << events[i].client;
    }
    clients_of_log[log] = (uint32_t)__builtin_popcount(seen);
  }
  bool shared = w.memory->controller < CLIENTS;
  assert_true(shared ? clients_of_log[0] > 1 : clients_of_log[0] == 1);
}

static void who_is_to_give_way_does(void **state) {
  (void)state;
  use("null");
  for (int gives = 0; gives < 2; gives++) {
    w.plan.gives_way = gives;
    assert_int_equal(lb_client_start(&w.client[gives], &w.plan), 0);
    assert_int_equal(call(&w.client[gives], LB_DO_OPEN), 0);
    int policy = sched_getscheduler(atomic_load(&w.memory->state[gives].pid));
    if (w.driver->writers(CLIENTS) > 1) assert_int_equal(policy, gives ? SCHED_BATCH : SCHED_OTHER);
  }
}

/* A client of an open loop that stood still asks as often as it was to, and each time says since when. */
static void who_was_late_asks_for_all_that_was_due(void **state) {
  (void)state;
  enum { GAP_MS = 5, STALL_MS = 300, BEHIND = 10 };
  const lb_ns gap = GAP_MS * LB_NS_PER_MS;
  use("null");
  w.plan.work = (struct lb_work){.wait_ns = LB_NS_PER_S, .gap_ns = gap};
  begin(1);
  lb_ns begun = lb_clock_ns();
  give(&w.client[0], LB_DO_WORK);
  lb_clock_sleep_until(in_ms(100));
  stop(&w.client[0]);
  lb_ns stopped = lb_clock_ns();
  lb_clock_sleep_until(in_ms(STALL_MS));
  lb_ns going = lb_clock_ns();
  assert_int_equal(lb_client_signal(&w.client[0], LB_CLIENT_CONTINUE), 0);
  lb_ns patience = in_ms(PATIENCE_MS), due = 0, latest = 0;
  /* A client may have begun some gaps later than it was told, so what is due when it goes on is past a little later. */
  lb_clock_sleep_until(going + (BEHIND + 2) * gap);
  while (atomic_load(&w.memory->grants) + BEHIND < (lb_clock_ns() - begun) / gap && lb_clock_ns() < patience)
    lb_clock_sleep_until(in_ms(1));
  atomic_store(&w.memory->phase, LB_PHASE_STOP);
  assert_int_equal(answer(&w.client[0]).result, LB_OK);
  end_clients();
  assert_int_equal(lb_memory_collect(w.memory, &w.history), 0);
  for (size_t i = 0; i < w.history.count; i++) {
    const struct lb_event *e = &w.history.events[i];
    if (e->kind != LB_EV_ACQUIRE) continue;
    assert_true(e->flags & LB_EVF_DUE && e->due <= e->t);
    if (due) assert_int_equal(e->due, due + gap);
    if (e->due > stopped && e->due < going && going - e->due > latest) latest = going - e->due;
    due = e->due;
  }
  assert_true(due >= going - gap);
  assert_true(lb_clock_ns() < patience);
  assert_true(latest > (STALL_MS - 2 * GAP_MS) * LB_NS_PER_MS);
}

/* ---- lives ------------------------------------------------------------------------------------------------------- */

static void who_is_stopped_says_nothing_until_it_goes_on(void **state) {
  (void)state;
  struct lb_client *client = &w.client[0];
  struct lb_reply reply;
  use("local");
  begin(2);
  assert_int_equal(lb_client_look(client), LB_LIFE_RUNS);
  stop(client);
  assert_int_equal(lb_client_look(client), LB_LIFE_STOPPED);
  give(client, LB_DO_ACQUIRE);
  assert_int_equal(lb_client_await(client, in_ms(30), &reply), LB_TIMEOUT);
  assert_int_equal(lb_client_peek(client), 0);
  assert_int_equal(call(&w.client[1], LB_DO_ACQUIRE), LB_OK);
  assert_int_equal(call(&w.client[1], LB_DO_RELEASE), LB_OK);
  assert_int_equal(lb_client_signal(client, LB_CLIENT_CONTINUE), 0);
  assert_int_equal(answer(client).result, LB_OK);
}

static void who_works_can_be_stopped_and_the_others_go_on(void **state) {
  (void)state;
  use("null");
  w.plan.work.keys = 0;
  w.plan.work.hold_ns = 0;
  begin(CLIENTS);
  for (size_t i = 0; i < CLIENTS; i++) give(&w.client[i], LB_DO_WORK);
  stop(&w.client[3]);
  uint64_t value = atomic_load(&w.memory->resource[w.client[3].own_key].value), other = atomic_load(&w.memory->grants);
  lb_ns deadline = in_ms(PATIENCE_MS);
  while (atomic_load(&w.memory->grants) < other + 1000 && lb_clock_ns() < deadline) lb_clock_sleep_until(in_ms(1));
  assert_true(atomic_load(&w.memory->grants) >= other + 1000);
  assert_int_equal(atomic_load(&w.memory->resource[w.client[3].own_key].value), value);
  atomic_store(&w.memory->phase, LB_PHASE_STOP);
  assert_int_equal(lb_client_signal(&w.client[3], LB_CLIENT_CONTINUE), 0);
  for (size_t i = 0; i < CLIENTS; i++) assert_int_equal(answer(&w.client[i]).result, LB_OK);
}

static void who_is_killed_leaves_its_log_and_its_lock(void **state) {
  (void)state;
  struct lb_client *client = &w.client[0];
  use("local");
  begin(2);
  assert_int_equal(call(client, LB_DO_ACQUIRE), LB_OK);
  assert_int_equal(lb_client_signal(client, LB_CLIENT_KILL), 0);
  assert_int_equal(lb_client_look(client), LB_LIFE_KILLED);
  assert_int_equal(lb_client_send(client, (struct lb_command){.verb = LB_DO_CLOCK}), -EPIPE);
  assert_int_equal(lb_client_peek(client), -ECONNRESET);
  assert_int_equal(lb_client_signal(client, LB_CLIENT_KILL), -ESRCH);
  assert_int_equal(atomic_load(&w.memory->log[client->log].count), 2);
  assert_int_equal(lb_client_send(&w.client[1], (struct lb_command){.verb = LB_DO_ACQUIRE, .deadline = in_ms(30)}), 0);
  assert_int_equal(answer(&w.client[1]).result, LB_BUSY);
  lb_client_end(client);
  assert_int_equal(lb_client_look(client), LB_LIFE_NONE);
  begin(1);
  assert_false(atomic_load(&w.memory->state[0].holds));
  assert_int_equal(atomic_load(&w.memory->state[0].lives), 2);
}

static void points_stop_and_kill(void **state) {
  (void)state;
  struct lb_client *client = &w.client[4]; /* its log has another number where logs are shared */
  char end[60];
  use("local");
  begin(5);
  assert_int_equal(call(client, LB_DO_ACQUIRE), LB_OK);
  arm(client, "after-check", LB_AT_POINT_STOP);
  give(client, LB_DO_READ);
  wait_for_life(client, LB_LIFE_STOPPED);
  assert_true(atomic_load(&w.memory->state[4].at_point));
  assert_int_equal(lb_client_signal(client, LB_CLIENT_CONTINUE), 0);
  assert_int_equal(answer(client).result, LB_OK);
  arm(client, "after-write", LB_AT_POINT_DIE);
  give(client, LB_DO_WRITE);
  wait_for_life(client, LB_LIFE_DIED);
  assert_int_equal(lb_client_await(client, in_ms(PATIENCE_MS), &(struct lb_reply){0}), -ECONNRESET);
  client->driver->tell_end(client, end, sizeof end);
  assert_true(strlen(end) > 0);
  assert_int_equal(lb_client_signal(client, LB_CLIENT_STOP), -ESRCH);
  assert_int_equal(lb_client_signal(client, LB_CLIENT_KILL), 0); /* it was so told */
  assert_int_equal(lb_client_look(client), LB_LIFE_KILLED);
}

/* Its process lives, its program stays where it is. */
static void who_hangs_runs_until_it_is_told_to_go_on(void **state) {
  (void)state;
  struct lb_client *client = &w.client[4];
  struct lb_client_state *at = &w.memory->state[4];
  lb_ns deadline = in_ms(PATIENCE_MS);
  use("local");
  begin(5);
  assert_int_equal(call(client, LB_DO_ACQUIRE), LB_OK);
  arm(client, "before-check", LB_AT_POINT_HANG);
  give(client, LB_DO_WRITE);
  while (!atomic_load(&at->hangs) && lb_clock_ns() < deadline) lb_clock_sleep_until(in_ms(1));
  assert_true(atomic_load(&at->hangs) && atomic_load(&at->at_point));
  assert_int_equal(lb_client_look(client), LB_LIFE_RUNS);
  assert_int_equal(lb_client_await(client, in_ms(150), &(struct lb_reply){0}), LB_TIMEOUT);
  assert_int_equal(atomic_load(&at->writes), 0);
  atomic_store(&at->hangs, false);
  assert_int_equal(answer(client).result, LB_OK);
  assert_int_equal(atomic_load(&at->writes), 1);
  assert_false(atomic_load(&at->at_point));
}

#define UNDER(run_by, name)                                                                                            \
  { #name " (" #run_by ")", name, set_up, tear_down, (void *)(uintptr_t)&run_by }
#define ALL(run_by)                                                                                                    \
  UNDER(run_by, who_contends_for_local_is_clean), UNDER(run_by, who_contends_for_broken_is_caught),                    \
      UNDER(run_by, keys_of_their_own_meet_nobody), UNDER(run_by, a_log_is_the_story_of_its_writer),                   \
      UNDER(run_by, who_is_stopped_says_nothing_until_it_goes_on),                                                     \
      UNDER(run_by, who_works_can_be_stopped_and_the_others_go_on),                                                    \
      UNDER(run_by, who_is_killed_leaves_its_log_and_its_lock), UNDER(run_by, points_stop_and_kill),                   \
      UNDER(run_by, who_hangs_runs_until_it_is_told_to_go_on), UNDER(run_by, who_was_late_asks_for_all_that_was_due),  \
      UNDER(run_by, who_is_to_give_way_does)

struct switching {
  struct lb_coroutine *coroutine;
  long times;
};

static void switch_often(void *arg) {
  struct switching *s = arg;
  for (; s->times < 1000000; s->times++) lb_coroutine_yield(s->coroutine);
}

/* A tool that keeps the calls of a stack was told of one more at each switch. */
static void a_coroutine_may_switch_as_often_as_it_likes(void **state) {
  struct switching s = {0};
  (void)state;
  assert_non_null(s.coroutine = lb_coroutine_new(switch_often, &s));
  while (lb_coroutine_resume(s.coroutine)) {
  }
  assert_int_equal(s.times, 1000000);
  lb_coroutine_free(s.coroutine);
}

int main(void) {
  const struct CMUnitTest tests[] = {ALL(lb_driver_process), ALL(lb_driver_exec), ALL(lb_driver_coroutine),
                                     cmocka_unit_test(a_coroutine_may_switch_as_often_as_it_likes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
