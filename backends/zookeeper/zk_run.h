/* SPDX-License-Identifier: MIT
 *
 * zk_run.h - what a run has on ZooKeeper's servers: one folder below the root, called as the prefix of the run, and the
 * sessions of its clients. Whatever its protocols create stands in that folder. The hooks that do not care what that is
 * are here, too.
 */
#ifndef LB_ZK_RUN_H
#define LB_ZK_RUN_H

#include "zk.h"

struct zk_run { /* one client's side; one thread. What a session of a lock on ZooKeeper begins with */
  struct lb_env *env;
  const struct lb_target *target;
  struct zk_session *zk;
  const char *client;
  int64_t ttl_ms;         /* asked for as the session's timeout */
  char root[ZK_PATH_MAX]; /* folder of all locks: the prefix of the run */
};

/* Opens a session of the config's ttl and waits until it is usable. 0 or -errno (-ETIMEDOUT: no session by the
 * deadline). After an error zk_run_close() is still called. */
int zk_run_open(struct zk_run *run, const struct lb_config *config, lb_ns deadline);
/* Ends the session, and with it every node of this client that is ephemeral. Half-opened is fine. */
void zk_run_close(struct zk_run *run);
/* Creates the folder. LB_OK, LB_TIMEOUT: no session; -errno. */
int zk_run_setup(struct zk_run *run, lb_ns deadline);

/* ZK_RUN_HOOKS and, of the proofs, ZK_RUN_PROOFS: hooks for a struct lb_session whose first member begins with struct
 * zk_run. The last removes the folder and everything below it, also nodes of sessions that live. */
#define ZK_RUN_HOOKS                                                                                                   \
  .topologies = zk_run_topologies, .close = zk_run_hook_close, .setup = zk_run_hook_setup,                             \
  .teardown = zk_run_hook_teardown
#define ZK_RUN_PROOFS .server = zk_run_hook_server, .session_id = zk_run_hook_session_id
extern const char *const zk_run_topologies[];
void zk_run_hook_close(struct lb_session *s);
int zk_run_hook_setup(struct lb_session *s, lb_ns deadline);
int zk_run_hook_teardown(struct lb_session *s, lb_ns deadline);
int zk_run_hook_server(struct lb_session *s);
uint64_t zk_run_hook_session_id(struct lb_session *s, const struct lb_grant *grant);

#endif
