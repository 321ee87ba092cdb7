/* SPDX-License-Identifier: MIT
 *
 * What the servers themselves know of a lock, and that nothing of it stays. `inspect` looks at one
 * server alone, past the session that holds.
 */
#include <inttypes.h>

#include "base/clock.h"
#include "conform_statement.h"

/* How long a server that follows another may lag behind. Far less than the leases of the statement,
 * so that a record which is gone by then was removed and has not expired. */
enum { FOLLOW_MS = 1000 };

/* A key that nobody asked for is the other half: a server that says 1 of everything knows
 * nothing. */
void lb_statement_one_server_knows(struct lb_conform *c) {
  const char *held = lb_conform_key(c), *unheld = lb_conform_key(c);
  struct lb_grant a = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, held, &a));
  size_t server = lb_conform_who_knows(c, 1, held);
  WANT(1, lb_conform_inspect(c, 1, held, server));
  WANT(0, lb_conform_inspect(c, 1, unheld, server));
  WANT(LB_OK, lb_conform_release(c, 0, held, &a));
}

/* A session that has just been granted a lock talks to somebody, who has answered it, so the record is
 * there: at the server that it names, and not only somewhere. */
void lb_statement_names_its_server(struct lb_conform *c) {
  const char *key = lb_conform_key(c);
  struct lb_grant a = LB_GRANT_INIT;
  WANT(LB_OK, lb_conform_try(c, 0, key, &a));
  const struct lb_topology *t = c->topology;
  size_t first = t->family->fronted ? t->data_count : 0, count = t->family->fronted ? t->other_count : t->data_count; /* those that it may talk to */
  int server = lb_conform_server(c, 0);
  lb_conform_check(c, server >= (int)first && (size_t)server < first + count,
                   "expected from server one of the %zu endpoints that hold locks, got %d (first session)", count, server);
  WANT(1, lb_conform_inspect(c, 1, key, (size_t)server));
  WANT(LB_OK, lb_conform_release(c, 0, key, &a));
}

/* In turns, because sessions may talk to different servers: the numbers are of the service. */
void lb_statement_reads_a_later_state(struct lb_conform *c) {
  const char *key = lb_conform_key(c);
  uint64_t latest = 0;
  for (int i = 0; i < 6; i++) {
    struct lb_grant g = LB_GRANT_INIT;
    int who = i % LB_CONFORM_SESSIONS;
    WANT(LB_OK, lb_conform_acquire(c, who, key, &g, 2000));
    uint64_t seen = lb_conform_seen(c, who);
    lb_conform_check(c, seen > latest, "expected from seen a number above %" PRIu64 " for grant %d, got %" PRIu64, latest, i + 1, seen);
    latest = seen;
    WANT(LB_OK, lb_conform_release(c, who, key, &g));
  }
}

/* Every server that holds locks, for itself. One that follows another is given a while, in which no
 * lease of the statement ends. */
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
void lb_statement_torn_down(struct lb_conform *c) {
  const char *held = lb_conform_key(c), *free = lb_conform_key(c);
  struct lb_grant a = LB_GRANT_INIT, b = LB_GRANT_INIT, d = LB_GRANT_INIT;
  WANT(LB_OK, lb_statement_try_for(c, 0, held, CUT_TTL_MS, &a));
  WANT(LB_OK, lb_statement_try_for(c, 1, free, CUT_TTL_MS, &b));
  WANT(LB_OK, lb_conform_release(c, 1, free, &b));
  WANT(LB_OK, lb_conform_teardown(c, 2));
  nobody_knows_of(c, held);
  nobody_knows_of(c, free);
  WANT(LB_OK, lb_conform_teardown(c, 1)); /* it may be repeated, and by another */
  if (c->protocol->setup) WANT(LB_OK, lb_conform_setup(c, 1));
  WANT(LB_OK, lb_conform_try(c, 1, held, &d));
  WANT(LB_OK, lb_conform_release(c, 1, held, &d));
}
