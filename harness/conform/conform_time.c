/* SPDX-License-Identifier: MIT
 *
 * For how long a grant is good, and how those are served who wait. A client has to believe less than the server does:
 * its lease begins before the request is sent, the server's when it arrives. The server's answer is held back on
 * purpose (lb_conform_hold_back()), which makes the difference between the two long enough to be seen.
 */
#include "conform_calls.h"

#include <inttypes.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>

enum { SHORT_TTL_MS = 300 };

/* From b to a; negative if a comes first. */
static double ms_after(lb_ns a, lb_ns b) { return ((double)a - (double)b) / 1e6; }

/* How far `until` is from `begin`, in words. */
static const char *span(lb_ns until, lb_ns begin) {
  static char text[40];
  if (until == LB_NEVER) return "for ever";
  snprintf(text, sizeof text, "%.3f ms", ms_after(until, begin));
  return text;
}

/* Checks a grant of TTL_MS from a moment ago. A lease counts from asked_at, a session from its latest contact: each
 * request of an attempt may have renewed the session. */
static void check_validity(struct lb_conform *c, const struct lb_grant *g, lb_ns answered_at) {
  lb_ns now = lb_clock_ns(), begin = has(c, LB_TRAIT_LEASED) ? g->asked_at : answered_at;
  if (has(c, LB_TRAIT_NO_EXPIRY)) {
    lb_conform_check(c, g->valid_until == LB_NEVER,
                     "expected valid_until = LB_NEVER from a lock without expiry, got %s after asked_at",
                     span(g->valid_until, g->asked_at));
    return;
  }
  lb_conform_check(c, g->valid_until > now, "expected a grant that is still valid, got one that ended %.3f ms ago",
                   ms_after(now, g->valid_until));
  if (!has(c, LB_TRAIT_LEASED) && g->valid_until == LB_NEVER) return;
  lb_conform_check(
      c, g->valid_until <= begin + TTL_MS * LB_NS_PER_MS, "expected valid_until at most %d ms after %s, got %s", TTL_MS,
      has(c, LB_TRAIT_LEASED) ? "asked_at" : "the latest contact, or LB_NEVER", span(g->valid_until, begin));
}

/* Ends that. When the latest answer was there; now, if there was none to hold back. */
static lb_ns when_answered(struct lb_conform *c, int i) {
  c->env[i].base.wait_fds = c->wait_fds;
  return c->ready_at ? c->ready_at : lb_clock_ns();
}

/* An attempt before makes the connection, so that the one that is measured is one request and one answer. */
static void validity_counts_from_the_send(struct lb_conform *c) {
  KEY;
  struct lb_grant first = LB_GRANT_INIT, g = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &first)); /* is connected from now on */
  WANT(LB_OK, lb_conform_release(c, 0, key, &first));
  lb_ns before = lb_clock_ns();
  lb_conform_hold_back(c, 0, TTL_MS / 2 - 100);
  WANT(LB_OK, lb_conform_acquire(c, 0, key, &g, 2000));
  lb_ns answered_at = when_answered(c, 0);
  lb_conform_check(c, g.asked_at >= before, "expected an asked_at of this call, got one %.3f ms before it",
                   ms_after(before, g.asked_at));
  lb_conform_check(c, g.asked_at <= answered_at, "expected asked_at before the reply, got one %.3f ms after it",
                   ms_after(g.asked_at, answered_at));
  check_validity(c, &g, answered_at);
  WANT(LB_OK, lb_conform_release(c, 0, key, &g));
}

/* The holder does nothing, as one that is paused. Another one gets the lock, though not before its validity is over. */
static void await_successor(struct lb_conform *c, const char *key, const struct lb_grant *old, struct lb_grant *ret) {
  WANT(LB_OK, lb_conform_acquire(c, 1, key, ret, 5000));
  lb_conform_check(c, lb_clock_ns() >= old->valid_until,
                   "expected nobody else before valid_until, got another holder %.3f ms before it",
                   ms_after(old->valid_until, lb_clock_ns()));
}

static void lease_ends(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  WANT(LB_OK, try_for(c, 0, key, SHORT_TTL_MS, &a));
  await_successor(c, key, &a, &b);
  if (has_owner(c)) { /* else these would speak of the new holder */
    if (c->protocol->holds) WANT(LB_LOST, lb_conform_holds(c, 0, key, &a));
    if (c->protocol->extend) WANT(LB_LOST, lb_conform_extend(c, 0, key, SHORT_TTL_MS, &a));
    WANT(LB_LOST, lb_conform_release(c, 0, key, &a));
  }
  WANT(LB_OK, lb_conform_release(c, 1, key, &b));
}

/* As a client does whose reply was lost. What it is promised then is what its record at the servers keeps. */
static void lease_ends_asked_again(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  WANT(LB_OK, try_for(c, 0, key, SHORT_TTL_MS, &a));
  lb_clock_sleep_until(in_ms(SHORT_TTL_MS / 2));
  WANT(LB_OK, try_for(c, 0, key, SHORT_TTL_MS, &a));
  await_successor(c, key, &a, &b);
  WANT(LB_OK, lb_conform_release(c, 1, key, &b));
}

/* A server may keep a lease for longer than the client counts on it: some count whole seconds. */
static void await_end_at_a_server(struct lb_conform *c, const char *key) {
  if (c->topology->data_count == 0) return;
  lb_ns end = in_ms(5000);
  size_t server = lb_conform_who_knows(c, 1, key);
  while (lb_conform_inspect(c, 1, key, server) == 1 && lb_clock_ns() < end) lb_clock_sleep_until(in_ms(5));
}

/* At every server, and not before that time: each removes what is too old when its own timer looks, NATS 2.15 up to
 * half a second late. */
static void await_end_at_all(struct lb_conform *c, const char *key, lb_ns soonest) {
  lb_ns end = in_ms(5000);
  lb_clock_sleep_until(soonest);
  for (size_t i = 0; i < c->topology->data_count; i++)
    while (lb_conform_inspect(c, 1, key, i) == 1 && lb_clock_ns() < end) lb_clock_sleep_until(in_ms(5));
}

/* No client asks for the key in between. The lease ends all the same, and its holder learns that although it has no
 * successor. */
static void lease_ends_unasked(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT;
  WANT(LB_OK, try_for(c, 0, key, 200, &a));
  await_end_at_a_server(c, key);
  lb_conform_check(c, c->topology->data_count == 0 || lb_clock_ns() >= a.valid_until,
                   "expected a record at the server until valid_until, got none %.3f ms before it",
                   ms_after(a.valid_until, lb_clock_ns()));
  await_end_at_all(c, key, a.asked_at + 250 * LB_NS_PER_MS);
  WANT(LB_LOST, lb_conform_holds(c, 0, key, &a));
  WANT(LB_LOST, lb_conform_extend(c, 0, key, 200, &a));
  WANT(LB_LOST, lb_conform_release(c, 0, key, &a));
}

/* A client that extends too late has lost the lock, and has to acquire it again. */
static void extended_too_late(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  WANT(LB_OK, try_for(c, 0, key, SHORT_TTL_MS, &a));
  await_end_at_a_server(c, key);
  await_end_at_all(c, key, a.asked_at + (SHORT_TTL_MS + 50) * LB_NS_PER_MS);
  WANT(LB_LOST, lb_conform_extend(c, 0, key, TTL_MS, &a));
  WANT(LB_OK, lb_conform_acquire(c, 1, key, &b, TTL_MS / 2));
  WANT(LB_OK, lb_conform_release(c, 1, key, &b));
}

/* What a lease may be shorter by for the grain of the clock that counts it. */
static lb_ns clock_step(const struct lb_conform *c) {
  return lb_counts_by_wall(c->protocol, c->options) ? 2 * LB_NS_PER_MS : 0;
}

/* The new end is later than the old one, but not by more than was asked for. A lease also has to
 * last for all of that. */
static void extending_moves_the_end(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT;
  WANT(LB_OK, try_for(c, 0, key, 1000, &a));
  lb_ns end = a.valid_until;
  lb_clock_sleep_until(in_ms(5));
  lb_ns before = lb_clock_ns();
  lb_conform_hold_back(c, 0, 400);
  WANT(LB_OK, lb_conform_extend(c, 0, key, TTL_MS, &a));
  lb_ns answered_at = when_answered(c, 0);
  if (end == LB_NEVER) {
    lb_conform_check(c, a.valid_until == LB_NEVER,
                     "expected valid_until = LB_NEVER as before, got %s after the extension",
                     span(a.valid_until, answered_at));
    WANT(LB_OK, lb_conform_release(c, 0, key, &a));
    return;
  }
  lb_conform_check(c, a.valid_until > end, "expected a later valid_until, got one %.3f ms before the old one",
                   ms_after(end, a.valid_until));
  lb_conform_check(c, a.valid_until <= answered_at + TTL_MS * LB_NS_PER_MS,
                   "expected valid_until at most %d ms after the extension was asked for, got %s", TTL_MS,
                   span(a.valid_until, answered_at));
  if (has(c, LB_TRAIT_LEASED))
    lb_conform_check(c, a.valid_until + clock_step(c) >= lb_lease_end(before, TTL_MS),
                     "expected valid_until at the end of the new lease, got %.3f ms before it",
                     ms_after(lb_lease_end(before, TTL_MS), a.valid_until));
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
}

/* Longer than the lease it was granted for: the server has to know of the extension, too. */
static void extended_past_its_first_end(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  WANT(LB_OK, try_for(c, 0, key, SHORT_TTL_MS, &a));
  lb_ns first_end = a.asked_at + SHORT_TTL_MS * LB_NS_PER_MS;
  WANT(LB_OK, lb_conform_extend(c, 0, key, TTL_MS, &a));
  lb_clock_sleep_until(first_end + 20 * LB_NS_PER_MS);
  WANT(LB_OK, lb_conform_holds(c, 0, key, &a));
  WANT(LB_BUSY, lb_conform_try(c, 1, key, &b));
  lb_conform_leave(c, 1, key, &b);
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
}

/* The old grant is asked about twice, while the lock is free and while another one holds it: a
 * server that looks for any record would say OK to the second. */
static void confirms_a_hold(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  WANT(LB_OK, lb_conform_holds(c, 0, key, &a));
  struct lb_grant stale = a;
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
  WANT(LB_LOST, lb_conform_holds(c, 0, key, &stale));
  WANT(LB_OK, lb_conform_acquire(c, 1, key, &b, 2000));
  WANT(LB_LOST, lb_conform_holds(c, 0, key, &stale));
  WANT(LB_OK, lb_conform_holds(c, 1, key, &b));
  WANT(LB_OK, lb_conform_release(c, 1, key, &b));
}

/* ---- waiting ----------------------------------------------------------------------------------- */

/* A client that is notified may look again every 200 ms: a dozen packets, with acknowledgements. A client that polls
 * sends a hundred. */
enum { WAITERS = 5, QUIET_MS = 400, QUIET_PACKETS = 20, PATIENCE_MS = 150, GONE_MS = 1000 };

/* The wait must not end before the release, and has to end after it. That it ended is no grant: the
 * waiter asks again. */
static void woken_by_release(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  WANT(LB_BUSY, lb_conform_try(c, 1, key, &b));
  WANT(LB_TIMEOUT, lb_conform_wait(c, 1, key, &b, 100));
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
  WANT(LB_OK, lb_conform_wait(c, 1, key, &b, 3000));
  WANT(LB_OK, lb_conform_acquire(c, 1, key, &b, 2000));
  WANT(LB_OK, lb_conform_release(c, 1, key, &b));
}

/* The last client to come asks first: it may be granted only when all earlier ones are served. */
static void first_come_first_served(struct lb_conform *c) {
  KEY;
  struct lb_grant g[1 + WAITERS] = {0};
  WANT(LB_OK, lb_conform_try(c, 0, key, &g[0]));
  for (int i = 1; i <= WAITERS; i++) WANT(LB_BUSY, lb_conform_try(c, i, key, &g[i]));
  for (int next = 1; next <= WAITERS; next++) {
    WANT(LB_OK, lb_conform_release(c, next - 1, key, &g[next - 1]));
    for (int i = WAITERS; i > next; i--) WANT(LB_BUSY, lb_conform_try(c, i, key, &g[i]));
    WANT(LB_OK, lb_conform_acquire(c, next, key, &g[next], 2000));
  }
  WANT(LB_OK, lb_conform_release(c, WAITERS, key, &g[WAITERS]));
}

static uint64_t packets_sent(int fd) {
  struct tcp_info info = {0};
  socklen_t size = sizeof info;
  return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 ? info.tcpi_data_segs_out : 0;
}

/* How many packets with data these have sent so far. */
static uint64_t packets_sent_to(const struct lb_target *target) { return lb_env_sockets_sum(target, packets_sent); }

/* A protocol may look again after a while, as no message is certain to arrive, and a session is kept alive by packets.
 * A client that polls sends many more. */
static void waits_without_polling(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  WANT(LB_BUSY, lb_conform_try(c, 1, key, &b));
  WANT(LB_TIMEOUT, lb_conform_wait(c, 1, key, &b, PATIENCE_MS)); /* now it has said what it wants to be told */
  uint64_t before = packets_sent_to(&c->target);
  lb_conform_want(c, LB_BUSY, lb_conform_queue_up(c, 1, key, &b, QUIET_MS));
  uint64_t sent = packets_sent_to(&c->target) - before;
  lb_conform_check(c, sent <= QUIET_PACKETS,
                   "expected at most %d packets in %d ms of waiting, got %" PRIu64 " (first and second session)",
                   QUIET_PACKETS, QUIET_MS, sent);
  lb_conform_leave(c, 1, key, &b);
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
}

/* Cancelled by its deadline, in the middle of its wait. The lock then goes to whom asks next, at the
 * first try, and no server has a record of it when that one is done. */
static void gives_up_waiting(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT, d = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  WANT(LB_BUSY, lb_conform_try(c, 1, key, &b));
  WANT(LB_TIMEOUT, lb_conform_wait(c, 1, key, &b, PATIENCE_MS));
  lb_conform_leave(c, 1, key, &b);
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
  WANT(LB_OK, lb_conform_acquire(c, 2, key, &d, 2000));
  WANT(LB_OK, lb_conform_release(c, 2, key, &d));
  for (size_t i = 0; lb_proofs(c->protocol)->inspect && i < c->topology->data_count; i++) {
    int r;
    for (lb_ns end = in_ms(GONE_MS); (r = lb_conform_inspect(c, 2, key, i)) == 1 && lb_clock_ns() < end;)
      lb_clock_sleep_until(in_ms(5));
    WANT(0, r);
  }
}

/* A third session asks, because the one that gave up would not be in its own way. */
static void giving_up_leaves_nothing(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT, d = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  WANT(LB_BUSY, lb_conform_try(c, 1, key, &b));
  lb_conform_leave(c, 1, key, &b);
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
  WANT(LB_OK, lb_conform_acquire(c, 2, key, &d, 2000));
  WANT(LB_OK, lb_conform_release(c, 2, key, &d));
}

const struct lb_conform_statement lb_conform_of_time[] = {
    {"validity counts from before the send", 0, validity_counts_from_the_send},
    {"a lease ends by itself and the old holder learns it", LB_NEEDS_LEASE, lease_ends},
    {"a lease that was asked for twice ends when it was said", LB_NEEDS_SAFE | LB_NEEDS_OWNER | LB_NEEDS_LEASE,
     lease_ends_asked_again},
    {"extending moves the end", LB_NEEDS_EXTEND, extending_moves_the_end},
    {"an extended lease is held past its first end", LB_NEEDS_LEASE | LB_NEEDS_EXTEND, extended_past_its_first_end},
    {"an expired lease is lost before anybody else comes", LB_NEEDS_LEASE, lease_ends_unasked},
    {"extending what has expired does not bring it back", LB_NEEDS_LEASE | LB_NEEDS_EXTEND, extended_too_late},
    {"the server confirms a hold and nothing else", LB_NEEDS_HOLDS | LB_NEEDS_OWNER, confirms_a_hold},
    {"a waiter is woken by the release", LB_NEEDS_WAIT, woken_by_release},
    {"who comes first is served first", LB_NEEDS_SAFE | LB_NEEDS_FIFO, first_come_first_served},
    {"who waits to be told does not poll", LB_NEEDS_WAIT | LB_NEEDS_SERVERS, waits_without_polling},
    {"a waiter that gives up leaves nothing behind", LB_NEEDS_SAFE | LB_NEEDS_WAIT, gives_up_waiting},
    {"giving up leaves nothing behind", LB_NEEDS_SAFE, giving_up_leaves_nothing},
    {NULL, 0, NULL},
};
