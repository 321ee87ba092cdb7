/* test: memory, beside */
/* SPDX-License-Identifier: MIT
 *
 * The door to a protocol, hook by hook: what can be seen from outside during a call, what is kept of its failure, and
 * which answers are breaches of the contract.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "client/hook.h"
#include "hook.h"

enum { INDEX = 1, TTL_MS = 1000 };

/* ---- a protocol that answers what it is told to ------------------------------------------------------------------ */

struct lb_session {
  int answer;
  const char *says; /* what it leaves in env->err */
  bool says_no_end; /* fills it to the last byte, without a NUL */
  struct lb_grant gives;
  bool gives_any;
  enum lb_hook called;
  enum lb_hook hook_seen;
  lb_ns deadline_seen, deadline_given;
  char err_seen[256]; /* env->err as it came in */
  const char *key;
  int64_t ttl_ms;
  size_t endpoint;
  bool forks;       /* and comes back in both processes, in the child first */
  int child_status; /* as wait() says it */
};

static struct world {
  struct lb_protocol protocol;
  struct lb_proofs proofs;
  struct lb_session session;
  struct lb_env env;
  struct lb_holder holder;
  struct lb_lock lock;
  struct lb_grant grant;
  lb_ns now;
} w;

static lb_ns now_hook(struct lb_env *env) {
  (void)env;
  return w.now;
}

static struct lb_client_state *state_of(void) { return &w.holder.memory->state[INDEX]; }

static int called(enum lb_hook hook, const char *key, struct lb_grant *grant, lb_ns deadline) {
  struct lb_session *s = &w.session;
  s->called = hook;
  s->key = key;
  s->hook_seen = (enum lb_hook)atomic_load(&state_of()->hook);
  s->deadline_seen = atomic_load(&state_of()->hook_deadline);
  s->deadline_given = deadline;
  memcpy(s->err_seen, w.env.err, sizeof s->err_seen);
  if (s->says_no_end) memset(w.env.err, 'x', sizeof w.env.err);
  if (s->says) snprintf(w.env.err, sizeof w.env.err, "%s", s->says);
  if (s->gives_any) *grant = s->gives;
  w.now += LB_NS_PER_MS;
  pid_t child = s->forks ? fork() : -1;
  if (child > 0) waitpid(child, &s->child_status, 0);
  return s->answer;
}

static int open_hook(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  (void)s, (void)config;
  return called(LB_HOOK_OPEN, NULL, NULL, deadline);
}
static int setup_hook(struct lb_session *s, lb_ns deadline) {
  (void)s;
  return called(LB_HOOK_SETUP, NULL, NULL, deadline);
}
static int teardown_hook(struct lb_session *s, lb_ns deadline) {
  (void)s;
  return called(LB_HOOK_TEARDOWN, NULL, NULL, deadline);
}
HOOK(try_hook) {
  s->ttl_ms = lock->ttl_ms;
  return called(LB_HOOK_TRY_ACQUIRE, lock->key, grant, deadline);
}
HOOK(release_hook) { return called(LB_HOOK_RELEASE, lock->key, grant, deadline); }
HOOK(extend_hook) {
  s->ttl_ms = lock->ttl_ms;
  return called(LB_HOOK_EXTEND, lock->key, grant, deadline);
}
HOOK(wait_hook) { return called(LB_HOOK_WAIT, lock->key, grant, deadline); }
HOOK(resolve_hook) { return called(LB_HOOK_RESOLVE, lock->key, grant, deadline); }
ASKS(holds_hook) { return called(LB_HOOK_HOLDS, lock->key, NULL, deadline); }
static int inspect_hook(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  s->endpoint = endpoint;
  return called(LB_HOOK_INSPECT, lock->key, NULL, deadline);
}

static int break_hook(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  s->endpoint = endpoint;
  return called(LB_HOOK_BREAK_LOCK, lock->key, NULL, deadline);
}

static int doubt_hook(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
  (void)s, (void)grant;
  return called(LB_HOOK_DOUBT, lock->key, NULL, w.now);
}

static int server_hook(struct lb_session *s) {
  s->hook_seen = (enum lb_hook)atomic_load(&state_of()->hook);
  lb_fail(&w.env, -ENOENT, "to several"); /* it may leave a text */
  return s->answer;
}

/* What a grant is asked besides: who made it, and in which state it was read. */
static uint64_t number_hook(struct lb_session *s) {
  s->hook_seen = (enum lb_hook)atomic_load(&state_of()->hook);
  return (uint64_t)s->answer;
}

static int set_up(void **state) {
  (void)state;
  w = (struct world){.protocol = {.name = "script",
                                  .traits = LB_TRAIT_LEASED,
                                  .open = open_hook,
                                  .setup = setup_hook,
                                  .try_acquire = try_hook,
                                  .release = release_hook,
                                  .extend = extend_hook,
                                  .wait = wait_hook,
                                  .resolve = resolve_hook,
                                  .holds = holds_hook,
                                  .proofs = &w.proofs,
                                  .break_lock = break_hook,
                                  .teardown = teardown_hook,
                                  .doubt = doubt_hook},
                     .proofs = {.inspect = inspect_hook},
                     .env = {.now = now_hook},
                     .lock = {"k", TTL_MS},
                     .now = 5 * LB_NS_PER_S};
  w.session.gives = (struct lb_grant){.token_len = 4, .asked_at = w.now, .valid_until = w.now + LB_NS_PER_S};
  w.holder = (struct lb_holder){.protocol = &w.protocol,
                                .session = &w.session,
                                .env = &w.env,
                                .memory = lb_memory_map(INDEX + 1, INDEX + 1, 1),
                                .client = INDEX,
                                .log = INDEX,
                                .ttl_ms = TTL_MS};
  return w.holder.memory ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  lb_memory_unmap(w.holder.memory);
  return 0;
}
EACH(set_up, tear_down);

/* ---- every hook, one after the other ----------------------------------------------------------------------------- */

static int call(enum lb_hook hook, lb_ns deadline) {
  static const struct lb_config config;
  switch (hook) {
    case LB_HOOK_OPEN: return lb_hook_open(&w.holder, &config, deadline);
    case LB_HOOK_INSPECT:
    case LB_HOOK_BREAK_LOCK: return lb_hook_at_server(&w.holder, hook, &w.lock, 3, deadline);
    default: return lb_hook_call(&w.holder, hook, &w.lock, &w.grant, deadline);
  }
}

static const enum lb_hook all[] = {LB_HOOK_OPEN,    LB_HOOK_SETUP,    LB_HOOK_TRY_ACQUIRE, LB_HOOK_RELEASE,
                                   LB_HOOK_EXTEND,  LB_HOOK_WAIT,     LB_HOOK_RESOLVE,     LB_HOOK_HOLDS,
                                   LB_HOOK_INSPECT, LB_HOOK_TEARDOWN, LB_HOOK_DOUBT,       LB_HOOK_BREAK_LOCK};
enum { ALL = sizeof all / sizeof *all };

static bool grants(enum lb_hook hook) { return hook == LB_HOOK_TRY_ACQUIRE || hook == LB_HOOK_RESOLVE; }

TEST(each_call_can_be_seen_from_outside_while_it_lasts) {
  for (size_t i = 0; i < ALL; i++) {
    w.session.gives_any = grants(all[i]);
    w.session.gives.asked_at = w.now;
    strcpy(w.env.err, "an old one");
    lb_ns deadline = all[i] == LB_HOOK_DOUBT ? w.now : 7 * LB_NS_PER_S + i; /* it may not wait */
    assert_int_equal(call(all[i], deadline), LB_OK);
    assert_int_equal(w.session.called, all[i]);
    assert_int_equal(w.session.hook_seen, all[i]);
    assert_int_equal(w.session.deadline_seen, deadline);
    assert_int_equal(w.session.deadline_given, deadline);
    assert_string_equal(w.session.err_seen, "");
    assert_int_equal(atomic_load(&state_of()->hook), LB_HOOK_NONE);
    if (all[i] > LB_HOOK_SETUP && all[i] != LB_HOOK_TEARDOWN) assert_string_equal(w.session.key, "k");
  }
  assert_int_equal(w.session.ttl_ms, TTL_MS);
  assert_int_equal(w.session.endpoint, 3);
  assert_false(w.holder.breached);
  assert_string_equal(state_of()->error, "");
}

static lb_ns doubled(struct lb_env *env, lb_ns ns) {
  (void)env;
  return 2 * ns;
}

TEST(a_deadline_is_seen_in_true_time_and_none_stays_none) {
  w.holder.to_truth = doubled;
  call(LB_HOOK_RELEASE, 100);
  assert_int_equal(w.session.deadline_given, 100);
  assert_int_equal(w.session.deadline_seen, 200);
  call(LB_HOOK_RELEASE, LB_NEVER);
  assert_int_equal(w.session.deadline_seen, LB_NEVER);
}

STATES(a_hook_that_is_not_there_does_nothing, w.protocol.setup = w.protocol.teardown = NULL,
       assert_int_equal(call(LB_HOOK_SETUP, 1), LB_OK), assert_int_equal(call(LB_HOOK_TEARDOWN, 1), LB_OK),
       assert_int_equal(w.session.called, LB_HOOK_NONE), assert_int_equal(atomic_load(&state_of()->hook_deadline), 0));

TEST(a_server_is_an_index_and_never_an_error) {
  assert_int_equal(lb_hook_server(&w.holder), -ENOENT); /* no such hook */
  w.proofs.server = server_hook;
  w.holder.endpoint_count = 3;
  snprintf(w.env.err, sizeof w.env.err, "of before");
  w.session.answer = 2;
  assert_int_equal(lb_hook_server(&w.holder), 2);
  assert_int_equal(w.session.hook_seen, LB_HOOK_SERVER);
  assert_int_equal(atomic_load(&state_of()->hook), LB_HOOK_NONE);
  w.session.answer = -ENOENT;
  assert_int_equal(lb_hook_server(&w.holder), -ENOENT);
  assert_string_equal(w.env.err, "of before");
  assert_string_equal(state_of()->error, "");
  assert_false(w.holder.breached);
  w.holder.endpoint_base = 4; /* as one of several groups of servers */
  w.session.answer = 2;
  assert_int_equal(lb_hook_server(&w.holder), 6);
  w.session.answer = -ENOENT;
  assert_int_equal(lb_hook_server(&w.holder), -ENOENT);
  w.session.answer = 3;
  assert_int_equal(lb_hook_server(&w.holder), -EPROTO);
  assert_string_equal(state_of()->breach, "server answered 3, which is neither -ENOENT nor one of 3 endpoints");
}

TEST(the_numbers_of_a_grant_are_asked_in_their_hooks) {
  static const struct {
    enum lb_hook hook;
    const char *breach;
  } numbers[] = {{LB_HOOK_VOTERS, "voters named more than the 3 endpoints"},
                 {LB_HOOK_SEEN, "seen answered a number of more than 63 bits"}};
  w.holder.endpoint_count = 3;
  for (size_t i = 0; i < 2; i++) {
    w.holder.breached = false, state_of()->breach[0] = '\0';
    w.proofs.voters = w.proofs.seen = NULL;
    assert_int_equal(lb_hook_number(&w.holder, numbers[i].hook), 0); /* no such hook */
    w.proofs.voters = w.proofs.seen = number_hook;
    w.session.answer = 5;
    assert_int_equal(lb_hook_number(&w.holder, numbers[i].hook), 5);
    assert_int_equal(w.session.hook_seen, numbers[i].hook);
    assert_int_equal(atomic_load(&state_of()->hook), LB_HOOK_NONE);
    assert_false(w.holder.breached);
    w.session.answer = -1;
    assert_int_equal(lb_hook_number(&w.holder, numbers[i].hook), 0);
    assert_string_equal(state_of()->breach, numbers[i].breach);
  }
}

/* An adapter's own line is what broke the contract; whatever it wrote, it is shown as one printable line. */
TEST(a_foreign_program_that_answers_nonsense_is_quoted) {
  w.session.answer = -EPROTO;
  w.session.says = "it\twrote \033[2J\n";
  w.protocol.traits |= LB_TRAIT_FOREIGN;
  assert_int_equal(call(LB_HOOK_RELEASE, LB_NEVER), -EPROTO);
  assert_string_equal(state_of()->breach, "release: it wrote ?[2J");
  w.holder.breached = false, state_of()->breach[0] = '\0';
  w.session.answer = -EIO; /* a failure, of any kind of protocol */
  assert_int_equal(call(LB_HOOK_RELEASE, LB_NEVER), -EIO);
  assert_string_equal(state_of()->breach, "");
  assert_false(w.holder.breached);
}

TEST(every_failure_is_kept_with_the_name_of_its_hook) {
  char expected[100];
  w.session.answer = -ECONNREFUSED;
  w.now = 0;
  for (size_t i = 0; i < ALL; i++) {
    w.session.says = "no server";
    assert_int_equal(call(all[i], 1), -ECONNREFUSED);
    snprintf(expected, sizeof expected, "%s: no server", lb_hook_name(all[i]));
    assert_string_equal(state_of()->error, expected);
    assert_string_equal(w.holder.error, expected);
    assert_string_equal(w.env.err, "no server");
    w.session.says = NULL;
    assert_int_equal(call(all[i], 1), -ECONNREFUSED);
    snprintf(expected, sizeof expected, "%s: Connection refused (it left no text)", lb_hook_name(all[i]));
    assert_string_equal(state_of()->error, expected);
  }
  assert_false(w.holder.breached);
}

/* They say nothing of the lock, and a protocol may have a reason to give. */
TEST(no_time_and_not_known_are_kept_if_they_have_a_text) {
  static const int answers[] = {LB_TIMEOUT, LB_UNKNOWN};
  w.now = 0;
  for (size_t i = 0; i < 2; i++) {
    state_of()->error[0] = '\0';
    w.session.answer = answers[i];
    w.session.says = NULL;
    assert_int_equal(call(LB_HOOK_TRY_ACQUIRE, 1), answers[i]);
    assert_string_equal(state_of()->error, "");
    w.session.says = "not in time";
    assert_int_equal(call(LB_HOOK_TRY_ACQUIRE, 1), answers[i]);
    assert_string_equal(state_of()->error, "try_acquire: not in time");
  }
}

TEST(what_is_no_failure_leaves_the_last_one_where_it_is) {
  w.session.answer = -EIO;
  w.session.says = "broken pipe";
  call(LB_HOOK_HOLDS, 1);
  w.session.says = "chatter";
  w.session.answer = LB_BUSY;
  assert_int_equal(call(LB_HOOK_TRY_ACQUIRE, 1), LB_BUSY);
  w.session.answer = LB_LOST;
  assert_int_equal(call(LB_HOOK_RELEASE, 1), LB_LOST);
  w.session.answer = LB_OK;
  assert_int_equal(call(LB_HOOK_WAIT, 1), LB_OK);
  assert_string_equal(state_of()->error, "holds: broken pipe");
}

TEST(an_answer_that_does_not_exist_is_a_breach_of_each_hook) {
  char expected[200];
  w.session.answer = 42;
  for (size_t i = 0; i < ALL; i++) {
    w.holder.breached = false;
    state_of()->breach[0] = '\0';
    assert_int_equal(call(all[i], 1), -EPROTO);
    assert_true(w.holder.breached);
    snprintf(expected, sizeof expected, "%s answered 42, which is no result of it", lb_hook_name(all[i]));
    assert_string_equal(state_of()->breach, expected);
    snprintf(expected, sizeof expected, "breach of the contract: %s answered 42, which is no result of it",
             lb_hook_name(all[i]));
    assert_string_equal(w.env.err, expected);
    assert_string_equal(w.holder.error, expected);
    assert_string_equal(state_of()->error, ""); /* that is for what a protocol says itself */
  }
}

/* Whatever was answered: the next one who reads it would read on. */
TEST(a_text_without_an_end_is_a_breach_of_each_hook) {
  static const int answers[] = {-EIO, LB_OK};
  char expected[200];
  w.session.says_no_end = true;
  for (size_t i = 0; i < 2 * ALL; i++) {
    state_of()->breach[0] = '\0';
    w.session.answer = answers[i % 2];
    w.session.gives_any = grants(all[i / 2]);
    assert_int_equal(call(all[i / 2], 1), -EPROTO);
    snprintf(expected, sizeof expected, "%s left a text in env->err that does not end", lb_hook_name(all[i / 2]));
    assert_string_equal(state_of()->breach, expected);
  }
}

STATES(the_first_breach_is_the_one_that_is_kept, w.session.answer = 42, call(LB_HOOK_RELEASE, 1),
       call(LB_HOOK_HOLDS, 1),
       assert_string_equal(state_of()->breach, "release answered 42, which is no result of it"));

TEST(a_grant_is_looked_at_whichever_hook_brings_it) {
  static const enum lb_hook bring[] = {LB_HOOK_TRY_ACQUIRE, LB_HOOK_RESOLVE};
  char expected[200];
  w.session.gives_any = true;
  for (size_t i = 0; i < 2; i++) {
    state_of()->breach[0] = '\0';
    w.session.gives = (struct lb_grant){.token_len = 4, .asked_at = w.now, .valid_until = w.now + LB_NS_PER_S};
    assert_int_equal(call(bring[i], 1), LB_OK);
    assert_int_equal(w.grant.token_len, 4);
    /* Asked for earlier, so the lease may have begun in this call and not later. */
    w.session.gives.asked_at = 1, w.session.gives.valid_until = w.now + LB_NS_PER_MS + LB_NS_PER_S;
    assert_int_equal(call(bring[i], 1), LB_OK);
    w.session.gives.valid_until = w.now + 3 * LB_NS_PER_MS + LB_NS_PER_S;
    assert_int_equal(call(bring[i], 1), -EPROTO);
    snprintf(expected, sizeof expected, "%s claims the lock for 2 ms longer than the lease", lb_hook_name(bring[i]));
    assert_string_equal(state_of()->breach, expected);
    assert_int_equal(w.grant.token_len, 0); /* nothing of it is left */
    assert_int_equal(w.grant.valid_until, 0);
  }
}

/* Also where nothing was granted: the token is handed back with the next request. */
TEST(a_length_beyond_the_token_is_a_breach_whatever_was_answered) {
  static const enum lb_hook bring[] = {LB_HOOK_TRY_ACQUIRE, LB_HOOK_RESOLVE};
  static const int answers[] = {LB_OK, LB_BUSY, LB_UNKNOWN};
  char expected[200];
  w.session.gives_any = true;
  for (size_t i = 0; i < 2; i++)
    for (size_t a = 0; a < 3; a++) {
      state_of()->breach[0] = '\0';
      w.session.answer = answers[a];
      w.session.gives.token_len = LB_TOKEN_MAX + 1;
      assert_int_equal(call(bring[i], 1), -EPROTO);
      snprintf(expected, sizeof expected, "%s left token_len = 161, at most 160", lb_hook_name(bring[i]));
      assert_string_equal(state_of()->breach, expected);
      assert_int_equal(w.grant.token_len, 0);
      w.session.answer = LB_BUSY;
      w.session.gives.token_len = LB_TOKEN_MAX;
      assert_int_equal(call(bring[i], 1), LB_BUSY);
    }
}

/* A machine that is a little late is no reason. */
TEST(a_deadline_that_was_not_kept_is_kept_as_an_error) {
  w.session.answer = LB_TIMEOUT;
  call(LB_HOOK_TRY_ACQUIRE, w.now - 498 * LB_NS_PER_MS);
  assert_string_equal(state_of()->error, "");
  call(LB_HOOK_TRY_ACQUIRE, w.now - 499 * LB_NS_PER_MS);
  assert_string_equal(state_of()->error, "try_acquire: came back 500 ms past its deadline");
  w.session.answer = LB_BUSY;
  call(LB_HOOK_TRY_ACQUIRE, w.now - 700 * LB_NS_PER_MS);
  assert_string_equal(state_of()->error, "try_acquire: came back 701 ms past its deadline");
  w.session.answer = LB_OK;
  w.session.gives_any = true;
  w.session.gives.asked_at = w.now, w.session.gives.valid_until = w.now + LB_NS_PER_MS;
  call(LB_HOOK_TRY_ACQUIRE, w.now - 800 * LB_NS_PER_MS);
  assert_string_equal(state_of()->error, "try_acquire: came back 801 ms past its deadline");
  w.session.answer = -EIO;
  w.session.says = "broken pipe"; /* its own word is better */
  call(LB_HOOK_TRY_ACQUIRE, w.now - 900 * LB_NS_PER_MS);
  assert_string_equal(state_of()->error, "try_acquire: broken pipe");
}

TEST(one_character_of_its_own_is_better_than_how_late_it_was) {
  w.session.answer = -EIO;
  w.session.says = "x";
  call(LB_HOOK_TRY_ACQUIRE, w.now - 900 * LB_NS_PER_MS);
  assert_string_equal(state_of()->error, "try_acquire: x");
}

/* ---- a hook that forks ------------------------------------------------------------------------------------------- */

enum { CAME_BACK = 7 };

TEST(a_child_that_comes_back_is_a_breach_and_ends_quietly) {
  pid_t self = getpid();
  lb_hook_own_process();
  w.session.answer = LB_BUSY;
  w.session.forks = true;
  int r = call(LB_HOOK_TRY_ACQUIRE, 1);
  if (getpid() != self) _exit(CAME_BACK);
  assert_int_equal(r, LB_BUSY); /* the client itself was answered */
  assert_true(WIFEXITED(w.session.child_status));
  assert_int_equal(WEXITSTATUS(w.session.child_status), 0);
  assert_string_equal(state_of()->breach, "try_acquire came back twice: from a child that it forked, too");
}

TEST(a_client_that_was_forked_itself_may_come_back) {
  int status = 0;
  lb_hook_own_process();
  w.session.answer = LB_BUSY;
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    lb_hook_own_process();
    _exit(call(LB_HOOK_TRY_ACQUIRE, 1) == LB_BUSY ? CAME_BACK : 1);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), CAME_BACK);
  assert_string_equal(state_of()->breach, "");
}
