/* SPDX-License-Identifier: MIT
 *
 * Connections by their peers, as the kernel knows them.
 */
#include "sockets.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

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
uint64_t lb_sockets_sum(const struct lb_target *target, uint64_t (*act)(int fd)) {
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
