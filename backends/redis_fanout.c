/* SPDX-License-Identifier: MIT
 *
 * A connection to each of N servers. No server makes the others wait: connecting happens in the same poll loop as everything
 * else (redis_round.c), a server that refused is left alone for a moment, and one that stays silent gets a new connection.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "redis_fanout.h"

#define REOPEN_MS 20 /* after a refused connect */
#define NAME_MS 100  /* for the address of a server that is given by name; nobody waits for one that is given by address */
/* After that long without an answer a new connection is made, which a healed network lets through at once; the old
 * one may wait for its next retransmission for seconds. */
#define SILENT_MS 1000

/* The connection of this node has just failed. */
static void note_trouble(struct redis_fanout *fanout, struct redis_node *node) {
  snprintf(node->trouble, sizeof node->trouble, ": %.150s", fanout->env->err);
}

const char *redis_fanout_trouble(struct redis_fanout *fanout) {
  for (size_t i = 0; i < fanout->count; i++)
    if (fanout->node[i].trouble[0]) return fanout->node[i].trouble;
  return "";
}

void redis_fanout_reopen(struct redis_fanout *fanout, struct redis_node *node) {
  lb_ns now = lb_now(fanout->env);
  if (now < node->open_at) return;
  node->heard_at = now;
  if (redis_start(fanout->env, node->endpoint, now + NAME_MS * LB_NS_PER_MS, &node->conn) == 0) return;
  node->open_at = now + REOPEN_MS * LB_NS_PER_MS;
  note_trouble(fanout, node);
}

static void close_node(struct redis_node *node) {
  node->losses += node->conn != NULL;
  redis_close(node->conn);
  node->conn = NULL;
}

void redis_fanout_drop(struct redis_fanout *fanout, struct redis_node *node) {
  if (!redis_connected(node->conn)) node->open_at = lb_now(fanout->env) + REOPEN_MS * LB_NS_PER_MS;
  note_trouble(fanout, node);
  close_node(node);
}

/* True when we have been waiting for it for long, in vain. What came since the last round may just not have been
 * read. */
static bool is_silent(struct redis_node *node, lb_ns now) {
  if (!node->conn || now <= node->heard_at + SILENT_MS * LB_NS_PER_MS) return false;
  size_t owed = redis_owed(node->conn);
  redis_push(node->conn);
  if (!redis_connected(node->conn)) return true;
  if (!owed) return false;
  redis_drain(node->conn);
  return redis_owed(node->conn) == owed;
}

void redis_fanout_ready(struct redis_fanout *fanout, struct redis_node *node) {
  if (is_silent(node, lb_now(fanout->env))) close_node(node);
  if (!node->conn) redis_fanout_reopen(fanout, node);
}

int redis_fanout_init(struct redis_fanout *fanout, struct lb_env *env, const struct lb_target *target) {
  fanout->env = env;
  fanout->endpoints = target->endpoints;
  for (size_t i = 0; i < target->count; i++) {
    if (strcmp(target->endpoints[i].service, "redis")) continue;
    if (fanout->count == REDIS_NODES_MAX) return lb_fail(env, -E2BIG, "more than %d redis servers", REDIS_NODES_MAX);
    struct redis_node *node = &fanout->node[fanout->count++];
    node->endpoint = &target->endpoints[i];
    redis_fanout_reopen(fanout, node);
  }
  if (!fanout->count) return lb_fail(env, -EINVAL, "topology %s has no redis server", target->topology);
  fanout->quorum = fanout->count / 2 + 1;
  return 0;
}

void redis_fanout_deinit(struct redis_fanout *fanout) {
  for (size_t i = 0; i < fanout->count; i++) close_node(&fanout->node[i]);
}

int redis_fanout_confirm(struct redis_fanout *fanout, const struct lb_grant *grant) {
  lb_confirm(&fanout->confirmed, grant, 0);
  for (size_t i = 0; i < fanout->count; i++) {
    struct redis_node *node = &fanout->node[i];
    node->confirmed = node->vote == REDIS_YES;
    node->losses_confirmed = node->losses;
  }
  return LB_OK;
}

uint64_t redis_fanout_confirmed(const struct redis_fanout *fanout) {
  uint64_t voters = 0;
  for (size_t i = 0; i < fanout->count; i++)
    if (fanout->node[i].confirmed) voters |= UINT64_C(1) << (fanout->node[i].endpoint - fanout->endpoints);
  return voters;
}

/* How many of the connections to these have worked without a break since then. Takes late replies from them; does not wait. */
static size_t count_intact(struct redis_fanout *fanout) {
  size_t intact = 0;
  for (size_t i = 0; i < fanout->count; i++) {
    struct redis_node *node = &fanout->node[i];
    if (!node->confirmed || !node->conn || redis_push(node->conn) || !redis_connected(node->conn)) continue;
    intact += redis_drain(node->conn) == 0 && node->losses == node->losses_confirmed;
  }
  return intact;
}

/* One broken connection of five says as little as one server that is down: in doubt is who has no quorum of connections
 * left, each to a server that said yes to this grant, that have worked without a break since. Only those count whose yes
 * was heard by the time that made a quorum. A round ends there, so of five servers that all said yes mostly three count,
 * and one broken connection to one of these is a doubt: too careful, never too bold. The next round that confirms the grant
 * asks all five again. */
int redis_fanout_doubt(struct redis_fanout *fanout, const struct lb_grant *grant) {
  size_t intact = count_intact(fanout);
  if (intact >= fanout->quorum && lb_is_confirmed(&fanout->confirmed, grant)) return LB_OK;
  lb_fail(fanout->env, -ENOTCONN, "%zu of %zu connections, to servers that said yes, have worked without a break since, a quorum is %zu",
          intact, fanout->count, fanout->quorum);
  return LB_UNKNOWN;
}
