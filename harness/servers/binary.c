/* SPDX-License-Identifier: MIT */
#include "binary.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/need.h"
#include "network/proc.h"

#define OUTPUT_MS 10000

/* The last match: of several versions the newest, as long as their numbers have as many digits. */
static char *glob_last(const char *pattern) {
  glob_t found = {0};
  char *path = glob(pattern, 0, NULL, &found) == 0 ? lb_need_text(found.gl_pathv[found.gl_pathc - 1]) : NULL;
  globfree(&found);
  return path;
}

/* "name", "/a/path*" or "$VARIABLE/a/path". */
static char *find_one(const char *text) {
  if (!strchr(text, '/')) return lb_proc_find(text, NULL);
  if (text[0] != '$') return glob_last(text);
  const char *rest = strchr(text, '/');
  char name[64];
  snprintf(name, sizeof name, "%.*s", (int)(rest - text) - 1, text + 1);
  const char *value = getenv(name);
  if (!value || !value[0]) return NULL;
  char *joined = lb_need_printed("%s%s", value, rest), *path = glob_last(joined);
  free(joined);
  return path;
}

char *lb_binary_find(const char *need) {
  char *path = NULL;
  while (need && !path) {
    const char *next = strstr(need, " or ");
    char one[256];
    snprintf(one, sizeof one, "%.*s", next ? (int)(next - need) : (int)strlen(need), need);
    path = find_one(one);
    need = next ? next + 4 : NULL;
  }
  return path;
}

/* The output goes to a memory file, not through a pipe: lb_proc_run() returns when the command has ended, and a full
 * pipe would stop it before. */
int lb_binary_output(const char *const argv[], const char *argv0, char *buf, size_t size) {
  char log[64], *path = lb_binary_find(argv[0]);
  int fd = path ? memfd_create("output", MFD_CLOEXEC) : -1, r = fd >= 0 ? 0 : path ? -errno : -ENOENT;
  snprintf(log, sizeof log, "/proc/self/fd/%d", fd); /* the child has it too until it becomes the program */
  const struct lb_proc_plan plan = {.argv = argv, .path = path, .argv0 = argv0 ? argv0 : path, .log = log};
  if (r == 0) r = lb_proc_run(&plan, OUTPUT_MS, NULL);
  ssize_t n = r < 0 ? 0 : pread(fd, buf, size - 1, 0);
  if (n < 0) r = -errno;
  buf[n > 0 ? n : 0] = '\0';
  if (fd >= 0) close(fd);
  free(path);
  return r < 0 ? r : 0;
}
