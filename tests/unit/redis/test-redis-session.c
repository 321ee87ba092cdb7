/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * redis_session by itself: what a protocol may ask for that redis-token does not. What redis-token relies upon is in
 * its own test.
 */
#include "test.h"
#include "backends/redis/redis_session.h"
#include "redis_fake.h"

static struct redis_session session;
static struct lb_endpoint endpoint;
static struct lb_target target;

static lb_ns in_ms(int64_t ms) { return fake_now + (lb_ns)ms * LB_NS_PER_MS; }

static int set_up(void **state) {
  (void)state;
  fake_start();
  endpoint = (struct lb_endpoint){.service = "redis", .host = "127.0.0.1", .port = fake_port};
  target = (struct lb_target){.topology = "fake", .endpoints = &endpoint, .count = 1};
  return redis_session_open(&session, &(struct lb_config){.env = &fake_env, .target = &target});
}

static int tear_down(void **state) {
  (void)state;
  redis_session_close(&session);
  fake_stop();
  return 0;
}
EACH(set_up, tear_down);

/* SETNX of `key`, for the grant or for nobody. */
static int setnx(const char *key, struct lb_grant *grant, int64_t ttl_ms) {
  struct redis_request request = {.command = {.argv = {"SETNX", key, "1"}}, .grant = grant, .ttl_ms = ttl_ms};
  int rc = redis_session_once(&session, &request, in_ms(100));
  freeReplyObject(request.reply);
  return rc;
}

static int get(const char *key) {
  struct redis_request request = {.command = {.argv = {"GET", key}}};
  int rc = redis_session_ask(&session, &request, in_ms(100));
  freeReplyObject(request.reply);
  return rc;
}

/* The request got no reply, and its connection was given up for another one. */
static void abandon(struct lb_grant *grant, int64_t ttl_ms) {
  ANSWERED(FAKE_SILENCE, setnx("k", grant, ttl_ms), LB_UNKNOWN);
  ANSWERED(":1\r\n", setnx("other", NULL, 0), 0);
  assert_int_equal(fake_accepted(), 2);
}

TEST(what_would_last_for_ever_stays_in_doubt) {
  struct lb_grant grant = LB_GRANT_INIT;
  abandon(&grant, 0);
  fake_now += 3600 * LB_NS_PER_S;
  assert_int_equal(redis_session_absent(&session, &grant, LB_BUSY), LB_UNKNOWN);
}

TEST(a_lease_ends_the_doubt) {
  struct lb_grant grant = LB_GRANT_INIT;
  abandon(&grant, 1000);
  assert_int_equal(redis_session_absent(&session, &grant, LB_BUSY), LB_UNKNOWN);
  fake_now = grant.asked_at + 1000 * LB_NS_PER_MS;
  assert_int_equal(redis_session_absent(&session, &grant, LB_BUSY), LB_BUSY);
}

TEST(a_request_for_no_attempt_leaves_no_doubt) {
  struct lb_grant other = {.asked_at = fake_now};
  abandon(NULL, 0);
  assert_int_equal(redis_session_absent(&session, &other, LB_LOST), LB_LOST);
}

STATES(once_is_not_sent_again_after_it_may_have_been_executed, fake_answer(":1\r\n"),
       assert_int_equal(setnx("first", NULL, 0), 0), fake_answer(FAKE_CLOSE),
       assert_int_equal(setnx("k", NULL, 0), LB_UNKNOWN), assert_int_equal(fake_heard_count(), 2));

static int setnx_staying(void) {
  struct redis_request request = {.command = {.argv = {"SETNX", "k", "1"}}, .stays = true};
  int rc = redis_session_once(&session, &request, in_ms(100));
  freeReplyObject(request.reply);
  return rc;
}

TEST(what_stays_is_sent_over_the_connection_before_it) {
  assert_int_equal(setnx_staying(), -ENOTCONN);
  ANSWERED(":1\r\n", setnx("first", NULL, 0), 0);
  ANSWERED(":1\r\n", setnx_staying(), 0);
  fake_hang_up();
  assert_int_equal(setnx_staying(), -ENOTCONN);
  assert_int_equal(fake_accepted(), 1);
}

STATES(what_stays_does_not_wait_behind_silence, fake_answer(FAKE_SILENCE),
       assert_int_equal(setnx("first", NULL, 0), LB_UNKNOWN), assert_int_equal(setnx_staying(), -ENOTCONN),
       assert_int_equal(fake_heard_count(), 1));
STATES(a_question_is_asked_again_on_a_new_connection, ANSWERED(":1\r\n", setnx("first", NULL, 0), 0),
       fake_answer(FAKE_CLOSE), ANSWERED("$1\r\n1\r\n", get("k"), 0), assert_string_equal(fake_heard(2), "GET k"),
       assert_int_equal(fake_accepted(), 2));
STATES(a_refusal_is_no_answer, fake_answer("-OOM command not allowed\r\n"), assert_int_equal(get("k"), -ENOMEM));

/* ---- commands ------------------------------------------------------------------------------------------ */

/* The words joined by blanks. */
static const char *spelled(const struct redis_command *command, bool whole) {
  static char text[512];
  struct redis_words words;
  assert_int_equal(redis_command_spell(&fake_env, command, whole, &words), 0);
  *text = '\0';
  for (int i = 0; i < words.count; i++) strcat(strcat(text, i ? " " : ""), words.word[i]);
  return text;
}

TEST(a_command_is_spelled_as_redis_gets_it) {
  static const struct redis_script plain = {"sha", "text", false}, counting = {"sha", "text", true};
  assert_string_equal(spelled(&(struct redis_command){.argv = {"SET", "k", "v"}}, false), "SET k v");
  assert_string_equal(spelled(&(struct redis_command){&plain, {"k", "v", "5"}}, false), "EVALSHA sha 1 k v 5");
  assert_string_equal(spelled(&(struct redis_command){&plain, {"k"}}, true), "EVAL text 1 k");
  assert_string_equal(spelled(&(struct redis_command){&counting, {"k", "v"}}, false), "EVALSHA sha 2 k {k}.fence v");
}

TEST(a_key_too_long_for_a_counter_is_refused) {
  static const struct redis_script counting = {"sha", "text", true};
  char key[REDIS_COUNTER_MAX] = "";
  struct redis_words words;
  memset(key, 'k', sizeof key - 1);
  assert_int_equal(redis_command_spell(&fake_env, &(struct redis_command){&counting, {key}}, false, &words),
                   -ENAMETOOLONG);
  struct redis_request request = {.command = {&counting, {key}}};
  assert_int_equal(redis_session_ask(&session, &request, in_ms(100)), -ENAMETOOLONG);
  assert_null(request.reply);
}
