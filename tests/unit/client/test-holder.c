/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * The holder against a protocol that answers what the test says, on a clock that the test owns.
 */
#include "test.h"
#include "base/clock.h"
#include "client/hook.h"
#include "client/holder.h"
#include "story/say.h"
#include "hook.h"

/* ---- a protocol by script, a clock by hand ----------------------------------------------------------------------- */

struct lb_session {
  int acquires[16], releases[16], resolves[8];
  int acquire_calls, release_calls, resolve_calls, wait_calls;
  size_t token_len_seen[8];
  uint64_t voters, seen;
  int servers[8], server_calls; /* what the hook `server` says, one after the other */
  int late_replies;             /* so many grants are over when they are read */
  int holds_answer, doubt_answer, extend_answer, extend_calls;
  int wait_answer;
  bool patient_seen[64]; /* of each try_acquire */
  bool renews_for_ever;
  lb_ns validity;                               /* of a grant; 0 = the whole ttl */
  lb_ns asked_until;                            /* the deadline of the latest holds or extend, counted from then */
  bool seen_asking, seen_holding, seen_waiting; /* what the memory said of this client during the latest try_acquire */
  struct lb_client_state *state;
  const char *says;             /* what a failed try_acquire leaves in env->err; NULL = nothing */
  bool overruns;                /* it fills env->err without an end */
  const struct lb_grant *gives; /* NULL = a good grant */
  bool sets_back;               /* the clock, while it answers */
  int hook_seen;
  lb_ns deadline_seen;
  lb_ns try_until, resolve_until; /* the deadline of the latest, counted from then; 0 = it was not called */
  struct lb_env *env;
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

HOOK(try_acquire_hook) {
  s->patient_seen[s->acquire_calls] = lock->patient;
  s->try_until = deadline - fake_now;
  s->token_len_seen[s->acquire_calls] = grant->token_len;
  int r = s->acquires[s->acquire_calls++];
  s->seen_asking = atomic_load(&s->state->asks);
  s->seen_holding = atomic_load(&s->state->holds);
  s->seen_waiting = atomic_load(&s->state->waits);
  s->hook_seen = atomic_load(&s->state->hook);
  s->deadline_seen = atomic_load(&s->state->hook_deadline);
  if (s->says) snprintf(s->env->err, sizeof s->env->err, "%s", s->says);
  if (s->overruns) memset(s->env->err, 'x', sizeof s->env->err);
  grant->token_len = 4;
  grant->fence = 7;
  grant->asked_at = fake_now;
  grant->valid_until = fake_now + (s->late_replies-- > 0 ? 1 : s->validity ? s->validity : LB_NS_PER_S);
  if (s->gives) *grant = *s->gives;
  fake_now = s->sets_back ? 1 : fake_now + LB_NS_PER_MS;
  return r;
}
HOOK(release_hook) {
  fake_now += LB_NS_PER_MS;
  return s->releases[s->release_calls++];
}
HOOK(resolve_hook) {
  s->resolve_until = deadline - fake_now;
  fake_now += LB_NS_PER_MS;
  return s->resolves[s->resolve_calls++];
}
HOOK(wait_hook) {
  s->wait_calls++;
  fake_now += LB_NS_PER_MS;
  return s->wait_answer;
}

ASKS(holds_hook) {
  s->asked_until = deadline - fake_now;
  return s->holds_answer;
}
static int doubt_hook(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
  (void)lock, (void)grant;
  return s->doubt_answer;
}
static uint64_t voters_hook(struct lb_session *s) { return s->voters; }
static uint64_t seen_hook(struct lb_session *s) { return s->seen; }
static int server_hook(struct lb_session *s) { return s->servers[s->server_calls++]; }
HOOK(extend_hook) {
  s->extend_calls++;
  s->asked_until = deadline - fake_now;
  if (s->extend_answer == LB_OK)
    grant->valid_until = s->renews_for_ever ? LB_NEVER : fake_now + (lb_ns)lock->ttl_ms * LB_NS_PER_MS;
  return s->extend_answer;
}

static char points_passed[200];
static void point_hook(struct lb_env *env, const char *name) {
  (void)env;
  strcat(strcat(points_passed, name), " ");
}

struct fixture {
  struct lb_protocol protocol;
  struct lb_proofs proofs;
  struct lb_session session;
  struct lb_env env;
  struct lb_holder holder;
};
static struct fixture fixture, *const f = &fixture;

static int set_up(void **state) {
  *f = (struct fixture){.protocol = {.name = "script",
                                     .try_acquire = try_acquire_hook,
                                     .release = release_hook,
                                     .resolve = resolve_hook,
                                     .proofs = &f->proofs},
                        .env = {.now = now_hook, .sleep_until = sleep_hook, .point = point_hook}};
  fake_now = 1;
  points_passed[0] = '\0';
  f->holder = (struct lb_holder){.protocol = &f->protocol,
                                 .session = &f->session,
                                 .env = &f->env,
                                 .memory = lb_memory_map(1, 1, 2),
                                 .ttl_ms = 1000,
                                 .prefix = "test",
                                 .rng = {42}};
  (void)state;
  if (!f->holder.memory) return -1;
  f->session.state = &f->holder.memory->state[0];
  f->session.env = &f->env;
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  lb_memory_unmap(f->holder.memory);
  return 0;
}
EACH(set_up, tear_down);

static void start_afresh(void) {
  tear_down(NULL);
  set_up(NULL);
}

/* The kinds of all recorded events as one word, e.g. "acquire granted", and of a check what it came to. */
static const char *story(void) {
  static char text[400];
  text[0] = '\0';
  const struct lb_memory *memory = f->holder.memory;
  for (uint32_t i = 0; i < atomic_load(&memory->log[0].count); i++) {
    if (i) strcat(text, " ");
    const struct lb_event *e = &memory->events[memory->log[0].first + i];
    strcat(text, lb_event_kind_name(e->kind));
    if (e->flags & LB_EVF_CHECK) strcat(strcat(strcat(text, "("), lb_say_check(e->check)), ")");
  }
  return text;
}

static lb_ns in_ms(int ms) { return fake_now + (lb_ns)ms * LB_NS_PER_MS; }

/* ---- what it does, and answers ------------------------------------------------------------------------------------ */

static void acquire(int ms, int expected) { assert_int_equal(lb_holder_acquire(&f->holder, 0, in_ms(ms)), expected); }
static void release(int ms, int expected) { assert_int_equal(lb_holder_release(&f->holder, in_ms(ms)), expected); }
static void read_is(int expected) { assert_int_equal(lb_holder_read(&f->holder), expected); }
static void write_is(int expected) { assert_int_equal(lb_holder_write(&f->holder), expected); }
static void renew_is(int expected) { assert_int_equal(lb_holder_renew(&f->holder), expected); }
static void tells(const char *expected) { assert_string_equal(story(), expected); }

/* ---- statements -------------------------------------------------------------------------------------------------- */

TEST(a_grant_is_recorded_with_its_fence_and_its_end) {
  acquire(100, LB_OK);
  tells("acquire granted");
  const struct lb_event *granted = &f->holder.memory->events[1];
  assert_int_equal(granted->fence, 7);
  assert_int_equal(granted->flags, LB_EVF_FENCE | LB_EVF_UNTIL);
  assert_true(f->holder.holding);
}

TEST(a_busy_lock_is_asked_for_again_until_granted) {
  memcpy(f->session.acquires, (int[]){LB_BUSY, LB_BUSY, LB_OK}, 3 * sizeof(int));
  acquire(1000, LB_OK);
  assert_int_equal(f->session.acquire_calls, 3);
  tells("acquire granted");
  assert_int_equal(f->session.token_len_seen[1], 0); /* a refused attempt is over: the next one is new */
}

TEST(a_place_in_a_queue_is_kept_between_tries_and_left_at_the_deadline) {
  f->protocol.traits = LB_TRAIT_QUEUES | LB_TRAIT_WAKES;
  f->protocol.wait = wait_hook;
  for (int i = 0; i < 8; i++) f->session.acquires[i] = LB_BUSY;
  acquire(7, LB_BUSY);
  assert_int_equal(f->session.token_len_seen[1], 4);
  assert_true(f->session.wait_calls > 0);
  assert_int_equal(f->session.release_calls, 1);
  tells("acquire busy");
}

/* Every time, and not past the deadline. */
TEST(who_says_how_long_it_pauses_is_asked_again_then) {
  f->holder.poll_ms = 3;
  for (int i = 0; i < 4; i++) f->session.acquires[i] = LB_BUSY;
  lb_ns deadline = in_ms(14);
  assert_int_equal(lb_holder_acquire(&f->holder, 0, deadline), LB_BUSY);
  assert_int_equal(f->session.acquire_calls, 4); /* each takes a millisecond: at 0, 4, 8 and 12 */
  assert_int_equal(fake_now, deadline);
}

/* An option of the protocol may say so (lb_wakes()). */
TEST(who_polls_does_not_use_the_hook) {
  f->protocol.wait = wait_hook;
  f->holder.polls = true;
  memcpy(f->session.acquires, (int[]){LB_BUSY, LB_BUSY, LB_OK}, 3 * sizeof(int));
  acquire(1000, LB_OK);
  assert_int_equal(f->session.wait_calls, 0);
}

TEST(an_option_says_whether_waiters_are_told) {
  static const struct lb_option options[] = {
      {.name = "other", .type = LB_OPT_BOOL}, {.name = "wake", .type = LB_OPT_BOOL}, {0}};
  union lb_value values[] = {{.b = true}, {.b = false}};
  assert_false(lb_wakes(&f->protocol, NULL)); /* no hook */
  f->protocol.wait = wait_hook;
  assert_true(lb_wakes(&f->protocol, NULL));
  f->protocol.options = options;
  assert_false(lb_wakes(&f->protocol, NULL));
  assert_false(lb_wakes(&f->protocol, values));
  values[1].b = true;
  assert_true(lb_wakes(&f->protocol, values));
  f->protocol.wait = NULL;
  assert_false(lb_wakes(&f->protocol, values));
}

TEST(an_option_says_whether_a_try_waits_for_its_turn) {
  static const char *const words[] = {"poll", "block", NULL};
  static const struct lb_option options[] = {{.name = "wait", .type = LB_OPT_CHOICE, .words = words}, {0}};
  union lb_value values[] = {{.i = 1}};
  assert_false(lb_waits_inside(&f->protocol, values)); /* no such option */
  f->protocol.options = options;
  assert_true(lb_waits_inside(&f->protocol, values));
  assert_false(lb_waits_inside(&f->protocol, NULL));
  values[0].i = 0;
  assert_false(lb_waits_inside(&f->protocol, values));
  f->protocol.traits |= LB_TRAIT_WAITS_INSIDE;
  assert_true(lb_waits_inside(&f->protocol, values));
}

TEST(an_unknown_outcome_that_the_server_confirms_is_a_grant) {
  f->session.acquires[0] = LB_UNKNOWN;
  memcpy(f->session.resolves, (int[]){LB_UNKNOWN, LB_OK}, 2 * sizeof(int));
  acquire(1000, LB_OK);
  tells("acquire granted");
}

TEST(an_unknown_outcome_that_the_server_denies_is_followed_by_a_new_attempt) {
  memcpy(f->session.acquires, (int[]){LB_UNKNOWN, LB_OK}, 2 * sizeof(int));
  f->session.resolves[0] = LB_BUSY;
  acquire(1000, LB_OK);
  assert_int_equal(f->session.token_len_seen[1], 0);
}

TEST(what_stays_unknown_is_recorded_as_unknown_and_released_before_the_next_attempt) {
  f->session.acquires[0] = LB_UNKNOWN;
  for (int i = 0; i < 8; i++) f->session.resolves[i] = LB_UNKNOWN;
  acquire(3, LB_UNKNOWN);
  tells("acquire unknown");
  assert_int_equal(f->session.release_calls, 0);
  acquire(100, LB_OK);
  assert_int_equal(f->session.release_calls, 1);
  tells("acquire unknown released acquire granted");
  assert_int_equal(f->holder.debt_count, 0);
}

/* Each for so long, and the acquire for as long as it may take. */
TEST(a_request_that_is_not_answered_in_time_is_given_up_and_asked_about) {
  f->holder.request_ms = 20;
  f->session.acquires[0] = LB_UNKNOWN;
  memcpy(f->session.resolves, (int[]){LB_UNKNOWN, LB_OK}, 2 * sizeof(int));
  acquire(1000, LB_OK);
  assert_int_equal(f->session.resolve_calls, 2);
  assert_int_equal(f->session.try_until, 20 * LB_NS_PER_MS);
  assert_int_equal(f->session.resolve_until, 20 * LB_NS_PER_MS);
}

STATES(no_request_is_waited_for_beyond_the_end_of_the_acquire, f->holder.request_ms = 2000,
       f->session.acquires[0] = LB_UNKNOWN, acquire(1000, LB_OK), assert_int_equal(f->session.try_until, LB_NS_PER_S),
       assert_int_equal(f->session.resolve_until, LB_NS_PER_S - LB_NS_PER_MS));
STATES(without_a_limit_of_its_own_a_request_may_take_as_long_as_the_acquire, f->session.acquires[0] = LB_UNKNOWN,
       acquire(1000, LB_OK), assert_int_equal(f->session.try_until, LB_NS_PER_S),
       assert_int_equal(f->session.resolve_until, LB_NS_PER_S - LB_NS_PER_MS));
STATES(who_queues_may_wait_for_its_turn_in_a_try, f->holder.request_ms = 20, f->protocol.traits = LB_TRAIT_QUEUES,
       acquire(1000, LB_OK), assert_int_equal(f->session.try_until, LB_NS_PER_S));

/* The last try may stay without an answer because the time was over; the service did answer. */
TEST(an_unknown_acquire_says_that_an_earlier_try_was_refused) {
  memcpy(f->session.acquires, (int[]){LB_BUSY, LB_UNKNOWN}, 2 * sizeof(int));
  for (int i = 0; i < 8; i++) f->session.resolves[i] = LB_UNKNOWN;
  acquire(30, LB_UNKNOWN);
  assert_int_equal(f->holder.memory->events[1].kind, LB_EV_UNKNOWN);
  assert_int_equal(f->holder.memory->events[1].flags, LB_EVF_REFUSED);
}

TEST(a_server_that_is_missing_is_a_timeout_with_its_reason) {
  for (int i = 0; i < 8; i++) f->session.acquires[i] = -ECONNREFUSED;
  f->session.says = "cannot connect to 127.0.0.1:1";
  acquire(3, LB_TIMEOUT);
  tells("acquire timeout");
  assert_string_equal(f->env.err, "try_acquire: cannot connect to 127.0.0.1:1");
  assert_string_equal(f->session.state->error, "try_acquire: cannot connect to 127.0.0.1:1");
}

TEST(an_error_is_of_the_acquire_it_came_in) {
  for (int i = 0; i < 8; i++) f->session.acquires[i] = -ECONNREFUSED;
  f->session.says = "no server";
  lb_holder_acquire(&f->holder, 0, in_ms(3));
  for (int i = 0; i < 8; i++) f->session.acquires[i] = LB_BUSY;
  f->session.acquire_calls = 0;
  f->session.says = NULL;
  acquire(3, LB_BUSY);
  assert_string_equal(f->env.err, "");
  assert_string_equal(f->session.state->error, "try_acquire: no server"); /* the latest there was */
}

TEST(a_failure_without_a_text_is_told_by_its_number) {
  for (int i = 0; i < 8; i++) f->session.acquires[i] = -ECONNREFUSED;
  lb_holder_acquire(&f->holder, 0, in_ms(3));
  assert_string_equal(f->session.state->error, "try_acquire: Connection refused (it left no text)");
}

/* A text is whatever the plugin left there. */
TEST(a_broken_text_is_made_printable) {
  for (int i = 0; i < 8; i++) f->session.acquires[i] = -EIO;
  f->session.says = "a\nb\x80"
                    "c\033[2J";
  lb_holder_acquire(&f->holder, 0, in_ms(3));
  assert_string_equal(f->session.state->error, "try_acquire: a b?c?[2J");
  f->session.overruns = true;
  lb_holder_acquire(&f->holder, 0, in_ms(3));
  assert_string_equal(f->session.state->breach, "try_acquire left a text in env->err that does not end");
}

TEST(who_is_refused_is_told_apart_from_whom_nobody_answers) {
  for (int i = 0; i < 8; i++) f->session.acquires[i] = LB_BUSY;
  acquire(3, LB_BUSY);
  tells("acquire busy");
  f->session.acquire_calls = 0;
  for (int i = 0; i < 8; i++) f->session.acquires[i] = LB_TIMEOUT;
  acquire(3, LB_TIMEOUT);
  tells("acquire busy acquire timeout");
}

TEST(one_refusal_in_an_acquire_is_enough) {
  for (int i = 0; i < 8; i++) f->session.acquires[i] = -EIO;
  f->session.acquires[0] = LB_BUSY;
  acquire(3, LB_BUSY);
  tells("acquire busy");
}

/* Before each try, and when all is over: which server the session talks to; then who is recorded, -1 = nobody. */
TEST(every_outcome_names_the_server_that_was_asked) {
  static const struct {
    int answer, servers[3], recorded;
    const char *story;
  } cases[] = {{LB_OK, {0, 2}, 2, "acquire granted server"},
               {LB_OK, {0, -ENOENT}, -1, "acquire granted"},
               {LB_BUSY, {0, 2}, 2, "acquire busy server"},
               {LB_TIMEOUT, {0, 2}, 2, "acquire timeout server"},
               {LB_TIMEOUT, {2, -ENOENT}, -1, "acquire timeout"}, /* it may never have left */
               {LB_UNKNOWN, {2, 0}, 0, "acquire unknown server"},
               {LB_UNKNOWN, {2, -ENOENT}, 2, "acquire unknown server"}, /* dropped, as it brought no answer */
               {LB_UNKNOWN, {-ENOENT, -ENOENT}, -1, "acquire unknown"},
               {-ENOLINK,
                {2, 2, -ENOENT},
                2,
                "acquire timeout server"}, /* an error is an answer, though the server has gone since */
               {-ENOLINK, {2, 2, 1}, 1, "acquire timeout server"},
               {-ENOLINK, {2, 0, -ENOENT}, 0, "acquire timeout server"},
               {-ECONNRESET, {2, -ENOENT, -ENOENT}, -1, "acquire timeout"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    start_afresh();
    f->proofs.server = server_hook;
    f->holder.names_server = true;
    f->holder.endpoint_count = 3;
    f->session.acquires[0] = cases[i].answer;
    f->session.resolves[0] = LB_UNKNOWN;
    memcpy(f->session.servers, cases[i].servers, sizeof cases[i].servers);
    lb_holder_acquire(&f->holder, 0, in_ms(1));
    tells(cases[i].story);
    if (cases[i].recorded >= 0) assert_int_equal(f->holder.memory->events[2].value, cases[i].recorded);
    int latest = cases[i].servers[f->session.server_calls - 1]; /* and what is noted for the controller: 0 = none */
    assert_int_equal(atomic_load(&f->holder.memory->state[0].server), latest < 0 ? 0 : latest + 1);
  }
}

/* A library may be unable to tell a refusal from silence. */
TEST(a_library_that_waits_inside_waits_after_its_first_try_whatever_that_said) {
  static const int firsts[] = {LB_BUSY, LB_TIMEOUT};
  for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++) {
    start_afresh();
    f->holder.waits_inside = true;
    f->holder.names_server = true;
    f->session.acquires[0] = firsts[i];
    acquire(100, LB_OK);
    assert_int_equal(f->session.acquire_calls, 2);
    assert_false(f->session.patient_seen[0]);
    assert_true(f->session.patient_seen[1]);
    assert_true(f->session.seen_waiting);
  }
}

TEST(a_grant_by_votes_names_who_said_yes) {
  f->proofs.voters = voters_hook;
  f->session.voters = 5;
  f->holder.names_server = true;
  f->holder.endpoint_count = 3;
  acquire(100, LB_OK);
  tells("acquire granted voted");
  assert_int_equal(f->holder.memory->events[2].value, 5);
}

TEST(voters_that_are_none_of_the_endpoints_break_the_contract) {
  static const uint64_t wrong[] = {0, 8};
  for (size_t i = 0; i < 2; i++) {
    start_afresh();
    f->proofs.voters = voters_hook;
    f->session.voters = wrong[i];
    f->holder.names_server = true;
    f->holder.endpoint_count = 3;
    lb_holder_acquire(&f->holder, 0, in_ms(100));
    assert_true(f->holder.breached);
  }
}

/* 0: the protocol did not know. */
TEST(a_grant_says_what_state_it_was_read_in) {
  static const struct {
    uint64_t seen;
    const char *story;
  } cases[] = {{7, "acquire granted seen"}, {0, "acquire granted"}};
  for (size_t i = 0; i < 2; i++) {
    start_afresh();
    f->proofs.seen = seen_hook;
    f->session.seen = cases[i].seen;
    f->holder.names_server = true;
    acquire(100, LB_OK);
    tells(cases[i].story);
    if (cases[i].seen) assert_int_equal(f->holder.memory->events[2].value, 7);
  }
}

TEST(a_state_beyond_what_a_history_holds_breaks_the_contract) {
  f->proofs.seen = seen_hook;
  f->session.seen = (uint64_t)INT64_MAX + 1;
  f->holder.names_server = true;
  lb_holder_acquire(&f->holder, 0, in_ms(100));
  assert_true(f->holder.breached);
  tells("acquire granted");
}

STATES(nobody_is_asked_for_its_server_unless_that_is_wanted, f->proofs.server = server_hook,
       f->holder.endpoint_count = 3, acquire(100, LB_OK), tells("acquire granted"),
       assert_int_equal(f->session.server_calls, 0));

/* ---- breaches of the contract ------------------------------------------------------------------------------------ */

static void assert_breach(const char *text) {
  assert_true(f->holder.breached);
  assert_string_equal(f->session.state->breach, text);
  assert_false(f->holder.holding);
}

TEST(a_grant_that_breaks_the_contract_is_no_hold) {
  static const struct {
    struct lb_grant grant;
    const char *complaint;
  } cases[] = {{{.token_len = 4, .valid_until = LB_NS_PER_S}, "try_acquire granted with asked_at = 0"},
               {{.token_len = 4, .asked_at = 1}, "try_acquire granted with valid_until = 0"},
               {{.token_len = 5000, .asked_at = 1, .valid_until = LB_NS_PER_S},
                "try_acquire left token_len = 5000, at most 160"},
               {{.token_len = 4, .asked_at = 90 * LB_NS_PER_S, .valid_until = LB_NEVER},
                "try_acquire granted with an asked_at 89999 ms in the future"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fake_now = 1, f->holder.latest_now = 0;
    f->session.state->breach[0] = '\0';
    f->session.acquire_calls = 0;
    f->session.gives = &cases[i].grant;
    acquire(1000, LB_TIMEOUT);
    assert_int_equal(f->session.acquire_calls, 1); /* at once */
    assert_breach(cases[i].complaint);
    assert_string_equal(f->holder.error + strlen("breach of the contract: "), cases[i].complaint);
  }
}

TEST(a_wall_clock_may_make_a_lease_longer) {
  f->protocol.traits = LB_TRAIT_LEASED;
  f->holder.by_wall = true;
  f->session.gives = &(struct lb_grant){.token_len = 4, .asked_at = 1, .valid_until = 3600 * LB_NS_PER_S};
  acquire(1000, LB_OK);
  assert_false(f->holder.breached);
}

TEST(an_option_says_what_is_believed) {
  static const char *const clocks[] = {"monotonic", "wall", NULL};
  static const struct lb_option options[] = {
      {.name = "check_validity", .type = LB_OPT_BOOL}, {.name = "clock", .type = LB_OPT_CHOICE, .words = clocks}, {0}};
  union lb_value values[] = {{.b = true}, {.i = 0}};
  assert_false(lb_believes_late(&f->protocol, values) || lb_counts_by_wall(&f->protocol, values)); /* no such options */
  f->protocol.options = options;
  assert_false(lb_believes_late(&f->protocol, NULL) || lb_counts_by_wall(&f->protocol, NULL));
  assert_false(lb_believes_late(&f->protocol, values) || lb_counts_by_wall(&f->protocol, values));
  values[0].b = false, values[1].i = 1;
  assert_true(lb_believes_late(&f->protocol, values) && lb_counts_by_wall(&f->protocol, values));
}

TEST(an_option_says_how_long_a_hold_is_renewed) {
  static const struct lb_option options[] = {{.name = "renewed_for_ms", .type = LB_OPT_INT, .max = 1000}, {0}};
  union lb_value value = {.i = 7};
  assert_int_equal(lb_renewed_for(&f->protocol, &value), 0); /* no such option */
  f->protocol.options = options;
  assert_int_equal(lb_renewed_for(&f->protocol, NULL), 0);
  assert_int_equal(lb_renewed_for(&f->protocol, &value), 7 * LB_NS_PER_MS);
  value.i = 0;
  assert_int_equal(lb_renewed_for(&f->protocol, &value), 0);
}

TEST(a_lease_is_not_longer_than_was_asked_for) {
  f->protocol.traits = LB_TRAIT_LEASED;
  f->session.gives = &(struct lb_grant){.token_len = 4, .asked_at = 1, .valid_until = 2 * LB_NS_PER_S};
  acquire(100, LB_TIMEOUT);
  assert_breach("try_acquire claims the lock for 1000 ms longer than the lease");
}

/* What was asked before lies in the future then, and nobody is to blame. */
TEST(a_clock_that_was_set_back_is_no_breach) {
  fake_now = 50 * LB_NS_PER_S;
  acquire(100, LB_OK);
  release(100, LB_OK);
  f->session.gives = &(struct lb_grant){.token_len = 4, .asked_at = fake_now, .valid_until = LB_NEVER};
  fake_now = 1;
  acquire(100, LB_OK);
  assert_false(f->holder.breached);
}

TEST(nor_is_one_that_was_set_back_while_the_answer_was_on_its_way) {
  fake_now = 50 * LB_NS_PER_S;
  f->session.gives = &(struct lb_grant){.token_len = 4, .asked_at = 50 * LB_NS_PER_S, .valid_until = LB_NEVER};
  f->session.sets_back = true;
  acquire(100, LB_OK);
  assert_false(f->holder.breached);
}

TEST(an_answer_that_is_none_is_a_breach_of_every_hook) {
  f->protocol.extend = extend_hook, f->protocol.holds = holds_hook;
  f->holder.guard = LB_GUARD_RECHECK;
  f->holder.renew = true;
  f->session.extend_answer = LB_BUSY;
  lb_holder_acquire(&f->holder, 0, in_ms(100));
  f->holder.renew_at = fake_now;
  renew_is(-EPROTO);
  assert_string_equal(f->session.state->breach, "extend answered 1 (BUSY), which is no result of it");
  f->session.state->breach[0] = '\0';
  f->session.holds_answer = 42;
  read_is(LB_LOST);
  assert_breach("holds answered 42, which is no result of it");

  f->session.state->breach[0] = '\0';
  f->session.releases[f->session.release_calls] = LB_TIMEOUT; /* of the hold that it gave up */
  f->session.acquires[f->session.acquire_calls] = -70000;
  lb_holder_acquire(&f->holder, 0, in_ms(100));
  assert_breach("release answered 2 (TIMEOUT), which is no result of it"); /* the first one is kept */
}

TEST(a_breach_while_waiting_ends_the_acquire_too) {
  f->protocol.wait = wait_hook;
  f->session.wait_answer = LB_LOST;
  f->session.acquires[0] = LB_BUSY;
  acquire(1000, LB_BUSY);
  assert_int_equal(f->session.acquire_calls, 1);
  assert_breach("wait answered 3 (LOST), which is no result of it");
}

STATES(an_unknown_attempt_is_not_resolved_by_nonsense, f->session.acquires[0] = LB_UNKNOWN,
       f->session.resolves[0] = LB_LOST, acquire(1000, LB_TIMEOUT), assert_int_equal(f->session.resolve_calls, 1),
       assert_breach("resolve answered 3 (LOST), which is no result of it"));

TEST(the_hook_a_client_is_in_can_be_seen_from_outside) {
  lb_holder_acquire(&f->holder, 0, in_ms(100));
  assert_int_equal(f->session.hook_seen, LB_HOOK_TRY_ACQUIRE);
  assert_int_equal(f->session.deadline_seen, 1 + 100 * LB_NS_PER_MS);
  assert_int_equal(atomic_load(&f->session.state->hook), LB_HOOK_NONE);
}

STATES(a_grant_that_is_over_when_it_is_read_is_let_go, f->session.late_replies = 1, acquire(1000, LB_OK),
       assert_int_equal(f->session.acquire_calls, 2), assert_int_equal(f->session.release_calls, 1),
       tells("acquire granted"));

TEST(who_never_looks_believes_a_grant_that_is_over) {
  f->session.late_replies = 1;
  f->holder.believes_late = true;
  acquire(1000, LB_OK);
  assert_int_equal(f->session.acquire_calls, 1);
  assert_true(f->holder.holding);
  f->holder.guard = LB_GUARD_DEADLINE;
  write_is(LB_LOST); /* who looks sees it */
}

/* It knows nothing of an end that it would have to be quick for; who goes by the end of leases is told at once. */
TEST(who_never_looks_renews_a_grant_that_is_over_as_any_other) {
  f->session.late_replies = 1;
  f->protocol.extend = extend_hook;
  f->holder.believes_late = f->holder.renew = true;
  acquire(1000, LB_OK);
  assert_true(fake_now >= f->holder.grant.valid_until);
  assert_int_equal(f->holder.renew_at, fake_now + 1000 * LB_NS_PER_MS / 3);
  release(1000, LB_OK);
  f->session.late_replies = 1;
  f->holder.guard = LB_GUARD_DEADLINE;
  acquire(1000, LB_OK);
  assert_true(f->holder.renew_at <= fake_now);
  renew_is(LB_LOST);
}

STATES(release_is_recorded_before_the_request_and_lost_after_it, f->session.releases[0] = LB_LOST,
       lb_holder_acquire(&f->holder, 0, in_ms(100)), release(100, LB_LOST), tells("acquire granted release lost"),
       assert_false(f->holder.holding));

TEST(an_unknown_release_is_repeated) {
  memcpy(f->session.releases, (int[]){LB_UNKNOWN, LB_UNKNOWN, LB_OK}, 3 * sizeof(int));
  lb_holder_acquire(&f->holder, 0, in_ms(100));
  release(1000, LB_OK);
  assert_int_equal(f->session.release_calls, 3);
  tells("acquire granted release released");
}

STATES(who_holds_nothing_touches_nothing, read_is(LB_BUSY), write_is(LB_BUSY), release(1, LB_BUSY), tells(""));

TEST(a_write_is_what_was_read_plus_one) {
  atomic_store(&f->holder.memory->resource[0].value, 41);
  lb_holder_acquire(&f->holder, 0, in_ms(100));
  read_is(LB_OK);
  write_is(LB_OK);
  assert_int_equal(atomic_load(&f->holder.memory->resource[0].value), 42);
  assert_int_equal(atomic_load(&f->holder.memory->resource[0].fence_seen), 7);
  tells("acquire granted read write");
}

/* ---- guards ------------------------------------------------------------------------------------------------------ */

static void granted_under(enum lb_guard guard) {
  f->protocol.holds = holds_hook;
  f->protocol.doubt = doubt_hook;
  f->protocol.extend = extend_hook;
  f->holder.guard = guard;
  acquire(100, LB_OK);
}

/* The hold is over and the resource as it was, but what the service may still keep is not forgotten. */
static void assert_lost(const char *expected_story) {
  tells(expected_story);
  assert_false(f->holder.holding);
  assert_false(atomic_load(&f->session.state->holds));
  assert_int_equal(f->holder.debt_count, 1);
  write_is(LB_BUSY);
  release(100, LB_BUSY);
  assert_int_equal(f->session.release_calls, 1);
  assert_int_equal(f->holder.debt_count, 0);
  assert_int_equal(atomic_load(&f->holder.memory->resource[0].value), 0);
}

TEST(without_a_guard_a_lease_that_is_over_stops_nobody) {
  granted_under(LB_GUARD_NONE);
  f->session.holds_answer = LB_LOST;
  atomic_store(&f->holder.memory->resource[0].fence_seen, 100);
  fake_now += 10 * LB_NS_PER_S;
  read_is(LB_OK);
  write_is(LB_OK);
  tells("acquire granted read write");
  assert_int_equal(atomic_load(&f->holder.memory->resource[0].value), 1);
  assert_int_equal(atomic_load(&f->holder.memory->resource[0].fence_seen), 100);
}

TEST(a_deadline_lets_pass_until_the_lease_is_over_and_not_then) {
  granted_under(LB_GUARD_DEADLINE);
  fake_now = f->holder.grant.valid_until - 1;
  read_is(LB_OK);
  fake_now++;
  write_is(LB_LOST);
  assert_lost("acquire granted check(passed) read check(lease over) lost");
}

STATES(a_deadline_stands_before_a_read_too, granted_under(LB_GUARD_DEADLINE), fake_now = f->holder.grant.valid_until,
       read_is(LB_LOST), assert_lost("acquire granted check(lease over) lost"));

TEST(a_deadline_has_nothing_against_a_lock_without_expiry) {
  granted_under(LB_GUARD_DEADLINE);
  f->holder.grant.valid_until = LB_NEVER;
  fake_now += 1000 * LB_NS_PER_S;
  read_is(LB_OK);
}

TEST(a_recheck_that_the_server_confirms_lets_pass) {
  granted_under(LB_GUARD_RECHECK);
  read_is(LB_OK);
  assert_int_equal(f->session.asked_until, 500 * LB_NS_PER_MS);
  f->holder.ttl_ms = 300;
  write_is(LB_OK);
  assert_int_equal(f->session.asked_until, 150 * LB_NS_PER_MS);
  tells("acquire granted check(passed) read check(passed) write");
}

/* A pause of the client between the two explains an answer that stays out. */
TEST(a_recheck_says_when_it_was_asked) {
  granted_under(LB_GUARD_RECHECK);
  uint64_t before = lb_clock_ns();
  read_is(LB_OK);
  const struct lb_event *checked = &f->holder.memory->events[2];
  assert_int_equal(checked->flags, LB_EVF_CHECK | LB_EVF_DUE);
  assert_true(checked->due >= before && checked->due <= checked->t);
  start_afresh();
  granted_under(LB_GUARD_DEADLINE);
  read_is(LB_OK);
  assert_int_equal(f->holder.memory->events[2].flags, LB_EVF_CHECK);
}

TEST(a_recheck_without_a_clear_yes_is_a_no) {
  const int answers[] = {LB_LOST, LB_UNKNOWN, LB_UNCONFIRMED, LB_BUSY, LB_TIMEOUT, -EROFS, -ECONNREFUSED, -ETIMEDOUT};
  static const char *const stories[] = {"acquire granted check(told no) lost",
                                        "acquire granted check(no answer) lost",
                                        "acquire granted check(no majority confirms) lost",
                                        "acquire granted check(error) lost",
                                        "acquire granted check(error) lost",
                                        "acquire granted check(error) lost", /* two are no answers of that hook */
                                        "acquire granted check(no answer) lost",
                                        "acquire granted check(no answer) lost"};
  for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
    granted_under(LB_GUARD_RECHECK);
    f->session.holds_answer = answers[i];
    assert_int_equal(i % 2 ? lb_holder_read(&f->holder) : lb_holder_write(&f->holder), LB_LOST);
    assert_lost(stories[i]);
    start_afresh();
  }
}

STATES(a_recheck_that_cannot_be_asked_is_a_no, granted_under(LB_GUARD_RECHECK), f->protocol.holds = NULL,
       read_is(LB_LOST), assert_lost("acquire granted check(error) lost"));

TEST(a_signal_of_doubt_or_loss_ends_the_hold) {
  const int answers[] = {LB_UNKNOWN, LB_LOST, -EIO, LB_BUSY};
  static const char *const stories[] = {"acquire granted check(passed) read check(in doubt) lost",
                                        "acquire granted check(passed) read check(session over) lost",
                                        "acquire granted check(passed) read check(error) lost",
                                        "acquire granted check(passed) read check(error) lost"};
  for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
    granted_under(LB_GUARD_SIGNAL);
    read_is(LB_OK);
    f->session.doubt_answer = answers[i];
    write_is(LB_LOST);
    assert_lost(stories[i]);
    start_afresh();
  }
}

TEST(without_a_signal_a_lease_that_is_over_stops_nobody) {
  granted_under(LB_GUARD_SIGNAL);
  fake_now += 10 * LB_NS_PER_S;
  read_is(LB_OK);
  write_is(LB_OK);
  tells("acquire granted check(passed) read check(passed) write");
}

STATES(who_tells_nobody_of_a_loss_does_not_pass, granted_under(LB_GUARD_SIGNAL), f->protocol.doubt = NULL,
       read_is(LB_LOST), assert_lost("acquire granted check(error) lost"));

/* Another holder, as the resource sees it: with a token that is not this one's. */
TEST(a_claim_stands_until_another_one_is_made) {
  granted_under(LB_GUARD_CLAIM);
  struct lb_resource *resource = &f->holder.memory->resource[0];
  uint64_t value;
  lb_resource_claim(resource, 99, &value);
  read_is(LB_OK); /* the first access takes it from whoever has it */
  assert_false(lb_resource_write_claimed(resource, 99, 50));
  write_is(LB_OK);
  read_is(LB_OK);
  assert_int_equal(f->holder.value_read, 1);
  lb_resource_claim(resource, 99, &value);
  write_is(LB_LOST);
  tells("acquire granted read write read write lost");
  assert_int_equal(atomic_load(&resource->value), 1);
  assert_int_equal(f->holder.debt_count, 1);
}

TEST(a_claim_is_made_once_in_a_hold) {
  struct lb_resource *resource = &f->holder.memory->resource[0];
  uint64_t value;
  granted_under(LB_GUARD_CLAIM);
  read_is(LB_OK);
  lb_resource_claim(resource, 99, &value);
  read_is(LB_LOST);
  start_afresh();
  resource = &f->holder.memory->resource[0];
  granted_under(LB_GUARD_CLAIM);
  write_is(LB_OK); /* a write makes it, too, if it comes first */
  lb_resource_claim(resource, 99, &value);
  write_is(LB_LOST);
}

TEST(a_claim_belongs_to_one_grant) {
  granted_under(LB_GUARD_CLAIM);
  struct lb_resource *resource = &f->holder.memory->resource[0];
  uint64_t value, first;
  read_is(LB_OK);
  first = f->holder.claim;
  release(100, LB_OK);
  acquire(100, LB_OK);
  assert_int_not_equal(f->holder.claim, first);
  assert_true(lb_resource_read_claimed(resource, first, &value)); /* it has claimed nothing yet */
  write_is(LB_OK);                                                /* a write claims, too, if it comes first */
  assert_false(lb_resource_read_claimed(resource, first, &value));
  assert_int_equal(atomic_load(&resource->value), 1);
}

/* What it carries is of the grant that it was written under, whatever its client does since. */
TEST(a_late_write_is_on_its_way_until_it_arrives) {
  granted_under(LB_GUARD_NONE);
  struct lb_client_state *client = f->session.state;
  uint64_t fence = f->holder.grant.fence;
  read_is(LB_OK);
  assert_int_equal(lb_holder_write_late(&f->holder), LB_OK);
  assert_true(atomic_load(&client->on_its_way));
  assert_int_equal(lb_holder_write_late(&f->holder), -EBUSY);
  assert_int_equal(atomic_load(&f->holder.memory->resource[0].value), 0);
  assert_int_equal(atomic_load(&client->writes), 0);
  release(100, LB_OK);
  tells("acquire granted read release released");
  assert_int_equal(client->letter.fence, fence);
  assert_true(lb_letter_arrive(&client->letter, f->holder.memory->resource));
  assert_int_equal(atomic_load(&f->holder.memory->resource[0].value), 1);
  atomic_store(&client->on_its_way, false);
  assert_int_equal(lb_holder_write_late(&f->holder), LB_BUSY); /* it holds nothing */
  assert_false(atomic_load(&client->on_its_way));
}

TEST(a_late_write_is_refused_by_what_stands_at_the_resource_then) {
  granted_under(LB_GUARD_FENCE);
  struct lb_resource *resource = &f->holder.memory->resource[0];
  assert_int_equal(lb_holder_write_late(&f->holder), LB_OK);
  atomic_store(&resource->fence_seen, f->holder.grant.fence + 1);
  assert_false(lb_letter_arrive(&f->session.state->letter, resource));
  assert_int_equal(atomic_load(&resource->value), 0);
}

TEST(a_late_write_shows_the_claim_of_its_hold) {
  granted_under(LB_GUARD_CLAIM);
  struct lb_resource *resource = &f->holder.memory->resource[0];
  uint64_t value;
  read_is(LB_OK);
  assert_int_equal(lb_holder_write_late(&f->holder), LB_OK);
  lb_resource_claim(resource, 99, &value);
  assert_false(lb_letter_arrive(&f->session.state->letter, resource));
  f->session.state->letter.claims = true; /* as the first access of a hold, which takes it from whoever has it */
  assert_true(lb_letter_arrive(&f->session.state->letter, resource));
  assert_int_equal(atomic_load(&resource->value), 1);
}

STATES(a_guard_stands_before_a_late_write_as_it_leaves, granted_under(LB_GUARD_DEADLINE),
       fake_now = f->holder.grant.valid_until, assert_int_equal(lb_holder_write_late(&f->holder), LB_LOST),
       assert_false(atomic_load(&f->session.state->on_its_way)));

TEST(a_fence_that_was_overtaken_is_refused_at_the_read) {
  granted_under(LB_GUARD_FENCE);
  atomic_store(&f->holder.memory->resource[0].fence_seen, 8);
  read_is(LB_LOST);
  assert_int_equal(f->holder.memory->events[2].flags, LB_EVF_FENCE | LB_EVF_VALUE | LB_EVF_REFUSED);
  assert_int_equal(f->holder.memory->events[2].fence, 7);
  assert_lost("acquire granted read lost");
  assert_int_equal(atomic_load(&f->holder.memory->resource[0].fence_seen), 8);
}

TEST(a_fence_that_was_overtaken_after_the_read_is_refused_at_the_write) {
  granted_under(LB_GUARD_FENCE);
  read_is(LB_OK);
  assert_int_equal(atomic_load(&f->holder.memory->resource[0].fence_seen), 7);
  atomic_store(&f->holder.memory->resource[0].fence_seen, 8);
  write_is(LB_LOST);
  assert_int_equal(f->holder.memory->events[2].flags, LB_EVF_FENCE | LB_EVF_VALUE);
  assert_int_equal(f->holder.memory->events[3].flags, LB_EVF_FENCE | LB_EVF_VALUE | LB_EVF_REFUSED);
  assert_lost("acquire granted read write lost");
  assert_int_equal(atomic_load(&f->session.state->writes), 0);
}

TEST(a_fence_asks_neither_clock_nor_server) {
  granted_under(LB_GUARD_FENCE);
  f->session.holds_answer = LB_LOST;
  fake_now += 10 * LB_NS_PER_S;
  read_is(LB_OK);
  write_is(LB_OK);
}

TEST(points_stand_before_and_after_the_check_and_after_a_write) {
  granted_under(LB_GUARD_DEADLINE);
  lb_holder_read(&f->holder);
  assert_string_equal(points_passed, "before-check after-check ");
  lb_holder_write(&f->holder);
  assert_string_equal(points_passed, "before-check after-check before-check after-check after-write ");
  points_passed[0] = '\0';
  fake_now = f->holder.grant.valid_until;
  lb_holder_write(&f->holder);
  assert_string_equal(points_passed, "before-check ");
}

/* ---- what others can see ----------------------------------------------------------------------------------------- */

TEST(the_memory_shows_who_asks_who_holds_and_who_has_written) {
  granted_under(LB_GUARD_NONE);
  struct lb_client_state *shown = f->session.state;
  assert_true(f->session.seen_asking);
  assert_false(f->session.seen_holding);
  assert_false(atomic_load(&shown->asks));
  assert_true(atomic_load(&shown->holds));
  lb_holder_read(&f->holder);
  lb_holder_write(&f->holder);
  assert_int_equal(atomic_load(&shown->writes), 1);
  lb_holder_release(&f->holder, in_ms(100));
  assert_false(atomic_load(&shown->holds));
  assert_int_equal(atomic_load(&shown->writes), 1);
  acquire(100, LB_OK);
  assert_int_equal(atomic_load(&shown->writes), 0);
}

/* It waits from its first refusal on: not before it was answered, and not when it holds. */
TEST(the_memory_shows_who_waits) {
  f->session.acquires[0] = -ECONNREFUSED;
  f->session.acquires[1] = LB_OK;
  acquire(100, LB_OK);
  assert_false(f->session.seen_waiting);
  lb_holder_release(&f->holder, in_ms(100));
  f->session.acquires[2] = LB_BUSY;
  f->session.acquires[3] = LB_OK;
  acquire(100, LB_OK);
  assert_true(f->session.seen_waiting);
  assert_false(atomic_load(&f->session.state->waits));
}

TEST(who_gives_up_asks_no_more) {
  for (int i = 0; i < 8; i++) f->session.acquires[i] = -ECONNREFUSED;
  acquire(3, LB_TIMEOUT);
  assert_false(atomic_load(&f->session.state->asks));
  assert_false(atomic_load(&f->session.state->holds));
}

/* ---- several holds ----------------------------------------------------------------------------------------------- */

TEST(what_was_granted_twice_is_released_twice) {
  granted_under(LB_GUARD_NONE);
  acquire(100, LB_OK);
  release(100, LB_OK);
  assert_true(f->holder.holding);
  assert_true(atomic_load(&f->session.state->holds));
  release(100, LB_OK);
  assert_false(lb_holder_holds(&f->holder));
  assert_false(atomic_load(&f->session.state->holds));
  tells("acquire granted acquire granted release released release released");
  assert_int_equal(f->session.release_calls, 2);
}

TEST(who_is_refused_once_more_still_holds) {
  granted_under(LB_GUARD_NONE);
  for (int i = 1; i < 8; i++) f->session.acquires[i] = LB_BUSY;
  acquire(3, LB_BUSY);
  assert_true(atomic_load(&f->session.state->gave_up));
  assert_false(atomic_load(&f->session.state->granted));
  assert_true(f->holder.holding);
  assert_int_equal(f->holder.grant.fence, 7);
  read_is(LB_OK);
}

/* To another client, say: the other grant is still its own. */
TEST(what_was_granted_twice_is_handed_over_once) {
  granted_under(LB_GUARD_NONE);
  acquire(100, LB_OK);
  assert_int_equal(lb_holder_hand_over(&f->holder), LB_OK);
  assert_true(f->holder.holding);
  read_is(LB_OK);
  assert_int_equal(lb_holder_hand_over(&f->holder), LB_OK);
  assert_false(f->holder.holding);
  assert_int_equal(lb_holder_hand_over(&f->holder), LB_BUSY);
}

TEST(locks_are_held_beside_each_other) {
  granted_under(LB_GUARD_NONE);
  assert_int_equal(lb_holder_acquire(&f->holder, 1, in_ms(100)), LB_OK);
  lb_holder_turn_to(&f->holder, 0);
  release(100, LB_OK);
  assert_int_equal(f->holder.memory->events[4].key, 0);
  lb_holder_turn_to(&f->holder, 0);
  read_is(LB_BUSY);
  lb_holder_turn_to(&f->holder, 1);
  release(100, LB_OK);
  assert_int_equal(f->holder.memory->events[6].key, 1);
  assert_false(lb_holder_holds(&f->holder));
}

TEST(each_hold_keeps_the_length_that_it_was_asked_for) {
  granted_under(LB_GUARD_NONE);
  f->holder.next_ttl_ms = 300;
  assert_int_equal(lb_holder_acquire(&f->holder, 1, in_ms(100)), LB_OK);
  assert_int_equal(f->holder.ttl_ms, 300);
  lb_holder_turn_to(&f->holder, 0);
  assert_int_equal(f->holder.ttl_ms, 1000);
  lb_holder_turn_to(&f->holder, 1);
  assert_int_equal(f->holder.ttl_ms, 300);
}

TEST(nobody_holds_more_than_there_is_room_for) {
  granted_under(LB_GUARD_NONE);
  for (int i = 1; i < LB_HOLDS_MAX; i++) acquire(100, LB_OK);
  assert_int_equal(lb_holder_acquire(&f->holder, 0, in_ms(100)), -EMFILE);
  for (int i = 0; i < LB_HOLDS_MAX; i++) release(100, LB_OK);
  assert_false(lb_holder_holds(&f->holder));
}

TEST(every_hold_is_renewed_and_a_loss_ends_all_of_its_lock) {
  f->protocol.extend = extend_hook;
  f->holder.renew = true;
  for (uint32_t key = 0; key < 2; key++) assert_int_equal(lb_holder_acquire(&f->holder, key, in_ms(100)), LB_OK);
  acquire(100, LB_OK);
  fake_now = lb_holder_due(&f->holder) + 50 * LB_NS_PER_MS;
  renew_is(LB_OK);
  assert_int_equal(f->session.extend_calls, 3);
  assert_true(lb_holder_due(&f->holder) > fake_now);
  f->session.extend_answer = LB_LOST;
  fake_now = lb_holder_due(&f->holder) + 50 * LB_NS_PER_MS;
  lb_holder_renew(&f->holder);
  assert_int_equal(f->session.extend_calls, 5); /* one of key 0 takes the other along, and one of key 1 */
  assert_false(lb_holder_holds(&f->holder));
}

TEST(who_reads_early_writes_what_it_read_then) {
  struct lb_resource *resource = &f->holder.memory->resource[0];
  resource->value = 3;
  assert_int_equal(lb_holder_read_early(&f->holder, 0), LB_OK);
  assert_int_equal(resource->fence_seen, 0); /* before a grant there is no number to show */
  atomic_store(&resource->fence_seen, 9);
  assert_int_equal(lb_holder_read_early(&f->holder, 0), LB_OK);
  assert_int_equal(resource->fence_seen, 9);
  resource->value = 5; /* somebody else's */
  acquire(100, LB_OK);
  write_is(LB_OK);
  tells("read read acquire granted write");
  assert_int_equal(f->holder.memory->events[0].flags, LB_EVF_VALUE | LB_EVF_EARLY);
  assert_int_equal(f->holder.memory->events[4].value, 4);
}

static lb_ns an_hour_earlier(struct lb_env *env, lb_ns ns) {
  (void)env;
  return ns - 3600 * LB_NS_PER_S;
}

TEST(the_end_of_a_lease_is_recorded_in_true_time) {
  fake_now = 7200 * LB_NS_PER_S;
  f->holder.to_truth = an_hour_earlier;
  acquire(100, LB_OK);
  assert_int_equal(f->holder.memory->events[1].until, 3601 * LB_NS_PER_S);
  assert_int_equal(f->holder.grant.valid_until, 7201 * LB_NS_PER_S);
}

/* ---- renewal ----------------------------------------------------------------------------------------------------- */

static void granted_and_renewed(int answer) {
  f->holder.renew = true;
  f->session.extend_answer = answer;
  granted_under(LB_GUARD_NONE);
}

TEST(a_lease_is_renewed_every_third_of_the_ttl_and_not_before) {
  granted_and_renewed(LB_OK);
  lb_ns third = 1000 * LB_NS_PER_MS / 3;
  assert_int_equal(f->holder.renew_at, fake_now + third);
  fake_now += third - 1;
  renew_is(LB_OK);
  assert_int_equal(f->session.extend_calls, 0);
  fake_now++;
  renew_is(LB_OK);
  assert_int_equal(f->session.extend_calls, 1);
  assert_int_equal(f->session.asked_until, third);
  assert_int_equal(f->holder.renew_at, fake_now + third);
  assert_int_equal(f->holder.grant.valid_until, fake_now + LB_NS_PER_S);
}

TEST(a_hold_is_renewed_for_as_long_as_is_allowed) {
  lb_ns third = 1000 * LB_NS_PER_MS / 3;
  f->holder.renewed_for = 3 * third - 1;
  granted_and_renewed(LB_OK);
  for (int i = 1; i <= 2; i++) {
    assert_int_equal(f->holder.renew_at, fake_now + third);
    fake_now = f->holder.renew_at;
    renew_is(LB_OK);
    assert_int_equal(f->session.extend_calls, i);
  }
  assert_int_equal(f->holder.renew_at, LB_NEVER);
  assert_true(f->holder.holding); /* what it has it may use to its end */
}

TEST(a_renewal_at_the_very_end_of_what_is_allowed_is_none) {
  f->holder.renewed_for = 1000 * LB_NS_PER_MS / 3 - LB_NS_PER_MS;
  granted_and_renewed(LB_OK);
  assert_int_equal(f->holder.renew_at, LB_NEVER);
}

TEST(a_renewal_that_failed_is_not_tried_again_beyond_what_is_allowed) {
  f->holder.renewed_for = 1000 * LB_NS_PER_MS / 3 + 50 * LB_NS_PER_MS;
  granted_and_renewed(LB_UNKNOWN);
  fake_now = f->holder.renew_at;
  renew_is(LB_UNKNOWN);
  assert_int_equal(f->holder.renew_at, LB_NEVER);
}

TEST(a_lease_shorter_than_the_ttl_is_renewed_when_half_of_it_is_left) {
  f->session.validity = 400 * LB_NS_PER_MS;
  granted_and_renewed(LB_OK);
  assert_true(f->holder.renew_at <= fake_now + 200 * LB_NS_PER_MS &&
              f->holder.renew_at > fake_now + 199 * LB_NS_PER_MS);
}

TEST(a_renewal_is_recorded_with_its_end_in_true_time) {
  fake_now = 7200 * LB_NS_PER_S;
  f->holder.to_truth = an_hour_earlier;
  granted_and_renewed(LB_OK);
  fake_now = f->holder.renew_at;
  renew_is(LB_OK);
  tells("acquire granted renewed");
  const struct lb_event *renewed = &f->holder.memory->events[2];
  assert_int_equal(renewed->flags, LB_EVF_UNTIL);
  assert_int_equal(renewed->until, f->holder.renew_at - 3600 * LB_NS_PER_S - 1000 * LB_NS_PER_MS / 3 + LB_NS_PER_S);
  assert_int_equal(renewed->key, f->holder.key);
  assert_int_equal(renewed->fact, LB_NO_NAME);
}

TEST(a_renewal_for_ever_has_no_end) {
  granted_and_renewed(LB_OK);
  f->session.renews_for_ever = true;
  fake_now = f->holder.renew_at;
  renew_is(LB_OK);
  tells("acquire granted renewed");
  assert_int_equal(f->holder.memory->events[2].flags, 0);
}

TEST(a_renewal_without_an_answer_is_tried_again_soon) {
  const int answers[] = {LB_UNKNOWN, -ECONNRESET, -EIO};
  for (size_t i = 0; i < 3; i++) {
    granted_and_renewed(answers[i]);
    fake_now = f->holder.renew_at;
    assert_int_equal(lb_holder_renew(&f->holder), answers[i]);
    assert_true(f->holder.holding);
    assert_int_equal(f->holder.renew_at, fake_now + 100 * LB_NS_PER_MS);
    assert_string_equal(story(),
                        i < 2 ? "acquire granted not-renewed(no answer)" : "acquire granted not-renewed(error)");
    assert_int_equal(f->holder.memory->events[2].key, f->holder.key);
    start_afresh();
  }
}

TEST(a_renewal_that_is_denied_ends_the_hold) {
  granted_and_renewed(LB_LOST);
  fake_now = f->holder.renew_at;
  renew_is(LB_LOST);
  assert_lost("acquire granted not-renewed(told no) lost");
  fake_now += LB_NS_PER_S;
  renew_is(LB_OK);
  assert_int_equal(f->session.extend_calls, 1);
}

static void renewed_under_the_guard_deadline(int answer) {
  f->holder.renew = true;
  f->session.extend_answer = answer;
  granted_under(LB_GUARD_DEADLINE);
}

TEST(who_goes_by_the_end_of_a_lease_loses_it_there_without_an_answer) {
  renewed_under_the_guard_deadline(LB_UNKNOWN);
  lb_ns end = f->holder.grant.valid_until;
  fake_now = end - 40 * LB_NS_PER_MS;
  renew_is(LB_UNKNOWN);
  assert_int_equal(f->session.asked_until, 40 * LB_NS_PER_MS); /* not beyond the end */
  assert_int_equal(f->holder.renew_at, end);
  fake_now = end - 1;
  renew_is(LB_OK);
  assert_true(f->holder.holding);
  fake_now = end;
  renew_is(LB_LOST);
  assert_int_equal(f->session.extend_calls, 1);
  assert_lost("acquire granted not-renewed(no answer) check(lease over) lost");
}

TEST(who_goes_by_the_end_of_a_lease_loses_it_there_when_it_is_renewed_no_more) {
  f->holder.renewed_for = 1;
  renewed_under_the_guard_deadline(LB_OK);
  assert_int_equal(f->holder.renew_at, f->holder.grant.valid_until);
  fake_now = f->holder.renew_at;
  renew_is(LB_LOST);
  assert_int_equal(f->session.extend_calls, 0);
  assert_lost("acquire granted check(lease over) lost");
}

TEST(who_does_not_go_by_it_believes_on) {
  granted_and_renewed(LB_UNKNOWN);
  fake_now = f->holder.grant.valid_until - 40 * LB_NS_PER_MS;
  renew_is(LB_UNKNOWN);
  assert_int_equal(f->session.asked_until, 1000 * LB_NS_PER_MS / 3);
  fake_now = f->holder.renew_at;
  assert_true(fake_now > f->holder.grant.valid_until);
  renew_is(LB_UNKNOWN);
  assert_true(f->holder.holding);
}

TEST(nothing_is_renewed_unless_asked_for_possible_and_held) {
  granted_under(LB_GUARD_NONE);
  assert_int_equal(f->holder.renew_at, LB_NEVER); /* not asked for */
  lb_holder_release(&f->holder, in_ms(100));
  f->holder.renew = true;
  f->protocol.extend = NULL;
  lb_holder_acquire(&f->holder, 0, in_ms(100));
  assert_int_equal(f->holder.renew_at, LB_NEVER); /* not possible */
  lb_holder_release(&f->holder, in_ms(100));
  f->protocol.extend = extend_hook;
  lb_holder_acquire(&f->holder, 0, in_ms(100));
  fake_now = f->holder.renew_at;
  lb_holder_release(&f->holder, in_ms(100));
  renew_is(LB_OK); /* not held */
  assert_int_equal(f->session.extend_calls, 0);
}
