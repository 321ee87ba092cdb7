/* SPDX-License-Identifier: MIT
 *
 * What follows from the order of events alone: hand-offs, fences, and how long a fault kept all clients out. Here equal
 * times are no doubt, for the lock service and the resource served one request after the other.
 *
 * Token regressions: the service draws the number of a grant somewhere between the question and the answer, and answers
 * may overtake each other on their way. So a number is too small only beside those that had been granted before it was
 * asked for. But no number ever belongs to two clients, in any order of requests. It may be told again to a client that
 * is granted again what it holds.
 */

#include "check_sweep.h"
#include "check_order.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/need.h"

struct fence { /* the largest one so far; or none */
  bool any;
  uint64_t number;
};

struct fences {
  bool granted;                /* whether it was */
  uint32_t last_client;        /* of the latest grant */
  bool last_shared;            /* the same */
  bool unused;                 /* it was a hand-off, and its client has not written since */
  struct fence any, exclusive; /* the largest of all grants; of those that are not shared */
  struct fence seen;           /* by the resource */
};

struct ask { /* the latest one of a client for a key, and its hold */
  bool any;  /* it has asked since its latest grant ... */
  size_t at; /* ... by this event */
  struct fence any_before, exclusive_before;
  uint64_t depth;    /* grants less releases, 0 = it holds nothing */
  struct fence held; /* the latest of this hold */
};

struct order {
  const uint64_t *permits;
  struct fences *keys;
  struct lb_pairs numbers;
  struct ask *asks; /* by number of the pair */
  const struct lb_history *history;
};

/* What is known of this client's asking for this key. */
static struct ask *find_ask(struct order *o, const struct lb_event *e) {
  uint32_t before = o->numbers.count, number = lb_pairs_number(&o->numbers, e->client, e->key);
  if (o->numbers.count > before) {
    o->asks = lb_need_one_more(o->asks, number, sizeof *o->asks);
    o->asks[number] = (struct ask){0};
  }
  return &o->asks[number];
}

static void note_ask(struct order *o, const struct lb_event *e) {
  struct ask *ask = find_ask(o, e);
  ask->any = true;
  ask->at = (size_t)(e - o->history->events);
  ask->any_before = o->keys[e->key].any;
  ask->exclusive_before = o->keys[e->key].exclusive;
}

static void note_end(struct order *o, const struct lb_event *e) {
  struct ask *ask = find_ask(o, e);
  if (e->kind != LB_EV_RELEASE) ask->depth = 0;
  else if (ask->depth > 0) ask->depth--;
}

/* Crashes are few, so all pairs are looked at. */
static void note_crash(struct order *o, const struct lb_event *e) {
  for (uint32_t i = 0; i < o->numbers.count; i++)
    if (o->numbers.pair[i] >> 32 == e->client) o->asks[i].depth = 0;
}

static void note_hold(struct ask *ask, const struct lb_event *e) {
  if (ask->depth++ == 0) ask->held.any = false;
  if (e->flags & LB_EVF_FENCE) ask->held = (struct fence){true, e->fence};
}

/* One more grant of a hold, with its number. */
static bool is_told_again(const struct ask *ask, const struct lb_event *e) {
  return ask->depth > 0 && ask->held.any && ask->held.number == e->fence;
}

/* Whether another client was granted this number first, since this one asked: what was granted before that has been
 * looked at. A number above all others is not looked for, so this is rare. */
static bool was_given(const struct order *o, const struct ask *ask, const struct lb_event *e) {
  for (const struct lb_event *g = &o->history->events[ask->at]; g < e; g++)
    if (g->kind == LB_EV_GRANTED && g->key == e->key && g->flags & LB_EVF_FENCE && g->fence == e->fence &&
        !(g->flags & e->flags & LB_EVF_SHARED))
      return g->client != e->client;
  return false;
}

/* A client of which no question is known asked when it was granted. Readers may have one number, or be
 * told theirs in any order: a shared grant is held against the exclusive ones alone. */
static bool is_regression(const struct order *o, const struct ask *ask, const struct lb_event *e) {
  const struct fences *k = &o->keys[e->key];
  bool shared = e->flags & LB_EVF_SHARED;
  struct fence largest = shared ? k->exclusive : k->any, asked = shared ? ask->exclusive_before : ask->any_before;
  struct fence before = ask->any ? asked : largest;
  if (before.any && e->fence <= before.number) return true;
  return largest.any && e->fence <= largest.number && was_given(o, ask, e);
}

static void keep_largest(struct fence *largest, const struct lb_event *e) {
  if (!largest->any || e->fence > largest->number) *largest = (struct fence){true, e->fence};
}

/* A number that is not the largest leaves that as it is: every later grant that is not above it is
 * held against it, too. */
static void count_grant(struct lb_check *c, struct order *o, const struct lb_event *e) {
  struct fences *k = &o->keys[e->key];
  c->grants++;
  if (k->last_client != e->client) k->unused = k->granted;
  if (k->granted && k->last_client != e->client) {
    c->handoffs++;
    c->excluded |= o->permits[e->key] == 1 && !(k->last_shared && e->flags & LB_EVF_SHARED);
  }
  k->granted = true;
  k->last_client = e->client;
  k->last_shared = e->flags & LB_EVF_SHARED;
  struct ask *ask = find_ask(o, e);
  if (e->flags & LB_EVF_FENCE && o->permits[e->key] == 1 && !is_told_again(ask, e))
    c->token_regressions += is_regression(o, ask, e);
  note_hold(ask, e);
  ask->any = false;
  if (!(e->flags & LB_EVF_FENCE)) return;
  keep_largest(&k->any, e);
  if (!(e->flags & LB_EVF_SHARED)) keep_largest(&k->exclusive, e);
}

/* Whether the resource refused it or not: a write with an older fence than one seen is what the
 * guard `fence` is for. A read shows its fence, too. */
static void count_fence(struct lb_check *c, struct fences *k, const struct lb_event *e) {
  if (!(e->flags & LB_EVF_FENCE)) return;
  bool stale = k->seen.any && e->fence < k->seen.number;
  if (stale && e->kind == LB_EV_WRITE) c->fenced_off++;
  if (!stale) k->seen = (struct fence){true, e->fence};
}

static void count_check(struct lb_check *c, const struct lb_event *e) {
  c->checks++;
  switch ((enum lb_check_result)e->check) {
    case LB_CHECK_PASSED: break;
    case LB_CHECK_LEASE_OVER: c->stopped_lease_over++; break;
    case LB_CHECK_IN_DOUBT:
    case LB_CHECK_SESSION_OVER: c->stopped_in_doubt++; break;
    case LB_CHECK_TOLD_NO: c->stopped_told_no++; break;
    case LB_CHECK_NO_MAJORITY: c->stopped_no_majority++; break;
    case LB_CHECK_NO_ANSWER:
    case LB_CHECK_ERROR: c->stopped_no_answer++; break;
  }
}

/* A hand-off is of use once: when the new holder's first write is accepted, while no other client has
 * been granted the key. */
static void count_use(struct lb_check *c, struct fences *k, const struct lb_event *e) {
  if (e->kind != LB_EV_WRITE || e->flags & LB_EVF_REFUSED || !k->unused || e->client != k->last_client) return;
  k->unused = false;
  c->useful_handoffs++;
}

static void count_left(struct lb_check *c, const struct lb_history *h, const struct lb_event *e) {
  if (c->servers_left < 0) c->servers_left = 0;
  c->servers_left += lb_event_fact(h, e)->present;
}

static void look_at(struct lb_check *c, struct order *o, const struct lb_history *h, const struct lb_event *e) {
  switch (e->kind) {
    case LB_EV_ACQUIRE: note_ask(o, e); break;
    case LB_EV_GRANTED: count_grant(c, o, e); break;
    case LB_EV_RELEASE:
    case LB_EV_LOST:
    case LB_EV_EXPIRED: note_end(o, e); break;
    case LB_EV_CRASH: note_crash(o, e); break;
    case LB_EV_READ:
    case LB_EV_WRITE:
      count_fence(c, &o->keys[e->key], e);
      c->refused += (e->flags & LB_EVF_REFUSED) != 0;
      count_use(c, &o->keys[e->key], e);
      break;
    case LB_EV_CHECK: count_check(c, e); break;
    case LB_EV_RENEWED: c->renewals++; break;
    case LB_EV_UNKNOWN: c->unknown_acquires++; break;
    case LB_EV_LEFT: count_left(c, h, e); break;
    case LB_EV_WORK_FAILED: c->work_failed++; break;
    default: break;
  }
}

/* A fault counts from the first one without a grant since: a second fault does not begin the time
 * anew. */
static void note_unavailable(const struct lb_history *history, struct lb_check *c) {
  const struct lb_event *fault = NULL; /* the earliest without a grant since */
  for (size_t i = 0; i < history->count; i++) {
    const struct lb_event *e = &history->events[i];
    if (e->kind == LB_EV_FAULT && !fault) fault = e;
    if (e->kind != LB_EV_GRANTED) continue;
    if (fault) lb_keep_longest(&c->unavailable_ns, fault->t, e->t);
    fault = NULL;
  }
  if (fault) lb_keep_longest(&c->unavailable_ns, fault->t, history->events[history->count - 1].t);
}

void lb_check_order(const struct lb_history *history, const uint64_t *permits, struct lb_check *c) {
  struct order o = {
      .permits = permits, .history = history, .keys = lb_need(calloc(history->keys.count + 1, sizeof *o.keys))};
  for (size_t i = 0; i < history->count; i++) look_at(c, &o, history, &history->events[i]);
  note_unavailable(history, c);
  free(o.keys);
  free(o.asks);
  lb_pairs_clear(&o.numbers);
}
