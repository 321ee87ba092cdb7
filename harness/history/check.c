/* SPDX-License-Identifier: MIT
 *
 * Holds, overlaps and dirty accesses: a sweep over the events in order of time (what it remembers:
 * check_state.c, overlaps: check_episode.c, accesses: check_access.c, values and fences:
 * check_order.c). All events of one instant are taken together, first those that begin and end
 * holds, then the accesses, so that the order of equal times cannot make or hide a violation: who
 * held a key strictly before and strictly after an instant is known only when the whole instant is.
 *
 * Per key the present holders stand in a list in order of the begin of their holds; so whether
 * anyone else has held the key since before this instant is seen at its head. An event costs a
 * constant time, with two exceptions. A crash looks at the holds of the client since its last one:
 * constant on average. While several clients hold a key, each change looks at all of them, and so may a reader's read.
 */
#include <errno.h>
#include <stdlib.h>

#include "check_parts.h"
#include "check_sweep.h"
#include "evidence.h"

/* ---- holds ------------------------------------------------------------------------------------------------------- */

/* The key has to be settled at the end of this instant, once, however often its holders changed in
 * it. */
static void touch(struct sweep *s, uint32_t key) {
  if (s->keys[key].touched) return;
  s->keys[key].touched = true;
  s->touched[s->touched_count++] = key;
}

/* The client shares the key no more, be it that it has let go or that it has the key alone. */
static void end_sharing(struct pair *p, uint64_t t) {
  if (p->shared) p->shared_end_t = t;
  p->shared = false;
}

/* A hold begins, or becomes exclusive: from now on its client is the one that came last. */
static void enter(struct sweep *s, struct pair *p, size_t event, bool shared) {
  struct key *k = &s->keys[p->key];
  p->shared = shared;
  p->alone_t = s->history->events[event].t;
  p->entry = event;
  p->overtaken = false;
  k->exclusive += !shared;
  k->begin_event = event;
  touch(s, p->key);
}

/* The hold goes to the end of the key's list, which therefore stays in order of begin. The pair is
 * listed for a crash of its client once, and stays listed when the hold ends. */
static void begin_hold(struct sweep *s, struct pair *p, size_t event, bool shared) {
  struct key *k = &s->keys[p->key];
  uint32_t number = (uint32_t)(p - s->pairs);
  p->holds = true;
  p->depth = 1;
  p->other_granted = false;
  p->overlap = OVERLAP_NONE;
  p->begin_t = s->history->events[event].t;
  p->next = NONE;
  p->previous = k->last;
  if (k->last == NONE) k->first = number;
  else s->pairs[k->last].next = number;
  k->last = number;
  k->holders++;
  if (!p->listed) {
    p->listed = true;
    p->next_of_client = s->client_pairs[p->client];
    s->client_pairs[p->client] = number;
  }
  enter(s, p, event, shared);
}

/* Nothing happens to a client that does not hold: a release or a loss may be said twice. */
static void end_hold(struct sweep *s, struct pair *p, size_t event) {
  struct key *k = &s->keys[p->key];
  if (!p->holds) return;
  p->holds = false;
  p->end_t = s->history->events[event].t;
  if (p->previous == NONE) k->first = p->next;
  else s->pairs[p->previous].next = p->next;
  if (p->next == NONE) k->last = p->previous;
  else s->pairs[p->next].previous = p->previous;
  k->holders--;
  k->exclusive -= !p->shared;
  k->end_event = event;
  end_sharing(p, p->end_t);
  touch(s, p->key);
}

/* ---- events of the lock ------------------------------------------------------------------------------------------ */

/* A grant to another client ends the time for which the dead kept the key. A client that is granted
 * the key again after its own death ends nothing: its record may have been there all the time. */
static void end_waiting(struct sweep *s, struct key *k, uint32_t client, uint64_t t) {
  size_t kept = 0;
  for (size_t i = 0; i < k->orphan_count; i++) {
    if (k->orphans[i].client != client) lb_keep_longest(&s->check->orphan_ns, k->orphans[i].t, t);
    else if (kept == 0) k->orphans[kept++] = k->orphans[i]; /* its later deaths can only be shorter */
  }
  k->orphan_count = kept;
}

/* Of all clients only the one granted last can still be without another's grant: whoever came
 * before it has had it. */
static void note_overtaken(struct sweep *s, const struct key *k, const struct lb_event *e) {
  struct pair *last = k->last_granted == NONE ? NULL : &s->pairs[k->last_granted];
  if (last && last->client != e->client) last->overtaken_t = e->t;
}

/* Whoever holds may have lost the lock to this grant, if the two may not hold together. Of several
 * permits nobody knows whose it was. */
static void note_other_grant(struct sweep *s, const struct key *k, const struct lb_event *e) {
  bool shared = e->flags & LB_EVF_SHARED;
  if (k->permits > 1 || (shared && k->exclusive == 0)) return;
  for (uint32_t i = k->first; i != NONE; i = s->pairs[i].next) {
    struct pair *p = &s->pairs[i];
    if (p->client == e->client || p->other_granted || (shared && p->shared)) continue;
    p->other_granted = true;
    p->other_granted_t = e->t;
  }
}

/* What the service has promised for this hold, by the latest word. */
static void set_lease(struct sweep *s, struct pair *p, const struct lb_event *e) {
  p->endless = !(e->flags & LB_EVF_UNTIL);
  p->until = e->until;
  touch(s, p->key);
}

/* A second grant of what is held already begins no new hold, but one more release has to end it, and
 * it counts as the client's latest grant. An exclusive one makes a shared hold exclusive. */
static void deepen(struct sweep *s, struct pair *p, size_t event, bool shared) {
  p->depth++;
  if (shared || !p->shared) return;
  end_sharing(p, s->history->events[event].t);
  enter(s, p, event, false);
}

static int grant(struct sweep *s, const struct lb_event *e, size_t event) {
  struct key *k = &s->keys[e->key];
  struct pair *p = lb_check_pair(s, e->client, e->key);
  if (!p) return -ENOMEM;
  note_overtaken(s, k, e);
  note_other_grant(s, k, e);
  end_waiting(s, k, e->client, e->t);
  if (p->holds) deepen(s, p, event, e->flags & LB_EVF_SHARED);
  else begin_hold(s, p, event, e->flags & LB_EVF_SHARED);
  set_lease(s, p, e);
  p->granted = true;
  p->granted_t = e->t;
  k->last_granted = (uint32_t)(p - s->pairs);
  return 0;
}

/* Between the other's grant and this event the client believed in a lock that it had lost; without
 * another's grant it was blind for no time. */
static int lose(struct sweep *s, const struct lb_event *e, size_t event) {
  struct pair *p = lb_check_pair(s, e->client, e->key);
  if (!p) return -ENOMEM;
  end_hold(s, p, event);
  lb_keep_longest(&s->check->blind_ns, p->other_granted ? p->other_granted_t : e->t, e->t);
  p->other_granted = false;
  return 0;
}

static int release(struct sweep *s, const struct lb_event *e, size_t event) {
  struct pair *p = lb_check_pair(s, e->client, e->key);
  if (!p) return -ENOMEM;
  if (p->holds && --p->depth > 0) return 0;
  end_hold(s, p, event); /* other_granted stays: the answer may be that the lock was lost */
  return 0;
}

/* A renewal gives no hold: whoever has let go and then reads the answer to an older one holds
 * nothing. */
static int renew(struct sweep *s, const struct lb_event *e) {
  struct pair *p = lb_check_pair(s, e->client, e->key);
  if (!p) return -ENOMEM;
  if (p->holds) set_lease(s, p, e);
  return 0;
}

/* Ends every hold of the client, whatever the key, and leaves an orphan at each key that it held. */
static int crash(struct sweep *s, const struct lb_event *e, size_t event) {
  uint32_t number = s->client_pairs[e->client];
  for (; number != NONE; number = s->pairs[number].next_of_client) {
    struct pair *p = &s->pairs[number];
    p->listed = false;
    p->other_granted = false;
    if (!p->holds) continue;
    end_hold(s, p, event);
    struct key *k = &s->keys[p->key];
    struct orphan *more = lb_check_grown(k->orphans, k->orphan_count, &k->orphan_capacity, sizeof *more);
    if (!more) return -ENOMEM;
    k->orphans = more;
    k->orphans[k->orphan_count++] = (struct orphan){.client = e->client, .t = e->t};
  }
  s->client_pairs[e->client] = NONE;
  return 0;
}

/* First half of an instant: what begins and ends holds, and their leases. Any other kind of event
 * changes nobody's hold. */
static int apply(struct sweep *s, const struct lb_event *e, size_t event) {
  switch (e->kind) {
    case LB_EV_GRANTED: return grant(s, e, event);
    case LB_EV_RENEWED: return renew(s, e);
    case LB_EV_RELEASE: return release(s, e, event);
    case LB_EV_LOST: return lose(s, e, event);
    case LB_EV_CRASH: return crash(s, e, event);
    default: return 0;
  }
}

/* ---- the sweep --------------------------------------------------------------------------------------------------- */

/* The order of these steps is the meaning of equal times: holds, then who meets whom, then
 * accesses, then what later instants may know. */
static int sweep_instant(struct sweep *s, size_t begin, size_t end) {
  const struct lb_event *e = s->history->events;
  int r = 0;
  for (size_t i = begin; i < end && r == 0; i++) r = apply(s, &e[i], i);
  for (size_t i = 0; i < s->touched_count && r == 0; i++) r = lb_check_settle(s, &s->keys[s->touched[i]], e[begin].t);
  s->touched_count = 0;
  for (size_t i = begin; i < end && r == 0; i++) r = lb_check_access(s, &e[i]);
  for (size_t i = begin; i < end && r == 0; i++) r = lb_check_remember_access(s, &e[i]);
  return r;
}

static int sweep_all(struct sweep *s) {
  const struct lb_event *e = s->history->events;
  int r = 0;
  for (size_t i = 0, end; i < s->history->count && r == 0; i = end) {
    for (end = i + 1; end < s->history->count && e[end].t == e[i].t; end++) {
    }
    r = sweep_instant(s, i, end);
  }
  return r;
}

/* The end of the file closes what is still open: double holds last until the last event, and so do
 * orphans that nobody was granted after. */
static void finish(struct sweep *s) {
  const struct lb_history *h = s->history;
  uint64_t end_t = h->count ? h->events[h->count - 1].t : 0;
  for (size_t i = 0; i < h->keys.count; i++) {
    struct key *k = &s->keys[i];
    if (k->episode != NO_EPISODE) lb_check_close_episode(s, k, end_t, h->count);
    if (k->orphan_count) lb_keep_longest(&s->check->orphan_ns, k->orphans[0].t, end_t);
    lb_check_lost_updates(s->check, &k->values);
  }
  if (s->check->grants && s->check->depth == 0) s->check->depth = 1; /* holds without length */
  s->check->double_holds = s->check->episode_count;
  lb_check_count_faults(s);
}

/* They count from the begin, wherever they stand; of several the last. */
static void find_permits(const struct lb_history *h, uint64_t *ret) {
  uint64_t any = 1;
  for (size_t i = 0; i < h->count; i++)
    if (h->events[i].kind == LB_EV_PERMITS && h->events[i].key == LB_NO_NAME)
      any = lb_event_fact(h, &h->events[i])->total;
  for (size_t i = 0; i < h->keys.count; i++) ret[i] = any;
  for (size_t i = 0; i < h->count; i++)
    if (h->events[i].kind == LB_EV_PERMITS && h->events[i].key != LB_NO_NAME)
      ret[h->events[i].key] = lb_event_fact(h, &h->events[i])->total;
}

/* One more than needed of each, so that no allocation is of 0 bytes. */
static int prepare(struct sweep *s) {
  size_t keys = s->history->keys.count, clients = s->history->clients.count;
  s->keys = malloc((keys + 1) * sizeof *s->keys);
  s->touched = malloc((keys + 1) * sizeof *s->touched);
  s->client_pairs = malloc((clients + 1) * sizeof *s->client_pairs);
  s->permits = malloc((keys + 1) * sizeof *s->permits);
  if (!s->keys || !s->touched || !s->client_pairs || !s->permits) return -ENOMEM;
  find_permits(s->history, s->permits);
  for (size_t i = 0; i < keys; i++)
    s->keys[i] = (struct key){.permits = s->permits[i],
                              .first = NONE,
                              .last = NONE,
                              .last_granted = NONE,
                              .episode = NO_EPISODE,
                              .access_client = NONE};
  for (size_t i = 0; i < clients; i++) s->client_pairs[i] = NONE;
  return 0;
}

int lb_check_history(const struct lb_history *whole, struct lb_check *ret) {
  struct lb_history asked = *whole, *history = &asked;
  struct sweep s = {.history = history, .check = ret};
  asked.count = lb_evidence_closing_begins(whole); /* who asks again at the end may be granted the lock beside a holder that stands still: the scenario did not ask that */
  *ret = (struct lb_check){.counters = lb_counters_none()};
  int r = prepare(&s);
  if (r == 0) {
    r = lb_check_find_faults(&s);
    if (r == 0) r = sweep_all(&s);
    if (r == 0) r = lb_check_order(history, s.permits, ret);
    if (r == 0) finish(&s);
    for (size_t i = 0; i < history->keys.count; i++) free(s.keys[i].orphans);
  }
  free(s.keys);
  free(s.touched);
  free(s.permits);
  free(s.client_pairs);
  free(s.pairs);
  free(s.faults);
  lb_pairs_clear(&s.numbers);
  if (r < 0) lb_check_clear(ret);
  return r;
}

void lb_check_clear(struct lb_check *check) {
  for (size_t i = 0; i < check->episode_count; i++) free(check->episodes[i].clients);
  free(check->episodes);
  *check = (struct lb_check){0};
}
