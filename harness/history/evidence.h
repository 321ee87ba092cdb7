/* SPDX-License-Identifier: MIT
 *
 * evidence.h - what a history has to show before its verdict counts. Reads histories only.
 */
#ifndef LB_EVIDENCE_H
#define LB_EVIDENCE_H

#include "check.h"

/* True if the record of the key was observed to be present, or absent, on the hosts of this role,
 * all in all. */
bool lb_evidence_observed(const struct lb_history *history, const char *role, bool present);
/* True if some client asked for a key while another one held it, or might have (its own acquire had
 * ended unknown, and it was not `released` since). A client that died so, or while it was asking,
 * still counts until its lease ends or another one is granted the key, for the service keeps its
 * lock. If nobody asked, a clean history says nothing of exclusion. */
bool lb_evidence_contested(const struct lb_history *history);

#endif
