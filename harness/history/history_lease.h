/* SPDX-License-Identifier: MIT
 *
 * history_lease.h - histories whose holds end with their lease: `leases` says so.
 *
 * A lease runs until the `until` of its latest `granted` or `renewed`; without one for the `ms` of `leases`, counted
 * from when it was asked for, or from the end of the hold before it if that came later. A renewal that succeeded shows that the lease had run until it was asked for, whatever
 * its length. If another client was granted the key while the renewal was on its way, it shows no more than that: which
 * of the two came first is not known.
 */
#ifndef LB_HISTORY_LEASE_H
#define LB_HISTORY_LEASE_H

#include "history.h"

/* Adds `leases` with so many ms. */
void lb_history_lease_add(struct lb_history *history, int64_t ms);
/* Writes out what `leases` says, if there is one: each lease has its `until`, and each hold that ended with it an
 * `expired`. The history is sorted, before and after. A second time changes nothing. */
void lb_history_lease_write_out(struct lb_history *history);

#endif
