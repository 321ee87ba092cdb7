/* SPDX-License-Identifier: MIT
 *
 * nats.c - the lines of one connection: INFO, CONNECT, SUB, PUB and HPUB, MSG and HMSG, PING and PONG.
 */
#include "nats.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/address.h"

enum { ANSWERS = 1, LISTENING = 2, LINE_MAX = 4096, REQUEST_MAX = 2048 }; /* the first two: numbers of subscriptions */

const char *nats_spell(const char *name, char buf[NATS_NAME_MAX]) {
  snprintf(buf, NATS_NAME_MAX, "%s", name);
  for (char *c = buf; *c; c++)
    if (*c == ':') *c = '_';
  return buf;
}

const char *nats_stream(const char *name, char buf[NATS_NAME_MAX]) {
  char bucket[NATS_NAME_MAX];
  snprintf(buf, NATS_NAME_MAX, "KV_%.60s", nats_spell(name, bucket));
  return buf;
}

void nats_close(struct nats_conn *conn) {
  if (conn->fd >= 0) close(conn->fd), conn->losses++;
  conn->fd = -1;
  conn->got_size = 0;
  conn->listening[0] = '\0';
  conn->heard = false;
}

static int lost(struct nats_conn *conn, const char *why) {
  nats_close(conn);
  return lb_fail(conn->env, -ENOTCONN, "nats: the connection was lost: %s", why);
}

/* ---- bytes --------------------------------------------------------------------------------------------------- */

/* What has come, without waiting. How many bytes; 0: none now; -errno. */
static int fill(struct nats_conn *conn) {
  if (conn->got_size == sizeof conn->got) return 0;
  ssize_t n = recv(conn->fd, conn->got + conn->got_size, sizeof conn->got - conn->got_size, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return 0;
  if (n <= 0) return lost(conn, n ? strerror(errno) : "it was closed");
  conn->got_size += (size_t)n;
  return (int)n;
}

bool nats_is_open(struct nats_conn *conn) {
  while (conn->fd >= 0 && fill(conn) > 0) continue;
  return conn->fd >= 0;
}

/* Until `size` bytes are there, or with size 0 a whole line. How many bytes that is; 0: the deadline passed; -errno. */
static int await(struct nats_conn *conn, size_t size, lb_ns deadline) {
  for (;;) {
    const char *end = memchr(conn->got, '\n', conn->got_size);
    if (size ? conn->got_size >= size : end != NULL) return size ? (int)size : (int)(end - conn->got) + 1;
    if (conn->got_size == sizeof conn->got) return lost(conn, "a message that is too long");
    int r = fill(conn);
    if (r == 0) r = lb_wait_fd(conn->env, conn->fd, POLLIN, deadline);
    if (r <= 0) return r;
  }
}

static void drop(struct nats_conn *conn, size_t size) {
  memmove(conn->got, conn->got + size, conn->got_size - size);
  conn->got_size -= size;
}

/* A request is short: the kernel takes all of it, or the connection is full of what was never read. */
static int put(struct nats_conn *conn, const char *text, size_t size) {
  ssize_t sent = send(conn->fd, text, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && errno == EAGAIN) return lb_fail(conn->env, -ETIMEDOUT, "nats: the connection is stuck");
  if (sent < 0) return lost(conn, strerror(errno));
  if ((size_t)sent < size) return lost(conn, "half a request was sent"), LB_UNKNOWN;
  return 0;
}

/* ---- messages ------------------------------------------------------------------------------------------------ */

struct message { /* lies in conn->got until it is dropped */
  char line[LINE_MAX];
  size_t begin, headers, size; /* of what follows its line; size with its headers */
};

/* How many bytes follow this line, and how many of them are headers. False: it is no message. */
static bool measure(const char *line, size_t *ret_headers, size_t *ret_size) {
  const char *last = strrchr(line, ' '), *before = last;
  bool with_headers = strncmp(line, "HMSG ", 5) == 0;
  if (!last || (!with_headers && strncmp(line, "MSG ", 4) != 0)) return false;
  *ret_size = strtoul(last + 1, NULL, 10);
  *ret_headers = 0;
  if (!with_headers) return true;
  while (before > line && before[-1] != ' ') before--;
  *ret_headers = strtoul(before, NULL, 10);
  return *ret_headers <= *ret_size;
}

/* The next line or message, all of it. 0; -ETIMEDOUT; -errno. */
static int read_message(struct nats_conn *conn, lb_ns deadline, struct message *ret) {
  int length = await(conn, 0, deadline);
  if (length <= 0) return length ? length : -ETIMEDOUT;
  *ret = (struct message){.begin = (size_t)length};
  snprintf(ret->line, sizeof ret->line, "%.*s", (int)strcspn(conn->got, "\r\n"), conn->got);
  if (!measure(ret->line, &ret->headers, &ret->size)) return 0;
  int all = await(conn, ret->begin + ret->size + 2, deadline);
  return all > 0 ? 0 : all ? all : -ETIMEDOUT;
}

static void drop_message(struct nats_conn *conn, const struct message *m) {
  bool is_message = strncmp(m->line, "MSG ", 4) == 0 || strncmp(m->line, "HMSG ", 5) == 0;
  drop(conn, m->begin + (is_message ? m->size + 2 : 0));
}

/* 1 = it answers the latest request and was not dropped; 0 = it was something else; -errno. */
static int take_message(struct nats_conn *conn, const struct message *m) {
  char subject[96] = "";
  int subscription = 0;
  sscanf(m->line, "%*s %95s %d", subject, &subscription);
  if (strncmp(m->line, "-ERR", 4) == 0) return lost(conn, m->line);
  bool is_message = strncmp(m->line, "MSG ", 4) == 0 || strncmp(m->line, "HMSG ", 5) == 0;
  const char *number = strrchr(subject, '.');
  if (is_message && subscription == ANSWERS && number && strtoull(number + 1, NULL, 10) == conn->asked) return 1;
  if (is_message && subscription == LISTENING) conn->heard = true;
  drop_message(conn, m);
  return strcmp(m->line, "PING") == 0 && put(conn, "PONG\r\n", 6) ? -ENOTCONN : 0;
}

/* ---- connecting ---------------------------------------------------------------------------------------------- */

static int reach(struct nats_conn *conn, const struct lb_endpoint *at, lb_ns deadline) {
  struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM}, *found;
  char address[LB_ADDRESS_MAX], port[8];
  socklen_t size = sizeof(int);
  int error = 0, one = 1;
  int r = lb_address(conn->env, at->host, deadline, address);
  if (r) return r;
  snprintf(port, sizeof port, "%u", (unsigned)at->port);
  if (getaddrinfo(address, port, &hints, &found)) return lb_fail(conn->env, -EINVAL, "nats: no address: %s", address);
  int fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0 || (connect(fd, found->ai_addr, found->ai_addrlen) < 0 && errno != EINPROGRESS)) error = errno;
  freeaddrinfo(found);
  if (!error) {
    int came = lb_wait_fd(conn->env, fd, POLLOUT, deadline);
    if (came <= 0) error = came ? -came : ETIMEDOUT;
    else getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error) {
    if (fd >= 0) close(fd);
    return lb_fail(conn->env, -error, "nats: no connection: %s", strerror(error));
  }
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  conn->fd = fd;
  return 0;
}

/* The server speaks first; the name that it has for itself is in what it says. */
static int take_info(struct nats_conn *conn, lb_ns deadline) {
  struct message m;
  int r = read_message(conn, deadline, &m);
  if (r) return r;
  json_t *info = strncmp(m.line, "INFO ", 5) == 0 ? json_loads(m.line + 5, 0, NULL) : NULL;
  const char *id = json_string_value(json_object_get(info, "server_id"));
  if (id) snprintf(conn->server_id, sizeof conn->server_id, "%s", id);
  const char *name = json_string_value(json_object_get(info, "server_name"));
  snprintf(conn->server_name, sizeof conn->server_name, "%s", name ? name : "");
  const char *version = json_string_value(json_object_get(info, "version"));
  snprintf(conn->version, sizeof conn->version, "%s", version ? version : "");
  json_decref(info);
  drop_message(conn, &m);
  return id ? 0 : lb_fail(conn->env, -EPROTO, "nats: '%.60s'", m.line);
}

static int greet(struct nats_conn *conn, const struct lb_endpoint *at, lb_ns deadline) {
  char text[512], login[200] = "";
  uint64_t random;
  struct message m;
  lb_random(conn->env, &random, sizeof random);
  snprintf(conn->inbox, sizeof conn->inbox, "_I%016" PRIx64, random);
  if (at->password)
    snprintf(login, sizeof login, ",\"user\":\"%s\",\"pass\":\"%s\"", at->user ? at->user : "", at->password);
  int size = snprintf(text, sizeof text,
                      "CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true,\"no_responders\":true,\"lang\":"
                      "\"c\",\"version\":\"1\",\"protocol\":1%s}\r\nSUB %s.* %d\r\nPING\r\n",
                      login, conn->inbox, ANSWERS);
  int r = put(conn, text, (size_t)size);
  while (r == 0 && (r = read_message(conn, deadline, &m)) == 0) {
    bool done = strcmp(m.line, "PONG") == 0;
    r = take_message(conn, &m);
    if (done) return 0;
  }
  return r > 0 ? -EPROTO : r;
}

int nats_open(struct nats_conn *conn, struct lb_env *env, const struct lb_endpoint *at, lb_ns deadline) {
  conn->env = env;
  if (at->tls) return lb_fail(env, -ENOTSUP, "nats: no TLS yet");
  int r = reach(conn, at, deadline);
  if (r == 0) r = take_info(conn, deadline);
  if (r == 0) r = greet(conn, at, deadline);
  if (r == -ETIMEDOUT) lb_fail(env, r, "nats: no answer to CONNECT");
  if (r && conn->fd >= 0) nats_close(conn);
  return r;
}

/* ---- requests ------------------------------------------------------------------------------------------------ */

static int write_request(const struct nats_conn *conn, const struct nats_request *q, char *text) {
  size_t body = q->body ? strlen(q->body) : 0;
  if (!q->headers)
    return snprintf(text, REQUEST_MAX, "PUB %s %s.%" PRIu64 " %zu\r\n%s\r\n", q->subject, conn->inbox, conn->asked,
                    body, q->body ? q->body : "");
  size_t headers = strlen("NATS/1.0\r\n") + strlen(q->headers) + 2;
  return snprintf(text, REQUEST_MAX, "HPUB %s %s.%" PRIu64 " %zu %zu\r\nNATS/1.0\r\n%s\r\n%s\r\n", q->subject,
                  conn->inbox, conn->asked, headers, headers + body, q->headers, q->body ? q->body : "");
}

static void read_reply(struct nats_conn *conn, const struct message *m, struct nats_reply *ret) {
  const char *at = conn->got + m->begin;
  int status = 0;
  if (m->headers && sscanf(at, "NATS/1.0 %3d", &status) != 1) status = 0;
  *ret = (struct nats_reply){.status = status, .size = m->size - m->headers};
  if (ret->size && at[m->headers] == '{')
    ret->said = json_loadb(at + m->headers, ret->size, JSON_DECODE_INT_AS_REAL, NULL);
}

int nats_call(struct nats_conn *conn, const struct nats_request *request, lb_ns deadline, struct nats_reply *ret) {
  char text[REQUEST_MAX];
  struct message m;
  *ret = (struct nats_reply){0};
  if (!nats_is_open(conn)) return lb_fail(conn->env, -ENOTCONN, "nats: the connection was lost");
  if (lb_now(conn->env) >= deadline) return lb_fail(conn->env, -ETIMEDOUT, "nats: the deadline passed before sending");
  conn->asked++;
  int size = write_request(conn, request, text);
  if (size >= REQUEST_MAX) return lb_fail(conn->env, -EMSGSIZE, "nats: a request that is too long");
  int r = put(conn, text, (size_t)size);
  if (r) return r;
  while ((r = read_message(conn, deadline, &m)) == 0 && (r = take_message(conn, &m)) == 0) continue;
  if (r < 0) return lb_fail(conn->env, r, "nats: sent, no answer"), LB_UNKNOWN;
  read_reply(conn, &m, ret);
  drop_message(conn, &m);
  return 0;
}

uint64_t nats_number(const json_t *object, const char *name) {
  double value = json_number_value(json_object_get(object, name));
  return value > 0 ? (uint64_t)value : 0;
}

void nats_tell(struct nats_conn *conn, const char *subject) {
  char text[200];
  int size = snprintf(text, sizeof text, "PUB %s 0\r\n\r\n", subject);
  if (nats_is_open(conn)) put(conn, text, (size_t)size);
}

int nats_listen(struct nats_conn *conn, const char *subject) {
  char text[200];
  if (!nats_is_open(conn)) return lb_fail(conn->env, -ENOTCONN, "nats: the connection was lost");
  if (strcmp(conn->listening, subject) == 0) return 0;
  int size = snprintf(text, sizeof text, "UNSUB %d\r\nSUB %s %d\r\n", LISTENING, subject, LISTENING);
  int r = put(conn, text, (size_t)size);
  if (r) return r < 0 ? r : -ENOTCONN;
  snprintf(conn->listening, sizeof conn->listening, "%s", subject);
  conn->heard = false;
  return 0;
}

int nats_hear(struct nats_conn *conn, lb_ns deadline) {
  struct message m;
  int r = 0;
  while (!conn->heard && r == 0 && (r = read_message(conn, deadline, &m)) == 0) {
    r = take_message(conn, &m);
    if (r == 1) drop_message(conn, &m), r = 0; /* an answer to a request that was given up */
  }
  if (!conn->heard) return r == -ETIMEDOUT ? LB_TIMEOUT : r;
  conn->heard = false;
  return LB_OK;
}
