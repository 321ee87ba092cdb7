/* SPDX-License-Identifier: MIT
 *
 * zk_alive.h - until when a session of ZooKeeper lives for sure, worked out from the times of its answered writes. It
 * asks no server and reads no clock.
 *
 * One answered write is not enough. A leader ends a session when it has not heard of it for the timeout T. Of a client
 * of a follower it hears in two ways: a request for a new connection, and the follower's answer to the leader's ping,
 * which lists the sessions that the follower has heard of since the answer before. A write that the follower passes on
 * is no such sign: the leader looks whether the session has not been ended yet, and counts on as before
 * (LearnerHandler, SessionTrackerImpl). So while the pings are late, a write can be committed in the last moment of its
 * session. Its answer may then be read, all at once with the list that it was sent with, when the next client holds the
 * lock.
 *
 * Three are enough, one after the other: the second sent T/4 or more after the first was answered, the third after the
 * second was. Then the session lives until T after the first was sent.
 *  - The follower heard of the session by the first write, when it had been sent and before it was answered.
 *  - The leader sends pings and answers to a follower in one stream, a ping at least every half tick. So the last ping
 *    before the answer to the second left the leader not earlier than half a tick before that write was sent. Servers
 *    grant no session shorter than two ticks (minSessionTimeout, unless somebody sets it lower), so half a tick is at
 *    most T/4, and the ping left after the first write was answered.
 *  - So the follower's answer to that ping, or one before it, names the session as of the first write or later.
 *  - The third write travels behind that answer, in one stream again. It was committed, so the session had not been
 *    ended when the leader had heard of it, and T counts from then.
 * Any number of writes may lie between the three. Who writes all the time has them anyway, and so has who waits.
 *
 * Two are the weaker case, one after the other, at once. Who was silent for long begins with them: it would have to
 * wait for T/4 otherwise. The ping before the answer to the second may then be older than the first, by half a tick.
 * What the follower had heard of the session by then, is what the client's library had sent before: something every
 * T/3. So the session lives until s + 5/12 T, where s is when the first was sent. That assumes
 *  - that what the client sent before had reached its follower. A way to the follower that stood still until just
 *    before the first write, is not seen by it: the session may end earlier by as much as it stood still, and the
 *    library leaves a server after 2/3 T.
 *  - that the library was free to send. It sends no ping while a request has no answer. So after a write that took
 *    longer than T/3 no more is believed than T from when that one was sent, until half a tick more has passed. A read
 *    that hangs so is not counted here; nor is a write that was given up earlier, or a client that was stopped itself.
 *
 * A session is as new as it can be when it begins: its leader counts T from a moment after it was asked for. When a
 * follower or the leader is replaced, the client connects anew or the new leader gives every session T again: both come
 * later than s.
 *
 * What both rest on, beside the servers' code: the clocks of leader and client run at about the same speed; and a
 * leader that answers sends its pings every half tick, too, also when it collects garbage (where two ticks are shorter
 * than T, that has room). Two races of a few instructions in the servers are left: a follower may lose what it hears of
 * a session while it lists them (LearnerSessionTracker.touchSession beside snapshot), and a leader may hear of a
 * session that it is about to end, and end it yet (SessionTrackerImpl.run between poll and setSessionClosing).
 * The three do not rest on how late any message is.
 */
#ifndef LB_ZK_ALIVE_H
#define LB_ZK_ALIVE_H

#include "backends/backend.h"

enum { ZK_ALIVE_WRITES = 8 };

struct zk_alive { /* zeroed = of no session */
  int64_t session;
  lb_ns timeout;
  lb_ns span;     /* so long after an answered write left the session lives, once a later one was answered */
  lb_ns until;    /* the session lives for sure until then; in the past = perhaps it does not */
  lb_ns answered; /* when the latest of the answered writes left, or the request for the session */
  /* The rest is private. */
  lb_ns base;  /* the same, or as much earlier as the library was kept from sending */
  lb_ns named; /* when a write left that the leader has heard of if one more is answered; 0 = none */
  struct {
    lb_ns sent, read; /* a write that took long to be answered; 0 = there was none */
  } slow;
  struct {
    lb_ns sent, read;
  } write[ZK_ALIVE_WRITES]; /* the latest answered ones, but for those close behind another; a ring */
  size_t next;              /* of the ring */
};

struct zk_mark { /* of one write */
  int64_t session;
  lb_ns sent;
  lb_ns base, named; /* as they were */
  lb_ns heard;       /* when the latest write left that was answered long enough ago; 0 = none */
};

/* What is about to be spoken of is this session, asked for at `begun` and given timeout T. Does nothing if it is known
 * already. */
void zk_alive_meet(struct zk_alive *alive, int64_t session, lb_ns begun, lb_ns timeout);
/* Just before a write of the session leaves. */
struct zk_mark zk_alive_mark(const struct zk_alive *alive, lb_ns now);
/* The write of this mark was committed: its answer has been read, at the latest now. Nothing for a session that is not
 * spoken of any more. */
void zk_alive_answered(struct zk_alive *alive, struct zk_mark mark, lb_ns now);
/* The write of this mark was given up at `now`. */
void zk_alive_given_up(struct zk_alive *alive, struct zk_mark mark, lb_ns now);
/* When the next write should leave, for there to be half of the span left at any time. */
lb_ns zk_alive_renew_at(const struct zk_alive *alive);

#endif
