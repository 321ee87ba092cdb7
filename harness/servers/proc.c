/* SPDX-License-Identifier: MIT
 *
 * Server processes: found, started (launch.c), signalled and ended (proctree.c). A process is a
 * child of ours until it has been waited for, so its number cannot mean another one meanwhile. That
 * is why a number is enough here, and why nothing else may wait for a server.
 */
#include "proc.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "launch.h"
#include "proctree.h"

bool lb_proc_sandboxed = false;

/* ---- finding --------------------------------------------------------------------------------- */

static char *executable(const char *folder, size_t folder_len, const char *name) {
  char *path = NULL;
  struct stat st;
  if (asprintf(&path, "%.*s%s%s", (int)folder_len, folder, folder_len ? "/" : "", name) < 0) return NULL;
  if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0) return path;
  free(path);
  return NULL;
}

char *lb_proc_find(const char *name, const char *const extra[]) {
  char *found = NULL;
  if (strchr(name, '/')) return executable("", 0, name);
  for (const char *at = getenv("PATH"); at && !found;) {
    size_t len = strcspn(at, ":");
    if (len > 0) found = executable(at, len, name); /* an empty entry would mean the current folder: not for us */
    at = at[len] ? at + len + 1 : NULL;
  }
  for (size_t i = 0; extra && extra[i] && !found; i++) found = executable(extra[i], strlen(extra[i]), name);
  return found;
}

/* ---- starting -------------------------------------------------------------------------------- */

/* "NAME=value" is replaced by another value of the same name. A program takes the first of two, or
 * the last: so only one may be there. */
static bool is_replaced(const char *entry, const char *const extra[]) {
  size_t len = strcspn(entry, "=");
  for (size_t i = 0; extra && extra[i]; i++)
    if (strcspn(extra[i], "=") == len && strncmp(extra[i], entry, len) == 0) return true;
  return false;
}

/* Our environment with `extra` in front; the texts stay where they are. */
static char **build_env(const char *const extra[]) {
  size_t count = 0, n = 0;
  while (environ && environ[count]) count++;
  for (size_t i = 0; extra && extra[i]; i++) count++;
  char **env = calloc(count + 1, sizeof *env);
  if (!env) return NULL;
  for (size_t i = 0; extra && extra[i]; i++) env[n++] = (char *)extra[i];
  for (size_t i = 0; environ && environ[i]; i++)
    if (!is_replaced(environ[i], extra)) env[n++] = environ[i];
  return env;
}

static const char **build_argv(const char *const argv[], const char *argv0) {
  size_t count = 0;
  while (argv[count]) count++;
  const char **copy = calloc(count + 1, sizeof *copy);
  if (!copy) return NULL;
  for (size_t i = 0; i < count; i++) copy[i] = argv[i];
  if (argv0) copy[0] = argv0;
  return copy;
}

int lb_proc_start(struct lb_proc *proc, const struct lb_host *host, const char *const argv[], const char *argv0,
                  const char *dir, const char *log, bool unprivileged, const char *const env_extra[], char *err,
                  size_t err_size) {
  struct lb_launch l = {
      .dir = dir, .log = log, .netns = host ? host->netns : -1, .unprivileged = unprivileged, .parent = getpid()};
  l.path = lb_proc_find(argv[0], NULL);
  if (!l.path) {
    snprintf(err, err_size, "cannot start %s: no such program", argv[0]);
    return -ENOENT;
  }
  l.argv = build_argv(argv, argv0);
  l.env = build_env(env_extra);
  int r = l.argv && l.env ? lb_launch(&l, argv[0], &proc->pid, err, err_size)
                          : lb_launch_fail(err, err_size, ENOMEM, argv[0], "memory");
  free(l.env);
  free(l.argv);
  free(l.path);
  return r;
}

/* ---- signals and ends ------------------------------------------------------------------------ */

/* It leaves the dead process waitable, and so keeps its number taken, until lb_proctree_reap() has
 * ended the rest of its group. */
static bool has_ended(pid_t pid) {
  siginfo_t info = {0};
  return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == pid;
}

int lb_proc_signal(const struct lb_proc *proc, int sig) {
  if (proc->pid <= 0 || kill(proc->pid, 0) < 0) return -ESRCH;
  return lb_proctree_signal(proc->pid, sig);
}

bool lb_proc_alive(struct lb_proc *proc) {
  if (proc->pid > 0 && has_ended(proc->pid)) {
    lb_proctree_reap(proc->pid);
    proc->pid = 0;
  }
  return proc->pid > 0;
}

int lb_proc_kill(struct lb_proc *proc) {
  pid_t pid = proc->pid;
  proc->pid = 0;
  if (pid <= 0) return -ESRCH;
  if (has_ended(pid)) {
    lb_proctree_reap(pid);
    return -ESRCH;
  }
  int status = lb_proctree_kill(pid);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 0 : -ESRCH;
}

int lb_proc_end(struct lb_proc *proc, int sig, uint64_t deadline, int *ret) {
  if (!lb_proc_alive(proc)) return -ESRCH;
  int fd = (int)syscall(SYS_pidfd_open, proc->pid, 0);
  if (fd < 0) return -errno;
  bool ended = kill(proc->pid, sig) == 0 && lb_proctree_await_end(fd, deadline);
  close(fd);
  if (!ended) return -ETIMEDOUT;
  *ret = lb_proctree_reap(proc->pid);
  proc->pid = 0;
  return 0;
}

/* ---- commands -------------------------------------------------------------------------------- */

/* A pidfd instead of SIGCHLD or a waiting thread: the end of a process is one more thing to poll,
 * with a deadline. */
int lb_proc_run(const struct lb_host *host, const char *const argv[], const char *argv0, const char *dir,
                const char *log, bool unprivileged, const char *const env_extra[], int64_t timeout_ms, char *err,
                size_t err_size) {
  struct lb_proc proc = {0};
  int r = lb_proc_start(&proc, host, argv, argv0, dir, log, unprivileged, env_extra, err, err_size);
  if (r < 0) return r;
  int fd = (int)syscall(SYS_pidfd_open, proc.pid, 0);
  if (fd < 0) {
    r = lb_launch_fail(err, err_size, errno, argv[0], "pidfd_open");
    lb_proc_kill(&proc);
    return r;
  }
  bool ended = lb_proctree_await_end(fd, lb_clock_ns() + (uint64_t)timeout_ms * UINT64_C(1000000));
  close(fd);
  if (!ended) {
    lb_proc_kill(&proc);
    snprintf(err, err_size, "%s did not end within %lld ms", argv[0], (long long)timeout_ms);
    return -ETIMEDOUT;
  }
  int status = lb_proctree_reap(proc.pid);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
