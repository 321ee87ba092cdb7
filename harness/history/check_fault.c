/* SPDX-License-Identifier: MIT
 *
 * What each fault cost: between it and the next one a holder was overtaken, or damage was done.
 * However often that was, they make it one fault that failed: a paused holder overlaps with every successor, and those
 * overlaps are no independent events. Damage is charged where its overlap is: to the fault under which
 * the writer was overtaken, not to the one under which it woke up and wrote.
 *
 * A violation before the first fault is no fault's. One that comes late (a pause that ended, a server
 * that returned, just before the next fault) may be charged to the wrong one of two. A cut that
 * nobody used changed nothing, so it is no fault: what happens under it is the earlier fault's.
 *
 * A fault tests exclusion only if the lock is granted to somebody before the next one. A lock that nobody gets keeps exclusion
 * under any number of faults, and those would make its bound too good.
 */
#include <errno.h>
#include <stdlib.h>

#include "check_sweep.h"

static uint32_t step_of(const struct lb_history *h, const struct lb_event *e) { return lb_event_fact(h, e)->step; }

/* Its proof, and that nobody used it, follow a fault, and a step is played once. */
static void note(struct sweep *s, const struct lb_event *e) {
  uint32_t step = step_of(s->history, e);
  size_t i = s->fault_count;
  while (i > 0 && s->faults[i - 1].step != step) i--;
  if (i == 0) return;
  s->faults[i - 1].proved |= e->kind == LB_EV_PROVED;
  s->faults[i - 1].unused |= e->kind == LB_EV_UNUSED;
}

static void drop_unused(struct sweep *s) {
  size_t kept = 0;
  for (size_t i = 0; i < s->fault_count; i++) {
    if (!s->faults[i].unused) s->faults[kept++] = s->faults[i];
    else s->check->faults_unused += s->faults[i].proved;
  }
  s->fault_count = kept;
}

/* The latest fault up to `t`; NULL = none. Times are asked for in any order. */
static struct charged *latest(struct sweep *s, uint64_t t) {
  size_t low = 0, high = s->fault_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (s->faults[middle].t <= t) low = middle + 1;
    else high = middle;
  }
  return low > 0 ? &s->faults[low - 1] : NULL;
}

static void note_grants(struct sweep *s) {
  for (size_t i = 0; i < s->history->count && s->fault_count; i++) {
    const struct lb_event *e = &s->history->events[i];
    struct charged *fault = e->kind == LB_EV_GRANTED ? latest(s, e->t) : NULL;
    if (fault) fault->granted = true;
  }
}

int lb_check_find_faults(struct sweep *s) {
  const struct lb_history *h = s->history;
  size_t capacity = 0;
  for (size_t i = 0; i < h->count; i++) {
    const struct lb_event *e = &h->events[i];
    if (e->kind == LB_EV_PROVED || e->kind == LB_EV_UNUSED) note(s, e);
    if (e->kind != LB_EV_FAULT) continue;
    struct charged *more = lb_check_grown(s->faults, s->fault_count, &capacity, sizeof *more);
    if (!more) return -ENOMEM;
    s->faults = more;
    s->faults[s->fault_count++] = (struct charged){.t = e->t, .step = step_of(h, e)};
  }
  drop_unused(s);
  note_grants(s);
  return 0;
}

void lb_check_charge_damage(struct sweep *s, uint64_t t) {
  struct charged *fault = latest(s, t);
  if (fault) fault->damaged = true;
}

/* By each moment at which a holder is overtaken, not by the begin of the episode: faults that follow
 * one another while somebody always holds twice are one episode and several failures. */
void lb_check_charge_overlap(struct sweep *s, uint64_t t, bool within_lease) {
  struct charged *fault = latest(s, t);
  if (!fault) return;
  fault->overlapped = true;
  fault->within_lease |= within_lease;
}

void lb_check_count_faults(struct sweep *s) {
  struct lb_check *c = s->check;
  for (size_t i = 0; i < s->fault_count; i++) {
    const struct charged *fault = &s->faults[i];
    if (!fault->proved || !(fault->granted || fault->overlapped || fault->damaged)) continue; /* a client that was granted nothing can do damage */
    c->faults_tested++;
    c->faults_overlapped += fault->overlapped;
    c->faults_within_lease += fault->within_lease;
    c->faults_damaged += fault->damaged;
  }
}
