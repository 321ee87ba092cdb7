/* SPDX-License-Identifier: MIT
 *
 * Accesses of the resource, once it is known who holds in their instant: which of them were dirty,
 * which were writes of a holder that another one had overtaken.
 */
#include <errno.h>

#include "check_parts.h"
#include "check_sweep.h"

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

/* Another client holds since before this instant and beyond it; or this client does not hold at
 * all. Only the first holder that is somebody else has to be looked at, for it began first. Readers
 * may read beside readers. */
static bool is_dirty(const struct sweep *s, const struct pair *p, const struct lb_event *e) {
  uint32_t other = s->keys[p->key].first;
  if (e->flags & LB_EVF_EARLY) return false;
  if (!holds_at(p, e->t)) return true;
  if (e->kind == LB_EV_READ && shares_at(p, e->t)) return is_anothers(s, p, e->t);
  if (other != NONE && &s->pairs[other] == p) other = p->next;
  return other != NONE && s->pairs[other].begin_t < e->t;
}

/* True if another client, granted the key after the latest grant of this one, accessed the resource
 * before this instant. The access under the latest grant decides: if it is this client's own,
 * nobody else's is later. */
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
int lb_check_access(struct sweep *s, const struct lb_event *e) {
  if (!is_access(e) || s->keys[e->key].permits > 1) return 0;
  struct pair *p = lb_check_pair(s, e->client, e->key);
  if (!p) return -ENOMEM;
  bool excused = holds_at(p, e->t) && p->overlap == OVERLAP_LATE;
  bool dirty = is_dirty(s, p, e), stale = e->kind == LB_EV_WRITE && is_overtaken(s, p);
  s->check->dirty_accesses += dirty;
  s->check->stale_writes += stale;
  if (stale) lb_check_charge_damage(s, p->granted ? p->overtaken_t : e->t);
  s->check->unexcused.dirty_accesses += dirty && !excused;
  s->check->unexcused.stale_writes += stale && !excused;
  if (e->kind == LB_EV_READ) p->read_early = e->flags & LB_EVF_EARLY;
  lb_check_value(&s->keys[e->key].values, e, excused, p->read_early);
  return 0;
}

int lb_check_remember_access(struct sweep *s, const struct lb_event *e) {
  if (!is_access(e) || e->flags & LB_EVF_EARLY) return 0;
  const struct pair *p = lb_check_pair(s, e->client, e->key);
  struct key *k = &s->keys[e->key];
  if (!p) return -ENOMEM;
  if (!p->granted || (k->access_client != NONE && p->granted_t <= k->access_granted_t)) return 0;
  k->access_client = e->client;
  k->access_granted_t = p->granted_t;
  return 0;
}
