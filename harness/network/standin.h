/* SPDX-License-Identifier: MIT
 *
 * standin.h - hosts that stand in for servers which are not ours. Such a host has the server's own address, listens on
 * its port, and a relay (relay.h) carries what comes there to the server, over the network of this machine. A cut between
 * a client and the server is then one between two hosts of the trial, and nothing of the server is touched.
 *
 * All calls belong to the controller's thread.
 */
#ifndef LB_STANDIN_H
#define LB_STANDIN_H

#include "net.h"

struct lb_standin { /* for a server */
  const char *name; /* a name, or an address of IPv4; borrowed */
  uint16_t port;
  char address[16]; /* filled by lb_standin_leave() */
};

/* Looks up the addresses, starts the relay in the network that this process has, and moves this process into a network of
 * its own, with nothing in it but loopback. What are names in `standins` are found in `hosts_file` from then on, which
 * is made. A descriptor of the relay, which ends when it is closed; or -errno with err. */
int lb_standin_leave(struct lb_standin standins[], size_t count, const char *hosts_file, struct lb_error *err);
/* Gives the first `count` hosts of the net the addresses of these servers, and the ports to the relay. Servers of one
 * address share the first host that has it. `patience`: what lb_net_patience() says, "" = lb_net_be_patient() was not
 * called. 0, or -errno with err. */
int lb_standin_place(struct lb_net *net, int relay, const struct lb_standin standins[], size_t count,
                     const char *patience, struct lb_error *err);
/* The host that stands in for server `index`. */
struct lb_host *lb_standin_host(struct lb_net *net, const struct lb_standin standins[], size_t index);

#endif
