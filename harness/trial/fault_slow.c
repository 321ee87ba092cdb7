/* SPDX-License-Identifier: MIT
 *
 * The proof of a slow: packets of our own, which the line's process stamps. Each has to take its time, which
 * is known only then, and the steps go on meanwhile (lb_fault_settle).
 *
 * Of a delay without jitter one packet is enough. With jitter the packets have to spread: some earlier
 * than the middle, which no busy machine can make, and the first and the last apart by half of the
 * range. Where packets are lost, exactly those have not come which the line says it dropped, and there
 * were some, as many as that share makes likely.
 */
#include <math.h>

#include "base/clock.h"
#include "fault.h"
#include "fault_parts.h"

/* Of 64 draws the chance that all lie in one half of the range is 1 in 10^17; of packets that are lost
 * ten are expected, and the chance of none is 1 in 20,000. */
enum { SPREAD_PACKETS = 64, LOST_PACKETS = 10, LATER_MS = 5000 };
#define SIGMAS 6

unsigned lb_slow_probes(const struct lb_line_plan *plan) {
  double lossy = plan->loss > 0 ? ceil(LOST_PACKETS / plan->loss) : 1;
  double spread = plan->jitter_ns > 0 ? ceil(SPREAD_PACKETS / (1 - plan->loss)) : 1;
  return (unsigned)fmin(fmax(lossy, spread), LB_LINE_PROBES_MAX);
}

static const char *text_of(const struct lb_line *line) { return ((const struct lb_step *)line->owner)->text; }

static int refuse_way(const struct lb_doing *d, const struct lb_line *line, size_t i, const char *what) {
  return lb_doing_fail(d, "%s: of the %u packets from %s to %s %s", text_of(line), line->probes, line->way[i].from->name, line->way[i].to->name, what);
}

static int check_delay(const struct lb_doing *d, const struct lb_line *line, size_t i) {
  const struct lb_line_plan *plan = &line->plan;
  lb_ns least = atomic_load(&line->seen[i].trip_min), most = atomic_load(&line->seen[i].trip_max), trip = least;
  if (line->probes == 1) lb_line_trip(line, i, &trip);
  if (trip < plan->delay_ns - plan->jitter_ns)
    return lb_doing_fail(d, "%s: a packet from %s to %s took %.3f s", text_of(line), line->way[i].from->name, line->way[i].to->name, (double)trip / 1e9);
  if (plan->jitter_ns > 0 && (least >= plan->delay_ns || most - least < plan->jitter_ns))
    return lb_doing_fail(d, "%s: the %u packets from %s to %s took %.1f to %.1f ms: that is no such jitter", text_of(line), line->probes, line->way[i].from->name,
                         line->way[i].to->name, (double)least / 1e6, (double)most / 1e6);
  return 0;
}

static int check_loss(const struct lb_doing *d, const struct lb_line *line, size_t i) {
  double expected = line->plan.loss * line->probes, dropped = (double)atomic_load(&line->seen[i].probes_dropped);
  if (line->plan.loss <= 0) return 0;
  if (dropped < 1) return refuse_way(d, line, i, "none was lost");
  return dropped > expected + SIGMAS * sqrt(expected) ? refuse_way(d, line, i, "too many were lost") : 0;
}

/* What is not dropped has to come. */
static bool is_complete(const struct lb_line *line, size_t i) {
  const struct lb_line_seen *seen = &line->seen[i];
  return atomic_load(&seen->probes_came) + atomic_load(&seen->probes_dropped) >= line->probes;
}

static void record(struct lb_stage *s, struct lb_line *line) {
  for (size_t i = 0; i < line->way_count; i++) {
    const struct lb_line_seen *seen = &line->seen[i];
    lb_stage_trip(s, line->owner, line->way[i].from, line->way[i].to, atomic_load(&seen->trip_min));
    if (line->probes > 1) lb_stage_trip(s, line->owner, line->way[i].from, line->way[i].to, atomic_load(&seen->trip_max));
    if (line->plan.loss > 0)
      lb_stage_note(s, "%s: of %u packets of ours %llu were lost", text_of(line), line->probes, (unsigned long long)atomic_load(&seen->probes_dropped));
  }
  line->is_proved = true;
  lb_stage_proved(s, line->owner);
}

int lb_slow_look(const struct lb_doing *d, struct lb_line *line) {
  for (size_t i = 0; i < line->way_count; i++) {
    if (!is_complete(line, i)) return 0;
    if (check_delay(d, line, i) < 0 || check_loss(d, line, i) < 0) return -1;
  }
  record(d->s, line);
  return 1;
}

static int settle_one(const struct lb_doing *d, struct lb_line *line, bool wait) {
  lb_ns deadline = line->probed_at + line->plan.delay_ns + line->plan.jitter_ns + LATER_MS * LB_NS_PER_MS;
  int r;
  while ((r = lb_slow_look(d, line)) == 0 && wait) {
    if (lb_clock_ns() > deadline) return lb_doing_fail(d, "%s: its packet has not come", text_of(line));
    lb_clock_sleep_until(lb_clock_ns() + LB_NS_PER_MS / 2);
  }
  return r < 0 ? r : 0;
}

/* A message that is to come is not waited for: nobody knows whether somebody sends it. */
int lb_fault_settle(struct lb_stage *s, bool wait, char *err, size_t err_size) {
  const struct lb_doing d = {.s = s, .err = err, .err_size = err_size};
  int r = 0;
  for (struct lb_line *line = s->net.lines; line && r == 0; line = line->older) {
    if (line->is_proved || line->plan.delay_ns == LB_LINE_HOLD) continue;
    r = line->plan.pick ? lb_message_look(&d, line) : settle_one(&d, line, wait);
  }
  return r < 0 ? r : 0;
}
