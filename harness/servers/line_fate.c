/* SPDX-License-Identifier: MIT
 *
 * The plan of a line, packet by packet. What is drawn is drawn for every packet in the order in which
 * they come, from the seed alone.
 *
 * Two packets of one TCP connection never change their order: one that is drawn to be due earlier
 * than the one before it is due with it. So a connection that sends much at once is late by more than
 * the middle of the range. Where two connections fall on one place of the table, they wait for each
 * other in the same way.
 */
#include "line_fate.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/rng.h"
#include "line_pick.h"

enum { ORDERED = 4096, PURPOSE = 0x6c696e65 };

struct lb_line_fate {
  struct lb_line *line;
  struct lb_rng rng;
  struct lb_line_picker picker;
  uint64_t latest[ORDERED];                         /* when the last packet of a connection is due */
  uint64_t (*taken)[LB_LINE_PROBES_MAX];            /* [way] when each packet of the probe was taken; 0 = not yet */
  bool (*came)[LB_LINE_PROBES_MAX];                 /* [way] */
  bool passing;
};

struct lb_line_fate *lb_line_fate_new(struct lb_line *line) {
  struct lb_line_fate *f = calloc(1, sizeof *f);
  if (!f) return NULL;
  f->line = line;
  f->rng = lb_rng_fork(line->plan.seed, PURPOSE, (uint64_t)line->number);
  f->taken = calloc(line->way_count, sizeof *f->taken);
  f->came = calloc(line->way_count, sizeof *f->came);
  return f->taken && f->came ? f : NULL;
}

void lb_line_fate_pass(struct lb_line_fate *f) { f->passing = true; }

/* ---- the probe --------------------------------------------------------------------------------- */

/* Only the probe is no TCP. False: this one is not of the probe. */
static bool probe_number(const struct lb_frame *frame, uint32_t *ret) {
  if (!frame->is_udp || frame->data_bytes != sizeof *ret) return false;
  memcpy(ret, frame->data, sizeof *ret);
  return *ret < LB_LINE_PROBES_MAX;
}

static void note_probe(struct lb_line_fate *f, size_t way, uint32_t number, uint64_t stamp, bool dropped) {
  struct lb_line_seen *seen = &f->line->seen[way];
  f->taken[way][number] = stamp;
  if (number == 0) atomic_store(&seen->probe_taken, stamp);
  if (dropped) atomic_fetch_add(&seen->probes_dropped, 1);
}

/* The line's process alone writes these. */
static void note_trip(struct lb_line_seen *seen, uint64_t took) {
  uint64_t least = atomic_load(&seen->trip_min);
  if (least == 0 || took < least) atomic_store(&seen->trip_min, took);
  if (took > atomic_load(&seen->trip_max)) atomic_store(&seen->trip_max, took);
  atomic_fetch_add(&seen->probes_came, 1);
}

/* One that came straight was not taken yet, or at the same time: it is as if it had taken 1 ns. Of one that comes twice the first counts. */
void lb_line_fate_arrived(struct lb_line_fate *f, size_t way) {
  uint32_t number;
  struct lb_line_seen *seen = &f->line->seen[way];
  while (recv(f->line->far[way], &number, sizeof number, MSG_DONTWAIT) == sizeof number) {
    if (number >= LB_LINE_PROBES_MAX || f->came[way][number]) continue;
    uint64_t now = lb_clock_ns(), taken = f->taken[way][number];
    f->came[way][number] = true;
    if (number == 0) atomic_store(&seen->probe_came, now);
    note_trip(seen, taken && now > taken ? now - taken : 1);
  }
}

/* ---- the plan ---------------------------------------------------------------------------------- */

static bool is_lost(struct lb_line_fate *f) {
  double loss = f->line->plan.loss;
  return loss > 0 && (double)(lb_rng_next(&f->rng) >> 11) * 0x1p-53 < loss;
}

static uint64_t in_order(struct lb_line_fate *f, size_t way, const struct lb_frame *frame, uint64_t due) {
  uint64_t *latest = &f->latest[(way * 1021 + frame->from_port * 31u + frame->to_port) % ORDERED];
  if (!frame->is_tcp) return due;
  if (due < *latest) due = *latest;
  return *latest = due;
}

static uint64_t due_of(struct lb_line_fate *f, size_t way, const struct lb_frame *frame, uint64_t stamp) {
  const struct lb_line_plan *plan = &f->line->plan;
  if (plan->delay_ns == LB_LINE_HOLD) return UINT64_MAX;
  if (plan->jitter_ns == 0) return stamp + plan->delay_ns;
  return in_order(f, way, frame, stamp + plan->delay_ns - plan->jitter_ns + lb_rng_below(&f->rng, 2 * plan->jitter_ns + 1));
}

bool lb_line_fate(struct lb_line_fate *f, size_t way, const unsigned char *bytes, size_t size, uint64_t stamp, uint64_t *ret_due) {
  const struct lb_line_plan *plan = &f->line->plan;
  struct lb_line_seen *seen = &f->line->seen[way];
  struct lb_frame frame;
  uint32_t number;
  bool good = lb_frame_read(bytes, size, &frame), probe = good && probe_number(&frame, &number);
  bool picked = good && plan->pick && !f->passing && lb_line_pick(&f->picker, plan->after, way, &frame, stamp, &f->line->shared->picked);
  bool drops = good && !f->passing && (picked ? plan->pick == LB_LINE_PICKS_DROPPED : is_lost(f));
  if (!good) return atomic_fetch_add(&seen->lost, 1), false;
  if (probe) note_probe(f, way, number, stamp, drops);
  else atomic_fetch_add(&seen->others, 1), atomic_fetch_add(&seen->dropped, drops);
  if (drops) return false;
  *ret_due = picked ? UINT64_MAX : due_of(f, way, &frame, stamp);
  return true;
}
