/* SPDX-License-Identifier: MIT */
/*
 * test.h - a unit test is TEST(what_it_states) { ... }; a file of them needs no list and no main() (test_main.c has it).
 * They run in the order of the file. STATES(what_it_states, this(), that()) is one in a row. TEST_WITH() has a function
 * before it and one after it, NULL for none; EACH(), once in a file, those of every test that names no other. GROUP() has
 * one before all of them and one after. NEEDS() has a function that says what this machine lacks for them, or NULL. A
 * file that has a main() of its own may have no TEST().
 */
#ifndef LB_TEST_H
#define LB_TEST_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

struct lb_test {
  struct CMUnitTest test; /* without a name: the functions of GROUP() or EACH() */
  int line;
  bool each;
  const char *(*missing)(void);
};

/* The linker puts the pointers of this section into a row. */
#define LB_TEST_ENTRY(id, ...)                                                                                         \
  static const struct lb_test id##_entry = {.line = __LINE__, __VA_ARGS__};                                            \
  static const struct lb_test *const id##_listed __attribute__((section("lb_tests"), used)) = &id##_entry

/* A test that runs in several ways: LISTED_AS(way, "how: ", id, set_up, tear_down) for each, with another word each
 * time, then TEST_BODY(id) { ... } */
#define LISTED_AS(way, how, id, set_up, tear_down)                                                                     \
  static void id(void **state);                                                                                        \
  LB_TEST_ENTRY(id##_##way, .test = {how #id, id, set_up, tear_down, NULL})
#define TEST_BODY(id) static void id(void **state __attribute__((unused)))
#define TEST_WITH(id, set_up, tear_down)                                                                               \
  LISTED_AS(once, "", id, set_up, tear_down);                                                                          \
  TEST_BODY(id)
#define TEST(id) TEST_WITH(id, NULL, NULL)
#define STATES(id, ...)                                                                                                \
  TEST_BODY(id) { __VA_ARGS__; }                                                                                       \
  LB_TEST_ENTRY(id##_once, .test = {#id, id, NULL, NULL, NULL})
#define EACH(set_up, tear_down) LB_TEST_ENTRY(each, .each = true, .test = {NULL, NULL, set_up, tear_down, NULL})
#define GROUP(set_up, tear_down) LB_TEST_ENTRY(group, .test = {NULL, NULL, set_up, tear_down, NULL})
#define NEEDS(function) LB_TEST_ENTRY(needs, .missing = function)

/* What a person reads. An expected text that ends in " ..." goes on as it likes. */
static inline void assert_says(const char *text, const char *expected) {
  size_t length = strlen(expected);
  bool goes_on = length > 4 && strcmp(expected + length - 4, " ...") == 0;
  if (!goes_on || strncmp(text, expected, length - 4) != 0) assert_string_equal(text, expected);
}

#endif
