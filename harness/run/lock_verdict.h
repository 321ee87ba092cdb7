/* SPDX-License-Identifier: MIT
 *
 * lock_verdict.h - what a run says of the user's own lock: one that came by --plugin or --exec, or one on
 * servers of the user's own. A user who brings a lock asks about the lock, not about our expectation.
 */
#ifndef LB_LOCK_VERDICT_H
#define LB_LOCK_VERDICT_H

#include "tally.h"

/* Of all the user's locks together. Without a guard, unless a lock was only run under guards.
 * LB_VIOLATED = one trial is enough; LB_SAFE = every cell that means something was run and is safe;
 * LB_VERDICT_NONE = the run has no such lock. */
enum lb_verdict lb_lock_verdict(const struct lb_tally *tally);
/* The same as a sentence without its full stop: "mylock: violated in 2 of 3 scenarios (failover,
 * pause-holder); safe in 1". "" = the run has no such lock. Returns the length. */
size_t lb_lock_verdict_line(const struct lb_tally *tally, char *line, size_t size);

#endif
