/* SPDX-License-Identifier: MIT
 *
 * engine.h - plays jobs side by side, each trial in a process and sandbox of its own. It pulls a job from a source, and
 * gives the outcome back. What runs beside what is decided here and nowhere else (admit.h). Which jobs there are, in
 * which order, and which are not needed any more, is the source's business: a plan (runner.h), a batch of a hunt (hunt/batch.c).
 */
#ifndef LB_RUN_ENGINE_H
#define LB_RUN_ENGINE_H

#include <stdbool.h>

#include "base/error.h"
#include "admit.h"
#include "plan/job.h"
#include "rundir.h"
#include "trial/trial.h"

enum lb_next {
  LB_NEXT_NOW,
  LB_NEXT_LATER, /* perhaps: it depends on what runs */
  LB_NEXT_NONE,
};

/* A job lives until its outcome is given back. */
struct lb_source {
  void *of;
  size_t left; /* jobs that have not begun, as far as it knows */
  /* Which job is next, of those of a pool (trial/site.h), or of all (NULL). The engine may ask again before it begins. */
  enum lb_next (*next)(void *of, const struct lb_pool *pool, const struct lb_job **ret);
  /* It begins: nothing of it has been played yet. */
  void (*begun)(void *of, const struct lb_job *job);
  /* Its outcome, which is gone after the call. Negative ends the engine. */
  int (*ended)(void *of, const struct lb_job *job, const struct lb_outcome *outcome);
  /* About once a second, and at every start. May be NULL. */
  void (*tick)(void *of, const struct lb_job *const running[], size_t count);
  /* Once at most: servers of a trial that starts do not answer for a while, in one line. May be NULL. */
  void (*slow)(void *of, const char *line);
  /* An order for a person. True = Enter was pressed; false = it was not by the deadline, or a signal came. May be NULL. */
  bool (*by_hand)(void *of, const char *order, lb_ns deadline);
};

/* Plays until the source has none left, so many side by side, those that measure alone. 0; -EINTR after SIGINT,
 * SIGTERM or SIGHUP; what `ended` returned; other -errno when results could not be written (-ENOSPC also if
 * the disk is full when a trial is undecided). Then one line is in err, and all trials are dead. */
int lb_engine_run(struct lb_source *source, const struct lb_rundir *dir, struct lb_jobs jobs, struct lb_error *err);

#endif
