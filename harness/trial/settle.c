/* SPDX-License-Identifier: MIT
 *
 * Two thirds are compared by what was done in them.
 */
#include "settle.h"

/* Of few things done as many are done twice by chance. Thirds of less than half a second say nothing:
 * a single collection of garbage takes a tenth of that. */
enum { TICKS_MIN = 12, WITHIN_PERCENT = 3, COUNT_MIN = 100 };

static bool has_settled(const struct lb_settle *s) {
  size_t third = s->ticks / 3, now = s->ticks;
  if (now < TICKS_MIN) return false;
  uint64_t last = s->count[now] - s->count[now - third], before = s->count[now - third] - s->count[now - 2 * third];
  uint64_t difference = last > before ? last - before : before - last;
  return before >= COUNT_MIN && 100 * difference <= WITHIN_PERCENT * before;
}

bool lb_settle_add(struct lb_settle *s, uint64_t count) {
  if (s->ticks < LB_SETTLE_TICKS_MAX) s->count[++s->ticks] = count;
  return has_settled(s);
}
