/* SPDX-License-Identifier: MIT
 *
 * Programs: found, started as servers, signalled and ended (proctree.c), or run to their end as tools.
 * A process is a child of ours until it has been waited for, so its number cannot mean another one
 * meanwhile. That is why a number is enough here, and why nothing else may wait for a server.
 */
#include "proc.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <libgen.h>
#include <limits.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/need.h"
#include "proctree.h"
#include "root.h"
#include "sparse.h"

#define NOBODY 65534

bool lb_proc_sandboxed = false;

/* ---- from fork to exec ------------------------------------------------------------------------------
 *
 * The child prepares, in this order, what the next step would take away: signals, output, network, root, folder, user,
 * and the death signal last, because a change of user clears it. Whether the new user reaches the folder is asked before
 * exec: a server that does not would only say so in its own words, in its log.
 *
 * A failure travels back through a pipe that a successful exec closes. So "no such program" arrives as -ENOENT and not
 * as a server that never answers. */

struct launch {
  char *path; /* of the program */
  const char **argv;
  char **env;
  const char *dir, *log; /* NULL = our own folder; NULL = /dev/null */
  const char *root;      /* NULL = ours */
  const char *keep[3];   /* what it sees of our files in a root of its own */
  int netns;             /* descriptor of the network namespace; -1 = ours */
  bool unprivileged;     /* the program must see a uid that is not 0 */
  bool sparse;           /* it takes no room on disk ahead */
  int gate;              /* socket to the keeper of its syncs; -1 = they do not stall */
  pid_t parent;          /* with which it dies */
};

enum launch_step {
  AT_SIGNALS,
  AT_LOG,
  AT_NETWORK,
  AT_ROOT,
  AT_FOLDER,
  AT_USER,
  AT_REACH,
  AT_PARENT,
  AT_DISK,
  AT_SPARSE,
  AT_EXEC
};
static const char *const step_name[] = {
    [AT_SIGNALS] = "resetting signals",
    [AT_LOG] = "opening its log",
    [AT_NETWORK] = "entering its network namespace",
    [AT_ROOT] = "entering its root",
    [AT_FOLDER] = "entering its folder",
    [AT_USER] = "changing user",
    [AT_REACH] = "reaching its folder as uid 65534",
    [AT_PARENT] = "its parent died",
    [AT_DISK] = "letting its disk be stalled",
    [AT_SPARSE] = "refusing it room ahead",
    [AT_EXEC] = "exec",
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

static int become_nobody(const struct launch *l) {
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

/* Outside a sandbox root becomes uid 65534, where that exists (see lb_proc_sandboxed). Inside one it stays root, unless
 * the program insists on another uid: then it is only renamed. */
static int become_user(const struct launch *l) {
  if (geteuid() != 0) return 0;
  if (!lb_proc_sandboxed && nobody_exists()) return become_nobody(l);
  int r = l->unprivileged ? rename_root() : 0;
  /* root can still become another user. */
  return r == -EPERM && nobody_exists() ? become_nobody(l) : r;
}

/* A parent outside our PID namespace shows as 0, and can only be a live one. */
static int follow_parent(pid_t parent) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) return -errno;
  pid_t now = getppid();
  return now == parent || now == 0 ? 0 : -ESRCH;
}

/* *step is the one that failed. It does not return when all of them succeed. */
static int prepare(const struct launch *l, enum launch_step *step) {
  int r, program;
  *step = AT_SIGNALS;
  if ((r = reset_signals()) < 0) return r;
  *step = AT_LOG;
  if ((r = redirect(l->log)) < 0) return r;
  *step = AT_NETWORK;
  if (l->netns >= 0 && setns(l->netns, CLONE_NEWNET) < 0) return -errno;
  *step = AT_ROOT;
  if (l->root && (r = lb_root_enter(l->root, l->keep)) < 0) return r;
  *step = AT_FOLDER;
  if (l->dir && chdir(l->dir) < 0) return -errno;
  program = open(l->path, O_PATH | O_CLOEXEC); /* it may lie where only root comes by its path: below /root */
  *step = AT_USER;
  if ((r = become_user(l)) < 0) return r;
  *step = AT_REACH;
  if (l->dir && access(l->dir, R_OK | W_OK | X_OK) < 0) return -errno;
  *step = AT_PARENT;
  if ((r = follow_parent(l->parent)) < 0) return r;
  *step = AT_DISK;
  if (l->gate >= 0 && (r = lb_stall_enter(l->gate)) < 0) return r;
  *step = AT_SPARSE;
  if (l->sparse && (r = lb_sparse_enter()) < 0) return r;
  *step = AT_EXEC;
  close_range(3, ~0U, CLOSE_RANGE_CLOEXEC); /* the report pipe must live until exec succeeds */
  execve(l->path, (char *const *)l->argv, l->env);
  if (errno == EACCES && program >= 0)
    syscall(SYS_execveat, program, "", (char *const *)l->argv, l->env, AT_EMPTY_PATH);
  return -errno;
}

static _Noreturn void run_child(const struct launch *l, int report) {
  struct failure failure;
  setpgid(0, 0);
  failure.error = -prepare(l, &failure.step);
  if (write(report, &failure, sizeof failure) < 0) _exit(126);
  _exit(127);
}

static int cannot_start(struct lb_error *err, int error, const char *program, const char *what) {
  return lb_error(err, -error, "cannot start %s: %s: %s", program, what, strerror(error));
}

/* Waits until the child has become the program: 0, or the -errno it failed with. */
static int read_report(int fd, pid_t pid, const char *program, struct lb_error *err) {
  struct failure failure;
  ssize_t n;
  while ((n = read(fd, &failure, sizeof failure)) < 0 && errno == EINTR) {
  }
  if (n == 0) return 0;
  waitpid(pid, NULL, 0);
  if (n != sizeof failure) return cannot_start(err, EIO, program, "no report from the child");
  return cannot_start(err, failure.error, program, step_name[failure.step]);
}

static int launch(const struct launch *l, const char *program, pid_t *ret, struct lb_error *err) {
  int pipe_fd[2];
  if (pipe2(pipe_fd, O_CLOEXEC) < 0) return cannot_start(err, errno, program, "pipe");
  pid_t pid = fork();
  if (pid == 0) run_child(l, pipe_fd[1]);
  int r = pid < 0 ? cannot_start(err, errno, program, "fork") : 0;
  close(pipe_fd[1]);
  if (r == 0) r = read_report(pipe_fd[0], pid, program, err);
  close(pipe_fd[0]);
  if (r == 0) *ret = pid;
  return r;
}

/* ---- finding --------------------------------------------------------------------------------- */

static char *executable(const char *folder, size_t folder_len, const char *name) {
  char *path = lb_need_printed("%.*s%s%s", (int)folder_len, folder, folder_len ? "/" : "", name);
  struct stat st;
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

/* Our environment with `extra` in front; the texts stay where they are. In a root of its own a program finds neither our
 * locales nor our folders of programs. */
static char **build_env(const char *const extra[], bool in_root) {
  static const char *const of_root[] = {"LC_ALL=C", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                                        NULL};
  size_t count = 0, n = 0;
  while (environ && environ[count]) count++;
  for (size_t i = 0; extra && extra[i]; i++) count++;
  char **env = lb_need(calloc(count + sizeof of_root / sizeof *of_root, sizeof *env));
  for (size_t i = 0; extra && extra[i]; i++) env[n++] = (char *)extra[i];
  for (size_t i = 0; environ && environ[i]; i++)
    if (!is_replaced(environ[i], extra) && !(in_root && is_replaced(environ[i], of_root))) env[n++] = environ[i];
  for (size_t i = 0; in_root && of_root[i]; i++) env[n++] = (char *)of_root[i];
  return env;
}

static const char **build_argv(const char *const argv[], const char *argv0) {
  size_t count = 0;
  while (argv[count]) count++;
  const char **copy = lb_need(calloc(count + 1, sizeof *copy));
  for (size_t i = 0; i < count; i++) copy[i] = argv[i];
  if (argv0) copy[0] = argv0;
  return copy;
}

/* The keeper comes after the program: what that has to say waits in the socket. */
static int launch_kept(struct launch *l, const char *program, struct lb_stall *stall, pid_t *ret,
                       struct lb_error *err) {
  int gate[2];
  if (!stall) return launch(l, program, ret, err);
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, gate) < 0)
    return cannot_start(err, errno, program, "a socket");
  l->gate = gate[1];
  int r = launch(l, program, ret, err);
  int kept = r == 0 ? lb_stall_keep(stall, gate[0]) : 0;
  close(gate[0]);
  close(gate[1]);
  return kept < 0 ? cannot_start(err, -kept, program, "the keeper of its disk") : r;
}

/* In a root of its own a process sees the folder around its own, where its log is. */
static int show_ours(struct launch *l, const struct lb_proc_plan *plan, char around[PATH_MAX], char kept[PATH_MAX]) {
  size_t count = 0;
  l->root = plan->root;
  if (plan->root && plan->dir) {
    if (!realpath(plan->dir, around)) return -errno;
    l->keep[count++] = dirname(around);
  }
  if (plan->root && plan->keep && realpath(plan->keep, kept)) l->keep[count++] = kept;
  return 0;
}

int lb_proc_start(struct lb_proc *proc, const struct lb_proc_plan *plan, struct lb_error *err) {
  const char *const *argv = plan->argv, *name = plan->path ? plan->path : argv[0];
  char around[PATH_MAX], kept[PATH_MAX];
  struct launch l = {.dir = plan->dir,
                     .log = plan->log,
                     .netns = plan->host ? plan->host->netns : -1,
                     .unprivileged = plan->unprivileged,
                     .sparse = plan->sparse,
                     .gate = -1,
                     .parent = getpid()};
  l.path = plan->root ? lb_need_text(name) : lb_proc_find(name, NULL);
  if (!l.path) return lb_error(err, -ENOENT, "cannot start %s: no such program", name);
  int r = show_ours(&l, plan, around, kept);
  if (r < 0) return free(l.path), cannot_start(err, -r, name, "finding its folder");
  l.argv = build_argv(argv, plan->argv0);
  l.env = build_env(plan->env_extra, plan->root);
  r = launch_kept(&l, name, plan->stall, &proc->pid, err);
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

/* ---- commands -------------------------------------------------------------------------------- */

/* A pidfd instead of SIGCHLD or a waiting thread: the end of a process is one more thing to poll,
 * with a deadline. */
int lb_proc_run(const struct lb_proc_plan *plan, int64_t timeout_ms, struct lb_error *err) {
  const char *const *argv = plan->argv;
  struct lb_proc proc = {0};
  int r = lb_proc_start(&proc, plan, err);
  if (r < 0) return r;
  int fd = (int)syscall(SYS_pidfd_open, proc.pid, 0);
  if (fd < 0) {
    r = cannot_start(err, errno, argv[0], "pidfd_open");
    lb_proc_kill(&proc);
    return r;
  }
  bool ended = lb_proctree_await_end(fd, lb_clock_ns() + (uint64_t)timeout_ms * UINT64_C(1000000));
  close(fd);
  if (!ended) {
    lb_proc_kill(&proc);
    return lb_error(err, -ETIMEDOUT, "%s did not end within %lld ms", argv[0], (long long)timeout_ms);
  }
  int status = lb_proctree_reap(proc.pid);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* ---- tools: short runs of ip(8) and of the user's hook, for which the controller waits --------------- */

static const char *const sbin[] = {"/usr/sbin", "/sbin", NULL};

/* Between vfork and exec, in memory that is still the parent's: no allocation, no output, nothing but errno is written.
 * 126 and 127 are what a shell would say, too. */
static _Noreturn void become(const char *path, char *const argv[], const struct lb_host *host, int in, int out) {
  setpgid(0, 0); /* so that all of it can be ended */
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGPIPE, SIG_DFL);
  if (host && host->netns >= 0 && setns(host->netns, CLONE_NEWNET) < 0) _exit(126);
  if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0) _exit(126);
  execv(path, argv);
  _exit(127);
}

/* Both or none: 0, or -1 with errno. */
static int make_pipes(int in[2], int out[2]) {
  if (pipe2(in, O_CLOEXEC) < 0) return -1;
  if (pipe2(out, O_CLOEXEC) == 0) return 0;
  int error = errno;
  close(in[0]);
  close(in[1]);
  errno = error;
  return -1;
}

struct said { /* the begin: one line of it is shown */
  char text[200];
  size_t length;
};

/* False at the end. */
static bool hear(int out, struct said *ret) {
  char bytes[4096];
  ssize_t n = read(out, bytes, sizeof bytes);
  if (n <= 0) return n < 0 && errno == EINTR;
  size_t room = sizeof ret->text - 1 - ret->length, taken = (size_t)n < room ? (size_t)n : room;
  memcpy(ret->text + ret->length, bytes, taken);
  ret->length += taken;
  return true;
}

/* Until it has ended, and what it said by then is heard: what it has left behind may hold its output for ever, or go on
 * writing. False at the deadline. */
static bool hear_all(int ended, int out, uint64_t deadline, struct said *ret) {
  enum { LAST_READS = 17 }; /* a full pipe */
  struct pollfd p[] = {{.fd = out, .events = POLLIN}, {.fd = ended, .events = POLLIN}};
  for (int left = LAST_READS;;) {
    uint64_t now = lb_clock_ns();
    if (now >= deadline) return false;
    if (poll(p, 2, (int)((deadline - now) / 1000000) + 1) <= 0) continue;
    if (p[1].revents && (!p[0].revents || left-- == 0)) return true;
    if (p[0].revents && !hear(out, ret)) p[0].fd = -1;
  }
}

/* All of the input first, then all of the output: that cannot lock up, because the input fits the pipe. */
static int talk(pid_t pid, int in, int out, const char *input, uint64_t deadline, struct said *ret) {
  bool told = write(in, input, strlen(input)) == (ssize_t)strlen(input);
  close(in);
  int ended = (int)syscall(SYS_pidfd_open, pid, 0), status = 0;
  int r = ended < 0 ? -errno : hear_all(ended, out, deadline, ret) ? 0 : -ETIMEDOUT;
  close(out);
  if (ended >= 0) close(ended);
  if (r < 0) return lb_proctree_kill(pid), r;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return !told || status != 0 ? -EPERM : 0;
}

int lb_proc_run_tool(const struct lb_host *host, char *const argv[], const char *input, int64_t timeout_ms,
                     struct lb_error *err) {
  char *path = lb_proc_find(argv[0], sbin);
  struct said said = {0};
  uint64_t deadline = lb_clock_ns() + (uint64_t)timeout_ms * UINT64_C(1000000);
  int in[2], out[2], r = 0;
  if (!path) return lb_error(err, -ENOENT, "%s is not installed", argv[0]);
  if (make_pipes(in, out) < 0) {
    r = -errno;
    free(path);
    return lb_error(err, r, "no pipe to %s: %s", argv[0], strerror(-r));
  }
  pid_t pid = vfork();
  if (pid == 0) become(path, argv, host, in[0], out[1]);
  if (pid < 0) r = lb_error(err, -errno, "%s cannot be started: %s", argv[0], strerror(errno));
  free(path);
  close(in[0]);
  close(out[1]);
  if (r < 0) return close(in[1]), close(out[0]), r;
  r = talk(pid, in[1], out[0], input, deadline, &said);
  said.text[strcspn(said.text, "\n")] = '\0';
  if (r == -ETIMEDOUT) lb_error(err, r, "%s did not end within %lld ms", argv[0], (long long)timeout_ms);
  else if (r < 0) lb_refuse(err, "%s failed: %.160s", argv[0], said.text[0] ? said.text : "no message");
  return r;
}
