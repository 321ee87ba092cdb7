/* SPDX-License-Identifier: MIT
 *
 * system.h - what is measured: a protocol on a topology.
 */
#ifndef LB_SYSTEM_H
#define LB_SYSTEM_H

#include "backends/backend.h"
#include "servers/topology.h"

struct lb_system {
  const struct lb_protocol *protocol;
  const struct lb_topology *topology;
  char name[96]; /* "PROTOCOL@TOPOLOGY" */
};

/* "PROTOCOL@TOPOLOGY", or "PROTOCOL" for the first of its topologies. 0, or -EINVAL with one line
 * and the nearest known word. */
int lb_system_parse(const char *text, struct lb_system *ret, char *err, size_t err_size);
/* The name of the protocol that is nearest to this one; NULL = none is near. A foreign lock may be written without its kind. Static. */
const char *lb_system_near(const char *name);

#endif
