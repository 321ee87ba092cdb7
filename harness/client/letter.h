/* SPDX-License-Identifier: MIT
 *
 * letter.h - a write of the resource as the resource is shown it. Mostly it arrives in the moment in which it leaves its client. One that is late is
 * kept here, in memory that all share, until somebody delivers it: its client may have let go of the lock by then, or be dead.
 */
#ifndef LB_LETTER_H
#define LB_LETTER_H

#include "resource.h"
#include "scenario/guard.h"

struct lb_letter {
  enum lb_guard guard; /* what the resource compares: fences, claims, or nothing */
  uint32_t key;        /* index of the resource */
  uint64_t value;
  uint64_t fence; /* of the grant that it was written under; 0 = it has none */
  uint64_t claim; /* the token of that grant */
  bool claims;    /* it is the first access of its hold, so it puts the token there */
};

/* It arrives now: one access of its resource. True: accepted. False: refused, nothing changed. Any
 * thread of any process of the trial may call this. */
bool lb_letter_arrive(const struct lb_letter *letter, struct lb_resource *resources);

#endif
