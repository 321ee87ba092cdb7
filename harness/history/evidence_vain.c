/* SPDX-License-Identifier: MIT
 *
 * Whether a lock could not be had any more. The last one who asked got nothing: that is right while another client holds it, and while the service keeps it for one of
 * whom it cannot know better. So the question is until when that was.
 *
 * The service may keep a key for a client
 * - while the client holds it, be its lease over or not: it is there to let go of it;
 * - that has let go or learned of a loss, until that is confirmed, but not beyond its last lease;
 * - that gave up asking without knowing whether it holds, for a ttl: no grant is good for longer;
 * - that died holding or asking, for a ttl and to the end of its lease;
 * and for none of them after another client was granted the key, unless the two may hold it together. A lease without an end gives
 * nobody a right beyond its client's hold.
 */
#include "evidence.h"
#include "evidence_parts.h"

struct keeping {    /* of a client */
  uint64_t depth;   /* so often it holds */
  bool asks;        /* or gave up without knowing */
  bool shared;      /* what it holds, or may still hold */
  uint64_t lease;   /* the end of its lease, 0 = it has none */
  uint64_t until;   /* the service may keep the key for it until then */
};

static bool is_of(const struct lb_event *e, uint32_t client, uint32_t key) {
  return e->client == client && (e->key == key || (e->kind == LB_EV_CRASH && e->key == LB_NO_NAME));
}

/* What the client did itself. */
static void follow(struct keeping *k, const struct lb_event *e, uint64_t ttl_ns) {
  uint64_t after_ttl = e->t + ttl_ns;
  switch (e->kind) {
    case LB_EV_ACQUIRE: k->asks = true; break;
    case LB_EV_GRANTED:
      k->shared = e->flags & LB_EVF_SHARED && (k->shared || !k->depth);
      k->depth++; /* fall through */
    case LB_EV_RENEWED: k->lease = e->flags & LB_EVF_UNTIL ? e->until : 0; break;
    case LB_EV_RELEASE:
    case LB_EV_LOST: /* after a release it is the answer to that */
      if (e->kind == LB_EV_RELEASE && k->depth > 1) {
        k->depth--;
        break;
      }
      k->until = k->depth ? lb_later(e->t, k->lease) : e->t;
      k->depth = 0, k->asks = false;
      break;
    case LB_EV_RELEASED:
      if (k->depth == 0) *k = (struct keeping){.until = e->t};
      break;
    case LB_EV_BUSY:
    case LB_EV_TIMEOUT: k->asks = false; break;
    case LB_EV_UNKNOWN: k->until = after_ttl; break;
    case LB_EV_CRASH:
      if (k->depth || k->asks) k->until = lb_later(after_ttl, k->depth ? k->lease : 0);
      k->depth = 0, k->asks = false;
      break;
    default: break;
  }
}

/* Until when the service may have kept the key for this client, as far as event `end` knows;
 * UINT64_MAX: it still may. */
static uint64_t kept_until(const struct lb_history *h, size_t end, uint32_t client, uint32_t key, uint64_t ttl_ns) {
  struct keeping k = {0};
  uint64_t permits = lb_history_permits(h, key);
  for (size_t i = 0; i < end; i++) {
    const struct lb_event *e = &h->events[i];
    if (is_of(e, client, key)) follow(&k, e, ttl_ns);
    else if (e->kind == LB_EV_GRANTED && e->key == key && permits == 1 && !(k.shared && e->flags & LB_EVF_SHARED))
      k = (struct keeping){.until = e->t, .asks = k.asks};
  }
  return k.depth ? UINT64_MAX : k.until;
}

/* The latest question of that client for that key before event `end`; `end` = none. */
static size_t question(const struct lb_history *h, size_t end) {
  for (size_t i = end; i-- > 0;) {
    const struct lb_event *e = &h->events[i];
    if (e->kind == LB_EV_ACQUIRE && e->client == h->events[end].client && e->key == h->events[end].key) return i;
  }
  return end;
}

/* How long of the time between two events nobody had a right to the key. */
static uint64_t free_for(const struct lb_history *h, size_t asked, size_t end, uint64_t ttl_ns) {
  uint64_t from = h->events[asked].t, to = h->events[end].t;
  for (uint32_t c = 0; c < h->clients.count; c++) from = lb_later(from, kept_until(h, end, c, h->events[end].key, ttl_ns));
  return to > from ? to - from : 0;
}

static bool is_granted_in(const struct lb_history *h, uint32_t key, size_t begin, size_t end) {
  for (size_t i = begin; i < end; i++)
    if (h->events[i].kind == LB_EV_GRANTED && h->events[i].key == key) return true;
  return false;
}

/* The last one to give up decides, unless its key was granted since. */
bool lb_evidence_in_vain(const struct lb_history *h, uint64_t ttl_ns, struct lb_in_vain *ret) {
  size_t last = lb_evidence_closing_begins(h), end = last;
  while (end > 0 && !(lb_gave_up(&h->events[end - 1]) && !is_granted_in(h, h->events[end - 1].key, end, last))) end--;
  if (end-- == 0) return false;
  size_t asked = question(h, end);
  uint64_t length = h->events[end].t - h->events[asked].t, free = free_for(h, asked, end, ttl_ns);
  *ret = (struct lb_in_vain){.client = h->events[end].client,
                             .key = h->events[end].key,
                             .asked_ns = length,
                             .free_ns = free,
                             .free_since = h->events[end].t - free};
  return free > 0 && free >= length / 2;
}
