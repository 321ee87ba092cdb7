/* SPDX-License-Identifier: MIT
 *
 * zk-persistent-sequential - ZooKeeper's queue of sequential nodes, made of nodes that stay.
 *
 *   acquire:  create /<prefix>/<key>/<guid>-lock-<number>, list; the lowest number holds, everybody else watches the node before its own
 *   release:  delete one's own node, be it a hold or a place in the queue
 *
 * Promises: exclusion in order of arrival, for as long as nobody but its client deletes a node. No session, no lease and no clock can take it
 * away. A release wakes one client. A fencing number (czxid) that grows over the whole ensemble.
 * Assumes: every client that has a node in the queue lives until it has deleted it.
 * Breaks: a client that dies, while it holds or while it waits. A queue is only as alive as each of its members: the node of a dead
 * waiter comes first some day, and then nobody holds and nobody is granted, for ever. That is why the recipe's nodes are ephemeral. A client
 * that ends its session without a release leaves its nodes behind as well, and a restart of the servers brings them back.
 *
 * Details that matter
 *  - The node is its attempt's, not its session's: a client whose session has expired still has its place, and finds it by the GUID.
 *  - A list may be as old as it likes: nodes before the own one only go, and the own one stays. So nobody has to know whether a session
 *    lives, as zk-sequential must; the published steps are enough.
 *  - What the library says of the connection says nothing of the lock (no hook doubt).
 *
 * Source: "Locks" in ZooKeeper Recipes and Solutions (zookeeper.apache.org/doc/r3.8.0/recipes.html), without its flag EPHEMERAL. The same happens
 * to a queue of ephemeral nodes whose client keeps its session up and forgets a node: zk-ruby/zk #49, CURATOR-335.
 */
#include "zk_recipe.h"

static const struct zk_recipe_kind kind = {.ephemeral = false, .by_client = false};

const struct lb_protocol lb_zk_persistent_sequential = {
    .abi = LB_ABI,
    .size = sizeof(struct lb_protocol),
    .name = "zk-persistent-sequential",
    .summary = "ZooKeeper's queue made of nodes that stay: a dead waiter blocks all behind it for ever",
    .promises = "Mutual exclusion in order of arrival for as long as nobody but its client deletes a node, and a fencing\n"
                "number that grows over the whole ensemble. One client is woken per release. No session, no lease, no clock.",
    .breaks = "A client that dies while it holds or while it waits, or that ends its session without a release: its node\n"
              "stays, over restarts of the servers, too, and all behind it wait for ever. No progress without a majority\n"
              "of the servers.",
    .source = "ZooKeeper Recipes and Solutions, \"Locks\", without its flag EPHEMERAL",
    .facts = "number=log lost=elsewhere queue=lasting",
    .traits = LB_TRAIT_NO_EXPIRY | LB_TRAIT_FENCED | LB_TRAIT_FIFO | LB_TRAIT_WAKES | LB_TRAIT_QUEUES,
    .points = zk_recipe_points,
    .midway = "after-create",
    ZK_RECIPE_HOOKS,
    .data = &kind,
};
