/* SPDX-License-Identifier: MIT
 *
 * The arithmetic of zk_alive.h. Nobody is asked here, and no clock is read.
 */
#include "zk_alive.h"

void zk_alive_meet(struct zk_alive *alive, int64_t session, lb_ns begun, lb_ns timeout) {
  if (alive->session == session) return;
  lb_ns span = timeout / 12 * 5;
  *alive = (struct zk_alive){.session = session, .span = span, .answered = begun, .until = begun + span};
}

struct zk_mark zk_alive_mark(const struct zk_alive *alive, lb_ns now) {
  return (struct zk_mark){.session = alive->session, .sent = now, .base = alive->answered};
}

void zk_alive_answered(struct zk_alive *alive, struct zk_mark mark) {
  if (mark.session != alive->session) return;
  if (mark.base + alive->span > alive->until) alive->until = mark.base + alive->span;
  if (mark.sent > alive->answered) alive->answered = mark.sent;
}

/* The knowledge that a write brings counts from the one before it. */
lb_ns zk_alive_renew_at(const struct zk_alive *alive) { return alive->answered + alive->span / 4; }
