/* SPDX-License-Identifier: MIT
 *
 * fit.h - whether a system, a guard and this machine have what a scenario asks for: programs, namespaces, servers, points, a fencing
 * token, a clock that can be set.
 */
#ifndef LB_FIT_H
#define LB_FIT_H

#include "plan.h"

/* Looks at a cell whose scenario, protocol, topology and guard are set. If something is missing: cell->skip says what, and the verdict is
 * LB_SKIPPED. Controller's thread. */
void lb_cell_fit(struct lb_cell *cell);

/* Whether every step of a timeline can be played on these servers: a failover means nothing where there is one server. (A campaign
 * leaves out what it cannot play.) What the machine lacks does not count. */
bool lb_scenario_means_something(const struct lb_scenario *scenario, const struct lb_topology *topology);

#endif
