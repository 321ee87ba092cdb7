/* SPDX-License-Identifier: MIT
 *
 * A connection to each of N servers. No server makes the others wait: connecting happens in the same poll loop as
 * everything else (rounds), a server that refused is left alone for a moment, and one that stays silent gets a new
 * connection.
 */
#include "redis_fanout.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define REOPEN_MS 20 /* after a refused connect */
#define NAME_MS 100  /* for the address of a server that is given by name; one that is given by address needs no wait */
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

static void reopen(struct redis_fanout *fanout, struct redis_node *node) {
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

static void drop(struct redis_fanout *fanout, struct redis_node *node) {
  if (!redis_connected(node->conn)) node->open_at = lb_now(fanout->env) + REOPEN_MS * LB_NS_PER_MS;
  note_trouble(fanout, node);
  close_node(node);
}

/* True when we have been waiting for it for long without an answer. What came since the last round may just not have
 * been read. */
static bool is_silent(struct redis_node *node, lb_ns now) {
  if (!node->conn || now <= node->heard_at + SILENT_MS * LB_NS_PER_MS) return false;
  size_t owed = redis_owed(node->conn);
  redis_push(node->conn);
  if (!redis_connected(node->conn)) return true;
  if (!owed) return false;
  redis_drain(node->conn);
  return redis_owed(node->conn) == owed;
}

static void ready(struct redis_fanout *fanout, struct redis_node *node) {
  if (is_silent(node, lb_now(fanout->env))) close_node(node);
  if (!node->conn) reopen(fanout, node);
}

int redis_fanout_init(struct redis_fanout *fanout, struct lb_env *env, const struct lb_target *target) {
  fanout->env = env;
  fanout->endpoints = target->endpoints;
  for (size_t i = 0; i < target->count; i++) {
    if (strcmp(target->endpoints[i].service, "redis")) continue;
    if (fanout->count == REDIS_NODES_MAX) return lb_fail(env, -E2BIG, "more than %d redis servers", REDIS_NODES_MAX);
    struct redis_node *node = &fanout->node[fanout->count++];
    node->endpoint = &target->endpoints[i];
    reopen(fanout, node);
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

uint64_t redis_fanout_yes(const struct redis_fanout *fanout) {
  uint64_t voters = 0;
  for (size_t i = 0; i < fanout->count; i++)
    if (fanout->node[i].vote == REDIS_YES) voters |= UINT64_C(1) << (fanout->node[i].endpoint - fanout->endpoints);
  return voters;
}

/* How many of the connections to these have worked without a break since then. Takes late replies from them; does not
 * wait. */
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
 * left, each to a server that said yes to this grant, that have worked without a break since. Only those count whose
 * yes was heard by the time that made a quorum. A round ends there, so of five servers that all said yes mostly three
 * count, and one broken connection to one of these is a doubt: too careful, never too bold. The next round that
 * confirms the grant asks all five again. */
int redis_fanout_doubt(struct redis_fanout *fanout, const struct lb_grant *grant) {
  size_t intact = count_intact(fanout);
  if (intact >= fanout->quorum && lb_is_confirmed(&fanout->confirmed, grant)) return LB_OK;
  lb_fail(fanout->env, -ENOTCONN,
          "%zu of %zu connections, to servers that said yes, have worked without a break since, a quorum is %zu",
          intact, fanout->count, fanout->quorum);
  return LB_UNKNOWN;
}

/* ---- rounds ----------------------------------------------------------------------------------------------
 *
 * One command down the connections of a fanout, in one poll loop, and the votes that come back.
 *
 * A round may end before all have answered, because the outcome is decided. What is still owed then is counted per
 * connection (redis_owed) and skipped before the answer to the next round: a late reply is never taken for a new one.
 * A server that falls behind gets nothing new.
 *
 * A connection that breaks in a round, for instance because the server was restarted since the last one, is opened
 * again once and asked again. */

/* Scripts with their whole text: a reply may be read much later, too late to answer "unknown script" with it. */
static void ask_server(struct redis_fanout *fanout, struct redis_node *node, const struct redis_round *round) {
  struct redis_words words;
  node->resent = node->sent && round->read_resent;
  if (node->conn && redis_owed(node->conn) >= round->owed_max) redis_drain(node->conn);
  node->late = node->conn ? redis_owed(node->conn) : 0;
  if (!node->conn || node->late >= round->owed_max ||
      redis_command_spell(fanout->env, node->resent ? &round->resent : &round->command, true, &words)) {
    node->vote = REDIS_SILENT;
    return;
  }
  node->vote = REDIS_PENDING;
  if (!node->late) node->heard_at = lb_now(fanout->env);
  if (redis_queue(node->conn, words.count, words.word, NULL) == 0) node->sent = true;
  redis_push(node->conn); /* a failure is seen as redis_lost */
}

/* Once per round a broken connection is replaced, if it had worked. A refused connect is left alone for a while. */
static void mend(struct redis_fanout *fanout, struct redis_node *node, const struct redis_round *round) {
  if (!node->conn || !redis_lost(node->conn)) return;
  bool had_worked = redis_connected(node->conn);
  drop(fanout, node);
  node->vote = REDIS_SILENT;
  if (!had_worked || node->reopened) return;
  node->reopened = true;
  reopen(fanout, node);
  ask_server(fanout, node, round);
}

static void ask_first(struct redis_fanout *fanout, struct redis_node *node, const struct redis_round *round) {
  ready(fanout, node);
  node->sent = node->reopened = false;
  ask_server(fanout, node, round);
  mend(fanout, node, round);
}

static bool is_left_out(const struct redis_node *node, const struct redis_round *round) {
  return round->only_yes && node->vote != REDIS_YES;
}

void redis_fanout_tell(struct redis_fanout *fanout, struct redis_round *round) {
  for (size_t i = 0; i < fanout->count; i++) {
    if (is_left_out(&fanout->node[i], round)) fanout->node[i].vote = REDIS_SILENT;
    else ask_first(fanout, &fanout->node[i], round);
  }
}

/* One by one: the first whose turn has not come. One that cannot be asked has voted by that. */
static void ask_next(struct redis_fanout *fanout, struct redis_round *round) {
  for (size_t i = 0; i < fanout->count; i++) {
    if (fanout->node[i].vote == REDIS_UNASKED) ask_first(fanout, &fanout->node[i], round);
    if (fanout->node[i].vote == REDIS_PENDING) return;
  }
}

void redis_fanout_send(struct redis_fanout *fanout, struct redis_round *round) {
  if (fanout->way != REDIS_ONE_BY_ONE) return redis_fanout_tell(fanout, round);
  for (size_t i = 0; i < fanout->count; i++)
    fanout->node[i].vote = is_left_out(&fanout->node[i], round) ? REDIS_SILENT : REDIS_UNASKED;
  ask_next(fanout, round);
}

/* ---- gathering ---------------------------------------------------------------------------------------- */

static void take_replies(struct redis_fanout *fanout, struct redis_node *node, const struct redis_round *round) {
  redisReply *reply;
  int rc = redis_next(node->conn, true, &reply);
  while (!rc && reply) {
    if (node->late) node->late--;
    else node->vote = (node->resent ? round->read_resent : round->read)(reply, round->context);
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
  if (round->yes + round->no + round->silent == fanout->count) return true;
  return fanout->way == REDIS_QUORUM && (round->yes >= fanout->quorum || against > fanout->count - fanout->quorum);
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

/* Until when the answers to what was just asked are waited for. */
static lb_ns patient_until(const struct redis_fanout *fanout, lb_ns deadline) {
  lb_ns end = lb_now(fanout->env) + fanout->patience;
  return fanout->patience && end < deadline ? end : deadline;
}

/* One by one. Who does not answer in its time has no vote, and the next one is asked. */
static void gather_each(struct redis_fanout *fanout, struct redis_round *round, lb_ns deadline) {
  for (size_t i = 0; i < fanout->count; i++) {
    struct redis_node *node = &fanout->node[i];
    lb_ns end = patient_until(fanout, deadline);
    if (node->vote == REDIS_UNASKED) ask_next(fanout, round);
    while (node->vote == REDIS_PENDING && wait_votes(fanout, round, end)) continue;
    if (node->vote == REDIS_PENDING) node->vote = REDIS_SILENT;
    if (lb_now(fanout->env) >= deadline) break;
  }
  count_votes(fanout, round);
}

void redis_fanout_gather(struct redis_fanout *fanout, struct redis_round *round, bool silent_is_no, lb_ns deadline) {
  if (fanout->way == REDIS_ONE_BY_ONE) return gather_each(fanout, round, deadline);
  lb_ns end = patient_until(fanout, deadline);
  do {
    count_votes(fanout, round);
  } while (!is_decided(fanout, round, silent_is_no) && wait_votes(fanout, round, end));
}

void redis_fanout_run(struct redis_fanout *fanout, struct redis_round *round, lb_ns deadline) {
  redis_fanout_send(fanout, round);
  redis_fanout_gather(fanout, round, false, deadline);
}
