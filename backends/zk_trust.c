/* SPDX-License-Identifier: MIT
 *
 * What a client that stands in the queue may believe, and until when.
 *
 * Why a list may be old, and a session may not
 *  - Reads are answered by the server at hand, which may be behind, by as much as the network makes it. Its state is one that the
 *    ensemble was in, some time ago.
 *  - Numbers only grow: a folder gives each once, and cannot be removed and made anew while a node stands in it. Deletions are permanent.
 *    So whose node was the first in any state, however old, is the first in every later one in which the node still exists. And the
 *    node exists as long as the session lives, for nobody else deletes it.
 *  - So a list is believed, whatever its age, while it is known that the session lives; and that is known from the client's own
 *    answered writes and its own clock (zk_alive.h), not from the server at hand.
 *  - The next holder has seen a state in which this node is gone. So the session had ended then, which cannot be before
 *    `valid_until`. Until then one holds; afterwards the other.
 *  - What costs nothing where locks change hands quickly: the create of the next attempt and the delete of the one before are such
 *    writes. Who waits for long keeps the knowledge up in the background of its wait (zk_turn.c). Only a client that has written
 *    nothing for a while asks first: with a write more, beside its create, before it holds.
 *  - A holder deletes its node in a way that tells the next one that this was the first (zk_queue.h). That is as good as a list: it is
 *    a state that the ensemble was in. So a hand-off is one commit, the deletion, and one event; and one read more, of the list, where a
 *    node went in another way: its client gave up, its session ended, or the connection was lost meanwhile.
 *
 * The published steps (queue->recipe) ask for no answer's age. There what was read is trusted, as clients do, until the library would leave
 * a silent server: for 2/3 of the session timeout after the answer was read.
 */
#include "zk_queue.h"

/* At best. */
static lb_ns trust(struct zk_queue *q) { return q->recipe ? zk_timeout_ns(q->run.zk) / 3 * 2 : zk_life_known(&q->life)->span; }

/* What was confirmed just now. */
static lb_ns believed_until(struct zk_queue *q) {
  return q->recipe ? lb_now(q->run.env) + trust(q) : zk_life_known(&q->life)->until;
}

int zk_queue_grant(struct zk_queue *q, const char *dir, struct lb_grant *grant, uint64_t losses, lb_ns deadline) {
  uint64_t czxid;
  int result = zk_queue_number(q, grant, deadline, &czxid);
  if (result == LB_OK && !q->recipe) result = zk_queue_make_sure(q, dir, grant, deadline);
  if (result != LB_OK) return result;
  lb_ns until = believed_until(q);
  if (lb_now(q->run.env) >= until) return ZK_AGAIN;
  grant->fence = czxid;
  grant->valid_until = until;
  lb_confirm(&q->confirmed, grant, losses);
  return LB_OK;
}

/* zk_queue_confirm(), and an answer that is read when the time it could be good for is over is asked for again. LB_UNKNOWN: also,
 * the deadline has come by then. */
static int confirm(struct zk_queue *q, const struct lb_grant *grant, bool by_write, lb_ns deadline) {
  for (lb_ns sent = 0;;) {
    int result = zk_queue_confirm(q, grant, by_write, deadline, &sent);
    if (result != LB_OK || lb_now(q->run.env) < sent + trust(q)) return result;
    if (lb_now(q->run.env) >= deadline) return LB_UNKNOWN;
  }
}

int zk_queue_extend(struct zk_queue *q, struct lb_grant *grant, lb_ns deadline) {
  if (!zk_queue_has_node(grant) || !grant->valid_until) return LB_LOST;
  int result = confirm(q, grant, true, deadline);
  if (result == LB_OK && !q->recipe && !zk_life_lasts(&q->life, trust(q) / 4 * 3)) result = confirm(q, grant, true, deadline);
  if (result != LB_OK) return result;
  lb_ns until = believed_until(q);
  if (lb_now(q->run.env) >= until) return LB_UNKNOWN;
  grant->valid_until = until;
  lb_confirm(&q->confirmed, grant, q->losses);
  return LB_OK;
}

int zk_queue_holds(struct zk_queue *q, const struct lb_grant *grant, lb_ns deadline) {
  if (!zk_queue_has_node(grant)) return grant->token_len ? LB_UNKNOWN : LB_LOST;
  int result = grant->valid_until ? confirm(q, grant, false, deadline) : LB_LOST;
  if (result == LB_OK) lb_confirm(&q->confirmed, grant, q->losses);
  return result;
}
