/* SPDX-License-Identifier: MIT
 *
 * The queue asks anew whenever a job is looked for: what came of one that has just ended may have made another one superfluous.
 */
#include "queue.h"

#include <errno.h>
#include <stdlib.h>

#include "trial/share.h"

int lb_queue_begin(const struct lb_plan *plan, lb_wanted_ask *ask, void *to, struct lb_queue *ret) {
  *ret = (struct lb_queue){.plan = plan, .ask = ask, .to = to, .left = plan->job_count};
  ret->gone = calloc(plan->job_count + 1, sizeof *ret->gone);
  ret->running = calloc(plan->cell_count + 1, sizeof *ret->running);
  if (ret->gone && ret->running) return 0;
  lb_queue_clear(ret);
  return -ENOMEM;
}

void lb_queue_clear(struct lb_queue *queue) {
  free(queue->gone);
  free(queue->running);
  *queue = (struct lb_queue){0};
}

static const struct lb_job *job_at(const struct lb_queue *q, size_t position) { return &q->plan->jobs[q->plan->order[position]]; }

static void go(struct lb_queue *q, size_t position) {
  q->gone[position] = true;
  q->left--;
  while (q->first < q->plan->job_count && q->gone[q->first]) q->first++;
}

static bool fits(const struct lb_trial_plan *like, const struct lb_job *job) { return !like || (!job->plan.fresh && lb_share_together(like, &job->plan)); }

ptrdiff_t lb_queue_next(struct lb_queue *q, const struct lb_trial_plan *like) {
  for (size_t i = q->first; i < q->plan->job_count; i++) {
    const struct lb_job *job = job_at(q, i);
    if (q->gone[i] || !fits(like, job)) continue;
    enum lb_wanted wanted = q->ask ? q->ask(q->to, job, q->running[job->cell]) : LB_WANTED_NOW;
    if (wanted == LB_WANTED_NOW) return (ptrdiff_t)i;
    if (wanted == LB_WANTED_NO_MORE) go(q, i);
  }
  return -1;
}

bool lb_queue_has(const struct lb_queue *q, const struct lb_trial_plan *like) {
  for (size_t i = q->first; i < q->plan->job_count; i++)
    if (!q->gone[i] && fits(like, job_at(q, i))) return true;
  return false;
}

void lb_queue_take(struct lb_queue *q, size_t position) {
  go(q, position);
  q->running[job_at(q, position)->cell]++;
}

void lb_queue_done(struct lb_queue *q, const struct lb_job *job) { q->running[job->cell]--; }
