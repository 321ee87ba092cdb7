/* SPDX-License-Identifier: MIT
 *
 * Figures of speed: one pass over the sorted events. What began before the measured window (an
 * attempt, a hold) is followed all the same, but only grants and outcomes inside it are counted.
 *
 * Nothing here judges. A hold that ended by loss or death has no length that the lock is to be
 * measured by; it is counted elsewhere.
 */
#include "stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/need.h"

#define NS_PER_S UINT64_C(1000000000)
#define NO_EVENT SIZE_MAX
#define NO_CLIENT UINT32_MAX

struct pair {     /* a client and a key */
  size_t asked;   /* event: the first acquire of the present attempt; NO_EVENT = none */
  bool given_up;  /* the attempt ended, but a late grant would still belong to it */
  bool waited;    /* its wait is counted: it was given up in the window */
  size_t granted; /* event: begin of the present hold; NO_EVENT = none */
  uint64_t depth; /* of it: grants less releases */
  bool measured;  /* it lies inside the window */
  size_t freeing; /* event: the release that was not confirmed yet; NO_EVENT = none */
};

static const struct pair no_pair = {.asked = NO_EVENT, .granted = NO_EVENT, .freeing = NO_EVENT};

struct key {
  uint32_t granted_to; /* client of the latest grant */
  uint32_t holders;    /* of a lock that excludes: 0 or 1 */
  /* Events after which no client held it, since another client was granted it: the first after each that asked. */
  size_t *releases;
  size_t release_count;
  bool new_waiter;       /* another client has asked since the last of them, or may have before the first */
  uint32_t asking;       /* clients that ask for it */
  bool wanted;           /* a client has asked since the latest grant ... */
  uint64_t wanted_since; /* ... or was waiting then: since that time */
  uint64_t asked_until;  /* without a client that asks: until then there was one */
  uint64_t granted[2];   /* how often so far: to writers, to readers */
};

struct turn {            /* of a client that asks as a reader, or as a writer */
  bool waits;            /* it has asked since its latest grant ... */
  uint64_t since, until; /* ... for the first time then; and was last refused then, 0 = not yet */
  uint64_t asked;        /* its latest request ... */
  uint32_t key;          /* ... of this key */
  uint64_t before;       /* grants of the key that it cannot share, when it first asked for it; and its own since */
  bool passed;           /* others were granted the key since it waits */
};

struct client {
  bool asked;       /* in the window */
  uint32_t waiting; /* attempts under way */
  uint64_t grants;
  bool asks, answered, granted; /* ever */
  bool shared;                  /* its latest request is that of a reader */
  struct turn turn[2];          /* as a writer, as a reader */
};

struct pass {
  const struct lb_history *history;
  struct lb_stats *stats;
  size_t begin, end; /* the window, as events: [begin, end) */
  uint64_t begin_t, end_t;
  struct lb_pairs numbers;
  struct pair *pairs;
  struct key *keys;
  struct client *clients;
  struct lb_hist *second_wait; /* of the second `second` */
  size_t second;
};

/* ---- the window -------------------------------------------------------------------------------------------------- */

/* The event from which the phase counts, or `otherwise`: a history of another tool has no phases. */
static size_t find_phase(const struct lb_history *h, enum lb_fact_phase phase, size_t from, size_t otherwise) {
  for (size_t i = from; i < h->count; i++)
    if (h->events[i].kind == LB_EV_PHASE && lb_event_fact(h, &h->events[i])->phase == phase) return i;
  return otherwise;
}

static void find_window(struct pass *p) {
  const struct lb_history *h = p->history;
  p->begin = find_phase(h, LB_PHASE_MEASURE, 0, 0);
  p->end = find_phase(h, LB_PHASE_END, p->begin, h->count);
  p->begin_t = h->count ? h->events[p->begin].t : 0;
  p->end_t = h->count ? h->events[p->end < h->count ? p->end : h->count - 1].t : 0;
  p->stats->begin_ns = p->begin_t, p->stats->end_ns = p->end_t;
  p->stats->seconds = (double)(p->end_t - p->begin_t) / (double)NS_PER_S;
}

static bool inside(const struct pass *p, size_t event) { return event >= p->begin && event < p->end; }

/* ---- seconds ----------------------------------------------------------------------------------------------------- */

/* NULL where the window is too long to be told second by second. */
static struct lb_second *second_of(struct pass *p, uint64_t t) {
  size_t i = (size_t)((t - p->begin_t) / NS_PER_S), last = p->stats->series_count - 1;
  return p->stats->series_count ? &p->stats->series[i < last ? i : last]
                                : NULL; /* the end of the window is in the last */
}

/* One histogram serves all seconds in turn: a histogram per second would take tens of megabytes for
 * an hour. */
static void close_second(struct pass *p) {
  if (p->second_wait->count == 0) return;
  p->stats->series[p->second].wait_p50_ns = lb_hist_quantile(p->second_wait, 0.5);
  p->stats->series[p->second].wait_p99_ns = lb_hist_quantile(p->second_wait, 0.99);
  lb_hist_init(p->second_wait);
}

static void add_wait(struct pass *p, uint64_t t, uint64_t wait) {
  struct lb_second *second = second_of(p, t);
  lb_hist_add(&p->stats->wait, wait);
  if (!second) return;
  if (second->second != p->second) close_second(p);
  p->second = second->second;
  lb_hist_add(p->second_wait, wait);
}

/* ---- times without a grant --------------------------------------------------------------------------------------- */

static uint64_t wanted_from(const struct pass *p, uint32_t number) {
  uint64_t since = p->keys[number].wanted_since;
  return since > p->begin_t ? since : p->begin_t;
}

/* From when the key was wanted to `t`, as far as both lie in the window; -1 = it was not. */
static int64_t no_grant(const struct pass *p, uint32_t number, uint64_t t) {
  uint64_t from = wanted_from(p, number), to = t < p->end_t ? t : p->end_t;
  return !p->keys[number].wanted || to < from ? -1 : (int64_t)(to - from);
}

static void note_no_grant(struct pass *p, uint32_t number, uint64_t t) {
  int64_t length = no_grant(p, number, t);
  if (length <= p->stats->no_grant_ns) return;
  uint64_t from = wanted_from(p, number);
  p->stats->no_grant_ns = length;
  p->stats->no_grant = (struct lb_no_grant){number, from, from + (uint64_t)length};
}

static void want(struct key *key, uint64_t t) {
  key->asking++;
  if (!key->wanted) key->wanted_since = t;
  key->wanted = true;
}

static void want_no_more(struct key *key, uint64_t t) {
  key->asking--;
  key->asked_until = t;
}

/* A client that still waits has waited from this grant on. */
static void serve(struct pass *p, uint32_t number, uint64_t t) {
  struct key *key = &p->keys[number];
  note_no_grant(p, number, t);
  key->wanted = key->asking > 0;
  key->wanted_since = t;
}

/* What was wanted and never granted again. */
static void close_wants(struct pass *p) {
  for (uint32_t i = 0; i < p->history->keys.count; i++) {
    uint64_t until = p->keys[i].asking > 0 ? p->end_t : p->keys[i].asked_until;
    int64_t length = no_grant(p, i, until);
    note_no_grant(p, i, until);
    if (length <= p->stats->no_grant_open_ns) continue;
    uint64_t from = wanted_from(p, i);
    p->stats->no_grant_open_ns = length;
    p->stats->no_grant_open = (struct lb_no_grant){i, from, from + (uint64_t)length};
  }
}

/* ---- who is left out --------------------------------------------------------------------------------------------- */

/* A reader shares with readers, a writer not at all. */
static uint64_t conflicting(const struct key *key, bool shared) {
  return key->granted[0] + (shared ? 0 : key->granted[1]);
}

static void keep_longest(struct lb_turn *longest, const struct lb_turn *turn) {
  if (turn->ns > longest->ns) *longest = *turn;
}

static struct lb_turn turn_of(const struct turn *turn, uint32_t client, bool shared, uint64_t until) {
  uint64_t since = turn->until ? turn->since : turn->asked;
  return (struct lb_turn){(int64_t)(until - since), client, shared, since};
}

static void begin_turn(struct pass *p, struct client *c, const struct lb_event *e) {
  c->asks = true;
  c->shared = e->flags & LB_EVF_SHARED;
  struct turn *turn = &c->turn[c->shared];
  turn->asked = e->t > p->begin_t ? e->t : p->begin_t;
  if (!turn->waits || turn->key != e->key) turn->before = conflicting(&p->keys[e->key], c->shared);
  turn->key = e->key;
  if (!turn->waits) turn->waits = true, turn->since = turn->asked, turn->until = 0, turn->passed = false;
}

/* The grant says how it asked where its request does not. */
static void be_granted(struct pass *p, struct client *c, const struct lb_event *e) {
  bool shared = c->shared || e->flags & LB_EVF_SHARED;
  struct turn *turn = &c->turn[shared];
  if (turn->waits && e->t > turn->asked) {
    struct lb_turn whole = turn_of(turn, e->client, shared, e->t);
    keep_longest(&p->stats->longest, &whole);
    if (turn->passed) keep_longest(&p->stats->left_out, &whole);
  }
  turn->waits = false;
  c->turn[!shared].before += c->turn[!shared].key == e->key;
  p->keys[e->key].granted[shared]++;
}

/* Only the time up to an answer counts: a request without an answer is not the lock's refusal. */
static void follow(struct pass *p, const struct lb_event *e, size_t event) {
  struct client *c = &p->clients[e->client];
  bool refused = e->kind == LB_EV_BUSY || (e->kind == LB_EV_UNKNOWN && e->flags & LB_EVF_REFUSED);
  bool ends = refused || e->kind == LB_EV_UNKNOWN || e->kind == LB_EV_TIMEOUT || e->kind == LB_EV_GRANTED;
  if (e->kind == LB_EV_CRASH) c->turn[0].waits = c->turn[1].waits = false;
  if (e->key == LB_NO_NAME) return;
  if (e->kind == LB_EV_ACQUIRE) begin_turn(p, c, e);
  struct turn *turn = &c->turn[c->shared];
  if (ends) turn->passed |= conflicting(&p->keys[e->key], c->shared) > turn->before;
  if (refused && event < p->end && e->t > turn->since) turn->until = e->t;
  if (e->kind == LB_EV_GRANTED && event < p->end) be_granted(p, c, e); /* later, the others have stopped asking */
  c->granted |= e->kind == LB_EV_GRANTED;
  c->answered |= refused || e->kind == LB_EV_GRANTED;
}

static void close_turns(const struct pass *p) {
  struct lb_stats *st = p->stats;
  for (uint32_t i = 0; i < p->history->clients.count; i++) {
    const struct client *c = &p->clients[i];
    st->unanswered += c->asks && !c->answered;
    st->never_granted += c->answered && !c->granted;
    for (int shared = 0; shared < 2; shared++) {
      const struct turn *turn = &c->turn[shared];
      if (!turn->waits || !turn->until) continue;
      struct lb_turn whole = turn_of(turn, i, shared, turn->until);
      keep_longest(&st->longest, &whole);
      if (turn->passed) keep_longest(&st->left_out, &whole), keep_longest(&st->left_out_open, &whole);
    }
  }
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static struct pair *find_pair(struct pass *p, const struct lb_event *e) {
  uint32_t before = p->numbers.count, number = lb_pairs_number(&p->numbers, e->client, e->key);
  if (p->numbers.count > before) {
    p->pairs = lb_need_one_more(p->pairs, number, sizeof *p->pairs);
    p->pairs[number] = no_pair;
  }
  return &p->pairs[number];
}

/* One client may ask for several keys at once; `waiting` counts these attempts. */
static void count_ask(struct pass *p, struct pair *pair, const struct lb_event *e, size_t event) {
  struct client *client = &p->clients[e->client];
  if (inside(p, event)) client->asked = true;
  if (pair->asked != NO_EVENT && !pair->given_up) return; /* a retry */
  pair->asked = event;
  pair->given_up = pair->waited = false;
  pair->freeing = NO_EVENT;
  client->waiting++;
  want(&p->keys[e->key], e->t);
  p->keys[e->key].new_waiter |= p->keys[e->key].granted_to != e->client;
}

static void stop_waiting(struct pass *p, struct pair *pair, const struct lb_event *e) {
  if (pair->asked != NO_EVENT && !pair->given_up) {
    p->clients[e->client].waiting--;
    want_no_more(&p->keys[e->key], e->t);
  }
  pair->given_up = true;
}

/* In an open loop since the request was due, however late it was sent. */
static uint64_t wait_of(const struct pass *p, const struct pair *pair, const struct lb_event *e) {
  const struct lb_event *asked = &p->history->events[pair->asked];
  return e->t - (asked->flags & LB_EVF_DUE ? asked->due : asked->t);
}

static void count_handoff(struct lb_stats *stats, uint32_t before, uint32_t now) {
  if (before == NO_CLIENT) return;
  if (before == now) stats->regrants++;
  else stats->handoffs++;
}

/* The hand-off began when the client before let go for the first time while this one waited. NO_EVENT = it did not, or
 * this client takes again what it had. */
static size_t let_go(const struct key *key, const struct pair *pair, uint32_t client) {
  if (key->granted_to == client) return NO_EVENT;
  for (size_t i = 0; i < key->release_count; i++)
    if (key->releases[i] > pair->asked) return key->releases[i];
  return NO_EVENT;
}

static void measure_grant(struct pass *p, const struct pair *pair, const struct lb_event *e) {
  const struct lb_event *events = p->history->events;
  const struct key *key = &p->keys[e->key];
  struct lb_second *second = second_of(p, e->t);
  p->stats->grants++;
  count_handoff(p->stats, key->granted_to, e->client);
  p->clients[e->client].grants++;
  p->clients[e->client].asked = true;
  if (second) second->grants++;
  if (pair->asked == NO_EVENT) return;
  const struct lb_event *asked = &events[pair->asked];
  if (!pair->waited) add_wait(p, e->t, wait_of(p, pair, e));
  if (asked->flags & LB_EVF_DUE) lb_hist_add(&p->stats->service, e->t - asked->t);
  size_t begin = let_go(key, pair, e->client);
  if (begin != NO_EVENT) lb_hist_add(&p->stats->handoff, e->t - events[begin].t);
}

static void grant(struct pass *p, struct pair *pair, const struct lb_event *e, size_t event) {
  if (inside(p, event)) measure_grant(p, pair, e);
  stop_waiting(p, pair, e);
  serve(p, e->key, e->t);
  if (p->keys[e->key].granted_to != e->client) p->keys[e->key].release_count = 0, p->keys[e->key].new_waiter = true;
  p->keys[e->key].granted_to = e->client;
  pair->asked = NO_EVENT;
  if (pair->granted != NO_EVENT) { /* granted again what it holds: the same hold goes on */
    pair->depth++;
    return;
  }
  pair->granted = event;
  p->keys[e->key].holders++;
  pair->depth = 1;
  pair->measured = inside(p, event);
}

static void end_hold(struct key *key, struct pair *pair) {
  key->holders -= pair->granted != NO_EVENT;
  pair->granted = NO_EVENT;
}

static void add_release(struct key *key, size_t event) {
  LB_APPEND(key->releases, key->release_count) = event;
  key->new_waiter = false;
}

static void release(struct pass *p, struct pair *pair, const struct lb_event *e, size_t event) {
  struct key *key = &p->keys[e->key];
  if (pair->granted != NO_EVENT && --pair->depth > 0) return; /* it still holds */
  bool held = pair->granted != NO_EVENT;
  if (held && pair->measured) lb_hist_add(&p->stats->hold, e->t - p->history->events[pair->granted].t);
  end_hold(key, pair);
  pair->freeing = event;
  if (held && key->holders == 0 && key->new_waiter) add_release(key, event);
}

/* A confirmation without a request of this hold is that of an older debt. */
static void released(struct pass *p, struct pair *pair, const struct lb_event *e) {
  if (pair->freeing != NO_EVENT && inside(p, pair->freeing))
    lb_hist_add(&p->stats->release, e->t - p->history->events[pair->freeing].t);
  pair->freeing = NO_EVENT;
}

static void add_outcome(unsigned kind, uint64_t *busy, uint64_t *timeouts, uint64_t *unknowns) {
  if (kind == LB_EV_BUSY) (*busy)++;
  else if (kind == LB_EV_TIMEOUT) (*timeouts)++;
  else (*unknowns)++;
}

/* A client that gives up has waited at least so long. Without such waits the slowest would be missing from the
 * quantiles. */
static void count_outcome(struct pass *p, struct pair *pair, const struct lb_event *e, size_t event) {
  if (!inside(p, event)) return;
  struct lb_second *second = second_of(p, e->t);
  add_outcome(e->kind, &p->stats->busy, &p->stats->timeouts, &p->stats->unknowns);
  if (second) add_outcome(e->kind, &second->busy, &second->timeouts, &second->unknowns);
  if (pair->asked == NO_EVENT || pair->given_up) return;
  add_wait(p, e->t, wait_of(p, pair, e));
  pair->waited = true;
}

/* Nothing that the dead had begun will end. Crashes are few, so all pairs are looked at. */
static void crash(struct pass *p, uint32_t client, uint64_t t) {
  for (uint32_t i = 0; i < p->numbers.count; i++) {
    if (p->numbers.pair[i] >> 32 != client) continue;
    if (p->pairs[i].asked != NO_EVENT && !p->pairs[i].given_up) want_no_more(&p->keys[(uint32_t)p->numbers.pair[i]], t);
    end_hold(&p->keys[(uint32_t)p->numbers.pair[i]], &p->pairs[i]);
    p->pairs[i] = no_pair;
  }
  p->clients[client].waiting = 0;
}

static void step(struct pass *p, const struct lb_event *e, size_t event) {
  if (e->kind == LB_EV_CRASH) crash(p, e->client, e->t);
  if (e->client != LB_NO_NAME) follow(p, e, event);
  if (e->client == LB_NO_NAME || e->key == LB_NO_NAME || e->kind == LB_EV_CRASH) return;
  struct pair *pair = find_pair(p, e);
  switch (e->kind) {
    case LB_EV_ACQUIRE: count_ask(p, pair, e, event); break;
    case LB_EV_GRANTED: grant(p, pair, e, event); break;
    case LB_EV_RELEASE: release(p, pair, e, event); break;
    case LB_EV_RELEASED: released(p, pair, e); break;
    case LB_EV_LOST: end_hold(&p->keys[e->key], pair); break;
    case LB_EV_BUSY:
    case LB_EV_TIMEOUT:
    case LB_EV_UNKNOWN:
      count_outcome(p, pair, e, event);
      stop_waiting(p, pair, e);
      break;
    default: break;
  }
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static void prepare(struct pass *p) {
  const struct lb_history *h = p->history;
  uint64_t length = p->end_t - p->begin_t, seconds = length / NS_PER_S + (length % NS_PER_S != 0 || length == 0);
  p->keys = lb_need(calloc(h->keys.count + 1, sizeof *p->keys));
  p->clients = lb_need(calloc(h->clients.count + 1, sizeof *p->clients));
  p->second_wait = lb_need(calloc(1, sizeof *p->second_wait));
  for (size_t i = 0; i < h->keys.count; i++) p->keys[i].granted_to = NO_CLIENT;
  if (h->count == 0 || seconds > LB_STATS_SECONDS_MAX) return;
  p->stats->series = lb_need(calloc(seconds, sizeof *p->stats->series));
  p->stats->series_count = seconds;
  for (size_t i = 0; i < seconds; i++) p->stats->series[i].second = (uint32_t)i;
}

/* A client that waits when the window begins has asked for what is granted in it. */
static void carry_over(struct pass *p) {
  for (size_t i = 0; i < p->history->clients.count; i++)
    if (p->clients[i].waiting) p->clients[i].asked = true;
}

/* Jain's index, (sum x)^2 / (n sum x^2), over all who asked: one that asked and got nothing counts
 * as unfair, one that never asked does not. */
static void judge_fairness(const struct pass *p) {
  struct lb_stats *s = p->stats;
  double sum = 0, squares = 0, asked = 0;
  for (size_t i = 0; i < p->history->clients.count; i++) {
    const struct client *c = &p->clients[i];
    if (!c->asked) continue;
    if (asked == 0 || c->grants < s->client_min) s->client_min = c->grants;
    if (c->grants > s->client_max) s->client_max = c->grants;
    asked++;
    sum += (double)c->grants;
    squares += (double)c->grants * (double)c->grants;
  }
  s->jain = squares > 0 ? sum * sum / (asked * squares) : 0;
}

void lb_stats_history(const struct lb_history *history, struct lb_stats *ret) {
  struct pass p = {.history = history, .stats = ret};
  memset(ret, 0, sizeof *ret);
  ret->no_grant_ns = ret->no_grant_open_ns = ret->longest.ns = ret->left_out.ns = ret->left_out_open.ns = -1;
  find_window(&p);
  prepare(&p);
  for (size_t i = 0; i < history->count; i++) {
    if (i == p.begin) carry_over(&p);
    step(&p, &history->events[i], i);
  }
  close_second(&p);
  close_wants(&p);
  close_turns(&p);
  judge_fairness(&p);
  if (ret->seconds > 0)
    ret->grants_per_s = (double)ret->grants / ret->seconds, ret->handoffs_per_s = (double)ret->handoffs / ret->seconds;
  for (size_t i = 0; i < history->keys.count; i++) free(p.keys[i].releases);
  free(p.keys);
  free(p.clients);
  free(p.second_wait);
  free(p.pairs);
  lb_pairs_clear(&p.numbers);
}

void lb_stats_clear(struct lb_stats *stats) {
  free(stats->series);
  memset(stats, 0, sizeof *stats);
}

/* A quantile with fewer samples beyond it is that of a few accidents: then it is not seen. */
enum { BEYOND = 10 };

static int64_t quantile(const struct lb_hist *hist, uint64_t one_in) {
  if (hist->count < one_in * BEYOND) return -1;
  return (int64_t)lb_hist_quantile(hist, 1 - 1.0 / (double)one_in);
}

static void quantiles(const struct lb_hist *hist, int64_t *p50, int64_t *p99, int64_t *p999) {
  *p50 = (int64_t)lb_hist_quantile(hist, 0.5);
  *p99 = quantile(hist, 100);
  *p999 = quantile(hist, 1000);
}

/* Hand-offs and releases only if there were any: a history without a waiting client has none, and 0 would be a time. */
void lb_stats_counters(const struct lb_stats *st, struct lb_counters *ret) {
  ret->busy = st->busy;
  ret->timeouts = st->timeouts;
  ret->unknowns = st->unknowns;
  ret->measured_s = st->seconds;
  ret->no_grant_ns = st->no_grant_ns;
  ret->grants_per_s = st->grants_per_s;
  ret->handoffs_per_s = st->handoffs_per_s;
  ret->regranted = st->grants ? (double)st->regrants / (double)st->grants : 0;
  ret->jain = st->jain;
  ret->client_min = st->client_min;
  ret->client_max = st->client_max;
  quantiles(&st->wait, &ret->wait_p50_ns, &ret->wait_p99_ns, &ret->wait_p999_ns);
  if (st->service.count > 0) quantiles(&st->service, &ret->service_p50_ns, &ret->service_p99_ns, &ret->service_p999_ns);
  quantiles(&st->hold, &ret->hold_p50_ns, &ret->hold_p99_ns, &ret->hold_p999_ns);
  if (st->handoff.count > 0) quantiles(&st->handoff, &ret->handoff_p50_ns, &ret->handoff_p99_ns, &ret->handoff_p999_ns);
  if (st->release.count > 0) quantiles(&st->release, &ret->release_p50_ns, &ret->release_p99_ns, &ret->release_p999_ns);
}
