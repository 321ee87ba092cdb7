/* SPDX-License-Identifier: MIT
 *
 * The guardian is a child in a session of its own that only waits: first for the tool to end (a pipe whose write end
 * the tool alone holds), then for all trials to be gone (another pipe that trials inherit; the kernel ends them with
 * the tool), then it clears up. After a commit there is nothing left to clear. So clean-up does not depend on code that
 * SIGKILL could skip.
 */
#include "rundir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/process.h"

enum { TRIALS_GONE_MS = 10000, PATH_BYTES_MAX = 140 };

/* Until the last process that holds the other end is gone, or for timeout_ms; -1 = for as long as
 * it takes. */
static void wait_for_end(int fd, int timeout_ms) {
  struct pollfd p = {.fd = fd, .events = POLLIN};
  while (poll(&p, 1, timeout_ms) < 0 && errno == EINTR) {
  }
}

/* Without a PID namespace a stopped server can outlive its parent. A process that works in a server's folder is one of
 * ours. Elsewhere in the run folder a person may be reading a log. */
static void kill_inhabitants(const char *partial) {
  char link[PATH_MAX], path[64], scratch[PATH_MAX];
  size_t length = (size_t)snprintf(scratch, sizeof scratch, "%s/scratch", partial);
  DIR *proc = opendir("/proc");
  if (!proc) return;
  for (struct dirent *entry; (entry = readdir(proc));) {
    pid_t pid = (pid_t)atoi(entry->d_name);
    if (pid <= 1 || pid == getpid()) continue;
    snprintf(path, sizeof path, "/proc/%d/cwd", (int)pid);
    ssize_t n = readlink(path, link, sizeof link - 1);
    if (n > (ssize_t)length && strncmp(link, scratch, length) == 0 && link[length] == '/') kill(pid, SIGKILL);
  }
  closedir(proc);
}

/* A folder that has its final name has none of these. */
static const char *const temporary[] = {"scratch", "lock", "reserve"};

static void remove_below(const char *folder, const char *const names[], size_t count) {
  char path[3100];
  for (size_t i = 0; i < count; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    lb_files_remove_tree(path);
  }
}

const struct lb_rundir_file lb_rundir_files[] = {
    {"histories", ".hist", LB_RUNDIR_KEPT}, {"parts", ".latency", LB_RUNDIR_KEPT},
    {"parts", ".series", LB_RUNDIR_KEPT},   {"faults", ".jsonl", LB_RUNDIR_KEPT},
    {"waits", ".jsonl", LB_RUNDIR_KEPT},    {"schedules", ".txt", LB_RUNDIR_KEPT},
    {"scratch", "", LB_RUNDIR_SCRATCH},     {"logs", "", LB_RUNDIR_LOGS},
    {"logs", ".servers", LB_RUNDIR_LOGS},   {NULL, NULL, LB_RUNDIR_KEPT}};

static void remove_empty_folders(const char *folder) {
  for (const struct lb_rundir_file *file = lb_rundir_files; file->folder; file++) {
    char path[3100];
    snprintf(path, sizeof path, "%s/%s", folder, file->folder);
    rmdir(path); /* stays if it holds anything */
  }
}

/* renameat2() refuses a target that has come into being meanwhile, where rename() would replace an empty folder. File
 * systems over a network know only the latter. 0 or -errno. */
static int rename_new(const char *from, const char *to) {
  if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -errno;
  if (access(to, F_OK) == 0) return -EEXIST;
  return rename(from, to) < 0 ? -errno : 0;
}

/* What becomes of a folder whose tool is gone: with outcomes in it, it gets its name, or one beside it that is free;
 * else it is removed. Nothing, if it was committed. */
static void clear_up(const char *partial, const char *final) {
  char path[3100];
  struct stat records;
  snprintf(path, sizeof path, "%s/resume.bin", partial);
  bool keeps = stat(path, &records) == 0 && records.st_size > 0;
  remove_below(partial, temporary, keeps ? sizeof temporary / sizeof *temporary : 0);
  remove_empty_folders(partial);
  if (!keeps) lb_files_remove_tree(partial);
  else if (rename_new(partial, final) < 0) {
    snprintf(path, sizeof path, "%s-kept", final);
    rename_new(partial, path); /* or it stays where it is */
  }
}

struct rescue {
  void (*call)(void *data); /* NULL = there is none */
  void *data;
};

/* The order of the two waits matters: while the tool lives its trials come and go. After that
 * trials only need time to die, and one that does not is no reason to wait longer. */
static _Noreturn void watch_over(const struct lb_rundir *dir, struct rescue rescue) {
  setsid();
  lb_process_title_set("lb-guardian"); /* who kills the tool by name means the tool */
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  for (int fd = 0; fd < 3; fd++) close(fd); /* the reader of the tool's output must not wait for us */
  while (rescue.call && open("/dev/null", O_RDWR) < 2)
    continue; /* no file that it writes may get one of these numbers */
  wait_for_end(dir->alive, -1);
  wait_for_end(dir->trials_gone, TRIALS_GONE_MS);
  kill_inhabitants(dir->partial);
  if (rescue.call && access(dir->partial, F_OK) == 0) rescue.call(rescue.data);
  clear_up(dir->partial, dir->final);
  _exit(0);
}

static int make_pipes(struct lb_rundir *dir) {
  int tool[2], trials[2];
  if (pipe2(tool, O_CLOEXEC) < 0) return -errno;
  dir->alive = tool[0];
  dir->guard_pipe = tool[1];
  if (pipe2(trials, O_CLOEXEC) < 0) return -errno;
  dir->trials_gone = trials[0];
  dir->trials_pipe = trials[1];
  return 0;
}

/* The tool keeps the end of each pipe that closes when it dies; the guardian closes its copies. Trials watch the read
 * end of the first one, too. */
static int start_guardian(struct lb_rundir *dir, struct rescue rescue) {
  pid_t pid = fork();
  if (pid == 0) {
    close(dir->guard_pipe);
    close(dir->trials_pipe);
    watch_over(dir, rescue);
  }
  if (pid > 0) dir->guardian = pid;
  return pid < 0 ? -errno : 0;
}

/* True if it has done what it is for. */
static bool wait_for_guardian(int pid) {
  int status = -1;
  pid_t r = -1;
  while (pid > 0 && (r = waitpid(pid, &status, 0)) < 0 && errno == EINTR) {
  }
  return r > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void lb_rundir_forget(const char *folder, const char *trial, bool logs_too) {
  char path[4200];
  for (const struct lb_rundir_file *file = lb_rundir_files; file->folder; file++) {
    if (file->kind == LB_RUNDIR_LOGS && !logs_too) continue;
    snprintf(path, sizeof path, "%s/%s/%s%s", folder, file->folder, trial, file->ending);
    lb_files_remove_tree(path);
  }
}

/* The new one is there before the old one goes. */
int lb_rundir_set_rescue(struct lb_rundir *dir, void (*rescue)(void *data), void *data) {
  int old = dir->guardian, r = start_guardian(dir, (struct rescue){rescue, data});
  if (r < 0 || old <= 0) return r;
  kill(old, SIGKILL);
  wait_for_guardian(old);
  return 0;
}

/* An open, locked file, or -1 with errno. */
static int open_locked(const char *path, int flags) {
  int fd = open(path, O_RDWR | O_CLOEXEC | flags, 0644);
  if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

/* Not every file system tells one machine of the locks of another, so a lock names its machine. */
static void machine_name(char name[HOST_NAME_MAX + 1]) {
  if (gethostname(name, HOST_NAME_MAX) < 0) name[0] = '\0';
  name[HOST_NAME_MAX] = '\0';
}

static bool is_of_this_machine(int lock) {
  char own[HOST_NAME_MAX + 1], said[HOST_NAME_MAX + 1] = "";
  ssize_t length = pread(lock, said, HOST_NAME_MAX, 0);
  machine_name(own);
  return length <= 0 || strcmp(said, own) == 0;
}

/* The lock of a partial folder, or -errno. It gets its name when it is held, so that no other tool ever finds it free.
 */
static int make_lock(const char *partial) {
  char path[PATH_MAX], unnamed[PATH_MAX], name[HOST_NAME_MAX + 1];
  snprintf(path, sizeof path, "%s/lock", partial);
  snprintf(unnamed, sizeof unnamed, "%s/.lock", partial);
  int fd = open_locked(unnamed, O_CREAT);
  if (fd < 0) return -errno;
  machine_name(name);
  bool named = write(fd, name, strlen(name)) == (ssize_t)strlen(name);
  if (named && rename(unnamed, path) == 0) return fd;
  int r = named ? -errno : -ENOSPC;
  close(fd);
  return r;
}

/* Clears up partial folders whose lock is free: those of tools that were killed together with their guardian. One that
 * has no lock yet is just being made. */
static void sweep(const char *parent) {
  char path[PATH_MAX], final[PATH_MAX];
  DIR *dir = opendir(parent);
  if (!dir) return;
  for (struct dirent *entry; (entry = readdir(dir));) {
    size_t length = strlen(entry->d_name);
    if (entry->d_name[0] != '.' || length < 9 || strcmp(entry->d_name + length - 8, ".partial") != 0) continue;
    snprintf(path, sizeof path, "%s/%s/lock", parent, entry->d_name);
    int lock = open_locked(path, 0);
    if (lock >= 0 && !is_of_this_machine(lock)) close(lock), lock = -1;
    if (lock < 0) continue;
    *strrchr(path, '/') = '\0';
    snprintf(final, sizeof final, "%s/%.*s", parent, (int)(length - 9), entry->d_name + 1);
    clear_up(path, final);
    close(lock);
  }
  closedir(dir);
}

/* The label with everything but letters, digits, '.', '-' and '_' turned into '-'. */
static void name_run(char *id, size_t size, const char *label, unsigned attempt) {
  struct tm tm = lb_clock_utc();
  char stamp[32];
  strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &tm);
  if (attempt == 0) snprintf(id, size, "%s-%s", stamp, label);
  else snprintf(id, size, "%s-%s-%u", stamp, label, attempt + 1);
  for (char *c = id; *c; c++)
    if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_", *c)) *c = '-';
}

static int fail(int error, const char *path, struct lb_error *err) {
  return lb_error(err, error, "cannot write results to %s: %s", path, strerror(-error));
}

/* Absolute path of a folder that is made if missing. */
static int absolute_folder(const char *path, char ret[PATH_MAX], struct lb_error *err) {
  int r = lb_files_make_dirs(path);
  if (r == 0 && !realpath(path, ret)) r = -errno;
  if (r == 0 && access(ret, W_OK) < 0) r = -errno;
  return r < 0 ? fail(r, path, err) : 0;
}

/* A path that the user named, taken apart: sets id, final and partial. Clears up in its parent, which is made if
 * missing. */
static int take_path(struct lb_rundir *dir, const char *exact, struct lb_error *err) {
  char copy[PATH_MAX], parent[PATH_MAX];
  snprintf(copy, sizeof copy, "%s", exact);
  size_t length = strlen(copy);
  json_t *named = json_string(exact); /* results have it in them */
  if (!named) return lb_error(err, -EILSEQ, "results folder %s: the name is not UTF-8", exact);
  json_decref(named);
  while (length > 1 && copy[length - 1] == '/') copy[--length] = '\0';
  char *slash = strrchr(copy, '/');
  if (strlen(slash ? slash + 1 : copy) > 100)
    return lb_error(err, -ENAMETOOLONG, "results folder %s: the name has more than 100 bytes", exact);
  snprintf(dir->id, sizeof dir->id, "%.100s", slash ? slash + 1 : copy);
  if (slash) slash[slash == copy] = '\0';
  int r = absolute_folder(slash ? copy : ".", parent, err);
  if (r < 0) return r;
  sweep(parent);
  snprintf(dir->final, sizeof dir->final, "%.*s/%s", 2800, parent, dir->id);
  snprintf(dir->partial, sizeof dir->partial, "%.*s/.%s.partial", 2800, parent, dir->id);
  return 0;
}

/* It has to be new: results are never added to a folder or written over another run's. Makes the partial folder. */
static int choose_exact(struct lb_rundir *dir, const char *exact, struct lb_error *err) {
  if (access(exact, F_OK) == 0)
    return lb_error(err, -EEXIST, "results folder %s exists already, expected a new name", exact);
  int r = take_path(dir, exact, err);
  if (r < 0) return r;
  if (access(dir->final, F_OK) == 0)
    return lb_error(err, -EEXIST,
                    "results folder %s is that of a run that was killed: expected a new name, or --resume", exact);
  if (mkdir(dir->partial, 0755) == 0) return 0;
  if (errno == EEXIST)
    return lb_error(err, -EEXIST, "results folder %s is being written by another run, expected a new name", exact);
  return fail(-errno, exact, err);
}

/* The same with a name made of time and label. */
static int choose_name(struct lb_rundir *dir, const char *results, const char *label, struct lb_error *err) {
  char parent[PATH_MAX];
  int r = absolute_folder(results, parent, err);
  if (r == 0) sweep(parent);
  for (unsigned attempt = 0; r == 0 && attempt < 100; attempt++) {
    name_run(dir->id, sizeof dir->id, label, attempt);
    snprintf(dir->final, sizeof dir->final, "%.*s/%s", 2800, parent, dir->id);
    snprintf(dir->partial, sizeof dir->partial, "%.*s/.%s.partial", 2800, parent, dir->id);
    /* mkdir is the reservation: of two runs that begin in the same second one takes the next name. */
    if (access(dir->final, F_OK) == 0) continue;
    if (mkdir(dir->partial, 0755) == 0) return 0;
    if (errno != EEXIST) return fail(-errno, dir->partial, err);
  }
  return r < 0 ? r : fail(-EEXIST, parent, err);
}

static const struct lb_rundir closed = {
    .guard_pipe = -1, .alive = -1, .trials_pipe = -1, .trials_gone = -1, .lock = -1};

static int make_folders(const struct lb_rundir *dir) {
  static const char *const folders[] = {"histories", "logs", "parts", "scratch/cache"};
  int r = 0;
  for (size_t i = 0; r == 0 && i < sizeof folders / sizeof *folders; i++) {
    char path[3100];
    snprintf(path, sizeof path, "%s/%s", dir->partial, folders[i]);
    r = lb_files_make_dirs(path);
  }
  return r;
}

/* What both ways of opening have in common, once there is a partial folder. */
static int settle_in(struct lb_rundir *dir, struct lb_error *err) {
  int r = dir->lock = make_lock(dir->partial);
  if (r >= 0) r = make_pipes(dir);
  if (r == 0) r = start_guardian(dir, (struct rescue){NULL, NULL});
  if (r == 0) r = make_folders(dir);
  if (r < 0) {
    fail(r, dir->partial, err);
    lb_rundir_close(dir);
  }
  return r;
}

int lb_rundir_open(struct lb_rundir *dir, const char *results, const char *label, const char *exact,
                   struct lb_error *err) {
  *dir = closed;
  int r = exact ? choose_exact(dir, exact, err) : choose_name(dir, results, label, err);
  if (r < 0) return r;
  if (strlen(dir->partial) > PATH_BYTES_MAX) {
    rmdir(dir->partial);
    return lb_error(err, -ENAMETOOLONG,
                    "cannot write results to %s: the path has %zu bytes, the servers' files need one of at most %d",
                    dir->partial, strlen(dir->partial), PATH_BYTES_MAX);
  }
  return settle_in(dir, err);
}

void lb_rundir_forget_results(const struct lb_rundir *dir) {
  static const char *const results[] = {"report.html", "figures",         "run.json",    "run.json.part",
                                        "trials.csv",  "trials.csv.part", "latency.csv", "latency.csv.part",
                                        "series.csv",  "series.csv.part"};
  remove_below(dir->partial, results, sizeof results / sizeof *results);
}

/* A partial folder that was named itself, while its run goes on. */
static bool is_being_written(const char *folder) {
  char path[3100];
  snprintf(path, sizeof path, "%s/lock", folder);
  int lock = open_locked(path, 0);
  bool held = lock < 0 ? errno == EWOULDBLOCK : !is_of_this_machine(lock);
  if (lock >= 0) close(lock);
  return held;
}

int lb_rundir_reopen(struct lb_rundir *dir, const char *path, struct lb_error *err) {
  *dir = closed;
  int r = take_path(dir, path, err);
  if (r < 0) return r;
  if (access(dir->partial, F_OK) == 0 || is_being_written(dir->final))
    return *dir = closed, lb_error(err, -EBUSY, "%s: is still being written by another process", path);
  r = rename_new(dir->final, dir->partial);
  if (r < 0) return *dir = closed, lb_error(err, -ENOENT, "%s: cannot be opened again: %s", path, strerror(-r));
  return settle_in(dir, err);
}

/* What a resumed run needs goes last: who dies before that loses nothing. */
int lb_rundir_commit(struct lb_rundir *dir, bool whole, struct lb_error *err) {
  static const char *const for_resuming[] = {"resume.json", "resume.bin", "parts"};
  remove_below(dir->partial, temporary, sizeof temporary / sizeof *temporary);
  remove_empty_folders(dir->partial);
  int r = rename_new(dir->partial, dir->final);
  if (r < 0) return fail(r, dir->final, err);
  if (whole) remove_below(dir->final, for_resuming, sizeof for_resuming / sizeof *for_resuming);
  return 0;
}

/* Closing the pipes is what the guardian waits for; waiting for it means that the folder is gone, or has its final name,
 * when this returns. A folder whose guardian could not be started, or was killed, is cleared up here. Its lock is held
 * until then: another tool that wants this name would clear up, too, and make a folder of its own in this place. Where
 * no guardian was started, its lock may be the only descriptor there is, and clearing up takes one. */
void lb_rundir_close(struct lb_rundir *dir) {
  bool guarded = dir->guardian > 0;
  const int fds[] = {dir->guard_pipe, dir->trials_pipe, dir->trials_gone, dir->alive, guarded ? -1 : dir->lock};
  for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
    if (fds[i] >= 0) close(fds[i]);
  bool cleared = wait_for_guardian(dir->guardian);
  if (dir->partial[0] && !cleared) clear_up(dir->partial, dir->final);
  if (guarded && dir->lock >= 0) close(dir->lock);
  *dir = closed;
}
