/* SPDX-License-Identifier: MIT
 *
 * zk-sequential - ZooKeeper's queue of ephemeral sequential nodes.
 *
 * An attempt creates /<prefix>/<key>/<guid>-lock-<number>; the servers number the nodes in one order for everybody.
 * The client with the lowest number holds the lock. Everybody else watches the node just before its own and nothing
 * more, so a release wakes one client; and writes to the folder about ten times per session timeout, to know that it
 * lives. Nodes are ephemeral: they die with the session of their client.
 *
 * Promises: exclusion as far as the session lives, in order of arrival; a fencing token (czxid, the transaction that
 * created the node) that grows over the whole ensemble, and over a fail-over: its upper half is the leader's epoch.
 * Assumes: a client stops by itself before its session can have ended; and the leader's clock, which ends sessions,
 * runs at about the rate of the client's. The session is kept alive by the library's own
 * thread, which does not tell when a leader last heard of it. What can be known of that stands in zk_alive.h, and
 * `valid_until` is no more than that: 5/12 of the session timeout T after the sending of an answered write, once a
 * later one was answered as well; or T after it, once two later ones were, the first of them T/4 after its answer.
 * (So minSessionTimeout is assumed to be two ticks or more, and, of two quick writes, that what was sent before them
 * had reached the server.)
 * extend() moves the point by writes to the folder. A session may outlive `valid_until` by far. Breaks: a leader whose
 * clock runs twice as fast, while the follower of the holder stands still: half a session is a whole one to it (rarely:
 * mostly the holder knew of half a session only). A holder that is paused or cut off for longer than the session
 * timeout and goes on working, like every lease; a resource that compares the fencing token refuses it. A client that
 * is cut off is told that its connection is lost, and cannot learn whether the session has ended: the servers say it at
 * the next contact. A majority that forgets an election gives its epoch again, and so a token. And anybody who writes to
 * a node of the queue from outside (zk_queue.h): a waiter takes that for a release.
 *
 * What a list shows may be old. It is believed, whatever its age, while it is known that the session lives: the code below
 * says why that is enough. So a hand-off is one commit, the deletion, and one event, and a read where the holder had been
 * alone when it was granted the lock.
 *
 * With the option `recipe` the steps are those of the source below and nothing else: create, list without a watch, the
 * first holds, exists with a watch on the one before, wait for its event, list again. (Create and list are sent in one
 * breath; a session's requests are answered in order.) That is not safe. A follower to which the leader's stream is
 * late by more than a session, and by less than what would make it leave (syncLimit ticks), still lists the nodes of
 * sessions that the leader has ended, to clients that do not know it either: their library says "connected". The
 * recipe's waiter then holds a lock that others have had since, under a smaller czxid than theirs. The recipe asks for
 * no answer's age. So its grants are trusted here, as clients do, until the library would leave a silent server: for
 * 2/3 of the session timeout after the answer was read.
 *
 * Details that matter
 *  - An answer that comes when the time it could be good for is over, grants and confirms nothing: the server is asked
 *    again.
 *  - What becomes of a node whose create or deletion was not answered: zk_queue.h.
 *
 * Source: "Locks" in ZooKeeper Recipes and Solutions, zookeeper.apache.org/doc/r3.8.0/recipes.html.
 *
 * zk-rw - zk-sequential with readers, whose nodes have another name.
 *
 * Promises: what zk-sequential promises, of writers; readers hold together. A reader waits for the last writer before
 * it, a writer for whatever stands before it. So neither starves: the order of arrival counts. Breaks: with what
 * breaks zk-sequential, but for writes from outside: who waits looks at the list. A node that goes says nothing of
 * those before it, so no holder passes the lock on: a hand-off is one read more, of the list. Source: "Shared Locks"
 * in ZooKeeper Recipes and Solutions.
 */
#include "zk_queue.h"

enum { OPT_RECIPE };
static const struct lb_option zk_sequential_options[] = {
    [OPT_RECIPE] = {"recipe", LB_OPT_BOOL, 0, 0, 1,
                    "the published steps and nothing else: a list is believed without knowing that the session lives"},
    {0},
};

struct lb_session {
  struct zk_queue queue;
};

/* ---- acquire ------------------------------------------------------------------------------------------- */

/* One step of the attempt, from where it stands: into the queue; or to its node, if it is not known whether there is
 * one; or to its place, with a write if one is needed anyway. */
static int advance(struct lb_session *s, const char *dir, struct lb_grant *grant, lb_ns deadline) {
  bool connected;
  uint64_t losses = zk_losses(s->queue.run.zk, &connected);
  int result;
  if (!grant->asked_at) grant->asked_at = lb_now(s->queue.run.env);
  if (!grant->token_len) result = zk_queue_join(&s->queue, dir, grant, "after-create", deadline);
  else if (!zk_queue_has_node(grant)) result = zk_queue_find(&s->queue, grant, deadline);
  else result = zk_queue_look(&s->queue, dir, grant, !s->queue.recipe && !zk_life_is_known(&s->queue.life), deadline);
  return result == LB_OK ? zk_queue_grant(&s->queue, dir, grant, losses, deadline) : result;
}

static int zk_sequential_try_acquire(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant,
                                     lb_ns deadline) {
  char dir[ZK_PATH_MAX];
  int result = zk_queue_dir(&s->queue, lock->key, dir);
  if (result) return result;
  s->queue.reads = lock->shared;
  do {
    result = zk_queue_connect(&s->queue, grant, deadline);
    if (result) return grant->token_len ? LB_UNKNOWN : result;
    result = advance(s, dir, grant, deadline);
  } while (result == ZK_AGAIN);
  return result;
}

/* Step 4 of the recipe, and the wait of step 5. */
static int wait_by_recipe(struct lb_session *s, const char *ahead, lb_ns deadline) {
  int result = zk_await_watch(s->queue.run.zk, zk_watch_exists(s->queue.run.zk, ahead), deadline);
  if (result == LB_BUSY) return LB_OK;
  return result == LB_OK ? zk_wait_event(s->queue.run.zk, deadline) : result;
}

/* Until the node just before the own one goes. */
static int zk_sequential_wait(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant,
                              lb_ns deadline) {
  char dir[ZK_PATH_MAX];
  int result = zk_queue_dir(&s->queue, lock->key, dir);
  if (!result) result = zk_connect(s->queue.run.zk, deadline);
  if (result) return result;
  const char *ahead = zk_queue_ahead(&s->queue, grant);
  if (!ahead) return LB_OK;
  return s->queue.recipe ? wait_by_recipe(s, ahead, deadline) : zk_queue_await_turn(&s->queue, dir, ahead, deadline);
}

/* ---- a grant we have, or may have ------------------------------------------------------------------------ */

static int zk_sequential_release(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant,
                                 lb_ns deadline) {
  (void)lock;
  lb_point(s->queue.run.env, "before-release");
  return zk_queue_leave(&s->queue, grant, grant->valid_until && !s->queue.recipe && !s->queue.shared, deadline);
}

static int zk_sequential_extend(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant,
                                lb_ns deadline) {
  (void)lock; /* the lease is the session, agreed upon when it was opened */
  return zk_queue_extend(&s->queue, grant, deadline);
}

static int zk_sequential_holds(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant,
                               lb_ns deadline) {
  (void)lock;
  return zk_queue_holds(&s->queue, grant, deadline);
}

static int zk_sequential_doubt(struct lb_session *s, const struct lb_lock *lock, const struct lb_grant *grant) {
  (void)lock;
  return zk_queue_doubt(&s->queue, grant);
}

/* A node that turns out to stand in the queue but not first is taken out: the answer must be final. */
static int zk_sequential_resolve(struct lb_session *s, const struct lb_lock *lock, struct lb_grant *grant,
                                 lb_ns deadline) {
  char dir[ZK_PATH_MAX];
  int result = zk_queue_dir(&s->queue, lock->key, dir);
  if (result) return result;
  do {
    if (!grant->token_len) return LB_BUSY;
    result = LB_BUSY; /* what is about to be deleted is not asked for again */
    if (zk_is_doomed(s->queue.run.zk, grant->token)) break;
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
  int result = zk_queue_open(&s->queue, config, deadline);
  s->queue.shared = config->protocol->traits & LB_TRAIT_SHARED;
  s->queue.recipe = !s->queue.shared && config->options[OPT_RECIPE].b;
  return result;
}

static int zk_sequential_break(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  return zk_queue_break(&s->queue, lock->key, endpoint, deadline);
}

static int zk_sequential_inspect(struct lb_session *s, const struct lb_lock *lock, size_t endpoint, lb_ns deadline) {
  return zk_queue_inspect(&s->queue, lock->key, endpoint, deadline);
}

static uint64_t zk_sequential_seen(struct lb_session *s) { return s->queue.seen; }

/* after-create: the reply has been read, the node stands in the queue, and its place is not known yet. */
static const char *const zk_sequential_points[] = {"after-create", "before-release", NULL};

/* What both have. */
#define QUEUE                                                                                                          \
  .abi = LB_ABI, .facts = "number=epoch lost=elsewhere lost-release=repeated frees=session",                           \
  .points = zk_sequential_points, .midway = "after-create", .session_size = sizeof(struct lb_session), ZK_RUN_HOOKS,   \
  .open = zk_sequential_open, .try_acquire = zk_sequential_try_acquire, .release = zk_sequential_release,              \
  .extend = zk_sequential_extend, .wait = zk_sequential_wait, .resolve = zk_sequential_resolve,                        \
  .holds = zk_sequential_holds, .break_lock = zk_sequential_break, .doubt = zk_sequential_doubt,                       \
  .proofs = &(const struct lb_proofs) {                                                                                \
    ZK_RUN_PROOFS, .inspect = zk_sequential_inspect, .seen = zk_sequential_seen                                        \
  }
#define TRAITS                                                                                                         \
  LB_TRAIT_OWN_THREADS | LB_TRAIT_SESSION | LB_TRAIT_NEEDS_RATE | LB_TRAIT_FENCED | LB_TRAIT_FIFO | LB_TRAIT_WAKES |   \
      LB_TRAIT_QUEUES

const struct lb_protocol lb_zk_sequential = {
    QUEUE,
    .name = "zk-sequential",
    .summary = "ZooKeeper's queue of ephemeral sequential nodes, each watching the one before",
    .traits = TRAITS,
    .options = zk_sequential_options,
};

const struct lb_protocol lb_zk_rw = {
    QUEUE,
    .name = "zk-rw",
    .summary = "ZooKeeper's queue of sequential nodes, in which readers wait for writers only",
    .traits = TRAITS | LB_TRAIT_SHARED,
};
