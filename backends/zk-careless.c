/* SPDX-License-Identifier: MIT
 *
 * zk-careless - ZooKeeper's queue of ephemeral sequential nodes, as a careless client stands in it.
 *
 *   acquire:  a node in /<prefix>/<key> called after this client is taken for its own; else create <client>-lock-<number>. List; the
 *             lowest number holds, everybody else watches the node before its own
 *   release:  delete that node
 *
 * Promises: what the recipe does, as long as no client starts anew while its earlier session lives, and no session ends.
 * Assumes: a node that has my name is mine, and will stay.
 * Breaks: it is not, and will not.
 *  - A client that dies and is started again within the session timeout finds its former node and believes that it holds, or keeps its
 *    place. But the node belongs to the session of its former life, which nobody keeps up. The servers end that session and delete the
 *    node, the next in the queue is granted the lock, and nobody tells the first: its own session is in good health.
 *    (CURATOR-498, CURATOR-45 and CURATOR-604 are that mistake; ZooKeeper's own zoo_lock.c has it for two locks on one handle.)
 *  - Disconnects are ignored. A holder that was cut off for longer than its session timeout goes on working (no hook doubt), and for all
 *    that it knows its hold never ends (`valid_until` is LB_NEVER).
 *  - What a list shows is believed, however old it is (zk-sequential.c, option recipe).
 *  - A client that holds and asks for the same lock once more finds the node of its hold, and is granted; the first release ends both.
 * A resource that compares fencing numbers refuses both, for the node of a session that has ended has the smaller one. But a node that
 * is taken over gives its number a second time, so numbers do not grow with every grant.
 *
 * Details that matter
 *  - holds() asks whether the node is there. It does not compare the owner of the node (ephemeralOwner) with its own session, which is
 *    what would have told it.
 *
 * Source: "Locks" in ZooKeeper Recipes and Solutions (zookeeper.apache.org/doc/r3.8.0/recipes.html) without its note on recoverable errors: the
 * name of the client where that asks for a GUID.
 */
#include "zk_recipe.h"

static const struct zk_recipe_kind kind = {.ephemeral = true, .by_client = true};

const struct lb_protocol lb_zk_careless = {
    .abi = LB_ABI,
    .size = sizeof(struct lb_protocol),
    .name = "zk-careless",
    .summary = "ZooKeeper's queue without care: believes a node of its earlier session, ignores disconnects",
    .promises = "Mutual exclusion in order of arrival, as long as no session ends and no client starts anew while its\n"
                "earlier session lives. A fencing number that grows over the whole ensemble with every node.",
    .breaks = "A client that is started again before its earlier session has ended: it takes the node of that session\n"
              "for its own, and holds what the servers grant to the next one when that session ends. A holder that is\n"
              "paused or cut off for longer than its session timeout. A resource that compares the fencing number\n"
              "refuses both.",
    .source = "ZooKeeper Recipes and Solutions, \"Locks\", without its note on recoverable errors and the GUID",
    .facts = "number=log lost=elsewhere heeds=no names-end=no reentrant=uncounted",
    .traits = LB_TRAIT_SESSION | LB_TRAIT_NEEDS_RATE | LB_TRAIT_FENCED | LB_TRAIT_FIFO | LB_TRAIT_WAKES | LB_TRAIT_QUEUES,
    .points = zk_recipe_points,
    .midway = "after-create",
    .flaws = (const struct lb_flaw[]){{"a session that holds is refused like anybody else",
                                       "it takes the node of its hold for that of the new attempt, which has the same name"},
                                      {0}},
    ZK_RECIPE_HOOKS,
    .data = &kind,
};
