/* SPDX-License-Identifier: MIT
 *
 * A workload: all clients work in a closed loop; what is granted between the two marks of its
 * window is measured.
 *
 * The clients run the loop by themselves (client/program.c) and are told two things, to begin and
 * to stop. The controller only sets the marks, so that nothing it does stands between a client and
 * its lock.
 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "trial.h"
#include "workload.h"

enum { TICK_US = 500, STOP_GRACE_MS = 3000 };

static void show_live(struct lb_stage *s) {
  if (!s->live) return;
  atomic_store(&s->live->grants, atomic_load(&s->memory->grants));
}

/* A lock in memory is so fast that its log, not the time, is the limit. */
void lb_workload_continue(struct lb_stage *s, lb_ns end, const _Atomic bool *enough) {
  lb_ns now;
  while ((now = lb_clock_ns()) < end && !atomic_load(enough)) {
    lb_ns tick = now + TICK_US * (LB_NS_PER_MS / 1000);
    lb_clock_sleep_until(tick < end ? tick : end);
    show_live(s);
  }
}

static lb_ns in_s(double seconds) { return lb_clock_ns() + (lb_ns)(seconds * 1e9); }

/* Who did not answer in time is silent, who cannot answer any more has died: a different reason
 * each. */
static int silent(struct lb_stage *s, struct lb_client *client, int result) {
  char what[80];
  snprintf(what, sizeof what, "%s was told to stop", client->name);
  return result == LB_TIMEOUT ? lb_stage_silent(s, client, what, result) : lb_stage_died(s, client);
}

int lb_workload_end(struct lb_stage *s) {
  lb_stage_phase(s, LB_PHASE_END);
  atomic_store(&s->memory->phase, LB_PHASE_STOP);
  /* A client may be in the middle of an acquire and then of a release, each bounded by wait_ms. */
  lb_ns deadline = lb_clock_ns() + 2 * s->client_plan.work.wait_ns + STOP_GRACE_MS * LB_NS_PER_MS;
  struct lb_reply reply;
  for (size_t i = 0; i < s->client_count; i++) {
    int r = lb_client_await(&s->client[i], deadline, &reply);
    if (r != 0) return silent(s, &s->client[i], r);
  }
  return 0;
}

int lb_workload_begin(struct lb_stage *s) {
  for (size_t i = 0; i < s->client_count; i++) {
    int r = lb_client_send(&s->client[i], (struct lb_command){.verb = LB_DO_WORK});
    if (r < 0) return lb_stage_died(s, &s->client[i]);
  }
  lb_workload_continue(s, in_s(s->plan->scenario->warmup_s), &s->memory->log_warm);
  lb_stage_phase(s, LB_PHASE_MEASURE);
  return 0;
}

int lb_workload_play(struct lb_stage *s) {
  int r = lb_workload_begin(s);
  if (r < 0) return r;
  lb_workload_continue(s, in_s(s->plan->scenario->duration_s), &s->memory->log_full);
  return lb_workload_end(s);
}
