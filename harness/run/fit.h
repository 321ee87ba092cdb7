/* SPDX-License-Identifier: MIT
 *
 * fit.h - whether a system, a guard and this machine have what a scenario asks for: programs,
 * namespaces, servers, points, a fencing token, a clock that can be set.
 */
#ifndef LB_FIT_H
#define LB_FIT_H

#include "backends/backend.h"
#include "scenario/scenario.h"
#include "servers/topology.h"

/* LB_VERDICT_NONE if it can be run, with an empty `why`. LB_NA if the question means nothing there,
 * whatever the machine; else LB_SKIPPED if something is missing here; `why` says the first reason.
 * Controller's thread. */
enum lb_verdict lb_fit(const struct lb_scenario *scenario, const struct lb_protocol *protocol, const struct lb_topology *topology,
            enum lb_guard guard, char *why, size_t size);

/* The first step or fault of it that would touch the servers, or the network; NULL = it does something to clients only, so that it may be
 * run on servers of the user's own. */
const struct lb_step *lb_scenario_touches(const struct lb_scenario *scenario);

/* Whether every step of a timeline can be played on these servers: a failover means nothing where
 * there is one server. (A campaign leaves out what it cannot play.) What the machine lacks does not
 * count. */
bool lb_scenario_means_something(const struct lb_scenario *scenario, const struct lb_topology *topology);

#endif
