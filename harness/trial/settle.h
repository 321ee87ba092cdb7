/* SPDX-License-Identifier: MIT
 *
 * settle.h - whether a rate has settled: what a load does in the first seconds is what servers do
 * while they compile their code and fill their caches, and says little of the seconds after them.
 *
 * The time so far is cut into thirds. The rate has settled when the last third and the one before it
 * differ by at most 3 %, of 100 things done or more. The thirds grow with the time, so a rate that
 * wavers around a mean settles at last, and one that grows slowly does not settle because somebody
 * looks at two moments close to each other.
 */
#ifndef LB_SETTLE_H
#define LB_SETTLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LB_SETTLE_TICK_MS = 125, LB_SETTLE_TICKS_MAX = 1 << 16 }; /* more than the two hours that a warm-up can last */

struct lb_settle { /* all zero = nothing counted yet */
  uint64_t count[LB_SETTLE_TICKS_MAX + 1]; /* how much had been done after so many ticks; [0] = 0 */
  size_t ticks;
};

/* One more tick is over; `count` = how much has been done since the begin. True if the rate has
 * settled by now. Ticks beyond the room are not taken: the answer stays as it was. */
bool lb_settle_add(struct lb_settle *settle, uint64_t count);

#endif
