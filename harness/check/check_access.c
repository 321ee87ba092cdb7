/* SPDX-License-Identifier: MIT
 *
 * Accesses of the resource, once it is known who holds in their instant: which of them were dirty, which
 * were writes of a holder that another one had overtaken, whose updates were lost, and what each fault cost.
 */
#include "check_sweep.h"
#include "check_access.h"

#include <errno.h>
#include <stdlib.h>

#include "base/need.h"

/* ---- Lost updates: every critical section writes what it read plus one, so the last value should have
 * grown over the first one read by the number of accepted writes. What is missing was overwritten
 * by a client that had read an older value.
 *
 * The same loss, write by write: a write that raises the latest value by one takes nothing away, and one that repeats
 * it takes away one update. One that raises it by more gives back what was counted before. The sum over all writes is
 * the loss of the key; the part of those writes that an ended lease excuses is excused. So is the part of those counted
 * whose clients had read too early. */

/* Only what was accepted. The first access says where the value stood when the history began. */
static void follow_value(struct lb_values *v, const struct lb_event *e, bool excused, bool early) {
  if (e->kind == LB_EV_WRITE) {
    if (!v->read && !v->written) v->read = true, v->first_read = v->last = (__int128)e->value - 1;
    __int128 taken = 1 - ((__int128)e->value - v->last);
    if (excused) v->excused += taken;
    if (early) v->early += taken;
    v->writes++;
    v->written = true;
    v->last = e->value;
  } else if (!v->read) {
    v->read = true;
    v->first_read = e->value;
    if (!v->written) v->last = e->value;
  }
}

/* Saturates: values come from files, where any number may stand. */
static void add(int64_t *sum, __int128 more) {
  __int128 total = *sum + more;
  *sum = total > INT64_MAX ? INT64_MAX : (int64_t)total;
}

void lb_check_lost_updates(struct lb_check *c, const struct lb_values *v) {
  if (!v->written || !v->read) return;
  __int128 lost = v->writes - (v->last - v->first_read);
  if (lost <= 0) return;
  __int128 unexcused = lost - v->excused;
  add(&c->lost_updates, lost);
  if (unexcused > 0) add(&c->unexcused.lost_updates, unexcused < lost ? unexcused : lost);
  if (v->early > 0) add(&c->early_lost_updates, v->early < lost ? v->early : lost);
}

/* ---- What each fault cost: between it and the next one a holder was overtaken, or damage was done.
 * However often that was, they make it one fault that failed: a paused holder overlaps with every successor, and those
 * overlaps are no independent events. Damage is charged where its overlap is: to the fault under which
 * the writer was overtaken, not to the one under which it woke up and wrote.
 *
 * A violation before the first fault is no fault's. One that comes late may be charged to the wrong one of two (a pause
 * that ended, or a server that returned, just before the next fault). A cut that met no packet changed nothing, so it
 * is no fault: what happens under it is the earlier fault's.
 *
 * A fault tests exclusion only if the lock is granted before the next one. A lock that is never granted excludes under
 * any number of faults, and those would make its bound too good. */

static uint32_t step_of(const struct lb_history *h, const struct lb_event *e) { return lb_event_fact(h, e)->step; }

/* A fault is followed by its proof, and by a note if it met no packet. Each step is played once. */
static void note(struct sweep *s, const struct lb_event *e) {
  uint32_t step = step_of(s->history, e);
  size_t i = s->fault_count;
  while (i > 0 && s->faults[i - 1].step != step) i--;
  if (i == 0) return;
  s->faults[i - 1].proved |= e->kind == LB_EV_PROVED;
  s->faults[i - 1].unused |= e->kind == LB_EV_UNUSED;
}

static void drop_unused(struct sweep *s) {
  size_t kept = 0;
  for (size_t i = 0; i < s->fault_count; i++) {
    if (!s->faults[i].unused) s->faults[kept++] = s->faults[i];
    else s->check->faults_unused += s->faults[i].proved;
  }
  s->fault_count = kept;
}

/* The latest fault up to `t`; NULL = none. Times are asked for in any order. */
static struct charged *latest(struct sweep *s, uint64_t t) {
  size_t low = 0, high = s->fault_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (s->faults[middle].t <= t) low = middle + 1;
    else high = middle;
  }
  return low > 0 ? &s->faults[low - 1] : NULL;
}

static void note_grants(struct sweep *s) {
  for (size_t i = 0; i < s->history->count && s->fault_count; i++) {
    const struct lb_event *e = &s->history->events[i];
    struct charged *fault = e->kind == LB_EV_GRANTED ? latest(s, e->t) : NULL;
    if (fault) fault->granted = true;
  }
}

void lb_check_find_faults(struct sweep *s) {
  const struct lb_history *h = s->history;
  for (size_t i = 0; i < h->count; i++) {
    const struct lb_event *e = &h->events[i];
    if (e->kind == LB_EV_PROVED || e->kind == LB_EV_UNUSED) note(s, e);
    if (e->kind != LB_EV_FAULT) continue;
    LB_APPEND(s->faults, s->fault_count) = (struct charged){.t = e->t, .step = step_of(h, e)};
  }
  drop_unused(s);
  note_grants(s);
}

static void charge_damage(struct sweep *s, uint64_t t) {
  struct charged *fault = latest(s, t);
  if (fault) fault->damaged = true;
}

/* By each moment at which a holder is overtaken, not by the begin of the episode: faults that follow one another during
 * one double hold are one episode and several failures. */
void lb_check_charge_overlap(struct sweep *s, uint64_t t, bool within_lease) {
  struct charged *fault = latest(s, t);
  if (!fault) return;
  fault->overlapped = true;
  fault->within_lease |= within_lease;
}

void lb_check_count_faults(struct sweep *s) {
  struct lb_check *c = s->check;
  for (size_t i = 0; i < s->fault_count; i++) {
    const struct charged *fault = &s->faults[i];
    if (!fault->proved || !(fault->granted || fault->overlapped || fault->damaged))
      continue; /* a client that was granted nothing can do damage */
    c->faults_tested++;
    c->faults_overlapped += fault->overlapped;
    c->faults_within_lease += fault->within_lease;
    c->faults_damaged += fault->damaged;
  }
}

/* ---- accesses */

/* One whose hold ends in this very instant still held it: equal times are no evidence. */
static bool holds_at(const struct pair *p, uint64_t t) { return p->holds || p->end_t == t; }

/* The same of a shared hold: one that became exclusive in this very instant was shared before. */
static bool shares_at(const struct pair *p, uint64_t t) { return (p->holds && p->shared) || p->shared_end_t == t; }

/* Whether one of the others holds the key alone, since before this instant and beyond it. */
static bool is_anothers(const struct sweep *s, const struct pair *p, uint64_t t) {
  if (s->keys[p->key].exclusive == 0) return false;
  for (uint32_t i = s->keys[p->key].first; i != NONE; i = s->pairs[i].next)
    if (&s->pairs[i] != p && !s->pairs[i].shared && s->pairs[i].alone_t < t) return true;
  return false;
}

/* Another client holds since before this instant and beyond it; or this client does not hold at all. Only the first
 * other holder has to be looked at, for it began first. Readers may read beside readers. */
static bool is_dirty(const struct sweep *s, const struct pair *p, const struct lb_event *e) {
  uint32_t other = s->keys[p->key].first;
  if (e->flags & LB_EVF_EARLY) return false;
  if (!holds_at(p, e->t)) return true;
  if (e->kind == LB_EV_READ && shares_at(p, e->t)) return is_anothers(s, p, e->t);
  if (other != NONE && &s->pairs[other] == p) other = p->next;
  return other != NONE && s->pairs[other].begin_t < e->t;
}

/* True if another client, granted the key after the latest grant of this one, accessed the resource before this
 * instant. The access under the latest grant decides: if it is this client's own, no later one exists. */
static bool is_overtaken(const struct sweep *s, const struct pair *p) {
  const struct key *k = &s->keys[p->key];
  if (k->access_client == NONE || k->access_client == p->client) return false;
  return !p->granted || k->access_granted_t > p->granted_t;
}

static bool is_access(const struct lb_event *e) {
  return (e->kind == LB_EV_READ || e->kind == LB_EV_WRITE) && !(e->flags & LB_EVF_REFUSED);
}

/* What the resource refused did no harm. What a holder does whose hold
 * met others only when leases were over is excused with that hold. Several that hold a key by permits
 * use the resource together. */
void lb_check_access(struct sweep *s, const struct lb_event *e) {
  if (!is_access(e) || s->keys[e->key].permits > 1) return;
  struct pair *p = lb_check_pair(s, e->client, e->key);
  bool excused = holds_at(p, e->t) && p->overlap == OVERLAP_LATE;
  bool dirty = is_dirty(s, p, e), stale = e->kind == LB_EV_WRITE && is_overtaken(s, p);
  s->check->dirty_accesses += dirty;
  s->check->stale_writes += stale;
  if (stale) charge_damage(s, p->granted ? p->overtaken_t : e->t);
  s->check->unexcused.dirty_accesses += dirty && !excused;
  s->check->unexcused.stale_writes += stale && !excused;
  if (e->kind == LB_EV_READ) p->read_early = e->flags & LB_EVF_EARLY;
  follow_value(&s->keys[e->key].values, e, excused, p->read_early);
}

void lb_check_remember_access(struct sweep *s, const struct lb_event *e) {
  if (!is_access(e) || e->flags & LB_EVF_EARLY) return;
  const struct pair *p = lb_check_pair(s, e->client, e->key);
  struct key *k = &s->keys[e->key];
  if (!p->granted || (k->access_client != NONE && p->granted_t <= k->access_granted_t)) return;
  k->access_client = e->client;
  k->access_granted_t = p->granted_t;
}
