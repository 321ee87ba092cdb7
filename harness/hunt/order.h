/* SPDX-License-Identifier: MIT
 *
 * order.h - in which order the timelines of a hunt are run, so that a hunt that is stopped by its
 * budget has seen a fair sample.
 */
#ifndef LB_HUNT_ORDER_H
#define LB_HUNT_ORDER_H

#include "space.h"

#define LB_HUNT_CONTROLS 20 /* how often a timeline without faults is run */

/* Indices into space->timeline, malloc'd, into *ret: those without faults LB_HUNT_CONTROLS times in turns of their regimes, all
 * with one fault (shuffled by the seed), then those with two round-robin over pairs of kinds and shuffled inside, then those
 * with three likewise. Only what is run (LB_HUNT_RUN). The same space and seed give the same order. 0 or -ENOMEM. */
int lb_hunt_order(const struct lb_hunt_space *space, uint64_t seed, size_t **ret, size_t *ret_count);

#endif
