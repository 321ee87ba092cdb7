/* SPDX-License-Identifier: MIT
 *
 * queue.h - which job of a plan is next. Jobs come in the order of the plan; somebody may say of one that it is not wanted yet, or not any more, by what
 * came of others. Decides, and knows nothing of processes.
 */
#ifndef LB_QUEUE_H
#define LB_QUEUE_H

#include <sys/types.h>

#include "plan.h"

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
  size_t *kind;    /* by position: jobs of one kind can be played on each other's servers (share.h); 0 = on nobody's */
  size_t *example; /* of each kind but the first: a position */
  size_t kinds;
};

/* 0 (release with lb_queue_clear(); the plan must live longer) or -ENOMEM. */
int lb_queue_begin(const struct lb_plan *plan, lb_wanted_ask *ask, void *to, struct lb_queue *ret);
void lb_queue_clear(struct lb_queue *queue);
/* The position of the first job that is wanted now; of those that can be played on the servers of `like`, unless that is NULL. -1 = none. Gives up what
 * nobody wants any more. */
ptrdiff_t lb_queue_next(struct lb_queue *queue, const struct lb_trial_plan *like);
/* Whether one is left, wanted now or later, that can be played on the servers of `like`. */
bool lb_queue_has(const struct lb_queue *queue, const struct lb_trial_plan *like);
/* Whether others could be played on the servers of the job at this position, as far as that can be said before. */
bool lb_queue_shares(const struct lb_queue *queue, size_t position);
/* The positions of those that are left and can be played on the servers of this one, which comes first whether it is left or not: into `ret`, which has room for all
 * jobs. How many. */
size_t lb_queue_alike(const struct lb_queue *queue, size_t position, size_t ret[]);
/* The job at this position has been done before: nobody takes it. */
void lb_queue_leave_out(struct lb_queue *queue, size_t position);
/* The job at this position runs, and one of this cell has ended. */
void lb_queue_take(struct lb_queue *queue, size_t position);
void lb_queue_done(struct lb_queue *queue, const struct lb_job *job);

#endif
