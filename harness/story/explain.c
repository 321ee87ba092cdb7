/* SPDX-License-Identifier: MIT
 *
 * A story is chosen, then told. A short history is told whole as far as it fits. A long one is cut to the stretch from
 * the grant that was overrun to the moment when all clients knew. In it, lines are chosen that matter most and are
 * nearest to what went wrong. Below the lines stands what happened, in a sentence or two. Moments count from the first
 * event.
 */
#include "explain.h"

#include "check/circle.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/need.h"
#include "check/evidence.h"
#include "explain_marks.h"
#include "say.h"
#include "check/stats.h"

enum {
  SHORT = 64,         /* events: such a history is told whole, as far as it fits */
  LINES = 24,         /* of a story, beside earlier faults */
  NEAR = 8,           /* events from what went wrong: what is further away needs a reason to be told */
  EARLIER_FAULTS = 2, /* from before the stretch */
  LANES = 8,
  AGAIN = 4, /* a rank */
};

struct lane {
  uint32_t client;
  uint64_t depth; /* grants less releases so far; 0 = holds nothing */
  bool alone;     /* whether a grant of that hold was exclusive */
};

struct story {
  const struct lb_history *h;
  const struct lb_check *c;
  const struct lb_explain_about *about;
  const struct lb_event *event;     /* of the history */
  struct lb_mark *mark;             /* by event */
  bool *shown;                      /* by event */
  uint32_t key;                     /* LB_NO_NAME = nothing was ever asked for */
  size_t focus;                     /* the event that shows best what went wrong; LB_NO_EVENT = nothing did */
  const struct lb_episode *episode; /* the double hold it belongs to; NULL = none */
  size_t from, to;                  /* the stretch, both inclusive */
  size_t needed[24], needed_count;  /* events without which nothing can be understood: grants and their requests */
  struct lane lane[LANES];          /* in order of the names */
  size_t lanes;
  int decimals, name_width, lane_width;
  FILE *out;
};

/* ---- words ------------------------------------------------------------------------------------------------------- */

static double since_start(const struct story *y, uint64_t ns) { return ((double)ns - (double)y->event[0].t) / 1e6; }

/* %c client and %k key (uint32_t, by number), %s text out of a file; %t moment, %l length, %u number, %x in hexadecimal
 * digits (uint64_t). A length has as many digits as it needs to be told from 0. */
static void say(const struct story *y, const char *format, ...) {
  va_list args;
  va_start(args, format);
  for (const char *f = format; *f; f++) {
    if (*f != '%') {
      putc(*f, y->out);
      continue;
    }
    char letter = *++f;
    if (letter == 's') {
      lb_say_text(va_arg(args, const char *), y->out);
    } else if (letter == 'c' || letter == 'k') {
      const struct lb_names *names = letter == 'c' ? &y->h->clients : &y->h->keys;
      uint32_t number = va_arg(args, uint32_t);
      lb_say_text(number == LB_NO_NAME ? "-" : names->name[number], y->out);
    } else {
      uint64_t n = va_arg(args, uint64_t);
      if (letter == 't') fprintf(y->out, "%+.*f ms", y->decimals, since_start(y, n));
      if (letter == 'l') fprintf(y->out, "%.*f ms", n >= 10000000 ? 1 : n >= 10000 ? 3 : 6, (double)n / 1e6);
      if (letter == 'u') fprintf(y->out, "%llu", (unsigned long long)n);
      if (letter == 'x') fprintf(y->out, "0x%llx", (unsigned long long)n);
    }
  }
  va_end(args);
}

/* ---- what belongs to an event ------------------------------------------------------------------------------------ */

static uint32_t step_of(const struct story *y, size_t i) { return lb_event_fact(y->h, &y->event[i])->step; }

/* The fact of this kind about the fault at event `fault`, before that is done again; LB_NO_EVENT = none. */
static size_t of_fault(const struct story *y, size_t fault, enum lb_event_kind kind) {
  uint32_t step = step_of(y, fault);
  for (size_t i = fault + 1; i < y->h->count && step != 0; i++) {
    if (step_of(y, i) != step) continue;
    if (y->event[i].kind == kind) return i;
    if (y->event[i].kind == LB_EV_FAULT) break;
  }
  return LB_NO_EVENT;
}

/* What is recorded right behind an outcome: the server (or those that voted), and how old the state was. */
static size_t of_outcome(const struct story *y, size_t outcome, enum lb_event_kind kind) {
  for (size_t i = outcome + 1; i < y->h->count; i++) {
    const struct lb_event *e = &y->event[i];
    if (e->client != y->event[outcome].client || e->key != y->event[outcome].key) continue;
    bool server = e->kind == LB_EV_SERVER || e->kind == LB_EV_VOTED;
    if (e->kind == kind || (server && kind == LB_EV_SERVER)) return i;
    if (!server && e->kind != LB_EV_SEEN) break;
  }
  return LB_NO_EVENT;
}

/* The fact that only the begin of the history was kept; LB_NO_EVENT = none says so. */
static size_t find_shortened(const struct story *y) {
  for (size_t i = y->h->count; i-- > 0;)
    if (y->event[i].kind == LB_EV_SHORTENED) return i;
  return LB_NO_EVENT;
}

/* True for a fact that only repeats what an event of a client says, and for what is told with its fault or outcome. */
static bool repeats(const struct story *y, const struct lb_event *e) {
  const struct lb_fact *f = lb_event_fact(y->h, e);
  switch (e->kind) {
    case LB_EV_REPLY: /* most answers are events of the client, too; these three are not */
      return f->answer != LB_ANSWER_NOT_HOLDING && f->answer != LB_ANSWER_NOT_IN_TIME && f->answer != LB_ANSWER_FAILED;
    case LB_EV_PROVED:
    case LB_EV_TOUCHED: return f->step != 0; /* else it is told with no fault */
    case LB_EV_SERVER: return f->step == 0;
    case LB_EV_VOTED:
    case LB_EV_SEEN:
    case LB_EV_PHASE:
    case LB_EV_MET: return true;
    default: return false;
  }
}

/* ---- what it is about -------------------------------------------------------------------------------------------- */

static bool names(const struct lb_episode *e, uint32_t client) {
  for (size_t i = 0; i < e->client_count; i++)
    if (e->clients[i] == client) return true;
  return false;
}

/* The double hold around the focus, or else the latest one of its client before: an overtaken holder may write when the
 * one that overtook it has already let go. */
static void find_episode(struct story *y) {
  const struct lb_event *focus = &y->event[y->focus];
  for (size_t i = 0; i < y->c->episode_count; i++) {
    const struct lb_episode *e = &y->c->episodes[i];
    if (e->key == focus->key && e->begin_event <= y->focus && names(e, focus->client)) y->episode = e;
  }
}

/* Damage tells more than a double hold that did none. A write that the resource refused did nothing wrong in the end. */
static void find_focus(struct story *y) {
  static const unsigned order[] = {LB_WRONG_DAMAGE, LB_WRONG_DOUBLE, LB_WRONG_FENCE, LB_WRONG_DIRTY,
                                   LB_WRONG_FENCED_OFF};
  y->focus = LB_NO_EVENT;
  y->key = LB_NO_NAME;
  for (size_t o = 0; o < sizeof order / sizeof *order && y->focus == LB_NO_EVENT; o++)
    for (size_t i = 0; i < y->h->count && y->focus == LB_NO_EVENT; i++)
      if (y->mark[i].flags & order[o]) y->focus = i;
  if (y->focus != LB_NO_EVENT) y->key = y->event[y->focus].key, find_episode(y);
  for (size_t i = 0; i < y->h->count && y->key == LB_NO_NAME; i++) y->key = y->event[i].key;
}

/* ---- the stretch ------------------------------------------------------------------------------------------------- */

static bool is_of(const struct story *y, size_t i, uint32_t client, enum lb_event_kind kind) {
  const struct lb_event *e = &y->event[i];
  return e->kind == kind && e->client == client && (e->key == y->key || e->key == LB_NO_NAME);
}

/* The latest event of that kind before event `before`; LB_NO_EVENT = none. */
static size_t latest(const struct story *y, size_t before, uint32_t client, enum lb_event_kind kind) {
  for (size_t i = before; i-- > 0;)
    if (is_of(y, i, client, kind)) return i;
  return LB_NO_EVENT;
}

static void need(struct story *y, size_t event) {
  if (y->needed_count < sizeof y->needed / sizeof *y->needed) y->needed[y->needed_count++] = event;
}

/* To where the client that was granted the key at event `grant` asked for it. */
static void reach_back(struct story *y, size_t grant) {
  if (grant == LB_NO_EVENT || y->event[grant].kind != LB_EV_GRANTED) return;
  size_t asked = latest(y, grant, y->event[grant].client, LB_EV_ACQUIRE);
  if (asked == LB_NO_EVENT) asked = grant;
  need(y, grant), need(y, asked);
  if (asked < y->from) y->from = asked;
}

/* To the lease that was overrun: the latest renewal of the hold that `client` has before event `before`. */
static void reach_renewal(struct story *y, uint32_t client, size_t before) {
  size_t renewal = latest(y, before, client, LB_EV_RENEWED);
  for (size_t i = renewal; i < before; i++)
    if (is_of(y, i, client, LB_EV_GRANTED) || is_of(y, i, client, LB_EV_RELEASE) || is_of(y, i, client, LB_EV_LOST) ||
        is_of(y, i, client, LB_EV_CRASH))
      return; /* it was another hold's */
  if (renewal != LB_NO_EVENT) need(y, renewal);
}

/* To the answer that tells a client that it had lost the lock. */
static void reach_ahead(struct story *y, uint32_t client, size_t after) {
  for (size_t i = after + 1; i < y->h->count && !is_of(y, i, client, LB_EV_ACQUIRE); i++)
    if (is_of(y, i, client, LB_EV_LOST) || is_of(y, i, client, LB_EV_RELEASED)) {
      if (i > y->to) y->to = i;
      return;
    }
}

/* Back to where each of the two asked for the lock, and to the grant and write that were overrun; ahead to where the
 * double hold is over and both know. A short history begins at its begin: there is room. */
static void find_stretch(struct story *y) {
  const struct lb_episode *episode = y->episode;
  size_t last = y->h->count - 1;
  y->from = 0;
  y->to = last;
  if (y->focus == LB_NO_EVENT) return;
  const struct lb_mark *mark = &y->mark[y->focus];
  y->from = y->to = y->focus;
  reach_back(y, latest(y, y->focus + 1, y->event[y->focus].client, LB_EV_GRANTED));
  reach_back(y, mark->other);
  reach_back(y, mark->second);
  if (mark->second != LB_NO_EVENT && y->event[mark->second].kind == LB_EV_WRITE)
    reach_back(y, latest(y, mark->second, y->event[mark->second].client, LB_EV_GRANTED));
  if (!episode) reach_ahead(y, y->event[y->focus].client, y->focus);
  size_t end = !episode ? y->to : episode->end_event < last ? episode->end_event : last;
  if (end > y->to) y->to = end;
  if (episode) reach_back(y, latest(y, episode->begin_event + 1, episode->clients[0], LB_EV_GRANTED));
  for (size_t i = 0; episode && i < episode->client_count; i++) {
    reach_ahead(y, episode->clients[i], end);
    if (i < LANES) reach_renewal(y, episode->clients[i], episode->begin_event);
  }
  if (y->h->count <= SHORT) y->from = 0;
}

/* ---- the clients ------------------------------------------------------------------------------------------------- */

static bool has_lane(const struct story *y, uint32_t client) {
  for (size_t i = 0; i < y->lanes; i++)
    if (y->lane[i].client == client) return true;
  return false;
}

static void add_lane(struct story *y, uint32_t client) {
  if (client != LB_NO_NAME && y->lanes < LANES && !has_lane(y, client)) y->lane[y->lanes++].client = client;
}

static int by_client(const void *a, const void *b) {
  const struct lane *x = a, *y = b;
  return (x->client > y->client) - (x->client < y->client);
}

/* In a short history everyone; in a long one those whom it is about. */
static void find_lanes(struct story *y) {
  if (y->key == LB_NO_NAME) return; /* a file of crashes and faults alone: nothing that could be held */
  if (y->focus != LB_NO_EVENT) {
    const struct lb_mark *mark = &y->mark[y->focus];
    add_lane(y, y->event[y->focus].client);
    if (mark->other != LB_NO_EVENT) add_lane(y, y->event[mark->other].client);
    if (mark->second != LB_NO_EVENT) add_lane(y, y->event[mark->second].client);
    for (size_t i = 0; y->episode && i < y->episode->client_count && i < LANES / 2; i++)
      add_lane(y, y->episode->clients[i]);
  }
  for (size_t i = y->from; i <= y->to && (y->focus == LB_NO_EVENT || y->h->count <= SHORT); i++)
    if (y->event[i].key == y->key || y->event[i].kind == LB_EV_CRASH) add_lane(y, y->event[i].client);
  qsort(y->lane, y->lanes, sizeof *y->lane, by_client);
}

/* ---- which events become lines ----------------------------------------------------------------------------------- */

/* A lease that was made longer is news only once it no longer is: before the client loses the lock. */
static int rank_of_renewal(const struct story *y, size_t i) {
  uint32_t client = y->event[i].client;
  for (size_t j = i + 1; j < y->h->count; j++) {
    if (is_of(y, j, client, LB_EV_RENEWED)) return AGAIN;
    if (is_of(y, j, client, LB_EV_LOST) || is_of(y, j, client, LB_EV_CRASH)) return 0;
    if (is_of(y, j, client, LB_EV_RELEASE) || is_of(y, j, client, LB_EV_GRANTED)) break;
  }
  return 3;
}

/* A holder that cannot renew its lease is news; that the next try fared the same is none. */
static int rank_of_failure(const struct story *y, size_t i) {
  uint32_t client = y->event[i].client;
  for (size_t j = i; j-- > 0;) {
    if (is_of(y, j, client, LB_EV_NOT_RENEWED)) return y->event[j].check == y->event[i].check ? AGAIN : 0;
    if (is_of(y, j, client, LB_EV_RENEWED) || is_of(y, j, client, LB_EV_GRANTED)) break;
  }
  return 0;
}

static bool is_needed(const struct story *y, size_t i) {
  for (size_t n = 0; n < y->needed_count; n++)
    if (y->needed[n] == i) return true;
  return i == y->focus;
}

/* 0 has to be told ... 3 if there is room; AGAIN only in a gap of one; -1 never. */
static int rank_of(const struct story *y, size_t i) {
  const struct lb_event *e = &y->event[i];
  if (repeats(y, e)) return -1;
  switch (e->kind) {
    case LB_EV_FAULT:
    case LB_EV_HOLDS:
    case LB_EV_SERVER:
    case LB_EV_UNUSED:
    case LB_EV_NOT_MET:
    case LB_EV_LEFT:
    case LB_EV_UNSYNCED: return 0;
    case LB_EV_REPLY: return 3;
    default:
      if (lb_event_is_fact(e)) return 1;
      if (!has_lane(y, e->client) || (e->key != y->key && e->kind != LB_EV_CRASH && e->kind != LB_EV_SILENT)) return -1;
      if (is_needed(y, i)) return 0;
  }
  switch (e->kind) {
    case LB_EV_CRASH:
    case LB_EV_LOST:
    case LB_EV_WORK_FAILED:
    case LB_EV_EXPIRED: return 0;
    case LB_EV_GRANTED:
    case LB_EV_WRITE: return y->mark[i].flags && y->h->count <= SHORT ? 0 : 1;
    case LB_EV_UNKNOWN:
    case LB_EV_TIMEOUT:
    case LB_EV_BUSY:
    case LB_EV_READ:
    case LB_EV_SILENT:
    case LB_EV_RELEASE: return 1;
    case LB_EV_ACQUIRE: return 2;
    case LB_EV_RENEWED: return rank_of_renewal(y, i);
    case LB_EV_NOT_RENEWED: return rank_of_failure(y, i);
    case LB_EV_CHECK: return e->check == LB_CHECK_PASSED ? 3 : 0; /* that one ends a hold, and says why */
    default: return 3;
  }
}

struct candidate {
  size_t event, distance;
  int rank;
};

/* In events, to the nearest of: what went wrong, the begin of the double hold, its end. */
static size_t distance(const struct story *y, size_t i) {
  size_t focus = y->focus == LB_NO_EVENT ? y->from : y->focus, nearest = SIZE_MAX;
  size_t anchors[] = {focus, y->episode ? y->episode->begin_event : focus, y->episode ? y->episode->end_event : focus};
  for (size_t a = 0; a < sizeof anchors / sizeof *anchors; a++) {
    size_t d = anchors[a] > i ? anchors[a] - i : i - anchors[a];
    if (d < nearest) nearest = d;
  }
  return nearest;
}

static int by_rank(const void *a, const void *b) {
  const struct candidate *x = a, *y = b;
  if (x->rank != y->rank) return x->rank - y->rank;
  if (x->distance != y->distance) return x->distance < y->distance ? -1 : 1;
  return (x->event > y->event) - (x->event < y->event);
}

/* The best LINES of the stretch, and the fact that the history was cut short. Beside them the latest faults from before
 * it, for a fault is often the cause of what comes much later. */
static void choose(struct story *y, struct candidate *line) {
  size_t count = 0, faults = 0, shortened = find_shortened(y);
  for (size_t i = y->from; i <= y->to; i++) {
    struct candidate c = {.event = i, .distance = distance(y, i), .rank = rank_of(y, i)};
    bool near = y->h->count <= SHORT || c.distance <= NEAR;
    if (c.rank == 0 || (c.rank > 0 && c.rank != AGAIN && near)) line[count++] = c;
  }
  qsort(line, count, sizeof *line, by_rank);
  for (size_t i = 0; i < count && i < LINES; i++) y->shown[line[i].event] = true;
  for (size_t i = y->from; i-- > 0 && faults < EARLIER_FAULTS;)
    if (y->event[i].kind == LB_EV_FAULT) y->shown[i] = true, faults++;
  if (shortened != LB_NO_EVENT) y->shown[shortened] = true;
}

/* "... 1 event ..." would take the place of the event itself. */
static void fill_gaps_of_one(struct story *y) {
  size_t gap = 0, left_out = 0;
  for (size_t i = y->from; i <= y->to; i++) {
    if (y->shown[i]) {
      if (gap == 1) y->shown[left_out] = true;
      gap = 0;
    } else if (rank_of(y, i) >= 0) {
      gap++;
      left_out = i;
    } else if (!repeats(y, &y->event[i])) {
      gap += 2; /* of others: stays left out */
    }
  }
  if (gap == 1 && y->to == y->h->count - 1) y->shown[left_out] = true;
}

/* ---- lanes: two bars side by side are what must not be, unless both are of readers, or permits allow so many ------ */

/* The number at the end of a client's name, "" = it has none of one or two digits. */
static const char *number_of(const char *name) {
  size_t length = strlen(name), digits = length;
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') digits--;
  return length - digits == 1 || length - digits == 2 ? name + digits : "";
}

/* A blank between two lanes: "1 16" is not 116. */
static void measure(struct story *y) {
  uint64_t length = y->episode ? y->episode->end_t - y->episode->begin_t : y->event[y->h->count - 1].t - y->event[0].t;
  y->decimals = length >= 5000000 ? 1 : length >= 5000 ? 3 : 6; /* a double hold of microseconds needs a length, too */
  y->lane_width = 2;
  y->name_width = (int)strlen("FAULT");
  for (size_t i = 0; i < y->lanes; i++) {
    const char *name = y->h->clients.name[y->lane[i].client];
    if ((int)strlen(name) > y->name_width) y->name_width = (int)strlen(name);
    if (strlen(number_of(name)) > 1) y->lane_width = 3;
  }
}

static bool has_readers(const struct lb_history *h) {
  for (size_t i = 0; i < h->count; i++)
    if (h->events[i].kind == LB_EV_GRANTED && h->events[i].flags & LB_EVF_SHARED) return true;
  return false;
}

static void put_lane_names(const struct story *y) {
  if (y->lanes == 0) return;
  fprintf(y->out, "  %14s ", "");
  for (size_t i = 0; i < y->lanes; i++) {
    const char *name = y->h->clients.name[y->lane[i].client], *number = number_of(name);
    fprintf(y->out, "%*s", y->lane_width - (*number ? (int)strlen(number) : 1), "");
    say(y, "%s", *number ? number : (char[]){*name, '\0'});
  }
  say(y, "   a bar: this client believes that it holds %k%s\n", y->key,
      has_readers(y->h) ? " (dotted: as a reader)" : "");
}

/* Every event moves the bars, also one that gets no line. */
static void move_lanes(struct story *y, const struct lb_event *e) {
  if (e->key != y->key && e->kind != LB_EV_CRASH) return;
  for (struct lane *l = y->lane; l < y->lane + y->lanes; l++) {
    if (l->client != e->client) continue;
    if (e->kind == LB_EV_GRANTED && l->depth++ == 0) l->alone = false;
    if (e->kind == LB_EV_GRANTED) l->alone |= !(e->flags & LB_EVF_SHARED);
    if (e->kind == LB_EV_RELEASE && l->depth > 0) l->depth--;
    if (e->kind == LB_EV_LOST || e->kind == LB_EV_EXPIRED || e->kind == LB_EV_CRASH) l->depth = 0;
  }
}

/* ---- what is wrong about an event, after "<--" ------------------------------------------------------------------- */

/* The lease of the hold that began with event `grant`, as it stood at event `at`: from its latest grant or renewal. */
static void put_lease(const struct story *y, size_t grant, size_t at) {
  const struct lb_event *e = &y->event[grant];
  uint64_t now = y->event[at].t;
  for (const struct lb_event *later = e + 1; later < y->event + at; later++) {
    bool leases = later->kind == LB_EV_GRANTED || later->kind == LB_EV_RENEWED;
    if (leases && later->client == e->client && later->key == e->key) e = later;
  }
  if (!(e->flags & LB_EVF_UNTIL)) return;
  if (e->until > now) say(y, ", lease not over for %l", e->until - now);
  else say(y, ", lease over since %l", now - e->until);
}

/* "<-- granted while client-1 holds, lease over since 120.0 ms". A state that is older than the one in which the other
 * client was granted shows nothing of that. */
static void put_wrong_grant(const struct story *y, size_t i) {
  const struct lb_mark *mark = &y->mark[i];
  if (mark->flags & LB_WRONG_DOUBLE) {
    const struct lb_event *other = &y->event[mark->other];
    uint64_t permits = lb_history_permits(y->h, other->key);
    size_t its = of_outcome(y, mark->other, LB_EV_SEEN), own = of_outcome(y, i, LB_EV_SEEN);
    say(y, "  <-- granted while %c holds%s", other->client, other->flags & LB_EVF_SHARED ? " (shared)" : "");
    if (permits > 1) say(y, ", and so do others: at most %u may", permits);
    put_lease(y, mark->other, i);
    if (its != LB_NO_EVENT && own != LB_NO_EVENT && y->event[own].value < y->event[its].value)
      say(y, ", and it had read an older state than that one");
  }
  if (mark->flags & LB_WRONG_FENCE)
    say(y, "%s the fence does not grow: %u came before", mark->flags & LB_WRONG_DOUBLE ? ";" : "  <--",
        y->event[mark->second].fence);
}

/* One reason for the access, the worst; then whose update it overwrote; then what the fence was worth. A fence is not
 * spoken of where nothing went wrong and nothing was refused. Under the guard `claim` no refusal was for the fence. */
static void put_wrong_access(const struct story *y, size_t i) {
  const struct lb_mark *mark = &y->mark[i];
  const struct lb_event *e = &y->event[i];
  const char *does = e->kind == LB_EV_READ ? "reads" : "writes";
  bool refused = e->flags & LB_EVF_REFUSED, told = mark->flags & (LB_WRONG_STALE | LB_WRONG_DIRTY);
  if (mark->flags & LB_WRONG_STALE)
    say(y, "  <-- accepted although %c was granted it since", y->event[mark->other].client);
  else if (told && mark->other == LB_NO_EVENT) say(y, "  <-- %s without holding it", does);
  else if (told) say(y, "  <-- %s while %c holds, too", does, y->event[mark->other].client);
  if (mark->flags & LB_WRONG_LOST) {
    const struct lb_event *lost = &y->event[mark->second];
    say(y, "%s value %u %s: ", told ? ";" : "  <--", e->value,
        lost->value == e->value ? "again" : "after a larger one");
    if (lost->client == e->client) say(y, "its own update is lost");
    else say(y, "%c's update is lost", lost->client);
  }
  if (mark->flags & LB_WRONG_FENCED_OFF && refused && !y->about->claims)
    say(y, "  <-- fenced off: the resource has seen %u", y->event[mark->fence_seen].fence);
  if (mark->flags & LB_WRONG_FENCED_OFF && told && !refused) say(y, " (the guard fence would refuse it)");
  if (refused && y->about->claims && mark->before != LB_NO_EVENT)
    say(y, "  <-- refused: the token of %c stands there", y->event[mark->before].client);
}

static void put_wrong(const struct story *y, size_t i) {
  const struct lb_event *e = &y->event[i];
  size_t before = y->mark[i].before;
  if (e->kind == LB_EV_GRANTED) put_wrong_grant(y, i);
  if (e->kind == LB_EV_READ || e->kind == LB_EV_WRITE) put_wrong_access(y, i);
  if (e->kind == LB_EV_LOST && before != LB_NO_EVENT) /* in the column of what others carry */
    say(y, "      it knows %l after %c was granted", e->t - y->event[before].t, y->event[before].client);
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/* What the event itself carries. Above 32 bits a fence is best read in two halves: ZooKeeper's is a czxid, whose upper
 * half is the epoch, the number of the leader that granted. What is larger still is some other number: a time, say. */
static void put_facts(const struct story *y, const struct lb_event *e) {
  const char *separator = "  ";
  if (e->flags & LB_EVF_SHARED) say(y, "%sshared", separator), separator = ", ";
  if (e->flags & LB_EVF_VALUE) say(y, "%svalue %u", separator, e->value), separator = ", ";
  if (e->flags & LB_EVF_FENCE) {
    bool halves = e->fence >> 32 && e->fence >> 40 == 0;
    if (halves) say(y, "%sfence czxid %x, epoch %u", separator, e->fence, e->fence >> 32);
    else say(y, "%sfence %u", separator, e->fence);
    separator = ", ";
  }
  if (e->flags & LB_EVF_UNTIL) say(y, "%slease until %t", separator, e->until);
  else if (e->kind == LB_EV_SILENT) say(y, "%sno more", separator);
  if (e->flags & LB_EVF_DUE && e->kind != LB_EV_CHECK) say(y, "%sdue at %t", separator, e->due);
  if (e->flags & LB_EVF_EARLY) say(y, "%sbefore it asked for the lock", separator), separator = ", ";
  if (e->flags & LB_EVF_REFUSED) say(y, "%srefused", separator);
  if (e->flags & LB_EVF_CHECK) say(y, "%s%s", separator, lb_say_check(e->check));
  if (e->flags & LB_EVF_DUE && e->check == LB_CHECK_NO_ANSWER) say(y, ", asked at %t", e->due);
}

/* "cut client 1: client-1 from redis-4, redis-5  (proved, 0.500 ms later)". */
static void put_fault(const struct story *y, size_t fault) {
  size_t touched = of_fault(y, fault, LB_EV_TOUCHED), proof = of_fault(y, fault, LB_EV_PROVED);
  if (touched != LB_NO_EVENT) {
    const struct lb_fact *f = lb_event_fact(y->h, &y->event[touched]);
    say(y, ": ");
    if (f->host == LB_NO_NAME) lb_say_event(y->h, &y->event[touched], y->out);
    else say(y, "%s", y->h->texts.name[f->host]);
    if (f->from != LB_NO_NAME) say(y, "%s%s", lb_say_touched(y->h, f), y->h->texts.name[f->from]);
  }
  if (proof != LB_NO_EVENT) say(y, "  (proved, %l later)", y->event[proof].t - y->event[fault].t);
}

/* True for an event that ends an attempt. */
static bool is_outcome(const struct lb_event *e) {
  return e->kind == LB_EV_GRANTED || e->kind == LB_EV_BUSY || e->kind == LB_EV_UNKNOWN || e->kind == LB_EV_TIMEOUT;
}

/* The server that granted an attempt ("by"), or that it asked without success ("at"). */
static size_t server_of(const struct story *y, size_t i) {
  return is_outcome(&y->event[i]) ? of_outcome(y, i, LB_EV_SERVER) : LB_NO_EVENT;
}

static void put_padded(const struct story *y, const char *text, int width) {
  say(y, "%s", text);
  fprintf(y->out, "%*s", width > (int)strlen(text) ? width - (int)strlen(text) : 0, "");
}

/* Time, bars, who, what, and what is wrong about it. An event with nothing behind it is not padded: no line ends in
 * spaces. */
static void put_line(const struct story *y, size_t i) {
  const struct lb_event *e = &y->event[i];
  size_t server = server_of(y, i), seen = e->kind == LB_EV_GRANTED ? of_outcome(y, i, LB_EV_SEEN) : LB_NO_EVENT;
  bool of_client = !lb_event_is_fact(e), alone = !e->flags && !y->mark[i].flags && server == LB_NO_EVENT;
  fprintf(y->out, "  +%10.*f ms ", y->decimals, since_start(y, e->t));
  for (const struct lane *l = y->lane; l < y->lane + y->lanes; l++)
    fprintf(y->out, "%*s", y->lane_width, !l->depth ? "" : l->alone ? "|" : ":");
  say(y, "  ");
  const char *client = e->client == LB_NO_NAME ? "-" : y->h->clients.name[e->client];
  put_padded(y, of_client ? client : e->kind == LB_EV_FAULT ? "FAULT" : "seen", y->name_width);
  say(y, "  ");
  if (of_client) put_padded(y, lb_event_kind_name(e->kind), alone ? 0 : 8);
  else lb_say_event(y->h, e, y->out);
  const struct lb_fact *f = server == LB_NO_EVENT ? &lb_no_fact : lb_event_fact(y->h, &y->event[server]);
  if (f->host != LB_NO_NAME) say(y, e->kind == LB_EV_GRANTED ? "  by %s" : "  at %s", y->h->texts.name[f->host]);
  put_facts(y, e);
  if (e->kind == LB_EV_FAULT) put_fault(y, i);
  if (seen != LB_NO_EVENT) say(y, y->event[seen].value >> 32 ? ", read at %x" : ", read at %u", y->event[seen].value);
  put_wrong(y, i);
  putc('\n', y->out);
}

static void put_left_out(const struct story *y, uint64_t count, uint64_t renewals) {
  const char *what = renewals == count ? "renewal" : "event";
  if (count) say(y, "                 ... %u %s%s ...\n", count, what, count == 1 ? "" : "s");
}

/* Lines, and between them how many events were left out. */
static void put_lines(struct story *y) {
  uint64_t left_out = 0, renewals = 0;
  put_lane_names(y);
  for (size_t i = 0; i < y->h->count; i++) {
    move_lanes(y, &y->event[i]);
    if (y->shown[i]) {
      put_left_out(y, left_out, renewals);
      left_out = renewals = 0;
      put_line(y, i);
    } else if (!repeats(y, &y->event[i])) {
      left_out++;
      renewals += y->event[i].kind == LB_EV_RENEWED;
    }
  }
  put_left_out(y, left_out, renewals);
}

/* ---- the sentences ----------------------------------------------------------------------------------------------- */

/* Counts that are not 0 behind `before`, or `otherwise`. True = there was one. */
struct count {
  uint64_t count;
  const char *one, *many;
};

static bool put_counts(const struct story *y, const char *before, const struct count *counts, const char *otherwise) {
  const char *separator = before;
  bool any = false;
  for (; counts->one; counts++) {
    if (counts->count == 0) continue;
    say(y, "%s%u %s", separator, counts->count, counts->count == 1 ? counts->one : counts->many);
    separator = ", ";
    any = true;
  }
  say(y, any ? ".\n" : otherwise);
  return any;
}

/* "client-1 and client-2 held lock-1 at the same time for 80.1 ms, from +120.0 ms to +200.1 ms." */
static void put_episode(const struct story *y, const struct lb_episode *e) {
  uint64_t permits = lb_history_permits(y->h, e->key);
  for (size_t i = 0; i < e->client_count; i++)
    say(y, i == 0 ? "%c" : i + 1 < e->client_count ? ", %c" : " and %c", e->clients[i]);
  say(y, " held %k at the same time for %l, from %t to %t%s", e->key, (uint64_t)(e->end_t - e->begin_t), e->begin_t,
      e->end_t, e->end_event == y->h->count ? ", when the history ends" : "");
  if (permits > 1) say(y, "; at most %u may", permits);
  say(y, ".\n");
}

/* The double hold, or that nothing went wrong and what that rests on; the damage at the resource; what else there is. */
static void put_what_happened(const struct story *y) {
  const struct lb_check *c = y->c;
  size_t shortened = find_shortened(y);
  bool refused = false, more = !y->episode || c->double_holds > 1;
  for (size_t i = 0; i < y->h->count; i++)
    refused |= (y->mark[i].flags & LB_WRONG_FENCED_OFF) && (y->event[i].flags & LB_EVF_REFUSED);
  const struct count safe[] = {{c->grants, "grant", "grants"},
                               {c->handoffs, "hand-off", "hand-offs"},
                               {c->unknown_acquires, "unknown outcome", "unknown outcomes"},
                               {0}};
  const struct count damage[] = {
      {(uint64_t)c->lost_updates, "update was lost", "updates were lost"},
      {c->stale_writes, "write of an overtaken holder was accepted", "writes of overtaken holders were accepted"},
      {refused && y->about->claims ? c->fenced_off : 0, "write was refused", "writes were refused"},
      {refused && !y->about->claims ? c->fenced_off : 0, "write was fenced off", "writes were fenced off"},
      {0}};
  const struct count others[] = {{more ? c->double_holds : 0, "double hold", "double holds"},
                                 {more ? c->dirty_accesses : 0, "dirty access", "dirty accesses"},
                                 {c->token_regressions, "fence that did not grow", "fences that did not grow"},
                                 {0}};
  if (y->episode) {
    put_episode(y, y->episode);
  } else if (!lb_check_violated(c, true) && !lb_check_damaged(c, true)) {
    say(y, "At no time did %s hold the same lock%s, and no update was lost: ",
        c->depth > 1 ? "more clients" : "two clients", c->depth > 1 ? " than may" : "");
    put_counts(y, "", safe, "nothing was granted.\n");
  }
  put_counts(y, "At the resource: ", damage,
             c->double_holds && shortened == LB_NO_EVENT ? "The resource was not damaged.\n" : "");
  if (lb_check_read_early(c))
    say(y, "No two held the lock at once: what was written had been read before the lock was asked for.\n");
  put_counts(y, "In this history: ", others, "");
  if (shortened == LB_NO_EVENT) return;
  const struct lb_fact *f = lb_event_fact(y->h, &y->event[shortened]);
  say(y, "All this is of the first %u of %u events: more were not kept, so the whole trial had more.\n",
      (uint64_t)f->kept, (uint64_t)f->total);
}

/* What ended the hold of the latest grant of the key up to `since`; its client in *ret_client. NULL = nothing did. */
static const struct lb_event *last_end(const struct story *y, const struct lb_no_grant *still, uint32_t *ret_client) {
  const struct lb_event *grant = NULL, *end = NULL;
  for (const struct lb_event *e = y->event; e < y->event + y->h->count && e->t <= still->until; e++) {
    bool of_key = e->key == still->key;
    if (e->kind == LB_EV_GRANTED && of_key && e->t <= still->since) grant = e, end = NULL;
    bool ends = e->kind == LB_EV_CRASH || ((e->kind == LB_EV_RELEASE || e->kind == LB_EV_LOST) && of_key);
    if (ends && grant && !end && e->client == grant->client) end = e;
  }
  *ret_client = grant ? grant->client : LB_NO_NAME;
  return end;
}

/* What became of an attempt: its outcome, or the end of its client; NULL = nothing yet. */
static const struct lb_event *outcome_of(const struct story *y, const struct lb_event *asked) {
  for (const struct lb_event *e = asked + 1; e < y->event + y->h->count; e++) {
    if (e->client == asked->client && ((is_outcome(e) && e->key == asked->key) || e->kind == LB_EV_CRASH)) return e;
  }
  return NULL;
}

/* The first attempt from this event on that no answer came to: the service may have granted it. NULL = there is none. */
static const struct lb_event *unanswered(const struct story *y, const struct lb_no_grant *still,
                                         const struct lb_event *from) {
  for (const struct lb_event *e = from; e < y->event + y->h->count && e->t <= still->until; e++) {
    const struct lb_event *outcome = e->kind == LB_EV_ACQUIRE && e->key == still->key ? outcome_of(y, e) : NULL;
    if (outcome && (outcome->kind == LB_EV_UNKNOWN || outcome->kind == LB_EV_CRASH)) return e;
  }
  return NULL;
}

/* Says of such an attempt when it was sent, and when a step saw the key after it. */
static void put_unanswered(const struct story *y, const struct lb_no_grant *still, const struct lb_event *asked) {
  say(y, "; no answer came to what %c asked at %t", asked->client, asked->t);
  for (const struct lb_event *e = asked + 1; e < y->event + y->h->count && e->t <= still->until; e++) {
    if (e->kind != LB_EV_OBSERVED || !lb_event_fact(y->h, e)->present) continue;
    say(y, ", and the key was seen at %t", e->t);
    return;
  }
}

/* "Stuck since +206.5 ms: lock-1 was asked for and granted to no client for 2997.6 ms; client-1 had died with it." The
 * time in which the lock should have been had begins when a hold ends. */
static void put_still(const struct story *y, const struct lb_no_grant *still) {
  uint32_t client;
  const struct lb_event *end = last_end(y, still, &client);
  uint64_t since = end ? lb_later(still->since, end->t) : still->since;
  say(y, "%s since %t: %k was asked for and granted to nobody for %l", y->about->delayed ? "Delayed" : "Stuck", since,
      still->key, (uint64_t)(still->until - since));
  bool died = end && end->kind == LB_EV_CRASH, let_go = end && !died;
  const struct lb_event *asked = let_go || client == LB_NO_NAME ? unanswered(y, still, end ? end : y->event) : NULL;
  if (asked) put_unanswered(y, still, asked);
  else if (client != LB_NO_NAME)
    say(y,
        !end   ? "; %c still had it"
        : died ? "; %c had died with it"
               : "; %c, which had it last, had let go of it",
        client);
  say(y, ".\n");
}

static bool has_asked(const struct story *y, uint32_t client) {
  for (const struct lb_event *e = y->event; e < y->event + y->h->count; e++)
    if (e->kind == LB_EV_ACQUIRE && e->client == client) return true;
  return false;
}

/* A client that met an error and never asked had no session to ask in. Whatever was awaited by then, was awaited of it:
 * the lock itself may have been free. */
static bool put_unopened(const struct story *y) {
  const struct lb_event *in_vain = NULL, *end = y->event + y->h->count;
  for (const struct lb_event *e = y->event; e < end; e++) {
    if (e->kind == LB_EV_NOT_MET && !in_vain) in_vain = e;
    if (e->kind != LB_EV_ERROR || !in_vain || e->client == LB_NO_NAME || has_asked(y, e->client)) continue;
    say(y, "%s at %t: %c had not asked, as its session could not be opened.\n", y->about->delayed ? "Delayed" : "Stuck",
        in_vain->t, e->client);
    return true;
  }
  return false;
}

/* There are two cases. The last client that asked gave up, though no client had a right to the lock any more
 * (lb_evidence_in_vain()). Or a lock stood still: in a timeline to its end, as a step timed out; in a campaign for the
 * longest such time. Of a history that was cut short it is not known whether it has the time that counts. */
static void put_stuck(const struct story *y) {
  struct lb_in_vain last;
  struct lb_closing closing = {.end = LB_CLOSING_NONE};
  struct lb_history asked = *y->h;
  struct lb_stats stats;
  uint64_t ttl_ns = y->about->ttl_ns;
  if (!y->about->stuck || find_shortened(y) != LB_NO_EVENT) return;
  if (ttl_ns) lb_evidence_closing(y->h, ttl_ns, &closing);
  if (put_unopened(y)) {
  } else if (ttl_ns && lb_evidence_in_vain(y->h, ttl_ns, &last)) {
    say(y,
        "%s since %t: from then on nobody had a right to %k, and %c asked for it and was not granted, to the end of its %l.\n",
        y->about->delayed ? "Delayed" : "Stuck", last.free_since, last.key, last.client, (uint64_t)last.asked_ns);
  } else {
    if (closing.end == LB_CLOSING_GRANTED) asked.count = lb_evidence_closing_begins(y->h);
    lb_stats_history(&asked, &stats);
    bool any = (ttl_ns ? stats.no_grant_open_ns : stats.no_grant_ns) >= 0;
    if (any) put_still(y, ttl_ns ? &stats.no_grant_open : &stats.no_grant);
    lb_stats_clear(&stats);
    if (!any) return;
  }
  if (closing.end == LB_CLOSING_GRANTED) /* of a campaign the grants go on, and stand above */
    say(y, "Then %c was granted it, at %t.\n", closing.client, closing.at);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

/* The lanes show one key, and a deadlock has several. */
static void put_circle(struct story *y) {
  struct lb_circle circle;
  char among[600];
  if (!lb_circle_find(y->h, &circle)) return;
  lb_circle_format(y->h, &circle, among, sizeof among);
  say(y, "A deadlock: %s.\n", among);
}

static void tell(struct story *y, struct candidate *line) {
  find_focus(y);
  find_stretch(y);
  find_lanes(y);
  choose(y, line);
  fill_gaps_of_one(y);
  measure(y);
  put_lines(y);
  putc('\n', y->out);
  put_what_happened(y);
  put_stuck(y);
  put_circle(y);
}

void lb_explain(const struct lb_history *h, const struct lb_check *check, const struct lb_explain_about *about,
                FILE *out) {
  struct story y = {.h = h,
                    .c = check,
                    .about = about,
                    .event = h->events,
                    .mark = lb_explain_marks(h),
                    .shown = lb_need(calloc(h->count + 1, sizeof *y.shown)),
                    .out = out};
  struct candidate *line = lb_need(malloc((h->count + 1) * sizeof *line));
  if (h->count == 0) fputs("  nothing happened\n", out);
  else tell(&y, line);
  free(y.mark);
  free(y.shown);
  free(line);
}

int lb_explain_episode(const struct lb_history *h, const struct lb_check *check) {
  struct story y = {.h = h, .c = check, .event = h->events, .mark = lb_explain_marks(h)};
  find_focus(&y);
  free(y.mark);
  return y.episode ? (int)(y.episode - check->episodes) : -1;
}
