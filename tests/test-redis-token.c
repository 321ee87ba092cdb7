/* SPDX-License-Identifier: MIT
 *
 * What redis-token says about a request whose reply never came, in the cases a real server cannot be brought to at
 * will.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/redis_util.h"
#include "redis_fake.h"

#define TTL_MS 1000

extern const struct lb_protocol lb_redis_token;

static struct lb_session *session;
static struct lb_endpoint endpoint;
static struct lb_target target;
static union lb_value options[1]; /* fence=no */

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
  fake_stop();
  return 0;
}

static int try(const char *key, struct lb_grant *grant) {
  return lb_redis_token.try_acquire(session, &(struct lb_lock){key, TTL_MS}, grant, in_ms(100));
}
static int resolve(struct lb_grant *grant) { return lb_redis_token.resolve(session, &(struct lb_lock){"k", TTL_MS}, grant, in_ms(100)); }
static int release(struct lb_grant *grant) { return lb_redis_token.release(session, &(struct lb_lock){"k", TTL_MS}, grant, in_ms(100)); }

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
  fake_answer(FAKE_SILENCE);
  assert_int_equal(try("k", &grant), LB_UNKNOWN);
  fake_answer("+OK\r\n");
  assert_int_equal(try("other", &other), LB_OK);
  assert_int_equal(fake_accepted(), 2);
  return grant;
}

static void a_new_attempt_does_not_wait_behind_a_silent_connection(void **state) {
  (void)state;
  abandoned_attempt();
}

static void not_found_is_no_answer_while_the_request_may_still_arrive(void **state) {
  (void)state;
  struct lb_grant grant = abandoned_attempt();
  fake_answer("$-1\r\n");
  assert_int_equal(resolve(&grant), LB_UNKNOWN);
}

static void not_found_is_an_answer_once_the_lease_would_be_over(void **state) {
  (void)state;
  struct lb_grant grant = abandoned_attempt();
  fake_now = grant.asked_at + TTL_MS * LB_NS_PER_MS;
  fake_answer("$-1\r\n");
  assert_int_equal(resolve(&grant), LB_BUSY);
}

static void the_own_token_is_an_answer_on_any_connection(void **state) {
  (void)state;
  struct lb_grant grant = abandoned_attempt();
  fake_answer(own(&grant));
  assert_int_equal(resolve(&grant), LB_OK);
  assert_int_equal(grant.valid_until, lb_lease_end(grant.asked_at, TTL_MS));
}

static void another_holder_is_no_answer_while_the_request_may_still_arrive(void **state) {
  (void)state;
  struct lb_grant grant = abandoned_attempt();
  fake_answer("$5\r\nother\r\n");
  assert_int_equal(try("k", &grant), LB_UNKNOWN);
  assert_int_equal(grant.token_len, REDIS_TOKEN_LEN);
}

static void nothing_to_release_is_no_answer_while_the_request_may_still_arrive(void **state) {
  (void)state;
  struct lb_grant grant = abandoned_attempt();
  fake_answer(":0\r\n");
  assert_int_equal(release(&grant), LB_UNKNOWN);
}

static void on_the_same_connection_not_found_is_an_answer(void **state) {
  (void)state;
  struct lb_grant grant = LB_GRANT_INIT;
  fake_answer(FAKE_SILENCE);
  assert_int_equal(try("k", &grant), LB_UNKNOWN);
  fake_say("+OK\r\n"); /* late, and over again by now */
  fake_answer("$-1\r\n");
  assert_int_equal(resolve(&grant), LB_BUSY);
  assert_int_equal(fake_accepted(), 1);
}

static void after_the_server_has_hung_up_not_found_is_an_answer(void **state) {
  (void)state;
  struct lb_grant grant = LB_GRANT_INIT;
  fake_answer(FAKE_CLOSE);
  assert_int_equal(try("k", &grant), LB_UNKNOWN);
  fake_answer("$-1\r\n");
  assert_int_equal(resolve(&grant), LB_BUSY);
}

static void a_silent_connection_is_given_up_within_the_call(void **state) {
  (void)state;
  struct lb_grant grant = LB_GRANT_INIT;
  fake_answer(FAKE_SILENCE);
  assert_int_equal(try("k", &grant), LB_UNKNOWN);
  fake_answer(FAKE_SILENCE);
  fake_answer(own(&grant));
  assert_int_equal(resolve(&grant), LB_OK);
  assert_int_equal(fake_accepted(), 2);
}

static void a_delete_right_behind_the_request_settles_it(void **state) {
  (void)state;
  struct lb_grant grant = LB_GRANT_INIT;
  fake_answer(FAKE_SILENCE); /* SET */
  assert_int_equal(try("k", &grant), LB_UNKNOWN);
  fake_answer(FAKE_SILENCE); /* the delete behind it */
  fake_answer(":0\r\n");     /* the delete on a new connection */
  assert_int_equal(release(&grant), LB_OK);
}

static void a_grant_that_was_known_is_not_drawn_into_the_doubt_about_another(void **state) {
  (void)state;
  struct lb_grant held = LB_GRANT_INIT, doubtful = LB_GRANT_INIT, other = LB_GRANT_INIT;
  fake_answer("+OK\r\n");
  assert_int_equal(try("k", &held), LB_OK);
  fake_now += LB_NS_PER_MS;
  fake_answer(FAKE_SILENCE);
  assert_int_equal(try("k2", &doubtful), LB_UNKNOWN);
  fake_answer("+OK\r\n");
  assert_int_equal(try("k3", &other), LB_OK);
  fake_answer(":0\r\n");
  assert_int_equal(release(&held), LB_LOST);
}

static void a_refusal_says_nothing_about_the_earlier_try(void **state) {
  (void)state;
  struct lb_grant grant = LB_GRANT_INIT;
  fake_answer(FAKE_SILENCE);
  assert_int_equal(try("k", &grant), LB_UNKNOWN);
  fake_answer("-LOADING wait\r\n");
  assert_int_equal(try("k", &grant), LB_UNKNOWN);
  assert_int_equal(grant.token_len, REDIS_TOKEN_LEN);
}

static void a_first_refusal_is_definite(void **state) {
  (void)state;
  struct lb_grant grant = LB_GRANT_INIT;
  fake_answer("-OOM too much\r\n");
  assert_int_equal(try("k", &grant), -ENOMEM);
  assert_int_equal(grant.token_len, 0);
}

static void a_master_that_is_none_any_more_is_left_within_the_call(void **state) {
  struct lb_grant grant = LB_GRANT_INIT;
  char address[64];
  (void)state;
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

static void the_lease_of_a_repeated_try_counts_from_the_try_that_set_it(void **state) {
  (void)state;
  struct lb_grant grant = LB_GRANT_INIT;
  fake_answer(FAKE_SILENCE);
  assert_int_equal(try("k", &grant), LB_UNKNOWN);
  lb_ns first = grant.asked_at, second = fake_now;
  fake_answer(own(&grant));
  struct lb_grant earlier = grant;
  assert_int_equal(try("k", &earlier), LB_OK);
  assert_int_equal(earlier.valid_until, lb_lease_end(first, TTL_MS));
  assert_true(second > first);
  second = fake_now;
  fake_answer("$-1\r\n");
  assert_int_equal(try("k", &grant), LB_OK);
  assert_int_equal(grant.valid_until, lb_lease_end(second, TTL_MS));
}

static int set_up_fenced(void **state) {
  options[0].b = true;
  int rc = set_up(state);
  options[0].b = false;
  return rc;
}

static void a_numbered_grant_has_the_number_of_the_reply(void **state) {
  (void)state;
  struct lb_grant grant = LB_GRANT_INIT;
  fake_answer(":7\r\n");
  assert_int_equal(try("k", &grant), LB_OK);
  assert_int_equal(grant.fence, 7);
  assert_int_equal(grant.valid_until, lb_lease_end(grant.asked_at, TTL_MS));
  assert_int_equal(fake_heard_count(), 1); /* one round trip */
  assert_non_null(strstr(fake_heard(0), " 2 k k.fence "));
}

static void a_number_without_a_lock_is_busy(void **state) {
  (void)state;
  struct lb_grant grant = LB_GRANT_INIT;
  fake_answer(":0\r\n");
  assert_int_equal(try("k", &grant), LB_BUSY);
  assert_int_equal(grant.fence, 0);
}

static void a_numbered_lease_counts_from_the_try_that_set_it(void **state) {
  (void)state;
  struct lb_grant grant = LB_GRANT_INIT;
  fake_answer(FAKE_SILENCE);
  assert_int_equal(try("k", &grant), LB_UNKNOWN);
  lb_ns first = grant.asked_at, second = fake_now;
  struct lb_grant earlier = grant;
  fake_answer(":-8\r\n"); /* the earlier try had set it */
  assert_int_equal(try("k", &earlier), LB_OK);
  assert_int_equal(earlier.fence, 8);
  assert_int_equal(earlier.valid_until, lb_lease_end(first, TTL_MS));
  second = fake_now;
  fake_answer(":9\r\n");
  assert_int_equal(try("k", &grant), LB_OK);
  assert_int_equal(grant.fence, 9);
  assert_int_equal(grant.valid_until, lb_lease_end(second, TTL_MS));
}

static void a_numbered_attempt_is_not_settled_by_not_mine_while_it_may_arrive(void **state) {
  (void)state;
  struct lb_grant grant = LB_GRANT_INIT, other = LB_GRANT_INIT;
  fake_answer(FAKE_SILENCE);
  assert_int_equal(try("k", &grant), LB_UNKNOWN);
  fake_answer(":1\r\n");
  assert_int_equal(try("other", &other), LB_OK); /* on a new connection */
  fake_answer(":0\r\n");
  assert_int_equal(resolve(&grant), LB_UNKNOWN);
  fake_answer(":5\r\n");
  assert_int_equal(resolve(&grant), LB_OK);
  assert_int_equal(grant.fence, 5);
}

int main(void) {
  signal(SIGPIPE, SIG_IGN);
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
#define FENCED(f) cmocka_unit_test_setup_teardown(f, set_up_fenced, tear_down)
  const struct CMUnitTest tests[] = {
      T(a_new_attempt_does_not_wait_behind_a_silent_connection),
      T(not_found_is_no_answer_while_the_request_may_still_arrive),
      T(not_found_is_an_answer_once_the_lease_would_be_over),
      T(the_own_token_is_an_answer_on_any_connection),
      T(another_holder_is_no_answer_while_the_request_may_still_arrive),
      T(nothing_to_release_is_no_answer_while_the_request_may_still_arrive),
      T(on_the_same_connection_not_found_is_an_answer),
      T(after_the_server_has_hung_up_not_found_is_an_answer),
      T(a_silent_connection_is_given_up_within_the_call),
      T(a_delete_right_behind_the_request_settles_it),
      T(a_grant_that_was_known_is_not_drawn_into_the_doubt_about_another),
      T(a_refusal_says_nothing_about_the_earlier_try),
      T(a_first_refusal_is_definite),
      T(a_master_that_is_none_any_more_is_left_within_the_call),
      T(the_lease_of_a_repeated_try_counts_from_the_try_that_set_it),
      FENCED(a_numbered_grant_has_the_number_of_the_reply),
      FENCED(a_number_without_a_lock_is_busy),
      FENCED(a_numbered_lease_counts_from_the_try_that_set_it),
      FENCED(a_numbered_attempt_is_not_settled_by_not_mine_while_it_may_arrive),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
