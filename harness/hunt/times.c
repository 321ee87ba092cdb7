/* SPDX-License-Identifier: MIT
 *
 * How long the parts of the program may take. The hunt goes by events; these are the bounds for what
 * may never happen, and the length of what has to end before another server takes over.
 */
#include "write.h"

/* By how the servers stand to each other. */
static const struct {
  int64_t write_ms;    /* what a waiter needs to get a lock that is free, and to write */
  int64_t failover_ms; /* until another server has taken over; 0 = none can */
} servers[] = {
    [LB_HUNT_NO_SERVERS] = {200, 0},
    [LB_HUNT_SINGLE] = {300, 0},
    [LB_HUNT_INDEPENDENT] = {300, 0},
    [LB_HUNT_REPLICATED] = {500, 5000},
    [LB_HUNT_ENSEMBLE] = {800, 5000},
};
static const struct {
  int64_t ttl_ms;
  bool renew;
} regimes[LB_HUNT_REGIME_COUNT] = {[LB_HUNT_LONG] = {10000, false}, [LB_HUNT_SHORT] = {1000, true}, [LB_HUNT_DRIFT] = {2000, false}};
/* Where nobody looks, nobody takes over: long enough to be felt, and where leases are short for longer than one of them. */
enum { UNSEEN_MS = 500, TICKS = 8, DETECTORS = 4 };

/* Between the end of a session and the moment at which the others notice, if there is one; else half of what they bear. (Sessions end at
 * ticks, of which the detector is some.) */
static int64_t mid_of(const struct lb_hunt_system *s, enum lb_hunt_regime regime, int64_t ttl_ms) {
  int64_t ended = ttl_ms + s->detector_ms / TICKS;
  if (s->detector_ms == 0) return regime == LB_HUNT_SHORT ? ttl_ms * 3 / 2 : UNSEEN_MS;
  return s->session && ended < s->detector_ms ? (ended + s->detector_ms) / 2 : s->detector_ms / 2;
}

struct lb_hunt_times lb_hunt_times_of(const struct lb_hunt_system *s, enum lb_hunt_regime regime, const struct lb_hunt_settings *settings) {
  static const struct lb_hunt_settings none = {0};
  struct lb_hunt_times t = {.ttl_ms = regimes[regime].ttl_ms, .renew = regimes[regime].renew};
  if (!settings) settings = &none;
  if (t.ttl_ms < s->least_ttl_ms) t.ttl_ms = s->least_ttl_ms;
  if (settings->ttl_ms > 0) t.ttl_ms = settings->ttl_ms;
  if (settings->no_renewal) t.renew = false;
  int64_t free_ms = servers[s->servers].write_ms;
  t.write_ms = free_ms;
  if (regime == LB_HUNT_SHORT) t.write_ms += t.ttl_ms * 3 / 2; /* a lease that nobody renews ends first */
  if (regime == LB_HUNT_DRIFT) t.write_ms = t.ttl_ms * 4 / 5;
  if (settings->write_ms > 0) t.write_ms = settings->write_ms;
  t.failover_ms = servers[s->servers].failover_ms + DETECTORS * s->detector_ms;
  t.mid_ms = settings->mid_ms > 0 ? settings->mid_ms : mid_of(s, regime, t.ttl_ms);
  t.pause_ms = t.ttl_ms * 3 / 2 + t.write_ms;
  t.acquire_ms = t.failover_ms + 4000;
  t.section_ms = t.failover_ms + 2 * (t.write_ms + t.mid_ms) + 3000;
  return t;
}

/* ---- how long it takes ----------------------------------------------------------------------------------------------------- */

/* A lease of a client that was cut off has to end before somebody else is granted the lock; that of one that died may not end at all, and is waited for in
 * vain then by all who have sections. */
static int64_t of_fault(const struct lb_hunt_times *t, const struct lb_hunt_system *s, struct lb_hunt_fault f) {
  int64_t ms = f.undo == LB_HUNT_MID ? t->mid_ms : f.undo == LB_HUNT_AFTER ? DETECTORS * s->detector_ms + UNSEEN_MS : 0;
  if (f.kind == LB_HUNT_RESTART || f.kind == LB_HUNT_KILL) ms += UNSEEN_MS;
  if (!lb_hunt_of_client(f)) return ms;
  return ms + (f.kind == LB_HUNT_KILL ? t->ttl_ms + t->section_ms : f.kind == LB_HUNT_PAUSE || f.kind == LB_HUNT_CUT || f.kind == LB_HUNT_CUT_ONE || f.kind == LB_HUNT_CUT_OFF ? t->write_ms : 0);
}

int64_t lb_hunt_takes_ms(const struct lb_hunt_system *s, const struct lb_hunt_timeline *timeline) {
  struct lb_hunt_times t = lb_hunt_times_of(s, timeline->regime, NULL);
  int64_t ms = t.write_ms;
  for (size_t i = 0; i < timeline->fault_count; i++) ms += of_fault(&t, s, timeline->fault[i]);
  return ms;
}
