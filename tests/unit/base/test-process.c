/* test: memory, beside */
/* SPDX-License-Identifier: MIT
 *
 * A child that must not outlive its parent.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "test.h"
#include "base/clock.h"
#include "base/process.h"

/* The pipe ends when the last process that has its other end is gone: the grandchild, which would wait for ever. */
TEST(a_child_ends_with_its_parent) {
  int end[2];
  char byte;
  assert_int_equal(pipe(end), 0);
  pid_t parent = fork();
  if (parent == 0) {
    if (lb_process_fork() == 0)
      for (;;) pause();
    _exit(0);
  }
  close(end[1]);
  assert_int_equal(waitpid(parent, NULL, 0), parent);
  alarm(20);
  assert_int_equal(read(end[0], &byte, 1), 0);
  alarm(0);
  close(end[0]);
}

TEST(parent_and_child_are_told_apart) {
  int status;
  pid_t pid = lb_process_fork();
  if (pid == 0) _exit(7);
  assert_true(pid > 0);
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

TEST(a_child_that_ends_in_time_is_awaited) {
  int status;
  pid_t pid = lb_process_fork();
  if (pid == 0) _exit(7);
  assert_true(lb_process_await(pid, lb_clock_ns() + 20000000000, &status));
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

/* As a command of a shell that has started another one. */
TEST(one_that_does_not_is_killed_with_its_process_group) {
  int end[2], status;
  char byte;
  assert_int_equal(pipe(end), 0);
  pid_t pid = lb_process_fork();
  if (pid == 0) {
    setsid();
    if (fork() == 0 && write(end[1], "x", 1) < 0) _exit(1);
    for (;;) pause();
  }
  close(end[1]);
  assert_int_equal(read(end[0], &byte, 1), 1);
  assert_false(lb_process_await(pid, lb_clock_ns(), &status));
  alarm(20);
  assert_int_equal(read(end[0], &byte, 1), 0);
  alarm(0);
  close(end[0]);
}
