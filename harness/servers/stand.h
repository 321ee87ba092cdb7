/* SPDX-License-Identifier: MIT
 *
 * stand.h - the servers of one topology on loopback, started fresh, for callers that only call a protocol.
 *
 * No faults, no clients. (A trial has its site, trial/site.h.) In a sandbox of its own (sandbox.h), which ends what is
 * left.
 */
#ifndef LB_STAND_H
#define LB_STAND_H

#include "base/error.h"
#include "cluster.h"
#include "network/net.h"

#define LB_STAND_PATH 200

struct lb_stand {
  /* The caller's, before lb_stand_up(). */
  char folder[3200]; /* where its servers and templates may lie */
  int64_t ttl_ms;
  bool on_disk;    /* else in memory */
  bool watch_disk; /* what servers write is counted */
  bool measured;   /* they have the settings of a user (setting.h) */
  /* From then on. */
  struct lb_net net;
  struct lb_cluster cluster;
  struct lb_target target;
  char scratch[LB_STAND_PATH], cache[3300];
};

/* Everything else in it is 0 before. 0, or -errno with a line in err; lb_stand_down() is called after both. */
int lb_stand_up(struct lb_stand *stand, const struct lb_topology *topology, struct lb_env *env, struct lb_error *err);
void lb_stand_down(struct lb_stand *stand);

#endif
