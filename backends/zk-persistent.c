/* SPDX-License-Identifier: MIT
 *
 * zk-persistent - one plain node of ZooKeeper, which stays until somebody deletes it.
 *
 *   acquire:  create /<prefix>/<key>; made = held, "exists" = watch it, and create again when it has gone
 *   release:  delete it, if it is one's own
 *
 * Promises: exclusion for as long as nobody but its holder deletes the node. No session, no lease and no clock can take it away: a
 * holder that was paused or cut off for any time still holds. A fencing number (czxid) comes with the reply.
 * Assumes: every client that was granted the lock lives until it has deleted the node.
 * Breaks: a client that dies while it holds. Its node blocks the lock for ever: it is in the log and in the snapshots of a majority, so a
 * restart of the servers brings it back. Somebody has to delete it by hand, and nothing in it tells whether its owner is dead or slow. A
 * create whose answer was lost leaves such a node as well, if its client does not come back to ask. And all who wait watch one node: the
 * herd of zk-ephemeral.
 *
 * Details that matter
 *  - The node is its attempt's, not its session's: the GUID in it is looked for in whatever session the client has by then.
 *  - What the library says of the connection says nothing of the lock, so there is nothing to be in doubt of (no hook doubt).
 *
 * Source: ZooKeeper Programmer's Guide, "ZNodes" (zookeeper.apache.org/doc/r3.8.0/zookeeperProgrammers.html): what a
 * create() without flags makes. It is met where an ephemeral node was meant, or was shunned because sessions expired.
 */
#include "zk_node.h"

static const struct zk_node_kind persistent = {.ephemeral = false};

const struct lb_protocol lb_zk_persistent = {
    .abi = LB_ABI,
    .size = sizeof(struct lb_protocol),
    .name = "zk-persistent",
    .summary = "one plain node of ZooKeeper: a dead holder blocks for ever",
    .promises = "Mutual exclusion for as long as nobody but the holder deletes the node, and a fencing number that grows\n"
                "over the whole ensemble. No session, no lease, no clock.",
    .breaks = "A client that dies while it holds, or whose create was not answered and who never asks again: the node\n"
              "stays, over restarts of the servers, too. No progress without a majority of the servers. Each release\n"
              "wakes everybody who waits.",
    .source = "ZooKeeper Programmer's Guide, \"ZNodes\": create() without flags",
    .facts = "number=log lost=elsewhere",
    .traits = LB_TRAIT_NO_EXPIRY | LB_TRAIT_FENCED | LB_TRAIT_WAKES,
    .points = zk_node_points,
    ZK_NODE_HOOKS,
    .data = &persistent,
};
