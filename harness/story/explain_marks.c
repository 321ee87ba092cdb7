/* SPDX-License-Identifier: MIT
 *
 * The checker's rules (check.h), asked event by event and with the one it collides with. A walk over one key at a time,
 * with a look at every client, is fast enough: what is explained is a kept history, and those are short.
 */
#include "explain_marks.h"

#include <stdlib.h>

#include "base/need.h"

struct holder {        /* a client, with the key that is looked at */
  size_t hold;         /* event: begin of the present hold, LB_NO_EVENT = none */
  size_t alone;        /* event: the grant since which that is exclusive, LB_NO_EVENT = it is shared */
  size_t shared_until; /* event: the latest one by which it shared the key no more; LB_NO_EVENT = none */
  size_t granted;      /* event: latest grant ever */
  size_t overtaken_by; /* event: the grant of another since then under which the resource was used ... */
  size_t used;         /* ... by this event, the first of that kind */
  size_t succeeded;    /* event: the first grant of another since `granted`; LB_NO_EVENT = none */
  bool asked;
  size_t largest_when_asked[2]; /* events: the largest fences granted when the client asked last */
  size_t numbered;              /* event: the latest grant of the present hold that has a fence */
  bool ended;
  uint64_t end_t; /* of its last hold */
};

struct present { /* a hold of a client: grants less releases, and where it began */
  uint64_t depth;
  size_t begin;
};

struct walk {
  const struct lb_history *h;
  struct lb_mark *wrong;
  const size_t *end; /* by event with which a hold begins: what ends it, LB_NO_EVENT = the end of the file */
  uint32_t key;
  uint64_t permits;
  struct holder *holder;
  size_t largest_granted[2];    /* events: largest fences, of all grants, and of the exclusive ones */
  size_t largest_seen, written; /* events: largest fence, latest accepted write */
  size_t accessed[2];           /* events: the latest accepted access, and the latest one of another client than that */
};

static bool belongs(const struct walk *w, const struct lb_event *e) {
  return e->key == w->key || (e->kind == LB_EV_CRASH && e->key == LB_NO_NAME);
}

/* Known beforehand (find_ends()): whether two holds overlap depends on when the earlier one ends. */
static uint64_t end_t(const struct walk *w, size_t grant) {
  return w->end[grant] == LB_NO_EVENT ? UINT64_MAX : w->h->events[w->end[grant]].t;
}

/* Another client that holds for a time before and for a time after `t`, or after an instant that
 * both holds begin with. `alone`: that holds the key exclusively for those times. */
static size_t other_hold(const struct walk *w, uint32_t client, uint64_t t, bool begun_earlier, bool alone) {
  for (uint32_t c = 0; c < w->h->clients.count; c++) {
    size_t hold = w->holder[c].hold, from = alone ? w->holder[c].alone : hold;
    if (c == client || hold == LB_NO_EVENT || from == LB_NO_EVENT || end_t(w, hold) <= t) continue;
    if (!begun_earlier || w->h->events[from].t < t) return hold;
  }
  return LB_NO_EVENT;
}

/* Whether as many others as may hold the key at all hold it after `t`. */
static bool is_full(const struct walk *w, uint32_t client, uint64_t t) {
  uint64_t others = 0;
  for (uint32_t c = 0; c < w->h->clients.count; c++)
    others += c != client && w->holder[c].hold != LB_NO_EVENT && end_t(w, w->holder[c].hold) > t;
  return others >= w->permits;
}

static void keep_largest(const struct walk *w, size_t *largest, size_t i) {
  if (*largest == LB_NO_EVENT || w->h->events[i].fence > w->h->events[*largest].fence) *largest = i;
}

/* The first grant of this number before it, of any client; LB_NO_EVENT. A number above all others was never granted. */
static size_t first_with_fence(const struct walk *w, size_t i) {
  const struct lb_event *e = w->h->events;
  size_t largest = w->largest_granted[(e[i].flags & LB_EVF_SHARED) != 0];
  if (largest == LB_NO_EVENT || e[i].fence > e[largest].fence) return LB_NO_EVENT;
  for (size_t j = 0; j < i; j++)
    if (e[j].kind == LB_EV_GRANTED && e[j].key == w->key && e[j].flags & LB_EVF_FENCE && e[j].fence == e[i].fence &&
        !(e[j].flags & e[i].flags & LB_EVF_SHARED))
      return j;
  return LB_NO_EVENT;
}

/* The fence has to be larger than what was granted before it was asked for, and not another client's first; or it is
 * that of the hold which the client has. A reader's is held against exclusive grants alone. */
static void look_at_number(struct walk *w, size_t i) {
  const struct lb_event *e = &w->h->events[i];
  struct holder *p = &w->holder[e->client];
  bool shared = e->flags & LB_EVF_SHARED;
  size_t largest = w->largest_granted[shared], before = p->asked ? p->largest_when_asked[shared] : largest;
  if (!(e->flags & LB_EVF_FENCE) || w->permits > 1) return;
  if (p->numbered != LB_NO_EVENT && w->h->events[p->numbered].fence == e->fence) return;
  bool passed = before != LB_NO_EVENT && e->fence <= w->h->events[before].fence;
  size_t first = first_with_fence(w, i);
  bool taken = first != LB_NO_EVENT && w->h->events[first].client != e->client;
  if (passed || taken) {
    w->wrong[i].flags |= LB_WRONG_FENCE;
    w->wrong[i].second = passed ? before : first;
  }
  keep_largest(w, &w->largest_granted[0], i);
  if (!shared) keep_largest(w, &w->largest_granted[1], i);
  p->numbered = i;
}

/* A double hold is marked at the grant that makes it: the begin of a hold, or what makes it exclusive. */
static void look_at_grant(struct walk *w, size_t i) {
  const struct lb_event *e = &w->h->events[i];
  struct holder *p = &w->holder[e->client];
  struct lb_mark *wrong = &w->wrong[i];
  bool begins = p->hold == LB_NO_EVENT, shared = e->flags & LB_EVF_SHARED;
  if (begins) p->hold = i, p->alone = p->numbered = LB_NO_EVENT;
  bool turns = !begins && !shared && p->alone == LB_NO_EVENT;
  if (turns) p->shared_until = i;
  if (begins || turns) {
    if (!shared) p->alone = i;
    if (end_t(w, p->hold) > e->t && is_full(w, e->client, e->t))
      wrong->other = other_hold(w, e->client, e->t, false, shared);
    if (wrong->other != LB_NO_EVENT) wrong->flags |= LB_WRONG_DOUBLE;
  }
  p->granted = i;
  p->overtaken_by = p->succeeded = LB_NO_EVENT;
  for (uint32_t c = 0; c < w->h->clients.count; c++)
    if (c != e->client && w->holder[c].succeeded == LB_NO_EVENT) w->holder[c].succeeded = i;
  look_at_number(w, i);
  p->asked = false;
}

/* An access of the resource overtakes all clients that were granted the key before. */
static void overtake(struct walk *w, size_t i) {
  const struct lb_event *e = &w->h->events[i];
  size_t granted = w->holder[e->client].granted;
  for (uint32_t c = 0; c < w->h->clients.count && granted != LB_NO_EVENT; c++) {
    struct holder *q = &w->holder[c];
    bool later = q->granted == LB_NO_EVENT || w->h->events[granted].t > w->h->events[q->granted].t;
    if (c == e->client || q->overtaken_by != LB_NO_EVENT || !later) continue;
    q->overtaken_by = granted;
    q->used = i;
  }
}

/* Also of a refused access: the resource saw its fence. */
static void look_at_fence(struct walk *w, size_t i) {
  const struct lb_event *e = &w->h->events[i];
  if (!(e->flags & LB_EVF_FENCE)) return;
  if (w->largest_seen == LB_NO_EVENT || e->fence >= w->h->events[w->largest_seen].fence) {
    w->largest_seen = i;
  } else if (e->kind == LB_EV_WRITE) {
    w->wrong[i].flags |= LB_WRONG_FENCED_OFF;
    w->wrong[i].fence_seen = w->largest_seen;
  }
}

/* A write by a client that another one has overtaken is stale; one that does not raise the value
 * overwrites the write before. It may be both. */
static void look_at_write(struct walk *w, size_t i) {
  const struct lb_event *e = &w->h->events[i];
  struct lb_mark *wrong = &w->wrong[i];
  size_t by = w->holder[e->client].overtaken_by;
  if (by != LB_NO_EVENT && w->h->events[w->holder[e->client].used].t < e->t) {
    wrong->flags |= LB_WRONG_STALE;
    wrong->other = by;
  }
  if (w->written != LB_NO_EVENT && e->value <= w->h->events[w->written].value) {
    wrong->flags |= LB_WRONG_LOST;
    wrong->second = w->written;
  }
  w->written = i;
}

/* Whether the client reads as one of several that share the key; one that shares it no more since this very
 * moment still does. */
static bool reads_with_others(const struct walk *w, const struct lb_event *e) {
  const struct holder *p = &w->holder[e->client];
  bool shares = p->hold != LB_NO_EVENT && p->alone == LB_NO_EVENT;
  bool shared = p->shared_until != LB_NO_EVENT && w->h->events[p->shared_until].t == e->t;
  return e->kind == LB_EV_READ && (shares || shared);
}

/* Finds the client whose token stands at the resource, in case it refuses this access. */
static void look_at_turn(struct walk *w, size_t i) {
  const struct lb_event *e = &w->h->events[i];
  size_t latest = w->accessed[0];
  bool others = latest != LB_NO_EVENT && w->h->events[latest].client != e->client;
  if (e->flags & LB_EVF_REFUSED) w->wrong[i].before = others ? latest : w->accessed[1];
  if (e->flags & (LB_EVF_REFUSED | LB_EVF_EARLY)) return;
  if (others) w->accessed[1] = latest;
  w->accessed[0] = i;
}

/* Dirty as in check.c: another one holds across this moment, or the client itself does not; one
 * whose hold ends at this very moment still held it. */
static void look_at_access(struct walk *w, size_t i) {
  const struct lb_event *e = &w->h->events[i];
  const struct holder *p = &w->holder[e->client];
  look_at_fence(w, i);
  look_at_turn(w, i);
  if (e->flags & (LB_EVF_REFUSED | LB_EVF_EARLY) || w->permits > 1) return;
  size_t other = other_hold(w, e->client, e->t, true, reads_with_others(w, e));
  if (other != LB_NO_EVENT || (p->hold == LB_NO_EVENT && !(p->ended && p->end_t == e->t))) {
    w->wrong[i].flags |= LB_WRONG_DIRTY;
    w->wrong[i].other = other;
  }
  if (e->kind == LB_EV_WRITE) look_at_write(w, i);
  overtake(w, i);
}

static void look_at_end(struct walk *w, size_t i) {
  struct holder *p = &w->holder[w->h->events[i].client];
  if (w->h->events[i].kind == LB_EV_LOST && p->granted != LB_NO_EVENT) w->wrong[i].before = p->succeeded;
  if (p->hold == LB_NO_EVENT || w->end[p->hold] != i) return;
  if (p->alone == LB_NO_EVENT) p->shared_until = i;
  p->hold = LB_NO_EVENT;
  p->ended = true;
  p->end_t = w->h->events[i].t;
}

static void look_at_question(struct walk *w, const struct lb_event *e) {
  struct holder *p = &w->holder[e->client];
  p->asked = true;
  p->largest_when_asked[0] = w->largest_granted[0];
  p->largest_when_asked[1] = w->largest_granted[1];
}

static void look_at(struct walk *w, size_t i) {
  switch (w->h->events[i].kind) {
    case LB_EV_ACQUIRE: look_at_question(w, &w->h->events[i]); break;
    case LB_EV_GRANTED: look_at_grant(w, i); break;
    case LB_EV_READ:
    case LB_EV_WRITE: look_at_access(w, i); break;
    case LB_EV_RELEASE:
    case LB_EV_LOST:
    case LB_EV_EXPIRED:
    case LB_EV_CRASH: look_at_end(w, i); break;
    default: break;
  }
}

/* Before the walk, so that every hold knows how it ends: with as many releases as grants, a loss or a
 * death. */
static void find_ends(const struct walk *w, size_t *end, struct present *present) {
  for (uint32_t c = 0; c < w->h->clients.count; c++) present[c].depth = 0;
  for (size_t i = 0; i < w->h->count; i++) {
    const struct lb_event *e = &w->h->events[i];
    bool grants = e->kind == LB_EV_GRANTED, releases = e->kind == LB_EV_RELEASE;
    bool ends = e->kind == LB_EV_LOST || e->kind == LB_EV_EXPIRED || e->kind == LB_EV_CRASH;
    if (!belongs(w, e) || !(grants || releases || ends)) continue;
    struct present *p = &present[e->client];
    if (grants && p->depth++ == 0) p->begin = i, end[i] = LB_NO_EVENT;
    if (grants || p->depth == 0) continue;
    p->depth = releases ? p->depth - 1 : 0;
    if (p->depth == 0) end[p->begin] = i;
  }
}

/* One key at a time, so that what is remembered of each client is about that key alone. */
static void walk_key(struct walk *w) {
  for (uint32_t c = 0; c < w->h->clients.count; c++)
    w->holder[c] = (struct holder){.hold = LB_NO_EVENT,
                                   .alone = LB_NO_EVENT,
                                   .shared_until = LB_NO_EVENT,
                                   .granted = LB_NO_EVENT,
                                   .overtaken_by = LB_NO_EVENT,
                                   .succeeded = LB_NO_EVENT};
  w->permits = lb_history_permits(w->h, w->key);
  w->largest_granted[0] = w->largest_granted[1] = w->largest_seen = w->written = w->accessed[0] = w->accessed[1] =
      LB_NO_EVENT;
  for (size_t i = 0; i < w->h->count; i++)
    if (belongs(w, &w->h->events[i])) look_at(w, i);
}

struct lb_mark *lb_explain_marks(const struct lb_history *h) {
  struct lb_mark *ret = lb_need(malloc((h->count + 1) * sizeof *ret));
  size_t *end = lb_need(malloc((h->count + 1) * sizeof *end));
  struct present *present = lb_need(malloc((h->clients.count + 1) * sizeof *present));
  struct walk w = {
      .h = h, .wrong = ret, .end = end, .holder = lb_need(malloc((h->clients.count + 1) * sizeof *w.holder))};
  for (size_t i = 0; i < h->count; i++)
    ret[i] =
        (struct lb_mark){.other = LB_NO_EVENT, .second = LB_NO_EVENT, .fence_seen = LB_NO_EVENT, .before = LB_NO_EVENT};
  for (w.key = 0; w.key < h->keys.count; w.key++) {
    find_ends(&w, end, present);
    walk_key(&w);
  }
  free(end);
  free(present);
  free(w.holder);
  return ret;
}
