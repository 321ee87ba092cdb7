/* SPDX-License-Identifier: MIT
 *
 * The sum over the trials of a cell. One violation is enough for `violated`: absence is what has to be shown many times.
 * Identity: trials = safe + violated + stuck + undecided.
 */
#include <assert.h>
#include <string.h>

#include "plan.h"

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

static void add_counts(struct lb_outcome *sum, const struct lb_outcome *x) {
  sum->grants += x->grants;
  sum->handoffs += x->handoffs;
  sum->double_holds += x->double_holds;
  sum->double_hold_ns += x->double_hold_ns;
  sum->dirty_accesses += x->dirty_accesses;
  sum->lost_updates += x->lost_updates;
  sum->fenced_off += x->fenced_off;
  sum->token_regressions += x->token_regressions;
  sum->unavailable_ns = larger(sum->unavailable_ns, x->unavailable_ns);
  sum->orphan_ns = larger(sum->orphan_ns, x->orphan_ns);
  sum->blind_ns = larger(sum->blind_ns, x->blind_ns);
  if (x->depth > sum->depth) sum->depth = x->depth;
  if (x->stall_ns > sum->stall_ns) sum->stall_ns = x->stall_ns;
}

void lb_cell_add(struct lb_cell *cell, const struct lb_outcome *x) {
  if (cell->trials++ == 0) cell->sum = (struct lb_outcome){.unavailable_ns = -1, .orphan_ns = -1, .blind_ns = -1};
  add_counts(&cell->sum, x);
  cell->safe += x->verdict == LB_SAFE;
  cell->violated += x->verdict == LB_VIOLATED;
  cell->stuck += x->verdict == LB_STUCK;
  cell->undecided += x->verdict == LB_UNDECIDED;
  assert(cell->trials == cell->safe + cell->violated + cell->stuck + cell->undecided);
  cell->verdict = cell->violated ? LB_VIOLATED : cell->stuck ? LB_STUCK : cell->undecided ? LB_UNDECIDED : LB_SAFE;
  if (x->why[0] && !cell->why[0]) memcpy(cell->why, x->why, sizeof cell->why);
}

int lb_cell_as_expected(const struct lb_cell *cell) {
  if (cell->verdict == LB_SKIPPED || cell->verdict == LB_UNDECIDED || cell->verdict == LB_VERDICT_NONE) return -1;
  return cell->verdict == (cell->expect ? cell->expect->verdict : LB_SAFE);
}
