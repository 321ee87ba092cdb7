/* SPDX-License-Identifier: MIT
 *
 * The process inherits the plan, so what goes through its pipes is small: positions one way, outcomes the other. Both
 * are less than a pipe holds, so nobody waits for a reader.
 *
 * The child inherits the write end of outcomes and this process closes its own copy: so the pipe ends when the trial
 * does, however it ends. Orders have no such end, for processes that start later inherit our copy: the last order says
 * that it is the last.
 */
#include "runner.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "own/own.h"
#include "network/sandbox.h"

/* ---- in the process ---------------------------------------------------------------------------------------------- */

struct pipes {
  int out, in;
  const size_t *position;
  size_t count;
};

static void deliver(void *to, int result, const struct lb_outcome *outcome) {
  const struct pipes *pipes = to;
  struct lb_worker_says says = {.result = result, .outcome = *outcome};
  if (write(pipes->out, &says, sizeof says) != (ssize_t)sizeof says) _exit(1);
}

static ptrdiff_t next(void *to) {
  const struct pipes *pipes = to;
  ptrdiff_t told;
  if (read(pipes->in, &told, sizeof told) != (ssize_t)sizeof told || told < 0) return -1;
  for (size_t i = 0; i < pipes->count; i++)
    if (pipes->position[i] == (size_t)told) return (ptrdiff_t)i;
  return -1;
}

static _Noreturn void work(const struct lb_trial_plan *const plan[], struct pipes *pipes, bool told, const char *folder,
                           struct lb_live *live) {
  setpgid(0, 0); /* Ctrl-C is for the tool: a trial whose clients it kills would be undecided */
  if (!plan[0]->topology->own) lb_own_forget_logins();
  lb_trial_run(plan, pipes->count, told ? next : NULL, folder, live, deliver, pipes);
  _exit(0);
}

/* Whose servers are not ours keeps the network of this machine: they were named to us, or only a foreign program knows
 * where they are. What does something to links needs links of its own. */
static bool is_online(const struct lb_trial_plan *plan) {
  bool elsewhere = plan->topology->data_count == 0 && plan->protocol->traits & LB_TRAIT_FOREIGN;
  return plan->topology->own || (elsewhere && !lb_scenario_needs(plan->scenario, LB_NEED_NETWORK));
}

/* ---- outside ----------------------------------------------------------------------------------------------------- */

static void close_both(const int fd[2]) {
  close(fd[0]);
  close(fd[1]);
}

int lb_worker_start(const struct lb_plan *plan, const size_t position[], size_t count, bool told,
                    const struct lb_rundir *dir, struct lb_live *live, struct lb_worker *ret) {
  const struct lb_trial_plan **series = calloc(count, sizeof *series);
  int out[2], in[2], r = 0;
  if (!series) return -ENOMEM;
  for (size_t i = 0; i < count; i++) series[i] = &plan->jobs[plan->order[position[i]]].plan;
  if (pipe2(out, O_CLOEXEC) < 0) return r = -errno, free(series), r;
  if (pipe2(in, O_CLOEXEC) < 0) return r = -errno, close_both(out), free(series), r;
  pid_t pid = is_online(series[0]) ? lb_sandbox_fork_online(dir->alive, dir->guard_pipe)
                                   : lb_sandbox_fork(dir->alive, dir->guard_pipe);
  if (pid == 0) work(series, &(struct pipes){out[1], in[0], position, count}, told, dir->partial, live);
  free(series);
  close(out[1]);
  close(in[0]);
  if (pid < 0) return close(out[0]), close(in[1]), pid;
  setpgid(pid, pid); /* whoever of us comes first */
  *ret = (struct lb_worker){.pid = pid, .pipe = out[0], .orders = in[1]};
  return 0;
}

/* One that has died in between is noticed by who hears it. */
void lb_worker_tell(const struct lb_worker *worker, ptrdiff_t position) {
  if (write(worker->orders, &position, sizeof position) != (ssize_t)sizeof position) kill(worker->pid, SIGKILL);
}

/* Half a message counts as none. */
bool lb_worker_hear(const struct lb_worker *worker, struct lb_worker_says *ret) {
  size_t got = 0;
  ssize_t n = 1;
  while (got < sizeof *ret && n > 0)
    if ((n = read(worker->pipe, (char *)ret + got, sizeof *ret - got)) > 0) got += (size_t)n;
  return got == sizeof *ret;
}

/* SIGKILL comes first also for one that has delivered: it has nothing left to do, and its whole
 * namespace goes with it. */
void lb_worker_end(struct lb_worker *worker) {
  if (worker->pid <= 0) return;
  kill(worker->pid, SIGKILL);
  while (waitpid(worker->pid, NULL, 0) < 0 && errno == EINTR) {
  }
  close(worker->pipe);
  close(worker->orders);
  *worker = (struct lb_worker){0};
}
