/* SPDX-License-Identifier: MIT
 *
 * fate.h - what came of a question that a lock was asked, and whether that is its own fault.
 */
#ifndef LB_FATE_H
#define LB_FATE_H

#include "tally.h"

/* What came of a question, which is a cell without a guard. Its cells under guards say what would have helped. */
enum lb_fate {
  LB_FATE_NONE, /* it was not asked, or is no question */
  LB_FATE_HELD,
  LB_FATE_LATE, /* the lock was had again when a lease or session had ended */
  LB_FATE_OPEN, /* undecided */
  LB_FATE_STUCK,
  LB_FATE_BROKEN, /* in one trial at least */
};
enum lb_fate lb_fate_of(const struct lb_cell_sum *cell);
/* For a cell that is late, stuck or broken: true if the rules say that no sound lock of its kind comes out so on these
 * servers, and nothing is stated of them. */
bool lb_fate_is_own(const struct lb_cell_sum *cell);

#endif
