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
struct lb_cell;
enum lb_verdict lb_fit(const struct lb_cell *cell, char *why, size_t size);

/* True if a step or fault of it would touch these servers, or their network, and they are the user's own, who has not
 * allowed it: `why` says which. */
bool lb_fit_touches(const struct lb_scenario *scenario, const struct lb_topology *topology, struct lb_error *why);
/* What their operator does in it, and to undo it: a bit for each enum lb_mandate_verb. */
unsigned lb_fit_orders(const struct lb_scenario *scenario, const struct lb_topology *topology);
/* By how much it sets their clocks, forward or back: each once. The caller frees `ms`. */
struct lb_fit_offsets {
  int64_t *ms;
  size_t count;
};
void lb_fit_add_offsets(const struct lb_scenario *scenario, const struct lb_topology *topology,
                        struct lb_fit_offsets *to);

/* The same servers as the version that the scenario starts next. NULL: it starts none, or that origin is not here, which
 * err says. */
const struct lb_topology *lb_fit_next(const struct lb_scenario *scenario, const struct lb_topology *topology,
                                      struct lb_error *err);

/* Whether every step of a timeline can be played on these servers: a failover means nothing where
 * there is one server. (A campaign leaves out what it cannot play.) What the machine lacks does not
 * count. */
bool lb_fit_means_something(const struct lb_scenario *scenario, const struct lb_topology *topology);

/* Which clocks a lock rests on, and which clocks a scenario sets. A scenario that sets none of a lock's clocks asks it
 * nothing. The rules, or its [expect], then say `n/a`, never `safe`; tests/unit/theory/test-clocks.c holds it to that. */

enum lb_clock_set { /* bits */
                    LB_CLOCK_SERVER_WALL = 1 << 0,
                    LB_CLOCK_SERVER_MONOTONIC = 1 << 1,
                    LB_CLOCK_CLIENT_WALL = 1 << 2,
                    LB_CLOCK_CLIENT_MONOTONIC = 1 << 3,
};

/* The clocks that end a hold at the servers, or by which its client counts or renews it. 0 = none: its connection ends
 * it, or nothing does. `options` as for lb_counts_by_wall(). A foreign program does not declare which clocks it reads,
 * so both of its client's clocks are included. They are not if there is no end that it could count. */
unsigned lb_fit_clocks_of(const struct lb_protocol *protocol, const union lb_value *options,
                          const struct lb_topology *topology);
/* "the servers' wall clock, the client's monotonic clock" into buf, which it returns. */
const char *lb_fit_clocks_say(unsigned clocks, char *buf, size_t size);

#endif
