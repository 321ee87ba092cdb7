/* SPDX-License-Identifier: MIT */
/*
 * test.h - a unit test is TEST(what_it_states) { ... }; a file of them needs no list and no main() (test_main.c has it).
 * They run in the order of the file. TEST_WITH() has a function before it and one after it, NULL for none; GROUP(),
 * once in a file, one before all of them and one after. A file that has a main() of its own may have no TEST().
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
  struct CMUnitTest test; /* without a name: the functions of GROUP() */
  int line;
};

/* The linker puts the pointers of this section into a row. */
#define LB_TEST_ENTRY(id, ...)                                                                                         \
  static const struct lb_test id##_entry = {{__VA_ARGS__}, __LINE__};                                                  \
  static const struct lb_test *const id##_listed __attribute__((section("lb_tests"), used)) = &id##_entry

#define TEST_WITH(id, set_up, tear_down)                                                                               \
  static void id(void **state);                                                                                        \
  LB_TEST_ENTRY(id, #id, id, set_up, tear_down, NULL);                                                                 \
  static void id(void **state __attribute__((unused)))
#define TEST(id) TEST_WITH(id, NULL, NULL)
#define GROUP(set_up, tear_down) LB_TEST_ENTRY(group, NULL, NULL, set_up, tear_down, NULL)

#endif
