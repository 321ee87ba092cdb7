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

#endif
