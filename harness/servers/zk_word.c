/* SPDX-License-Identifier: MIT
 *
 * Asking a ZooKeeper server without a session.
 */
#include "zk_word.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/address.h"

static int connect_to(struct lb_env *env, const struct addrinfo *to, int fd, lb_ns deadline) {
  int error = 0;
  socklen_t size = sizeof error;
  if (connect(fd, to->ai_addr, to->ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return -errno;
  int ready = lb_wait_fd(env, fd, POLLOUT, deadline);
  if (ready <= 0) return ready < 0 ? ready : -ETIMEDOUT;
  return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0 ? -errno : -error;
}

int lb_zk_word_connect(struct lb_env *env, const struct lb_endpoint *at, lb_ns deadline) {
  struct addrinfo like = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV}, *to = NULL;
  char address[LB_ADDRESS_MAX], port[8];
  int r = lb_address(env, at->host, deadline, address);
  if (r) return r;
  snprintf(port, sizeof port, "%u", (unsigned)at->port);
  if (getaddrinfo(address, port, &like, &to) != 0) return lb_fail(env, -EINVAL, "no address: %s", address);
  int fd = socket(to->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  r = fd < 0 ? -errno : connect_to(env, to, fd, deadline);
  freeaddrinfo(to);
  if (r == 0) return fd;
  if (fd >= 0) close(fd);
  return lb_fail(env, r, "connect to zookeeper %s:%u: %s", at->host, (unsigned)at->port, strerror(-r));
}

/* Everything up to the end of file, which is where an answer ends. */
static int read_answer(struct lb_env *env, int fd, lb_ns deadline, struct lb_text *ret) {
  char some[4096];
  for (;;) {
    int ready = lb_wait_fd(env, fd, POLLIN, deadline);
    if (ready <= 0) return ready < 0 ? ready : -ETIMEDOUT;
    ssize_t n = recv(fd, some, sizeof some, 0);
    if (n < 0 && errno == EAGAIN) continue;
    if (n <= 0) return n < 0 ? -errno : 0;
    lb_text_add(ret, "%.*s", (int)n, some);
  }
}

static int local_port(int fd) {
  struct sockaddr_storage any = {0};
  socklen_t size = sizeof any;
  if (getsockname(fd, (struct sockaddr *)&any, &size) < 0) return 0;
  return ntohs(any.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&any)->sin6_port
                                         : ((struct sockaddr_in *)&any)->sin_port);
}

int lb_zk_word_ask(struct lb_env *env, const struct lb_endpoint *at, const char *word, lb_ns deadline,
                   struct lb_text *ret) {
  int fd = lb_zk_word_connect(env, at, deadline), r = fd < 0 ? fd : 0;
  if (r < 0) return r;
  int port = local_port(fd);
  if (send(fd, word, strlen(word), MSG_NOSIGNAL) < 0) r = -errno;
  if (r == 0) r = read_answer(env, fd, deadline, ret);
  close(fd);
  if (r < 0) lb_fail(env, r, "zookeeper %s:%u: no answer: %s", at->host, (unsigned)at->port, strerror(-r));
  return r < 0 ? r : port;
}
