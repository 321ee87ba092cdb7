/* SPDX-License-Identifier: MIT
 *
 * A session of the run and its folder.
 */
#include "zk_run.h"

#include <errno.h>
#include <stdio.h>

int zk_run_open(struct zk_run *run, const struct lb_config *config, lb_ns deadline) {
  const struct lb_target *target = config->target;
  *run = (struct zk_run){.env = config->env, .target = target, .client = config->client, .ttl_ms = config->ttl_ms};
  snprintf(run->root, sizeof run->root, "/%s", config->prefix);
  int result = zk_open(config->env, target->endpoints, target->count, config->ttl_ms, false, &run->zk);
  if (!result) result = zk_connect(run->zk, deadline);
  return result == LB_TIMEOUT ? lb_fail(config->env, -ETIMEDOUT, "no ZooKeeper session in time") : result;
}

void zk_run_close(struct zk_run *run) {
  zk_close(run->zk);
  run->zk = NULL;
}

int zk_run_setup(struct zk_run *run, lb_ns deadline) {
  int result = zk_connect(run->zk, deadline);
  int rc = result ? ZK_NO_REPLY : zk_make_path(run->zk, run->root, deadline);
  if (result < 0 || rc == ZOK) return result;
  if (rc == ZK_NO_REPLY) return lb_fail(run->env, -ETIMEDOUT, "cannot create %s in time", run->root);
  return zk_fail(run->zk, "create the folder of all locks", rc);
}

/* ---- hooks ------------------------------------------------------------------------------------------------- */

const char *const zk_run_topologies[] = {"zk-x3", "zk", NULL};

static struct zk_run *run_of(struct lb_session *s) { return (struct zk_run *)s; }

void zk_run_hook_close(struct lb_session *s) { zk_run_close(run_of(s)); }

int zk_run_hook_setup(struct lb_session *s, lb_ns deadline) { return zk_run_setup(run_of(s), deadline); }

int zk_run_hook_teardown(struct lb_session *s, lb_ns deadline) {
  return zk_remove_tree(run_of(s)->zk, run_of(s)->root, deadline);
}

int zk_run_hook_server(struct lb_session *s) { return zk_server(run_of(s)->zk); }

uint64_t zk_run_hook_session_id(struct lb_session *s, const struct lb_grant *grant) {
  (void)grant;
  return (uint64_t)zk_id(run_of(s)->zk);
}
