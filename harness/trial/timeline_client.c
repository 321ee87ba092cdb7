/* SPDX-License-Identifier: MIT
 *
 * What the clients of a timeline are told, and what they answer.
 *
 * A client has at most one command at a time. One that began to ask, or stands still at a point,
 * owes its answer: it is collected when the client goes on, or before it is told anything else.
 */
#include "timeline_client.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "crew.h"
#include "fault.h"

/* SECTION_MS: what a section takes at most once it was granted: its client lets go of what it has. */
enum { QUICK_MS = 1000, SECTION_MS = 2500, DOZE_LEAST_US = 500, DOZE_MOST_US = 5000, DOZE_SHARE = 20 };

lb_ns lb_timeline_in_ms(int64_t ms) { return lb_clock_ns() + (lb_ns)ms * LB_NS_PER_MS; }

/* Each look wakes a processor up. Who has waited for seconds can be late by milliseconds. */
void lb_timeline_doze(lb_ns since) {
  const lb_ns us = LB_NS_PER_MS / 1000;
  lb_ns now = lb_clock_ns(), nap = (now - since) / DOZE_SHARE;
  if (nap < DOZE_LEAST_US * us) nap = DOZE_LEAST_US * us;
  if (nap > DOZE_MOST_US * us) nap = DOZE_MOST_US * us;
  lb_clock_sleep_until(now + nap);
}

struct lb_client *lb_timeline_client(struct lb_stage *s, const struct lb_step *step) {
  return &s->client[step->a.number - 1];
}

static struct lb_pending *pending_of(struct lb_stage *s, const struct lb_client *client) {
  return &s->pending[client->number];
}

/* The answer the client owes, until its deadline; nothing where it owes none. A client that does
 * not answer ends the trial: what it would have done is not known. */
int lb_timeline_collect(struct lb_stage *s, struct lb_client *client) {
  struct lb_pending *p = pending_of(s, client);
  struct lb_reply reply;
  if (!p->step) return 0;
  int r = lb_client_await(client, p->until, &reply);
  if (r != 0) return lb_stage_silent(s, client, p->step->text, r);
  lb_stage_reply(s, p->step, client, &reply);
  p->step = NULL;
  return 0;
}

/* Who was only asking goes on asking. */
int lb_timeline_finish(struct lb_stage *s, struct lb_client *client) {
  struct lb_pending *p = pending_of(s, client);
  if (!p->step || lb_step_row(p->step)->beside) return 0;
  p->until = lb_timeline_in_ms(QUICK_MS + LB_GRACE_MS);
  return lb_timeline_collect(s, client);
}

/* What a client does at an armed point, and how it is found there. */
struct at_point {
  enum lb_at_point told;
  enum lb_life life;
  bool hangs;
};

static struct at_point at_point(enum lb_verb verb) {
  switch (verb) {
    case LB_STEP_CRASH_AT: return (struct at_point){LB_AT_POINT_DIE, LB_LIFE_DIED, false};
    case LB_STEP_GATE_AT: return (struct at_point){LB_AT_POINT_GATE, LB_LIFE_STOPPED, false};
    case LB_STEP_HANG_AT: return (struct at_point){LB_AT_POINT_HANG, LB_LIFE_RUNS, true};
    default: return (struct at_point){LB_AT_POINT_STOP, LB_LIFE_STOPPED, false};
  }
}

/* Stands or hangs at its armed point, or died there; and not because somebody else stopped or killed it. */
static bool is_at_point(const struct lb_stage *s, struct lb_client *client, const struct lb_pending *p) {
  const struct lb_client_state *state = lb_stage_state(s, client);
  struct at_point wanted = at_point(p->armed->verb);
  return atomic_load(&state->at_point) && atomic_load(&state->hangs) == wanted.hangs && lb_client_look(client) == wanted.life;
}

/* A client with an armed point: true once it is there, false once it has answered or the time is
 * over. */
static bool reaches_point(const struct lb_stage *s, struct lb_client *client, const struct lb_pending *p) {
  for (lb_ns since = lb_clock_ns(); lb_clock_ns() < p->until; lb_timeline_doze(since)) {
    if (is_at_point(s, client, p)) return true;
    if (lb_client_peek(client) > 0) return false;
  }
  return false;
}

/* 1: the client stands or hangs at its point or died there, and that is recorded as a proved fault; 0: it
 * has not come by; -ECANCELED after lb_stage_doubt(). A stopped client goes on owing its answer, a
 * dead one owes nothing. */
static int stand_at_point(struct lb_stage *s, struct lb_client *client) {
  struct lb_pending *p = pending_of(s, client);
  if (!reaches_point(s, client, p)) return 0; /* it may pass the point in a later command */
  const struct lb_step *armed = p->armed;
  p->armed = NULL;
  if (armed->verb == LB_STEP_GATE_AT) return p->gate_since = lb_clock_ns(), lb_stage_met(s, armed), 1;
  lb_stage_fault(s, armed);
  if (armed->verb == LB_STEP_CRASH_AT) {
    p->step = NULL;
    if (!lb_fault_bury(s, client)) return lb_stage_died(s, client);
  }
  if (armed->verb != LB_STEP_CRASH_AT) lb_stage_holds(s, armed, client);
  lb_stage_proved(s, armed);
  return 1;
}

/* Gives a command and, unless it runs in the background or stops at a point, awaits its answer. */
int lb_timeline_tell(struct lb_stage *s, const struct lb_step *step, enum lb_client_verb verb) {
  struct lb_client *client = lb_timeline_client(s, step);
  struct lb_pending *p = pending_of(s, client);
  if (lb_client_look(client) == LB_LIFE_KILLED) return lb_stage_doubt(s, LB_UNDECIDED, "%s: the client is dead", step->text);
  if (lb_timeline_collect(s, client) < 0) return -ECANCELED;
  struct lb_command command = {.verb = verb, .deadline = lb_timeline_in_ms(step->within_ms > 0 ? step->within_ms : QUICK_MS), .key = (uint32_t)step->lock, .shared = step->shared};
  if (lb_step_row(step)->asks) { /* what is awaited of this acquire must not be found of an earlier one */
    atomic_store(&lb_stage_state(s, client)->granted, false);
    atomic_store(&lb_stage_state(s, client)->gave_up, false);
  }
  int r = lb_client_send(client, command);
  if (r < 0) return lb_stage_silent(s, client, step->text, r);
  *p = (struct lb_pending){.step = step, .until = command.deadline + LB_GRACE_MS * LB_NS_PER_MS, .armed = p->armed, .gate = p->gate};
  if (verb == LB_DO_SECTION) p->until += SECTION_MS * LB_NS_PER_MS;
  if (lb_step_row(step)->beside) return 0;
  r = p->armed ? stand_at_point(s, client) : 0;
  if (r != 0) return r < 0 ? r : 0;
  return lb_timeline_collect(s, client);
}

/* The point stays armed over commands until the client passes it; the client has to be free to be
 * told of it. */
int lb_timeline_arm(struct lb_stage *s, const struct lb_step *step) {
  struct lb_client *client = lb_timeline_client(s, step);
  struct lb_command command = {
      .verb = LB_DO_ARM, .deadline = lb_timeline_in_ms(QUICK_MS), .argument = at_point(step->verb).told};
  struct lb_reply reply;
  memcpy(command.text, step->point, sizeof command.text);
  if (lb_timeline_collect(s, client) < 0) return -ECANCELED;
  int r = lb_client_call(client, command, LB_GRACE_MS, &reply);
  if (r != 0 || reply.result != LB_OK) return lb_stage_doubt(s, LB_UNDECIDED, "%s: the client did not take it", step->text);
  pending_of(s, client)->armed = step;
  return 0;
}

/* Without a session a client can do nothing more, so a failure ends the trial. */
int lb_timeline_reopen(struct lb_stage *s, const struct lb_step *step) {
  struct lb_client *client = lb_timeline_client(s, step);
  struct lb_command command = {.verb = LB_DO_REOPEN, .deadline = lb_timeline_in_ms(step->within_ms)};
  struct lb_reply reply;
  if (lb_timeline_collect(s, client) < 0) return -ECANCELED;
  int r = lb_client_call(client, command, LB_GRACE_MS, &reply);
  if (r != 0) return lb_stage_silent(s, client, step->text, r);
  if (reply.result != LB_OK) return lb_stage_doubt(s, LB_UNDECIDED, "%s: %s", step->text, reply.err);
  lb_stage_note(s, "%s begins anew, with another session", client->name);
  return 0;
}

/* What it owed and was armed for died with it. */
int lb_timeline_start(struct lb_stage *s, const struct lb_step *step) {
  struct lb_client *client = lb_timeline_client(s, step);
  char err[400];
  if (lb_client_look(client) != LB_LIFE_KILLED) return lb_stage_doubt(s, LB_UNDECIDED, "%s: the client was not killed", step->text);
  *pending_of(s, client) = (struct lb_pending){0};
  if (lb_crew_revive(s, client, lb_timeline_in_ms(step->within_ms), err, sizeof err) < 0)
    return lb_stage_doubt(s, LB_UNDECIDED, "%s: %s", step->text, err);
  lb_stage_note(s, "%s is started again", client->name);
  return 0;
}

/* Points that were passed in a command that had only begun. */
int lb_timeline_look_at_points(struct lb_stage *s) {
  for (size_t i = 0; i < s->client_count; i++) {
    const struct lb_pending *p = &s->pending[i];
    if (p->step && p->armed && is_at_point(s, &s->client[i], p) && stand_at_point(s, &s->client[i]) < 0)
      return -ECANCELED;
  }
  return 0;
}

/* A point nobody passed is a fault that did not fire. A gate is none. */
int lb_timeline_all_fired(struct lb_stage *s) {
  if (lb_timeline_look_at_points(s) < 0) return -ECANCELED;
  for (size_t i = 0; i < s->client_count; i++)
    if (s->pending[i].armed && s->pending[i].armed->verb != LB_STEP_GATE_AT)
      return lb_stage_doubt(s, LB_UNDECIDED, "%s: it never passed that point", s->pending[i].armed->text);
  return 0;
}
