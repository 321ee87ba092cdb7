/* SPDX-License-Identifier: MIT
 *
 * A client library hides its connections, but not from /proc: a socket has a number, and the tables of TCP say where it
 * leads.
 */
#include "foreign_server.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SOCKETS_MAX = 256, ESTABLISHED = 1, V4_WORDS = 1, V6_WORDS = 4 };

struct sockets { /* of one process, by their numbers */
  unsigned long inode[SOCKETS_MAX];
  size_t count;
};

static void list_sockets(pid_t pid, struct sockets *ret) {
  char path[300], text[64];
  ret->count = 0;
  snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
  DIR *files = opendir(path);
  for (struct dirent *d; files && ret->count < SOCKETS_MAX && (d = readdir(files));) {
    snprintf(path, sizeof path, "/proc/%d/fd/%.20s", (int)pid, d->d_name);
    ssize_t n = readlink(path, text, sizeof text - 1);
    if (n <= 0) continue;
    text[n] = '\0';
    if (sscanf(text, "socket:[%lu]", &ret->inode[ret->count]) == 1) ret->count++;
  }
  if (files) closedir(files);
}

static bool has_socket(const struct sockets *sockets, unsigned long inode) {
  for (size_t i = 0; i < sockets->count; i++)
    if (sockets->inode[i] == inode) return true;
  return false;
}

/* An address as the kernel prints it: words of 32 bits in hexadecimal digits, each as this machine has_socket it. A JVM
 * talks to an address of version 4 through a socket of version 6. */
static bool read_address(const char *hex, size_t words, char host[INET6_ADDRSTRLEN]) {
  uint32_t word[V6_WORDS];
  for (size_t i = 0; i < words; i++) {
    unsigned value;
    if (sscanf(hex + 8 * i, "%8x", &value) != 1) return false;
    word[i] = value;
  }
  bool mapped = words == V6_WORDS && !word[0] && !word[1] && word[2] == htonl(0xffff);
  if (words == V4_WORDS || mapped) return inet_ntop(AF_INET, &word[mapped ? 3 : 0], host, INET6_ADDRSTRLEN) != NULL;
  return inet_ntop(AF_INET6, word, host, INET6_ADDRSTRLEN) != NULL;
}

static int endpoint_of(const struct lb_target *target, const char *host, unsigned port) {
  for (size_t i = 0; i < target->count; i++)
    if (target->endpoints[i].port == port && strcmp(target->endpoints[i].host, host) == 0) return (int)i;
  return -ENOENT;
}

/* Its endpoints in bits, as far as they are in this table. Sentinels tell where the master is, and have no lock. */
static uint64_t in_table(const struct lb_target *target, pid_t pid, const char *table, size_t words,
                         const struct sockets *sockets) {
  char path[64], line[512], peer[64], host[INET6_ADDRSTRLEN];
  uint64_t found = 0;
  snprintf(path, sizeof path, "/proc/%d/net/%s", (int)pid, table);
  FILE *in = fopen(path, "re");
  while (in && fgets(line, sizeof line, in)) {
    unsigned port, state;
    unsigned long inode;
    if (sscanf(line, " %*d: %*[0-9A-Fa-f:] %40[0-9A-Fa-f]:%x %x %*s %*s %*s %*s %*s %lu", peer, &port, &state,
               &inode) != 4)
      continue;
    if (state != ESTABLISHED || !has_socket(sockets, inode) || !read_address(peer, words, host)) continue;
    int at = endpoint_of(target, host, port);
    if (at >= 0 && at < 64 && strcmp(target->endpoints[at].service, "sentinel") != 0) found |= UINT64_C(1) << at;
  }
  if (in) fclose(in);
  return found;
}

int foreign_server(const struct lb_target *target, pid_t pid) {
  struct sockets sockets;
  list_sockets(pid, &sockets);
  uint64_t found = in_table(target, pid, "tcp", V4_WORDS, &sockets) | in_table(target, pid, "tcp6", V6_WORDS, &sockets);
  if (!found || found & (found - 1)) return -ENOENT;
  return __builtin_ctzll(found);
}
