/* test: alone */
/* SPDX-License-Identifier: MIT
 *
 * pg-row on a real PostgreSQL server: what a statement may still do when its answer did not come. Skipped without
 * one.
 */
#include <signal.h>

#include "test.h"
#include "pg_client.h"
#include "skip.h"

EACH(open_clients, close_clients);

/* An INSERT of `client` that is given up while the server waits for somebody else's transaction. */
static struct pg_conn *abandon_insert(struct client *client, const char *key, const char *row_sql,
                                      struct lb_grant *grant) {
  close_client(client);
  assert_int_equal(open_client(client, "a", &target, 60000, 2000), 0);
  struct pg_conn *operator= operator_open();
  operator_says(operator, "BEGIN");
  operator_says(operator, row_sql);
  *grant = LB_GRANT_INIT;
  assert_int_equal(try(client, key, grant, 200), LB_UNKNOWN);
  return operator;
}

TEST(an_abandoned_insert_stays_unknown_until_it_has_run) {
  struct lb_grant grant;
  struct pg_conn *operator= abandon_insert(&a, "k5", "INSERT INTO lockbench_row VALUES ('k5', 'operator')", &grant);
  assert_int_equal(resolve(&a, "k5", &grant, 200), LB_UNKNOWN);
  assert_int_equal(try(&a, "k5", &grant, 200), LB_UNKNOWN);
  operator_says(operator, "ROLLBACK");
  pg_close(operator);
  assert_int_equal(resolve(&a, "k5", &grant, 3000), LB_OK);
  assert_int_equal(holds(&a, "k5", &grant), LB_OK);
  assert_int_equal(release(&a, "k5", &grant, 1000), LB_OK);
  assert_int_equal(row(&a, "k5"), 0);
}

TEST(an_abandoned_insert_that_lost_is_not_held) {
  struct lb_grant grant;
  struct pg_conn *operator= abandon_insert(&a, "k6", "INSERT INTO lockbench_row VALUES ('k6', 'operator')", &grant);
  operator_says(operator, "COMMIT");
  assert_int_equal(resolve(&a, "k6", &grant, 3000), LB_BUSY);
  assert_int_equal(operator_says(operator, "SELECT count(*) FROM lockbench_row WHERE owner = 'operator'"), 1);
  operator_says(operator, "DELETE FROM lockbench_row WHERE name = 'k6'");
  pg_close(operator);
  assert_int_equal(release(&a, "k6", &grant, 1000), LB_OK); /* nothing remains of an attempt that was never granted */
}

TEST(release_waits_for_an_abandoned_insert_and_removes_its_row) {
  struct lb_grant grant;
  struct pg_conn *operator= abandon_insert(&a, "k7", "INSERT INTO lockbench_row VALUES ('k7', 'operator')", &grant);
  assert_int_equal(release(&a, "k7", &grant, 200), LB_UNKNOWN);
  operator_says(operator, "ROLLBACK");
  pg_close(operator);
  assert_int_equal(release(&a, "k7", &grant, 3000), LB_OK);
  assert_int_equal(row(&a, "k7"), 0);
}

TEST(a_release_whose_answer_was_lost_is_done_when_repeated) {
  struct lb_grant grant = LB_GRANT_INIT;
  close_client(&a);
  assert_int_equal(open_client(&a, "a", &target, 60000, 2000), 0);
  assert_int_equal(try(&a, "k8", &grant, 1000), LB_OK);
  struct pg_conn *operator= operator_open();
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
  struct pg_conn *operator= operator_open();
  struct lb_grant grant = LB_GRANT_INIT;
  assert_int_equal(try(&a, key, &grant, 1000), LB_OK);
  pid_t pid =
      operator_says(operator,
                    "SELECT pid FROM pg_stat_activity WHERE query LIKE 'INSERT%' ORDER BY state_change DESC LIMIT 1");
  assert_true(pid > 0);
  pg_close(operator);
  assert_int_equal(release(&a, key, &grant, 1000), LB_OK);
  kill(pid, SIGSTOP);
  return pid;
}

static int processes_with(pid_t pid) {
  struct pg_conn *operator= operator_open();
  char sql[100];
  snprintf(sql, sizeof sql, "SELECT count(*) FROM pg_stat_activity WHERE pid = %d", pid);
  int count = operator_says(operator, sql);
  pg_close(operator);
  return count;
}

TEST(an_unread_insert_is_unknown_and_never_comes_after_not_held) {
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
TEST(a_server_process_that_waits_for_a_lost_insert_is_ended) {
  struct lb_grant grant = LB_GRANT_INIT;
  struct pg_conn *idle = operator_open(), *operator= operator_open();
  PGresult *result = NULL;
  pid_t pid = operator_says(idle, "SELECT pg_backend_pid()");
  char sql[120];
  snprintf(sql, sizeof sql, "SELECT extract(epoch FROM backend_start) FROM pg_stat_get_activity(%d)", pid);
  assert_int_equal(pg_query(operator, in_ms(&a, 2000), &result, sql, 0, NULL), 0);
  grant.token_len = (size_t)snprintf(grant.token, sizeof grant.token, "a-1@t %d %s", pid, PQgetvalue(result, 0, 0));
  PQclear(result);
  pg_close(operator);
  assert_int_equal(resolve(&a, "k13", &grant, 3000), LB_BUSY);
  assert_int_equal(processes_with(pid), 0);
  pg_close(idle);
}

TEST(a_stopped_server_makes_a_try_unknown_in_time) {
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

/* A commit that waits for the copy of a standby which is not there: nobody sees the row, and yet it will stand. */
TEST(an_insert_that_waits_for_a_standby_is_unknown_and_stands_later) {
  struct lb_grant grant, other = LB_GRANT_INIT;
  char key[24];
  int rc = LB_OK;
  struct pg_conn *operator= operator_open();
  operator_says(operator, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
  operator_says(operator, "SELECT pg_reload_conf()");
  lb_ns end = in_ms(&a, 5000);
  for (int i = 0; rc == LB_OK && lb_now(&a.env.base) < end;
       i++) { /* the setting reaches the server's processes some time later */
    snprintf(key, sizeof key, "sync-%d", i);
    grant = LB_GRANT_INIT;
    rc = try(&a, key, &grant, 150);
  }
  assert_int_equal(rc, LB_UNKNOWN);
  assert_int_equal(resolve(&a, key, &grant, 200), LB_UNKNOWN);
  assert_int_equal(row(&b, key), 0);
  assert_int_equal(try(&b, key, &other, 2000), -EAGAIN); /* not "somebody else holds it": it may be one's own */
  operator_says(operator, "ALTER SYSTEM RESET synchronous_standby_names");
  operator_says(operator, "SELECT pg_reload_conf()");
  assert_int_equal(resolve(&a, key, &grant, 5000), LB_OK);
  assert_int_equal(row(&b, key), 1);
  assert_int_equal(release(&a, key, &grant, 1000), LB_OK);
  operator_says(operator, "DELETE FROM lockbench_row");
  pg_close(operator);
}

static const char *missing(void) { return pg_server_installed() ? NULL : "no PostgreSQL server programs"; }
NEEDS(missing);

GROUP(start_server, stop_server);
