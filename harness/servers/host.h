/* SPDX-License-Identifier: MIT
 *
 * host.h - the unit of failure: a network namespace with an address. Without namespaces every host
 * is this machine's loopback, told apart by ports only.
 */
#ifndef LB_HOST_H
#define LB_HOST_H

#include <stdint.h>

struct lb_host {
  char name[32];    /* "server-1", "client-2" */
  char address[16]; /* "10.77.0.11", or "127.0.0.1" */
  int netns;        /* fd of its network namespace, -1 = the trial's own */
};

#endif
