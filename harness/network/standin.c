/* SPDX-License-Identifier: MIT
 *
 * A socket belongs to the network in which it was made. So the relay, which stays in the network of the machine, is
 * given sockets that listen on hosts of the trial: what it accepts there it carries over connections of its own.
 */
#include "standin.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/need.h"
#include "base/process.h"
#include "proc.h"

/* ---- the relay: a process ------------------------------------------------------------------------------------------ */

enum { CHUNK = 16384 };

struct half { /* of a connection: what is read here and not yet written there */
  int fd;
  bool ended; /* nothing more comes from here */
  bool told;  /* ... which the other side has been told */
  size_t length, sent;
  char bytes[CHUNK];
};

struct carried { /* [0]: from a client, [1]: to the server */
  struct half half[2];
};

struct door {
  int fd;
  struct sockaddr_in to;
};

struct relay {
  struct door door[LB_STANDINS_MAX];
  size_t doors;
  struct carried **carried;
  size_t count, capacity;
};

/* What the server or the client was told by an error, the other side is told by a reset. */
static void drop(struct relay *r, size_t i, bool reset) {
  struct linger now = {.l_onoff = 1};
  for (int side = 0; side < 2; side++) {
    if (reset) setsockopt(r->carried[i]->half[side].fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(r->carried[i]->half[side].fd);
  }
  free(r->carried[i]);
  r->carried[i] = r->carried[--r->count];
}

static void let_in(struct relay *r, const struct door *door) {
  int on = 1, client = accept4(door->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (client < 0) return;
  int server = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  bool begun = server >= 0 &&
               (connect(server, (const struct sockaddr *)&door->to, sizeof door->to) == 0 || errno == EINPROGRESS);
  if (r->count == r->capacity) {
    r->capacity = r->capacity ? 2 * r->capacity : 64;
    r->carried = lb_need(realloc(r->carried, r->capacity * sizeof(struct carried *)));
  }
  struct carried *c = lb_need(calloc(1, sizeof *c));
  c->half[0].fd = client, c->half[1].fd = server;
  for (int side = 0; side < 2; side++) setsockopt(c->half[side].fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  r->carried[r->count++] = c;
  if (!begun) drop(r, r->count - 1, true);
}

/* False: this connection is broken. */
static bool carry(struct half *from, struct half *to, short can_read, short can_write) {
  if (can_read && from->length == 0 && !from->ended) {
    ssize_t n = read(from->fd, from->bytes, sizeof from->bytes);
    if (n < 0 && errno != EAGAIN && errno != EINTR) return false;
    from->ended = n == 0;
    from->length = n > 0 ? (size_t)n : 0;
    from->sent = 0;
  }
  if (from->length > 0 && (can_read || can_write)) {
    ssize_t n = send(to->fd, from->bytes + from->sent, from->length - from->sent, MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN && errno != EINTR && errno != ENOTCONN) return false;
    if (n > 0) from->sent += (size_t)n;
    if (from->sent == from->length) from->length = 0;
  }
  if (from->ended && from->length == 0 && !from->told) from->told = shutdown(to->fd, SHUT_WR) == 0 || errno != ENOTCONN;
  return true;
}

/* What is asked of a side. One that has ended is not asked at all: it would be ready for ever. */
static struct pollfd question(const struct half *here, const struct half *other) {
  short events = (short)((here->length == 0 && !here->ended ? POLLIN : 0) | (other->length > 0 ? POLLOUT : 0));
  return (struct pollfd){.fd = events ? here->fd : -1, .events = events};
}

static void go_on(struct relay *r, size_t i, const struct pollfd polled[2]) {
  struct half *h = r->carried[i]->half;
  bool broken = polled[0].revents & POLLERR || polled[1].revents & POLLERR;
  for (int side = 0; side < 2 && !broken; side++)
    broken =
        !carry(&h[side], &h[1 - side], polled[side].revents & (POLLIN | POLLHUP), polled[1 - side].revents & POLLOUT);
  if (broken || (h[0].told && h[1].told)) drop(r, i, broken);
}

/* One more door, with where it leads. False: the controller is gone. */
static bool take_door(struct relay *r, int control) {
  struct door *door = &r->door[r->doors];
  _Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))];
  struct iovec data = {&door->to, sizeof door->to};
  struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
  if (recvmsg(control, &message, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof door->to) return false;
  const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  if (!head || r->doors == LB_STANDINS_MAX) return false;
  memcpy(&door->fd, CMSG_DATA(head), sizeof door->fd);
  r->doors++;
  return true;
}

static _Noreturn void be_relay(int control) {
  static struct relay r;
  struct pollfd *polled = NULL;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (;;) {
    size_t first = 1 + r.doors, count = r.count;
    polled = lb_need(realloc(polled, (first + 2 * count) * sizeof *polled));
    polled[0] = (struct pollfd){.fd = control, .events = POLLIN};
    for (size_t i = 0; i < r.doors; i++) polled[1 + i] = (struct pollfd){.fd = r.door[i].fd, .events = POLLIN};
    for (size_t i = 0; i < count; i++)
      for (int side = 0; side < 2; side++) {
        const struct half *h = r.carried[i]->half;
        polled[first + 2 * i + (size_t)side] = question(&h[side], &h[1 - side]);
      }
    if (poll(polled, first + 2 * count, -1) < 0) continue;
    for (size_t i = count; i-- > 0;) /* from behind: one that is over is replaced by the last */
      go_on(&r, i, &polled[first + 2 * i]);
    for (size_t i = 0; i + 1 < first; i++)
      if (polled[1 + i].revents) let_in(&r, &r.door[i]);
    if (polled[0].revents && !take_door(&r, control)) _exit(0);
  }
}

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

int lb_standin_leave(struct lb_standin standins[], size_t count, const char *hosts_file, struct lb_error *err) {
  int control[2], r = 0;
  for (size_t i = 0; i < count && r == 0; i++) {
    r = look_up(&standins[i], err);
    if (strncmp(standins[i].address, lb_net_base(), strlen(lb_net_base())) == 0) lb_net_move();
  }
  if (r == 0) r = write_names(standins, count, hosts_file, err);
  if (r < 0) return r;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0)
    return lb_error(err, -errno, "no relay: %s", strerror(errno));
  pid_t pid = lb_process_fork();
  if (pid == 0) close(control[0]), be_relay(control[1]);
  close(control[1]);
  if (pid > 0 && unshare(CLONE_NEWNET) == 0 && (r = lb_net_loopback_up()) == 0) return control[0];
  r = lb_error(err, r < 0 ? r : -errno, "no network for stand-ins: %s", strerror(r < 0 ? -r : errno));
  close(control[0]);
  return r;
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
  return lb_proc_run_tool(host, argv, batch, err);
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
  int fd = listen_at(host, port);
  if (fd < 0) return fd;
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
  _Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {0};
  struct iovec data = {&to, sizeof to};
  struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
  struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  *head = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
  memcpy(CMSG_DATA(head), &fd, sizeof fd);
  inet_pton(AF_INET, host->address, &to.sin_addr);
  int r = sendmsg(relay, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
  close(fd);
  return r;
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
