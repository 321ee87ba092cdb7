/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * A client of Redis Cluster: which server a request goes to, and what it makes of an answer that sends it elsewhere.
 */
#include "test.h"
#include "backends/redis/redis_record.h"
#include "backends/redis/redis_session.h"
#include "redis_fake.h"

/* With an owner for each third of the slots one belongs to the third server, the other to the first. */
#define KEY "123456789" /* slot 12739 */
#define OTHER "b"       /* slot 3300 */

static struct redis_session session;
static struct lb_endpoint endpoint[4];
static struct lb_target target;

static lb_ns in_ms(int64_t ms) { return fake_now + (lb_ns)ms * LB_NS_PER_MS; }

static int set_up(void **state) {
  static const char *const host[] = {"127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"};
  (void)state;
  fake_start();
  for (size_t i = 0; i < 4; i++)
    endpoint[i] = (struct lb_endpoint){.service = "redis", .host = host[i], .port = fake_port};
  target = (struct lb_target){.topology = "fake", .endpoints = endpoint, .count = 4, .shards = 3};
  return redis_session_open(&session, &(struct lb_config){.env = &fake_env, .target = &target, .prefix = "run"});
}

static int tear_down(void **state) {
  (void)state;
  redis_session_close(&session);
  fake_stop();
  return 0;
}
EACH(set_up, tear_down);

/* A text that lives as long as the test. */
static const char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));
static const char *text(const char *format, ...) {
  static char texts[32][600];
  static size_t count;
  char *ret = texts[count++ % 32];
  va_list args;
  va_start(args, format);
  vsnprintf(ret, sizeof *texts, format, args);
  va_end(args);
  return ret;
}

#define RANGE "*3\r\n:%u\r\n:%u\r\n*3\r\n$9\r\n127.0.0.%u\r\n:%u\r\n$2\r\nid\r\n"

/* The next question for the slots is answered with these owners, one for each third. */
static void answer_slots(unsigned first, unsigned second, unsigned third) {
  fake_answer(text("*3\r\n" RANGE RANGE RANGE, 0u, 5460u, first, (unsigned)fake_port, 5461u, 10922u, second,
                   (unsigned)fake_port, 10923u, 16383u, third, (unsigned)fake_port));
}

static void answer_elsewhere(const char *word, unsigned server) {
  fake_answer(text("-%s 12739 127.0.0.%u:%u\r\n", word, server, (unsigned)fake_port));
}

static int setnx(const char *key, struct lb_grant *grant) {
  struct redis_request request = {.command = {.argv = {"SETNX", key, "1"}}, .grant = grant, .ttl_ms = 1000};
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

static void assert_heard(size_t i, unsigned server, const char *command) {
  assert_string_equal(fake_heard(i), command);
  assert_int_equal(fake_heard_at(i), server);
}

/* ---- slots ------------------------------------------------------------------------------------------------ */

TEST(slots_are_those_of_the_specification) {
  assert_int_equal(redis_link_slot("123456789"), 0x31c3);
  assert_int_equal(redis_link_slot("somekey"), 11058);
  assert_int_equal(redis_link_slot("foo{hash_tag}"), 2515);
  assert_int_equal(redis_link_slot("bar{hash_tag}"), 2515);
  assert_int_equal(redis_link_slot("foo{{bar}}zap"), redis_link_slot("{bar"));
  assert_int_equal(redis_link_slot("foo{bar}{zap}"), redis_link_slot("bar"));
  assert_int_not_equal(redis_link_slot("foo{}{bar}"),
                       redis_link_slot("bar")); /* nothing in the first braces: the whole name counts */
  assert_int_not_equal(redis_link_slot("foo{}{bar}"), redis_link_slot(""));
}

TEST(a_counter_has_the_slot_of_its_key) {
  struct redis_words words;
  assert_int_equal(redis_command_spell(&fake_env,
                                       &(struct redis_command){&redis_script_set_numbered, {"run-7", "t", "1"}}, false,
                                       &words),
                   0);
  assert_string_equal(words.word[4], "{run-7}.fence");
  assert_int_equal(redis_link_slot(words.word[4]), redis_link_slot("run-7"));
}

/* ---- where a request goes --------------------------------------------------------------------------------- */

TEST(a_request_goes_to_the_owner_of_its_slot) {
  answer_slots(1, 2, 3);
  fake_answer(":1\r\n");
  ANSWERED(":1\r\n", setnx(KEY, NULL), 0);
  assert_int_equal(redis_session_server(&session), 2);
  assert_int_equal(setnx(OTHER, NULL), 0);
  assert_int_equal(redis_session_server(&session), 0);
  assert_heard(0, 1, "CLUSTER SLOTS");
  assert_heard(1, 3, "SETNX " KEY " 1");
  assert_heard(2, 1, "SETNX " OTHER " 1");
}

TEST(a_connection_is_kept_for_the_next_request_to_its_server) {
  answer_slots(1, 2, 3);
  for (int i = 0; i < 4; i++) fake_answer(":1\r\n");
  assert_int_equal(setnx(KEY, NULL), 0);
  assert_int_equal(setnx(OTHER, NULL), 0);
  assert_int_equal(setnx(KEY, NULL), 0);
  assert_int_equal(setnx(OTHER, NULL), 0);
  assert_heard(3, 3, "SETNX " KEY " 1");
  assert_heard(4, 1, "SETNX " OTHER " 1");
  assert_int_equal(fake_accepted(), 3); /* the question, and one to each */
  assert_int_equal(session.losses, 0);
}

TEST(what_has_no_key_goes_where_the_request_before_it_went) {
  answer_slots(1, 2, 3);
  fake_answer(":1\r\n");
  ANSWERED(":1\r\n", setnx(KEY, NULL), 0);
  struct redis_request wait = {.command = {.argv = {"WAIT", OTHER, "0"}, .keyless = true}};
  assert_int_equal(redis_session_ask(&session, &wait, in_ms(100)), 0);
  freeReplyObject(wait.reply);
  assert_heard(2, 3, "WAIT " OTHER " 0");
}

TEST(a_server_that_does_not_answer_is_passed_over) {
  fake_answer(FAKE_SILENCE);
  answer_slots(1, 2, 3);
  fake_answer(":1\r\n");
  struct redis_request request = {.command = {.argv = {"GET", KEY}}};
  assert_int_equal(redis_session_ask(&session, &request, in_ms(2000)), 0);
  freeReplyObject(request.reply);
  assert_heard(1, 2, "CLUSTER SLOTS");
  assert_heard(2, 3, "GET " KEY);
}

TEST(a_dead_owner_is_asked_for_at_the_next_server) {
  endpoint[2] = (struct lb_endpoint){.service = "redis", .host = "127.0.0.3", .port = 1}; /* nobody is there */
  fake_answer(text("*1\r\n" RANGE, 0u, 16383u, 3u, 1u));
  answer_slots(1, 2, 4);
  ANSWERED(":1\r\n", setnx(KEY, NULL), 0);
  assert_heard(1, 2, "CLUSTER SLOTS");
  assert_heard(2, 4, "SETNX " KEY " 1");
}

TEST(after_a_lost_connection_the_owner_is_asked_for_again) {
  answer_slots(1, 2, 3);
  ANSWERED(":1\r\n", setnx(KEY, NULL), 0);
  fake_hang_up();
  fake_now += 20 * LB_NS_PER_MS;
  answer_slots(1, 2, 4);
  ANSWERED(":1\r\n", setnx(KEY, NULL), 0);
  assert_heard(2, 2, "CLUSTER SLOTS");
  assert_heard(3, 4, "SETNX " KEY " 1");
  assert_int_equal(session.losses, 1);
}

/* The search for a new owner may lead to a server that has a connection already; a check of leaks sees the one too
 * many. */
TEST(a_second_connection_to_a_server_replaces_the_first) {
  answer_slots(1, 2, 3);
  for (int i = 0; i < 2; i++) fake_answer(":1\r\n");
  assert_int_equal(setnx(KEY, NULL), 0);
  assert_int_equal(setnx(OTHER, NULL), 0);
  fake_hang_up();
  fake_now += 20 * LB_NS_PER_MS;
  answer_slots(3, 2, 4);
  for (int i = 0; i < 3; i++) fake_answer(":1\r\n");
  assert_int_equal(setnx(OTHER, NULL), 0); /* at 3, where KEY was */
  assert_int_equal(setnx(KEY, NULL), 0);
  assert_int_equal(setnx(OTHER, NULL), 0);
  assert_heard(4, 3, "SETNX " OTHER " 1");
  assert_heard(5, 4, "SETNX " KEY " 1");
  assert_heard(6, 3, "SETNX " OTHER " 1");
}

/* ---- what an answer says ---------------------------------------------------------------------------------- */

TEST(moved_is_followed_and_remembered) {
  answer_slots(1, 2, 3);
  answer_elsewhere("MOVED", 2);
  fake_answer(":1\r\n");
  ANSWERED(":1\r\n", setnx(KEY, NULL), 0);
  assert_int_equal(setnx(KEY, NULL), 0);
  assert_heard(1, 3, "SETNX " KEY " 1");
  assert_heard(2, 2, "SETNX " KEY " 1");
  assert_heard(3, 2, "SETNX " KEY " 1");
  assert_int_equal(fake_heard_count(), 4);
}

TEST(ask_is_followed_for_one_request) {
  answer_slots(1, 2, 3);
  answer_elsewhere("ASK", 2);
  fake_answer("+OK\r\n");
  fake_answer(":1\r\n");
  ANSWERED(":1\r\n", setnx(KEY, NULL), 0);
  assert_int_equal(setnx(KEY, NULL), 0);
  assert_heard(2, 2, "ASKING");
  assert_heard(3, 2, "SETNX " KEY " 1");
  assert_heard(4, 3, "SETNX " KEY " 1");
}

TEST(a_server_that_was_asked_for_one_request_may_name_another) {
  answer_slots(1, 2, 3);
  answer_elsewhere("ASK", 2);
  fake_answer("+OK\r\n");
  answer_elsewhere("MOVED", 4);
  ANSWERED(":1\r\n", setnx(KEY, NULL), 0);
  assert_heard(4, 4, "SETNX " KEY " 1");
  assert_int_equal(fake_heard_count(), 5);
}

/* ASKING counts for one command: there is no second one to send the text of the script with. */
TEST(a_script_behind_asking_is_sent_whole) {
  struct redis_request request = {.command = {&redis_script_delete_if_mine, {KEY, "t"}}};
  answer_slots(1, 2, 3);
  answer_elsewhere("ASK", 2);
  fake_answer("+OK\r\n");
  fake_answer(":1\r\n");
  assert_int_equal(redis_session_ask(&session, &request, in_ms(100)), 0);
  assert_true(redis_is_one(request.reply));
  freeReplyObject(request.reply);
  assert_int_equal(strncmp(fake_heard(1), "EVALSHA ", 8), 0);
  assert_int_equal(strncmp(fake_heard(3), "EVAL ", 5), 0);
}

TEST(two_servers_that_name_each_other_end_in_a_refusal) {
  answer_slots(1, 2, 3);
  for (unsigned i = 0; i < 20; i++) answer_elsewhere("MOVED", 2 + i % 2);
  assert_int_equal(setnx(KEY, NULL), -EROFS);
  assert_int_equal(fake_heard_count(), 1 + 6);
  assert_int_equal(get(KEY), -EROFS);
  assert_int_equal(fake_heard_count(), 1 + 6 + 6);
}

STATES(a_server_that_is_not_listed_is_not_gone_to, answer_slots(1, 2, 3), fake_answer("-MOVED 12739 127.0.0.9:1\r\n"),
       assert_int_equal(setnx(KEY, NULL), -EROFS), assert_int_equal(fake_heard_count(), 2));

/* A master that was cut off from the others says so for as long as it is: they may know better. */
TEST(a_cluster_that_is_down_is_a_refusal_and_another_server_is_asked_next) {
  answer_slots(1, 2, 3);
  ANSWERED("-CLUSTERDOWN The cluster is down\r\n", setnx(KEY, NULL), -EAGAIN);
  assert_int_equal(redis_session_server(&session), 2); /* whom it has asked can be told */
  answer_slots(1, 2, 3);
  ANSWERED("-CLUSTERDOWN The cluster is down\r\n", setnx(KEY, NULL), -EAGAIN);
  assert_heard(2, 2, "CLUSTER SLOTS");
  answer_slots(1, 2, 4);
  ANSWERED(":1\r\n", setnx(KEY, NULL), 0);
  assert_heard(4, 3, "CLUSTER SLOTS");
  assert_heard(5, 4, "SETNX " KEY " 1");
}

TEST(where_nobody_else_answers_the_old_server_is_asked_again) {
  answer_slots(1, 2, 3);
  ANSWERED("-CLUSTERDOWN The cluster is down\r\n", setnx(KEY, NULL), -EAGAIN);
  for (int i = 0; i < 4; i++) fake_answer("-LOADING not yet\r\n");
  ANSWERED(":1\r\n", setnx(KEY, NULL), 0);
  assert_heard(6, 3, "SETNX " KEY " 1");
}

/* ---- doubt ------------------------------------------------------------------------------------------------ */

/* The server of another key settles nothing of a request that is still on its way to this one. */
TEST(an_answer_of_another_server_settles_no_doubt) {
  struct lb_grant grant = LB_GRANT_INIT;
  answer_slots(1, 2, 3);
  ANSWERED(FAKE_SILENCE, setnx(KEY, &grant), LB_UNKNOWN);
  answer_slots(1, 2, 3);
  ANSWERED(":1\r\n", setnx(OTHER, NULL), 0);
  assert_int_equal(session.losses, 1);
  assert_int_equal(redis_session_absent(&session, &grant, LB_BUSY), LB_UNKNOWN);
  fake_now += 1100 * LB_NS_PER_MS;
  assert_int_equal(redis_session_absent(&session, &grant, LB_BUSY), LB_BUSY);
}

TEST(a_lost_connection_that_was_put_aside_is_a_doubt) {
  struct lb_grant grant = {.token = "t", .token_len = 1};
  answer_slots(1, 2, 3);
  for (int i = 0; i < 3; i++) fake_answer(":1\r\n");
  assert_int_equal(setnx(KEY, NULL), 0);
  assert_int_equal(setnx(OTHER, NULL), 0);
  assert_int_equal(setnx(KEY, NULL), 0);
  redis_session_confirm(&session, &grant);
  assert_int_equal(redis_session_doubt(&session, &grant), LB_OK);
  fake_hang_up(); /* the newest, to the server of the other key */
  assert_int_equal(redis_session_doubt(&session, &grant), LB_UNKNOWN);
}

/* ---- single servers --------------------------------------------------------------------------------------- */

TEST(a_server_is_looked_through_for_a_key) {
  fake_answer("*2\r\n$1\r\n7\r\n*0\r\n");
  fake_answer("*2\r\n$1\r\n0\r\n*1\r\n$5\r\nrun-1\r\n");
  assert_int_equal(redis_record_inspect(&fake_env, &target, 1, "run-1", in_ms(100)), 1);
  assert_heard(0, 2, "SCAN 0 MATCH run-1 COUNT 1000");
  assert_heard(1, 2, "SCAN 7 MATCH run-1 COUNT 1000");
  fake_answer("*2\r\n$1\r\n0\r\n*0\r\n");
  assert_int_equal(redis_record_inspect(&fake_env, &target, 1, "run-2", in_ms(100)), 0);
}

TEST(teardown_deletes_key_by_key_on_every_master) {
  fake_answer("*1\r\n$5\r\nslave\r\n");
  fake_answer("*1\r\n$6\r\nmaster\r\n");
  fake_answer("*2\r\n$1\r\n0\r\n*3\r\n$5\r\nrun-1\r\n$11\r\nmutex:run-2\r\n$13\r\n{run-1}.fence\r\n");
  fake_answer(":1\r\n");
  fake_answer(":1\r\n");
  fake_answer(":1\r\n");
  fake_answer("*1\r\n$5\r\nslave\r\n");
  fake_answer("*1\r\n$5\r\nslave\r\n");
  assert_int_equal(redis_session_teardown(&session, in_ms(1000)), 0);
  assert_heard(2, 2, "SCAN 0 MATCH *run-* COUNT 1000");
  assert_heard(3, 2, "DEL run-1");
  assert_heard(4, 2, "DEL mutex:run-2");
  assert_heard(5, 2, "DEL {run-1}.fence");
  assert_heard(7, 4, "ROLE");
}
