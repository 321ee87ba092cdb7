/* SPDX-License-Identifier: MIT
 *
 * How long trials took when they were measured (scenarios/times.csv), and how long a run of them will take here.
 */
#include "estimate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/interval.h"
#include "base/csv.h"
#include "base/need.h"

/* For what was never measured: a timeline waits for leases and failovers for some seconds, a load needs a little beside
 * what it is told. */
#define TIMELINE_S 5
#define BESIDE_S 0.5

enum column { SCENARIO, SYSTEM, CLIENTS, ASKED, START, REST, COLUMN_COUNT };
static const char *const columns[COLUMN_COUNT] = {"scenario", "system", "clients", "asked_s", "start_s", "rest_s"};

static void add(struct lb_times *times, char *const field[], const int at[]) {
  struct lb_times_row *row = &LB_APPEND(times->row, times->count);
  *row = (struct lb_times_row){.clients = (int)strtol(field[at[CLIENTS]], NULL, 10),
                               .asked_s = strtod(field[at[ASKED]], NULL),
                               .start_s = strtod(field[at[START]], NULL),
                               .rest_s = strtod(field[at[REST]], NULL)};
  snprintf(row->scenario, sizeof row->scenario, "%s", field[at[SCENARIO]]);
  snprintf(row->system, sizeof row->system, "%s", field[at[SYSTEM]]);
}

int lb_times_read(const char *path, struct lb_times *ret, struct lb_error *err) {
  struct lb_csv csv;
  int at[COLUMN_COUNT], r = lb_csv_open(path, &csv, err);
  *ret = (struct lb_times){0};
  if (r < 0) return r;
  for (int i = 0; i < COLUMN_COUNT && r >= 0; i++) r = at[i] = lb_csv_column(&csv, columns[i], err);
  while (r >= 0 && (r = lb_csv_next(&csv, err)) > 0) add(ret, csv.field, at);
  lb_csv_close(&csv);
  if (r < 0) lb_times_clear(ret);
  return r;
}

void lb_times_clear(struct lb_times *times) {
  free(times->row);
  *times = (struct lb_times){0};
}

/* ---- the nearest ------------------------------------------------------------------------------------------------- */

static double asked_s(const struct lb_scenario *s) {
  return s->kind == LB_KIND_TIMELINE ? 0 : s->duration_s + s->warmup_s;
}

static const char *topology_of(const char *system) {
  const char *at = strchr(system, '@');
  return at ? at + 1 : system;
}

/* How much a row is like the trial; 0 = it is of no use. */
static int likeness(const struct lb_times_row *row, const struct lb_trial_plan *plan) {
  bool topology = strcmp(topology_of(row->system), plan->topology->name) == 0;
  if ((row->asked_s > 0) != (plan->scenario->kind != LB_KIND_TIMELINE)) return 0;
  bool name = strcmp(row->scenario, plan->scenario->name) == 0, base = strcmp(row->scenario, plan->scenario->base) == 0;
  if (!name && !base) return topology ? 1 : 0;
  return 2 + (topology ? 8 : 0) + (strcmp(row->system, plan->system) == 0 ? 4 : 0) +
         (row->clients == plan->clients ? 2 : 0) + name;
}

/* A load that is told to take longer takes so much longer; in a campaign there are more faults then, each of which
 * takes its time. */
static double rest_of(const struct lb_times_row *row, const struct lb_scenario *s) {
  if (s->kind == LB_KIND_TIMELINE) return row->rest_s;
  if (s->kind == LB_KIND_CAMPAIGN) return row->rest_s * asked_s(s) / row->asked_s;
  double s_more = row->rest_s + asked_s(s) - row->asked_s;
  return s_more > asked_s(s) ? s_more : asked_s(s);
}

static struct lb_took guess(const struct lb_trial_plan *plan) {
  const struct lb_scenario *s = plan->scenario;
  return (struct lb_took){.start_s = plan->topology->start_ms / 1e3,
                          .rest_s =
                              s->kind == LB_KIND_TIMELINE ? TIMELINE_S : asked_s(s) + s->settle_s / 10 + BESIDE_S};
}

struct lb_took lb_times_find(const struct lb_times *times, const struct lb_trial_plan *plan) {
  int best = 0;
  size_t count = 0;
  for (size_t i = 0; i < times->count; i++) {
    int like = likeness(&times->row[i], plan);
    if (like > best) best = like, count = 0;
    count += like > 0 && like == best;
  }
  double *start = best > 0 ? malloc(2 * count * sizeof *start) : NULL;
  if (!start) return guess(plan);
  double *rest = start + count;
  size_t n = 0;
  for (size_t i = 0; i < times->count; i++) {
    const struct lb_times_row *row = &times->row[i];
    if (likeness(row, plan) != best) continue;
    start[n] = row->start_s;
    rest[n++] = rest_of(row, plan->scenario);
  }
  struct lb_took took = {.start_s = lb_median(start, count), .rest_s = lb_median(rest, count)};
  if (best < 10) took.start_s = plan->topology->start_ms / 1e3; /* of other servers */
  free(start);
  return took;
}

/* ---- Time in a fluid: all processes that want a processor get an equal share. If they want more than there is, the
 * part of a trial that computes takes longer, and the part that waits does not. ---- */

/* BETWEEN_S: a process is forked, and what a trial has left behind is removed. LEAST_S keeps a part of a trial from
 * being nothing. */
#define BETWEEN_S 0.1
#define LEAST_S 1e-3
/* Until something was measured here, what was measured before weighs as much as so many seconds, and this share of the
 * whole. */
#define PRIOR_S 5
#define PRIOR_SHARE 0.05
/* Three JVMs on two processors took 50 s until they compiled nothing any more; they all do it in a series once. */
#define HEAT_S 50
/* After the start the servers and clients of a trial have little to compute: this share of what the start took, and
 * something in any case. */
#define REST_SHARE 0.1
#define REST_CPU_S 0.03

/* ---- some trials ------------------------------------------------------------------------------------------------- */

struct part { /* of a trial: its start, or the rest */
  size_t trial;
  bool rest;
  double left_s; /* as if it were alone */
  double ago_s;  /* since it began */
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
  *part =
      (struct part){.trial = trial, .rest = rest, .left_s = s, .wants = (rest ? e->rest_cpu_s : e->start_cpu_s) / s};
}

static double wanted(const struct play *p) {
  double sum = 0;
  for (int i = 0; i < p->playing; i++) sum += p->part[i].wants;
  return sum;
}

/* While a trial has to wait for processors, more of its processes want one than it uses on average: so many per trial.
 */
#define STARTING 3
#define RESTING 0.5

/* What the processors leave of each second of work: 1 = all of it. */
static double share(const struct play *p) {
  double all = wanted(p), others = p->room->others, cores = p->room->cores, queued = 0;
  for (int i = 0; i < p->playing; i++) queued += p->part[i].rest ? RESTING : STARTING;
  double ours = most(cores * queued / (queued + others), cores - others);
  return all > ours ? ours / all : 1;
}

static struct lb_crowd crowd(const struct play *p, double spare) {
  struct lb_crowd now = {.running = p->playing, .most = p->room->jobs.most, .cores = p->room->cores};
  for (int i = 0; i < p->playing; i++) {
    const struct part *part = &p->part[i];
    if (part->rest) continue;
    int left_ms = lb_start_left_ms(p->effort[part->trial].start_ms, (int64_t)(part->ago_s * 1e3), spare);
    now.starting += left_ms > 0;
    now.starting_ms += left_ms;
  }
  return now;
}

static bool may_start(const struct play *p, const struct lb_effort *e) {
  double spare = 1 - (wanted(p) + p->room->others) / p->room->cores;
  struct lb_pace pace = {
      .jobs = p->room->jobs, .spare.share = most(spare, 0), .since = p->since, .cores = p->room->cores};
  struct lb_crowd now = crowd(p, spare);
  bool alone = e->alone || (p->playing > 0 && p->effort[p->part[0].trial].alone);
  return lb_pace_allows(&pace, p->playing, true) && lb_admits(&now, e->start_ms) && !(alone && p->playing > 0);
}

static void fill(struct play *p) {
  for (p->since = 0; p->next < p->count && p->playing < LB_JOBS_MOST; p->since++) {
    if (!may_start(p, &p->effort[p->next])) return;
    begin_part(&p->part[p->playing++], p->next, &p->effort[p->next], false);
    p->next++;
  }
}

/* How much longer it takes than alone. */
static double stretched(const struct part *part, double share) {
  double computes = part->wants < 1 ? part->wants : 1;
  return 1 - computes + computes / share;
}

/* While some start, it is looked so often whether others may. */
#define LOOK_S 0.25

/* Until the first of them ends its part, or it is looked again. Seconds. */
static double step(struct play *p) {
  double left_of = share(p), s = 1e9;
  for (int i = 0; i < p->playing; i++) {
    double takes = p->part[i].left_s * stretched(&p->part[i], left_of);
    if (takes < s) s = takes;
    if (!p->part[i].rest && s > LOOK_S) s = LOOK_S;
  }
  int left = 0;
  for (int i = 0; i < p->playing; i++) {
    struct part part = p->part[i];
    part.left_s -= s / stretched(&part, left_of);
    part.ago_s += s;
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

/* ---- a run ------------------------------------------------------------------------------------------------------- */

static bool takes_as_long(const struct lb_job *a, const struct lb_job *b) {
  return a->cell == b->cell && a->plan.clients == b->plan.clients;
}

void lb_times_find_all(const struct lb_times *times, const struct lb_plan *plan, struct lb_took ret[]) {
  for (size_t i = 0; i < plan->job_count; i++)
    if (i > 0 && takes_as_long(&plan->jobs[i - 1], &plan->jobs[i])) ret[i] = ret[i - 1];
    else ret[i] = lb_times_find(times, &plan->jobs[i].plan);
}

static struct lb_effort effort_of(const struct lb_job *job, struct lb_took took) {
  const struct lb_topology *t = job->plan.topology;
  double start_cpu_s = t->start_ms / 1e3;
  struct lb_effort e = {.start_s = took.start_s,
                        .start_cpu_s = start_cpu_s,
                        .rest_s = took.rest_s + BETWEEN_S,
                        .start_ms = t->start_ms,
                        .alone = lb_job_measures(job)};
  e.rest_cpu_s =
      job->plan.scenario->kind == LB_KIND_LOAD ? 0 /* it ends by the clock */ : REST_SHARE * start_cpu_s + REST_CPU_S;
  return e;
}

/* How many jobs from this position on share heated servers; at least 1. */
static size_t series_at(const struct lb_plan *plan, size_t position) {
  const struct lb_job *first = &plan->jobs[plan->order[position]];
  size_t end = position + 1;
  while (lb_job_measures(first) && first->plan.pool && end < plan->job_count &&
         plan->jobs[plan->order[end]].plan.pool == first->plan.pool)
    end++;
  return end - position;
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
    if (!tally->jobs[tally->plan->order[i]].done && !tally->jobs[tally->plan->order[i]].elsewhere)
      left[count++] = e->effort[i];
  return lb_estimate_play(left, count, &e->room);
}

int lb_estimate_begin(const struct lb_tally *tally, const struct lb_times *times, const struct lb_room *room,
                      struct lb_estimate *ret) {
  const struct lb_plan *plan = tally->plan;
  *ret = (struct lb_estimate){
      .effort = calloc(2 * plan->job_count + 1, sizeof *ret->effort), .count = plan->job_count, .room = *room};
  struct lb_took *took = calloc(plan->job_count + 1, sizeof *took);
  if (!ret->effort || !took) return free(ret->effort), free(took), -ENOMEM;
  lb_times_find_all(times, plan, took);
  for (size_t i = 0; i < ret->count; i++) ret->effort[i] = effort_of(&plan->jobs[plan->order[i]], took[plan->order[i]]);
  free(took);
  for (size_t i = 0, series; i < ret->count; i += series)
    if ((series = series_at(plan, i)) > 1) share_start(ret->effort + i, series);
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
