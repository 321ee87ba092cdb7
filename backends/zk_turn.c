/* SPDX-License-Identifier: MIT
 *
 * Waiting in a queue without forgetting that one lives. Who waits for long would have to ask anew whether its session lives before
 * it may believe that it is the first, and that question would stand between a release and the next holder. So it is asked
 * meanwhile, in the background of the wait: one write to the folder after the other, each sent when the one before has been
 * answered and a quarter of the span of zk_alive.h has passed. Nobody waits for the answer; who is woken before it comes goes on
 * with what is known by then.
 */
#include "zk_queue.h"

struct renewal {
  struct zk_call *write; /* on its way; NULL = none is */
  struct zk_mark mark;
  lb_ns again;           /* not before */
};

static void take_answer(struct zk_queue *q, struct renewal *r) {
  int rc = r->write ? zk_wait(q->run.zk, r->write, lb_now(q->run.env)) : ZK_NO_REPLY;
  if (rc == ZK_NO_REPLY) return;
  if (rc == ZOK) zk_alive_answered(&q->life.alive, r->mark, lb_now(q->run.env));
  zk_drop(r->write);
  r->write = NULL;
}

/* Sends what is due. When to look again. */
static lb_ns keep_up(struct zk_queue *q, const char *dir, struct renewal *r) {
  take_answer(q, r);
  lb_ns now = lb_now(q->run.env), due = zk_alive_renew_at(&q->life.alive);
  if (due < r->again) due = r->again;
  if (now < due) return due;
  if (!r->write) {
    r->mark = zk_alive_mark(&q->life.alive, now);
    r->write = zk_set(q->run.zk, dir, "");
  }
  return r->again = now + q->life.alive.span / 4;
}

int zk_queue_await_turn(struct zk_queue *q, const char *dir, const char *ahead, lb_ns deadline) {
  if (zk_was_written(q->run.zk, ahead)) return LB_OK; /* between two waits */
  int result = zk_await_watch(q->run.zk, zk_watch(q->run.zk, ahead), deadline);
  if (result != LB_OK) return result == LB_BUSY ? LB_OK : result;
  lb_ns bound = lb_now(q->run.env) + zk_timeout_ns(q->run.zk); /* a lost event must not cost more */
  if (bound > deadline) bound = deadline;
  struct renewal renewal = {0};
  zk_life_known(&q->life); /* of this session */
  do {
    lb_ns look = keep_up(q, dir, &renewal);
    result = zk_wait_event(q->run.zk, look < bound ? look : bound);
  } while (result == LB_TIMEOUT && lb_now(q->run.env) < bound);
  take_answer(q, &renewal);
  if (renewal.write) zk_alive_given_up(&q->life.alive, renewal.mark, lb_now(q->run.env));
  zk_drop(renewal.write);
  return result == LB_TIMEOUT && bound < deadline ? LB_OK : result;
}
