/* SPDX-License-Identifier: MIT
 *
 * A PostgreSQL for a test, in a folder of its own.
 */
#include "pg_server.h"

#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Path of a server program, newest version first; false = not there. */
static bool program(const char *name, char *path, size_t size) {
  char pattern[64];
  glob_t found = {0};
  snprintf(pattern, sizeof pattern, "/usr/lib/postgresql/*/bin/%s", name);
  bool there = glob(pattern, 0, NULL, &found) == 0;
  if (there) snprintf(path, size, "%s", found.gl_pathv[found.gl_pathc - 1]);
  globfree(&found);
  return there;
}

bool pg_server_installed(void) {
  char path[128];
  return program("initdb", path, sizeof path) && program("postgres", path, sizeof path);
}

uint16_t free_port(void) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof at;
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0 || bind(fd, (struct sockaddr *)&at, size) || getsockname(fd, (struct sockaddr *)&at, &size))
    err(1, "free port");
  close(fd);
  return ntohs(at.sin_port);
}

static bool put(const char *path, const char *text) {
  int fd = open(path, O_WRONLY);
  bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
  if (fd >= 0) close(fd);
  return done;
}

#define NOBODY 65534

/* PostgreSQL refuses uid 0. In a user namespace that knows root as somebody else it may keep root's files. */
static bool enter_namespace(void) {
  return unshare(CLONE_NEWUSER) == 0 && put("/proc/self/setgroups", "deny") && put("/proc/self/uid_map", "65534 0 1") &&
         put("/proc/self/gid_map", "65534 0 1");
}

static bool namespaces_work(void) {
  static int known = -1;
  if (known < 0) {
    int status = 1;
    pid_t pid = fork();
    if (pid == 0) _exit(!enter_namespace());
    known = pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
  }
  return known;
}

static void not_root(bool in_namespace) {
  if (geteuid() != 0) return;
  if (in_namespace ? !enter_namespace() : setgid(NOBODY) || setuid(NOBODY)) _exit(126);
}

static pid_t spawn(const char *const argv[], const char *log) {
  bool in_namespace = geteuid() == 0 && namespaces_work();
  pid_t parent = getpid(), pid = fork();
  if (pid < 0) err(1, "fork");
  if (pid > 0) return pid;
  not_root(in_namespace);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  int in = open("/dev/null", O_RDONLY), out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (in < 0 || out < 0 || getppid() != parent) _exit(1);
  dup2(in, 0);
  dup2(out, 1);
  dup2(out, 2);
  execv(argv[0], (char *const *)argv);
  _exit(127);
}

static void run(const char *const argv[], const char *log) {
  int status = 0;
  if (waitpid(spawn(argv, log), &status, 0) < 0 || status) errx(1, "%s failed with %d, see %s", argv[0], status, log);
}

static void log_of(const struct pg_server *server, char *path, size_t size) {
  snprintf(path, size, "%s.log", server->dir);
}

void pg_server_create(struct pg_server *server, const char *base, const char *name, const struct pg_server *copy_of) {
  char initdb[128], log[300], signal_file[300];
  *server = (struct pg_server){.port = free_port()};
  snprintf(server->dir, sizeof server->dir, "%s/%s", base, name);
  log_of(server, log, sizeof log);
  if (!program("initdb", initdb, sizeof initdb)) errx(1, "no initdb");
  if (geteuid() == 0 && !namespaces_work() && chown(base, NOBODY, NOBODY)) err(1, "%s", base);
  if (copy_of) {
    run((const char *[]){"/bin/cp", "-a", copy_of->dir, server->dir, NULL}, log);
    snprintf(signal_file, sizeof signal_file, "%s/standby.signal", server->dir);
    run((const char *[]){"/usr/bin/touch", signal_file, NULL}, log);
  } else {
    run((const char *[]){initdb, "-D", server->dir, "-U", "lockbench", "-A", "trust", "-N", "-E", "UTF8", "--locale=C",
                         NULL},
        log);
  }
}

void pg_server_start(struct pg_server *server) {
  char postgres[128], log[300], port[8];
  snprintf(port, sizeof port, "%u", server->port);
  log_of(server, log, sizeof log);
  if (!program("postgres", postgres, sizeof postgres)) errx(1, "no postgres");
  const char *const argv[] = {postgres,
                              "-D",
                              server->dir,
                              "-p",
                              port,
                              "-c",
                              "listen_addresses=127.0.0.1,::1",
                              "-c",
                              "unix_socket_directories=",
                              "-c",
                              "fsync=off",
                              "-c",
                              "shared_buffers=8MB",
                              "-c",
                              "max_connections=40",
                              NULL};
  server->pid = spawn(argv, log);
}

/* Calls `each` for every child; the postmaster's own list, so none is missed that exists now. */
static void for_children(const struct pg_server *server, int sig, void (*each)(pid_t child, int sig)) {
  char path[64];
  int child;
  snprintf(path, sizeof path, "/proc/%d/task/%d/children", server->pid, server->pid);
  FILE *children = fopen(path, "r");
  while (children && fscanf(children, "%d", &child) == 1) each(child, sig);
  if (children) fclose(children);
}

static void signal_child(pid_t child, int sig) { kill(child, sig); }

/* A signal only starts a process's end, and an ended process's sockets are what a test is about. */
static void end_child(pid_t child, int sig) {
  int fd = (int)syscall(SYS_pidfd_open, child, 0);
  if (fd < 0) return;
  kill(child, sig);
  poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 5000);
  close(fd);
}

void pg_server_signal(const struct pg_server *server, int sig) {
  kill(server->pid, sig);
  for_children(server, sig, signal_child);
}

void pg_server_kill(struct pg_server *server) {
  if (!server->pid) return;
  kill(server->pid, SIGSTOP); /* no new children, and no reaction to the death of the first */
  for_children(server, SIGKILL, end_child);
  kill(server->pid, SIGKILL);
  waitpid(server->pid, NULL, 0);
  server->pid = 0;
}

void pg_server_stop(struct pg_server *server) {
  kill(server->pid, SIGINT);
  waitpid(server->pid, NULL, 0);
  server->pid = 0;
}
