/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * What redis-token says about a request whose reply never came, in the cases a real server cannot be brought to at
 * will.
 */

#include <signal.h>

#include "test.h"
#include "backends/redis/redis_command.h"
#include "redis_fake.h"

#define TTL_MS 1000

extern const struct lb_protocol lb_redis_token;

static struct lb_session *session;
static struct lb_endpoint endpoint;
static struct lb_target target;
static union lb_value options[2]; /* fence=no, wake=no */

static lb_ns in_ms(int64_t ms) { return fake_now + (lb_ns)ms * LB_NS_PER_MS; }

static int set_up(void **state) {
  (void)state;
  fake_start();
  endpoint = (struct lb_endpoint){"redis", "127.0.0.1", fake_port};
  target = (struct lb_target){.topology = "fake", .endpoints = &endpoint, .count = 1};
  session = calloc(1, lb_redis_token.session_size);
  struct lb_config config = {.env = &fake_env,
                             .target = &target,
                             .options = options,
                             .ttl_ms = TTL_MS,
                             .client = "client",
                             .protocol = &lb_redis_token,
                             .prefix = "k"};
  return lb_redis_token.open(session, &config, in_ms(100));
}

static int tear_down(void **state) {
  (void)state;
  lb_redis_token.close(session);
  free(session);
  options[0].b = options[1].b = false;
  fake_stop();
  return 0;
}
EACH(set_up, tear_down);

static int try(const char *key, struct lb_grant *grant) {
  return lb_redis_token.try_acquire(session, &(struct lb_lock){key, TTL_MS}, grant, in_ms(100));
}
static int resolve(struct lb_grant *grant) {
  return lb_redis_token.resolve(session, &(struct lb_lock){"k", TTL_MS}, grant, in_ms(100));
}
static int release(struct lb_grant *grant) {
  return lb_redis_token.release(session, &(struct lb_lock){"k", TTL_MS}, grant, in_ms(100));
}

/* The grant's token as a reply. */
static const char *own(const struct lb_grant *grant) {
  static char text[64];
  strcpy(text, "$40\r\n");
  strcat(text, grant->token);
  return strcat(text, "\r\n");
}

/* An attempt without a reply, whose connection was then given up for another key. */
static struct lb_grant abandoned_attempt(void) {
  struct lb_grant grant = LB_GRANT_INIT, other = LB_GRANT_INIT;
  ANSWERED(FAKE_SILENCE, try("k", &grant), LB_UNKNOWN);
  ANSWERED("+OK\r\n", try("other", &other), LB_OK);
  assert_int_equal(fake_accepted(), 2);
  return grant;
}

TEST(a_new_attempt_does_not_wait_behind_a_silent_connection) { abandoned_attempt(); }

TEST(not_found_is_no_answer_while_the_request_may_still_arrive) {
  struct lb_grant grant = abandoned_attempt();
  ANSWERED("$-1\r\n", resolve(&grant), LB_UNKNOWN);
}

TEST(not_found_is_an_answer_once_the_lease_would_be_over) {
  struct lb_grant grant = abandoned_attempt();
  fake_now = grant.asked_at + TTL_MS * LB_NS_PER_MS;
  ANSWERED("$-1\r\n", resolve(&grant), LB_BUSY);
}

TEST(the_own_token_is_an_answer_on_any_connection) {
  struct lb_grant grant = abandoned_attempt();
  ANSWERED(own(&grant), resolve(&grant), LB_OK);
  assert_int_equal(grant.valid_until, lb_lease_end(grant.asked_at, TTL_MS));
}

TEST(another_holder_is_no_answer_while_the_request_may_still_arrive) {
  struct lb_grant grant = abandoned_attempt();
  ANSWERED("$5\r\nother\r\n", try("k", &grant), LB_UNKNOWN);
  assert_int_equal(grant.token_len, REDIS_TOKEN_LEN);
}

TEST(nothing_to_release_is_no_answer_while_the_request_may_still_arrive) {
  struct lb_grant grant = abandoned_attempt();
  ANSWERED(":0\r\n", release(&grant), LB_UNKNOWN);
}

TEST(on_the_same_connection_not_found_is_an_answer) {
  struct lb_grant grant = LB_GRANT_INIT;
  ANSWERED(FAKE_SILENCE, try("k", &grant), LB_UNKNOWN);
  fake_say("+OK\r\n"); /* late, and over again by now */
  ANSWERED("$-1\r\n", resolve(&grant), LB_BUSY);
  assert_int_equal(fake_accepted(), 1);
}

TEST(after_the_server_has_hung_up_not_found_is_an_answer) {
  struct lb_grant grant = LB_GRANT_INIT;
  ANSWERED(FAKE_CLOSE, try("k", &grant), LB_UNKNOWN);
  ANSWERED("$-1\r\n", resolve(&grant), LB_BUSY);
}

TEST(a_silent_connection_is_given_up_within_the_call) {
  struct lb_grant grant = LB_GRANT_INIT;
  ANSWERED(FAKE_SILENCE, try("k", &grant), LB_UNKNOWN);
  fake_answer(FAKE_SILENCE);
  ANSWERED(own(&grant), resolve(&grant), LB_OK);
  assert_int_equal(fake_accepted(), 2);
}

TEST(a_delete_right_behind_the_request_settles_it) {
  struct lb_grant grant = LB_GRANT_INIT;
  fake_answer(FAKE_SILENCE); /* SET */
  assert_int_equal(try("k", &grant), LB_UNKNOWN);
  fake_answer(FAKE_SILENCE); /* the delete behind it */
  fake_answer(":0\r\n");     /* the delete on a new connection */
  assert_int_equal(release(&grant), LB_OK);
}

TEST(a_grant_that_was_known_is_not_drawn_into_the_doubt_about_another) {
  struct lb_grant held = LB_GRANT_INIT, doubtful = LB_GRANT_INIT, other = LB_GRANT_INIT;
  ANSWERED("+OK\r\n", try("k", &held), LB_OK);
  fake_now += LB_NS_PER_MS;
  ANSWERED(FAKE_SILENCE, try("k2", &doubtful), LB_UNKNOWN);
  ANSWERED("+OK\r\n", try("k3", &other), LB_OK);
  ANSWERED(":0\r\n", release(&held), LB_LOST);
}

TEST(a_refusal_says_nothing_about_the_earlier_try) {
  struct lb_grant grant = LB_GRANT_INIT;
  ANSWERED(FAKE_SILENCE, try("k", &grant), LB_UNKNOWN);
  ANSWERED("-LOADING wait\r\n", try("k", &grant), LB_UNKNOWN);
  assert_int_equal(grant.token_len, REDIS_TOKEN_LEN);
}

TEST(a_first_refusal_is_definite) {
  struct lb_grant grant = LB_GRANT_INIT;
  ANSWERED("-OOM too much\r\n", try("k", &grant), -ENOMEM);
  assert_int_equal(grant.token_len, 0);
}

TEST(a_master_that_is_none_any_more_is_left_within_the_call) {
  struct lb_grant grant = LB_GRANT_INIT;
  char address[64];
  lb_redis_token.close(session);
  memset(session, 0, lb_redis_token.session_size);
  endpoint.service = "sentinel";
  target.sentinel_master = "m";
  struct lb_config config = {.env = &fake_env,
                             .target = &target,
                             .options = options,
                             .ttl_ms = TTL_MS,
                             .client = "client",
                             .protocol = &lb_redis_token,
                             .prefix = "k"};
  assert_int_equal(lb_redis_token.open(session, &config, in_ms(100)), 0);
  snprintf(address, sizeof address, "*2\r\n$9\r\n127.0.0.1\r\n$5\r\n%05u\r\n", fake_port);
  for (int i = 0; i < 2; i++) {
    fake_answer(address);
    fake_answer("*1\r\n$6\r\nmaster\r\n");
    fake_answer(i ? "+OK\r\n" : "-READONLY You can't write against a read only replica.\r\n");
  }
  assert_int_equal(try("k", &grant), LB_OK);
  assert_int_equal(grant.valid_until, lb_lease_end(grant.asked_at, TTL_MS));
}

TEST(the_lease_of_a_repeated_try_counts_from_the_try_that_set_it) {
  struct lb_grant grant = LB_GRANT_INIT;
  ANSWERED(FAKE_SILENCE, try("k", &grant), LB_UNKNOWN);
  lb_ns first = grant.asked_at, second = fake_now;
  fake_answer(own(&grant));
  struct lb_grant earlier = grant;
  assert_int_equal(try("k", &earlier), LB_OK);
  assert_int_equal(earlier.valid_until, lb_lease_end(first, TTL_MS));
  assert_true(second > first);
  second = fake_now;
  ANSWERED("$-1\r\n", try("k", &grant), LB_OK);
  assert_int_equal(grant.valid_until, lb_lease_end(second, TTL_MS));
}

/* ---- waking ------------------------------------------------------------------------------------------- */

static int set_up_waking(void **state) {
  options[1].b = true;
  return set_up(state);
}

#define SUBSCRIBED "*3\r\n$9\r\nsubscribe\r\n$1\r\nk\r\n:1\r\n"
#define MESSAGE(key) "*3\r\n$7\r\nmessage\r\n$1\r\n" key "\r\n$0\r\n\r\n"

static int wait_for(const char *key, int64_t ms) {
  struct lb_grant grant = LB_GRANT_INIT;
  return lb_redis_token.wait(session, &(struct lb_lock){key, TTL_MS}, &grant, in_ms(ms));
}

/* Refused, subscribed to the key, and it is still held; a connection of its own hears, the newest one. */
static void begin_to_wait(void) {
  struct lb_grant grant = LB_GRANT_INIT;
  ANSWERED("$-1\r\n", try("k", &grant), LB_BUSY);
  fake_answer(SUBSCRIBED);
  fake_answer(":1\r\n");
  assert_int_equal(wait_for("k", 100), LB_TIMEOUT);
  assert_string_equal(fake_heard(1), "SUBSCRIBE k");
  assert_string_equal(fake_heard(2), "EXISTS k");
  assert_int_equal(fake_accepted(), 2);
}

TEST_WITH(who_waits_is_woken_by_the_message, set_up_waking, tear_down) {
  begin_to_wait();
  fake_say(MESSAGE("k"));
  lb_ns before = fake_now;
  assert_int_equal(wait_for("k", 1000), LB_OK);
  assert_int_equal(fake_now, before);               /* at once */
  assert_int_equal(wait_for("k", 100), LB_TIMEOUT); /* one message wakes once */
  assert_int_equal(fake_heard_count(), 3);          /* and nothing more is asked */
}

TEST_WITH(what_was_released_before_it_was_subscribed_is_found_free, set_up_waking, tear_down) {
  fake_answer(SUBSCRIBED);
  fake_answer(":0\r\n");
  lb_ns before = fake_now;
  assert_int_equal(wait_for("k", 1000), LB_OK);
  assert_int_equal(fake_now, before);
}

/* A key that expires is told to nobody. */
TEST_WITH(nobody_waits_for_a_message_for_long, set_up_waking, tear_down) {
  begin_to_wait();
  lb_ns before = fake_now;
  assert_int_equal(wait_for("k", 1000), LB_OK);
  assert_int_equal(fake_now - before, 200 * LB_NS_PER_MS);
}

TEST_WITH(the_message_of_another_key_wakes_nobody, set_up_waking, tear_down) {
  begin_to_wait();
  fake_say(MESSAGE("x"));
  assert_int_equal(wait_for("k", 100), LB_TIMEOUT);
}

TEST_WITH(who_waits_for_another_key_hears_of_that_one_only, set_up_waking, tear_down) {
  begin_to_wait();
  fake_answer("*3\r\n$11\r\nunsubscribe\r\n$1\r\nk\r\n:0\r\n");
  fake_answer("*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n");
  fake_answer(":1\r\n");
  assert_int_equal(wait_for("x", 100), LB_TIMEOUT);
  assert_string_equal(fake_heard(3), "UNSUBSCRIBE k");
  assert_string_equal(fake_heard(4), "SUBSCRIBE x");
  fake_say(MESSAGE("k"));
  assert_int_equal(wait_for("x", 100), LB_TIMEOUT);
  fake_say(MESSAGE("x"));
  assert_int_equal(wait_for("x", 100), LB_OK);
}

/* The harness then polls, and the next wait connects again. */
TEST_WITH(a_lost_ear_is_told_and_replaced, set_up_waking, tear_down) {
  begin_to_wait();
  fake_hang_up();
  assert_int_equal(wait_for("k", 100), -ECONNRESET);
  fake_answer(SUBSCRIBED);
  fake_answer(":1\r\n");
  assert_int_equal(wait_for("k", 100), LB_TIMEOUT);
  assert_int_equal(fake_accepted(), 3);
}

TEST_WITH(a_subscription_that_is_not_answered_is_told, set_up_waking, tear_down) {
  fake_answer(FAKE_SILENCE);
  lb_ns before = fake_now;
  assert_int_equal(wait_for("k", 100), -ETIMEDOUT);
  assert_int_equal(fake_now - before, 100 * LB_NS_PER_MS);
}

TEST_WITH(a_wait_without_time_to_ask_is_over_in_time, set_up_waking, tear_down) {
  assert_int_equal(wait_for("k", 0), LB_TIMEOUT);
}

static const char *script_of_a_release(void) {
  struct lb_grant grant = LB_GRANT_INIT;
  ANSWERED("+OK\r\n", try("k", &grant), LB_OK);
  ANSWERED(":1\r\n", release(&grant), LB_OK);
  return fake_heard(1);
}

STATES(a_release_tells_nobody, assert_non_null(strstr(script_of_a_release(), redis_script_delete_if_mine.sha1)));

TEST_WITH(a_release_tells_with_the_option, set_up_waking, tear_down) {
  assert_non_null(strstr(script_of_a_release(), redis_script_delete_and_tell.sha1));
}

static int set_up_fenced(void **state) {
  options[0].b = true;
  return set_up(state);
}

TEST_WITH(a_numbered_grant_has_the_number_of_the_reply, set_up_fenced, tear_down) {
  struct lb_grant grant = LB_GRANT_INIT;
  ANSWERED(":7\r\n", try("k", &grant), LB_OK);
  assert_int_equal(grant.fence, 7);
  assert_int_equal(grant.valid_until, lb_lease_end(grant.asked_at, TTL_MS));
  assert_int_equal(fake_heard_count(), 1); /* one round trip */
  assert_non_null(strstr(fake_heard(0), " 2 k {k}.fence "));
}

TEST_WITH(a_number_without_a_lock_is_busy, set_up_fenced, tear_down) {
  struct lb_grant grant = LB_GRANT_INIT;
  ANSWERED(":0\r\n", try("k", &grant), LB_BUSY);
  assert_int_equal(grant.fence, 0);
}

TEST_WITH(a_numbered_lease_counts_from_the_try_that_set_it, set_up_fenced, tear_down) {
  struct lb_grant grant = LB_GRANT_INIT;
  ANSWERED(FAKE_SILENCE, try("k", &grant), LB_UNKNOWN);
  lb_ns first = grant.asked_at, second = fake_now;
  struct lb_grant earlier = grant;
  fake_answer(":-8\r\n"); /* the earlier try had set it */
  assert_int_equal(try("k", &earlier), LB_OK);
  assert_int_equal(earlier.fence, 8);
  assert_int_equal(earlier.valid_until, lb_lease_end(first, TTL_MS));
  second = fake_now;
  ANSWERED(":9\r\n", try("k", &grant), LB_OK);
  assert_int_equal(grant.fence, 9);
  assert_int_equal(grant.valid_until, lb_lease_end(second, TTL_MS));
}

TEST_WITH(a_numbered_attempt_is_not_settled_by_not_mine_while_it_may_arrive, set_up_fenced, tear_down) {
  struct lb_grant grant = LB_GRANT_INIT, other = LB_GRANT_INIT;
  ANSWERED(FAKE_SILENCE, try("k", &grant), LB_UNKNOWN);
  fake_answer(":1\r\n");
  assert_int_equal(try("other", &other), LB_OK); /* on a new connection */
  ANSWERED(":0\r\n", resolve(&grant), LB_UNKNOWN);
  ANSWERED(":5\r\n", resolve(&grant), LB_OK);
  assert_int_equal(grant.fence, 5);
}

static int before_all(void **state) {
  (void)state;
  signal(SIGPIPE, SIG_IGN);
  return 0;
}

GROUP(before_all, NULL);
