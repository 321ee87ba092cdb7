/* SPDX-License-Identifier: MIT
 *
 * zk-sequential - ZooKeeper's queue of ephemeral sequential nodes.
 *
 * An attempt creates /<prefix>/<key>/<guid>-lock-<number>; the servers number the nodes in one order for everybody.
 * Whoever has the lowest number holds the lock. Everybody else watches the node just before its own and nothing more,
 * so a release wakes one client. Nodes are ephemeral: they die with the session of their client.
 *
 * Promises: exclusion as far as the session lives, in order of arrival; a fencing number (czxid, the transaction that
 * created the node) that grows over the whole ensemble and survives fail-over.
 * Assumes: a client stops by itself before its session can have ended. The session is kept alive by the library's own
 * thread, which does not tell when a server last heard of it, so `valid_until` counts 2/3 of the session timeout from the sending of the last
 * own write that was answered: only a leader with a quorum and a living session can commit one. The missing third is
 * what the servers may have heard late: the leader learns of a heartbeat from the server that received it, up to half
 * a tick later, and a heartbeat is due every third of the timeout. extend() moves the point by a write to the own
 * node. A session may outlive `valid_until` by far. And that client and follower do not both fail within a third of the timeout:
 * a write that a follower passes on shows that the session lives, and does not prolong it at the leader, which only the next list
 * of heartbeats from that follower does. Where a client stood still for nearly 2/3 of the timeout, wrote, and its follower was cut
 * off at once, the session may end a third of the timeout after that write, before `valid_until`.
 * Breaks: a holder that is paused or cut off for longer than the session timeout and goes on working, like every
 * lease; a resource that compares the fencing number refuses it. A client that is cut off is told that its connection is
 * lost, and cannot learn whether the session has ended: the servers say it at the next contact.
 *
 * Details that matter
 *  - A place in the queue is never believed from a read alone. Reads are answered by the server at hand, which may be
 *    behind: after a cut between leader and followers the leader ends the sessions it did not hear of, and until a
 *    follower has caught up it still shows the nodes of those sessions, to clients that do not know it either. Such a
 *    client would be granted a lock that others have had since, under a smaller number than theirs. So a waiter that
 *    looks again writes to the key's folder in the same breath: the answer to the list is then no older than a moment
 *    at which the session lived. To the folder, because a write to the own node would wake the next in the queue. The
 *    recipe has no such write; it costs one commit per hand-off, and nothing where nobody waits.
 *  - An answer that comes when the time it could be good for is over, grants and confirms nothing: the server is asked again.
 *  - What becomes of a node whose create or deletion was not answered: zk_queue.h.
 *
 * Source: "Locks" in ZooKeeper Recipes and Solutions, zookeeper.apache.org/doc/r3.8.0/recipes.html.
 */
#include "zk_queue.h"

struct lb_session {
  struct lb_env *env;
  struct zk_queue queue;
};

/* How long after the sending of an answered write the session lives for sure. */
static lb_ns validity(struct lb_session *s) { return zk_timeout_ns(s->queue.zk) / 3 * 2; }

/* ---- acquire ------------------------------------------------------------------------------------------- */

/* Completes the grant. `sent`: when the write left after which the own node was seen to be first; `losses` of the connection
 * until then. ZK_AGAIN: that was too long ago. */
static int granted(struct lb_session *s, struct lb_grant *grant, lb_ns sent, uint64_t losses, lb_ns deadline) {
  uint64_t czxid;
  int result = zk_queue_number(&s->queue, grant, deadline, &czxid);
  if (result != LB_OK) return result;
  if (lb_now(s->env) >= sent + validity(s)) return ZK_AGAIN;
  grant->fence = czxid;
  grant->valid_until = sent + validity(s);
  lb_confirm(&s->queue.confirmed, grant, losses);
  return LB_OK;
}

/* One step of the attempt, from where it stands: into the queue; or to its node, if it is not known whether there is one; or
 * to its place, as it is after a write of this session. */
static int advance(struct lb_session *s, const char *dir, struct lb_grant *grant, lb_ns deadline) {
  bool connected;
  uint64_t losses = zk_losses(s->queue.zk, &connected);
  lb_ns sent = lb_now(s->env);
  int result;
  if (!grant->asked_at) grant->asked_at = sent;
  if (!grant->token_len) result = zk_queue_join(&s->queue, dir, grant, "after-create", deadline);
  else if (!zk_queue_has_node(grant)) result = zk_queue_find(&s->queue, grant, deadline);
  else result = zk_queue_look(&s->queue, dir, grant, true, deadline);
  return result == LB_OK ? granted(s, grant, sent, losses, deadline) : result;
}

static int zk_sequential_try_acquire(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char dir[ZK_PATH_MAX];
  int result = zk_queue_dir(&s->queue, lock->key, dir);
  if (result) return result;
  do {
    result = zk_queue_connect(&s->queue, grant, deadline);
    if (result) return grant->token_len ? LB_UNKNOWN : result;
    result = advance(s, dir, grant, deadline);
  } while (result == ZK_AGAIN);
  return result;
}

/* Until the node just before the own one goes. */
static int zk_sequential_wait(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  (void)lock;
  int result = zk_connect(s->queue.zk, deadline);
  if (result) return result;
  const char *ahead = zk_queue_ahead(&s->queue, grant);
  return ahead ? zk_await_change(s->queue.zk, ahead, deadline) : LB_OK;
}

/* ---- a grant we have, or may have ------------------------------------------------------------------------ */

static int zk_sequential_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  (void)lock;
  lb_point(s->env, "before-release");
  return zk_queue_leave(&s->queue, grant, deadline);
}

/* zk_queue_confirm(), and an answer that is read when the time it could be good for is over is asked for again. LB_UNKNOWN: also,
 * the deadline has come by then. */
static int confirm(struct lb_session *s, const struct lb_grant *grant, bool by_write, lb_ns deadline, lb_ns *ret_sent) {
  for (;;) {
    int result = zk_queue_confirm(&s->queue, grant, by_write, deadline, ret_sent);
    if (result != LB_OK || lb_now(s->env) < *ret_sent + validity(s)) return result;
    if (lb_now(s->env) >= deadline) return LB_UNKNOWN;
  }
}

static int zk_sequential_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  (void)lock; /* the lease is the session, agreed upon when it was opened */
  if (!zk_queue_has_node(grant) || !grant->valid_until) return LB_LOST;
  lb_ns sent;
  int result = confirm(s, grant, true, deadline, &sent);
  if (result == LB_OK) grant->valid_until = sent + validity(s), lb_confirm(&s->queue.confirmed, grant, s->queue.losses);
  return result;
}

static int zk_sequential_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline) {
  (void)lock;
  if (!zk_queue_has_node(grant)) return grant->token_len ? LB_UNKNOWN : LB_LOST;
  lb_ns sent;
  int result = grant->valid_until ? confirm(s, grant, false, deadline, &sent) : LB_LOST;
  if (result == LB_OK) lb_confirm(&s->queue.confirmed, grant, s->queue.losses);
  return result;
}

static int zk_sequential_doubt(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
  (void)lock;
  return zk_queue_doubt(&s->queue, grant);
}

/* A node that turns out to stand in the queue but not first is taken out: the answer must be final. */
static int zk_sequential_resolve(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char dir[ZK_PATH_MAX];
  int result = zk_queue_dir(&s->queue, lock->key, dir);
  if (result) return result;
  do {
    if (!grant->token_len) return LB_BUSY;
    result = LB_BUSY; /* what is about to be deleted is not asked for again */
    if (zk_is_doomed(s->queue.zk, grant->token)) break;
    result = zk_queue_connect(&s->queue, grant, deadline);
    if (result) return result == LB_TIMEOUT ? LB_UNKNOWN : result;
    result = grant->token_len ? advance(s, dir, grant, deadline) : ZK_AGAIN;
  } while (result == ZK_AGAIN);
  if (result != LB_BUSY) return result;
  result = zk_sequential_release(s, lock, grant, deadline);
  if (result != LB_OK) return result;
  zk_queue_forget(grant);
  return LB_BUSY;
}

/* ---- session ------------------------------------------------------------------------------------------- */

static int zk_sequential_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  s->env = config->env;
  return zk_queue_open(&s->queue, config, deadline);
}

static void zk_sequential_close(struct lb_session *s) { zk_queue_close(&s->queue); }

static int zk_sequential_setup(struct lb_session *s, lb_ns deadline) { return zk_queue_setup(&s->queue, deadline); }

static int zk_sequential_teardown(struct lb_session *s, lb_ns deadline) { return zk_queue_teardown(&s->queue, deadline); }

static int zk_sequential_inspect(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  return zk_queue_inspect(&s->queue, lock->key, endpoint, deadline);
}

static int zk_sequential_server(struct lb_session *s) { return zk_server(s->queue.zk); }

static const char *const zk_sequential_topologies[] = {"zk-x3", "zk", NULL};
/* after-create: the reply has been read, the node stands in the queue, and its place is not known yet. */
static const char *const zk_sequential_points[] = {"after-create", "before-release", NULL};

const struct lb_protocol lb_zk_sequential = {
    .abi = LB_ABI,
    .size = sizeof(struct lb_protocol),
    .name = "zk-sequential",
    .summary = "ZooKeeper's queue of ephemeral sequential nodes, each watching the one before",
    .promises = "Mutual exclusion in order of arrival while the holder's session lives, and a fencing number that\n"
                "grows over the whole ensemble. A dead holder is replaced after the session timeout. One client is\n"
                "woken per release; before it holds it writes once, because a read may show ended sessions.",
    .breaks = "A holder that is paused or cut off for longer than its session timeout and goes on working; a resource\n"
              "that compares the fencing number refuses it. No progress without a majority of the servers.",
    .source = "ZooKeeper Recipes and Solutions, \"Locks\" (zookeeper.apache.org/doc/r3.8.0/recipes.html)",
    .topologies = zk_sequential_topologies,
    .traits = LB_TRAIT_SESSION | LB_TRAIT_FENCED | LB_TRAIT_FIFO | LB_TRAIT_WAKES | LB_TRAIT_QUEUES,
    .points = zk_sequential_points,
    .session_size = sizeof(struct lb_session),
    .open = zk_sequential_open,
    .close = zk_sequential_close,
    .try_acquire = zk_sequential_try_acquire,
    .release = zk_sequential_release,
    .setup = zk_sequential_setup,
    .extend = zk_sequential_extend,
    .wait = zk_sequential_wait,
    .resolve = zk_sequential_resolve,
    .holds = zk_sequential_holds,
    .inspect = zk_sequential_inspect,
    .teardown = zk_sequential_teardown,
    .doubt = zk_sequential_doubt,
    .server = zk_sequential_server,
};
