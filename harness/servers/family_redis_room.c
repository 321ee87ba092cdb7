/* SPDX-License-Identifier: MIT
 *
 * A Redis whose disk is full: it is written to until its append-only file does not grow any more. One that syncs before it answers ends then; another one refuses.
 */
#include "family_redis.h"

#include <errno.h>
#include <string.h>

enum { TRIES = 8, VALUE_BYTES = 65536 };

int lb_redis_need_room(struct lb_cluster *cluster, size_t index, lb_ns deadline) {
  static char value[VALUE_BYTES + 1];
  int r = 0;
  memset(value, 'x', VALUE_BYTES);
  for (int i = 0; i < TRIES && r == 0; i++) r = LB_REDIS_EXPECT(cluster, index, deadline, NULL, "not written", "SET", "lockbench:room", value);
  return r < 0 && strstr(cluster->env->err, "MISCONF") ? -ENOSPC : r;
}
