/* SPDX-License-Identifier: MIT
 *
 * check_parts.h - what the files of the checker share; private to check*.c.
 */
#ifndef LB_CHECK_PARTS_H
#define LB_CHECK_PARTS_H

#include "check.h"

struct lb_values { /* of a key at the resource; zeroed at the begin */
  bool read, written;
  uint64_t first_read, last, writes; /* last: the latest value that is known, read or written */
  __int128 excused;                  /* what writes that an ended lease excuses took away, all in all */
  __int128 early;                    /* the same of clients that had read before they asked for the lock */
};
/* An accepted access, in the order of the resource. `excused`: what it takes away does not count
 * where leases excuse; `early`: its client had read too early. */
void lb_check_value(struct lb_values *values, const struct lb_event *access, bool excused, bool early);
/* At the end: adds the lost updates of a key, and those of them that nothing excuses. */
void lb_check_lost_updates(struct lb_check *check, const struct lb_values *values);

/* Fills in what follows the sorted order and needs no holds: grants, handoffs,
 * useful_handoffs, renewals, token_regressions, fenced_off, unknown_acquires, unavailable_ns, servers_left, and what
 * guards found. `permits`: by key. 0 or -ENOMEM. */
int lb_check_order(const struct lb_history *history, const uint64_t *permits, struct lb_check *check);

/* An array with room for one more than count, or NULL; the old one stays valid then. */
void *lb_check_grown(void *array, size_t count, size_t *capacity, size_t item);

/* A time is -1 until there was one; so the first of length 0 is kept, too. */
static inline void lb_keep_longest(int64_t *longest, uint64_t from, uint64_t to) {
  if ((int64_t)(to - from) > *longest) *longest = (int64_t)(to - from);
}

#endif
