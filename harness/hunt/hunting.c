/* SPDX-License-Identifier: MIT
 *
 * What the parts of a hunt share: its time, what it knows, how a timeline gets a trial that is decided, and how long
 * all of it will take.
 */
#include "search.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum { AGAIN = 2, UNDECIDED_MAX = AGAIN + 2 };

/* ---- time -------------------------------------------------------------------------------------------------------- */

double lb_hunting_spent(const struct lb_hunting *g) { return (double)(lb_clock_ns() - g->begin) / 1e9; }

bool lb_hunting_is_over(const struct lb_hunting *g, double share) {
  return g->order->budget_s > 0 && lb_hunting_spent(g) > g->order->budget_s * share;
}

/* ---- what is known ----------------------------------------------------------------------------------------------- */

int lb_hunting_find_sets(struct lb_hunting *g) {
  lb_hunt_sets_clear(&g->h->sets);
  return lb_hunt_sets_find(&g->h->journal, &g->h->sets);
}

bool lb_hunting_knows(const struct lb_hunting *g, size_t timeline) {
  return lb_hunt_decided(lb_hunt_seen(&g->h->journal, timeline)) > 0;
}

bool lb_hunting_may_ask(const struct lb_hunting *g, size_t timeline, enum lb_guard guard) {
  return g->h->journal.count[timeline][guard].of[LB_HUNT_UNDECIDED] < UNDECIDED_MAX &&
         !lb_hunt_is_hopeless(&g->h->journal, timeline, guard);
}

bool lb_hunting_is_held(const struct lb_hunting *g, size_t timeline) {
  return lb_hunt_sets_contained(&g->h->sets, &g->h->space, timeline, LB_HUNT_LEASE);
}

void lb_hunting_count_breaking(struct lb_hunting *g) {
  g->live.breaking = 0;
  for (size_t i = 0; i < g->h->space.count; i++)
    g->live.breaking += lb_hunt_violated(lb_hunt_seen(&g->h->journal, i)) > 0;
}

/* What a hunt is of: the first line of its journal. */
void lb_hunting_describe(const struct lb_hunt_order *order, char *ret, size_t size) {
  char without[LB_HUNT_WITHOUT_MAX];
  lb_hunt_left_out(&order->switches, without);
  size_t at = (size_t)snprintf(ret, size, "%s, seed %llu, at most %d faults", order->system,
                               (unsigned long long)order->seed, order->faults_max);
  if (*without && at < size) at += (size_t)snprintf(ret + at, size - at, ", without %s", without);
  if (order->guard != LB_GUARD_NONE && at < size)
    at += (size_t)snprintf(ret + at, size - at, ", guard %s", lb_guard_name(order->guard));
  for (size_t i = 0; i < order->setting_count && at < size; i++)
    at += (size_t)snprintf(ret + at, size - at, ", %s", order->settings[i]);
}

/* ---- batches ----------------------------------------------------------------------------------------------------- */

/* -EINTR is an end, not an error. */
int lb_hunting_play_batches(struct lb_hunting *g, const struct lb_hunt_batch batch[], size_t count) {
  int r = lb_hunt_play_batches(&g->batches, batch, count, g->err);
  if (r == -EINTR) g->h->end = LB_HUNT_INTERRUPTED;
  return r;
}

int lb_hunting_play(struct lb_hunting *g, const struct lb_hunt_batch *batch) {
  return lb_hunting_play_batches(g, batch, 1);
}

/* The least of those guards under which it may come out otherwise. */
static unsigned least_decided(const struct lb_hunting *g, size_t timeline, unsigned guards) {
  unsigned least = UINT_MAX;
  for (unsigned guard = 0; guard < LB_GUARD_COUNT; guard++) {
    unsigned decided = lb_hunt_decided(&g->h->journal.count[timeline][guard]);
    if (guards >> guard & 1 && decided < least && lb_hunting_may_ask(g, timeline, (enum lb_guard)guard))
      least = decided;
  }
  return least;
}

static size_t keep_undecided(const struct lb_hunting *g, const struct lb_hunt_batch *v, unsigned least, size_t *ret) {
  size_t left = 0;
  for (size_t i = 0; i < v->count; i++)
    if (least_decided(g, v->timeline[i], v->guards) < least) ret[left++] = v->timeline[i];
  return left;
}

/* Timelines that have no decided trial get another one: twice beside others, at last alone on the machine. Not if two
 * had the same reason. */
int lb_hunting_play_decided(struct lb_hunting *g, const struct lb_hunt_batch *batch) {
  struct lb_hunt_batch v = *batch;
  size_t *left = malloc((v.count + 1) * sizeof *left);
  if (!left) return -ENOMEM;
  v.count = keep_undecided(g, batch, (unsigned)v.repeats, left); /* an earlier part of this hunt may have had some */
  v.timeline = left;
  v.again = AGAIN;
  int r = lb_hunting_play(g, &v);
  v.count = keep_undecided(g, &v, 1, left);
  v.again = 0;
  v.repeats = 1;
  v.jobs = LB_JOBS_ALONE;
  if (r == 0) r = lb_hunting_play(g, &v);
  free(left);
  return r;
}

/* ---- how long it will take --------------------------------------------------------------------------------------- */

/* A timeline is bounded by what its faults wait for (lb_hunt_takes_ms()). Servers are started for the first ones, and
 * serve the next ones. */

/* FOLLOW: sets are confirmed, simplified and asked about under guards, mostly beside what is looked at: at the end that
 * took a fifth of the time. One trial in START_EVERY needs servers of its own. */
#define FOLLOW 0.2
#define TRIAL_CPU_S 0.1
enum { START_EVERY = 4 };

static bool is_run(const struct lb_hunt_timeline *t) { return t->pruned == LB_HUNT_RUN; }

size_t lb_hunt_ahead_known(const struct lb_hunt_journal *journal, size_t *ret_all) {
  size_t known = 0;
  *ret_all = 0;
  for (size_t i = 0; i < journal->space->count; i++) {
    if (!is_run(&journal->space->timeline[i])) continue;
    ++*ret_all;
    known += lb_hunt_decided(lb_hunt_seen(journal, i)) > 0;
  }
  return known;
}

/* Seconds for all of them that nobody has looked at. */
static double ahead_look_s(const struct lb_hunt_journal *journal, const struct lb_room *room) {
  const struct lb_hunt_space *space = journal->space;
  struct lb_effort *effort = calloc(space->count + 1, sizeof *effort);
  size_t count = 0;
  double start_s = (double)space->system.start_ms / 1e3 / START_EVERY;
  for (size_t i = 0; i < space->count && effort; i++) {
    const struct lb_hunt_timeline *t = &space->timeline[i];
    if (!is_run(t) || lb_hunt_decided(lb_hunt_seen(journal, i)) > 0) continue;
    effort[count++] = (struct lb_effort){.start_s = start_s,
                                         .start_cpu_s = start_s,
                                         .start_ms = (int)(start_s * 1e3),
                                         .rest_s = (double)lb_hunt_takes_ms(&space->system, t) / 1e3,
                                         .rest_cpu_s = TRIAL_CPU_S};
  }
  double s = effort ? lb_estimate_play(effort, count, room) : 0;
  free(effort);
  return s;
}

void lb_hunt_ahead_begin(const struct lb_hunt_journal *journal, const struct lb_room *room, struct lb_hunt_ahead *ret) {
  double look_s = ahead_look_s(journal, room);
  *ret = (struct lb_hunt_ahead){.room = *room, .look_s = look_s, .follow_s = FOLLOW * look_s};
}

/* Until all is looked at, by what that took so far; then what follows runs down. */
double lb_hunt_ahead_left_s(struct lb_hunt_ahead *ahead, const struct lb_hunt_journal *journal, double elapsed_s,
                            double budget_s) {
  double whole_s = ahead->look_s + ahead->follow_s, look_s = ahead_look_s(journal, &ahead->room);
  if (!ahead->looked) ahead->looked = look_s <= 0, ahead->looked_s = elapsed_s;
  double follow_s = ahead->follow_s - (elapsed_s - ahead->looked_s);
  double left_s =
      lb_estimate_corrected(look_s + (follow_s > 0 ? follow_s : 0), ahead->look_s - look_s, ahead->looked_s, whole_s);
  if (budget_s > 0 && budget_s - elapsed_s < left_s) left_s = budget_s - elapsed_s;
  return left_s > 0 ? left_s : 0;
}
