/* SPDX-License-Identifier: MIT
 *
 * brute.h - a second checker, written from the definitions alone and in another way, for comparing: it shares no code
 * and no idea with harness/check/check*.c. Between any two neighbouring times nothing changes; so it asks in each
 * such gap (and in the one after the last event) who holds what, and counts. Cubic: for small histories only.
 */
#ifndef LB_BRUTE_H
#define LB_BRUTE_H

#include "check/check.h"

#define BRUTE_EVENTS_MAX 200

/* Fills in everything lb_check_history() does, except the order of the episodes: here by key, then by begin. `history`
 * is sorted and has at most BRUTE_EVENTS_MAX events. Release with lb_check_clear(). */
void brute_check(const struct lb_history *history, struct lb_check *ret);

/* Whether two clients hold a key at once in a history that has `leases`, one permit, an `until` on each promise, and
 * clients that always share or never do. As it was read, without an `expired`. */
bool brute_leases_cross(const struct lb_history *history);

/* Compares two judgements field by field; true if equal, else the difference is in text. */
bool brute_same(const struct lb_history *history, const struct lb_check *a, const struct lb_check *b, char *text,
                size_t size);

#endif
