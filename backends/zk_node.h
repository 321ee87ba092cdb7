/* SPDX-License-Identifier: MIT
 *
 * zk_node.h - a lock of ZooKeeper that is one node: who creates it holds, and deletes it to release. Everybody else watches that node. So
 * each release wakes all who wait, one of them creates the node, and the others are refused and watch again: the herd.
 * A refused create is a transaction like any other; the servers agree on it and write it down.
 *
 * Two kinds of node make two locks. An ephemeral one goes with the session that created it. A persistent one stays until it is deleted.
 *
 * Details that matter
 *  - In the node stands the GUID of its attempt. It tells one's own node from that of the next holder, which has the same path: after a
 *    create that was not answered, and before each release, because a deletion cannot compare what it deletes. Between that read and the
 *    deletion nobody else can have taken the place: a node goes by its own client's deletion or with its session, and requests of
 *    an ended session are refused. Requests of one session keep their order.
 *  - A deletion that was not answered is not repeated behind the caller's back: by its path it might hit the next holder's node.
 *    So who gets LB_UNKNOWN has to call release() again, and stands in the way of everybody until then.
 *  - The create was committed, so the session lived then; for how long it does, zk_life.h tells. Writes for that go to the
 *    folder of the run: one to the node would wake everybody.
 */
#ifndef LB_ZK_NODE_H
#define LB_ZK_NODE_H

#include "zk_life.h"
#include "zk_run.h"

/* What `data` points to. */
struct zk_node_kind {
  bool ephemeral; /* else it is persistent */
};

/* The body of struct lb_session for these protocols. */
struct lb_session {
  struct zk_run run;
  bool ephemeral;
  struct zk_life life;
  struct lb_confirmed confirmed;
};
#define ZK_NODE_SESSION_SIZE sizeof(struct lb_session)

/* The hooks of struct lb_protocol, as they are; extend and doubt only for an ephemeral node. */
#define ZK_NODE_HOOKS                                                                                                 \
  .session_size = ZK_NODE_SESSION_SIZE, ZK_RUN_HOOKS, .open = zk_node_open, .try_acquire = zk_node_try,                   \
  .release = zk_node_release, .wait = zk_node_wait, .resolve = zk_node_resolve, .holds = zk_node_holds,                    \
  .inspect = zk_node_inspect, .break_lock = zk_node_break
/* after-create: the reply has been read, the node stands. */
extern const char *const zk_node_points[];

int zk_node_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline);
int zk_node_try(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
int zk_node_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
int zk_node_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
int zk_node_wait(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
int zk_node_resolve(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
int zk_node_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline);
int zk_node_inspect(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline);
int zk_node_break(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline);
int zk_node_doubt(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant);

#endif
