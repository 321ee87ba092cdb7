/* SPDX-License-Identifier: MIT
 *
 * search.h - in which order timelines are looked at, and the search.
 */
#ifndef LB_HUNT_SEARCH_H
#define LB_HUNT_SEARCH_H

#include "hunting.h"

#define LB_HUNT_CONTROLS 20 /* how often a timeline without faults is run */

/* Indices into space->timeline, malloc'd, into *ret: those without faults LB_HUNT_CONTROLS times in turns of their
 * regimes. Then the first ones by lineage (lineage.h), a twentieth of all; it returns how many. Then the others with one
 * fault (shuffled by the seed), the others by lineage, those with two round-robin over pairs of kinds and shuffled
 * inside, and those with three likewise. Only what is run (LB_HUNT_RUN). The same space and seed give the same order. */
size_t lb_hunt_search_order(const struct lb_hunt_space *space, uint64_t seed, size_t **ret, size_t *ret_count);

enum { LB_HUNTING_GUARD_TRIALS = 3, LB_HUNTING_OTHER_GUARDS = ((1 << LB_GUARD_COUNT) - 1) & ~(1 << LB_GUARD_NONE) };

/* Looks at the timelines of the order, confirms what broke, asks guards of minimal sets and runs the audit of what is
 * soundly pruned, until nothing of this is open: whatever is known to be wanted is played at once. With a budget,
 * looking ends at a part of it, so that the rest is for what was found; h->end says whether something was left. 0;
 * -EINTR; -errno with one line in err. Without a budget guards are asked beside other trials only. */
int lb_hunt_search(struct lb_hunting *g, const size_t order[], size_t count);

enum { LB_HUNT_REST = 3 };
struct lb_hunt_rest { /* release with lb_hunt_search_forget() */
  struct lb_hunt_batch batch[LB_HUNT_REST];
  size_t *timeline[LB_HUNT_REST]; /* what the batches name */
};
/* What only follows from the sets and was not asked yet: a sample of what they hold and of what is safe, and guards of
 * the minimal ones. How many batches. */
size_t lb_hunt_search_rest(struct lb_hunting *g, const size_t order[], size_t count, struct lb_hunt_rest *ret);
void lb_hunt_search_forget(struct lb_hunt_rest *rest);

#endif
