/* SPDX-License-Identifier: MIT
 *
 * An audit of what a hunt does not run, played: each timeline that was drawn, and its stand-in if the hunt has not run
 * that. Where the two differ both are run again, until it is sure that they do.
 */
#include "sample.h"
#include "base/need.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is undecided is asked once more: much of what means nothing cannot be played. */
enum { AGAIN = 1, EVERY = 20 };
#define AUDITED 0.05 /* of what a minimal set stands in */

static int open_journal(struct lb_hunting *g) {
  char path[4200], of[400];
  struct lb_hunt_journal *journal = &g->h->audit.journal;
  if (journal->file) return 0;
  snprintf(path, sizeof path, "%s/trials-audit.csv", g->order->folder);
  lb_hunting_describe(g->order, of, sizeof of);
  int r = lb_hunt_journal_open(journal, &g->h->space, path, of, g->err);
  journal->guard = g->order->guard;
  return r;
}

static unsigned decided(const struct lb_hunting *g, size_t timeline) {
  struct lb_hunt_count count = lb_hunt_audit_seen(&g->h->audit, &g->h->journal, timeline);
  return lb_hunt_count_decided(&count);
}

/* One that was undecided so often is left. */
static bool may_ask(const struct lb_hunting *g, size_t timeline) {
  return lb_hunt_audit_seen(&g->h->audit, &g->h->journal, timeline).of[LB_HUNT_UNDECIDED] <= AGAIN;
}

/* Those of the pairs with fewer than `least` decided trials, each once, behind the first `some`. */
static size_t collect_more(const struct lb_hunting *g, const struct lb_hunt_drawn *drawn, size_t count, unsigned least,
                           size_t *ret, size_t some) {
  for (size_t i = 0; i < 2 * count; i++) {
    size_t timeline = i % 2 ? drawn[i / 2].stand_in : drawn[i / 2].timeline;
    bool listed = false;
    for (size_t j = 0; j < some; j++) listed |= ret[j] == timeline;
    if (!listed && decided(g, timeline) < least && may_ask(g, timeline)) ret[some++] = timeline;
  }
  return some;
}

static size_t collect(const struct lb_hunting *g, const struct lb_hunt_drawn *drawn, size_t count, unsigned least,
                      size_t *ret) {
  return collect_more(g, drawn, count, least, ret, 0);
}

static bool differs(const struct lb_hunting *g, const struct lb_hunt_drawn *drawn) {
  bool known = decided(g, drawn->timeline) > 0 && decided(g, drawn->stand_in) > 0;
  return known && lb_hunt_audit_answer(&g->h->audit, &g->h->journal, drawn) != LB_HUNT_SAME;
}

int lb_hunt_sample_audit(struct lb_hunting *g, size_t faults) {
  struct lb_hunt_audit *a = &g->h->audit;
  struct lb_hunt_drawn *drawn;
  size_t count;
  int r = open_journal(g);
  if (r < 0) return r;
  lb_hunt_audit_draw(&g->h->space, g->order->seed, faults, LB_HUNT_AUDITED, &drawn, &count);
  for (size_t i = 0; i < count; i++) LB_APPEND(a->drawn, a->count) = drawn[i];
  free(drawn);
  return 0;
}

/* The hunt runs a stand-in, unless the space leaves it out or there is a set in it. */
static bool is_run_by_the_hunt(const struct lb_hunting *g, size_t timeline) {
  const struct lb_hunt_space *space = &g->h->space;
  return space->timeline[timeline].pruned == LB_HUNT_RUN &&
         !lb_hunt_sets_contained(&g->h->sets, space, timeline, LB_HUNT_LEASE);
}

size_t lb_hunt_sample_open(const struct lb_hunting *g, size_t ret[]) {
  const struct lb_hunt_audit *a = &g->h->audit;
  size_t some = 0;
  for (size_t i = 0, count = collect(g, a->drawn, a->count, 1, ret); i < count; i++)
    if (!is_run_by_the_hunt(g, ret[i])) ret[some++] = ret[i];
  return some;
}

size_t lb_hunt_sample_closer(const struct lb_hunting *g, size_t ret[]) {
  const struct lb_hunt_audit *a = &g->h->audit;
  size_t some = 0;
  for (size_t i = 0; i < a->count; i++)
    if (differs(g, &a->drawn[i])) some = collect_more(g, &a->drawn[i], 1, LB_HUNT_SURE, ret, some);
  return some;
}

/* ---- samples of what was or was not run -------------------------------------------------------------------------- */

/* Timelines that were not run because of a set in them: does a sample of them break as well? One that does not break is
 * no mistake of the set: a fault hides another one. Drawn from all of them, run or not, so the same sets have the same
 * sample however often a hunt goes on. */
size_t lb_hunt_sample_held(const struct lb_hunting *g, const size_t order[], size_t count,
                           size_t ret[LB_HUNTING_SAMPLE_MAX]) {
  size_t some = 0, held = 0, seen = 0;
  for (size_t i = 0; i < count; i++) held += lb_hunting_is_held(g, order[i]);
  size_t wanted = (size_t)(AUDITED * (double)held + 0.999), every = wanted ? held / wanted : 1;
  for (size_t i = 0; i < count && some < LB_HUNTING_SAMPLE_MAX && some < wanted;
       i++) /* the order is shuffled already */
    if (lb_hunting_is_held(g, order[i]) && seen++ % every == 0) ret[some++] = order[i];
  return some;
}

/* What keeps exclusion without a guard has to do no damage under one: numbers could go backwards, or a guard let a late
 * write through. A share of these timelines is run to see that. */
size_t lb_hunt_sample_safe(const struct lb_hunting *g, const size_t order[], size_t count,
                           size_t ret[LB_HUNTING_SAMPLE_MAX]) {
  size_t some = 0, place = 0, last = SIZE_MAX;
  for (size_t i = 0; i < count && some < LB_HUNTING_SAMPLE_MAX && g->order->guard == LB_GUARD_NONE;
       i++) { /* the order is shuffled already; controls stand in it several times */
    if (order[i] == last) continue;
    last = order[i];
    if (place++ % EVERY == 0 && lb_hunting_knows(g, order[i]) &&
        lb_hunt_count_violated(lb_hunt_journal_seen(&g->h->journal, order[i])) == 0)
      ret[some++] = order[i];
  }
  return some;
}
