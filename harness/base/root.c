/* SPDX-License-Identifier: MIT
 *
 * ./bench sets LOCKBENCH_ROOT, so that a tree that was moved finds its own files.
 */
#include "root.h"

#include <stdlib.h>

const char *lb_root(void) {
  const char *root = getenv("LOCKBENCH_ROOT");
  return root && *root ? root : LB_SOURCE_ROOT;
}
