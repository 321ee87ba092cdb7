/* SPDX-License-Identifier: MIT
 *
 * check_access.h - judges accesses of the resource, and what each fault cost. Private to the checker.
 */
#ifndef LB_CHECK_ACCESS_H
#define LB_CHECK_ACCESS_H

#include "check_sweep.h"

/* For any event, when the holders of its instant are known: judges an accepted access of the resource. */
void lb_check_access(struct sweep *sweep, const struct lb_event *event);
/* The same events again, after all of the instant have been judged: what later instants may know of
 * them, so that an access overtakes none of its own instant. */
void lb_check_remember_access(struct sweep *sweep, const struct lb_event *event);
/* At the end: adds the lost updates of a key, and those of them that nothing excuses. */
void lb_check_lost_updates(struct lb_check *check, const struct lb_values *values);

/* What each fault cost. Before the sweep: finds the faults. */
void lb_check_find_faults(struct sweep *sweep);
/* In it, in any order of times: a holder is overtaken at `t`. */
void lb_check_charge_overlap(struct sweep *sweep, uint64_t t, bool within_lease);
/* After it, when all episodes are known. */
void lb_check_count_faults(struct sweep *sweep);

#endif
