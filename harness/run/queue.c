/* SPDX-License-Identifier: MIT
 *
 * Which job is next, and whether it may start now. The queue asks anew whenever a job is looked for: what came of one
 * that has just ended may have made another one superfluous. Whoever starts takes processor time, so what is admitted
 * goes by what servers cost to start.
 */
#include "runner.h"

#include <errno.h>
#include <stdlib.h>

#include "backends/foreign.h"
#include "servers/topology.h"
#include "trial/site.h"

static const struct lb_job *job_at(const struct lb_queue *q, size_t position) {
  return &q->plan->jobs[q->plan->order[position]];
}

/* 0 = its servers are for it alone, or for those of no job here. */
static size_t kind_of(const struct lb_queue *q, const struct lb_trial_plan *plan) {
  for (size_t kind = 1; kind < q->kinds; kind++)
    if (lb_share_together(&job_at(q, q->example[kind])->plan, plan)) return kind;
  return 0;
}

/* Found out once: to ask two plans takes a look at all their steps, and each look at the queue compares as many as are
 * in it. */
static void sort_into_kinds(struct lb_queue *q) {
  q->kinds = 1;
  for (size_t i = 0; i < q->plan->job_count; i++) {
    const struct lb_trial_plan *plan = &job_at(q, i)->plan;
    q->kind[i] = kind_of(q, plan);
    if (q->kind[i] > 0 || !lb_share_together(plan, plan)) continue;
    q->kind[i] = q->kinds++;
    q->example[q->kind[i]] = i;
  }
}

int lb_queue_begin(const struct lb_plan *plan, lb_wanted_ask *ask, void *to, struct lb_queue *ret) {
  *ret = (struct lb_queue){.plan = plan, .ask = ask, .to = to, .left = plan->job_count};
  ret->gone = calloc(plan->job_count + 1, sizeof *ret->gone);
  ret->running = calloc(plan->cell_count + 1, sizeof *ret->running);
  ret->kind = calloc(plan->job_count + 1, sizeof *ret->kind);
  ret->example = calloc(plan->job_count + 2, sizeof *ret->example);
  if (ret->gone && ret->running && ret->kind && ret->example) return sort_into_kinds(ret), 0;
  lb_queue_clear(ret);
  return -ENOMEM;
}

void lb_queue_clear(struct lb_queue *queue) {
  free(queue->gone);
  free(queue->running);
  free(queue->kind);
  free(queue->example);
  *queue = (struct lb_queue){0};
}

static void go(struct lb_queue *q, size_t position) {
  q->gone[position] = true;
  q->left--;
  while (q->first < q->plan->job_count && q->gone[q->first]) q->first++;
}

/* What servers are looked at: those of a kind, or any. */
struct servers {
  bool any;
  size_t kind;
};

static struct servers servers_of(const struct lb_queue *q, const struct lb_trial_plan *like) {
  return (struct servers){!like, like ? kind_of(q, like) : 0};
}

static bool fits(const struct lb_queue *q, struct servers servers, size_t position) {
  return servers.any || (servers.kind > 0 && q->kind[position] == servers.kind && !job_at(q, position)->plan.fresh);
}

ptrdiff_t lb_queue_next(struct lb_queue *q, const struct lb_trial_plan *like) {
  struct servers servers = servers_of(q, like);
  for (size_t i = q->first; i < q->plan->job_count; i++) {
    const struct lb_job *job = job_at(q, i);
    if (q->gone[i] || !fits(q, servers, i)) continue;
    enum lb_wanted wanted = q->ask ? q->ask(q->to, job, q->running[job->cell]) : LB_WANTED_NOW;
    if (wanted == LB_WANTED_NOW) return (ptrdiff_t)i;
    if (wanted == LB_WANTED_NO_MORE) go(q, i);
  }
  return -1;
}

bool lb_queue_has(const struct lb_queue *q, const struct lb_trial_plan *like) {
  struct servers servers = servers_of(q, like);
  for (size_t i = q->first; i < q->plan->job_count; i++)
    if (!q->gone[i] && fits(q, servers, i)) return true;
  return false;
}

bool lb_queue_shares(const struct lb_queue *q, size_t position) { return q->kind[position] > 0; }

size_t lb_queue_alike(const struct lb_queue *q, size_t position, size_t ret[]) {
  size_t count = 0;
  ret[count++] = position;
  for (size_t i = q->first; i < q->plan->job_count; i++)
    if (i != position && !q->gone[i] && q->kind[i] > 0 && q->kind[i] == q->kind[position]) ret[count++] = i;
  return count;
}

void lb_queue_leave_out(struct lb_queue *q, size_t position) { go(q, position); }

void lb_queue_take(struct lb_queue *q, size_t position) {
  go(q, position);
  q->running[job_at(q, position)->cell]++;
}

void lb_queue_done(struct lb_queue *q, const struct lb_job *job) { q->running[job->cell]--; }

/* Starts side by side end about when the processors are through with all of them. So what they cost
 * together is bounded by what the processors do in TOGETHER_MS: servers that start ask each other and are
 * asked, and an answer that is late by that much is still in time.
 *
 * Where servers serve one trial after the other, others are started only if there is enough left for all of them: each
 * has to be worth its start. */

enum { TOGETHER_MS = 500 };
/* A trial that waits for its turn is about processors and not about the lock. Two that are threads of one core do
 * little more together than one alone, and count as busy all the same: what is more than half busy may have nothing
 * left. Trials of ensembles ended no sooner at 96 % than at 61 %, and more of them were undecided. */
#define SPARE_LEAST 0.5
#define SPARE_NONE 0.3

int lb_start_ms(const struct lb_protocol *protocol, const struct lb_topology *topology, int clients) {
  return topology->start_ms + (protocol->traits & LB_TRAIT_FOREIGN ? clients * lb_foreign_start_ms(protocol) : 0);
}

static int cores_of(const struct lb_crowd *now) { return now->cores < 1 ? 1 : now->cores; }

/* What was started since the last look is not in it yet: one for each processor, then it is looked again. */
bool lb_admits_one(const struct lb_crowd *now) {
  if (now->running < now->jobs.always) return true;
  if (now->running >= now->jobs.most) return false;
  return now->freed > 0 || (now->spare > SPARE_LEAST && now->since < cores_of(now));
}

bool lb_admits(const struct lb_crowd *now, int start_ms) {
  if (!lb_admits_one(now)) return false;
  if (now->serving > 0 && now->waiting * TOGETHER_MS <= now->serving * start_ms) return false;
  return now->starting == 0 || now->starting_ms + start_ms <= cores_of(now) * TOGETHER_MS;
}

bool lb_admits_another(const struct lb_crowd *now) {
  return now->playing < now->jobs.always || now->spare > SPARE_NONE;
}
