/* SPDX-License-Identifier: MIT
 *
 * The statements: what every protocol has to do, as its traits and hooks promise. Each one is
 * straight-line code on keys of its own.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "backends/registry.h"
#include "base/clock.h"
#include "conform_parts.h"

enum { TTL_MS = LB_CONFORM_TTL_MS, SHORT_TTL_MS = 300, CUT_TTL_MS = 8000, SLACK_MS = 3000, FOLLOW_MS = 1000 };

#define KEY const char *key = lb_conform_key(c)
#define WANT(result, call) lb_conform_want(c, result, call)

static lb_ns in_ms(int64_t ms) { return lb_conform_in_ms(ms); }
static bool has(const struct lb_conform *c, unsigned traits) { return lb_conform_trait(c, traits); }
static bool has_owner(const struct lb_conform *c) { return !has(c, LB_TRAIT_NO_OWNER); }

static int try_for(struct lb_conform *c, int i, const char *key, int64_t ttl_ms, struct lb_grant *grant) {
  return lb_conform_try_for(c, i, key, ttl_ms, grant, in_ms(2000));
}

/* ---- the table and a session ----------------------------------------------------------------- */

static void well_formed(struct lb_conform *c) {
  char err[200];
  int r = lb_protocol_check(c->protocol, err, sizeof err);
  lb_conform_check(c, r == 0, "%s", r == 0 ? "" : err);
  lb_conform_check(c, lb_protocol_find(c->protocol->name) == c->protocol,
                   "expected to find %s by its name, found another protocol", c->protocol->name);
  lb_conform_check(
      c, !(lb_conform_has(c) & LB_NEEDS_FENCE) || lb_protocol_can_fence(c->protocol),
      "expected an option or a trait that says that grants are numbered, or the guard would be refused to it");
}

static void opens_and_sets_up(struct lb_conform *c) {
  KEY;
  struct lb_grant g = LB_GRANT_INIT;
  if (c->protocol->setup) WANT(LB_OK, lb_conform_setup(c, 0));
  WANT(LB_OK, lb_conform_try(c, 0, key, &g)); /* many connect only now */
  WANT(LB_OK, lb_conform_release(c, 0, key, &g));
}

/* ---- exclusion ------------------------------------------------------------------------------- */

static void granted_and_released(struct lb_conform *c) {
  KEY;
  for (int round = 0; round < 3; round++) {
    struct lb_grant g = LB_GRANT_INIT;
    WANT(LB_OK, lb_conform_try(c, 0, key, &g));
    lb_conform_check(c, g.token_len != 0,
                     "expected a token in the grant, got token_len = 0: it cannot be told from a new attempt");
    WANT(LB_OK, lb_conform_release(c, 0, key, &g));
  }
}

static void refused_while_held(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  WANT(LB_BUSY, lb_conform_try(c, 1, key, &b));
  lb_conform_leave(c, 1, key, &b);
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
}

static void granted_after_release(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
  WANT(LB_OK, lb_conform_acquire(c, 1, key, &b, 2000));
  WANT(LB_OK, lb_conform_release(c, 1, key, &b));
}

static void keys_are_apart(struct lb_conform *c) {
  const char *first = lb_conform_key(c), *second = lb_conform_key(c);
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, first, &a));
  WANT(LB_OK, lb_conform_try(c, 1, second, &b));
  WANT(LB_OK, lb_conform_release(c, 0, first, &a));
  WANT(LB_OK, lb_conform_release(c, 1, second, &b));
}

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

/* ---- ownership ------------------------------------------------------------------------------- */

static void released_twice(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
  WANT(LB_LOST, lb_conform_release(c, 0, key, &a));
}

static void stale_release(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT, d = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
  WANT(LB_OK, lb_conform_acquire(c, 1, key, &b, 2000));
  WANT(LB_LOST, lb_conform_release(c, 0, key, &a));
  WANT(LB_BUSY, lb_conform_try(c, 2, key, &d));
  lb_conform_leave(c, 2, key, &d);
  WANT(LB_OK, lb_conform_release(c, 1, key, &b));
}

static void asked_again(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
}

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

/* The same session holds again: what it had before is not what it has now. */
static void old_grant_after_another_holder(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT, again = LB_GRANT_INIT, d = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  struct lb_grant stale = a;
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
  WANT(LB_OK, lb_conform_acquire(c, 1, key, &b, 2000));
  WANT(LB_OK, lb_conform_release(c, 1, key, &b));
  WANT(LB_OK, lb_conform_acquire(c, 0, key, &again, 2000));
  if (c->protocol->holds) WANT(LB_LOST, lb_conform_holds(c, 0, key, &stale));
  WANT(LB_LOST, lb_conform_release(c, 0, key, &stale));
  if (c->protocol->holds) WANT(LB_OK, lb_conform_holds(c, 0, key, &again));
  WANT(LB_BUSY, lb_conform_try(c, 1, key, &d));
  lb_conform_leave(c, 1, key, &d);
  WANT(LB_OK, lb_conform_release(c, 0, key, &again));
}

/* ---- a lock without an owner ----------------------------------------------------------------- */

static void anybody_releases(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT, d = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  struct lb_grant stale = a;
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
  WANT(LB_OK, lb_conform_acquire(c, 1, key, &b, 2000));
  WANT(LB_OK, lb_conform_release(c, 0, key, &stale));
  WANT(LB_LOST, lb_conform_release(c, 1, key, &b));
  WANT(LB_OK, lb_conform_acquire(c, 2, key, &d, 2000));
  WANT(LB_OK, lb_conform_release(c, 2, key, &d));
}

static void somebody_holds(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  struct lb_grant stale = a;
  WANT(LB_OK, lb_conform_holds(c, 0, key, &a));
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
  WANT(LB_LOST, lb_conform_holds(c, 0, key, &stale));
  WANT(LB_OK, lb_conform_acquire(c, 1, key, &b, 2000));
  WANT(LB_OK, lb_conform_holds(c, 0, key, &stale));
  WANT(LB_OK, lb_conform_release(c, 1, key, &b));
}

/* ---- fences ---------------------------------------------------------------------------------- */

static void fences_grow(struct lb_conform *c) {
  KEY;
  uint64_t latest = 0;
  for (int i = 0; i < 6; i++) {
    struct lb_grant g = LB_GRANT_INIT;
    int who = i % LB_CONFORM_SESSIONS;
    WANT(LB_OK, lb_conform_acquire(c, who, key, &g, 2000));
    lb_conform_check(c, g.fence > latest, "expected a fence above %" PRIu64 " in grant %d, got %" PRIu64, latest, i + 1,
                     g.fence);
    latest = g.fence;
    WANT(LB_OK, lb_conform_release(c, who, key, &g));
  }
}

static void no_fence(struct lb_conform *c) {
  KEY;
  struct lb_grant g = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &g));
  lb_conform_check(c, g.fence == 0, "expected fence = 0 from a lock that numbers no grants, got %" PRIu64, g.fence);
  WANT(LB_OK, lb_conform_release(c, 0, key, &g));
}

/* ---- validity and leases --------------------------------------------------------------------- */

static double ms_after(lb_ns a, lb_ns b) { return ((double)a - (double)b) / 1e6; }

/* How far `until` is from `begin`, in words. */
static const char *span(lb_ns until, lb_ns begin) {
  static char text[40];
  if (until == LB_NEVER) return "for ever";
  snprintf(text, sizeof text, "%.3f ms", ms_after(until, begin));
  return text;
}

/* Of a grant of TTL_MS from a moment ago. Who sends more than one request of an attempt may have
 * kept a session up with each. */
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

static void validity_counts_from_the_send(struct lb_conform *c) {
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

static void lease_ends(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  WANT(LB_OK, try_for(c, 0, key, SHORT_TTL_MS, &a));
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

/* Nobody asks for the key in between: the lease is over all the same. */
static void lease_ends_unasked(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT;
  WANT(LB_OK, try_for(c, 0, key, 200, &a));
  lb_ns end = in_ms(5000);
  while (c->topology->data_count > 0 && lb_conform_inspect(c, 1, key, 0) == 1 && lb_clock_ns() < end)
    lb_clock_sleep_until(in_ms(5));
  lb_conform_check(c, c->topology->data_count == 0 || lb_clock_ns() >= a.valid_until,
                   "expected a record at the server until valid_until, got none %.3f ms before it",
                   ms_after(a.valid_until, lb_clock_ns()));
  lb_clock_sleep_until(a.asked_at + 250 * LB_NS_PER_MS); /* every server's copy, not only the first's */
  WANT(LB_LOST, lb_conform_holds(c, 0, key, &a));
  WANT(LB_LOST, lb_conform_extend(c, 0, key, 200, &a));
  WANT(LB_LOST, lb_conform_release(c, 0, key, &a));
}

static void extending_moves_the_end(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT;
  WANT(LB_OK, try_for(c, 0, key, 1000, &a));
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
    lb_conform_check(c, a.valid_until >= lb_lease_end(before, TTL_MS),
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

/* ---- servers --------------------------------------------------------------------------------- */

static void one_server_knows(struct lb_conform *c) {
  const char *held = lb_conform_key(c), *unheld = lb_conform_key(c);
  struct lb_grant a = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, held, &a));
  WANT(1, lb_conform_inspect(c, 1, held, 0));
  WANT(0, lb_conform_inspect(c, 1, unheld, 0));
  WANT(LB_OK, lb_conform_release(c, 0, held, &a));
}

/* Asked over and over, because at first there is only a connection that has broken. */
static int ask_until_definite(struct lb_conform *c, const char *key, const struct lb_grant *grant) {
  lb_ns end = in_ms(10000);
  int r;
  while ((r = lb_conform_holds(c, 0, key, grant)) != LB_OK && r != LB_LOST && lb_clock_ns() < end)
    lb_clock_sleep_until(in_ms(20));
  c->within_ms = 10000;
  if (r != LB_OK && r != LB_LOST) WANT(LB_OK, r);
  return r;
}

/* Either answer may be true; it has to be the one that the next client gets to see: at once, but
 * for a service that has to find out first that the session is gone. */
static void asked_after_a_reconnect(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  WANT(LB_OK, try_for(c, 0, key, CUT_TTL_MS, &a));
  lb_conform_shutdown_sockets(&c->target); /* only the first session is open so far */
  if (ask_until_definite(c, key, &a) == LB_OK) {
    WANT(LB_BUSY, lb_conform_try(c, 1, key, &b));
    lb_conform_leave(c, 1, key, &b);
    WANT(LB_OK, lb_conform_release(c, 0, key, &a));
  } else {
    WANT(LB_OK, lb_conform_acquire(c, 1, key, &b, SLACK_MS + (has(c, LB_TRAIT_SESSION) ? CUT_TTL_MS : 0)));
    WANT(LB_OK, lb_conform_release(c, 1, key, &b));
  }
}

/* After all that pass points: what they came by is in the table, and what is in the table they came
 * by. */
static void points_are_true(struct lb_conform *c) {
  const char *const *table = c->protocol->points;
  unsigned count = atomic_load(&c->shared->point_count);
  for (unsigned i = 0; i < count; i++) {
    bool known = false;
    for (const char *const *p = table; p && *p; p++) known |= strcmp(*p, c->shared->point[i]) == 0;
    lb_conform_check(c, known, "expected point %s in the table, as somebody came by it", c->shared->point[i]);
  }
  for (const char *const *p = table; p && *p; p++) {
    bool seen = false;
    for (unsigned i = 0; i < count; i++) seen |= strcmp(*p, c->shared->point[i]) == 0;
    lb_conform_check(c, seen, "expected somebody to come by point %s of the table, nobody did", *p);
  }
}

/* Every server that holds locks, for itself. One that follows another is given a while, in which no lease of the statement ends. */
static void nobody_knows_of(struct lb_conform *c, const char *key) {
  for (size_t i = 0; c->protocol->inspect && i < c->topology->data_count; i++) {
    int r;
    for (lb_ns end = in_ms(FOLLOW_MS); (r = lb_conform_inspect(c, 2, key, i)) == 1 && lb_clock_ns() < end;)
      lb_clock_sleep_until(in_ms(5));
    lb_conform_check(c, r == 0, "expected no record of a key at server %zu after teardown, %s (third session)", i + 1,
                     r == 1 ? "it has one" : "nobody could tell");
  }
}

/* While its holder has not let go, and with keys that were let go; the servers are then as before
 * the first setup. */
static void torn_down(struct lb_conform *c) {
  const char *held = lb_conform_key(c), *free = lb_conform_key(c);
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT, d = LB_GRANT_INIT;
  WANT(LB_OK, try_for(c, 0, held, CUT_TTL_MS, &a));
  WANT(LB_OK, try_for(c, 1, free, CUT_TTL_MS, &b));
  WANT(LB_OK, lb_conform_release(c, 1, free, &b));
  WANT(LB_OK, lb_conform_teardown(c, 2));
  nobody_knows_of(c, held);
  nobody_knows_of(c, free);
  WANT(LB_OK, lb_conform_teardown(c, 1)); /* it may be repeated, and by another */
  if (c->protocol->setup) WANT(LB_OK, lb_conform_setup(c, 1));
  WANT(LB_OK, lb_conform_try(c, 1, held, &d));
  WANT(LB_OK, lb_conform_release(c, 1, held, &d));
}

/* Last: the servers are killed, once a session has worked. */
static void ends_without_servers(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
  atomic_store(&c->shared->servers, LB_CONFORM_SHALL_DIE);
  for (lb_ns end = in_ms(20000); atomic_load(&c->shared->servers) != LB_CONFORM_DEAD && lb_clock_ns() < end;)
    lb_clock_sleep_until(in_ms(2));
  int r = lb_conform_try_for(c, 0, key, TTL_MS, &b, in_ms(700));
  lb_conform_check(c, r != LB_OK && r != LB_BUSY,
                   "expected TIMEOUT, UNKNOWN or an error from try_acquire, got %s (first session)",
                   r == LB_OK ? "OK" : "BUSY");
}

/* ---- all of them ----------------------------------------------------------------------------- */

const struct lb_conform_statement lb_conform_statements[] = {
    {"the table is well formed", 0, well_formed},
    {"a session opens, sets up and works", 0, opens_and_sets_up},
    {"a free lock is granted and released", 0, granted_and_released},
    {"a held lock is refused to another session", LB_NEEDS_SAFE, refused_while_held},
    {"a released lock is granted to another session", 0, granted_after_release},
    {"two keys do not exclude each other", 0, keys_are_apart},
    {"releasing twice says lost", LB_NEEDS_MEMORY | LB_NEEDS_OWNER, released_twice},
    {"a stale release leaves the next holder alone", LB_NEEDS_SAFE | LB_NEEDS_OWNER, stale_release},
    {"asking again in the same attempt is granted again", LB_NEEDS_SAFE | LB_NEEDS_OWNER, asked_again},
    {"an old grant is lost although its session holds again", LB_NEEDS_SAFE | LB_NEEDS_OWNER,
     old_grant_after_another_holder},
    {"a release removes whatever record is there", LB_NEEDS_SAFE | LB_NEEDS_ANYBODY, anybody_releases},
    {"holds says whether anybody holds", LB_NEEDS_SAFE | LB_NEEDS_ANYBODY | LB_NEEDS_HOLDS, somebody_holds},
    {"fences grow", LB_NEEDS_FENCE, fences_grow},
    {"a grant without fence says so", LB_NEEDS_NO_FENCE, no_fence},
    {"validity counts from before the send", 0, validity_counts_from_the_send},
    {"a lease ends by itself and the old holder learns it", LB_NEEDS_LEASE, lease_ends},
    {"extending moves the end", LB_NEEDS_EXTEND, extending_moves_the_end},
    {"an extended lease is held past its first end", LB_NEEDS_LEASE, extended_past_its_first_end},
    {"an expired lease is lost before anybody else comes", LB_NEEDS_LEASE, lease_ends_unasked},
    {"the server confirms a hold and nothing else", LB_NEEDS_HOLDS | LB_NEEDS_OWNER, confirms_a_hold},
    {"a waiter is woken by the release", LB_NEEDS_WAIT, woken_by_release},
    {"giving up leaves nothing behind", LB_NEEDS_SAFE, giving_up_leaves_nothing},
    {"one server knows of a held key", LB_NEEDS_INSPECT | LB_NEEDS_SERVERS, one_server_knows},
    {"what holds says after a reconnect is true", LB_NEEDS_HOLDS | LB_NEEDS_SERVERS, asked_after_a_reconnect},
    {"teardown leaves nothing behind", LB_NEEDS_TEARDOWN | LB_NEEDS_MEMORY, torn_down},
    {"the table of points is complete and true", 0, points_are_true},
    {"a try against dead servers ends at its deadline", LB_NEEDS_SERVERS, ends_without_servers},
    {NULL, 0, NULL},
};

static bool fenced(const struct lb_conform *c) {
  if (has(c, LB_TRAIT_FENCED)) return true;
  for (size_t i = 0; c->protocol->options && c->protocol->options[i].name; i++)
    if (strcmp(c->protocol->options[i].name, "fence") == 0) return c->options[i].b;
  return false;
}

unsigned lb_conform_has(const struct lb_conform *c) {
  const struct lb_protocol *p = c->protocol;
  unsigned all = fenced(c) ? LB_NEEDS_FENCE : LB_NEEDS_NO_FENCE;
  all |= has_owner(c) ? LB_NEEDS_OWNER : LB_NEEDS_ANYBODY;
  if (!has(c, LB_TRAIT_UNSAFE)) all |= LB_NEEDS_SAFE | LB_NEEDS_MEMORY;
  if (p->holds) all |= LB_NEEDS_HOLDS | LB_NEEDS_MEMORY;
  if (has(c, LB_TRAIT_LEASED)) all |= LB_NEEDS_LEASE;
  if (p->extend) all |= LB_NEEDS_EXTEND;
  if (p->wait) all |= LB_NEEDS_WAIT;
  if (p->inspect) all |= LB_NEEDS_INSPECT;
  if (p->teardown) all |= LB_NEEDS_TEARDOWN;
  if (c->topology->data_count > 0) all |= LB_NEEDS_SERVERS;
  return all;
}
