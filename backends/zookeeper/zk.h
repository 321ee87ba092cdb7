/* SPDX-License-Identifier: MIT
 *
 * zk.h - ZooKeeper sessions with our own deadlines, on libzookeeper_mt's asynchronous calls.
 * Private to the ZooKeeper protocols. The queue of zk-sequential stands in zk_queue.h.
 *
 * The library runs two threads per handle. They never enter the caller: a completion copies its answer into a zk_call
 * and writes to an eventfd, and the caller waits on that eventfd only, with its own deadline. Open a session in the
 * process that uses it (after fork).
 *
 * How long the library needs to leave a silent server, for a session timeout T: 2/3 T after the last byte heard
 * (it pings after T/3), 2/3 T for a connect that is not answered (2 s if there has been no session yet); a refused or
 * closed connection costs nothing.
 */
#ifndef LB_ZK_H
#define LB_ZK_H

#include <zookeeper/zookeeper.h>

#include "backends/backend.h"

#define ZK_PATH_MAX LB_TOKEN_MAX

struct zk_session; /* one thread; owns its calls */

/* One request on its way. The caller holds it from the zk_<operation>() that made it until zk_drop(); it outlives a
 * deadline that passes first. Fields below `rc` are valid when zk_wait() returned ZOK. */
struct zk_call {
  int rc;                 /* the library's result, once done */
  struct Stat stat;       /* create, set, exists, get; children: of the parent, as the server had it for this answer */
  char path[ZK_PATH_MAX]; /* create: the full name */
  char *names; /* children: `count` strings, one after the other, each with its NUL. get: what stands in the node */
  size_t count;
  /* private */
  zoo_op_result_t results[2]; /* the library's, of a request with several operations */
  struct zk_link *link;
  struct zk_call *next;
  bool done, dropped;
};

/* zk_wait(): no answer by the deadline. Positive, so no result of the library. */
#define ZK_NO_REPLY 1

/* Starts connecting: to a random one of the endpoints first, to the others in order. They outlive the session.
 * They all take the login of the first one (scheme digest); nodes are made so that everybody may use them.
 * read_only: also accept a server that has lost its quorum, if it offers that. 0 or -errno. */
int zk_open(struct lb_env *env, const struct lb_endpoint *endpoints, size_t count, int64_t timeout_ms, bool read_only,
            struct zk_session **ret);
/* Ends the session, which deletes its ephemeral nodes. Waits at most about 0.3 s; if the server is silent, a detached
 * thread finishes (the library itself may take 4.5 s). NULL is fine. */
void zk_close(struct zk_session *session);
/* Waits until the session is usable; after an expiry that is a new one with another zk_id(). Then tries again, once,
 * the deletions that zk_doom() has asked for. No zk_call may be held. 0, LB_TIMEOUT, or -errno. */
int zk_connect(struct zk_session *session, lb_ns deadline);
/* Index of the endpoint that it is connected to; -ENOENT = to none now. Sends nothing. */
int zk_server(struct zk_session *session);
/* Identity of the current session (ephemeralOwner of its nodes), 0 before the first connection. */
int64_t zk_id(struct zk_session *session);
/* True once the server has said that the session is over. */
bool zk_expired(struct zk_session *session);
/* When the current session was asked for: not later than its first request left. 0: there is none. */
lb_ns zk_begun(struct zk_session *session);
/* How often the current session has lost its connection: the library said Disconnected, which is Curator's and kazoo's
 * SUSPENDED. Sends nothing. *ret_connected: whether there is one now. */
uint64_t zk_losses(struct zk_session *session, bool *ret_connected);
/* Session timeout as the server granted it, in ns. */
lb_ns zk_timeout_ns(struct zk_session *session);

/* Requests. They are sent in order and answered in order. NULL: no memory (zk_wait and zk_drop accept it). */
struct zk_call *zk_create(struct zk_session *session, const char *path, const char *data, int mode);
struct zk_call *zk_delete(struct zk_session *session, const char *path);
/* Writes to the node and deletes it, in one transaction. Who watches the node by zk_watch() is told that it was written
 * to, and nothing more: a watch tells once. So it is told something else than by a deletion. */
struct zk_call *zk_write_and_delete(struct zk_session *session, const char *path);
struct zk_call *zk_set(struct zk_session *session, const char *path, const char *data);
struct zk_call *zk_exists(struct zk_session *session, const char *path);
struct zk_call *zk_get(struct zk_session *session, const char *path);
struct zk_call *zk_children(struct zk_session *session, const char *path);
/* Makes the server catch up with the leader before it answers what follows. */
struct zk_call *zk_sync(struct zk_session *session, const char *path);
/* Reads the node and, if it is there, watches it; replaces the watch that zk_wait_event() waits for. */
struct zk_call *zk_watch(struct zk_session *session, const char *path);
/* The same by exists(), which watches a node that is not there as well: the watch stays behind. */
struct zk_call *zk_watch_exists(struct zk_session *session, const char *path);

/* The library's result (ZOK, ZNONODE, ...) or ZK_NO_REPLY. */
int zk_wait(struct zk_session *session, struct zk_call *call, lb_ns deadline);
/* Gives the call back, answered or not. NULL is fine. */
void zk_drop(struct zk_call *call);
/* zk_wait and zk_drop in one, where only the result matters. */
int zk_run(struct zk_session *session, struct zk_call *call, lb_ns deadline);
/* Sleeps until the watched node changes or is deleted, or the session expires. LB_OK, LB_TIMEOUT, -errno. */
int zk_wait_event(struct zk_session *session, lb_ns deadline);

/* Whether the watch that was set last was on this node, and has told that it was written to. False if the connection
 * was lost since the watch was set: what is told then was made up of two states, before and after. Sends nothing. */
bool zk_was_written(struct zk_session *session, const char *path);

/* Awaits the answer to one of the two, and drops it. LB_OK: the node is watched, zk_wait_event() will tell. LB_BUSY:
 * there is nothing to wait for, it has gone or the connection did not last. LB_TIMEOUT: the deadline passed; -errno. */
int zk_await_watch(struct zk_session *session, struct zk_call *watch, lb_ns deadline);
/* Watches the node and sleeps until it is worth to look again: it changed or has gone, the connection did not last, or
 * a session timeout went by, because a lost event must not cost more. LB_OK, LB_TIMEOUT: the deadline passed;
 * -errno. */
int zk_await_change(struct zk_session *session, const char *path, lb_ns deadline);

/* Whether a result leaves open if the request took effect (connection lost, no reply, handle closed). */
bool zk_is_unknown(int rc);
/* Whether a result says that the session, and with it every ephemeral node, is gone. */
bool zk_is_expiry(int rc);
/* Any other unexpected result as -errno, with the library's words in env->err. */
int zk_fail(struct zk_session *session, const char *what, int rc);

/* Removes a node and all that is below it. LB_OK: nothing of it is there. LB_TIMEOUT, LB_UNKNOWN, -errno: some of it
 * may be. */
int zk_remove_tree(struct zk_session *session, const char *path, lb_ns deadline);
/* Creates a node and its parents, each if missing, as containers: ZooKeeper removes one some time after its last child
 * has gone. The result of the last request. */
int zk_make_path(struct zk_session *session, const char *path, lb_ns deadline);
/* Looks, after a sync, for a child whose full path starts with `prefix`. ZOK: ret_path holds it. ZNONODE: it is not
 * there and, if its create was sent by this session before, never will be. Or any other result. */
int zk_find(struct zk_session *session, const char *prefix, lb_ns deadline, char ret_path[ZK_PATH_MAX]);
/* Remembers to delete the node whose path is `prefix`, or starts with it if that ends with '-': by the library's own
 * thread now and after each reconnect, and once more by each zk_connect(), which may return before it was answered.
 * Forgotten when a server said that the node has gone, and when the session ends, because the node ends with it. */
void zk_doom(struct zk_session *session, const char *prefix);
/* Whether that is still to be done: the node may be there, and must not be believed in. Sends nothing. */
bool zk_is_doomed(struct zk_session *session, const char *prefix);

#endif
