/* test: alone */
/* SPDX-License-Identifier: MIT
 *
 * pg-row against a real PostgreSQL server: healthy, gone, back, and with a standby beside it. Skipped without one.
 */
#include <pthread.h>

#include "test.h"
#include "pg_client.h"
#include "skip.h"

TEST(before_setup_no_server_knows_of_any_holder) {
  struct lb_grant grant = LB_GRANT_INIT;
  assert_int_equal(open_client(&a, "a", &target, 100, 10000), 0);
  assert_int_equal(row(&a, "k"), 0);
  assert_int_equal(try(&a, "k", &grant, 1000), -ENOENT);
  assert_int_equal(lb_pg_row.setup(a.session, in_ms(&a, 5000)), 0);
  assert_int_equal(lb_pg_row.setup(a.session, in_ms(&a, 5000)), 0);
  close_client(&a);
}

TEST_WITH(a_grant_excludes_and_a_release_frees, open_clients, close_clients) {
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

TEST_WITH(a_release_by_another_owner_says_lost_and_leaves_the_row, open_clients, close_clients) {
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

TEST_WITH(the_same_attempt_is_granted_once_more_and_released_once, open_clients, close_clients) {
  struct lb_grant grant = LB_GRANT_INIT, other = LB_GRANT_INIT;
  assert_int_equal(try(&a, "k3", &grant, 1000), LB_OK);
  assert_int_equal(try(&a, "k3", &grant, 1000), LB_OK);
  assert_int_equal(try(&a, "k3", &other, 1000), LB_BUSY);
  assert_int_equal(release(&a, "k3", &grant, 1000), LB_OK);
  assert_int_equal(row(&a, "k3"), 0);
}

TEST_WITH(a_try_waits_for_an_uncommitted_row_no_longer_than_lock_wait, open_clients, close_clients) {
  struct lb_grant grant = LB_GRANT_INIT;
  struct pg_conn *operator= operator_open();
  operator_says(operator, "BEGIN");
  operator_says(operator, "INSERT INTO lockbench_row VALUES ('k4', 'operator')");
  lb_ns before = lb_now(&a.env.base);
  assert_int_equal(try(&a, "k4", &grant, 5000), -EAGAIN); /* nobody is known to hold it */
  assert_true(lb_now(&a.env.base) - before < 3 * LB_NS_PER_S);
  operator_says(operator, "ROLLBACK");
  pg_close(operator);
  assert_int_equal(try(&a, "k4", &grant, 1000), LB_OK);
  assert_int_equal(release(&a, "k4", &grant, 1000), LB_OK);
}

static bool answers(struct pg_conn *conn, const struct sql_stmt *stmt, const char *expected) {
  PGresult *result = NULL;
  bool is = pg_call(conn, in_ms(&a, 5000), &result, stmt, NULL) == 0 && PQntuples(result) == 1 &&
            strcmp(PQgetvalue(result, 0, 0), expected) == 0;
  PQclear(result);
  return is;
}

/* What a client sees behind a pooler in transaction mode: its statement is there before it has made it, or gone. It
 * goes on without. */
TEST_WITH(a_statement_of_a_shared_session_is_sent_unprepared, open_clients, close_clients) {
  static const struct sql_stmt one = {"SELECT 1", 0}, two = {"SELECT 2", 0},
                               count = {"SELECT count(*) FROM pg_prepared_statements", 0};
  struct pg_conn *conn = operator_open(), *other = operator_open();
  PGresult *result = NULL;
  char sql[100];
  assert_true(answers(conn, &one, "1"));
  assert_int_equal(pg_query(conn, in_ms(&a, 5000), &result, "SELECT name FROM pg_prepared_statements", 0, NULL), 0);
  snprintf(sql, sizeof sql, "PREPARE \"%s\" AS SELECT 3", PQgetvalue(result, 0, 0));
  PQclear(result);
  operator_says(other, sql);
  assert_true(answers(other, &one, "1")); /* 42P05 */
  operator_says(other, "DEALLOCATE ALL");
  assert_true(answers(other, &two, "2"));
  assert_true(answers(other, &count, "0"));
  operator_says(conn, "DEALLOCATE ALL");
  assert_true(answers(conn, &one, "1")); /* 26000 */
  assert_true(answers(conn, &count, "0"));
  pg_close(other);
  pg_close(conn);
}

TEST_WITH(a_pooler_is_seen_by_the_process_that_answers, open_clients, close_clients) {
  static const struct sql_stmt count = {"SELECT count(*) FROM pg_prepared_statements", 0};
  struct pg_conn *conn = operator_open();
  int pid = operator_says(conn, "SELECT pg_backend_pid()");
  assert_false(pg_pooled(conn, pid));
  assert_true(answers(conn, &count, "1"));
  assert_true(pg_pooled(conn, pid + 1));
  assert_true(pg_pooled(conn, pid));
  operator_says(conn, "DEALLOCATE ALL");
  assert_true(answers(conn, &count, "0"));
  pg_close(conn);
}

/* ---- numbers --------------------------------------------------------------------------------------------- */

struct late_try { /* a try in a thread of its own */
  const char *key;
  struct lb_grant grant;
  int rc;
};

static void *try_of_a(void *arg) {
  struct late_try *late = arg;
  late->rc = try(&a, late->key, &late->grant, 10000);
  return NULL;
}

static void wait_until_somebody_waits(struct pg_conn *operator) {
  lb_ns end = in_ms(&b, 5000);
  while (operator_says(operator, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") != 1) {
    assert_true(lb_now(&b.env.base) < end);
    lb_sleep_until(&b.env.base, in_ms(&b, 2));
  }
}

/* a wins `key` only after it has waited for a transaction that had changed the row; meanwhile others get numbers. */
static void waits_and_wins(const char *key, const char *change_sql) {
  struct late_try late = {.key = key};
  struct lb_grant other = LB_GRANT_INIT;
  pthread_t thread;
  close_client(&a);
  assert_int_equal(open_client(&a, "a", &target, 60000, 2000), 0);
  struct pg_conn *operator= operator_open(), *witness = operator_open();
  operator_says(operator, "BEGIN");
  operator_says(operator, change_sql);
  assert_int_equal(pthread_create(&thread, NULL, try_of_a, &late), 0);
  wait_until_somebody_waits(witness);
  for (int i = 0; i < 3; i++) {
    other = LB_GRANT_INIT;
    assert_int_equal(try(&b, "elsewhere", &other, 1000), LB_OK);
    assert_int_equal(release(&b, "elsewhere", &other, 1000), LB_OK);
  }
  operator_says(operator, "COMMIT");
  pthread_join(thread, NULL);
  assert_int_equal(late.rc, LB_OK);
  assert_true(late.grant.fence > other.fence);
  assert_int_equal(release(&a, key, &late.grant, 1000), LB_OK);
  pg_close(operator);
  pg_close(witness);
}

TEST_WITH(a_number_is_drawn_after_the_wait_for_the_row, open_clients, close_clients) {
  struct pg_conn *operator= operator_open();
  operator_says(operator, "INSERT INTO lockbench_row VALUES ('k14', 'operator')");
  pg_close(operator);
  waits_and_wins("k14", "DELETE FROM lockbench_row WHERE name = 'k14'");
}

TEST_WITH(a_number_of_a_lease_is_drawn_after_the_wait_for_the_row, open_clients, close_clients) {
  struct lb_grant grant = LB_GRANT_INIT;
  close_clients(state);
  tested = &lb_pg_lease;
  open_clients(state);
  assert_int_equal(try(&b, "k15", &grant, 1000), LB_OK);
  assert_int_equal(release(&b, "k15", &grant, 1000), LB_OK);
  waits_and_wins("k15", "UPDATE lockbench_lease SET owner = '' WHERE name = 'k15'");
  tested = &lb_pg_row;
}

TEST_WITH(a_repeated_attempt_has_a_number_below_the_next_holders, open_clients, close_clients) {
  struct lb_grant mine = LB_GRANT_INIT, next = LB_GRANT_INIT;
  assert_int_equal(try(&a, "k16", &mine, 1000), LB_OK);
  uint64_t first = mine.fence;
  assert_true(first > 0);
  assert_int_equal(try(&a, "k16", &mine, 1000), LB_OK);
  assert_true(mine.fence >= first);
  assert_int_equal(release(&a, "k16", &mine, 1000), LB_OK);
  assert_int_equal(try(&b, "k16", &next, 1000), LB_OK);
  assert_true(next.fence > mine.fence);
  assert_int_equal(release(&b, "k16", &next, 1000), LB_OK);
}

TEST_WITH(a_session_survives_a_killed_and_restarted_server, open_clients, close_clients) {
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

TEST(opening_without_a_server_fails_in_time) {
  struct lb_endpoint nobody = {"postgres", "127.0.0.1", free_port()};
  struct lb_target nowhere = {.topology = "pg", .endpoints = &nobody, .count = 1};
  struct client c;
  assert_int_equal(open_client(&c, "c", &nowhere, 100, 200), -ECONNREFUSED);
  close_client(&c);
}

TEST_WITH(a_primary_is_found_behind_a_dead_server_and_a_standby, open_clients, close_clients) {
  struct pg_server standby;
  struct client c;
  struct lb_grant grant = LB_GRANT_INIT;
  pg_server_stop(&server); /* a copy has to be taken at rest */
  pg_server_create(&standby, base, "standby", &server);
  pg_server_start(&server);
  pg_server_start(&standby);
  struct lb_endpoint three[] = {{"postgres", "127.0.0.1", free_port()},
                                {"postgres", "127.0.0.1", standby.port},
                                {"postgres", "127.0.0.1", server.port}};
  struct lb_target both = {.topology = "pg-async", .endpoints = three, .count = 3},
                   last = {.topology = "pg", .endpoints = three, .count = 2};
  assert_int_equal(open_client(&c, "c", &both, 100, 15000), 0);
  assert_int_equal(try(&c, "k12", &grant, 2000), LB_OK);
  assert_int_equal(lb_pg_row.proofs->inspect(c.session, &(struct lb_lock){.key = "k12"}, 0, in_ms(&c, 1000)),
                   -ECONNREFUSED);
  lb_ns end = in_ms(&c, 10000);
  int rc;
  while ((rc = lb_pg_row.proofs->inspect(c.session, &(struct lb_lock){.key = "k12"}, 1, end)) < 0 &&
         lb_now(&c.env.base) < end)
    lb_sleep_until(&c.env.base, in_ms(&c, 20));
  assert_int_equal(rc, 0);
  assert_int_equal(lb_pg_row.proofs->inspect(c.session, &(struct lb_lock){.key = "k12"}, 2, in_ms(&c, 1000)), 1);
  assert_int_equal(release(&c, "k12", &grant, 2000), LB_OK);
  close_client(&c);
  rc = open_client(&c, "c", &last, 100, 300);
  assert_int_equal(rc, -EROFS);
  close_client(&c);
  pg_server_kill(&standby);
}

/* ---- logins and addresses -------------------------------------------------------------------------------- */

/* A user whose password the server wants to see, before all that is trusted. */
static void ask_for_a_password(void) {
  char path[300], rest[8192] = "";
  struct pg_conn *operator= operator_open();
  snprintf(path, sizeof path, "%s/pg_hba.conf", server.dir);
  FILE *file = fopen(path, "r+");
  assert_non_null(file);
  size_t length = fread(rest, 1, sizeof rest - 1, file);
  rewind(file);
  fprintf(file, "host all locker all scram-sha-256\n");
  fwrite(rest, 1, length, file);
  fclose(file);
  operator_says(operator, "CREATE ROLE locker LOGIN SUPERUSER PASSWORD 'word'");
  operator_says(operator, "SELECT pg_reload_conf()");
  pg_close(operator);
}

static int try_at(const char *host, const char *user, const char *password, bool tls) {
  struct lb_endpoint at = {"postgres", host, server.port, tls, user, password};
  struct lb_target there = {.topology = "pg", .endpoints = &at, .count = 1};
  struct lb_grant grant = LB_GRANT_INIT;
  struct client c;
  int rc = open_client(&c, "c", &there, 100, 1000);
  if (!rc) rc = try(&c, "k21", &grant, 1000);
  if (!rc) rc = release(&c, "k21", &grant, 1000);
  memcpy(a.env.base.err, c.env.base.err, sizeof a.env.base.err); /* outlives the client */
  close_client(&c);
  return rc;
}

/* The server reads its files again a moment after it was told to. */
TEST_WITH(a_login_is_asked_for_and_given, open_clients, close_clients) {
  ask_for_a_password();
  lb_ns end = in_ms(&b, 5000);
  while (try_at("127.0.0.1", "locker", "wrong", false) != -EACCES) assert_true(lb_now(&b.env.base) < end);
  assert_non_null(strstr(a.env.base.err, "password authentication failed"));
  assert_int_equal(try_at("127.0.0.1", "locker", NULL, false), -EACCES);
  assert_non_null(strstr(a.env.base.err, "no password supplied"));
  assert_int_equal(try_at("127.0.0.1", "locker", "word", false), LB_OK);
}

TEST_WITH(a_server_is_found_by_name_and_by_ipv6, open_clients, close_clients) {
  assert_int_equal(try_at("localhost", NULL, NULL, false), LB_OK);
  if (has_ipv6()) assert_int_equal(try_at("::1", NULL, NULL, false), LB_OK);
  assert_int_equal(try_at("no name at all", NULL, NULL, false), -ENOENT);
}

TEST_WITH(encryption_that_the_server_does_not_have_is_told, open_clients, close_clients) {
  assert_int_equal(try_at("127.0.0.1", NULL, NULL, true), -EIO);
  assert_non_null(strstr(a.env.base.err, "SSL"));
}

/* ---- teardown -------------------------------------------------------------------------------------------- */

TEST_WITH(teardown_drops_the_schema_with_all_that_is_in_it, open_clients, close_clients) {
  struct lb_grant grant = LB_GRANT_INIT;
  struct pg_conn *operator= operator_open();
  const char *mine = "SELECT count(*) FROM pg_namespace WHERE nspname = 'k'";
  assert_int_equal(try(&a, "k20", &grant, 1000), LB_OK);
  assert_int_equal(operator_says(operator, mine), 1);
  assert_int_equal(tested->teardown(b.session, in_ms(&b, 5000)), LB_OK);
  assert_int_equal(operator_says(operator, mine), 0);
  assert_int_equal(operator_says(operator, "SELECT count(*) FROM pg_class WHERE relname LIKE 'lockbench%'"), 0);
  assert_int_equal(tested->teardown(b.session, in_ms(&b, 5000)), LB_OK);
  assert_int_equal(tested->setup(b.session, in_ms(&b, 5000)), LB_OK);
  assert_int_equal(try(&a, "k20", &grant, 1000), LB_OK); /* its statements were prepared before */
  assert_int_equal(release(&a, "k20", &grant, 1000), LB_OK);
  pg_close(operator);
}

/* Somebody's transaction is in the way. */
TEST_WITH(teardown_comes_back_at_its_deadline, open_clients, close_clients) {
  struct pg_conn *operator= operator_open();
  operator_says(operator, "BEGIN");
  operator_says(operator, "SELECT count(*) FROM lockbench_row");
  lb_ns before = lb_now(&b.env.base);
  int rc = tested->teardown(b.session, in_ms(&b, 300));
  assert_true(rc == LB_TIMEOUT || rc == LB_UNKNOWN);
  assert_true(lb_now(&b.env.base) - before < LB_NS_PER_S);
  operator_says(operator, "ROLLBACK");
  pg_close(operator);
}

/* ---- statements ----------------------------------------------------------------------------------------------- */

/* The answer to a prepared statement, as a number. */
static int called(struct pg_conn *conn, const char *sql) {
  PGresult *result = NULL;
  assert_int_equal(pg_call(conn, in_ms(&a, 2000), &result, &(struct sql_stmt){sql, 0}, NULL), 0);
  int n = PQntuples(result) ? atoi(PQgetvalue(result, 0, 0)) : -1;
  PQclear(result);
  return n;
}

/* Also where two texts have stood at the same place in memory. */
TEST_WITH(a_prepared_statement_is_known_by_its_text, open_clients, close_clients) {
  char sql[40];
  struct pg_conn *conn = operator_open();
  for (int round = 0; round < 2; round++)
    for (int n = 1; n <= 32; n++) {
      snprintf(sql, sizeof sql, "SELECT %d", n);
      assert_int_equal(called(conn, sql), n);
    }
  PGresult *result = NULL;
  assert_int_equal(pg_call(conn, in_ms(&a, 2000), &result, &(struct sql_stmt){"SELECT 33", 0}, NULL), -ENOSPC);
  assert_int_equal(called(conn, "SELECT 7"), 7); /* nothing was sent */
  pg_close(conn);
}

TEST_WITH(what_is_told_is_done_and_its_answer_is_nobodys, open_clients, close_clients) {
  struct pg_conn *conn = operator_open();
  operator_says(conn, "CREATE TABLE told(n int)");
  for (int i = 0; i < 3; i++) {
    pg_tell(conn, in_ms(&a, 2000), &(struct sql_stmt){"INSERT INTO told VALUES (1) RETURNING 4711", 0}, NULL);
    assert_int_equal(called(conn, "SELECT 42"), 42);
  }
  pg_tell(conn, in_ms(&a, 2000), &(struct sql_stmt){"SELECT 1 / (SELECT count(*) - 3 FROM told)", 0}, NULL); /* fails */
  assert_int_equal(operator_says(conn, "SELECT count(*) FROM told"), 3);
  pg_tell(conn, in_ms(&a, 2000), &(struct sql_stmt){"SELECT no_such_function()", 0}, NULL); /* cannot be prepared */
  assert_int_equal(called(conn, "SELECT 43"), 43);
  operator_says(conn, "DROP TABLE told");
  pg_close(conn);
}

static const char *missing(void) { return pg_server_installed() ? NULL : "no PostgreSQL server programs"; }
NEEDS(missing);

GROUP(start_server, stop_server);
