/* SPDX-License-Identifier: MIT
 *
 * Statements of several processes, as clients are. Each has its own copy of struct lb_conform, and
 * with it its own sessions; the shared memory is one. They belong to the process group of the
 * statement, so that all of them end with it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "conform_parts.h"

enum { NAP_MS = 1 };

/* Ends by exit(), like the process of the statement: a sanitizer gets to look for leaks. */
static _Noreturn void process_main(struct lb_conform *c, const char *name, int number, pid_t parent,
                                   void (*act)(struct lb_conform *, int)) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  snprintf(c->name, sizeof c->name, "%s-%d", name, number);
  c->process_count = 0;
  lb_conform_prepare(c);
  act(c, number);
  lb_conform_close(c);
  exit(0);
}

void lb_conform_start(struct lb_conform *c, const char *name, int number, void (*act)(struct lb_conform *c, int number)) {
  pid_t parent = getpid(), pid = c->process_count < LB_CONFORM_PROCESSES ? fork() : -1;
  if (pid == 0) process_main(c, name, number, parent, act);
  if (pid < 0) lb_conform_fail(c, "no process for a client");
  c->process[c->process_count++] = pid;
}

/* Whoever failed has written why, and the state; the rest ends with this process. */
static void join_one(struct lb_conform *c, pid_t pid, lb_ns end, int64_t ms) {
  int status;
  pid_t got;
  while ((got = waitpid(pid, &status, WNOHANG)) == 0) {
    if (atomic_load(&c->shared->state) != LB_CONFORM_RUNS) _exit(0);
    if (lb_clock_ns() >= end) lb_conform_fail(c, "expected %d clients to be done within %lld ms", c->process_count, (long long)ms);
    lb_clock_sleep_until(lb_conform_in_ms(NAP_MS));
  }
  if (atomic_load(&c->shared->state) != LB_CONFORM_RUNS) _exit(0);
  if (WIFSIGNALED(status)) raise(WTERMSIG(status)); /* so dies the statement: the hook is still noted */
  if (WEXITSTATUS(status)) _exit(WEXITSTATUS(status));
}

void lb_conform_join(struct lb_conform *c, int64_t ms) {
  lb_ns end = lb_conform_in_ms(ms);
  for (int i = 0; i < c->process_count; i++) join_one(c, c->process[i], end, ms);
  c->process_count = 0;
}
