/* SPDX-License-Identifier: MIT
 *
 * The loop over the processes that play. One pipe per process brings its outcomes; its end without an outcome is a trial
 * that died. A trial that takes longer than any bound of its scenario is killed and undecided.
 *
 * A process per trial, or per trials that share their servers, and no thread anywhere: whatever a trial does to its
 * memory, its signals or its files, the next one begins clean, and the engine can always kill it. Trials share nothing
 * with the engine but the pipe and a page that says whether they have started.
 */
#include "engine.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/machine.h"
#include "network/sandbox.h"
#include "own/guardian.h"
#include "own/own.h"
#include "trial/crew.h"
#include "trial/workload.h"
#include "trial/timeline.h"

/* PATIENCE_S is for what neither a scenario nor trial/crew.h bounds: starting servers, judging. It
 * is long, because it only has to end what would never end. */
enum { TICK_MS = 1000, LOOK_MS = 20, PATIENCE_S = 180, CAMPAIGN_PATIENCE_S = 120, END_S = 60, FULL_BYTES = 64 * 1024 };

/* ---- a worker ---- */

/* A worker is a process that plays a job, and then the jobs of its pool that it is told. It inherits all jobs, so an
 * order is the address of one. That is less than a pipe holds, so no writer waits for a reader.
 *
 * The child inherits the write end of outcomes and this process closes its own copy: so the pipe ends when the trial
 * does, however it ends. Orders have no such end, for processes that start later inherit our copy: the last order says
 * that it is the last. */

struct worker {
  pid_t pid;  /* 0 = there is none */
  int pipe;   /* of outcomes: readable when one is there, or the process has ended */
  int orders; /* the other way */
};
struct says {
  int result;
  struct lb_outcome outcome;
};

/* ---- in the process of a trial -------------------------------------------------------------------------------- */

struct pipes {
  int out, in;
};

static void deliver(void *to, int result, const struct lb_outcome *outcome) {
  const struct pipes *pipes = to;
  struct says says = {.result = result, .outcome = *outcome};
  if (write(pipes->out, &says, sizeof says) != (ssize_t)sizeof says) _exit(1);
}

static const struct lb_trial_plan *hear_order(void *to) {
  const struct pipes *pipes = to;
  const struct lb_trial_plan *order;
  return lb_files_read_exactly(pipes->in, &order, sizeof order) ? order : NULL;
}

static _Noreturn void work(const struct lb_trial_plan *plan, struct pipes *pipes, const char *folder,
                           struct lb_live *live) {
  setpgid(0, 0); /* Ctrl-C is for the tool: a trial whose clients it kills would be undecided */
  if (!plan->topology->own) lb_own_forget_logins();
  lb_trial_run(plan, folder, live, hear_order, deliver, pipes);
  _exit(0);
}

/* A trial whose servers are not ours keeps the network of this machine: the user named them, or only a foreign program
 * knows where they are. A fault of links needs a network of its own. */
static bool is_online(const struct lb_trial_plan *plan) {
  bool elsewhere =
      plan->topology->data_count == 0 && !plan->topology->members && plan->protocol->traits & LB_TRAIT_FOREIGN;
  return plan->topology->own || (elsewhere && !lb_scenario_needs(plan->scenario, LB_NEED_NETWORK));
}

/* ---- outside ----------------------------------------------------------------------------------------------------- */

static void close_both(const int fd[2]) {
  close(fd[0]);
  close(fd[1]);
}

static int worker_start(const struct lb_job *job, const struct lb_rundir *dir, struct lb_live *live,
                        struct worker *ret) {
  int out[2], in[2], r = 0;
  if (pipe2(out, O_CLOEXEC) < 0) return -errno;
  if (pipe2(in, O_CLOEXEC) < 0) return r = -errno, close_both(out), r;
  pid_t pid = is_online(&job->plan) ? lb_sandbox_fork_online(dir->alive, dir->guard_pipe)
                                    : lb_sandbox_fork(dir->alive, dir->guard_pipe);
  if (pid == 0) work(&job->plan, &(struct pipes){out[1], in[0]}, dir->partial, live);
  close(out[1]);
  close(in[0]);
  if (pid < 0) return close(out[0]), close(in[1]), pid;
  setpgid(pid, pid); /* both processes do, as either may be first */
  *ret = (struct worker){.pid = pid, .pipe = out[0], .orders = in[1]};
  return 0;
}

/* NULL = nothing comes any more. One that has died in between is noticed when its outcome is read. */
static void worker_tell(const struct worker *worker, const struct lb_job *job) {
  const struct lb_trial_plan *order = job ? &job->plan : NULL;
  if (write(worker->orders, &order, sizeof order) != (ssize_t)sizeof order) kill(worker->pid, SIGKILL);
}

/* Half a message counts as none. */
static bool worker_hear(const struct worker *worker, struct says *ret) {
  return lb_files_read_exactly(worker->pipe, ret, sizeof *ret);
}

/* SIGKILL comes first also for one that has delivered: it has nothing left to do, and its whole
 * namespace goes with it. */
static void worker_end(struct worker *worker) {
  if (worker->pid <= 0) return;
  kill(worker->pid, SIGKILL);
  while (waitpid(worker->pid, NULL, 0) < 0 && errno == EINTR) {
  }
  close(worker->pipe);
  close(worker->orders);
  *worker = (struct worker){0};
}

/* ---- the engine ---- */

/* A place for a worker. States: free (no process); playing (it has a job); idle (it waits to be told, with servers of its
 * pool); ending (it has been told that nothing comes any more). */
struct slot {
  struct worker worker;
  const struct lb_job *job;
  const struct lb_pool *pool;
  bool ending;
  lb_ns begun;    /* of the job */
  lb_ns deadline; /* of the job, or of its end */
};

struct engine {
  struct lb_source *source;
  const struct lb_rundir *dir;
  struct slot slot[LB_JOBS_MOST];
  struct lb_live *live; /* one per slot, shared with the trials */
  bool told_slow;       /* a person heard once that servers do not answer */
  struct lb_jobs jobs;  /* jobs.most slots */
  int cores;
  struct lb_spare spare;       /* at the last look */
  int since;                   /* trials that were started since that look */
  enum lb_next left;           /* what the source said last of any job */
  enum lb_admission admission; /* of the last job that it had */
  struct lb_error *err;
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
  double s = PATIENCE_S + plan->scenario->warmup_s + 2 * plan->scenario->settle_s + plan->scenario->duration_s +
             2e-3 * (double)plan->scenario->wait_ms;
  if (plan->scenario->kind == LB_KIND_CAMPAIGN) s += CAMPAIGN_PATIENCE_S;
  if (plan->scenario->kind == LB_KIND_TIMELINE) s += 1e-3 * (double)lb_timeline_closing_ms(plan->scenario) + 5;
  for (size_t i = 0; i < plan->scenario->step_count; i++) s += 1e-3 * (double)plan->scenario->steps[i].within_ms + 5;
  return (lb_ns)(s * 1e9) + lb_crew_open_most(plan) + (lb_workload_heat_needed(plan) ? lb_workload_heat_most() : 0);
}

static int start_ms_of(const struct lb_job *job) {
  return lb_admit_start_ms(job->plan.protocol, job->plan.topology, job->plan.clients);
}

/* ---- who does what ------------------------------------------------------------------------------------------------ */

static bool is_idle(const struct slot *slot) { return slot->worker.pid && !slot->job && !slot->ending; }

static int count(const struct engine *e, bool (*is)(const struct slot *slot)) {
  int n = 0;
  for (int i = 0; i < e->jobs.most; i++) n += is(&e->slot[i]);
  return n;
}
static bool is_busy(const struct slot *slot) { return slot->worker.pid != 0; }
static bool is_playing(const struct slot *slot) { return slot->job; }
static bool is_ending(const struct slot *slot) { return slot->ending; }
static bool is_measuring(const struct slot *slot) { return slot->job && lb_job_measures(slot->job); }
static bool is_serving(const struct slot *slot) { return slot->job && slot->job->plan.pool; }

static struct lb_crowd crowd(const struct engine *e) {
  struct lb_crowd now = {.jobs = e->jobs,
                         .cores = e->cores,
                         .running = count(e, is_busy),
                         .playing = count(e, is_playing),
                         .measuring = count(e, is_measuring) > 0,
                         .waiting = (int)e->source->left,
                         .serving = count(e, is_serving),
                         .spare = e->spare.share,
                         .tight = e->spare.tight,
                         .since = e->since};
  for (int i = 0; i < e->jobs.most; i++) {
    if (!e->slot[i].job || atomic_load(&e->live[i].started)) continue;
    int left_ms = lb_admit_start_left_ms(start_ms_of(e->slot[i].job),
                                         (int64_t)((lb_clock_ns() - e->slot[i].begun) / LB_NS_PER_MS), e->spare.share);
    now.starting += left_ms > 0;
    now.starting_ms += left_ms;
  }
  return now;
}

static void tell_slow(struct engine *e) {
  if (!e->source->slow) return;
  for (int i = 0; i < e->jobs.most && !e->told_slow; i++)
    if (e->slot[i].job && atomic_load(&e->live[i].slow.said))
      e->told_slow = true, e->source->slow(e->source->of, e->live[i].slow.line);
}

/* A trial that waits for a person waits alone: nothing else is played then. */
static void hand_out(struct engine *e) {
  for (int i = 0; i < e->jobs.most && e->source->by_hand; i++) {
    struct lb_by_hand *hand = &e->live[i].by_hand;
    int ordered = LB_HAND_ORDERED;
    if (!e->slot[i].job || atomic_load(&hand->state) != ordered) continue;
    bool done = e->source->by_hand(e->source->of, hand->order, hand->deadline);
    atomic_compare_exchange_strong(&hand->state, &ordered, done ? LB_HAND_DONE : LB_HAND_REFUSED);
  }
}

static void tick(struct engine *e) {
  const struct lb_job *running[LB_JOBS_MOST];
  size_t n = 0;
  for (int i = 0; i < e->jobs.most; i++)
    if (e->slot[i].job) running[n++] = e->slot[i].job;
  tell_slow(e);
  hand_out(e);
  if (e->source->tick) e->source->tick(e->source->of, running, n);
}

/* ---- jobs begin --------------------------------------------------------------------------------------------------- */

static enum lb_next next(const struct engine *e, const struct lb_pool *pool, const struct lb_job **ret) {
  return e->source->next(e->source->of, pool, ret);
}

static void begin(struct engine *e, struct slot *slot, const struct lb_job *job, bool starts) {
  e->source->begun(e->source->of, job);
  e->since += starts;
  slot->job = job;
  slot->pool = job->plan.pool;
  slot->begun = lb_clock_ns();
  slot->deadline = slot->begun + patience(&job->plan);
  if (starts) atomic_store(&e->live[slot - e->slot].started, false);
}

static void end(struct slot *slot) {
  slot->ending = true;
  slot->deadline = lb_clock_ns() + END_S * LB_NS_PER_S;
  worker_tell(&slot->worker, NULL);
}

static struct lb_entry entry(const struct lb_job *job, bool starts) {
  return (struct lb_entry){.start_ms = start_ms_of(job), .starts = starts, .measures = lb_job_measures(job)};
}

/* It has a place already, but fresh servers cost a start. */
static bool may_go_on(const struct engine *e, const struct lb_job *job) {
  struct lb_crowd now = crowd(e);
  struct lb_entry wants = entry(job, job->plan.fresh);
  now.running--;
  now.serving = 0;
  return lb_crowd_admits(&now, &wants) == LB_ADMIT_NOW;
}

/* Those that wait get what is left for their servers; where nothing is, they end. */
static void offer(struct engine *e) {
  for (int i = 0; i < e->jobs.most; i++) {
    struct slot *slot = &e->slot[i];
    const struct lb_job *job;
    if (!is_idle(slot)) continue;
    enum lb_next what = next(e, slot->pool, &job);
    if (what == LB_NEXT_NONE) end(slot);
    if (what != LB_NEXT_NOW || !may_go_on(e, job)) continue;
    begin(e, slot, job, job->plan.fresh);
    worker_tell(&slot->worker, job);
  }
}

/* One that waits makes room for a job that cannot be played on its servers. One at a time, and not before it is
 * gone. */
static void make_room(struct engine *e) {
  for (int i = 0; i < e->jobs.most && count(e, is_ending) == 0; i++)
    if (is_idle(&e->slot[i])) end(&e->slot[i]);
}

static int start(struct engine *e, const struct lb_job *job) {
  struct slot *slot = e->slot;
  while (slot->worker.pid) slot++;
  struct lb_live *live = &e->live[slot - e->slot];
  *live = (struct lb_live){0};
  *slot = (struct slot){0};
  begin(e, slot, job, true);
  int r = worker_start(job, e->dir, live, &slot->worker);
  if (r < 0) return lb_error(e->err, r, "cannot start a trial: %s", strerror(-r));
  tick(e);
  return 0;
}

/* Starts what may run now. A trial that measures waits until it is alone, and nothing starts beside it. */
static int fill(struct engine *e) {
  const struct lb_job *job;
  int r = 0;
  while (r == 0 && (e->left = next(e, NULL, &job)) == LB_NEXT_NOW) {
    struct lb_crowd now = crowd(e);
    struct lb_entry wants = entry(job, true);
    e->admission = lb_crowd_admits(&now, &wants);
    if (e->admission == LB_ADMIT_PLACE) make_room(e);
    if (e->admission != LB_ADMIT_NOW) return 0;
    r = start(e, job);
  }
  return r;
}

/* ---- jobs end ----------------------------------------------------------------------------------------------------- */

static void reap(struct slot *slot) {
  worker_end(&slot->worker);
  *slot = (struct slot){0};
}

/* What servers cannot write, they do not survive: that says nothing of a lock. */
static bool is_full(const char *folder) {
  struct statvfs fs;
  return statvfs(folder, &fs) == 0 && fs.f_bavail * fs.f_frsize < FULL_BYTES;
}

/* Takes an outcome. The result is that of the trial: negative if the harness could not do its work, which ends all. */
static int finish(const struct engine *e, struct slot *slot, bool late) {
  struct says says;
  const struct lb_job *job = slot->job;
  bool lives = !late && worker_hear(&slot->worker, &says);
  if (!lives && interrupted) return -EINTR; /* it may have died of the same signal */
  if (!lives) {
    says = (struct says){.outcome = {.verdict = LB_UNDECIDED, .counters = lb_counters_none()}};
    snprintf(says.outcome.why, sizeof says.outcome.why, "the trial's process %s",
             late ? "took too long and was killed" : "died");
  }
  slot->job = NULL;
  if (!lives || !slot->pool) reap(slot);
  if (!lives) lb_rundir_forget(e->dir->partial, job->plan.name, false); /* it may have been writing */
  if (says.result == 0 && says.outcome.verdict == LB_UNDECIDED && is_full(e->dir->partial)) {
    says.result = -ENOSPC;
    says.outcome.why[0] = '\0';
  }
  if (says.result < 0) {
    lb_refuse(e->err, "%s: %s", job->plan.name, says.outcome.why[0] ? says.outcome.why : strerror(-says.result));
    return says.result;
  }
  int r = e->source->ended(e->source->of, job, &says.outcome);
  return r == 0 && job->plan.topology->mandate ? lb_guardian_rest(e->err) : r;
}

/* ---- the loop ----------------------------------------------------------------------------------------------------- */

/* Whether a job waits for an event without a notice: that others have started, or that a processor is idle. */
static bool waits_for_the_machine(const struct engine *e) {
  if (e->source->left == 0) return false;
  bool waits = e->left == LB_NEXT_NOW && e->admission == LB_ADMIT_LATER;
  return e->left == LB_NEXT_LATER || waits || count(e, is_idle) > 0;
}

/* Waits until a trial ends, a signal comes, the next tick is due, or starting trials have to be looked at.
 * Deadlines are looked at once a tick or more often, which is soon enough for them. */
static int wait_for_some(struct engine *e, lb_ns next_tick) {
  struct pollfd p[LB_JOBS_MOST];
  int which[LB_JOBS_MOST], n = 0, result = 0;
  for (int i = 0; i < e->jobs.most; i++)
    if (e->slot[i].worker.pid) {
      which[n] = i;
      p[n++] = (struct pollfd){.fd = e->slot[i].worker.pipe, .events = POLLIN};
    }
  lb_ns now = lb_clock_ns();
  int left_ms = next_tick > now ? (int)((next_tick - now) / LB_NS_PER_MS) + 1 : 0;
  if (left_ms > LOOK_MS && waits_for_the_machine(e)) left_ms = LOOK_MS;
  if (poll(p, (nfds_t)n, left_ms) < 0) return errno == EINTR ? 0 : -errno;
  for (int i = 0; i < n && result == 0; i++) {
    struct slot *slot = &e->slot[which[i]];
    bool late = lb_clock_ns() > slot->deadline && !is_idle(slot);
    if (!p[i].revents && !late) continue;
    if (slot->job) result = finish(e, slot, !p[i].revents);
    else reap(slot); /* it has ended, as it was told, or died while it waited */
  }
  return result;
}

static int run_all(struct engine *e) {
  lb_ns next_tick = lb_clock_ns() + TICK_MS * LB_NS_PER_MS;
  int result = 0;
  while (result == 0 && !interrupted) {
    if (lb_spare_look(&e->spare)) e->since = 0;
    offer(e);
    result = fill(e);
    if (result < 0 || (count(e, is_busy) == 0 && e->left == LB_NEXT_NONE)) break;
    result = wait_for_some(e, next_tick);
    if (lb_clock_ns() >= next_tick) {
      tick(e);
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

/* After an interruption or a failure the trials that still run are killed and waited for: no process writes to the run
 * folder any more. */
int lb_engine_run(struct lb_source *source, const struct lb_rundir *dir, struct lb_jobs jobs, struct lb_error *err) {
  struct engine e = {.source = source, .dir = dir, .err = err};
  struct sigaction action = {.sa_handler = on_signal}, old_int, old_term, old_hup;
  size_t live_size = LB_JOBS_MOST * sizeof *e.live;
  e.cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
  e.jobs.most = jobs.most < 1 ? 1 : jobs.most > LB_JOBS_MOST ? LB_JOBS_MOST : jobs.most;
  e.jobs.always = jobs.always < 1 ? 1 : jobs.always;
  e.live = mmap(NULL, live_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (e.live == MAP_FAILED) return lb_error(err, -ENOMEM, "out of memory");
  sigaction(SIGINT, &action, &old_int);
  sigaction(SIGTERM, &action, &old_term);
  sigaction(SIGHUP, &action, &old_hup);
  raise_file_limit();
  int result = run_all(&e);
  for (int i = 0; i < e.jobs.most; i++)
    if (e.slot[i].worker.pid) reap(&e.slot[i]);
  munmap(e.live, live_size);
  sigaction(SIGINT, &old_int, NULL);
  sigaction(SIGTERM, &old_term, NULL);
  sigaction(SIGHUP, &old_hup, NULL);
  if (result == -EINTR) lb_error(err, result, "interrupted");
  return result;
}
