/* SPDX-License-Identifier: MIT
 *
 * at_once.h - the search of a hunt that has as long as it takes: whatever is known to be wanted is played at once, of whatever number of faults.
 */
#ifndef LB_HUNT_AT_ONCE_H
#define LB_HUNT_AT_ONCE_H

#include "hunting.h"

/* Looks, confirms, asks guards of minimal sets and runs the audit of what is soundly pruned, until nothing of this is open. Not for a hunt with a budget, which ends in the middle and
 * has to have seen a fair sample by then. Each timeline is run that a search by numbers of faults runs; and those with one fault, though one without any may break.
 * 0; -EINTR; -errno with one line in err. */
int lb_hunting_at_once(struct lb_hunting *g, const size_t order[], size_t count);

#endif
