/* SPDX-License-Identifier: MIT
 *
 * Which events are told. A short history is told whole as far as it fits; of a long one only the stretch from the grant
 * that was overrun to the moment when everyone knew. Within it the lines are chosen by what they are, and then by how
 * near they stand to what went wrong. Whatever is chosen keeps its place: a story is never reordered.
 */
#include "explain_parts.h"

#include <errno.h>
#include <stdlib.h>

enum {
  SHORT = 64, /* events: such a history is told whole, as far as it fits */
};

struct line {             /* a candidate */
  size_t event, distance; /* from what went wrong, in events */
  int rank;               /* 0 = has to be told */
};

struct cutter { /* a story while its events are chosen */
  const struct lb_history *h;
  const struct lb_check *c;
  const struct lb_wrong_event *wrong;
  struct lb_cut *cut;
  size_t from, to; /* the stretch, both inclusive */
  /* Events without which nothing can be understood: grants, what asked for them, renewals. */
  size_t needed[24];
  size_t needed_count;
  struct line *line;
  size_t lines;
};

/* ---- what it is about -------------------------------------------------------------------------------------------- */

/* The first event that is wrong in one of these ways. */
static size_t first_with(const struct cutter *x, unsigned flags) {
  for (size_t i = 0; i < x->h->count; i++)
    if (x->wrong[i].flags & flags) return i;
  return LB_NO_EVENT;
}

static bool names(const struct lb_episode *e, uint32_t client) {
  for (size_t i = 0; i < e->client_count; i++)
    if (e->clients[i] == client) return true;
  return false;
}

/* The double hold around the focus, or else the latest one of its client before: an overtaken
 * holder may write when the one that overtook it has already let go. */
static const struct lb_episode *find_episode(const struct cutter *x) {
  const struct lb_episode *found = NULL;
  const struct lb_event *focus = &x->h->events[x->cut->focus];
  for (size_t i = 0; i < x->c->episode_count; i++) {
    const struct lb_episode *e = &x->c->episodes[i];
    if (e->key == focus->key && e->begin_event <= x->cut->focus && names(e, focus->client)) found = e;
  }
  return found;
}

/* Damage tells more than a double hold that did none. A write that the resource refused did nothing
 * wrong in the end. */
static void find_focus(struct cutter *x) {
  static const unsigned order[] = {LB_WRONG_DAMAGE, LB_WRONG_DOUBLE, LB_WRONG_FENCE, LB_WRONG_DIRTY,
                                   LB_WRONG_FENCED_OFF};
  struct lb_cut *cut = x->cut;
  cut->focus = LB_NO_EVENT;
  cut->key = LB_NO_NAME;
  for (size_t i = 0; i < sizeof order / sizeof *order && cut->focus == LB_NO_EVENT; i++)
    cut->focus = first_with(x, order[i]);
  if (cut->focus != LB_NO_EVENT) cut->key = x->h->events[cut->focus].key;
  for (size_t i = 0; i < x->h->count && cut->key == LB_NO_NAME; i++) cut->key = x->h->events[i].key;
  if (cut->focus != LB_NO_EVENT) cut->episode = find_episode(x);
}

/* ---- the stretch ------------------------------------------------------------------------------------------------- */

static bool is_of(const struct cutter *x, size_t i, uint32_t client, enum lb_event_kind kind) {
  const struct lb_event *e = &x->h->events[i];
  return e->kind == kind && e->client == client && (e->key == x->cut->key || e->key == LB_NO_NAME);
}

/* The latest event of that kind before event `from`; `from` if there is none. */
static size_t back_to(const struct cutter *x, size_t from, uint32_t client, enum lb_event_kind kind) {
  for (size_t i = from; i-- > 0;)
    if (is_of(x, i, client, kind)) return i;
  return from;
}

/* To where the client that was granted the key at event `grant` asked for it. */
static void reach_back(struct cutter *x, size_t grant) {
  if (grant == LB_NO_EVENT || x->h->events[grant].kind != LB_EV_GRANTED) return;
  if (x->needed_count + 2 > sizeof x->needed / sizeof *x->needed) return;
  size_t asked = back_to(x, grant, x->h->events[grant].client, LB_EV_ACQUIRE);
  x->needed[x->needed_count++] = grant;
  x->needed[x->needed_count++] = asked;
  if (asked < x->from) x->from = asked;
}

/* The latest renewal of the hold that `client` has before event `before`: the lease that was
 * overrun. */
static void reach_renewal(struct cutter *x, uint32_t client, size_t before) {
  static const enum lb_event_kind others[] = {LB_EV_GRANTED, LB_EV_RELEASE, LB_EV_LOST, LB_EV_CRASH};
  size_t renewal = back_to(x, before, client, LB_EV_RENEWED);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    size_t other = back_to(x, before, client, others[i]);
    if (other < before && other > renewal) return; /* it was another hold's */
  }
  if (renewal < before && x->needed_count < sizeof x->needed / sizeof *x->needed)
    x->needed[x->needed_count++] = renewal;
}

/* The grant of the hold that the client has, or had last, before event `before`; LB_NO_EVENT = it
 * never held. */
static size_t own_grant(const struct cutter *x, uint32_t client, size_t before) {
  size_t grant = back_to(x, before, client, LB_EV_GRANTED);
  return grant < before ? grant : LB_NO_EVENT;
}

/* What comes after the end of the double hold is the answer that tells a client that it had lost
 * the lock. */
static void reach_ahead(struct cutter *x, uint32_t client, size_t after) {
  for (size_t i = after + 1; i < x->h->count && !is_of(x, i, client, LB_EV_ACQUIRE); i++)
    if (is_of(x, i, client, LB_EV_LOST) || is_of(x, i, client, LB_EV_RELEASED)) {
      if (i > x->to) x->to = i;
      return;
    }
}

/* Back to where each of the two asked for the lock, and to the grant and write that were overrun;
 * ahead to where the double hold is over and both know. A short history begins at its begin: there
 * is room. */
static void find_stretch(struct cutter *x) {
  const struct lb_episode *episode = x->cut->episode;
  size_t last = x->h->count - 1;
  x->from = 0;
  x->to = last;
  if (x->cut->focus == LB_NO_EVENT) return;
  const struct lb_wrong_event *wrong = &x->wrong[x->cut->focus];
  x->from = x->to = x->cut->focus;
  reach_back(x, own_grant(x, x->h->events[x->cut->focus].client, x->cut->focus + 1));
  reach_back(x, wrong->other);
  reach_back(x, wrong->second);
  if (wrong->second != LB_NO_EVENT && x->h->events[wrong->second].kind == LB_EV_WRITE)
    reach_back(x, own_grant(x, x->h->events[wrong->second].client, wrong->second));
  if (episode) {
    size_t end = episode->end_event < last ? episode->end_event : last;
    if (end > x->to) x->to = end;
    reach_back(x, own_grant(x, episode->clients[0], episode->begin_event + 1));
    for (size_t i = 0; i < episode->client_count; i++) reach_ahead(x, episode->clients[i], end);
    for (size_t i = 0; i < episode->client_count && i < LB_LANES; i++)
      reach_renewal(x, episode->clients[i], episode->begin_event);
  } else {
    reach_ahead(x, x->h->events[x->cut->focus].client, x->cut->focus);
  }
  if (x->h->count <= SHORT) x->from = 0;
}

enum {
  LINES = 24,         /* of a story, beside earlier faults */
  NEAR = 8,           /* events from what went wrong: what is further away needs a reason to be told */
  EARLIER_FAULTS = 2, /* from before the stretch */
  AGAIN = 4,          /* a rank */
};

/* Most answers are events of the client, too; these three are not. */
static bool says_more(enum lb_answer answer) {
  return answer == LB_ANSWER_NOT_HOLDING || answer == LB_ANSWER_NOT_IN_TIME || answer == LB_ANSWER_FAILED;
}

bool lb_explain_repeats(const struct lb_history *h, const struct lb_event *e) {
  if (e->kind == LB_EV_REPLY) return !says_more(lb_event_fact(h, e)->answer);
  if (e->kind == LB_EV_PROVED) return lb_event_fact(h, e)->step != 0; /* else it is told with no fault */
  if (e->kind == LB_EV_TOUCHED || e->kind == LB_EV_SERVER)            /* told with the fault, and with the outcome */
    return (lb_event_fact(h, e)->step != 0) == (e->kind == LB_EV_TOUCHED);
  return e->kind == LB_EV_VOTED || e->kind == LB_EV_SEEN || e->kind == LB_EV_PHASE || e->kind == LB_EV_MET;
}

size_t lb_explain_shortened(const struct lb_history *h) {
  for (size_t i = h->count; i-- > 0;)
    if (h->events[i].kind == LB_EV_SHORTENED) return i;
  return LB_NO_EVENT;
}

size_t lb_explain_proof(const struct lb_history *h, size_t fault) {
  uint32_t step = lb_event_fact(h, &h->events[fault])->step;
  for (size_t i = fault + 1; i < h->count && step != 0; i++) {
    const struct lb_event *e = &h->events[i];
    if (lb_event_fact(h, e)->step != step) continue;
    if (e->kind == LB_EV_FAULT) break; /* done again: the proof belongs to that one */
    if (e->kind == LB_EV_PROVED) return i;
  }
  return LB_NO_EVENT;
}

size_t lb_explain_touched(const struct lb_history *h, size_t fault) {
  uint32_t step = lb_event_fact(h, &h->events[fault])->step;
  for (size_t i = fault + 1; i < h->count && step != 0; i++) {
    const struct lb_event *e = &h->events[i];
    if (lb_event_fact(h, e)->step == step) return e->kind == LB_EV_TOUCHED ? i : LB_NO_EVENT;
  }
  return LB_NO_EVENT;
}

size_t lb_explain_server(const struct lb_history *h, size_t outcome) {
  const struct lb_event *came = &h->events[outcome];
  for (size_t i = outcome + 1; i < h->count; i++) {
    const struct lb_event *e = &h->events[i];
    if (e->client != came->client) continue;
    bool of_it =
        (e->kind == LB_EV_SERVER || e->kind == LB_EV_VOTED) && e->key == came->key && lb_event_fact(h, e)->step == 0;
    return of_it ? i : LB_NO_EVENT;
  }
  return LB_NO_EVENT;
}

size_t lb_explain_seen(const struct lb_history *h, size_t grant) {
  const struct lb_event *granted = &h->events[grant];
  for (size_t i = grant + 1; i < h->count; i++) {
    const struct lb_event *e = &h->events[i];
    if (e->client != granted->client || e->key != granted->key) continue;
    if (e->kind == LB_EV_SEEN) return i;
    if (e->kind != LB_EV_SERVER && e->kind != LB_EV_VOTED) break;
  }
  return LB_NO_EVENT;
}

/* ---- the clients ------------------------------------------------------------------------------------------------- */

static bool has_lane(const struct lb_cut *cut, uint32_t client) {
  for (size_t i = 0; i < cut->lanes; i++)
    if (cut->lane[i] == client) return true;
  return false;
}

static void add_lane(struct lb_cut *cut, uint32_t client) {
  if (client != LB_NO_NAME && cut->lanes < LB_LANES && !has_lane(cut, client)) cut->lane[cut->lanes++] = client;
}

static int by_number(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

/* In a short history everyone; in a long one those whom it is about. */
static void find_lanes(struct cutter *x) {
  struct lb_cut *cut = x->cut;
  if (cut->key == LB_NO_NAME) return; /* a file of crashes and faults alone: nothing that could be held */
  if (cut->focus != LB_NO_EVENT) {
    const struct lb_wrong_event *wrong = &x->wrong[cut->focus];
    add_lane(cut, x->h->events[cut->focus].client);
    if (wrong->other != LB_NO_EVENT) add_lane(cut, x->h->events[wrong->other].client);
    if (wrong->second != LB_NO_EVENT) add_lane(cut, x->h->events[wrong->second].client);
    for (size_t i = 0; cut->episode && i < cut->episode->client_count && i < LB_LANES / 2; i++)
      add_lane(cut, cut->episode->clients[i]);
  }
  if (cut->focus == LB_NO_EVENT || x->h->count <= SHORT)
    for (size_t i = x->from; i <= x->to; i++)
      if (x->h->events[i].key == cut->key || x->h->events[i].kind == LB_EV_CRASH) add_lane(cut, x->h->events[i].client);
  qsort(cut->lane, cut->lanes, sizeof *cut->lane, by_number);
}

/* ---- the lines --------------------------------------------------------------------------------------------------- */

static bool is_needed(const struct cutter *x, size_t i) {
  for (size_t n = 0; n < x->needed_count; n++)
    if (x->needed[n] == i) return true;
  return i == x->cut->focus;
}

/* A lease that was made longer is news only once it no longer is: before the client loses the lock.
 * AGAIN for the others of a run. */
static int rank_of_renewal(const struct cutter *x, size_t i) {
  const struct lb_event *renewal = &x->h->events[i];
  for (size_t j = i + 1; j < x->h->count; j++) {
    if (is_of(x, j, renewal->client, LB_EV_RENEWED)) return AGAIN;
    if (is_of(x, j, renewal->client, LB_EV_LOST) || is_of(x, j, renewal->client, LB_EV_CRASH)) return 0;
    if (is_of(x, j, renewal->client, LB_EV_RELEASE) || is_of(x, j, renewal->client, LB_EV_GRANTED)) break;
  }
  return 3;
}

/* A holder that cannot renew its lease is news; that the next try fared the same is none. */
static int rank_of_failure(const struct cutter *x, size_t i) {
  const struct lb_event *failure = &x->h->events[i];
  for (size_t j = i; j-- > 0;) {
    if (is_of(x, j, failure->client, LB_EV_NOT_RENEWED)) return x->h->events[j].check == failure->check ? AGAIN : 0;
    if (is_of(x, j, failure->client, LB_EV_RENEWED) || is_of(x, j, failure->client, LB_EV_GRANTED)) break;
  }
  return 0;
}

/* 0 has to be told ... 3 if there is room; AGAIN only in a gap of one; -1 never. */
static int rank_of(const struct cutter *x, size_t i) {
  const struct lb_event *e = &x->h->events[i];
  if (lb_explain_repeats(x->h, e)) return -1;
  if (e->kind == LB_EV_FAULT || e->kind == LB_EV_HOLDS || e->kind == LB_EV_SERVER || e->kind == LB_EV_UNUSED ||
      e->kind == LB_EV_NOT_MET || e->kind == LB_EV_LEFT || e->kind == LB_EV_UNSYNCED)
    return 0;
  if (e->kind == LB_EV_REPLY) return 3;
  if (lb_event_is_fact(e)) return 1;
  if (!has_lane(x->cut, e->client) || (e->key != x->cut->key && e->kind != LB_EV_CRASH)) return -1;
  if (is_needed(x, i)) return 0;
  switch (e->kind) {
    case LB_EV_CRASH:
    case LB_EV_LOST: return 0;
    case LB_EV_GRANTED:
    case LB_EV_WRITE: return x->wrong[i].flags && x->h->count <= SHORT ? 0 : 1;
    case LB_EV_UNKNOWN:
    case LB_EV_TIMEOUT:
    case LB_EV_BUSY:
    case LB_EV_READ:
    case LB_EV_RELEASE: return 1;
    case LB_EV_ACQUIRE: return 2;
    case LB_EV_RENEWED: return rank_of_renewal(x, i);
    case LB_EV_NOT_RENEWED: return rank_of_failure(x, i);
    case LB_EV_CHECK: return e->check == LB_CHECK_PASSED ? 3 : 0; /* that one ends a hold, and says why */
    default: return 3;
  }
}

/* In events, to the nearest of: what went wrong, the begin of the double hold, its end. */
static size_t distance(const struct cutter *x, size_t i) {
  size_t focus = x->cut->focus == LB_NO_EVENT ? x->from : x->cut->focus, anchors[] = {focus, focus, focus},
         nearest = SIZE_MAX;
  if (x->cut->episode) anchors[1] = x->cut->episode->begin_event, anchors[2] = x->cut->episode->end_event;
  for (size_t a = 0; a < sizeof anchors / sizeof *anchors; a++) {
    size_t d = anchors[a] > i ? anchors[a] - i : i - anchors[a];
    if (d < nearest) nearest = d;
  }
  return nearest;
}

static int by_rank(const void *a, const void *b) {
  const struct line *x = a, *y = b;
  if (x->rank != y->rank) return x->rank - y->rank;
  if (x->distance != y->distance) return x->distance < y->distance ? -1 : 1;
  return (x->event > y->event) - (x->event < y->event);
}

/* The best LINES of the stretch; beside them the latest faults from before it, for a fault is often
 * the cause of what comes much later, and the fact that the history was cut short. */
static void choose(struct cutter *x) {
  for (size_t i = x->from; i <= x->to; i++) {
    int rank = rank_of(x, i);
    struct line line = {.event = i, .distance = distance(x, i), .rank = rank};
    if (rank == AGAIN) continue;
    if (rank == 0 || (rank > 0 && (x->h->count <= SHORT || line.distance <= NEAR))) x->line[x->lines++] = line;
  }
  size_t needed = 0;
  qsort(x->line, x->lines, sizeof *x->line, by_rank);
  for (size_t i = 0; i < x->lines && i < LINES; i++) x->cut->shown[x->line[i].event] = true;
  for (size_t i = x->from; i-- > 0 && needed < EARLIER_FAULTS;)
    if (x->h->events[i].kind == LB_EV_FAULT) x->cut->shown[i] = true, needed++;
  size_t shortened = lb_explain_shortened(x->h);
  if (shortened != LB_NO_EVENT) x->cut->shown[shortened] = true;
}

/* "... 1 event ..." would take the place of the event itself. */
static void fill_gaps_of_one(struct cutter *x) {
  size_t gap = 0, left_out = 0;
  for (size_t i = x->from; i <= x->to; i++) {
    if (x->cut->shown[i]) {
      if (gap == 1) x->cut->shown[left_out] = true;
      gap = 0;
    } else if (rank_of(x, i) >= 0) {
      gap++;
      left_out = i;
    } else if (!lb_explain_repeats(x->h, &x->h->events[i])) {
      gap += 2; /* of others: stays left out */
    }
  }
  if (gap == 1 && x->to == x->h->count - 1) x->cut->shown[left_out] = true;
}

int lb_explain_cut(const struct lb_history *h, const struct lb_check *check, const struct lb_wrong_event *wrong,
                   struct lb_cut *ret) {
  *ret = (struct lb_cut){.shown = calloc(h->count + 1, sizeof *ret->shown)};
  struct cutter x = {.h = h, .c = check, .wrong = wrong, .cut = ret, .line = malloc((h->count + 1) * sizeof *x.line)};
  int r = ret->shown && x.line ? 0 : -ENOMEM;
  if (r == 0 && h->count > 0) {
    find_focus(&x);
    find_stretch(&x);
    find_lanes(&x);
    choose(&x);
    fill_gaps_of_one(&x);
  }
  free(x.line);
  if (r < 0) free(ret->shown);
  return r;
}
