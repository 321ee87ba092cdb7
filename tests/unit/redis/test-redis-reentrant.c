/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * What a session of redis-reentrant remembers of its grants, and what it therefore asks for: which owner, which depth,
 * or nothing at all.
 */

#include <signal.h>

#include "test.h"
#include "backends/redis/redis_command.h"
#include "redis_fake.h"

enum { TTL_MS = 1000 };
#define GRANTED ":-3\r\n"
#define FREE ":1\r\n"
#define NOT_OURS "$-1\r\n"

extern const struct lb_protocol lb_redis_reentrant;

static struct lb_session *session;
static struct lb_endpoint endpoint;
static struct lb_target target;
static union lb_value options[2]; /* absolute, wake */

static lb_ns in_ms(int64_t ms) { return fake_now + (lb_ns)ms * LB_NS_PER_MS; }

static int set_up(void **state) {
  (void)state;
  fake_start();
  endpoint = (struct lb_endpoint){"redis", "127.0.0.1", fake_port};
  target = (struct lb_target){.topology = "fake", .endpoints = &endpoint, .count = 1};
  session = calloc(1, lb_redis_reentrant.session_size);
  struct lb_config config = {.env = &fake_env,
                             .target = &target,
                             .options = options,
                             .ttl_ms = TTL_MS,
                             .client = "client",
                             .protocol = &lb_redis_reentrant,
                             .prefix = "k"};
  return lb_redis_reentrant.open(session, &config, in_ms(100));
}

static int set_up_absolute(void **state) {
  options[0].b = true;
  return set_up(state);
}

static int tear_down(void **state) {
  (void)state;
  lb_redis_reentrant.close(session);
  free(session);
  fake_stop();
  options[0].b = false;
  return 0;
}
EACH(set_up, tear_down);

static const struct lb_lock lock = {"k", TTL_MS};

static int try(struct lb_grant *grant, const char *answer) {
  fake_answer(answer);
  return lb_redis_reentrant.try_acquire(session, &lock, grant, in_ms(100));
}
static int release(struct lb_grant *grant, const char *answer) {
  fake_answer(answer);
  return lb_redis_reentrant.release(session, &lock, grant, in_ms(100));
}
static int extend(struct lb_grant *grant, const char *answer) {
  fake_answer(answer);
  return lb_redis_reentrant.extend(session, &lock, grant, in_ms(100));
}

struct asked {
  char script[41], owner[41];
  int depth;
};

/* EVALSHA script 1 k owner ttl depth, or EVAL behind what is owed. */
static struct asked asked(size_t i) {
  struct asked a = {0};
  const char *ttl = strstr(fake_heard(i), " 1000 "), *key = strstr(fake_heard(i), " 1 k ");
  assert_non_null(ttl);
  assert_non_null(key);
  assert_int_equal(sscanf(key, " 1 k %40s", a.owner), 1);
  if (strncmp(fake_heard(i), "EVALSHA ", 8) == 0) memcpy(a.script, fake_heard(i) + 8, 40);
  a.depth = atoi(ttl + 6);
  return a;
}

TEST(every_grant_of_a_session_is_of_one_owner) {
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  assert_int_equal(try(&a, GRANTED), LB_OK);
  assert_int_equal(a.valid_until, lb_lease_end(a.asked_at, TTL_MS));
  assert_int_equal(try(&b, GRANTED), LB_OK);
  assert_string_equal(asked(0).owner, asked(1).owner);
  assert_string_not_equal(a.token, b.token);
}

TEST(an_attempt_without_an_answer_is_sent_again_as_it_was) {
  struct lb_grant a = LB_GRANT_INIT;
  assert_int_equal(try(&a, FAKE_SILENCE), LB_UNKNOWN);
  struct lb_grant before = a;
  fake_answer(GRANTED);
  assert_int_equal(lb_redis_reentrant.resolve(session, &lock, &a, in_ms(100)), LB_OK);
  assert_string_equal(asked(0).owner, asked(1).owner);
  assert_string_equal(before.token, a.token);
  assert_int_equal(a.valid_until, lb_lease_end(before.asked_at, TTL_MS));
}

TEST(what_was_released_is_lost_without_a_question) {
  struct lb_grant a = LB_GRANT_INIT;
  assert_int_equal(try(&a, GRANTED), LB_OK);
  struct lb_grant stale = a;
  assert_int_equal(release(&a, FREE), LB_OK);
  assert_int_equal(lb_redis_reentrant.release(session, &lock, &stale, in_ms(100)), LB_LOST);
  assert_int_equal(lb_redis_reentrant.extend(session, &lock, &stale, in_ms(100)), LB_LOST);
  assert_int_equal(lb_redis_reentrant.holds(session, &lock, &stale, in_ms(100)), LB_LOST);
  assert_int_equal(fake_heard_count(), 2);
}

TEST(a_release_without_an_answer_is_sent_again) {
  struct lb_grant a = LB_GRANT_INIT;
  assert_int_equal(try(&a, GRANTED), LB_OK);
  fake_answer(FAKE_CLOSE);
  assert_int_equal(release(&a, NOT_OURS), LB_OK); /* the first one did it */
  assert_int_equal(fake_heard_count(), 3);
}

TEST(whoever_let_a_lease_run_out_is_somebody_else_afterwards) {
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  assert_int_equal(try(&a, GRANTED), LB_OK);
  fake_now = a.valid_until;
  assert_int_equal(try(&b, GRANTED), LB_OK);
  assert_string_not_equal(asked(0).owner, asked(1).owner);
  assert_int_equal(release(&a, NOT_OURS), LB_LOST); /* only the server knows of an earlier owner */
  assert_string_equal(asked(0).owner, asked(2).owner);
}

TEST(a_lease_that_was_extended_has_not_run_out) {
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT, c = LB_GRANT_INIT;
  assert_int_equal(try(&a, GRANTED), LB_OK);
  assert_int_equal(try(&b, GRANTED), LB_OK);
  fake_now += TTL_MS / 2 * LB_NS_PER_MS;
  assert_int_equal(extend(&b, ":1\r\n"), LB_OK); /* of the owner, so of the other grant, too */
  fake_now = a.valid_until;
  assert_int_equal(try(&c, GRANTED), LB_OK);
  assert_string_equal(asked(0).owner, asked(3).owner);
}

TEST(a_refused_attempt_leaves_nothing) {
  struct lb_grant a = LB_GRANT_INIT;
  assert_int_equal(try(&a, ":700\r\n"), LB_BUSY);
  assert_int_equal(a.token_len, 0);
  assert_int_equal(try(&a, GRANTED), LB_OK);
  assert_int_equal(asked(1).depth, 1);
}

TEST_WITH(the_absolute_depth_is_that_of_the_session, set_up_absolute, tear_down) {
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  assert_int_equal(try(&a, GRANTED), LB_OK);
  assert_int_equal(try(&b, FAKE_SILENCE), LB_UNKNOWN);
  assert_int_equal(try(&b, GRANTED), LB_OK);
  assert_int_equal(asked(0).depth, 1);
  assert_int_equal(asked(1).depth, 2);
  assert_int_equal(asked(2).depth, 2); /* sent again it says the same */
  assert_int_equal(release(&a, ":0\r\n"), LB_OK);
  assert_int_equal(asked(3).depth, 1);
  assert_int_equal(release(&b, FREE), LB_OK);
  assert_int_equal(asked(4).depth, 0);
}

TEST_WITH(the_depth_is_of_one_key, set_up_absolute, tear_down) {
  struct lb_grant a = LB_GRANT_INIT, other = LB_GRANT_INIT;
  fake_answer(GRANTED);
  assert_int_equal(lb_redis_reentrant.try_acquire(session, &(struct lb_lock){"other", TTL_MS}, &other, in_ms(100)),
                   LB_OK);
  assert_int_equal(try(&a, GRANTED), LB_OK);
  assert_int_equal(asked(1).depth, 1);
}

TEST(what_counts_and_what_does_not_are_other_scripts) {
  struct lb_grant a = LB_GRANT_INIT;
  assert_int_equal(try(&a, GRANTED), LB_OK);
  assert_int_equal(release(&a, FREE), LB_OK);
  char counted[2][41];
  for (size_t i = 0; i < 2; i++) strcpy(counted[i], asked(i).script);
  tear_down(state);
  set_up_absolute(state);
  a = LB_GRANT_INIT;
  assert_int_equal(try(&a, GRANTED), LB_OK);
  assert_int_equal(release(&a, FREE), LB_OK);
  for (size_t i = 0; i < 2; i++) assert_string_not_equal(counted[i], asked(i).script);
}

static int before_all(void **state) {
  (void)state;
  signal(SIGPIPE, SIG_IGN);
  return 0;
}

GROUP(before_all, NULL);
