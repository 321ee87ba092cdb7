/* SPDX-License-Identifier: MIT
 *
 * scenario_asked.h - whether a client of a timeline asks for the lock during its faults.
 */
#ifndef LB_SCENARIO_ASKED_H
#define LB_SCENARIO_ASKED_H

#include "scenario.h"

/* For a timeline: the first fault of a server or a clock during which no client asks for the lock. It lasts from its
 * step to the one that takes it back, or to the end. NULL = a client always asks. */
const struct lb_step *lb_scenario_unasked(const struct lb_scenario *scenario);
/* The same the other way round, of restarts and clocks: the index of the first one, not before `from`, in which a
 * client asks, and of the step that takes it back; each may be the number of steps. */
size_t lb_scenario_next_asked(const struct lb_scenario *scenario, size_t from, size_t *ret_end);

#endif
