/* SPDX-License-Identifier: MIT
 *
 * From the verdict of a trial to the answer that a hunt counts. A trial that the judge calls stuck, or in which nobody was refused by anybody, says
 * nothing of exclusion: the faults stopped the service, and that is an answer of its own.
 */
#include "came.h"

#include <string.h>

static const char *const names[LB_HUNT_CAME_COUNT] = {"safe", "lease", "expired", "blocked", "undecided"};

const char *lb_hunt_came_name(enum lb_hunt_came came) { return names[came]; }

int lb_hunt_came_find(const char *name) {
  for (int i = 0; i < LB_HUNT_CAME_COUNT; i++)
    if (strcmp(names[i], name) == 0) return i;
  return -1;
}

enum lb_hunt_came lb_hunt_came_of(const struct lb_outcome *out) {
  switch (out->verdict) {
    case LB_SAFE: return LB_HUNT_SAFE;
    case LB_VIOLATED: return out->late_only ? LB_HUNT_EXPIRED : LB_HUNT_LEASE;
    case LB_STUCK: return LB_HUNT_BLOCKED;
    default: return out->uncontested ? LB_HUNT_BLOCKED : LB_HUNT_UNDECIDED;
  }
}

unsigned lb_hunt_decided(const struct lb_hunt_count *count) {
  unsigned decided = 0;
  for (int i = 0; i < LB_HUNT_UNDECIDED; i++) decided += count->of[i];
  return decided;
}

bool lb_hunt_broke(const struct lb_hunt_count *count) { return count->of[LB_HUNT_LEASE] + count->of[LB_HUNT_EXPIRED] > 0; }
