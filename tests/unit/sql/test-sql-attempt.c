/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * What the token of a grant says of an attempt at a database, read as it was written.
 */
#include "test.h"
#include "backends/sql/sql.h"
#include "client/env.h"

static struct lb_process_env env;

static struct sql_attempt told_and_read(const struct sql_attempt *attempt, struct lb_grant *grant) {
  sql_attempt_put(attempt, grant);
  assert_true(grant->token_len > 0 && grant->token_len < LB_TOKEN_MAX);
  return sql_attempt_get(grant);
}

TEST(an_owner_without_a_process_is_the_token) {
  struct lb_grant grant = LB_GRANT_INIT;
  struct sql_attempt attempt = sql_attempt_new(&env.base, "client-1"), read = told_and_read(&attempt, &grant);
  assert_int_equal(grant.token_len, strlen(attempt.owner));
  assert_memory_equal(grant.token, attempt.owner, grant.token_len);
  assert_string_equal(read.owner, attempt.owner);
  assert_int_equal(read.state, SQL_NO_PROCESS);
}

TEST(a_process_and_what_it_has_to_do_with_the_attempt_are_kept) {
  static const enum sql_attempt_state states[] = {SQL_TAKING, SQL_FREEING, SQL_HELD_BY};
  for (size_t i = 0; i < 3; i++) {
    struct lb_grant grant = LB_GRANT_INIT;
    struct sql_attempt attempt = sql_attempt_new(&env.base, "client-1");
    attempt.state = states[i];
    attempt.origin = (struct sql_origin){.pid = 4194304, .born = "1795420740.123456"};
    struct sql_attempt read = told_and_read(&attempt, &grant);
    assert_string_equal(read.owner, attempt.owner);
    assert_int_equal(read.state, states[i]);
    assert_int_equal(read.origin.pid, 4194304);
    assert_string_equal(read.origin.born, "1795420740.123456");
  }
}

TEST(no_two_attempts_have_one_owner) {
  struct sql_attempt one = sql_attempt_new(&env.base, "c"), two = sql_attempt_new(&env.base, "c");
  assert_string_not_equal(one.owner, two.owner);
}

/* The sign that parts an owner from its process, and a name that is too long, too. */
TEST(any_name_of_a_client_leaves_a_token_that_can_be_read) {
  static const char *const names[] = {"", "a@b", "@@",
                                      "c23456789012345678901234567890123456789012345678901234567890123"};
  for (size_t i = 0; i < 4; i++) {
    struct lb_grant grant = LB_GRANT_INIT;
    struct sql_attempt attempt = sql_attempt_new(&env.base, names[i]);
    attempt.state = SQL_TAKING;
    attempt.origin = (struct sql_origin){.pid = 1, .born = "1795420740.123456"};
    struct sql_attempt read = told_and_read(&attempt, &grant);
    assert_string_equal(read.owner, attempt.owner);
    assert_int_equal(read.state, SQL_TAKING);
  }
}

TEST(an_empty_token_is_nobody) {
  struct lb_grant grant = LB_GRANT_INIT;
  struct sql_attempt read = sql_attempt_get(&grant);
  assert_string_equal(read.owner, "");
  assert_int_equal(read.state, SQL_NO_PROCESS);
}

static int before_all(void **state) {
  (void)state;
  lb_env_init(&env, 1);
  return 0;
}

GROUP(before_all, NULL);
