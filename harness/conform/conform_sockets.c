/* SPDX-License-Identifier: MIT
 *
 * What statements do with the connections of their process.
 *
 * A connection can be broken without asking the protocol, which is what happens in a network, too.
 */
#include <linux/filter.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "client/env.h"
#include "conform_parts.h"

/* Shut down, not closed: the descriptor stays with its library, which then finds the connection at
 * its end. */
static uint64_t shut_down(int fd) { return shutdown(fd, SHUT_RDWR) == 0; }

int lb_conform_shutdown_sockets(const struct lb_target *target) { return (int)lb_sockets_sum(target, shut_down); }

/* A filter that accepts no packet. It stands behind the kernel's TCP, which does not see them either: to
 * both ends it looks as if they were dropped on the way. */
static uint64_t deafen(int fd) {
  struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
  struct sock_fprog program = {.len = 1, .filter = &nothing};
  return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

int lb_conform_deafen_sockets(const struct lb_target *target) { return (int)lb_sockets_sum(target, deafen); }

static uint64_t packets_sent(int fd) {
  struct tcp_info info = {0};
  socklen_t size = sizeof info;
  return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 ? info.tcpi_data_segs_out : 0;
}

uint64_t lb_conform_packets_sent(const struct lb_target *target) { return lb_sockets_sum(target, packets_sent); }
