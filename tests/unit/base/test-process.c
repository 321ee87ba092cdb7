/* test: memory, beside */
/* SPDX-License-Identifier: MIT
 *
 * A child that must not outlive its parent, and what a process forgets of its environment.
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

/* A name that is long, and an entry that is no variable: a shell can hand on either. */
TEST(what_libraries_would_read_is_forgotten_whatever_its_form) {
  char name[400],
      *entries[] = {name, "PGnothing", "HOME=/root", "PGHOST=there", "CLASSPATH=x", "CLASSPATHS=y", "PG=z", NULL};
  char **before = environ;
  memset(name, 'X', sizeof name);
  memcpy(name, "PG", 2);
  memcpy(name + sizeof name - 3, "=1", 3);
  environ = entries;
  alarm(20);
  lb_process_forget_environ();
  alarm(0);
  environ = before;
  assert_string_equal(entries[0], "HOME=/root");
  assert_string_equal(entries[1], "CLASSPATHS=y");
  assert_null(entries[2]);
}
