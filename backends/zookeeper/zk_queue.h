/* SPDX-License-Identifier: MIT
 *
 * zk_queue.h - ZooKeeper's queue of ephemeral sequential nodes: how an attempt keeps its node
 * through lost answers, reconnects and ended sessions.
 *
 * An attempt is one node, <dir>/<guid>-lock-<number>; the servers number the nodes of a folder in one order for
 * everybody. The attempt is kept in grant->token:
 *   ""                   there is none
 *   <dir>/<guid>-lock-   the create was sent; whether the node was made, is not known
 *   the whole path       the node was made, and stands in the queue while its session lives
 *
 * Details that matter
 *  - An answer may get lost after the node was made. The guid finds it again, after a sync and in the same session:
 *    then "not there" means it never will be, because a session's requests keep their order and a server that lost the
 *    session to another may not write for it any more.
 *  - The guid is of a session (zk_run.h). An attempt of an earlier session is dead: its node goes with the session, and
 *    no client has to delete it.
 *  - A node whose deletion was not answered is remembered, and the library's own thread deletes it when it is connected
 *    again: left in the queue it would block it for as long as the heartbeats keep the session of a client that asks
 *    for nothing. Such a node is never granted again, though it may be seen as the first for a moment.
 *  - The node ahead is watched by a read: a watch by exists() on a node that has just gone would stay behind.
 *  - A holder that passes the lock on writes to its node and deletes it, in one transaction. No client of ours writes
 *    to a node otherwise. So the watch of the next one tells it not only that this node goes, but that it was the
 *    first; by a deletion alone it could have been that of a waiter that gave up, or whose session ended. Then the next
 *    one is the first now, because no node can come between the two any more, and it need not list the nodes to know. A
 *    watch that outlived its connection tells nothing of that kind: the library sets it anew, and the server answers
 *    with what has changed since (zk_was_written()). That no other program writes to a node is an assumption that
 *    safety rests on, and nothing enforces it: any program with access to the servers may (nodes are made with
 *    OPEN_ACL_UNSAFE), as with zkCli, and Curator's Revoker does it to the nodes of its own locks. The next in the
 *    queue would hold at once then, beside the first. To look whether the node ahead has gone would be one read more
 *    for each hand-off.
 *  - A holder that was alone in the list which granted it only deletes its node, as the recipe does: the transaction
 *    costs three servers twice as much. Who has come behind it meanwhile reads the list once more.
 *
 * Source: "Locks" in ZooKeeper Recipes and Solutions, with its note on recoverable errors and the GUID
 * (zookeeper.apache.org/doc/r3.8.0/recipes.html).
 */
#ifndef LB_ZK_QUEUE_H
#define LB_ZK_QUEUE_H

#include "zk_life.h"
#include "zk_run.h"

/* Beside enum lb_result: the session, the connection or the node changed under a request. Look at the situation anew,
 * beginning with zk_queue_connect(). */
#define ZK_AGAIN 100

struct zk_queue {    /* one client's side; one thread */
  struct zk_run run; /* its root: the folder of all folders of locks */
  uint64_t losses;   /* of the session, before the question left that zk_queue_confirm() got an answer to */
  struct lb_confirmed confirmed;
  struct zk_life life; /* what the answered writes of the session say of it: create, write to the folder, delete */
  bool
      recipe; /* set after zk_queue_open(): the published steps and nothing else (zk-sequential.c); a list is asked for, whatever the node ahead has told */
  bool shared; /* set after zk_queue_open(): several may stand at the head, so no holder passes the lock on */
  bool reads;  /* the next attempt is a reader's */
  uint64_t
      seen; /* transaction that changed the folder last, in the state in which the place was read; 0 = it was not read in a list */
  struct { /* what is known about the latest attempt, to spare round trips; private */
    char own[ZK_PATH_MAX], ahead[ZK_PATH_MAX];
    uint64_t czxid;
    bool alone; /* it was the whole queue when its place was read last */
  } place;
};

/* ---- the session --------------------------------------------------------------------------------------- */

/* Opens a session of the config's ttl and waits until it is usable. 0 or -errno (-ETIMEDOUT: no session by the
 * deadline); ended by zk_run_close(). */
int zk_queue_open(struct zk_queue *queue, const struct lb_config *config, lb_ns deadline);
/* Waits until the session is usable. An attempt of an earlier session is forgotten, and so is one that zk_queue_leave()
 * could not end: its node may still be the first, and it is about to be deleted. 0, LB_TIMEOUT, -errno. */
int zk_queue_connect(struct zk_queue *queue, struct lb_grant *grant, lb_ns deadline);

/* ---- an attempt ---------------------------------------------------------------------------------------- */

/* The folder of the key's queue. 0, or -ENAMETOOLONG: no node's name would fit. */
int zk_queue_dir(struct zk_queue *queue, const char *key, char dir[ZK_PATH_MAX]);
/* There is no attempt any more; only asked_at is kept. */
void zk_queue_forget(struct lb_grant *grant);
/* False: there is none, or whether there is one is not known. */
bool zk_queue_has_node(const struct lb_grant *grant);

/* The following three take a step with a session that zk_queue_connect() found usable. They answer:
 *   LB_OK       first in the queue (never from zk_queue_find)
 *   LB_BUSY     another node is ahead: zk_queue_ahead() (never from zk_queue_find)
 *   ZK_AGAIN    the situation has changed; the attempt may be forgotten by then
 *   LB_TIMEOUT  join only: no answer by the deadline, and nothing was made in the queue
 *   LB_UNKNOWN  no answer by the deadline; the attempt is kept
 *   -errno      refused; the attempt is forgotten, its node, if there is one, will be deleted at the next contact
 *
 * Puts a new node at the end of the queue, with the client's name as its data, and asks for the list in the same
 * breath: it will contain the node. The folder is made if it is missing. `made`: a point for when the node is known and
 * its place is not. */
int zk_queue_join(struct zk_queue *queue, const char *dir, struct lb_grant *grant, const char *made, lb_ns deadline);
/* Looks for the node of an attempt whose create was not answered. ZK_AGAIN: its name is known now, or it is not there
 * and never will be, and is forgotten. */
int zk_queue_find(struct zk_queue *queue, struct lb_grant *grant, lb_ns deadline);
/* The place of a node that exists. by_write: as it is after a write to the folder, sent in the same breath. Without,
 * the server at hand may be behind, and show nodes of sessions that the leader has ended already; and no server is
 * asked if the one ahead has told that it passed the lock on. */
int zk_queue_look(struct zk_queue *queue, const char *dir, struct lb_grant *grant, bool by_write, lb_ns deadline);

/* Completes the grant of a node that was seen to be the first; `losses` of the connection before that question left.
 * LB_OK; ZK_AGAIN: it would be over already; or as a step. */
int zk_queue_grant(struct zk_queue *queue, const char *dir, struct lb_grant *grant, uint64_t losses, lb_ns deadline);

/* After LB_BUSY: sleeps until it is worth to look again, as zk_await_change() for the node ahead. Meanwhile the
 * knowledge that the session lives is kept up by a write to the folder from time to time, which the wait does not wait
 * for. LB_OK, LB_TIMEOUT, -errno. */
int zk_queue_await_turn(struct zk_queue *queue, const char *dir, const char *ahead, lb_ns deadline);

/* The node just before that of the grant, as far as the latest step of this attempt knows it in the session there is;
 * else NULL, also for the first. Valid until the next step. For zk_await_change(). */
const char *zk_queue_ahead(const struct zk_queue *queue, const struct lb_grant *grant);
/* Takes the attempt out of the queue, node known or not. pass_on: it is a hold, so its node is the first, and who stood
 * behind it shall know that it is the first now. LB_OK: nothing of it remains. LB_LOST: it was a hold (it has a
 * valid_until), and it had gone. LB_UNKNOWN, or -errno where the session failed: the node is deleted at the next
 * contact, valid_until is cleared, because its absence will be our own work and no loss. Other -errno: refused, it is
 * still there. */
int zk_queue_leave(struct zk_queue *queue, struct lb_grant *grant, bool pass_on, lb_ns deadline);

/* The hooks extend and holds. */
int zk_queue_extend(struct zk_queue *queue, struct lb_grant *grant, lb_ns deadline);
int zk_queue_holds(struct zk_queue *queue, const struct lb_grant *grant, lb_ns deadline);
/* The hook doubt: LB_OK; LB_UNKNOWN: the connection is lost, or was since the grant was confirmed, also if the same
 * session is connected again by now (which Curator trusts: doubt.h); LB_LOST: its session is over. */
int zk_queue_doubt(struct zk_queue *queue, const struct lb_grant *grant);
/* The hook inspect: whether one server shows nodes in the key's queue. As zk_record_inspect(). */
int zk_queue_inspect(struct zk_queue *queue, const char *key, size_t endpoint, lb_ns deadline);
/* The hook break_lock: deletes the head of the key's queue. As zk_record_break(). */
int zk_queue_break(struct zk_queue *queue, const char *key, size_t endpoint, lb_ns deadline);

#endif
