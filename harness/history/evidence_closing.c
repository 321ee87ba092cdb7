/* SPDX-License-Identifier: MIT
 *
 * Whether a lock that could not be had came free by itself. A timeline in which nobody got it asks again at its end, for longer than any lease or
 * session can last that is not kept up; what came of that tells `delayed` from `stuck`.
 */
#include "evidence.h"
#include "evidence_parts.h"

static size_t find_phase(const struct lb_history *h, enum lb_fact_phase phase, size_t from) {
  for (size_t i = from; i < h->count; i++)
    if (h->events[i].kind == LB_EV_PHASE && lb_event_fact(h, &h->events[i])->phase == phase) return i;
  return h->count;
}

size_t lb_evidence_closing_begins(const struct lb_history *h) { return find_phase(h, LB_PHASE_CLOSING, 0); }

/* Whether the client is in the middle of an acquire at this event. */
static bool asks_at(const struct lb_history *h, size_t end, uint32_t client) {
  for (size_t i = end; i-- > 0;) {
    const struct lb_event *e = &h->events[i];
    if (e->client == client && (e->kind == LB_EV_ACQUIRE || e->kind == LB_EV_GRANTED || e->kind == LB_EV_CRASH || lb_gave_up(e))) return e->kind == LB_EV_ACQUIRE;
  }
  return false;
}

/* The latest moment at which somebody had asked in vain. An answer after `closed` is none: the clients are being ended. */
static void find_vain(const struct lb_history *h, size_t begin, size_t closed, struct lb_closing *ret) {
  for (size_t i = begin; i < closed; i++)
    if (lb_gave_up(&h->events[i])) ret->client = h->events[i].client, ret->at = h->events[i].t;
  for (uint32_t c = 0; closed < h->count && c < h->clients.count; c++)
    if (asks_at(h, closed, c)) ret->client = c, ret->at = h->events[closed].t;
}

void lb_evidence_closing(const struct lb_history *h, uint64_t ttl_ns, struct lb_closing *ret) {
  size_t begin = lb_evidence_closing_begins(h), closed = find_phase(h, LB_PHASE_CLOSED, begin);
  *ret = (struct lb_closing){.end = LB_CLOSING_NONE, .client = LB_NO_NAME};
  if (begin == h->count) return;
  ret->begin = h->events[begin].t;
  ret->last_end = ret->begin + ttl_ns;
  for (size_t i = 0; i < begin; i++)
    if (h->events[i].flags & LB_EVF_UNTIL) ret->last_end = lb_later(ret->last_end, h->events[i].until);
  for (size_t i = begin; i < h->count; i++) {
    if (h->events[i].kind != LB_EV_GRANTED) continue;
    ret->end = LB_CLOSING_GRANTED, ret->client = h->events[i].client, ret->at = h->events[i].t;
    return;
  }
  find_vain(h, begin, closed, ret);
  if (ret->client != LB_NO_NAME) ret->end = ret->at >= ret->last_end + ttl_ns / 2 ? LB_CLOSING_REFUSED : LB_CLOSING_UNKNOWN;
}
