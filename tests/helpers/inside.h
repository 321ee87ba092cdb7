/* SPDX-License-Identifier: MIT
 *
 * inside.h - what has to be looked at from inside a sandbox runs in a child that writes its complaint into a pipe; none
 * is success. INSIDE(what_it_states) { ... } returns NULL or what is wrong.
 */
#ifndef LB_TESTS_INSIDE_H
#define LB_TESTS_INSIDE_H

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "network/sandbox.h"
#include "skip.h"

#define NEED_SANDBOX()                                                                                                 \
  if (lb_isolation_probe()->kind == LB_ISOLATION_NONE) SKIP("no namespaces")

#define INSIDE(id)                                                                                                     \
  static const char *id##_inside(void);                                                                                \
  STATES(id, inside(id##_inside));                                                                                     \
  static const char *id##_inside(void)

__attribute__((format(printf, 1, 2))) static inline const char *complain(const char *format, ...) {
  static char text[300];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return text;
}

static inline void inside(const char *(*body)(void)) {
  NEED_SANDBOX();
  int pipe_fd[2], status = 0;
  char text[400] = "";
  assert_int_equal(pipe2(pipe_fd, O_CLOEXEC), 0);
  pid_t pid = lb_sandbox_fork(-1, -1);
  if (pid == 0) {
    const char *wrong = body();
    _exit(wrong && write(pipe_fd[1], wrong, strlen(wrong)) > 0);
  }
  close(pipe_fd[1]);
  ssize_t n = read(pipe_fd[0], text, sizeof text - 1);
  close(pipe_fd[0]);
  assert_true(pid > 0);
  assert_int_equal(waitpid(pid, &status, 0), pid);
  if (n != 0 || status != 0) fail_msg("%s (status %d)", text, status);
}

static inline bool readable(int fd, int timeout_ms) {
  struct pollfd p = {.fd = fd, .events = POLLIN};
  return poll(&p, 1, timeout_ms) > 0;
}

#endif
