/* SPDX-License-Identifier: MIT
 *
 * zk_recipe.h - the steps of ZooKeeper's recipe for locks, as many write them down: make a sequential node, list the folder, the lowest
 * number holds, everybody else watches the node just before its own. The care that zk_queue.h takes for ephemeral nodes (whose session
 * is it, does it live) is left out; what that costs depends on the kind of node.
 *
 * An attempt is kept in grant->token, as in zk_queue.h:
 *   ""                   there is none
 *   <dir>/<who>-lock-    it has a name; whether there is a node of it, is not known
 *   the whole path       there was one
 *
 * What `who` is makes two locks:
 *  - a GUID, drawn anew for each attempt. A create that was not answered is looked for by it, in whatever session. That is right for
 *    a node that outlives its session.
 *  - the name of the client. Then whatever node of that name stands in the folder is taken for one's own, also one that an
 *    earlier session of the client made.
 */
#ifndef LB_ZK_RECIPE_H
#define LB_ZK_RECIPE_H

#include "zk_run.h"

/* What `data` points to. */
struct zk_recipe_kind {
  bool ephemeral; /* else the nodes are persistent */
  bool by_client; /* nodes are called after the client, and one that is there is taken over; else after a GUID */
};

/* The body of struct lb_session for these protocols. */
struct lb_session {
  struct zk_run run; /* its root: the folder of the folders of all locks */
  const struct zk_recipe_kind *kind;
  char ahead[ZK_PATH_MAX]; /* the node before that of the latest try; "" = none is known */
};
#define ZK_RECIPE_SESSION_SIZE sizeof(struct lb_session)

/* The hooks of struct lb_protocol, as they are. */
#define ZK_RECIPE_HOOKS                                                                                                 \
  .session_size = ZK_RECIPE_SESSION_SIZE, ZK_RUN_HOOKS, .open = zk_recipe_open, .try_acquire = zk_recipe_try,                   \
  .release = zk_recipe_release, .wait = zk_recipe_wait, .resolve = zk_recipe_resolve, .holds = zk_recipe_holds,                    \
  .inspect = zk_recipe_inspect, .break_lock = zk_recipe_break
/* after-create: the reply has been read, the node stands in the queue, and its place is not known yet. */
extern const char *const zk_recipe_points[];

int zk_recipe_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline);
int zk_recipe_try(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
int zk_recipe_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
int zk_recipe_wait(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
int zk_recipe_resolve(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline);
int zk_recipe_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline);
int zk_recipe_inspect(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline);
int zk_recipe_break(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline);

#endif
