/* test: compute, memory */
/* SPDX-License-Identifier: MIT
 *
 * Arrays that grow by one, and the end of a process that has no memory.
 */

#include "test.h"
#include "base/need.h"

#include <sys/wait.h>
#include <unistd.h>

TEST(elements_stay_while_the_array_grows) {
  int *array = NULL;
  size_t count = 0;
  for (int i = 0; i < 1000; i++) LB_APPEND(array, count) = i;
  assert_int_equal(count, 1000);
  for (int i = 0; i < 1000; i++) assert_int_equal(array[i], i);
  free(array);
}

TEST(an_array_that_was_cut_grows_again) {
  int *array = NULL;
  size_t count = 0;
  for (int cut = 20; cut >= 0; cut--) {
    for (int i = (int)count; i < 20; i++) LB_APPEND(array, count) = i;
    for (int i = 0; i < 20; i++) assert_int_equal(array[i], i);
    count = (size_t)cut;
  }
  free(array);
}

TEST(a_text_is_copied_or_put_together) {
  char *copy = lb_need_text("lease"), *both = lb_need_printed("%s %d", copy, 42);
  assert_string_equal(copy, "lease");
  assert_string_equal(both, "lease 42");
  free(copy);
  free(both);
}

TEST(lack_of_memory_ends_the_process_with_a_line) {
  int pipes[2], status;
  char said[64] = "";
  assert_int_equal(pipe(pipes), 0);
  pid_t child = fork();
  if (child == 0) {
    dup2(pipes[1], STDERR_FILENO);
    lb_need(NULL);
    _exit(0);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(read(pipes[0], said, sizeof said - 1) > 0);
  assert_string_equal(said, "lockbench: out of memory\n");
  assert_int_equal(WEXITSTATUS(status), 1);
  close(pipes[0]);
  close(pipes[1]);
}
