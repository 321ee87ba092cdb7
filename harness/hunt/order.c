/* SPDX-License-Identifier: MIT
 *
 * The order of a hunt. Few faults come before many. Inside a number of faults every pair (or triple) of kinds gets its
 * turn before any of them gets a second one, and which of its timelines that is, is drawn: so a hunt that
 * is stopped has seen a bit of everything.
 */
#include "order.h"

#include <errno.h>
#include <stdlib.h>

#include "base/rng.h"

enum { PURPOSE_ORDER = 0x68756e74 }; /* a stream of its own */
enum { GROUPS = LB_HUNT_KIND_COUNT * LB_HUNT_KIND_COUNT * LB_HUNT_KIND_COUNT };

struct entry {
  size_t index; /* of the timeline */
  unsigned group; /* its kinds, in whatever order they come */
  size_t turn;  /* how many of its group come before it */
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

/* Of a single fault the kinds take no turns: all of them are run. */
static void take_turns(struct entry *entries, size_t count, size_t faults, size_t *seen) {
  for (size_t i = 0; i < GROUPS; i++) seen[i] = 0;
  for (size_t i = 0; i < count; i++) entries[i].turn = seen[entries[i].group]++;
  if (faults > 1) qsort(entries, count, sizeof *entries, by_turn);
}

struct order {
  const struct lb_hunt_space *space;
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
    if (t->fault_count == faults && t->pruned == LB_HUNT_RUN) o->entries[count++] = (struct entry){.index = i, .group = group_of(t)};
  }
  return count;
}

static void add_controls(struct order *o) {
  size_t count = collect(o, 0);
  for (size_t i = 0; i < LB_HUNT_CONTROLS && count > 0; i++) o->index[o->count++] = o->entries[i % count].index;
}

static void add_stratum(struct order *o, size_t faults) {
  struct lb_rng rng = lb_rng_fork(o->seed, PURPOSE_ORDER, faults);
  size_t count = collect(o, faults);
  shuffle(o->entries, count, &rng);
  take_turns(o->entries, count, faults, o->seen);
  for (size_t i = 0; i < count; i++) o->index[o->count++] = o->entries[i].index;
}

int lb_hunt_order(const struct lb_hunt_space *space, uint64_t seed, size_t **ret, size_t *ret_count) {
  struct order o = {.space = space, .seed = seed};
  size_t room = space->count + LB_HUNT_CONTROLS;
  o.entries = calloc(room, sizeof *o.entries);
  o.seen = calloc(GROUPS, sizeof *o.seen);
  o.index = calloc(room, sizeof *o.index);
  bool full = o.entries && o.seen && o.index;
  if (full) add_controls(&o);
  for (size_t faults = 1; full && faults <= LB_HUNT_FAULTS_MAX; faults++) add_stratum(&o, faults);
  free(o.entries);
  free(o.seen);
  if (!full) free(o.index), o.index = NULL;
  *ret = o.index;
  *ret_count = o.count;
  return full ? 0 : -ENOMEM;
}
