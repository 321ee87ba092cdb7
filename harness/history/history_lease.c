/* SPDX-License-Identifier: MIT
 *
 * The ends of leases, made into events: so nothing that judges a history or tells it has to know of this. One pass over
 * the sorted events. All grants of an instant are noted before its renewals are looked at, as the order of equal times
 * means nothing.
 */
#include "history_lease.h"

#include <stdlib.h>

#include "base/need.h"

enum { NS_PER_MS = 1000000 };

struct held { /* by a client, of a key */
  bool asks, shared;
  bool crossed;   /* renewals after its promise met another's grant */
  uint64_t asked; /* when its latest acquire or renewal began, if that has no answer yet */
  uint64_t depth; /* grants less releases; 0 = it holds nothing */
  /* The end of its lease, by all that is known so far. Without a hold: of the last one, which its release cuts off; 0 = it was
   * lost before. */
  uint64_t end;
  size_t promise; /* event: the latest grant or renewal of the hold */
  uint64_t since; /* its latest grant */
};

struct given { /* of the two clients that were granted a key last, the later one first */
  uint32_t client[2];
  uint64_t t[2];
};

struct leases {
  struct lb_history *history;
  uint64_t length; /* ns; 0 = not said */
  struct lb_pairs numbers;
  struct held *held;
  size_t capacity;
  struct given *given, *given_alone; /* by key; to those that do not share */
  bool *several;                     /* by key: it has more than one permit */
};

void lb_history_lease_add(struct lb_history *history, int64_t ms) {
  struct lb_fact fact = lb_no_fact;
  struct lb_event event = {.kind = LB_EV_LEASES, .client = LB_NO_NAME, .key = LB_NO_NAME};
  fact.ms = ms;
  event.fact = lb_history_facts_add(history, &fact);
  event.t = history->count ? history->events[0].t : 0;
  lb_history_add(history, &event);
  lb_history_sort(history);
}

static uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }
static uint64_t plus(uint64_t t, uint64_t ns) { return t > INT64_MAX - ns ? INT64_MAX : t + ns; }

/* ---- who was granted what --------------------------------------------------------------------------------------- */

static void note(struct given *g, const struct lb_event *e) {
  if (g->client[0] != e->client) g->client[1] = g->client[0], g->t[1] = g->t[0];
  g->client[0] = e->client;
  g->t[0] = e->t;
}

static bool other_since(const struct given *g, uint32_t client, uint64_t t) {
  int i = g->client[0] == client;
  return g->client[i] != LB_NO_NAME && g->t[i] >= t;
}

static struct held *held_by(struct leases *s, uint32_t client, uint32_t key) {
  uint32_t number = lb_pairs_number(&s->numbers, client, key);
  if (number >= s->capacity) {
    size_t capacity = s->capacity ? s->capacity * 2 : 64;
    s->held = lb_need(realloc(s->held, capacity * sizeof *s->held));
    for (; s->capacity < capacity; s->capacity++) s->held[s->capacity] = (struct held){0};
  }
  return &s->held[number];
}

/* ---- leases ------------------------------------------------------------------------------------------------------ */

/* The hold is over if its lease ended before `t`. Of events of one time it comes behind the promise. */
static void expire(struct leases *s, struct held *p, uint64_t t) {
  const struct lb_event *promise = &s->history->events[p->promise];
  if (p->depth == 0 || p->end >= t) return;
  struct lb_event e = {.t = later(p->end, p->since),
                       .s = promise->s,
                       .kind = LB_EV_EXPIRED,
                       .client = promise->client,
                       .key = promise->key,
                       .fact = LB_NO_NAME};
  p->depth = 0;
  lb_history_add(s->history, &e);
}

/* The end of the lease that an event promises, which is written into it. */
static uint64_t promised(struct leases *s, struct lb_event *e, uint64_t asked) {
  if (!(e->flags & LB_EVF_UNTIL) && s->length == 0) return UINT64_MAX;
  if (!(e->flags & LB_EVF_UNTIL)) e->until = plus(asked, s->length);
  e->flags |= LB_EVF_UNTIL;
  return e->until;
}

static uint64_t take_asked(struct held *p, const struct lb_event *e) {
  uint64_t asked = p->asks ? p->asked : e->t;
  p->asks = false;
  return asked;
}

/* The earliest moment at which an acquire that waited was granted by a lock that excludes: when the client before it had
 * no lease any more. */
static uint64_t not_before(struct leases *s, const struct lb_event *e, uint64_t asked) {
  const struct given *g = e->flags & LB_EVF_SHARED ? &s->given_alone[e->key] : &s->given[e->key];
  uint32_t other = g->client[g->client[0] == e->client];
  uint64_t end = other == LB_NO_NAME || s->several[e->key] ? 0 : held_by(s, other, e->key)->end;
  return later(asked, end > e->t ? e->t : end);
}

static void grant(struct leases *s, size_t i) {
  struct lb_event *e = &s->history->events[i];
  struct held *p = held_by(s, e->client, e->key);
  bool shared = e->flags & LB_EVF_SHARED;
  expire(s, p, e->t);
  e = &s->history->events[i];
  p->shared = shared && (p->depth == 0 || p->shared);
  p->depth++;
  uint64_t since = not_before(s, e, take_asked(p, e));
  p = held_by(s, e->client, e->key);
  p->end = promised(s, e, since);
  p->since = e->t;
  p->promise = i;
}

/* The lease ran until `t`, whatever its promise and the crossed renewals since then said. */
static void show(struct leases *s, const struct held *p, size_t before, uint64_t t) {
  struct lb_event *events = s->history->events, *promise = &events[p->promise];
  for (size_t i = p->promise; i < (p->crossed ? before : p->promise + 1); i++)
    if (i == p->promise ||
        (events[i].kind == LB_EV_RENEWED && events[i].client == promise->client && events[i].key == promise->key))
      events[i].until = later(events[i].until, t);
}

static void renew(struct leases *s, size_t i) {
  struct lb_event *e = &s->history->events[i];
  struct held *p = held_by(s, e->client, e->key);
  uint64_t began = take_asked(p, e), end = promised(s, e, began);
  if (p->depth == 0) return;
  const struct given *g = p->shared ? &s->given_alone[e->key] : &s->given[e->key];
  bool crossed = !s->several[e->key] && other_since(g, e->client, began);
  p->end = later(crossed ? p->end : end, began);
  show(s, p, i, crossed ? began : p->end < e->t ? p->end : e->t);
  if (crossed) e->until = p->end, e->flags |= LB_EVF_UNTIL;
  else p->promise = i;
  p->crossed = crossed;
}

static void release(struct leases *s, const struct lb_event *e, bool all) {
  struct held *p = held_by(s, e->client, e->key);
  expire(s, p, e->t);
  if (p->depth == 0) return;
  p->depth = all ? 0 : p->depth - 1;
  if (p->depth == 0) p->end = all ? 0 : e->t;
}

static void crash(struct leases *s, const struct lb_event *e) {
  uint64_t t = e->t;
  uint32_t client = e->client;
  for (uint32_t i = 0; i < s->numbers.count; i++) {
    if (s->numbers.pair[i] >> 32 != client) continue;
    expire(s, &s->held[i], t);
    s->held[i].depth = 0;
  }
}

static void apply(struct leases *s, size_t i) {
  struct lb_event e = s->history->events[i]; /* the array may move */
  switch (e.kind) {
    case LB_EV_ACQUIRE:
    case LB_EV_RENEW: {
      struct held *p = held_by(s, e.client, e.key);
      p->asks = true;
      p->asked = e.t;
      break;
    }
    case LB_EV_BUSY:
    case LB_EV_TIMEOUT:
    case LB_EV_UNKNOWN:
    case LB_EV_NOT_RENEWED: held_by(s, e.client, e.key)->asks = false; break;
    case LB_EV_GRANTED: grant(s, i); break;
    case LB_EV_RENEWED: renew(s, i); break;
    case LB_EV_RELEASE: release(s, &e, false); break;
    case LB_EV_LOST:
    case LB_EV_EXPIRED: release(s, &e, true); break;
    case LB_EV_CRASH: crash(s, &e); break;
    default: break;
  }
}

static void prepare(struct leases *s) {
  const struct lb_history *h = s->history;
  size_t keys = h->keys.count + 1;
  bool permits = false;
  for (size_t i = 0; i < h->count; i++) permits |= h->events[i].kind == LB_EV_PERMITS;
  s->given = lb_need(malloc(keys * sizeof *s->given));
  s->given_alone = lb_need(malloc(keys * sizeof *s->given_alone));
  s->several = lb_need(calloc(keys, sizeof *s->several));
  for (size_t i = 0; i < keys; i++) {
    s->given[i] = s->given_alone[i] = (struct given){.client = {LB_NO_NAME, LB_NO_NAME}};
    s->several[i] = permits && lb_history_permits(h, (uint32_t)i) > 1;
  }
}

static void write_out(struct leases *s) {
  size_t count = s->history->count;
  uint64_t last = s->history->events[count - 1].t;
  for (size_t begin = 0, end; begin < count; begin = end) {
    const struct lb_event *e = s->history->events;
    for (end = begin; end < count && e[end].t == e[begin].t; end++) {
      if (e[end].kind != LB_EV_GRANTED) continue;
      note(&s->given[e[end].key], &e[end]);
      if (!(e[end].flags & LB_EVF_SHARED)) note(&s->given_alone[e[end].key], &e[end]);
    }
    for (size_t i = begin; i < end; i++) apply(s, i);
  }
  for (uint32_t i = 0; i < s->numbers.count; i++) expire(s, &s->held[i], last + 1);
  lb_history_sort(s->history);
}

void lb_history_lease_write_out(struct lb_history *history) {
  struct leases s = {.history = history};
  bool said = false;
  for (size_t i = 0; i < history->count; i++) {
    if (history->events[i].kind != LB_EV_LEASES) continue;
    uint64_t ms = (uint64_t)lb_event_fact(history, &history->events[i])->ms;
    s.length = ms > INT64_MAX / NS_PER_MS ? INT64_MAX : ms * NS_PER_MS;
    said = true;
  }
  if (!said) return;
  prepare(&s);
  write_out(&s);
  free(s.given);
  free(s.given_alone);
  free(s.several);
  free(s.held);
  lb_pairs_clear(&s.numbers);
}
