/* SPDX-License-Identifier: MIT
 *
 * The facts stand elsewhere: what a server ends by itself in its family's row, what a lock counts in its traits.
 */
#include "clocks.h"

#include <stdio.h>

static unsigned of_servers(const struct lb_protocol *p, const struct lb_topology *t) {
  bool foreign_lease = p->traits & LB_TRAIT_FOREIGN && p->traits & LB_TRAIT_LEASED;
  unsigned clocks = p->traits & LB_TRAIT_SERVER_CLOCK ? LB_CLOCK_SERVER_WALL : 0;
  if (!(p->traits & LB_TRAIT_SESSION) && !foreign_lease) return clocks;
  if (t->family->ends_by == LB_ENDS_BY_WALL) clocks |= LB_CLOCK_SERVER_WALL;
  if (t->family->ends_by == LB_ENDS_BY_MONOTONIC) clocks |= LB_CLOCK_SERVER_MONOTONIC;
  return clocks;
}

/* Every lease of ours has an end on its holder's monotonic clock (lb_lease_end()), but where an option says the wall clock. Who has a session
 * that can end of silence keeps it up by that clock. */
static unsigned of_client(const struct lb_protocol *p, const union lb_value *options, const struct lb_topology *t) {
  bool counts = p->traits & LB_TRAIT_LEASED || (p->traits & LB_TRAIT_SESSION && t->family->ends_by != LB_ENDS_BY_NO_CLOCK);
  if (!counts) return 0;
  if (p->traits & LB_TRAIT_FOREIGN) return LB_CLOCK_CLIENT_WALL | LB_CLOCK_CLIENT_MONOTONIC;
  if (lb_counts_by_wall(p, options)) return LB_CLOCK_CLIENT_WALL;
  return LB_CLOCK_CLIENT_MONOTONIC | (p->traits & LB_TRAIT_CLIENT_CLOCK ? LB_CLOCK_CLIENT_WALL : 0);
}

unsigned lb_clocks_of(const struct lb_protocol *protocol, const union lb_value *options, const struct lb_topology *topology) {
  return of_servers(protocol, topology) | of_client(protocol, options, topology);
}

static unsigned set_by(const struct lb_step *step) {
  unsigned wall = lb_role_is_client(step->a) ? LB_CLOCK_CLIENT_WALL : LB_CLOCK_SERVER_WALL;
  unsigned monotonic = lb_role_is_client(step->a) ? LB_CLOCK_CLIENT_MONOTONIC : LB_CLOCK_SERVER_MONOTONIC;
  if (step->verb == LB_STEP_CLOCK_RATE) return wall | monotonic;
  if (step->verb == LB_STEP_CLOCK_JUMP) return step->monotonic ? monotonic : wall;
  return 0;
}

unsigned lb_clocks_set(const struct lb_scenario *scenario) {
  unsigned clocks = 0;
  for (size_t i = 0; i < scenario->step_count; i++) clocks |= set_by(&scenario->steps[i]);
  for (size_t i = 0; i < scenario->fault_count; i++) clocks |= set_by(&scenario->faults[i]);
  return clocks;
}

const char *lb_clocks_say(unsigned clocks, char *buf, size_t size) {
  static const char *const names[] = {"the servers' wall clock", "the servers' monotonic clock", "the client's wall clock", "the client's monotonic clock"};
  size_t at = 0;
  snprintf(buf, size, "none");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (clocks & 1u << i && at < size) at += (size_t)snprintf(buf + at, size - at, "%s%s", at ? ", " : "", names[i]);
  return buf;
}
