/* SPDX-License-Identifier: MIT
 *
 * relay.h - a process that carries TCP connections from one network to another: what comes to a socket that listens
 * goes on to an address in the network in which the relay was started. It ends with the sandbox.
 *
 * It is an end of TCP for both sides. So it acknowledges what a server sends to a client that is cut off, also its
 * keepalives: a server that finds such a client dead by these does not find it here.
 */
#ifndef LB_RELAY_H
#define LB_RELAY_H

#include <netinet/in.h>

enum { LB_RELAY_DOORS_MAX = 32 };

/* Starts one in the network that this process has now. A descriptor, with which it ends when that is closed; -errno. */
int lb_relay_start(void);
/* From now on it accepts at `listening`, which it takes over and this process loses, and connects to `to`. At most
 * LB_RELAY_DOORS_MAX. 0 or -errno. */
int lb_relay_carry(int relay, int listening, const struct sockaddr_in *to);

#endif
