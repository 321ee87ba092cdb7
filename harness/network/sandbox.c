/* SPDX-License-Identifier: MIT
 *
 * Why one PID namespace per trial: the kernel kills all of its processes when its PID 1 ends, so no crash can skip the
 * clean-up of a trial. PID 1 in turn asks for SIGKILL when the tool dies; the kernel honours that for the init of a
 * namespace because the sender lives outside of it.
 */
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cut.h"
#include "net.h"
#include "proc.h"

const char *lb_isolation_name(enum lb_isolation_kind kind) {
  static const char *const name[] = {"root", "user", "none"};
  return name[kind];
}

static int write_file(const char *path, const char *text) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  int r = write(fd, text, strlen(text)) < 0 ? -errno : 0;
  close(fd);
  return r;
}

/* Inside the namespace we are uid 0 (of nothing but our own files): tools that ask for root are
 * content. */
static int map_self_to_root(uid_t uid, gid_t gid) {
  char map[64];
  int r = write_file("/proc/self/setgroups", "deny");
  if (r < 0 && r != -ENOENT) return r;
  snprintf(map, sizeof map, "0 %u 1", uid);
  if ((r = write_file("/proc/self/uid_map", map)) < 0) return r;
  snprintf(map, sizeof map, "0 %u 1", gid);
  return write_file("/proc/self/gid_map", map);
}

int lb_sandbox_mount_memory(const char *dir) {
  return mount("lockbench", dir, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=2g") < 0 ? -errno : 0;
}

/* fork() with clone flags; the child continues on a copy of this stack. */
static pid_t fork_into(unsigned long flags) {
  return (pid_t)syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);
}

/* The death signal only tells of parents that die after it was asked for; the end of the pipe tells
 * of those before. */
static bool parent_is_gone(int alive) {
  struct pollfd p = {.fd = alive, .events = POLLIN};
  return alive >= 0 && poll(&p, 1, 0) > 0;
}

/* The ids come first: until they are mapped we have no rights in the new user namespace. /proc is mounted anew because
 * the old one shows the processes outside. */
static int move_in(enum lb_isolation_kind kind, bool online, uid_t uid, gid_t gid) {
  int r;
  if (kind == LB_ISOLATION_USER && (r = map_self_to_root(uid, gid)) < 0) return r;
  /* In a chroot "/" is no mount point and cannot be told apart from what is around it; the probe
   * then finds out whether what is mounted inside would be seen outside. */
  if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 &&
      (errno != EINVAL || mount("none", "/proc", NULL, MS_REC | MS_PRIVATE, NULL) < 0))
    return -errno;
  if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0) return -errno;
  return online ? 0 : lb_net_loopback_up();
}

/* online: in the network that this process has. */
static pid_t fork_kind(enum lb_isolation_kind kind, bool online, int alive, int parents_end) {
  static const unsigned long flags[] = {
      [LB_ISOLATION_ROOT] = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC,
      [LB_ISOLATION_USER] = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC,
      [LB_ISOLATION_NONE] = 0,
  };
  uid_t uid = geteuid();
  gid_t gid = getegid();
  int dumpable = prctl(PR_GET_DUMPABLE);
  pid_t pid = fork_into(online ? flags[kind] & ~(unsigned long)CLONE_NEWNET : flags[kind]);
  if (pid < 0) return -errno;
  if (pid > 0) return pid;
  /* After the credentials are settled: a change of credentials would clear it. */
  if (dumpable == 0)
    prctl(PR_SET_DUMPABLE, 1); /* else its own files in /proc would be root's, and no id could be mapped */
  int r = kind == LB_ISOLATION_NONE ? 0 : move_in(kind, online, uid, gid);
  if (dumpable == 0) prctl(PR_SET_DUMPABLE, 0);
  if (parents_end >= 0) close(parents_end);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (r < 0 || parent_is_gone(alive)) _exit(r < 0 ? -r : 1);
  lb_proc_sandboxed = kind != LB_ISOLATION_NONE;
  return 0;
}

/* ---- probing --------------------------------------------------------------------------------- */

static void try_cut(struct lb_net *net, struct lb_error *err) {
  struct lb_way way = {&net->host[0], &net->host[1]};
  struct lb_cut *cut;
  uint64_t dropped;
  if (lb_cut_make(net, NULL, &way, 1, &cut, err) == 0) lb_cut_dropped(cut, &dropped, NULL, err);
}

/* In the child: memory on a folder, and a small network with a cut that is counted, as a trial
 * would build them. Says what failed into `out`. */
static _Noreturn void try_everything(int out, const char *folder) {
  static struct lb_net net;
  struct lb_error err = {0};
  int r = lb_sandbox_mount_memory(folder);
  if (r < 0) lb_error(&err, r, "no memory file system: %s", strerror(-r));
  else if (lb_net_up(&net, true, 2, &err) == 0) try_cut(&net, &err);
  if (write(out, err.text, strlen(err.text)) < 0) _exit(1);
  _exit(err.text[0] ? 1 : 0);
}

/* True if something is mounted on `folder` here, where nothing was: it came out of the sandbox. It
 * is taken away again. */
static bool leaked(const char *folder, dev_t before) {
  struct stat st;
  return stat(folder, &st) == 0 && st.st_dev != before && umount2(folder, MNT_DETACH) == 0;
}

/* A user's own namespace allows everything in it, so only a security module can refuse here. On Ubuntu 24.04 it allows
 * the namespace, and refuses the first file that maps ids. */
static void say_refusal(enum lb_isolation_kind kind, int status, struct lb_error *why) {
  int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  if (kind == LB_ISOLATION_USER && code == EACCES)
    lb_refuse(
        why,
        "the kernel makes a user namespace and then denies what it is for. On Ubuntu that is the sysctl "
        "kernel.apparmor_restrict_unprivileged_userns=1: expected 0, or the profile of lockbench's package, or root");
  else lb_refuse(why, "a namespace could not be set up: %s", code ? strerror(code) : "killed");
}

/* A child tries all that a trial will need, because a kernel may allow namespaces and refuse what
 * is done in them. It says what failed through a pipe, and it does not touch anything outside,
 * unless mounts leak; that is looked for as well. */
static bool kind_works(enum lb_isolation_kind kind, struct lb_error *why) {
  int pipe_fd[2], status = 0;
  char folder[] = "/tmp/lockbench-probe-XXXXXX";
  struct stat st = {0};
  if (pipe2(pipe_fd, O_CLOEXEC) < 0) return lb_refuse(why, "no pipe: %s", strerror(errno)), false;
  if (!mkdtemp(folder) || stat(folder, &st) < 0) {
    lb_refuse(why, "no temporary folder: %s", strerror(errno));
    close(pipe_fd[0]);
    close(pipe_fd[1]);
    return false;
  }
  pid_t pid = fork_kind(kind, false, -1, -1);
  if (pid == 0) try_everything(pipe_fd[1], folder);
  close(pipe_fd[1]);
  if (pid < 0) {
    lb_refuse(why, "the kernel refused new namespaces: %s", strerror(-pid));
  } else {
    ssize_t n = read(pipe_fd[0], why->text, sizeof why->text - 1);
    why->text[n > 0 ? n : 0] = '\0';
    waitpid(pid, &status, 0);
    if (status != 0 && !why->text[0]) say_refusal(kind, status, why);
  }
  close(pipe_fd[0]);
  bool leak = leaked(folder, st.st_dev);
  if (leak) lb_refuse(why, "in this chroot, mounts made inside a sandbox are seen outside");
  rmdir(folder);
  return pid > 0 && status == 0 && !leak;
}

const struct lb_isolation *lb_isolation_probe(void) {
  static struct lb_isolation answer;
  static bool known;
  if (known) return &answer;
  known = true;
  const char *off = getenv("LOCKBENCH_NO_NAMESPACES");
  answer.kind = geteuid() == 0 ? LB_ISOLATION_ROOT : LB_ISOLATION_USER;
  if (off && strcmp(off, "1") == 0) {
    answer.kind = LB_ISOLATION_NONE;
    lb_refuse(&answer.why, "switched off by LOCKBENCH_NO_NAMESPACES=1");
  } else if (!kind_works(answer.kind, &answer.why)) {
    answer.kind = LB_ISOLATION_NONE;
  }
  return &answer;
}

pid_t lb_sandbox_fork(int alive, int parents_end) {
  return fork_kind(lb_isolation_probe()->kind, false, alive, parents_end);
}

pid_t lb_sandbox_fork_online(int alive, int parents_end) {
  return fork_kind(lb_isolation_probe()->kind, true, alive, parents_end);
}
