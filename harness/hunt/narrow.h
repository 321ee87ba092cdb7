/* SPDX-License-Identifier: MIT
 *
 * narrow.h - from how long to how long a fault, or the wait for a write, has to last for a set to break: by bisection, to a tenth of a second.
 */
#ifndef LB_HUNT_NARROW_H
#define LB_HUNT_NARROW_H

#include "sets.h"

enum { LB_HUNT_TENTH_MS = 100, LB_HUNT_NARROW_TRIALS = 3 /* n of n, at each length that is tried */ };

/* Which length of a timeline is worth it: that of what is undone before a takeover (LB_HUNT_OF_MID) where there is such a fault, else W (LB_HUNT_OF_WRITE). */
enum lb_hunt_length lb_hunt_length_of(const struct lb_hunt_timeline *timeline);

/* Whether it breaks n of n at this length: 1 or 0; -ETIME when the time is over, -EINTR or other -errno. */
typedef int lb_hunt_probe(void *of, int64_t ms);
/* Looks on both sides of `start_ms`, from a tenth of a second to `most_ms`, and takes it that on each side there is one end at most. 0, with ret->known false if it does not break at
 * start_ms (rounded to a tenth); or what `probe` stopped with, and ret->known is false. */
int lb_hunt_narrow(lb_hunt_probe *probe, void *of, int64_t start_ms, int64_t most_ms, struct lb_hunt_range *ret);

/* True if there is something to tell: it is known, and of W that it has an end at all. */
bool lb_hunt_range_tells(const struct lb_hunt_range *range);
/* "breaks if what is undone before a takeover lasts from 1.1 to 1.6 s". 160 bytes are enough. */
void lb_hunt_range_say(const struct lb_hunt_range *range, char *buf, size_t size);

#endif
