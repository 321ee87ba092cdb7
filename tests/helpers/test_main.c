/* SPDX-License-Identifier: MIT */
/* Runs the tests of a file, in its order. */
#include "test.h"

extern const struct lb_test *const __start_lb_tests[], *const __stop_lb_tests[];

enum { MOST = 300 };

static int by_line(const void *a, const void *b) {
  return (*(const struct lb_test *const *)a)->line - (*(const struct lb_test *const *)b)->line;
}

int main(void) {
  size_t listed = (size_t)(__stop_lb_tests - __start_lb_tests), count = 0;
  static const struct lb_test *sorted[MOST];
  static struct CMUnitTest tests[MOST];
  struct CMUnitTest group = {0}, each = {0};
  if (listed > MOST) return fprintf(stderr, "%zu tests in one file, expected at most %d\n", listed, MOST), 2;
  memcpy(sorted, __start_lb_tests, listed * sizeof *sorted);
  qsort(sorted, listed, sizeof *sorted, by_line);
  for (size_t i = 0; i < listed; i++) {
    const char *missing = sorted[i]->missing ? sorted[i]->missing() : NULL;
    if (missing) return printf("1..0 # SKIP %s\n", missing), 0;
    if (sorted[i]->test.name) tests[count++] = sorted[i]->test;
    else if (sorted[i]->each) each = sorted[i]->test;
    else if (!sorted[i]->missing) group = sorted[i]->test;
  }
  for (size_t i = 0; i < count; i++) {
    if (tests[i].setup_func || tests[i].teardown_func) continue;
    tests[i].setup_func = each.setup_func;
    tests[i].teardown_func = each.teardown_func;
  }
  return _cmocka_run_group_tests("tests", tests, count, group.setup_func, group.teardown_func);
}
