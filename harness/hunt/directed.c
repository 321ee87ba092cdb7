/* SPDX-License-Identifier: MIT
 *
 * From a history of a campaign to a directed timeline: which two clients met, which faults began before, and what came
 * after what.
 *
 * The file of that timeline has the items in their order, without the faults that are left out. The first fault of a
 * server that decided names it `primary`, and so do later ones of that server while it led. A fault of the next server
 * that decided names `primary 2`: in a replay the servers choose which one that is. Another server is a node.
 *
 * A client's request is a step of its own only if a fault lies between it and its answer. Otherwise client 1 acquires
 * where it was granted, and client 2 asks when client 1 holds.
 */
#include "directed.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backends/backend.h"
#include "base/error.h"
#include "base/need.h"
#include "scenario/expect.h"

enum { NAME = 64, CLIENTS_MAX = 128 };

struct reader {
  const struct lb_history *history;
  const struct lb_directed_of *of;
  struct lb_directed *d;
  uint32_t client[CLIENTS_MAX]; /* those that are named, in the order of their numbers */
  uint64_t at[LB_DIRECTED_ITEMS_MAX], end[LB_DIRECTED_ITEMS_MAX]; /* of each item: when it began and was done */
};

static const char *text(const struct lb_history *h, uint32_t index) {
  return index == LB_NO_NAME ? "" : h->texts.name[index];
}

/* The number of a client here, a new one if it has none yet. */
static int number_of(struct reader *r, uint32_t client) {
  for (int i = 0; i < r->d->clients; i++)
    if (r->client[i] == client) return i + 1;
  if (r->d->clients == CLIENTS_MAX) return 1;
  r->client[r->d->clients++] = client;
  return r->d->clients;
}

static int client_named(struct reader *r, const char *name) {
  for (size_t i = 0; i < r->history->clients.count; i++)
    if (strcmp(r->history->clients.name[i], name) == 0) return number_of(r, (uint32_t)i);
  return 0;
}

static void add(struct reader *r, enum lb_directed_kind kind, size_t fault, uint64_t at, uint64_t end) {
  if (r->d->item_count == LB_DIRECTED_ITEMS_MAX) return;
  r->at[r->d->item_count] = at, r->end[r->d->item_count] = end;
  r->d->item[r->d->item_count++] = (struct lb_directed_item){.kind = kind, .fault = fault, .within = -1};
}

/* ---- the faults -------------------------------------------------------------------------------------- */

/* The event of this kind that belongs to the fault of that number; NULL = there is none. */
static const struct lb_event *event_of(const struct lb_history *h, size_t from, uint16_t kind, uint32_t step) {
  for (size_t i = from; i < h->count; i++)
    if (h->events[i].kind == kind && lb_event_fact(h, &h->events[i])->step == step) return &h->events[i];
  return NULL;
}

/* A client asked that server and was granted the lock: it decided then. */
static const char *deciding(const struct lb_history *h, size_t before) {
  for (size_t i = before; i-- > 0;)
    if (h->events[i].kind == LB_EV_SERVER) return text(h, lb_event_fact(h, &h->events[i])->host);
  return "";
}

/* The reign of a fault is larger by one if the fault before it hit another server that decided: there was a failover.
 */
static int reign_of(const struct lb_directed *d, const struct lb_directed_fault *f) {
  bool names = f->step.a.kind == LB_ROLE_PRIMARY || f->step.a.kind == LB_ROLE_CURRENT_PRIMARY;
  if (f->client || strchr(f->host, ',') || !(f->decided || names)) return -1;
  for (const struct lb_directed_fault *before = f; before-- > d->fault;)
    if (before->reign >= 0) return before->reign + (strcmp(before->host, f->host) != 0);
  return 0;
}

/* Faults that were not proved did nothing that is known of. When there are more than there is room for, the earliest
 * go. */
static int add_fault(struct reader *r, size_t index, struct lb_error *err) {
  const struct lb_history *h = r->history;
  const struct lb_fact *fact = lb_event_fact(h, &h->events[index]);
  const struct lb_event *proved = event_of(h, index, LB_EV_PROVED, fact->step),
                        *over = event_of(h, index, LB_EV_OVER, fact->step);
  const struct lb_event *touched = event_of(h, index, LB_EV_TOUCHED, fact->step);
  const struct lb_fact *whom = touched ? lb_event_fact(h, touched) : fact;
  if (!proved) return 0;
  if (r->d->fault_count == LB_DIRECTED_FAULTS_MAX)
    return lb_refuse(err, "more than %d faults came before the violation: take a trial that breaks sooner",
                     LB_DIRECTED_FAULTS_MAX);
  struct lb_directed_fault *f = &r->d->fault[r->d->fault_count];
  *f = (struct lb_directed_fault){0};
  if (lb_step_parse(text(h, fact->what), &f->step, err) < 0)
    return lb_error_prefix(err, "the fault '%s': ", text(h, fact->what));
  snprintf(f->host, sizeof f->host, "%s", text(h, whom->host));
  snprintf(f->from, sizeof f->from, "%s", text(h, whom->from));
  if (lb_role_is_client(f->step.a)) f->client = client_named(r, f->host);
  else f->decided = *f->host && strcmp(f->host, deciding(h, index)) == 0;
  f->reign = reign_of(r->d, f);
  if (f->step.b.kind == LB_ROLE_CLIENT) f->step.b.number = client_named(r, f->from);
  add(r, LB_DIRECTED_DO, r->d->fault_count, h->events[index].t, proved->t);
  uint64_t ended = over ? over->t : h->events[h->count - 1].t;
  add(r, LB_DIRECTED_UNDO, r->d->fault_count++, ended, ended);
  return 0;
}

/* ---- the clients ------------------------------------------------------------------------------------- */

/* The latest event of this kind of a client and key before an index; SIZE_MAX = none. */
static size_t latest(const struct lb_history *h, size_t before, uint16_t kind, uint32_t client, uint32_t key) {
  for (size_t i = before; i-- > 0;)
    if (h->events[i].kind == kind && h->events[i].client == client && h->events[i].key == key) return i;
  return SIZE_MAX;
}

static const struct lb_episode *choose(const struct lb_check *check) {
  for (size_t i = 0; i < check->episode_count; i++)
    if (check->episodes[i].within_lease) return &check->episodes[i];
  return check->episode_count ? &check->episodes[0] : NULL;
}

/* The earlier holder: a client of the double hold that is not the one that came. */
static uint32_t earlier(const struct lb_history *h, const struct lb_episode *e) {
  for (size_t i = 0; i < e->client_count; i++)
    if (e->clients[i] != h->events[e->begin_event].client) return e->clients[i];
  return LB_NO_NAME;
}

/* The server that answered the grant at this index: it is recorded beside it. */
static void take_server(const struct lb_history *h, size_t granted, char ret[NAME]) {
  for (size_t i = granted > 4 ? granted - 4 : 0; i < h->count && i < granted + 5; i++)
    if (h->events[i].kind == LB_EV_SERVER && h->events[i].client == h->events[granted].client)
      snprintf(ret, NAME, "%s", text(h, lb_event_fact(h, &h->events[i])->host));
}

static int add_clients(struct reader *r, const struct lb_episode *e, struct lb_error *err) {
  const struct lb_history *h = r->history;
  const struct lb_event *outcome = &h->events[e->begin_event];
  uint32_t one = earlier(h, e), two = outcome->client;
  size_t held = latest(h, e->begin_event, LB_EV_GRANTED, one, e->key);
  size_t asked_2 = latest(h, e->begin_event, LB_EV_ACQUIRE, two, e->key);
  size_t asked_1 = held == SIZE_MAX ? SIZE_MAX : latest(h, held, LB_EV_ACQUIRE, one, e->key);
  if (asked_1 == SIZE_MAX || asked_2 == SIZE_MAX)
    return lb_refuse(err, "the history does not have the begin of the two holds that met");
  number_of(r, one), number_of(r, two);
  take_server(h, held, r->d->by[0]), take_server(h, e->begin_event, r->d->by[1]);
  add(r, LB_DIRECTED_ASKS_1, 0, h->events[asked_1].t, h->events[asked_1].t);
  add(r, LB_DIRECTED_HOLDS_1, 0, h->events[held].t, h->events[held].t);
  add(r, LB_DIRECTED_ASKS_2, 0, h->events[asked_2].t, h->events[asked_2].t);
  add(r, LB_DIRECTED_HOLDS_2, 0, outcome->t, outcome->t);
  return 0;
}

/* ---- the order --------------------------------------------------------------------------------------- */

/* Insertion sort: what was added first stays first among equals. */
static void sort(struct reader *r) {
  for (size_t i = 1; i < r->d->item_count; i++)
    for (size_t j = i; j > 0 && r->at[j] < r->at[j - 1]; j--) {
      struct lb_directed_item item = r->d->item[j];
      uint64_t at = r->at[j], end = r->end[j];
      r->d->item[j] = r->d->item[j - 1], r->at[j] = r->at[j - 1], r->end[j] = r->end[j - 1];
      r->d->item[j - 1] = item, r->at[j - 1] = at, r->end[j - 1] = end;
    }
}

/* Where no fault was played, no more than a lease has to pass: what went on before is over by then. */
static void measure(struct reader *r) {
  int within = -1;
  for (size_t i = 0; i < r->d->item_count; i++) {
    struct lb_directed_item *item = &r->d->item[i];
    if (i > 0 && r->at[i] > r->end[i - 1]) item->gap_ms = (long long)((r->at[i] - r->end[i - 1]) / LB_NS_PER_MS);
    item->within = within;
    if (within < 0 && item->gap_ms > r->of->ttl_ms) item->gap_ms = r->of->ttl_ms;
    if (item->kind == LB_DIRECTED_DO) within = (int)item->fault;
    if (item->kind == LB_DIRECTED_UNDO) within = -1;
  }
}

int lb_directed_read(const struct lb_history *history, const struct lb_check *check, const struct lb_directed_of *of,
                     struct lb_directed *ret, struct lb_error *err) {
  const struct lb_episode *e = choose(check);
  struct reader *r = lb_need(calloc(1, sizeof *r));
  *ret = (struct lb_directed){0};
  *r = (struct reader){.history = history, .of = of, .d = ret};
  int code =
      e ? add_clients(r, e, err)
        : lb_refuse(err, "no two clients held the lock at once in this trial: only such violations can be cut down");
  for (size_t i = 0; code == 0 && i < e->begin_event; i++)
    if (history->events[i].kind == LB_EV_FAULT) code = add_fault(r, i, err);
  if (code == 0) sort(r), measure(r), ret->late = !e->within_lease;
  else lb_directed_clear(ret);
  free(r);
  return code;
}

void lb_directed_clear(struct lb_directed *directed) {
  for (size_t i = 0; i < LB_DIRECTED_FAULTS_MAX; i++) free(directed->fault[i].step.text);
  *directed = (struct lb_directed){0};
}

/* The order of a directed timeline: which items lie between which, where time passes, and when each of the two clients
 * begins to ask. */

static bool is_fault(const struct lb_directed_item *item) {
  return item->kind == LB_DIRECTED_DO || item->kind == LB_DIRECTED_UNDO;
}

/* What lies between what; for the steps. */
static bool is_kept(const bool keep[], const struct lb_directed_item *item) {
  return !is_fault(item) || keep[item->fault];
}

/* The place among the items; item_count = it is not among them. */
static size_t place_of(const struct lb_directed *d, enum lb_directed_kind kind) {
  size_t i = 0;
  while (i < d->item_count && d->item[i].kind != kind) i++;
  return i;
}

/* A fault that is kept begins or ends between the two. */
static bool parted(const struct lb_directed *d, const bool keep[], size_t from, size_t to) {
  for (size_t i = from + 1; i < to; i++)
    if (is_fault(&d->item[i]) && keep[d->item[i].fault]) return true;
  return false;
}

void lb_directed_waits(const struct lb_directed *d, const bool keep[], bool ret[LB_DIRECTED_ITEMS_MAX]) {
  size_t held = place_of(d, LB_DIRECTED_HOLDS_1), met = place_of(d, LB_DIRECTED_HOLDS_2);
  bool begun = false;
  for (size_t i = 0; i < d->item_count; i++) {
    const struct lb_directed_item *item = &d->item[i];
    bool kept = is_kept(keep, item);
    ret[i] = kept && begun && i < met && (item->within < 0 || keep[item->within]);
    begun |= kept && (is_fault(item) || i == held || (i < held && parted(d, keep, i, held)));
  }
}

/* ---- which server answered ---------------------------------------------------------------------------- */

/* Where the latest fault of one server begins that this client met before it was granted the lock; SIZE_MAX = it met
 * none. */
static size_t met_fault(const struct lb_directed *d, const bool keep[], int client) {
  size_t granted = place_of(d, client == 1 ? LB_DIRECTED_HOLDS_1 : LB_DIRECTED_HOLDS_2), at = SIZE_MAX;
  for (size_t i = 0; i < granted && i < d->item_count; i++) {
    const struct lb_directed_fault *f = &d->fault[d->item[i].fault];
    if (d->item[i].kind == LB_DIRECTED_DO && keep[d->item[i].fault] && f->reign >= 0 &&
        f->step.verb != LB_STEP_CLOCK_JUMP && f->step.verb != LB_STEP_CLOCK_RATE)
      at = i;
  }
  return at;
}

static size_t end_of(const struct lb_directed *d, size_t fault) {
  for (size_t i = 0; i < d->item_count; i++)
    if (d->item[i].kind == LB_DIRECTED_UNDO && d->item[i].fault == fault) return i;
  return d->item_count;
}

/* It had asked that server before the fault was over, and that server answered it. */
static bool is_stuck(const struct lb_directed *d, const bool keep[], int client) {
  size_t at = met_fault(d, keep, client), asked = place_of(d, client == 1 ? LB_DIRECTED_ASKS_1 : LB_DIRECTED_ASKS_2);
  return at != SIZE_MAX && *d->by[client - 1] && strcmp(d->by[client - 1], d->fault[d->item[at].fault].host) == 0 &&
         asked < end_of(d, d->item[at].fault);
}

static bool has_moved(const struct lb_directed *d, const bool keep[], int client) {
  size_t at = met_fault(d, keep, client);
  return at != SIZE_MAX && *d->by[client - 1] && strcmp(d->by[client - 1], d->fault[d->item[at].fault].host) != 0;
}

/* ---- the two clients ---------------------------------------------------------------------------------- */

bool lb_directed_may(const struct lb_directed *d, const bool keep[], enum lb_directed_way way) {
  bool hit_1 = false, hit_2 = false;
  for (size_t i = 0; i < d->fault_count; i++)
    hit_1 |= keep[i] && d->fault[i].client == 1, hit_2 |= keep[i] && d->fault[i].client == 2;
  bool moved_1 = has_moved(d, keep, 1), moved_2 = has_moved(d, keep, 2),
       stuck = is_stuck(d, keep, 1) || is_stuck(d, keep, 2);
  if (way == LB_DIRECTED_FRESH) return !hit_2;
  if (way == LB_DIRECTED_BY_SERVER) return (stuck || moved_1 || moved_2) && !(moved_1 && hit_1) && !(moved_2 && hit_2);
  return true;
}

/* This client opens its session only when it asks. */
static bool is_fresh(const struct lb_directed *d, const bool keep[], int client) {
  return (d->way == LB_DIRECTED_FRESH && client == 2) ||
         (d->way == LB_DIRECTED_BY_SERVER && has_moved(d, keep, client));
}

/* The item behind which this client begins to ask in a step of its own; SIZE_MAX = it asks where client 1 holds. */
static size_t begins(const struct lb_directed *d, const bool keep[], int client) {
  size_t asked = place_of(d, client == 1 ? LB_DIRECTED_ASKS_1 : LB_DIRECTED_ASKS_2),
         held = place_of(d, LB_DIRECTED_HOLDS_1);
  bool late = client == 2 && asked > held;
  if (d->way == LB_DIRECTED_BY_SERVER && is_stuck(d, keep, client)) {
    size_t at = met_fault(d, keep, client);
    return at > asked ? at : asked;
  }
  if (d->way == LB_DIRECTED_BY_SERVER && has_moved(d, keep, client)) return late ? asked : SIZE_MAX;
  return late || parted(d, keep, asked, held) ? asked : SIZE_MAX;
}

/* ---- as a scenario file: what stands around its steps ---------------------------------------------------------------- */

enum { PROLOGUE_MS = 10000, RELEASE_MS = 2000 };

struct writer {
  const struct lb_directed *d;
  const struct lb_directed_of *of;
  const bool *keep;
  FILE *file;
  const char *first;                     /* the host that `primary` stands for; NULL = none yet */
  bool acquired[LB_DIRECTED_FAULTS_MAX]; /* the holder that this fault hits has the lock */
  bool began[3];                         /* client 1, 2 has begun to ask */
  bool ended_1;                          /* client 1 has written and released */
  bool waits[LB_DIRECTED_ITEMS_MAX];     /* before each item */
  long long wait_ms;                     /* before the next step */
};

/* A wait becomes a line before the next step, and only then: at the end there is none. */

static void __attribute__((format(printf, 2, 3))) step(struct writer *w, const char *format, ...) {
  va_list args;
  if (w->wait_ms > 0) fprintf(w->file, "step = wait %lldms\n", w->wait_ms);
  w->wait_ms = 0;
  va_start(args, format);
  fputs("step = ", w->file);
  vfprintf(w->file, format, args);
  fputc('\n', w->file);
  va_end(args);
}

enum { ROLE = 64 };

/* ---- roles ------------------------------------------------------------------------------------------- */

static int number_in(const char *host) {
  const char *dash = strrchr(host, '-');
  return dash ? atoi(dash + 1) : 0;
}

/* Which server leads at first is not drawn: where another one than the first did, the two change places. */
static int node_of(const struct writer *w, const char *host) {
  int number = number_in(host), first = w->first ? number_in(w->first) : 1;
  return number == first ? 1 : number == 1 ? first : number;
}

/* How many servers led before the one that this fault hit, of those that the faults which are kept hit. */
static int reigns_before(const struct writer *w, const struct lb_directed_fault *f) {
  int count = 0, latest = -1;
  for (size_t i = 0; i < w->d->fault_count && &w->d->fault[i] <= f; i++) {
    int reign = w->d->fault[i].reign;
    if (!w->keep[i] || reign < 0 || reign == latest) continue;
    if (latest >= 0) count++;
    latest = reign;
  }
  return count;
}

/* The role that a fault hits, in words of this timeline. */
static void target(struct writer *w, const struct lb_directed_fault *f, char ret[ROLE]) {
  int before = f->reign >= 0 ? reigns_before(w, f) : 0;
  if (f->reign >= 0 && !w->first) w->first = f->host;
  if (f->client) snprintf(ret, ROLE, "client %d", f->client);
  else if (f->reign >= 0 && before < LB_PRIMARIES_MAX)
    lb_role_format((struct lb_role){LB_ROLE_PRIMARY, before ? before + 1 : 0}, ret, ROLE);
  else if (f->reign >= 0 || f->step.a.kind == LB_ROLE_NODE) snprintf(ret, ROLE, "node %d", node_of(w, f->host));
  else lb_role_format(f->step.a, ret, ROLE);
}

/* ---- faults ------------------------------------------------------------------------------------------ */

/* A cut names the other side by its role, where that is still what it was; else each of its servers. */
static void cut(struct writer *w, const struct lb_directed_fault *f, const char *a) {
  const char *word = f->step.verb == LB_STEP_CUT_TO ? "to" : "from";
  char b[ROLE], hosts[sizeof f->from], *rest = NULL;
  lb_role_format(f->step.b, b, sizeof b);
  if (strncmp(a, "node ", 5) != 0 || lb_role_is_client(f->step.b) || f->step.b.kind == LB_ROLE_ALL)
    return step(w, "cut %s %s %s", a, word, b);
  snprintf(hosts, sizeof hosts, "%s", f->from);
  for (char *host = strtok_r(hosts, ", ", &rest); host; host = strtok_r(NULL, ", ", &rest))
    step(w, "cut %s %s node %d", a, word, node_of(w, host));
}

static void take(struct writer *w, size_t fault) {
  const struct lb_directed_fault *f = &w->d->fault[fault];
  if (f->step.a.kind != LB_ROLE_HOLDER || w->acquired[fault]) return;
  w->acquired[fault] = true;
  step(w, "client %d acquire within %dms", f->client, PROLOGUE_MS);
}

/* A client that is hit as holder before client 1 holds has to acquire before another client asks. Otherwise it would be
 * refused. */
static void take_ahead(struct writer *w, size_t from) {
  for (size_t i = from; i < place_of(w->d, LB_DIRECTED_HOLDS_1); i++)
    if (w->d->item[i].kind == LB_DIRECTED_DO && w->keep[w->d->item[i].fault]) take(w, w->d->item[i].fault);
}

static void begin_fault(struct writer *w, size_t place) {
  size_t fault = w->d->item[place].fault;
  const struct lb_directed_fault *f = &w->d->fault[fault];
  char a[ROLE];
  if (place < place_of(w->d, LB_DIRECTED_HOLDS_1)) take(w, fault);
  target(w, f, a);
  switch (f->step.verb) {
    case LB_STEP_CUT:
    case LB_STEP_CUT_TO: cut(w, f, a); break;
    case LB_STEP_KILL: step(w, "kill %s", a); break;
    case LB_STEP_PAUSE: step(w, "pause %s", a); break;
    case LB_STEP_CLOCK_JUMP:
      step(w, "clock %s %s%+lldms", a, f->step.monotonic ? "monotonic " : "", (long long)f->step.offset_ms);
      break;
    case LB_STEP_CLOCK_RATE: step(w, "clock %s rate %g", a, f->step.rate); break;
    default: break; /* a campaign draws no other */
  }
}

/* A clock stays as it was set, as in the campaign. */
static void end_fault(struct writer *w, size_t fault) {
  const struct lb_directed_fault *f = &w->d->fault[fault];
  char a[ROLE];
  target(w, f, a);
  if (f->step.verb == LB_STEP_CUT || f->step.verb == LB_STEP_CUT_TO) step(w, "heal");
  if (f->step.verb == LB_STEP_KILL && f->client) step(w, "%s start within %dms", a, PROLOGUE_MS);
  if (f->step.verb == LB_STEP_KILL && !f->client) step(w, "restart %s", a);
  if (f->step.verb == LB_STEP_PAUSE) step(w, "resume %s", a);
  if (f->step.verb == LB_STEP_PAUSE && w->acquired[fault]) step(w, "%s release within %dms", a, RELEASE_MS);
}

/* A fault that is kept stops client 1 while it holds. */
static bool stops_1(const struct lb_directed *d, const bool keep[]) {
  for (size_t i = place_of(d, LB_DIRECTED_HOLDS_1) + 1; i < d->item_count; i++) {
    const struct lb_directed_fault *f = &d->fault[d->item[i].fault];
    if (d->item[i].kind == LB_DIRECTED_DO && keep[d->item[i].fault] && f->client == 1 && f->step.verb == LB_STEP_PAUSE)
      return true;
  }
  return false;
}

static bool is_stopped(const struct writer *w) { return stops_1(w->d, w->keep); }

/* ---- clients ----------------------------------------------------------------------------------------- */

static void ask_2(struct writer *w) {
  if (w->began[2]) return;
  w->began[2] = true;
  step(w, "client 2 %sbegin section within %lldms", is_fresh(w->d, w->keep, 2) ? "open and " : "",
       2 * w->of->ttl_ms + PROLOGUE_MS);
}

/* What begins behind this item. */
static void begin(struct writer *w, size_t place) {
  bool before = place < place_of(w->d, LB_DIRECTED_HOLDS_1);
  for (int client = 1; client <= 2; client++) {
    if (begins(w->d, w->keep, client) != place) continue;
    if (before) take_ahead(w, place);
    if (client == 2) ask_2(w);
    else w->began[1] = true, step(w, "client 1 begin acquire within %lldms", w->of->ttl_ms + 2 * PROLOGUE_MS);
  }
}

static void end_1(struct writer *w) {
  if (w->ended_1) return;
  w->ended_1 = true;
  step(w, "client 1 write");
  step(w, "client 1 release within %dms", RELEASE_MS);
}

static void hold_1(struct writer *w, size_t place) {
  long long within = w->of->ttl_ms + PROLOGUE_MS;
  if (!w->began[1] && is_fresh(w->d, w->keep, 1)) step(w, "client 1 reopen within %dms", PROLOGUE_MS);
  if (w->began[1]) step(w, "let client 1 hold within %lldms", within);
  else step(w, "client 1 acquire within %lldms", within);
  step(w, "client 1 read");
  if (place_of(w->d, LB_DIRECTED_ASKS_2) < place) ask_2(w);
  if (!w->d->late || is_stopped(w)) return;
  ask_2(w);
  w->wait_ms += (long long)w->of->hold_ms;
  end_1(w);
}

/* Client 2 is given the time to show that it holds. If the overlap came after the lease, it has that time only while a
 * fault keeps client 1 from going on. */
static void hold_2(struct writer *w) {
  ask_2(w);
  if (!w->d->late) step(w, "let client 2 write within %lldms", w->of->ttl_ms);
  else if (is_stopped(w) && !w->ended_1) step(w, "let client 2 write within %lldms", w->of->ttl_ms * 3 / 2 + 1000);
}

/* ---- all of it --------------------------------------------------------------------------------------- */

static void write_item(struct writer *w, size_t i) {
  const struct lb_directed_item *item = &w->d->item[i];
  if (!is_kept(w->keep, item)) return;
  if (w->waits[i]) w->wait_ms += item->gap_ms;
  switch (item->kind) {
    case LB_DIRECTED_DO: begin_fault(w, i); break;
    case LB_DIRECTED_UNDO: end_fault(w, item->fault); break;
    case LB_DIRECTED_HOLDS_1: hold_1(w, i); break;
    case LB_DIRECTED_HOLDS_2: hold_2(w); break;
    case LB_DIRECTED_ASKS_1:
    case LB_DIRECTED_ASKS_2: break;
  }
  begin(w, i);
}

/* Its steps, a line each. */
static void steps(struct writer *w) {
  lb_directed_waits(w->d, w->keep, w->waits);
  for (int n = 1; n <= (is_fresh(w->d, w->keep, 2) ? 1 : 2); n++) {
    step(w, "client %d acquire within %dms", n, PROLOGUE_MS);
    step(w, "client %d release within %dms", n, RELEASE_MS);
  }
  for (size_t i = 0; i < w->d->item_count; i++) write_item(w, i);
  end_1(w);
}

static void head(const struct writer *w, const char *note) {
  const struct lb_directed_of *of = w->of;
  fprintf(w->file, "# Cut down from a violation of the campaign %s on %s, guard %s:\n", of->scenario, of->system,
          lb_guard_name(of->guard));
  fprintf(w->file, "# run %s, trial %s, seed %s. Two clients held the lock at once, %s.\n", of->run, of->trial,
          of->seed, w->d->late ? "the earlier lease was over" : "within their leases");
  if (note) fprintf(w->file, "# %s\n", note);
  fprintf(w->file, "#\n# Client 1 is the one that held, client 2 the one that was granted the lock beside it.\n");
  fprintf(w->file, "# To play it again: lockbench run FILE -b %s -g %s -n 20\n\n", of->system,
          lb_guard_name(of->guard));
}

static void settings(const struct writer *w) {
  const struct lb_directed_of *of = w->of;
  fprintf(w->file, "[scenario]\ntitle = cut down from %.60s\n", of->scenario);
  fprintf(w->file, "question = Does this timeline, cut down from a campaign, break exclusion?\n");
  fprintf(w->file, "refuted = It comes out otherwise than when it was cut down.\ntrials = 5\nmin_handoffs = 0\n");
  fprintf(w->file, "systems = %s\nguards = %s\n\n", of->system, lb_guard_name(of->guard));
  int clients = 2;
  for (size_t i = 0; i < w->d->fault_count; i++) {
    const struct lb_directed_fault *f = &w->d->fault[i];
    int from = f->step.b.kind == LB_ROLE_CLIENT ? f->step.b.number : 0, most = f->client > from ? f->client : from;
    if (w->keep[i] && most > clients) clients = most;
  }
  fprintf(w->file, "[workload]\nclients = %d\nttl_ms = %lld\nrenew = %s\n", clients, of->ttl_ms,
          of->renew ? "yes" : "no");
  if (of->request_ms > 0) fprintf(w->file, "request_ms = %lld\n", of->request_ms);
  for (size_t i = 0; i < sizeof of->options / sizeof *of->options && *of->options[i]; i++)
    fprintf(w->file, "option = %s\n", of->options[i]);
  if (of->disk) fprintf(w->file, "\n[servers]\nstorage = disk\n");
}

int lb_directed_write(const struct lb_directed *directed, const bool keep[], const struct lb_directed_of *of,
                      const char *note, const char *expected, FILE *file) {
  struct writer w = {.d = directed, .of = of, .keep = keep, .file = file};
  head(&w, note);
  settings(&w);
  fprintf(file, "\n[timeline]\n");
  steps(&w);
  if (directed->late) fprintf(file, "\n[proof]\npast_lease = yes\n");
  if (of->guard == LB_GUARD_NONE) fprintf(file, "\n[expect]\n");
  else fprintf(file, "\n[expect %s]\n", lb_guard_name(of->guard));
  fprintf(file, "%.*s = %s: as in the campaign that it was cut down from\n", (int)lb_expect_name_length(of->system),
          of->system, expected);
  return fflush(file) != 0 || ferror(file) ? -EIO : 0;
}
