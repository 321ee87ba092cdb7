/* SPDX-License-Identifier: MIT
 *
 * came.h - what came of a timeline of a hunt, once or several times.
 */
#ifndef LB_HUNT_CAME_H
#define LB_HUNT_CAME_H

#include "trial/outcome.h"

enum lb_hunt_came {
  LB_HUNT_SAFE,
  LB_HUNT_LEASE,     /* two held, and the leases of both ran */
  LB_HUNT_EXPIRED,   /* two held, but the earlier lease was over */
  LB_HUNT_DAMAGE,    /* nobody held beside another one, but the resource was damaged */
  LB_HUNT_NUMBERS,   /* only a fencing number that repeats or goes backwards */
  LB_HUNT_BLOCKED,   /* nobody could be granted the lock while it mattered, or not again at the end. Never safe: the question was not answered */
  LB_HUNT_UNDECIDED,
  LB_HUNT_CAME_COUNT
};
/* "safe", "lease", "expired", "damage", "numbers", "blocked", "undecided". */
const char *lb_hunt_came_name(enum lb_hunt_came came);
/* The one of that name, or -1. */
int lb_hunt_came_find(const char *name);

/* The classes of a violation, the worst first: a trial is of the worst that happened in it. */
enum { LB_HUNT_CLASS_FIRST = LB_HUNT_LEASE, LB_HUNT_CLASS_LAST = LB_HUNT_NUMBERS };

/* Behind "broke 5 of 5": "within a lease", "after the lease", "only at the resource", "in numbers only". */
const char *lb_hunt_class_text(enum lb_hunt_came class);

/* Which one a trial is. */
enum lb_hunt_came lb_hunt_came_of(const struct lb_outcome *outcome);

struct lb_hunt_count { /* of the trials of one timeline under one guard */
  uint16_t of[LB_HUNT_CAME_COUNT];
};
/* Trials that were decided: all but undecided ones. */
unsigned lb_hunt_decided(const struct lb_hunt_count *count);
/* Whether one of them lost exclusion: two held, within the earlier lease or after it. */
bool lb_hunt_broke(const struct lb_hunt_count *count);
/* How many were violated, in any class. */
unsigned lb_hunt_violated(const struct lb_hunt_count *count);

#endif
