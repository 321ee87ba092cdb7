/* SPDX-License-Identifier: MIT
 *
 * All timelines of a system: the letters of its alphabet, put together in every way that goes forward in
 * the program. Nothing is left out here; prune.c says of each why it need not be run.
 */
#include "space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { FIRST_ROOM = 1024 };

static int add(struct lb_hunt_space *space, size_t *room, const struct lb_hunt_timeline *t) {
  if (space->count == *room) {
    size_t more = *room ? *room * 2 : FIRST_ROOM;
    struct lb_hunt_timeline *grown = realloc(space->timeline, more * sizeof *grown);
    if (!grown) return -ENOMEM;
    space->timeline = grown;
    *room = more;
  }
  space->timeline[space->count] = *t;
  space->timeline[space->count++].pruned = lb_hunt_prune(&space->system, t);
  return 0;
}

static bool has_fault(const struct lb_hunt_timeline *t, struct lb_hunt_fault f) {
  for (size_t i = 0; i < t->fault_count; i++)
    if (lb_hunt_fault_equal(t->fault[i], f)) return true;
  return false;
}

struct words { /* the letters, in the order of their slots */
  struct lb_hunt_fault letter[LB_HUNT_LETTERS_MAX];
  size_t count;
};

/* Of the regime `drift` only what drifts: the others are those of `long`. */
static bool belongs(const struct lb_hunt_timeline *t) {
  bool drifts = t->regime != LB_HUNT_DRIFT || t->fault_count == 0;
  for (size_t i = 0; i < t->fault_count; i++) drifts |= lb_hunt_drifts(t->fault[i]);
  return drifts;
}

/* Every way to go on from here to `faults` faults: with a letter of a later slot, or of the same slot in any order. */
static int spell(struct lb_hunt_space *space, size_t *room, const struct words *words, struct lb_hunt_timeline *t, size_t faults) {
  int r = 0;
  if (t->fault_count == faults) return belongs(t) ? add(space, room, t) : 0;
  for (size_t i = 0; i < words->count && r == 0; i++) {
    struct lb_hunt_fault f = words->letter[i];
    if (t->fault_count > 0 && f.slot < t->fault[t->fault_count - 1].slot) continue;
    if (has_fault(t, f)) continue;
    t->fault[t->fault_count++] = f;
    r = spell(space, room, words, t, faults);
    t->fault_count--;
  }
  return r;
}

/* Where no clock can be set nothing drifts, and its control would be one of nothing. */
static bool is_empty(const struct words *words, enum lb_hunt_regime regime) {
  for (size_t i = 0; i < words->count; i++)
    if (lb_hunt_drifts(words->letter[i])) return false;
  return regime == LB_HUNT_DRIFT;
}

static bool is_same(const struct lb_hunt_timeline *a, const struct lb_hunt_timeline *b) {
  if (a->regime != b->regime || a->fault_count != b->fault_count) return false;
  for (size_t i = 0; i < a->fault_count; i++)
    if (!lb_hunt_fault_equal(a->fault[i], b->fault[i])) return false;
  return true;
}

/* Where it is looked for first. */
static size_t place_of(const struct lb_hunt_space *space, const struct lb_hunt_timeline *t) {
  unsigned char bytes[1 + 4 * LB_HUNT_FAULTS_MAX];
  size_t len = 0;
  bytes[len++] = (unsigned char)t->regime;
  for (size_t i = 0; i < t->fault_count; i++) {
    const struct lb_hunt_fault *f = &t->fault[i];
    bytes[len++] = (unsigned char)f->kind, bytes[len++] = (unsigned char)f->target, bytes[len++] = (unsigned char)f->slot, bytes[len++] = (unsigned char)f->undo;
  }
  return space->places > 0 ? lb_hash(LB_HASH_BEGIN, bytes, len) % space->places : 0;
}

static int make_places(struct lb_hunt_space *space) {
  space->places = 2 * space->count + 1;
  space->place = calloc(space->places, sizeof *space->place);
  if (!space->place) return -ENOMEM;
  for (size_t i = 0; i < space->count; i++) {
    size_t at = place_of(space, &space->timeline[i]);
    while (space->place[at] > 0) at = (at + 1) % space->places;
    space->place[at] = i + 1;
  }
  return 0;
}

int lb_hunt_space_make(const struct lb_hunt_system *system, int faults_max, const struct lb_hunt_switches *switches, struct lb_hunt_space *ret) {
  size_t room = 0;
  int r = 0;
  *ret = (struct lb_hunt_space){.system = *system, .faults_max = faults_max};
  if (switches) ret->switches = *switches;
  if (faults_max < 0 || faults_max > LB_HUNT_FAULTS_MAX) return *ret = (struct lb_hunt_space){0}, -EINVAL;
  for (size_t faults = 0; faults <= (size_t)faults_max && r == 0; faults++)
    for (unsigned g = 0; g < LB_HUNT_REGIME_COUNT && r == 0; g++) {
      struct lb_hunt_timeline t = {.regime = (enum lb_hunt_regime)g};
      struct words words;
      words.count = lb_hunt_letters(system, t.regime, ret->switches.without, words.letter);
      if (!is_empty(&words, t.regime)) r = spell(ret, &room, &words, &t, faults);
    }
  if (r == 0) r = make_places(ret);
  if (r < 0) lb_hunt_space_clear(ret);
  return r;
}

void lb_hunt_space_clear(struct lb_hunt_space *space) {
  free(space->timeline);
  free(space->place);
  *space = (struct lb_hunt_space){0};
}

ptrdiff_t lb_hunt_find(const struct lb_hunt_space *space, const struct lb_hunt_timeline *t) {
  for (size_t at = place_of(space, t); space->places > 0 && space->place[at] > 0; at = (at + 1) % space->places)
    if (is_same(&space->timeline[space->place[at] - 1], t)) return (ptrdiff_t)space->place[at] - 1;
  return -1;
}

/* ---- subsets ----------------------------------------------------------------------------------------- */

/* Two neighbours that could stand the other way round: as it is run. A proper subset has two at most. */
static void put_in_order(const struct lb_hunt_system *system, struct lb_hunt_timeline *t) {
  t->pruned = lb_hunt_prune(system, t);
  if (t->pruned != LB_HUNT_ORDER || t->fault_count != 2) return;
  struct lb_hunt_fault first = t->fault[0];
  t->fault[0] = t->fault[1];
  t->fault[1] = first;
  t->pruned = lb_hunt_prune(system, t);
}

size_t lb_hunt_subsets(const struct lb_hunt_space *space, const struct lb_hunt_timeline *t, struct lb_hunt_timeline ret[LB_HUNT_SUBSETS_MAX]) {
  size_t count = 0;
  unsigned all = (1u << t->fault_count) - 1;
  for (size_t size = 0; size < t->fault_count; size++)
    for (unsigned set = 0; set < all; set++) {
      struct lb_hunt_timeline sub = {.regime = t->regime};
      if ((size_t)__builtin_popcount(set) != size) continue;
      for (size_t i = 0; i < t->fault_count; i++)
        if (set & (1u << i)) sub.fault[sub.fault_count++] = t->fault[i];
      put_in_order(&space->system, &sub);
      ret[count++] = sub;
    }
  return count;
}

bool lb_hunt_has_unreal(const struct lb_hunt_timeline *t) {
  bool has = false;
  for (size_t i = 0; i < t->fault_count; i++) has |= lb_hunt_is_unreal(t->fault[i]);
  return has;
}

/* What a single server has that can do everything, and that decides with one reply. */
bool lb_hunt_is_core(const struct lb_hunt_timeline *t) {
  static const struct lb_hunt_system plain = {.servers = LB_HUNT_SINGLE,
                                              .count = 1,
                                              .network = true,
                                              .inside = "",
                                              .decided_inside = true,
                                              .gated = true,
                                              .sets_servers = true,
                                              .sets_clients = true};
  struct lb_hunt_fault letter[LB_HUNT_LETTERS_MAX];
  size_t count = lb_hunt_letters(&plain, t->regime, 0, letter);
  if (t->fault_count != 1 || lb_hunt_prune(&plain, t) != LB_HUNT_RUN) return false;
  for (size_t i = 0; i < count; i++)
    if (lb_hunt_fault_equal(letter[i], t->fault[0])) return true;
  return false;
}
