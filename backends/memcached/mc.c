/* SPDX-License-Identifier: MIT
 *
 * mc.c - requests and answers of one connection, in order (protocol.txt, meta commands).
 */
#include "mc.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/address.h"

enum { KEY_BYTES = 64 };

void mc_close(struct mc_conn *conn) {
  if (conn->fd >= 0) close(conn->fd), conn->losses++;
  conn->fd = -1;
  conn->got_size = conn->owed = 0;
}

static int lost(struct mc_conn *conn, const char *why) {
  mc_close(conn);
  return lb_fail(conn->env, -ENOTCONN, "memcached: the connection was lost: %s", why);
}

int mc_open(struct mc_conn *conn, struct lb_env *env, const struct lb_endpoint *at, lb_ns deadline) {
  struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM}, *found;
  char address[LB_ADDRESS_MAX], port[8];
  socklen_t size = sizeof(int);
  int error = 0, one = 1;
  conn->env = env;
  if (at->tls || at->password) return lb_fail(env, -ENOTSUP, "memcached: no TLS and no password yet");
  int r = lb_address(env, at->host, deadline, address);
  if (r) return r;
  snprintf(port, sizeof port, "%u", (unsigned)at->port);
  if (getaddrinfo(address, port, &hints, &found)) return lb_fail(env, -EINVAL, "memcached: no address: %s", address);
  int fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0 || (connect(fd, found->ai_addr, found->ai_addrlen) < 0 && errno != EINPROGRESS)) error = errno;
  freeaddrinfo(found);
  if (!error) {
    int came = lb_wait_fd(env, fd, POLLOUT, deadline);
    if (came <= 0) error = came ? -came : ETIMEDOUT;
    else getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error) {
    if (fd >= 0) close(fd);
    return lb_fail(env, -error, "memcached: no connection: %s", strerror(error));
  }
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  conn->fd = fd;
  return 0;
}

bool mc_is_open(struct mc_conn *conn) {
  char byte;
  if (conn->fd < 0) return false;
  ssize_t n = recv(conn->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK)) lost(conn, n ? strerror(errno) : "it was closed");
  return conn->fd >= 0;
}

/* Until `size` bytes are there, or with size 0 a whole line. How many bytes that is; 0: the deadline passed; -errno. */
static int await(struct mc_conn *conn, size_t size, lb_ns deadline) {
  for (;;) {
    const char *end = memchr(conn->got, '\n', conn->got_size); /* some lists have no \r */
    if (size ? conn->got_size >= size : end != NULL) return size ? (int)size : (int)(end - conn->got) + 1;
    if (conn->got_size == sizeof conn->got) return lost(conn, "an answer that is too long");
    int came = lb_wait_fd(conn->env, conn->fd, POLLIN, deadline);
    if (came <= 0) return came;
    ssize_t n = recv(conn->fd, conn->got + conn->got_size, sizeof conn->got - conn->got_size, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN)) return lost(conn, n ? strerror(errno) : "it was closed");
    if (n > 0) conn->got_size += (size_t)n;
  }
}

static void take(struct mc_conn *conn, size_t size, size_t keep, char *ret, size_t ret_size) {
  snprintf(ret, ret_size, "%.*s", (int)keep, conn->got);
  memmove(conn->got, conn->got + size, conn->got_size - size);
  conn->got_size -= size;
}

/* One whole answer, which stays unread until all of it has come. 0; -ETIMEDOUT; -errno. */
static int read_answer(struct mc_conn *conn, lb_ns deadline, struct mc_reply *ret) {
  int length = await(conn, 0, deadline);
  if (length <= 0) return length ? length : -ETIMEDOUT;
  size_t more = strncmp(conn->got, "VA ", 3) == 0 ? strtoul(conn->got + 3, NULL, 10) + 2 : 0;
  int all = more ? await(conn, (size_t)length + more, deadline) : length;
  if (all <= 0) return all ? all : -ETIMEDOUT;
  take(conn, (size_t)length, strcspn(conn->got, "\r\n"), ret->line, sizeof ret->line);
  ret->value[0] = '\0';
  if (more) take(conn, more, more - 2, ret->value, sizeof ret->value);
  return 0;
}

int mc_call(struct mc_conn *conn, lb_ns deadline, const char *text, struct mc_reply *ret) {
  size_t size = strlen(text);
  if (!mc_is_open(conn)) return lb_fail(conn->env, -ENOTCONN, "memcached: the connection was lost");
  if (lb_now(conn->env) >= deadline)
    return lb_fail(conn->env, -ETIMEDOUT, "memcached: the deadline passed before sending");
  /* A request is short: the kernel takes all of it, or the connection is full of what was never read. */
  ssize_t sent = send(conn->fd, text, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0)
    return errno == EAGAIN ? lb_fail(conn->env, -ETIMEDOUT, "memcached: the connection is stuck")
                           : lost(conn, strerror(errno));
  if ((size_t)sent < size) return lost(conn, "half a request was sent"), LB_UNKNOWN;
  for (conn->owed++; conn->owed > 0; conn->owed--) {
    int r = read_answer(conn, deadline, ret);
    if (r) return lb_fail(conn->env, r, "memcached: sent, no answer"), LB_UNKNOWN;
  }
  return 0;
}

/* Names are listed as in a URL: "%3A". */
static void decode(char *text) {
  char *to = text;
  for (unsigned byte; *text; text++) {
    bool coded = *text == '%' && sscanf(text + 1, "%2x", &byte) == 1;
    *to++ = coded ? (char)byte : *text;
    if (coded) text += 2;
  }
  *to = '\0';
}

/* Reads the whole list, and keeps the first `max` names with this prefix. How many, or -errno. */
static int list_keys(struct mc_conn *conn, const char *prefix, lb_ns deadline, char (*keys)[KEY_BYTES], int max) {
  static const char list[] = "lru_crawler metadump all\r\n";
  struct mc_reply reply;
  int count = 0;
  if (send(conn->fd, list, strlen(list), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return lost(conn, strerror(errno));
  for (;;) {
    int r = read_answer(conn, deadline, &reply);
    if (r) return r;
    if (strncmp(reply.line, "key=", 4) != 0) break; /* END, or an error */
    reply.line[strcspn(reply.line, " ")] = '\0';
    decode(reply.line);
    if (count < max && strncmp(reply.line + 4, prefix, strlen(prefix)) == 0)
      snprintf(keys[count++], KEY_BYTES, "%s", reply.line + 4);
  }
  return strcmp(reply.line, "END") == 0 ? count : lb_fail(conn->env, -EPROTO, "memcached: %s", reply.line);
}

int mc_stat(struct mc_conn *conn, const char *row, lb_ns deadline, uint64_t *ret) {
  struct mc_reply reply;
  char name[40];
  unsigned long long number;
  bool found = false;
  if (send(conn->fd, "stats\r\n", 7, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return lost(conn, strerror(errno));
  do {
    int r = read_answer(conn, deadline, &reply);
    if (r) return r;
    if (sscanf(reply.line, "STAT %39s %llu", name, &number) == 2 && strcmp(name, row) == 0) *ret = number, found = true;
  } while (strncmp(reply.line, "STAT ", 5) == 0);
  return found ? 0 : lb_fail(conn->env, -EPROTO, "memcached: no row '%s' in its statistics", row);
}

int mc_delete_all(struct mc_conn *conn, const char *prefix, lb_ns deadline) {
  char keys[256][KEY_BYTES], text[KEY_BYTES + 8];
  struct mc_reply reply;
  int count;
  while ((count = list_keys(conn, prefix, deadline, keys, 256)) > 0)
    for (int i = 0; i < count; i++) {
      snprintf(text, sizeof text, "md %s\r\n", keys[i]);
      int r = mc_call(conn, deadline, text, &reply);
      if (r) return r < 0 ? r : -ETIMEDOUT;
    }
  return count;
}
