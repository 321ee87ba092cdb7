/* SPDX-License-Identifier: MIT
 *
 * A third of the CPU that an ensemble costs to start goes into loading classes. A JVM can write
 * down what it has loaded when it ends (since Java 13), and another one maps that file. It holds
 * classes, no compiled code, so a server is no faster once it runs.
 *
 * The classes are those of a server that leads an ensemble of one. It runs on the first server's
 * host and ports, before that server does. A member of a larger ensemble loads a few more classes,
 * from the jars as always.
 *
 * A JVM that knows no archives, or none of this kind, leaves no file. An empty one then says that
 * it was tried.
 */
#include "jvm.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "cache.h"

enum { START_MS = 20000, END_MS = 10000, POLL_MS = 20 };

static void archive_path(const struct lb_cluster *cluster, char *buf, size_t size) {
  const struct lb_origin *origin = cluster->topology->origin;
  snprintf(buf, size, "%s/zookeeper%s%s.jsa", cluster->cache_dir, origin ? "-" : "", origin ? origin->name : "");
}

void lb_jvm_archive_option(const struct lb_cluster *cluster, char *buf, size_t size) {
  char path[500];
  struct stat st;
  if (cluster->cache_dir) archive_path(cluster, path, sizeof path);
  if (cluster->cache_dir && stat(path, &st) == 0 && st.st_size > 0)
    snprintf(buf, size, "-XX:SharedArchiveFile=%s", path);
  else snprintf(buf, size, "-Xshare:auto");
}

/* The file is written when the JVM ends by itself, which it does when it is asked to. */
static void end(struct lb_env *env, struct lb_proc *proc) {
  lb_ns deadline = lb_now(env) + END_MS * LB_NS_PER_MS;
  lb_proc_signal(proc, SIGTERM);
  while (lb_proc_alive(proc) && lb_now(env) < deadline) lb_sleep_until(env, lb_now(env) + POLL_MS * LB_NS_PER_MS);
  lb_proc_kill(proc);
}

/* Leaves the archive as classes.jsa in the folder, if the JVM makes one. */
static void train(const struct lb_cluster *cluster, const char *folder, lb_ns deadline, lb_jvm_trainee *start) {
  struct lb_topology alone = *cluster->topology;
  struct lb_cluster trainer;
  char option[560];
  alone.data_count = 1;
  alone.other_count = 0;
  lb_cluster_init(&trainer, &alone, cluster->env);
  struct lb_server *server = &trainer.server[0];
  trainer.ttl_ms = cluster->ttl_ms;
  server->host = cluster->server[0].host;
  server->port = cluster->server[0].port;
  memcpy(server->extra_port, cluster->server[0].extra_port, sizeof server->extra_port);
  snprintf(server->dir, sizeof server->dir, "%s", folder);
  snprintf(server->log, sizeof server->log, "%s/log", folder);
  snprintf(option, sizeof option, "-XX:ArchiveClassesAtExit=%s/classes.jsa", folder);
  if (start(&trainer, option, deadline) == 0) end(cluster->env, &server->proc);
  lb_cluster_stop(&trainer);
}

/* It works in a folder of its own: a rename makes the archive whole or absent. */
static void make(const struct lb_cluster *cluster, const char *path, lb_ns deadline, lb_jvm_trainee *start) {
  char folder[300], classes[320];
  snprintf(folder, sizeof folder, "%.200s/zookeeper-XXXXXX", cluster->cache_dir);
  if (!mkdtemp(folder)) return;
  train(cluster, folder, deadline, start);
  snprintf(classes, sizeof classes, "%s/classes.jsa", folder);
  if (rename(classes, path) < 0) close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  lb_files_remove_tree(folder);
}

/* The lock is taken before looking: who had to wait for it usually finds the archive made. */
void lb_jvm_archive(struct lb_cluster *cluster, lb_ns deadline, lb_jvm_trainee *start) {
  char path[500];
  int lock = -1;
  lb_ns soon = lb_now(cluster->env) + START_MS * LB_NS_PER_MS;
  if (!cluster->cache_dir || lb_cache_lock(cluster, deadline, &lock) < 0) return;
  archive_path(cluster, path, sizeof path);
  if (access(path, F_OK) < 0) make(cluster, path, soon < deadline ? soon : deadline, start);
  close(lock);
}

/* ---- its compilers ----------------------------------------------------------------------------
 *
 * The threads of a JVM have names, and the kernel counts what each of them has run: /proc/PID/task/TID/schedstat, its
 * first number is ns on a processor. */

static bool begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

/* Fifteen characters of the name are all that the kernel keeps. */
static bool compiles(const char *name) { return begins(name, "C1 CompilerThr") || begins(name, "C2 CompilerThr"); }

/* The first line of a small file; "" = there is none, for instance because the thread has ended. */
static void first_line(const char *path, char *buf, int size) {
  FILE *f = fopen(path, "re");
  if (!f || !fgets(buf, size, f)) buf[0] = '\0';
  if (f) fclose(f);
}

int lb_jvm_compiling(pid_t pid, lb_ns *ret) {
  char path[64], line[80];
  *ret = 0;
  snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
  DIR *threads = pid > 0 ? opendir(path) : NULL;
  if (!threads) return -ESRCH;
  for (const struct dirent *e; (e = readdir(threads));) {
    int thread;
    unsigned long long ran;
    if (sscanf(e->d_name, "%d", &thread) != 1) continue;
    snprintf(path, sizeof path, "/proc/%d/task/%d/comm", (int)pid, thread);
    first_line(path, line, sizeof line);
    if (!compiles(line)) continue;
    snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)pid, thread);
    first_line(path, line, sizeof line);
    if (sscanf(line, "%llu", &ran) == 1) *ret += ran;
  }
  closedir(threads);
  return 0;
}
