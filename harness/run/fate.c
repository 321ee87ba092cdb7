/* SPDX-License-Identifier: MIT
 *
 * What came of the questions that a lock was asked, and whose fault it is.
 */
#include "fate.h"
#include "scenario/expect.h"

/* One violated trial breaks a lock. */
enum lb_fate lb_fate_of(const struct lb_cell_sum *cell) {
  if (cell->cell->guard != LB_GUARD_NONE || cell->trials == 0) return LB_FATE_NONE;
  if (cell->violated) return LB_FATE_BROKEN;
  if (cell->stuck) return LB_FATE_STUCK;
  if (cell->delayed) return LB_FATE_LATE;
  return cell->verdict == LB_SAFE ? LB_FATE_HELD : LB_FATE_OPEN;
}

/* A line of a scenario's file that names no lock speaks of servers, so of every lock there. */
bool lb_fate_is_own(const struct lb_cell_sum *cell) {
  static const enum lb_verdict verdict[] = {
      [LB_FATE_LATE] = LB_DELAYED, [LB_FATE_STUCK] = LB_STUCK, [LB_FATE_BROKEN] = LB_VIOLATED};
  const struct lb_cell *c = cell->cell;
  enum lb_fate fate = lb_fate_of(cell);
  if (fate != LB_FATE_LATE && fate != LB_FATE_STUCK && fate != LB_FATE_BROKEN) return false;
  if (c->predicted && (c->of_kind.verdict == verdict[fate] || c->of_kind.verdict == LB_ANY)) return false;
  bool of_servers = c->expect && !c->derived && !lb_expect_is_exact(c->expect);
  return !of_servers || c->expect->verdict != verdict[fate];
}
