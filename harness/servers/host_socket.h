/* SPDX-License-Identifier: MIT
 *
 * host_socket.h - sockets on a host of a trial (host.h), in the hands of the controller: for the proofs of
 * cuts and delays. All calls belong to the controller's thread.
 */
#ifndef LB_HOST_SOCKET_H
#define LB_HOST_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

#include "host.h"

/* A socket for single packets on a host, at a port that the kernel names. A descriptor, or -errno. */
int lb_host_datagram(const struct lb_host *host);
/* Begins a TCP connection from one host to to:port. A descriptor for lb_host_connected(), or -errno. */
int lb_host_connect(const struct lb_host *from, const struct lb_host *to, uint16_t port);
/* The same from this port of the first host, as far as it can be had: packets of a probe are then
 * known by it. */
int lb_host_connect_by(const struct lb_host *from, uint16_t from_port, const struct lb_host *to, uint16_t port);
/* Whether that connection is established within timeout_ms. Closes fd; false for a negative one. */
bool lb_host_connected(int fd, int timeout_ms);
/* Both. */
bool lb_host_reaches(const struct lb_host *from, const struct lb_host *to, uint16_t port, int timeout_ms);

#endif
