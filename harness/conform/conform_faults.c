/* SPDX-License-Identifier: MIT
 *
 * What a protocol does when its connections break, and when its servers are gone. The faults are
 * real, but small: whole partitions, pauses and failovers are what scenarios are for.
 */
#include "base/clock.h"
#include "conform_statement.h"

/* Asked over and over, because at first there is only a connection that has broken: an error or
 * "unknown" is then a true answer. Fails if it stays so. */
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
void lb_statement_asked_after_a_reconnect(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  WANT(LB_OK, lb_statement_try_for(c, 0, key, CUT_TTL_MS, &a));
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

void lb_statement_no_doubt_in_health(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  WANT(LB_OK, lb_conform_doubt(c, 0, key, &a));
  WANT(LB_OK, lb_conform_doubt(c, 0, key, &a)); /* asking is no reason for doubt */
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
}

/* A library's thread may need a moment to hear of it. */
static void await_doubt(struct lb_conform *c, const char *key, const struct lb_grant *grant) {
  lb_ns end = in_ms(SLACK_MS);
  int r;
  while ((r = lb_conform_doubt(c, 0, key, grant)) == LB_OK && lb_clock_ns() < end) lb_clock_sleep_until(in_ms(5));
  lb_conform_check(c, r != LB_OK, "expected UNKNOWN, LOST or an error from doubt within %d ms, got OK (first session)", SLACK_MS);
}

/* Also when the connection is back, until the service has been asked: what happened meanwhile nobody has told. */
void lb_statement_doubts_a_broken_connection(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT;
  WANT(LB_OK, lb_statement_try_for(c, 0, key, CUT_TTL_MS, &a));
  WANT(LB_OK, lb_conform_doubt(c, 0, key, &a));
  lb_conform_shutdown_sockets(&c->target);
  await_doubt(c, key, &a);
  lb_clock_sleep_until(in_ms(100)); /* time to connect again, for who does so by itself */
  await_doubt(c, key, &a);
  if (!c->protocol->holds || ask_until_definite(c, key, &a) != LB_OK) return;
  WANT(LB_OK, lb_conform_doubt(c, 0, key, &a));
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
}

/* Last: the servers are killed, once a session has worked. The answer must be none that speaks of
 * the lock, and come at the deadline. */
void lb_statement_ends_without_servers(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT, held = LB_GRANT_INIT;
  const char *other = lb_conform_key(c);
  lb_statement_get_back(c, 0, key, &a); /* an earlier statement restarted them: the one that has this key may not serve yet */
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
  if (c->protocol->doubt) WANT(LB_OK, lb_statement_try_for(c, 0, other, CUT_TTL_MS, &held));
  atomic_store(&c->shared->servers, LB_CONFORM_SHALL_DIE);
  for (lb_ns end = in_ms(20000); atomic_load(&c->shared->servers) != LB_CONFORM_DEAD && lb_clock_ns() < end;)
    lb_clock_sleep_until(in_ms(2));
  if (c->protocol->doubt) await_doubt(c, other, &held);
  int r = lb_conform_try_for(c, 0, key, TTL_MS, &b, in_ms(700));
  lb_conform_check(c, r != LB_OK && r != LB_BUSY,
                   "expected TIMEOUT, UNKNOWN or an error from try_acquire, got %s (first session)",
                   r == LB_OK ? "OK" : "BUSY");
}
