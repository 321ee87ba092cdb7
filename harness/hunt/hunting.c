/* SPDX-License-Identifier: MIT
 *
 * A hunt that is going on: its time, what it knows, and how a timeline gets a trial that is decided.
 */
#include "hunting.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/need.h"

/* So many undecided trials, and the timeline is not played again. */
enum { UNDECIDED_MAX = LB_HUNTING_AGAIN + 2 };

double lb_hunting_spent(const struct lb_hunting *g) { return (double)(lb_clock_ns() - g->begin) / 1e9; }

bool lb_hunting_is_over(const struct lb_hunting *g, double share) {
  return g->order->budget_s > 0 && lb_hunting_spent(g) > g->order->budget_s * share;
}

void lb_hunting_find_sets(struct lb_hunting *g) {
  lb_hunt_sets_clear(&g->h->sets);
  lb_hunt_sets_find(&g->h->journal, &g->h->sets);
}

bool lb_hunting_knows(const struct lb_hunting *g, size_t timeline) {
  return lb_hunt_count_decided(lb_hunt_journal_seen(&g->h->journal, timeline)) > 0;
}

bool lb_hunting_may_ask(const struct lb_hunting *g, size_t timeline, enum lb_guard guard) {
  return g->h->journal.count[timeline][guard].of[LB_HUNT_UNDECIDED] < UNDECIDED_MAX &&
         !lb_hunt_journal_is_hopeless(&g->h->journal, timeline, guard);
}

bool lb_hunting_is_held(const struct lb_hunting *g, size_t timeline) {
  return lb_hunt_sets_contained(&g->h->sets, &g->h->space, timeline, LB_HUNT_LEASE);
}

/* -EINTR is an end, not an error. */
int lb_hunting_play(struct lb_hunting *g, const struct lb_hunt_batch batch[], size_t count) {
  int r = lb_hunt_batches_play(&g->batches, batch, count, g->err);
  if (r == -EINTR) g->h->end = LB_HUNT_INTERRUPTED;
  return r;
}

/* The least of those guards under which it may come out otherwise. */
static unsigned least_decided(const struct lb_hunting *g, size_t timeline, unsigned guards) {
  unsigned least = UINT_MAX;
  for (unsigned guard = 0; guard < LB_GUARD_COUNT; guard++) {
    unsigned decided = lb_hunt_count_decided(&g->h->journal.count[timeline][guard]);
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
  size_t *left = lb_need(malloc((v.count + 1) * sizeof *left));
  v.count = keep_undecided(g, batch, (unsigned)v.repeats, left); /* an earlier part of this hunt may have had some */
  v.timeline = left;
  v.again = LB_HUNTING_AGAIN;
  int r = lb_hunting_play(g, &v, 1);
  v.count = keep_undecided(g, &v, 1, left);
  v.again = 0;
  v.repeats = 1;
  v.alone = true;
  if (r == 0) r = lb_hunting_play(g, &v, 1);
  free(left);
  return r;
}

/* What a hunt is of: the first line of its journal. */
void lb_hunting_describe(const struct lb_hunt_order *order, char *ret, size_t size) {
  char without[LB_HUNT_WITHOUT_MAX];
  lb_hunt_switches_format(&order->switches, without);
  size_t at = (size_t)snprintf(ret, size, "%s, seed %llu, at most %d faults", order->system,
                               (unsigned long long)order->seed, order->faults_max);
  if (*without && at < size) at += (size_t)snprintf(ret + at, size - at, ", without %s", without);
  if (order->guard != LB_GUARD_NONE && at < size)
    at += (size_t)snprintf(ret + at, size - at, ", guard %s", lb_guard_name(order->guard));
  for (size_t i = 0; i < order->setting_count && at < size; i++)
    at += (size_t)snprintf(ret + at, size - at, ", %s", order->settings[i]);
}
