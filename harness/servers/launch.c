/* SPDX-License-Identifier: MIT
 *
 * Between fork and exec the child prepares, in this order, what the next step would take away:
 * signals, output, network, folder, user, and the death signal last, because a change of user
 * clears it. Whether the new user reaches the folder is asked before exec: a server that does not
 * would only say so in its own words, in its log.
 *
 * Whatever fails travels back through a pipe that a successful exec closes, so that "no such
 * program" arrives as -ENOENT and not as a server that never answers.
 */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/close_range.h>

#include "proc.h"

#define NOBODY 65534

/* ---- the child's way to exec ----------------------------------------------------------------- */

enum launch_step { AT_SIGNALS, AT_LOG, AT_NETWORK, AT_FOLDER, AT_USER, AT_REACH, AT_PARENT, AT_EXEC };
static const char *const step_name[] = {
    [AT_SIGNALS] = "resetting signals",  [AT_LOG] = "opening its log", [AT_NETWORK] = "entering its network namespace",
    [AT_FOLDER] = "entering its folder", [AT_USER] = "changing user",  [AT_REACH] = "reaching its folder as uid 65534",
    [AT_PARENT] = "its parent died",     [AT_EXEC] = "exec",
};

struct failure {
  enum launch_step step;
  int error;
};

/* The controller ignores SIGPIPE and may hold signals back. Both would outlive exec, and a server
 * would then not end when it is asked to. */
static int reset_signals(void) {
  sigset_t none;
  for (int sig = 1; sig < NSIG; sig++) signal(sig, SIG_DFL); /* refused for KILL, STOP and libc's own */
  sigemptyset(&none);
  return sigprocmask(SIG_SETMASK, &none, NULL) ? -errno : 0;
}

static int redirect(const char *log) {
  int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
  int out = open(log ? log : "/dev/null", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0) return -errno;
  return 0;
}

static int write_file(const char *path, const char *text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC), r = 0;
  if (fd < 0) return -errno;
  if (write(fd, text, strlen(text)) < 0) r = -errno;
  close(fd);
  return r;
}

/* A user namespace in which our own root is called 65534: the program sees a uid that is not 0, and
 * the files are still ours. */
static int rename_root(void) {
  int r;
  if (unshare(CLONE_NEWUSER) < 0) return -errno;
  if ((r = write_file("/proc/self/setgroups", "deny")) < 0) return r;
  if ((r = write_file("/proc/self/uid_map", "65534 0 1")) < 0) return r;
  return write_file("/proc/self/gid_map", "65534 0 1");
}

static int give_away(const char *path, const struct stat *st, int kind, struct FTW *ftw) {
  (void)st, (void)kind, (void)ftw;
  return lchown(path, NOBODY, NOBODY) ? -1 : 0;
}

static int become_nobody(const struct lb_launch *l) {
  if (l->dir && nftw(l->dir, give_away, 16, FTW_PHYS) != 0) return -errno;
  if (l->log && chown(l->log, NOBODY, NOBODY) < 0) return -errno;
  if (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0)
    return -errno;
  return 0;
}

/* In a user namespace that maps nothing but its root there is no other user to become; that root is
 * no more than the ordinary user outside. */
static bool nobody_exists(void) {
  unsigned long inside, outside, count;
  bool exists = false;
  FILE *map = fopen("/proc/self/uid_map", "re");
  while (map && !exists && fscanf(map, "%lu %lu %lu", &inside, &outside, &count) == 3)
    exists = inside <= NOBODY && NOBODY - inside < count;
  if (map) fclose(map);
  return exists;
}

/* Outside a sandbox root drops to nobody, where there is one (see lb_proc_sandboxed). Inside one it
 * stays root, unless the program insists on another uid: then it is only renamed. */
static int become_user(const struct lb_launch *l) {
  if (geteuid() != 0) return 0;
  if (!lb_proc_sandboxed && nobody_exists()) return become_nobody(l);
  int r = l->unprivileged ? rename_root() : 0;
  /* In a chroot no user namespace may be made; root can still become somebody else. */
  return r == -EPERM && nobody_exists() ? become_nobody(l) : r;
}

/* A parent outside our PID namespace shows as 0, and can only be a live one. */
static int follow_parent(pid_t parent) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) return -errno;
  pid_t now = getppid();
  return now == parent || now == 0 ? 0 : -ESRCH;
}

/* *step is the one that failed. It does not return when all of them succeed. */
static int prepare(const struct lb_launch *l, enum launch_step *step) {
  int r;
  *step = AT_SIGNALS;
  if ((r = reset_signals()) < 0) return r;
  *step = AT_LOG;
  if ((r = redirect(l->log)) < 0) return r;
  *step = AT_NETWORK;
  if (l->netns >= 0 && setns(l->netns, CLONE_NEWNET) < 0) return -errno;
  *step = AT_FOLDER;
  if (l->dir && chdir(l->dir) < 0) return -errno;
  *step = AT_USER;
  if ((r = become_user(l)) < 0) return r;
  *step = AT_REACH;
  if (l->dir && access(l->dir, R_OK | W_OK | X_OK) < 0) return -errno;
  *step = AT_PARENT;
  if ((r = follow_parent(l->parent)) < 0) return r;
  *step = AT_EXEC;
  close_range(3, ~0U, CLOSE_RANGE_CLOEXEC); /* the report pipe must live until exec succeeds */
  execve(l->path, (char *const *)l->argv, l->env);
  return -errno;
}

static _Noreturn void run_child(const struct lb_launch *l, int report) {
  struct failure failure;
  setpgid(0, 0);
  failure.error = -prepare(l, &failure.step);
  if (write(report, &failure, sizeof failure) < 0) _exit(126);
  _exit(127);
}

/* ---- the parent ------------------------------------------------------------------------------ */

int lb_launch_fail(char *err, size_t err_size, int error, const char *program, const char *what) {
  snprintf(err, err_size, "cannot start %s: %s: %s", program, what, strerror(error));
  return -error;
}

/* Waits until the child has become the program: 0, or the -errno it failed with. */
static int read_report(int fd, pid_t pid, const char *program, char *err, size_t err_size) {
  struct failure failure;
  ssize_t n;
  while ((n = read(fd, &failure, sizeof failure)) < 0 && errno == EINTR) {
  }
  if (n == 0) return 0;
  waitpid(pid, NULL, 0);
  if (n != sizeof failure) return lb_launch_fail(err, err_size, EIO, program, "no report from the child");
  return lb_launch_fail(err, err_size, failure.error, program, step_name[failure.step]);
}

int lb_launch(const struct lb_launch *l, const char *program, pid_t *ret, char *err, size_t err_size) {
  int pipe_fd[2];
  if (pipe2(pipe_fd, O_CLOEXEC) < 0) return lb_launch_fail(err, err_size, errno, program, "pipe");
  pid_t pid = fork();
  if (pid == 0) run_child(l, pipe_fd[1]);
  int r = pid < 0 ? lb_launch_fail(err, err_size, errno, program, "fork") : 0;
  close(pipe_fd[1]);
  if (r == 0) r = read_report(pipe_fd[0], pid, program, err, err_size);
  close(pipe_fd[0]);
  if (r == 0) *ret = pid;
  return r;
}
