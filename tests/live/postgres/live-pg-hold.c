/* test: alone */
/* SPDX-License-Identifier: MIT
 *
 * Locks that a server process of PostgreSQL holds, on a real server: each of them healthy, with its connection broken,
 * and with an answer that does not come. Skipped without one.
 */
#include <signal.h>

#include "test.h"
#include "pg_client.h"
#include "skip.h"

enum { FENCE, IDLE }; /* their first options, in this order */

static const struct lb_protocol *const all[] = {&lb_pg_advisory, &lb_pg_advisory_xact, &lb_pg_for_update};
enum { ALL = sizeof all / sizeof *all };

/* The same on each of them, with clients of its own. */
static void on_each(void (*test)(const char *key)) {
  for (size_t i = 0; i < ALL; i++) {
    char key[40];
    tested = all[i];
    snprintf(key, sizeof key, "k-%s", tested->name);
    open_clients(NULL);
    test(key);
    close_clients(NULL);
    memset(settings, 0, sizeof settings);
  }
}

/* The server process that holds for a client stands in its token: OWNER@h PID BORN. */
static pid_t process_of(const struct lb_grant *grant) {
  int pid = 0;
  char text[LB_TOKEN_MAX + 1];
  snprintf(text, sizeof text, "%.*s", (int)grant->token_len, grant->token);
  assert_int_equal(sscanf(text, "%*[^@]@h %d", &pid), 1);
  return pid;
}

/* What `sql` and then the number yields. */
static int operator_asks(const char *sql, int number) {
  char text[200];
  struct pg_conn *operator= operator_open();
  snprintf(text, sizeof text, "%s%d", sql, number);
  int answer = operator_says(operator, text);
  pg_close(operator);
  return answer;
}

static int doubt(struct client *client, const char *key, const struct lb_grant *grant) {
  return client->protocol->doubt(client->session, &(struct lb_lock){key, ttl_ms}, grant);
}

/* ---- health ------------------------------------------------------------------------------------------------ */

static void excludes(const char *key) {
  struct lb_grant mine = LB_GRANT_INIT, theirs = LB_GRANT_INIT;
  assert_int_equal(try(&a, key, &mine, 1000), LB_OK);
  assert_true(mine.valid_until == LB_NEVER);
  assert_int_equal(mine.fence, 0);
  assert_int_equal(try(&b, key, &theirs, 1000), LB_BUSY);
  assert_int_equal(theirs.token_len, 0);
  assert_int_equal(holds(&a, key, &mine), LB_OK);
  assert_int_equal(doubt(&a, key, &mine), LB_OK);
  assert_int_equal(row(&b, key), 1);
  assert_int_equal(release(&a, key, &mine, 1000), LB_OK);
  assert_int_equal(row(&b, key), 0);
  assert_int_equal(holds(&a, key, &mine), LB_LOST);
  assert_int_equal(release(&a, key, &mine, 1000), LB_LOST);
  assert_int_equal(try(&b, key, &theirs, 1000), LB_OK);
  assert_int_equal(release(&a, key, &mine, 1000), LB_LOST);
  assert_int_equal(holds(&b, key, &theirs), LB_OK);
  assert_int_equal(release(&b, key, &theirs, 1000), LB_OK);
}
TEST(a_grant_excludes_and_a_release_frees) { on_each(excludes); }

static void is_repeated(const char *key) {
  struct lb_grant grant = LB_GRANT_INIT;
  assert_int_equal(try(&a, key, &grant, 1000), LB_OK);
  assert_int_equal(try(&a, key, &grant, 1000), LB_OK);
  assert_int_equal(release(&a, key, &grant, 1000), LB_OK);
  assert_int_equal(row(&b, key), 0);
}
TEST(the_same_attempt_is_granted_once_more_and_released_once) { on_each(is_repeated); }

static void is_not_ours(const char *key) {
  struct lb_grant grant = LB_GRANT_INIT;
  assert_int_equal(try(&a, key, &grant, 1000), LB_OK);
  struct lb_grant copy = grant;
  assert_int_equal(holds(&b, key, &copy), LB_LOST);
  assert_int_equal(release(&b, key, &copy, 1000), LB_LOST);
  assert_int_equal(holds(&a, key, &grant), LB_OK); /* its connection stands */
  assert_int_equal(release(&a, key, &grant, 1000), LB_OK);
}
TEST(the_grant_of_another_session_is_left_alone) { on_each(is_not_ours); }

TEST(a_session_holds_an_advisory_lock_as_often_as_it_was_granted) {
  struct lb_grant one = LB_GRANT_INIT, two = LB_GRANT_INIT, other = LB_GRANT_INIT;
  tested = &lb_pg_advisory;
  open_clients(NULL);
  assert_int_equal(try(&a, "k2", &one, 1000), LB_OK);
  assert_int_equal(try(&a, "k2", &two, 1000), LB_OK);
  assert_int_equal(release(&a, "k2", &one, 1000), LB_OK);
  assert_int_equal(release(&a, "k2", &one, 1000), LB_LOST);
  assert_int_equal(holds(&a, "k2", &two), LB_OK);
  assert_int_equal(try(&b, "k2", &other, 1000), LB_BUSY);
  assert_int_equal(release(&a, "k2", &two, 1000), LB_OK);
  assert_int_equal(try(&b, "k2", &other, 1000), LB_OK);
  assert_int_equal(release(&b, "k2", &other, 1000), LB_OK);
  close_clients(NULL);
}

TEST(a_session_has_a_transaction_for_each_lock) {
  for (size_t i = 1; i < ALL; i++) {
    struct lb_grant one = LB_GRANT_INIT, again = LB_GRANT_INIT, two = LB_GRANT_INIT, other = LB_GRANT_INIT;
    tested = all[i];
    open_clients(NULL);
    assert_int_equal(try(&a, "k3", &one, 1000), LB_OK);
    assert_int_equal(try(&a, "k3", &again, 1000), LB_BUSY);
    assert_int_equal(try(&a, "k4", &two, 1000), LB_OK);
    assert_true(process_of(&one) != process_of(&two));
    assert_int_equal(release(&a, "k3", &one, 1000), LB_OK);
    assert_int_equal(holds(&a, "k4", &two), LB_OK);
    assert_int_equal(try(&b, "k4", &other, 1000), LB_BUSY);
    assert_int_equal(try(&b, "k3", &other, 1000), LB_OK);
    assert_int_equal(release(&b, "k3", &other, 1000), LB_OK);
    assert_int_equal(release(&a, "k4", &two, 1000), LB_OK);
    close_clients(NULL);
  }
}

/* The one connection too many is refused, and costs nothing of what is held. */
TEST(a_session_without_a_free_connection_is_refused) {
  static struct lb_grant grants[33];
  char key[40];
  tested = &lb_pg_advisory_xact;
  open_clients(NULL);
  memset(grants, 0, sizeof grants);
  for (int i = 0; i < 33; i++) {
    snprintf(key, sizeof key, "many-%d", i);
    assert_int_equal(try(&a, key, &grants[i], 3000), i < 32 ? LB_OK : -EMFILE);
  }
  for (int i = 0; i < 32; i++) {
    snprintf(key, sizeof key, "many-%d", i);
    assert_int_equal(release(&a, key, &grants[i], 1000), LB_OK);
  }
  close_clients(NULL);
}

/* One that is drawn beside the lock and not above it would be drawn by those who are refused, too. */
static void is_numbered(const char *key) {
  struct lb_grant mine = LB_GRANT_INIT, refused = LB_GRANT_INIT, theirs = LB_GRANT_INIT;
  settings[FENCE].b = true;
  close_clients(NULL);
  open_clients(NULL);
  assert_int_equal(try(&a, key, &mine, 1000), LB_OK);
  assert_true(mine.fence > 0);
  for (int i = 0; i < 3; i++) assert_int_equal(try(&b, key, &refused, 1000), LB_BUSY);
  assert_int_equal(release(&a, key, &mine, 1000), LB_OK);
  assert_int_equal(try(&b, key, &theirs, 1000), LB_OK);
  assert_int_equal(theirs.fence, mine.fence + 1);
  assert_int_equal(release(&b, key, &theirs, 1000), LB_OK);
}
TEST(a_number_is_drawn_by_who_is_granted_and_by_nobody_else) { on_each(is_numbered); }

/* ---- without the connection --------------------------------------------------------------------------------- */

static void ends_with_its_process(const char *key) {
  struct lb_grant mine = LB_GRANT_INIT, theirs = LB_GRANT_INIT;
  assert_int_equal(try(&a, key, &mine, 1000), LB_OK);
  assert_int_equal(
      operator_asks("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid = ", process_of(&mine)),
      1);
  for (lb_ns end = in_ms(&b, 3000); row(&b, key) == 1;) assert_true(lb_now(&b.env.base) < end);
  assert_int_equal(doubt(&a, key, &mine), LB_LOST);
  assert_int_equal(holds(&a, key, &mine), LB_LOST);
  assert_int_equal(try(&b, key, &theirs, 1000), LB_OK);
  assert_int_equal(release(&a, key, &mine, 1000), LB_LOST);
  assert_int_equal(holds(&b, key, &theirs), LB_OK);
  assert_int_equal(release(&b, key, &theirs, 1000), LB_OK);
  mine = LB_GRANT_INIT;
  assert_int_equal(try(&a, key, &mine, 1000), LB_OK); /* over a new one */
  assert_int_equal(release(&a, key, &mine, 1000), LB_OK);
}
TEST(a_hold_ends_with_its_server_process) { on_each(ends_with_its_process); }

static pid_t to_be_stopped;

static void stop_before_take(struct lb_env *env, const char *point) {
  (void)env;
  if (strcmp(point, "before-lock") == 0 || strcmp(point, "before-select") == 0) kill(to_be_stopped, SIGSTOP);
}

/* The server process stands still with the statement that takes in its socket; it takes the lock when it goes on, or is
 * ended first. Nobody holds it in the end. */
static void is_asked_in_vain(const char *key) {
  struct lb_grant grant = LB_GRANT_INIT, other = LB_GRANT_INIT;
  assert_int_equal(try(&a, key, &grant, 1000), LB_OK); /* prepares the statements */
  to_be_stopped = process_of(&grant);
  assert_int_equal(release(&a, key, &grant, 1000), LB_OK);
  grant = LB_GRANT_INIT;
  a.env.base.point = stop_before_take;
  assert_int_equal(try(&a, key, &grant, 200), LB_UNKNOWN);
  a.env.base.point = NULL;
  assert_int_equal(resolve(&a, key, &grant, 200), LB_UNKNOWN);
  kill(to_be_stopped, SIGCONT);
  assert_int_equal(resolve(&a, key, &grant, 3000), LB_BUSY);
  assert_int_equal(operator_asks("SELECT count(*) FROM pg_stat_activity WHERE pid = ", to_be_stopped), 0);
  assert_int_equal(release(&a, key, &grant, 1000), LB_OK);
  assert_int_equal(try(&b, key, &other, 1000), LB_OK);
  assert_int_equal(release(&b, key, &other, 1000), LB_OK);
}
TEST(a_try_without_an_answer_is_never_a_hold) { on_each(is_asked_in_vain); }

/* The statement that frees has no answer; asked again it is done. */
static void is_freed_in_vain(const char *key) {
  struct lb_grant grant = LB_GRANT_INIT;
  assert_int_equal(try(&a, key, &grant, 1000), LB_OK);
  pid_t pid = process_of(&grant);
  assert_int_equal(release(&a, key, &grant, 1000), LB_OK);
  grant = LB_GRANT_INIT;
  assert_int_equal(try(&a, key, &grant, 1000), LB_OK);
  kill(pid, SIGSTOP);
  assert_int_equal(release(&a, key, &grant, 200), LB_UNKNOWN);
  assert_int_equal(release(&a, key, &grant, 200), LB_UNKNOWN);
  kill(pid, SIGCONT);
  assert_int_equal(release(&a, key, &grant, 3000), LB_OK);
  assert_int_equal(row(&b, key), 0);
}
TEST(a_release_without_an_answer_is_done_when_repeated) { on_each(is_freed_in_vain); }

static void is_torn_down(const char *key) {
  struct lb_grant mine = LB_GRANT_INIT;
  assert_int_equal(try(&a, key, &mine, 1000), LB_OK);
  assert_int_equal(b.protocol->teardown(b.session, in_ms(&b, 5000)), LB_OK);
  assert_int_equal(row(&b, key), 0);
  assert_int_equal(doubt(&a, key, &mine), LB_LOST);
  assert_int_equal(b.protocol->teardown(b.session, in_ms(&b, 5000)), LB_OK);
}
TEST(teardown_ends_what_others_still_hold) { on_each(is_torn_down); }

/* ---- a transaction that idles --------------------------------------------------------------------------------- */

TEST(a_transaction_that_idles_is_ended_and_its_holder_told) {
  for (size_t i = 1; i < ALL; i++) {
    struct lb_grant mine = LB_GRANT_INIT, theirs = LB_GRANT_INIT;
    tested = all[i];
    settings[IDLE].b = true;
    open_clients(NULL);
    assert_int_equal(try(&a, "k5", &mine, 1000), LB_OK);
    lb_ns end = mine.valid_until;
    assert_true(end > mine.asked_at && end <= mine.asked_at + (lb_ns)ttl_ms * LB_NS_PER_MS);
    lb_sleep_until(&a.env.base, mine.asked_at + 600 * LB_NS_PER_MS);
    assert_int_equal(extend(&a, "k5", ttl_ms, &mine, 300), LB_OK);
    assert_true(mine.valid_until >= end + 500 * LB_NS_PER_MS);
    lb_sleep_until(&a.env.base, end + 200 * LB_NS_PER_MS);
    assert_int_equal(try(&b, "k5", &theirs, 200), LB_BUSY); /* the first end has passed */
    lb_sleep_until(&a.env.base, mine.valid_until + 300 * LB_NS_PER_MS);
    assert_int_equal(doubt(&a, "k5", &mine), LB_LOST);
    assert_int_equal(try(&b, "k5", &theirs, 1000), LB_OK);
    assert_int_equal(release(&b, "k5", &theirs, 1000), LB_OK);
    assert_int_equal(release(&a, "k5", &mine, 1000), LB_LOST);
    close_clients(NULL);
    memset(settings, 0, sizeof settings);
  }
}

/* ---- work that fails -------------------------------------------------------------------------------------------- */

static int work(struct client *client, const char *key, const struct lb_grant *grant) {
  return client->protocol->work(client->session, &(struct lb_lock){key, ttl_ms}, grant, in_ms(client, 1000));
}

static void fail_to_work(const struct lb_protocol *protocol, const char *key, struct lb_grant *mine) {
  tested = protocol;
  settings[lb_option_index(tested, lb_option_find(tested, "work"))].text = "SELECT 1 / 0";
  open_clients(NULL);
  memset(settings, 0, sizeof settings);
  assert_int_equal(try(&a, key, mine, 1000), LB_OK);
  assert_true(work(&a, key, mine) < 0);
}

/* The transaction ended with the error, and the lock with it. COMMIT would say yes. */
TEST(an_error_in_the_transaction_of_a_lock_loses_it) {
  struct lb_grant mine = LB_GRANT_INIT, theirs = LB_GRANT_INIT;
  fail_to_work(&lb_pg_advisory_xact, "k6", &mine);
  assert_int_equal(holds(&a, "k6", &mine), LB_LOST);
  assert_int_equal(try(&b, "k6", &theirs, 1000), LB_OK);
  assert_int_equal(release(&a, "k6", &mine, 1000), LB_LOST);
  assert_int_equal(release(&b, "k6", &theirs, 1000), LB_OK);
  close_clients(NULL);
}

TEST(an_error_of_a_session_leaves_its_lock_alone) {
  struct lb_grant mine = LB_GRANT_INIT;
  fail_to_work(&lb_pg_advisory, "k7", &mine);
  assert_int_equal(holds(&a, "k7", &mine), LB_OK);
  assert_int_equal(release(&a, "k7", &mine, 1000), LB_OK);
  close_clients(NULL);
}

static const char *missing(void) { return pg_server_installed() ? NULL : "no PostgreSQL server programs"; }
NEEDS(missing);

GROUP(start_server, stop_server);
