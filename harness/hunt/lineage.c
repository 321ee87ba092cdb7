/* SPDX-License-Identifier: MIT
 *
 * A fault hits things that the grant rests on. A timeline takes the grant away if what it leaves is not enough to refuse
 * another client: no copy behind a lost primary, no majority, no lease that still runs.
 */
#include "lineage.h"

#include <stdlib.h>

#include "base/need.h"
#include "base/rng.h"
#include "rests.h"

/* ---- what a fault hits ------------------------------------------------------------------------------------------- */

/* A clock that makes leases shorter for who is asked, or longer for who holds. */
static unsigned of_clock(unsigned rests, struct lb_hunt_fault f) {
  bool client = lb_hunt_fault_is_of_client(f), drifts = lb_hunt_fault_drifts(f);
  bool more = f.target == LB_HUNT_ALL || (f.target == LB_HUNT_MOST && !(rests & LB_HUNT_ON_VOTERS));
  if (more || (!drifts && !(rests & LB_HUNT_ON_WALL))) return 0;
  if (!client) return f.kind == LB_HUNT_AHEAD || f.kind == LB_HUNT_FAST ? rests & LB_HUNT_ON_SERVER_CLOCK : 0;
  if (!drifts && rests & LB_HUNT_ON_SERVER_CLOCK) return 0; /* its wall clock counts where no server counts */
  bool longer = f.target == LB_HUNT_C1 ? f.kind == LB_HUNT_SLOW || f.kind == LB_HUNT_BACK : f.kind == LB_HUNT_AHEAD;
  return longer ? rests & LB_HUNT_ON_CLIENT_CLOCK : 0;
}

static unsigned of_server(unsigned rests, struct lb_hunt_fault f) {
  unsigned others = rests & (LB_HUNT_ON_VOTERS | LB_HUNT_ON_COPIES);
  bool links = f.kind == LB_HUNT_ISOLATE || f.kind == LB_HUNT_PART;
  switch (f.target) {
    case LB_HUNT_P:
      if (f.kind == LB_HUNT_PART) return others;
      return (rests & LB_HUNT_ON_GRANTER) | (links ? others : 0);
    case LB_HUNT_F:
    case LB_HUNT_ONE: return others;
    case LB_HUNT_MOST: return rests & LB_HUNT_ON_VOTERS;
    default: return 0; /* all: more than it rests on */
  }
}

/* What the grant rests on of what this fault touches; 0 = nothing. */
static unsigned hit_by(unsigned rests, struct lb_hunt_fault f) {
  switch (f.kind) {
    case LB_HUNT_AHEAD:
    case LB_HUNT_BACK:
    case LB_HUNT_FAST:
    case LB_HUNT_SLOW: return of_clock(rests, f);
    case LB_HUNT_CUT:
    case LB_HUNT_CUT_ONE: return rests & (LB_HUNT_ON_VOTERS | LB_HUNT_ON_SESSION);
    case LB_HUNT_CUT_OFF: return f.target == LB_HUNT_C1 ? rests & LB_HUNT_ON_SESSION : 0;
    default:
      if (!lb_hunt_fault_is_of_client(f)) return of_server(rests, f);
      return f.kind == LB_HUNT_PAUSE && f.target == LB_HUNT_C1 ? rests & LB_HUNT_ON_SESSION : 0;
  }
}

/* ---- what it takes away ------------------------------------------------------------------------------------------ */

struct taken {
  bool lost, away, others, server_clock, client_clock, late, holder;
};

static void take(const struct lb_hunt_system *s, struct lb_hunt_fault f, struct taken *ret) {
  bool client = lb_hunt_fault_is_of_client(f), lasting = f.undo == LB_HUNT_AFTER || f.undo == LB_HUNT_GONE;
  unsigned hit = hit_by(s->rests, f);
  bool primary = f.target == LB_HUNT_P && hit & LB_HUNT_ON_GRANTER;
  ret->server_clock |= (hit & LB_HUNT_ON_SERVER_CLOCK) != 0;
  ret->client_clock |= (hit & LB_HUNT_ON_CLIENT_CLOCK) != 0;
  ret->holder |= client && (f.kind == LB_HUNT_PAUSE || f.kind == LB_HUNT_CUT_OFF) && hit;
  ret->late |= !client && hit && f.undo == LB_HUNT_MID;
  ret->others |= !client && (hit & (LB_HUNT_ON_COPIES | LB_HUNT_ON_VOTERS)) != 0;
  ret->lost |= primary && f.kind == LB_HUNT_RESTART;
  ret->away |= primary && lasting;
  /* Its request waits there while another server takes over. */
  ret->others |= primary && lasting && f.kind == LB_HUNT_PAUSE && f.slot == LB_HUNT_BEFORE;
}

static bool is_taken(const struct lb_hunt_system *s, const struct lb_hunt_timeline *t) {
  struct taken taken = {0};
  size_t majority = s->count / 2 + 1;
  for (size_t i = 0; i < t->fault_count; i++) take(s, t->fault[i], &taken);
  if (taken.holder || (taken.client_clock && taken.late)) return true;
  if (s->rests & LB_HUNT_ON_VOTERS) return lb_hunt_hosts_of(s, t).servers >= majority;
  if (taken.lost || taken.server_clock) return true;
  return taken.away && (taken.others || !(s->rests & LB_HUNT_ON_COPIES));
}

/* ---- how near it is ---------------------------------------------------------------------------------------------- */

/* In slots from the grant. Who confirms it has been asked when client 1 stands inside its acquire, so only B is surely
 * before that; what the grant rests on later has to last. */
static unsigned time_of(unsigned hit, struct lb_hunt_fault f) {
  static const unsigned behind[LB_HUNT_SLOT_COUNT] = {
      [LB_HUNT_BEFORE] = 1, [LB_HUNT_CHECKED] = 1, [LB_HUNT_DONE] = 2, [LB_HUNT_WOKEN] = 3};
  bool before = hit & (LB_HUNT_ON_VOTERS | LB_HUNT_ON_COPIES) && !(hit & LB_HUNT_ON_GRANTER);
  if (before && f.slot <= LB_HUNT_HOLDING) return f.slot != LB_HUNT_BEFORE;
  return lb_hunt_fault_drifts(f) ? 0 : behind[f.slot];
}

static unsigned distance_of(const struct lb_hunt_system *s, const struct lb_hunt_timeline *t) {
  unsigned distance = 0;
  bool holder = false;
  for (size_t i = 0; i < t->fault_count; i++) {
    struct lb_hunt_fault f = t->fault[i];
    unsigned hit = hit_by(s->rests, f);
    bool far = hit & LB_HUNT_ON_COPIES && f.target != LB_HUNT_P; /* behind a link */
    bool client = lb_hunt_fault_is_of_client(f), soon = f.undo == LB_HUNT_STAYS || f.undo == LB_HUNT_AFTER;
    distance += time_of(hit, f) + (!client && !soon) + far;
    holder |= client && (f.kind == LB_HUNT_PAUSE || f.kind == LB_HUNT_CUT_OFF); /* only where leases are short */
  }
  return distance + (t->regime == LB_HUNT_SHORT && !holder);
}

/* ---- the first timelines ----------------------------------------------------------------------------------------- */

enum { PURPOSE_LINEAGE = 0x6c696e65, MECHANISM = LB_HUNT_KIND_COUNT * LB_HUNT_TARGET_COUNT };

struct near {
  size_t index;
  unsigned tier, mechanism, distance;
  size_t place; /* as the seed draws it */
  size_t turn;
};

static unsigned mechanism_of(const struct lb_hunt_timeline *t) {
  unsigned part[2] = {0};
  for (size_t i = 0; i < t->fault_count && i < 2; i++)
    part[i] = 1u + (unsigned)t->fault[i].kind * LB_HUNT_TARGET_COUNT + (unsigned)t->fault[i].target;
  unsigned low = part[0] < part[1] ? part[0] : part[1], high = part[0] < part[1] ? part[1] : part[0];
  return high * (MECHANISM + 1) + low;
}

static bool has_taken_part(const struct lb_hunt_space *space, const struct lb_hunt_timeline *t) {
  struct lb_hunt_timeline part[LB_HUNT_SUBSETS_MAX];
  size_t count = lb_hunt_space_subsets(space, t, part);
  for (size_t i = 0; i < count; i++)
    if (is_taken(&space->system, &part[i])) return true;
  return false;
}

enum { TAKEN, NEAR, FAR };

static unsigned tier_of(const struct lb_hunt_space *space, const struct lb_hunt_timeline *t) {
  unsigned rests = space->system.rests, all = 0, both = ~0u;
  for (size_t i = 0; i < t->fault_count; i++) {
    unsigned hit = hit_by(rests, t->fault[i]);
    if (!hit) return FAR;
    all |= hit, both &= hit;
  }
  if (t->fault_count == 0 || t->fault_count > 2) return FAR;
  bool more = has_taken_part(space, t); /* where that part breaks the lock, it is not played */
  if (is_taken(&space->system, t) && !more) return TAKEN;
  return t->fault_count == 2 && (more || all != both) ? NEAR : FAR;
}

static int by_distance(const void *left, const void *right) {
  const struct near *a = left, *b = right;
  if (a->tier != b->tier) return a->tier < b->tier ? -1 : 1;
  if (a->mechanism != b->mechanism) return a->mechanism < b->mechanism ? -1 : 1;
  if (a->distance != b->distance) return a->distance < b->distance ? -1 : 1;
  return a->place < b->place ? -1 : a->place > b->place;
}

/* A mechanism of one fault has a number below those of two. */
static int by_turn(const void *left, const void *right) {
  const struct near *a = left, *b = right;
  bool a_single = a->mechanism % (MECHANISM + 1) == 0, b_single = b->mechanism % (MECHANISM + 1) == 0;
  if (a->turn != b->turn) return a->turn < b->turn ? -1 : 1;
  if (a->tier != b->tier) return a->tier < b->tier ? -1 : 1;
  if (a_single != b_single) return a_single ? -1 : 1;
  if (a->distance != b->distance) return a->distance < b->distance ? -1 : 1;
  return a->place < b->place ? -1 : a->place > b->place;
}

static size_t collect(const struct lb_hunt_space *space, uint64_t seed, struct near *ret) {
  struct lb_rng rng = lb_rng_fork(seed, PURPOSE_LINEAGE, 0);
  size_t count = 0;
  for (size_t i = 0; i < space->count; i++) {
    const struct lb_hunt_timeline *t = &space->timeline[i];
    unsigned tier = t->pruned == LB_HUNT_RUN ? tier_of(space, t) : FAR;
    if (tier == FAR) continue;
    ret[count++] = (struct near){.index = i,
                                 .tier = tier,
                                 .mechanism = mechanism_of(t),
                                 .distance = distance_of(&space->system, t),
                                 .place = (size_t)lb_rng_below(&rng, UINT32_MAX)};
  }
  return count;
}

/* A part that takes the grant away comes first, unless a bound leaves it out. No other part is expected to break the
 * lock: in front it would take the place of a timeline that is. */
static size_t add(const struct lb_hunt_space *space, size_t index, bool *listed, size_t *ret, size_t count) {
  struct lb_hunt_timeline part[LB_HUNT_SUBSETS_MAX];
  size_t parts = lb_hunt_space_subsets(space, &space->timeline[index], part);
  for (size_t i = 0; i < parts; i++) {
    ptrdiff_t at = part[i].fault_count > 0 ? lb_hunt_space_find(space, &part[i]) : -1;
    if (at >= 0 && space->timeline[at].pruned == LB_HUNT_RUN && !listed[at] && is_taken(&space->system, &part[i]))
      listed[at] = true, ret[count++] = (size_t)at;
  }
  if (!listed[index]) listed[index] = true, ret[count++] = index;
  return count;
}

size_t lb_hunt_lineage_first(const struct lb_hunt_space *space, uint64_t seed, size_t ret[]) {
  struct near *near = lb_need(calloc(space->count + 1, sizeof *near));
  bool *listed = lb_need(calloc(space->count + 1, sizeof *listed));
  size_t some = collect(space, seed, near), count = 0;
  qsort(near, some, sizeof *near, by_distance);
  for (size_t i = 1; i < some; i++)
    if (near[i].tier == near[i - 1].tier && near[i].mechanism == near[i - 1].mechanism)
      near[i].turn = near[i - 1].turn + 1;
  qsort(near, some, sizeof *near, by_turn);
  for (size_t i = 0; i < some; i++) count = add(space, near[i].index, listed, ret, count);
  free(near);
  free(listed);
  return count;
}
