/* SPDX-License-Identifier: MIT
 *
 * What a history shows of who might have held a key at a moment: backwards from that moment to the
 * latest word of each client.
 *
 * Backwards and anew for each question, because only a timeline is asked and its history is short.
 */
#include "evidence.h"

#include <string.h>

/* The latest thing that is known of `client` and `key` before event `end`: the event that says so,
 * or NULL. *ret_lease is the one that says how long that lasts: the same, or the latest renewal
 * since. */
static const struct lb_event *latest(const struct lb_history *h, size_t end, uint32_t client, uint32_t key,
                                     const struct lb_event **ret_lease) {
  *ret_lease = NULL;
  for (size_t i = end; i-- > 0;) {
    const struct lb_event *e = &h->events[i];
    if (e->client != client || (e->key != key && e->kind != LB_EV_CRASH)) continue;
    if (e->kind == LB_EV_RENEWED && !*ret_lease) *ret_lease = e;
    switch (e->kind) {
      case LB_EV_GRANTED:
      case LB_EV_UNKNOWN:
      case LB_EV_TIMEOUT:
      case LB_EV_BUSY:
      case LB_EV_RELEASE:
      case LB_EV_RELEASED: /* also of what had stayed unknown */
      case LB_EV_LOST:
      case LB_EV_CRASH:
        if (!*ret_lease) *ret_lease = e;
        return e;
      default: break;
    }
  }
  return NULL;
}

/* Without an `until` nothing was said of an end: valid for ever. */
static bool valid_at(const struct lb_event *lease, uint64_t t) {
  return !(lease->flags & LB_EVF_UNTIL) || lease->until > t;
}

static size_t index_of(const struct lb_history *h, const struct lb_event *e) { return (size_t)(e - h->events); }

/* Whether anybody was granted the key between two events: then the service had let go of what came
 * before. */
static bool granted_between(const struct lb_history *h, uint32_t key, size_t begin, size_t end) {
  for (size_t i = begin; i < end; i++)
    if (h->events[i].kind == LB_EV_GRANTED && h->events[i].key == key) return true;
  return false;
}

/* Whether `client` was still asking for `key` at event `end`: then nobody knows what became of it. */
static bool was_asking(const struct lb_history *h, size_t end, uint32_t client, uint32_t key) {
  const struct lb_event *lease, *e = latest(h, end, client, key, &lease);
  for (size_t i = e ? index_of(h, e) + 1 : 0; i < end; i++)
    if (h->events[i].client == client && h->events[i].key == key && h->events[i].kind == LB_EV_ACQUIRE) return true;
  return false;
}

/* Whether the service still keeps `key` at event `at` for a client that died at event `crash` while
 * it held the lock or might have: a dead client releases nothing, so only the end of its lease or
 * another grant shows that it does not. */
static bool is_kept_for_the_dead(const struct lb_history *h, size_t crash, uint32_t client, uint32_t key, size_t at) {
  const struct lb_event *lease, *e = latest(h, crash, client, key, &lease);
  if (granted_between(h, key, crash, at)) return false;
  if (was_asking(h, crash, client, key)) return true;
  return e && (e->kind == LB_EV_GRANTED || e->kind == LB_EV_UNKNOWN) && valid_at(lease, h->events[at].t);
}

/* Whether it holds at event `at`: what was granted twice is released twice. */
static bool holds_at(const struct lb_history *h, size_t at, uint32_t client, uint32_t key) {
  size_t depth = 0;
  for (size_t i = 0; i < at; i++) {
    const struct lb_event *e = &h->events[i];
    if (e->client != client || (e->key != key && e->kind != LB_EV_CRASH)) continue;
    if (e->kind == LB_EV_GRANTED) depth++;
    if (e->kind == LB_EV_RELEASE && depth > 0) depth--;
    if (e->kind == LB_EV_LOST || e->kind == LB_EV_CRASH) depth = 0;
  }
  return depth > 0;
}

/* Whether the service may keep `key` for this client at event `at`: it holds, it might, or it died
 * so. */
static bool is_taken(const struct lb_history *h, size_t at, uint32_t client, uint32_t key) {
  if (holds_at(h, at, client, key)) return true;
  const struct lb_event *lease, *e = latest(h, at, client, key, &lease);
  if (!e) return false;
  if (e->kind == LB_EV_CRASH) return is_kept_for_the_dead(h, index_of(h, e), client, key, at);
  return e->kind == LB_EV_GRANTED || e->kind == LB_EV_UNKNOWN;
}

static bool is_taken_by_another(const struct lb_history *h, size_t asks) {
  for (uint32_t c = 0; c < h->clients.count; c++)
    if (c != h->events[asks].client && is_taken(h, asks, c, h->events[asks].key)) return true;
  return false;
}

/* Whether the service answered this acquire: a refusal, if only of an earlier try than the last, or
 * the lock itself. */
static bool is_answered(const struct lb_history *h, size_t asks) {
  for (size_t i = asks + 1; i < h->count; i++) {
    const struct lb_event *e = &h->events[i];
    if (e->client != h->events[asks].client || e->key != h->events[asks].key) continue;
    if (e->kind == LB_EV_GRANTED || e->kind == LB_EV_BUSY) return true;
    if (e->kind == LB_EV_UNKNOWN && e->flags & LB_EVF_REFUSED) return true;
    if (e->kind == LB_EV_TIMEOUT || e->kind == LB_EV_UNKNOWN || e->kind == LB_EV_ACQUIRE) return false;
  }
  return false;
}

/* Whether a fault was done to that host in this event, or a cure: on either side of a cut. */
static bool touches(const struct lb_history *h, const struct lb_event *e, const char *host) {
  const struct lb_fact *f = lb_event_fact(h, e);
  return e->kind == LB_EV_TOUCHED && (lb_history_lists(h, f->host, host) || lb_history_lists(h, f->from, host));
}

/* Whether a step had looked whom the client talks to, and neither of the two was touched by a fault
 * since. (With a key it is whom an acquire had asked.) */
static bool is_known_whom_it_asks(const struct lb_history *h, size_t asks) {
  for (size_t i = asks; i-- > 0;) {
    const struct lb_event *e = &h->events[i];
    uint32_t server = lb_event_fact(h, e)->host;
    if (touches(h, e, h->clients.name[h->events[asks].client])) return false;
    if (e->kind != LB_EV_SERVER || e->client != h->events[asks].client || e->key != LB_NO_NAME) continue;
    for (size_t j = i; j < asks && server < h->texts.count; j++)
      if (touches(h, &h->events[j], h->texts.name[server])) return false;
    return server < h->texts.count;
  }
  return false;
}

/* Whether the request left: who gave up and certainly does not hold may never have sent one, unless it was connected to a
 * server then. */
static bool was_sent(const struct lb_history *h, size_t asks) {
  bool gave_up = false;
  for (size_t i = asks + 1; i < h->count; i++) {
    const struct lb_event *e = &h->events[i];
    if (e->client != h->events[asks].client || e->key != h->events[asks].key) continue;
    if (gave_up) return e->kind == LB_EV_SERVER && lb_event_fact(h, e)->host != LB_NO_NAME;
    if (e->kind != LB_EV_TIMEOUT) return true;
    gave_up = true;
  }
  return !gave_up;
}

/* Whether, after the last fault before this question, a step saw that another client holds: then it is
 * known what the service, as the fault left it, was asked for. */
static bool is_known_who_holds(const struct lb_history *h, size_t asks) {
  for (size_t i = asks; i-- > 0 && h->events[i].kind != LB_EV_FAULT;) {
    const struct lb_event *e = &h->events[i];
    if (e->kind == LB_EV_HOLDS && e->client != h->events[asks].client && lb_event_fact(h, e)->present) return true;
  }
  return false;
}

/* One such moment is enough. */
bool lb_evidence_contested(const struct lb_history *h, bool *ret_asked) {
  *ret_asked = false;
  for (size_t i = 0; i < h->count; i++) {
    if (h->events[i].kind != LB_EV_ACQUIRE || !is_taken_by_another(h, i)) continue;
    *ret_asked = true;
    bool known = is_known_who_holds(h, i) || is_known_whom_it_asks(h, i);
    if ((known && was_sent(h, i)) || is_answered(h, i)) return true;
  }
  return false;
}

bool lb_evidence_unanswered(const struct lb_history *h) {
  bool unanswered = false;
  for (size_t i = 0; i < h->count; i++) {
    if (h->events[i].kind == LB_EV_FAULT) return false;
    unanswered |= h->events[i].kind == LB_EV_NOT_RENEWED && h->events[i].check == LB_CHECK_NO_ANSWER;
  }
  return unanswered;
}

bool lb_evidence_observed(const struct lb_history *h, const char *role, bool present) {
  for (size_t n = 0; n < h->count; n++) {
    const struct lb_fact *f = lb_event_fact(h, &h->events[n]);
    if (h->events[n].kind != LB_EV_OBSERVED || f->role == LB_NO_NAME || f->present != present) continue;
    if (strcmp(h->texts.name[f->role], role) == 0) return true;
  }
  return false;
}
