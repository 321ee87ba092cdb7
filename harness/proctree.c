/* SPDX-License-Identifier: MIT
 *
 * Reads parent links from /proc/PID/stat. A process group is not enough to find all of a server: every PostgreSQL process
 * calls setsid(), so a signal to the postmaster's group stops the postmaster and lets its sessions go on serving.
 */
#include "proctree.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static size_t read_all(struct link **ret) {
  size_t count = 0, room = 0;
  *ret = NULL;
  DIR *proc = opendir("/proc");
  for (struct dirent *d; proc && (d = readdir(proc));) {
    if (!isdigit((unsigned char)d->d_name[0])) continue;
    if (count == room) {
      struct link *more = realloc(*ret, (room = room ? room * 2 : 256) * sizeof *more);
      if (!more) break;
      *ret = more;
    }
    if (read_link(d->d_name, &(*ret)[count])) count++;
  }
  if (proc) closedir(proc);
  return count;
}

size_t lb_proctree(pid_t root, pid_t *ret, size_t max) {
  struct link *all;
  size_t links = read_all(&all), found = 0;
  /* Breadth first: `ret` is its own queue. next = 0 looks for the children of root, next = i for those of ret[i - 1]. */
  for (size_t next = 0; next <= found; next++)
    for (size_t i = 0; i < links && found < max; i++)
      if (all[i].parent == (next ? ret[next - 1] : root)) ret[found++] = all[i].pid;
  free(all);
  return found;
}

bool lb_proctree_is_still(pid_t pid) {
  char path[600], state;
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
