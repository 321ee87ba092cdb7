/* SPDX-License-Identifier: MIT
 *
 * What follows the search: a sample of what was not run because of a set that it found, guards under the sets, and simpler forms of them.
 */
#include "follow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/refuse.h"
#include "lab.h"

enum { EVERY = 20, GUARD_TRIALS = LB_HUNTING_GUARD_TRIALS, OTHER_GUARDS = LB_HUNTING_OTHER_GUARDS };
#define AUDITED 0.05

/* ---- what a minimal set says of others --------------------------------------------------------------------------------- */

/* Timelines that were not run because of a set in them: does a sample of them break as well? One that does not is no mistake of the set, but a fault that
 * hides another one. */
/* Drawn from all of them, whether they were run or not: so the same sets have the same sample, however often a hunt goes on. */
size_t lb_hunting_draw_held(const struct lb_hunting *g, const size_t order[], size_t count, size_t ret[LB_HUNTING_SAMPLE_MAX]) {
  size_t some = 0, held = 0, seen = 0;
  for (size_t i = 0; i < count; i++) held += lb_hunting_is_held(g, order[i]);
  size_t wanted = (size_t)(AUDITED * (double)held + 0.999), every = wanted ? held / wanted : 1;
  for (size_t i = 0; i < count && some < LB_HUNTING_SAMPLE_MAX && some < wanted; i++) /* the order is shuffled already */
    if (lb_hunting_is_held(g, order[i]) && seen++ % every == 0) ret[some++] = order[i];
  return some;
}

int lb_hunting_audit(struct lb_hunting *g, const size_t order[], size_t count) {
  size_t sample[LB_HUNTING_SAMPLE_MAX] = {0}, some = lb_hunting_draw_held(g, order, count, sample);
  g->live.what = "auditing";
  struct lb_hunt_volley volley = {.timeline = sample, .count = some, .guards = 1u << g->order->guard, .repeats = 1, .jobs = g->order->jobs};
  int r = lb_hunting_is_over(g, 1) ? 0 : lb_hunting_fire_decided(g, &volley);
  for (size_t i = 0; i < some; i++) {
    g->h->audited += lb_hunting_knows(g, sample[i]);
    g->h->audit_new += lb_hunting_knows(g, sample[i]) && !lb_hunt_broke(lb_hunt_seen(&g->h->book, sample[i]));
  }
  return r;
}

static void count_stopped(struct lb_hunting *g, enum lb_guard guard, const size_t set[], size_t count) {
  for (size_t i = 0; i < count; i++) {
    const struct lb_hunt_count *came = &g->h->book.count[set[i]][guard];
    if (lb_hunt_decided(came) == 0) continue;
    g->h->asked_of[guard]++;
    g->h->stopped_by[guard] += lb_hunt_violated(came) == 0;
  }
}

/* A hunt under a guard is about that one. */
int lb_hunting_ask_guards(struct lb_hunting *g) {
  if (g->order->guard != LB_GUARD_NONE) return 0;
  size_t *set = malloc((g->h->sets.count + 1) * sizeof *set), count = 0;
  int r = set ? 0 : -ENOMEM;
  for (size_t i = 0; i < g->h->sets.count && set; i++)
    if (g->h->sets.set[i].standing == LB_HUNT_MINIMAL && g->h->sets.set[i].class == LB_HUNT_LEASE) set[count++] = g->h->sets.set[i].timeline;
  g->live.what = "guards";
  struct lb_hunt_volley volley = {.timeline = set, .count = count, .guards = OTHER_GUARDS, .repeats = GUARD_TRIALS, .jobs = g->order->jobs};
  if (r == 0 && !lb_hunting_is_over(g, 1)) r = lb_hunting_fire_decided(g, &volley);
  for (int guard = LB_GUARD_NONE + 1; guard < LB_GUARD_COUNT; guard++) count_stopped(g, (enum lb_guard)guard, set, count);
  free(set);
  return r;
}

/* What keeps exclusion without a guard has to do no damage under one: numbers could go backwards, or a guard let a late write through. Of a share of these
 * timelines it is seen. */
size_t lb_hunting_draw_safe(const struct lb_hunting *g, const size_t order[], size_t count, size_t ret[LB_HUNTING_SAMPLE_MAX]) {
  size_t some = 0, place = 0, last = SIZE_MAX;
  for (size_t i = 0; i < count && some < LB_HUNTING_SAMPLE_MAX && g->order->guard == LB_GUARD_NONE; i++) { /* the order is shuffled already; controls stand in it several times */
    if (order[i] == last) continue;
    last = order[i];
    if (place++ % EVERY == 0 && lb_hunting_knows(g, order[i]) && lb_hunt_violated(lb_hunt_seen(&g->h->book, order[i])) == 0) ret[some++] = order[i];
  }
  return some;
}

int lb_hunting_audit_guards(struct lb_hunting *g, const size_t order[], size_t count) {
  size_t sample[LB_HUNTING_SAMPLE_MAX], some = lb_hunting_draw_safe(g, order, count, sample);
  g->live.what = "auditing guards";
  struct lb_hunt_volley volley = {.timeline = sample, .count = some, .guards = OTHER_GUARDS, .repeats = 1, .jobs = g->order->jobs};
  return lb_hunting_is_over(g, 1) ? 0 : lb_hunting_fire_decided(g, &volley);
}

/* ---- simpler forms --------------------------------------------------------------------------------------------------- */

static bool budget_is_over(void *clock) {
  const struct lb_hunting *g = clock;
  return lb_hunting_is_over(g, g->share);
}
static bool is_over_now(void *clock) { return (void)clock, true; }

/* Replays may use what simpler forms have left. */
#define SIMPLIFY_UNTIL 0.85

static struct lb_hunt_lab lab_of(struct lb_hunting *g, const char *of, bool plays) {
  return (struct lb_hunt_lab){.gun = &g->gun, .jobs = g->order->jobs, .folder = g->order->folder, .of = of, .is_over = plays ? budget_is_over : is_over_now, .clock = g, .hasty = g->order->budget_s == 0, .err = g->err, .err_size = g->err_size};
}

static int close_lab(struct lb_hunting *g, struct lb_hunt_lab *lab, int r) {
  int closed = lb_hunt_lab_close(lab);
  if (r == -EINTR) g->h->end = LB_HUNT_INTERRUPTED;
  return r < 0 ? r : closed < 0 ? (lb_refuse(g->err, g->err_size, "cannot write %s", g->order->folder), closed) : 0;
}

static int simplify(struct lb_hunting *g, const char *of, bool plays) {
  struct lb_hunt_lab lab = lab_of(g, of, plays);
  struct lb_hunt_player player = lb_hunt_lab_player(&lab);
  g->live.what = "simplifying";
  g->share = SIMPLIFY_UNTIL;
  int r = lb_hunt_simplify(&g->h->space, &g->h->sets, &player);
  g->share = 1;
  return close_lab(g, &lab, r);
}

/* How many sets it refuted. */
static int replay(struct lb_hunting *g, const char *of, bool plays) {
  struct lb_hunt_lab lab = lab_of(g, of, plays);
  lab.replays = true;
  struct lb_hunt_player player = lb_hunt_lab_player(&lab);
  g->live.what = "replaying";
  int refuted = lb_hunt_replay(&g->h->book, &g->h->sets, &player), r = close_lab(g, &lab, refuted);
  return r < 0 ? r : refuted;
}

static int narrow(struct lb_hunting *g, const char *of, ptrdiff_t only) {
  struct lb_hunt_lab lab = lab_of(g, of, true);
  g->live.what = "narrowing";
  return close_lab(g, &lab, lb_hunt_lab_narrow(&lab, &g->h->sets, only));
}

/* What was simplified or replayed before costs nothing: it is in the journals. */
int lb_hunting_settle(struct lb_hunting *g, bool plays, ptrdiff_t only) {
  char of[300];
  lb_hunting_describe(g->order, of, sizeof of);
  int r = simplify(g, of, plays);
  if (r == 0) r = replay(g, of, plays);
  if (r == 0 && plays && g->order->narrow) r = narrow(g, of, only);
  return r;
}
