/* test: beside, addresses */
/* SPDX-License-Identifier: MIT
 *
 * What conform says of a protocol that misbehaves: the lock in shared memory with one hook replaced by a bad one at a
 * time.
 */
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "test.h"
#include "backends/registry.h"
#include "base/clock.h"
#include "conform/conform.h"
#include "plan/settings.h"
#include "skip.h"
#include "hook.h"

enum { LIMIT_MS = UNDER_TSAN ? 5000 : 1000, RESULTS_MAX = 80 };

/* The first lines of every session's body in local.c: what a bad hook needs. */
struct lb_session {
  struct lb_env *env;
};

static struct lb_protocol bad;
static const struct lb_protocol *good;
static struct lb_conform_result results[RESULTS_MAX];
static size_t result_count;
static const char *const *only; /* NULL = all statements */
static int alive = -1;          /* held open by every process of the run */

static void note(void *data, const struct lb_conform_result *result) {
  (void)data;
  assert_true(result_count < RESULTS_MAX);
  results[result_count++] = *result;
}

static void run_on(const char *topology, int64_t limit_ms) {
  struct lb_rundir dir;
  struct lb_error err;
  union lb_value *options = lb_settings_options(&bad, NULL, 0);
  result_count = 0;
  assert_int_equal(lb_rundir_open(&dir, "/tmp", "test-conform", NULL, &err), 0);
  struct lb_conform_plan plan = {.protocol = &bad,
                                 .topology = lb_topology_find(topology),
                                 .options = options,
                                 .dir = &dir,
                                 .limit_ms = limit_ms,
                                 .only = only};
  assert_int_equal(lb_conform_run(&plan, note, NULL, &err), 0);
  lb_rundir_close(&dir);
  free(options);
}

/* From here to the end of the test; what costs little asks for all. */
#define ONLY(...)                                                                                                      \
  do {                                                                                                                 \
    static const char *const texts[] = {__VA_ARGS__, NULL};                                                            \
    only = texts;                                                                                                      \
  } while (0)

static void run(void) { run_on("none", LIMIT_MS); }

static const struct lb_conform_result *said(const char *statement) {
  for (size_t i = 0; i < result_count; i++)
    if (strcmp(results[i].statement, statement) == 0) return &results[i];
  fail_msg("nothing was said of '%s'", statement);
  return NULL;
}

#define SAYS(statement, text) assert_string_equal(said(statement)->why, text)
#define RUN_SAYS(how, statement, text) (how, SAYS(statement, text))
#define FREE_LOCK "a free lock is granted and released"
#define HELD_LOCK "a held lock is refused to another session"
#define CONFIRMS "the server confirms a hold and nothing else"
#define VALIDITY "validity counts from before the send"
#define EXTENDS "extending moves the end"
#define TORN_DOWN "teardown leaves nothing behind"
#define NO_DOUBT "a healthy session is in no doubt, and says so at once"
#define DOUBTS "a broken connection is a doubt until the hold is confirmed again"
#define SERVER "the server that a session names has its lock"
#define WOKEN "a waiter is woken by the release"
#define AT_ONCE "who is refused is told at once"
#define REFUSED_RELEASE "who was refused releases nobody else's lock"
#define ITSELF "a session that holds is refused like anybody else"
#define DEPTH "a holder is granted again, and others after as many releases"
#define ONE_HOLD "an attempt that was repeated is one hold"
#define SIXTEEN "of sixteen clients one holds, and each gets its turn"
#define TOO_LATE "extending what has expired does not bring it back"
#define FIFO "who comes first is served first"
#define POLLS "who waits to be told does not poll"
#define LOST_TRY "a try without an answer is told for what it is"
#define LOST_RELEASE "a release without an answer can be repeated"
#define LOST_EXTENSION "an extension without an answer promises nothing"
#define NOBODY_ASKS "what nobody asks about ends with its lease or session"
#define SHORT_TIME "what a try says is true however short its time"
#define ANY_POINT "what a try says is true wherever its connections break"
#define THOUSAND "one session holds a thousand locks"
#define NAMES "names may be as long and as alike as they may be"
#define LEAKS "ten thousand cycles leave no file open and no memory behind"
#define DEAD_CLIENTS "what a dead client had ends with its lease or session"
#define RESTART "a session goes on after a restart of its servers"
#define GIVES_UP_WAITING "a waiter that gives up leaves nothing behind"

/* What it says begins with one text and ends with the other; between them is a time. */
static void says_with_a_time(const char *statement, const char *begin, const char *end) {
  const char *why = said(statement)->why;
  size_t length = strlen(why);
  if (length < strlen(begin) + strlen(end) || strncmp(why, begin, strlen(begin)) != 0 ||
      strcmp(why + length - strlen(end), end) != 0)
    fail_msg("%s: %s", statement, why);
}

static void says_somewhere(const char *statement, const char *part) {
  const struct lb_conform_result *result = said(statement);
  if (result && !strstr(result->why, part)) fail_msg("%s: %s", statement, result->why);
}

static int set_up(void **state) {
  (void)state;
  good = lb_protocol_find("local");
  bad = *good;
  only = NULL;
  return 0;
}
EACH(set_up, NULL);

static int set_up_lease(void **state) {
  (void)state;
  good = lb_protocol_find("redis-token");
  bad = *good;
  only = NULL;
  return 0;
}

/* ---- bad hooks --------------------------------------------------------------------------------------------------- */

HOOK(try_good) { return good->try_acquire(s, lock, grant, deadline); }

HOOK(try_always) {
  int r = try_good(s, lock, grant, deadline);
  grant->valid_until = LB_NEVER;
  return r == LB_BUSY ? LB_OK : r;
}

HOOK(try_42) {
  try_good(s, lock, grant, deadline);
  return 42;
}

HOOK(try_without_time) {
  int r = try_good(s, lock, grant, deadline);
  grant->asked_at = 0;
  return r;
}

HOOK(try_in_silence) { return -EIO; }

HOOK(try_with_noise) {
  for (int i = 1; i <= 20; i++) printf("line %d\n", i);
  fprintf(stderr, "\033[2Jok 1 - everything\n");
  return lb_fail(s->env, -EIO, "no \001 service");
}

HOOK(try_politely) { return lb_fail(s->env, -ECONNREFUSED, "no service"); }

HOOK(release_late) {
  while (pause() < 0) {
  }
  return LB_OK;
}

HOOK(wait_late) {
  lb_sleep_until(s->env, deadline + 700 * LB_NS_PER_MS);
  return LB_TIMEOUT;
}

/* A hook that may be a little late, as on a busy machine. */
HOOK(wait_a_little_late) {
  lb_sleep_until(s->env, deadline + 50 * LB_NS_PER_MS);
  return LB_TIMEOUT;
}

HOOK(extend_nothing) { return LB_OK; }

HOOK(extend_for_ever) {
  grant->valid_until = LB_NEVER;
  return LB_OK;
}

HOOK(try_until_a_time) {
  int r = try_good(s, lock, grant, deadline);
  if (r == LB_OK) grant->valid_until = lb_lease_end(grant->asked_at, lock->ttl_ms);
  return r;
}

HOOK(try_far_too_long) {
  int r = try_good(s, lock, grant, deadline);
  if (r == LB_OK) grant->valid_until = grant->asked_at + 1000 * LB_NS_PER_S;
  return r;
}

/* The three below are of a lease in Redis: what is wrong with them shows only where a reply takes its time. */
HOOK(try_valid_from_the_reply) {
  int r = try_good(s, lock, grant, deadline);
  if (r == LB_OK) grant->valid_until = lb_lease_end(lb_clock_ns(), lock->ttl_ms);
  return r;
}

HOOK(try_asked_at_the_reply) {
  int r = try_good(s, lock, grant, deadline);
  if (r == LB_OK) grant->asked_at = lb_clock_ns(), grant->valid_until = lb_lease_end(grant->asked_at, lock->ttl_ms);
  return r;
}

HOOK(extend_from_the_reply) {
  int r = good->extend(s, lock, grant, deadline);
  if (r == LB_OK) grant->valid_until = lb_lease_end(lb_clock_ns(), lock->ttl_ms);
  return r;
}

ASKS(holds_and_dies) { return raise(SIGTERM); }
HOOK(release_and_die) { return raise(SIGTERM); }
ASKS(holds_and_exits) { exit(7); }

static void close_with_a_child(struct lb_session *s) {
  good->close(s);
  if (fork() == 0)
    for (;;) pause();
}

static int tear_down_nothing(struct lb_session *s, lb_ns deadline) {
  (void)s, (void)deadline;
  return LB_OK;
}

static int tear_down_once(struct lb_session *s, lb_ns deadline) {
  static int calls;
  return calls++ == 0 ? good->teardown(s, deadline) : lb_fail(s->env, -ENOENT, "nothing is left to remove");
}

static int tear_down_21(struct lb_session *s, lb_ns deadline) {
  (void)s, (void)deadline;
  return 21;
}

/* As a sanitizer that has found a leak. */
static void end_badly(void) {
  static const char text[] = "before\n==7==ERROR: LeakSanitizer: detected\n1\n2\n3\n4\n5\n6\n7\n8\n";
  _exit(write(2, text, sizeof text - 1) < 0 ? 1 : 23);
}

static void close_badly(struct lb_session *s) {
  good->close(s);
  atexit(end_badly);
}

/* ---- what is said of them ---------------------------------------------------------------------------------------- */

TEST(a_good_protocol_holds) {
  run();
  for (size_t i = 1; i < result_count; i++) { /* but for the first: the copy is not the one that has the name */
    assert_string_equal(results[i].why, "");
    assert_true(results[i].holds);
  }
  assert_true(result_count > 10);
  SAYS("the table is well formed", "expected to find local by its name, found another protocol");
}

STATES(what_was_expected_and_what_came, bad.try_acquire = try_always,
       RUN_SAYS(run(), HELD_LOCK, "expected BUSY from try_acquire, got OK (second session)"), SAYS(FREE_LOCK, ""),
       bad.try_acquire = try_politely,
       RUN_SAYS(run(), FREE_LOCK, "expected OK from try_acquire, got -ECONNREFUSED (first session): no service"));

TEST(a_breach_of_the_contract_in_any_call) {
  bad.try_acquire = try_42;
  RUN_SAYS(run(), FREE_LOCK, "try_acquire answered 42, which is no result of it (first session)");
  bad.try_acquire = try_without_time;
  RUN_SAYS(run(), FREE_LOCK, "granted with asked_at = 0 (try_acquire, first session)");
  bad.try_acquire = try_in_silence;
  RUN_SAYS(run(), FREE_LOCK, "try_acquire answered -EIO and left no text in env->err (first session)");
}

TEST(its_output_is_shown_but_not_obeyed) {
  bad.try_acquire = try_with_noise;
  RUN_SAYS(
      run(), FREE_LOCK,
      "try_acquire answered -EIO and left a text in env->err whose byte 4 (0x01) cannot be printed (first session)");
  assert_string_equal(said(FREE_LOCK)->output,
                      "line 14\nline 15\nline 16\nline 17\nline 18\nline 19\nline 20\n?[2Jok 1 - everything\n");
}

TEST(who_hangs_is_stopped_and_the_rest_not_tried) {
  char expected[100];
  bad.release = release_late;
  run();
  snprintf(expected, sizeof expected, "it did not end within %d s, inside release (first session)", LIMIT_MS / 1000);
  SAYS("a session opens, sets up and works", expected);
  SAYS(FREE_LOCK, expected);
  SAYS(HELD_LOCK, expected);
  SAYS("two keys do not exclude each other", "not tried, because 3 statements before it did not end");
  assert_false(said("two keys do not exclude each other")->holds);
}

TEST(who_comes_back_late_is_named) {
  ONLY(WOKEN, FREE_LOCK);
  bad.wait = wait_late;
  run_on("none", 10 * LIMIT_MS);
  says_with_a_time(WOKEN, "wait came back ", " ms past its deadline (second session)");
  SAYS(FREE_LOCK, "");
  bad.wait = wait_a_little_late;
  RUN_SAYS(run_on("none", 10 * LIMIT_MS), WOKEN, "expected OK from wait, got TIMEOUT (second session)");
}

TEST(a_session_may_hold_for_ever) {
  bad.traits = LB_TRAIT_SESSION | LB_TRAIT_FENCED; /* as flock(2) does, which ends with its process */
  bad.extend = extend_nothing;
  RUN_SAYS(run(), VALIDITY, "");
  SAYS(EXTENDS, "");
  bad.try_acquire = try_until_a_time;
  bad.extend = extend_for_ever;
  RUN_SAYS(run(), VALIDITY, "");
  SAYS(EXTENDS, "expected valid_until at most 3000 ms after the extension was asked for, got for ever");
  bad.try_acquire = try_far_too_long;
  run();
  says_with_a_time(VALIDITY, "expected valid_until at most 3000 ms after the latest contact, or LB_NEVER, got ", " ms");
}

STATES(a_lock_without_expiry_holds_for_ever, bad.try_acquire = try_until_a_time, run(),
       says_with_a_time(VALIDITY, "expected valid_until = LB_NEVER from a lock without expiry, got ",
                        " ms after asked_at"));

/* Seen only if the reply takes longer than the drift that a lease is shortened by. */
TEST_WITH(what_counts_from_the_reply_is_seen, set_up_lease, NULL) {
  ONLY(VALIDITY, EXTENDS);
  if (lb_topology_missing(lb_topology_find("redis"))) skip();
  bad.try_acquire = try_valid_from_the_reply;
  bad.extend = extend_from_the_reply;
  run_on("redis", 5 * LIMIT_MS);
  says_with_a_time(VALIDITY, "claims the lock for ", " ms longer than the lease (try_acquire, first session)");
  says_with_a_time(EXTENDS, "expected valid_until at most 3000 ms after the extension was asked for, got ", " ms");
  bad.try_acquire = try_asked_at_the_reply;
  bad.extend = good->extend;
  run_on("redis", 5 * LIMIT_MS);
  says_with_a_time(VALIDITY, "expected asked_at before the reply, got one ", " ms after it");
  SAYS(EXTENDS, "");
}

STATES(who_dies_takes_one_statement_along, bad.holds = holds_and_dies,
       RUN_SAYS(run(), CONFIRMS, "it died of SIGTERM inside holds (first session)"),
       SAYS("giving up leaves nothing behind", ""), bad.holds = holds_and_exits,
       RUN_SAYS(run(), CONFIRMS, "it ended with exit status 7 inside holds (first session)"));
STATES(a_process_that_ends_badly_does_not_hold, bad.close = close_badly, run(),
       SAYS(FREE_LOCK, "it held, but its process then ended with exit status 23"),
       assert_string_equal(said(FREE_LOCK)->output, "==7==ERROR: LeakSanitizer: detected\n1\n2\n3\n4\n5\n6\n7\n"),
       assert_false(said(FREE_LOCK)->holds));

TEST(nothing_outlives_its_statement) {
  int pipe_fd[2];
  assert_int_equal(pipe2(pipe_fd, 0), 0);
  alive = pipe_fd[1];
  bad.close = close_with_a_child;
  RUN_SAYS(run(), FREE_LOCK, "");
  close(alive);
  struct pollfd p = {.fd = pipe_fd[0], .events = POLLIN};
  assert_int_equal(poll(&p, 1, 5000), 1);
  assert_true(p.revents & POLLHUP);
  close(pipe_fd[0]);
}

static int doubt_1(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
  (void)s, (void)lock, (void)grant;
  return LB_BUSY;
}
static int doubt_always(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
  (void)lock, (void)grant;
  return lb_fail(s->env, -EIO, "one never knows"), LB_UNKNOWN;
}
static int doubt_after_a_nap(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
  (void)lock, (void)grant;
  lb_sleep_until(s->env, lb_now(s->env) + LB_NS_PER_MS);
  return LB_OK;
}
static int doubt_never(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
  (void)s, (void)lock, (void)grant;
  return LB_OK;
}

TEST(doubt_has_its_reasons_and_no_time) {
  ONLY(NO_DOUBT, DOUBTS);
  bad.doubt = doubt_1;
  RUN_SAYS(run(), NO_DOUBT, "doubt answered 1 (BUSY), which is no result of it (first session)");
  bad.doubt = doubt_always;
  RUN_SAYS(run(), NO_DOUBT, "expected OK from doubt, got UNKNOWN (first session): one never knows");
  bad.doubt = doubt_after_a_nap;
  RUN_SAYS(run(), NO_DOUBT, "doubt waited in lb_sleep_until (first session)");
  good = lb_protocol_find("redis-token"), bad = *good;
  bad.doubt = doubt_never;
  RUN_SAYS(run_on("redis", 10 * LIMIT_MS), DOUBTS,
           "expected UNKNOWN, LOST or an error from doubt within 3000 ms, got OK (first session)");
}

TEST_WITH(what_a_teardown_forgets_is_found_at_the_servers, set_up_lease, NULL) {
  ONLY(TORN_DOWN);
  bad.teardown = tear_down_nothing;
  RUN_SAYS(run_on("redis", 10 * LIMIT_MS), TORN_DOWN,
           "expected no record of a key at server 1 after teardown, it has one (third session)");
  bad.teardown = tear_down_21;
  RUN_SAYS(run_on("redis", 10 * LIMIT_MS), TORN_DOWN, "teardown answered 21, which is no result of it (third session)");
  good = lb_protocol_find("zk-sequential"),
  bad = *good; /* its session starts with its env, as tear_down_once() takes it */
  bad.teardown = tear_down_once;
  RUN_SAYS(run_on("zk", 10 * LIMIT_MS), TORN_DOWN,
           "expected OK from teardown, got -ENOENT (second session): nothing is left to remove");
}

static int server_always(struct lb_session *s) { return (void)s, -ENOENT; }
static int server_second(struct lb_session *s) { return (void)s, 1; }
static int server_9(struct lb_session *s) { return (void)s, 9; }
static int server_after_a_nap(struct lb_session *s) {
  lb_sleep_until(s->env, lb_now(s->env) + LB_NS_PER_MS);
  return 0;
}

TEST_WITH(a_session_names_the_server_that_has_its_lock, set_up_lease, NULL) {
  ONLY(SERVER);
  static const struct {
    int (*server)(struct lb_session *);
    const char *why;
  } cases[] = {
      {server_always, "expected from server one of the 3 endpoints that hold locks, got -2 (first session)"},
      {server_second,
       "expected 1 from inspect, got 0 (second session)"}, /* it knows nothing of what the first one has */
      {server_9, "server answered 9, which is neither -ENOENT nor one of 3 endpoints (first session)"},
      {server_after_a_nap, "server waited in lb_sleep_until (first session)"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    bad.proofs = &(struct lb_proofs){.inspect = lb_proofs(good)->inspect, .server = cases[i].server};
    run_on("redis-x3", 10 * LIMIT_MS);
    SAYS(SERVER, cases[i].why);
  }
}

HOOK(try_numbered) {
  int r = try_good(s, lock, grant, deadline);
  grant->fence = 5;
  return r;
}

/* Only the verdict of the statement is the flaw that was declared, not whatever else may go wrong in it. */
TEST(a_declared_flaw_has_to_show) {
  ONLY(HELD_LOCK, FREE_LOCK);
  static const struct lb_flaw flaws[] = {{HELD_LOCK, "it grants to all", NULL}, {NULL, NULL, NULL}};
  bad.flaws = flaws;
  bad.try_acquire = try_always;
  RUN_SAYS(run(), HELD_LOCK, "expected BUSY from try_acquire, got OK (second session)");
  assert_true(said(HELD_LOCK)->holds);
  assert_string_equal(said(HELD_LOCK)->declared, "it grants to all");
  assert_string_equal(said(FREE_LOCK)->declared, "");
  bad.try_acquire = good->try_acquire;
  RUN_SAYS(run(), HELD_LOCK, "it holds, though the protocol declares that it does not");
  assert_false(said(HELD_LOCK)->holds);
  bad.try_acquire = try_politely;
  RUN_SAYS(run(), HELD_LOCK, "expected OK from try_acquire, got -ECONNREFUSED (first session): no service");
  assert_false(said(HELD_LOCK)->holds);
  bad.try_acquire = try_42;
  run();
  assert_false(said(HELD_LOCK)->holds);
  bad.try_acquire = good->try_acquire;
  bad.release = release_and_die;
  RUN_SAYS(run(), HELD_LOCK, "it died of SIGTERM inside release (first session)");
  assert_false(said(HELD_LOCK)->holds);
}

/* The other statement is not asked, and its flaw not missed, because that option is off. */
TEST_WITH(a_flaw_may_hang_on_an_option, set_up_lease, NULL) {
  ONLY("the table is well formed", "a grant without fence says so", "fences grow");
  static const struct lb_flaw flaws[] = {{"a grant without fence says so", "it numbers them", "fence=no"},
                                         {"fences grow", "it always says 5", "fence=yes"},
                                         {NULL, NULL, NULL}};
  if (lb_topology_missing(lb_topology_find("redis"))) skip();
  bad.flaws = flaws;
  bad.try_acquire = try_numbered;
  RUN_SAYS(run_on("redis", 10 * LIMIT_MS), "the table is well formed",
           "expected to find redis-token by its name, found another protocol");
  SAYS("a grant without fence says so", "expected fence = 0 from a lock that numbers no grants, got 5");
  assert_true(said("a grant without fence says so")->holds);
}

/* ---- exclusion, waiters, depth ----------------------------------------------------------------------------------- */

HOOK(try_slowly) {
  int r = try_good(s, lock, grant, deadline);
  if (r == LB_BUSY) lb_sleep_until(s->env, lb_now(s->env) + 1100 * LB_NS_PER_MS);
  return r;
}

/* Of the latest grant of any session, as a lock has it that does not look at who releases. */
static struct lb_grant latest;
static struct lb_session *latest_session;

HOOK(try_and_note) {
  int r = try_good(s, lock, grant, deadline);
  if (r == LB_OK) latest = *grant, latest_session = s;
  return r;
}
HOOK(release_the_latest) {
  struct lb_grant whose = latest;
  return good->release(s, lock, &whose, deadline);
}
HOOK(try_again_for_oneself) {
  int r = try_and_note(s, lock, grant, deadline);
  if (r != LB_BUSY || s != latest_session) return r;
  *grant = latest;
  return LB_OK;
}

/* Counts requests, not attempts. */
static int asked;
HOOK(try_and_count) {
  int r = try_good(s, lock, grant, deadline);
  asked = r == LB_OK ? asked + 1 : asked;
  return r;
}
HOOK(release_as_counted) { return --asked > 0 ? LB_OK : good->release(s, lock, grant, deadline); }
HOOK(extend_by_asking) { return good->try_acquire(s, lock, grant, deadline); }

HOOK(wait_asking) {
  while (lb_now(s->env) < deadline) {
    int r = good->try_acquire(s, lock, grant, deadline);
    if (r < 0 || r == LB_OK) return r;
    lb_sleep_until(s->env, lb_now(s->env) + LB_NS_PER_MS);
  }
  return LB_TIMEOUT;
}

HOOK(release_holds_only) { return grant->valid_until ? good->release(s, lock, grant, deadline) : LB_OK; }

TEST(who_has_no_right_to_the_lock_is_seen_to_get_it) {
  ONLY(SIXTEEN);
  bad.try_acquire = try_always;
  run_on("none", 10 * LIMIT_MS);
  assert_false(said(SIXTEEN)->holds); /* by who is inside, or by the number: whichever is seen first */
  ONLY(AT_ONCE);
  bad.try_acquire = try_slowly;
  run_on("none", 10 * LIMIT_MS);
  says_with_a_time(AT_ONCE, "expected BUSY at once, got it after ", " ms (second session)");
  ONLY(REFUSED_RELEASE, ITSELF);
  bad.try_acquire = try_and_note;
  bad.release = release_the_latest;
  RUN_SAYS(run(), REFUSED_RELEASE, "expected BUSY from try_acquire, got OK (third session)");
  bad.release = good->release;
  bad.try_acquire = try_again_for_oneself;
  RUN_SAYS(run(), ITSELF, "expected BUSY from try_acquire, got OK (first session)");
  ONLY(ONE_HOLD);
  bad.try_acquire = try_and_count;
  bad.release = release_as_counted;
  RUN_SAYS(run_on("none", 10 * LIMIT_MS), ONE_HOLD,
           "expected OK from try_acquire within 3000 ms, got BUSY (second session)");
}

TEST(what_a_trait_promises_is_asked) {
  ONLY(DEPTH, FIFO);
  bad.traits |= LB_TRAIT_REENTRANT | LB_TRAIT_FIFO;
  RUN_SAYS(run(), DEPTH, "expected OK from try_acquire, got BUSY (first session)");
  SAYS(FIFO, "expected BUSY from try_acquire, got OK (sixth session)");
  bad.try_acquire = try_again_for_oneself; /* which forgets how often */
  RUN_SAYS(run(), DEPTH, "expected BUSY from try_acquire, got OK (second session)");
}

TEST_WITH(an_extension_that_revives_is_seen, set_up_lease, NULL) {
  ONLY(TOO_LATE);
  if (lb_topology_missing(lb_topology_find("redis"))) skip();
  bad.extend = extend_by_asking;
  RUN_SAYS(run_on("redis", 10 * LIMIT_MS), TOO_LATE, "expected LOST from extend, got OK (first session)");
}

TEST(waiters_that_poll_or_stay_are_seen) {
  ONLY(POLLS, GIVES_UP_WAITING);
  if (lb_topology_missing(lb_topology_find("zk"))) skip();
  good = lb_protocol_find("zk-sequential"), bad = *good;
  bad.wait = wait_asking;
  bad.release = release_holds_only;
  run_on("zk", 10 * LIMIT_MS);
  says_with_a_time(POLLS, "expected at most 20 packets in 400 ms of waiting, got ", " (first and second session)");
  SAYS(GIVES_UP_WAITING, "expected OK from try_acquire within 2000 ms, got BUSY (third session)");
}

/* ---- answers that do not come ------------------------------------------------------------------------------------ */

/* Takes silence for a refusal. */
HOOK(try_sure) {
  int r = try_good(s, lock, grant, deadline);
  return r == LB_UNKNOWN ? LB_TIMEOUT : r;
}
/* Takes it for a grant. */
HOOK(try_in_hope) {
  lb_ns asked_at = lb_now(s->env);
  int r = try_good(s, lock, grant, deadline);
  if (r == LB_OK || r == LB_BUSY) return r;
  grant->asked_at = asked_at;
  grant->valid_until = lb_lease_end(asked_at, lock->ttl_ms);
  return LB_OK;
}
HOOK(try_after_its_time) {
  if (deadline > lb_now(s->env)) return try_good(s, lock, grant, deadline);
  return try_good(s, lock, grant, deadline + LB_NS_PER_S) == LB_OK ? LB_TIMEOUT : LB_BUSY;
}
HOOK(try_for_too_long) {
  int r = try_good(s, &(struct lb_lock){lock->key, 20 * lock->ttl_ms}, grant, deadline);
  if (r == LB_OK) grant->valid_until = lb_lease_end(grant->asked_at, lock->ttl_ms);
  return r;
}
HOOK(resolve_sure) { return LB_BUSY; }
HOOK(extend_in_hope) {
  int r = good->extend(s, lock, grant, deadline);
  if (r == LB_UNKNOWN) grant->valid_until += LB_NS_PER_S;
  return r;
}

TEST_WITH(what_is_said_without_an_answer_is_looked_at, set_up_lease, NULL) {
  static const char still_held[] = "expected OK from try_acquire within 3000 ms, got BUSY (second session)";
  if (lb_topology_missing(lb_topology_find("redis"))) skip();
  ONLY(LOST_TRY);
  bad.try_acquire = try_sure;
  RUN_SAYS(run_on("redis", 10 * LIMIT_MS), LOST_TRY, still_held);
  bad.try_acquire = good->try_acquire;
  bad.resolve = resolve_sure;
  RUN_SAYS(run_on("redis", 10 * LIMIT_MS), LOST_TRY, still_held);
  ONLY(SHORT_TIME);
  bad.try_acquire = try_after_its_time;
  RUN_SAYS(run_on("redis", 10 * LIMIT_MS), SHORT_TIME, still_held);
  ONLY(ANY_POINT);
  bad.try_acquire = try_in_hope;
  RUN_SAYS(run_on("redis", 10 * LIMIT_MS), ANY_POINT, "expected BUSY from try_acquire, got OK (second session)");
  ONLY(NOBODY_ASKS);
  bad.try_acquire = try_for_too_long;
  RUN_SAYS(run_on("redis", 10 * LIMIT_MS), NOBODY_ASKS,
           "expected OK from try_acquire within 6000 ms, got BUSY (second session)");
}

TEST_WITH(what_comes_after_no_answer_is_looked_at, set_up_lease, NULL) {
  if (lb_topology_missing(lb_topology_find("redis"))) skip();
  ONLY(LOST_RELEASE, LOST_EXTENSION);
  bad.try_acquire = try_and_note;
  bad.release = release_the_latest;
  bad.extend = extend_in_hope;
  RUN_SAYS(run_on("redis", 10 * LIMIT_MS), LOST_RELEASE, "expected BUSY from try_acquire, got OK (third session)");
  SAYS(LOST_EXTENSION, "expected valid_until not to move out, it did by 1000.000 ms (extend, first session)");
}

/* ---- many locks, long names, long lives, ends -------------------------------------------------------------------- */

HOOK(try_fifty) {
  static int calls;
  return calls++ < 50 ? try_good(s, lock, grant, deadline) : LB_BUSY;
}
/* As a column of so many characters has it. */
HOOK(try_short_names) {
  char name[64];
  snprintf(name, 60, "%s", lock->key);
  return try_good(s, &(struct lb_lock){name, lock->ttl_ms}, grant, deadline);
}
static void *volatile lost;
HOOK(try_and_lose_memory) {
  lost = malloc(64);
  return try_good(s, lock, grant, deadline);
}
HOOK(try_and_lose_files) {
  static int calls;
  if (calls++ % 20 == 0 && open("/dev/null", O_RDONLY | O_CLOEXEC) < 0) return lb_fail(s->env, -EMFILE, "no file");
  return try_good(s, lock, grant, deadline);
}
HOOK(try_numbered_backwards) {
  static uint64_t left = 100;
  int r = try_good(s, lock, grant, deadline);
  if (r == LB_OK) grant->fence = left--;
  return r;
}
ASKS(holds_never) { return LB_LOST; }

TEST(few_locks_and_short_names_are_seen) {
  ONLY(THOUSAND);
  bad.try_acquire = try_fifty;
  RUN_SAYS(run_on("none", 10 * LIMIT_MS), THOUSAND, "expected OK from try_acquire, got BUSY (first session)");
  ONLY(NAMES);
  bad.try_acquire = try_short_names;
  RUN_SAYS(run(), NAMES, "expected OK from try_acquire, got BUSY (third session)");
}

/* Sanitizers bring a malloc that does not say how much it has given. */
TEST(what_is_lost_in_every_cycle_is_seen) {
  struct mallinfo2 before = mallinfo2();
  lost = malloc(1000);
  ONLY(LEAKS);
  bad.try_acquire = try_and_lose_files;
  run_on("none", 10 * LIMIT_MS);
  says_somewhere(LEAKS, " open files as before ");
  bool counts = mallinfo2().uordblks > before.uordblks;
  free(lost);
  if (!counts) SKIP("this malloc does not count");
  bad.try_acquire = try_and_lose_memory;
  run_on("none", 10 * LIMIT_MS);
  says_somewhere(LEAKS, " bytes allocated as before ");
}

TEST(what_outlives_a_client_is_seen) {
  ONLY(DEAD_CLIENTS);
  bad.traits = LB_TRAIT_LEASED | LB_TRAIT_FENCED; /* without an end of its own */
  bad.try_acquire = try_until_a_time;
  RUN_SAYS(run_on("none", 15 * LIMIT_MS), DEAD_CLIENTS,
           "expected OK from try_acquire within 6000 ms, got BUSY (first session)");
}

TEST_WITH(what_a_restart_takes_is_seen, set_up_lease, NULL) {
  if (lb_topology_missing(lb_topology_find("redis-aof"))) skip();
  ONLY(RESTART);
  bad.holds = holds_never;
  RUN_SAYS(run_on("redis-aof", 30 * LIMIT_MS), RESTART,
           "expected OK from holds within 10000 ms, got LOST (first session)");
  bad.holds = good->holds;
  bad.try_acquire = try_numbered_backwards;
  bad.traits |= LB_TRAIT_FENCED;
  run_on("redis-aof", 30 * LIMIT_MS);
  says_with_a_time(RESTART, "expected a fence above 98 after the restart, got ", "");
}
