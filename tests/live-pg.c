/* SPDX-License-Identifier: MIT
 *
 * pg-row against a real PostgreSQL server. Skipped (77) without one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include <cmocka.h>

#include "../backends/backend.h"
#include "../backends/pg_util.h"
#include "../harness/env.h"
#include "pg_server.h"

extern const struct lb_protocol lb_pg_row;

static char base[] = "/tmp/lockbench-live-pg-XXXXXX";
static struct pg_server server;
static struct lb_endpoint endpoint = {"postgres", "127.0.0.1", 0};
static const struct lb_target target = {.topology = "pg", .endpoints = &endpoint, .count = 1};

struct client {
  struct lb_process_env env;
  struct lb_session *session;
  union lb_value options[1];
};

static lb_ns in_ms(struct client *client, int64_t ms) { return lb_now(&client->env.base) + (lb_ns)ms * LB_NS_PER_MS; }

static int open_client(struct client *client, const char *name, const struct lb_target *at, int64_t lock_wait_ms, int64_t deadline_ms) {
  static uint64_t seed;
  lb_env_init(&client->env, ++seed);
  client->options[0].i = lock_wait_ms;
  client->session = calloc(1, lb_pg_row.session_size);
  assert_non_null(client->session);
  struct lb_config config = {&client->env.base, at, client->options, 1000, name};
  return lb_pg_row.open(client->session, &config, in_ms(client, deadline_ms));
}

static void close_client(struct client *client) {
  lb_pg_row.close(client->session);
  free(client->session);
  client->session = NULL;
}

static int try(struct client *client, const char *key, struct lb_grant *grant, int64_t ms) {
  return lb_pg_row.try_acquire(client->session, key, 1000, grant, in_ms(client, ms));
}
static int release(struct client *client, const char *key, struct lb_grant *grant, int64_t ms) {
  return lb_pg_row.release(client->session, key, grant, in_ms(client, ms));
}
static int resolve(struct client *client, const char *key, struct lb_grant *grant, int64_t ms) {
  return lb_pg_row.resolve(client->session, key, grant, in_ms(client, ms));
}
static int holds(struct client *client, const char *key, const struct lb_grant *grant) {
  return lb_pg_row.holds(client->session, key, grant, in_ms(client, 2000));
}
static int row(struct client *client, const char *key) { return lb_pg_row.inspect(client->session, 0, key, in_ms(client, 2000)); }

static struct client a, b; /* two clients of every test */

/* A statement of an operator, on its own connection; *ret = its first field as a number. */
static struct pg_conn *operator_open(void) {
  struct pg_conn *conn = NULL;
  assert_int_equal(pg_open(&a.env.base, "127.0.0.1", server.port, in_ms(&a, 2000), &conn), 0);
  return conn;
}
static int operator_says(struct pg_conn *conn, const char *sql) {
  PGresult *result = NULL;
  assert_int_equal(pg_query(conn, in_ms(&a, 2000), &result, sql, 0, NULL), 0);
  int n = PQntuples(result) ? atoi(PQgetvalue(result, 0, 0)) : -1;
  PQclear(result);
  return n;
}

static int start_server(void **state) {
  (void)state;
  if (!mkdtemp(base)) return -1;
  pg_server_create(&server, base, "primary", NULL);
  pg_server_start(&server);
  endpoint.port = server.port;
  return 0;
}

static int stop_server(void **state) {
  (void)state;
  char command[64];
  pg_server_kill(&server);
  snprintf(command, sizeof command, "rm -rf %s", base);
  return system(command);
}

static int open_clients(void **state) {
  (void)state;
  assert_int_equal(open_client(&a, "a", &target, 100, 10000), 0);
  assert_int_equal(open_client(&b, "b", &target, 100, 10000), 0);
  assert_int_equal(lb_pg_row.setup(a.session, in_ms(&a, 5000)), 0);
  return 0;
}

static int close_clients(void **state) {
  (void)state;
  close_client(&a);
  close_client(&b);
  return 0;
}

/* ---- a healthy server ------------------------------------------------------------------------------------ */

static void before_setup_no_server_knows_of_any_holder(void **state) {
  (void)state;
  struct lb_grant grant = LB_GRANT_INIT;
  assert_int_equal(open_client(&a, "a", &target, 100, 10000), 0);
  assert_int_equal(row(&a, "k"), 0);
  assert_int_equal(try(&a, "k", &grant, 1000), -ENOENT);
  assert_int_equal(lb_pg_row.setup(a.session, in_ms(&a, 5000)), 0);
  assert_int_equal(lb_pg_row.setup(a.session, in_ms(&a, 5000)), 0);
  close_client(&a);
}

static void a_grant_excludes_and_a_release_frees(void **state) {
  (void)state;
  struct lb_grant mine = LB_GRANT_INIT, theirs = LB_GRANT_INIT;
  assert_int_equal(try(&a, "k1", &mine, 1000), LB_OK);
  assert_true(mine.valid_until == LB_NEVER);
  assert_int_equal(try(&b, "k1", &theirs, 1000), LB_BUSY);
  assert_int_equal(holds(&a, "k1", &mine), LB_OK);
  assert_int_equal(row(&b, "k1"), 1);
  assert_int_equal(release(&a, "k1", &mine, 1000), LB_OK);
  assert_int_equal(holds(&a, "k1", &mine), LB_LOST);
  assert_int_equal(row(&b, "k1"), 0);
  theirs = LB_GRANT_INIT;
  assert_int_equal(try(&b, "k1", &theirs, 1000), LB_OK);
  assert_int_equal(release(&b, "k1", &theirs, 1000), LB_OK);
}

static void a_release_by_another_owner_says_lost_and_leaves_the_row(void **state) {
  (void)state;
  struct lb_grant mine = LB_GRANT_INIT, theirs = LB_GRANT_INIT;
  assert_int_equal(try(&a, "k2", &mine, 1000), LB_OK);
  struct lb_grant stale = mine;
  assert_int_equal(release(&a, "k2", &mine, 1000), LB_OK);
  assert_int_equal(try(&b, "k2", &theirs, 1000), LB_OK);
  assert_int_equal(release(&a, "k2", &stale, 1000), LB_LOST);
  assert_int_equal(holds(&b, "k2", &theirs), LB_OK);
  assert_int_equal(release(&b, "k2", &theirs, 1000), LB_OK);
  assert_int_equal(release(&b, "k2", &theirs, 1000), LB_LOST);
}

static void the_same_attempt_is_granted_once_more_and_released_once(void **state) {
  (void)state;
  struct lb_grant grant = LB_GRANT_INIT, other = LB_GRANT_INIT;
  assert_int_equal(try(&a, "k3", &grant, 1000), LB_OK);
  assert_int_equal(try(&a, "k3", &grant, 1000), LB_OK);
  assert_int_equal(try(&a, "k3", &other, 1000), LB_BUSY);
  assert_int_equal(release(&a, "k3", &grant, 1000), LB_OK);
  assert_int_equal(row(&a, "k3"), 0);
}

static void a_try_waits_for_an_uncommitted_row_no_longer_than_lock_wait(void **state) {
  (void)state;
  struct lb_grant grant = LB_GRANT_INIT;
  struct pg_conn *operator = operator_open();
  operator_says(operator, "BEGIN");
  operator_says(operator, "INSERT INTO lockbench_row VALUES ('k4', 'operator')");
  lb_ns before = lb_now(&a.env.base);
  assert_int_equal(try(&a, "k4", &grant, 5000), LB_BUSY);
  assert_true(lb_now(&a.env.base) - before < 3 * LB_NS_PER_S);
  operator_says(operator, "ROLLBACK");
  pg_close(operator);
  assert_int_equal(try(&a, "k4", &grant, 1000), LB_OK);
  assert_int_equal(release(&a, "k4", &grant, 1000), LB_OK);
}

/* ---- unanswered statements -------------------------------------------------------------------------------- */

/* An INSERT of `client` that is given up while the server waits for somebody else's transaction. */
static struct pg_conn *abandon_insert(struct client *client, const char *key, const char *row_sql, struct lb_grant *grant) {
  close_client(client);
  assert_int_equal(open_client(client, "a", &target, 60000, 2000), 0);
  struct pg_conn *operator = operator_open();
  operator_says(operator, "BEGIN");
  operator_says(operator, row_sql);
  *grant = LB_GRANT_INIT;
  assert_int_equal(try(client, key, grant, 200), LB_UNKNOWN);
  return operator;
}

static void an_abandoned_insert_stays_unknown_until_it_has_run(void **state) {
  (void)state;
  struct lb_grant grant;
  struct pg_conn *operator = abandon_insert(&a, "k5", "INSERT INTO lockbench_row VALUES ('k5', 'operator')", &grant);
  assert_int_equal(resolve(&a, "k5", &grant, 200), LB_UNKNOWN);
  assert_int_equal(try(&a, "k5", &grant, 200), LB_UNKNOWN);
  operator_says(operator, "ROLLBACK");
  pg_close(operator);
  assert_int_equal(resolve(&a, "k5", &grant, 3000), LB_OK);
  assert_int_equal(holds(&a, "k5", &grant), LB_OK);
  assert_int_equal(release(&a, "k5", &grant, 1000), LB_OK);
  assert_int_equal(row(&a, "k5"), 0);
}

static void an_abandoned_insert_that_lost_is_not_held(void **state) {
  (void)state;
  struct lb_grant grant;
  struct pg_conn *operator = abandon_insert(&a, "k6", "INSERT INTO lockbench_row VALUES ('k6', 'operator')", &grant);
  operator_says(operator, "COMMIT");
  assert_int_equal(resolve(&a, "k6", &grant, 3000), LB_BUSY);
  assert_int_equal(operator_says(operator, "SELECT count(*) FROM lockbench_row WHERE owner = 'operator'"), 1);
  operator_says(operator, "DELETE FROM lockbench_row WHERE name = 'k6'");
  pg_close(operator);
  assert_int_equal(release(&a, "k6", &grant, 1000), LB_OK); /* nothing remains of an attempt that was never granted */
}

static void release_waits_for_an_abandoned_insert_and_removes_its_row(void **state) {
  (void)state;
  struct lb_grant grant;
  struct pg_conn *operator = abandon_insert(&a, "k7", "INSERT INTO lockbench_row VALUES ('k7', 'operator')", &grant);
  assert_int_equal(release(&a, "k7", &grant, 200), LB_UNKNOWN);
  operator_says(operator, "ROLLBACK");
  pg_close(operator);
  assert_int_equal(release(&a, "k7", &grant, 3000), LB_OK);
  assert_int_equal(row(&a, "k7"), 0);
}

static void a_release_whose_answer_was_lost_is_done_when_repeated(void **state) {
  (void)state;
  struct lb_grant grant = LB_GRANT_INIT;
  close_client(&a);
  assert_int_equal(open_client(&a, "a", &target, 60000, 2000), 0);
  assert_int_equal(try(&a, "k8", &grant, 1000), LB_OK);
  struct pg_conn *operator = operator_open();
  operator_says(operator, "BEGIN");
  operator_says(operator, "SELECT 1 FROM lockbench_row WHERE name = 'k8' FOR UPDATE");
  assert_int_equal(release(&a, "k8", &grant, 200), LB_UNKNOWN);
  operator_says(operator, "ROLLBACK");
  pg_close(operator);
  assert_int_equal(release(&a, "k8", &grant, 3000), LB_OK);
  assert_int_equal(row(&a, "k8"), 0);
}

/* Stops the process behind client a's connection: the statement then waits unread in its socket. */
static pid_t stop_backend_of_a(const char *key) {
  struct pg_conn *operator = operator_open();
  struct lb_grant grant = LB_GRANT_INIT;
  assert_int_equal(try(&a, key, &grant, 1000), LB_OK);
  pid_t pid = operator_says(operator, "SELECT pid FROM pg_stat_activity WHERE query LIKE 'INSERT%' ORDER BY state_change DESC LIMIT 1");
  assert_true(pid > 0);
  pg_close(operator);
  assert_int_equal(release(&a, key, &grant, 1000), LB_OK);
  kill(pid, SIGSTOP);
  return pid;
}

static int processes_with(pid_t pid) {
  struct pg_conn *operator = operator_open();
  char sql[100];
  snprintf(sql, sizeof sql, "SELECT count(*) FROM pg_stat_activity WHERE pid = %d", pid);
  int count = operator_says(operator, sql);
  pg_close(operator);
  return count;
}

static void an_unread_insert_is_unknown_and_never_comes_after_not_held(void **state) {
  (void)state;
  struct lb_grant grant = LB_GRANT_INIT;
  pid_t pid = stop_backend_of_a("k9");
  assert_int_equal(try(&a, "k9", &grant, 200), LB_UNKNOWN);
  assert_int_equal(row(&a, "k9"), 0);
  assert_int_equal(resolve(&a, "k9", &grant, 200), LB_UNKNOWN);
  kill(pid, SIGCONT);
  int rc = resolve(&a, "k9", &grant, 3000);
  assert_true(rc == LB_OK || rc == LB_BUSY);
  assert_int_equal(row(&a, "k9"), rc == LB_OK);
  assert_int_equal(processes_with(pid), 0); /* nobody is left who could insert it later */
  if (rc == LB_OK) assert_int_equal(release(&a, "k9", &grant, 1000), LB_OK);
}

/* As after a cut in which the request got lost: the server process never heard of it, and waits for ever. */
static void a_server_process_that_waits_for_a_lost_insert_is_ended(void **state) {
  (void)state;
  struct lb_grant grant = LB_GRANT_INIT;
  struct pg_conn *idle = operator_open(), *operator = operator_open();
  PGresult *result = NULL;
  pid_t pid = operator_says(idle, "SELECT pg_backend_pid()");
  char sql[120];
  snprintf(sql, sizeof sql, "SELECT extract(epoch FROM backend_start) FROM pg_stat_get_activity(%d)", pid);
  assert_int_equal(pg_query(operator, in_ms(&a, 2000), &result, sql, 0, NULL), 0);
  grant.token_len = (size_t)snprintf(grant.token, sizeof grant.token, "a-1@i %d %s", pid, PQgetvalue(result, 0, 0));
  PQclear(result);
  pg_close(operator);
  assert_int_equal(resolve(&a, "k13", &grant, 3000), LB_BUSY);
  assert_int_equal(processes_with(pid), 0);
  pg_close(idle);
}

static void a_stopped_server_makes_a_try_unknown_in_time(void **state) {
  (void)state;
  struct lb_grant grant = LB_GRANT_INIT, other = LB_GRANT_INIT;
  assert_int_equal(try(&a, "k10", &grant, 1000), LB_OK); /* prepares the statement: or else only that would get stuck */
  assert_int_equal(release(&a, "k10", &grant, 1000), LB_OK);
  grant = LB_GRANT_INIT;
  pg_server_signal(&server, SIGSTOP);
  lb_ns before = lb_now(&a.env.base);
  int rc = try(&a, "k10", &grant, 300);
  lb_ns took = lb_now(&a.env.base) - before;
  int asked = resolve(&a, "k10", &grant, 300);
  lb_ns resolve_took = lb_now(&a.env.base) - before - took;
  int fresh = try(&a, "k10", &other, 200); /* no connection any more: nothing can be sent */
  pg_server_signal(&server, SIGCONT);
  assert_int_equal(rc, LB_UNKNOWN);
  assert_in_range(took / LB_NS_PER_MS, 299, 600);
  assert_int_equal(asked, LB_UNKNOWN);
  assert_in_range(resolve_took / LB_NS_PER_MS, 299, 600);
  assert_true(fresh < 0);
  rc = resolve(&a, "k10", &grant, 5000);
  assert_true(rc == LB_OK || rc == LB_BUSY);
  assert_int_equal(row(&b, "k10"), rc == LB_OK);
  assert_int_equal(release(&a, "k10", &grant, 1000), LB_OK);
  assert_int_equal(row(&b, "k10"), 0);
}

/* ---- servers that go and come ---------------------------------------------------------------------------- */

static void a_session_survives_a_killed_and_restarted_server(void **state) {
  (void)state;
  struct lb_grant mine = LB_GRANT_INIT, theirs = LB_GRANT_INIT;
  assert_int_equal(try(&a, "k11", &mine, 1000), LB_OK);
  assert_int_equal(try(&b, "k11", &theirs, 1000), LB_BUSY);
  pg_server_kill(&server);
  lb_ns before = lb_now(&b.env.base);
  int rc = try(&b, "k11", &theirs, 300);
  lb_ns took = lb_now(&b.env.base) - before;
  assert_int_equal(rc, -ECONNREFUSED); /* the closed connection is noticed before anything is sent */
  assert_non_null(strstr(b.env.base.err, "refused"));
  assert_in_range(took / LB_NS_PER_MS, 299, 600);
  pg_server_start(&server);
  assert_int_equal(try(&b, "k11", &theirs, 15000), LB_BUSY);
  assert_int_equal(holds(&a, "k11", &mine), LB_OK);
  assert_int_equal(release(&a, "k11", &mine, 2000), LB_OK);
}

static void opening_without_a_server_fails_in_time(void **state) {
  (void)state;
  struct lb_endpoint nobody = {"postgres", "127.0.0.1", free_port()};
  struct lb_target nowhere = {.topology = "pg", .endpoints = &nobody, .count = 1};
  struct client c;
  assert_int_equal(open_client(&c, "c", &nowhere, 100, 200), -ECONNREFUSED);
  close_client(&c);
}

static void a_primary_is_found_behind_a_dead_server_and_a_standby(void **state) {
  (void)state;
  struct pg_server standby;
  struct client c;
  struct lb_grant grant = LB_GRANT_INIT;
  pg_server_stop(&server); /* a copy has to be taken at rest */
  pg_server_create(&standby, base, "standby", &server);
  pg_server_start(&server);
  pg_server_start(&standby);
  struct lb_endpoint three[] = {
      {"postgres", "127.0.0.1", free_port()}, {"postgres", "127.0.0.1", standby.port}, {"postgres", "127.0.0.1", server.port}};
  struct lb_target both = {.topology = "pg-async", .endpoints = three, .count = 3}, last = {.topology = "pg", .endpoints = three, .count = 2};
  assert_int_equal(open_client(&c, "c", &both, 100, 15000), 0);
  assert_int_equal(try(&c, "k12", &grant, 2000), LB_OK);
  assert_int_equal(lb_pg_row.inspect(c.session, 0, "k12", in_ms(&c, 1000)), -ECONNREFUSED);
  lb_ns end = in_ms(&c, 10000);
  int rc;
  while ((rc = lb_pg_row.inspect(c.session, 1, "k12", end)) < 0 && lb_now(&c.env.base) < end) lb_sleep_until(&c.env.base, in_ms(&c, 20));
  assert_int_equal(rc, 0);
  assert_int_equal(lb_pg_row.inspect(c.session, 2, "k12", in_ms(&c, 1000)), 1);
  assert_int_equal(release(&c, "k12", &grant, 2000), LB_OK);
  close_client(&c);
  rc = open_client(&c, "c", &last, 100, 300);
  assert_int_equal(rc, -EROFS);
  close_client(&c);
  pg_server_kill(&standby);
}

#define WITH_CLIENTS(test) cmocka_unit_test_setup_teardown(test, open_clients, close_clients)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(before_setup_no_server_knows_of_any_holder),
      WITH_CLIENTS(a_grant_excludes_and_a_release_frees),
      WITH_CLIENTS(a_release_by_another_owner_says_lost_and_leaves_the_row),
      WITH_CLIENTS(the_same_attempt_is_granted_once_more_and_released_once),
      WITH_CLIENTS(a_try_waits_for_an_uncommitted_row_no_longer_than_lock_wait),
      WITH_CLIENTS(an_abandoned_insert_stays_unknown_until_it_has_run),
      WITH_CLIENTS(an_abandoned_insert_that_lost_is_not_held),
      WITH_CLIENTS(release_waits_for_an_abandoned_insert_and_removes_its_row),
      WITH_CLIENTS(a_release_whose_answer_was_lost_is_done_when_repeated),
      WITH_CLIENTS(an_unread_insert_is_unknown_and_never_comes_after_not_held),
      WITH_CLIENTS(a_server_process_that_waits_for_a_lost_insert_is_ended),
      WITH_CLIENTS(a_stopped_server_makes_a_try_unknown_in_time),
      WITH_CLIENTS(a_session_survives_a_killed_and_restarted_server),
      cmocka_unit_test(opening_without_a_server_fails_in_time),
      WITH_CLIENTS(a_primary_is_found_behind_a_dead_server_and_a_standby),
  };
  if (!pg_server_installed()) {
    fprintf(stderr, "skipped: no PostgreSQL server programs\n");
    return 77;
  }
  return cmocka_run_group_tests(tests, start_server, stop_server);
}
