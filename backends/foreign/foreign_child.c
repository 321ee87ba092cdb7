/* SPDX-License-Identifier: MIT
 *
 * The program of a foreign lock, with a pipe to its stdin and one from its stdout. It stays in the process group of who
 * started it, so that a signal to the group is one to all.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "foreign_child.h"

/* The program must not outlive us, and has the signals that any program begins with. */
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

int foreign_child_start(struct foreign_child *child, const char *command, const char *folder) {
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
int foreign_child_write(struct foreign_child *child, const char *line) {
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

int foreign_child_next_line(struct foreign_child *child, char **ret) {
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

/* ---- what the machine takes from it ------------------------------------------------------------------------------ */

/* A process with all its threads and what they have started. */
struct scheduled {
  lb_ns ran;    /* all of them together */
  lb_ns waited; /* for a processor, the most of any thread: waits that have ended */
  bool ready;   /* some thread runs, or would if it got a processor */
};

static bool is_ready(const char *path) {
  char state = '?';
  FILE *in = fopen(path, "re");
  if (in && fscanf(in, "%*d (%*[^)]) %c", &state) != 1) state = '?';
  if (in) fclose(in);
  return state == 'R';
}

static void add_thread(const char *folder, struct scheduled *ret) {
  char path[400];
  unsigned long long ran, waited;
  snprintf(path, sizeof path, "%s/schedstat", folder);
  FILE *in = fopen(path, "re");
  if (in && fscanf(in, "%llu %llu", &ran, &waited) == 2) {
    ret->ran += ran;
    if (waited > ret->waited) ret->waited = waited;
  }
  if (in) fclose(in);
  snprintf(path, sizeof path, "%s/stat", folder);
  ret->ready |= is_ready(path);
}

enum { GENERATIONS = 6 }; /* of a command that is a script that starts a script */

static void look_at(pid_t pid, int generations, struct scheduled *ret) {
  char path[64], name[380], list[400];
  snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
  DIR *threads = opendir(path);
  for (struct dirent *e; threads && (e = readdir(threads));) {
    int child;
    if (e->d_name[0] == '.') continue;
    snprintf(name, sizeof name, "%s/%s", path, e->d_name);
    add_thread(name, ret);
    snprintf(list, sizeof list, "%s/children", name);
    FILE *in = generations > 0 ? fopen(list, "re") : NULL;
    while (in && fscanf(in, "%d", &child) == 1) look_at(child, generations - 1, ret);
    if (in) fclose(in);
  }
  if (threads) closedir(threads);
}

static struct scheduled scheduled(const struct foreign_child *child) {
  struct scheduled ret = {0};
  if (child->pid > 0) look_at(child->pid, GENERATIONS, &ret);
  return ret;
}

lb_ns foreign_child_held_up(const struct foreign_child *child) { return scheduled(child).waited; }

/* The kernel books a wait when it ends, and a run at its next tick: a thread that is ready and does not run between two
 * looks waits now. */
static bool stands_in_line(const struct foreign_child *child) {
  enum { TICKS_MS = 25 };
  struct scheduled before = scheduled(child);
  if (!before.ready) return false;
  poll(NULL, 0, TICKS_MS);
  struct scheduled now = scheduled(child);
  return now.ready && now.ran == before.ran;
}

lb_ns foreign_child_more(const struct foreign_child *child, lb_ns before, lb_ns over) {
  enum { AGAIN_MS = 50 };
  lb_ns held = foreign_child_held_up(child) - before;
  if (held > over) return held - over;
  return stands_in_line(child) ? AGAIN_MS * LB_NS_PER_MS : 0;
}

int foreign_child_await(const struct foreign_child *child, int fd, int ms) {
  struct pollfd p = {.fd = fd, .events = POLLIN};
  lb_ns before = foreign_child_held_up(child), over = 0, more = (lb_ns)ms * LB_NS_PER_MS;
  for (;;) {
    int n = poll(&p, 1, (int)((more + LB_NS_PER_MS - 1) / LB_NS_PER_MS));
    if (n != 0) return n;
    if (ms == 0 || (more = foreign_child_more(child, before, over)) == 0) return 0;
    over += more;
  }
}

/* ---- its end ----------------------------------------------------------------------------------------------------- */

static bool ends_by_itself(const struct foreign_child *child, int patience_ms) {
  pid_t pid = child->pid;
  int fd = (int)syscall(SYS_pidfd_open, pid, 0);
  if (fd >= 0) {
    bool ended = foreign_child_await(child, fd, patience_ms) > 0;
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

static void tell_fate(int status, char *fate, size_t size) {
  const char *name = WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : NULL;
  if (name) snprintf(fate, size, "died of SIG%s", name);
  else if (WIFSIGNALED(status)) snprintf(fate, size, "died of signal %d", WTERMSIG(status));
  else if (WEXITSTATUS(status) == 127) snprintf(fate, size, "exited with status 127 (no such command?)");
  else snprintf(fate, size, "exited with status %d", WEXITSTATUS(status));
}

static lb_ns ns_of(struct timeval t) {
  return (lb_ns)t.tv_sec * LB_NS_PER_S + (lb_ns)t.tv_usec * (LB_NS_PER_MS / 1000);
}

void foreign_child_hang_up(struct foreign_child *child) {
  if (child->buffer && child->in >= 0) close(child->in);
  child->in = -1;
}

bool foreign_child_end(struct foreign_child *child, int patience_ms, char *fate, size_t size) {
  int status = 0;
  struct rusage usage = {0};
  bool by_itself = true;
  if (fate) fate[0] = '\0';
  foreign_child_hang_up(child);
  if (child->pid > 0) {
    by_itself = ends_by_itself(child, patience_ms);
    if (!by_itself) kill(child->pid, SIGKILL);
    while (wait4(child->pid, &status, 0, &usage) < 0 && errno == EINTR) {
    }
    if (fate) tell_fate(status, fate, size);
  }
  if (child->buffer && child->out >= 0) close(child->out);
  free(child->buffer);
  *child = (struct foreign_child){.used = ns_of(usage.ru_utime) + ns_of(usage.ru_stime), .in = -1, .out = -1};
  return by_itself;
}
