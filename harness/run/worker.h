/* SPDX-License-Identifier: MIT
 *
 * worker.h - a process that plays trials: those it was made for, or, of many that can share its servers, one after the other as it is told.
 */
#ifndef LB_WORKER_H
#define LB_WORKER_H

#include "plan.h"
#include "rundir.h"
#include "trial/trial.h"

struct lb_worker {
  pid_t pid;  /* 0 = there is none */
  int pipe;   /* of outcomes: readable when one is there, or the process has ended */
  int orders; /* the other way */
};
struct lb_worker_says {
  int result;
  struct lb_outcome outcome;
};

/* Plays the jobs at these positions of the plan's order, the first one at once: `told` = another one whenever it is told (of these, each at most once), else all of them
 * in their order. 0 or -errno. */
int lb_worker_start(const struct lb_plan *plan, const size_t position[], size_t count, bool told, const struct lb_rundir *dir, struct lb_live *live,
                    struct lb_worker *ret);
/* To one that is told: what it plays next. < 0 = nothing any more: it clears away its servers and ends. */
void lb_worker_tell(const struct lb_worker *worker, ptrdiff_t position);
/* The next outcome; waits for it. False if the process has died, or died in the middle of it. */
bool lb_worker_hear(const struct lb_worker *worker, struct lb_worker_says *ret);
/* Ends the process, if it is there, and all that it has started. */
void lb_worker_end(struct lb_worker *worker);

#endif
