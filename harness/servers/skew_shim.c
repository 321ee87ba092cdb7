/* SPDX-License-Identifier: MIT
 *
 * Where the preload library is. A test runs from another folder than the tool, hence several
 * places. The environment that makes a server load it is put together in family_util.c.
 */
#include "skew_shim.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *lb_skew_shim_path(void) { return lb_shim_path(LB_SKEW_SHIM, LB_SKEW_SHIM_VARIABLE); }

const char *lb_shim_path(const char *name, const char *variable) {
  static char path[PATH_MAX + 64];
  static const char *const places[] = {"", "harness/", "../harness/"};
  char exe[PATH_MAX];
  const char *said = getenv(variable);
  if (said && said[0]) return realpath(said, path) && access(path, R_OK) == 0 ? path : NULL;
  ssize_t len = readlink("/proc/self/exe", exe, sizeof exe - 1);
  if (len <= 0) return NULL;
  exe[len] = '\0';
  const char *slash = strrchr(exe, '/');
  for (size_t i = 0; slash && i < sizeof places / sizeof *places; i++) {
    snprintf(path, sizeof path, "%.*s%s%s", (int)(slash + 1 - exe), exe, places[i], name);
    if (access(path, R_OK) == 0) return path;
  }
  return NULL;
}
