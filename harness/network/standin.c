/* SPDX-License-Identifier: MIT
 *
 * The way out of a network that others use, into one where links can be cut. The relay is started before, and stays.
 */
#include "standin.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/need.h"
#include "proc.h"
#include "relay.h"

/* ---- leaving the network of this machine ------------------------------------------------------------------------- */

static int look_up(struct lb_standin *s, struct lb_error *err) {
  struct addrinfo like = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;
  int r = getaddrinfo(s->name, NULL, &like, &found);
  if (r != 0) return lb_error(err, -EADDRNOTAVAIL, "%s has no address of IPv4: %s", s->name, gai_strerror(r));
  const struct sockaddr_in *sin = (const struct sockaddr_in *)(const void *)found->ai_addr;
  inet_ntop(AF_INET, &sin->sin_addr, s->address, sizeof s->address);
  freeaddrinfo(found);
  if (strncmp(s->address, "127.", 4) != 0) return 0;
  return lb_error(err, -EADDRNOTAVAIL, "%s is %s, which every host of a trial has for itself", s->name, s->address);
}

/* Clients look names up in it, as no name server can be reached from the hosts. */
static int write_names(const struct lb_standin standins[], size_t count, const char *path, struct lb_error *err) {
  FILE *out = fopen(path, "we");
  if (!out) return lb_error(err, -errno, "%s: %s", path, strerror(errno));
  fputs("127.0.0.1 localhost\n", out);
  for (size_t i = 0; i < count; i++) fprintf(out, "%s %s\n", standins[i].address, standins[i].name);
  if (fclose(out) != 0 || mount(path, "/etc/hosts", NULL, MS_BIND, NULL) < 0)
    return lb_error(err, -errno, "no names for the servers: %s", strerror(errno));
  return 0;
}

static bool is_ours(const struct lb_standin *s) {
  return strncmp(s->address, lb_net_base(), strlen(lb_net_base())) == 0;
}

/* The addresses of hosts keep out of the way of theirs. */
static int look_all_up(struct lb_standin standins[], size_t count, struct lb_error *err) {
  bool moved = false;
  for (size_t i = 0; i < count; i++) {
    int r = look_up(&standins[i], err);
    if (r < 0) return r;
    if (is_ours(&standins[i]) && !moved) lb_net_move(), moved = true;
  }
  for (size_t i = 0; i < count; i++)
    if (is_ours(&standins[i]))
      return lb_error(err, -EADDRINUSE, "%s is %s, and both networks that a trial may have are taken", standins[i].name,
                      standins[i].address);
  return 0;
}

int lb_standin_leave(struct lb_standin standins[], size_t count, const char *hosts_file, struct lb_error *err) {
  int r = look_all_up(standins, count, err);
  if (r == 0) r = write_names(standins, count, hosts_file, err);
  if (r < 0) return r;
  int relay = lb_relay_start();
  if (relay < 0) return lb_error(err, relay, "no relay: %s", strerror(-relay));
  r = unshare(CLONE_NEWNET) < 0 ? -errno : lb_net_loopback_up();
  if (r == 0) return relay;
  close(relay);
  return lb_error(err, r, "no network for stand-ins: %s", strerror(-r));
}

/* ---- standing in ------------------------------------------------------------------------------------------------ */

static size_t first_with(const struct lb_standin standins[], size_t index) {
  size_t first = 0;
  while (strcmp(standins[first].address, standins[index].address) != 0) first++;
  return first;
}

struct lb_host *lb_standin_host(struct lb_net *net, const struct lb_standin standins[], size_t index) {
  return &net->host[first_with(standins, index)];
}

static int ip(struct lb_host *host, char *batch, struct lb_error *err) {
  char *argv[] = {(char *)"ip", (char *)"-batch", (char *)"-", NULL};
  return lb_proc_run_tool(host, argv, batch, LB_TOOL_MS, err);
}

/* The routes of a host, or of the controller (NULL), to all servers; of a stand-in also its address, from which it
 * answers. */
static int route(struct lb_net *net, struct lb_host *host, const struct lb_standin standins[], size_t count,
                 const char *patience, struct lb_error *err) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = lb_need(open_memstream(&text, &size));
  for (size_t i = 0; i < count; i++) {
    const char *address = standins[i].address;
    if (first_with(standins, i) < i) continue;
    if (host != &net->host[i])
      fprintf(out, "route replace %s/32 dev %s%s\n", address, host ? "eth0" : "lb0", host ? patience : "");
    else
      fprintf(out, "addr add %s/32 dev eth0\nroute replace %s.0/24 dev eth0 src %s%s\n", address, lb_net_base(),
              address, patience);
  }
  lb_need(fclose(out) == 0 ? text : NULL);
  int r = ip(host, text, err);
  free(text);
  return r;
}

static int listen_at(struct lb_host *host, uint16_t port) {
  struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons(port)};
  int on = 1, home = lb_host_enter(host), r = 0;
  if (home < 0) return home;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  inet_pton(AF_INET, host->address, &sin.sin_addr);
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (fd < 0 || bind(fd, (struct sockaddr *)&sin, sizeof sin) < 0 || listen(fd, SOMAXCONN) < 0) r = -errno;
  lb_host_leave(home);
  if (r < 0 && fd >= 0) close(fd);
  return r < 0 ? r : fd;
}

/* Hands the relay a socket that listens, and where what comes there is to go. */
static int open_door(int relay, struct lb_host *host, uint16_t port) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
  int fd = listen_at(host, port);
  inet_pton(AF_INET, host->address, &to.sin_addr);
  return fd < 0 ? fd : lb_relay_carry(relay, fd, &to);
}

int lb_standin_place(struct lb_net *net, int relay, const struct lb_standin standins[], size_t count,
                     const char *patience, struct lb_error *err) {
  int r = route(net, NULL, standins, count, patience, err);
  for (size_t i = 0; i < net->count && r == 0; i++) r = route(net, &net->host[i], standins, count, patience, err);
  for (size_t i = 0; i < count && r == 0; i++) {
    struct lb_host *host = lb_standin_host(net, standins, i);
    snprintf(host->address, sizeof host->address, "%s", standins[i].address);
    r = open_door(relay, host, standins[i].port);
    if (r < 0) lb_error(err, r, "no stand-in for %s:%u: %s", standins[i].name, standins[i].port, strerror(-r));
  }
  return r;
}
