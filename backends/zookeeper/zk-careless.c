/* SPDX-License-Identifier: MIT
 *
 * The steps of ZooKeeper's recipe for locks, as many write them down: make a sequential node, list the folder, the
 * lowest number holds, everybody else watches the node just before its own. The care that zk_queue.h takes for
 * ephemeral nodes (whose session is it, does it live) is left out; what that costs depends on the kind of node.
 *
 * An attempt is kept in grant->token, as in zk_queue.h:
 *   ""                   there is none
 *   <dir>/<who>-lock-    it has a name; whether there is a node of it, is not known
 *   the whole path       there was one
 *
 * What `who` is makes two locks:
 *  - a GUID, drawn anew for each attempt. A create that was not answered is looked for by it, in whatever session. That
 *    is right for a node that outlives its session.
 *  - the name of the client. Then whatever node of that name stands in the folder is taken for one's own, also one that
 *    an earlier session of the client made.
 *
 * zk-careless - ZooKeeper's queue of ephemeral sequential nodes, as a careless client stands in it.
 *
 *   acquire:  a node in /<prefix>/<key> called after this client is taken for its own; else create
 *             <client>-lock-<number>. List; the lowest number holds, everybody else watches the node before its own
 *   release:  delete that node
 *
 * Promises: what the recipe does, as long as no client starts anew while its earlier session lives, and no session
 * ends. Assumes: a node that has my name is mine, and will stay.
 * Breaks: it is not, and will not.
 *  - A client that dies and is started again within the session timeout finds its former node and believes that it
 *    holds, or keeps its place. But the node belongs to the session of its former life, which no client keeps up. The
 *    servers end that session and delete the node, the next in the queue is granted the lock, and the first is not
 *    told: its own session is in good health. (CURATOR-498, CURATOR-696 and CURATOR-604 are that mistake; ZooKeeper's
 *    own zoo_lock.c has it for two locks on one handle.)
 *  - Disconnects are ignored. A holder that was cut off for longer than its session timeout goes on working (no hook
 *    doubt), and for all that it knows its hold never ends (`valid_until` is LB_NEVER).
 *  - What a list shows is believed, however old it is (zk_queue.c, option recipe).
 *  - A client that holds and asks for the same lock once more finds the node of its hold, and is granted; the first
 *    release ends both.
 * A resource that compares fencing tokens refuses both, for the node of a session that has ended has the smaller one.
 * But a node that is taken over gives its number a second time, so numbers do not grow with every grant.
 *
 * Details that matter
 *  - holds() asks whether the node is there. It does not compare the owner of the node (ephemeralOwner) with its own
 *    session, which is what would have told it.
 *
 * Source: "Locks" in ZooKeeper Recipes and Solutions (zookeeper.apache.org/doc/r3.8.0/recipes.html) without its note on
 * recoverable errors: the name of the client where that asks for a GUID.
 *
 * zk-persistent-sequential - ZooKeeper's queue of sequential nodes, made of nodes that stay.
 *
 *   acquire:  create /<prefix>/<key>/<guid>-lock-<number>, list; the lowest number holds, everybody else watches the
 *             node before its own
 *   release:  delete one's own node, be it a hold or a place in the queue
 *
 * Promises: exclusion in order of arrival, for as long as only its own client deletes a node. No session, no lease and
 * no clock can take it away. A release wakes one client. A fencing token (czxid) that grows over the whole ensemble.
 * Assumes: every client that has a node in the queue lives until it has deleted it. Breaks: a client that dies, while
 * it holds or while it waits. A queue is only as alive as each of its members: the node of a dead waiter comes first
 * some day, and then no client holds and no client is granted, for ever. That is why the recipe's nodes are ephemeral.
 * A client that ends its session without a release leaves its nodes behind as well, and a restart of the servers brings
 * them back.
 *
 * Details that matter
 *  - The node is its attempt's, not its session's: a client whose session has expired still has its place, and finds it
 *    by the GUID.
 *  - A list may be as old as it likes: nodes before the own one only go, and the own one stays. So a client need not
 *    know whether a session lives, as zk-sequential must; the published steps are enough.
 *  - What the library says of the connection says nothing of the lock (no hook doubt).
 *
 * Source: "Locks" in ZooKeeper Recipes and Solutions (zookeeper.apache.org/doc/r3.8.0/recipes.html), without its flag
 * EPHEMERAL. The same happens to a queue of ephemeral nodes whose client keeps its session up and forgets a node:
 * zk-ruby/zk #49, CURATOR-335, CURATOR-45.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "zk_name.h"
#include "zk_record.h"
#include "zk_run.h"

/* What `data` points to. */
struct kind {
  bool ephemeral; /* else the nodes are persistent */
  bool by_client; /* nodes are called after the client, and one that is there is taken over; else after a GUID */
};

struct lb_session {
  struct zk_run run; /* its root: the folder of the folders of all locks */
  const struct kind *kind;
  char ahead[ZK_PATH_MAX]; /* the node before that of the latest try; "" = none is known */
};

/* Beside enum lb_result: the session, the connection or the folder changed under a request; connect and look at the
 * situation anew. */
#define AGAIN 100

/* after-create: the reply has been read, the node stands in the queue, and its place is not known yet. */
static const char *const points[] = {"after-create", "before-release", NULL};

/* ---- names --------------------------------------------------------------------------------------------- */

static int dir_of(struct lb_session *s, const char *key, char dir[ZK_PATH_MAX]) {
  return zk_name_queue(s->run.env, s->run.root, key, dir);
}

static void name_attempt(struct lb_session *s, const char *dir, struct lb_grant *grant) {
  char guid[ZK_GUID_SIZE];
  zk_name_guid(s->run.env, s->run.zk, guid);
  grant->token_len = (size_t)snprintf(grant->token, sizeof grant->token, "%s/%.32s" ZK_LOCK_MARK, dir,
                                      s->kind->by_client ? s->run.client : guid);
}

static bool has_node(const struct lb_grant *grant) {
  return grant->token_len && grant->token[grant->token_len - 1] != '-';
}

static void take_node(struct lb_grant *grant, const char *path) {
  grant->token_len = (size_t)snprintf(grant->token, sizeof grant->token, "%s", path);
}

static void forget(struct lb_grant *grant) { *grant = (struct lb_grant){.asked_at = grant->asked_at}; }

/* The situation after a result that is neither success nor a missing node. */
static int after(struct lb_session *s, const char *what, int rc) {
  if (rc == ZK_NO_REPLY) return LB_UNKNOWN;
  return zk_is_unknown(rc) || zk_is_expiry(rc) ? AGAIN : zk_fail(s->run.zk, what, rc);
}

/* ---- steps: LB_OK, AGAIN, LB_UNKNOWN, -errno --------------------------------------------------------------- */

static int make_dir(struct lb_session *s, const char *dir, lb_ns deadline) {
  int rc = zk_make_path(s->run.zk, dir, deadline);
  return rc == ZOK ? AGAIN : after(s, "create the lock's folder", rc);
}

/* Step 1: a node at the end of the queue. */
static int join(struct lb_session *s, const char *dir, struct lb_grant *grant, lb_ns deadline) {
  struct zk_call *create = zk_create(s->run.zk, grant->token, s->run.client,
                                     s->kind->ephemeral ? ZOO_EPHEMERAL_SEQUENTIAL : ZOO_PERSISTENT_SEQUENTIAL);
  int rc = zk_wait(s->run.zk, create, deadline);
  int result = rc == ZOK ? LB_OK : rc == ZNONODE ? make_dir(s, dir, deadline) : after(s, "create the lock's node", rc);
  if (rc == ZOK) take_node(grant, create->path);
  zk_drop(create);
  if (rc == ZOK) lb_point(s->run.env, points[0]);
  return result;
}

/* A node of this name, if one is there: it was made by a create that was not answered, or, called after the client, by
 * whatever session of it. ZNONODE, or as above. */
static int find(struct lb_session *s, struct lb_grant *grant, lb_ns deadline) {
  char path[ZK_PATH_MAX];
  int rc = zk_find(s->run.zk, grant->token, deadline, path);
  if (rc == ZOK) take_node(grant, path);
  return rc == ZOK ? LB_OK : rc == ZNONODE ? ZNONODE : after(s, "look for the lock's node", rc);
}

static int enter(struct lb_session *s, const char *dir, struct lb_grant *grant, lb_ns deadline) {
  bool is_new = !grant->token_len;
  if (is_new) name_attempt(s, dir, grant);
  int result = is_new && !s->kind->by_client ? ZNONODE : find(s, grant, deadline);
  return result == ZNONODE ? join(s, dir, grant, deadline) : result;
}

/* Steps 2 and 3: the list, without a watch. Also LB_BUSY. */
static int look(struct lb_session *s, const char *dir, struct lb_grant *grant, lb_ns deadline) {
  const char *ahead = NULL;
  struct zk_call *children = zk_children(s->run.zk, dir);
  int rc = zk_wait(s->run.zk, children, deadline), result = AGAIN;
  bool there = rc == ZOK && zk_name_place(children, strrchr(grant->token, '/') + 1, &ahead);
  s->ahead[0] = '\0';
  if (ahead) snprintf(s->ahead, sizeof s->ahead, "%s/%s", dir, ahead);
  if (there) result = ahead ? LB_BUSY : LB_OK;
  else if (rc == ZOK || rc == ZNONODE) forget(grant);
  else result = after(s, "list the lock's nodes", rc);
  zk_drop(children);
  return result;
}

/* The hold lasts until the node goes, which the client takes for as long as it likes. */
static int granted(struct lb_session *s, struct lb_grant *grant, lb_ns deadline) {
  struct zk_call *node = zk_exists(s->run.zk, grant->token);
  int rc = zk_wait(s->run.zk, node, deadline);
  if (rc == ZOK) grant->fence = (uint64_t)node->stat.czxid;
  if (rc == ZOK) grant->valid_until = LB_NEVER;
  zk_drop(node);
  if (rc == ZNONODE) forget(grant);
  return rc == ZOK ? LB_OK : rc == ZNONODE ? AGAIN : after(s, "read the lock's node", rc);
}

/* ---- hooks ----------------------------------------------------------------------------------------------- */

static int recipe_try(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  char dir[ZK_PATH_MAX];
  int result = dir_of(s, lock->key, dir);
  if (result) return result;
  do {
    result = zk_connect(s->run.zk, deadline);
    if (result) return grant->token_len ? LB_UNKNOWN : result;
    if (!grant->asked_at) grant->asked_at = lb_now(s->run.env);
    result = has_node(grant) ? LB_OK : enter(s, dir, grant, deadline);
    if (result == LB_OK) result = look(s, dir, grant, deadline);
    if (result == LB_OK) result = granted(s, grant, deadline);
  } while (result == AGAIN);
  return result;
}

/* Steps 4 and 5. */
static int recipe_wait(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  (void)lock, (void)grant;
  int result = zk_connect(s->run.zk, deadline);
  return result || !s->ahead[0] ? result : zk_await_change(s->run.zk, s->ahead, deadline);
}

/* Its own node, by the whole path: numbers are given once. LB_OK, LB_LOST: it is not there; AGAIN, LB_UNKNOWN,
 * -errno. */
static int leave(struct lb_session *s, struct lb_grant *grant, lb_ns deadline) {
  int result = has_node(grant) ? LB_OK : find(s, grant, deadline);
  if (result != LB_OK) return result == ZNONODE ? LB_LOST : result;
  int rc = zk_run(s->run.zk, zk_delete(s->run.zk, grant->token), deadline);
  return rc == ZOK ? LB_OK : rc == ZNONODE ? LB_LOST : after(s, "delete the lock's node", rc);
}

static int recipe_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  (void)lock;
  bool must_exist = grant->valid_until != 0;
  int result = LB_OK;
  lb_point(s->run.env, points[1]);
  if (!grant->token_len) return LB_OK;
  do {
    if (result == AGAIN) must_exist = false; /* its absence may be our own work */
    result = zk_connect(s->run.zk, deadline);
    if (!result) result = leave(s, grant, deadline);
  } while (result == AGAIN);
  if (result == LB_LOST) return must_exist ? LB_LOST : LB_OK;
  if (result != LB_TIMEOUT && result != LB_UNKNOWN) return result;
  grant->valid_until = 0;
  return LB_UNKNOWN;
}

/* A place that is not the first is given up: the answer has to be final. */
static int recipe_resolve(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant, lb_ns deadline) {
  if (!grant->token_len) return LB_BUSY;
  int result = recipe_try(s, lock, grant, deadline);
  if (result != LB_BUSY) return result == LB_TIMEOUT ? LB_UNKNOWN : result;
  result = recipe_release(s, lock, grant, deadline);
  if (result == LB_OK) forget(grant);
  return result == LB_OK ? LB_BUSY : result;
}

/* Whether the node is there; whose it is, is not asked. */
static int recipe_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant,
                        lb_ns deadline) {
  (void)lock;
  int result, rc;
  do {
    result = zk_connect(s->run.zk, deadline);
    if (result) return result == LB_TIMEOUT ? LB_UNKNOWN : result;
    if (!has_node(grant) || !grant->valid_until) return LB_LOST;
    struct zk_call *sync = zk_sync(s->run.zk, grant->token), *node = zk_exists(s->run.zk, grant->token);
    rc = zk_wait(s->run.zk, sync, deadline);
    if (rc == ZOK) rc = zk_wait(s->run.zk, node, deadline);
    zk_drop(sync);
    zk_drop(node);
    result = rc == ZOK ? LB_OK : rc == ZNONODE ? LB_LOST : after(s, "ask for the lock's node", rc);
  } while (result == AGAIN);
  return result;
}

static int recipe_open(struct lb_session *s, const struct lb_config *config, lb_ns deadline) {
  *s = (struct lb_session){.kind = config->protocol->data};
  return zk_run_open(&s->run, config, deadline);
}

static int recipe_inspect(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  char dir[ZK_PATH_MAX];
  int children = 0, result = dir_of(s, lock->key, dir);
  if (!result) result = zk_record_inspect(&s->run, endpoint, dir, deadline, &children);
  return result < 0 ? result : children > 0;
}

static int recipe_break(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  char dir[ZK_PATH_MAX];
  int result = dir_of(s, lock->key, dir);
  return result ? result : zk_record_break(&s->run, endpoint, dir, true, deadline);
}

static const struct lb_proofs proofs = {ZK_RUN_PROOFS, .inspect = recipe_inspect};

#define HOOKS                                                                                                          \
  .points = points, .midway = "after-create", .session_size = sizeof(struct lb_session), ZK_RUN_HOOKS,                 \
  .open = recipe_open, .try_acquire = recipe_try, .release = recipe_release, .wait = recipe_wait,                      \
  .resolve = recipe_resolve, .holds = recipe_holds, .proofs = &proofs, .break_lock = recipe_break

static const struct kind careless_kind = {.ephemeral = true, .by_client = true};

const struct lb_protocol lb_zk_careless = {
    .abi = LB_ABI,
    .name = "zk-careless",
    .summary = "ZooKeeper's queue without care: believes a node of its earlier session, ignores disconnects",
    .facts = "number=epoch lost=elsewhere heeds=no believes=read names-end=no reentrant=uncounted",
    .traits = LB_TRAIT_OWN_THREADS | LB_TRAIT_SESSION | LB_TRAIT_NEEDS_RATE | LB_TRAIT_FENCED | LB_TRAIT_FIFO |
              LB_TRAIT_WAKES | LB_TRAIT_QUEUES,
    .flaws =
        (const struct lb_flaw[]){{"a session that holds is refused like anybody else",
                                  "it takes the node of its hold for that of the new attempt, which has the same name"},
                                 {0}},
    HOOKS,
    .data = &careless_kind,
};

static const struct kind persistent_kind = {.ephemeral = false, .by_client = false};

const struct lb_protocol lb_zk_persistent_sequential = {
    .abi = LB_ABI,
    .name = "zk-persistent-sequential",
    .summary = "ZooKeeper's queue made of nodes that stay: a dead waiter blocks all behind it for ever",
    .facts = "number=epoch lost=elsewhere queue=lasting",
    .traits =
        LB_TRAIT_OWN_THREADS | LB_TRAIT_NO_EXPIRY | LB_TRAIT_FENCED | LB_TRAIT_FIFO | LB_TRAIT_WAKES | LB_TRAIT_QUEUES,
    HOOKS,
    .data = &persistent_kind,
};
