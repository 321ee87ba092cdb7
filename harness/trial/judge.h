/* SPDX-License-Identifier: MIT
 *
 * judge.h - from the events of a finished trial to its verdict and its files (keep.c).
 */
#ifndef LB_JUDGE_H
#define LB_JUDGE_H

#include "base/error.h"
#include "check/check.h"
#include "check/stats.h"
#include "stage.h"

struct lb_judgement { /* what the verdict was found by, beside stage->history */
  struct lb_check check;
  struct lb_stats stats;
};

/* Makes the history out of the stage's memory, and fills the counts, the figures and the verdict of *out. 0 or -ENOMEM.
 * Release *ret in any case with lb_judgement_clear(). */
int lb_judge(struct lb_stage *stage, struct lb_judgement *ret, struct lb_outcome *out);
/* A history of what has happened so far, without facts; all clients may go on. Release with lb_history_clear(). 0 or
 * -ENOMEM. */
int lb_judge_look(const struct lb_stage *stage, struct lb_history *ret);
void lb_judgement_clear(struct lb_judgement *judgement);
/* The verdict on a trial whose results could not be had or kept, with this -errno: undecided. */
void lb_judge_unwritten(struct lb_outcome *out, int error);

/* ---- gauge.c ---- */

/* Whether the speed of this load is that of the lock (check/self_check.h). If it is not, the outcome has no speed, and
 * `why` says so unless it says something else. 0 or -ENOMEM. */
int lb_gauge_judge(const struct lb_stage *stage, const struct lb_stats *stats, struct lb_outcome *out);

/* ---- keep.c ---- */

/* Writes histories/NAME.hist (a timeline's always, another's when it is not safe), and parts/NAME.latency and
 * parts/NAME.series (not of a timeline), and faults/NAME.jsonl (of a campaign: the controller's facts alone) into the
 * folder of the run. Says in *out whether there is a history, which it may have shortened. 0, or -errno when a file
 * could not be written. */
int lb_keep(struct lb_stage *stage, const struct lb_judgement *judgement, struct lb_outcome *out);

#endif
