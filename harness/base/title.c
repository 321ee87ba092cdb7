/* SPDX-License-Identifier: MIT
 *
 * The kernel shows what stands in the memory of the original arguments, so that is what gets
 * overwritten.
 */
#include "title.h"

#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>

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
