/* SPDX-License-Identifier: MIT
 *
 * follow.h - what is asked when the sets of a hunt are known. All of these return 0, also if the budget is over; -EINTR; or -errno with one line in err.
 */
#ifndef LB_HUNT_FOLLOW_H
#define LB_HUNT_FOLLOW_H

#include "hunting.h"

enum { LB_HUNTING_SAMPLE_MAX = 60, LB_HUNTING_GUARD_TRIALS = 3, LB_HUNTING_OTHER_GUARDS = ((1 << LB_GUARD_COUNT) - 1) & ~(1 << LB_GUARD_NONE) };

/* Samples of the order, for the two audits below: which timelines they are depends on the seed and on what they are asked about, not on which of them have been run. How many. */
size_t lb_hunting_draw_held(const struct lb_hunting *g, const size_t order[], size_t count, size_t ret[LB_HUNTING_SAMPLE_MAX]);
size_t lb_hunting_draw_safe(const struct lb_hunting *g, const size_t order[], size_t count, size_t ret[LB_HUNTING_SAMPLE_MAX]);
/* Runs a sample of the timelines of the order that were not run because there is a minimal set in them. */
int lb_hunting_audit(struct lb_hunting *g, const size_t order[], size_t count);
/* Runs a sample of the timelines with so many faults that are soundly pruned, and those that stand for them (audit.h), until most of the budget is used. */
int lb_hunting_audit_pruned(struct lb_hunting *g, size_t faults);
/* Draws that sample, and runs nothing. */
int lb_hunting_audit_draw(struct lb_hunting *g, size_t faults);
/* Of all samples that were drawn: what has to be run once, as nobody else does; and what has to be run again, as the two of a pair differ. How many; ret has room for the space. */
size_t lb_hunting_audit_open(const struct lb_hunting *g, size_t ret[]);
size_t lb_hunting_audit_closer(const struct lb_hunting *g, size_t ret[]);
/* Plays the minimal sets under each other guard. A hunt under a guard is about that one. */
int lb_hunting_ask_guards(struct lb_hunting *g);
/* Plays a twentieth of the timelines that did not break under each other guard, once. */
int lb_hunting_audit_guards(struct lb_hunting *g, const size_t order[], size_t count);
/* Plays minimal sets in simpler forms, replays them, and tries other lengths where that is asked for (only: the index of one timeline, or -1 = all that are minimal). `plays` false: by what the
 * journals have. How many sets the replays refuted: then the sets have to be found again, as what contains one is to be looked at now. */
int lb_hunting_settle(struct lb_hunting *g, bool plays, ptrdiff_t only);

#endif
