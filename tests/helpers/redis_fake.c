/* SPDX-License-Identifier: MIT
 *
 * A server that answers what the test says, for the Redis protocols.
 */
#include "redis_fake.h"

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <hiredis/hiredis.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNS_MAX = 32, COMMANDS_MAX = 128 };

static struct {
  int listener;
  struct {
    int fd; /* -1 = closed */
    redisReader *reader;
  } conn[CONNS_MAX];
  size_t conn_count, answer_count, heard_count;
  const char *answer[COMMANDS_MAX];
  char heard[COMMANDS_MAX][256];
  unsigned heard_at[COMMANDS_MAX];
  bool deaf;
  lb_ns per_byte;
  const char *dripping; /* rest of the answer on the newest connection */
} fake;

lb_ns fake_now;
uint16_t fake_port;

/* ---- the server --------------------------------------------------------------------------------------- */

static void say(size_t i, const char *text) {
  if (send(fake.conn[i].fd, text, strlen(text), MSG_NOSIGNAL) < 0) err(1, "fake server");
}

static void hang_up(size_t i) {
  if (fake.conn[i].fd < 0) return;
  close(fake.conn[i].fd);
  redisReaderFree(fake.conn[i].reader);
  fake.conn[i].fd = -1;
}

static unsigned address_of(size_t i) {
  struct sockaddr_in at;
  socklen_t size = sizeof at;
  if (getsockname(fake.conn[i].fd, (struct sockaddr *)&at, &size)) err(1, "fake server");
  return ntohl(at.sin_addr.s_addr) & 0xff;
}

static void hear(size_t i, const redisReply *command) {
  if (fake.heard_count == COMMANDS_MAX) errx(1, "fake server: too many commands");
  size_t n = fake.heard_count++, length = 0;
  fake.heard_at[n] = address_of(i);
  for (size_t w = 0; w < command->elements && length < sizeof fake.heard[n]; w++)
    length += (size_t)snprintf(fake.heard[n] + length, sizeof fake.heard[n] - length, "%s%s", w ? " " : "",
                               command->element[w]->str);
  const char *answer = n < fake.answer_count ? fake.answer[n] : FAKE_SILENCE;
  if (!answer) return;
  if (!strcmp(answer, FAKE_CLOSE)) hang_up(i);
  else if (fake.per_byte) fake.dripping = answer;
  else say(i, answer);
}

/* Two answers in a row have both arrived when they are sent. */
static void accept_all(void) {
  int fd, on = 1;
  while ((fd = accept4(fake.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
    if (fake.conn_count == CONNS_MAX) errx(1, "fake server: too many connections");
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on)) err(1, "fake server");
    fake.conn[fake.conn_count].fd = fd;
    fake.conn[fake.conn_count++].reader = redisReaderCreate();
  }
}

static void listen_to(size_t i) {
  char buf[4096];
  ssize_t n;
  void *command;
  while (fake.conn[i].fd >= 0 && (n = read(fake.conn[i].fd, buf, sizeof buf)) > 0) {
    redisReaderFeed(fake.conn[i].reader, buf, (size_t)n);
    while (fake.conn[i].fd >= 0 && redisReaderGetReply(fake.conn[i].reader, &command) == REDIS_OK && command) {
      hear(i, command);
      freeReplyObject(command);
    }
  }
}

static void work(void) {
  accept_all();
  for (size_t i = 0; !fake.deaf && i < fake.conn_count; i++) listen_to(i);
  if (!fake.dripping || !*fake.dripping) return;
  say(fake.conn_count - 1, (char[]){*fake.dripping++, '\0'});
  fake_now += fake.per_byte;
}

/* ---- the world ---------------------------------------------------------------------------------------- */

static lb_ns now(struct lb_env *env) {
  (void)env;
  return fake_now;
}

static int wait_fds(struct lb_env *env, struct pollfd *fds, size_t count, lb_ns deadline) {
  (void)env;
  work();
  int n = poll(fds, count, 0);
  if (n == 0 && deadline > fake_now) fake_now = deadline;
  return n < 0 ? -errno : n;
}

static void sleep_until(struct lb_env *env, lb_ns when) {
  (void)env;
  if (when > fake_now) fake_now = when;
}

static void random_bytes(struct lb_env *env, void *buf, size_t size) {
  static unsigned char next;
  (void)env;
  memset(buf, ++next, size);
}

struct lb_env fake_env = {.now = now, .wait_fds = wait_fds, .sleep_until = sleep_until, .random = random_bytes};

/* ---- for the test ------------------------------------------------------------------------------------- */

void fake_start(void) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
  socklen_t size = sizeof at;
  memset(&fake, 0, sizeof fake);
  fake_now = LB_NS_PER_S;
  fake_env.err[0] = '\0';
  fake.listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (bind(fake.listener, (struct sockaddr *)&at, size) || listen(fake.listener, 16) ||
      getsockname(fake.listener, (struct sockaddr *)&at, &size))
    err(1, "fake server");
  fake_port = ntohs(at.sin_port);
}

void fake_stop(void) {
  for (size_t i = 0; i < fake.conn_count; i++) hang_up(i);
  close(fake.listener);
}

void fake_answer(const char *answer) {
  while (fake.answer_count < fake.heard_count) fake.answer[fake.answer_count++] = FAKE_SILENCE;
  fake.answer[fake.answer_count++] = answer;
}

void fake_say(const char *text) { say(fake.conn_count - 1, text); }
void fake_hang_up(void) { hang_up(fake.conn_count - 1); }
void fake_go_deaf(void) { fake.deaf = true; }
void fake_drip(lb_ns per_byte) { fake.per_byte = per_byte; }
const char *fake_heard(size_t i) { return fake.heard[i]; }
size_t fake_heard_count(void) { return fake.heard_count; }
unsigned fake_heard_at(size_t i) { return fake.heard_at[i]; }
size_t fake_accepted(void) { return fake.conn_count; }
