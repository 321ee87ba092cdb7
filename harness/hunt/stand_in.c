/* SPDX-License-Identifier: MIT
 *
 * Who stands for a timeline that is soundly pruned. Each reason claims that it comes out as another one, and here is which: so the claim can be tried.
 */
#include <string.h>

#include "space.h"

static void drop(struct lb_hunt_timeline *t, size_t at) {
  memmove(t->fault + at, t->fault + at + 1, (t->fault_count - at - 1) * sizeof *t->fault);
  t->fault_count--;
}

static void put(struct lb_hunt_timeline *t, size_t at, struct lb_hunt_fault f) {
  memmove(t->fault + at + 1, t->fault + at, (t->fault_count - at) * sizeof *t->fault);
  t->fault[at] = f;
  t->fault_count++;
}

/* Pruned for this reason alone, in whatever regime, and beside each fault that comes later: one that is over before H is not as at H beside some of those. */
static bool is_it(const struct lb_hunt_system *s, const struct lb_hunt_timeline *t, size_t at, enum lb_hunt_pruned why) {
  struct lb_hunt_timeline one = {.fault_count = 1, .fault = {t->fault[at]}};
  bool is = lb_hunt_prune(s, &one) == why;
  for (size_t i = at + 1; i < t->fault_count && is && why == LB_HUNT_SAME_AS_H; i++) {
    one.fault_count = 2;
    one.fault[1] = t->fault[i];
    is = t->fault[i].slot != LB_HUNT_HOLDING || lb_hunt_prune(s, &one) == why;
  }
  return is;
}

/* The first such fault. */
static size_t find_fault(const struct lb_hunt_system *s, const struct lb_hunt_timeline *t, enum lb_hunt_pruned why) {
  size_t i = 0;
  while (i < t->fault_count && !is_it(s, t, i, why)) i++;
  return i;
}

/* The later one of the first two faults that are pruned for this reason as a pair. */
static size_t find_later(const struct lb_hunt_system *s, const struct lb_hunt_timeline *t, enum lb_hunt_pruned why) {
  for (size_t j = 1; j < t->fault_count; j++)
    for (size_t i = 0; i < j; i++) {
      struct lb_hunt_timeline two = {.fault_count = 2, .fault = {t->fault[i], t->fault[j]}};
      if (lb_hunt_prune(s, &two) == why) return j;
    }
  return t->fault_count;
}

/* Behind the others that are done at A, which come first. */
static void move_to_h(struct lb_hunt_timeline *t, size_t at) {
  struct lb_hunt_fault f = t->fault[at];
  drop(t, at);
  while (at < t->fault_count && t->fault[at].slot == LB_HUNT_ASKING) at++;
  f.slot = LB_HUNT_HOLDING;
  put(t, at, f);
}

static void put_in_order(struct lb_hunt_timeline *t) {
  size_t from, to;
  if (!lb_hunt_is_moved(t, &from, &to)) return;
  struct lb_hunt_fault f = t->fault[from];
  drop(t, from);
  put(t, to, f);
}

/* One claim. False if nobody made one. */
static bool follow(const struct lb_hunt_system *s, struct lb_hunt_timeline *t) {
  size_t alone = find_fault(s, t, t->pruned), later = find_later(s, t, t->pruned);
  if (alone == t->fault_count && later == t->fault_count && t->pruned != LB_HUNT_ORDER && t->pruned != LB_HUNT_NO_DRIFT) return false;
  switch (t->pruned) {
    case LB_HUNT_CLIENT_WALL:
    case LB_HUNT_NO_LINKS:
    case LB_HUNT_NO_QUEUE: drop(t, alone); break;
    case LB_HUNT_SYMMETRIC: t->fault[alone].target = LB_HUNT_P; break;
    case LB_HUNT_SAME_AS_H: move_to_h(t, alone); break;
    case LB_HUNT_DEAD_HOST:
    case LB_HUNT_CLIENT_1_DEAD: drop(t, later); break;
    case LB_HUNT_ORDER: put_in_order(t); break;
    case LB_HUNT_NO_DRIFT: t->regime = LB_HUNT_LONG; break;
    default: return false;
  }
  t->pruned = lb_hunt_prune(s, t);
  return true;
}

static bool has_twice(const struct lb_hunt_timeline *t) {
  for (size_t j = 1; j < t->fault_count; j++)
    for (size_t i = 0; i < j; i++)
      if (lb_hunt_fault_equal(t->fault[i], t->fault[j])) return true;
  return false;
}

/* Each claim takes a fault away, or brings it nearer to where it belongs: they end. */
bool lb_hunt_stand_in(const struct lb_hunt_system *s, const struct lb_hunt_timeline *timeline, struct lb_hunt_timeline *ret) {
  if (!lb_hunt_pruned_is_sound(timeline->pruned)) return false;
  *ret = *timeline;
  while (lb_hunt_pruned_is_sound(ret->pruned))
    if (!follow(s, ret) || has_twice(ret)) return false;
  return true;
}
