/* SPDX-License-Identifier: MIT
 *
 * What the clients of a timeline are told, and what they answer.
 *
 * A client has at most one command at a time. One that began to ask, or stands still at a point, owes its answer: it is
 * collected when the client goes on, or before it is told anything else.
 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "crew.h"
#include "fault.h"
#include "timeline.h"

/* SECTION_MS: what a section takes at most once it was granted: its client lets go of what it has. */
enum { QUICK_MS = 1000, SECTION_MS = 2500, DOZE_LEAST_US = 500, DOZE_MOST_US = 5000, DOZE_SHARE = 20, GATE_SHARE = 4 };

/* Each look wakes a processor up. A wait of seconds can be late by milliseconds. */
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

/* The answer the client owes, until its deadline; nothing where it owes none. A client that does not answer ends the
 * trial: what it would have done is not known. */
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

/* A client whose command runs beside the steps is not waited for: it goes on asking. */
int lb_timeline_finish(struct lb_stage *s, struct lb_client *client) {
  struct lb_pending *p = pending_of(s, client);
  if (!p->step || lb_step_row(p->step)->beside) return 0;
  p->until = lb_in_ms(QUICK_MS + LB_GRACE_MS);
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

/* Stands or hangs at its armed point, or died there; and not because a fault stopped or killed it. */
static bool is_at_point(const struct lb_stage *s, struct lb_client *client, const struct lb_pending *p) {
  const struct lb_client_state *state = lb_stage_state(s, client);
  struct at_point wanted = at_point(p->armed->verb);
  return atomic_load(&state->at_point) && atomic_load(&state->hangs) == wanted.hangs &&
         lb_client_look(client) == wanted.life;
}

/* A client with an armed point: true once it is there, false once it has answered or the time is over. */
static bool reaches_point(const struct lb_stage *s, struct lb_client *client, const struct lb_pending *p) {
  for (lb_ns since = lb_clock_ns(); lb_clock_ns() < p->until; lb_timeline_doze(since)) {
    if (is_at_point(s, client, p)) return true;
    if (lb_client_peek(client) > 0) return false;
  }
  return false;
}

/* 1: the client stands or hangs at its point or died there, and that is recorded as a proved fault; 0: it has not come
 * by; -ECANCELED after lb_stage_doubt(). A stopped client goes on owing its answer, a dead one owes nothing. */
static int stand_at_point(struct lb_stage *s, struct lb_client *client) {
  struct lb_pending *p = pending_of(s, client);
  if (!reaches_point(s, client, p)) return 0; /* it may pass the point in a later command */
  const struct lb_step *armed = p->armed;
  p->armed = NULL;
  if (armed->verb == LB_STEP_GATE_AT) return p->gate_since = lb_clock_ns(), lb_stage_step(s, LB_EV_MET, armed), 1;
  lb_stage_fault(s, armed);
  if (armed->verb == LB_STEP_CRASH_AT) {
    p->step = NULL;
    if (!lb_fault_bury(s, client)) return lb_stage_died(s, client);
  }
  if (armed->verb != LB_STEP_CRASH_AT) lb_stage_holds(s, armed, client);
  lb_stage_step(s, LB_EV_PROVED, armed);
  lb_fault_note_silence(s, lb_clock_ns());
  return 1;
}

/* Gives a command and, unless it runs in the background or stops at a point, awaits its answer. */
static int tell(struct lb_stage *s, const struct lb_step *step) {
  struct lb_client *client = lb_timeline_client(s, step);
  struct lb_pending *p = pending_of(s, client);
  const enum lb_client_verb verb = lb_parts_of_clients[step->verb].command;
  if (lb_client_look(client) == LB_LIFE_KILLED)
    return lb_stage_doubt(s, LB_UNDECIDED, "%s: the client is dead", step->text);
  if (lb_timeline_collect(s, client) < 0) return -ECANCELED;
  struct lb_command command = {.verb = verb,
                               .deadline = lb_in_ms(step->within_ms > 0 ? step->within_ms : QUICK_MS),
                               .key = (uint32_t)step->lock,
                               .shared = step->shared,
                               .ttl_ms = step->ttl_ms,
                               .wait_ns = (lb_ns)step->within_ms * LB_NS_PER_MS,
                               .hold_ns = (lb_ns)step->hold_ms * LB_NS_PER_MS,
                               .rest_ns = (lb_ns)step->rest_ms * LB_NS_PER_MS};
  if (lb_step_row(step)->asks) { /* what is awaited of this acquire must not be found of an earlier one */
    atomic_store(&lb_stage_state(s, client)->granted, false);
    atomic_store(&lb_stage_state(s, client)->gave_up, false);
  }
  int r = lb_client_send(client, command);
  if (r < 0) return lb_stage_silent(s, client, step->text, r);
  *p = (struct lb_pending){
      .step = step, .until = command.deadline + LB_GRACE_MS * LB_NS_PER_MS, .armed = p->armed, .gate = p->gate};
  if (verb == LB_DO_SECTION) p->until += SECTION_MS * LB_NS_PER_MS;
  if (lb_step_row(step)->beside) return 0;
  r = p->armed ? stand_at_point(s, client) : 0;
  if (r != 0) return r < 0 ? r : 0;
  return lb_timeline_collect(s, client);
}

/* The point stays armed over commands until the client passes it; the client has to be free to be told of it. */
static int arm(struct lb_stage *s, const struct lb_step *step) {
  struct lb_client *client = lb_timeline_client(s, step);
  struct lb_command command = {
      .verb = LB_DO_ARM, .deadline = lb_in_ms(QUICK_MS), .argument = at_point(step->verb).told};
  struct lb_reply reply;
  memcpy(command.text, step->point, sizeof command.text);
  if (lb_timeline_collect(s, client) < 0) return -ECANCELED;
  int r = lb_client_call(client, command, LB_GRACE_MS, &reply);
  if (r != 0 || reply.result != LB_OK)
    return lb_stage_doubt(s, LB_UNDECIDED, "%s: the client did not take it", step->text);
  pending_of(s, client)->armed = step;
  return 0;
}

/* Without a session a client can do nothing more, so a failure ends the trial. */
static int reopen(struct lb_stage *s, const struct lb_step *step) {
  struct lb_client *client = lb_timeline_client(s, step);
  struct lb_command command = {.verb = LB_DO_REOPEN, .deadline = lb_in_ms(step->within_ms)};
  struct lb_cast at;
  struct lb_reply reply;
  struct lb_error err;
  if (lb_timeline_collect(s, client) < 0) return -ECANCELED;
  if (step->b.kind != LB_ROLE_NONE) {
    if (lb_cast_find(s, &step->b, &at, &err) < 0)
      return lb_stage_doubt(s, LB_UNDECIDED, "%s: %s", step->text, err.text);
    command.argument = (size_t)(at.server[0] - s->cluster.server) + 1;
  }
  int r = lb_client_call(client, command, LB_GRACE_MS, &reply);
  if (r != 0) return lb_stage_silent(s, client, step->text, r);
  if (reply.result != LB_OK) return lb_stage_doubt(s, LB_UNDECIDED, "%s: %s", step->text, reply.err);
  lb_stage_note(s, "%s has a new session", client->name);
  return 0;
}

/* What it owed and was armed for died with it. */
static int start(struct lb_stage *s, const struct lb_step *step) {
  struct lb_client *client = lb_timeline_client(s, step);
  struct lb_error err;
  if (lb_client_look(client) != LB_LIFE_KILLED)
    return lb_stage_doubt(s, LB_UNDECIDED, "%s: the client was not killed", step->text);
  *pending_of(s, client) = (struct lb_pending){0};
  if (lb_crew_revive(s, client, lb_in_ms(step->within_ms), &err) < 0)
    return lb_stage_doubt(s, LB_UNDECIDED, "%s: %s", step->text, err.text);
  lb_stage_note(s, "%s is started again", client->name);
  return 0;
}

/* ---- what a client is told, and a fault of it that its answer proves ---- */

static int call(struct lb_stage *s, const struct lb_step *step, struct lb_client *client, struct lb_command command,
                struct lb_reply *ret) {
  if (lb_client_look(client) == LB_LIFE_KILLED)
    return lb_stage_doubt(s, LB_UNDECIDED, "%s: %s is dead", step->text, client->name);
  if (lb_timeline_collect(s, client) < 0) return -ECANCELED;
  command.deadline = lb_in_ms(step->within_ms > 0 ? step->within_ms : QUICK_MS);
  int r = lb_client_call(client, command, LB_GRACE_MS, ret);
  return r == 0 ? 0 : lb_stage_silent(s, client, step->text, r);
}

static int disturb(struct lb_stage *s, const struct lb_step *step) {
  struct lb_client *client = lb_timeline_client(s, step);
  struct lb_reply reply;
  struct lb_command command = {.verb = lb_parts_of_clients[step->verb].command, .key = (uint32_t)step->lock};
  lb_stage_fault(s, step);
  if (call(s, step, client, command, &reply) < 0) return -ECANCELED;
  if (reply.result == LB_BUSY) return lb_stage_doubt(s, LB_UNDECIDED, "%s: nothing of it is renewed", step->text);
  if (reply.result != LB_OK && reply.result != LB_LOST)
    return lb_stage_doubt(s, LB_UNDECIDED, "%s: %s", step->text, reply.err[0] ? reply.err : "it was not answered");
  lb_stage_step(s, LB_EV_PROVED, step);
  if (step->verb == LB_STEP_RELEASE_ANYWAY)
    lb_stage_note(s, "%s has released once more what it had let go of, and was told that it %s", client->name,
                  reply.result == LB_OK ? "freed it" : "held nothing");
  return 0;
}

static bool somebody_waits(const struct lb_stage *s) {
  for (size_t i = 0; i < s->client_count; i++)
    if (atomic_load(&lb_stage_state(s, &s->client[i])->waits)) return true;
  return false;
}

/* Work that waits for those who wait for the lock, or that the server ended for that, is stuck. Work that failed
 * otherwise has put no question. */
static int work(struct lb_stage *s, const struct lb_step *step) {
  struct lb_client *client = lb_timeline_client(s, step);
  struct lb_reply reply;
  if (call(s, step, client, (struct lb_command){.verb = LB_DO_HOLDERS_WORK, .key = (uint32_t)step->lock}, &reply) < 0)
    return -ECANCELED;
  lb_stage_reply(s, step, client, &reply);
  if (reply.result == LB_OK || reply.result == LB_BUSY) return 0;
  bool waits = reply.result == LB_TIMEOUT || reply.result == -EDEADLK;
  return lb_stage_doubt(s, waits && somebody_waits(s) ? LB_STUCK : LB_UNDECIDED, "%s: %s", step->text,
                        reply.err[0] ? reply.err : "it was not over in time");
}

/* Its owner stops using it first. The release is in the history as one of the owner, at the time when it left the
 * other client. */
static int release_of(struct lb_stage *s, const struct lb_step *step) {
  struct lb_client *client = lb_timeline_client(s, step), *owner = &s->client[step->b.number - 1];
  struct lb_reply reply;
  if (call(s, step, owner, (struct lb_command){.verb = LB_DO_HAND_OVER, .key = (uint32_t)step->lock}, &reply) < 0)
    return -ECANCELED;
  if (reply.result == LB_BUSY) return lb_stage_doubt(s, LB_UNDECIDED, "%s: %s holds nothing", step->text, owner->name);
  if (call(s, step, client, (struct lb_command){.verb = LB_DO_RELEASE_OF, .argument = owner->number}, &reply) < 0)
    return -ECANCELED;
  lb_stage_note(s, "%s releases what %s was granted", client->name, owner->name);
  lb_stage_reply(s, step, client, &reply);
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

/* ---- a gate ----
 *
 * A client stands still at a point of its program while a few steps are done, so that they happen just then. It is the
 * harness that holds it up, not a fault, so it may not last: a client that stands still for a good part of its lease is
 * a paused one. */

static int gate(struct lb_stage *s, const struct lb_step *step) {
  struct lb_client *client = lb_timeline_client(s, step);
  atomic_store(&lb_stage_state(s, client)->gate_open, false);
  int r = arm(s, step);
  if (r == 0) s->pending[client->number].gate = step;
  return r;
}

/* A client that had come to the gate before it was opened stops all the same: then it has to be told to go on. True if
 * it stands there. */
static bool stands_behind(struct lb_stage *s, struct lb_client *client) {
  const struct lb_client_state *state = lb_stage_state(s, client);
  lb_ns since = lb_clock_ns(), deadline = lb_in_ms(QUICK_MS);
  while (atomic_load(&state->at_point) && lb_clock_ns() < deadline) {
    if (lb_client_look(client) == LB_LIFE_STOPPED) return true;
    lb_timeline_doze(since);
  }
  return false;
}

static int stood_for_long(struct lb_stage *s, const struct lb_pending *p) {
  int64_t stood_ms = (int64_t)((lb_clock_ns() - p->gate_since) / LB_NS_PER_MS);
  if (p->armed == p->gate || stood_ms * GATE_SHARE <= s->plan->scenario->ttl_ms) return 0;
  return lb_stage_doubt(s, LB_UNDECIDED,
                        "%s: it stood there for %lld ms, more than a quarter of the ttl: that is a pause",
                        p->gate->text, (long long)stood_ms);
}

static int pass(struct lb_stage *s, const struct lb_step *step) {
  struct lb_client *client = lb_timeline_client(s, step);
  struct lb_pending *p = &s->pending[client->number];
  if (!p->gate) return 0;
  atomic_store(&lb_stage_state(s, client)->gate_open, true);
  int r = stood_for_long(s, p);
  if (r == 0 && p->armed == p->gate) lb_stage_step(s, LB_EV_NOT_MET, p->gate);
  if (p->armed == p->gate) p->armed = NULL;
  p->gate = NULL;
  if (r < 0 || !stands_behind(s, client)) return r;
  if (lb_client_signal(client, LB_CLIENT_CONTINUE) < 0) return lb_stage_died(s, client);
  lb_stage_step(s, LB_EV_MET, step);
  struct lb_error err;
  if (lb_fault_prove_kept(s, false, &err) < 0) return lb_stage_doubt(s, LB_UNDECIDED, "%s", err.text);
  return !p->step || lb_step_row(p->step)->beside
             ? 0
             : lb_timeline_collect(s, client); /* until the deadline of its own command */
}

/* ---- who goes on to the end ---- */

/* Its last round ends in its time: it waits, holds and lets go. */
static int end_repeating(struct lb_stage *s, struct lb_client *client) {
  enum { ROUNDS_MIN = 2 };
  struct lb_pending *p = pending_of(s, client);
  const struct lb_step *step = p->step;
  bool runs = lb_client_look(client) == LB_LIFE_RUNS;
  uint32_t rounds = atomic_load(&lb_stage_state(s, client)->rounds);
  p->until = lb_in_ms(step->within_ms + step->hold_ms + SECTION_MS + LB_GRACE_MS);
  if (!runs) p->step = NULL;
  else if (lb_timeline_collect(s, client) < 0) return -ECANCELED;
  if (rounds >= ROUNDS_MIN) return 0;
  return lb_stage_doubt(s, LB_UNDECIDED, "%s: it was granted %u times, expected at least %d", step->text, rounds,
                        ROUNDS_MIN);
}

int lb_timeline_end_repeats(struct lb_stage *s) {
  int r = 0;
  atomic_store(&s->memory->phase, LB_PHASE_STOP);
  for (size_t i = 0; i < s->client_count; i++)
    if (s->pending[i].step && s->pending[i].step->verb == LB_STEP_MEANWHILE && end_repeating(s, &s->client[i]) < 0)
      r = -ECANCELED;
  return r;
}

/* ---- a write that is late ----
 *
 * It arrives by the hand of the controller, whatever its client does by then, and is recorded at that time as an access
 * of that client: the resource served it then. */

/* What stands in its resource now. */
static uint64_t value_at(const struct lb_stage *s, const struct lb_client_state *state) {
  return atomic_load(&s->memory->resource[state->letter.key].value);
}

/* Proved by what is on its way and by the resource, which does not have it. A client that held nothing, or that its
 * guard stopped, has sent nothing. */
static int write_late(struct lb_stage *s, const struct lb_step *step) {
  const struct lb_client *client = lb_timeline_client(s, step);
  const struct lb_client_state *state = lb_stage_state(s, client);
  bool before = atomic_load(&state->on_its_way);
  lb_stage_fault(s, step);
  if (tell(s, step) < 0) return -ECANCELED;
  if (before || !atomic_load(&state->on_its_way))
    return lb_stage_doubt(s, LB_UNDECIDED, "%s: no write of it has left", step->text);
  if (value_at(s, state) == state->letter.value)
    return lb_stage_doubt(s, LB_UNDECIDED, "%s: the resource has what it wrote already", step->text);
  lb_stage_step(s, LB_EV_PROVED, step);
  return 0;
}

/* Like an access that a client records itself (holder_access.c), right after it. */
static void note_arrival(struct lb_stage *s, const struct lb_client *client, const struct lb_letter *letter,
                         bool accepted) {
  struct lb_event event = {.kind = LB_EV_WRITE,
                           .client = client->number,
                           .key = letter->key,
                           .fact = LB_NO_NAME,
                           .value = letter->value,
                           .fence = letter->fence,
                           .flags = LB_EVF_VALUE};
  if (event.fence) event.flags |= LB_EVF_FENCE;
  if (!accepted) event.flags |= LB_EVF_REFUSED;
  lb_memory_record(s->memory, s->memory->controller, event);
}

/* The resource has an accepted value, and does not have a refused one. If it had that value before, no look could show
 * whether the write arrived. */
static int deliver(struct lb_doing *d) {
  struct lb_client *client = d->a->client[0];
  struct lb_client_state *state = lb_stage_state(d->s, client);
  if (!atomic_load(&state->on_its_way)) return lb_doing_fail(d, "%s: no write of it is on its way", d->step->text);
  uint64_t before = value_at(d->s, state);
  bool accepted = lb_letter_arrive(&state->letter, d->s->memory->resource);
  uint64_t after = value_at(d->s, state);
  note_arrival(d->s, client, &state->letter, accepted);
  atomic_store(&state->on_its_way, false);
  if (before == state->letter.value)
    return lb_doing_fail(d, "%s: the resource had the same value already, so nobody sees it arrive", d->step->text);
  if (after != (accepted ? state->letter.value : before))
    return lb_doing_fail(d, "%s: the resource does not show it", d->step->text);
  return 0;
}

const struct lb_fault lb_faults_of_writes[LB_VERB_COUNT] = {
    [LB_STEP_DELIVER] = {deliver},
};

const struct lb_play lb_parts_of_clients[LB_VERB_COUNT] = {
    [LB_STEP_ACQUIRE] = {tell, LB_DO_ACQUIRE},
    [LB_STEP_BEGIN_ACQUIRE] = {tell, LB_DO_ACQUIRE},
    [LB_STEP_BEGIN_SECTION] = {tell, LB_DO_SECTION},
    [LB_STEP_OPEN_SECTION] = {tell, LB_DO_SECTION},
    [LB_STEP_MEANWHILE] = {tell, LB_DO_REPEAT},
    [LB_STEP_RELEASE] = {tell, LB_DO_RELEASE},
    [LB_STEP_WORK] = {work},
    [LB_STEP_RELEASE_OF] = {release_of},
    [LB_STEP_RELEASE_ANYWAY] = {disturb, LB_DO_RELEASE_ANYWAY},
    [LB_STEP_END_RENEWALS] = {disturb, LB_DO_END_RENEWALS},
    [LB_STEP_SHUT_CLIENT] = {disturb, LB_DO_STOP},
    [LB_STEP_READ] = {tell, LB_DO_READ},
    [LB_STEP_READ_EARLY] = {tell, LB_DO_READ_EARLY},
    [LB_STEP_WRITE] = {tell, LB_DO_WRITE},
    [LB_STEP_WRITE_LATE] = {write_late, LB_DO_WRITE_LATE},
    [LB_STEP_REOPEN] = {reopen},
    [LB_STEP_START] = {start},
    [LB_STEP_STOP_AT] = {arm},
    [LB_STEP_CRASH_AT] = {arm},
    [LB_STEP_HANG_AT] = {arm},
    [LB_STEP_GATE_AT] = {gate},
    [LB_STEP_PASS] = {pass},
};
