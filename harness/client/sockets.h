/* SPDX-License-Identifier: MIT
 *
 * sockets.h - the connections of this process to the servers, whoever opened them: found among its open files
 * by the address of their peer. A protocol hides its connections, in a client library as a rule; the kernel knows them all.
 */
#ifndef LB_SOCKETS_H
#define LB_SOCKETS_H

#include "backends/backend.h"

/* What act(fd) says of each connection to a server, summed up. */
uint64_t lb_sockets_sum(const struct lb_target *target, uint64_t (*act)(int fd));

#endif
