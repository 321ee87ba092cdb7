/* SPDX-License-Identifier: MIT
 *
 * judge.h - from the events of a finished trial to its verdict.
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

#endif
