/* SPDX-License-Identifier: MIT
 *
 * This process: the name that it was called by and has, where its files are, and what it forgets of its
 * environment.
 */
#include "called.h"
#include "process.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

const char *lb_called(void) {
  const char *name = getenv("LOCKBENCH_CALLED_AS");
  return name && *name ? name : "lockbench";
}

const char *lb_from_here(const char *path) {
  char here[4096];
  size_t length = getcwd(here, sizeof here) ? strlen(here) : 0;
  return length > 1 && strncmp(path, here, length) == 0 && path[length] == '/' ? path + length + 1 : path;
}

/* What is forgotten: everything libpq reads (PG...), and what a Java virtual machine takes as
 * further arguments. */

void lb_environ_forget(void) {
  static const char *const prefixes[] = {"PG",
                                         "JAVA_TOOL_OPTIONS=", "_JAVA_OPTIONS=", "JDK_JAVA_OPTIONS=", "CLASSPATH="};
  for (size_t i = 0; environ[i];) {
    bool forget = false;
    for (size_t p = 0; p < sizeof prefixes / sizeof *prefixes; p++)
      forget |= strncmp(environ[i], prefixes[p], strlen(prefixes[p])) == 0;
    char name[200];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(environ[i], "="), environ[i]);
    if (!forget || unsetenv(name) < 0) i++; /* what was removed is followed by the next at the same place */
  }
}

/* ./bench sets it, so that a tree that was moved finds its own files. */
const char *lb_root(void) {
  const char *root = getenv("LOCKBENCH_ROOT");
  return root && *root ? root : LB_SOURCE_ROOT;
}

/* The kernel shows what stands in the memory of the original arguments, so that is what gets
 * overwritten. */

static char *space;
static size_t space_size;

void lb_title_init(int argc, char **argv) {
  space = argv[0];
  space_size = (size_t)(argv[argc - 1] + strlen(argv[argc - 1]) + 1 - argv[0]);
}

void lb_title_set(const char *title) {
  prctl(PR_SET_NAME, title);
  if (space_size == 0) return;
  memset(space, 0, space_size);
  size_t n = strlen(title);
  memcpy(space, title, n < space_size - 1 ? n : space_size - 1);
}
