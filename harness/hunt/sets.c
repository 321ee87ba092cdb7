/* SPDX-License-Identifier: MIT
 *
 * Minimality, read off the book. The empty set is a subset of all of them: a lock that breaks without a fault has one minimal set, the empty one.
 */
#include "sets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *lb_hunt_standing_name(enum lb_hunt_standing standing) {
  static const char *const names[] = {"minimal", "not replayed", "open", "sometimes"};
  return names[standing];
}

/* ---- subsets --------------------------------------------------------------------------------------------------------- */

enum { PARTS_MAX = LB_HUNT_SUBSETS_MAX + LB_HUNT_FEWER_SETS_MAX };

/* Proper subsets, of faults and of the hosts to which they are done, as indices of the space. Without a clock that drifts, a part of the regime drift is what it is in the regime long. */
static size_t subsets(const struct lb_hunt_space *space, size_t timeline, size_t ret[PARTS_MAX]) {
  struct lb_hunt_timeline part[PARTS_MAX];
  size_t count = 0, parts = lb_hunt_subsets(space, &space->timeline[timeline], part);
  parts += lb_hunt_fewer_sets(space, &space->timeline[timeline], part + parts);
  for (size_t i = 0; i < parts; i++) {
    ptrdiff_t at = lb_hunt_find(space, &part[i]);
    if (at < 0) part[i].regime = LB_HUNT_LONG, at = lb_hunt_find(space, &part[i]);
    if (at >= 0) ret[count++] = (size_t)at;
  }
  return count;
}

/* Quick: each fault of the small one is among those of the large one, or done to fewer hosts. */
static bool may_be_in(const struct lb_hunt_timeline *small, const struct lb_hunt_timeline *large) {
  if (small->fault_count > large->fault_count) return false;
  for (size_t i = 0; i < small->fault_count; i++) {
    bool found = false;
    for (size_t j = 0; j < large->fault_count; j++) found |= lb_hunt_fault_equal(small->fault[i], large->fault[j]) || lb_hunt_is_fewer(small->fault[i], large->fault[j]);
    if (!found) return false;
  }
  return true;
}

static bool is_subset(const struct lb_hunt_space *space, size_t small, size_t large) {
  size_t part[PARTS_MAX], count = may_be_in(&space->timeline[small], &space->timeline[large]) ? subsets(space, large, part) : 0;
  for (size_t i = 0; i < count; i++)
    if (part[i] == small) return true;
  return false;
}

unsigned lb_hunt_breaks(const struct lb_hunt_book *book, size_t timeline, enum lb_hunt_came class) {
  return lb_hunt_seen(book, timeline)->of[class];
}

bool lb_hunt_sets_contained(const struct lb_hunt_sets *sets, const struct lb_hunt_space *space, size_t timeline, enum lb_hunt_came class) {
  for (size_t i = 0; i < sets->count; i++) {
    const struct lb_hunt_set *set = &sets->set[i];
    if (set->standing <= LB_HUNT_NOT_REPLAYED && set->class == class && is_subset(space, set->timeline, timeline)) return true;
  }
  return false;
}

/* ---- what each timeline is ------------------------------------------------------------------------------------------- */

/* The subsets that break, and those of which that is not known. */
static void look_at_subsets(const struct lb_hunt_book *b, size_t timeline, enum lb_hunt_came class, unsigned *ret_breaking, unsigned *ret_open) {
  size_t part[PARTS_MAX], count = subsets(b->space, timeline, part);
  *ret_breaking = *ret_open = 0;
  for (size_t i = 0; i < count; i++) {
    if (lb_hunt_breaks(b, part[i], class)) ++*ret_breaking;
    else if (lb_hunt_decided(lb_hunt_seen(b, part[i])) < LB_HUNT_SURE) ++*ret_open;
  }
}

bool lb_hunt_part_broke(const struct lb_hunt_book *book, size_t timeline, enum lb_hunt_came class) {
  unsigned breaking, open;
  look_at_subsets(book, timeline, class, &breaking, &open);
  return breaking > 0;
}

/* True if it belongs into the list. Those that contain a minimal set do not: the smaller one says more. */
static bool judge(const struct lb_hunt_book *b, const struct lb_hunt_sets *smaller, size_t timeline, enum lb_hunt_came class, struct lb_hunt_set *ret) {
  const struct lb_hunt_count *count = lb_hunt_seen(b, timeline);
  unsigned breaking, broke = count->of[class], decided = lb_hunt_decided(count);
  const struct lb_hunt_replay *replay = &b->replay[timeline];
  if (broke == 0 || (replay->refuted && replay->agreed == 0) || lb_hunt_sets_contained(smaller, b->space, timeline, class)) return false;
  for (int worse = LB_HUNT_CLASS_FIRST; worse < (int)class; worse++)
    if (count->of[worse] > 0) return false; /* it is a set of that class */
  *ret = (struct lb_hunt_set){.timeline = timeline, .class = class, .broke = broke, .decided = decided, .agreed = replay->agreed, .replayed = replay->decided, .simplest = {timeline, 0}};
  look_at_subsets(b, timeline, class, &breaking, &ret->open);
  if (broke < decided || breaking > 0 || replay->refuted) ret->standing = LB_HUNT_SOMETIMES;
  else ret->standing = decided < LB_HUNT_SURE || ret->open > 0 ? LB_HUNT_OPEN : LB_HUNT_MINIMAL;
  return true;
}

static int add(struct lb_hunt_sets *sets, const struct lb_hunt_set *set) {
  struct lb_hunt_set *grown = realloc(sets->set, (sets->count + 1) * sizeof *grown);
  if (!grown) return -ENOMEM;
  sets->set = grown;
  sets->set[sets->count++] = *set;
  return 0;
}

/* One with fewer hosts may stand behind the one that it is a part of. */
static void drop_contained(const struct lb_hunt_space *space, enum lb_hunt_came class, struct lb_hunt_sets *sets) {
  size_t kept = 0;
  for (size_t i = 0; i < sets->count; i++)
    if (sets->set[i].class != class || !lb_hunt_sets_contained(sets, space, sets->set[i].timeline, class)) sets->set[kept++] = sets->set[i];
  sets->count = kept;
}

/* The space is in the order of the number of faults, so sets with fewer faults are known when a larger one is looked at. */
static int find_class(const struct lb_hunt_book *b, enum lb_hunt_came class, struct lb_hunt_sets *ret) {
  struct lb_hunt_set set;
  int r = 0;
  for (size_t i = 0; i < b->space->count && r == 0; i++)
    if (judge(b, ret, i, class, &set)) r = add(ret, &set);
  drop_contained(b->space, class, ret);
  return r;
}

int lb_hunt_sets_find(const struct lb_hunt_book *book, struct lb_hunt_sets *ret) {
  *ret = (struct lb_hunt_sets){0};
  int r = 0;
  for (int class = LB_HUNT_CLASS_FIRST; class <= LB_HUNT_CLASS_LAST && r == 0; class++) r = find_class(book, (enum lb_hunt_came)class, ret);
  if (r < 0) lb_hunt_sets_clear(ret);
  return r;
}

void lb_hunt_sets_clear(struct lb_hunt_sets *sets) {
  free(sets->set);
  *sets = (struct lb_hunt_sets){0};
}

struct lb_hunt_share lb_hunt_core(const struct lb_hunt_book *b) {
  struct lb_hunt_share share = {0};
  for (size_t i = 0; i < b->space->count; i++) {
    const struct lb_hunt_timeline *t = &b->space->timeline[i];
    if (t->pruned != LB_HUNT_RUN || !lb_hunt_is_core(t) || lb_hunt_decided(lb_hunt_seen(b, i)) == 0) continue;
    share.decided++;
    share.broke += lb_hunt_breaks(b, i, LB_HUNT_LEASE) > 0;
  }
  return share;
}

/* ---- mechanisms -------------------------------------------------------------------------------------------------------- */

/* How many of its faults do this to this host. */
static size_t count_done(const struct lb_hunt_timeline *t, const struct lb_hunt_fault *fault) {
  size_t count = 0;
  for (size_t i = 0; i < t->fault_count; i++) count += t->fault[i].kind == fault->kind && t->fault[i].target == fault->target;
  return count;
}

bool lb_hunt_alike(const struct lb_hunt_space *space, const struct lb_hunt_set *a, const struct lb_hunt_set *b) {
  const struct lb_hunt_timeline *one = &space->timeline[a->timeline], *other = &space->timeline[b->timeline];
  if (a->class != b->class || one->fault_count != other->fault_count) return false;
  for (size_t i = 0; i < one->fault_count; i++)
    if (count_done(one, &one->fault[i]) != count_done(other, &one->fault[i])) return false;
  return true;
}

bool lb_hunt_is_first(const struct lb_hunt_sets *sets, const struct lb_hunt_space *space, size_t index) {
  enum lb_hunt_standing standing = sets->set[index].standing;
  for (size_t i = 0; i < index; i++) {
    bool said = sets->set[i].standing == standing || (standing == LB_HUNT_NOT_REPLAYED && sets->set[i].standing == LB_HUNT_MINIMAL);
    if (said && lb_hunt_alike(space, &sets->set[i], &sets->set[index])) return false;
  }
  return true;
}

/* ---- what is not known yet ------------------------------------------------------------------------------------------- */

static bool wants(const struct lb_hunt_book *b, size_t timeline) {
  const struct lb_hunt_count *count = lb_hunt_seen(b, timeline);
  return lb_hunt_decided(count) < LB_HUNT_SURE && count->of[LB_HUNT_UNDECIDED] < LB_HUNT_SURE;
}

/* Who broke once, in any class, and has no minimal set of that class in it. */
static bool is_candidate(const struct lb_hunt_book *b, const struct lb_hunt_sets *sets, size_t timeline, size_t faults) {
  if (b->space->timeline[timeline].fault_count != faults) return false;
  for (int class = LB_HUNT_CLASS_FIRST; class <= LB_HUNT_CLASS_LAST; class++)
    if (lb_hunt_breaks(b, timeline, (enum lb_hunt_came)class) && !lb_hunt_sets_contained(sets, b->space, timeline, (enum lb_hunt_came)class)) return true;
  return false;
}

/* The first of its mechanism that is in question: none before it is, and none is minimal. */
static bool is_news(const struct lb_hunt_sets *sets, const struct lb_hunt_space *space, size_t timeline) {
  size_t at = 0;
  while (at < sets->count && (sets->set[at].timeline != timeline || sets->set[at].class != LB_HUNT_LEASE)) at++;
  if (at == sets->count) return false;
  for (size_t i = 0; i < sets->count; i++) {
    bool known = sets->set[i].standing == LB_HUNT_MINIMAL || (i < at && sets->set[i].standing == LB_HUNT_OPEN);
    if (i != at && known && lb_hunt_alike(space, &sets->set[i], &sets->set[at])) return false;
  }
  return true;
}

ptrdiff_t lb_hunt_sets_wanting(const struct lb_hunt_book *b, const struct lb_hunt_sets *sets, size_t faults, bool firsts, size_t **ret) {
  size_t part[PARTS_MAX], count = 0;
  bool *wanted = calloc(b->space->count + 1, sizeof *wanted);
  *ret = malloc((b->space->count + 1) * sizeof **ret);
  if (!wanted || !*ret) return free(wanted), free(*ret), *ret = NULL, -ENOMEM;
  for (size_t i = 0; i < b->space->count; i++) {
    if (!is_candidate(b, sets, i, faults) || (firsts && !is_news(sets, b->space, i))) continue;
    size_t parts = subsets(b->space, i, part);
    wanted[i] = true;
    for (size_t p = 0; p < parts; p++) wanted[part[p]] = true;
  }
  for (size_t i = 0; i < b->space->count; i++)
    if (wanted[i] && wants(b, i)) (*ret)[count++] = i;
  free(wanted);
  return (ptrdiff_t)count;
}
