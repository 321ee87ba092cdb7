/* SPDX-License-Identifier: MIT
 *
 * The process inherits all jobs that are there when it starts, so an order is the address of one. A job that came later
 * is sent as its text. Both are less than a pipe holds, so nobody waits for a reader.
 *
 * The child inherits the write end of outcomes and this process closes its own copy: so the pipe ends when the trial
 * does, however it ends. Orders have no such end, for processes that start later inherit our copy: the last order says
 * that it is the last.
 */
#include "engine.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "own/own.h"
#include "network/sandbox.h"

struct order {
  const struct lb_trial_plan *plan; /* NULL = the text that follows, or the end */
  size_t length;
};

static bool read_all(int fd, void *to, size_t size) {
  size_t got = 0;
  ssize_t n = 1;
  while (got < size && n > 0)
    if ((n = read(fd, (char *)to + got, size - got)) > 0) got += (size_t)n;
  return got == size;
}

/* ---- in the process ---------------------------------------------------------------------------------------------- */

struct pipes {
  int out, in;
  const struct lb_source *source;
};

static void deliver(void *to, int result, const struct lb_outcome *outcome) {
  const struct pipes *pipes = to;
  struct lb_worker_says says = {.result = result, .outcome = *outcome};
  if (write(pipes->out, &says, sizeof says) != (ssize_t)sizeof says) _exit(1);
}

static const struct lb_trial_plan *next(void *to) {
  const struct pipes *pipes = to;
  static char text[LB_JOB_TEXT_MAX];
  struct order order;
  if (!read_all(pipes->in, &order, sizeof order)) return NULL;
  if (order.plan || order.length == 0) return order.plan;
  if (order.length > sizeof text || !read_all(pipes->in, text, order.length)) return NULL;
  return pipes->source->input->read(pipes->source->of, text);
}

static _Noreturn void work(const struct lb_trial_plan *plan, struct pipes *pipes, const char *folder,
                           struct lb_live *live) {
  setpgid(0, 0); /* Ctrl-C is for the tool: a trial whose clients it kills would be undecided */
  if (!plan->topology->own) lb_own_forget_logins();
  lb_trial_run(plan, folder, live, next, deliver, pipes);
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

int lb_worker_start(const struct lb_source *source, const struct lb_job *job, const struct lb_rundir *dir,
                    struct lb_live *live, struct lb_worker *ret) {
  int out[2], in[2], r = 0;
  if (pipe2(out, O_CLOEXEC) < 0) return -errno;
  if (pipe2(in, O_CLOEXEC) < 0) return r = -errno, close_both(out), r;
  pid_t pid = is_online(&job->plan) ? lb_sandbox_fork_online(dir->alive, dir->guard_pipe)
                                    : lb_sandbox_fork(dir->alive, dir->guard_pipe);
  if (pid == 0) work(&job->plan, &(struct pipes){out[1], in[0], source}, dir->partial, live);
  close(out[1]);
  close(in[0]);
  if (pid < 0) return close(out[0]), close(in[1]), pid;
  setpgid(pid, pid); /* whoever of us comes first */
  *ret = (struct lb_worker){.pid = pid, .pipe = out[0], .orders = in[1]};
  return 0;
}

/* One that has died in between is noticed by who hears it. */
void lb_worker_tell(const struct lb_worker *worker, const struct lb_job *job) {
  const char *text = job ? job->text : NULL;
  struct order order = {job && !text ? &job->plan : NULL, text ? strlen(text) + 1 : 0};
  struct iovec parts[] = {{&order, sizeof order}, {(char *)text, order.length}};
  if (writev(worker->orders, parts, 2) != (ssize_t)(sizeof order + order.length)) kill(worker->pid, SIGKILL);
}

/* Half a message counts as none. */
bool lb_worker_hear(const struct lb_worker *worker, struct lb_worker_says *ret) {
  return read_all(worker->pipe, ret, sizeof *ret);
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
