/* SPDX-License-Identifier: MIT
 *
 * evidence.h - what a history has to show before its verdict counts. Reads histories only.
 */
#ifndef LB_EVIDENCE_H
#define LB_EVIDENCE_H

#include "check.h"

/* True if in some episode a client was granted the key, or had its own hold of it renewed, while
 * another one held it within its own validity (`until` of the latest of its `granted` and `renewed`
 * not passed, or none given there). If all overlaps begin later, the leases had simply run out:
 * somebody was slow, which proves nothing against a lock. True without any episode. Ends the
 * process when memory is exhausted. */
bool lb_evidence_within_lease(const struct lb_history *history, const struct lb_check *check);
/* Why the loss of exclusion that `check` found is no evidence against the lock, as a sentence (a
 * literal); NULL = it is, or none was lost. `past_lease`: overlaps that begin after the earlier
 * holder's lease was over count like any other. A fence that went backwards is never excused: no
 * lease allows that. */
const char *lb_evidence_excuse(const struct lb_history *history, const struct lb_check *check, bool past_lease);
/* True if the record of the key was observed to be present, or absent, on the hosts of this role,
 * all in all. */
bool lb_evidence_observed(const struct lb_history *history, const char *role, bool present);
/* True if some client asked for a key while another one held it, or might have (its own acquire had
 * ended unknown, and it was not `released` since). A client that died so, or while it was asking,
 * still counts until its lease ends or another one is granted the key, for the service keeps its
 * lock. If nobody asked, a clean history says nothing of exclusion. */
bool lb_evidence_contested(const struct lb_history *history);

#endif
