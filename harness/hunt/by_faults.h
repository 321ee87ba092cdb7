/* SPDX-License-Identifier: MIT
 *
 * by_faults.h - the search of a hunt with a budget: number of faults by number of faults, so that where it ends has been a fair sample.
 */
#ifndef LB_HUNT_BY_FAULTS_H
#define LB_HUNT_BY_FAULTS_H

#include "hunting.h"

/* Looks and confirms, and runs the audit of what is soundly pruned, of each number of faults before the next one. 0, also if the budget is over (h->end); -EINTR; -errno with one line
 * in err. */
int lb_hunting_by_faults(struct lb_hunting *g, const size_t order[], size_t count);

#endif
