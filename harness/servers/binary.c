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

/* The folders of an origin that programs lie in. Images put some right below "/". */
static char *find_below(const char *folder, const char *text) {
  static const char *const places[] = {"usr/local/sbin", "usr/local/bin", "usr/sbin", "usr/bin", "sbin", "bin", "."};
  char *path = NULL;
  if (text[0] == '$') return NULL;
  for (size_t i = 0; !path && i < (text[0] == '/' ? 1 : sizeof places / sizeof *places); i++) {
    char *pattern =
        text[0] == '/' ? lb_need_printed("%s%s", folder, text) : lb_need_printed("%s/%s/%s", folder, places[i], text);
    path = glob_last(pattern);
    free(pattern);
  }
  return path;
}

/* A link in a root may name a file that only the root has. */
static char *find_in_root(const char *folder, const char *text) {
  char *path = find_below(folder, text);
  if (path) memmove(path, path + strlen(folder), strlen(path + strlen(folder)) + 1);
  return path;
}

static char *find_at(const struct lb_origin *origin, const char *text) {
  if (!origin) return find_one(text);
  return origin->is_root ? find_in_root(origin->folder, text) : find_below(origin->folder, text);
}

static char *find_first(const struct lb_origin *origin, const char *need) {
  char *path = NULL;
  while (need && !path) {
    const char *next = strstr(need, " or ");
    char one[256];
    snprintf(one, sizeof one, "%.*s", next ? (int)(next - need) : (int)strlen(need), need);
    path = find_at(origin, one);
    need = next ? next + 4 : NULL;
  }
  return path;
}

char *lb_binary_find(const struct lb_origin *origin, const char *need) {
  char *path = find_first(origin, need);
  return !path && origin && !origin->is_root ? find_first(NULL, need) : path;
}

/* The output goes to a memory file, not through a pipe: lb_proc_run() returns when the command has ended, and a full
 * pipe would stop it before. */
int lb_binary_output(const struct lb_origin *origin, const char *const argv[], const char *argv0, char *buf,
                     size_t size) {
  char log[64], *path = lb_binary_find(origin, argv[0]);
  int fd = path ? memfd_create("output", MFD_CLOEXEC) : -1, r = fd >= 0 ? 0 : path ? -errno : -ENOENT;
  snprintf(log, sizeof log, "/proc/self/fd/%d", fd); /* the child has it too until it becomes the program */
  const struct lb_proc_plan plan = {
      .argv = argv, .path = path, .argv0 = argv0 ? argv0 : path, .log = log, .root = lb_origin_root(origin)};
  if (r == 0) r = lb_proc_run(&plan, OUTPUT_MS, NULL);
  ssize_t n = r < 0 ? 0 : pread(fd, buf, size - 1, 0);
  if (n < 0) r = -errno;
  buf[n > 0 ? n : 0] = '\0';
  if (fd >= 0) close(fd);
  free(path);
  return r < 0 ? r : 0;
}
