/* SPDX-License-Identifier: MIT
 *
 * What a history shows beyond its verdict: which clients might have held a key at a moment, and whether a lock could
 * still be had at the end. Also whether a trial without damage says anything of its guard. Looks backwards and anew for
 * each question, because only a timeline is asked and its history is short.
 */
#include "evidence.h"

#include <stdlib.h>
#include <string.h>

#include "base/need.h"

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

/* An attempt ended without a grant. */
static bool gave_up(const struct lb_event *e) {
  return e->kind == LB_EV_BUSY || e->kind == LB_EV_TIMEOUT || e->kind == LB_EV_UNKNOWN;
}

/* Without an `until` nothing was said of an end: valid for ever. */
static bool valid_at(const struct lb_event *lease, uint64_t t) {
  return !(lease->flags & LB_EVF_UNTIL) || lease->until > t;
}

static size_t index_of(const struct lb_history *h, const struct lb_event *e) { return (size_t)(e - h->events); }

/* Whether a client was granted the key between two events: then the service had ended all earlier holds. */
static bool granted_between(const struct lb_history *h, uint32_t key, size_t begin, size_t end) {
  for (size_t i = begin; i < end; i++)
    if (h->events[i].kind == LB_EV_GRANTED && h->events[i].key == key) return true;
  return false;
}

/* Whether `client` was still asking for `key` at event `end`. Its outcome is then unknown. */
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

/* True if the text with this index is a list of hosts, as in "redis-4, redis-5", and has this one. */
static bool lists(const struct lb_history *history, uint32_t text, const char *host) {
  const char *list = text < history->texts.count ? history->texts.name[text] : "";
  size_t length = strlen(host);
  for (const char *at = list; (at = strstr(at, host)); at += length)
    if ((at == list || at[-1] == ' ') && (at[length] == ',' || at[length] == '\0')) return true;
  return false;
}

/* Whether a fault was done to that host in this event, or a cure: on either side of a cut. */
static bool touches(const struct lb_history *h, const struct lb_event *e, const char *host) {
  const struct lb_fact *f = lb_event_fact(h, e);
  return e->kind == LB_EV_TOUCHED && (lists(h, f->host, host) || lists(h, f->from, host));
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

/* Whether the request left: who gave up and certainly does not hold may never have sent one, unless it was connected to
 * a server then. */
static bool was_sent(const struct lb_history *h, size_t asks) {
  bool timed_out = false;
  for (size_t i = asks + 1; i < h->count; i++) {
    const struct lb_event *e = &h->events[i];
    if (e->client != h->events[asks].client || e->key != h->events[asks].key) continue;
    if (timed_out) return e->kind == LB_EV_SERVER && lb_event_fact(h, e)->host != LB_NO_NAME;
    if (e->kind != LB_EV_TIMEOUT) return true;
    timed_out = true;
  }
  return !timed_out;
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

/* An answer, or a silence that is one. */
static bool is_told(const struct lb_history *h, size_t asks) {
  bool known = is_known_who_holds(h, asks) || is_known_whom_it_asks(h, asks);
  return (known && was_sent(h, asks)) || is_answered(h, asks);
}

/* One such moment is enough. */
bool lb_evidence_contested(const struct lb_history *h, bool *ret_asked) {
  *ret_asked = false;
  for (size_t asks = 0; asks < h->count; asks++) {
    if (h->events[asks].kind != LB_EV_ACQUIRE || !is_taken_by_another(h, asks)) continue;
    *ret_asked = true;
    if (is_told(h, asks)) return true;
  }
  return false;
}

/* The event that ends this acquire; the number of events = it has no end. */
static size_t end_of_asking(const struct lb_history *h, size_t asks) {
  const struct lb_event *of = &h->events[asks];
  for (size_t i = asks + 1; i < h->count; i++)
    if (h->events[i].client == of->client && h->events[i].key == of->key &&
        (h->events[i].kind == LB_EV_GRANTED || gave_up(&h->events[i])))
      return i;
  return h->count;
}

bool lb_evidence_answered_while(const struct lb_history *h, uint32_t fault, uint32_t end) {
  size_t begins = 0, ends;
  while (begins < h->count &&
         (h->events[begins].kind != LB_EV_FAULT || lb_event_fact(h, &h->events[begins])->step != fault))
    begins++;
  if (begins == h->count) return true;
  for (ends = begins; ends < h->count && lb_event_fact(h, &h->events[ends])->step < end; ends++) continue;
  for (size_t asks = 0; asks < ends; asks++)
    if (h->events[asks].kind == LB_EV_ACQUIRE && end_of_asking(h, asks) > begins && is_told(h, asks)) return true;
  return false;
}

bool lb_evidence_observed(const struct lb_history *h, const char *role, bool present) {
  for (size_t n = 0; n < h->count; n++) {
    const struct lb_fact *f = lb_event_fact(h, &h->events[n]);
    if (h->events[n].kind != LB_EV_OBSERVED || f->role == LB_NO_NAME || f->present != present) continue;
    if (strcmp(h->texts.name[f->role], role) == 0) return true;
  }
  return false;
}

/* The holder whose lease is over when this acquire gives up, if it has not released. */
static bool is_kept_by_nothing(const struct lb_history *h, size_t at, uint64_t grace_ns, uint32_t *ret_holder) {
  const struct lb_event *lease, *e = &h->events[at];
  for (uint32_t c = 0; c < h->clients.count; c++) {
    if (c == e->client || !holds_at(h, at, c, e->key) || !latest(h, at, c, e->key, &lease)) continue;
    *ret_holder = c;
    return lease->flags & LB_EVF_UNTIL && lease->until + grace_ns <= e->t;
  }
  return false;
}

bool lb_evidence_kept_out_by_nobody(const struct lb_history *h, uint64_t ttl_ns, uint32_t *ret_client,
                                    uint32_t *ret_holder) {
  for (size_t i = 0; i < h->count; i++)
    if (h->events[i].kind == LB_EV_FAULT) return false;
  for (size_t i = 0; i < h->count; i++) {
    if (!gave_up(&h->events[i]) || !is_kept_by_nothing(h, i, ttl_ns / 2, ret_holder)) continue;
    *ret_client = h->events[i].client;
    return true;
  }
  return false;
}

/* ---- Whether a lock that could not be had came free by itself. A timeline without a grant asks again at its end, for
 * longer than any lease or session without renewal lasts. The outcome tells `delayed` from `stuck`. */

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
    if (e->client == client &&
        (e->kind == LB_EV_ACQUIRE || e->kind == LB_EV_GRANTED || e->kind == LB_EV_CRASH || gave_up(e)))
      return e->kind == LB_EV_ACQUIRE;
  }
  return false;
}

/* The latest moment at which an acquire was refused or still open. An answer after `closed` does not count: the clients
 * are being ended. */
static void find_vain(const struct lb_history *h, size_t begin, size_t closed, struct lb_closing *ret) {
  for (size_t i = begin; i < closed; i++)
    if (gave_up(&h->events[i])) ret->client = h->events[i].client, ret->at = h->events[i].t;
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
  if (ret->client != LB_NO_NAME)
    ret->end = ret->at >= ret->last_end + ttl_ns / 2 ? LB_CLOSING_REFUSED : LB_CLOSING_UNKNOWN;
}

/* ---- Whether a lock could not be had any more. The last client that asked got nothing. That is right while another
 * client holds the lock, and while the service cannot know that a client has ended. So the question is until when that
 * was.
 *
 * The service may keep a key for a client
 * - while the client holds it, be its lease over or not: it is there to let go of it;
 * - that has let go or learned of a loss, until that is confirmed, but not beyond its last lease;
 * - that gave up asking without knowing whether it holds, for a ttl: no grant is good for longer;
 * - that died holding or asking, for a ttl and to the end of its lease.
 * After a grant of the key to another client it may keep it for none of them, unless the two may hold it together. A
 * lease without an end gives no right beyond its client's hold. */

struct keeping {  /* of a client */
  uint64_t depth; /* so often it holds */
  bool asks;      /* or gave up without knowing */
  bool shared;    /* what it holds, or may still hold */
  uint64_t lease; /* the end of its lease, 0 = it has none */
  uint64_t until; /* the service may keep the key for it until then */
  bool lets_go;   /* of a record that has no end: until that is confirmed, whenever that is */
};

static bool is_of(const struct lb_event *e, uint32_t client, uint32_t key) {
  return e->client == client && (e->key == key || (e->kind == LB_EV_CRASH && e->key == LB_NO_NAME));
}

/* A right that was over is not prolonged by an answer that comes late. */
static void confirm(struct keeping *k, uint64_t t) {
  if (k->lets_go || t < k->until) k->until = t;
  k->lets_go = false;
}

/* What the client did itself. */
static void follow(struct keeping *k, const struct lb_event *e, uint64_t ttl_ns) {
  uint64_t after_ttl = e->t + ttl_ns;
  switch (e->kind) {
    case LB_EV_ACQUIRE: k->asks = true; break;
    case LB_EV_GRANTED: k->shared = e->flags & LB_EVF_SHARED && (k->shared || !k->depth); k->depth++; /* fall through */
    case LB_EV_RENEWED: k->lease = e->flags & LB_EVF_UNTIL ? e->until : 0; break;
    case LB_EV_RELEASE:
    case LB_EV_LOST: /* after a release it is the answer to that */
      if (e->kind == LB_EV_RELEASE && k->depth > 1) {
        k->depth--;
        break;
      }
      if (k->depth) k->until = lb_later(e->t, k->lease), k->lets_go = e->kind == LB_EV_RELEASE && !k->lease;
      else confirm(k, e->t);
      k->depth = 0, k->asks = false;
      break;
    case LB_EV_RELEASED:
      if (k->depth == 0) confirm(k, e->t), *k = (struct keeping){.until = k->until};
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

/* How long of the time between two events no client had a right to the key. */
static uint64_t free_for(const struct lb_history *h, size_t asked, size_t end, uint64_t ttl_ns) {
  uint64_t from = h->events[asked].t, to = h->events[end].t;
  for (uint32_t c = 0; c < h->clients.count; c++)
    from = lb_later(from, kept_until(h, end, c, h->events[end].key, ttl_ns));
  return to > from ? to - from : 0;
}

/* The last one to give up decides, unless its key was granted since. */
bool lb_evidence_in_vain(const struct lb_history *h, uint64_t ttl_ns, struct lb_in_vain *ret) {
  size_t last = lb_evidence_closing_begins(h), end = last;
  while (end > 0 && !(gave_up(&h->events[end - 1]) && !granted_between(h, h->events[end - 1].key, end, last))) end--;
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

/* ---- Whether a trial without damage says anything of its guard.
 *
 * The question is whether the lock or the guard kept the resource whole. Only the stop of a client that another one had
 * overtaken did: what the others would have written, had they gone on, was theirs to write. Where no such client was
 * stopped, the guard kept nothing: either the lock did, or it was chance. Whether two clients held at once tells which
 * (judge.c).
 *
 * Where the resource checks, a stop is a refusal, and it always has an answer. Where clients check themselves, a stop
 * counts if the check was answered (by the client's own clock, by its library, by a server). A stop without an answer
 * is an accident, as of a socket that leads to a dead server: the same client would have written, had it connected
 * again. It is none if the client was cut off, so that no answer could come. Nor if it was stopped while it asked, so
 * that its time was over before it could read one. A guard is for such stops. */

struct guarded {
  const struct lb_history *h;
  const char *const *servers;
  size_t count, needed; /* of servers, and from how many of them a client has to be cut off */
};

/* ---- cut off ----------------------------------------------------------------------------------------------------- */

static const char *text_of(const struct lb_history *h, uint32_t text) {
  return text < h->texts.count ? h->texts.name[text] : "";
}

/* What a cut was called is in the fact of the fault itself: a `heal` names it by the same two roles. */
static const struct lb_fact *fault_of(const struct lb_history *h, uint32_t step, size_t before) {
  for (size_t i = before; i-- > 0;) {
    const struct lb_fact *f = lb_event_fact(h, &h->events[i]);
    if (h->events[i].kind == LB_EV_FAULT && f->step == step) return f;
  }
  return &lb_no_fact;
}

/* Whether the fault of this event, done at event `cut`, was taken back by event `at`: it is the end
 * of the same step, or a heal of all cuts, or of those with its roles. A heal of one cut too many
 * only costs an excuse. */
static bool is_taken_back(const struct lb_history *h, size_t cut, size_t at) {
  uint32_t step = lb_event_fact(h, &h->events[cut])->step;
  const struct lb_fact *named = fault_of(h, step, at);
  for (size_t i = cut + 1; i < at; i++) {
    const struct lb_fact *f = lb_event_fact(h, &h->events[i]);
    if (h->events[i].kind == LB_EV_OVER && f->step == step) return true;
    if (h->events[i].kind != LB_EV_FAULT || strcmp(text_of(h, f->verb), "heal") != 0) continue;
    if (f->role == LB_NO_NAME || (f->role == named->role && f->from == named->from)) return true;
  }
  return false;
}

static bool is_proved(const struct lb_history *h, size_t cut) {
  uint32_t step = lb_event_fact(h, &h->events[cut])->step;
  for (size_t i = cut; i < h->count; i++)
    if (h->events[i].kind == LB_EV_PROVED && lb_event_fact(h, &h->events[i])->step == step) return true;
  return false;
}

/* The servers that a cut has between itself and the client, as a text; LB_NO_NAME = none. */
static uint32_t other_side(const struct lb_history *h, const struct lb_event *e, const char *client) {
  const struct lb_fact *f = lb_event_fact(h, e);
  if (e->kind != LB_EV_TOUCHED || strcmp(text_of(h, f->verb), "cut") != 0) return LB_NO_NAME;
  if (lists(h, f->host, client)) return f->from;
  return lists(h, f->from, client) ? f->host : LB_NO_NAME;
}

/* Whether proved cuts of the scenario keep the client of event `at` from so many servers then that
 * none could have answered for the lock. */
static bool is_cut_off(const struct guarded *g, size_t at) {
  const char *client = g->h->clients.name[g->h->events[at].client];
  size_t from = 0;
  for (size_t s = 0; s < g->count; s++)
    for (size_t i = 0; i < at; i++) {
      if (!lists(g->h, other_side(g->h, &g->h->events[i], client), g->servers[s])) continue;
      if (!is_proved(g->h, i) || is_taken_back(g->h, i, at)) continue;
      from++;
      break;
    }
  return g->needed > 0 && from >= g->needed;
}

/* Whether the client of this check was paused while it asked. A pause before the question explains nothing. */
static bool stood_still(const struct guarded *g, size_t at) {
  const struct lb_event *check = &g->h->events[at];
  if (!(check->flags & LB_EVF_DUE)) return false;
  for (size_t i = at; i-- > 0 && g->h->events[i].t >= check->due;) {
    const struct lb_event *e = &g->h->events[i];
    const struct lb_fact *f = lb_event_fact(g->h, e);
    if (e->kind != LB_EV_TOUCHED || strcmp(text_of(g->h, f->verb), "pause") != 0) continue;
    if (lists(g->h, f->host, g->h->clients.name[check->client]) && is_proved(g->h, i)) return true;
  }
  return false;
}

/* ---- who kept the resource whole --------------------------------------------------------------------------------- */

static bool has_answer(const struct lb_event *check) {
  return check->check != LB_CHECK_NO_ANSWER && check->check != LB_CHECK_ERROR;
}

/* True if a stop of an overtaken client counts. Else *ret_stop is the first one without an answer, or NULL if no such
 * client was stopped. The numbers are those of all checks. */
static bool sweep(const struct guarded *g, uint32_t *last, size_t *ret_checks, size_t *ret_answered,
                  const struct lb_event **ret_stop) {
  bool counts = false;
  *ret_stop = NULL;
  for (size_t i = 0; i < g->h->count; i++) {
    const struct lb_event *e = &g->h->events[i];
    if (e->kind == LB_EV_GRANTED) last[e->key] = e->client;
    if (e->kind != LB_EV_CHECK) continue;
    bool overtaken = last[e->key] != e->client && last[e->key] != LB_NO_NAME;
    (*ret_checks)++;
    *ret_answered += has_answer(e);
    if (e->check == LB_CHECK_PASSED || !overtaken || counts) continue;
    counts = has_answer(e) || is_cut_off(g, i) || stood_still(g, i);
    if (!counts && !*ret_stop) *ret_stop = e;
  }
  if (counts) *ret_stop = NULL;
  return counts;
}

enum lb_guard_evidence lb_evidence_guard(const struct lb_history *h, const char *const *servers, size_t count,
                                         size_t needed, uint32_t *ret_client) {
  struct guarded g = {.h = h, .servers = servers, .count = count, .needed = needed};
  uint32_t *last = lb_need(malloc((h->keys.count + 1) * sizeof *last));
  const struct lb_event *stop;
  size_t checks = 0, answered = 0;
  for (size_t i = 0; i < h->keys.count; i++) last[i] = LB_NO_NAME;
  bool counts = sweep(&g, last, &checks, &answered, &stop);
  free(last);
  *ret_client = stop ? stop->client : LB_NO_NAME;
  if (checks == 0) return LB_GUARD_NOT_ASKED;
  if (answered == 0) return LB_GUARD_NOT_ANSWERED;
  if (counts) return LB_GUARD_WORKED;
  return stop ? LB_GUARD_STOPPED_UNANSWERED : LB_GUARD_STOPPED_NOBODY;
}

/* ---- where the resource checks ----------------------------------------------------------------------------------- */

static bool is_access(const struct lb_event *e) { return e->kind == LB_EV_READ || e->kind == LB_EV_WRITE; }

/* Whether another client had used the resource before this refusal: since the client's own grant, or at any time under
 * a larger number. A client that was granted the lock in an old state holds late, and its number was overtaken before
 * it did. */
static bool is_overtaken_at(const struct lb_history *h, size_t refusal) {
  const struct lb_event *refused = &h->events[refusal];
  bool since_grant = true;
  for (size_t i = refusal; i-- > 0;) {
    const struct lb_event *e = &h->events[i];
    if (e->key != refused->key) continue;
    if (e->client == refused->client) since_grant &= e->kind != LB_EV_GRANTED;
    else if (is_access(e) && !(e->flags & LB_EVF_REFUSED) && (since_grant || e->fence > refused->fence)) return true;
  }
  return false;
}

bool lb_evidence_refused(const struct lb_history *h) {
  for (size_t i = 0; i < h->count; i++)
    if (is_access(&h->events[i]) && h->events[i].flags & LB_EVF_REFUSED && is_overtaken_at(h, i)) return true;
  return false;
}

/* The client that was granted last holds, so no client has overtaken it. A shared lock may have several holders, so
 * there no number has to be the largest. */
uint64_t lb_evidence_refused_holder(const struct lb_history *h) {
  uint32_t *last = lb_need(malloc((h->keys.count + 1) * sizeof *last));
  uint64_t refused = 0;
  for (size_t i = 0; i < h->keys.count; i++) last[i] = LB_NO_NAME;
  for (size_t i = 0; i < h->count; i++) {
    const struct lb_event *e = &h->events[i];
    if (e->kind == LB_EV_FAULT) {
      refused = 0;
      break;
    }
    if (e->kind == LB_EV_GRANTED)
      last[e->key] = e->flags & LB_EVF_SHARED || lb_history_permits(h, e->key) != 1 ? LB_NO_NAME : e->client;
    else if (is_access(e) && e->flags & LB_EVF_REFUSED) refused += last[e->key] == e->client;
  }
  free(last);
  return refused;
}
