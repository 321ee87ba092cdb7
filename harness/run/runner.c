/* SPDX-License-Identifier: MIT
 *
 * A plan as a source of jobs. All of them are wanted, but for those of other shards.
 */
#include "runner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/need.h"
#include "engine.h"

struct runner {
  struct lb_tally *tally;
  const struct lb_progress *progress;
  const struct lb_rundir *dir;
  struct lb_source source;
  bool *taken;               /* by the index of the job */
  struct lb_outcome **again; /* the same: of one that has been undecided once, how; owned */
  size_t first;              /* no position before it is left */
  lb_ns end;                 /* of the budget; 0 = none */
};

static bool is_again(const struct runner *r, size_t at) { return r->again && r->again[at]; }

/* The first in the order that is left, of those that have been undecided once or of the others. */
static const struct lb_job *find(const struct runner *r, const struct lb_pool *pool, bool again) {
  const struct lb_plan *plan = r->tally->plan;
  for (size_t i = r->first; i < plan->job_count; i++) {
    size_t at = plan->order[i];
    if (!r->taken[at] && is_again(r, at) == again && (!pool || plan->jobs[at].plan.pool == pool))
      return &plan->jobs[at];
  }
  return NULL;
}

static enum lb_next next(void *of, const struct lb_pool *pool, const struct lb_job **ret) {
  struct runner *r = of;
  const struct lb_plan *plan = r->tally->plan;
  if (r->end && lb_clock_ns() >= r->end) return LB_NEXT_NONE;
  while (r->first < plan->job_count && r->taken[plan->order[r->first]]) r->first++;
  *ret = find(r, pool, false);
  if (!*ret && r->again && !(pool && find(r, NULL, false))) *ret = find(r, pool, true); /* behind all others */
  return *ret ? LB_NEXT_NOW : LB_NEXT_NONE;
}

static void begun(void *of, const struct lb_job *job) {
  struct runner *r = of;
  size_t at = (size_t)(job - r->tally->plan->jobs);
  if (is_again(r, at)) lb_rundir_forget(r->dir->partial, job->plan.name, true);
  r->taken[at] = true;
  r->source.left--;
}

/* What it has left stays until it is played again. */
static void put_back(struct runner *r, size_t at, const struct lb_outcome *outcome) {
  r->again[at] = lb_need(malloc(sizeof **r->again));
  *r->again[at] = *outcome;
  r->taken[at] = false;
  r->first = 0;
  r->source.left++;
}

static void settle(struct runner *r, size_t at, const struct lb_outcome *outcome) {
  struct lb_job_result *result = &r->tally->jobs[at];
  lb_tally_add(r->tally, result, outcome);
  if (r->progress && r->progress->finished) r->progress->finished(r->progress->display, r->tally, result);
}

/* Those that the budget left no time for count as they are. */
static void settle_the_rest(struct runner *r) {
  for (size_t i = 0; i < r->tally->plan->job_count; i++)
    if (is_again(r, i) && !r->taken[i]) settle(r, i, r->again[i]);
}

static int ended(void *of, const struct lb_job *job, const struct lb_outcome *outcome) {
  struct runner *r = of;
  size_t at = (size_t)(job - r->tally->plan->jobs);
  struct lb_outcome final = *outcome;
  final.again = is_again(r, at);
  if (r->again && !final.again && outcome->verdict == LB_UNDECIDED) put_back(r, at, outcome);
  else settle(r, at, &final);
  return 0;
}

static void tick(void *of, const struct lb_job *const running[], size_t count) {
  const struct runner *r = of;
  if (r->progress && r->progress->tick) r->progress->tick(r->progress->display, r->tally, running, count);
}

static void slow(void *of, const char *line) {
  const struct runner *r = of;
  if (r->progress && r->progress->slow) r->progress->slow(r->progress->display, line);
}

static bool by_hand(void *of, const char *order, lb_ns deadline) {
  const struct runner *r = of;
  return r->progress && r->progress->by_hand && r->progress->by_hand(r->progress->display, order, deadline);
}

int lb_runner_run(struct lb_tally *tally, const struct lb_rundir *dir, struct lb_jobs jobs, struct lb_sitting sitting,
                  const struct lb_progress *progress, struct lb_error *err) {
  size_t count = tally->plan->job_count;
  struct runner r = {.tally = tally,
                     .progress = progress,
                     .dir = dir,
                     .taken = lb_need(calloc(count + 1, sizeof *r.taken)),
                     .again = sitting.again ? lb_need(calloc(count + 1, sizeof *r.again)) : NULL};
  for (size_t i = 0; i < count; i++) r.taken[i] = tally->jobs[i].done || tally->jobs[i].elsewhere;
  r.source = (struct lb_source){.of = &r,
                                .left = tally->wanted - tally->done,
                                .next = next,
                                .begun = begun,
                                .ended = ended,
                                .tick = tick,
                                .slow = slow,
                                .by_hand = by_hand};
  if (sitting.budget_s > 0) r.end = lb_clock_ns() + (lb_ns)(sitting.budget_s * 1e9);
  int result = lb_engine_run(&r.source, dir, jobs, err);
  if (result == 0) settle_the_rest(&r);
  if (result == 0 && tally->done < tally->wanted) result = lb_error(err, -ETIME, "the budget is over");
  for (size_t i = 0; i < count && r.again; i++) free(r.again[i]);
  free(r.taken);
  free(r.again);
  return result;
}
