/* test: alone */
/* SPDX-License-Identifier: MIT
 *
 * pg-lease and pg-lease-client on a real PostgreSQL server: expiry, whose clock decides, and statements whose answer
 * did not come. Skipped without one.
 */
#include <pthread.h>

#include "test.h"
#include "pg_client.h"
#include "skip.h"

enum { TTL_MS = 60000, SHORT_MS = 300, AHEAD_MS = 600000 }; /* TTL_MS outlasts any test */

/* ---- surroundings ---------------------------------------------------------------------------------------- */

static int open_with(void **state, const struct lb_protocol *protocol) {
  tested = protocol;
  ttl_ms = TTL_MS;
  return open_clients(state);
}
static int open_server_clock(void **state) { return open_with(state, &lb_pg_lease); }
static int open_client_clock(void **state) { return open_with(state, &lb_pg_lease_client); }

static int64_t wall_ahead_ms(struct lb_env *env) {
  static int64_t (*true_wall)(struct lb_env *);
  if (!true_wall) { /* that of a client nobody has tampered with */
    static struct lb_process_env other;
    lb_env_init(&other, 99);
    true_wall = other.base.wall_ms;
  }
  return true_wall(env) + AHEAD_MS;
}

static int try_for(struct client *client, const char *key, int64_t ttl, struct lb_grant *grant) {
  ttl_ms = ttl;
  int rc = try(client, key, grant, 1000);
  ttl_ms = TTL_MS;
  return rc;
}

/* Leaves a row behind whose lease is over. */
static void make_row(const char *key) {
  struct lb_grant grant = LB_GRANT_INIT;
  assert_int_equal(try(&a, key, &grant, 1000), LB_OK);
  assert_int_equal(release(&a, key, &grant, 1000), LB_OK);
}

static struct pg_conn *operator_locks(const char *key) {
  char sql[120];
  struct pg_conn *operator= operator_open();
  operator_says(operator, "BEGIN");
  snprintf(sql, sizeof sql, "SELECT 1 FROM lockbench_lease WHERE name = '%s' FOR UPDATE", key);
  assert_int_equal(operator_says(operator, sql), 1);
  return operator;
}

/* ---- the lease --------------------------------------------------------------------------------------------- */

#define SERVER_CLOCK(f) TEST_WITH(f, open_server_clock, close_clients)
#define LISTED_FOR_CLIENT_CLOCK(f) LISTED_AS(client_clock, "client clock: ", f, open_client_clock, close_clients)
#define CLIENT_CLOCK(f)                                                                                                \
  LISTED_FOR_CLIENT_CLOCK(f);                                                                                          \
  TEST_BODY(f)
#define BOTH_CLOCKS(f)                                                                                                 \
  LISTED_FOR_CLIENT_CLOCK(f);                                                                                          \
  SERVER_CLOCK(f)

BOTH_CLOCKS(a_lease_that_is_over_is_taken_over_with_a_larger_number) {
  struct lb_grant mine = LB_GRANT_INIT, theirs = LB_GRANT_INIT;
  assert_int_equal(try_for(&a, "k1", SHORT_MS, &mine), LB_OK);
  assert_true(mine.valid_until < mine.asked_at + SHORT_MS * LB_NS_PER_MS);
  assert_int_equal(holds(&a, "k1", &mine), LB_OK);
  int rc;
  lb_ns end = in_ms(&b, 5000);
  while ((rc = try(&b, "k1", &theirs, 1000)) == LB_BUSY && lb_now(&b.env.base) < end) {
    theirs = LB_GRANT_INIT;
    lb_sleep_until(&b.env.base, in_ms(&b, 5));
  }
  assert_int_equal(rc, LB_OK);
  assert_true(lb_now(&b.env.base) > mine.valid_until);
  assert_true(theirs.fence > mine.fence);
  assert_int_equal(holds(&a, "k1", &mine), LB_LOST);
  assert_int_equal(extend(&a, "k1", TTL_MS, &mine, 1000), LB_LOST);
  assert_int_equal(release(&a, "k1", &mine, 1000), LB_LOST);
  assert_int_equal(holds(&b, "k1", &theirs), LB_OK);
  assert_int_equal(release(&b, "k1", &theirs, 1000), LB_OK);
  assert_int_equal(row(&b, "k1"), 0);
}

SERVER_CLOCK(a_refused_try_draws_no_number) {
  struct lb_grant mine = LB_GRANT_INIT, theirs = LB_GRANT_INIT;
  struct pg_conn *operator= operator_open();
  assert_int_equal(try(&a, "k2", &mine, 1000), LB_OK);
  int before = operator_says(operator, "SELECT last_value FROM lockbench_fence");
  assert_int_equal(try(&b, "k2", &theirs, 1000), LB_BUSY);
  assert_int_equal(operator_says(operator, "SELECT last_value FROM lockbench_fence"), before);
  assert_int_equal(release(&a, "k2", &mine, 1000), LB_OK);
  pg_close(operator);
}

SERVER_CLOCK(the_same_attempt_keeps_its_lease_and_its_number) {
  struct lb_grant mine = LB_GRANT_INIT;
  assert_int_equal(try(&a, "k3", &mine, 1000), LB_OK);
  struct lb_grant again = mine;
  assert_int_equal(try(&a, "k3", &again, 1000), LB_OK);
  assert_int_equal(again.valid_until, mine.valid_until);
  assert_int_equal(again.fence, mine.fence);
  assert_int_equal(release(&a, "k3", &mine, 1000), LB_OK);
}

/* Also by who has asked before: what is prepared for the one is not taken for the other. */
SERVER_CLOCK(a_hold_is_confirmed_by_a_write) {
  struct lb_grant mine = LB_GRANT_INIT;
  struct pg_conn *operator= operator_open();
  static const char writer[] = "SELECT xmin::text::bigint FROM lockbench_lease WHERE name = 'k3'";
  assert_int_equal(try(&a, "k3", &mine, 1000), LB_OK);
  int written = operator_says(operator, writer);
  assert_int_equal(holds(&a, "k3", &mine), LB_OK);
  assert_int_equal(operator_says(operator, writer), written);
  assert_int_equal(resolve(&a, "k3", &mine, 1000), LB_OK);
  assert_int_not_equal(operator_says(operator, writer), written);
  assert_int_equal(release(&a, "k3", &mine, 1000), LB_OK);
  pg_close(operator);
}

static void *try_of_a(void *arg) {
  struct lb_grant *grant = arg;
  assert_int_equal(try(&a, "k4", grant, 10000), LB_OK);
  return NULL;
}

/* now() would be the moment the statement came, before it waited for somebody else's transaction. */
SERVER_CLOCK(a_lease_is_dated_after_the_wait_for_the_row) {
  struct lb_grant mine = LB_GRANT_INIT;
  pthread_t thread;
  make_row("k4");
  close_client(&a);
  assert_int_equal(open_client(&a, "a", &target, 60000, 2000), 0);
  struct pg_conn *operator= operator_locks("k4"), *witness = operator_open();
  assert_int_equal(pthread_create(&thread, NULL, try_of_a, &mine), 0);
  lb_ns end = in_ms(&b, 5000);
  while (operator_says(witness, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") != 1 &&
         lb_now(&b.env.base) < end)
    lb_sleep_until(&b.env.base, in_ms(&b, 2));
  operator_says(witness, "CREATE TABLE moment AS SELECT clock_timestamp() AS at");
  operator_says(operator, "COMMIT");
  pthread_join(thread, NULL);
  assert_int_equal(operator_says(witness, "SELECT count(*) FROM lockbench_lease, moment WHERE name = 'k4'"
                                          " AND until >= at + interval '60 s'"),
                   1);
  assert_int_equal(mine.valid_until, lb_lease_end(mine.asked_at, TTL_MS)); /* for the client: since it asked */
  assert_int_equal(release(&a, "k4", &mine, 1000), LB_OK);
  operator_says(witness, "DROP TABLE moment");
  pg_close(operator);
  pg_close(witness);
}

/* ---- whose clock ------------------------------------------------------------------------------------------- */

SERVER_CLOCK(the_clock_of_a_client_does_not_matter) {
  struct lb_grant mine = LB_GRANT_INIT, theirs = LB_GRANT_INIT;
  assert_int_equal(try(&a, "k5", &mine, 1000), LB_OK);
  b.env.base.wall_ms = wall_ahead_ms;
  assert_int_equal(try(&b, "k5", &theirs, 1000), LB_BUSY);
  assert_int_equal(release(&a, "k5", &mine, 1000), LB_OK);
}

CLIENT_CLOCK(a_client_whose_clock_is_ahead_takes_a_lease_that_runs) {
  struct lb_grant mine = LB_GRANT_INIT, theirs = LB_GRANT_INIT;
  assert_int_equal(try(&a, "k6", &mine, 1000), LB_OK);
  assert_int_equal(try(&b, "k6", &theirs, 1000), LB_BUSY);
  b.env.base.wall_ms = wall_ahead_ms;
  assert_int_equal(row(&a, "k6"), 1);
  assert_int_equal(row(&b, "k6"), 0); /* each believes its own clock */
  theirs = LB_GRANT_INIT;
  assert_int_equal(try(&b, "k6", &theirs, 1000), LB_OK);
  assert_true(lb_now(&a.env.base) < mine.valid_until);
  assert_true(theirs.fence > mine.fence);
  assert_int_equal(holds(&a, "k6", &mine), LB_LOST);
  assert_int_equal(release(&b, "k6", &theirs, 1000), LB_OK);
}

static void pause_for_a_lease(struct lb_env *env, const char *name) {
  (void)name;
  env->point = NULL;
  lb_sleep_until(env, lb_now(env) + (SHORT_MS + 20) * LB_NS_PER_MS);
}

CLIENT_CLOCK(a_pause_after_reading_the_clock_makes_a_lease_that_is_over) {
  struct lb_grant mine = LB_GRANT_INIT, theirs = LB_GRANT_INIT;
  a.env.base.point = pause_for_a_lease;
  assert_int_equal(try_for(&a, "k7", SHORT_MS, &mine), LB_OK);
  assert_true(lb_now(&a.env.base) > mine.valid_until); /* whoever looks at it is safe */
  assert_int_equal(try(&b, "k7", &theirs, 1000), LB_OK);
  assert_int_equal(release(&b, "k7", &theirs, 1000), LB_OK);
}

/* ---- without an answer ----------------------------------------------------------------------------------- */

/* An attempt of a that is given up while the server waits for the operator's transaction. */
static struct pg_conn *abandon(const char *key, struct lb_grant *grant) {
  make_row(key);
  close_client(&a);
  assert_int_equal(open_client(&a, "a", &target, 60000, 2000), 0);
  struct pg_conn *operator= operator_locks(key);
  *grant = LB_GRANT_INIT;
  assert_int_equal(try(&a, key, grant, 200), LB_UNKNOWN);
  return operator;
}

BOTH_CLOCKS(an_abandoned_upsert_stays_unknown_until_it_has_run) {
  struct lb_grant grant, next = LB_GRANT_INIT;
  struct pg_conn *operator= abandon("k8", &grant);
  assert_int_equal(resolve(&a, "k8", &grant, 200), LB_UNKNOWN);
  assert_int_equal(try(&a, "k8", &grant, 200), LB_UNKNOWN);
  operator_says(operator, "ROLLBACK");
  assert_int_equal(resolve(&a, "k8", &grant, 3000), LB_OK);
  assert_int_equal(grant.valid_until, lb_lease_end(grant.asked_at, TTL_MS));
  assert_int_equal(operator_says(operator, "SELECT fence FROM lockbench_lease WHERE name = 'k8'"), grant.fence);
  assert_int_not_equal(grant.fence, 0);
  assert_int_equal(holds(&a, "k8", &grant), LB_OK);
  assert_int_equal(release(&a, "k8", &grant, 1000), LB_OK);
  assert_int_equal(try(&b, "k8", &next, 1000), LB_OK);
  assert_true(next.fence > grant.fence);
  assert_int_equal(release(&b, "k8", &next, 1000), LB_OK);
  pg_close(operator);
}

SERVER_CLOCK(an_abandoned_upsert_that_lost_is_not_held) {
  struct lb_grant grant;
  struct pg_conn *operator= abandon("k9", &grant);
  operator_says(operator, "UPDATE lockbench_lease SET owner = 'operator', until = 'infinity' WHERE name = 'k9'");
  operator_says(operator, "COMMIT");
  assert_int_equal(resolve(&a, "k9", &grant, 3000), LB_BUSY);
  assert_int_equal(release(&a, "k9", &grant, 1000), LB_OK); /* nothing remains of an attempt that was never granted */
  assert_int_equal(row(&a, "k9"), 1);
  pg_close(operator);
}

SERVER_CLOCK(release_waits_for_an_abandoned_upsert_and_ends_its_lease) {
  struct lb_grant grant;
  struct pg_conn *operator= abandon("k10", &grant);
  assert_int_equal(release(&a, "k10", &grant, 200), LB_UNKNOWN);
  operator_says(operator, "ROLLBACK");
  assert_int_equal(release(&a, "k10", &grant, 3000), LB_OK);
  assert_int_equal(row(&a, "k10"), 0);
  pg_close(operator);
}

SERVER_CLOCK(a_release_whose_answer_was_lost_is_done_when_repeated) {
  struct lb_grant grant = LB_GRANT_INIT;
  close_client(&a);
  assert_int_equal(open_client(&a, "a", &target, 60000, 2000), 0);
  assert_int_equal(try(&a, "k11", &grant, 1000), LB_OK);
  struct pg_conn *operator= operator_locks("k11");
  assert_int_equal(release(&a, "k11", &grant, 200), LB_UNKNOWN);
  operator_says(operator, "ROLLBACK");
  assert_int_equal(release(&a, "k11", &grant, 3000), LB_OK);
  assert_int_equal(row(&a, "k11"), 0);
  pg_close(operator);
}

SERVER_CLOCK(an_extension_without_an_answer_never_moves_the_end_out) {
  struct lb_grant grant = LB_GRANT_INIT;
  close_client(&a);
  assert_int_equal(open_client(&a, "a", &target, 60000, 2000), 0);
  assert_int_equal(try(&a, "k12", &grant, 1000), LB_OK);
  struct pg_conn *operator= operator_locks("k12");
  lb_ns before = grant.valid_until;
  assert_int_equal(extend(&a, "k12", 2 * TTL_MS, &grant, 200), LB_UNKNOWN);
  assert_int_equal(grant.valid_until, before);
  assert_int_equal(extend(&a, "k12", TTL_MS / 2, &grant, 200), LB_UNKNOWN);
  assert_true(grant.valid_until < before); /* it may have shortened the lease */
  operator_says(operator, "ROLLBACK");
  assert_int_equal(extend(&a, "k12", TTL_MS, &grant, 2000), LB_OK);
  assert_int_equal(release(&a, "k12", &grant, 2000), LB_OK);
  pg_close(operator);
}

SERVER_CLOCK(an_extension_that_waits_too_long_for_the_row_is_unknown) {
  struct lb_grant grant = LB_GRANT_INIT;
  assert_int_equal(try(&a, "k13", &grant, 1000), LB_OK);
  struct pg_conn *operator= operator_locks("k13"); /* lock_wait_ms is 100 here */
  lb_ns before = grant.valid_until;
  assert_int_equal(extend(&a, "k13", 2 * TTL_MS, &grant, 350), LB_UNKNOWN);
  assert_int_equal(grant.valid_until, before);
  operator_says(operator, "ROLLBACK");
  assert_int_equal(release(&a, "k13", &grant, 2000), LB_OK);
  pg_close(operator);
}

/* Every process of the server that waits for a standby ends: then all see what it wrote, and no standby has it. As
 * after the restart of such a primary. The client may have given up before its write came so far. */
static void end_waits_for_a_standby(struct pg_conn *operator) {
  lb_ns end = in_ms(&a, 5000);
  while (operator_says(operator, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == 0)
    assert_true(lb_now(&a.env.base) < end);
  while (operator_says(operator,
                       "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") >
         0)
    assert_true(lb_now(&a.env.base) < end);
}

SERVER_CLOCK(a_hold_is_not_confirmed_by_a_lease_that_no_standby_has) {
  struct lb_grant grant = LB_GRANT_INIT;
  struct pg_conn *operator= operator_open();
  int rc = LB_OK;
  lb_ns end = in_ms(&a, 5000);
  assert_int_equal(try(&a, "k14", &grant, 1000), LB_OK);
  operator_says(operator, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
  operator_says(operator, "SELECT pg_reload_conf()");
  while (rc == LB_OK && lb_now(&a.env.base) < end) rc = extend(&a, "k14", 60000, &grant, 150);
  assert_int_equal(rc, LB_UNKNOWN);
  end_waits_for_a_standby(operator);
  assert_true(operator_says(
                  operator,
                  "SELECT extract(epoch FROM until - clock_timestamp())::int FROM lockbench_lease WHERE name = 'k14'") >
              30);
  assert_int_equal(holds(&a, "k14", &grant), LB_UNKNOWN);
  assert_int_equal(a.protocol->doubt(a.session, &(struct lb_lock){"k14", TTL_MS}, &grant), LB_UNKNOWN);
  operator_says(operator, "ALTER SYSTEM RESET synchronous_standby_names");
  operator_says(operator, "SELECT pg_reload_conf()");
  assert_int_equal(holds(&a, "k14", &grant), LB_OK);
  assert_int_equal(a.protocol->doubt(a.session, &(struct lb_lock){"k14", TTL_MS}, &grant), LB_OK);
  assert_int_equal(release(&a, "k14", &grant, 2000), LB_OK);
  pg_close(operator);
}

static const char *missing(void) { return pg_server_installed() ? NULL : "no PostgreSQL server programs"; }
NEEDS(missing);

GROUP(start_server, stop_server);
