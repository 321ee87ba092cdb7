/* SPDX-License-Identifier: MIT
 *
 * For how long a grant is good. The client has to believe less than the server does: its lease
 * begins before the request is sent, the server's when it arrives. So validity is counted from the
 * send, and the old holder learns by itself that it is over. The server's answer is held back on
 * purpose (lb_conform_hold_back()), which makes the difference between the two long enough to be
 * seen.
 */
#include <stdio.h>

#include "base/clock.h"
#include "conform_statement.h"

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

/* Of a grant of TTL_MS from a moment ago. A lease counts from asked_at, a session from its latest
 * contact: who sends more than one request of an attempt may have kept a session up with each. */
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
  lb_conform_check(c, g->valid_until <= begin + TTL_MS * LB_NS_PER_MS, "expected valid_until at most %d ms after %s, got %s",
                   TTL_MS, has(c, LB_TRAIT_LEASED) ? "asked_at" : "the latest contact, or LB_NEVER",
                   span(g->valid_until, begin));
}

/* An attempt before makes the connection, so that the one that is measured is one request and one
 * answer. */
void lb_statement_validity_counts_from_the_send(struct lb_conform *c) {
  KEY;
  struct lb_grant first = LB_GRANT_INIT, g = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &first)); /* is connected from now on */
  WANT(LB_OK, lb_conform_release(c, 0, key, &first));
  lb_ns before = lb_clock_ns();
  lb_conform_hold_back(c, 0, TTL_MS / 2 - 100);
  WANT(LB_OK, lb_conform_acquire(c, 0, key, &g, 2000));
  lb_ns answered_at = lb_conform_answered_at(c, 0);
  lb_conform_check(c, g.asked_at >= before, "expected an asked_at of this call, got one %.3f ms before it",
                   ms_after(before, g.asked_at));
  lb_conform_check(c, g.asked_at <= answered_at, "expected asked_at before the reply, got one %.3f ms after it",
                   ms_after(g.asked_at, answered_at));
  check_validity(c, &g, answered_at);
  WANT(LB_OK, lb_conform_release(c, 0, key, &g));
}

/* The holder does nothing, as one that is paused. Another one gets the lock, though not before the
 * first one's validity is over. */
void lb_statement_lease_ends(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  WANT(LB_OK, lb_statement_try_for(c, 0, key, SHORT_TTL_MS, &a));
  WANT(LB_OK, lb_conform_acquire(c, 1, key, &b, 5000));
  lb_conform_check(c, lb_clock_ns() >= a.valid_until,
                   "expected nobody else before valid_until, got another holder %.3f ms before it",
                   ms_after(a.valid_until, lb_clock_ns()));
  if (has_owner(c)) { /* else these would speak of the new holder */
    if (c->protocol->holds) WANT(LB_LOST, lb_conform_holds(c, 0, key, &a));
    if (c->protocol->extend) WANT(LB_LOST, lb_conform_extend(c, 0, key, SHORT_TTL_MS, &a));
    WANT(LB_LOST, lb_conform_release(c, 0, key, &a));
  }
  WANT(LB_OK, lb_conform_release(c, 1, key, &b));
}

/* A server may keep a lease for longer than the client counts on it: some count whole seconds. */
static void await_end_at_a_server(struct lb_conform *c, const char *key) {
  if (c->topology->data_count == 0) return;
  lb_ns end = in_ms(5000);
  size_t server = lb_conform_who_knows(c, 1, key);
  while (lb_conform_inspect(c, 1, key, server) == 1 && lb_clock_ns() < end) lb_clock_sleep_until(in_ms(5));
}

/* Nobody asks for the key in between: the lease is over all the same, and its holder learns that
 * although nobody has taken its place. */
void lb_statement_lease_ends_unasked(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT;
  WANT(LB_OK, lb_statement_try_for(c, 0, key, 200, &a));
  await_end_at_a_server(c, key);
  lb_conform_check(c, c->topology->data_count == 0 || lb_clock_ns() >= a.valid_until,
                   "expected a record at the server until valid_until, got none %.3f ms before it",
                   ms_after(a.valid_until, lb_clock_ns()));
  lb_clock_sleep_until(a.asked_at + 250 * LB_NS_PER_MS); /* every server's copy, not only the first's */
  WANT(LB_LOST, lb_conform_holds(c, 0, key, &a));
  WANT(LB_LOST, lb_conform_extend(c, 0, key, 200, &a));
  WANT(LB_LOST, lb_conform_release(c, 0, key, &a));
}

/* Who asks for more time too late has to ask for the lock. */
void lb_statement_extended_too_late(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  WANT(LB_OK, lb_statement_try_for(c, 0, key, SHORT_TTL_MS, &a));
  await_end_at_a_server(c, key);
  lb_clock_sleep_until(a.asked_at + (SHORT_TTL_MS + 50) * LB_NS_PER_MS); /* every server's copy, not only the first's */
  WANT(LB_LOST, lb_conform_extend(c, 0, key, TTL_MS, &a));
  WANT(LB_OK, lb_conform_acquire(c, 1, key, &b, TTL_MS / 2));
  WANT(LB_OK, lb_conform_release(c, 1, key, &b));
}

/* What a lease may be shorter by for the grain of the clock that counts it. */
static lb_ns clock_step(const struct lb_conform *c) { return lb_counts_by_wall(c->protocol, c->options) ? 2 * LB_NS_PER_MS : 0; }

/* The new end is later than the old one, but not by more than was asked for. A lease also has to
 * last for all of that. */
void lb_statement_extending_moves_the_end(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT;
  WANT(LB_OK, lb_statement_try_for(c, 0, key, 1000, &a));
  lb_ns end = a.valid_until;
  lb_clock_sleep_until(in_ms(5));
  lb_ns before = lb_clock_ns();
  lb_conform_hold_back(c, 0, 400);
  WANT(LB_OK, lb_conform_extend(c, 0, key, TTL_MS, &a));
  lb_ns answered_at = lb_conform_answered_at(c, 0);
  if (end == LB_NEVER) {
    lb_conform_check(c, a.valid_until == LB_NEVER, "expected valid_until = LB_NEVER as before, got %s after the extension",
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
void lb_statement_extended_past_its_first_end(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  WANT(LB_OK, lb_statement_try_for(c, 0, key, SHORT_TTL_MS, &a));
  lb_ns first_end = a.asked_at + SHORT_TTL_MS * LB_NS_PER_MS;
  WANT(LB_OK, lb_conform_extend(c, 0, key, TTL_MS, &a));
  lb_clock_sleep_until(first_end + 20 * LB_NS_PER_MS);
  WANT(LB_OK, lb_conform_holds(c, 0, key, &a));
  WANT(LB_BUSY, lb_conform_try(c, 1, key, &b));
  lb_conform_leave(c, 1, key, &b);
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
}
