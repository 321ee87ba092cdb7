/* SPDX-License-Identifier: MIT
 *
 * What makes it a lock: one holder, another one after it, keys apart, nothing left of those who
 * gave up. Where a statement waits for a grant it tries for a while (lb_conform_acquire()): the
 * contract does not say that a release is seen everywhere at once.
 */
#include "conform_statement.h"

/* Several rounds, because a lock that is granted once may still not come back. */
void lb_statement_granted_and_released(struct lb_conform *c) {
  KEY;
  for (int round = 0; round < 3; round++) {
    struct lb_grant g = LB_GRANT_INIT;
    WANT(LB_OK, lb_conform_try(c, 0, key, &g));
    lb_conform_check(c, g.token_len != 0,
                     "expected a token in the grant, got token_len = 0: it cannot be told from a new attempt");
    WANT(LB_OK, lb_conform_release(c, 0, key, &g));
  }
}

/* Who is refused gives up its place in a queue before the holder lets go. Else it would be granted
 * meanwhile. */
void lb_statement_refused_while_held(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  WANT(LB_BUSY, lb_conform_try(c, 1, key, &b));
  lb_conform_leave(c, 1, key, &b);
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
}

/* By another session: the same one might be served from what it remembers. */
void lb_statement_granted_after_release(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
  WANT(LB_OK, lb_conform_acquire(c, 1, key, &b, 2000));
  WANT(LB_OK, lb_conform_release(c, 1, key, &b));
}

void lb_statement_keys_are_apart(struct lb_conform *c) {
  const char *first = lb_conform_key(c), *second = lb_conform_key(c);
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, first, &a));
  WANT(LB_OK, lb_conform_try(c, 1, second, &b));
  WANT(LB_OK, lb_conform_release(c, 0, first, &a));
  WANT(LB_OK, lb_conform_release(c, 1, second, &b));
}

/* A third session asks, because the one that gave up would not be in its own way. */
void lb_statement_giving_up_leaves_nothing(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT, d = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  WANT(LB_BUSY, lb_conform_try(c, 1, key, &b));
  lb_conform_leave(c, 1, key, &b);
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
  WANT(LB_OK, lb_conform_acquire(c, 2, key, &d, 2000));
  WANT(LB_OK, lb_conform_release(c, 2, key, &d));
}

/* The wait must not end before the release, and has to end after it. That it ended is no grant: the
 * waiter asks again. */
void lb_statement_woken_by_release(struct lb_conform *c) {
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
