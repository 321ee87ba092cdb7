/* SPDX-License-Identifier: MIT
 *
 * The families without servers, for protocols that live in the memory of the harness or in the clients. They isolate what
 * the harness itself costs.
 */
#include "family.h"

static int no_version(const struct lb_origin *origin, char *buf, size_t size) {
  (void)origin;
  if (size > 0) buf[0] = '\0';
  return 0;
}

const struct lb_family lb_family_none = {.name = "none", .version = no_version};
/* Members that are not heard of for long enough are taken for dead, and their locks with them. */
const struct lb_family lb_family_members = {
    .name = "client-cluster", .version = no_version, .ends_by = LB_ENDS_BY_MONOTONIC};
