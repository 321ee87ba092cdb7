/* SPDX-License-Identifier: MIT
 *
 * clocks.h - which clocks a lock rests on, and which clocks a scenario sets. A scenario that sets none of a lock's clocks asks it nothing.
 * The rules, or its [expect], then say `n/a`, never `safe`; tests/test-clocks.c holds it to that.
 */
#ifndef LB_CLOCKS_H
#define LB_CLOCKS_H

#include "backends/backend.h"
#include "scenario/scenario.h"
#include "servers/topology.h"

enum lb_clock_set { /* bits */
  LB_CLOCK_SERVER_WALL = 1 << 0,
  LB_CLOCK_SERVER_MONOTONIC = 1 << 1,
  LB_CLOCK_CLIENT_WALL = 1 << 2,
  LB_CLOCK_CLIENT_MONOTONIC = 1 << 3,
};

/* The clocks that end a hold at the servers, or by which its client counts or renews it. 0 = none: its connection ends it, or nothing does.
 * `options` as for lb_counts_by_wall(). Nobody declares which clocks a foreign program reads, so both of its client are in it, unless
 * there is no end that it could count. */
unsigned lb_clocks_of(const struct lb_protocol *protocol, const union lb_value *options, const struct lb_topology *topology);
/* The clocks that the steps of a timeline, or the faults of a campaign, set. 0 = none. */
unsigned lb_clocks_set(const struct lb_scenario *scenario);
/* "the servers' wall clock, the client's monotonic clock" into buf, which it returns. */
const char *lb_clocks_say(unsigned clocks, char *buf, size_t size);

#endif
