/* SPDX-License-Identifier: MIT
 *
 * sitting.h - one call of a hunt: when, how called, where, on which servers. A hunt that goes on has several.
 */
#ifndef LB_HUNT_SITTING_H
#define LB_HUNT_SITTING_H

#include "base/machine.h"
#include "hunt.h"

struct lb_hunt_sitting {
  const char *const *argv; /* borrowed */
  int argc;
  char started_utc[32];
  struct lb_machine before;
  char namespaces[300]; /* "root", "user", or "none: why" */
  char servers[700];    /* their version; empty where they do not say it */
};

/* Asks the machine and the servers' programs, before anything is started. Results go to `folder`. */
void lb_hunt_sitting_begin(struct lb_hunt_sitting *ret, const char *const *argv, int argc, const struct lb_topology *topology, const char *folder);
/* Adds the sitting to order->folder/hunt.json, behind those that are there. 0, or -errno with one line in err. */
int lb_hunt_sitting_keep(const struct lb_hunt_sitting *sitting, const struct lb_hunt *hunt, const struct lb_hunt_order *order, char *err, size_t err_size);

#endif
