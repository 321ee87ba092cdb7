/* SPDX-License-Identifier: MIT
 *
 * No servers: for protocols that live in the harness's own memory. It isolates what the harness itself costs.
 */
#include "topology_util.h"

static int version(char *buf, size_t size) {
  if (size > 0) buf[0] = '\0';
  return 0;
}

const struct lb_topology lb_topology_none = {
    .name = "none",
    .summary = "no servers, only the memory all clients share",
    .needs = (const char *const[]){NULL},
    .version = version,
};
