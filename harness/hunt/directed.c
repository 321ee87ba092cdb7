/* SPDX-License-Identifier: MIT
 *
 * From a history of a campaign to a directed timeline: which two clients met, which faults began before, and what came
 * after what.
 */
#include "directed.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backends/backend.h"
#include "base/error.h"

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

/* A fault that hit another server that decided than the one before it of this kind: somebody had taken over. */
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

/* Of those who held already, the one that is not the client that came. */
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

/* Where nothing was done to anybody, no more than a lease has to pass: what went on before is over by then. */
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
  struct reader *r = calloc(1, sizeof *r);
  *ret = (struct lb_directed){0};
  if (!r) return lb_error(err, -ENOMEM, "out of memory");
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

bool lb_directed_is_kept(const bool keep[], const struct lb_directed_item *item) {
  return !is_fault(item) || keep[item->fault];
}

size_t lb_directed_place(const struct lb_directed *d, enum lb_directed_kind kind) {
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
  size_t held = lb_directed_place(d, LB_DIRECTED_HOLDS_1), met = lb_directed_place(d, LB_DIRECTED_HOLDS_2);
  bool begun = false;
  for (size_t i = 0; i < d->item_count; i++) {
    const struct lb_directed_item *item = &d->item[i];
    bool kept = lb_directed_is_kept(keep, item);
    ret[i] = kept && begun && i < met && (item->within < 0 || keep[item->within]);
    begun |= kept && (is_fault(item) || i == held || (i < held && parted(d, keep, i, held)));
  }
}

/* ---- which server answered ---------------------------------------------------------------------------- */

/* Where the latest fault of one server begins that this client met before it was granted the lock; SIZE_MAX = it met
 * none. */
static size_t met_fault(const struct lb_directed *d, const bool keep[], int client) {
  size_t granted = lb_directed_place(d, client == 1 ? LB_DIRECTED_HOLDS_1 : LB_DIRECTED_HOLDS_2), at = SIZE_MAX;
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
  size_t at = met_fault(d, keep, client),
         asked = lb_directed_place(d, client == 1 ? LB_DIRECTED_ASKS_1 : LB_DIRECTED_ASKS_2);
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

bool lb_directed_is_fresh(const struct lb_directed *d, const bool keep[], int client) {
  return (d->way == LB_DIRECTED_FRESH && client == 2) ||
         (d->way == LB_DIRECTED_BY_SERVER && has_moved(d, keep, client));
}

size_t lb_directed_begins(const struct lb_directed *d, const bool keep[], int client) {
  size_t asked = lb_directed_place(d, client == 1 ? LB_DIRECTED_ASKS_1 : LB_DIRECTED_ASKS_2),
         held = lb_directed_place(d, LB_DIRECTED_HOLDS_1);
  bool late = client == 2 && asked > held;
  if (d->way == LB_DIRECTED_BY_SERVER && is_stuck(d, keep, client)) {
    size_t at = met_fault(d, keep, client);
    return at > asked ? at : asked;
  }
  if (d->way == LB_DIRECTED_BY_SERVER && has_moved(d, keep, client)) return late ? asked : SIZE_MAX;
  return late || parted(d, keep, asked, held) ? asked : SIZE_MAX;
}
