/* SPDX-License-Identifier: MIT
 *
 * The threads of a JVM have names, and the kernel counts what each of them has run:
 * /proc/PID/task/TID/schedstat, its first number is ns on a processor.
 */
#include "jvm.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

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
