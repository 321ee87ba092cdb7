/* SPDX-License-Identifier: MIT
 *
 * Time in a fluid: whoever wants a processor gets an equal share of them, so where more is wanted than there is, that part of a trial that computes is
 * stretched, and that which waits is not.
 */
#include "estimate.h"

#include <errno.h>
#include <stdlib.h>

/* BETWEEN_S: a process is forked, and what a trial has left behind is removed. LEAST_S keeps a part of a trial from being nothing. */
#define BETWEEN_S 0.1
#define LEAST_S 1e-3
/* Until something was measured here, what was measured before weighs as much as so many seconds, and this share of the whole. */
#define PRIOR_S 5
#define PRIOR_SHARE 0.05
/* Three JVMs on two processors took 50 s until they compiled nothing any more; they all do it in a series once. */
#define HEAT_S 50
/* After the start the servers and clients of a trial have little to compute: this share of what the start took, and something in any case. */
#define REST_SHARE 0.1
#define REST_CPU_S 0.03

/* ---- some trials ----------------------------------------------------------------------------------------------------- */

struct part { /* of a trial: its start, or the rest */
  size_t trial;
  bool rest;
  double left_s; /* as if it were alone */
  double wants;  /* processors, on average */
};
struct play {
  const struct lb_effort *effort;
  size_t count, next;
  const struct lb_room *room;
  struct part part[LB_JOBS_MOST];
  int playing, since;
};

static double most(double a, double b) { return a > b ? a : b; }

static void begin_part(struct part *part, size_t trial, const struct lb_effort *e, bool rest) {
  double s = most(rest ? e->rest_s : e->start_s, LEAST_S);
  *part = (struct part){.trial = trial, .rest = rest, .left_s = s, .wants = (rest ? e->rest_cpu_s : e->start_cpu_s) / s};
}

static double wanted(const struct play *p) {
  double sum = 0;
  for (int i = 0; i < p->playing; i++) sum += p->part[i].wants;
  return sum;
}

/* Who has to wait for processors has more processes that want one than he has use for on average: so many of a trial. */
#define STARTING 3
#define RESTING 0.5

/* What the processors leave of each second of work: 1 = all of it. */
static double share(const struct play *p) {
  double all = wanted(p), others = p->room->others, cores = p->room->cores, queued = 0;
  for (int i = 0; i < p->playing; i++) queued += p->part[i].rest ? RESTING : STARTING;
  double ours = most(cores * queued / (queued + others), cores - others);
  return all > ours ? ours / all : 1;
}

static struct lb_crowd crowd(const struct play *p) {
  double spare = 1 - (wanted(p) + p->room->others) / p->room->cores;
  struct lb_crowd now = {.running = p->playing, .playing = p->playing, .jobs = p->room->jobs, .spare = most(spare, 0), .since = p->since, .cores = p->room->cores};
  now.waiting = (int)(p->count - p->next);
  for (int i = 0; i < p->playing; i++) {
    now.starting += !p->part[i].rest;
    if (!p->part[i].rest) now.starting_ms += p->effort[p->part[i].trial].start_ms;
  }
  return now;
}

static void fill(struct play *p) {
  for (p->since = 0; p->next < p->count && p->playing < LB_JOBS_MOST; p->since++) {
    const struct lb_effort *e = &p->effort[p->next];
    struct lb_crowd now = crowd(p);
    bool alone = e->alone || (p->playing > 0 && p->effort[p->part[0].trial].alone);
    if (!lb_admits(&now, e->start_ms) || (alone && p->playing > 0)) return;
    begin_part(&p->part[p->playing++], p->next++, e, false);
  }
}

/* How much longer it takes than alone. */
static double stretched(const struct part *part, double share) {
  double computes = part->wants < 1 ? part->wants : 1;
  return 1 - computes + computes / share;
}

/* Until the first of them ends its part. Seconds. */
static double step(struct play *p) {
  double left_of = share(p), s = 1e9;
  for (int i = 0; i < p->playing; i++) {
    double takes = p->part[i].left_s * stretched(&p->part[i], left_of);
    if (takes < s) s = takes;
  }
  int left = 0;
  for (int i = 0; i < p->playing; i++) {
    struct part part = p->part[i];
    part.left_s -= s / stretched(&part, left_of);
    if (part.left_s < LEAST_S / 10) {
      if (part.rest) continue;
      begin_part(&part, part.trial, &p->effort[part.trial], true);
    }
    p->part[left++] = part;
  }
  p->playing = left;
  return s;
}

double lb_estimate_play(const struct lb_effort effort[], size_t count, const struct lb_room *room) {
  struct play *p = calloc(1, sizeof *p);
  double sum = 0;
  if (!p) return 0;
  *p = (struct play){.effort = effort, .count = count, .room = room};
  while (fill(p), p->playing > 0) sum += step(p);
  free(p);
  return sum;
}

/* ---- a run ----------------------------------------------------------------------------------------------------------- */

static struct lb_effort effort_of(const struct lb_plan *plan, size_t position, const struct lb_times *times) {
  const struct lb_job *job = &plan->jobs[plan->order[position]];
  const struct lb_topology *t = job->plan.topology;
  struct lb_took took = lb_times_find(times, &job->plan);
  double start_cpu_s = t->start_ms / 1e3;
  struct lb_effort e = {.start_s = took.start_s, .start_cpu_s = start_cpu_s, .rest_s = took.rest_s + BETWEEN_S, .start_ms = t->start_ms, .alone = lb_job_measures(job)};
  e.rest_cpu_s = job->plan.scenario->kind == LB_KIND_LOAD ? 0 /* it ends by the clock */ : REST_SHARE * start_cpu_s + REST_CPU_S;
  return e;
}

/* Those of a series have their servers together, and heat them once. */
static void share_start(struct lb_effort effort[], size_t series) {
  effort[0].start_s += HEAT_S;
  for (size_t i = 1; i < series; i++) effort[i].start_s = effort[i].start_cpu_s = 0;
}

static double play_left(const struct lb_estimate *e, const struct lb_tally *tally) {
  struct lb_effort *left = e->effort + e->count;
  size_t count = 0;
  for (size_t i = 0; i < e->count; i++)
    if (!tally->jobs[tally->plan->order[i]].done) left[count++] = e->effort[i];
  return lb_estimate_play(left, count, &e->room);
}

int lb_estimate_begin(const struct lb_tally *tally, const struct lb_times *times, const struct lb_room *room, struct lb_estimate *ret) {
  const struct lb_plan *plan = tally->plan;
  *ret = (struct lb_estimate){.effort = calloc(2 * plan->job_count + 1, sizeof *ret->effort), .count = plan->job_count, .room = *room};
  if (!ret->effort) return -ENOMEM;
  for (size_t i = 0; i < ret->count; i++) ret->effort[i] = effort_of(plan, i, times);
  for (size_t i = 0, series; i < ret->count; i += series)
    if ((series = lb_plan_series(plan, i)) > 1) share_start(ret->effort + i, series);
  ret->whole_s = play_left(ret, tally);
  return 0;
}

double lb_estimate_corrected(double left_s, double expected_s, double elapsed_s, double whole_s) {
  double prior_s = PRIOR_S + PRIOR_SHARE * whole_s;
  return left_s * (elapsed_s + prior_s) / (most(expected_s, 0) + prior_s);
}

double lb_estimate_left_s(const struct lb_estimate *estimate, const struct lb_tally *tally, double elapsed_s) {
  double left_s = play_left(estimate, tally);
  return lb_estimate_corrected(left_s, estimate->whole_s - left_s, elapsed_s, estimate->whole_s);
}

void lb_estimate_end(struct lb_estimate *estimate) {
  free(estimate->effort);
  *estimate = (struct lb_estimate){0};
}
