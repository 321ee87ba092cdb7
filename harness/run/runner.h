/* SPDX-License-Identifier: MIT
 *
 * runner.h - the jobs of a plan, played side by side: which one may start (queue.c), the processes that play them
 * (worker.c), and the loop over both (runner.c).
 */
#ifndef LB_RUN_RUNNER_H
#define LB_RUN_RUNNER_H

#include <stdbool.h>
#include <sys/types.h>

/* ---- which trial may start beside those that run ---- */

/* A trial mostly waits, but its servers take all the processor they can get while they start: three JVMs 1.4 s of it.
 * Started all at once, eight such ensembles are late by so much that their trials are no longer about the lock. */

#include "plan.h"
#include "rundir.h"
#include "tally.h"
#include "trial/trial.h"

/* How many trials run side by side: `always` so many, if there are as many; up to `most` as long as the machine has
 * time left. */
struct lb_jobs {
  int always, most;
};
#define LB_JOBS_MOST 64 /* more are not played side by side, whatever is asked for */
#define LB_JOBS_ALONE ((struct lb_jobs){1, 1})

struct lb_protocol;
struct lb_topology;

/* Processor time until the servers of a trial and its clients are there: a foreign lock has a program for each
 * client. */
int lb_start_ms(const struct lb_protocol *protocol, const struct lb_topology *topology, int clients);

struct lb_crowd {      /* what runs now */
  int running;         /* trials, and who has servers and waits for another one */
  int playing;         /* trials alone */
  struct lb_jobs jobs; /* and how many may */
  double spare;        /* of the processors' time: what nobody used when it was looked last (lb_spare_look()) */
  int since;           /* trials that were started since that look, which did not see them */
  int freed;       /* places that somebody gave up for one that wants servers of its own, and that nobody has taken */
  int starting;    /* of the running ones: those whose servers and clients are not there yet */
  int starting_ms; /* what these cost together (lb_start_ms()) */
  int cores;       /* processors of this machine */
  int waiting;     /* trials that have not been started */
  int serving;     /* of the running ones: those whose servers serve others of them next */
};

/* Whether a trial whose start takes `start_ms` of processor time may start now: there is a place for it, and what
 * starts beside it is little enough for the processors; or nothing starts, so that the dearest one gets its turn.
 * Beyond `always`, a place is there where the processors stood still for half of the time. */
bool lb_admits(const struct lb_crowd *now, int start_ms);
/* Whether one more may run at all, whatever its start costs. */
bool lb_admits_one(const struct lb_crowd *now);
/* Whether one that has its servers already may go on with another trial: always so many may, the others as long as the
 * processors bear it: not if less than three tenths of their time are left. Those that become free between two looks go
 * on together. */
bool lb_admits_another(const struct lb_crowd *now);

/* Which job of a plan is next. Jobs come in the order of the plan; somebody may say of one that it is not wanted yet,
 * or not any more, by what came of others. Decides, and knows nothing of processes. */

enum lb_wanted {
  LB_WANTED_NOW,
  LB_WANTED_LATER, /* perhaps: it depends on one of the same cell that runs */
  LB_WANTED_NO_MORE,
};
/* `running`: jobs of the same cell that have been taken and are not done. */
typedef enum lb_wanted lb_wanted_ask(void *to, const struct lb_job *job, size_t running);

struct lb_queue {
  const struct lb_plan *plan;
  lb_wanted_ask *ask; /* NULL = all are wanted */
  void *to;
  bool *gone;      /* by position in the plan's order: taken, or given up */
  size_t *running; /* by cell */
  size_t left;     /* neither taken nor given up */
  size_t first;    /* no position before it is left */
  size_t *
      kind; /* by position: jobs of one kind can be played on each other's servers (lb_share_together()); 0 = on nobody's */
  size_t *example; /* of each kind but the first: a position */
  size_t kinds;
};

/* 0 (release with lb_queue_clear(); the plan must live longer) or -ENOMEM. */
int lb_queue_begin(const struct lb_plan *plan, lb_wanted_ask *ask, void *to, struct lb_queue *ret);
void lb_queue_clear(struct lb_queue *queue);
/* The position of the first job that is wanted now; of those that can be played on the servers of `like`, unless that
 * is NULL. -1 = none. Gives up what nobody wants any more. */
ptrdiff_t lb_queue_next(struct lb_queue *queue, const struct lb_trial_plan *like);
/* Whether one is left, wanted now or later, that can be played on the servers of `like`. */
bool lb_queue_has(const struct lb_queue *queue, const struct lb_trial_plan *like);
/* Whether others could be played on the servers of the job at this position, as far as that can be said before. */
bool lb_queue_shares(const struct lb_queue *queue, size_t position);
/* The positions of those that are left and can be played on the servers of this one, which comes first whether it is
 * left or not: into `ret`, which has room for all jobs. How many. */
size_t lb_queue_alike(const struct lb_queue *queue, size_t position, size_t ret[]);
/* The job at this position has been done before: nobody takes it. */
void lb_queue_leave_out(struct lb_queue *queue, size_t position);
/* The job at this position runs, and one of this cell has ended. */
void lb_queue_take(struct lb_queue *queue, size_t position);
void lb_queue_done(struct lb_queue *queue, const struct lb_job *job);

/* A process that plays trials: those it was made for, or, of many that can share its servers, one after the other as it
 * is told. */

struct lb_worker {
  pid_t pid;  /* 0 = there is none */
  int pipe;   /* of outcomes: readable when one is there, or the process has ended */
  int orders; /* the other way */
};
struct lb_worker_says {
  int result;
  struct lb_outcome outcome;
};

/* Plays the jobs at these positions of the plan's order, the first one at once: `told` = another one whenever it is
 * told (of these, each at most once), else all of them in their order. 0 or -errno. */
int lb_worker_start(const struct lb_plan *plan, const size_t position[], size_t count, bool told,
                    const struct lb_rundir *dir, struct lb_live *live, struct lb_worker *ret);
/* To one that is told: what it plays next. < 0 = nothing any more: it clears away its servers and ends. */
void lb_worker_tell(const struct lb_worker *worker, ptrdiff_t position);
/* The next outcome; waits for it. False if the process has died, or died in the middle of it. */
bool lb_worker_hear(const struct lb_worker *worker, struct lb_worker_says *ret);
/* Ends the process, if it is there, and all that it has started. */
void lb_worker_end(struct lb_worker *worker);

/* Runs the jobs of a plan, each trial in a process (and sandbox) of its own, several
 * side by side. */

struct lb_progress { /* what a display may want; called on the runner's thread */
  void (*finished)(void *display, const struct lb_tally *tally, const struct lb_job_result *result);
  /* About once a second and at every start and end of a trial. `running` lists them, with `grants`
   * so far. */
  void (*tick)(void *display, const struct lb_tally *tally, const struct lb_job *const *running, const uint64_t *grants,
               size_t count);
  /* Asked before a trial is started. NULL = all are wanted. */
  lb_wanted_ask *wanted;
  void *display;
};

/* Runs all jobs of the tally's plan that are wanted and not done yet, and fills it: timelines side by side, as many as
 * `jobs` says and as the machine bears (lb_admits()), trials that measure alone. 0; -EINTR after SIGINT, SIGTERM or
 * SIGHUP; other -errno when results could not be written (-ENOSPC also if the disk is full when a trial is undecided).
 * Then one line is in err, all trials are dead, and those that had not ended are not in the tally. */
int lb_runner_run(struct lb_tally *tally, const struct lb_rundir *dir, struct lb_jobs jobs,
                  const struct lb_progress *progress, char *err, size_t err_size);

#endif
