/* SPDX-License-Identifier: MIT
 *
 * What an audit draws, and what its trials say. Of each reason at least one timeline is drawn: most are pruned for few
 * reasons, and a wrong one may be among the others.
 */
#include "audit.h"

#include <errno.h>
#include <stdlib.h>

#include "base/rng.h"
#include "scenario/scenario.h"
#include "search.h"
#include "write.h"

enum { PURPOSE_AUDIT = 0x61756474 }; /* a stream of its own */

/* ---- the sample -------------------------------------------------------------------------------------------------- */

static bool can_be_written(const struct lb_hunt_space *space, const struct lb_hunt_timeline *t) {
  struct lb_error err;
  char *text = NULL;
  size_t size = 0;
  struct lb_scenario scenario;
  FILE *file = open_memstream(&text, &size);
  if (!file) return false;
  int r = lb_hunt_write(t, &space->system, LB_GUARD_NONE, NULL, "race", file);
  if (fclose(file) != 0) r = -ENOMEM;
  if (r == 0) r = lb_scenario_parse("audit.ini", text, size, &scenario, &err);
  if (r == 0) lb_scenario_clear(&scenario);
  free(text);
  return r == 0;
}

static bool take(const struct lb_hunt_space *space, size_t timeline, struct lb_hunt_drawn *ret) {
  struct lb_hunt_timeline other;
  if (!lb_hunt_stand_in(&space->system, &space->timeline[timeline], &other)) return false;
  ptrdiff_t at = lb_hunt_find(space, &other);
  if (at < 0 || !can_be_written(space, &space->timeline[timeline])) return false;
  *ret = (struct lb_hunt_drawn){timeline, (size_t)at};
  return true;
}

/* The first of a shuffle that can be taken. How many. */
static size_t draw(const struct lb_hunt_space *space, struct lb_rng *rng, size_t *index, size_t count, size_t wanted,
                   struct lb_hunt_drawn *ret) {
  size_t taken = 0;
  for (size_t i = 0; i < count && taken < wanted; i++) {
    size_t j = i + (size_t)lb_rng_below(rng, count - i), drawn = index[j];
    index[j] = index[i];
    taken += take(space, drawn, ret + taken);
  }
  return taken;
}

int lb_hunt_draw(const struct lb_hunt_space *space, uint64_t seed, size_t faults, double share,
                 struct lb_hunt_drawn **ret, size_t *ret_count) {
  struct lb_rng rng = lb_rng_fork(seed, PURPOSE_AUDIT, faults);
  size_t *index = calloc(space->count + 1, sizeof *index);
  *ret = calloc(space->count + 1, sizeof **ret);
  *ret_count = 0;
  for (int why = LB_HUNT_RUN + 1; why < LB_HUNT_PRUNED_COUNT && index && *ret; why++) {
    size_t count = 0;
    for (size_t i = 0; i < space->count && lb_hunt_pruned_is_sound((enum lb_hunt_pruned)why); i++)
      if (space->timeline[i].pruned == (enum lb_hunt_pruned)why && space->timeline[i].fault_count == faults)
        index[count++] = i;
    *ret_count += draw(space, &rng, index, count, (size_t)((double)count * share + 0.999), *ret + *ret_count);
  }
  free(index);
  if (index && *ret) return 0;
  free(*ret);
  *ret = NULL;
  return -ENOMEM;
}

/* ---- the answer -------------------------------------------------------------------------------------------------- */

struct lb_hunt_count lb_hunt_audit_seen(const struct lb_hunt_audit *a, const struct lb_hunt_journal *hunt,
                                        size_t timeline) {
  struct lb_hunt_count sum = *lb_hunt_seen(hunt, timeline);
  for (int outcome = 0; outcome < LB_HUNT_OUTCOME_COUNT && a->journal.file; outcome++)
    sum.of[outcome] = (uint16_t)(sum.of[outcome] + lb_hunt_seen(&a->journal, timeline)->of[outcome]);
  return sum;
}

enum lb_hunt_answer lb_hunt_audit_answer(const struct lb_hunt_audit *a, const struct lb_hunt_journal *hunt,
                                         const struct lb_hunt_drawn *drawn) {
  struct lb_hunt_count one = lb_hunt_audit_seen(a, hunt, drawn->timeline),
                       other = lb_hunt_audit_seen(a, hunt, drawn->stand_in);
  unsigned of_one = lb_hunt_decided(&one), of_other = lb_hunt_decided(&other);
  enum lb_hunt_answer answer = of_one > 0 && of_other > 0 ? LB_HUNT_SAME : LB_HUNT_NO_ANSWER;
  for (int class = LB_HUNT_CLASS_FIRST; class <= LB_HUNT_CLASS_LAST && answer != LB_HUNT_NO_ANSWER; class ++) {
    unsigned broke = one.of[class], broke_other = other.of[class];
    if ((broke == 0) == (broke_other == 0)) continue;
    bool always = broke + broke_other == (broke > 0 ? of_one : of_other);
    if (of_one < LB_HUNT_SURE || of_other < LB_HUNT_SURE) answer = LB_HUNT_NO_ANSWER;
    else if (answer != LB_HUNT_OTHER) answer = always ? LB_HUNT_OTHER : LB_HUNT_UNCLEAR;
  }
  return answer;
}

size_t lb_hunt_audit_count(const struct lb_hunt_audit *a, const struct lb_hunt_journal *hunt,
                           enum lb_hunt_answer answer) {
  size_t count = 0;
  for (size_t i = 0; i < a->count; i++) count += lb_hunt_audit_answer(a, hunt, &a->drawn[i]) == answer;
  return count;
}

/* ---- An audit of what a hunt does not run, played: each timeline that was drawn, and who stands for it if the hunt
 * has not run that. Where the two differ both are run again, until it is sure that they do. ---- */

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
  return lb_hunt_decided(&count);
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

int lb_hunting_audit_draw(struct lb_hunting *g, size_t faults) {
  struct lb_hunt_audit *a = &g->h->audit;
  struct lb_hunt_drawn *drawn;
  size_t count;
  int r = open_journal(g);
  if (r == 0) r = lb_hunt_draw(&g->h->space, g->order->seed, faults, LB_HUNT_AUDITED, &drawn, &count);
  if (r < 0) return r;
  struct lb_hunt_drawn *grown = realloc(a->drawn, (a->count + count + 1) * sizeof *grown);
  if (!grown) return free(drawn), -ENOMEM;
  memcpy(grown + a->count, drawn, count * sizeof *grown);
  free(drawn);
  a->drawn = grown;
  a->count += count;
  return 0;
}

/* Who stands for another one is run by the hunt, unless the space leaves it out or there is a set in it. */
static bool is_run_by_the_hunt(const struct lb_hunting *g, size_t timeline) {
  const struct lb_hunt_space *space = &g->h->space;
  return space->timeline[timeline].pruned == LB_HUNT_RUN &&
         !lb_hunt_sets_contained(&g->h->sets, space, timeline, LB_HUNT_LEASE);
}

size_t lb_hunting_audit_open(const struct lb_hunting *g, size_t ret[]) {
  const struct lb_hunt_audit *a = &g->h->audit;
  size_t some = 0;
  for (size_t i = 0, count = collect(g, a->drawn, a->count, 1, ret); i < count; i++)
    if (!is_run_by_the_hunt(g, ret[i])) ret[some++] = ret[i];
  return some;
}

size_t lb_hunting_audit_closer(const struct lb_hunting *g, size_t ret[]) {
  const struct lb_hunt_audit *a = &g->h->audit;
  size_t some = 0;
  for (size_t i = 0; i < a->count; i++)
    if (differs(g, &a->drawn[i])) some = collect_more(g, &a->drawn[i], 1, LB_HUNT_SURE, ret, some);
  return some;
}

/* ---- samples of what was or was not run -------------------------------------------------------------------------- */

/* Timelines that were not run because of a set in them: does a sample of them break as well? One that does not is no
 * mistake of the set, but a fault that hides another one. */
/* Drawn from all of them, whether they were run or not: so the same sets have the same sample, however often a hunt
 * goes on. */
size_t lb_hunting_draw_held(const struct lb_hunting *g, const size_t order[], size_t count,
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
 * write through. Of a share of these timelines it is seen. */
size_t lb_hunting_draw_safe(const struct lb_hunting *g, const size_t order[], size_t count,
                            size_t ret[LB_HUNTING_SAMPLE_MAX]) {
  size_t some = 0, place = 0, last = SIZE_MAX;
  for (size_t i = 0; i < count && some < LB_HUNTING_SAMPLE_MAX && g->order->guard == LB_GUARD_NONE;
       i++) { /* the order is shuffled already; controls stand in it several times */
    if (order[i] == last) continue;
    last = order[i];
    if (place++ % EVERY == 0 && lb_hunting_knows(g, order[i]) &&
        lb_hunt_violated(lb_hunt_seen(&g->h->journal, order[i])) == 0)
      ret[some++] = order[i];
  }
  return some;
}
