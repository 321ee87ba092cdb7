/* SPDX-License-Identifier: MIT
 *
 * The connections of this process to the servers, whoever opened them: found among its open files
 * by the address of their peer.
 *
 * A protocol hides its connections, in a client library as a rule. The kernel knows them all, so a
 * connection can be broken without asking the protocol, which is what happens in a network, too.
 */
#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/tcp.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "conform_parts.h"

/* The numeric address and the port of the peer. False: not a connected IP socket. */
static bool peer_of(int fd, char host[INET6_ADDRSTRLEN], uint16_t *ret_port) {
  struct sockaddr_storage any;
  socklen_t size = sizeof any;
  if (getpeername(fd, (struct sockaddr *)&any, &size) < 0) return false;
  const struct sockaddr_in *four = (const struct sockaddr_in *)&any;
  const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&any;
  const void *address = any.ss_family == AF_INET    ? (const void *)&four->sin_addr
                        : any.ss_family == AF_INET6 ? (const void *)&six->sin6_addr
                                                    : NULL;
  if (!address || !inet_ntop(any.ss_family, address, host, INET6_ADDRSTRLEN)) return false;
  *ret_port = ntohs(any.ss_family == AF_INET ? four->sin_port : six->sin6_port);
  return true;
}

/* Addresses are compared as text: endpoints of a sandbox are numeric. */
static bool leads_to(int fd, const struct lb_target *target) {
  char host[INET6_ADDRSTRLEN];
  uint16_t port;
  if (!peer_of(fd, host, &port)) return false;
  for (size_t i = 0; i < target->count; i++)
    if (target->endpoints[i].port == port && strcmp(target->endpoints[i].host, host) == 0) return true;
  return false;
}

/* What act(fd) says of each connection to a server, summed up. */
static uint64_t of_each(const struct lb_target *target, uint64_t (*act)(int fd)) {
  uint64_t sum = 0;
  DIR *files = opendir("/proc/self/fd");
  if (!files) return 0;
  for (struct dirent *entry; (entry = readdir(files));) {
    int fd = atoi(entry->d_name);
    if (entry->d_name[0] != '.' && leads_to(fd, target)) sum += act(fd);
  }
  closedir(files);
  return sum;
}

/* Shut down, not closed: the descriptor stays with its library, which then finds the connection at
 * its end. */
static uint64_t shut_down(int fd) { return shutdown(fd, SHUT_RDWR) == 0; }

int lb_conform_shutdown_sockets(const struct lb_target *target) { return (int)of_each(target, shut_down); }

/* A filter that accepts no packet. It stands behind the kernel's TCP, which does not see them either: to
 * both ends it looks as if they were dropped on the way. */
static uint64_t deafen(int fd) {
  struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
  struct sock_fprog program = {.len = 1, .filter = &nothing};
  return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

int lb_conform_deafen_sockets(const struct lb_target *target) { return (int)of_each(target, deafen); }

static uint64_t packets_sent(int fd) {
  struct tcp_info info = {0};
  socklen_t size = sizeof info;
  return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 ? info.tcpi_data_segs_out : 0;
}

uint64_t lb_conform_packets_sent(const struct lb_target *target) { return of_each(target, packets_sent); }
