/* SPDX-License-Identifier: MIT
 *
 * A lock of ZooKeeper that is one node: who creates it holds, and deletes it to release. Everybody else watches that
 * node. So each release wakes all who wait, one of them creates the node, and the others are refused and watch again:
 * the herd. A refused create is a transaction like any other; the servers agree on it and write it down.
 *
 * Two kinds of node make two locks. An ephemeral one goes with the session that created it. A persistent one stays
 * until it is deleted.
 *
 * Details that matter
 *  - In the node stands the GUID of its attempt. It tells one's own node from that of the next holder, which has the
 *    same path: after a create that was not answered, and before each release, because a deletion compares only the
 *    version of the data, which is 0 in every new node. Between that read and the deletion no other client can have
 *    taken the place: a node goes by its own client's deletion or with its session, and requests of an ended session
 *    are refused. Requests of one session keep their order.
 *  - A deletion that was not answered is not repeated behind the caller's back: by its path it might hit the next
 *    holder's node. So who gets LB_UNKNOWN has to call release() again, and stands in the way of everybody until then.
 *  - The create was committed, so the session lived then; for how long it does, zk_life.h tells. Writes for that go to
 *    the folder of the run: one to the node would wake everybody.
 *
 * zk-ephemeral - one ephemeral node of ZooKeeper, which everybody who waits watches.
 *
 *   acquire:  create /<prefix>/<key> as an ephemeral node; made = held, "exists" = watch it, and create again when it
 *             has gone
 *   release:  delete it, if it is one's own
 *
 * Promises: exclusion as far as the session lives; a fencing token (czxid, the transaction that created the node) that
 * comes with the reply. The servers delete the node of a dead client when its session ends.
 * Assumes: a client stops by itself before its session can have ended, by a leader's clock that runs at about the rate
 * of its own. It knows no more of that than its own answered writes tell (zk_life.h), so `valid_until` is what it is
 * for zk-sequential. Breaks: a holder that is paused or cut off for longer than the session timeout and goes on
 * working; a resource that compares the fencing token refuses it. And the herd: a release wakes all who wait, however
 * many. Each of them sends a create, all but one are refused, and each of those reads the node again to watch it. With
 * 16 clients that is 33 requests for one hand-off where a queue sends four; and the refused creates are transactions:
 * the leader orders them, and a majority writes them to disk before the refusal is told. So the lock becomes slower
 * with every client that waits for it. There is no order of arrival, and a client may starve.
 *
 * Details that matter
 *  - The grant is a write that was committed, not a list that was read: a server that is behind its leader cannot grant
 *    by mistake what zk-sequential's option recipe does.
 *  - A deletion without an answer is not repeated in the background (above), so a client that gives up on its release
 *    blocks the lock for as long as its session lives.
 *
 * Source: ZooKeeper Programmer's Guide, "Ephemeral Nodes" (zookeeper.apache.org/doc/r3.8.0/zookeeperProgrammers.html);
 * the recipes' "Locks" name the herd effect as what they avoid (zookeeper.apache.org/doc/r3.8.0/recipes.html).
 *
 * zk-persistent - one plain node of ZooKeeper, which stays until somebody deletes it.
 *
 *   acquire:  create /<prefix>/<key>; made = held, "exists" = watch it, and create again when it has gone
 *   release:  delete it, if it is one's own
 *
 * Promises: exclusion for as long as only its holder deletes the node. No session, no lease and no clock can take it
 * away: a holder that was paused or cut off for any time still holds. A fencing token (czxid) comes with the reply.
 * Assumes: every client that was granted the lock lives until it has deleted the node. Breaks: a client that dies while
 * it holds. Its node blocks the lock for ever: it is in the log and in the snapshots of a majority, so a restart of the
 * servers brings it back. Somebody has to delete it by hand, and nothing in it tells whether its owner is dead or slow.
 * A create whose answer was lost leaves such a node as well, if its client does not come back to ask. And all who wait
 * watch one node: the herd of zk-ephemeral.
 *
 * Details that matter
 *  - The node is its attempt's, not its session's: the GUID in it is looked for in whatever session the client has by
 *    then.
 *  - What the library says of the connection says nothing of the lock, so there is nothing to be in doubt of (no hook
 *    doubt).
 *
 * Source: ZooKeeper Programmer's Guide, "ZNodes" (zookeeper.apache.org/doc/r3.8.0/zookeeperProgrammers.html): what a
 * create() without flags makes. It is met where an ephemeral node was meant, or was shunned because sessions expired.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "zk_life.h"
#include "zk_name.h"
#include "zk_record.h"
#include "zk_run.h"

struct lb_session {
  struct zk_run run;
  bool ephemeral; /* else the node is persistent */
  struct zk_life life;
  struct lb_confirmed confirmed;
};

/* Beside enum lb_result: the session or the connection changed under a request; connect and look at the situation
 * anew. */
#define AGAIN 100

/* after-create: the reply has been read, the node stands. */
static const char *const points[] = {"after-create", "before-release", NULL};

/* False: the attempt died with an earlier session. One with a persistent node does not. */
static bool is_alive(const struct lb_session *s, const struct lb_grant *grant) {
  return !s->ephemeral || zk_name_is_alive(s->run.zk, grant->token);
}

static void forget(struct lb_grant *grant) { *grant = (struct lb_grant){.asked_at = grant->asked_at}; }

static int path_of(struct lb_session *s, const char *key, char path[ZK_PATH_MAX]) {
  return snprintf(path, ZK_PATH_MAX, "%s/%s", s->run.root, key) < ZK_PATH_MAX
             ? 0
             : lb_fail(s->run.env, -ENAMETOOLONG, "a key of %zu characters does not fit into a node's name",
                       strlen(key));
}

/* ---- asking ---------------------------------------------------------------------------------------------- */

/* Whether the attempt's node is there, by a read behind `before` (a sync or a write; NULL = what the server at hand
 * has, which is at least what this session has been told already). LB_OK, LB_LOST: it is not; AGAIN, LB_UNKNOWN: no
 * answer by the deadline; -errno. */
static int ask_node(struct lb_session *s, const char *path, const struct lb_grant *grant, struct zk_call *before,
                    lb_ns deadline, uint64_t *ret_czxid) {
  struct zk_call *node = zk_get(s->run.zk, path);
  int result, rc = before ? zk_wait(s->run.zk, before, deadline) : ZOK;
  if (rc == ZOK) rc = zk_wait(s->run.zk, node, deadline);
  if (rc == ZOK) result = strcmp(node->names, grant->token) == 0 ? LB_OK : LB_LOST;
  else if (rc == ZNONODE || zk_is_expiry(rc)) result = rc == ZNONODE ? LB_LOST : AGAIN;
  else if (rc == ZK_NO_REPLY) result = LB_UNKNOWN;
  else result = zk_is_unknown(rc) ? AGAIN : zk_fail(s->run.zk, "read the lock's node", rc);
  if (rc == ZOK && ret_czxid) *ret_czxid = (uint64_t)node->stat.czxid;
  zk_drop(before);
  zk_drop(node);
  return result;
}

/* Asks until there is an answer that is read in time to be good for anything. LB_OK, LB_LOST, LB_UNKNOWN, -errno. */
static int confirm(struct lb_session *s, const char *path, const struct lb_grant *grant, bool by_write,
                   lb_ns deadline) {
  int result = AGAIN;
  while (result == AGAIN) {
    result = zk_connect(s->run.zk, deadline);
    if (result) return result == LB_TIMEOUT ? LB_UNKNOWN : result;
    if (!grant->valid_until || !is_alive(s, grant)) return LB_LOST;
    bool connected;
    uint64_t losses = zk_losses(s->run.zk, &connected);
    lb_ns sent = lb_now(s->run.env);
    int rc = by_write ? zk_life_touch(&s->life, s->run.root, deadline) : ZOK;
    if (rc == ZOK) result = ask_node(s, path, grant, by_write ? NULL : zk_sync(s->run.zk, path), deadline, NULL);
    else
      result = rc == ZK_NO_REPLY                       ? LB_UNKNOWN
               : zk_is_unknown(rc) || zk_is_expiry(rc) ? AGAIN
                                                       : zk_fail(s->run.zk, "write to the folder", rc);
    if (result != LB_OK) continue;
    if (s->ephemeral && lb_now(s->run.env) >= sent + zk_life_known(&s->life)->span)
      result = lb_now(s->run.env) < deadline ? AGAIN : LB_UNKNOWN;
    else lb_confirm(&s->confirmed, grant, losses);
  }
  return result;
}

/* ---- acquire --------------------------------------------------------------------------------------------- */

/* Completes the grant of a node that is there. `losses` of the connection before that question left. */
static int granted(struct lb_session *s, struct lb_grant *grant, uint64_t czxid, uint64_t losses, lb_ns deadline) {
  lb_ns until = LB_NEVER;
  if (s->ephemeral) {
    int rc = zk_life_make_sure(&s->life, s->run.root, deadline);
    if (rc != ZOK) return zk_is_expiry(rc) || (rc != ZK_NO_REPLY && zk_is_unknown(rc)) ? AGAIN : LB_UNKNOWN;
    until = zk_life_known(&s->life)->until;
    if (lb_now(s->run.env) >= until) return AGAIN;
  }
  grant->fence = czxid;
  grant->valid_until = until;
  lb_confirm(&s->confirmed, grant, losses);
  return LB_OK;
}

/* It was refused, so nothing of it remains. */
static int refused(struct lb_session *s, struct lb_grant *grant, int rc, lb_ns deadline) {
  forget(grant);
  if (rc == ZNODEEXISTS) return LB_BUSY;
  if (zk_is_expiry(rc)) return AGAIN;
  if (rc != ZNONODE) return zk_fail(s->run.zk, "create the lock's node", rc);
  int result = zk_run_setup(&s->run, deadline);
  return result ? result : AGAIN;
}

static int create(struct lb_session *s, const char *path, struct lb_grant *grant, uint64_t losses, lb_ns deadline) {
  zk_name_guid(s->run.env, s->run.zk, grant->token);
  grant->token_len = strlen(grant->token);
  struct zk_mark mark = zk_life_mark(&s->life);
  struct zk_call *create = zk_create(s->run.zk, path, grant->token, s->ephemeral ? ZOO_EPHEMERAL : ZOO_PERSISTENT);
  int rc = zk_life_await(&s->life, create, mark, deadline);
  uint64_t czxid = rc == ZOK ? (uint64_t)create->stat.czxid : 0;
  zk_drop(create);
  if (rc == ZK_NO_REPLY) return LB_UNKNOWN;
  if (zk_is_unknown(rc)) return AGAIN;
  if (rc != ZOK) return refused(s, grant, rc, deadline);
  lb_point(s->run.env, points[0]);
  return granted(s, grant, czxid, losses, deadline);
}

/* What became of a create that was sent. After a sync: what is not there now will never be. */
static int find(struct lb_session *s, const char *path, struct lb_grant *grant, uint64_t losses, lb_ns deadline) {
  uint64_t czxid = 0;
  int result = is_alive(s, grant) ? ask_node(s, path, grant, zk_sync(s->run.zk, path), deadline, &czxid) : LB_LOST;
  if (result == LB_OK) return granted(s, grant, czxid, losses, deadline);
  if (result != LB_LOST) return result;
  forget(grant);
  return AGAIN;
}

/* Until there is an answer. only_find: nothing new is asked for. */
static int attempt(struct lb_session *s, const char *key, struct lb_grant *grant, bool only_find, lb_ns deadline) {
  char path[ZK_PATH_MAX];
  int result = path_of(s, key, path);
  if (result) return result;
  do {
    if (!grant->token_len && only_find) return LB_BUSY;
    result = zk_connect(s->run.zk, deadline);
    if (result) return grant->token_len ? LB_UNKNOWN : result;
    bool connected;
    uint64_t losses = zk_losses(s->run.zk, &connected);
    if (!grant->asked_at) grant->asked_at = lb_now(s->run.env);
    result = grant->token_len ? find(s, path, grant, losses, deadline) : create(s, path, grant, losses, deadline);
  } while (result == AGAIN);
  return result;
}

static int node_try(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  return attempt(s, lock->key, grant, false, deadline);
}

static int node_resolve(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  return attempt(s, lock->key, grant, true, deadline);
}

/* Everybody watches the same node. Who finds that it has gone tries at once. */
static int node_wait(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char path[ZK_PATH_MAX];
  (void)grant;
  int result = path_of(s, lock->key, path);
  if (!result) result = zk_connect(s->run.zk, deadline);
  return result ? result : zk_await_change(s->run.zk, path, deadline);
}

/* ---- a grant we have, or may have -------------------------------------------------------------------------- */

/* One's own node, and no other. LB_OK, LB_LOST: it is not there; AGAIN, LB_UNKNOWN, -errno. */
static int delete_own(struct lb_session *s, const char *path, const struct lb_grant *grant, lb_ns deadline) {
  int result = ask_node(s, path, grant, grant->valid_until ? NULL : zk_sync(s->run.zk, path), deadline, NULL);
  if (result != LB_OK) return result;
  struct zk_mark mark = zk_life_mark(&s->life);
  struct zk_call *delete = zk_delete(s->run.zk, path);
  int rc = zk_life_await(&s->life, delete, mark, deadline);
  zk_drop(delete);
  if (rc == ZOK || rc == ZNONODE) return rc == ZOK ? LB_OK : LB_LOST;
  if (rc == ZK_NO_REPLY) return LB_UNKNOWN;
  return zk_is_unknown(rc) || zk_is_expiry(rc) ? AGAIN : zk_fail(s->run.zk, "delete the lock's node", rc);
}

static int node_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char path[ZK_PATH_MAX];
  bool must_exist = grant->valid_until != 0;
  int result = path_of(s, lock->key, path);
  lb_point(s->run.env, points[1]);
  if (result || !grant->token_len) return result;
  do {
    result = zk_connect(s->run.zk, deadline);
    if (!result) result = is_alive(s, grant) ? delete_own(s, path, grant, deadline) : LB_LOST;
    if (result != AGAIN) continue;
    must_exist = false; /* its absence may be our own work */
    grant->valid_until = 0;
  } while (result == AGAIN);
  if (result == LB_LOST) return must_exist ? LB_LOST : LB_OK;
  if (result != LB_TIMEOUT && result != LB_UNKNOWN) return result;
  grant->valid_until = 0;
  return LB_UNKNOWN;
}

static int node_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char path[ZK_PATH_MAX];
  int result = path_of(s, lock->key, path);
  if (!result) result = confirm(s, path, grant, true, deadline);
  if (result == LB_OK && !zk_life_lasts(&s->life, zk_life_known(&s->life)->span / 4 * 3))
    result = confirm(s, path, grant, true, deadline);
  if (result != LB_OK) return result;
  lb_ns until = zk_life_known(&s->life)->until;
  if (lb_now(s->run.env) >= until) return LB_UNKNOWN;
  grant->valid_until = until;
  return LB_OK;
}

static int node_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant, lb_ns deadline) {
  char path[ZK_PATH_MAX];
  int result = path_of(s, lock->key, path);
  return result ? result : confirm(s, path, grant, false, deadline);
}

static int node_doubt(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
  (void)lock;
  return zk_life_doubt(&s->life, &s->confirmed, grant, is_alive(s, grant));
}

/* ---- session --------------------------------------------------------------------------------------------- */

static int node_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  *s = (struct lb_session){.ephemeral = config->protocol->traits & LB_TRAIT_SESSION};
  int result = zk_run_open(&s->run, config, deadline);
  s->life = (struct zk_life){.env = s->run.env, .zk = s->run.zk};
  return result;
}

static int node_inspect(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  char path[ZK_PATH_MAX];
  int result = path_of(s, lock->key, path);
  return result ? result : zk_record_inspect(&s->run, endpoint, path, deadline, NULL);
}

static int node_break(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  char path[ZK_PATH_MAX];
  int result = path_of(s, lock->key, path);
  return result ? result : zk_record_break(&s->run, endpoint, path, false, deadline);
}

static const struct lb_proofs proofs = {ZK_RUN_PROOFS, .inspect = node_inspect};

/* extend and doubt are of an ephemeral node. */
#define HOOKS                                                                                                          \
  .points = points, .session_size = sizeof(struct lb_session), ZK_RUN_HOOKS, .open = node_open,                        \
  .try_acquire = node_try, .release = node_release, .wait = node_wait, .resolve = node_resolve, .holds = node_holds,   \
  .proofs = &proofs, .break_lock = node_break

const struct lb_protocol lb_zk_ephemeral = {
    .abi = LB_ABI,
    .name = "zk-ephemeral",
    .summary = "one ephemeral node of ZooKeeper, which everybody who waits watches: the herd",
    .facts = "number=epoch lost=elsewhere frees=session",
    .traits = LB_TRAIT_OWN_THREADS | LB_TRAIT_SESSION | LB_TRAIT_NEEDS_RATE | LB_TRAIT_FENCED | LB_TRAIT_WAKES,
    HOOKS,
    .extend = node_extend,
    .doubt = node_doubt,
};

const struct lb_protocol lb_zk_persistent = {
    .abi = LB_ABI,
    .name = "zk-persistent",
    .summary = "one plain node of ZooKeeper: a dead holder blocks for ever",
    .facts = "number=epoch lost=elsewhere",
    .traits = LB_TRAIT_OWN_THREADS | LB_TRAIT_NO_EXPIRY | LB_TRAIT_FENCED | LB_TRAIT_WAKES,
    HOOKS,
};
