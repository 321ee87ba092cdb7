/* SPDX-License-Identifier: MIT
 *
 * Who has only ./bench can type `./bench report DIR`, but not `lockbench report DIR`.
 */
#include "called.h"

#include <stdlib.h>
#include <string.h>
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
