/* SPDX-License-Identifier: MIT
 *
 * The holder against a protocol that answers what the test says, on a clock that the test owns.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "../harness/holder.h"

/* ---- a protocol by script, a clock by hand ----------------------------------------------------------------------- */

struct lb_session {
  int acquires[8], releases[8], resolves[8];
  int acquire_calls, release_calls, resolve_calls, wait_calls;
  size_t token_len_seen[8];
  int late_replies; /* so many grants are over when they are read */
};

static lb_ns fake_now;
static lb_ns now_hook(struct lb_env *env) {
  (void)env;
  return fake_now;
}
static void sleep_hook(struct lb_env *env, lb_ns when) {
  (void)env;
  if (when > fake_now) fake_now = when;
}

static int try_acquire_hook(struct lb_session *s, const char *key, int64_t ttl_ms, struct lb_grant *grant,
                            lb_ns deadline) {
  (void)key, (void)ttl_ms, (void)deadline;
  s->token_len_seen[s->acquire_calls] = grant->token_len;
  int r = s->acquires[s->acquire_calls++];
  grant->token_len = 4;
  grant->fence = 7;
  grant->valid_until = fake_now + (s->late_replies-- > 0 ? 1 : LB_NS_PER_S);
  fake_now += LB_NS_PER_MS;
  return r;
}
static int release_hook(struct lb_session *s, const char *key, struct lb_grant *grant, lb_ns deadline) {
  (void)key, (void)grant, (void)deadline;
  fake_now += LB_NS_PER_MS;
  return s->releases[s->release_calls++];
}
static int resolve_hook(struct lb_session *s, const char *key, struct lb_grant *grant, lb_ns deadline) {
  (void)key, (void)grant, (void)deadline;
  fake_now += LB_NS_PER_MS;
  return s->resolves[s->resolve_calls++];
}
static int wait_hook(struct lb_session *s, const char *key, struct lb_grant *grant, lb_ns deadline) {
  (void)key, (void)grant, (void)deadline;
  s->wait_calls++;
  fake_now += LB_NS_PER_MS;
  return LB_OK;
}

struct fixture {
  struct lb_protocol protocol;
  struct lb_session session;
  struct lb_env env;
  struct lb_holder holder;
};

static int set_up(void **state) {
  static struct fixture f;
  f = (struct fixture){
      .protocol = {.name = "script", .try_acquire = try_acquire_hook, .release = release_hook, .resolve = resolve_hook},
      .env = {.now = now_hook, .sleep_until = sleep_hook}};
  fake_now = 1;
  f.holder = (struct lb_holder){.protocol = &f.protocol,
                                .session = &f.session,
                                .env = &f.env,
                                .arena = lb_arena_map(1),
                                .ttl_ms = 1000,
                                .prefix = "test",
                                .rng = {42}};
  *state = &f;
  return f.holder.arena ? 0 : -1;
}

static int tear_down(void **state) {
  lb_arena_unmap(((struct fixture *)*state)->holder.arena);
  return 0;
}

/* The kinds of all recorded events as one word, e.g. "acquire granted". */
static const char *story(const struct fixture *f) {
  static char text[400];
  text[0] = '\0';
  const struct lb_arena *arena = f->holder.arena;
  for (uint32_t i = 0; i < atomic_load(&arena->log[0].count); i++) {
    if (i) strcat(text, " ");
    strcat(text, lb_event_kind_name(arena->events[arena->log[0].first + i].kind));
  }
  return text;
}

static lb_ns in_ms(int ms) { return fake_now + (lb_ns)ms * LB_NS_PER_MS; }

/* ---- statements ------------------------------------------------------------------------------------------------------ */

static void a_grant_is_recorded_with_its_fence_and_its_end(void **state) {
  struct fixture *f = *state;
  assert_int_equal(lb_holder_acquire(&f->holder, 0, in_ms(100)), LB_OK);
  assert_string_equal(story(f), "acquire granted");
  const struct lb_event *granted = &f->holder.arena->events[1];
  assert_int_equal(granted->fence, 7);
  assert_int_equal(granted->flags, LB_EVF_FENCE | LB_EVF_UNTIL);
  assert_true(f->holder.holding);
}

static void a_busy_lock_is_asked_for_again_until_granted(void **state) {
  struct fixture *f = *state;
  memcpy(f->session.acquires, (int[]){LB_BUSY, LB_BUSY, LB_OK}, 3 * sizeof(int));
  assert_int_equal(lb_holder_acquire(&f->holder, 0, in_ms(1000)), LB_OK);
  assert_int_equal(f->session.acquire_calls, 3);
  assert_string_equal(story(f), "acquire granted");
  assert_int_equal(f->session.token_len_seen[1], 0); /* a refused attempt is over: the next one is new */
}

static void a_place_in_a_queue_is_kept_between_tries_and_left_at_the_deadline(void **state) {
  struct fixture *f = *state;
  f->protocol.traits = LB_TRAIT_QUEUES | LB_TRAIT_WAKES;
  f->protocol.wait = wait_hook;
  for (int i = 0; i < 8; i++) f->session.acquires[i] = LB_BUSY;
  assert_int_equal(lb_holder_acquire(&f->holder, 0, in_ms(7)), LB_TIMEOUT);
  assert_int_equal(f->session.token_len_seen[1], 4);
  assert_true(f->session.wait_calls > 0);
  assert_int_equal(f->session.release_calls, 1);
  assert_string_equal(story(f), "acquire timeout");
}

static void an_unknown_outcome_that_the_server_confirms_is_a_grant(void **state) {
  struct fixture *f = *state;
  f->session.acquires[0] = LB_UNKNOWN;
  memcpy(f->session.resolves, (int[]){LB_UNKNOWN, LB_OK}, 2 * sizeof(int));
  assert_int_equal(lb_holder_acquire(&f->holder, 0, in_ms(1000)), LB_OK);
  assert_string_equal(story(f), "acquire granted");
}

static void an_unknown_outcome_that_the_server_denies_is_followed_by_a_new_attempt(void **state) {
  struct fixture *f = *state;
  memcpy(f->session.acquires, (int[]){LB_UNKNOWN, LB_OK}, 2 * sizeof(int));
  f->session.resolves[0] = LB_BUSY;
  assert_int_equal(lb_holder_acquire(&f->holder, 0, in_ms(1000)), LB_OK);
  assert_int_equal(f->session.token_len_seen[1], 0);
}

static void what_stays_unknown_is_recorded_as_unknown_and_released_before_the_next_attempt(void **state) {
  struct fixture *f = *state;
  f->session.acquires[0] = LB_UNKNOWN;
  for (int i = 0; i < 8; i++) f->session.resolves[i] = LB_UNKNOWN;
  assert_int_equal(lb_holder_acquire(&f->holder, 0, in_ms(3)), LB_UNKNOWN);
  assert_string_equal(story(f), "acquire unknown");
  assert_int_equal(f->session.release_calls, 0);
  assert_int_equal(lb_holder_acquire(&f->holder, 0, in_ms(100)), LB_OK);
  assert_int_equal(f->session.release_calls, 1);
  assert_int_equal(f->holder.debt_count, 0);
}

static void a_server_that_is_missing_is_a_timeout_with_its_reason(void **state) {
  struct fixture *f = *state;
  for (int i = 0; i < 8; i++) f->session.acquires[i] = -ECONNREFUSED;
  assert_int_equal(lb_holder_acquire(&f->holder, 0, in_ms(3)), LB_TIMEOUT);
  assert_string_equal(story(f), "acquire timeout");
}

static void a_grant_that_is_over_when_it_is_read_is_let_go(void **state) {
  struct fixture *f = *state;
  f->session.late_replies = 1;
  assert_int_equal(lb_holder_acquire(&f->holder, 0, in_ms(1000)), LB_OK);
  assert_int_equal(f->session.acquire_calls, 2);
  assert_int_equal(f->session.release_calls, 1);
  assert_string_equal(story(f), "acquire granted");
}

static void release_is_recorded_before_the_request_and_lost_after_it(void **state) {
  struct fixture *f = *state;
  f->session.releases[0] = LB_LOST;
  lb_holder_acquire(&f->holder, 0, in_ms(100));
  assert_int_equal(lb_holder_release(&f->holder, in_ms(100)), LB_LOST);
  assert_string_equal(story(f), "acquire granted release lost");
  assert_false(f->holder.holding);
}

static void an_unknown_release_is_repeated(void **state) {
  struct fixture *f = *state;
  memcpy(f->session.releases, (int[]){LB_UNKNOWN, LB_UNKNOWN, LB_OK}, 3 * sizeof(int));
  lb_holder_acquire(&f->holder, 0, in_ms(100));
  assert_int_equal(lb_holder_release(&f->holder, in_ms(1000)), LB_OK);
  assert_int_equal(f->session.release_calls, 3);
  assert_string_equal(story(f), "acquire granted release released");
}

static void who_holds_nothing_touches_nothing(void **state) {
  struct fixture *f = *state;
  assert_int_equal(lb_holder_read(&f->holder), LB_BUSY);
  assert_int_equal(lb_holder_write(&f->holder), LB_BUSY);
  assert_int_equal(lb_holder_release(&f->holder, in_ms(1)), LB_BUSY);
  assert_string_equal(story(f), "");
}

static void a_write_is_what_was_read_plus_one(void **state) {
  struct fixture *f = *state;
  atomic_store(&f->holder.arena->resource[0].value, 41);
  lb_holder_acquire(&f->holder, 0, in_ms(100));
  assert_int_equal(lb_holder_read(&f->holder), LB_OK);
  assert_int_equal(lb_holder_write(&f->holder), LB_OK);
  assert_int_equal(atomic_load(&f->holder.arena->resource[0].value), 42);
  assert_int_equal(atomic_load(&f->holder.arena->resource[0].fence_seen), 7);
  assert_string_equal(story(f), "acquire granted read write");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(a_grant_is_recorded_with_its_fence_and_its_end),
      TEST(a_busy_lock_is_asked_for_again_until_granted),
      TEST(a_place_in_a_queue_is_kept_between_tries_and_left_at_the_deadline),
      TEST(an_unknown_outcome_that_the_server_confirms_is_a_grant),
      TEST(an_unknown_outcome_that_the_server_denies_is_followed_by_a_new_attempt),
      TEST(what_stays_unknown_is_recorded_as_unknown_and_released_before_the_next_attempt),
      TEST(a_server_that_is_missing_is_a_timeout_with_its_reason),
      TEST(a_grant_that_is_over_when_it_is_read_is_let_go),
      TEST(release_is_recorded_before_the_request_and_lost_after_it),
      TEST(an_unknown_release_is_repeated),
      TEST(who_holds_nothing_touches_nothing),
      TEST(a_write_is_what_was_read_plus_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
