/* SPDX-License-Identifier: MIT
 *
 * The three seconds begin anew as soon as a tenth of them has been used, so a compiler that rests between two pieces of work
 * is not taken for one that has ended.
 */
#include "compilers.h"

#include <errno.h>

#include "base/clock.h"

bool lb_compilers_at_rest(struct lb_compilers *c, struct lb_cluster *cluster) {
  const lb_ns rest = LB_COMPILERS_REST_MS * LB_NS_PER_MS, most = rest / 100 * LB_COMPILERS_REST_PERCENT;
  lb_ns now = lb_clock_ns(), spent;
  int r = lb_cluster_compiling(cluster, &spent);
  if (r == -EOPNOTSUPP) return true;
  if (r < 0) return *c = (struct lb_compilers){0}, false;
  if (c->since && spent <= c->spent + most) return now - c->since >= rest;
  *c = (struct lb_compilers){.since = now, .spent = spent};
  return false;
}
