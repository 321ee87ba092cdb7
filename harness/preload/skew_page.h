/* SPDX-License-Identifier: MIT
 *
 * skew_page.h - the shared page of skew.h as it lies in memory, and how it is read. Private to
 * skew.c and clock_shim.c, which has to run inside any server at any time: so nothing here
 * allocates, locks or waits.
 *
 * A clock is a line: where the true clock says since_ns it reads value_ns, and from there it runs
 * `rate` times as fast. The page has room for two sets of lines. `now` names the valid one by its
 * lowest bit and is otherwise the number of the change; 0 = true clocks, and that one load is all a
 * reader pays while nothing is skewed. A change is written into the other set and then published,
 * so a reader never waits for a writer that was stopped halfway. It only looks again when a change
 * was published while it read.
 */
#ifndef LB_SKEW_PAGE_H
#define LB_SKEW_PAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define LB_SKEW_MAGIC UINT64_C(0x6c627365772d3031)

enum { LB_SKEW_WALL, LB_SKEW_MONO, LB_SKEW_CLOCKS };

struct lb_skew_line {
  int64_t since_ns, value_ns;
  double rate;
};

struct lb_skew_slot { /* the same, shared */
  _Atomic int64_t since_ns, value_ns;
  _Atomic double rate;
};

struct lb_skew {
  uint64_t magic; /* written before the page is handed to anybody */
  _Atomic uint64_t now;
  uint64_t changes; /* so far; the writer's own */
  struct lb_skew_slot slot[2][LB_SKEW_CLOCKS];
};

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "a lock would not be shared between processes");

/* The line of a clock. False = the clock is true, *ret is not written.
 *
 * All loads acquire, instead of fences, which ThreadSanitizer does not know. Only the change after the next one writes
 * into the set that is read here. A reader of its numbers also sees, in the second load of `now`, that the next one was
 * published. */
static inline bool lb_skew_read(const struct lb_skew *page, unsigned clock, struct lb_skew_line *ret) {
  uint64_t now;
  while ((now = atomic_load_explicit(&page->now, memory_order_acquire)) != 0) {
    const struct lb_skew_slot *slot = &page->slot[now & 1][clock];
    ret->since_ns = atomic_load_explicit(&slot->since_ns, memory_order_acquire);
    ret->value_ns = atomic_load_explicit(&slot->value_ns, memory_order_acquire);
    ret->rate = atomic_load_explicit(&slot->rate, memory_order_acquire);
    if (atomic_load_explicit(&page->now, memory_order_relaxed) == now) return true;
  }
  return false;
}

/* factor * ns, kept within half of what fits, so that a sum with a time of this century fits, too. */
static inline int64_t lb_skew_scaled(int64_t ns, double factor) {
  const double most = 4e18, scaled = (double)ns * factor;
  return scaled > most ? (int64_t)most : scaled < -most ? -(int64_t)most : (int64_t)scaled;
}

/* The part that differs from the true speed is computed apart: a clock that has only jumped is
 * exact to the nanosecond. No clock reads less than 0. */
static inline int64_t lb_skew_at(const struct lb_skew_line *line, int64_t true_ns) {
  int64_t passed = true_ns - line->since_ns;
  int64_t reads = line->value_ns + passed + lb_skew_scaled(passed, line->rate - 1);
  return reads > 0 ? reads : 0;
}

/* The other way: the first true time at which it reads at least `reads_ns`, not before 0; INT64_MAX
 * = never. */
static inline int64_t lb_skew_when(const struct lb_skew_line *line, int64_t reads_ns) {
  int64_t to_go = reads_ns - line->value_ns, left;
  if (line->rate <= 0) return to_go <= 0 ? line->since_ns : INT64_MAX;
  int64_t when = line->since_ns + to_go + lb_skew_scaled(to_go, 1 / line->rate - 1);
  if (when <= 0) return 0;
  while ((left = reads_ns - lb_skew_at(line, when)) > 0)
    when += 1 + lb_skew_scaled(left, 1 / line->rate); /* rounded off */
  return when;
}

#endif
