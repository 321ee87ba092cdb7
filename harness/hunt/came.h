/* SPDX-License-Identifier: MIT
 *
 * came.h - what came of a timeline of a hunt, once or several times.
 */
#ifndef LB_HUNT_CAME_H
#define LB_HUNT_CAME_H

#include "trial/outcome.h"

enum lb_hunt_came {
  LB_HUNT_SAFE,
  LB_HUNT_LEASE,     /* class L: two held, and both leases ran; or a loss that no ended lease excuses */
  LB_HUNT_EXPIRED,   /* class E: two held, but the earlier lease was over */
  LB_HUNT_BLOCKED,   /* nobody could be granted the lock while it mattered, or not again at the end. Never safe: the question was not answered */
  LB_HUNT_UNDECIDED,
  LB_HUNT_CAME_COUNT
};
/* "safe", "lease", "expired", "blocked", "undecided". */
const char *lb_hunt_came_name(enum lb_hunt_came came);
/* The one of that name, or -1. */
int lb_hunt_came_find(const char *name);

/* Which one a trial is. */
enum lb_hunt_came lb_hunt_came_of(const struct lb_outcome *outcome);

struct lb_hunt_count { /* of the trials of one timeline under one guard */
  uint16_t of[LB_HUNT_CAME_COUNT];
};
/* Trials that were decided: all but undecided ones. */
unsigned lb_hunt_decided(const struct lb_hunt_count *count);
/* Whether one of them lost exclusion, in either class. */
bool lb_hunt_broke(const struct lb_hunt_count *count);

#endif
