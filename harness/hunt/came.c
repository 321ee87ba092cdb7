/* SPDX-License-Identifier: MIT
 *
 * From the verdict of a trial to the answer that a hunt counts. A trial that the judge calls stuck, or in which nobody was refused by anybody, says
 * nothing of exclusion: the faults stopped the service, and that is an answer of its own.
 */
#include "came.h"

#include <string.h>

static const char *const names[LB_HUNT_CAME_COUNT] = {"safe", "lease", "expired", "damage", "numbers", "blocked", "undecided"};

const char *lb_hunt_came_name(enum lb_hunt_came came) { return names[came]; }

const char *lb_hunt_class_text(enum lb_hunt_came class) {
  static const char *const texts[LB_HUNT_CAME_COUNT] = {
      [LB_HUNT_LEASE] = "within a lease", [LB_HUNT_EXPIRED] = "after the lease", [LB_HUNT_DAMAGE] = "only at the resource", [LB_HUNT_NUMBERS] = "in numbers only"};
  return texts[class] ? texts[class] : "";
}

int lb_hunt_came_find(const char *name) {
  for (int i = 0; i < LB_HUNT_CAME_COUNT; i++)
    if (strcmp(names[i], name) == 0) return i;
  return -1;
}

/* A violation by what happened, not by what it was judged by: a number that repeats is no double hold. */
static enum lb_hunt_came class_of(const struct lb_outcome *out) {
  if (out->within_lease > 0) return LB_HUNT_LEASE;
  if (out->double_holds > 0) return LB_HUNT_EXPIRED;
  return out->dirty_accesses > 0 || out->lost_updates > 0 || out->stale_writes > 0 ? LB_HUNT_DAMAGE : LB_HUNT_NUMBERS;
}

enum lb_hunt_came lb_hunt_came_of(const struct lb_outcome *out) {
  switch (out->verdict) {
    case LB_SAFE: return LB_HUNT_SAFE;
    case LB_VIOLATED: return class_of(out);
    case LB_STUCK:
    case LB_DELAYED: return LB_HUNT_BLOCKED;
    default: return out->uncontested ? LB_HUNT_BLOCKED : LB_HUNT_UNDECIDED;
  }
}

unsigned lb_hunt_decided(const struct lb_hunt_count *count) {
  unsigned decided = 0;
  for (int i = 0; i < LB_HUNT_UNDECIDED; i++) decided += count->of[i];
  return decided;
}

bool lb_hunt_broke(const struct lb_hunt_count *count) { return count->of[LB_HUNT_LEASE] + count->of[LB_HUNT_EXPIRED] > 0; }

unsigned lb_hunt_violated(const struct lb_hunt_count *count) {
  unsigned violated = 0;
  for (int i = LB_HUNT_CLASS_FIRST; i <= LB_HUNT_CLASS_LAST; i++) violated += count->of[i];
  return violated;
}
