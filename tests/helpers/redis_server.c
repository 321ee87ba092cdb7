/* SPDX-License-Identifier: MIT
 *
 * A redis-server for a test, in a folder of its own.
 */
#include "redis_server.h"

#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Debian installs the server as redis-check-rdb, too: one program that looks at its name. */
static const char *const programs[] = {"/usr/local/bin/redis-server", "/usr/bin/redis-server",
                                       "/usr/bin/redis-check-rdb", "/usr/bin/valkey-check-rdb"};

static const char *program(void) {
  for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
    if (access(programs[i], X_OK) == 0) return programs[i];
  return NULL;
}

bool redis_server_installed(void) { return program() != NULL; }

static struct sockaddr_in loopback(uint16_t port) {
  return (struct sockaddr_in){
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

uint16_t redis_free_port(void) {
  struct sockaddr_in at = loopback(0);
  socklen_t size = sizeof at;
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0 || bind(fd, (struct sockaddr *)&at, size) || getsockname(fd, (struct sockaddr *)&at, &size))
    err(1, "free port");
  close(fd);
  return ntohs(at.sin_port);
}

static bool listens(uint16_t port) {
  struct sockaddr_in at = loopback(port);
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  bool up = fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0;
  if (fd >= 0) close(fd);
  return up;
}

static void await_listening(const struct redis_server *server) {
  for (int i = 0; i < 1000; i++) {
    if (listens(server->port)) return;
    if (waitpid(server->pid, NULL, WNOHANG)) errx(1, "the redis server on port %u ended at once", server->port);
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
  }
  errx(1, "the redis server on port %u does not listen", server->port);
}

static void spawn(struct redis_server *server, const char *dir, char *argv[]) {
  pid_t parent = getpid();
  server->pid = fork();
  if (server->pid < 0) err(1, "fork");
  if (server->pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int null = open("/dev/null", O_RDWR);
    if (getppid() != parent || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || chdir(dir)) _exit(126);
    execv(program(), argv);
    _exit(127);
  }
  await_listening(server);
}

void redis_server_start(struct redis_server *server, const char *dir, const char *const extra[]) {
  char port[8], *argv[32] = {"redis-server", "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--port", port};
  size_t argc = 9;
  if (!server->port) server->port = redis_free_port();
  snprintf(port, sizeof port, "%u", server->port);
  for (; extra && *extra && argc < 31; extra++) argv[argc++] = (char *)(uintptr_t)*extra;
  spawn(server, dir, argv);
}

void redis_sentinel_start(struct redis_server *sentinel, const char *dir, const char *config) {
  char port[8], *argv[] = {"redis-sentinel", (char *)(uintptr_t)config, "--sentinel", "--port", port, NULL};
  if (!sentinel->port) sentinel->port = redis_free_port();
  snprintf(port, sizeof port, "%u", sentinel->port);
  spawn(sentinel, dir, argv);
}

void redis_server_signal(const struct redis_server *server, int sig) {
  if (kill(server->pid, sig)) err(1, "kill");
}

void redis_server_kill(struct redis_server *server) {
  if (!server->pid) return;
  redis_server_signal(server, SIGKILL);
  waitpid(server->pid, NULL, 0);
  server->pid = 0;
}
