/* SPDX-License-Identifier: MIT
 *
 * sample.h - what a hunt runs although it need not, to check itself: samples of what is pruned, of what contains a
 * minimal set, and of what kept exclusion.
 */
#ifndef LB_HUNT_SAMPLE_H
#define LB_HUNT_SAMPLE_H

#include "hunting.h"

enum { LB_HUNTING_SAMPLE_MAX = 60 };

/* Samples of the order, for the two audits below: which timelines they are depends on the seed and on what they are
 * asked about, not on which of them have been run. How many. */
size_t lb_hunt_sample_held(const struct lb_hunting *g, const size_t order[], size_t count,
                           size_t ret[LB_HUNTING_SAMPLE_MAX]);
size_t lb_hunt_sample_safe(const struct lb_hunting *g, const size_t order[], size_t count,
                           size_t ret[LB_HUNTING_SAMPLE_MAX]);
/* Draws a sample of the timelines with so many faults that are soundly pruned (audit.h). 0, or -errno with one line
 * in err. */
int lb_hunt_sample_audit(struct lb_hunting *g, size_t faults);
/* For all samples that were drawn: what the hunt itself does not run, to be run once; and pairs that differ, to be run
 * again. How many; ret has room for the space. */
size_t lb_hunt_sample_open(const struct lb_hunting *g, size_t ret[]);
size_t lb_hunt_sample_closer(const struct lb_hunting *g, size_t ret[]);

#endif
