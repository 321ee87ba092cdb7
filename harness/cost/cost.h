/* SPDX-License-Identifier: MIT
 *
 * cost.h - counts what a lock costs: per acquire and per release of a client that is alone, and per attempt that is
 * refused because another client holds. It starts the servers, with the disk storage of a measured trial, and counts in
 * three places:
 * - at the client's connections, by the kernel: bytes, and round trips (waits for an answer after something was sent);
 * - at the servers, by what they say of themselves (the hooks requests, commits and counts of servers/family.h);
 * - at their files, by a library that is loaded into them (servers/disk.h).
 * A figure without a counter is unknown. It is never computed from other figures.
 */
#ifndef LB_COST_H
#define LB_COST_H

#include "base/error.h"
#include "run/rundir.h"
#include "servers/counts.h"
#include "servers/topology.h"

enum lb_cost_column { LB_COST_ACQUIRE, LB_COST_RELEASE, LB_COST_REFUSED, LB_COST_COLUMNS };

struct lb_cost_plan {
  const struct lb_protocol *protocol;
  const struct lb_topology *topology; /* one that this machine has the programs for */
  const union lb_value *options;
  const struct lb_rundir *dir; /* for the servers' files */
  int times;                   /* of each */
};

struct lb_cost { /* plain data */
  int times;
  bool refuses; /* else there is nothing in that column: everybody was granted */
  bool has_servers;
  bool disk_counts;                      /* whether what they write was counted */
  struct lb_counts sum[LB_COST_COLUMNS]; /* over all times */
};

/* 0; -errno with one line in err. */
int lb_cost_count(const struct lb_cost_plan *plan, struct lb_cost *ret, struct lb_error *err);

#endif
