/* SPDX-License-Identifier: MIT
 *
 * Redis connections whose deadline covers the whole call. hiredis formats and parses; connecting and waiting are ours,
 * through env only. Waiting is one poll per round trip: write, poll, read. (A read tried before the poll fails nearly
 * always, because the reply takes longer than the way back from write, and costs a system call each time.)
 *
 * The socket is made here and not by redisConnectNonBlock, which hides the errno of a refused connect, calls the
 * connection ready before the handshake has ended, and lets it leak into started programs.
 */
#include "redis.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/address.h"

enum { WHERE_MAX = 280 }; /* a host name is at most 255 bytes long */

struct redis_conn {
  struct lb_env *env;
  redisContext *redis;
  size_t owed;           /* commands queued whose replies have not been taken */
  bool connected;        /* the handshake has ended */
  bool unwritten;        /* the output buffer is not empty */
  bool wrote;            /* some byte of what was queued last may have left */
  bool ended;            /* by the server */
  int lost;              /* 0 or -errno */
  bool listens;          /* replies are messages, which no command has asked for */
  bool logging_in;       /* the reply to AUTH is still to come, before all others */
  char where[WHERE_MAX]; /* "127.0.0.1:6379", for messages */
};

/* ---- state -------------------------------------------------------------------------------------------- */

int redis_fd(const struct redis_conn *conn) { return conn->redis->fd; }

short redis_events(const struct redis_conn *conn) {
  return (short)(POLLIN | (!conn->connected || conn->unwritten ? POLLOUT : 0));
}

struct lb_env *redis_env(const struct redis_conn *conn) {
  return conn->env;
}
bool redis_connected(const struct redis_conn *conn) { return conn->connected; }

void redis_listen(struct redis_conn *conn) { conn->listens = true; }

size_t redis_owed(const struct redis_conn *conn) { return conn->owed; }

int redis_lost(const struct redis_conn *conn) { return conn->lost; }

bool redis_ended_by_server(const struct redis_conn *conn) { return conn->ended; }

/* Marks it lost by the error hiredis reports; `error` is errno as it left it. */
static int lose(struct redis_conn *conn, int error) {
  redisContext *redis = conn->redis;
  if (redis->err == REDIS_ERR_EOF) error = ECONNRESET;
  else if (redis->err == REDIS_ERR_OOM) error = ENOMEM;
  else if (redis->err != REDIS_ERR_IO || !error) error = EPROTO;
  conn->ended = error == ECONNRESET || error == EPIPE;
  conn->lost = -error;
  return lb_fail(conn->env, -error, "redis %s: connection lost: %s", conn->where, redis->errstr);
}

/* ---- connecting --------------------------------------------------------------------------------------- */

/* A socket on its way to the numeric address. */
static int start_socket(const char *address, uint16_t port, int *ret_fd) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV}, *to = NULL;
  char service[8];
  int rc = 0, on = 1;
  snprintf(service, sizeof service, "%u", port);
  if (getaddrinfo(address, service, &hints, &to)) return -EINVAL;
  int fd = socket(to->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) ||
      (connect(fd, to->ai_addr, to->ai_addrlen) && errno != EINPROGRESS))
    rc = -errno;
  freeaddrinfo(to);
  if (rc && fd >= 0) close(fd);
  *ret_fd = fd;
  return rc;
}

/* "127.0.0.1:6379", "[::1]:6379". */
static void name_server(const struct lb_endpoint *at, char where[WHERE_MAX]) {
  bool literal = strchr(at->host, ':');
  snprintf(where, WHERE_MAX, "%s%s%s:%u", literal ? "[" : "", at->host, literal ? "]" : "", at->port);
}

/* The first command of every connection: it needs no round trip of its own. */
static int queue_login(struct redis_conn *conn, const struct lb_endpoint *at) {
  if (!at->password) return 0;
  const char *argv[] = {"AUTH", at->user ? at->user : at->password, at->password};
  if (redisAppendCommandArgv(conn->redis, at->user ? 3 : 2, argv, NULL) != REDIS_OK)
    return lb_fail(conn->env, -ENOMEM, "redis %s: out of memory", conn->where);
  conn->logging_in = conn->unwritten = true;
  return 0;
}

int redis_start(struct lb_env *env, const struct lb_endpoint *at, lb_ns deadline, struct redis_conn **ret) {
  char where[WHERE_MAX], address[LB_ADDRESS_MAX];
  int fd = -1;
  name_server(at, where);
  if (at->tls) return lb_fail(env, -EPROTONOSUPPORT, "redis %s asks for TLS, which hiredis here does not have", where);
  int rc = lb_address(env, at->host, deadline, address);
  if (rc) return rc;
  rc = start_socket(address, at->port, &fd);
  if (rc) return lb_fail(env, rc, "connect to redis %s: %s", where, strerror(-rc));
  struct redis_conn *conn = calloc(1, sizeof *conn);
  redisContext *redis = conn ? redisConnectFd(fd) : NULL;
  if (!redis) {
    free(conn);
    close(fd);
    return lb_fail(env, -ENOMEM, "connect to redis %s: out of memory", where);
  }
  redis->flags &= ~REDIS_BLOCK;
  *conn = (struct redis_conn){.env = env, .redis = redis};
  memcpy(conn->where, where, sizeof where);
  rc = queue_login(conn, at);
  if (rc) redis_close(conn);
  else *ret = conn;
  return rc;
}

static int finish_connect(struct redis_conn *conn) {
  struct pollfd ready = {.fd = redis_fd(conn), .events = POLLOUT};
  int error = 0, rc = lb_wait_fds(conn->env, &ready, 1, 0);
  socklen_t size = sizeof error;
  if (rc == 0) return 0;
  if (rc < 0) return conn->lost = rc;
  if (getsockopt(redis_fd(conn), SOL_SOCKET, SO_ERROR, &error, &size)) error = errno;
  if (error) return conn->lost = lb_fail(conn->env, -error, "connect to redis %s: %s", conn->where, strerror(error));
  conn->connected = true;
  return 0;
}

/* Until the server has said that it takes the user. What is sent behind that is then refused for its own faults
 * only. */
static int finish_login(struct redis_conn *conn, lb_ns deadline) {
  int rc = 0;
  while (!rc && conn->logging_in) {
    redisReply *none = NULL;
    if ((rc = redis_push(conn))) break;
    rc = lb_wait_fd(conn->env, redis_fd(conn), redis_events(conn), deadline);
    if (rc == 0) return lb_fail(conn->env, -ETIMEDOUT, "redis %s did not answer the login in time", conn->where);
    rc = rc < 0 ? rc : rc & ~POLLOUT ? redis_next(conn, true, &none) : 0;
    freeReplyObject(none);
  }
  return rc;
}

int redis_open(struct lb_env *env, const struct lb_endpoint *at, lb_ns deadline, struct redis_conn **ret) {
  struct redis_conn *conn = NULL;
  int rc = redis_start(env, at, deadline, &conn);
  if (rc) return rc;
  rc = lb_wait_fd(env, redis_fd(conn), POLLOUT, deadline);
  if (rc == 0) rc = lb_fail(env, -ETIMEDOUT, "connect to redis %s: no answer in time", conn->where);
  if (rc > 0) rc = finish_connect(conn);
  if (rc == 0) rc = finish_login(conn, deadline);
  if (rc) {
    redis_close(conn);
    return rc;
  }
  *ret = conn;
  return 0;
}

void redis_close(struct redis_conn *conn) {
  if (!conn) return;
  redisFree(conn->redis);
  free(conn);
}

/* ---- steps that never wait ---------------------------------------------------------------------------- */

static int queued(struct redis_conn *conn, int append_rc) {
  if (append_rc != REDIS_OK) return lose(conn, ENOMEM);
  conn->owed++;
  conn->unwritten = true;
  conn->wrote = false;
  return 0;
}

int redis_queue(struct redis_conn *conn, int argc, const char *const argv[], const size_t *lengths) {
  if (conn->lost) return conn->lost;
  /* hiredis 0.14 only lacks the const */
  return queued(conn, redisAppendCommandArgv(conn->redis, argc, (const char **)(uintptr_t)argv, lengths));
}

int redis_push(struct redis_conn *conn) {
  int done = 0, rc;
  if (conn->lost) return conn->lost;
  if (!conn->connected && ((rc = finish_connect(conn)) || !conn->connected)) return rc;
  if (!conn->unwritten) return 0;
  errno = 0;
  if (redisBufferWrite(conn->redis, &done) != REDIS_OK) return lose(conn, errno);
  /* Not done means a part or nothing has left: hiredis does not tell which, and a part is the one that matters. */
  conn->wrote = true;
  conn->unwritten = !done;
  return 0;
}

/* One reply of any kind, or NULL: there is none yet. */
static int parse_reply(struct redis_conn *conn, redisReply **ret) {
  void *reply = NULL;
  if (redisGetReplyFromReader(conn->redis, &reply) != REDIS_OK) return lose(conn, errno);
  *ret = reply;
  return 0;
}

/* The reply to the login answers no command. One that refuses it ends the connection. */
static int take_login(struct redis_conn *conn) {
  redisReply *reply = NULL;
  int rc = parse_reply(conn, &reply);
  if (rc || !reply) return rc;
  conn->logging_in = false;
  if (reply->type == REDIS_REPLY_ERROR)
    rc = conn->lost = lb_fail(conn->env, -EACCES, "redis %s does not take the login: %s", conn->where, reply->str);
  freeReplyObject(reply);
  return rc;
}

int redis_next(struct redis_conn *conn, bool read_socket, redisReply **ret) {
  *ret = NULL;
  if (conn->lost) return conn->lost;
  errno = 0;
  if (read_socket && redisBufferRead(conn->redis) != REDIS_OK) return lose(conn, errno);
  int rc = conn->logging_in ? take_login(conn) : 0;
  if (rc || conn->logging_in || (rc = parse_reply(conn, ret)) || !*ret || conn->listens) return rc;
  if (conn->owed) {
    conn->owed--;
    return 0;
  }
  freeReplyObject(*ret);
  *ret = NULL;
  return conn->lost = lb_fail(conn->env, -EPROTO, "redis %s sent a reply nobody asked for", conn->where);
}

/* It reads again after each reply: behind the last one may be the end of the connection. */
int redis_drain(struct redis_conn *conn) {
  redisReply *late;
  int rc = redis_next(conn, true, &late);
  while (!rc && late) {
    freeReplyObject(late);
    rc = redis_next(conn, true, &late);
  }
  return rc;
}

/* ---- one call, one answer ------------------------------------------------------------------------------ */

/* Takes what one read brings, up to the reply to the last command; older ones are late and thrown away. */
static int take_last(struct redis_conn *conn, redisReply **ret) {
  redisReply *reply;
  int rc = redis_next(conn, true, &reply);
  while (!rc && reply) {
    if (!conn->owed) {
      *ret = reply;
      return 0;
    }
    freeReplyObject(reply);
    rc = redis_next(conn, false, &reply);
  }
  *ret = NULL;
  return rc;
}

static int no_answer(struct redis_conn *conn) {
  lb_fail(conn->env, -ETIMEDOUT, "redis %s did not answer in time", conn->where);
  return LB_UNKNOWN;
}

/* Writes what is queued and waits for the answer to the last command in it. */
static int exchange(struct redis_conn *conn, lb_ns deadline, redisReply **ret) {
  for (;;) {
    int rc = redis_push(conn);
    if (rc) return conn->wrote ? LB_UNKNOWN : rc;
    rc = lb_wait_fd(conn->env, redis_fd(conn), redis_events(conn), deadline);
    if (rc == 0) return no_answer(conn);
    if (rc < 0) return LB_UNKNOWN;
    if (!(rc & ~POLLOUT)) continue;
    if (take_last(conn, ret)) return LB_UNKNOWN;
    if (*ret) return 0;
    /* A part of it: poll alone would not end a trickle that never pauses. */
    if (lb_now(conn->env) >= deadline) return no_answer(conn);
  }
}

static int check_usable(struct redis_conn *conn, lb_ns deadline) {
  if (conn->lost)
    return lb_fail(conn->env, conn->lost, "redis %s: connection was lost: %s", conn->where, strerror(-conn->lost));
  if (lb_now(conn->env) < deadline) return 0;
  return lb_fail(conn->env, -ETIMEDOUT, "the deadline had passed before anything was sent to redis %s", conn->where);
}

int redis_call(struct redis_conn *conn, lb_ns deadline, redisReply **ret, int argc, const char *const argv[],
               const size_t *lengths) {
  *ret = NULL;
  int rc = check_usable(conn, deadline);
  if (!rc) rc = redis_queue(conn, argc, argv, lengths);
  return rc ? rc : exchange(conn, deadline, ret);
}

int redis_callf(struct redis_conn *conn, lb_ns deadline, redisReply **ret, const char *format, ...) {
  va_list args;
  *ret = NULL;
  int rc = check_usable(conn, deadline);
  if (rc) return rc;
  va_start(args, format);
  rc = queued(conn, redisvAppendCommand(conn->redis, format, args));
  va_end(args);
  return rc ? rc : exchange(conn, deadline, ret);
}

/* ---- what is sent, and what answers mean ---------------------------------------------------------------- */

void redis_new_token(struct lb_env *env, struct lb_grant *grant) {
  static const char digits[] = "0123456789abcdef";
  unsigned char bytes[REDIS_TOKEN_LEN / 2];
  lb_random(env, bytes, sizeof bytes);
  for (size_t i = 0; i < sizeof bytes; i++) {
    grant->token[2 * i] = digits[bytes[i] >> 4];
    grant->token[2 * i + 1] = digits[bytes[i] & 15];
  }
  grant->token[REDIS_TOKEN_LEN] = '\0';
  grant->token_len = REDIS_TOKEN_LEN;
}

const char *redis_decimal(int64_t number, char buf[REDIS_DECIMAL_MAX]) {
  snprintf(buf, REDIS_DECIMAL_MAX, "%" PRId64, number);
  return buf;
}

bool redis_is_one(const redisReply *reply) { return reply->type == REDIS_REPLY_INTEGER && reply->integer == 1; }

bool redis_is_yes(const redisReply *reply) { return redis_is_one(reply) || reply->type == REDIS_REPLY_STATUS; }

bool redis_is_token(const redisReply *reply, const struct lb_grant *grant) {
  return reply->type == REDIS_REPLY_STRING && reply->len == grant->token_len &&
         !memcmp(reply->str, grant->token, grant->token_len);
}

int redis_refusal(struct lb_env *env, const redisReply *reply) {
  static const struct {
    const char *code;
    int error;
  } table[] = {
      {"READONLY", EROFS},     {"MASTERDOWN", EROFS}, {"LOADING", EAGAIN}, {"BUSY", EAGAIN},
      {"NOREPLICAS", ENOLINK}, {"OOM", ENOMEM},       {"MISCONF", EIO},    {"NOAUTH", EACCES},
      {"NOPERM", EPERM},       {"MOVED", EROFS},      {"ASK", EROFS},      {"CLUSTERDOWN", EAGAIN},
      {"TRYAGAIN", EAGAIN},    {"CROSSSLOT", EINVAL},
  };
  if (reply->type != REDIS_REPLY_ERROR) return 0;
  size_t length = strcspn(reply->str, " ");
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (strlen(table[i].code) == length && !strncmp(reply->str, table[i].code, length))
      return lb_fail(env, -table[i].error, "redis refused: %s", reply->str);
  return lb_fail(env, -EPROTO, "redis refused: %s", reply->str);
}
