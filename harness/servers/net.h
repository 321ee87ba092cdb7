/* SPDX-License-Identifier: MIT
 *
 * net.h - the network of one trial: a bridge in the trial's own network namespace and one host (a
 * namespace with an address) per server and client, so that a partition is real: packets are
 * dropped on their way from host to host (cut.h), or are late (line.h). Without isolation, or where a scenario has no
 * network fault, all hosts are the loopback of the current namespace.
 *
 * All calls belong to the controller's thread.
 */
#ifndef LB_NET_H
#define LB_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host.h"

#define LB_HOSTS_MAX 160

struct lb_net {
  struct lb_host host[LB_HOSTS_MAX];
  size_t count;
  bool separate; /* every host has a network namespace of its own */
  uint16_t next_port;
  struct lb_cut *cuts; /* those that hold, the newest first (cut.h) */
  int cuts_made;
  struct lb_line *lines; /* delay lines that hold, the newest first (line.h) */
  int lines_made;
};

/* Builds `count` hosts: separate ones (needs a sandbox), or all on loopback. 0, or -errno with a
 * line in err. */
int lb_net_up(struct lb_net *net, bool separate, size_t count, char *err, size_t err_size);
/* Sets loopback of the current network namespace up. 0 or -errno. */
int lb_net_loopback_up(void);
/* Closes the namespaces' descriptors; the namespaces go with their last process. */
void lb_net_down(struct lb_net *net);
/* A port that nothing uses on any host of the net: in a sandbox the next number, else one that the
 * kernel names. 0 = none. */
uint16_t lb_net_port(struct lb_net *net);

#endif
