/* SPDX-License-Identifier: MIT
 *
 * One pipe per running trial brings its outcome; its end without an outcome is a trial that died. A
 * trial that takes longer than any bound of its scenario is killed and undecided.
 *
 * A process per trial, or per series of trials that share their servers, and no thread anywhere: whatever a trial does
 * to its memory, its signals or its files, the next one begins clean, and the runner can always kill it. Trials share
 * nothing with the runner but the pipe and a page of live counters, which is only shown and never
 * counted.
 */
#include "runner.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/machine.h"
#include "trial/crew.h"
#include "trial/workload.h"
#include "trial/timeline.h"

/* PATIENCE_S is for what neither a scenario nor trial/crew.h bounds: starting servers, judging. It
 * is long, because it only has to end what would never end. */
enum {
  SLOTS_MAX = LB_JOBS_MOST,
  TICK_MS = 1000,
  LOOK_MS = 20,
  PATIENCE_S = 180,
  CAMPAIGN_PATIENCE_S = 120,
  END_S = 60,
  FULL_BYTES = 64 * 1024
};

/* A place for a worker. States: free (no process); running; idle (it waits to be told); ending (it has been told that
 * nothing comes any more). */
struct slot {
  struct lb_worker worker;
  struct lb_job_result *result; /* of the trial that runs now; NULL = none does */
  size_t next, end;             /* positions in the plan's order: of the trial after it, and behind the last one */
  const struct lb_trial_plan
      *like; /* whoever can be played on these servers may be told to it; NULL = it is not told */
  bool ending;
  lb_ns deadline; /* of the trial, or of its end */
};

struct runner {
  struct lb_tally *tally;
  const struct lb_rundir *dir;
  const struct lb_progress *progress;
  struct slot slot[SLOTS_MAX];
  /* One per slot, shared with the trials. */
  struct lb_live *live;
  int slots, cores;
  struct lb_jobs jobs;
  struct lb_spare spare;
  int since; /* trials that were started since the last look at that */
  int freed; /* places that were given up for one that wants servers of its own */
  struct lb_queue queue;
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
  double s = PATIENCE_S + plan->scenario->warmup_s + 2 * plan->scenario->settle_s + plan->scenario->duration_s +
             2e-3 * (double)plan->scenario->wait_ms;
  if (plan->scenario->kind == LB_KIND_CAMPAIGN) s += CAMPAIGN_PATIENCE_S;
  if (plan->scenario->kind == LB_KIND_TIMELINE) s += 1e-3 * (double)lb_timeline_closing_ms(plan->scenario) + 5;
  for (size_t i = 0; i < plan->scenario->step_count; i++) s += 1e-3 * (double)plan->scenario->steps[i].within_ms + 5;
  return (lb_ns)(s * 1e9) + lb_crew_open_most(plan) + (lb_heat_needed(plan) ? lb_heat_most() : 0);
}

static const struct lb_job *job_at(const struct runner *r, size_t position) {
  return &r->tally->plan->jobs[r->tally->plan->order[position]];
}

/* The trial at this position runs in the slot from now on. */
static void run_at(struct runner *r, struct slot *slot, size_t position) {
  slot->result = &r->tally->jobs[r->tally->plan->order[position]];
  slot->deadline = lb_clock_ns() + patience(&slot->result->job->plan);
}

/* `series` jobs from this position on, which belong together; or, where servers are shared, this one and then whatever
 * it is told. */
static int start(struct runner *r, struct slot *slot, size_t position, size_t series) {
  const struct lb_plan *plan = r->tally->plan;
  size_t *positions = malloc((plan->job_count + 1) * sizeof *positions);
  struct lb_live *live = &r->live[slot - r->slot];
  if (!positions) return -ENOMEM;
  for (size_t i = 1; i < series; i++)
    if (r->tally->jobs[plan->order[position + i]].done) series = i;
  bool told = plan->reuse && series == 1 && lb_queue_shares(&r->queue, position);
  size_t count = series;
  for (size_t i = 0; i < series; i++) positions[i] = position + i;
  if (told) count = lb_queue_alike(&r->queue, position, positions);
  *live = (struct lb_live){0};
  *slot =
      (struct slot){.next = position + 1, .end = position + series, .like = told ? &job_at(r, position)->plan : NULL};
  int result = lb_worker_start(plan, positions, count, told, r->dir, live, &slot->worker);
  free(positions);
  if (result < 0) return result;
  for (size_t i = 0; i < series; i++) lb_queue_take(&r->queue, position + i);
  run_at(r, slot, position);
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
  if (r->progress && r->progress->tick) r->progress->tick(r->progress->display, r->tally, running, grants, count);
}

static void reap(struct slot *slot) {
  lb_worker_end(&slot->worker);
  *slot = (struct slot){0};
}

/* The next one of its series, or it waits to be told; else it is at its end. `lives`: its process has not died. */
static void go_on(struct runner *r, struct slot *slot, bool lives) {
  slot->result = NULL;
  if (slot->next < slot->end) run_at(r, slot, slot->next++);
  else if (!slot->like || !lives) reap(slot);
}

/* What servers cannot write, they do not survive: that says nothing of a lock. */
static bool is_full(const char *folder) {
  struct statvfs fs;
  return statvfs(folder, &fs) == 0 && fs.f_bavail * fs.f_frsize < FULL_BYTES;
}

/* Takes an outcome. A process that has
 * died leaves the rest of its series undecided, one by one. The result is that of the trial: negative if the
 * harness could not do its work, which ends the run. */
static int finish(struct runner *r, struct slot *slot, bool late) {
  struct lb_worker_says says;
  struct lb_job_result *result = slot->result;
  bool lives = !late && lb_worker_hear(&slot->worker, &says);
  if (!lives && interrupted) return -EINTR; /* it may have died of the same signal */
  if (!lives) {
    says = (struct lb_worker_says){.outcome = {.verdict = LB_UNDECIDED, .counters = lb_counters_none()}};
    snprintf(says.outcome.why, sizeof says.outcome.why, "the trial's process %s",
             late ? "took too long and was killed" : "died");
  }
  if (late) kill(slot->worker.pid, SIGKILL);
  lb_queue_done(&r->queue, result->job);
  go_on(r, slot, lives);
  if (says.result == 0 && says.outcome.verdict == LB_UNDECIDED && is_full(r->dir->partial)) {
    says.result = -ENOSPC;
    says.outcome.why[0] = '\0';
  }
  if (says.result < 0) {
    snprintf(r->err, r->err_size, "%s: %s", result->job->plan.name,
             says.outcome.why[0] ? says.outcome.why : strerror(-says.result));
    return says.result;
  }
  lb_tally_add(r->tally, result, &says.outcome);
  if (r->progress && r->progress->finished) r->progress->finished(r->progress->display, r->tally, result);
  return 0;
}

static int playing(const struct runner *r) {
  int n = 0;
  for (int i = 0; i < r->slots; i++) n += r->slot[i].result != NULL;
  return n;
}

static int busy_slots(const struct runner *r) {
  int n = 0;
  for (int i = 0; i < r->slots; i++) n += r->slot[i].worker.pid != 0;
  return n;
}

static int start_ms_of(const struct lb_job *job) {
  return lb_start_ms(job->plan.protocol, job->plan.topology, job->plan.clients);
}

static struct lb_crowd crowd(const struct runner *r) {
  struct lb_crowd now = {.running = busy_slots(r),
                         .playing = playing(r),
                         .jobs = r->jobs,
                         .spare = r->spare.share,
                         .since = r->since,
                         .freed = r->freed,
                         .cores = r->cores,
                         .waiting = (int)r->queue.left};
  for (int i = 0; i < r->slots; i++) {
    now.serving += r->slot[i].like && !r->slot[i].ending;
    if (!r->slot[i].result || atomic_load(&r->live[i].started)) continue;
    now.starting++;
    now.starting_ms += start_ms_of(r->slot[i].result->job);
  }
  return now;
}

/* One that wants fresh servers is before this position (< 0 = there is none), and no place is left but those of workers
 * that wait to be told. One gives way at a time. */
static bool gives_way(struct runner *r, ptrdiff_t position) {
  struct lb_crowd now = crowd(r);
  if (r->freed > 0 || lb_admits_one(&now)) return false;
  ptrdiff_t first = lb_queue_next(&r->queue, NULL);
  return first >= 0 && (position < 0 || first < position) && job_at(r, (size_t)first)->plan.fresh;
}

/* What it is told is what runs in its slot from now on; < 0 = nothing any more. */
static void tell(struct runner *r, struct slot *slot, ptrdiff_t position) {
  if (position >= 0) {
    lb_queue_take(&r->queue, (size_t)position);
    run_at(r, slot, (size_t)position);
  } else {
    slot->ending = true;
    slot->deadline = lb_clock_ns() + END_S * LB_NS_PER_S;
  }
  lb_worker_tell(&slot->worker, position);
}

/* Those that wait get what is left for their servers; where nothing is, they end. */
static void tell_idle(struct runner *r) {
  if (lb_spare_look(&r->spare)) r->since = 0;
  for (int i = 0; i < r->slots; i++) {
    struct slot *slot = &r->slot[i];
    if (!slot->worker.pid || slot->result || slot->ending) continue;
    ptrdiff_t position = lb_queue_next(&r->queue, slot->like);
    struct lb_crowd now = crowd(r);
    if (gives_way(r, position)) {
      r->freed++;
      tell(r, slot, -1);
    } else if (position < 0 && now.playing > 0 && lb_queue_has(&r->queue, slot->like)) {
      continue; /* what runs decides whether it is wanted */
    } else if (position < 0 || lb_admits_another(&now)) {
      tell(r, slot, position);
    }
  }
}

/* Whether the next job waits for others that are starting, or for processors, which nobody will tell of. */
static bool waits_for_the_machine(const struct runner *r) {
  struct lb_crowd now = crowd(r);
  if (r->queue.left == 0) return false;
  if (now.playing < now.running) return true;
  return now.running < now.jobs.always ? now.starting > 0 : now.running < now.jobs.most;
}

/* Starts what may run now. A trial that measures waits until it is alone, and nothing starts beside
 * it. The order puts those first, so that the waiting happens once. */
static int fill(struct runner *r) {
  const struct lb_plan *plan = r->tally->plan;
  for (ptrdiff_t at; (at = lb_queue_next(&r->queue, NULL)) >= 0;) {
    const struct lb_job *job = job_at(r, (size_t)at);
    struct lb_crowd now = crowd(r);
    if (!lb_admits(&now, start_ms_of(job))) return 0;
    bool measuring = lb_job_measures(job);
    for (int i = 0; i < r->slots; i++)
      if (r->slot[i].result) measuring |= lb_job_measures(r->slot[i].result->job);
    if (measuring && busy_slots(r) > 0) return 0;
    int free_slot = 0;
    while (r->slot[free_slot].worker.pid) free_slot++;
    int result = start(r, &r->slot[free_slot], (size_t)at, lb_plan_series(plan, (size_t)at));
    if (result < 0) return snprintf(r->err, r->err_size, "cannot start a trial: %s", strerror(-result)), result;
    r->since++;
    if (r->freed > 0) r->freed--;
    tick(r);
  }
  return 0;
}

/* Until a trial ends, a signal comes, the next tick is due, or those that are starting are to be looked at. Deadlines
 * are looked at once a tick or more often, which is soon enough for them. */
static int wait_for_some(struct runner *r, lb_ns next_tick) {
  struct pollfd p[SLOTS_MAX];
  int which[SLOTS_MAX], count = 0, result = 0;
  for (int i = 0; i < r->slots; i++)
    if (r->slot[i].worker.pid) {
      which[count] = i;
      p[count++] = (struct pollfd){.fd = r->slot[i].worker.pipe, .events = POLLIN};
    }
  lb_ns now = lb_clock_ns();
  int left_ms = next_tick > now ? (int)((next_tick - now) / LB_NS_PER_MS) + 1 : 0;
  if (left_ms > LOOK_MS && waits_for_the_machine(r)) left_ms = LOOK_MS;
  if (poll(p, (nfds_t)count, left_ms) < 0) return errno == EINTR ? 0 : -errno;
  for (int i = 0; i < count && result == 0; i++) {
    struct slot *slot = &r->slot[which[i]];
    bool late = lb_clock_ns() > slot->deadline && (slot->result || slot->ending);
    if (!p[i].revents && !late) continue;
    if (slot->result) result = finish(r, slot, !p[i].revents);
    else reap(slot); /* it has ended, as it was told, or died while it waited */
  }
  return result;
}

static int run_all(struct runner *r) {
  lb_ns next_tick = lb_clock_ns() + TICK_MS * LB_NS_PER_MS;
  int result = 0;
  while (result == 0 && !interrupted) {
    tell_idle(r);
    result = fill(r);
    if (result < 0 || busy_slots(r) == 0) break;
    result = wait_for_some(r, next_tick);
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
int lb_runner_run(struct lb_tally *tally, const struct lb_rundir *dir, struct lb_jobs jobs,
                  const struct lb_progress *progress, char *err, size_t err_size) {
  struct runner r = {.tally = tally, .dir = dir, .jobs = jobs, .progress = progress, .err = err, .err_size = err_size};
  struct sigaction action = {.sa_handler = on_signal}, old_int, old_term, old_hup;
  size_t live_size = SLOTS_MAX * sizeof *r.live;
  r.cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
  r.slots = jobs.most < 1 ? 1 : jobs.most > SLOTS_MAX ? SLOTS_MAX : jobs.most;
  r.jobs = (struct lb_jobs){.always = jobs.always < 1         ? 1
                                      : jobs.always > r.slots ? r.slots
                                                              : jobs.always,
                            .most = r.slots};
  r.live = mmap(NULL, live_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (r.live == MAP_FAILED) return snprintf(err, err_size, "out of memory"), -ENOMEM;
  if (lb_queue_begin(tally->plan, progress ? progress->wanted : NULL, progress ? progress->display : NULL, &r.queue) <
      0)
    return munmap(r.live, live_size), snprintf(err, err_size, "out of memory"), -ENOMEM;
  for (size_t i = 0; i < tally->plan->job_count; i++)
    if (tally->jobs[tally->plan->order[i]].done) lb_queue_leave_out(&r.queue, i);
  sigaction(SIGINT, &action, &old_int);
  sigaction(SIGTERM, &action, &old_term);
  sigaction(SIGHUP, &action, &old_hup);
  raise_file_limit();
  int result = run_all(&r);
  for (int i = 0; i < r.slots; i++)
    if (r.slot[i].worker.pid) reap(&r.slot[i]);
  lb_queue_clear(&r.queue);
  munmap(r.live, live_size);
  sigaction(SIGINT, &old_int, NULL);
  sigaction(SIGTERM, &old_term, NULL);
  sigaction(SIGHUP, &old_hup, NULL);
  if (result == -EINTR) snprintf(err, err_size, "interrupted");
  return result;
}
