/* SPDX-License-Identifier: MIT
 *
 * Who may release, and what an old grant is still worth. A lock with an owner only listens to the
 * grant that holds; a lock without one (LB_TRAIT_NO_OWNER) listens to anybody. Both are promises:
 * what a trait admits is checked as well, or it would say too much.
 */
#include "conform_statement.h"

/* ---- ownership ------------------------------------------------------------------------------- */

/* LOST and not OK: a client has to learn that it was not the holder any more. */
void lb_statement_released_twice(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
  WANT(LB_LOST, lb_conform_release(c, 0, key, &a));
}

/* The classic mistake of a lock without a token: a late release removes the next holder's lock. A
 * third session sees whether it did. */
void lb_statement_stale_release(struct lb_conform *c) {
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

/* Its attempt has a token, too, as a rule: of a lock that was never its own. */
void lb_statement_released_by_who_was_refused(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT, d = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  WANT(LB_BUSY, lb_conform_try(c, 1, key, &b));
  lb_conform_release(c, 1, key, &b); /* nothing of it remains: OK, or there was nothing: LOST */
  WANT(LB_BUSY, lb_conform_try(c, 2, key, &d));
  lb_conform_leave(c, 2, key, &d);
  if (c->protocol->holds) WANT(LB_OK, lb_conform_holds(c, 0, key, &a));
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
}

/* A client that got no answer asks again with the same grant. It must not be shut out by itself. */
void lb_statement_asked_again(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
}

/* It asked once, for all that it knows, and releases once. */
void lb_statement_asked_again_is_one_hold(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  WANT(LB_OK, lb_statement_try_for(c, 0, key, CUT_TTL_MS, &a));
  WANT(LB_OK, lb_statement_try_for(c, 0, key, CUT_TTL_MS, &a));
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
  WANT(LB_OK, lb_conform_acquire(c, 1, key, &b, SLACK_MS));
  WANT(LB_OK, lb_conform_release(c, 1, key, &b));
}

/* The old grant is asked about twice, while the lock is free and while another one holds it: a
 * server that looks for any record would say OK to the second. */
void lb_statement_confirms_a_hold(struct lb_conform *c) {
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
void lb_statement_old_grant_after_another_holder(struct lb_conform *c) {
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

/* ---- a session that holds and asks again ----------------------------------------------------- */

/* Another attempt is another client's, for all that the lock knows. */
void lb_statement_refused_while_it_holds_itself(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  WANT(LB_BUSY, lb_conform_try(c, 0, key, &b));
  lb_conform_leave(c, 0, key, &b);
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
}

static void refused(struct lb_conform *c, const char *key) {
  struct lb_grant g = LB_GRANT_INIT;
  WANT(LB_BUSY, lb_conform_try(c, 1, key, &g));
  lb_conform_leave(c, 1, key, &g);
}

/* Three deep, and out of it in another order. */
void lb_statement_granted_again_to_its_holder(struct lb_conform *c) {
  KEY;
  struct lb_grant g[3] = {0}, b = LB_GRANT_INIT;
  static const int order[] = {1, 0, 2};
  for (int i = 0; i < 3; i++) WANT(LB_OK, lb_conform_try(c, 0, key, &g[i]));
  for (int i = 0; i < 3; i++) {
    refused(c, key);
    if (c->protocol->holds) WANT(LB_OK, lb_conform_holds(c, 0, key, &g[order[i]]));
    WANT(LB_OK, lb_conform_release(c, 0, key, &g[order[i]]));
  }
  WANT(LB_OK, lb_conform_acquire(c, 1, key, &b, 2000));
  WANT(LB_OK, lb_conform_release(c, 1, key, &b));
}

/* ---- a lock without an owner ----------------------------------------------------------------- */

/* The release of one who holds nothing removes the record of another. Neither of the two learns
 * more than whether there was one. */
void lb_statement_anybody_releases(struct lb_conform *c) {
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

/* `holds` cannot say who. To one that held before it says OK, although another one does now. */
void lb_statement_somebody_holds(struct lb_conform *c) {
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
