/* SPDX-License-Identifier: MIT
 *
 * reset.h - ends the TCP connections that exist between two hosts. The link stays: new ones can be made at once.
 *
 * All calls belong to the controller's thread.
 */
#ifndef LB_RESET_H
#define LB_RESET_H

#include "net.h"

#define LB_CONNECTIONS_MAX 1024 /* between two hosts */

struct lb_connections { /* by the ports of both ends, as the host sees them that was asked */
  struct lb_ports {
    uint16_t here, there;
  } of[LB_CONNECTIONS_MAX];
  size_t count;
};

/* The connections that `at` has with `other`. 0, or -errno with err. */
int lb_reset_list(const struct lb_host *at, const struct lb_host *other, struct lb_connections *ret,
                  struct lb_error *err);
/* Ends those of them that still exist: the kernel of `at` closes its end and sends a reset to the other one. 0, or
 * -errno with err (-EOPNOTSUPP: this kernel ends no connections of others). */
int lb_reset_end(const struct lb_host *at, const struct lb_host *other, const struct lb_connections *which,
                 struct lb_error *err);
/* How many of these still exist; `mirrored`: `which` was listed at the other end. -errno with err. */
int lb_reset_left(const struct lb_host *at, const struct lb_host *other, const struct lb_connections *which,
                  bool mirrored, struct lb_error *err);

#endif
