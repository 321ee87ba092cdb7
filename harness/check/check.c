/* SPDX-License-Identifier: MIT
 *
 * Holds and double holds: a sweep over the events in order of time. All events of one instant are taken together, first
 * those that begin and end holds, then the accesses (check_access.c). So the order of equal times cannot make or hide a
 * violation: the holders just before and just after an instant are known only when the whole instant is. Per key the
 * present holders stand in a list in order of the begin of their holds. An event costs a constant time. But while
 * several clients hold a key, each change looks at all of them, and so may a reader's read.
 */

#include "check_sweep.h"

#include <errno.h>
#include <stdlib.h>

#include "base/need.h"
#include "evidence.h"
#include "check_access.h"
#include "check_order.h"

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

static bool ends_waiting(const struct orphan *orphan, const struct lb_event *e) {
  return orphan->client != e->client && !(orphan->shared && e->flags & LB_EVF_SHARED);
}

/* A later death of the same client can only be shorter. */
static bool is_kept(const struct key *k, size_t count, const struct orphan *orphan) {
  for (size_t i = 0; i < count; i++)
    if (k->orphans[i].client == orphan->client && k->orphans[i].shared == orphan->shared) return true;
  return false;
}

/* A grant to another client ends the time for which the dead kept the key. A client that is granted
 * the key again after its own death ends nothing: its record may have been there all the time. */
static void end_waiting(struct sweep *s, struct key *k, const struct lb_event *e) {
  size_t kept = 0;
  for (size_t i = 0; i < k->orphan_count; i++) {
    if (ends_waiting(&k->orphans[i], e)) lb_keep_longest(&s->check->orphan_ns, k->orphans[i].t, e->t);
    else if (!is_kept(k, kept, &k->orphans[i])) k->orphans[kept++] = k->orphans[i];
  }
  k->orphan_count = kept;
}

/* Closes the wait for a successor at the end of the history, or at a grant after `closing`. The death of a reader
 * counts only if the key was wanted exclusively, as a reader keeps no other reader out. */
static void end_orphans(struct sweep *s, uint32_t key) {
  const struct lb_history *h = s->history;
  struct key *k = &s->keys[key];
  for (size_t i = h->count; i < s->whole && k->orphan_count; i++)
    if (h->events[i].kind == LB_EV_GRANTED && h->events[i].key == key) end_waiting(s, k, &h->events[i]);
  for (size_t i = 0; i < k->orphan_count; i++)
    if (!k->orphans[i].shared || k->wanted_alone)
      lb_keep_longest(&s->check->orphan_ns, k->orphans[i].t, h->events[s->whole - 1].t);
}

/* Only the client granted last can still be without a grant after its own: each earlier one has been overtaken. */
static void note_overtaken(struct sweep *s, const struct key *k, const struct lb_event *e) {
  struct pair *last = k->last_granted == NONE ? NULL : &s->pairs[k->last_granted];
  if (last && last->client != e->client) last->overtaken_t = e->t;
}

/* A holder may have lost the lock to this grant, if the two may not hold together. With several permits it is not known
 * whose permit was granted. */
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
  p->silent = false;
  touch(s, p->key);
}

/* A second grant of what is held already begins no new hold, but one more release has to end it. It counts as the
 * client's latest grant. An exclusive one makes a shared hold exclusive. */
static void deepen(struct sweep *s, struct pair *p, size_t event, bool shared) {
  p->depth++;
  if (shared || !p->shared) return;
  end_sharing(p, s->history->events[event].t);
  enter(s, p, event, false);
}

static void grant(struct sweep *s, const struct lb_event *e, size_t event) {
  struct key *k = &s->keys[e->key];
  struct pair *p = lb_check_pair(s, e->client, e->key);
  s->check->excluded |= k->full;
  note_overtaken(s, k, e);
  note_other_grant(s, k, e);
  end_waiting(s, k, e);
  if (!(e->flags & LB_EVF_SHARED)) k->wanted_alone = false;
  if (p->holds) deepen(s, p, event, e->flags & LB_EVF_SHARED);
  else begin_hold(s, p, event, e->flags & LB_EVF_SHARED);
  set_lease(s, p, e);
  p->granted = p->asked = true;
  p->lost = false;
  p->granted_t = e->t;
  k->last_granted = (uint32_t)(p - s->pairs);
}

/* Between the other's grant and this event the client believed in a lock that it had lost; without
 * another's grant it was blind for no time. */
static void lose(struct sweep *s, const struct lb_event *e, size_t event) {
  struct pair *p = lb_check_pair(s, e->client, e->key);
  end_hold(s, p, event);
  lb_keep_longest(&s->check->blind_ns, p->other_granted ? p->other_granted_t : e->t, e->t);
  p->other_granted = false;
  p->lost = true;
}

/* The client need not know: it was told for how long it holds. */
static void expire(struct sweep *s, const struct lb_event *e, size_t event) {
  struct pair *p = lb_check_pair(s, e->client, e->key);
  end_hold(s, p, event);
  p->other_granted = false;
}

static void release(struct sweep *s, const struct lb_event *e, size_t event) {
  struct pair *p = lb_check_pair(s, e->client, e->key);
  p->stranger = !p->asked && s->keys[e->key].holders > 0;
  p->lost = false;
  if (p->holds && --p->depth > 0) return;
  end_hold(s, p, event); /* other_granted stays: the answer may be that the lock was lost */
}

/* A release does not say whose hold it ended: a program may free the lock of another one. */
static void confirm_release(struct sweep *s, const struct lb_event *e, size_t event) {
  struct pair *p = lb_check_pair(s, e->client, e->key);
  if (p->stranger && !s->check->freed_by_stranger) s->check->stranger_event = event;
  s->check->freed_by_stranger |= p->stranger;
  s->keys[e->key].freed_by_stranger |= p->stranger;
  p->stranger = false;
}

static void ask(struct sweep *s, const struct lb_event *e) {
  struct pair *p = lb_check_pair(s, e->client, e->key);
  if (e->kind == LB_EV_UNKNOWN) p->asked = true;
  else if (!(e->flags & LB_EVF_SHARED)) s->keys[e->key].wanted_alone = true;
}

/* A renewal gives no hold: a client that has released and then reads the answer to an older renewal holds nothing. */
static void renew(struct sweep *s, const struct lb_event *e) {
  struct pair *p = lb_check_pair(s, e->client, e->key);
  s->check->unmeasured |= s->history->lines && !(e->flags & LB_EVF_UNTIL);
  if (p->holds) set_lease(s, p, e);
}

/* Where one is to be renewed there are leases, on every key, also where the answer is no or none. */
static void begin_renewal(struct sweep *s, const struct lb_event *e) {
  const struct pair *p = lb_check_pair(s, e->client, e->key);
  s->check->unmeasured |= s->history->lines && p->holds && p->endless;
}

/* A library that renews unseen does so as long as it reaches a server: until when is known only while it does not. */
static void fall_silent(struct sweep *s, const struct lb_event *e) {
  bool silent = e->flags & LB_EVF_UNTIL;
  for (uint32_t i = s->client_pairs[e->client]; i != NONE; i = s->pairs[i].next_of_client) {
    struct pair *p = &s->pairs[i];
    if (!p->holds || (silent ? !p->endless : !p->silent || p->until <= e->t)) continue;
    p->endless = !silent;
    p->silent = silent;
    p->until = e->until;
    touch(s, p->key);
  }
}

/* Ends every hold of the client, whatever the key, and leaves an orphan at each key that it held. */
static void crash(struct sweep *s, const struct lb_event *e, size_t event) {
  uint32_t number = s->client_pairs[e->client];
  for (; number != NONE; number = s->pairs[number].next_of_client) {
    struct pair *p = &s->pairs[number];
    p->listed = false;
    p->other_granted = false;
    if (!p->holds) continue;
    bool shared = p->shared;
    end_hold(s, p, event);
    struct key *k = &s->keys[p->key];
    LB_APPEND(k->orphans, k->orphan_count) = (struct orphan){.client = e->client, .shared = shared, .t = e->t};
  }
  s->client_pairs[e->client] = NONE;
}

/* First half of an instant: what begins and ends holds, and their leases. Any other kind of event changes no hold. */
static void apply(struct sweep *s, const struct lb_event *e, size_t event) {
  switch (e->kind) {
    case LB_EV_GRANTED: grant(s, e, event); break;
    case LB_EV_RENEW: begin_renewal(s, e); break;
    case LB_EV_RENEWED: renew(s, e); break;
    case LB_EV_RELEASE: release(s, e, event); break;
    case LB_EV_RELEASED: confirm_release(s, e, event); break;
    case LB_EV_ACQUIRE:
    case LB_EV_UNKNOWN: ask(s, e); break;
    case LB_EV_LOST: lose(s, e, event); break;
    case LB_EV_EXPIRED: expire(s, e, event); break;
    case LB_EV_CRASH: crash(s, e, event); break;
    case LB_EV_SILENT: fall_silent(s, e); break;
    case LB_EV_SHORTENED: s->check->shortened = true; break;
    default: break;
  }
}

/* ---- double holds --------------------------------------------------------------------------------------------------
 *
 * An episode opens with the holder that is one too many. It closes when the remaining holders are allowed; clients may
 * come and go in between. */

/* A client is named once for each episode, however often it comes and goes. */
static void name_client(struct sweep *s, struct pair *p, size_t episode) {
  struct lb_episode *e = &s->check->episodes[episode];
  if (p->episode == episode) return;
  LB_APPEND(e->clients, e->client_count) = p->client;
  p->episode = episode;
}

/* The first pair in the list of holders whose hold began in this instant; they are at its end. */
static uint32_t first_begun_at(const struct sweep *s, const struct key *k, uint64_t t) {
  uint32_t number = NONE;
  for (uint32_t i = k->last; i != NONE && s->pairs[i].begin_t == t; i = s->pairs[i].previous) number = i;
  return number;
}

/* Whether so many holders may not hold the key together. */
static bool too_many(const struct key *k, uint64_t holders, uint64_t exclusive) {
  return holders > k->permits && exclusive > 0;
}

/* It begins with the hold that came last in this instant: that is the one too many. */
static void open_episode(struct sweep *s, struct key *k, uint64_t t) {
  struct lb_check *c = s->check;
  k->episode = c->episode_count;
  LB_APPEND(c->episodes, c->episode_count) =
      (struct lb_episode){.key = (uint32_t)(k - s->keys), .begin_t = t, .begin_event = k->begin_event};
}

/* The number of events stands for the end of the file. */
static void close_episode(struct sweep *s, struct key *k, uint64_t t, size_t event) {
  struct lb_episode *e = &s->check->episodes[k->episode];
  e->end_t = t;
  e->end_event = event;
  s->check->double_hold_ns += e->end_t - e->begin_t;
  k->episode = NO_EPISODE;
}

static bool lease_runs(const struct pair *p, uint64_t t) { return p->endless || p->until > t; }

/* The holder that came first of those that are not overtaken, and what there is of these. */
static struct pair *first_not_overtaken(const struct sweep *s, const struct key *k, uint64_t *ret_holders,
                                        uint64_t *ret_exclusive) {
  struct pair *first = NULL;
  *ret_holders = *ret_exclusive = 0;
  for (uint32_t i = k->first; i != NONE; i = s->pairs[i].next) {
    struct pair *p = &s->pairs[i];
    if (p->overtaken) continue;
    (*ret_holders)++;
    *ret_exclusive += !p->shared;
    if (!first || p->entry < first->entry) first = p;
  }
  return first;
}

/* Whether a holder is overtaken in this instant: one that would be one too many among those who came after it and still
 * hold. A client that has held since long ago is overtaken once: the next ones were granted a lock that was free again.
 */
static bool overtakes(struct sweep *s, const struct key *k) {
  uint64_t holders, exclusive;
  bool any = false;
  for (struct pair *p; p = first_not_overtaken(s, k, &holders, &exclusive), too_many(k, holders, exclusive);)
    p->overtaken = any = true;
  return any;
}

/* What this moment makes of those who hold the key together. Leases change at such moments only, so
 * too many of them ran at once if they do at one of these. */
static void mark_overlap(struct sweep *s, const struct key *k, uint64_t t) {
  struct lb_episode *e = &s->check->episodes[k->episode];
  uint32_t running = 0, exclusive = 0;
  for (uint32_t i = k->first; i != NONE; i = s->pairs[i].next) {
    bool runs = lease_runs(&s->pairs[i], t);
    running += runs;
    exclusive += runs && !s->pairs[i].shared;
  }
  bool within = too_many(k, running, exclusive);
  s->check->before_stranger |= within && !k->freed_by_stranger;
  for (uint32_t i = k->first; i != NONE; i = s->pairs[i].next) {
    struct pair *p = &s->pairs[i];
    if (within && lease_runs(p, t)) p->overlap = OVERLAP_WITHIN;
    else if (p->overlap == OVERLAP_NONE) p->overlap = OVERLAP_LATE;
  }
  if (within && !e->within_lease) s->check->within_lease++;
  e->within_lease |= within;
  if (overtakes(s, k)) lb_check_charge_overlap(s, t, within);
}

/* After an instant: who holds the key now will hold it until a later one. A new episode names all who hold; one that
 * goes on names only who has come in this instant. */
static void settle(struct sweep *s, struct key *k, uint64_t t) {
  k->touched = false;
  if (k->holders > s->check->depth) s->check->depth = k->holders;
  k->full |= k->permits > 1 && k->holders >= k->permits;
  if (!too_many(k, k->holders, k->exclusive)) {
    if (k->episode != NO_EPISODE) close_episode(s, k, t, k->end_event);
    return;
  }
  uint32_t number = k->episode == NO_EPISODE ? k->first : first_begun_at(s, k, t);
  if (k->episode == NO_EPISODE) open_episode(s, k, t);
  for (; number != NONE; number = s->pairs[number].next) name_client(s, &s->pairs[number], k->episode);
  if (k->holders > s->check->episodes[k->episode].depth) s->check->episodes[k->episode].depth = k->holders;
  mark_overlap(s, k, t);
}

/* A renewal after a loss, while others hold since before this instant and beyond it who may not hold beside it, means
 * that the lock was promised twice: if it is for a time after their grants. */
static void note_revived(struct sweep *s, const struct lb_event *e) {
  if (e->kind != LB_EV_RENEWED) return;
  const struct pair *p = lb_check_pair(s, e->client, e->key);
  const struct key *k = &s->keys[e->key];
  bool was_shared = p->shared_end_t == p->end_t;
  uint64_t holders = 1, exclusive = !was_shared;
  if (p->holds || !p->lost) return;
  for (uint32_t i = k->first; i != NONE; i = s->pairs[i].next) {
    const struct pair *other = &s->pairs[i];
    if (other->begin_t >= e->t || (e->flags & LB_EVF_UNTIL && e->until <= other->begin_t)) continue;
    holders++;
    exclusive += !other->shared;
  }
  s->check->revived |= holders > 1 && too_many(k, holders, exclusive);
}

/* ---- the sweep --------------------------------------------------------------------------------------------------- */

/* The order of these steps is the meaning of equal times: holds, then who meets whom, then
 * accesses, then what later instants may know. */
static void sweep_instant(struct sweep *s, size_t begin, size_t end) {
  const struct lb_event *e = s->history->events;
  for (size_t i = begin; i < end; i++) apply(s, &e[i], i);
  for (size_t i = 0; i < s->touched_count; i++) settle(s, &s->keys[s->touched[i]], e[begin].t);
  s->touched_count = 0;
  for (size_t i = begin; i < end; i++) note_revived(s, &e[i]);
  for (size_t i = begin; i < end; i++) lb_check_access(s, &e[i]);
  for (size_t i = begin; i < end; i++) lb_check_remember_access(s, &e[i]);
}

static void sweep_all(struct sweep *s) {
  const struct lb_event *e = s->history->events;
  for (size_t i = 0, end; i < s->history->count; i = end) {
    for (end = i + 1; end < s->history->count && e[end].t == e[i].t; end++) {
    }
    sweep_instant(s, i, end);
  }
}

/* The end of the file closes what is still open: double holds last until the last event, and so do orphans without a
 * later grant. */
static void finish(struct sweep *s) {
  const struct lb_history *h = s->history;
  uint64_t end_t = h->count ? h->events[h->count - 1].t : 0;
  for (size_t i = 0; i < h->keys.count; i++) {
    struct key *k = &s->keys[i];
    if (k->episode != NO_EPISODE) close_episode(s, k, end_t, h->count);
    end_orphans(s, (uint32_t)i);
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
static void prepare(struct sweep *s) {
  size_t keys = s->history->keys.count, clients = s->history->clients.count;
  s->keys = lb_need(malloc((keys + 1) * sizeof *s->keys));
  s->touched = lb_need(malloc((keys + 1) * sizeof *s->touched));
  s->client_pairs = lb_need(malloc((clients + 1) * sizeof *s->client_pairs));
  s->permits = lb_need(malloc((keys + 1) * sizeof *s->permits));
  find_permits(s->history, s->permits);
  for (size_t i = 0; i < keys; i++)
    s->keys[i] = (struct key){.permits = s->permits[i],
                              .first = NONE,
                              .last = NONE,
                              .last_granted = NONE,
                              .episode = NO_EPISODE,
                              .access_client = NONE};
  for (size_t i = 0; i < clients; i++) s->client_pairs[i] = NONE;
}

void lb_check_history(const struct lb_history *whole, struct lb_check *ret) {
  struct lb_history asked = *whole, *history = &asked;
  struct sweep s = {.history = history, .whole = whole->count, .check = ret};
  asked.count = lb_evidence_closing_begins(
      whole); /* who asks again at the end may be granted the lock beside a holder that stands still: the scenario did not ask that */
  *ret = (struct lb_check){.counters = lb_counters_none()};
  prepare(&s);
  lb_check_find_faults(&s);
  sweep_all(&s);
  lb_check_order(history, s.permits, ret);
  finish(&s);
  for (size_t i = 0; i < history->keys.count; i++) free(s.keys[i].orphans);
  free(s.keys);
  free(s.touched);
  free(s.permits);
  free(s.client_pairs);
  free(s.pairs);
  free(s.faults);
  lb_pairs_clear(&s.numbers);
}

void lb_check_clear(struct lb_check *check) {
  for (size_t i = 0; i < check->episode_count; i++) free(check->episodes[i].clients);
  free(check->episodes);
  *check = (struct lb_check){0};
}

/* ---- the verdict ------------------------------------------------------------------------------------------------- */

bool lb_check_violated(const struct lb_check *check, bool past_lease) {
  if (check->token_regressions > 0) return true;
  if (!past_lease)
    return check->within_lease > 0 || check->unexcused.dirty_accesses > 0 || check->unexcused.lost_updates > 0;
  return check->double_holds > 0 || check->dirty_accesses > 0 || check->lost_updates > 0;
}

bool lb_check_damaged(const struct lb_check *check, bool past_lease) {
  if (!past_lease) return check->unexcused.lost_updates > 0 || check->unexcused.stale_writes > 0;
  return check->lost_updates > 0 || check->stale_writes > 0;
}

bool lb_check_read_early(const struct lb_check *check) {
  bool exclusion = check->double_holds == 0 && check->dirty_accesses == 0 && check->token_regressions == 0;
  return exclusion && check->early_lost_updates > 0 && check->early_lost_updates >= check->lost_updates;
}

const char *lb_ruled_name(enum lb_ruled verdict) {
  return verdict == LB_RULED_SAFE ? "safe" : verdict == LB_RULED_VIOLATED ? "violated" : "undecided";
}

struct lb_ruling lb_check_rule(const struct lb_check *check, bool past_lease) {
  bool violated = lb_check_violated(check, past_lease);
  if (check->token_regressions > 0) return (struct lb_ruling){LB_RULED_VIOLATED, NULL};
  if (violated && check->freed_by_stranger && !check->before_stranger)
    return (struct lb_ruling){LB_RULED_UNDECIDED, LB_CHECK_STRANGER};
  if (violated && check->unmeasured) return (struct lb_ruling){LB_RULED_UNDECIDED, LB_CHECK_UNMEASURED};
  if (violated) return (struct lb_ruling){LB_RULED_VIOLATED, NULL};
  if (check->revived) return (struct lb_ruling){LB_RULED_VIOLATED, LB_CHECK_REVIVED};
  if (lb_check_violated(check, true)) return (struct lb_ruling){LB_RULED_UNDECIDED, LB_CHECK_LATE};
  if (check->shortened) return (struct lb_ruling){LB_RULED_UNDECIDED, "only the begin of the history was kept"};
  if (!check->excluded) return (struct lb_ruling){LB_RULED_UNDECIDED, "no hand-off put the lock to the test"};
  return (struct lb_ruling){LB_RULED_SAFE, NULL};
}
