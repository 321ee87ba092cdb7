/* test: memory, beside */
/* SPDX-License-Identifier: MIT
 *
 * A client process: its watchdog, its points, its clocks, its lives. The protocol is one that grants what this test
 * allows, in memory the processes share.
 */
#include <sys/mman.h>

#include "test.h"
#include "client/driver.h"
#include "base/clock.h"
#include "hook.h"

enum { TTL_MS = 60, PATIENCE_MS = 20000 };

/* ---- a protocol in shared memory --------------------------------------------------------------------------------- */

static struct script {
  _Atomic bool refuse; /* try_acquire says BUSY */
  _Atomic int extend_answer, extends;
  _Atomic int opened, closed;  /* sessions */
  _Atomic uint64_t tokens[16]; /* what the first random bytes of each grant were */
  _Atomic uint32_t grants;
  _Atomic int64_t time_left_ns; /* of the latest try_acquire, on the client's own clock */
} * script;

struct lb_session {
  struct lb_env *env;
};

static int open_hook(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  (void)deadline;
  atomic_fetch_add(&script->opened, 1);
  s->env = config->env;
  return 0;
}
static void close_hook(struct lb_session *s) {
  (void)s;
  atomic_fetch_add(&script->closed, 1);
}
HOOK(try_acquire_hook) {
  uint64_t token;
  lb_random(s->env, &token, sizeof token);
  lb_point(s->env, "inside");
  atomic_store(&script->time_left_ns, (int64_t)(deadline - lb_now(s->env)));
  if (atomic_load(&script->refuse)) return LB_BUSY;
  uint32_t n = atomic_fetch_add(&script->grants, 1);
  atomic_store(&script->tokens[n % 16], token);
  grant->token_len = 8;
  grant->asked_at = lb_now(s->env);
  grant->valid_until = lb_now(s->env) + (lb_ns)lock->ttl_ms * LB_NS_PER_MS;
  return LB_OK;
}
HOOK(release_hook) { return LB_OK; }
HOOK(extend_hook) {
  atomic_fetch_add(&script->extends, 1);
  return atomic_load(&script->extend_answer);
}

static const struct lb_protocol protocol = {.name = "script",
                                            .session_size = sizeof(struct lb_session),
                                            .open = open_hook,
                                            .close = close_hook,
                                            .try_acquire = try_acquire_hook,
                                            .release = release_hook,
                                            .extend = extend_hook};

/* ---- one client -------------------------------------------------------------------------------------------------- */

struct fixture {
  struct lb_memory *memory;
  struct lb_skew *skew;
  struct lb_client_plan plan;
  struct lb_client client;
};
static struct fixture fixture, *const f = &fixture;

static struct lb_host here = {.name = "here", .netns = -1};

static lb_ns in_ms(int64_t ms) { return lb_clock_ns() + (lb_ns)ms * LB_NS_PER_MS; }

static void start(void) { assert_int_equal(lb_client_start(&f->client, &f->plan), 0); }

static int set_up(void **state) {
  memset(script, 0, sizeof *script);
  *f = (struct fixture){.memory = lb_memory_map(1, 1, 1), .skew = lb_skew_create(NULL)};
  f->plan = (struct lb_client_plan){.protocol = &protocol,
                                    .memory = f->memory,
                                    .ttl_ms = TTL_MS,
                                    .seed = 42,
                                    .key_prefix = "test",
                                    .renew = true,
                                    .work = {.keys = 1, .wait_ns = LB_NS_PER_S}};
  f->client = (struct lb_client){.driver = &lb_driver_process, .name = "client-1", .host = &here};
  (void)state;
  return f->memory && f->skew ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  lb_client_end(&f->client);
  lb_memory_unmap(f->memory);
  lb_skew_unmap(f->skew);
  return 0;
}
EACH(set_up, tear_down);

static void give(enum lb_client_verb verb) {
  struct lb_command command = {.verb = verb, .deadline = in_ms(PATIENCE_MS)};
  assert_int_equal(lb_client_send(&f->client, command), 0);
}

static struct lb_reply answer(void) {
  struct lb_reply reply;
  assert_int_equal(lb_client_await(&f->client, in_ms(PATIENCE_MS), &reply), 0);
  return reply;
}

static int call(enum lb_client_verb verb) {
  give(verb);
  return answer().result;
}

static void start_and_open(void) {
  start();
  assert_int_equal(call(LB_DO_OPEN), 0);
}

static void arm(const char *point, bool crash) {
  struct lb_command command = {.verb = LB_DO_ARM, .deadline = in_ms(PATIENCE_MS), .argument = crash};
  strcpy(command.text, point);
  assert_int_equal(lb_client_send(&f->client, command), 0);
  assert_int_equal(answer().result, LB_OK);
}

static void wait_for(const _Atomic int *counter, int n) {
  lb_ns deadline = in_ms(PATIENCE_MS);
  while (atomic_load(counter) < n && lb_clock_ns() < deadline) lb_clock_sleep_until(in_ms(1));
  assert_true(atomic_load(counter) >= n);
}

static uint32_t log_count(void) { return atomic_load(&f->memory->log[0].count); }

static bool is_logged(enum lb_event_kind kind) {
  for (uint32_t i = 0; i < log_count(); i++)
    if (f->memory->events[i].kind == kind) return true;
  return false;
}

/* ---- points ------------------------------------------------------------------------------------------------------ */

static void wait_for_life(enum lb_life life) {
  lb_ns deadline = in_ms(PATIENCE_MS);
  while (lb_client_look(&f->client) != life && lb_clock_ns() < deadline) lb_clock_sleep_until(in_ms(1));
  assert_int_equal(lb_client_look(&f->client), life);
}

/* It stands still: nothing but a wake-up makes it answer. */
static void assert_stops(enum lb_client_verb verb, int expected) {
  give(verb);
  wait_for_life(LB_LIFE_STOPPED);
  assert_int_equal(lb_client_peek(&f->client), 0);
  assert_int_equal(lb_client_signal(&f->client, LB_CLIENT_CONTINUE), 0);
  assert_int_equal(answer().result, expected);
}

TEST(a_client_stops_itself_at_a_point_once) {
  start_and_open();
  arm("inside", false);
  assert_stops(LB_DO_ACQUIRE, LB_OK);
  arm("after-check", false);
  assert_stops(LB_DO_READ, LB_OK);
  assert_int_equal(call(LB_DO_READ), LB_OK);
  arm("after-write", false);
  assert_int_equal(call(LB_DO_READ), LB_OK); /* passes other points only */
  assert_stops(LB_DO_WRITE, LB_OK);
}

TEST(a_client_dies_at_a_point) {
  start_and_open();
  arm("inside", true);
  give(LB_DO_ACQUIRE);
  wait_for_life(LB_LIFE_DIED);
  assert_int_equal(lb_client_peek(&f->client), -ECONNRESET);
  assert_int_equal(lb_client_signal(&f->client, LB_CLIENT_KILL), 0); /* that is what it died of */
  assert_int_equal(lb_client_look(&f->client), LB_LIFE_KILLED);
  assert_true(is_logged(LB_EV_ACQUIRE));
  assert_false(is_logged(LB_EV_GRANTED));
}

/* ---- the watchdog ------------------------------------------------------------------------------------------------ */

STATES(a_hold_is_renewed_between_two_commands, start_and_open(), assert_int_equal(call(LB_DO_ACQUIRE), LB_OK),
       wait_for(&script->extends, 3), assert_int_equal(call(LB_DO_READ), LB_OK),
       assert_int_equal(call(LB_DO_RELEASE), LB_OK));

static void hang(const char *point, enum lb_client_verb verb) {
  struct lb_command arm = {.verb = LB_DO_ARM, .deadline = in_ms(PATIENCE_MS), .argument = LB_AT_POINT_HANG};
  strcpy(arm.text, point);
  assert_int_equal(lb_client_send(&f->client, arm), 0);
  assert_int_equal(answer().result, LB_OK);
  give(verb);
  lb_ns deadline = in_ms(PATIENCE_MS);
  while (!atomic_load(&f->memory->state[0].hangs) && lb_clock_ns() < deadline) lb_clock_sleep_until(in_ms(1));
  assert_true(atomic_load(&f->memory->state[0].hangs));
}

TEST(a_hold_is_renewed_while_the_program_hangs) {
  start_and_open();
  assert_int_equal(call(LB_DO_ACQUIRE), LB_OK);
  hang("before-check", LB_DO_WRITE);
  int before = atomic_load(&script->extends);
  wait_for(&script->extends, before + 3);
  assert_false(is_logged(LB_EV_WRITE));
  atomic_store(&f->memory->state[0].hangs, false);
  assert_int_equal(answer().result, LB_OK);
  assert_true(is_logged(LB_EV_WRITE));
}

/* Before the check and after it. */
TEST(who_loses_the_lock_while_it_hangs_does_not_write) {
  start_and_open();
  for (int i = 0; i < 2; i++) {
    atomic_store(&script->extend_answer, LB_OK);
    assert_int_equal(call(LB_DO_ACQUIRE), LB_OK);
    hang(i ? "after-check" : "before-check", LB_DO_WRITE);
    int before = atomic_load(&script->extends);
    atomic_store(&script->extend_answer, LB_LOST);
    wait_for(&script->extends, before + 1);
    while (atomic_load(&f->memory->state[0].holds)) lb_clock_sleep_until(in_ms(1));
    atomic_store(&f->memory->state[0].hangs, false);
    assert_int_equal(answer().result, LB_LOST);
    assert_false(is_logged(LB_EV_WRITE));
  }
}

TEST(a_lock_with_a_watchdog_is_renewed_unasked) {
  static struct lb_protocol renewed;
  renewed = protocol;
  renewed.traits |= LB_TRAIT_RENEWED;
  f->plan.protocol = &renewed;
  f->plan.renew = false;
  start_and_open();
  assert_int_equal(call(LB_DO_ACQUIRE), LB_OK);
  wait_for(&script->extends, 3);
}

TEST(a_loss_is_learned_between_two_commands) {
  start_and_open();
  atomic_store(&script->extend_answer, LB_LOST);
  assert_int_equal(call(LB_DO_ACQUIRE), LB_OK);
  wait_for(&script->extends, 1);
  assert_int_equal(call(LB_DO_WRITE), LB_BUSY);
  assert_true(is_logged(LB_EV_LOST));
}

TEST(work_longer_than_the_lease_is_renewed) {
  f->plan.work.hold_ns = 3600 * LB_NS_PER_S;
  start_and_open();
  give(LB_DO_WORK);
  wait_for(&script->extends, 3);
  assert_int_equal(atomic_load(&script->grants), 1); /* all within one hold */
  assert_true(is_logged(LB_EV_READ));
  assert_false(is_logged(LB_EV_LOST));
}

TEST(who_loses_the_lock_stops_working) {
  f->plan.work.hold_ns = 3600 * LB_NS_PER_S;
  atomic_store(&script->extend_answer, LB_LOST);
  start_and_open();
  give(LB_DO_WORK);
  wait_for(&script->extends, 1);
  atomic_store(&f->memory->phase, LB_PHASE_STOP);
  atomic_store(&script->refuse, true);
  assert_int_equal(answer().result, LB_OK);
  assert_true(is_logged(LB_EV_LOST));
  assert_false(is_logged(LB_EV_WRITE));
}

/* ---- another session --------------------------------------------------------------------------------------------- */

TEST(a_client_takes_another_session_while_it_holds_nothing) {
  start_and_open();
  assert_int_equal(call(LB_DO_ACQUIRE), LB_OK);
  assert_int_equal(call(LB_DO_REOPEN), -EBUSY);
  assert_int_equal(atomic_load(&script->closed), 0);
  assert_int_equal(call(LB_DO_RELEASE), LB_OK);
  assert_int_equal(call(LB_DO_REOPEN), 0);
  assert_int_equal(atomic_load(&script->closed), 1);
  assert_int_equal(atomic_load(&script->opened), 2);
  assert_int_equal(call(LB_DO_ACQUIRE), LB_OK);
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

TEST(a_request_may_be_left_waiting_and_answers_keep_their_order) {
  start_and_open();
  atomic_store(&script->refuse, true);
  give(LB_DO_ACQUIRE);
  give(LB_DO_READ);
  give(LB_DO_CLOCK);
  lb_ns deadline = in_ms(PATIENCE_MS);
  while (!atomic_load(&f->memory->state[0].asks) && lb_clock_ns() < deadline) lb_clock_sleep_until(in_ms(1));
  assert_true(atomic_load(&f->memory->state[0].asks));
  assert_int_equal(lb_client_peek(&f->client), 0);
  atomic_store(&script->refuse, false);
  struct lb_reply first = answer(), second = answer(), third = answer();
  assert_int_equal(first.result, LB_OK);
  assert_int_equal(second.result, LB_OK);
  assert_int_equal(first.value, 0);
  assert_true(llabs(third.value - lb_clock_wall_ms()) < PATIENCE_MS);
  assert_int_equal(lb_client_peek(&f->client), 0);
}

/* ---- clocks ------------------------------------------------------------------------------------------------------ */

TEST(a_client_lives_by_its_hosts_clocks_and_history_by_the_truth) {
  f->client.skew = f->skew;
  f->plan.renew = false;
  start_and_open();
  lb_skew_jump(f->skew, false, -3600 * (int64_t)LB_NS_PER_S);
  lb_skew_jump(f->skew, true, 7200 * (int64_t)LB_NS_PER_S);

  give(LB_DO_CLOCK);
  assert_true(llabs(answer().value - lb_clock_wall_ms() + 3600 * 1000) < PATIENCE_MS);

  lb_ns before = lb_clock_ns();
  assert_int_equal(call(LB_DO_ACQUIRE), LB_OK);
  assert_true(atomic_load(&script->time_left_ns) > 0);
  assert_true(atomic_load(&script->time_left_ns) <= PATIENCE_MS * (int64_t)LB_NS_PER_MS);
  const struct lb_event *granted = &f->memory->events[1];
  assert_int_equal(granted->kind, LB_EV_GRANTED);
  assert_true(granted->t >= before && granted->t <= lb_clock_ns());
  assert_true(granted->until >= before + TTL_MS * LB_NS_PER_MS);
  assert_true(granted->until <= granted->t + TTL_MS * LB_NS_PER_MS);
}

TEST(a_slow_clock_believes_in_its_lease_for_too_long) {
  f->client.skew = f->skew;
  f->plan.guard = LB_GUARD_DEADLINE;
  f->plan.renew = false;
  lb_skew_rate(f->skew, 0.001);
  start_and_open();
  assert_int_equal(call(LB_DO_ACQUIRE), LB_OK);
  lb_clock_sleep_until(in_ms(TTL_MS + 1)); /* the lease is over, for everybody else */
  assert_int_equal(call(LB_DO_READ), LB_OK);
  lb_skew_jump(f->skew, true, TTL_MS * (int64_t)LB_NS_PER_MS);
  assert_int_equal(call(LB_DO_READ), LB_LOST);
}

/* ---- lives ------------------------------------------------------------------------------------------------------- */

TEST(a_client_that_is_started_again_goes_on_with_its_log_and_new_tokens) {
  start_and_open();
  assert_int_equal(call(LB_DO_ACQUIRE), LB_OK);
  assert_true(atomic_load(&f->memory->state[0].holds));
  lb_client_end(&f->client);
  uint32_t count = log_count();
  struct lb_event first = f->memory->events[0];

  start();
  assert_false(atomic_load(&f->memory->state[0].holds)); /* at once, whatever the process does */
  assert_int_equal(call(LB_DO_OPEN), 0);
  assert_int_equal(call(LB_DO_ACQUIRE), LB_OK);
  assert_int_equal(log_count(), count + 2);
  assert_memory_equal(&f->memory->events[0], &first, sizeof first);
  assert_int_equal(f->memory->events[count].kind, LB_EV_ACQUIRE);
  assert_int_not_equal(atomic_load(&script->tokens[0]), atomic_load(&script->tokens[1]));
}

/* As of a waiter that was told, was granted the lock, and was killed at a point where it hung. */
TEST(a_client_that_is_started_again_does_nothing_yet) {
  struct lb_client_state *said = &f->memory->state[0];
  start_and_open();
  assert_int_equal(call(LB_DO_ACQUIRE), LB_OK);
  assert_true(atomic_load(&said->granted) && atomic_load(&said->until) > 0);
  hang("before-check", LB_DO_WRITE);
  _Atomic bool *const seen[] = {&said->asks,    &said->waits, &said->woken,    &said->granted,
                                &said->gave_up, &said->holds, &said->at_point, &said->hangs};
  assert_int_equal(lb_client_signal(&f->client, LB_CLIENT_KILL), 0);
  lb_client_end(&f->client);
  for (size_t i = 0; i < sizeof seen / sizeof *seen; i++) atomic_store(seen[i], true);
  start();
  for (size_t i = 0; i < sizeof seen / sizeof *seen; i++)
    if (atomic_load(seen[i])) fail_msg("%zu", i);
  assert_int_equal(atomic_load(&said->until), 0);
}

TEST(signals_are_proved_and_say_what_they_cannot_do) {
  assert_int_equal(lb_client_look(&f->client), LB_LIFE_NONE);
  assert_int_equal(lb_client_signal(&f->client, LB_CLIENT_KILL), -ESRCH);
  start();
  assert_int_equal(lb_client_look(&f->client), LB_LIFE_RUNS);
  assert_int_equal(lb_client_signal(&f->client, LB_CLIENT_STOP), 0);
  assert_int_equal(lb_client_look(&f->client), LB_LIFE_STOPPED);
  give(LB_DO_CLOCK);
  struct lb_reply reply;
  assert_int_equal(lb_client_await(&f->client, in_ms(50), &reply), LB_TIMEOUT);
  assert_int_equal(lb_client_signal(&f->client, LB_CLIENT_CONTINUE), 0);
  assert_int_equal(answer().result, LB_OK);
  assert_int_equal(lb_client_signal(&f->client, LB_CLIENT_KILL), 0);
  assert_int_equal(lb_client_look(&f->client), LB_LIFE_KILLED);
  assert_false(lb_client_lives(&f->client));
  assert_int_equal(lb_client_send(&f->client, (struct lb_command){.verb = LB_DO_CLOCK}), -EPIPE);
  assert_int_equal(lb_client_signal(&f->client, LB_CLIENT_KILL), -ESRCH);
  assert_int_equal(lb_client_signal(&f->client, LB_CLIENT_CONTINUE), -ESRCH);
  lb_client_end(&f->client);
  assert_int_equal(lb_client_look(&f->client), LB_LIFE_NONE);
}

TEST(a_first_life_can_be_replayed) {
  for (int i = 0; i < 2; i++) {
    start();
    assert_int_equal(call(LB_DO_OPEN), 0);
    assert_int_equal(call(LB_DO_ACQUIRE), LB_OK);
    lb_client_end(&f->client);
    atomic_store(&f->memory->state[0].lives, 0); /* as in another trial */
  }
  assert_int_equal(atomic_load(&script->tokens[0]), atomic_load(&script->tokens[1]));
}

static int before_all(void **state) {
  (void)state;
  script = mmap(NULL, sizeof *script, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (script == MAP_FAILED) return 1;
  return 0;
}

GROUP(before_all, NULL);
