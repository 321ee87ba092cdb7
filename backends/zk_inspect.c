/* SPDX-License-Identifier: MIT
 *
 * For the hook inspect: what one server shows, over a session of its own.
 */
#include <errno.h>

#include "zk_util.h"

static int look(struct zk_session *zk, const char *path, lb_ns deadline, int *ret_children) {
  struct zk_call *node = zk_exists(zk, path);
  int rc = zk_wait(zk, node, deadline);
  if (rc == ZOK && ret_children) *ret_children = node->stat.numChildren;
  zk_drop(node);
  if (rc == ZOK || rc == ZNONODE) return rc == ZOK;
  return rc == ZK_NO_REPLY ? -ETIMEDOUT : zk_fail(zk, "look at the lock's node", rc);
}

int zk_inspect(struct lb_env *env, const struct lb_target *target, size_t endpoint, int64_t ttl_ms, const char *path, lb_ns deadline,
               int *ret_children) {
  struct zk_session *zk = NULL;
  if (endpoint >= target->count) return lb_fail(env, -EINVAL, "there is no server %zu", endpoint + 1);
  int result = zk_open(env, &target->endpoints[endpoint], 1, ttl_ms, true, &zk);
  if (!result) result = zk_connect(zk, deadline);
  if (result == LB_TIMEOUT) result = -ETIMEDOUT;
  if (!result) result = look(zk, path, deadline, ret_children);
  zk_close(zk);
  return result == -ETIMEDOUT ? lb_fail(env, -ETIMEDOUT, "no answer from server %zu in time", endpoint + 1) : result;
}
