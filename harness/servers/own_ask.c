/* SPDX-License-Identifier: MIT
 *
 * The user's servers are asked by a process of its own, for client libraries start threads, and their calls may hang. What it
 * has learnt comes back through shared memory.
 */
#include "own.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

enum { ASK_S = 10, CLEAN_S = 120, GRACE_MS = 2000 };

struct answer {
  struct lb_own_found found;
  int result;
  char err[256];
};

static _Noreturn void be_asker(const struct lb_own *own, struct lb_env *env, bool clean, lb_ns deadline, struct answer *answer) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  env->err[0] = '\0';
  answer->result = clean ? own->kind->clean(env, own, deadline) : own->kind->ask(env, own, deadline, &answer->found);
  memcpy(answer->err, env->err, sizeof answer->err);
  _exit(0);
}

/* The pipe ends with the child. */
static void await(pid_t pid, int fd, lb_ns until) {
  struct pollfd end = {.fd = fd, .events = POLLIN};
  for (;;) {
    lb_ns now = lb_clock_ns();
    if (now >= until) break;
    if (poll(&end, 1, (int)((until - now) / LB_NS_PER_MS) + 1) != -1 || errno != EINTR) break;
  }
  kill(pid, SIGKILL);
  while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
  }
}

static int ask(const struct lb_own *own, struct lb_env *env, bool clean, struct answer *answer) {
  int end[2];
  lb_ns deadline = lb_clock_ns() + (clean ? CLEAN_S : ASK_S) * LB_NS_PER_S;
  if (pipe2(end, O_CLOEXEC) < 0) return -errno;
  answer->result = -ETIMEDOUT;
  snprintf(answer->err, sizeof answer->err, "no answer within %d s", clean ? CLEAN_S : ASK_S);
  pid_t pid = fork();
  if (pid == 0) be_asker(own, env, clean, deadline, answer);
  close(end[1]);
  if (pid > 0) await(pid, end[0], deadline + GRACE_MS * LB_NS_PER_MS);
  close(end[0]);
  return pid < 0 ? -errno : answer->result;
}

static int run(struct lb_own *own, struct lb_env *env, bool clean, struct lb_own_found *ret, char *err, size_t err_size) {
  struct answer *answer = mmap(NULL, sizeof *answer, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (answer == MAP_FAILED) return snprintf(err, err_size, "%s: out of memory", own->kind->option), -ENOMEM;
  int r = ask(own, env, clean, answer);
  if (r > 0) r = -ETIMEDOUT;
  if (r < 0)
    snprintf(err, err_size, "%s: %s%s", own->kind->option, answer->err[0] ? answer->err : strerror(-r),
             r == -EACCES ? "; a file with the login is named with --auth FILE" : "");
  else if (ret) *ret = answer->found;
  munmap(answer, sizeof *answer);
  return r;
}

/* "redis 7.0.15 at 127.0.0.1:6379, ...". */
static void summarize(struct lb_own *own) {
  int n = snprintf(own->summary, sizeof own->summary, "%s at", own->found.version);
  for (size_t i = 0; i < own->found.count && n < (int)sizeof own->summary; i++) {
    char at[LB_OWN_HOST_MAX + 16];
    lb_own_address_text(&own->found.server[i], at, sizeof at);
    n += snprintf(own->summary + n, sizeof own->summary - (size_t)n, "%s %s", i > 0 ? "," : "", at);
  }
}

int lb_own_ask(struct lb_own *own, struct lb_env *env, char *err, size_t err_size) {
  int r = run(own, env, false, &own->found, err, err_size);
  if (r < 0) return r;
  summarize(own);
  own->topology.summary = own->summary;
  own->topology.data_count = own->found.data_count;
  own->topology.other_count = own->found.count - own->found.data_count;
  own->topology.shards = own->found.shards;
  own->topology.facts = own->found.facts;
  return 0;
}

int lb_own_clean(struct lb_own *own, struct lb_env *env, char *err, size_t err_size) { return run(own, env, true, NULL, err, err_size); }
