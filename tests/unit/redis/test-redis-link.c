/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * Connections, the search for the master, and rounds of votes, against a server that does what the test says.
 */

#include <signal.h>

#include "test.h"
#include "backends/redis/redis_fanout.h"
#include "backends/redis/redis_link.h"
#include "backends/redis/redlock.h"
#include "redis_fake.h"

static struct redis_conn *conn;
static redisReply *reply;

static lb_ns in_ms(int64_t ms) { return fake_now + (lb_ns)ms * LB_NS_PER_MS; }

static const struct lb_endpoint *fake_at(void) {
  static struct lb_endpoint at;
  at = (struct lb_endpoint){"redis", "127.0.0.1", fake_port};
  return &at;
}

static int set_up(void **state) {
  (void)state;
  fake_start();
  return redis_open(&fake_env, fake_at(), in_ms(100), &conn);
}

static int tear_down(void **state) {
  (void)state;
  redis_close(conn);
  conn = NULL;
  fake_stop();
  return 0;
}
EACH(set_up, tear_down);

static int call(const char *command, int64_t ms) { return redis_callf(conn, in_ms(ms), &reply, command); }

/* The call succeeds, and this is its answer. */
static void assert_answer(const char *command, const char *text) {
  assert_int_equal(call(command, 100), 0);
  assert_non_null(reply);
  assert_string_equal(reply->str, text);
  freeReplyObject(reply);
}

/* ---- one call, one answer ----------------------------------------------------------------------------- */

STATES(a_call_returns_its_reply, fake_answer("+PONG\r\n"), assert_answer("PING", "PONG"),
       assert_string_equal(fake_heard(0), "PING"), assert_int_equal(redis_owed(conn), 0));
STATES(an_error_reply_is_a_reply, fake_answer("-LOADING wait\r\n"), assert_answer("PING", "LOADING wait"));

TEST(a_silent_server_costs_exactly_the_deadline) {
  lb_ns deadline = in_ms(70);
  assert_int_equal(call("PING", 70), LB_UNKNOWN);
  assert_int_equal(fake_now, deadline);
  assert_null(reply);
  assert_int_equal(redis_lost(conn), 0);
  assert_non_null(strstr(fake_env.err, "did not answer"));
}

TEST(a_reply_in_many_pieces_cannot_stretch_the_deadline) {
  fake_drip(10 * LB_NS_PER_MS);
  fake_answer("+a long line, byte by byte\r\n");
  lb_ns deadline = in_ms(50);
  assert_int_equal(call("PING", 50), LB_UNKNOWN);
  assert_in_range(fake_now, deadline, deadline + 10 * LB_NS_PER_MS);
}

STATES(a_passed_deadline_sends_nothing, assert_int_equal(call("PING", 0), -ETIMEDOUT), fake_answer("+OK\r\n"),
       assert_answer("ECHO", "OK"), assert_string_equal(fake_heard(0), "ECHO"));

TEST(a_late_reply_is_not_taken_for_the_next_answer) {
  assert_int_equal(call("ONE", 50), LB_UNKNOWN);
  assert_int_equal(call("TWO", 50), LB_UNKNOWN);
  assert_int_equal(redis_owed(conn), 2);
  fake_say("+one\r\n+tw");
  fake_say("o\r\n");
  fake_answer("+three\r\n");
  assert_answer("THREE", "three");
  assert_int_equal(redis_owed(conn), 0);
}

STATES(late_replies_alone_are_no_answer, assert_int_equal(call("ONE", 50), LB_UNKNOWN), fake_say("+one\r\n"),
       assert_int_equal(call("TWO", 50), LB_UNKNOWN), assert_int_equal(redis_owed(conn), 1));
STATES(a_connection_ended_after_sending_leaves_the_outcome_unknown, fake_answer(FAKE_CLOSE),
       assert_int_equal(call("SET", 50), LB_UNKNOWN), assert_true(redis_ended_by_server(conn)),
       assert_int_equal(call("GET", 50), -ECONNRESET));
STATES(a_drain_notices_a_connection_that_was_closed, assert_int_equal(redis_drain(conn), 0), fake_answer(FAKE_CLOSE),
       assert_int_equal(call("QUIT", 50), LB_UNKNOWN), assert_true(redis_drain(conn) < 0));
STATES(a_reply_nobody_asked_for_ends_the_connection, fake_answer("+PONG\r\n+surprise\r\n"),
       assert_answer("PING", "PONG"), assert_int_equal(redis_drain(conn), -EPROTO),
       assert_false(redis_ended_by_server(conn)));
STATES(what_is_no_redis_reply_ends_the_connection, fake_answer("HTTP/1.1 400 Bad Request\r\n"),
       assert_int_equal(call("PING", 50), LB_UNKNOWN), assert_int_equal(redis_lost(conn), -EPROTO));

TEST(a_request_stuck_half_way_counts_as_sent) {
  size_t size = 64 << 20;
  char *big = malloc(size + 1);
  memset(big, 'x', size);
  big[size] = '\0';
  fake_go_deaf();
  assert_int_equal(redis_callf(conn, in_ms(50), &reply, "SET k %s", big), LB_UNKNOWN);
  assert_true(redis_events(conn) & POLLOUT);
  free(big);
}

TEST(a_refused_connect_says_so_and_where) {
  struct redis_conn *other = NULL;
  fake_stop();
  assert_int_equal(redis_open(&fake_env, fake_at(), in_ms(100), &other), -ECONNREFUSED);
  assert_null(other);
  assert_non_null(strstr(fake_env.err, "127.0.0.1:"));
  fake_start();
}

/* ---- credentials -------------------------------------------------------------------------------------- */

static int log_in(const char *user, const char *password, struct redis_conn **ret) {
  struct lb_endpoint at = *fake_at();
  at.user = user, at.password = password;
  return redis_open(&fake_env, &at, in_ms(100), ret);
}

TEST(a_password_is_sent_before_anything_else) {
  struct redis_conn *other = NULL;
  fake_answer("+OK\r\n");
  fake_answer("+PONG\r\n");
  assert_int_equal(log_in(NULL, "secret", &other), 0);
  assert_string_equal(fake_heard(0), "AUTH secret");
  assert_int_equal(redis_owed(other), 0);
  assert_int_equal(redis_callf(other, in_ms(100), &reply, "PING"), 0);
  assert_string_equal(reply->str, "PONG");
  freeReplyObject(reply);
  redis_close(other);
}

TEST(a_user_is_sent_with_the_password) {
  struct redis_conn *other = NULL;
  fake_answer("+OK\r\n");
  assert_int_equal(log_in("locker", "secret", &other), 0);
  assert_string_equal(fake_heard(0), "AUTH locker secret");
  redis_close(other);
}

TEST(a_login_that_is_refused_is_one_clear_error) {
  struct redis_conn *other = NULL;
  fake_answer("-WRONGPASS invalid username-password pair\r\n");
  assert_int_equal(log_in("locker", "wrong", &other), -EACCES);
  assert_null(other);
  assert_non_null(strstr(fake_env.err, "does not take the login: WRONGPASS"));
  assert_null(strstr(fake_env.err, "wrong\""));
}

TEST(a_login_without_an_answer_ends_at_the_deadline) {
  struct redis_conn *other = NULL;
  fake_answer(FAKE_SILENCE);
  assert_int_equal(log_in(NULL, "secret", &other), -ETIMEDOUT);
}

TEST(tls_is_refused_and_never_left_out) {
  struct redis_conn *other = NULL;
  struct lb_endpoint at = *fake_at();
  size_t before = fake_accepted();
  at.tls = true;
  assert_int_equal(redis_open(&fake_env, &at, in_ms(100), &other), -EPROTONOSUPPORT);
  assert_non_null(strstr(fake_env.err, "asks for TLS"));
  assert_int_equal(fake_accepted(), before);
}

/* ---- commands ----------------------------------------------------------------------------------------- */

static const struct redis_command delete_k = {&redis_script_delete_if_mine, {"k", "token"}};

TEST(a_script_the_server_does_not_know_is_sent_whole) {
  fake_answer("-NOSCRIPT No matching script. Please use EVAL.\r\n");
  fake_answer(":1\r\n");
  assert_int_equal(redis_command_run(conn, in_ms(50), &reply, &delete_k), 0);
  assert_int_equal(reply->integer, 1);
  freeReplyObject(reply);
  assert_ptr_equal(strstr(fake_heard(0), "EVALSHA "), fake_heard(0));
  assert_ptr_equal(strstr(fake_heard(1), "EVAL if"), fake_heard(1));
}

STATES(a_script_behind_a_late_reply_is_sent_whole_at_once, assert_int_equal(call("SET", 50), LB_UNKNOWN),
       assert_int_equal(redis_command_run(conn, in_ms(50), &reply, &delete_k), LB_UNKNOWN),
       assert_ptr_equal(strstr(fake_heard(1), "EVAL if"), fake_heard(1)));

TEST(tokens_are_20_bytes_in_hex_and_differ) {
  struct lb_grant one = LB_GRANT_INIT, two = LB_GRANT_INIT;
  redis_new_token(&fake_env, &one);
  redis_new_token(&fake_env, &two);
  assert_int_equal(strspn(one.token, "0123456789abcdef"), 40);
  assert_int_equal(one.token_len, 40);
  assert_string_not_equal(one.token, two.token);
}

TEST(a_lease_ends_1_percent_and_2_ms_early) {
  assert_int_equal(lb_lease_end(5, 1000), 5 + (1000 - 10 - 2) * LB_NS_PER_MS);
  assert_int_equal(lb_lease_end(5, 2), 5);
}

TEST(an_extension_without_an_answer_never_moves_the_end_out) {
  struct lb_grant grant = {.valid_until = 100};
  assert_int_equal(lb_lease_extended(&grant, LB_UNKNOWN, 200), LB_UNKNOWN);
  assert_int_equal(grant.valid_until, 100);
  assert_int_equal(lb_lease_extended(&grant, LB_UNKNOWN, 90), LB_UNKNOWN);
  assert_int_equal(grant.valid_until, 90);
  assert_int_equal(lb_lease_extended(&grant, LB_LOST, 80), LB_LOST);
  assert_int_equal(lb_lease_extended(&grant, -ENOENT, 80), -ENOENT);
  assert_int_equal(grant.valid_until, 90);
  assert_int_equal(lb_lease_extended(&grant, LB_OK, 300), LB_OK);
  assert_int_equal(grant.valid_until, 300);
}

static int refusal(const char *text) {
  redisReply error = {.type = REDIS_REPLY_ERROR, .str = (char *)(uintptr_t)text, .len = strlen(text)};
  return redis_refusal(&fake_env, &error);
}

TEST(refusals_are_told_apart_by_their_whole_code) {
  redisReply fine = {.type = REDIS_REPLY_STATUS, .str = (char[]){"OK"}};
  assert_int_equal(redis_refusal(&fake_env, &fine), 0);
  assert_int_equal(refusal("READONLY You can't write against a read only replica."), -EROFS);
  assert_int_equal(refusal("MASTERDOWN Link with MASTER is down"), -EROFS);
  assert_int_equal(refusal("BUSY Redis is busy running a script"), -EAGAIN);
  assert_int_equal(refusal("BUSYGROUP exists"), -EPROTO);
  assert_int_equal(refusal("BUS"), -EPROTO);
  assert_non_null(strstr(fake_env.err, "BUS"));
}

/* ---- which server ------------------------------------------------------------------------------------- */

static struct lb_target fake_target(struct lb_endpoint *endpoint, size_t count, const char *service) {
  for (size_t i = 0; i < count; i++) endpoint[i] = (struct lb_endpoint){service, "127.0.0.1", fake_port};
  return (struct lb_target){.topology = "fake", .endpoints = endpoint, .count = count};
}

TEST(a_target_without_the_needed_server_is_refused) {
  struct lb_endpoint endpoint[1];
  struct redis_link link;
  struct lb_target target = fake_target(endpoint, 1, "redis");
  assert_int_equal(redis_link_init(&link, &fake_env, &target), 0);
  target.sentinel_master = "m";
  assert_int_equal(redis_link_init(&link, &fake_env, &target), -EINVAL);
}

static void answer_master(void) {
  static char address[64];
  snprintf(address, sizeof address, "*2\r\n$9\r\n127.0.0.1\r\n$5\r\n%05u\r\n", fake_port);
  fake_answer(address);
}

TEST(a_server_that_does_not_call_itself_master_is_not_taken) {
  struct lb_endpoint endpoint[1];
  struct redis_link link;
  struct redis_conn *found = NULL;
  struct lb_target target = fake_target(endpoint, 1, "sentinel");
  target.sentinel_master = "m";
  assert_int_equal(redis_link_init(&link, &fake_env, &target), 0);
  answer_master();
  fake_answer("*1\r\n$5\r\nslave\r\n");
  answer_master();
  fake_answer("*1\r\n$6\r\nmaster\r\n");
  assert_int_equal(redis_link_open(&link, NULL, in_ms(1000), &found), 0);
  redis_close(found);
  assert_string_equal(fake_heard(0), "SENTINEL get-master-addr-by-name m");
  assert_string_equal(fake_heard(3), "ROLE");
  assert_int_equal(fake_heard_count(), 4);
}

TEST(sentinels_that_know_nothing_are_asked_until_the_deadline) {
  struct lb_endpoint endpoint[2];
  struct redis_link link;
  struct redis_conn *found = NULL;
  struct lb_target target = fake_target(endpoint, 2, "sentinel");
  target.sentinel_master = "m";
  assert_int_equal(redis_link_init(&link, &fake_env, &target), 0);
  fake_answer("*-1\r\n");
  fake_answer("-IDONTKNOW who are you\r\n"); /* and silence from then on */
  lb_ns deadline = in_ms(700);
  assert_int_equal(redis_link_open(&link, NULL, deadline, &found), -ETIMEDOUT);
  assert_int_equal(fake_now, deadline);
  assert_true(fake_heard_count() > 3);
}

TEST(the_sentinel_that_answered_is_asked_first_from_then_on) {
  struct lb_endpoint endpoint[3];
  struct redis_link link;
  struct redis_conn *found = NULL;
  struct lb_target target = fake_target(endpoint, 3, "sentinel");
  target.sentinel_master = "m";
  assert_int_equal(redis_link_init(&link, &fake_env, &target), 0);
  fake_answer("*-1\r\n");
  answer_master();
  fake_answer("*1\r\n$6\r\nmaster\r\n");
  assert_int_equal(redis_link_open(&link, NULL, in_ms(1000), &found), 0);
  redis_close(found);
  assert_ptr_equal(link.sentinel[0], &endpoint[1]);
  assert_ptr_equal(link.sentinel[1], &endpoint[0]);
  assert_ptr_equal(link.sentinel[2], &endpoint[2]);
}

/* ---- rounds of votes ---------------------------------------------------------------------------------- */

static enum redis_vote read_vote(const redisReply *vote, const void *context) {
  (void)context;
  return vote->type == REDIS_REPLY_STATUS ? REDIS_YES : REDIS_NO;
}

static struct redis_round vote_round(void) {
  return (struct redis_round){.command = {.argv = {"VOTE"}}, .owed_max = 3, .read = read_vote};
}

static struct redis_round hold_round(struct redis_fanout *fanout, bool silent_is_no) {
  struct redis_round round = vote_round();
  redis_fanout_send(fanout, &round);
  redis_fanout_gather(fanout, &round, silent_is_no, in_ms(50));
  return round;
}

TEST(a_round_ends_with_the_quorum_and_late_votes_are_skipped) {
  struct lb_endpoint endpoint[3];
  struct redis_fanout fanout = {0};
  struct lb_target target = fake_target(endpoint, 3, "redis");
  lb_ns start = fake_now;
  assert_int_equal(redis_fanout_init(&fanout, &fake_env, &target), 0);
  for (int i = 0; i < 2; i++) fake_answer("+yes\r\n");
  fake_answer(FAKE_SILENCE);
  assert_int_equal(hold_round(&fanout, false).yes, 2);
  assert_int_equal(fake_now, start); /* nobody waited for the third */
  fake_say("+late\r\n");
  for (int i = 0; i < 3; i++) fake_answer("-no\r\n");
  struct redis_round round = hold_round(&fanout, false);
  assert_int_equal(round.yes, 0);
  assert_in_range(round.no, 2, 3);
  redis_fanout_deinit(&fanout);
}

/* Nobody waits for the login: it goes with the first round. */
TEST(votes_of_servers_that_ask_for_a_password) {
  struct lb_endpoint endpoint[3];
  struct redis_fanout fanout = {0};
  struct lb_target target = fake_target(endpoint, 3, "redis");
  for (int i = 0; i < 3; i++) endpoint[i].password = "secret";
  assert_int_equal(redis_fanout_init(&fanout, &fake_env, &target), 0);
  for (int i = 0; i < 2; i++) fake_answer("+OK\r\n"), fake_answer("+yes\r\n");
  fake_answer("-WRONGPASS no\r\n"), fake_answer("-NOAUTH no\r\n");
  struct redis_round round = hold_round(&fanout, false);
  assert_int_equal(round.yes, 2);
  assert_int_equal(round.no, 0); /* "no" would be a vote */
  assert_string_equal(fake_heard(0), "AUTH secret");
  assert_string_equal(fake_heard(1), "VOTE");
  redis_fanout_deinit(&fanout);
}

TEST(a_server_far_behind_is_spared_and_one_long_silent_gets_a_new_connection) {
  struct lb_endpoint endpoint[1];
  struct redis_fanout fanout = {0};
  struct lb_target target = fake_target(endpoint, 1, "redis");
  assert_int_equal(redis_fanout_init(&fanout, &fake_env, &target), 0);
  for (int i = 0; i < 5; i++) hold_round(&fanout, true);
  assert_int_equal(fake_heard_count(), 3); /* owed_max */
  size_t before = fake_accepted();
  fake_now += 2 * LB_NS_PER_S;
  fake_answer("+yes\r\n");
  assert_int_equal(hold_round(&fanout, true).yes, 1);
  assert_int_equal(fake_accepted(), before + 1);
  redis_fanout_deinit(&fanout);
}

TEST(unread_replies_are_not_taken_for_silence) {
  struct lb_endpoint endpoint[1];
  struct redis_fanout fanout = {0};
  struct redis_round unread = vote_round();
  struct lb_target target = fake_target(endpoint, 1, "redis");
  assert_int_equal(redis_fanout_init(&fanout, &fake_env, &target), 0);
  fake_answer("+yes\r\n");
  assert_int_equal(hold_round(&fanout, true).yes, 1);
  redis_fanout_send(&fanout, &unread);
  fake_say("+yes\r\n");
  size_t before = fake_accepted();
  fake_now += 2 * LB_NS_PER_S;
  fake_answer(FAKE_SILENCE);
  fake_answer("+yes\r\n");
  assert_int_equal(hold_round(&fanout, true).yes, 1);
  assert_int_equal(fake_accepted(), before);
  redis_fanout_deinit(&fanout);
}

TEST(a_connection_lost_between_rounds_is_replaced_within_the_round) {
  struct lb_endpoint endpoint[1];
  struct redis_fanout fanout = {0};
  struct lb_target target = fake_target(endpoint, 1, "redis");
  assert_int_equal(redis_fanout_init(&fanout, &fake_env, &target), 0);
  fake_answer(FAKE_CLOSE);
  fake_answer("+yes\r\n");
  assert_int_equal(hold_round(&fanout, true).yes, 1);
  redis_fanout_deinit(&fanout);
}

static int before_all(void **state) {
  (void)state;
  signal(SIGPIPE, SIG_IGN);
  return 0;
}

GROUP(before_all, NULL);
