/* SPDX-License-Identifier: MIT
 *
 * How long trials took when they were measured (scenarios/times.csv), and how long a run of them will take here.
 */
#include "estimate.h"

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
  double *start = best > 0 ? lb_need(malloc(2 * count * sizeof *start)) : NULL;
  if (!start) return guess(plan);
  double *rest = start + count;
  size_t n = 0;
  for (size_t i = 0; i < times->count; i++) {
    const struct lb_times_row *row = &times->row[i];
    if (likeness(row, plan) != best) continue;
    start[n] = row->start_s;
    rest[n++] = rest_of(row, plan->scenario);
  }
  struct lb_took took = {.start_s = lb_interval_median(start, count), .rest_s = lb_interval_median(rest, count)};
  if (best < 10) took.start_s = plan->topology->start_ms / 1e3; /* of other servers */
  free(start);
  return took;
}

/* ---- some trials ------------------------------------------------------------------------------------------------- */

/* BETWEEN_S: a process is forked, and what a trial has left behind is removed. */
#define BETWEEN_S 0.1
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

static double most(double a, double b) { return a > b ? a : b; }

/* What the processors leave us of each second: a trial that has to wait for them has so many processes that want one. */
#define QUEUED 3

static double cores_left(const struct lb_room *room) {
  return most(room->cores - room->others, room->cores * QUEUED / (QUEUED + room->others));
}

static double cpu_of(const struct lb_effort *e) { return e->start_cpu_s + e->rest_cpu_s; }

/* What computes takes longer where others compute, too; what waits does not. */
static double alone_s(const struct lb_effort *e, const struct lb_room *room) {
  double speed = cores_left(room) < 1 ? cores_left(room) : 1;
  return e->start_s + e->rest_s + cpu_of(e) * (1 / speed - 1);
}

/* How many of its kind the engine would let run side by side. */
static int side_by_side(const struct lb_effort *e, const struct lb_room *room) {
  struct lb_entry wants = {.start_ms = e->start_ms, .starts = true};
  struct lb_crowd now = {.jobs = room->jobs, .cores = room->cores};
  double each = cpu_of(e) / most(alone_s(e, room), BETWEEN_S);
  do {
    now.playing = ++now.running;
    now.spare = 1 - (now.running * each + room->others) / room->cores;
  } while (lb_crowd_admits(&now, &wants) == LB_ADMIT_NOW);
  return now.running;
}

/* How many of its kind it would let start side by side. */
static int starts_side_by_side(const struct lb_effort *e, const struct lb_room *room) {
  struct lb_entry wants = {.start_ms = e->start_ms, .starts = true};
  struct lb_crowd now = {.jobs = {LB_JOBS_MOST, LB_JOBS_MOST}, .cores = room->cores};
  do {
    now.playing = now.starting = ++now.running;
    now.starting_ms += e->start_ms;
  } while (lb_crowd_admits(&now, &wants) == LB_ADMIT_NOW);
  return now.running;
}

struct lb_share lb_estimate_share(const struct lb_effort *e, const struct lb_room *room) {
  double s = alone_s(e, room);
  if (e->alone) return (struct lb_share){.alone_s = s};
  return (struct lb_share){.places_s = s / side_by_side(e, room),
                           .starts_s = e->start_ms / 1e3 / starts_side_by_side(e, room),
                           .cpu_s = cpu_of(e) / cores_left(room),
                           .longest_s = s};
}

void lb_estimate_add(struct lb_share *sum, struct lb_share share) {
  sum->alone_s += share.alone_s;
  sum->places_s += share.places_s;
  sum->starts_s += share.starts_s;
  sum->cpu_s += share.cpu_s;
  sum->longest_s = most(sum->longest_s, share.longest_s);
}

double lb_estimate_of(struct lb_share sum) {
  return sum.alone_s + most(most(sum.places_s, sum.longest_s), most(sum.starts_s, sum.cpu_s));
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

static double left_of(const struct lb_estimate *e, const struct lb_tally *tally) {
  struct lb_share sum = {0};
  for (size_t i = 0; i < e->count; i++) {
    const struct lb_job_result *result = &tally->jobs[tally->plan->order[i]];
    if (!result->done && !result->elsewhere) lb_estimate_add(&sum, e->share[i]);
  }
  return lb_estimate_of(sum);
}

void lb_estimate_begin(const struct lb_tally *tally, const struct lb_times *times, const struct lb_room *room,
                       struct lb_estimate *ret) {
  const struct lb_plan *plan = tally->plan;
  struct lb_took *took = lb_need(calloc(plan->job_count + 1, sizeof *took));
  struct lb_effort *effort = lb_need(calloc(plan->job_count + 1, sizeof *effort));
  *ret =
      (struct lb_estimate){.share = lb_need(calloc(plan->job_count + 1, sizeof *ret->share)), .count = plan->job_count};
  lb_times_find_all(times, plan, took);
  for (size_t i = 0; i < ret->count; i++) effort[i] = effort_of(&plan->jobs[plan->order[i]], took[plan->order[i]]);
  for (size_t i = 0, series; i < ret->count; i += series)
    if ((series = series_at(plan, i)) > 1) share_start(effort + i, series);
  for (size_t i = 0; i < ret->count; i++) ret->share[i] = lb_estimate_share(&effort[i], room);
  free(took);
  free(effort);
  ret->whole_s = left_of(ret, tally);
}

double lb_estimate_corrected(double left_s, double expected_s, double elapsed_s, double whole_s) {
  double prior_s = PRIOR_S + PRIOR_SHARE * whole_s;
  return left_s * (elapsed_s + prior_s) / (most(expected_s, 0) + prior_s);
}

double lb_estimate_left_s(const struct lb_estimate *estimate, const struct lb_tally *tally, double elapsed_s) {
  double left_s = left_of(estimate, tally);
  return lb_estimate_corrected(left_s, estimate->whole_s - left_s, elapsed_s, estimate->whole_s);
}

void lb_estimate_end(struct lb_estimate *estimate) {
  free(estimate->share);
  *estimate = (struct lb_estimate){0};
}
