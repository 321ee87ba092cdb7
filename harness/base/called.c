/* SPDX-License-Identifier: MIT
 *
 * Who has only ./bench can type `./bench report DIR`, but not `lockbench report DIR`.
 */
#include "called.h"

#include <stdlib.h>

const char *lb_called(void) {
  const char *name = getenv("LOCKBENCH_CALLED_AS");
  return name && *name ? name : "lockbench";
}
