/* SPDX-License-Identifier: MIT
 *
 * One command down the connections of a fanout, in one poll loop, and the votes that come back.
 *
 * A round may end before all have answered, because the outcome is decided. What is still owed then is counted per
 * connection (redis_owed) and skipped before the answer to the next round: a late reply is never taken for a new one.
 * A server that falls behind gets nothing new.
 *
 * A connection that breaks in a round, for instance because the server was restarted since the last one, is opened
 * again once and asked again.
 */
#include "redis_fanout.h"

/* ---- sending ------------------------------------------------------------------------------------------ */

/* Scripts with their whole text: a reply may be read much later, too late to answer "unknown script" with it. */
static void ask(struct redis_fanout *fanout, struct redis_node *node, const struct redis_round *round) {
  struct redis_words words;
  node->resent = node->sent && round->read_resent;
  if (node->conn && redis_owed(node->conn) >= round->owed_max) redis_drain(node->conn);
  node->late = node->conn ? redis_owed(node->conn) : 0;
  if (!node->conn || node->late >= round->owed_max ||
      redis_spell(fanout->env, node->resent ? &round->resent : &round->command, true, &words)) {
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
  redis_fanout_drop(fanout, node);
  node->vote = REDIS_SILENT;
  if (!had_worked || node->reopened) return;
  node->reopened = true;
  redis_fanout_reopen(fanout, node);
  ask(fanout, node, round);
}

static void ask_first(struct redis_fanout *fanout, struct redis_node *node, const struct redis_round *round) {
  redis_fanout_ready(fanout, node);
  node->sent = node->reopened = false;
  ask(fanout, node, round);
  mend(fanout, node, round);
}

static bool is_left_out(const struct redis_node *node, const struct redis_round *round) { return round->only_yes && node->vote != REDIS_YES; }

void redis_round_tell(struct redis_fanout *fanout, struct redis_round *round) {
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

void redis_round_send(struct redis_fanout *fanout, struct redis_round *round) {
  if (fanout->way != REDIS_ONE_BY_ONE) return redis_round_tell(fanout, round);
  for (size_t i = 0; i < fanout->count; i++) fanout->node[i].vote = is_left_out(&fanout->node[i], round) ? REDIS_SILENT : REDIS_UNASKED;
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

void redis_round_gather(struct redis_fanout *fanout, struct redis_round *round, bool silent_is_no, lb_ns deadline) {
  if (fanout->way == REDIS_ONE_BY_ONE) return gather_each(fanout, round, deadline);
  lb_ns end = patient_until(fanout, deadline);
  do {
    count_votes(fanout, round);
  } while (!is_decided(fanout, round, silent_is_no) && wait_votes(fanout, round, end));
}

void redis_round_run(struct redis_fanout *fanout, struct redis_round *round, lb_ns deadline) {
  redis_round_send(fanout, round);
  redis_round_gather(fanout, round, false, deadline);
}
