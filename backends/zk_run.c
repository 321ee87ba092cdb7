/* SPDX-License-Identifier: MIT
 *
 * A session of the run, and its folder.
 */
#include "zk_run.h"

#include <errno.h>
#include <stdio.h>

int zk_run_open(const struct lb_config *config, lb_ns deadline, struct zk_session **ret, char root[ZK_PATH_MAX]) {
  const struct lb_target *target = config->target;
  snprintf(root, ZK_PATH_MAX, "/%s", config->prefix);
  int result = zk_open(config->env, target->endpoints, target->count, config->ttl_ms, false, ret);
  if (!result) result = zk_connect(*ret, deadline);
  return result == LB_TIMEOUT ? lb_fail(config->env, -ETIMEDOUT, "no ZooKeeper session in time") : result;
}

int zk_run_setup(struct lb_env *env, struct zk_session *zk, const char *root, lb_ns deadline) {
  int result = zk_connect(zk, deadline);
  int rc = result ? ZK_NO_REPLY : zk_make_path(zk, root, deadline);
  if (result < 0 || rc == ZOK) return result;
  if (rc == ZK_NO_REPLY) return lb_fail(env, -ETIMEDOUT, "cannot create %s in time", root);
  return zk_fail(zk, "create the folder of all locks", rc);
}
