/* SPDX-License-Identifier: MIT
 *
 * The program of a foreign lock, with a pipe to its stdin and one from its stdout. It stays in the process group of who
 * started it, so that a signal to the group is one to all.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "foreign_child.h"
#include "base/error.h"

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

/* ---- what the machine takes from it ------------------------------------------------------------------------------ */

/* Of a process with all its threads and what they have started. */
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

lb_ns foreign_held_up(const struct foreign_child *child) { return scheduled(child).waited; }

/* The kernel books a wait when it ends, and a run at its next tick: whoever is ready and does not run between two looks
 * waits now. */
static bool stands_in_line(const struct foreign_child *child) {
  enum { TICKS_MS = 25 };
  struct scheduled before = scheduled(child);
  if (!before.ready) return false;
  poll(NULL, 0, TICKS_MS);
  struct scheduled now = scheduled(child);
  return now.ready && now.ran == before.ran;
}

lb_ns foreign_more(const struct foreign_child *child, lb_ns before, lb_ns over) {
  enum { AGAIN_MS = 50 };
  lb_ns held = foreign_held_up(child) - before;
  if (held > over) return held - over;
  return stands_in_line(child) ? AGAIN_MS * LB_NS_PER_MS : 0;
}

/* Waits until something can be read from fd, for `ms` and for as long as the machine holds it up meanwhile. As
 * poll(2). */
static int await(const struct foreign_child *child, int fd, int ms) {
  struct pollfd p = {.fd = fd, .events = POLLIN};
  lb_ns before = foreign_held_up(child), over = 0, more = (lb_ns)ms * LB_NS_PER_MS;
  for (;;) {
    int n = poll(&p, 1, (int)((more + LB_NS_PER_MS - 1) / LB_NS_PER_MS));
    if (n != 0) return n;
    if (ms == 0 || (more = foreign_more(child, before, over)) == 0) return 0;
    over += more;
  }
}

/* ---- its end ----------------------------------------------------------------------------------------------------- */

static bool ends_by_itself(const struct foreign_child *child, int patience_ms) {
  pid_t pid = child->pid;
  int fd = (int)syscall(SYS_pidfd_open, pid, 0);
  if (fd >= 0) {
    bool ended = await(child, fd, patience_ms) > 0;
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

/* Closes its stdin. */
static void hang_up(struct foreign_child *child) {
  if (child->buffer && child->in >= 0) close(child->in);
  child->in = -1;
}

bool foreign_end(struct foreign_child *child, int patience_ms, char *fate, size_t size) {
  int status = 0;
  struct rusage usage = {0};
  bool by_itself = true;
  if (fate) fate[0] = '\0';
  hang_up(child);
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

/* ---- its first line, asked for by who wants to know what it is --------------------------------------------------- */

enum { FIRST_LINE_MS = 20000, QUIT_MS = 300 };

/* 1, 0 after FIRST_LINE_MS and what the machine has taken from it meanwhile, -errno. */
static int first_line(struct foreign_child *child, char **ret) {
  for (;;) {
    int r = foreign_next_line(child, ret);
    if (r) return r;
    if (await(child, child->out, FIRST_LINE_MS) <= 0) return 0;
  }
}

/* What it has started has become a child of ours (a subreaper), as nothing else of this process has by now. Such a
 * child may have children, which then are ours. */
static void end_orphans(void) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
  for (int found = 1; found;) {
    int pid;
    FILE *in = fopen(path, "re");
    for (found = 0; in && fscanf(in, "%d", &pid) == 1; found++) kill(pid, SIGKILL), waitpid(pid, NULL, 0);
    if (in) fclose(in);
  }
}

/* ---- what it says on stderr while it is asked: all of it where that went well, else its last line in our own ---- */

struct aside {
  int file, kept; /* kept: our stderr */
};

/* The child inherits it. */
static struct aside lay_aside(void) {
  struct aside a = {.file = memfd_create("stderr", MFD_CLOEXEC), .kept = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)};
  if (a.file >= 0 && a.kept >= 0) dup2(a.file, STDERR_FILENO);
  return a;
}

static void take_back(const struct aside *a) {
  if (a->file >= 0 && a->kept >= 0) dup2(a->kept, STDERR_FILENO);
}

static void end_aside(struct aside *a, bool well, struct lb_error *err) {
  char buf[4096];
  ssize_t n = 0;
  off_t end = a->file >= 0 ? lseek(a->file, 0, SEEK_END) : 0,
        from = well || end < (off_t)sizeof buf ? 0 : end - (off_t)sizeof buf + 1;
  for (; from < end && (n = pread(a->file, buf, sizeof buf - 1, from)) > 0; from += n)
    if (!well || write(STDERR_FILENO, buf, (size_t)n) < 0) break;
  if (!well && from < end && n > 0) {
    while (n > 0 && strchr(" \r\n", buf[n - 1])) n--;
    buf[n] = '\0';
    char *last = strrchr(buf, '\n');
    for (char *c = last ? last + 1 : buf; *c; c++)
      if ((unsigned char)*c < ' ' || *c == 0x7f) *c = '?';
    size_t length = strlen(err->text);
    snprintf(err->text + length, sizeof err->text - length, ": %.200s", last ? last + 1 : buf);
  }
  if (a->file >= 0) close(a->file);
  if (a->kept >= 0) close(a->kept);
}

static int ask_first_line(const struct foreign *f, char *says, size_t size, int *ret_start_ms, struct aside *aside,
                          struct lb_error *err) {
  struct foreign_child child;
  char fate[100] = "", *line = NULL;
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  int r = foreign_start(&child, f->command, f->folder);
  take_back(aside);
  if (r < 0) return lb_error(err, r, "cannot start it: %s", strerror(-r));
  r = first_line(&child, &line);
  const char *words = r > 0 ? foreign_first_line(line, err) : NULL;
  if (words) snprintf(says, size, "%s", words);
  foreign_end(&child, r == -ENODATA ? QUIT_MS : 0, fate, sizeof fate);
  *ret_start_ms = (int)(child.used / LB_NS_PER_MS) + 1;
  end_orphans();
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  if (words) return 0;
  if (r == -ENODATA) return lb_error(err, r, "it %s before it said what it is", fate);
  if (r == 0) return lb_error(err, -ETIMEDOUT, "it has not said what it is within %d s", FIRST_LINE_MS / 1000);
  if (r == -EMSGSIZE) lb_error(err, r, "its first line does not end");
  else if (r < 0) return lb_error(err, r, "its stdout cannot be read: %s", strerror(-r));
  return -EPROTO;
}

int lb_foreign_ask(const char *command, char *says, size_t size, int *ret_start_ms, struct lb_error *err) {
  struct aside aside = lay_aside();
  int r = ask_first_line(&(struct foreign){.command = (char *)command}, says, size, ret_start_ms, &aside, err);
  end_aside(&aside, r == 0, err);
  return r;
}

int foreign_ask_silently(const struct foreign *f, char *says, size_t size, int *ret_start_ms, struct lb_error *err) {
  struct aside aside = lay_aside();
  int r = ask_first_line(f, says, size, ret_start_ms, &aside, err);
  end_aside(&aside, false, err);
  return r;
}

/* ---- spoken to line by line, without any opinion on what it says ------------------------------------------------- */

struct lb_talk {
  struct foreign_child child;
};

struct lb_talk *lb_talk_start(const struct lb_protocol *protocol) {
  const struct foreign *foreign = protocol->data;
  struct lb_talk *talk = calloc(1, sizeof *talk);
  if (talk && foreign_start(&talk->child, foreign->command, foreign->folder) == 0) return talk;
  if (talk) lb_talk_end(talk, 0, NULL, 0);
  return NULL;
}

int lb_talk_say(struct lb_talk *talk, const char *line) {
  char whole[LB_FOREIGN_LINE_MAX];
  if (snprintf(whole, sizeof whole, "%s\n", line) >= (int)sizeof whole) return -E2BIG;
  return talk->child.in < 0 ? -EPIPE : foreign_write(&talk->child, whole);
}

int lb_talk_hear(struct lb_talk *talk, struct lb_env *env, lb_ns deadline, const char **ret) {
  lb_ns before = foreign_held_up(&talk->child);
  for (lb_ns until = deadline;;) {
    char *line = NULL;
    int r = foreign_next_line(&talk->child, &line);
    *ret = line;
    if (r) return r;
    r = lb_wait_fd(env, talk->child.out, POLLIN, until);
    if (r < 0) return r;
    lb_ns now = lb_now(env), more = r == 0 && now >= deadline ? foreign_more(&talk->child, before, now - deadline) : 0;
    if (r == 0 && more == 0) return 0;
    if (r == 0) until = now + more;
  }
}

lb_ns lb_talk_held_up(const struct lb_talk *talk) { return foreign_held_up(&talk->child); }

pid_t lb_talk_pid(const struct lb_talk *talk) { return talk->child.pid; }

void lb_talk_hang_up(struct lb_talk *talk) { hang_up(&talk->child); }

bool lb_talk_end(struct lb_talk *talk, int patience_ms, char *fate, size_t size) {
  if (!talk) return true;
  bool by_itself = foreign_end(&talk->child, patience_ms, fate, size);
  free(talk);
  return by_itself;
}

bool lb_talk_value(const char *line, const char *name, char *buf, size_t size) {
  char copy[LB_FOREIGN_LINE_MAX];
  struct foreign_words words;
  snprintf(copy, sizeof copy, "%s", line);
  const char *value = foreign_split(copy, &words) == 0 ? foreign_value(&words, 0, name) : NULL;
  if (value) snprintf(buf, size, "%s", value);
  return value != NULL;
}

/* ---- what the kernel knows of it
 * -------------------------------------------------------------------------------------
 *
 * What the kernel knows of a foreign process: which server its connections lead to, and what it has mapped. A client
 * library hides its connections, but not from /proc: a socket has a number, and the tables of TCP say where it
 * leads. */

enum { SOCKETS_MAX = 256, ESTABLISHED = 1, V4_WORDS = 1, V6_WORDS = 4 };

struct sockets { /* of one process, by their numbers */
  unsigned long inode[SOCKETS_MAX];
  size_t count;
};

static void list_sockets(pid_t pid, struct sockets *ret) {
  char path[300], text[64];
  ret->count = 0;
  snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
  DIR *files = opendir(path);
  for (struct dirent *d; files && ret->count < SOCKETS_MAX && (d = readdir(files));) {
    snprintf(path, sizeof path, "/proc/%d/fd/%.20s", (int)pid, d->d_name);
    ssize_t n = readlink(path, text, sizeof text - 1);
    if (n <= 0) continue;
    text[n] = '\0';
    if (sscanf(text, "socket:[%lu]", &ret->inode[ret->count]) == 1) ret->count++;
  }
  if (files) closedir(files);
}

static bool has_socket(const struct sockets *sockets, unsigned long inode) {
  for (size_t i = 0; i < sockets->count; i++)
    if (sockets->inode[i] == inode) return true;
  return false;
}

/* An address as the kernel prints it: words of 32 bits in hexadecimal digits, each as this machine has_socket it. A JVM
 * talks to an address of version 4 through a socket of version 6. */
static bool read_address(const char *hex, size_t words, char host[INET6_ADDRSTRLEN]) {
  uint32_t word[V6_WORDS];
  for (size_t i = 0; i < words; i++) {
    unsigned value;
    if (sscanf(hex + 8 * i, "%8x", &value) != 1) return false;
    word[i] = value;
  }
  bool mapped = words == V6_WORDS && !word[0] && !word[1] && word[2] == htonl(0xffff);
  if (words == V4_WORDS || mapped) return inet_ntop(AF_INET, &word[mapped ? 3 : 0], host, INET6_ADDRSTRLEN) != NULL;
  return inet_ntop(AF_INET6, word, host, INET6_ADDRSTRLEN) != NULL;
}

static int endpoint_of(const struct lb_target *target, const char *host, unsigned port) {
  for (size_t i = 0; i < target->count; i++)
    if (target->endpoints[i].port == port && strcmp(target->endpoints[i].host, host) == 0) return (int)i;
  return -ENOENT;
}

/* Its endpoints in bits, as far as they are in this table. Sentinels tell where the master is, and have no lock. */
static uint64_t in_table(const struct lb_target *target, pid_t pid, const char *table, size_t words,
                         const struct sockets *sockets) {
  char path[64], line[512], peer[64], host[INET6_ADDRSTRLEN];
  uint64_t found = 0;
  snprintf(path, sizeof path, "/proc/%d/net/%s", (int)pid, table);
  FILE *in = fopen(path, "re");
  while (in && fgets(line, sizeof line, in)) {
    unsigned port, state;
    unsigned long inode;
    if (sscanf(line, " %*d: %*[0-9A-Fa-f:] %40[0-9A-Fa-f]:%x %x %*s %*s %*s %*s %*s %lu", peer, &port, &state,
               &inode) != 4)
      continue;
    if (state != ESTABLISHED || !has_socket(sockets, inode) || !read_address(peer, words, host)) continue;
    int at = endpoint_of(target, host, port);
    if (at >= 0 && at < 64 && strcmp(target->endpoints[at].service, "sentinel") != 0) found |= UINT64_C(1) << at;
  }
  if (in) fclose(in);
  return found;
}

int foreign_server(const struct lb_target *target, pid_t pid) {
  struct sockets sockets;
  list_sockets(pid, &sockets);
  uint64_t found = in_table(target, pid, "tcp", V4_WORDS, &sockets) | in_table(target, pid, "tcp6", V6_WORDS, &sockets);
  if (!found || found & (found - 1)) return -ENOENT;
  return __builtin_ctzll(found);
}
