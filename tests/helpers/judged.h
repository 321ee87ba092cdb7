/* SPDX-License-Identifier: MIT
 *
 * judged.h - judges a trial that was played by hand and keeps its files, in the order trial.c does.
 */
#ifndef LB_TEST_JUDGED_H
#define LB_TEST_JUDGED_H

#include "trial/judge.h"

/* 0, or -errno with a verdict that says so. */
static inline int judge_and_keep(struct lb_stage *stage, struct lb_outcome *out) {
  struct lb_judgement judgement;
  int r = lb_judge(stage, &judgement, out);
  if (r == 0) r = lb_keep(stage, &judgement, out);
  if (r < 0) lb_judge_unwritten(out, r);
  lb_judgement_clear(&judgement);
  return r;
}

#endif
