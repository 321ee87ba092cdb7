/* SPDX-License-Identifier: MIT
 *
 * One ZooKeeper, asked for what it is and what time it has.
 *
 * Servers are asked with four-letter words on a plain connection: that needs no session, so asking
 * changes nothing, and a server that has lost its quorum says so instead of answering.
 */
#include "zookeeper_ask.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "family_util.h"

#define LOG_TAIL 32768

/* ---- asking ---------------------------------------------------------------------------------- */

static int no_answer(struct lb_cluster *cluster, const struct lb_server *server, int r) {
  return lb_fail(cluster->env, r, "%s: no answer: %s", server->name, strerror(-r));
}

static int connect_to(struct lb_env *env, const struct lb_server *server, int fd, lb_ns deadline) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(server->port)};
  int error = 0;
  socklen_t size = sizeof error;
  if (inet_pton(AF_INET, server->host->address, &to.sin_addr) != 1) return -EINVAL;
  if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0) return 0;
  if (errno != EINPROGRESS) return -errno;
  int ready = lb_wait_fd(env, fd, POLLOUT, deadline);
  if (ready <= 0) return ready < 0 ? ready : -ETIMEDOUT;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0) return -errno;
  return -error;
}

/* Everything up to the end of file, which is where a four-letter answer ends. */
static int read_all(struct lb_env *env, int fd, char *buf, size_t size, lb_ns deadline) {
  size_t len = 0;
  while (len + 1 < size) {
    int ready = lb_wait_fd(env, fd, POLLIN, deadline);
    if (ready <= 0) return ready < 0 ? ready : -ETIMEDOUT;
    ssize_t n = recv(fd, buf + len, size - 1 - len, 0);
    if (n < 0 && errno == EAGAIN) continue;
    if (n < 0) return -errno;
    if (n == 0) break;
    len += (size_t)n;
  }
  buf[len] = '\0';
  return 0;
}

static uint16_t local_port(int fd) {
  struct sockaddr_in at = {0};
  socklen_t size = sizeof at;
  return getsockname(fd, (struct sockaddr *)&at, &size) == 0 ? ntohs(at.sin_port) : 0;
}

/* The answer to a word; ret_port (may be NULL) = where it was asked from. */
static int four_letters(struct lb_cluster *cluster, size_t index, const char *word, char *buf, size_t size,
                        lb_ns deadline, uint16_t *ret_port) {
  const struct lb_server *server = &cluster->server[index];
  deadline = lb_ask_until(cluster->env, deadline);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  int r = fd < 0 ? -errno : connect_to(cluster->env, server, fd, deadline);
  if (r == 0 && ret_port) *ret_port = local_port(fd);
  if (r == 0 && send(fd, word, strlen(word), MSG_NOSIGNAL) < 0) r = -errno;
  if (r == 0) r = read_all(cluster->env, fd, buf, size, deadline);
  if (fd >= 0) close(fd);
  return r < 0 ? no_answer(cluster, server, r) : 0;
}

/* A server without a quorum answers "This ZooKeeper instance is not currently serving requests": no
 * mode, hence an error with these words. */
int lb_zookeeper_mode(struct lb_cluster *cluster, size_t index, lb_ns deadline, char mode[16], unsigned *ret_epoch) {
  char said[1024];
  int r = four_letters(cluster, index, "srvr", said, sizeof said, deadline, NULL);
  if (r < 0) return r;
  const char *m = strstr(said, "Mode: "), *z = strstr(said, "Zxid: 0x");
  if (!m || !z || sscanf(m, "Mode: %15s", mode) != 1)
    return lb_fail(cluster->env, -EAGAIN, "%s: %.*s", cluster->server[index].name, (int)strcspn(said, "\n"), said);
  *ret_epoch = (unsigned)(strtoull(z + 6, NULL, 16) >> 32);
  return 0;
}

int lb_zookeeper_left(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  char said[1024];
  int r = four_letters(cluster, index, "srvr", said, sizeof said, deadline, NULL);
  if (r < 0) return r;
  if (strstr(said, "not currently serving requests")) return 1;
  if (strstr(said, "Mode: ")) return 0;
  return lb_fail(cluster->env, -EPROTO, "%s: %.*s", cluster->server[index].name, (int)strcspn(said, "\n"), said);
}

/* A number behind a word of the answer. */
static int ask_number(struct lb_cluster *cluster, size_t index, const char *word, lb_ns deadline, uint64_t *ret) {
  char said[1024];
  int r = four_letters(cluster, index, "srvr", said, sizeof said, deadline, NULL);
  if (r < 0) return r;
  const char *at = strstr(said, word);
  if (!at) return lb_fail(cluster->env, -EAGAIN, "%s: %.*s", cluster->server[index].name, (int)strcspn(said, "\n"), said);
  *ret = strtoull(at + strlen(word), NULL, 0);
  return 0;
}

/* Every transaction has a number, which is the lower half of a zxid; the upper one is the epoch of
 * the leader. */
int lb_zookeeper_commits(struct lb_cluster *cluster, size_t index, lb_ns deadline, uint64_t *ret) {
  int r = ask_number(cluster, index, "Zxid: ", deadline, ret);
  *ret &= UINT32_MAX;
  return r;
}

int lb_zookeeper_requests(struct lb_cluster *cluster, size_t index, lb_ns deadline, uint64_t *ret) {
  return ask_number(cluster, index, "Received: ", deadline, ret);
}

/* A session that has run out is counted down no more, but its nodes are there until its end has been committed. */
int lb_zookeeper_has_session(struct lb_cluster *cluster, size_t index, uint64_t id, lb_ns deadline) {
  char said[32768], number[24];
  int r = four_letters(cluster, index, "dump", said, sizeof said, deadline, NULL);
  if (r < 0) return r;
  if (!strstr(said, "SessionTracker dump")) return lb_fail(cluster->env, -EAGAIN, "%s: %.*s", cluster->server[index].name, (int)strcspn(said, "\n"), said);
  if (strlen(said) + 1 == sizeof said) return lb_fail(cluster->env, -EOVERFLOW, "%s: more sessions than can be read", cluster->server[index].name);
  snprintf(number, sizeof number, "0x%llx", (unsigned long long)id);
  for (const char *at = said; (at = strstr(at, number)); at++)
    if (!isxdigit((unsigned char)at[strlen(number)])) return 1;
  return 0;
}

/* ---- its time -------------------------------------------------------------------------------- */

/* "2024-05-01 12:34:56.789+0200 ..." as ms since 1970; -1 = it does not begin so. */
static int64_t read_stamp(const char *line) {
  struct tm tm = {0};
  int ms, zone;
  char sign;
  const char *rest = strptime(line, "%Y-%m-%d %H:%M:%S", &tm);
  if (!rest || sscanf(rest, ".%3d%c%4d", &ms, &sign, &zone) != 3) return -1;
  int64_t east_s = (zone / 100 * 60 + zone % 100) * 60 * (sign == '-' ? -1 : 1);
  return ((int64_t)timegm(&tm) - east_s) * 1000 + ms;
}

/* The time on the last line of the log with this text and this end; -1 = there is none near the end
 * of the log. */
static int64_t logged_at(const struct lb_server *server, const char *text, const char *end) {
  char line[400];
  int64_t when = -1;
  FILE *in = fopen(server->log, "re");
  if (!in) return -1;
  if (fseek(in, -LOG_TAIL, SEEK_END) < 0) rewind(in);
  while (fgets(line, sizeof line, in))
    if (strstr(line, text) && strstr(line, end)) when = read_stamp(line);
  fclose(in);
  return when;
}

/* No command tells a server's time: a node's times are the leader's. But the server logs every word
 * it is asked, with its own time and the port of who asks, before it answers; and it answers this
 * word also when it has lost its quorum. */
int lb_zookeeper_wall_ms(struct lb_cluster *cluster, size_t index, lb_ns deadline, int64_t *ret_ms) {
  const struct lb_server *server = &cluster->server[index];
  char said[100], asked[16];
  uint16_t port = 0;
  int r = four_letters(cluster, index, "ruok", said, sizeof said, deadline, &port);
  if (r < 0) return r;
  snprintf(asked, sizeof asked, ":%u\n", (unsigned)port);
  *ret_ms = logged_at(server, "ruok command from", asked);
  return *ret_ms < 0 ? lb_fail(cluster->env, -EPROTO, "%s: its log does not say when it was asked", server->name) : 0;
}

int lb_zookeeper_mono_ms(struct lb_cluster *cluster, size_t index, lb_ns deadline, int64_t *ret_ms) {
  char said[32768];
  long long uptime_ms;
  int r = four_letters(cluster, index, "mntr", said, sizeof said, deadline, NULL);
  if (r < 0) return r;
  const char *line = strstr(said, "zk_uptime");
  if (!line || sscanf(line, "zk_uptime %lld", &uptime_ms) != 1)
    return lb_fail(cluster->env, -EAGAIN, "%s: %.*s", cluster->server[index].name, (int)strcspn(said, "\n"), said);
  *ret_ms = uptime_ms;
  return 0;
}

/* ---- a full disk ----------------------------------------------------------------------------- */

/* A request for a session, which the server writes to its log before it answers. Nobody closes it: it ends by itself. 0, or -errno. */
static int open_session(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  enum { LENGTH = 45, TIMEOUT_MS = 1000 };
  unsigned char request[4 + LENGTH] = {[3] = LENGTH, [18] = TIMEOUT_MS >> 8, [19] = TIMEOUT_MS & 255, [31] = 16}; /* version, zxid, timeout, id 0, an empty password */
  const struct lb_server *server = &cluster->server[index];
  char byte;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  int r = fd < 0 ? -errno : connect_to(cluster->env, server, fd, deadline);
  if (r == 0 && send(fd, request, sizeof request, MSG_NOSIGNAL) < 0) r = -errno;
  if (r == 0 && (r = lb_wait_fd(cluster->env, fd, POLLIN, deadline)) >= 0) r = r == 0 ? -ETIMEDOUT : recv(fd, &byte, 1, 0) == 1 ? 0 : -ECONNRESET;
  if (fd >= 0) close(fd);
  return r < 0 ? no_answer(cluster, server, r) : 0;
}

/* What is left of the last page of its log takes some hundred. One that is only slow is asked again. */
int lb_zookeeper_need_room(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  enum { SESSIONS = 2000 };
  int r = 0;
  for (int i = 0; i < SESSIONS && (r == 0 || (r == -ETIMEDOUT && lb_now(cluster->env) < deadline)); i++) r = open_session(cluster, index, lb_ask_until(cluster->env, deadline));
  return r;
}
