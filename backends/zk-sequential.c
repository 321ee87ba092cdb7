/* SPDX-License-Identifier: MIT
 *
 * zk-sequential - ZooKeeper's queue of ephemeral sequential nodes.
 *
 * An attempt creates <root>/<key>/<guid>-lock-<number>; the servers number the nodes in one order for everybody.
 * Whoever has the lowest number holds the lock. Everybody else watches the node just before its own and nothing more,
 * so a release wakes one client. Nodes are ephemeral: they die with the session of their client.
 *
 * Promises: exclusion as far as the session lives, in order of arrival; a fencing number (czxid, the transaction that
 * created the node) that grows over the whole ensemble and survives fail-over.
 * Assumes: a client stops by itself before its session can have ended. The session is kept alive by the library's own
 * thread, which says nothing of it, so `valid_until` counts 2/3 of the session timeout from the sending of the last
 * own write that was answered: only a leader with a quorum and a living session can commit one. The missing third is
 * what the servers may have heard late: the leader learns of a heartbeat from the server that received it, up to half
 * a tick later, and a heartbeat is due every third of the timeout. extend() moves the point by a write to the own
 * node. A session may outlive `valid_until` by far.
 * Breaks: a holder that is paused or cut off for longer than the session timeout and goes on working, like every
 * lease; only the fencing number helps. A suspended client cannot learn of its expiry: the servers say it at the next
 * contact.
 *
 * Details that matter
 *  - An answer may get lost after the node was made. The guid finds it again, after a sync and in the same session:
 *    then "not there" means it never will be, because a session's requests keep their order and a server that lost
 *    the session to another may not write for it any more.
 *  - The guid begins with the session's id. So a node of an earlier session that the servers have not removed yet is
 *    never taken for one's own (CURATOR-604 is that mistake).
 *  - A place in the queue is never believed from a read alone. Reads are answered by the server at hand, which may be
 *    behind: after a cut between leader and followers the leader ends the sessions it did not hear of, and until a
 *    follower has caught up it still shows the nodes of those sessions, to clients that do not know it either. Such a
 *    client would be granted a lock that others have had since, under a smaller number than theirs. So a waiter that
 *    looks again writes to the key's folder in the same breath: the answer to the list is then no older than a moment
 *    at which the session lived. To the folder, because a write to the own node would wake the next in the queue. The
 *    recipe has no such write; it costs one commit per hand-off, and nothing where nobody waits.
 *  - An answer that comes when the time it could be good for is over, grants nothing: the place is asked for again.
 *  - The predecessor is watched by a read, not by exists(): a watch on a node that has just gone would stay behind.
 *  - A node whose deletion was not answered is remembered and deleted at the next contact: left in the queue it would
 *    block it.
 *
 * Source: "Locks" in ZooKeeper Recipes and Solutions, zookeeper.apache.org/doc/r3.8.0/recipes.html.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "backend.h"
#include "zk_util.h"

#define ROOT "/lockbench"
/* Inside this file: the session or the connection changed under a request; look at the situation anew. */
#define AGAIN 100

struct lb_session {
  struct lb_env *env;
  const struct lb_target *target;
  const char *client;
  int64_t ttl_ms;
  struct zk_session *zk;
  struct { /* what is known about the latest attempt, to spare round trips */
    char own[ZK_PATH_MAX], ahead[ZK_PATH_MAX];
    uint64_t czxid;
  } place;
};

/* ---- names --------------------------------------------------------------------------------------------- */

static int dir_of(struct lb_session *s, const char *key, char dir[ZK_PATH_MAX]) {
  size_t room = ZK_PATH_MAX - sizeof "/0123456789abcdef0123456789abcdef" ZK_LOCK_MARK "-2147483648";
  return (size_t)snprintf(dir, ZK_PATH_MAX, ROOT "/%s", key) < room
             ? 0
             : lb_fail(s->env, -ENAMETOOLONG, "a key of %zu characters does not fit into a node's name", strlen(key));
}

static void name_attempt(struct lb_session *s, const char *dir, struct lb_grant *grant) {
  uint64_t random;
  lb_random(s->env, &random, sizeof random);
  grant->token_len = (size_t)snprintf(grant->token, sizeof grant->token, "%s/%016" PRIx64 "%016" PRIx64 ZK_LOCK_MARK,
                                      dir, (uint64_t)zk_id(s->zk), random);
}

static void forget(struct lb_grant *grant) {
  lb_ns asked_at = grant->asked_at;
  *grant = (struct lb_grant){.asked_at = asked_at};
}

/* Without a number the name is only what a node would be called, if there is one. */
static bool has_node(const struct lb_grant *grant) {
  return grant->token_len && grant->token[grant->token_len - 1] != '-';
}

/* False: the attempt died with an earlier session. */
static bool is_alive(struct lb_session *s, const struct lb_grant *grant) {
  char id[17];
  snprintf(id, sizeof id, "%016" PRIx64, (uint64_t)zk_id(s->zk));
  return !zk_expired(s->zk) && strncmp(strrchr(grant->token, '/') + 1, id, sizeof id - 1) == 0;
}

/* ---- the queue ----------------------------------------------------------------------------------------- */

/* The situation after a result that is neither success nor a missing node. */
static int after(struct lb_session *s, struct lb_grant *grant, const char *what, int rc) {
  if (rc == ZK_NO_REPLY) return LB_UNKNOWN;
  if (zk_is_unknown(rc) || zk_is_expiry(rc)) return AGAIN;
  if (has_node(grant)) zk_doom(s->zk, grant->token);
  forget(grant);
  return zk_fail(s->zk, what, rc);
}

/* czxid 0: not known yet. */
static void note_place(struct lb_session *s, const struct lb_grant *grant, uint64_t czxid) {
  memcpy(s->place.own, grant->token, sizeof s->place.own);
  s->place.ahead[0] = '\0';
  s->place.czxid = czxid;
}

static void take_node(struct lb_session *s, struct lb_grant *grant, const char *path, uint64_t czxid) {
  grant->token_len = (size_t)snprintf(grant->token, sizeof grant->token, "%s", path);
  note_place(s, grant, czxid);
}

/* LB_OK: first in the queue. LB_BUSY: the node before the own one is noted. AGAIN: the own node has gone. */
static int judge(struct lb_session *s, const char *dir, struct lb_grant *grant, const struct zk_call *children) {
  const char *ahead;
  if (!zk_place(children, strrchr(grant->token, '/') + 1, &ahead)) {
    forget(grant);
    return AGAIN;
  }
  if (strcmp(s->place.own, grant->token) != 0) note_place(s, grant, 0);
  if (ahead) snprintf(s->place.ahead, sizeof s->place.ahead, "%s/%s", dir, ahead);
  return ahead ? LB_BUSY : LB_OK;
}

static lb_ns validity(struct lb_session *s) { return zk_timeout_ns(s->zk) / 3 * 2; }

/* Completes the grant. `sent`: when the write left after which the own node was seen to be first. AGAIN: that was too
 * long ago. */
static int granted(struct lb_session *s, struct lb_grant *grant, lb_ns sent, lb_ns deadline) {
  if (!s->place.czxid) {
    struct zk_call *exists = zk_exists(s->zk, grant->token);
    int rc = zk_wait(s->zk, exists, deadline);
    if (rc == ZOK) s->place.czxid = (uint64_t)exists->stat.czxid;
    zk_drop(exists);
    if (rc == ZNONODE) return AGAIN;
    if (rc != ZOK) return after(s, grant, "read the lock's node", rc);
  }
  if (lb_now(s->env) >= sent + validity(s)) return AGAIN;
  grant->fence = s->place.czxid;
  grant->valid_until = sent + validity(s);
  return LB_OK;
}

/* A new node at the end of the queue. The list of children is asked for in the same breath: it will contain the node.
 */
static int join(struct lb_session *s, const char *dir, struct lb_grant *grant, lb_ns deadline) {
  lb_ns sent = lb_now(s->env);
  if (!grant->asked_at) grant->asked_at = sent;
  name_attempt(s, dir, grant);
  struct zk_call *create = zk_create(s->zk, grant->token, s->client, ZOO_EPHEMERAL_SEQUENTIAL);
  struct zk_call *children = zk_children(s->zk, dir);
  int result, rc = zk_wait(s->zk, create, deadline);
  if (rc == ZNONODE) {
    forget(grant);
    rc = zk_make_path(s->zk, dir, deadline);
    result = rc == ZOK ? AGAIN : rc == ZK_NO_REPLY ? LB_TIMEOUT : after(s, grant, "create the lock's folder", rc);
  } else if (rc != ZOK) {
    result = after(s, grant, "create the lock's node", rc);
  } else {
    take_node(s, grant, create->path, (uint64_t)create->stat.czxid);
    lb_point(s->env, "after-create");
    rc = zk_wait(s->zk, children, deadline);
    result = rc == ZOK ? judge(s, dir, grant, children) : after(s, grant, "list the lock's nodes", rc);
  }
  zk_drop(create);
  zk_drop(children);
  return result == LB_OK ? granted(s, grant, sent, deadline) : result;
}

/* The place of a node that exists, as it is after a write of this session. */
static int look(struct lb_session *s, const char *dir, struct lb_grant *grant, lb_ns deadline) {
  lb_ns sent = lb_now(s->env);
  struct zk_call *write = zk_set(s->zk, dir, "");
  struct zk_call *children = zk_children(s->zk, dir);
  int rc = zk_wait(s->zk, write, deadline);
  if (rc == ZOK) rc = zk_wait(s->zk, children, deadline);
  if (rc == ZNONODE) forget(grant);
  int result = rc == ZOK       ? judge(s, dir, grant, children)
               : rc == ZNONODE ? AGAIN
                               : after(s, grant, "list the lock's nodes", rc);
  zk_drop(write);
  zk_drop(children);
  return result == LB_OK ? granted(s, grant, sent, deadline) : result;
}

/* The node of an attempt whose create was not answered: AGAIN, with its name known or the attempt forgotten. */
static int find(struct lb_session *s, struct lb_grant *grant, lb_ns deadline) {
  char path[ZK_PATH_MAX];
  int rc = zk_find(s->zk, grant->token, deadline, path);
  if (rc != ZOK && rc != ZNONODE) return after(s, grant, "look for the lock's node", rc);
  if (rc == ZOK) take_node(s, grant, path, 0);
  else forget(grant);
  return AGAIN;
}

/* ---- hooks --------------------------------------------------------------------------------------------- */

static int zk_sequential_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  *s = (struct lb_session){
      .env = config->env, .target = config->target, .client = config->client, .ttl_ms = config->ttl_ms};
  int result = zk_open(s->env, s->target->endpoints, s->target->count, s->ttl_ms, false, &s->zk);
  if (!result) result = zk_connect(s->zk, deadline);
  return result == LB_TIMEOUT ? lb_fail(s->env, -ETIMEDOUT, "no ZooKeeper session in time") : result;
}

static void zk_sequential_close(struct lb_session *s) {
  zk_close(s->zk);
  s->zk = NULL;
}

static int zk_sequential_setup(struct lb_session *s, lb_ns deadline) {
  int result = zk_connect(s->zk, deadline);
  int rc = result ? ZK_NO_REPLY : zk_make_path(s->zk, ROOT, deadline);
  if (result < 0 || rc == ZOK) return result;
  return rc == ZK_NO_REPLY ? lb_fail(s->env, -ETIMEDOUT, "cannot create " ROOT " in time")
                           : zk_fail(s->zk, "create " ROOT, rc);
}

static int zk_sequential_try_acquire(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char dir[ZK_PATH_MAX];
  int result = dir_of(s, lock->key, dir);
  if (result) return result;
  do {
    result = zk_connect(s->zk, deadline);
    if (result) return grant->token_len ? LB_UNKNOWN : result;
    if (grant->token_len && !is_alive(s, grant)) forget(grant);
    if (!grant->token_len) result = join(s, dir, grant, deadline);
    else if (!has_node(grant)) result = find(s, grant, deadline);
    else result = look(s, dir, grant, deadline);
  } while (result == AGAIN);
  return result;
}

/* Once: ZOK, ZNONODE or any other result. */
static int delete_own(struct lb_session *s, struct lb_grant *grant, lb_ns deadline) {
  char path[ZK_PATH_MAX];
  memcpy(path, grant->token, sizeof path);
  int rc = has_node(grant) ? ZOK : zk_find(s->zk, grant->token, deadline, path);
  return rc == ZOK ? zk_run(s->zk, zk_delete(s->zk, path), deadline) : rc;
}

/* `valid_until` tells a hold from a place in the queue. It is cleared when a deletion stays unanswered: the node's
 * absence is then our own work and no loss. */
static int zk_sequential_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  (void)lock;
  bool must_exist = grant->valid_until != 0;
  lb_point(s->env, "before-release");
  if (!grant->token_len) return LB_OK;
  while (is_alive(s, grant)) {
    int result = zk_connect(s->zk, deadline);
    int rc = result ? ZK_NO_REPLY : is_alive(s, grant) ? delete_own(s, grant, deadline) : ZSESSIONEXPIRED;
    if (rc == ZOK) return LB_OK;
    if (rc == ZNONODE || zk_is_expiry(rc)) break;
    if (!zk_is_unknown(rc)) return zk_fail(s->zk, "delete the lock's node", rc);
    if (rc == ZK_NO_REPLY) {
      zk_doom(s->zk, grant->token);
      grant->valid_until = 0;
      return result < 0 ? result : LB_UNKNOWN;
    }
    must_exist = false;
  }
  return must_exist ? LB_LOST : LB_OK;
}

/* One question whether the node is there and belongs to this session: a write, or a read that is as fresh as one. */
static int ask(struct lb_session *s, const struct lb_grant *grant, bool by_write, lb_ns deadline) {
  struct zk_call *sync = by_write ? NULL : zk_sync(s->zk, grant->token);
  struct zk_call *call = by_write ? zk_set(s->zk, grant->token, s->client) : zk_exists(s->zk, grant->token);
  int result, rc = by_write ? ZOK : zk_wait(s->zk, sync, deadline);
  if (rc == ZOK) rc = zk_wait(s->zk, call, deadline);
  if (rc == ZOK) result = call->stat.ephemeralOwner == zk_id(s->zk) ? LB_OK : LB_LOST;
  else if (rc == ZNONODE || zk_is_expiry(rc)) result = LB_LOST;
  else if (rc == ZK_NO_REPLY) result = LB_UNKNOWN;
  else result = zk_is_unknown(rc) ? AGAIN : zk_fail(s->zk, "ask for the lock's node", rc);
  zk_drop(sync);
  zk_drop(call);
  return result;
}

/* Asks until there is an answer; *ret_sent is when the answered question left. */
static int confirm(struct lb_session *s, const struct lb_grant *grant, bool by_write, lb_ns deadline, lb_ns *ret_sent) {
  int result = AGAIN;
  while (result == AGAIN && is_alive(s, grant)) {
    result = zk_connect(s->zk, deadline);
    if (result) return result == LB_TIMEOUT ? LB_UNKNOWN : result;
    *ret_sent = lb_now(s->env);
    result = is_alive(s, grant) ? ask(s, grant, by_write, deadline) : LB_LOST;
  }
  return result == AGAIN ? LB_LOST : result;
}

static int zk_sequential_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  (void)lock;
  if (!has_node(grant) || !grant->valid_until) return LB_LOST;
  lb_ns sent;
  int result = confirm(s, grant, true, deadline, &sent);
  if (result == LB_OK) grant->valid_until = sent + validity(s);
  return result;
}

static int zk_sequential_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline) {
  (void)lock;
  if (!has_node(grant)) return grant->token_len ? LB_UNKNOWN : LB_LOST;
  lb_ns sent;
  return grant->valid_until ? confirm(s, grant, false, deadline, &sent) : LB_LOST;
}

/* A lost event must not cost more than a session timeout, hence the bound. */
static int zk_sequential_wait(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  (void)lock;
  int result = zk_connect(s->zk, deadline);
  if (result) return result;
  bool known = grant->token_len && strcmp(grant->token, s->place.own) == 0 && s->place.ahead[0];
  if (!known || !is_alive(s, grant)) return LB_OK;
  int rc = zk_run(s->zk, zk_watch(s->zk, s->place.ahead), deadline);
  if (rc == ZK_NO_REPLY) return LB_TIMEOUT;
  if (rc != ZOK) return rc == ZNONODE || zk_is_unknown(rc) || zk_is_expiry(rc) ? LB_OK : zk_fail(s->zk, "watch", rc);
  lb_ns bound = lb_now(s->env) + zk_timeout_ns(s->zk);
  result = zk_wait_event(s->zk, bound < deadline ? bound : deadline);
  return result == LB_TIMEOUT && bound < deadline ? LB_OK : result;
}

/* A node that turns out to stand in the queue but not first is taken out: the answer must be final. */
static int zk_sequential_resolve(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char dir[ZK_PATH_MAX];
  int result = dir_of(s, lock->key, dir);
  if (result) return result;
  do {
    if (!grant->token_len) return LB_BUSY;
    result = zk_connect(s->zk, deadline);
    if (result) return result == LB_TIMEOUT ? LB_UNKNOWN : result;
    if (!is_alive(s, grant)) forget(grant), result = AGAIN;
    else result = has_node(grant) ? look(s, dir, grant, deadline) : find(s, grant, deadline);
  } while (result == AGAIN);
  if (result != LB_BUSY) return result;
  result = zk_sequential_release(s, lock, grant, deadline);
  if (result != LB_OK) return result;
  forget(grant);
  return LB_BUSY;
}

/* A session of its own, because only a server that takes one shows its tree. Without a quorum it takes none, unless
 * it runs with readonlymode.enabled. */
static int zk_sequential_inspect(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  char dir[ZK_PATH_MAX];
  struct zk_session *zk = NULL;
  if (endpoint >= s->target->count) return lb_fail(s->env, -EINVAL, "there is no server %zu", endpoint + 1);
  int result = dir_of(s, lock->key, dir);
  if (!result) result = zk_open(s->env, &s->target->endpoints[endpoint], 1, s->ttl_ms, true, &zk);
  if (!result) result = zk_connect(zk, deadline);
  if (!result) {
    struct zk_call *children = zk_children(zk, dir);
    int rc = zk_wait(zk, children, deadline);
    if (rc == ZOK || rc == ZNONODE) result = rc == ZOK && children->count > 0;
    else result = rc == ZK_NO_REPLY ? LB_TIMEOUT : zk_fail(zk, "list the lock's nodes", rc);
    zk_drop(children);
  }
  zk_close(zk);
  return result == LB_TIMEOUT ? lb_fail(s->env, -ETIMEDOUT, "no answer from server %zu in time", endpoint + 1) : result;
}

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
    .breaks = "A holder that is paused or cut off for longer than its session timeout and goes on working; fencing\n"
              "catches it. No progress without a majority of the servers.",
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
};
