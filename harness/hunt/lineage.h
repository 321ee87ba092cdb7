/* SPDX-License-Identifier: MIT
 *
 * lineage.h - the timelines that take away what a grant rests on (rests.h). A hunt plays these first.
 *
 * The idea is lineage-driven fault injection (Alvaro, Rosen, Hellerstein, SIGMOD 2015). There a model says what follows;
 * here the other timelines are played, too, so a wrong guess costs time and hides nothing.
 */
#ifndef LB_HUNT_LINEAGE_H
#define LB_HUNT_LINEAGE_H

#include "space.h"

/* The timelines to play first, as indices of the space, into `ret` with room for all of it. In turns of their
 * mechanisms: those that take away all that the grant rests on (space->system.rests), and of which no part does; then
 * those whose two faults hit different things of it, and nothing else. Of each mechanism the nearest first: fewest faults,
 * then nearest to the grant in time and hosts, then as the seed says. What takes the grant away stands in front of
 * what contains it. How many. */
size_t lb_hunt_lineage_first(const struct lb_hunt_space *space, uint64_t seed, size_t ret[]);

#endif
