/* SPDX-License-Identifier: MIT
 *
 * zk_alive.h - until when a session of ZooKeeper lives for sure, as far as its client can know. For the recipes that believe a
 * read: what a read shows may be old, so it is worth something only while the reader's own session lives.
 *
 * One answered write is not enough. A leader ends a session when it has not heard of it for the timeout T. Of a client of a
 * follower it hears in two ways: a request for a new connection, and the follower's answer to the leader's ping, which lists
 * the sessions that the follower has heard of since the answer before. A write that the follower passes on is no such sign: the
 * leader looks whether the session has not been ended yet, and counts on as before (LearnerHandler, SessionTrackerImpl). So
 * while the pings are late, a write can be committed in the last moment of its session. Its answer may then be read, all at once
 * with the list that it was sent with, when the next client holds the lock.
 *
 * Two are, one after the other: the second sent after the first was answered.
 *  - The first is sent at s. The leader sends pings and answers to a follower in one stream, a ping at least every half tick.
 *    So when the client has its answer, the follower has answered a ping that was sent not earlier than half a tick before s.
 *  - That answer, or one before it, named the session, which the follower had heard of at most T/3 before: the client's library
 *    sends something at least so often.
 *  - The second travels behind that answer, in one stream again. It was committed, so the session lived when the leader had
 *    heard of it: by then T counts from s - half a tick - T/3 or later.
 * Servers grant no session shorter than two ticks (minSessionTimeout, unless somebody sets it lower), so half a tick is at most
 * T/4, and the session lives until s + 5/12 T. Any number of writes may lie between the two.
 *
 * A session is as new as it can be when it begins: its leader counts T from a moment after it was asked for. When a follower or
 * the leader is replaced, the client connects anew or the new leader gives every session T again: both come later than s.
 *
 * What this rests on, beside the servers' code: the clocks of leader and client run at about the same speed; a leader that
 * answers sends its pings, too; and the client's library is not kept from sending for longer than T/3 just before s. (A client
 * that was stopped for nearly T and then writes twice within half a tick is believed too much of, for up to half a tick.) It
 * does not rest on how late any message is.
 */
#ifndef LB_ZK_ALIVE_H
#define LB_ZK_ALIVE_H

#include "backend.h"

struct zk_alive { /* zeroed = of no session */
  int64_t session;
  lb_ns span;     /* so long after `answered` the session lives, once a later write was answered */
  lb_ns answered; /* when the latest of the answered writes left, or the request for the session */
  lb_ns until;    /* the session lives for sure until then; in the past = perhaps it does not */
};

struct zk_mark { /* of one write */
  int64_t session;
  lb_ns sent, base;
};

/* What is about to be spoken of is this session, asked for at `begun` and given timeout T. Does nothing if it is known already. */
void zk_alive_meet(struct zk_alive *alive, int64_t session, lb_ns begun, lb_ns timeout);
/* Just before a write of the session leaves. */
struct zk_mark zk_alive_mark(const struct zk_alive *alive, lb_ns now);
/* That write was committed: its answer has been read. Nothing for a session that is not spoken of any more. */
void zk_alive_answered(struct zk_alive *alive, struct zk_mark mark);
/* When the next write should leave, for there to be half of the span left at any time. */
lb_ns zk_alive_renew_at(const struct zk_alive *alive);

#endif
