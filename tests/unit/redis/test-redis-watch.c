/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * What redis-watch sends when its transaction is refused or cut short, and which key it repairs.
 */
#include "test.h"
#include "backends/backend.h"
#include "backends/redis/redis_key.h"
#include "redis_fake.h"

#define TTL_MS 1000
#define OTHER "$5\r\nother\r\n"

extern const struct lb_protocol lb_redis_watch;

static struct lb_session *session;
static struct lb_endpoint endpoint;
static struct lb_target target;
static const struct lb_lock lock = {"k", TTL_MS};
static struct lb_grant grant;
static char own[64];

static lb_ns in_ms(int64_t ms) { return fake_now + (lb_ns)ms * LB_NS_PER_MS; }
static int try(struct lb_grant *of) { return lb_redis_watch.try_acquire(session, &lock, of, in_ms(100)); }
static int release(void) { return lb_redis_watch.release(session, &lock, &grant, in_ms(100)); }

static int set_up(void **state) {
  (void)state;
  fake_start();
  endpoint = (struct lb_endpoint){"redis", "127.0.0.1", fake_port};
  target = (struct lb_target){.topology = "fake", .endpoints = &endpoint, .count = 1};
  session = calloc(1, lb_redis_watch.session_size);
  grant = LB_GRANT_INIT;
  struct lb_config config = {.env = &fake_env,
                             .target = &target,
                             .ttl_ms = TTL_MS,
                             .client = "client",
                             .protocol = &lb_redis_watch,
                             .prefix = "k"};
  return lb_redis_watch.open(session, &config, in_ms(100));
}

/* It holds: SETNX and EXPIRE are heard as 0 and 1. */
static int set_up_holding(void **state) {
  int rc = set_up(state);
  fake_answer(":1\r\n");
  fake_answer(":1\r\n");
  if (!rc) rc = try(&grant);
  snprintf(own, sizeof own, "$%zu\r\n%s\r\n", grant.token_len, grant.token);
  return rc;
}

static int tear_down(void **state) {
  (void)state;
  lb_redis_watch.close(session);
  free(session);
  fake_stop();
  return 0;
}
EACH(set_up_holding, tear_down);

static void answer_all(const char *const *answers) {
  for (; *answers; answers++) fake_answer(*answers);
}

static void heard(size_t from, const char *const *commands) {
  for (; *commands; commands++, from++) assert_string_equal(fake_heard(from), *commands);
  assert_int_equal(fake_heard_count(), from);
}

TEST(a_release_is_a_transaction) {
  answer_all((const char *const[]){"+OK\r\n", own, "+OK\r\n", "+QUEUED\r\n", "*1\r\n:1\r\n", NULL});
  assert_int_equal(release(), LB_OK);
  heard(2, (const char *const[]){"WATCH k", "GET k", "MULTI", "DEL k", "EXEC", NULL});
}

TEST(a_refused_transaction_is_begun_again) {
  answer_all(
      (const char *const[]){"+OK\r\n", own, "+OK\r\n", "+QUEUED\r\n", "*-1\r\n", "+OK\r\n", OTHER, "+OK\r\n", NULL});
  assert_int_equal(release(), LB_LOST);
  heard(2, (const char *const[]){"WATCH k", "GET k", "MULTI", "DEL k", "EXEC", "WATCH k", "GET k", "UNWATCH", NULL});
}

/* It has left as a whole, so it may have been executed as a whole. */
TEST(a_transaction_without_an_answer_is_unknown) {
  answer_all((const char *const[]){"+OK\r\n", own, "+OK\r\n", FAKE_SILENCE, NULL});
  ANSWERED(FAKE_SILENCE, release(), LB_UNKNOWN);
  assert_int_equal(grant.valid_until, 0);
  answer_all((const char *const[]){FAKE_CLOSE, own, NULL});
  assert_int_equal(lb_redis_watch.holds(session, &lock, &grant, in_ms(100)), LB_OK);
  assert_int_equal(fake_accepted(), 2);
}

TEST(a_lost_connection_takes_no_delete_to_another_one) {
  answer_all((const char *const[]){"+OK\r\n", own, FAKE_CLOSE, NULL});
  assert_int_equal(release(), LB_UNKNOWN);
  heard(2, (const char *const[]){"WATCH k", "GET k", "MULTI", NULL});
  assert_int_equal(fake_accepted(), 1);
}

TEST(a_transaction_that_is_refused_as_a_whole_changes_nothing) {
  answer_all((const char *const[]){"+OK\r\n", own, "+OK\r\n", "-READONLY r\r\n", "-EXECABORT e\r\n", NULL});
  assert_true(release() < 0);
  assert_true(grant.valid_until > 0);
  fake_answer(own);
  assert_int_equal(lb_redis_watch.holds(session, &lock, &grant, in_ms(100)), LB_OK);
  assert_int_equal(fake_accepted(), 2);
}

/* It would stand between MULTI and EXEC, or behind them over another connection. */
TEST(a_transaction_past_its_deadline_sends_nothing) {
  redisReply *reply;
  struct redis_command del = {.argv = {"DEL", "k"}};
  assert_int_equal(redis_session_exec(&((struct redis_key *)session)->redis, &del, &reply, fake_now), -ETIMEDOUT);
  assert_null(reply);
  fake_answer(own);
  assert_int_equal(lb_redis_watch.holds(session, &lock, &grant, in_ms(100)), LB_OK);
  heard(2, (const char *const[]){"GET k", NULL});
}

TEST(an_answer_of_exec_that_is_lost_is_unknown) {
  answer_all((const char *const[]){"+OK\r\n", own, "+OK\r\n", "+QUEUED\r\n", FAKE_CLOSE, NULL});
  assert_int_equal(release(), LB_UNKNOWN);
  answer_all((const char *const[]){"+OK\r\n", "$-1\r\n", "+OK\r\n", NULL});
  assert_int_equal(release(), LB_OK); /* it may have been done by the first: no loss */
}

TEST_WITH(a_key_without_an_end_gets_one, set_up, tear_down) {
  answer_all((const char *const[]){":0\r\n", ":-1\r\n", ":1\r\n", NULL});
  assert_int_equal(try(&grant), LB_BUSY);
  assert_string_equal(fake_heard(1), "PTTL k");
  assert_string_equal(fake_heard(2), "EXPIRE k 1");
}

TEST_WITH(a_key_with_an_end_keeps_it, set_up, tear_down) {
  answer_all((const char *const[]){":0\r\n", ":1\r\n", NULL});
  assert_int_equal(try(&grant), LB_BUSY);
  assert_int_equal(fake_heard_count(), 2);
}

TEST_WITH(a_try_whose_answer_is_lost_is_asked_about_by_its_token, set_up, tear_down) {
  ANSWERED(FAKE_CLOSE, try(&grant), LB_UNKNOWN);
  snprintf(own, sizeof own, "$%zu\r\n%s\r\n", grant.token_len, grant.token);
  answer_all((const char *const[]){"+OK\r\n", own, "+OK\r\n", "+QUEUED\r\n", "*1\r\n:1\r\n", NULL});
  assert_int_equal(lb_redis_watch.resolve(session, &lock, &grant, in_ms(100)), LB_OK);
  assert_string_equal(fake_heard(4), "PEXPIRE k 1000");
  assert_int_equal(grant.valid_until, lb_lease_end(grant.asked_at, TTL_MS));
}
