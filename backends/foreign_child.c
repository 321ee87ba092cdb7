/* SPDX-License-Identifier: MIT
 *
 * A foreign program with a pipe to its stdin and one from its stdout. It stays in the process group of who started it, so that
 * a signal to the group is one to all.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "foreign_parts.h"

/* Of the program: it must not outlive us, and has the signals that any program begins with. */
static _Noreturn void become(const char *command, const char *folder, int in, int out, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  signal(SIGPIPE, SIG_DFL);
  if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0) _exit(127);
  if (folder && chdir(folder) < 0) _exit(126);
  execl("/bin/sh", "sh", "-c", command, (char *)NULL);
  _exit(127);
}

/* exec: the shell becomes the program where it is one command, so that its death is what we see. */
static char *for_shell(const char *command) {
  char *text = NULL;
  return asprintf(&text, "exec %s", command) < 0 ? NULL : text;
}

static void close_pair(int pair[2]) {
  close(pair[0]);
  close(pair[1]);
}

int foreign_start(struct foreign_child *child, const char *command, const char *folder) {
  int in[2], out[2];
  char *text = for_shell(command);
  *child = (struct foreign_child){.in = -1, .out = -1, .buffer = malloc(FOREIGN_BUFFER + 1)};
  int r = !text || !child->buffer ? -ENOMEM : pipe2(in, O_CLOEXEC) < 0 ? -errno : 0;
  if (r == 0 && pipe2(out, O_CLOEXEC) < 0) r = -errno, close_pair(in);
  if (r < 0) return free(text), r;
  pid_t parent = getpid();
  child->pid = fork();
  if (child->pid == 0) become(text, folder, in[0], out[1], parent);
  r = child->pid < 0 ? -errno : 0;
  free(text);
  close(in[0]);
  close(out[1]);
  child->in = in[1];
  child->out = out[0];
  if (r < 0) child->pid = 0;
  fcntl(child->in, F_SETFL, O_NONBLOCK);
  fcntl(child->out, F_SETFL, O_NONBLOCK);
  return r;
}

/* At most LB_FOREIGN_LINE_MAX, which a pipe takes whole or not at all. */
int foreign_write(struct foreign_child *child, const char *line) {
  size_t length = strlen(line);
  ssize_t n;
  while ((n = write(child->in, line, length)) < 0 && errno == EINTR) {
  }
  if (n == (ssize_t)length) return 0;
  return n < 0 && errno != EAGAIN ? -EPIPE : -EAGAIN;
}

static char *find_line(struct foreign_child *child) {
  char *begin = child->buffer + child->taken, *end = memchr(begin, '\n', child->length - child->taken);
  if (!end) return NULL;
  child->taken = (size_t)(end + 1 - child->buffer);
  *end = '\0';
  if (end > begin && end[-1] == '\r') end[-1] = '\0';
  return begin;
}

int foreign_next_line(struct foreign_child *child, char **ret) {
  for (;;) {
    if ((*ret = find_line(child))) return strlen(*ret) < LB_FOREIGN_LINE_MAX ? 1 : -EMSGSIZE;
    memmove(child->buffer, child->buffer + child->taken, child->length -= child->taken);
    child->taken = 0;
    if (child->length >= LB_FOREIGN_LINE_MAX) return -EMSGSIZE;
    ssize_t n = read(child->out, child->buffer + child->length, FOREIGN_BUFFER - child->length);
    if (n > 0) child->length += (size_t)n;
    else if (n == 0) return -ENODATA;
    else if (errno == EAGAIN) return 0;
    else if (errno != EINTR) return -errno;
  }
}

static bool ends_by_itself(pid_t pid, int patience_ms) {
  int fd = (int)syscall(SYS_pidfd_open, pid, 0);
  struct pollfd p = {.fd = fd, .events = POLLIN};
  if (fd >= 0) {
    bool ended = poll(&p, 1, patience_ms) > 0;
    close(fd);
    return ended;
  }
  for (int ms = 0;; ms++) { /* no such descriptors: an old kernel, or valgrind */
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG) == 0 && info.si_pid == pid) return true;
    if (ms >= patience_ms) return false;
    poll(NULL, 0, 1);
  }
}

static void tell(int status, char *fate, size_t size) {
  const char *name = WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : NULL;
  if (name) snprintf(fate, size, "died of SIG%s", name);
  else if (WIFSIGNALED(status)) snprintf(fate, size, "died of signal %d", WTERMSIG(status));
  else if (WEXITSTATUS(status) == 127) snprintf(fate, size, "exited with status 127 (no such command?)");
  else snprintf(fate, size, "exited with status %d", WEXITSTATUS(status));
}

void foreign_hang_up(struct foreign_child *child) {
  if (child->buffer && child->in >= 0) close(child->in);
  child->in = -1;
}

bool foreign_end(struct foreign_child *child, int patience_ms, char *fate, size_t size) {
  int status = 0;
  bool by_itself = true;
  if (fate) fate[0] = '\0';
  foreign_hang_up(child);
  if (child->pid > 0) {
    by_itself = ends_by_itself(child->pid, patience_ms);
    if (!by_itself) kill(child->pid, SIGKILL);
    while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (fate) tell(status, fate, size);
  }
  if (child->buffer && child->out >= 0) close(child->out);
  free(child->buffer);
  *child = (struct foreign_child){.in = -1, .out = -1};
  return by_itself;
}
