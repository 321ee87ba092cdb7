/* SPDX-License-Identifier: MIT
 *
 * hunt_brute.h - the space of a hunt a second time, by brute force: every combination of all words is
 * made, and thrown away by predicates that were written from the rules, not from harness/hunt.
 */
#ifndef HUNT_BRUTE_H
#define HUNT_BRUTE_H

#include <stddef.h>

#include "hunt/space.h"

struct brute {
  char (*id)[LB_HUNT_ID_MAX]; /* of all timelines, sorted */
  bool *runs;
  size_t count, room;
};
/* All timelines of at most k (0..3) faults. `keep` says which faults there are, by their words; NULL = all. */
void brute_make(const struct lb_hunt_system *system, int k, bool (*keep)(const char *fault), struct brute *ret);
void brute_clear(struct brute *brute);

#endif
