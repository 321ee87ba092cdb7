/* SPDX-License-Identifier: MIT
 *
 * A campaign: its schedule is drawn first (schedule.c), and then played on clients at work. A fault
 * that cannot be proved is noted and left out; each one that was done is undone.
 *
 * One fault at a time: the next one begins only when the one before has been taken back. So a
 * violation is told with the one fault it may belong to, and each fault finds the hosts whole.
 */
#include "campaign.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "fault.h"
#include "base/refuse.h"
#include "schedule.h"
#include "workload.h"

enum { LOOK_MS = 20 };

struct campaign {
  struct lb_stage *s;
  struct lb_schedule schedule;
  lb_ns origin;
  lb_ns whole_since;       /* the latest fault was over, or the campaign began */
  uint64_t granted_before; /* how many grants there had been by then */
};

/* ---- the play ------------------------------------------------------------------------------------------------------ */

/* Some log is nearly full: what happens from now on might not be seen any more. */
static bool over(const struct campaign *c) { return atomic_load(&c->s->memory->log_full); }

static void work_until(struct campaign *c, lb_ns when) {
  lb_workload_continue(c->s, c->origin + when, &c->s->memory->log_full);
}

/* From now on nothing keeps a lock from being granted. */
static void mark_whole(struct campaign *c) {
  c->whole_since = lb_clock_ns();
  c->granted_before = atomic_load(&c->s->memory->grants);
}

/* The window does not end before somebody was granted after the last fault, or could have been: so a
 * lock that stands still shows that it does, and one that needs its time has it. */
static void await_grant(struct campaign *c) {
  lb_ns end = c->whole_since + (lb_ns)(lb_scenario_progress_ms(c->s->plan->scenario) + LOOK_MS) * LB_NS_PER_MS;
  while (atomic_load(&c->s->memory->grants) == c->granted_before && lb_clock_ns() < end && !over(c))
    work_until(c, lb_clock_ns() - c->origin + LOOK_MS * LB_NS_PER_MS);
}

static bool is_empty(const struct lb_cast *cast) { return cast->server_count + cast->client_count == 0; }

/* True if it was proved. What does not fire (nobody held, the server was not yet back) is noted and
 * left out: no fault, no claim. */
static bool play_fault(struct campaign *c, const struct lb_planned *f, size_t *tried) {
  struct lb_cast a = {0}, b = {0};
  char err[400];
  c->s->primary = -1; /* whoever decides now */
  int r = lb_cast_find(c->s, &f->step.a, &a, err, sizeof err);
  if (r == 0 && f->step.b.kind != LB_ROLE_NONE) r = lb_cast_find(c->s, &f->step.b, &b, err, sizeof err);
  if (r == 0 && (is_empty(&a) || (f->step.b.kind != LB_ROLE_NONE && is_empty(&b))))
    r = lb_refuse(err, sizeof err, "this system has no such host");
  if (r < 0) {
    lb_stage_not_done(c->s, &f->step, err);
    work_until(c, f->end);
    return false;
  }
  ++*tried;
  bool proved = lb_fault_do(c->s, &f->step, &a, &b, err, sizeof err) == 0;
  if (!proved) lb_stage_not_proved(c->s, &f->step, err);
  /* What took long to begin (a cut of many links) still lasts for half of its length. */
  lb_ns now = lb_clock_ns() - c->origin, least = now + (f->end - f->begin) / 2;
  work_until(c, f->end > least ? f->end : least);
  if (lb_fault_undo(c->s, &f->step, &a, err, sizeof err) < 0)
    lb_stage_doubt(c->s, LB_UNDECIDED, "after %s: %s", f->step.text, err);
  return proved;
}

static void count_proved(struct lb_outcome *out, size_t kind) {
  out->faults++;
  if (kind < LB_FAULT_KINDS_MAX) out->faults_of[kind]++;
}

/* The clients work from before the first fault until the end, so that whatever a fault does can
 * show. */
static int play(struct campaign *c, struct lb_outcome *out) {
  size_t tried = 0;
  int r = lb_workload_begin(c->s);
  if (r < 0) return r;
  c->origin = lb_clock_ns();
  mark_whole(c);
  for (size_t i = 0; i < c->schedule.count && !over(c) && c->s->verdict == LB_VERDICT_NONE; i++) {
    work_until(c, c->schedule.fault[i].begin);
    if (play_fault(c, &c->schedule.fault[i], &tried)) count_proved(out, c->schedule.fault[i].kind);
    mark_whole(c);
  }
  work_until(c, (lb_ns)(c->s->plan->scenario->duration_s * 1e9));
  if (c->s->verdict == LB_VERDICT_NONE) await_grant(c);
  r = lb_workload_end(c->s);
  bool any = c->s->cluster.data_count > 0 || tried > 0; /* a lock in memory has few hosts that a fault could hit */
  if (c->s->plan->scenario->control) return r;
  if (r == 0 && any && (tried == 0 || out->faults < (tried + 1) / 2))
    r = lb_stage_doubt(c->s, LB_UNDECIDED, "%llu of %zu faults were proved", (unsigned long long)out->faults, tried);
  return r;
}

int lb_campaign_play(struct lb_stage *s, struct lb_outcome *out) {
  struct campaign c = {.s = s};
  int r = lb_schedule_draw(s->plan, s->client_count, &c.schedule);
  if (r == 0) r = lb_schedule_write(&c.schedule, s->run_dir, s->plan->name);
  if (r < 0) r = lb_stage_doubt(s, LB_UNDECIDED, "no schedule: %s", strerror(-r));
  else r = play(&c, out);
  lb_schedule_clear(&c.schedule);
  return r;
}
