/* SPDX-License-Identifier: MIT
 *
 * Finds a tree by the parent links in /proc/PID/stat. A process group is not enough to find all of
 * a server: every PostgreSQL process calls setsid(), so a signal to the postmaster's group stops
 * the postmaster and lets its sessions go on serving.
 */
#include "proctree.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/need.h"

#define TREE_MAX 512
#define END_MS 1000 /* how long a killed process may take to be gone, a stopped one to stand still */
#define STILL_POLL_NS 200000

struct link {
  pid_t pid, parent;
};

/* State letter and parent from a stat file; false when there is none any more. */
static bool read_stat(const char *path, char *ret_state, pid_t *ret_parent) {
  char line[512];
  int parent;
  FILE *in = fopen(path, "re");
  if (!in) return false;
  size_t n = fread(line, 1, sizeof line - 1, in);
  fclose(in);
  line[n] = '\0';
  const char *end_of_name = strrchr(line, ')'); /* a name may contain anything, ')' too */
  if (!end_of_name || sscanf(end_of_name + 1, " %c %d", ret_state, &parent) != 2) return false;
  *ret_parent = (pid_t)parent;
  return true;
}

/* False for one that has ended meanwhile, or ended and was not waited for. */
static bool read_link(const char *pid, struct link *ret) {
  char path[300], state;
  snprintf(path, sizeof path, "/proc/%s/stat", pid);
  ret->pid = (pid_t)strtol(pid, NULL, 10);
  return read_stat(path, &state, &ret->parent) && !strchr("ZX", state);
}

static size_t read_links(struct link **ret) {
  size_t count = 0;
  *ret = NULL;
  DIR *proc = opendir("/proc");
  for (struct dirent *d; proc && (d = readdir(proc));) {
    if (!isdigit((unsigned char)d->d_name[0])) continue;
    struct link link;
    if (read_link(d->d_name, &link)) LB_APPEND(*ret, count) = link;
  }
  if (proc) closedir(proc);
  return count;
}

/* Living descendants of root, parents before children; none when /proc cannot be read. A process
 * whose parent has died belongs to init by then and is not found. */
static size_t descendants(pid_t root, pid_t *ret, size_t max) {
  struct link *all;
  size_t links = read_links(&all), found = 0;
  /* Breadth first: `ret` is its own queue. next = 0 looks for the children of root, next = i those
   * of ret[i - 1]. */
  for (size_t next = 0; next <= found; next++)
    for (size_t i = 0; i < links && found < max; i++)
      if (all[i].parent == (next ? ret[next - 1] : root)) ret[found++] = all[i].pid;
  free(all);
  return found;
}

/* No thread of it runs: all are stopped, or it has ended. Of a child the kernel says that by itself. To look at each
 * thread in /proc is dear: when the process is killed then, its threads and who waits for it hold each other up for
 * tenths of a second of processor time while what the kernel remembers of these looks is taken away. */
static bool is_still(pid_t pid) {
  char path[600], state;
  siginfo_t child = {0};
  if (waitid(P_PID, (id_t)pid, &child, WSTOPPED | WEXITED | WNOHANG | WNOWAIT) == 0) return child.si_pid == pid;
  pid_t parent;
  bool still = true;
  snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
  DIR *threads = opendir(path);
  for (struct dirent *d; still && threads && (d = readdir(threads));) {
    snprintf(path, sizeof path, "/proc/%d/task/%s/stat", (int)pid, d->d_name);
    if (isdigit((unsigned char)d->d_name[0]) && read_stat(path, &state, &parent)) still = strchr("TtZX", state) != NULL;
  }
  if (threads) closedir(threads);
  return still;
}

/* ---- stopping and ending --------------------------------------------------------------------- */

/* Ends the group's rest while the unreaped leader still keeps its number from being used again. */
int lb_proctree_reap(pid_t pid) {
  int status = 0;
  kill(-pid, SIGKILL);
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

/* A SIGSTOP is delivered to one thread, which then stops the others: on a busy machine that thread
 * may not get its turn for a while, and the others go on serving. */
static bool await_still(pid_t root, const pid_t *tree, size_t count, uint64_t deadline) {
  for (size_t i = 0; i <= count;) {
    if (is_still(i ? tree[i - 1] : root)) i++;
    else if (lb_clock_ns() >= deadline) return false;
    else lb_clock_sleep_until(lb_clock_ns() + STILL_POLL_NS);
  }
  return true;
}

/* Stops all processes, oldest first, and looks again until there is no new one: a stopped process starts no others.
 * False if some of them cannot be stopped. */
static bool stop_tree(pid_t root, pid_t *tree, size_t max, size_t *ret_count) {
  uint64_t deadline = lb_clock_ns() + END_MS * UINT64_C(1000000);
  size_t before;
  bool still;
  *ret_count = 0;
  kill(-root, SIGSTOP);
  do {
    before = *ret_count;
    *ret_count = descendants(root, tree, max);
    for (size_t i = 0; i < *ret_count; i++) kill(tree[i], SIGSTOP);
    still = await_still(root, tree, *ret_count, deadline);
  } while (*ret_count > before);
  return still;
}

/* SIGSTOP is the only signal that has to hold for all at once: a pause of which one process goes on serving would be no
 * pause. Any other signal goes to the processes that are there, the group last. */
int lb_proctree_signal(pid_t root, int sig) {
  pid_t tree[TREE_MAX];
  size_t count;
  if (sig == SIGSTOP) return stop_tree(root, tree, TREE_MAX, &count) ? 0 : -ETIMEDOUT;
  count = descendants(root, tree, TREE_MAX);
  for (size_t i = 0; i < count; i++) kill(tree[i], sig);
  return kill(-root, sig) < 0 ? -errno : 0;
}

bool lb_proctree_await_end(int pidfd, uint64_t deadline) {
  struct pollfd p = {.fd = pidfd, .events = POLLIN};
  for (;;) {
    uint64_t now = lb_clock_ns();
    int n = poll(&p, 1, deadline > now ? (int)((deadline - now) / 1000000) + 1 : 0);
    if (n > 0 || (n < 0 && errno != EINTR)) return true;
    if (now >= deadline) return false;
  }
}

/* Kills, then waits for each: until the last has gone, a port is taken and a data folder is in use.
 * The pidfds are opened while all are stopped, so that none of them can mean a later process of the
 * same number. */
int lb_proctree_kill(pid_t root) {
  pid_t tree[TREE_MAX];
  int fd[TREE_MAX];
  size_t count;
  stop_tree(root, tree, TREE_MAX, &count);
  for (size_t i = 0; i < count; i++) fd[i] = (int)syscall(SYS_pidfd_open, tree[i], 0);
  kill(-root, SIGKILL);
  for (size_t i = 0; i < count; i++) kill(tree[i], SIGKILL);
  uint64_t deadline = lb_clock_ns() + END_MS * UINT64_C(1000000);
  int status = lb_proctree_reap(root);
  for (size_t i = 0; i < count; i++) {
    if (fd[i] < 0) continue;
    lb_proctree_await_end(fd[i], deadline);
    close(fd[i]);
    waitpid(tree[i], NULL, WNOHANG); /* an orphan is ours when we are init, as in a sandbox; else not our business */
  }
  return status;
}
