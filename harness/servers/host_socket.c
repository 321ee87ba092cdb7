/* SPDX-License-Identifier: MIT
 *
 * A socket belongs to the network namespace in which it was made. So the controller goes there, makes it,
 * and comes home.
 */
#include "host_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* Several connections may leave from one port, each to another peer. */
static void leave_from(int fd, uint16_t port) {
  struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons(port)};
  int on = 1;
  if (port == 0) return;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(fd, (struct sockaddr *)&sin, sizeof sin) < 0) return; /* then it leaves from any */
}

/* Does not wait: a cut makes connect(2) silent, not refused, so the caller brings the timeout. */
static int begin_here(uint16_t from_port, const struct lb_host *to, uint16_t port) {
  struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons(port)};
  inet_pton(AF_INET, to->address, &sin.sin_addr);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  leave_from(fd, from_port);
  if (connect(fd, (struct sockaddr *)&sin, sizeof sin) == 0 || errno == EINPROGRESS) return fd;
  int r = -errno;
  close(fd);
  return r;
}

static int datagram_here(const struct lb_host *host) {
  struct sockaddr_in sin = {.sin_family = AF_INET};
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  inet_pton(AF_INET, host->address, &sin.sin_addr);
  if (bind(fd, (struct sockaddr *)&sin, sizeof sin) == 0) return fd;
  int r = -errno;
  close(fd);
  return r;
}

/* The network namespace to come home to, once this process has moved to that of the host; or -errno,
 * and it has not moved. */
static int move_to(const struct lb_host *host) {
  int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  if (home < 0) return -errno;
  if (setns(host->netns, CLONE_NEWNET) == 0) return home;
  int r = -errno;
  close(home);
  return r;
}

static void come_home(int home) {
  if (setns(home, CLONE_NEWNET) < 0) abort(); /* the controller must never go on in a wrong namespace */
  close(home);
}

int lb_host_datagram(const struct lb_host *host) {
  if (host->netns < 0) return datagram_here(host);
  int home = move_to(host);
  if (home < 0) return home;
  int fd = datagram_here(host);
  come_home(home);
  return fd;
}

int lb_host_connect_by(const struct lb_host *from, uint16_t from_port, const struct lb_host *to, uint16_t port) {
  if (from->netns < 0) return begin_here(from_port, to, port);
  int home = move_to(from);
  if (home < 0) return home;
  int fd = begin_here(from_port, to, port);
  come_home(home);
  return fd;
}

int lb_host_connect(const struct lb_host *from, const struct lb_host *to, uint16_t port) {
  return lb_host_connect_by(from, 0, to, port);
}

bool lb_host_connected(int fd, int timeout_ms) {
  struct pollfd p = {.fd = fd, .events = POLLOUT};
  int error = -1;
  socklen_t size = sizeof error;
  if (fd < 0) return false;
  if (poll(&p, 1, timeout_ms) > 0) getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  close(fd);
  return error == 0;
}

bool lb_host_reaches(const struct lb_host *from, const struct lb_host *to, uint16_t port, int timeout_ms) {
  return lb_host_connected(lb_host_connect(from, to, port), timeout_ms);
}
