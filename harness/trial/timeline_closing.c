/* SPDX-License-Identifier: MIT
 *
 * Who asks again at the end of a timeline, and for how long. No step tells them, so their answers stand in the history as events only.
 */
#include "timeline_closing.h"

#include <string.h>

#include "base/clock.h"
#include "history/evidence.h"
#include "judge.h"
#include "timeline_client.h"

enum { NOTICE_MS = 2000, PACE_MS = 100, ANSWER_MS = 1000 };

struct closing {
  struct lb_stage *s;
  uint64_t granted_before; /* how many grants there were when it began */
  lb_ns end;
  struct asker {
    bool asks; /* takes part */
    bool owes; /* an answer that no step awaits */
    uint32_t key; /* that it asks for */
    lb_ns next;
  } asker[LB_CLIENTS_MAX];
};

int64_t lb_timeline_closing_ms(const struct lb_scenario *scenario) { return scenario->ttl_ms * 3 / 2 + NOTICE_MS; }

/* ---- who asks ---------------------------------------------------------------------------------------------------- */

static bool runs(struct lb_stage *s, size_t i) { return lb_client_look(&s->client[i]) == LB_LIFE_RUNS && !atomic_load(&s->memory->state[i].hangs); }

/* It can be told to ask: it does not hold, unless it asked once more in vain, it owes no answer, and no point is armed at which it would stop. */
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

/* An answer that is there is taken; one to a step is recorded as that. Who has died asks no more. */
static void take_answer(struct closing *c, size_t i) {
  struct lb_stage *s = c->s;
  struct lb_reply reply;
  int there = lb_client_peek(&s->client[i]);
  if (there == 0) return;
  if (there < 0 || lb_client_await(&s->client[i], lb_timeline_in_ms(ANSWER_MS), &reply) != 0) {
    c->asker[i].asks = false;
    return;
  }
  if (s->pending[i].step) lb_stage_reply(s, s->pending[i].step, &s->client[i], &reply);
  s->pending[i].step = NULL;
  c->asker[i].owes = false;
  c->asker[i].next = lb_timeline_in_ms(PACE_MS);
}

/* True if somebody can ask. Who has answered to a step since is free again. */
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

/* ---- asking ------------------------------------------------------------------------------------------------------ */

static void ask(struct closing *c, size_t i) {
  struct asker *asker = &c->asker[i];
  if (lb_clock_ns() < asker->next || !is_free(c->s, i)) return;
  asker->owes = lb_client_send(&c->s->client[i], (struct lb_command){.verb = LB_DO_ACQUIRE, .deadline = c->end, .key = asker->key}) == 0;
  asker->asks = asker->owes;
}

static bool is_owed(const struct closing *c) {
  for (size_t i = 0; i < c->s->client_count; i++)
    if (c->asker[i].asks && (c->asker[i].owes || c->s->pending[i].step)) return true;
  return false;
}

static bool is_granted(const struct closing *c) { return atomic_load(&c->s->memory->grants) > c->granted_before; }

static void go_on(struct closing *c) {
  lb_ns since = lb_clock_ns(), last = c->end + ANSWER_MS * LB_NS_PER_MS;
  while (!is_granted(c) && lb_clock_ns() < last) {
    bool late = lb_clock_ns() >= c->end;
    for (size_t i = 0; i < c->s->client_count; i++) {
      if (!c->asker[i].asks) continue;
      if (c->asker[i].owes || c->s->pending[i].step) take_answer(c, i);
      else if (!late) ask(c, i);
    }
    if (late && !is_owed(c)) return;
    lb_timeline_doze(since);
  }
}

void lb_timeline_close(struct lb_stage *s) {
  static struct closing c; /* too large for a stack */
  struct lb_history so_far = {0};
  struct lb_in_vain last;
  uint64_t ttl_ns = (uint64_t)s->plan->scenario->ttl_ms * LB_NS_PER_MS;
  if (s->verdict != LB_STUCK && s->verdict != LB_VERDICT_NONE) return;
  c = (struct closing){.s = s, .granted_before = atomic_load(&s->memory->grants)};
  bool ok = lb_judge_look(s, &so_far) == 0, tested = c.granted_before > 0; /* as in judge.c: without a grant nothing came free */
  bool is_stuck = s->verdict == LB_STUCK || (ok && tested && lb_evidence_in_vain(&so_far, ttl_ns, &last));
  bool can = ok && is_stuck && choose(&c, &so_far);
  lb_history_clear(&so_far);
  if (!can) return;
  c.end = lb_timeline_in_ms(lb_timeline_closing_ms(s->plan->scenario));
  lb_stage_phase(s, LB_PHASE_CLOSING);
  go_on(&c);
  lb_stage_phase(s, LB_PHASE_CLOSED);
}
