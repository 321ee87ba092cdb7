/* SPDX-License-Identifier: MIT
 *
 * In rounds: all that is wanted by what is known goes into one volley, for a volley takes as long as its longest timeline. A timeline is wanted as soon as no result that is still to come
 * could make it superfluous: none of its parts broke, or all that broke with fewer faults is confirmed.
 */
#include "at_once.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "follow.h"
#include "order.h"

enum { MOST = 400, AGAIN = 2 }; /* MOST: timelines that are looked at in one round */
enum part { CONTROLS, LOOKING, CONFIRMING, AUDIT, CLOSER, HELD, GUARDS, SAFE, PART_COUNT };

struct round {
  struct lb_hunting *g;
  const size_t *order;
  size_t order_count;
  size_t *timeline[PART_COUNT];
  size_t count[PART_COUNT];
  bool *taken; /* by the index of the timeline: it is looked at in this round */
};

/* ---- what is wanted -------------------------------------------------------------------------------------------------- */

static bool was_asked(const struct lb_hunting *g, size_t timeline) {
  return lb_hunting_knows(g, timeline) || lb_hunt_seen(&g->h->book, timeline)->of[LB_HUNT_UNDECIDED] > 0;
}

static void add(struct round *r, enum part part, size_t timeline) { r->timeline[part][r->count[part]++] = timeline; }

/* Those with so many faults. `open`: a set with fewer is not confirmed yet. True if one of them was not asked before this round. */
static bool look(struct round *r, size_t faults, bool open) {
  const struct lb_hunting *g = r->g;
  bool left = false;
  for (size_t i = 0; i < r->order_count; i++) {
    size_t t = r->order[i];
    if (g->h->space.timeline[t].fault_count != faults || r->taken[t] || was_asked(g, t) || lb_hunting_is_held(g, t)) continue;
    left = true;
    if (r->count[LOOKING] == MOST || (open && faults > 1 && lb_hunt_part_broke(&g->h->book, t, LB_HUNT_LEASE))) continue;
    r->taken[t] = true;
    add(r, faults == 0 ? CONTROLS : LOOKING, t);
  }
  return left;
}

/* -ENOMEM, or how many it takes. */
static ptrdiff_t confirm(struct round *r, size_t faults) {
  size_t *wanting;
  ptrdiff_t count = lb_hunt_sets_wanting(&r->g->h->book, &r->g->h->sets, faults, false, &wanting);
  for (ptrdiff_t i = 0; i < count; i++)
    if (!r->taken[wanting[i]]) add(r, CONFIRMING, wanting[i]);
  if (count >= 0) free(wanting);
  return count;
}

/* Those with more faults wait for what they stand on: until it was looked at, they are not looked at; until it is confirmed, they are not confirmed. */
static int search(struct round *r) {
  bool left = false, open = false;
  for (size_t faults = 0; faults <= (size_t)r->g->order->faults_max; faults++) {
    if (!(faults > 1 && left)) left |= look(r, faults, open) && faults > 0;
    ptrdiff_t wanting = open ? 0 : confirm(r, faults);
    if (wanting < 0) return (int)wanting;
    open |= wanting > 0;
    r->g->live.faults = faults;
  }
  return 0;
}

static bool was_guarded(const struct lb_hunting *g, size_t timeline) {
  const struct lb_hunt_count *count = g->h->book.count[timeline];
  bool was = false;
  for (unsigned guard = 0; guard < LB_GUARD_COUNT; guard++)
    was |= LB_HUNTING_OTHER_GUARDS >> guard & 1 && (lb_hunt_decided(&count[guard]) > 0 || count[guard].of[LB_HUNT_UNDECIDED] > 0);
  return was;
}

/* What is a sample of all is drawn when all is known. */
static void audit(struct round *r) {
  size_t sample[LB_HUNTING_SAMPLE_MAX], count = lb_hunting_draw_held(r->g, r->order, r->order_count, sample);
  for (size_t i = 0; i < count; i++)
    if (!was_asked(r->g, sample[i])) add(r, HELD, sample[i]);
  count = lb_hunting_draw_safe(r->g, r->order, r->order_count, sample);
  for (size_t i = 0; i < count; i++)
    if (!was_guarded(r->g, sample[i])) add(r, SAFE, sample[i]);
}

static void ask_guards(struct round *r) {
  const struct lb_hunt *h = r->g->h;
  for (size_t i = 0; i < h->sets.count && r->g->order->guard == LB_GUARD_NONE; i++) {
    const struct lb_hunt_set *set = &h->sets.set[i];
    if (set->standing == LB_HUNT_MINIMAL && set->class == LB_HUNT_LEASE && !was_guarded(r->g, set->timeline)) add(r, GUARDS, set->timeline);
  }
}

/* ---- rounds ---------------------------------------------------------------------------------------------------------- */

static int fire(struct round *r) {
  struct lb_hunting *g = r->g;
  unsigned guard = 1u << g->order->guard;
  struct lb_hunt_book *audit = &g->h->audit.book;
  size_t controls = r->count[CONTROLS] ? r->count[CONTROLS] : 1;
  struct lb_hunt_volley volley[PART_COUNT] = {
      [CONTROLS] = {.guards = guard, .repeats = (int)((LB_HUNT_CONTROLS + controls - 1) / controls), .again = AGAIN},
      [LOOKING] = {.guards = guard, .repeats = 1, .again = AGAIN},
      [CONFIRMING] = {.guards = guard, .repeats = LB_HUNT_SURE, .again = AGAIN, .fresh = true},
      [AUDIT] = {.guards = guard, .repeats = 1, .again = 1, .book = audit},
      [CLOSER] = {.guards = guard, .repeats = LB_HUNT_SURE, .again = 1, .fresh = true, .book = audit},
      [HELD] = {.guards = guard, .repeats = 1, .again = AGAIN},
      [SAFE] = {.guards = LB_HUNTING_OTHER_GUARDS, .repeats = 1, .again = AGAIN},
      [GUARDS] = {.guards = LB_HUNTING_OTHER_GUARDS, .repeats = LB_HUNTING_GUARD_TRIALS, .again = AGAIN},
  };
  for (int part = 0; part < PART_COUNT; part++) {
    volley[part].timeline = r->timeline[part];
    volley[part].count = r->count[part];
    volley[part].jobs = g->order->jobs;
  }
  g->live.what = r->count[CONTROLS] + r->count[LOOKING] > 0 ? "looking" : r->count[CONFIRMING] > 0 ? "confirming" : "auditing";
  int result = lb_hunting_fire_together(g, volley, PART_COUNT);
  lb_hunting_count_breaking(g);
  return result;
}

/* What was asked beside others in vain is asked alone on the machine, once nothing else is wanted. */
static int fire_alone(struct round *r) {
  struct lb_hunting *g = r->g;
  for (size_t i = 0; i < r->order_count; i++) {
    size_t t = r->order[i];
    if (r->taken[t] || lb_hunting_knows(g, t) || lb_hunting_is_held(g, t) || !lb_hunting_may_ask(g, t, g->order->guard)) continue;
    r->taken[t] = true;
    add(r, LOOKING, t);
  }
  struct lb_hunt_volley volley = {.timeline = r->timeline[LOOKING], .count = r->count[LOOKING], .guards = 1u << g->order->guard, .repeats = 1, .jobs = LB_JOBS_ALONE};
  return lb_hunting_fire(g, &volley);
}

static size_t count_all(const struct round *r) {
  size_t count = 0;
  for (int part = 0; part < PART_COUNT; part++) count += r->count[part];
  return count;
}

/* 1 = nothing was wanted. */
static int play(struct round *r) {
  memset(r->count, 0, sizeof r->count);
  memset(r->taken, 0, r->g->h->space.count * sizeof *r->taken);
  int result = lb_hunting_find_sets(r->g);
  if (result == 0) result = search(r);
  if (result < 0) return result;
  if (count_all(r) == 0) audit(r);
  r->count[AUDIT] = lb_hunting_audit_open(r->g, r->timeline[AUDIT]);
  r->count[CLOSER] = lb_hunting_audit_closer(r->g, r->timeline[CLOSER]);
  ask_guards(r);
  if (count_all(r) > 0) return fire(r);
  result = fire_alone(r);
  return result == 0 && count_all(r) == 0 ? 1 : result;
}

/* ---- the whole ------------------------------------------------------------------------------------------------------- */

/* What was to be run, and what was left out for a set in it; of that a sample was run. */
static void count_wanted(struct lb_hunting *g, const size_t order[], size_t count) {
  memset(g->h->wanted, 0, sizeof g->h->wanted);
  memset(g->h->held, 0, sizeof g->h->held);
  for (size_t i = 0; i < count; i++) {
    size_t faults = g->h->space.timeline[order[i]].fault_count;
    if (faults > (size_t)g->order->faults_max) continue;
    g->h->wanted[faults]++;
    g->h->held[faults] += lb_hunting_is_held(g, order[i]) && !lb_hunting_knows(g, order[i]);
  }
  size_t sample[LB_HUNTING_SAMPLE_MAX], sampled = lb_hunting_draw_held(g, order, count, sample);
  for (size_t i = 0; i < sampled; i++) g->h->held[g->h->space.timeline[sample[i]].fault_count] += lb_hunting_knows(g, sample[i]);
}

int lb_hunting_at_once(struct lb_hunting *g, const size_t order[], size_t count) {
  struct round round = {.g = g, .order = order, .order_count = count};
  int r = 0;
  bool drawn = g->h->audit.count > 0; /* the search goes on */
  bool full = (round.taken = calloc(g->h->space.count + 1, sizeof *round.taken));
  for (int part = 0; part < PART_COUNT; part++) full &= (round.timeline[part] = calloc(g->h->space.count + 1, sizeof *round.timeline[part])) != NULL;
  for (int faults = 0; faults <= g->order->faults_max && r == 0 && full && !drawn; faults++) r = lb_hunting_audit_draw(g, (size_t)faults);
  while (r == 0 && full) r = play(&round);
  for (int part = 0; part < PART_COUNT; part++) free(round.timeline[part]);
  free(round.taken);
  count_wanted(g, order, count);
  return !full ? -ENOMEM : r == 1 ? 0 : r;
}
