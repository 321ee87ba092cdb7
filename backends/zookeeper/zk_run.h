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

/* ---- names -------------------------------------------------------------------------------------------------
 *
 * An attempt has a GUID, which begins with the id of its session. So it is never taken for one of an earlier session,
 * whose node the servers may not have removed yet (CURATOR-604 is that mistake). A sequential node is called
 * <who>-lock-<number>. The servers number the children of a folder in one order for everybody, so the number alone
 * counts, whatever stands before it. */

#define ZK_LOCK_MARK "-lock-"      /* stands between who and the number */
#define ZK_READ_MARK "-read-lock-" /* of a node whose client wants to read */
enum { ZK_GUID_SIZE = 33 };

/* The folder of a key's queue, below the folder of the run: short enough for the longest name in it. 0, or
 * -ENAMETOOLONG with a text. */
int zk_name_queue(struct lb_env *env, const char *root, const char *key, char ret_dir[ZK_PATH_MAX]);
/* A new GUID, of the session that there is now. */
void zk_guid(struct lb_env *env, struct zk_session *zk, char ret_guid[ZK_GUID_SIZE]);
/* Whether what begins with a GUID is of the session that there is now, and that is not known to be over. */
bool zk_guid_is_alive(struct zk_session *zk, const char *guid);

/* Where the node `own` (its last part) stands in an answered list. False: it is not there. *ret_ahead: the one just
 * before it that it has to wait for, NULL = none. Nobody who reads waits for others who do. Valid as long as the list. */
bool zk_find_place(const struct zk_call *children, const char *own, const char **ret_ahead);

/* ---- one server ------------------------------------------------------------------------------------------- */

/* For the hook inspect: whether one server shows this node, over a session of its own, because only a server that takes
 * one shows its tree. Without a quorum it takes none, unless it runs with readonlymode.enabled. *ret_children (may be
 * NULL): how many nodes are below it, if it is there. 1, 0, -errno. */
int zk_inspect(const struct zk_run *run, size_t endpoint, const char *path, lb_ns deadline, int *ret_children);
/* For the hook break_lock: deletes that node, or with `queue` the first of those below it, over a session of its own to
 * one server. 1, 0, -errno. */
int zk_break(const struct zk_run *run, size_t endpoint, const char *path, bool queue, lb_ns deadline);

#endif
