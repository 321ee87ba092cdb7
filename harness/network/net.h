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
#include "base/error.h"

#define LB_HOSTS_MAX 160

/* The unit of failure: a network namespace with an address. Without namespaces every host is this machine's loopback,
 * told apart by ports only. */
struct lb_host {
  char name[32];       /* "server-1", "client-2" */
  char address[16];    /* "10.77.0.11", or "127.0.0.1" */
  int netns;           /* fd of its network namespace, -1 = the trial's own */
  struct nft_ctx *nft; /* its firewall, from its first rule on (rules.c) */
};

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
int lb_net_up(struct lb_net *net, bool separate, size_t count, struct lb_error *err);
/* "10.77.0": what the addresses of hosts begin with; and another one, where servers that are not ours have that. To be
 * called before lb_net_up(). */
const char *lb_net_base(void);
void lb_net_move(void);
/* Sets loopback of the current network namespace up. 0 or -errno. */
int lb_net_loopback_up(void);
/* After lb_cut_forget_all(), lb_line_forget_all() and lb_rules_forget_all(). Closes the namespaces' descriptors; the namespaces go with their last process. */
void lb_net_down(struct lb_net *net);
/* A port that nothing uses on any host of the net: in a sandbox the next number, else one that the
 * kernel names. 0 = none. */
uint16_t lb_net_port(struct lb_net *net);

/* TCP that does not take late for lost. A sender whose acknowledgements become late from one moment to the next sends
 * again after 200 ms and then almost nothing more until they come: what an application writes meanwhile would be late
 * by up to twice the delay. For connections that are made from now on, on all hosts: nothing is sent again before
 * late_ms and a second have passed without an acknowledgement. Where packets get lost it is late_ms and TCP's least
 * wait of 200 ms, so that a lost packet is not late by a second. Many packets may be on their way without an
 * acknowledgement. 0, or -errno with err. */
int lb_net_be_patient(const struct lb_net *net, int64_t late_ms, bool lossy, struct lb_error *err);
/* What a route says of that, as ip(8) takes it. */
void lb_net_patience(int64_t late_ms, bool lossy, char *ret, size_t size);
/* Counts the tables of rules that are left on all hosts, which has to come to none. 0, or -errno with err (-EBUSY: some
 * are left). */
int lb_net_no_rules(const struct lb_net *net, struct lb_error *err);
/* From now on no host notes of a connection that ends how long its answers took, and later ones do not begin with that.
 * 0, or -errno with err. */
int lb_net_no_notes(const struct lb_net *net, struct lb_error *err);

/* ---- sockets on a host, in the hands of the controller: for the proofs of cuts and delays ------ */

/* A socket for single packets on a host, at a port that the kernel names. A descriptor, or -errno. */
int lb_host_datagram(const struct lb_host *host);
/* This thread goes to the network of the host, where sockets that it makes belong to. A descriptor for
 * lb_host_leave(), which has to be called on every path; or -errno, and it is where it was. */
int lb_host_enter(const struct lb_host *host);
void lb_host_leave(int home);
/* Begins a TCP connection from one host to to:port. It leaves from from_port, as far as that can be had, so that
 * packets of a probe are known by it; 0 = any. A descriptor for lb_host_connected(), or -errno. */
int lb_host_connect(const struct lb_host *from, uint16_t from_port, const struct lb_host *to, uint16_t port);
/* Whether that connection is established within timeout_ms. Closes fd; false for a negative one. */
bool lb_host_connected(int fd, int timeout_ms);
/* Whether the other host has answered it by then: it accepts, or refuses as no program listens there. Closes fd. */
bool lb_host_answered(int fd, int timeout_ms);

#endif
