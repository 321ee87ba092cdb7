/* SPDX-License-Identifier: MIT
 *
 * Many clients, each a process, who want one lock at the same time. Here exclusion is not asked of a
 * protocol, as `a held lock is refused` does, it is looked at.
 */
#include <inttypes.h>

#include "base/clock.h"
#include "conform_statement.h"

enum { CLIENTS = 16, TURNS = 3, TURN_MS = 1, CROWD_MS = 20000 };

static const char *crowded; /* the key that they want */

/* Inside, nobody else may be, and nobody with this number or a later one may have been. */
static void be_inside(struct lb_conform *c, int number, const struct lb_grant *g) {
  struct lb_conform_shared *shared = c->shared;
  uint64_t others = atomic_fetch_add(&shared->inside, 1), latest = atomic_load(&shared->latest);
  lb_conform_check(c, others == 0, "expected nobody else inside, client %d found %" PRIu64, number + 1, others);
  lb_conform_check(c, !(lb_conform_has(c) & LB_NEEDS_FENCE) || g->fence > latest,
                   "expected a fence above %" PRIu64 ", client %d got %" PRIu64, latest, number + 1, g->fence);
  atomic_store(&shared->latest, g->fence);
  lb_clock_sleep_until(in_ms(TURN_MS));
  atomic_fetch_sub(&shared->inside, 1);
}

static void take_turns(struct lb_conform *c, int number) {
  for (int turn = 0; turn < TURNS; turn++) {
    struct lb_grant g = LB_GRANT_INIT;
    WANT(LB_OK, lb_conform_queue_up(c, 0, crowded, &g, CROWD_MS));
    be_inside(c, number, &g);
    WANT(LB_OK, lb_conform_release(c, 0, crowded, &g));
  }
}

/* Everybody comes back for several turns, so that those who were refused meet those who were not. */
void lb_statement_one_of_sixteen(struct lb_conform *c) {
  crowded = lb_conform_key(c);
  for (int i = 0; i < CLIENTS; i++) lb_conform_start(c, "crowd", i, take_turns);
  lb_conform_join(c, CROWD_MS);
}
