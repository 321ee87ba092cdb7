/* SPDX-License-Identifier: MIT
 *
 * A gate: a client stands still at a point of its program while a few steps are done, so that they happen just then. It is the harness that holds
 * it up, not a fault, so it may not last: a client that stands still for a good part of its lease is a paused one.
 */
#include "timeline_client.h"

#include "base/clock.h"
#include "fault.h"

enum { GATE_SHARE = 4, QUICK_MS = 1000 };

int lb_timeline_gate(struct lb_stage *s, const struct lb_step *step) {
  struct lb_client *client = lb_timeline_client(s, step);
  atomic_store(&lb_stage_state(s, client)->gate_open, false);
  int r = lb_timeline_arm(s, step);
  if (r == 0) s->pending[client->number].gate = step;
  return r;
}

/* A client that had come to the gate before it was opened stops all the same: then it has to be told to go on. True if it stands there. */
static bool stands_behind(struct lb_stage *s, struct lb_client *client) {
  const struct lb_client_state *state = lb_stage_state(s, client);
  lb_ns since = lb_clock_ns(), deadline = lb_timeline_in_ms(QUICK_MS);
  while (atomic_load(&state->at_point) && lb_clock_ns() < deadline) {
    if (lb_client_look(client) == LB_LIFE_STOPPED) return true;
    lb_timeline_doze(since);
  }
  return false;
}

static int stood_for_long(struct lb_stage *s, const struct lb_pending *p) {
  int64_t stood_ms = (int64_t)((lb_clock_ns() - p->gate_since) / LB_NS_PER_MS);
  if (p->armed == p->gate || stood_ms * GATE_SHARE <= s->plan->scenario->ttl_ms) return 0;
  return lb_stage_doubt(s, LB_UNDECIDED, "%s: it stood there for %lld ms, more than a quarter of the ttl: that is a pause", p->gate->text, (long long)stood_ms);
}

int lb_timeline_pass(struct lb_stage *s, const struct lb_step *step) {
  struct lb_client *client = lb_timeline_client(s, step);
  struct lb_pending *p = &s->pending[client->number];
  if (!p->gate) return 0;
  atomic_store(&lb_stage_state(s, client)->gate_open, true);
  int r = stood_for_long(s, p);
  if (r == 0 && p->armed == p->gate) lb_stage_not_met(s, p->gate);
  if (p->armed == p->gate) p->armed = NULL;
  p->gate = NULL;
  if (r < 0 || !stands_behind(s, client)) return r;
  if (lb_client_signal(client, LB_CLIENT_CONTINUE) < 0) return lb_stage_died(s, client);
  lb_stage_met(s, step);
  char err[400];
  if (lb_fault_prove_kept(s, false, err, sizeof err) < 0) return lb_stage_doubt(s, LB_UNDECIDED, "%s", err);
  return !p->step || lb_step_row(p->step)->beside ? 0 : lb_timeline_collect(s, client); /* until the deadline of its own command */
}
