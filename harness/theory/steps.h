/* SPDX-License-Identifier: MIT
 *
 * steps.h - facts that follow from the steps of a timeline.
 */
#ifndef LB_THEORY_STEPS_H
#define LB_THEORY_STEPS_H

#include "facts.h"
#include "scenario/scenario.h"
#include "servers/topology.h"

/* What the steps of a timeline do before and at its faults; lb_facts_of() puts it in. */
void lb_steps_facts(const struct lb_scenario *scenario, const struct lb_topology *topology, struct lb_facts *ret);

#endif
