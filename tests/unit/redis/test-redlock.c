/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * Redlock where answers break off, come late or come one after the other, by a clock that the test owns.
 */

#include <signal.h>

#include "test.h"
#include "backends/redis/redis.h"
#include "backends/redis/redlock.h"
#include "redis_fake.h"

enum { NODES = 3, TTL_MS = 1000, PATIENCE_MS = 40, VALID_MS = 988 /* without the drift */ };

extern const struct lb_protocol lb_redlock;

static struct lb_session *session;
static struct lb_endpoint endpoint[NODES];
static struct lb_target target = {.topology = "fake", .endpoints = endpoint, .count = NODES};
static union lb_value options[REDLOCK_OPTION_COUNT];
/* What happens when the requests have left, once. */
static lb_ns late;
static int64_t jump_ms, wall_ahead_ms;

static lb_ns in_ms(int64_t ms) { return fake_now + (lb_ns)ms * LB_NS_PER_MS; }
static int64_t ms_since(lb_ns begin) { return (int64_t)((fake_now - begin) / LB_NS_PER_MS); }

static int64_t wall_ms(struct lb_env *env) {
  (void)env;
  return (int64_t)(fake_now / LB_NS_PER_MS) + 1000000000 + wall_ahead_ms;
}

static void point(struct lb_env *env, const char *name) {
  (void)env;
  if (strcmp(name, "after-send") != 0) return;
  fake_now += late;
  wall_ahead_ms += jump_ms;
  late = 0, jump_ms = 0;
}

/* The servers hear what has been sent. */
static void settle(void) { fake_env.wait_fds(&fake_env, NULL, 0, fake_now); }

static void sleep_until(struct lb_env *env, lb_ns when) {
  (void)env;
  settle();
  if (when > fake_now) fake_now = when;
}

static int set_up(void **state) {
  (void)state;
  fake_start();
  fake_env.sleep_until = sleep_until;
  fake_env.wall_ms = wall_ms, fake_env.point = point;
  late = 0, jump_ms = 0, wall_ahead_ms = 0;
  for (size_t i = 0; i < NODES; i++) endpoint[i] = (struct lb_endpoint){"redis", "127.0.0.1", fake_port};
  for (size_t i = 0; i < REDLOCK_OPTION_COUNT; i++) {
    const struct lb_option *o = &redlock_options[i];
    if (o->type == LB_OPT_REAL) options[i].f = o->def;
    else if (o->type == LB_OPT_BOOL) options[i].b = o->def != 0;
    else options[i].i = (int64_t)o->def;
  }
  options[REDLOCK_NODE_TIMEOUT].i = PATIENCE_MS;
  session = NULL;
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  if (session) lb_redlock.close(session);
  free(session);
  fake_stop();
  return 0;
}
EACH(set_up, tear_down);

/* With the options as they are now. */
static void open_session(void) {
  struct lb_config config = {.env = &fake_env,
                             .target = &target,
                             .options = options,
                             .ttl_ms = TTL_MS,
                             .client = "client",
                             .protocol = &lb_redlock,
                             .prefix = "k"};
  session = calloc(1, lb_redlock.session_size);
  assert_non_null(session);
  assert_int_equal(lb_redlock.open(session, &config, in_ms(100)), 0);
}

static const struct lb_lock lock = {"k", TTL_MS};
static int try_for(struct lb_grant *grant, int64_t ms) {
  return lb_redlock.try_acquire(session, &lock, grant, in_ms(ms));
}
static int try(struct lb_grant *grant) { return try_for(grant, 500); }
static int release(struct lb_grant *grant) { return lb_redlock.release(session, &lock, grant, in_ms(500)); }
static int extend(struct lb_grant *grant) { return lb_redlock.extend(session, &lock, grant, in_ms(500)); }

static void answers(const char *a, const char *b, const char *c) { fake_answer(a), fake_answer(b), fake_answer(c); }
#define YES "+OK\r\n"
#define NO "$-1\r\n"
#define DONE ":1\r\n"
#define NOT_MINE ":0\r\n"

static struct lb_grant granted(void) {
  struct lb_grant grant = LB_GRANT_INIT;
  answers(YES, YES, YES);
  assert_int_equal(try(&grant), LB_OK);
  return grant;
}

/* How often a command that begins so was received. */
static size_t heard(const char *begin) {
  size_t count = 0;
  for (size_t i = 0; i < fake_heard_count(); i++) count += !strncmp(fake_heard(i), begin, strlen(begin));
  return count;
}

/* What a server says that has the token already, for whoever sends it with GET. */
static const char *own_token(void) {
  static char reply[100];
  char token[REDIS_TOKEN_LEN + 1] = "";
  assert_int_equal(sscanf(fake_heard(0), "SET k %40s", token), 1);
  snprintf(reply, sizeof reply, "$%d\r\n%s\r\n", REDIS_TOKEN_LEN, token);
  return reply;
}

/* ---- votes -------------------------------------------------------------------------------------------- */

static const char *late_answer; /* said on the newest connection as soon as it is asked */

static int wait_and_say(struct lb_env *env, struct pollfd *fds, size_t count, lb_ns deadline);
static int (*plain_wait)(struct lb_env *env, struct pollfd *fds, size_t count, lb_ns deadline);

/* The test cannot know the token before it was sent: the answer is made when the request was heard. */
static int wait_and_say(struct lb_env *env, struct pollfd *fds, size_t count, lb_ns deadline) {
  int n = plain_wait(env, fds, count, late_answer ? fake_now : deadline);
  if (!late_answer || fake_heard_count() < NODES + 1)
    return n > 0 || !late_answer ? n : plain_wait(env, fds, count, fake_now + 1);
  fake_say(own_token());
  late_answer = NULL;
  return plain_wait(env, fds, count, deadline);
}

/* One of three says no, the connection of another broke after it had set the key. Asked again on a new one it has the
 * key already: the client's own, which is a yes. */
TEST(an_own_key_met_again_after_a_broken_connection_is_a_yes) {
  struct lb_grant grant = LB_GRANT_INIT;
  open_session();
  answers(YES, NO, FAKE_CLOSE);
  plain_wait = fake_env.wait_fds, late_answer = "own token";
  fake_env.wait_fds = wait_and_say;
  int r = try(&grant);
  fake_env.wait_fds = plain_wait;
  assert_int_equal(r, LB_OK);
  assert_non_null(strstr(fake_heard(NODES), " PX 1000 GET"));
  assert_null(strstr(fake_heard(0), "GET"));
  assert_int_equal(lb_redlock.proofs->voters(session), 1 | 1 << 2);
}

/* The same with somebody else's key, or none. */
TEST(asked_again_a_server_still_says_no_or_sets_the_key) {
  struct lb_grant grant = LB_GRANT_INIT;
  open_session();
  answers(YES, NO, FAKE_CLOSE);
  ANSWERED("$3\r\nher\r\n", try(&grant), LB_BUSY);
  answers(DONE, NOT_MINE, NOT_MINE), settle();
  grant = LB_GRANT_INIT;
  answers(YES, NO, FAKE_CLOSE);
  fake_answer(NO); /* to SET with GET: there was no key */
  assert_int_equal(try(&grant), LB_OK);
}

/* Two of three connections break after the delete was executed. What is missing then may be what was just deleted. */
TEST(a_release_that_broke_off_is_no_loss) {
  open_session();
  struct lb_grant grant = granted();
  answers(DONE, FAKE_CLOSE, FAKE_CLOSE);
  answers(NOT_MINE, NOT_MINE, FAKE_SILENCE);
  assert_int_equal(release(&grant), LB_OK);
}

TEST(a_release_of_what_is_not_mine_is_a_loss) {
  open_session();
  struct lb_grant grant = granted();
  answers(DONE, NOT_MINE, NOT_MINE);
  assert_int_equal(release(&grant), LB_LOST);
}

/* The second server's yes to the first try arrives in the second try, which that server refuses. */
TEST(a_yes_to_an_earlier_try_is_not_counted_for_a_later_one) {
  struct lb_grant grant = LB_GRANT_INIT;
  options[REDLOCK_TRIES].i = 2;
  open_session();
  answers(YES, FAKE_SILENCE, NO);        /* one yes: no majority */
  answers(DONE, FAKE_SILENCE, NOT_MINE); /* the deletes */
  answers(YES, YES NOT_MINE NO, NO);     /* the second one says all that it owes */
  assert_int_equal(try(&grant), LB_BUSY);
  assert_int_equal(heard("SET k"), 2 * NODES);
}

/* ---- the way through the servers --------------------------------------------------------------------------------- */

TEST(at_a_quorum_nobody_waits_for_the_rest) {
  struct lb_grant grant = LB_GRANT_INIT;
  open_session();
  lb_ns begin = fake_now;
  answers(YES, YES, FAKE_SILENCE);
  assert_int_equal(try(&grant), LB_OK);
  assert_int_equal(fake_now, begin);
}

TEST(all_are_waited_for) {
  struct lb_grant grant = LB_GRANT_INIT;
  options[REDLOCK_FANOUT].i = 1;
  open_session();
  lb_ns begin = fake_now;
  answers(YES, YES, FAKE_SILENCE);
  assert_int_equal(try(&grant), LB_OK);
  assert_int_equal(ms_since(begin), PATIENCE_MS);
}

/* Each has its own time, and who comes after a silent one is asked after that. */
TEST(one_after_the_other) {
  struct lb_grant grant = LB_GRANT_INIT;
  options[REDLOCK_FANOUT].i = 2;
  open_session();
  lb_ns begin = fake_now;
  answers(FAKE_SILENCE, YES, FAKE_SILENCE);
  assert_int_equal(try(&grant), -EHOSTUNREACH);
  assert_int_equal(ms_since(begin), 2 * PATIENCE_MS);
  grant = LB_GRANT_INIT;
  begin = fake_now;
  answers(FAKE_SILENCE, DONE, FAKE_SILENCE), settle(); /* the deletes go to all at once */
  answers(FAKE_SILENCE, YES, YES DONE YES);            /* the third says all that it owes */
  assert_int_equal(try(&grant), LB_OK);
  assert_int_equal(ms_since(begin), PATIENCE_MS);
}

TEST(one_after_the_other_ends_at_the_deadline) {
  struct lb_grant grant = LB_GRANT_INIT;
  options[REDLOCK_FANOUT].i = 2;
  open_session();
  lb_ns begin = fake_now;
  assert_int_equal(try_for(&grant, PATIENCE_MS + 10), LB_TIMEOUT);
  assert_int_equal(ms_since(begin), PATIENCE_MS + 10);
  assert_int_equal(heard("SET k"), 2);
}

/* ---- validity ----------------------------------------------------------------------------------------- */

TEST(a_majority_after_the_lease_is_no_grant) {
  struct lb_grant grant = LB_GRANT_INIT;
  open_session();
  answers(YES, YES, YES);
  late = (VALID_MS + 1) * LB_NS_PER_MS;
  assert_int_equal(try_for(&grant, 5000), -ETIME);
  assert_int_equal(grant.token_len, 0);
}

TEST(unchecked_it_is_granted_with_the_end_that_has_passed) {
  struct lb_grant grant = LB_GRANT_INIT;
  options[REDLOCK_CHECK_VALIDITY].b = false;
  open_session();
  lb_ns begin = fake_now;
  answers(YES, YES, YES);
  late = 3000 * LB_NS_PER_MS;
  assert_int_equal(try_for(&grant, 5000), LB_OK);
  assert_int_equal(grant.valid_until, begin + VALID_MS * LB_NS_PER_MS);
  assert_true(lb_believes_late(&lb_redlock, options));
}

TEST(too_little_left_is_no_grant) {
  struct lb_grant grant = LB_GRANT_INIT;
  options[REDLOCK_MIN_VALIDITY].i = 300;
  open_session();
  answers(YES, YES, YES);
  late = (VALID_MS - 300) * LB_NS_PER_MS;
  assert_int_equal(try_for(&grant, 5000), -ETIME);
  answers(DONE, DONE, DONE), settle();
  late = (VALID_MS - 301) * LB_NS_PER_MS;
  granted();
}

STATES(the_drift_is_what_is_asked_for, options[REDLOCK_DRIFT].f = 0.25, options[REDLOCK_DRIFT_MS].i = 50,
       open_session(), assert_int_equal(granted().valid_until, in_ms(700)));

/* The replies take 100 ms, and meanwhile an hour is given back to the client. */
TEST(a_wall_clock_set_back_makes_a_lease_longer) {
  options[REDLOCK_CLOCK].i = 1;
  open_session();
  late = 100 * LB_NS_PER_MS, jump_ms = -3600 * 1000;
  struct lb_grant grant = granted();
  assert_int_equal(grant.valid_until, in_ms(VALID_MS - 100 + 3600 * 1000));
  assert_true(lb_counts_by_wall(&lb_redlock, options));
  late = 100 * LB_NS_PER_MS, jump_ms = 0;
  answers(DONE, DONE, DONE);
  assert_int_equal(extend(&grant), LB_OK);
  assert_in_range(grant.valid_until, in_ms(VALID_MS - 100), in_ms(VALID_MS));
}

TEST(a_wall_clock_set_forward_ends_a_lease_at_once) {
  struct lb_grant grant = LB_GRANT_INIT;
  options[REDLOCK_CLOCK].i = 1;
  open_session();
  late = LB_NS_PER_MS, jump_ms = 3600 * 1000;
  answers(YES, YES, YES);
  assert_int_equal(try(&grant), -ETIME);
}

TEST(the_monotonic_clock_does_not_care) {
  open_session();
  lb_ns begin = fake_now;
  jump_ms = -3600 * 1000;
  assert_int_equal(granted().valid_until, begin + VALID_MS * LB_NS_PER_MS);
}

/* ---- tries and extensions ---------------------------------------------------------------------------------------- */

TEST(a_fixed_pause_is_between_two_tries) {
  struct lb_grant grant = LB_GRANT_INIT;
  options[REDLOCK_TRIES].i = 3, options[REDLOCK_RETRY].i = 1, options[REDLOCK_RETRY_MS].i = 70;
  open_session();
  lb_ns begin = fake_now;
  answers(YES, NO, NO), answers(DONE, NOT_MINE, NOT_MINE);
  answers(NO, NO, YES), answers(NOT_MINE, NOT_MINE, DONE);
  answers(YES, YES, YES);
  assert_int_equal(try(&grant), LB_OK);
  assert_int_equal(ms_since(begin), 140);
  assert_int_equal(grant.asked_at, fake_now);
}

TEST(a_random_pause_is_shorter) {
  struct lb_grant grant = LB_GRANT_INIT;
  options[REDLOCK_TRIES].i = 2, options[REDLOCK_RETRY_MS].i = 1000;
  open_session();
  lb_ns begin = fake_now;
  answers(NO, NO, NO), answers(NOT_MINE, NOT_MINE, NOT_MINE);
  answers(NO, NO, NO);
  assert_int_equal(try_for(&grant, 5000), LB_BUSY);
  assert_in_range(ms_since(begin), 1, 999);
}

TEST(no_pause_goes_past_the_deadline) {
  struct lb_grant grant = LB_GRANT_INIT;
  options[REDLOCK_TRIES].i = 100, options[REDLOCK_RETRY].i = 1, options[REDLOCK_RETRY_MS].i = 70;
  open_session();
  lb_ns begin = fake_now;
  answers(NO, NO, NO), answers(NOT_MINE, NOT_MINE, NOT_MINE);
  answers(NO, NO, NO), answers(NOT_MINE, NOT_MINE, NOT_MINE);
  assert_int_equal(try_for(&grant, 100), LB_BUSY);
  assert_int_equal(ms_since(begin), 70);
}

/* The deadline ends the second try before anybody has answered it. */
TEST(who_was_refused_by_an_earlier_try_is_refused) {
  struct lb_grant grant = LB_GRANT_INIT;
  options[REDLOCK_TRIES].i = 100, options[REDLOCK_RETRY].i = 1, options[REDLOCK_RETRY_MS].i = 70;
  open_session();
  answers(NO, NO, NO);
  assert_int_equal(try_for(&grant, 80), LB_BUSY);
  assert_int_equal(heard("SET k"), 2 * NODES);
}

TEST(extensions_have_a_limit_for_each_grant) {
  options[REDLOCK_EXTENSIONS_MAX].i = 1;
  open_session();
  for (int i = 0; i < 2; i++) {
    struct lb_grant grant = granted();
    answers(DONE, DONE, DONE);
    assert_int_equal(extend(&grant), LB_OK);
    lb_ns end = grant.valid_until;
    size_t before = fake_heard_count();
    assert_int_equal(extend(&grant), -EPERM);
    assert_int_equal(grant.valid_until, end);
    assert_int_equal(fake_heard_count(), before);
    answers(DONE, DONE, DONE);
    assert_int_equal(release(&grant), LB_OK);
  }
}

/* Each way of asking, a try that fails with one yes and a grant with two: how many deletes were sent. */
TEST(deletes_go_to_all_or_to_where_a_yes_was_heard) {
  for (int way = 1; way <= 2; way++) {
    for (int granted_only = 0; granted_only <= 1; granted_only++) {
      if (session) lb_redlock.close(session), free(session), session = NULL;
      options[REDLOCK_FANOUT].i = way, options[REDLOCK_RELEASE].i = granted_only;
      open_session();
      struct lb_grant grant = LB_GRANT_INIT;
      size_t before = heard("EVAL");
      answers(YES, NO, NO), fake_answer(DONE);
      if (!granted_only) fake_answer(NOT_MINE), fake_answer(NOT_MINE);
      assert_int_equal(try(&grant), LB_BUSY);
      settle();
      assert_int_equal(heard("EVAL") - before, granted_only ? 1 : NODES);
      before = heard("EVAL");
      answers(YES, NO, YES);
      assert_int_equal(try(&grant), LB_OK);
      fake_answer(DONE), fake_answer(granted_only ? DONE : NOT_MINE);
      if (!granted_only) fake_answer(DONE);
      assert_int_equal(release(&grant), LB_OK);
      assert_int_equal(heard("EVAL") - before, granted_only ? 2 : NODES);
    }
  }
}

static int before_all(void **state) {
  (void)state;
  signal(SIGPIPE, SIG_IGN);
  return 0;
}

GROUP(before_all, NULL);
