/* SPDX-License-Identifier: MIT
 *
 * What the token of a grant says of an attempt at a database, read as it was written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "backends/sql.h"
#include "client/env.h"

static struct lb_process_env env;

static struct sql_attempt told_and_read(const struct sql_attempt *attempt, struct lb_grant *grant) {
  sql_attempt_put(attempt, grant);
  assert_true(grant->token_len > 0 && grant->token_len < LB_TOKEN_MAX);
  return sql_attempt_get(grant);
}

static void an_owner_without_a_process_is_the_token(void **state) {
  (void)state;
  struct lb_grant grant = LB_GRANT_INIT;
  struct sql_attempt attempt = sql_attempt_new(&env.base, "client-1"), read = told_and_read(&attempt, &grant);
  assert_int_equal(grant.token_len, strlen(attempt.owner));
  assert_memory_equal(grant.token, attempt.owner, grant.token_len);
  assert_string_equal(read.owner, attempt.owner);
  assert_int_equal(read.state, SQL_NO_PROCESS);
}

static void a_process_and_what_it_has_to_do_with_the_attempt_are_kept(void **state) {
  static const enum sql_attempt_state states[] = {SQL_TAKING, SQL_FREEING, SQL_HELD_BY};
  (void)state;
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

static void no_two_attempts_have_one_owner(void **state) {
  (void)state;
  struct sql_attempt one = sql_attempt_new(&env.base, "c"), two = sql_attempt_new(&env.base, "c");
  assert_string_not_equal(one.owner, two.owner);
}

/* The sign that parts an owner from its process, and a name that is too long, too. */
static void any_name_of_a_client_leaves_a_token_that_can_be_read(void **state) {
  static const char *const names[] = {"", "a@b", "@@",
                                      "c23456789012345678901234567890123456789012345678901234567890123"};
  (void)state;
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

static void an_empty_token_is_nobody(void **state) {
  (void)state;
  struct lb_grant grant = LB_GRANT_INIT;
  struct sql_attempt read = sql_attempt_get(&grant);
  assert_string_equal(read.owner, "");
  assert_int_equal(read.state, SQL_NO_PROCESS);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_owner_without_a_process_is_the_token),
      cmocka_unit_test(a_process_and_what_it_has_to_do_with_the_attempt_are_kept),
      cmocka_unit_test(no_two_attempts_have_one_owner),
      cmocka_unit_test(any_name_of_a_client_leaves_a_token_that_can_be_read),
      cmocka_unit_test(an_empty_token_is_nobody),
  };
  lb_env_init(&env, 1);
  return cmocka_run_group_tests_name("sql-attempt", tests, NULL, NULL);
}
