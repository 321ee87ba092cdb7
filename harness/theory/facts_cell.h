/* SPDX-License-Identifier: MIT
 *
 * facts_cell.h - the facts of a cell: of its servers, its lock, and what the scenario sets.
 */
#ifndef LB_FACTS_CELL_H
#define LB_FACTS_CELL_H

#include "backends/backend.h"
#include "facts.h"
#include "scenario/scenario.h"
#include "servers/topology.h"

/* Facts of a lock that has no table of ours: of peers.ini, or of the greeting of an adapter. They are copied, and come
 * after those of the lock of ours that it is like. 0, or -EINVAL with one line. */
int lb_facts_state(const struct lb_protocol *protocol, const char *words, struct lb_error *err);
/* All that is known of a cell before it runs, but for the guard. `options` as in lb_config; `scenario`
 * NULL = none. */
void lb_facts_of(const struct lb_protocol *protocol, const union lb_value *options, const struct lb_topology *topology,
                 const struct lb_scenario *scenario, struct lb_facts *ret);
struct lb_assumed {
  const char *fact, *value;
};
/* The same if one fact of the lock or its servers had this value, which has to be in the vocabulary. */
void lb_facts_if(const struct lb_protocol *protocol, const union lb_value *options, const struct lb_topology *topology,
                 const struct lb_scenario *scenario, const struct lb_assumed *assumed, struct lb_facts *ret);

#endif
