/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * What a lock without an owner says about a request whose reply never came, when nothing in the key tells whose it is.
 */
#include "test.h"
#include "backends/backend.h"
#include "redis_fake.h"

#define TTL_MS 1000
#define NO_KEY ":-2\r\n" /* answers of PTTL */
#define NO_END ":-1\r\n"
#define SOME_KEY ":700\r\n"

extern const struct lb_protocol lb_redis_del, lb_redis_setnx;

static const struct lb_protocol *protocol;
static struct lb_session *session;
static struct lb_endpoint endpoint;
static struct lb_target target;
static const struct lb_lock lock = {"k", TTL_MS};

static lb_ns in_ms(int64_t ms) { return fake_now + (lb_ns)ms * LB_NS_PER_MS; }

static int set_up_as(const struct lb_protocol *as) {
  fake_start();
  endpoint = (struct lb_endpoint){"redis", "127.0.0.1", fake_port};
  target = (struct lb_target){.topology = "fake", .endpoints = &endpoint, .count = 1};
  protocol = as;
  session = calloc(1, as->session_size);
  static const union lb_value expires[] = {{.b = true}}; /* of redis-setnx */
  struct lb_config config = {.env = &fake_env,
                             .target = &target,
                             .options = expires,
                             .ttl_ms = TTL_MS,
                             .client = "client",
                             .protocol = as,
                             .prefix = "k"};
  return as->open(session, &config, in_ms(100));
}
static int set_up_del(void **state) { return (void)state, set_up_as(&lb_redis_del); }
static int set_up_setnx(void **state) { return (void)state, set_up_as(&lb_redis_setnx); }

static int tear_down(void **state) {
  (void)state;
  protocol->close(session);
  free(session);
  fake_stop();
  return 0;
}
EACH(set_up_del, tear_down);

static int try(struct lb_grant *grant) { return protocol->try_acquire(session, &lock, grant, in_ms(100)); }
static int resolve(struct lb_grant *grant) { return protocol->resolve(session, &lock, grant, in_ms(100)); }
static int release(struct lb_grant *grant) { return protocol->release(session, &lock, grant, in_ms(100)); }

static bool heard_del(void) {
  for (size_t i = 0; i < fake_heard_count(); i++)
    if (!strcmp(fake_heard(i), "DEL k")) return true;
  return false;
}

/* Its server hung up instead of an answer. */
static struct lb_grant unknown_attempt(void) {
  struct lb_grant grant = LB_GRANT_INIT;
  ANSWERED(FAKE_CLOSE, try(&grant), LB_UNKNOWN);
  return grant;
}

TEST(no_key_is_an_answer) {
  struct lb_grant grant = unknown_attempt();
  ANSWERED(NO_KEY, resolve(&grant), LB_BUSY);
}

TEST(a_key_is_no_answer_while_it_may_be_ours) {
  struct lb_grant grant = unknown_attempt();
  ANSWERED(SOME_KEY, resolve(&grant), LB_UNKNOWN);
  fake_now = grant.asked_at + TTL_MS * LB_NS_PER_MS;
  ANSWERED(SOME_KEY, resolve(&grant), LB_BUSY);
}

TEST(an_unknown_attempt_is_asked_about_and_not_repeated) {
  struct lb_grant grant = unknown_attempt();
  ANSWERED(SOME_KEY, try(&grant), LB_UNKNOWN);
  assert_string_equal(fake_heard(1), "PTTL k");
  assert_int_equal(fake_heard_count(), 2);
}

TEST(an_unknown_attempt_is_not_deleted) {
  struct lb_grant grant = unknown_attempt();
  ANSWERED(SOME_KEY, release(&grant), LB_UNKNOWN);
  ANSWERED(NO_KEY, release(&grant), LB_OK);
  assert_false(heard_del());
}

/* A grant whose DEL was answered so, and then asked about. */
static struct lb_grant deleted(const char *answer) {
  struct lb_grant grant = LB_GRANT_INIT;
  ANSWERED("+OK\r\n", try(&grant), LB_OK);
  ANSWERED(answer, release(&grant), LB_UNKNOWN);
  return grant;
}

TEST(a_delete_without_an_answer_is_not_repeated) {
  struct lb_grant grant = deleted(FAKE_CLOSE);
  ANSWERED(SOME_KEY, release(&grant), LB_UNKNOWN);
  assert_string_equal(fake_heard(2), "PTTL k");
  fake_now += TTL_MS * LB_NS_PER_MS; /* no lease of ours lasts longer */
  ANSWERED(SOME_KEY, release(&grant), LB_OK);
}

TEST(what_is_answered_behind_the_delete_says_that_it_was_done) {
  struct lb_grant grant = deleted(FAKE_SILENCE);
  fake_say(":1\r\n"); /* late, and over again by now */
  ANSWERED(SOME_KEY, release(&grant), LB_OK);
  assert_int_equal(fake_accepted(), 1);
}

TEST(over_another_connection_it_says_nothing_of_the_delete) {
  struct lb_grant grant = deleted(FAKE_SILENCE);
  fake_hang_up();
  ANSWERED(SOME_KEY, release(&grant), LB_UNKNOWN);
  assert_int_equal(fake_accepted(), 2);
}

TEST(a_renewal_asks_nobody_whose_it_is) {
  struct lb_grant grant = LB_GRANT_INIT;
  ANSWERED("+OK\r\n", try(&grant), LB_OK);
  fake_answer(":1\r\n");
  assert_int_equal(protocol->extend(session, &lock, &grant, in_ms(100)), LB_OK);
  assert_string_equal(fake_heard(1), "PEXPIRE k 1000");
}

/* ---- two commands -------------------------------------------------------------------------------------- */

TEST_WITH(a_key_without_an_end_is_in_doubt_for_ever, set_up_setnx, tear_down) {
  struct lb_grant grant = unknown_attempt();
  fake_now += 3600 * LB_NS_PER_S;
  ANSWERED(NO_END, resolve(&grant), LB_UNKNOWN);
}

/* SETNX said yes, and the server hung up before it answered EXPIRE. */
static struct lb_grant without_an_answer_to_expire(void) {
  struct lb_grant grant = LB_GRANT_INIT;
  fake_answer(":1\r\n");
  ANSWERED(FAKE_CLOSE, try(&grant), LB_UNKNOWN);
  assert_string_equal(fake_heard(1), "EXPIRE k 1");
  return grant;
}

TEST_WITH(a_key_of_ours_with_an_end_is_held, set_up_setnx, tear_down) {
  struct lb_grant grant = without_an_answer_to_expire();
  ANSWERED(SOME_KEY, resolve(&grant), LB_OK);
  assert_int_equal(grant.valid_until, lb_lease_end(grant.asked_at, TTL_MS));
}

TEST_WITH(a_key_of_ours_without_an_end_is_deleted, set_up_setnx, tear_down) {
  struct lb_grant grant = without_an_answer_to_expire();
  ANSWERED(NO_END, resolve(&grant), LB_UNKNOWN);
  ANSWERED(":1\r\n", release(&grant), LB_OK);
  assert_true(heard_del());
}

TEST_WITH(nobody_looks_at_what_expire_says, set_up_setnx, tear_down) {
  struct lb_grant grant = LB_GRANT_INIT;
  fake_answer(":1\r\n");
  ANSWERED(":0\r\n", try(&grant), LB_OK);
}
