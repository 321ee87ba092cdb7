/* SPDX-License-Identifier: MIT
 *
 * zk-ephemeral - one ephemeral node of ZooKeeper, which everybody who waits watches.
 *
 *   acquire:  create /<prefix>/<key> as an ephemeral node; made = held, "exists" = watch it, and create again when it has gone
 *   release:  delete it, if it is one's own
 *
 * Promises: exclusion as far as the session lives; a fencing number (czxid, the transaction that created the node) that comes with
 * the reply. The servers delete the node of a dead client when its session ends.
 * Assumes: a client stops by itself before its session can have ended, by a leader's clock that runs at about the rate of its own. It knows no more of that than its own answered writes tell
 * (zk_alive.h), so `valid_until` is what it is for zk-sequential.
 * Breaks: a holder that is paused or cut off for longer than the session timeout and goes on working; a resource that compares the fencing
 * number refuses it. And the herd: a release wakes all who wait, however many. Each of them sends a create, all but one are
 * refused, and each of those reads the node again to watch it. With 16 clients that is 33 requests for one hand-off where a queue
 * sends four; and the refused creates are transactions: the leader orders them, and a majority writes them to disk before the refusal is
 * told. So the lock becomes slower with every client that waits for it. There is no order of arrival, and a client may starve.
 *
 * Details that matter
 *  - The grant is a write that was committed, not a list that was read: a server that is behind its leader cannot grant by mistake
 *    what zk-sequential's option recipe does.
 *  - A deletion without an answer is not repeated in the background (zk_node.h), so a client that gives up on its release
 *    blocks the lock for as long as its session lives.
 *
 * Source: ZooKeeper Programmer's Guide, "Ephemeral Nodes" (zookeeper.apache.org/doc/r3.8.0/zookeeperProgrammers.html); the recipes' "Locks"
 * name the herd effect as what they avoid (zookeeper.apache.org/doc/r3.8.0/recipes.html).
 */
#include "zk_node.h"

static const struct zk_node_kind ephemeral = {.ephemeral = true};

const struct lb_protocol lb_zk_ephemeral = {
    .abi = LB_ABI,
    .size = sizeof(struct lb_protocol),
    .name = "zk-ephemeral",
    .summary = "one ephemeral node of ZooKeeper, which everybody who waits watches: the herd",
    .promises = "Mutual exclusion while the holder's session lives, and a fencing number that grows over the whole\n"
                "ensemble. A dead holder is replaced after the session timeout.",
    .breaks = "A holder that is paused or cut off for longer than its session timeout and goes on working; a resource\n"
              "that compares the fencing number refuses it. No progress without a majority of the servers. Each release\n"
              "wakes everybody who waits, and each of them sends a write that all but one find refused.",
    .source = "ZooKeeper Programmer's Guide, \"Ephemeral Nodes\"; Recipes and Solutions, \"Locks\", on the herd effect",
    .facts = "number=log lost=elsewhere",
    .traits = LB_TRAIT_SESSION | LB_TRAIT_NEEDS_RATE | LB_TRAIT_FENCED | LB_TRAIT_WAKES,
    .points = zk_node_points,
    ZK_NODE_HOOKS,
    .extend = zk_node_extend,
    .doubt = zk_node_doubt,
    .data = &ephemeral,
};
