/* SPDX-License-Identifier: MIT
 *
 * timeline_await.h - steps that wait until something is so that somebody has to be asked for, or that a client does to itself. All return 0, or
 * -ECANCELED after lb_stage_doubt().
 */
#ifndef LB_TIMELINE_AWAIT_H
#define LB_TIMELINE_AWAIT_H

#include "stage.h"

/* One server has no record of the key. Not in time: stuck. */
int lb_timeline_await_absent(struct lb_stage *stage, const struct lb_step *step);
/* A client stands still, or has died, at the point that an earlier step has armed. Not in time: undecided, as any fault that did not
 * fire. */
int lb_timeline_await_stopped(struct lb_stage *stage, const struct lb_step *step);
int lb_timeline_await_crashed(struct lb_stage *stage, const struct lb_step *step);
/* A client was told that the lock may be free, and has had no answer since: nobody is asked. One server follows the one that decides now, and has all that
 * this one has. Not in time: undecided. */
int lb_timeline_await_gave_up(struct lb_stage *stage, const struct lb_step *step);
int lb_timeline_await_woken(struct lb_stage *stage, const struct lb_step *step);
int lb_timeline_await_caught_up(struct lb_stage *stage, const struct lb_step *step);
/* The server that decides has ended the session of a client. Not in time, or there is none: undecided. */
int lb_timeline_await_session(struct lb_stage *stage, const struct lb_step *step);
/* Gives one server the time to sync what it has written; not in time, or nobody can say: it is recorded so, and that is all. */
int lb_timeline_let_sync(struct lb_stage *stage, const struct lb_step *step);

#endif
