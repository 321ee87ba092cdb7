/* SPDX-License-Identifier: MIT
 *
 * Memory that has to be there. The line goes to stderr without stdio, which may want memory itself.
 */

#include "need.h"

#include <stdlib.h>
#include <unistd.h>

void *lb_need(void *memory) {
  static const char line[] = "lockbench: out of memory\n";
  if (memory) return memory;
  (void)!write(STDERR_FILENO, line, sizeof line - 1);
  _exit(1);
}

void *lb_need_one_more(void *array, size_t count, size_t size) {
  if (count & (count - 1)) return array;
  return lb_need(realloc(array, (count ? 2 * count : 1) * size));
}
