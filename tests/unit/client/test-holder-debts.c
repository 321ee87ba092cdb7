/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * What a holder asks of its protocol, request by request: for which key, with which grant, until when; what it owes
 * when an answer stays out, when it pays; and how long it pauses between two tries. On a clock that the test owns, on
 * which every request takes a millisecond.
 */
#include "test.h"
#include "client/holder.h"
#include "hook.h"

enum { INDEX = 2, LOG = 1, TTL_MS = 1000, CALLS_MAX = 400, ANSWERS_MAX = 40 };

enum hook { TRY, RELEASE, RESOLVE, WAIT, HOLDS, EXTEND, HOOKS };
static const char *const hook_names[HOOKS] = {"try", "release", "resolve", "wait", "holds", "extend"};

struct lb_session {
  struct call { /* a request, as the protocol saw it */
    enum hook hook;
    char key[LB_KEY_NAME_MAX];
    size_t token_len;
    uint64_t fence; /* of the grant that came along: the number of the try that it is of */
    lb_ns at, left; /* until the deadline */
  } call[CALLS_MAX];
  size_t calls;
  struct script {
    int answer[ANSWERS_MAX];
    size_t count, used;
    int then; /* when these are used up */
  } script[HOOKS];
  uint64_t tries;
  lb_ns lease; /* of the next grants, from their request on */
};

static struct world {
  struct lb_protocol protocol;
  struct lb_session session;
  struct lb_env env;
  struct lb_holder holder;
  lb_ns now;
  lb_ns pause[CALLS_MAX];
  size_t pauses;
} world;

static lb_ns now_hook(struct lb_env *env) {
  (void)env;
  return world.now;
}

static void sleep_hook(struct lb_env *env, lb_ns when) {
  (void)env;
  assert_true(world.pauses < CALLS_MAX);
  world.pause[world.pauses++] = when > world.now ? when - world.now : 0;
  if (when > world.now) world.now = when;
}

static int answered(struct lb_session *s, enum hook hook, const char *key, const struct lb_grant *grant,
                    lb_ns deadline) {
  assert_true(s->calls < CALLS_MAX);
  struct call *c = &s->call[s->calls++];
  struct script *script = &s->script[hook];
  *c = (struct call){.hook = hook,
                     .token_len = grant->token_len,
                     .fence = grant->fence,
                     .at = world.now,
                     .left = deadline > world.now ? deadline - world.now : 0};
  snprintf(c->key, sizeof c->key, "%s", key);
  world.now += LB_NS_PER_MS;
  int r = script->used < script->count ? script->answer[script->used++] : script->then;
  return r < 0 ? lb_fail(&world.env, r, "no server") : r;
}

HOOK(try_hook) {
  assert_int_equal(lock->ttl_ms, TTL_MS);
  lb_ns asked_at = world.now;
  int r = answered(s, TRY, lock->key, grant, deadline);
  if (grant->token_len == 0) *grant = (struct lb_grant){.token = "t", .token_len = 1, .fence = ++s->tries};
  grant->asked_at = asked_at;
  grant->valid_until = asked_at + s->lease;
  return r;
}

HOOK(release_hook) { return answered(s, RELEASE, lock->key, grant, deadline); }
HOOK(resolve_hook) { return answered(s, RESOLVE, lock->key, grant, deadline); }
HOOK(wait_hook) { return answered(s, WAIT, lock->key, grant, deadline); }
ASKS(holds_hook) { return answered(s, HOLDS, lock->key, grant, deadline); }

HOOK(extend_hook) {
  assert_int_equal(lock->ttl_ms, TTL_MS);
  grant->valid_until = world.now + s->lease;
  return answered(s, EXTEND, lock->key, grant, deadline);
}

static int set_up(void **state) {
  world = (struct world){.protocol = {.name = "script",
                                      .try_acquire = try_hook,
                                      .release = release_hook,
                                      .resolve = resolve_hook,
                                      .holds = holds_hook,
                                      .extend = extend_hook},
                         .session = {.lease = LB_NS_PER_S},
                         .env = {.now = now_hook, .sleep_until = sleep_hook},
                         .now = 1000 * LB_NS_PER_S};
  world.holder = (struct lb_holder){.protocol = &world.protocol,
                                    .session = &world.session,
                                    .env = &world.env,
                                    .memory = lb_memory_map(INDEX + 1, LOG + 1, 16),
                                    .client = INDEX,
                                    .log = LOG,
                                    .ttl_ms = TTL_MS,
                                    .prefix = "test",
                                    .rng = {42}};
  *state = &world;
  return world.holder.memory ? 0 : -1;
}

static int tear_down(void **state) {
  lb_memory_unmap(((struct world *)*state)->holder.memory);
  return 0;
}
EACH(set_up, tear_down);

static void start_again(void **state) {
  tear_down(state);
  assert_int_equal(set_up(state), 0);
}

static lb_ns in_ms(int64_t ms) { return world.now + (lb_ns)ms * LB_NS_PER_MS; }

/* What the hook answers, in order; the last one for ever. */
#define ANSWERS(hook, ...) answers(hook, (const int[]){__VA_ARGS__}, sizeof(const int[]){__VA_ARGS__} / sizeof(int))
static void answers(enum hook hook, const int *answer, size_t count) {
  struct script *script = &world.session.script[hook];
  *script = (struct script){.count = count, .then = answer[count - 1]};
  memcpy(script->answer, answer, count * sizeof *answer);
}

/* All requests since the begin, or since the last forget(), e.g. "try test-5, release test-5". */
static const char *requests(void) {
  static char text[CALLS_MAX * 40];
  text[0] = '\0';
  for (size_t i = 0; i < world.session.calls; i++) {
    const struct call *c = &world.session.call[i];
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s %s", i ? ", " : "", hook_names[c->hook], c->key);
  }
  return text;
}

static void forget(void) { world.session.calls = world.pauses = 0; }

static const struct lb_event *event(uint32_t i) {
  const struct lb_log *log = &world.holder.memory->log[LOG];
  assert_true(i < atomic_load(&log->count));
  return &world.holder.memory->events[log->first + i];
}

static const char *story(void) {
  static char text[1000];
  text[0] = '\0';
  for (uint32_t i = 0; i < atomic_load(&world.holder.memory->log[LOG].count); i++)
    strcat(strcat(text, i ? " " : ""), lb_event_kind_name(event(i)->kind));
  return text;
}

/* Every attempt on `key` stays unknown, and so becomes a debt. */
static void owe(uint32_t key) {
  ANSWERS(TRY, LB_UNKNOWN);
  ANSWERS(RESOLVE, LB_UNKNOWN);
  assert_int_equal(lb_holder_acquire(&world.holder, key, in_ms(1)), LB_UNKNOWN);
  ANSWERS(TRY, LB_OK);
  forget();
}

/* ---- whom and what ----------------------------------------------------------------------------------------------- */

TEST(every_event_names_its_client_and_its_key) {
  struct lb_holder *h = &world.holder;
  h->renew = true;
  assert_int_equal(lb_holder_acquire(h, 5, in_ms(100)), LB_OK);
  lb_holder_read(h);
  lb_holder_write(h);
  world.now = h->renew_at;
  lb_holder_renew(h);
  lb_holder_release(h, in_ms(100));
  ANSWERS(TRY, -ECONNREFUSED);
  assert_int_equal(lb_holder_acquire(h, 6, in_ms(5)), LB_TIMEOUT);
  assert_string_equal(story(), "acquire granted read write renewed release released acquire timeout");
  for (uint32_t i = 0; i < 9; i++) {
    assert_int_equal(event(i)->client, INDEX);
    assert_int_equal(event(i)->key, i < 7 ? 5 : 6);
    assert_int_equal(event(i)->fact, LB_NO_NAME);
  }
}

TEST(every_request_names_the_key) {
  struct lb_holder *h = &world.holder;
  h->renew = true;
  h->guard = LB_GUARD_RECHECK;
  world.protocol.wait = wait_hook;
  ANSWERS(TRY, LB_BUSY, LB_UNKNOWN);
  assert_int_equal(lb_holder_acquire(h, 5, in_ms(100)), LB_OK);
  lb_holder_read(h);
  world.now = h->renew_at;
  lb_holder_renew(h);
  lb_holder_release(h, in_ms(100));
  assert_string_equal(requests(), "try test-5, wait test-5, try test-5, resolve test-5, holds test-5, extend test-5, "
                                  "release test-5");
}

/* In turns, so that what one forgets to say is not right because the other has just said it. */
TEST(two_holders_do_not_mix_up_their_keys) {
  struct lb_holder *h = &world.holder;
  h->renew = true;
  h->guard = LB_GUARD_RECHECK;
  struct lb_holder other = *h;
  other.prefix = "other";
  assert_int_equal(lb_holder_acquire(&other, 7, in_ms(100)), LB_OK);
  assert_int_equal(lb_holder_acquire(h, 5, in_ms(100)), LB_OK);
  lb_holder_read(&other);
  lb_holder_read(h);
  world.now = h->renew_at;
  lb_holder_renew(&other);
  lb_holder_renew(h);
  lb_holder_release(&other, in_ms(100));
  lb_holder_release(h, in_ms(100));
  assert_string_equal(requests(),
                      "try other-7, try test-5, holds other-7, holds test-5, extend other-7, extend test-5, "
                      "release other-7, release test-5");
}

TEST(the_resource_of_the_key_is_read_and_written_and_both_values_recorded) {
  struct lb_holder *h = &world.holder;
  atomic_store(&h->memory->resource[5].value, 41);
  assert_int_equal(lb_holder_acquire(h, 5, in_ms(100)), LB_OK);
  assert_int_equal(lb_holder_read(h), LB_OK);
  assert_int_equal(lb_holder_write(h), LB_OK);
  assert_int_equal(atomic_load(&h->memory->resource[5].value), 42);
  assert_int_equal(event(2)->value, 41);
  assert_int_equal(event(3)->value, 42);
  assert_int_equal(event(3)->fence, 1);
}

TEST(each_attempt_begins_with_an_empty_grant) {
  struct lb_holder *h = &world.holder;
  for (uint64_t i = 1; i <= 3; i++) {
    forget();
    assert_int_equal(lb_holder_acquire(h, 0, in_ms(100)), LB_OK);
    assert_int_equal(world.session.call[0].token_len, 0);
    assert_int_equal(h->grant.fence, i);
    assert_int_equal(lb_holder_release(h, in_ms(100)), LB_OK);
    assert_int_equal(world.session.call[1].fence, i);
  }
}

TEST(every_grant_is_counted_for_the_live_line) {
  for (uint64_t i = 1; i <= 3; i++) {
    assert_int_equal(lb_holder_acquire(&world.holder, 0, in_ms(100)), LB_OK);
    assert_int_equal(atomic_load(&world.holder.memory->grants), i);
    lb_holder_release(&world.holder, in_ms(100));
  }
  ANSWERS(TRY, -ECONNREFUSED);
  lb_holder_acquire(&world.holder, 0, in_ms(5));
  assert_int_equal(atomic_load(&world.holder.memory->grants), 3);
}

STATES(the_reason_of_an_earlier_failure_does_not_outlive_it, strcpy(world.env.err, "connection refused"),
       assert_int_equal(lb_holder_acquire(&world.holder, 0, in_ms(100)), LB_OK),
       assert_string_equal(world.env.err, ""));
STATES(a_guard_that_nobody_knows_lets_nothing_pass, world.holder.guard = (enum lb_guard)99,
       assert_int_equal(lb_holder_acquire(&world.holder, 0, in_ms(100)), LB_OK),
       assert_int_equal(lb_holder_read(&world.holder), LB_LOST));

/* ---- debts ------------------------------------------------------------------------------------------------------- */

TEST(a_failed_release_is_paid_before_the_next_attempt) {
  const int failures[] = {LB_UNKNOWN, -ECONNRESET};
  for (size_t i = 0; i < 2; i++) {
    assert_int_equal(lb_holder_acquire(&world.holder, 5, in_ms(100)), LB_OK);
    ANSWERS(RELEASE, failures[i]);
    assert_int_equal(lb_holder_release(&world.holder, in_ms(30)), LB_UNKNOWN);
    assert_string_equal(story(), "acquire granted release");
    assert_int_equal(world.holder.debt_count, 1);
    forget();
    ANSWERS(RELEASE, LB_OK);
    assert_int_equal(lb_holder_acquire(&world.holder, 6, in_ms(100)), LB_OK);
    assert_string_equal(requests(), "release test-5, try test-6");
    assert_int_equal(world.session.call[0].fence, 1); /* with the grant of then */
    assert_int_equal(world.holder.debt_count, 0);
    start_again(state);
  }
}

STATES(a_debt_that_the_service_does_not_know_any_more_is_paid, owe(3), ANSWERS(RELEASE, LB_LOST),
       assert_int_equal(lb_holder_acquire(&world.holder, 0, in_ms(100)), LB_OK),
       assert_int_equal(world.holder.debt_count, 0));

TEST(what_cannot_be_paid_now_is_owed_until_it_can) {
  struct lb_holder *h = &world.holder;
  ANSWERS(RELEASE, LB_UNKNOWN);
  for (uint32_t key = 1; key <= 4; key++) owe(key);
  ANSWERS(RELEASE, LB_OK, LB_UNKNOWN, LB_LOST, -ECONNREFUSED, LB_OK);
  assert_int_equal(lb_holder_acquire(h, 0, in_ms(100)), LB_OK);
  assert_string_equal(requests(), "release test-1, release test-2, release test-3, release test-4, try test-0");
  assert_int_equal(h->debt_count, 2);
  assert_int_equal(lb_holder_release(h, in_ms(100)), LB_OK);
  forget();
  assert_int_equal(lb_holder_release(h, in_ms(100)), LB_BUSY); /* it holds nothing: so it pays */
  assert_string_equal(requests(), "release test-2, release test-4");
  assert_int_equal(world.session.call[0].fence, 2);
  assert_int_equal(world.session.call[1].fence, 4);
  assert_int_equal(h->debt_count, 0);
}

TEST(of_too_many_debts_the_oldest_is_forgotten) {
  struct lb_holder *h = &world.holder;
  ANSWERS(RELEASE, LB_UNKNOWN);
  for (uint32_t key = 1; key <= LB_DEBTS_MAX + 2; key++) owe(key);
  assert_int_equal(h->debt_count, LB_DEBTS_MAX);
  for (uint32_t i = 0; i < LB_DEBTS_MAX; i++) {
    assert_int_equal(h->debt[i].key, i + 3);
    assert_int_equal(h->debt[i].grant.fence, i + 3);
  }
}

TEST(paying_takes_half_a_second_at_most_and_never_longer_than_the_attempt) {
  owe(3);
  ANSWERS(RELEASE, LB_UNKNOWN);
  assert_int_equal(lb_holder_acquire(&world.holder, 0, in_ms(10000)), LB_OK);
  assert_int_equal(world.session.call[0].left, 500 * LB_NS_PER_MS);
  lb_holder_release(&world.holder, in_ms(1));
  forget();
  assert_int_equal(lb_holder_acquire(&world.holder, 0, in_ms(70)), LB_OK);
  assert_int_equal(world.session.call[0].left, 70 * LB_NS_PER_MS);
}

/* As an insert that was given up, and done when the holder let go. */
TEST(who_is_refused_pays_again_and_is_not_in_its_own_way) {
  owe(3);
  ANSWERS(RELEASE, LB_UNKNOWN, LB_OK);
  ANSWERS(TRY, LB_BUSY, LB_OK);
  assert_int_equal(lb_holder_acquire(&world.holder, 3, in_ms(2000)), LB_OK);
  assert_string_equal(requests(), "release test-3, try test-3, release test-3, try test-3");
  assert_int_equal(world.session.call[2].fence, 1); /* with the grant of then */
  assert_int_equal(world.session.call[2].left, 500 * LB_NS_PER_MS);
  assert_int_equal(world.holder.debt_count, 0);
}

TEST(what_cannot_be_paid_is_called_in_every_half_second_and_not_with_every_try) {
  lb_ns paid[10];
  size_t payments = 0;
  owe(3);
  ANSWERS(RELEASE, LB_UNKNOWN);
  ANSWERS(TRY, LB_BUSY);
  lb_ns begin = world.now;
  lb_holder_acquire(&world.holder, 3, in_ms(1900));
  for (size_t i = 0; i < world.session.calls; i++)
    if (world.session.call[i].hook == RELEASE) paid[payments++] = world.session.call[i].at - begin;
  assert_int_equal(payments, 5); /* before the first try, after it, and three times more */
  for (size_t i = 2; i < payments; i++) assert_in_range((paid[i] - paid[i - 1]) / LB_NS_PER_MS, 501, 501 + 17 + 1);
}

TEST(paying_between_two_tries_ends_with_the_attempt) {
  owe(3);
  ANSWERS(RELEASE, LB_UNKNOWN);
  ANSWERS(TRY, LB_BUSY);
  lb_holder_acquire(&world.holder, 3, in_ms(70));
  assert_string_equal(hook_names[world.session.call[2].hook], "release");
  assert_int_equal(world.session.call[2].left, 68 * LB_NS_PER_MS);
}

STATES(who_is_not_refused_is_not_in_its_own_way, owe(3), ANSWERS(RELEASE, LB_UNKNOWN),
       ANSWERS(TRY, -ECONNREFUSED, LB_OK), assert_int_equal(lb_holder_acquire(&world.holder, 3, in_ms(2000)), LB_OK),
       assert_string_equal(requests(), "release test-3, try test-3, try test-3"));

/* ---- attempts that end without a hold ---------------------------------------------------------------------------- */

/* Refused until the deadline, in a queue: what the service says when it is left. */
static int leave_a_queue(int answer) {
  world.protocol.traits = LB_TRAIT_QUEUES;
  ANSWERS(TRY, LB_BUSY);
  ANSWERS(RELEASE, answer);
  return lb_holder_acquire(&world.holder, 4, in_ms(3));
}

TEST(a_queue_is_left_within_half_a_second_with_the_place_that_was_held) {
  assert_int_not_equal(leave_a_queue(LB_OK), LB_UNKNOWN);
  const struct call *last = &world.session.call[world.session.calls - 1];
  assert_int_equal(last->hook, RELEASE);
  assert_string_equal(last->key, "test-4");
  assert_int_equal(last->fence, 1);
  assert_int_equal(last->left, 500 * LB_NS_PER_MS);
  assert_int_equal(world.holder.debt_count, 0);
}

STATES(a_place_that_the_service_had_forgotten_leaves_no_debt, assert_int_not_equal(leave_a_queue(LB_LOST), LB_UNKNOWN),
       assert_int_equal(world.holder.debt_count, 0));

TEST(a_queue_that_cannot_be_left_is_an_unknown_outcome_and_a_debt) {
  const int failures[] = {LB_UNKNOWN, -ECONNRESET};
  for (size_t i = 0; i < 2; i++) {
    assert_int_equal(leave_a_queue(failures[i]), LB_UNKNOWN);
    assert_string_equal(story(), "acquire unknown");
    assert_int_equal(world.holder.debt_count, 1);
    assert_int_equal(world.holder.debt[0].key, 4);
    start_again(state);
  }
}

STATES(where_there_is_no_queue_a_refusal_leaves_nothing_to_release, ANSWERS(TRY, LB_BUSY),
       assert_int_not_equal(lb_holder_acquire(&world.holder, 0, in_ms(30)), LB_UNKNOWN),
       assert_null(strstr(requests(), "release")), assert_int_equal(world.holder.debt_count, 0));
STATES(a_missing_server_has_no_queue_to_leave, world.protocol.traits = LB_TRAIT_QUEUES, ANSWERS(TRY, -ECONNREFUSED),
       assert_int_equal(lb_holder_acquire(&world.holder, 0, in_ms(30)), LB_TIMEOUT),
       assert_null(strstr(requests(), "release")));

TEST(an_unknown_place_in_a_queue_is_owed_and_not_left_twice) {
  world.protocol.traits = LB_TRAIT_QUEUES;
  ANSWERS(TRY, LB_UNKNOWN);
  ANSWERS(RESOLVE, LB_UNKNOWN);
  assert_int_equal(lb_holder_acquire(&world.holder, 0, in_ms(30)), LB_UNKNOWN);
  assert_null(strstr(requests(), "release"));
  assert_int_equal(world.holder.debt_count, 1);
}

/* The first grant is over when it is read. Returns what is owed then. */
static size_t let_a_late_grant_go(int answer) {
  world.session.lease = 1;
  ANSWERS(RELEASE, answer);
  ANSWERS(TRY, LB_OK, -ECONNREFUSED);
  assert_int_equal(lb_holder_acquire(&world.holder, 4, in_ms(30)), LB_TIMEOUT);
  assert_memory_equal(requests(), "try test-4, release test-4, try test-4", 38);
  assert_int_equal(world.session.call[1].left, 500 * LB_NS_PER_MS);
  assert_int_equal(world.session.call[2].token_len, 0); /* the next try is a new one */
  return world.holder.debt_count;
}

TEST(a_late_grant_is_owed_unless_the_service_confirms_that_it_is_gone) {
  static const struct {
    int answer;
    size_t owed;
  } cases[] = {{LB_OK, 0}, {LB_LOST, 0}, {LB_UNKNOWN, 1}, {-ECONNRESET, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(let_a_late_grant_go(cases[i].answer), cases[i].owed);
    if (cases[i].owed) assert_int_equal(world.holder.debt[0].grant.fence, 1);
    start_again(state);
  }
}

/* ---- the deadline ------------------------------------------------------------------------------------------------ */

/* Each try takes a millisecond, so the third one ends just then. */
STATES(an_attempt_is_over_at_its_deadline_and_not_after_it, world.protocol.wait = wait_hook,
       world.protocol.traits = LB_TRAIT_QUEUES, ANSWERS(TRY, LB_BUSY),
       assert_int_not_equal(lb_holder_acquire(&world.holder, 0, in_ms(3)), LB_OK),
       assert_string_equal(requests(), "try test-0, wait test-0, try test-0, release test-0"));
STATES(an_unknown_attempt_is_asked_about_until_its_deadline_and_not_after_it, ANSWERS(TRY, LB_UNKNOWN),
       ANSWERS(RESOLVE, LB_UNKNOWN), assert_int_equal(lb_holder_acquire(&world.holder, 0, in_ms(2)), LB_UNKNOWN),
       assert_string_equal(requests(), "try test-0, resolve test-0"), assert_int_equal(world.pauses, 0));
STATES(a_release_is_repeated_until_its_deadline_and_not_after_it, lb_holder_acquire(&world.holder, 0, in_ms(100)),
       forget(), ANSWERS(RELEASE, LB_UNKNOWN), assert_int_equal(lb_holder_release(&world.holder, in_ms(1)), LB_UNKNOWN),
       assert_string_equal(requests(), "release test-0"));

/* ---- pauses ------------------------------------------------------------------------------------------------------ */

enum { ROUNDS = 300, PAUSES = 8 };

/* The longest pause before each retry over many attempts, in microseconds. */
static void longest_pauses(int64_t wait_ms, bool release, uint64_t longest_us[PAUSES], uint64_t shortest_us[PAUSES]) {
  for (int i = 0; i < PAUSES; i++) longest_us[i] = 0, shortest_us[i] = UINT64_MAX;
  for (int round = 0; round < ROUNDS; round++) {
    atomic_store(&world.holder.memory->log[LOG].count, 0);
    forget();
    if (release) {
      lb_holder_acquire(&world.holder, 0, in_ms(100));
      lb_holder_release(&world.holder, in_ms(wait_ms));
    } else {
      lb_holder_acquire(&world.holder, 0, in_ms(wait_ms));
    }
    world.holder.debt_count = 0;
    assert_true(world.pauses > PAUSES);
    for (int i = 0; i < PAUSES; i++) {
      uint64_t us = world.pause[i] / 1000;
      if (us > longest_us[i]) longest_us[i] = us;
      if (us < shortest_us[i]) shortest_us[i] = us;
    }
  }
}

TEST(the_pause_before_a_retry_is_drawn_below_a_bound_that_doubles_to_16_ms) {
  uint64_t longest[PAUSES], shortest[PAUSES];
  ANSWERS(TRY, LB_BUSY);
  longest_pauses(1000, false, longest, shortest);
  for (int i = 0; i < PAUSES; i++) {
    uint64_t bound = 1000u << (i < 4 ? i : 4);
    assert_in_range(longest[i], bound * 9 / 10, bound);
    assert_in_range(shortest[i], 0, bound / 10);
  }
}

TEST(an_unknown_attempt_is_asked_about_every_1_to_11_ms) {
  uint64_t longest[PAUSES], shortest[PAUSES];
  ANSWERS(TRY, LB_UNKNOWN);
  ANSWERS(RESOLVE, LB_UNKNOWN);
  longest_pauses(1000, false, longest, shortest);
  for (int i = 0; i < PAUSES; i++) {
    assert_int_equal(longest[i], 10000);
    assert_int_equal(shortest[i], 1000);
  }
}

TEST(a_release_without_an_answer_is_repeated_within_10_ms) {
  uint64_t longest[PAUSES], shortest[PAUSES];
  ANSWERS(RELEASE, LB_UNKNOWN);
  longest_pauses(1000, true, longest, shortest);
  for (int i = 0; i < PAUSES; i++) {
    assert_in_range(longest[i], 9000, 10000);
    assert_in_range(shortest[i], 0, 1000);
  }
}

TEST(no_pause_goes_beyond_the_deadline) {
  for (int round = 0; round < 50; round++) {
    lb_ns deadline = in_ms(40);
    world.holder.rng.state = (uint64_t)round;
    ANSWERS(TRY, LB_BUSY);
    lb_holder_acquire(&world.holder, 0, deadline);
    assert_true(world.now <= deadline + LB_NS_PER_MS); /* the request that was under way */
    start_again(state);
  }
}

TEST(who_is_told_when_to_try_again_does_not_pause_besides) {
  const int answer[] = {LB_OK, LB_TIMEOUT};
  for (size_t i = 0; i < 2; i++) {
    world.protocol.wait = wait_hook;
    ANSWERS(TRY, LB_BUSY, LB_BUSY, LB_OK);
    ANSWERS(WAIT, answer[i]);
    assert_int_equal(lb_holder_acquire(&world.holder, 0, in_ms(100)), LB_OK);
    assert_string_equal(requests(), "try test-0, wait test-0, try test-0, wait test-0, try test-0");
    assert_int_equal(world.pauses, 0);
    start_again(state);
  }
}

STATES(who_cannot_be_told_pauses, world.protocol.wait = wait_hook, ANSWERS(TRY, LB_BUSY, LB_BUSY, LB_OK),
       ANSWERS(WAIT, -ECONNRESET), assert_int_equal(lb_holder_acquire(&world.holder, 0, in_ms(100)), LB_OK),
       assert_int_equal(world.pauses, 2));
