/* SPDX-License-Identifier: MIT
 *
 * A socket belongs to the network in which it was made. So the relay stays in the network of the machine, and is given
 * sockets that listen on hosts of a trial: what it accepts there it carries over connections of its own.
 */
#include "relay.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/need.h"
#include "base/process.h"

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
  struct door door[LB_RELAY_DOORS_MAX];
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
  if (!head || r->doors == LB_RELAY_DOORS_MAX) return false;
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

/* ---- the controller's side --------------------------------------------------------------------------------------- */

int lb_relay_start(void) {
  int control[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0) return -errno;
  pid_t pid = lb_process_fork();
  if (pid == 0) close(control[0]), be_relay(control[1]);
  int r = pid < 0 ? -errno : control[0];
  close(control[1]);
  if (r < 0) close(control[0]);
  return r;
}

int lb_relay_carry(int relay, int listening, const struct sockaddr_in *to) {
  _Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {0};
  struct sockaddr_in where = *to;
  struct iovec data = {&where, sizeof where};
  struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
  struct cmsghdr *head = CMSG_FIRSTHDR(&message);
  *head = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof listening), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
  memcpy(CMSG_DATA(head), &listening, sizeof listening);
  int r = sendmsg(relay, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
  close(listening);
  return r;
}
