/* SPDX-License-Identifier: MIT
 *
 * compilers.h - whether servers that compile what they do often (lb_family.compiling) have stopped: while they do not, a rate is
 * that of servers which share the processor with their own compilers, however steady it looks.
 *
 * The compilers are at rest when those of all servers together have used less than a tenth of a processor for three seconds. They
 * begin anew when a load of another shape comes: servers that many locks have heated compiled for half a minute more when sixteen
 * clients stood in the queue of one, and handed it over 257 times a second before that and 704 times after it. So every load is
 * looked at, and not the heating alone (heat.h).
 */
#ifndef LB_COMPILERS_H
#define LB_COMPILERS_H

#include "servers/cluster.h"

enum { LB_COMPILERS_LOOK_MS = 500, LB_COMPILERS_REST_MS = 3000, LB_COMPILERS_REST_PERCENT = 10 };

struct lb_compilers { /* all zero = nobody has looked yet */
  lb_ns since;        /* from then on they have used little */
  lb_ns spent;        /* what they had used by then */
};

/* Looks at them, now; to be called every LB_COMPILERS_LOOK_MS or more often. True if they are at rest, and at once for servers that compile
 * nothing. False while they are not, and of servers that cannot be looked at. */
bool lb_compilers_at_rest(struct lb_compilers *compilers, struct lb_cluster *cluster);

#endif
