/* SPDX-License-Identifier: MIT
 *
 * Answers that do not come. The request leaves and is carried out, and what the server says is
 * dropped on its way (lb_conform_deafen_sockets()): the client cannot know. So it has to say that,
 * or to find out; what it says in the end has to be what the next client gets to see. Leases are long
 * here, so that none ends in time to hide a mistake.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "conform_statement.h"

enum { LOST_MS = 200, DEFINITE_MS = 10000, RESOLVE_MS = 700, NAP_MS = 20 };

/* The session is connected, and hears nothing on these connections any more. */
static void connect_and_deafen(struct lb_conform *c, const char *key, struct lb_grant *grant) {
  if (grant) {
    WANT(LB_OK, lb_statement_try_for(c, 0, key, CUT_TTL_MS, grant));
  } else {
    struct lb_grant first = LB_GRANT_INIT;
    WANT(LB_OK, lb_conform_try(c, 0, key, &first));
    WANT(LB_OK, lb_conform_release(c, 0, key, &first));
  }
  lb_conform_deafen_sockets(&c->target);
}

/* Called again until it is known, as backend.h says. */
static void release_until_known(struct lb_conform *c, const char *key, struct lb_grant *grant, int r) {
  for (lb_ns end = in_ms(DEFINITE_MS); r != LB_OK && r != LB_LOST && lb_clock_ns() < end; r = lb_conform_release(c, 0, key, grant))
    lb_clock_sleep_until(in_ms(NAP_MS));
  c->within_ms = DEFINITE_MS;
  if (r != LB_LOST) WANT(LB_OK, r);
}

/* Of a try. Where a session may hold more than once, an attempt that was sent again may have been counted
 * again, which another statement is about: here that ends soon. */
static int64_t lost_ttl_ms(const struct lb_conform *c) {
  return has(c, LB_TRAIT_REENTRANT) ? SLACK_MS / 2 : CUT_TTL_MS;
}

/* What nobody can find out stays unknown, and a client may not ask for ever. */
static int resolve_while_unknown(struct lb_conform *c, const char *key, struct lb_grant *grant) {
  int r = LB_UNKNOWN;
  for (lb_ns end = in_ms(has_owner(c) ? RESOLVE_MS : 0); r == LB_UNKNOWN;) {
    r = lb_conform_resolve(c, 0, key, lost_ttl_ms(c), grant);
    if (r < 0) r = LB_UNKNOWN; /* there is no server to ask, for now */
    if (lb_clock_ns() >= end) break;
    if (r == LB_UNKNOWN) lb_clock_sleep_until(in_ms(NAP_MS));
  }
  return r;
}

/* By another session, and not because a lease has ended. */
static void is_free(struct lb_conform *c, const char *key) {
  struct lb_grant b = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_acquire(c, 1, key, &b, SLACK_MS));
  WANT(LB_OK, lb_conform_release(c, 1, key, &b));
}

static void is_held(struct lb_conform *c, const char *key) {
  struct lb_grant b = LB_GRANT_INIT;
  WANT(LB_BUSY, lb_conform_try(c, 1, key, &b));
  lb_conform_leave(c, 1, key, &b);
}

static int ask_until_known(struct lb_conform *c, const char *key, const struct lb_grant *grant) {
  lb_ns end = in_ms(DEFINITE_MS);
  int r;
  while ((r = lb_conform_holds(c, 0, key, grant)) != LB_OK && r != LB_LOST && lb_clock_ns() < end) lb_clock_sleep_until(in_ms(NAP_MS));
  c->within_ms = DEFINITE_MS;
  if (r != LB_LOST) WANT(LB_OK, r);
  return r;
}

/* From what the first session was told of its try to what everybody sees. Who got an error, TIMEOUT
 * or BUSY has nothing, and does nothing more, but for a place in a queue. A session may be over, and
 * its hold with it, as soon as its connection is. */
static void is_true(struct lb_conform *c, const char *key, struct lb_grant *grant, int r) {
  if (r == LB_UNKNOWN && c->protocol->resolve) r = resolve_while_unknown(c, key, grant);
  if (r == LB_UNKNOWN && !has_owner(c)) return; /* there may be a record, and nobody can tell whose */
  bool holds = r == LB_OK;
  if (holds && has(c, LB_TRAIT_SESSION) && c->protocol->holds) holds = ask_until_known(c, key, grant) == LB_OK;
  if (holds) is_held(c, key);
  if (r == LB_OK || r == LB_UNKNOWN) release_until_known(c, key, grant, LB_UNKNOWN);
  else if (r == LB_BUSY) lb_conform_leave(c, 0, key, grant);
  is_free(c, key);
}

void lb_statement_answer_of_a_try_is_lost(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT;
  connect_and_deafen(c, key, NULL);
  int r = lb_conform_try_for(c, 0, key, lost_ttl_ms(c), &a, in_ms(LOST_MS));
  lb_conform_shutdown_sockets(&c->target);
  is_true(c, key, &a, r);
}

/* A later release may find that there is nothing left to release. It must not find the lock of
 * somebody else. */
void lb_statement_answer_of_a_release_is_lost(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  connect_and_deafen(c, key, &a);
  int r = lb_conform_release_by(c, 0, key, &a, in_ms(LOST_MS));
  lb_conform_shutdown_sockets(&c->target);
  release_until_known(c, key, &a, r);
  WANT(LB_OK, lb_conform_acquire(c, 1, key, &b, SLACK_MS));
  if (has_owner(c)) {
    struct lb_grant d = LB_GRANT_INIT;
    release_until_known(c, key, &a, LB_UNKNOWN);
    WANT(LB_BUSY, lb_conform_try(c, 2, key, &d));
    lb_conform_leave(c, 2, key, &d);
  }
  WANT(LB_OK, lb_conform_release(c, 1, key, &b));
}

/* Until it is known, the client has the time that it had. */
void lb_statement_answer_of_an_extension_is_lost(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT;
  connect_and_deafen(c, key, &a);
  lb_ns old_end = a.valid_until;
  int r = lb_conform_extend_by(c, 0, key, 2 * CUT_TTL_MS, &a, in_ms(LOST_MS));
  lb_conform_check(c, r == LB_OK || a.valid_until <= old_end, "expected valid_until not to move out, it did by %.3f ms (extend, first session)",
                   ((double)a.valid_until - (double)old_end) / 1e6);
  lb_conform_shutdown_sockets(&c->target);
  r = ask_until_known(c, key, &a);
  if (r == LB_OK) is_held(c, key);
  if (r == LB_OK) release_until_known(c, key, &a, LB_UNKNOWN);
  is_free(c, key);
}

/* Nobody asks what came of it: the client has gone. */
void lb_statement_lost_answer_ends_with_its_lease(struct lb_conform *c) {
  KEY;
  enum { BRIEF_MS = 400, BRIEF_SESSION_MS = 1000 };
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  if (has(c, LB_TRAIT_SESSION)) c->config[0].ttl_ms = BRIEF_SESSION_MS;
  connect_and_deafen(c, key, NULL);
  lb_conform_try_for(c, 0, key, BRIEF_MS, &a, in_ms(LOST_MS));
  lb_conform_shutdown_sockets(&c->target);
  if (has(c, LB_TRAIT_SESSION)) lb_conform_hang_up(c, 0);
  WANT(LB_OK, lb_conform_acquire(c, 1, key, &b, BRIEF_MS + SLACK_MS));
  WANT(LB_OK, lb_conform_release(c, 1, key, &b));
}

/* A deadline can pass anywhere: before the request leaves, while it is on its way, while the answer
 * is. The first one has passed before. */
void lb_statement_true_however_short_the_time(struct lb_conform *c) {
  static const lb_ns us[] = {0, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000};
  for (size_t i = 0; i < sizeof us / sizeof *us; i++) {
    KEY;
    struct lb_grant a = LB_GRANT_INIT;
    int r = lb_conform_try_for(c, 0, key, lost_ttl_ms(c), &a, lb_clock_ns() + us[i] * 1000);
    is_true(c, key, &a, r);
  }
}

static void cut_here(struct lb_conform *c) { lb_conform_shutdown_sockets(&c->target); }

/* One round for each point that the protocol has: from that point on its connections are gone, whatever
 * it is about to do. A point that this client does not come by is for others. */
void lb_statement_cut_off_at_any_point(struct lb_conform *c) {
  for (const char *const *point = c->protocol->points; point && *point; point++) {
    KEY;
    struct lb_grant a = LB_GRANT_INIT;
    lb_conform_at_point(c, *point, cut_here);
    int r = lb_conform_try_for(c, 0, key, lost_ttl_ms(c), &a, in_ms(2000));
    is_true(c, key, &a, r);
    lb_conform_at_point(c, NULL, NULL);
  }
}
