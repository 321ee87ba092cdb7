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

/* A socket for single packets on a host, at a port that the kernel names. A descriptor, or -errno. */
int lb_net_datagram(const struct lb_host *host);
/* Begins a TCP connection from one host to to:port. A descriptor for lb_net_connected(), or -errno. */
int lb_net_connect(const struct lb_host *from, const struct lb_host *to, uint16_t port);
/* The same from this port of the first host, as far as it can be had: packets of a probe are then
 * known by it. */
int lb_net_connect_by(const struct lb_host *from, uint16_t from_port, const struct lb_host *to, uint16_t port);
/* Whether that connection is established within timeout_ms. Closes fd; false for a negative one. */
bool lb_net_connected(int fd, int timeout_ms);
/* Both. */
bool lb_net_reaches(const struct lb_host *from, const struct lb_host *to, uint16_t port, int timeout_ms);

#endif
