/* test: alone */
/* SPDX-License-Identifier: MIT
 *
 * redis-token and redlock against real Redis servers. Skipped without one.
 */

#include <signal.h>
#include <unistd.h>

#include "test.h"
#include "backends/redis/redis_fanout.h"
#include "backends/redis/redis_link.h"
#include "backends/redis/redlock.h"
#include "client/env.h"
#include "redis_server.h"
#include "skip.h"

#define NODES 5
#define TTL_MS 2000
#define NODE_TIMEOUT_MS 200
#define LONG_MS 60000 /* outlasts any test */

extern const struct lb_protocol lb_redis_token, lb_redlock;

static char dir[] = "/tmp/lockbench-live-redis-XXXXXX";
static struct redis_server server[NODES];
static struct lb_endpoint endpoint[NODES];

struct client {
  const struct lb_protocol *protocol;
  struct lb_process_env env;
  struct lb_session *session;
  union lb_value options[REDLOCK_OPTION_COUNT];
  struct lb_target target;
};
static struct client a, b; /* two clients of every test */
static bool fence;         /* redis-token's option, for those opened from now on */
static int64_t way;        /* redlock's, which of the words of fanout */

static lb_ns in_ms(struct client *client, int64_t ms) { return lb_now(&client->env.base) + (lb_ns)ms * LB_NS_PER_MS; }
static int64_t ms_since(struct client *client, lb_ns start) {
  return (int64_t)((lb_now(&client->env.base) - start) / LB_NS_PER_MS);
}

/* ---- clients ------------------------------------------------------------------------------------------ */

/* Those of this test, the others as they are by default. */
static void set_options(struct client *client) {
  for (size_t i = 0; client->protocol->options[i].name; i++) {
    const struct lb_option *o = &client->protocol->options[i];
    if (o->type == LB_OPT_REAL) client->options[i].f = o->def;
    else if (o->type == LB_OPT_BOOL) client->options[i].b = o->def != 0;
    else client->options[i].i = (int64_t)o->def;
  }
  if (client->protocol == &lb_redis_token) client->options[0].b = fence;
  else client->options[REDLOCK_NODE_TIMEOUT].i = NODE_TIMEOUT_MS, client->options[REDLOCK_FANOUT].i = way;
}

static void open_client(struct client *client, const struct lb_protocol *protocol, const struct lb_target *target) {
  static uint64_t seed;
  *client = (struct client){.protocol = protocol, .target = *target};
  set_options(client);
  lb_env_init(&client->env, ++seed);
  client->session = calloc(1, protocol->session_size);
  assert_non_null(client->session);
  struct lb_config config = {.env = &client->env.base,
                             .target = &client->target,
                             .options = client->options,
                             .ttl_ms = TTL_MS,
                             .client = "client",
                             .protocol = protocol,
                             .prefix = "k"};
  assert_int_equal(protocol->open(client->session, &config, in_ms(client, 2000)), 0);
}

static void close_client(struct client *client) {
  client->protocol->close(client->session);
  free(client->session);
}

static int try_for(struct client *client, const char *key, int64_t ttl_ms, struct lb_grant *grant, int64_t ms) {
  return client->protocol->try_acquire(client->session, &(struct lb_lock){key, ttl_ms}, grant, in_ms(client, ms));
}
static int try(struct client *client, const char *key, struct lb_grant *grant) {
  return try_for(client, key, TTL_MS, grant, 1000);
}
static int release_within(struct client *client, const char *key, struct lb_grant *grant, int64_t ms) {
  return client->protocol->release(client->session, &(struct lb_lock){key, LONG_MS}, grant, in_ms(client, ms));
}
static int release(struct client *client, const char *key, struct lb_grant *grant) {
  return release_within(client, key, grant, 1000);
}
static int extend(struct client *client, const char *key, int64_t ttl_ms, struct lb_grant *grant) {
  return client->protocol->extend(client->session, &(struct lb_lock){key, ttl_ms}, grant, in_ms(client, 1000));
}
static int resolve(struct client *client, const char *key, struct lb_grant *grant) {
  return client->protocol->resolve(client->session, &(struct lb_lock){key, LONG_MS}, grant, in_ms(client, 1000));
}
static int holds(struct client *client, const char *key, const struct lb_grant *grant) {
  return client->protocol->holds(client->session, &(struct lb_lock){key, LONG_MS}, grant, in_ms(client, 1000));
}
static int record(struct client *client, size_t node, const char *key) {
  return client->protocol->proofs->inspect(client->session, &(struct lb_lock){.key = key}, node, in_ms(client, 1000));
}

static size_t records(struct client *client, const char *key) {
  size_t count = 0;
  for (size_t i = 0; i < client->target.count; i++) count += record(client, i, key) == 1;
  return count;
}

/* Tries until granted, at most a few seconds. */
static bool granted_in_the_end(struct client *client, const char *key, struct lb_grant *grant) {
  lb_ns end = in_ms(client, 8000);
  while (lb_now(&client->env.base) < end) {
    *grant = LB_GRANT_INIT;
    if (try(client, key, grant) == LB_OK) return true;
    lb_sleep_until(&client->env.base, in_ms(client, 10));
  }
  return false;
}

/* Sooner than by the end of a lease of LONG_MS. */
static bool no_record_in_the_end(struct client *client, const char *key) {
  lb_ns end = in_ms(client, 3000);
  while (records(client, key) > 0 && lb_now(&client->env.base) < end)
    lb_sleep_until(&client->env.base, in_ms(client, 5));
  return records(client, key) == 0;
}

/* An operator's command at one server; returns an integer reply, or 0. */
static long long operate(size_t node, const char *format, const char *argument) {
  struct redis_conn *conn = NULL;
  redisReply *reply = NULL;
  assert_int_equal(
      redis_open(&a.env.base, &(struct lb_endpoint){"redis", "127.0.0.1", server[node].port}, in_ms(&a, 2000), &conn),
      0);
  assert_int_equal(redis_callf(conn, in_ms(&a, 2000), &reply, format, argument), 0);
  long long integer = reply->type == REDIS_REPLY_ARRAY && reply->elements ? reply->element[0]->integer : reply->integer;
  freeReplyObject(reply);
  redis_close(conn);
  return integer;
}

/* ---- surroundings ------------------------------------------------------------------------------------- */

static void start(size_t node) {
  if (!server[node].pid) redis_server_start(&server[node], dir, NULL);
  endpoint[node] = (struct lb_endpoint){"redis", "127.0.0.1", server[node].port};
}

static void open_both(const struct lb_protocol *protocol, size_t nodes) {
  for (size_t i = 0; i < nodes; i++) start(i);
  struct lb_target target = {.topology = "test", .endpoints = endpoint, .count = nodes};
  open_client(&a, protocol, &target);
  open_client(&b, protocol, &target);
  for (size_t i = 0; i < nodes; i++) operate(i, "FLUSHALL", NULL);
}

static int open_token(void **state) {
  (void)state;
  open_both(&lb_redis_token, 1);
  return 0;
}

static int open_fenced(void **state) {
  fence = true;
  int rc = open_token(state);
  fence = false;
  return rc;
}

static int open_redlock(void **state) {
  (void)state;
  open_both(&lb_redlock, NODES);
  return 0;
}

static int open_redlock_all(void **state) {
  way = REDIS_ALL;
  int rc = open_redlock(state);
  return way = REDIS_QUORUM, rc;
}

static int open_redlock_sequential(void **state) {
  way = REDIS_ONE_BY_ONE;
  int rc = open_redlock(state);
  return way = REDIS_QUORUM, rc;
}

static int close_both(void **state) {
  (void)state;
  close_client(&a);
  close_client(&b);
  for (size_t i = 0; i < NODES; i++)
    if (server[i].pid) redis_server_signal(&server[i], SIGCONT);
  return 0;
}

static int make_dir(void **state) {
  (void)state;
  return mkdtemp(dir) ? 0 : -1;
}

static struct redis_server guarded; /* on both loopback addresses, with a password and a user */

static int stop_all(void **state) {
  (void)state;
  char command[64];
  for (size_t i = 0; i < NODES; i++) redis_server_kill(&server[i]);
  redis_server_kill(&guarded);
  snprintf(command, sizeof command, "rm -rf %s", dir);
  return system(command);
}

/* ---- both protocols ----------------------------------------------------------------------------------- */

#define AS_TOKEN(f) LISTED_AS(token, "token: ", f, open_token, close_both)
#define AS_FENCED(f) LISTED_AS(fenced, "fenced: ", f, open_fenced, close_both)
#define AS_REDLOCK(f) LISTED_AS(redlock, "redlock: ", f, open_redlock, close_both)
#define AS_WAYS(f)                                                                                                     \
  LISTED_AS(all, "redlock, all: ", f, open_redlock_all, close_both);                                                   \
  LISTED_AS(sequential, "redlock, sequential: ", f, open_redlock_sequential, close_both)
#define AS_SENTINEL(f) LISTED_AS(sentinel, "sentinel: ", f, open_sentinel, close_sentinel)

AS_TOKEN(a_grant_excludes_another_session);
AS_REDLOCK(a_grant_excludes_another_session);
TEST_BODY(a_grant_excludes_another_session) {
  struct lb_grant mine = LB_GRANT_INIT, other = LB_GRANT_INIT;
  lb_ns before = lb_now(&a.env.base);
  assert_int_equal(try(&a, "k", &mine), LB_OK);
  assert_true(mine.asked_at >= before && mine.asked_at < mine.valid_until);
  assert_true(mine.valid_until < mine.asked_at + TTL_MS * LB_NS_PER_MS);
  assert_int_equal(holds(&a, "k", &mine), LB_OK);
  assert_int_equal(try(&b, "k", &other), LB_BUSY);
  assert_int_equal(other.token_len, 0);
}

AS_TOKEN(a_release_frees);
AS_REDLOCK(a_release_frees);
TEST_BODY(a_release_frees) {
  struct lb_grant mine = LB_GRANT_INIT, other = LB_GRANT_INIT;
  assert_int_equal(try(&a, "k", &mine), LB_OK);
  assert_int_equal(release(&a, "k", &mine), LB_OK);
  assert_int_equal(try(&b, "k", &other), LB_OK);
  assert_memory_not_equal(mine.token, other.token, REDIS_TOKEN_LEN);
  assert_int_equal(release(&b, "k", &other), LB_OK);
  assert_true(no_record_in_the_end(&a, "k"));
}

AS_TOKEN(a_release_by_a_former_owner_reports_lost_and_leaves_the_lock);
AS_REDLOCK(a_release_by_a_former_owner_reports_lost_and_leaves_the_lock);
TEST_BODY(a_release_by_a_former_owner_reports_lost_and_leaves_the_lock) {
  struct lb_grant mine = LB_GRANT_INIT, other = LB_GRANT_INIT;
  assert_int_equal(try(&a, "k", &mine), LB_OK);
  for (size_t i = 0; i < a.target.count; i++) operate(i, "DEL k", NULL);
  assert_int_equal(try(&b, "k", &other), LB_OK);
  assert_int_equal(holds(&a, "k", &mine), LB_LOST);
  assert_int_equal(release(&a, "k", &mine), LB_LOST);
  assert_int_equal(holds(&b, "k", &other), LB_OK);
}

AS_TOKEN(expiry_lets_another_in_after_the_holder_has_stopped_believing);
AS_REDLOCK(expiry_lets_another_in_after_the_holder_has_stopped_believing);
TEST_BODY(expiry_lets_another_in_after_the_holder_has_stopped_believing) {
  struct lb_grant mine = LB_GRANT_INIT, other = LB_GRANT_INIT;
  assert_int_equal(try_for(&a, "k", 300, &mine, 1000), LB_OK);
  assert_int_equal(try(&b, "k", &other), LB_BUSY);
  assert_true(granted_in_the_end(&b, "k", &other));
  assert_true(lb_now(&a.env.base) > mine.valid_until);
  assert_int_equal(release(&a, "k", &mine), LB_LOST);
}

AS_TOKEN(an_extension_moves_the_end);
AS_REDLOCK(an_extension_moves_the_end);
TEST_BODY(an_extension_moves_the_end) {
  struct lb_grant mine = LB_GRANT_INIT;
  assert_int_equal(try_for(&a, "k", 1000, &mine, 1000), LB_OK);
  lb_ns before = mine.valid_until;
  assert_int_equal(extend(&a, "k", LONG_MS, &mine), LB_OK);
  assert_true(mine.valid_until > before + 50 * LB_NS_PER_S);
  for (size_t i = 0; i < a.target.count; i++) assert_true(operate(i, "PTTL k", NULL) > 50000);
}

AS_TOKEN(an_extension_after_the_loss_says_lost_and_creates_nothing);
AS_REDLOCK(an_extension_after_the_loss_says_lost_and_creates_nothing);
TEST_BODY(an_extension_after_the_loss_says_lost_and_creates_nothing) {
  struct lb_grant mine = LB_GRANT_INIT;
  assert_int_equal(try(&a, "k", &mine), LB_OK);
  for (size_t i = 0; i < a.target.count; i++) operate(i, "DEL k", NULL);
  assert_int_equal(extend(&a, "k", TTL_MS, &mine), LB_LOST);
  assert_int_equal(records(&a, "k"), 0);
}

AS_TOKEN(the_same_attempt_is_granted_again_without_a_new_lease);
AS_REDLOCK(the_same_attempt_is_granted_again_without_a_new_lease);
TEST_BODY(the_same_attempt_is_granted_again_without_a_new_lease) {
  struct lb_grant mine = LB_GRANT_INIT;
  assert_int_equal(try(&a, "k", &mine), LB_OK);
  struct lb_grant again = mine;
  assert_int_equal(try(&a, "k", &again), LB_OK);
  assert_memory_equal(mine.token, again.token, sizeof mine.token);
  assert_int_equal(mine.valid_until, again.valid_until);
}

AS_TOKEN(a_passed_deadline_sends_nothing);
AS_REDLOCK(a_passed_deadline_sends_nothing);
TEST_BODY(a_passed_deadline_sends_nothing) {
  struct lb_grant mine = LB_GRANT_INIT;
  assert_int_equal(try_for(&a, "k", TTL_MS, &mine, 0), LB_TIMEOUT);
  assert_int_equal(mine.token_len, 0);
  assert_int_equal(records(&a, "k"), 0);
}

/* ---- redis-token -------------------------------------------------------------------------------------- */

AS_TOKEN(a_stopped_server_makes_an_acquire_unknown_at_the_deadline);
TEST_BODY(a_stopped_server_makes_an_acquire_unknown_at_the_deadline) {
  struct lb_grant warm = LB_GRANT_INIT, mine = LB_GRANT_INIT;
  assert_int_equal(try(&a, "warm", &warm), LB_OK);
  redis_server_signal(&server[0], SIGSTOP);
  lb_ns start = lb_now(&a.env.base);
  assert_int_equal(try_for(&a, "k", TTL_MS, &mine, 200), LB_UNKNOWN);
  assert_in_range(ms_since(&a, start), 190, 600);
  assert_int_equal(mine.token_len, REDIS_TOKEN_LEN);
}

AS_TOKEN(what_was_unknown_and_took_effect_resolves_to_held);
TEST_BODY(what_was_unknown_and_took_effect_resolves_to_held) {
  struct lb_grant mine = LB_GRANT_INIT, other = LB_GRANT_INIT;
  redis_server_signal(&server[0], SIGSTOP);
  assert_int_equal(try_for(&a, "k", LONG_MS, &mine, 100), LB_UNKNOWN);
  assert_int_equal(resolve(&a, "k", &mine), LB_UNKNOWN);
  redis_server_signal(&server[0], SIGCONT);
  assert_int_equal(resolve(&a, "k", &mine), LB_OK);
  assert_int_equal(mine.valid_until, lb_lease_end(mine.asked_at, LONG_MS));
  assert_int_equal(try(&b, "k", &other), LB_BUSY);
}

AS_TOKEN(what_was_unknown_and_had_no_effect_resolves_to_not_held);
TEST_BODY(what_was_unknown_and_had_no_effect_resolves_to_not_held) {
  struct lb_grant mine = LB_GRANT_INIT, other = LB_GRANT_INIT;
  assert_int_equal(try_for(&b, "k", LONG_MS, &other, 1000), LB_OK);
  redis_server_signal(&server[0], SIGSTOP);
  assert_int_equal(try_for(&a, "k", LONG_MS, &mine, 100), LB_UNKNOWN);
  redis_server_signal(&server[0], SIGCONT);
  assert_int_equal(resolve(&a, "k", &mine), LB_BUSY);
}

AS_TOKEN(what_was_unknown_can_be_tried_again);
TEST_BODY(what_was_unknown_can_be_tried_again) {
  struct lb_grant mine = LB_GRANT_INIT;
  redis_server_signal(&server[0], SIGSTOP);
  assert_int_equal(try_for(&a, "k", LONG_MS, &mine, 100), LB_UNKNOWN);
  struct lb_grant first = mine;
  redis_server_signal(&server[0], SIGCONT);
  assert_int_equal(try_for(&a, "k", LONG_MS, &mine, 1000), LB_OK);
  assert_memory_equal(first.token, mine.token, sizeof mine.token);
  assert_int_equal(release(&a, "k", &mine), LB_OK);
  assert_int_equal(records(&a, "k"), 0);
}

AS_TOKEN(a_release_ends_what_was_unknown);
TEST_BODY(a_release_ends_what_was_unknown) {
  struct lb_grant mine = LB_GRANT_INIT, other = LB_GRANT_INIT;
  redis_server_signal(&server[0], SIGSTOP);
  assert_int_equal(try_for(&a, "k", LONG_MS, &mine, 100), LB_UNKNOWN);
  assert_int_equal(release_within(&a, "k", &mine, 100), LB_UNKNOWN);
  redis_server_signal(&server[0], SIGCONT);
  assert_int_equal(release(&a, "k", &mine), LB_OK);
  assert_int_equal(try_for(&b, "k", TTL_MS, &other, 1000), LB_OK);
}

AS_TOKEN(a_release_asked_twice_is_no_loss);
TEST_BODY(a_release_asked_twice_is_no_loss) {
  struct lb_grant mine = LB_GRANT_INIT;
  assert_int_equal(try(&a, "k", &mine), LB_OK);
  redis_server_signal(&server[0], SIGSTOP);
  assert_int_equal(release_within(&a, "k", &mine, 100), LB_UNKNOWN);
  redis_server_signal(&server[0], SIGCONT);
  assert_int_equal(release(&a, "k", &mine), LB_OK);
}

AS_TOKEN(an_extension_without_an_answer_leaves_the_end);
TEST_BODY(an_extension_without_an_answer_leaves_the_end) {
  struct lb_grant mine = LB_GRANT_INIT;
  assert_int_equal(try(&a, "k", &mine), LB_OK);
  lb_ns before = mine.valid_until;
  redis_server_signal(&server[0], SIGSTOP);
  assert_int_equal(lb_redis_token.extend(a.session, &(struct lb_lock){"k", LONG_MS}, &mine, in_ms(&a, 100)),
                   LB_UNKNOWN);
  assert_int_equal(mine.valid_until, before);
  redis_server_signal(&server[0], SIGCONT);
  assert_int_equal(extend(&a, "k", LONG_MS, &mine), LB_OK);
}

AS_TOKEN(after_the_death_of_the_server_what_was_unknown_is_not_held);
TEST_BODY(after_the_death_of_the_server_what_was_unknown_is_not_held) {
  struct lb_grant mine = LB_GRANT_INIT;
  redis_server_signal(&server[0], SIGSTOP);
  assert_int_equal(try_for(&a, "k", LONG_MS, &mine, 100), LB_UNKNOWN);
  redis_server_kill(&server[0]);
  assert_true(resolve(&a, "k", &mine) < 0);
  start(0);
  assert_int_equal(resolve(&a, "k", &mine), LB_BUSY);
}

AS_TOKEN(a_dead_server_is_an_error_and_a_restarted_one_is_found_again);
TEST_BODY(a_dead_server_is_an_error_and_a_restarted_one_is_found_again) {
  struct lb_grant mine = LB_GRANT_INIT;
  assert_int_equal(try(&a, "k", &mine), LB_OK);
  redis_server_kill(&server[0]);
  lb_sleep_until(&a.env.base, in_ms(&a, 20)); /* idle long enough for the connection to be looked at before use */
  mine = LB_GRANT_INIT;
  assert_int_equal(try(&a, "k", &mine), -ECONNREFUSED);
  assert_int_equal(mine.token_len, 0);
  assert_non_null(strstr(a.env.base.err, "refused"));
  start(0);
  assert_int_equal(try(&a, "k", &mine), LB_OK);
}

AS_TOKEN(scripts_survive_a_flush_of_the_server_cache);
TEST_BODY(scripts_survive_a_flush_of_the_server_cache) {
  struct lb_grant mine = LB_GRANT_INIT;
  assert_int_equal(try(&a, "k", &mine), LB_OK);
  operate(0, "SCRIPT FLUSH", NULL);
  assert_int_equal(extend(&a, "k", TTL_MS, &mine), LB_OK);
  assert_int_equal(release(&a, "k", &mine), LB_OK);
  /* and are asked for by their right names afterwards */
  assert_int_equal(operate(0, "SCRIPT EXISTS %s", redis_script_delete_if_mine.sha1), 1);
  assert_int_equal(operate(0, "SCRIPT EXISTS %s", redis_script_expire_if_mine.sha1), 1);
}

AS_TOKEN(a_replica_refuses_and_that_is_definite);
TEST_BODY(a_replica_refuses_and_that_is_definite) {
  struct lb_grant mine = LB_GRANT_INIT;
  operate(0, "REPLICAOF 127.0.0.1 1", NULL);
  int rc = try(&a, "k", &mine);
  operate(0, "REPLICAOF NO ONE", NULL);
  assert_int_equal(rc, -EROFS);
  assert_int_equal(mine.token_len, 0);
  assert_int_equal(try(&a, "k", &mine), LB_OK);
}

/* ---- redis-token with numbers ---------------------------------------------------------------------------- */

AS_FENCED(every_grant_has_a_larger_number_and_a_refused_try_draws_none);
TEST_BODY(every_grant_has_a_larger_number_and_a_refused_try_draws_none) {
  for (uint64_t i = 1; i <= 3; i++) {
    struct lb_grant mine = LB_GRANT_INIT, other = LB_GRANT_INIT;
    struct client *holder = i % 2 ? &a : &b, *loser = i % 2 ? &b : &a;
    assert_int_equal(try(holder, "k", &mine), LB_OK);
    assert_int_equal(mine.fence, i);
    assert_int_equal(try(loser, "k", &other), LB_BUSY);
    assert_int_equal(release(holder, "k", &mine), LB_OK);
  }
}

AS_FENCED(the_counter_outlives_the_lease);
TEST_BODY(the_counter_outlives_the_lease) {
  struct lb_grant mine = LB_GRANT_INIT;
  assert_int_equal(try(&a, "k", &mine), LB_OK);
  assert_true(operate(0, "PTTL k", NULL) > 0);
  assert_true(operate(0, "PTTL {k}.fence", NULL) > 23 * 3600 * 1000); /* and ends by itself, if nobody tears down */
}

AS_FENCED(an_extension_keeps_the_counter);
TEST_BODY(an_extension_keeps_the_counter) {
  struct lb_grant mine = LB_GRANT_INIT;
  assert_int_equal(try(&a, "k", &mine), LB_OK);
  operate(0, "EXPIRE {k}.fence 100", NULL);
  assert_int_equal(extend(&a, "k", 5000, &mine), LB_OK);
  assert_true(operate(0, "PTTL {k}.fence", NULL) > 23 * 3600 * 1000);
}

AS_FENCED(an_attempt_whose_reply_was_lost_gets_a_number_when_resolved);
TEST_BODY(an_attempt_whose_reply_was_lost_gets_a_number_when_resolved) {
  struct lb_grant mine = LB_GRANT_INIT, next = LB_GRANT_INIT;
  redis_server_signal(&server[0], SIGSTOP);
  assert_int_equal(try_for(&a, "k", LONG_MS, &mine, 100), LB_UNKNOWN);
  redis_server_signal(&server[0], SIGCONT);
  assert_int_equal(resolve(&a, "k", &mine), LB_OK);
  assert_int_not_equal(mine.fence, 0);
  assert_int_equal(release(&a, "k", &mine), LB_OK);
  assert_int_equal(try(&b, "k", &next), LB_OK);
  assert_true(next.fence > mine.fence);
}

AS_FENCED(an_attempt_whose_reply_was_lost_gets_a_number_when_repeated);
TEST_BODY(an_attempt_whose_reply_was_lost_gets_a_number_when_repeated) {
  struct lb_grant mine = LB_GRANT_INIT;
  redis_server_signal(&server[0], SIGSTOP);
  assert_int_equal(try_for(&a, "k", LONG_MS, &mine, 100), LB_UNKNOWN);
  lb_ns asked_at = mine.asked_at;
  redis_server_signal(&server[0], SIGCONT);
  assert_int_equal(try_for(&a, "k", LONG_MS, &mine, 1000), LB_OK);
  assert_int_equal(mine.fence, 2); /* the first is lost with the reply */
  assert_int_equal(mine.valid_until, lb_lease_end(asked_at, LONG_MS));
}

AS_FENCED(a_counter_that_cannot_count_leaves_no_lock_behind);
TEST_BODY(a_counter_that_cannot_count_leaves_no_lock_behind) {
  struct lb_grant mine = LB_GRANT_INIT;
  operate(0, "SET {k}.fence word", NULL);
  assert_int_equal(try(&a, "k", &mine), -EPROTO);
  assert_int_equal(mine.token_len, 0);
  assert_int_equal(records(&a, "k"), 0);
}

AS_FENCED(the_numbering_scripts_survive_a_flush);
TEST_BODY(the_numbering_scripts_survive_a_flush) {
  struct lb_grant mine = LB_GRANT_INIT;
  operate(0, "SCRIPT FLUSH", NULL);
  assert_int_equal(try(&a, "k", &mine), LB_OK);
  assert_int_equal(resolve(&a, "k", &mine), LB_OK);
  assert_int_equal(operate(0, "SCRIPT EXISTS %s", redis_script_set_numbered.sha1), 1);
  assert_int_equal(operate(0, "SCRIPT EXISTS %s", redis_script_number_if_mine.sha1), 1);
}

/* ---- redlock ------------------------------------------------------------------------------------------ */

static void granted_without(size_t one, size_t another, struct lb_grant *mine) {
  redis_server_kill(&server[one]);
  redis_server_kill(&server[another]);
  assert_int_equal(try(&a, "k", mine), LB_OK);
}

AS_REDLOCK(two_dead_servers_of_five_do_not_matter);
AS_WAYS(two_dead_servers_of_five_do_not_matter);
TEST_BODY(two_dead_servers_of_five_do_not_matter) {
  struct lb_grant mine = LB_GRANT_INIT, other = LB_GRANT_INIT;
  granted_without(1, 4, &mine);
  assert_int_equal(try(&b, "k", &other), LB_BUSY);
  assert_int_equal(extend(&a, "k", TTL_MS, &mine), LB_OK);
  assert_int_equal(holds(&a, "k", &mine), LB_OK);
  assert_int_equal(release(&a, "k", &mine), LB_OK);
}

AS_REDLOCK(three_dead_servers_of_five_grant_nothing);
TEST_BODY(three_dead_servers_of_five_grant_nothing) {
  struct lb_grant mine = LB_GRANT_INIT, held = LB_GRANT_INIT;
  assert_int_equal(try(&a, "held", &held), LB_OK);
  for (size_t i = 0; i < 3; i++) redis_server_kill(&server[i]);
  assert_int_equal(try_for(&a, "k", LONG_MS, &mine, 1000), -EHOSTUNREACH);
  assert_int_equal(mine.token_len, 0);
  assert_true(no_record_in_the_end(&a, "k"));
  assert_int_equal(holds(&a, "held", &held), LB_UNKNOWN);
  assert_int_equal(extend(&a, "held", TTL_MS, &held), LB_UNKNOWN);
  assert_int_equal(release(&a, "held", &held), LB_UNKNOWN);
}

/* Three of five answer: two that it holds and one that it does not. Both majorities are still possible. */
AS_REDLOCK(a_majority_that_answers_and_does_not_confirm_is_an_answer_of_its_own);
TEST_BODY(a_majority_that_answers_and_does_not_confirm_is_an_answer_of_its_own) {
  struct lb_grant mine = LB_GRANT_INIT;
  assert_int_equal(try(&a, "k", &mine), LB_OK);
  redis_server_kill(&server[3]);
  redis_server_kill(&server[4]);
  assert_int_equal(holds(&a, "k", &mine), LB_OK);
  assert_int_equal(operate(0, "DEL k", NULL), 1);
  assert_int_equal(holds(&a, "k", &mine), LB_UNCONFIRMED);
  redis_server_kill(&server[1]);
  assert_int_equal(holds(&a, "k", &mine), LB_UNKNOWN); /* too few answer */
  start(3);
  start(4);
  assert_int_equal(holds(&a, "k", &mine), LB_LOST);
}

/* Two of five are dead, so it is known whose yes it was. */
AS_REDLOCK(the_voters_of_a_grant_are_named);
TEST_BODY(the_voters_of_a_grant_are_named) {
  struct lb_grant mine = LB_GRANT_INIT;
  granted_without(1, 4, &mine);
  assert_int_equal(a.protocol->proofs->voters(a.session), 1 | 1 << 2 | 1 << 3);
}

AS_REDLOCK(restarted_servers_vote_again);
AS_WAYS(restarted_servers_vote_again);
TEST_BODY(restarted_servers_vote_again) {
  struct lb_grant mine = LB_GRANT_INIT;
  granted_without(0, 1, &mine);
  assert_int_equal(release(&a, "k", &mine), LB_OK);
  start(0);
  start(1);
  redis_server_kill(&server[3]);
  redis_server_kill(&server[4]);
  assert_true(granted_in_the_end(&a, "k", &mine));
}

AS_REDLOCK(a_stopped_server_does_not_slow_the_others);
TEST_BODY(a_stopped_server_does_not_slow_the_others) {
  redis_server_signal(&server[2], SIGSTOP);
  lb_ns start_at = lb_now(&a.env.base);
  for (int i = 0; i < 200; i++) {
    struct lb_grant mine = LB_GRANT_INIT;
    assert_int_equal(try(&a, "k", &mine), LB_OK);
    assert_int_equal(release(&a, "k", &mine), LB_OK);
  }
  assert_true(ms_since(&a, start_at) < 200 * NODE_TIMEOUT_MS / 8);
}

AS_REDLOCK(a_stopped_server_forgets_nothing_it_was_told_to_delete);
AS_WAYS(a_stopped_server_forgets_nothing_it_was_told_to_delete);
TEST_BODY(a_stopped_server_forgets_nothing_it_was_told_to_delete) {
  struct lb_grant mine = LB_GRANT_INIT;
  redis_server_signal(&server[2], SIGSTOP);
  assert_int_equal(try_for(&a, "k", LONG_MS, &mine, 1000), LB_OK);
  assert_int_equal(release(&a, "k", &mine), LB_OK);
  redis_server_signal(&server[2], SIGCONT);
  assert_true(no_record_in_the_end(&b, "k"));
}

/* The late yes to `a` for "free" must not be counted for "taken". */
AS_REDLOCK(a_late_reply_is_not_mistaken);
AS_WAYS(a_late_reply_is_not_mistaken);
TEST_BODY(a_late_reply_is_not_mistaken) {
  struct lb_grant other = LB_GRANT_INIT;
  assert_int_equal(try_for(&b, "taken", LONG_MS, &other, 1000), LB_OK);
  for (int i = 0; i < 3; i++) redis_server_signal(&server[i], SIGSTOP);
  struct lb_grant mine = LB_GRANT_INIT;
  assert_int_equal(try_for(&a, "free", LONG_MS, &mine, 1000), -EHOSTUNREACH);
  for (int i = 0; i < 3; i++) redis_server_signal(&server[i], SIGCONT);
  for (int i = 0; i < 20; i++) {
    mine = LB_GRANT_INIT;
    assert_int_equal(try(&a, "taken", &mine), LB_BUSY);
  }
  assert_int_equal(holds(&b, "taken", &other), LB_OK);
  assert_true(no_record_in_the_end(&a, "free"));
}

AS_REDLOCK(five_stopped_servers_hold_nobody_beyond_the_deadline);
TEST_BODY(five_stopped_servers_hold_nobody_beyond_the_deadline) {
  struct lb_grant mine = LB_GRANT_INIT;
  for (int i = 0; i < NODES; i++) redis_server_signal(&server[i], SIGSTOP);
  lb_ns start_at = lb_now(&a.env.base);
  assert_int_equal(try_for(&a, "k", LONG_MS, &mine, 30), LB_TIMEOUT);
  assert_int_equal(try_for(&a, "k", LONG_MS, &mine, 1000), -EHOSTUNREACH); /* after node_timeout_ms */
  assert_true(ms_since(&a, start_at) < 900);
  for (int i = 0; i < NODES; i++) redis_server_signal(&server[i], SIGCONT);
  assert_true(no_record_in_the_end(&b, "k"));
}

AS_REDLOCK(a_failed_attempt_leaves_nothing);
TEST_BODY(a_failed_attempt_leaves_nothing) {
  struct lb_grant mine = LB_GRANT_INIT;
  for (size_t i = 0; i < 3; i++) operate(i, "SET k other", NULL);
  assert_int_equal(try_for(&a, "k", LONG_MS, &mine, 1000), LB_BUSY);
  for (size_t i = 0; i < 3; i++) operate(i, "DEL k", NULL);
  assert_true(no_record_in_the_end(&a, "k"));
}

AS_REDLOCK(a_minority_of_foreign_keys_does_not_hinder);
TEST_BODY(a_minority_of_foreign_keys_does_not_hinder) {
  struct lb_grant mine = LB_GRANT_INIT;
  for (size_t i = 0; i < 2; i++) operate(i, "SET k other", NULL);
  assert_int_equal(try(&a, "k", &mine), LB_OK);
  assert_int_equal(release(&a, "k", &mine), LB_OK);
  assert_int_equal(record(&a, 0, "k"), 1);
  assert_int_equal(record(&a, 1, "k"), 1);
}

AS_REDLOCK(a_lease_over_before_the_quorum_is_no_grant);
TEST_BODY(a_lease_over_before_the_quorum_is_no_grant) {
  struct lb_grant mine = LB_GRANT_INIT;
  assert_int_equal(try_for(&a, "k", 2, &mine, 1000), -ETIME);
  assert_true(no_record_in_the_end(&a, "k"));
}

AS_REDLOCK(the_loss_of_a_majority_is_the_loss_of_the_lock);
TEST_BODY(the_loss_of_a_majority_is_the_loss_of_the_lock) {
  struct lb_grant mine = LB_GRANT_INIT;
  assert_int_equal(try_for(&a, "k", LONG_MS, &mine, 1000), LB_OK);
  for (size_t i = 0; i < 3; i++) operate(i, "DEL k", NULL);
  assert_int_equal(holds(&a, "k", &mine), LB_LOST);
  assert_int_equal(extend(&a, "k", LONG_MS, &mine), LB_LOST);
  assert_true(no_record_in_the_end(&a, "k"));
}

/* ---- redis-token behind Sentinel ------------------------------------------------------------------------ */

static struct redis_server sentinel;
static struct lb_endpoint watched[3];

static void write_sentinel_config(char *path, size_t size) {
  snprintf(path, size, "%s/sentinel.conf", dir);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fprintf(file,
          "sentinel monitor m 127.0.0.1 %u 1\n"
          "sentinel down-after-milliseconds m 300\n"
          "sentinel failover-timeout m 2000\n",
          server[0].port);
  fclose(file);
}

static bool replica_is_online(void) {
  struct redis_conn *conn = NULL;
  redisReply *reply = NULL;
  assert_int_equal(
      redis_open(&a.env.base, &(struct lb_endpoint){"redis", "127.0.0.1", server[0].port}, in_ms(&a, 2000), &conn), 0);
  assert_int_equal(redis_callf(conn, in_ms(&a, 2000), &reply, "WAIT 1 10"), 0);
  bool online = reply->integer == 1;
  freeReplyObject(reply);
  redis_close(conn);
  return online;
}

static bool sentinel_knows_the_replica(void) {
  struct redis_conn *conn = NULL;
  redisReply *reply = NULL;
  assert_int_equal(
      redis_open(&a.env.base, &(struct lb_endpoint){"redis", "127.0.0.1", sentinel.port}, in_ms(&a, 2000), &conn), 0);
  assert_int_equal(redis_callf(conn, in_ms(&a, 2000), &reply, "SENTINEL replicas m"), 0);
  bool knows = reply->type == REDIS_REPLY_ARRAY && reply->elements == 1;
  freeReplyObject(reply);
  redis_close(conn);
  return knows;
}

static int open_sentinel(void **state) {
  (void)state;
  char primary_port[8], config[96];
  lb_env_init(&a.env, 1);
  for (size_t i = 0; i < 2; i++) redis_server_kill(&server[i]);
  start(0);
  snprintf(primary_port, sizeof primary_port, "%u", server[0].port);
  redis_server_start(
      &server[1], dir,
      (const char *const[]){"--replicaof", "127.0.0.1", primary_port, "--repl-diskless-sync-delay", "0", NULL});
  write_sentinel_config(config, sizeof config);
  redis_sentinel_start(&sentinel, dir, config);
  lb_ns end = in_ms(&a, 15000);
  while ((!replica_is_online() || !sentinel_knows_the_replica()) && lb_now(&a.env.base) < end)
    lb_sleep_until(&a.env.base, in_ms(&a, 50));
  /* The first Sentinel is dead: it must cost little. */
  watched[0] = (struct lb_endpoint){"sentinel", "127.0.0.1", redis_free_port()};
  watched[1] = (struct lb_endpoint){"sentinel", "127.0.0.1", sentinel.port};
  watched[2] = (struct lb_endpoint){"redis", "127.0.0.1", 1};
  struct lb_target target = {.topology = "sentinel", .endpoints = watched, .count = 3, .sentinel_master = "m"};
  open_client(&a, &lb_redis_token, &target);
  open_client(&b, &lb_redis_token, &target);
  return 0;
}

static int close_sentinel(void **state) {
  redis_server_kill(&sentinel);
  for (size_t i = 0; i < 2; i++) redis_server_kill(&server[i]);
  return close_both(state);
}

AS_SENTINEL(a_failover_is_followed_within_one_call);
TEST_BODY(a_failover_is_followed_within_one_call) {
  struct lb_grant mine = LB_GRANT_INIT, other = LB_GRANT_INIT;
  assert_int_equal(try_for(&a, "k", LONG_MS, &mine, 2000), LB_OK);
  assert_int_equal(try(&b, "k", &other), LB_BUSY);
  redis_server_kill(&server[0]);
  lb_sleep_until(&b.env.base, in_ms(&b, 20));
  assert_int_equal(try_for(&b, "other", TTL_MS, &other, 15000), LB_OK);
  operate(1, "SET k2 v", NULL); /* the replica is the master now */
  lb_ns start_at = lb_now(&a.env.base);
  int rc = release_within(&a, "k", &mine, 3000);
  assert_true(rc == LB_OK || rc == LB_LOST); /* whether the key had been copied in time is luck */
  assert_true(ms_since(&a, start_at) < 1500);
}

AS_SENTINEL(without_any_master_the_deadline_holds);
TEST_BODY(without_any_master_the_deadline_holds) {
  struct lb_grant mine = LB_GRANT_INIT;
  redis_server_kill(&server[0]);
  redis_server_kill(&server[1]);
  lb_ns start_at = lb_now(&a.env.base);
  assert_int_equal(try_for(&a, "k", TTL_MS, &mine, 300), LB_TIMEOUT);
  assert_in_range(ms_since(&a, start_at), 290, 700);
}

/* ---- servers that ask who comes ------------------------------------------------------------------------- */

static int start_guarded(void **state) {
  (void)state;
  static const char *const extra[] = {"--bind", "127.0.0.1", "-::1", "--requirepass", "secret", "--user", "locker",
                                      "on",     ">word",     "~*",   "+@all",         NULL};
  if (!guarded.pid) redis_server_start(&guarded, dir, extra);
  return 0;
}
EACH(start_guarded, NULL);

/* The same server at all nodes: redlock wants an odd number, and one is odd. */
static int try_at(const struct lb_protocol *protocol, const char *host, const char *user, const char *password,
                  bool tls) {
  struct lb_endpoint at = {"redis", host, guarded.port, tls, user, password};
  struct lb_target target = {.topology = "test", .endpoints = &at, .count = 1};
  struct lb_grant grant = LB_GRANT_INIT;
  struct client c;
  open_client(&c, protocol, &target);
  int rc = try(&c, "k-1", &grant);
  if (rc == LB_OK) assert_int_equal(record(&c, 0, "k-1"), 1);
  if (rc == LB_OK) assert_int_equal(release(&c, "k-1", &grant), LB_OK);
  if (rc == LB_OK) assert_int_equal(protocol->teardown(c.session, in_ms(&c, 1000)), LB_OK);
  memcpy(a.env.base.err, c.env.base.err, sizeof a.env.base.err); /* outlives the client */
  close_client(&c);
  return rc;
}

TEST(a_login_by_address_of_either_kind_and_by_name) {
  static const struct lb_protocol *const both[] = {&lb_redis_token, &lb_redlock};
  for (size_t i = 0; i < 2; i++) {
    assert_int_equal(try_at(both[i], "127.0.0.1", NULL, "secret", false), LB_OK);
    if (has_ipv6()) assert_int_equal(try_at(both[i], "::1", NULL, "secret", false), LB_OK);
    assert_int_equal(try_at(both[i], "localhost", "locker", "word", false), LB_OK);
  }
}

TEST(a_refused_login_is_told_and_grants_nothing) {
  assert_int_equal(try_at(&lb_redis_token, has_ipv6() ? "::1" : "127.0.0.1", "locker", "wrong", false), -EACCES);
  assert_non_null(strstr(a.env.base.err, has_ipv6() ? "[::1]:" : "127.0.0.1:"));
  assert_non_null(strstr(a.env.base.err, "WRONGPASS"));
  assert_int_equal(try_at(&lb_redis_token, "127.0.0.1", NULL, NULL, false), -EACCES);
  assert_non_null(strstr(a.env.base.err, "NOAUTH"));
  assert_int_equal(try_at(&lb_redlock, "127.0.0.1", "locker", "wrong", false), -EHOSTUNREACH);
  assert_non_null(strstr(a.env.base.err, "WRONGPASS"));
}

STATES(encryption_that_cannot_be_had_is_told,
       assert_int_equal(try_at(&lb_redis_token, "127.0.0.1", NULL, "secret", true), -EPROTONOSUPPORT),
       assert_int_equal(try_at(&lb_redlock, "127.0.0.1", NULL, "secret", true), -EHOSTUNREACH),
       assert_non_null(strstr(a.env.base.err, "asks for TLS")));

/* ---- teardown ------------------------------------------------------------------------------------------ */

static long long keys_at_all_nodes(void) {
  long long sum = 0;
  for (size_t i = 0; i < a.target.count; i++) sum += operate(i, "DBSIZE", NULL);
  return sum;
}

/* More keys than fit into one page of the walk, some of another run, and a lock that is still held. */
AS_TOKEN(teardown_removes_what_the_run_has_left_and_nothing_else);
AS_REDLOCK(teardown_removes_what_the_run_has_left_and_nothing_else);
AS_FENCED(teardown_removes_what_the_run_has_left_and_nothing_else);
TEST_BODY(teardown_removes_what_the_run_has_left_and_nothing_else) {
  struct lb_grant mine = LB_GRANT_INIT;
  char name[32];
  for (size_t n = 0; n < a.target.count; n++) {
    for (int i = 0; i < 3000 / (int)a.target.count; i++) {
      snprintf(name, sizeof name, "k-%d", i + 10);
      operate(n, "SET %s word", name);
    }
    operate(n, "SET k2-1 word", NULL); /* their prefixes only begin like this one */
    operate(n, "SET k:2-1 word", NULL);
  }
  assert_int_equal(try(&a, "k-1", &mine), LB_OK);
  assert_int_equal(a.protocol->teardown(b.session, in_ms(&b, 5000)), LB_OK);
  assert_int_equal(keys_at_all_nodes(), 2 * (long long)a.target.count);
  assert_int_equal(a.protocol->teardown(b.session, in_ms(&b, 5000)), LB_OK);
  assert_int_equal(keys_at_all_nodes(), 2 * (long long)a.target.count);
}

AS_REDLOCK(one_server_that_is_down_does_not_spare_the_others);
TEST_BODY(one_server_that_is_down_does_not_spare_the_others) {
  struct lb_grant mine = LB_GRANT_INIT;
  assert_int_equal(try(&a, "k-1", &mine), LB_OK);
  redis_server_kill(&server[0]);
  assert_int_equal(a.protocol->teardown(b.session, in_ms(&b, 5000)), -ECONNREFUSED);
  assert_non_null(strstr(b.env.base.err, "connect"));
  for (size_t i = 1; i < NODES; i++) assert_int_equal(operate(i, "DBSIZE", NULL), 0);
}

static const char *missing(void) { return redis_server_installed() ? NULL : "no Redis server program"; }
NEEDS(missing);

static int before_all(void **state) {
  signal(SIGPIPE, SIG_IGN);
  return make_dir(state);
}

GROUP(before_all, stop_all);
