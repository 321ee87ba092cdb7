/* SPDX-License-Identifier: MIT
 *
 * One command to N servers at once, in one poll loop, and their votes.
 *
 * A round may end before all have answered, because the outcome is decided. What is still owed then is counted per
 * connection (redis_owed) and skipped before the answer to the next round: a late reply is never taken for a new one.
 * No server makes the others wait: connecting happens in the same poll loop as everything else, a server that refused
 * is left alone for a moment, one that falls behind gets nothing new, and one that stays silent gets a new
 * connection.
 *
 * A connection that breaks in a round, for instance because the server was restarted since the last one, is opened
 * again once and gets the command again; so a command has to be one that may be executed twice.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "redis_util.h"

#define REOPEN_MS 20 /* after a refused connect */
#define NAME_MS 100  /* for the address of a server that is given by name; nobody waits for one that is given by address */
/* After that long without an answer a new connection is made, which a healed network lets through at once; the old
 * one may wait for its next retransmission for seconds. */
#define SILENT_MS 1000

/* ---- connections -------------------------------------------------------------------------------------- */

/* The connection of this node has just failed. */
static void note_trouble(struct redis_fanout *fanout, struct redis_node *node) {
  snprintf(node->trouble, sizeof node->trouble, ": %.150s", fanout->env->err);
}

const char *redis_fanout_trouble(struct redis_fanout *fanout) {
  for (size_t i = 0; i < fanout->count; i++)
    if (fanout->node[i].trouble[0]) return fanout->node[i].trouble;
  return "";
}

static void open_node(struct redis_fanout *fanout, struct redis_node *node, lb_ns now) {
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

int redis_fanout_init(struct redis_fanout *fanout, struct lb_env *env, const struct lb_target *target) {
  *fanout = (struct redis_fanout){.env = env, .endpoints = target->endpoints};
  lb_ns now = lb_now(env);
  for (size_t i = 0; i < target->count; i++) {
    if (strcmp(target->endpoints[i].service, "redis")) continue;
    if (fanout->count == REDIS_NODES_MAX) return lb_fail(env, -E2BIG, "more than %d redis servers", REDIS_NODES_MAX);
    struct redis_node *node = &fanout->node[fanout->count++];
    node->endpoint = &target->endpoints[i];
    open_node(fanout, node, now);
  }
  if (!fanout->count) return lb_fail(env, -EINVAL, "topology %s has no redis server", target->topology);
  fanout->quorum = fanout->count / 2 + 1;
  return 0;
}

void redis_fanout_deinit(struct redis_fanout *fanout) {
  for (size_t i = 0; i < fanout->count; i++) close_node(&fanout->node[i]);
}

void redis_fanout_confirm(struct redis_fanout *fanout) {
  for (size_t i = 0; i < fanout->count; i++) {
    struct redis_node *node = &fanout->node[i];
    node->confirmed = node->vote == REDIS_YES;
    node->losses_confirmed = node->losses;
  }
}

uint64_t redis_fanout_confirmed(const struct redis_fanout *fanout) {
  uint64_t voters = 0;
  for (size_t i = 0; i < fanout->count; i++)
    if (fanout->node[i].confirmed) voters |= UINT64_C(1) << (fanout->node[i].endpoint - fanout->endpoints);
  return voters;
}

size_t redis_fanout_intact(struct redis_fanout *fanout) {
  size_t intact = 0;
  for (size_t i = 0; i < fanout->count; i++) {
    struct redis_node *node = &fanout->node[i];
    if (!node->confirmed || !node->conn || redis_push(node->conn) || !redis_connected(node->conn)) continue;
    intact += redis_drain(node->conn) == 0 && node->losses == node->losses_confirmed;
  }
  return intact;
}

/* ---- sending ------------------------------------------------------------------------------------------ */

/* Scripts with their whole text: a reply may be read much later, too late to answer "unknown script" with it. */
static void queue_command(struct redis_fanout *fanout, struct redis_node *node, const struct redis_round *round) {
  struct redis_words words;
  if (node->conn && redis_owed(node->conn) >= round->owed_max) redis_drain(node->conn);
  node->late = node->conn ? redis_owed(node->conn) : 0;
  if (!node->conn || node->late >= round->owed_max || redis_spell(fanout->env, &round->command, true, &words)) {
    node->vote = REDIS_SILENT;
    return;
  }
  if (!node->late) node->heard_at = lb_now(fanout->env);
  redis_queue(node->conn, words.count, words.word, NULL);
  redis_push(node->conn); /* a failure is seen as redis_lost */
}

/* Once per round a broken connection is replaced, if it had worked. A refused connect is left alone for a while. */
static void mend(struct redis_fanout *fanout, struct redis_node *node, const struct redis_round *round) {
  if (!node->conn || !redis_lost(node->conn)) return;
  bool had_worked = redis_connected(node->conn);
  lb_ns now = lb_now(fanout->env);
  note_trouble(fanout, node);
  close_node(node);
  node->vote = REDIS_SILENT;
  if (!had_worked) node->open_at = now + REOPEN_MS * LB_NS_PER_MS;
  if (!had_worked || node->reopened) return;
  node->reopened = true;
  node->vote = REDIS_PENDING;
  open_node(fanout, node, now);
  queue_command(fanout, node, round);
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

void redis_fanout_send(struct redis_fanout *fanout, struct redis_round *round) {
  lb_ns now = lb_now(fanout->env);
  for (size_t i = 0; i < fanout->count; i++) {
    struct redis_node *node = &fanout->node[i];
    if (is_silent(node, now)) close_node(node);
    if (!node->conn) open_node(fanout, node, now);
    node->vote = REDIS_PENDING;
    node->reopened = false;
    queue_command(fanout, node, round);
    mend(fanout, node, round);
  }
}

/* ---- gathering ---------------------------------------------------------------------------------------- */

static void take_replies(struct redis_fanout *fanout, struct redis_node *node, const struct redis_round *round) {
  redisReply *reply;
  int rc = redis_next(node->conn, true, &reply);
  while (!rc && reply) {
    if (node->late) node->late--;
    else node->vote = round->read(reply, round->context);
    freeReplyObject(reply);
    node->heard_at = lb_now(fanout->env);
    node->trouble[0] = '\0';
    rc = redis_next(node->conn, false, &reply);
  }
}

static void count_votes(const struct redis_fanout *fanout, struct redis_round *round) {
  round->yes = round->no = round->silent = 0;
  for (size_t i = 0; i < fanout->count; i++) {
    round->yes += fanout->node[i].vote == REDIS_YES;
    round->no += fanout->node[i].vote == REDIS_NO;
    round->silent += fanout->node[i].vote == REDIS_SILENT;
  }
}

static bool is_decided(const struct redis_fanout *fanout, const struct redis_round *round, bool silent_is_no) {
  size_t against = round->no + (silent_is_no ? round->silent : 0);
  return round->yes >= fanout->quorum || against > fanout->count - fanout->quorum ||
         round->yes + round->no + round->silent == fanout->count;
}

/* Waits for the pending ones; takes what has come. False when the deadline has passed or nothing can be waited for. */
static bool wait_votes(struct redis_fanout *fanout, const struct redis_round *round, lb_ns deadline) {
  struct pollfd fds[REDIS_NODES_MAX];
  struct redis_node *pending[REDIS_NODES_MAX];
  size_t count = 0;
  for (size_t i = 0; i < fanout->count; i++) {
    struct redis_node *node = &fanout->node[i];
    if (node->vote != REDIS_PENDING) continue;
    fds[count] = (struct pollfd){.fd = redis_fd(node->conn), .events = redis_events(node->conn)};
    pending[count++] = node;
  }
  if (lb_wait_fds(fanout->env, fds, count, deadline) <= 0) return false;
  for (size_t i = 0; i < count; i++) {
    if (!fds[i].revents) continue;
    if (!redis_push(pending[i]->conn) && (fds[i].revents & ~POLLOUT)) take_replies(fanout, pending[i], round);
    if (pending[i]->vote == REDIS_PENDING) mend(fanout, pending[i], round);
  }
  return true;
}

void redis_fanout_gather(struct redis_fanout *fanout, struct redis_round *round, bool silent_is_no, lb_ns deadline) {
  do {
    count_votes(fanout, round);
  } while (!is_decided(fanout, round, silent_is_no) && wait_votes(fanout, round, deadline));
}
