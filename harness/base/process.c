/* SPDX-License-Identifier: MIT
 *
 * This process: the name that it was called by and has, where its files are, and what it forgets of its
 * environment.
 */
#include "process.h"

#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"

void lb_process_give_way(void) {
  struct sched_param lowest = {0};
  (void)!sched_setscheduler(0, SCHED_BATCH, &lowest);
}

pid_t lb_process_fork(void) {
  pid_t parent = getpid(), pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1); /* it ended before the line above could ask for a signal */
  return 0;
}

bool lb_process_await(pid_t pid, uint64_t deadline_ns, int *ret_status) {
  enum { NAP_NS = 1000000 };
  pid_t r;
  while ((r = waitpid(pid, ret_status, WNOHANG)) == 0 && lb_clock_ns() < deadline_ns)
    lb_clock_sleep_until(lb_clock_ns() + NAP_NS);
  if (r != 0) return r == pid;
  kill(-pid, SIGKILL);
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
  return false;
}

const char *lb_process_called(void) {
  const char *name = getenv("LOCKBENCH_CALLED_AS");
  return name && *name ? name : "lockbench";
}

const char *lb_process_from_here(const char *path) {
  char here[4096];
  size_t length = getcwd(here, sizeof here) ? strlen(here) : 0;
  return length > 1 && strncmp(path, here, length) == 0 && path[length] == '/' ? path + length + 1 : path;
}

/* By its place: unsetenv() leaves an entry without '=' where it is. */
static void forget_entry(size_t i) {
  do environ[i] = environ[i + 1];
  while (environ[i++]);
}

/* What is forgotten: everything libpq reads (PG...), and what a Java virtual machine takes as further arguments. */
void lb_process_forget_environ(void) {
  static const char *const prefixes[] = {"PG",
                                         "JAVA_TOOL_OPTIONS=", "_JAVA_OPTIONS=", "JDK_JAVA_OPTIONS=", "CLASSPATH="};
  for (size_t i = 0; environ[i];) {
    bool forget = false;
    for (size_t p = 0; p < sizeof prefixes / sizeof *prefixes; p++)
      forget |= strncmp(environ[i], prefixes[p], strlen(prefixes[p])) == 0;
    if (forget) forget_entry(i); /* the next one is at the same place now */
    else i++;
  }
}

/* The folder of data as it lies to this program, so that it is found below any prefix; "" = this one was not installed. */
static const char *installed(void) {
  static char data[PATH_MAX];
  static bool looked;
  char path[PATH_MAX + 200], real[PATH_MAX];
  if (looked) return data;
  looked = true;
  ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
  char *slash = length > 0 ? memrchr(path, '/', (size_t)length) : NULL;
  if (!slash) return data;
  snprintf(slash, sizeof path - (size_t)(slash - path), "/%s", LB_DATA_FROM_BIN);
  if (!realpath(path, real)) return data;
  snprintf(path, sizeof path, "%s/" LB_SCENARIOS, real);
  if (access(path, R_OK) == 0) memcpy(data, real, sizeof data);
  return data;
}

/* ./bench sets LOCKBENCH_ROOT, so that a tree that was moved finds its own files. */
const char *lb_process_root(void) {
  const char *root = getenv("LOCKBENCH_ROOT");
  if (root && *root) return root;
  return *installed() ? installed() : LB_SOURCE_ROOT;
}

bool lb_process_is_installed(void) { return *installed() && strcmp(lb_process_root(), installed()) == 0; }

const char *lb_process_peers_installer(void) {
  static char path[PATH_MAX + 20];
  if (!lb_process_is_installed()) return "./bench peers";
  snprintf(path, sizeof path, "%s/peers/install", installed());
  return path;
}

const char *lb_process_servers_installer(void) {
  static char path[PATH_MAX + 20];
  if (!lb_process_is_installed()) return "./bench servers";
  snprintf(path, sizeof path, "%s/setup/servers", installed());
  return path;
}

/* The kernel shows what stands in the memory of the original arguments, so that is what gets
 * overwritten. */

static char *space;
static size_t space_size;

void lb_process_title_init(int argc, char **argv) {
  space = argv[0];
  space_size = (size_t)(argv[argc - 1] + strlen(argv[argc - 1]) + 1 - argv[0]);
}

void lb_process_title_set(const char *title) {
  prctl(PR_SET_NAME, title);
  if (space_size == 0) return;
  memset(space, 0, space_size);
  size_t n = strlen(title);
  memcpy(space, title, n < space_size - 1 ? n : space_size - 1);
}
