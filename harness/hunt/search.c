/* SPDX-License-Identifier: MIT
 *
 * In rounds: all that is wanted by what is known goes into one batch, for a batch takes as long as its longest
 * timeline. A timeline is wanted as soon as no result that is still to come could make it superfluous: none of its
 * parts broke, or all that broke with fewer faults is confirmed. What contains a minimal set is not looked at: that it
 * breaks would be no news, and whether a further fault hides it, a sample says.
 */
#include "search.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/need.h"
#include "base/rng.h"
#include "lineage.h"
#include "sample.h"

/* MOST: timelines that are looked at in one round. WINDOW: of the first ones by lineage. */
enum { MOST = 400, WINDOW = 20, AGAIN = LB_HUNTING_AGAIN };
/* So often is asked a timeline that does not break, if it hits what the grant rests on: a race may have hidden it. Not
 * where time may run out. */
enum { FIRST_LOOKS = 3 };
/* Shares of a budget: until when is looked at timelines, and until when is asked about what was found. The rest is for
 * simpler forms, replays and guards. */
#define LOOK_UNTIL 0.6
#define ASK_UNTIL 0.75
/* In the order in which a hunt with a budget plays them. */
enum part { CONTROLS, CONFIRMING, FIRST, LOOKING, AUDIT, CLOSER, HELD, GUARDS, SAFE, PART_COUNT };

struct round {
  struct lb_hunting *g;
  const size_t *order;
  size_t order_count;
  bool looks; /* else only what was found is asked about */
  bool first; /* some of the first ones by lineage are left: it looks at nothing else but controls */
  size_t *timeline[PART_COUNT];
  size_t count[PART_COUNT];
  bool *taken; /* by the index of the timeline: it is looked at in this round */
  bool *near;  /* by the index of the timeline: it hits only what the grant rests on */
};

/* ---- what is wanted ---------------------------------------------------------------------------------------------- */

static bool is_first(const struct round *r, size_t timeline) { return r->near[timeline] && r->g->order->budget_s == 0; }

static unsigned count_asked(const struct round *r, size_t timeline) {
  const struct lb_hunt_count *count = lb_hunt_journal_seen(&r->g->h->journal, timeline);
  return lb_hunt_count_decided(count) + count->of[LB_HUNT_UNDECIDED];
}

/* A control has had a trial that says what the grant rests on. */
static bool was_asked(const struct round *r, size_t timeline) {
  bool control = r->g->h->space.timeline[timeline].fault_count == 0;
  if (is_first(r, timeline) && lb_hunt_count_violated(lb_hunt_journal_seen(&r->g->h->journal, timeline)) == 0)
    return count_asked(r, timeline) >= FIRST_LOOKS;
  return count_asked(r, timeline) > control;
}

static void add(struct round *r, enum part part, size_t timeline) { r->timeline[part][r->count[part]++] = timeline; }

/* What few faults do every shard has to know, to leave out what contains it; the others are shared out. */
static bool is_elsewhere(const struct lb_hunting *g, size_t faults, size_t place) {
  const struct lb_shard *shard = &g->order->shard;
  return shard->of > 0 && faults > 1 && (int)(place % (size_t)shard->of) != shard->index - 1;
}

/* Those with so many faults. `open`: a set with fewer is not confirmed yet. True if one of them was not asked before
 * this round. */
static bool look(struct round *r, size_t faults, bool open) {
  const struct lb_hunting *g = r->g;
  bool left = false;
  for (size_t i = 0; i < r->order_count; i++) {
    size_t t = r->order[i];
    if (g->h->space.timeline[t].fault_count != faults || is_elsewhere(g, faults, i) || r->taken[t] || was_asked(r, t) ||
        lb_hunting_is_held(g, t))
      continue;
    left = true;
    if (r->count[LOOKING] + r->count[FIRST] == MOST ||
        (open && faults > 1 && lb_hunt_journal_part_broke(&g->h->journal, t, LB_HUNT_LEASE)))
      continue;
    r->taken[t] = true;
    add(r, faults == 0 ? CONTROLS : is_first(r, t) ? FIRST : LOOKING, t);
  }
  return left;
}

/* As far as they come first, too. */
static bool knows_parts(const struct round *r, size_t timeline) {
  const struct lb_hunting *g = r->g;
  struct lb_hunt_timeline part[LB_HUNT_SUBSETS_MAX];
  size_t count = lb_hunt_space_subsets(&g->h->space, &g->h->space.timeline[timeline], part);
  bool knows = true;
  for (size_t i = 0; i < count && knows; i++) {
    ptrdiff_t at =
        part[i].fault_count > 0 && part[i].pruned == LB_HUNT_RUN ? lb_hunt_space_find(&g->h->space, &part[i]) : -1;
    knows = at < 0 || !r->near[at] || was_asked(r, (size_t)at);
  }
  return knows;
}

/* Where time may run out the first ones by lineage come first, some at a time: each behind its parts among them. True
 * if some of them are left. */
static bool look_first(struct round *r) {
  const struct lb_hunting *g = r->g;
  size_t seen = 0;
  for (size_t i = LB_HUNT_CONTROLS; i < LB_HUNT_CONTROLS + g->first && i < r->order_count && seen < WINDOW; i++) {
    size_t t = r->order[i];
    if (was_asked(r, t) || lb_hunting_is_held(g, t) || is_elsewhere(g, g->h->space.timeline[t].fault_count, i) ||
        lb_hunt_journal_part_broke(&g->h->journal, t, LB_HUNT_LEASE))
      continue;
    seen++;
    if (!knows_parts(r, t)) continue;
    r->taken[t] = true;
    add(r, LOOKING, t);
  }
  return seen > 0;
}

/* Where time may run out one of each mechanism comes first. How many it takes. */
static size_t confirm(struct round *r, size_t faults) {
  size_t *wanting;
  bool firsts = r->g->order->budget_s > 0;
  size_t count = lb_hunt_sets_wanting(&r->g->h->journal, &r->g->h->sets, faults, firsts, &wanting);
  if (count == 0 && firsts)
    free(wanting), count = lb_hunt_sets_wanting(&r->g->h->journal, &r->g->h->sets, faults, false, &wanting);
  for (size_t i = 0; i < count; i++)
    if (!r->taken[wanting[i]]) add(r, CONFIRMING, wanting[i]);
  free(wanting);
  return count;
}

/* Those with more faults wait for what they stand on: until it was looked at, they are not looked at; until it is
 * confirmed, they are not confirmed. */
static void search(struct round *r) {
  bool left = false, open = false;
  size_t most = r->first ? 0 : (size_t)r->g->order->faults_max;
  for (size_t faults = 0; faults <= most; faults++) {
    if (r->looks && !(faults > 1 && left)) left |= look(r, faults, open) && faults > 0;
    open |= !open && !r->first && !(r->g->order->shard.of > 0 && faults > 1) && confirm(r, faults) > 0;
    r->g->live.faults = faults;
  }
}

static bool was_guarded(const struct lb_hunting *g, size_t timeline) {
  const struct lb_hunt_count *count = g->h->journal.count[timeline];
  bool was = false;
  for (unsigned guard = 0; guard < LB_GUARD_COUNT; guard++)
    was |= LB_HUNTING_OTHER_GUARDS >> guard & 1 &&
           (lb_hunt_count_decided(&count[guard]) > 0 || count[guard].of[LB_HUNT_UNDECIDED] > 0);
  return was;
}

/* What is a sample of all is drawn when all is known. */
static void audit(struct round *r) {
  size_t sample[LB_HUNTING_SAMPLE_MAX], count = lb_hunt_sample_held(r->g, r->order, r->order_count, sample);
  for (size_t i = 0; i < count; i++)
    if (count_asked(r, sample[i]) == 0) add(r, HELD, sample[i]);
  count = lb_hunt_sample_safe(r->g, r->order, r->order_count, sample);
  for (size_t i = 0; i < count; i++)
    if (!was_guarded(r->g, sample[i])) add(r, SAFE, sample[i]);
}

static void ask_guards(struct round *r) {
  const struct lb_hunt *h = r->g->h;
  for (size_t i = 0; i < h->sets.count && r->g->order->guard == LB_GUARD_NONE; i++) {
    const struct lb_hunt_set *set = &h->sets.set[i];
    if (set->standing == LB_HUNT_MINIMAL && set->class == LB_HUNT_LEASE && !was_guarded(r->g, set->timeline))
      add(r, GUARDS, set->timeline);
  }
}

/* Where time does not run out, what only follows from the sets waits for their replays: beside these it takes none. */
static bool waits_for_replays(const struct round *r) { return r->g->order->budget_s == 0; }

/* ---- rounds ------------------------------------------------------------------------------------------------------ */

static void count_breaking(struct lb_hunting *g) {
  g->live.breaking = 0;
  for (size_t i = 0; i < g->h->space.count; i++)
    g->live.breaking += lb_hunt_count_violated(lb_hunt_journal_seen(&g->h->journal, i)) > 0;
}

static void fill_batches(const struct round *r, struct lb_hunt_batch ret[PART_COUNT]) {
  struct lb_hunting *g = r->g;
  unsigned guard = 1u << g->order->guard;
  struct lb_hunt_journal *audit = &g->h->audit.journal;
  size_t controls = r->count[CONTROLS] ? r->count[CONTROLS] : 1;
  const struct lb_hunt_batch all[PART_COUNT] = {
      [CONTROLS] = {.guards = guard, .repeats = (int)((LB_HUNT_CONTROLS + controls - 1) / controls), .again = AGAIN},
      [FIRST] = {.guards = guard, .repeats = FIRST_LOOKS, .again = AGAIN},
      [LOOKING] = {.guards = guard, .repeats = 1, .again = AGAIN},
      [CONFIRMING] = {.guards = guard, .repeats = LB_HUNT_SURE, .again = AGAIN, .fresh = true},
      [AUDIT] = {.guards = guard, .repeats = 1, .again = 1, .journal = audit},
      [CLOSER] = {.guards = guard, .repeats = LB_HUNT_SURE, .again = 1, .fresh = true, .journal = audit},
      [HELD] = {.guards = guard, .repeats = 1, .again = AGAIN},
      [SAFE] = {.guards = LB_HUNTING_OTHER_GUARDS, .repeats = 1, .again = AGAIN},
      [GUARDS] = {.guards = LB_HUNTING_OTHER_GUARDS, .repeats = LB_HUNTING_GUARD_TRIALS, .again = AGAIN},
  };
  for (int part = 0; part < PART_COUNT; part++) {
    ret[part] = all[part];
    ret[part].timeline = r->timeline[part];
    ret[part].count = r->count[part];
    ret[part].as_given = g->order->budget_s > 0; /* where it ends has to be a fair sample */
  }
}

static int play_all_of(struct round *r) {
  struct lb_hunting *g = r->g;
  struct lb_hunt_batch batch[PART_COUNT];
  fill_batches(r, batch);
  g->live.what = r->count[CONTROLS] + r->count[FIRST] + r->count[LOOKING] > 0 ? "looking"
                 : r->count[CONFIRMING] > 0                                   ? "confirming"
                                                                              : "auditing";
  int result = lb_hunting_play(g, batch, PART_COUNT);
  count_breaking(g);
  return result;
}

/* A timeline that stayed undecided beside others is played alone on the machine, once nothing else is left. */
static int play_alone(struct round *r) {
  struct lb_hunting *g = r->g;
  for (size_t i = 0; i < r->order_count; i++) {
    size_t t = r->order[i];
    if (r->taken[t] || !was_asked(r, t) || lb_hunting_knows(g, t) || lb_hunting_is_held(g, t) ||
        !lb_hunting_may_ask(g, t, g->order->guard))
      continue;
    r->taken[t] = true;
    add(r, LOOKING, t);
  }
  struct lb_hunt_batch batch = {.timeline = r->timeline[LOOKING],
                                .count = r->count[LOOKING],
                                .guards = 1u << g->order->guard,
                                .repeats = 1,
                                .alone = true};
  return lb_hunting_play(g, &batch, 1);
}

static size_t count_all(const struct round *r) {
  size_t count = 0;
  for (int part = 0; part < PART_COUNT; part++) count += r->count[part];
  return count;
}

/* What is wanted by what is known: how many. */
static size_t collect_wanted(struct round *r) {
  memset(r->count, 0, sizeof r->count);
  memset(r->taken, 0, r->g->h->space.count * sizeof *r->taken);
  lb_hunting_find_sets(r->g);
  r->first = r->looks && r->g->order->budget_s > 0 && look_first(r);
  search(r);
  if (r->first || r->g->order->shard.of > 0) return count_all(r);
  if (count_all(r) == 0 && !waits_for_replays(r)) audit(r);
  r->count[AUDIT] = lb_hunt_sample_open(r->g, r->timeline[AUDIT]);
  r->count[CLOSER] = lb_hunt_sample_closer(r->g, r->timeline[CLOSER]);
  if (count_all(r) > 0 || !waits_for_replays(r)) ask_guards(r);
  return count_all(r);
}

/* 1 = nothing was wanted. */
static int play_round(struct round *r) {
  if (collect_wanted(r) > 0) return play_all_of(r);
  int result = play_alone(r);
  return result == 0 && count_all(r) == 0 ? 1 : result;
}

/* Until nothing is wanted (1), or this share of the budget is used (0): where timelines are looked at when the next one
 * would be late, for what was seen has to be a fair sample; else when nothing fits any more. */
static int play_until(struct round *r, bool looks, double share) {
  struct lb_hunting *g = r->g;
  int result = 0;
  r->looks = looks;
  g->share = share;
  for (bool fits = true; result == 0 && fits && !lb_hunting_is_over(g, share);) {
    size_t before = g->h->journal.trials;
    g->batches.late = false;
    result = play_round(r);
    fits = !g->batches.late || (!looks && g->h->journal.trials > before);
  }
  g->share = 1;
  return result;
}

/* Negative; else h->end says whether something is left. */
static int play_all(struct round *r) {
  int result = play_until(r, true, LOOK_UNTIL);
  if (result == 0) result = play_until(r, false, ASK_UNTIL);
  r->looks = true;
  if (result < 0) return result;
  r->g->h->end = collect_wanted(r) > 0 ? LB_HUNT_OUT_OF_BUDGET : LB_HUNT_WHOLE;
  return 0;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

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
  size_t sample[LB_HUNTING_SAMPLE_MAX], sampled = lb_hunt_sample_held(g, order, count, sample);
  for (size_t i = 0; i < sampled; i++)
    g->h->held[g->h->space.timeline[sample[i]].fault_count] += lb_hunting_knows(g, sample[i]);
}

static void begin(struct round *r, struct lb_hunting *g, const size_t order[], size_t count) {
  *r = (struct round){.g = g, .order = order, .order_count = count};
  r->taken = lb_need(calloc(g->h->space.count + 1, sizeof *r->taken));
  r->near = lb_need(calloc(g->h->space.count + 1, sizeof *r->near));
  for (size_t i = LB_HUNT_CONTROLS; i < LB_HUNT_CONTROLS + g->first && i < count; i++) r->near[order[i]] = true;
  for (int part = 0; part < PART_COUNT; part++)
    r->timeline[part] = lb_need(calloc(g->h->space.count + 1, sizeof *r->timeline[part]));
}

static void end(struct round *r) {
  for (int part = 0; part < PART_COUNT; part++) free(r->timeline[part]);
  free(r->taken);
  free(r->near);
}

int lb_hunt_search(struct lb_hunting *g, const size_t order[], size_t count) {
  struct round round;
  int r = 0;
  bool drawn = g->h->audit.count > 0 || g->order->shard.of > 0; /* the search goes on, or a shard looks only */
  begin(&round, g, order, count);
  for (int faults = 0; faults <= g->order->faults_max && r == 0 && !drawn; faults++)
    r = lb_hunt_sample_audit(g, (size_t)faults);
  if (r == 0) r = play_all(&round);
  end(&round);
  count_wanted(g, order, count);
  return r;
}

size_t lb_hunt_search_rest(struct lb_hunting *g, const size_t order[], size_t count, struct lb_hunt_rest *ret) {
  static const enum part rest[LB_HUNT_REST] = {HELD, GUARDS, SAFE};
  struct lb_hunt_batch batch[PART_COUNT];
  struct round round;
  size_t some = 0;
  begin(&round, g, order, count);
  audit(&round);
  ask_guards(&round);
  fill_batches(&round, batch);
  for (int i = 0; i < LB_HUNT_REST; i++) {
    ret->timeline[i] = round.timeline[rest[i]];
    round.timeline[rest[i]] = NULL;
    if (batch[rest[i]].count > 0) ret->batch[some++] = batch[rest[i]];
  }
  end(&round);
  return some;
}

void lb_hunt_search_forget(struct lb_hunt_rest *rest) {
  for (int i = 0; i < LB_HUNT_REST; i++) free(rest->timeline[i]);
}

/* The order: inside a number of faults every pair (or triple) of kinds gets its turn before any gets a second one. Which
 * of its timelines is played then is drawn: so a hunt that is stopped has seen a bit of everything. */

enum { PURPOSE_ORDER = 0x68756e74 }; /* a stream of its own */
enum { GROUPS = LB_HUNT_KIND_COUNT * LB_HUNT_KIND_COUNT * LB_HUNT_KIND_COUNT };

struct entry {
  size_t index;   /* of the timeline */
  unsigned group; /* its kinds, in whatever order they come */
  size_t turn;    /* how many of its group come before it */
};

static unsigned group_of(const struct lb_hunt_timeline *t) {
  unsigned kinds[LB_HUNT_FAULTS_MAX] = {0}, group = 0;
  for (size_t i = 0; i < t->fault_count; i++) {
    size_t at = i;
    for (; at > 0 && kinds[at - 1] > t->fault[i].kind; at--) kinds[at] = kinds[at - 1];
    kinds[at] = t->fault[i].kind;
  }
  for (size_t i = 0; i < t->fault_count; i++) group = group * LB_HUNT_KIND_COUNT + kinds[i];
  return group;
}

static void shuffle(struct entry *entries, size_t count, struct lb_rng *rng) {
  for (size_t i = count; i > 1; i--) {
    size_t j = (size_t)lb_rng_below(rng, i);
    struct entry e = entries[i - 1];
    entries[i - 1] = entries[j];
    entries[j] = e;
  }
}

static int by_turn(const void *left, const void *right) {
  const struct entry *a = left, *b = right;
  if (a->turn != b->turn) return a->turn < b->turn ? -1 : 1;
  return a->group < b->group ? -1 : a->group > b->group;
}

/* The kinds of a single fault take no turns: all of them are run. */
static void take_turns(struct entry *entries, size_t count, size_t faults, size_t *seen) {
  for (size_t i = 0; i < GROUPS; i++) seen[i] = 0;
  for (size_t i = 0; i < count; i++) entries[i].turn = seen[entries[i].group]++;
  if (faults > 1) qsort(entries, count, sizeof *entries, by_turn);
}

struct order {
  const struct lb_hunt_space *space;
  size_t *near; /* by lineage */
  size_t near_count;
  bool *is_near; /* by the index of the timeline */
  uint64_t seed;
  struct entry *entries;
  size_t *seen;
  size_t *index;
  size_t count;
};

static size_t collect(struct order *o, size_t faults) {
  size_t count = 0;
  for (size_t i = 0; i < o->space->count; i++) {
    const struct lb_hunt_timeline *t = &o->space->timeline[i];
    if (t->fault_count == faults && t->pruned == LB_HUNT_RUN && !o->is_near[i])
      o->entries[count++] = (struct entry){.index = i, .group = group_of(t)};
  }
  return count;
}

static void add_controls(struct order *o) {
  size_t count = collect(o, 0);
  for (size_t i = 0; i < LB_HUNT_CONTROLS && count > 0; i++) o->index[o->count++] = o->entries[i % count].index;
}

/* Some of those by lineage, from this one on. */
static void add_near(struct order *o, size_t from, size_t to) {
  for (size_t i = from; i < to; i++) o->index[o->count++] = o->near[i];
}

static void add_stratum(struct order *o, size_t faults) {
  struct lb_rng rng = lb_rng_fork(o->seed, PURPOSE_ORDER, faults);
  size_t count = collect(o, faults);
  shuffle(o->entries, count, &rng);
  take_turns(o->entries, count, faults, o->seen);
  for (size_t i = 0; i < count; i++) o->index[o->count++] = o->entries[i].index;
}

/* How many of those by lineage come before everything else. */
static size_t count_first(const struct order *o) {
  enum { SHARE = 20, LEAST = 20 };
  size_t run = 0;
  for (size_t i = 0; i < o->space->count; i++) run += o->space->timeline[i].pruned == LB_HUNT_RUN;
  size_t first = run / SHARE > LEAST ? run / SHARE : LEAST;
  return first < o->near_count ? first : o->near_count;
}

size_t lb_hunt_search_order(const struct lb_hunt_space *space, uint64_t seed, size_t **ret, size_t *ret_count) {
  struct order o = {.space = space, .seed = seed};
  size_t room = space->count + LB_HUNT_CONTROLS;
  o.entries = lb_need(calloc(room, sizeof *o.entries));
  o.seen = lb_need(calloc(GROUPS, sizeof *o.seen));
  o.index = lb_need(calloc(room, sizeof *o.index));
  o.near = lb_need(calloc(room, sizeof *o.near));
  o.is_near = lb_need(calloc(room, sizeof *o.is_near));
  if (!space->switches.no_lineage) o.near_count = lb_hunt_lineage_first(space, seed, o.near);
  for (size_t i = 0; i < o.near_count; i++) o.is_near[o.near[i]] = true;
  size_t first = count_first(&o);
  add_controls(&o);
  add_near(&o, 0, first);
  add_stratum(&o, 1);
  add_near(&o, first, o.near_count);
  for (size_t faults = 2; faults <= LB_HUNT_FAULTS_MAX; faults++) add_stratum(&o, faults);
  free(o.entries);
  free(o.seen);
  free(o.near);
  free(o.is_near);
  *ret = o.index;
  *ret_count = o.count;
  return first;
}
