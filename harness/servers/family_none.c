/* SPDX-License-Identifier: MIT
 *
 * No servers: for protocols that live in the harness's own memory. It isolates what the harness
 * itself costs.
 */
#include "family.h"

static int version(char *buf, size_t size) {
  if (size > 0) buf[0] = '\0';
  return 0;
}

const struct lb_family lb_family_none = {
    .name = "none",
    .version = version,
};
