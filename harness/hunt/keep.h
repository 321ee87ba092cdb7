/* SPDX-License-Identifier: MIT
 *
 * keep.h - the files of a hunt that are kept: hunt.csv, hunt.json and a scenario file for each set.
 */
#ifndef LB_HUNT_KEEP_H
#define LB_HUNT_KEEP_H

#include "base/error.h"
#include "base/machine.h"
#include "hunt.h"

/* Writes folder/hunt.csv and folder/hunt/NN.ini. 0, or -errno with one line in err. */
int lb_hunt_keep(const struct lb_hunt *hunt, const char *folder, struct lb_error *err);

/* One call of a hunt: when, how called, where, on which servers. A hunt that goes on has several. */

struct lb_hunt_sitting {
  const char *const *argv; /* borrowed */
  int argc;
  char started_utc[32];
  struct lb_machine before;
  char namespaces[300]; /* "root", "user", or "none: why" */
  char servers[700];    /* their version; empty where they do not say it */
};

/* Adds the sitting to order->folder/hunt.json, behind those that are there. 0, or -errno with one line in err. */
int lb_hunt_keep_sitting(const struct lb_hunt_sitting *sitting, const struct lb_hunt *hunt,
                         const struct lb_hunt_order *order, struct lb_error *err);

#endif
