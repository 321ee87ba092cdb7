/* SPDX-License-Identifier: MIT
 *
 * One pipe per running trial brings its outcome; its end without an outcome is a trial that died. A
 * trial that takes longer than any bound of its scenario is killed and undecided.
 *
 * A process per trial, or per series of trials that share their servers, and no thread anywhere: whatever a trial does to its memory, its signals or
 * its files, the next one begins clean, and the runner can always kill it. Trials share nothing
 * with the runner but the pipe and a page of live counters, which is only shown and never
 * counted.
 */
#include "runner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "admit.h"
#include "base/clock.h"
#include "servers/own.h"
#include "servers/sandbox.h"
#include "trial/heat.h"
#include "trial/trial.h"

/* PATIENCE_S is for what a scenario does not bound: starting servers, opening sessions, judging. It
 * is long, because it only has to end what would never end. */
enum { SLOTS_MAX = 64, TICK_MS = 1000, LOOK_MS = 20, PATIENCE_S = 180, CAMPAIGN_PATIENCE_S = 120 };

/* A place for a running trial or series. States: free, running (from start() until finish() has reaped it). */
struct slot {
  struct lb_job_result *result; /* of the trial that runs now; NULL = free */
  size_t next, end;             /* positions in the plan's order: of the trial after it, and behind the last one */
  pid_t pid;
  int pipe;
  lb_ns deadline;
};

struct message { /* through the pipe */
  int result;
  struct lb_outcome outcome;
};

struct runner {
  struct lb_tally *tally;
  const struct lb_rundir *dir;
  const struct lb_progress *progress;
  struct slot slot[SLOTS_MAX];
  /* One per slot, shared with the trials. */
  struct lb_live *live;
  int slots, cores;
  /* Position in the plan's order of the next job to start. */
  size_t next;
  char *err;
  size_t err_size;
};

/* The handler only notes the signal. poll() then returns early, and the loop ends by itself. */
static volatile sig_atomic_t interrupted;
static void on_signal(int sig) {
  (void)sig;
  interrupted = 1;
}

/* The longest that a trial can take if everything in it times out: all its phases, and for each
 * step its own bound and some seconds. */
static lb_ns patience(const struct lb_trial_plan *plan) {
  double s =
      PATIENCE_S + plan->scenario->warmup_s + 2 * plan->scenario->settle_s + plan->scenario->duration_s + 2e-3 * (double)plan->scenario->wait_ms;
  if (plan->scenario->kind == LB_KIND_CAMPAIGN) s += CAMPAIGN_PATIENCE_S;
  for (size_t i = 0; i < plan->scenario->step_count; i++) s += 1e-3 * (double)plan->scenario->steps[i].within_ms + 5;
  return (lb_ns)(s * 1e9) + (lb_heat_needed(plan) ? lb_heat_most() : 0);
}

/* The process of a trial or series. The message is smaller than a pipe holds, so the write does not wait for
 * the runner. */
static void deliver(void *to, int result, const struct lb_outcome *outcome) {
  struct message message = {.result = result, .outcome = *outcome};
  if (write(*(const int *)to, &message, sizeof message) != (ssize_t)sizeof message) _exit(1);
}

static _Noreturn void trial_main(const struct runner *r, const struct slot *slot, const struct lb_trial_plan *const plan[], size_t count, int out) {
  if (!plan[0]->topology->own) lb_own_forget_logins();
  lb_trial_run(plan, count, r->dir->partial, &r->live[slot - r->slot], deliver, &out);
  _exit(0);
}

/* The next trial of a slot is the one that runs. */
static void go_on(struct runner *r, struct slot *slot) {
  slot->result = &r->tally->jobs[r->tally->plan->order[slot->next++]];
  slot->deadline = lb_clock_ns() + patience(&slot->result->job->plan);
}

/* The child inherits the write end and this process closes its own copy: so the pipe ends when the
 * trial does, however it ends. */
static int start(struct runner *r, int index, size_t count) {
  const struct lb_plan *plan = r->tally->plan;
  const struct lb_trial_plan **series = calloc(count, sizeof *series);
  int pipe_fd[2];
  struct slot *slot = &r->slot[index];
  for (size_t i = 0; i < count && series; i++) series[i] = &plan->jobs[plan->order[r->next + i]].plan;
  if (!series || pipe2(pipe_fd, O_CLOEXEC) < 0) {
    free(series);
    return -errno;
  }
  r->live[index] = (struct lb_live){0};
  bool online = series[0]->topology->own;
  pid_t pid = online ? lb_sandbox_fork_online(r->dir->alive, r->dir->guard_pipe) : lb_sandbox_fork(r->dir->alive, r->dir->guard_pipe);
  if (pid == 0) trial_main(r, slot, series, count, pipe_fd[1]);
  free(series);
  close(pipe_fd[1]);
  if (pid < 0) {
    close(pipe_fd[0]);
    return pid;
  }
  *slot = (struct slot){.pid = pid, .pipe = pipe_fd[0], .next = r->next, .end = r->next + count};
  go_on(r, slot);
  return 0;
}

static void tick(struct runner *r) {
  const struct lb_job *running[SLOTS_MAX];
  uint64_t grants[SLOTS_MAX];
  size_t count = 0;
  for (int i = 0; i < r->slots; i++)
    if (r->slot[i].result) {
      grants[count] = atomic_load(&r->live[i].grants);
      running[count++] = r->slot[i].result->job;
    }
  if (r->progress && r->progress->tick)
    r->progress->tick(r->progress->display, r->tally, running, grants, count);
}

/* SIGKILL comes first also for a trial that has delivered: it has nothing left to do, and its whole
 * namespace goes with it. */
static void reap(struct slot *slot) {
  kill(slot->pid, SIGKILL);
  while (waitpid(slot->pid, NULL, 0) < 0 && errno == EINTR) {
  }
  close(slot->pipe);
  slot->result = NULL;
}

/* Takes an outcome. Half a message counts as none. After the last one the slot is free; a process that has
 * died leaves the rest of its series undecided, one by one. The result is that of the trial: negative if the
 * harness could not do its work, which ends the run. */
static int finish(struct runner *r, struct slot *slot, bool late) {
  struct message message;
  struct lb_job_result *result = slot->result;
  size_t got = 0;
  ssize_t n = 1;
  while (!late && got < sizeof message && n > 0)
    if ((n = read(slot->pipe, (char *)&message + got, sizeof message - got)) > 0) got += (size_t)n;
  if (got < sizeof message) {
    message = (struct message){.outcome = {.verdict = LB_UNDECIDED, .counters = lb_counters_none()}};
    snprintf(message.outcome.why, sizeof message.outcome.why, "the trial's process %s",
             late ? "took too long and was killed" : "died");
  }
  if (late) kill(slot->pid, SIGKILL);
  if (slot->next == slot->end) reap(slot);
  else go_on(r, slot);
  lb_tally_add(r->tally, result, &message.outcome);
  if (r->progress && r->progress->finished) r->progress->finished(r->progress->display, r->tally, result);
  if (message.result < 0)
    snprintf(r->err, r->err_size, "%s: %s", result->job->plan.name,
             message.outcome.why[0] ? message.outcome.why : strerror(-message.result));
  return message.result;
}

static int busy_slots(const struct runner *r) {
  int n = 0;
  for (int i = 0; i < r->slots; i++) n += r->slot[i].result != NULL;
  return n;
}

static struct lb_crowd crowd(const struct runner *r) {
  struct lb_crowd now = {.running = busy_slots(r), .most = r->slots, .cores = r->cores};
  for (int i = 0; i < r->slots; i++) {
    if (!r->slot[i].result || atomic_load(&r->live[i].started)) continue;
    now.starting++;
    now.starting_ms += r->slot[i].result->job->plan.topology->start_ms;
  }
  return now;
}

/* Whether the next job waits for others that are starting, which nobody will tell of. */
static bool waits_for_a_start(const struct runner *r) {
  struct lb_crowd now = crowd(r);
  return r->next < r->tally->plan->job_count && now.running < now.most && now.starting > 0;
}

/* Starts what may run now. A trial that measures waits until it is alone, and nothing starts beside
 * it. The order puts those first, so that the waiting happens once. */
static int fill(struct runner *r) {
  const struct lb_plan *plan = r->tally->plan;
  while (r->next < plan->job_count) {
    const struct lb_job *job = &plan->jobs[plan->order[r->next]];
    struct lb_crowd now = crowd(r);
    if (!lb_admits(&now, job->plan.topology->start_ms)) return 0;
    size_t series = lb_plan_series(plan, r->next);
    bool measuring = lb_job_measures(job);
    for (int i = 0; i < r->slots; i++)
      if (r->slot[i].result) measuring |= lb_job_measures(r->slot[i].result->job);
    if (measuring && busy_slots(r) > 0) return 0;
    int free_slot = 0;
    while (r->slot[free_slot].result) free_slot++;
    int result = start(r, free_slot, series);
    if (result < 0) return snprintf(r->err, r->err_size, "cannot start a trial: %s", strerror(-result)), result;
    r->next += series;
    tick(r);
  }
  return 0;
}

/* Until a trial ends, a signal comes, the next tick is due, or those that are starting are to be looked at. Deadlines are looked at once a tick
 * or more often, which is soon enough for them. */
static int wait_for_some(struct runner *r, lb_ns next_tick) {
  struct pollfd p[SLOTS_MAX];
  int which[SLOTS_MAX], count = 0, result = 0;
  for (int i = 0; i < r->slots; i++)
    if (r->slot[i].result) {
      which[count] = i;
      p[count++] = (struct pollfd){.fd = r->slot[i].pipe, .events = POLLIN};
    }
  lb_ns now = lb_clock_ns();
  int left_ms = next_tick > now ? (int)((next_tick - now) / LB_NS_PER_MS) + 1 : 0;
  if (left_ms > LOOK_MS && waits_for_a_start(r)) left_ms = LOOK_MS;
  if (poll(p, (nfds_t)count, left_ms) < 0) return errno == EINTR ? 0 : -errno;
  for (int i = 0; i < count && result == 0; i++) {
    struct slot *slot = &r->slot[which[i]];
    if (p[i].revents) result = finish(r, slot, false);
    else if (lb_clock_ns() > slot->deadline) result = finish(r, slot, true);
  }
  return result;
}

static int run_all(struct runner *r) {
  lb_ns next_tick = lb_clock_ns() + TICK_MS * LB_NS_PER_MS;
  int result = 0;
  while (result == 0 && !interrupted && r->tally->done < r->tally->plan->job_count) {
    result = fill(r);
    if (result == 0) result = wait_for_some(r, next_tick);
    if (lb_clock_ns() >= next_tick) {
      tick(r);
      next_tick += TICK_MS * LB_NS_PER_MS;
    }
  }
  return interrupted ? -EINTR : result;
}

/* 128 hosts are 128 open namespaces and as many sockets: as many files as we are allowed to. */
static void raise_file_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

/* After an interruption or a failure the trials that still run are killed and waited for: nobody is
 * left who writes to the run folder. */
int lb_runner_run(struct lb_tally *tally, const struct lb_rundir *dir, int jobs, const struct lb_progress *progress,
                  char *err, size_t err_size) {
  struct runner r = {.tally = tally, .dir = dir, .progress = progress, .err = err, .err_size = err_size};
  struct sigaction action = {.sa_handler = on_signal}, old_int, old_term;
  size_t live_size = SLOTS_MAX * sizeof *r.live;
  r.cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
  r.slots = jobs < 1 ? 1 : jobs > SLOTS_MAX ? SLOTS_MAX : jobs;
  r.live = mmap(NULL, live_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (r.live == MAP_FAILED) return snprintf(err, err_size, "out of memory"), -ENOMEM;
  sigaction(SIGINT, &action, &old_int);
  sigaction(SIGTERM, &action, &old_term);
  raise_file_limit();
  int result = run_all(&r);
  for (int i = 0; i < r.slots; i++)
    if (r.slot[i].result) reap(&r.slot[i]);
  munmap(r.live, live_size);
  sigaction(SIGINT, &old_int, NULL);
  sigaction(SIGTERM, &old_term, NULL);
  if (result == -EINTR) snprintf(err, err_size, "interrupted: nothing was kept");
  return result;
}
