/* SPDX-License-Identifier: MIT
 *
 * zk_run.h - what a run has on ZooKeeper's servers: one folder below the root, called as the prefix of the run, and the sessions of its
 * clients. Whatever its protocols create stands in that folder.
 */
#ifndef LB_ZK_RUN_H
#define LB_ZK_RUN_H

#include "zk_util.h"

/* Opens a session of the config's ttl and waits until it is usable; `ret_root` is the folder. 0 or -errno (-ETIMEDOUT: no session by the
 * deadline). After an error zk_close(*ret) is still called. */
int zk_run_open(const struct lb_config *config, lb_ns deadline, struct zk_session **ret, char ret_root[ZK_PATH_MAX]);
/* Creates the folder. LB_OK, LB_TIMEOUT: no session; -errno. */
int zk_run_setup(struct lb_env *env, struct zk_session *zk, const char *root, lb_ns deadline);

#endif
