/* SPDX-License-Identifier: MIT
 *
 * A reset: the connections that exist over a link end, and the link stays.
 *
 * The end of who is asked is closed, and a reset goes to the other end, as when a firewall or a balancer forgets a
 * connection. Proved by both kernels, which have none of these sockets any more. A new connection may be there by then:
 * it has another port.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/need.h"
#include "fault_links.h"
#include "network/reset.h"

enum { NOTICE_MS = 1000, POLL_MS = 2 };

static int await_none(struct lb_doing *d, const struct lb_host *at, const struct lb_host *other,
                      const struct lb_connections *which, bool mirrored) {
  for (lb_ns deadline = lb_in_ms(NOTICE_MS);; lb_sleep_ms(POLL_MS)) {
    int left = lb_reset_left(at, other, which, mirrored, d->err);
    if (left <= 0) return left;
    if (lb_clock_ns() > deadline)
      return lb_doing_fail(d, "%s: %s still has %d of the connections", d->step->text, at->name, left);
  }
}

/* How many it had; -1 with err. */
static int reset_one(struct lb_doing *d, const struct lb_link *link) {
  const struct lb_host *at = link->listener ? link->listener->host : link->b,
                       *other = at == link->a ? link->b : link->a;
  struct lb_connections *which = lb_need(malloc(sizeof *which));
  int r = lb_reset_list(at, other, which, d->err), count = (int)which->count;
  if (r == 0) r = lb_reset_end(at, other, which, d->err);
  if (r == 0) r = await_none(d, at, other, which, false);
  if (r == 0) r = await_none(d, other, at, which, true);
  free(which);
  return r < 0 ? -1 : count;
}

static int reset(struct lb_doing *d) {
  struct lb_links links;
  int ended = 0, r = 0;
  lb_doing_links(d, true, &links);
  for (size_t i = 0; r >= 0 && i < links.count; i++) {
    r = reset_one(d, &links.link[i]);
    if (r > 0) ended += r;
  }
  free(links.link);
  if (r < 0) return -1;
  if (ended == 0) return lb_doing_fail(d, "%s: there is no connection", d->step->text);
  lb_stage_note(d->s, "%d connection%s ended with a reset", ended, ended == 1 ? "" : "s");
  return 0;
}

const struct lb_fault lb_faults_of_connections[LB_VERB_COUNT] = {
    [LB_STEP_RESET] = {reset},
};
