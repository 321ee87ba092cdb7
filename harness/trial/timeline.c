/* SPDX-License-Identifier: MIT
 *
 * A timeline: the steps of a scenario, one after the other. Every fault proves that it fired before the next step
 * begins (fault.c), or before the end if its proof takes time. A fault without proof makes the trial undecided, never
 * safe.
 *
 * If no client got the lock in the end, clients ask again until every lease and session without renewal has ended. This
 * tells a lock that comes free by itself from one that does not.
 */
#include "timeline.h"

#include <errno.h>

#include "base/clock.h"
#include "fault.h"
#include "fault_heal.h"
#include "fault_line.h"
#include "check/evidence.h"
#include "judge.h"

enum { NOTICE_MS = 2000, REST_MS = 500, PACE_MS = 100, ANSWER_MS = 1000 };

/* ---- faults ------------------------------------------------------------------------------------------------------ */

static int do_fault(struct lb_stage *s, const struct lb_step *step, const struct lb_cast *a, const struct lb_cast *b) {
  struct lb_error err;
  return lb_fault_do(s, step, a, b, &err) < 0 ? lb_stage_doubt(s, LB_UNDECIDED, "%s", err.text) : 0;
}

int lb_timeline_cast(struct lb_stage *s, const struct lb_step *step, struct lb_cast *ret_a, struct lb_cast *ret_b) {
  struct lb_error err;
  *ret_a = *ret_b = (struct lb_cast){0};
  int r = step->a.kind == LB_ROLE_NONE ? 0 : lb_cast_find(s, &step->a, ret_a, &err);
  if (r == 0 && step->b.kind != LB_ROLE_NONE) r = lb_cast_find(s, &step->b, ret_b, &err);
  return r < 0 ? lb_stage_doubt(s, LB_UNDECIDED, "%s", err.text) : 0;
}

/* The roles are looked up now, once. A role that no host plays makes the trial undecided: it is not a fault without
 * effect. */
static int play_fault(struct lb_stage *s, const struct lb_step *step) {
  struct lb_cast a, b;
  int r = lb_timeline_cast(s, step, &a, &b);
  return r < 0 ? r : do_fault(s, step, &a, &b);
}

/* It means the hosts of the earlier step with that name, even if other hosts play these roles now. */
static int play_by_name(struct lb_stage *s, const struct lb_step *step) {
  struct lb_cast nobody = {0};
  return do_fault(s, step, &nobody, &nobody);
}

/* A client that was stopped in the middle of a command finishes it now. */
static int resume(struct lb_stage *s, const struct lb_step *step) {
  struct lb_cast a, b;
  int r = lb_timeline_cast(s, step, &a, &b);
  if (r == 0) r = do_fault(s, step, &a, &b);
  for (size_t i = 0; r == 0 && i < a.client_count; i++) r = lb_timeline_finish(s, a.client[i]);
  return r;
}

/* A clock is proved by asking, and a client that owes an answer would give that one instead. If it waits for a server,
 * the jump of a wall clock can be seen all the same (fault_machine.c). */
static bool shows_its_clock(const struct lb_stage *s, const struct lb_step *step, const struct lb_client *client) {
  const struct lb_pending *p = &s->pending[client->number];
  return step->verb == LB_STEP_CLOCK_JUMP && !step->monotonic && p->step && lb_step_row(p->step)->beside &&
         lb_client_peek(client) == 0;
}

static int set_clock(struct lb_stage *s, const struct lb_step *step) {
  struct lb_cast a, b;
  int r = lb_timeline_cast(s, step, &a, &b);
  for (size_t i = 0; r == 0 && i < a.client_count; i++)
    if (!shows_its_clock(s, step, a.client[i])) r = lb_timeline_collect(s, a.client[i]);
  return r < 0 ? r : do_fault(s, step, &a, &b);
}

static const struct lb_play parts_of_faults[LB_VERB_COUNT] = {
    [LB_STEP_RELEASE_HELD] = {play_by_name}, [LB_STEP_HEAL_ONE] = {play_by_name}, [LB_STEP_RESUME] = {resume},
    [LB_STEP_CLOCK_JUMP] = {set_clock},      [LB_STEP_CLOCK_RATE] = {set_clock},
};

/* ---- the closing: all clients whose last acquire failed ask again at once, or else one that does not hold ----
 *
 * No step tells them to, so their answers stand in the history as events only. */

int64_t lb_timeline_closing_ms(const struct lb_scenario *scenario) { return scenario->ttl_ms * 3 / 2 + NOTICE_MS; }

struct closing {
  struct lb_stage *s;
  uint64_t granted_before; /* how many grants there were when it began */
  lb_ns begin;             /* of asking: by then the last tries have ended, and what they sent has arrived */
  lb_ns end;
  struct asker {
    bool asks;    /* takes part */
    bool owes;    /* an answer that no step awaits */
    uint32_t key; /* that it asks for */
    lb_ns next;
  } asker[LB_CLIENTS_MAX];
};

static bool runs(struct lb_stage *s, size_t i) {
  return lb_client_look(&s->client[i]) == LB_LIFE_RUNS && !atomic_load(&s->memory->state[i].hangs);
}

/* It can be told to ask: it does not hold (or its acquire beside a hold failed), it owes no answer, and no point is
 * armed at which it would stop. */
static bool is_free(struct lb_stage *s, size_t i) {
  return runs(s, i) && !s->pending[i].step && !s->pending[i].armed &&
         (!atomic_load(&s->memory->state[i].holds) || atomic_load(&s->memory->state[i].gave_up));
}

/* The client's latest acquire came to nothing. What it has released since, it was granted. */
static bool asked_in_vain(const struct lb_history *h, size_t client, uint32_t *ret_key) {
  bool vain = false;
  for (size_t i = 0; i < h->count; i++) {
    const struct lb_event *e = &h->events[i];
    if (e->client != client) continue;
    if (e->kind == LB_EV_ACQUIRE) vain = true, *ret_key = e->key;
    if (e->kind == LB_EV_GRANTED || e->kind == LB_EV_CRASH) vain = false;
  }
  return vain;
}

/* An answer that is there is taken; one to a step is recorded as that. A dead client asks no more. */
static void take_answer(struct closing *c, size_t i) {
  struct lb_stage *s = c->s;
  struct lb_reply reply;
  int there = lb_client_peek(&s->client[i]);
  if (there == 0) return;
  if (there < 0 || lb_client_await(&s->client[i], lb_in_ms(ANSWER_MS), &reply) != 0) {
    c->asker[i].asks = false;
    return;
  }
  if (s->pending[i].step) lb_stage_reply(s, s->pending[i].step, &s->client[i], &reply);
  s->pending[i].step = NULL;
  c->asker[i].owes = false;
  c->asker[i].next = lb_in_ms(PACE_MS);
}

/* True if a client can ask. One that has answered a step since is free again. */
static bool choose(struct closing *c, const struct lb_history *h) {
  struct lb_stage *s = c->s;
  size_t count = 0;
  for (size_t i = 0; i < s->client_count; i++)
    if (s->pending[i].step && runs(s, i)) take_answer(c, i);
  for (size_t i = 0; i < s->client_count; i++) {
    bool under_way = runs(s, i) && atomic_load(&s->memory->state[i].asks);
    bool vain = asked_in_vain(h, i, &c->asker[i].key);
    c->asker[i].asks = under_way || (is_free(s, i) && vain);
    count += c->asker[i].asks;
  }
  for (size_t i = s->client_count; count == 0 && i-- > 0;) count += c->asker[i].asks = is_free(s, i);
  return count > 0;
}

static void ask_again(struct closing *c, size_t i) {
  struct asker *asker = &c->asker[i];
  if (lb_clock_ns() < c->begin || lb_clock_ns() < asker->next || !is_free(c->s, i)) return;
  asker->owes = lb_client_send(&c->s->client[i],
                               (struct lb_command){.verb = LB_DO_ACQUIRE, .deadline = c->end, .key = asker->key}) == 0;
  asker->asks = asker->owes;
}

static bool is_owed(const struct closing *c) {
  for (size_t i = 0; i < c->s->client_count; i++)
    if (c->asker[i].asks && (c->asker[i].owes || c->s->pending[i].step)) return true;
  return false;
}

static bool was_granted(const struct closing *c) { return atomic_load(&c->s->memory->grants) > c->granted_before; }

static void go_on(struct closing *c) {
  lb_ns since = lb_clock_ns(), last = c->end + ANSWER_MS * LB_NS_PER_MS;
  while (!was_granted(c) && lb_clock_ns() < last) {
    bool late = lb_clock_ns() >= c->end;
    for (size_t i = 0; i < c->s->client_count; i++) {
      if (!c->asker[i].asks) continue;
      if (c->asker[i].owes || c->s->pending[i].step) take_answer(c, i);
      else if (!late) ask_again(c, i);
    }
    if (late && !is_owed(c)) return;
    lb_timeline_doze(since);
  }
}

/* After the last step, or one that timed out. Does nothing if the lock could be had, or the trial is undecided. The
 * first grant ends it. */
static void close_timeline(struct lb_stage *s) {
  static struct closing c; /* too large for a stack */
  struct lb_history so_far = {0};
  struct lb_in_vain last;
  uint64_t ttl_ns = (uint64_t)s->plan->scenario->ttl_ms * LB_NS_PER_MS;
  if (s->verdict != LB_STUCK && s->verdict != LB_VERDICT_NONE) return;
  c = (struct closing){.s = s, .granted_before = atomic_load(&s->memory->grants)};
  bool ok = lb_judge_look(s, &so_far) == 0,
       tested = c.granted_before > 0; /* as in judge.c: without a grant nothing came free */
  bool is_stuck = s->verdict == LB_STUCK || (ok && tested && lb_evidence_in_vain(&so_far, ttl_ns, &last));
  bool can = ok && is_stuck && choose(&c, &so_far);
  lb_history_clear(&so_far);
  if (!can) return;
  c.begin = lb_in_ms(REST_MS);
  c.end = lb_in_ms(lb_timeline_closing_ms(s->plan->scenario));
  lb_stage_phase(s, LB_PHASE_CLOSING);
  go_on(&c);
  lb_stage_phase(s, LB_PHASE_CLOSED);
}

/* ---- the play ---------------------------------------------------------------------------------------------------- */

/* NULL: a fault, done as it is. */
static const struct lb_play *part_of(enum lb_verb verb) {
  const struct lb_play *const tables[] = {lb_parts_of_clients, lb_parts_of_conditions, parts_of_faults};
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
    if (tables[i][verb].play) return &tables[i][verb];
  return NULL;
}

bool lb_timeline_knows(enum lb_verb verb) { return part_of(verb) || lb_fault_knows(verb); }

static int play_step(struct lb_stage *s, const struct lb_step *step) {
  const struct lb_play *part = part_of(step->verb);
  return part ? part->play(s, step) : play_fault(s, step);
}

/* What had to take its time before it could be proved. */
static int settle(struct lb_stage *s, bool wait) {
  struct lb_error err;
  return lb_fault_prove_kept(s, wait, &err) < 0 || lb_fault_settle(s, wait, &err) < 0
             ? lb_stage_doubt(s, LB_UNDECIDED, "%s", err.text)
             : 0;
}

int lb_timeline_step(struct lb_stage *s, const struct lb_step *step) {
  if (lb_timeline_look_at_points(s) < 0 || settle(s, false) < 0) return -ECANCELED;
  return play_step(s, step);
}

int lb_timeline_settle(struct lb_stage *s) { return settle(s, true); }

/* What was armed for a message has to have met it by the end. */
static int all_met(struct lb_stage *s) {
  struct lb_error err;
  return lb_fault_all_met(s, &err) < 0 ? lb_stage_doubt(s, LB_UNDECIDED, "%s", err.text) : 0;
}

/* A fault at a point that no client passed did not fire. A gate is no fault. */
static int all_fired(struct lb_stage *s) {
  if (lb_timeline_look_at_points(s) < 0) return -ECANCELED;
  for (size_t i = 0; i < s->client_count; i++)
    if (s->pending[i].armed && s->pending[i].armed->verb != LB_STEP_GATE_AT)
      return lb_stage_doubt(s, LB_UNDECIDED, "%s: it never passed that point", s->pending[i].armed->text);
  return 0;
}

static int play_all(struct lb_stage *s) {
  for (size_t i = 0; i < s->plan->scenario->step_count; i++) {
    int r = lb_timeline_step(s, &s->plan->scenario->steps[i]);
    if (r < 0) return r;
  }
  if (lb_timeline_settle(s) < 0 || all_met(s) < 0) return -ECANCELED;
  lb_fault_note_unused(s);
  return all_fired(s);
}

/* What was done to servers that are not ours has to have lasted: their owner may have set a time for it. */
static int has_lasted(struct lb_stage *s) {
  struct lb_error err;
  const struct lb_mandate *mandate = s->plan->topology->mandate;
  return mandate && mandate->holds(&err) < 0 ? lb_stage_doubt(s, LB_UNDECIDED, "%s", err.text) : 0;
}

int lb_timeline_play(struct lb_stage *s) {
  int r = play_all(s), ends = lb_timeline_end_repeats(s);
  close_timeline(s);
  if (has_lasted(s) < 0) return -ECANCELED;
  return r < 0 ? r : ends;
}
