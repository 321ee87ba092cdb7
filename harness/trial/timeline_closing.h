/* SPDX-License-Identifier: MIT
 *
 * timeline_closing.h - the end of a timeline in which nobody got the lock: it is asked for again until every lease and session has ended that
 * is not kept up. So a lock that comes free by itself is told from one that does not.
 */
#ifndef LB_TIMELINE_CLOSING_H
#define LB_TIMELINE_CLOSING_H

#include "stage.h"

/* So long is asked again, at most: a ttl, half of one for whoever serves, and what a cluster takes to notice. */
int64_t lb_timeline_closing_ms(const struct lb_scenario *scenario);
/* After the last step, or one that waited in vain. Does nothing where the lock could be had, or the trial is undecided. Whoever asked in
 * vain asks again, all at once, or else one who does not hold; the first grant ends it. The history keeps what came of it (lb_evidence_closing()). */
void lb_timeline_close(struct lb_stage *stage);

#endif
