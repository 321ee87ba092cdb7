/* SPDX-License-Identifier: MIT
 *
 * Those who do not get the lock at once: in which order they are served, what waiting costs, and
 * what is left of one who gave up.
 */
#include <inttypes.h>

#include "base/clock.h"
#include "conform_statement.h"

/* AT_ONCE_MS is far less than the deadline that a try has here, and longer than a busy machine needs. */
/* Who is told may look again every 200 ms, which is a dozen packets with what acknowledges them; who polls sends a hundred. */
enum { WAITERS = 5, QUIET_MS = 400, QUIET_PACKETS = 20, PATIENCE_MS = 150, AT_ONCE_MS = 1000 };

/* A try has a deadline, but it is not there to be waited for. */
void lb_statement_refused_at_once(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  WANT(LB_BUSY, lb_conform_try(c, 1, key, &b)); /* is connected from now on */
  lb_ns begin = lb_clock_ns();
  WANT(LB_BUSY, lb_conform_try(c, 1, key, &b));
  uint64_t ms = (lb_clock_ns() - begin) / LB_NS_PER_MS;
  lb_conform_check(c, ms < AT_ONCE_MS, "expected BUSY at once, got it after %" PRIu64 " ms (second session)", ms);
  lb_conform_leave(c, 1, key, &b);
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
}

/* Who came last asks first: it may be granted only when nobody who came before it is left. */
void lb_statement_first_come_first_served(struct lb_conform *c) {
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

/* A protocol may look again after a while, as no message is certain to arrive, and a session is kept
 * alive by packets. Who polls sends many more. */
void lb_statement_waits_without_polling(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  WANT(LB_BUSY, lb_conform_try(c, 1, key, &b));
  WANT(LB_TIMEOUT, lb_conform_wait(c, 1, key, &b, PATIENCE_MS)); /* now it has said what it wants to be told */
  uint64_t before = lb_conform_packets_sent(&c->target);
  lb_conform_want(c, LB_BUSY, lb_conform_queue_up(c, 1, key, &b, QUIET_MS));
  uint64_t sent = lb_conform_packets_sent(&c->target) - before;
  lb_conform_check(c, sent <= QUIET_PACKETS, "expected at most %d packets in %d ms of waiting, got %" PRIu64 " (first and second session)",
                   QUIET_PACKETS, QUIET_MS, sent);
  lb_conform_leave(c, 1, key, &b);
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
}

/* Cancelled by its deadline, in the middle of its wait. The lock then goes to whom asks next, at the
 * first try, and no server has a record of it when that one is done. */
void lb_statement_gives_up_waiting(struct lb_conform *c) {
  KEY;
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT, d = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  WANT(LB_BUSY, lb_conform_try(c, 1, key, &b));
  WANT(LB_TIMEOUT, lb_conform_wait(c, 1, key, &b, PATIENCE_MS));
  lb_conform_leave(c, 1, key, &b);
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
  WANT(LB_OK, lb_conform_acquire(c, 2, key, &d, 2000));
  WANT(LB_OK, lb_conform_release(c, 2, key, &d));
  for (size_t i = 0; c->protocol->inspect && i < c->topology->data_count; i++) {
    int r;
    for (lb_ns end = in_ms(AT_ONCE_MS); (r = lb_conform_inspect(c, 2, key, i)) == 1 && lb_clock_ns() < end;) lb_clock_sleep_until(in_ms(5));
    WANT(0, r);
  }
}
