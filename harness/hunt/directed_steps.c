/* SPDX-License-Identifier: MIT
 *
 * The steps of a directed timeline: its items in their order, those of faults that are left out skipped.
 *
 * A client's request is a step of its own only where a fault lies between it and its answer, else client 1 acquires where it was granted, and client 2
 * asks when client 1 holds. The first fault of a server that decided names it `primary`, and so do later ones of the same server; another one is a node.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "directed.h"

enum { PROLOGUE_MS = 10000, RELEASE_MS = 2000, ROLE = 64 };

struct writer {
  const struct lb_directed *d;
  const struct lb_directed_of *of;
  const bool *keep;
  FILE *file;
  const char *first;           /* the host that `primary` stands for; NULL = nobody yet */
  bool acquired[LB_DIRECTED_FAULTS_MAX]; /* the holder that this fault hits has the lock */
  bool started_2, ended_1;     /* client 2 has begun to ask; client 1 has written and released */
  bool waits[LB_DIRECTED_ITEMS_MAX]; /* before each item */
  long long wait_ms;           /* before the next step */
};

static void step(struct writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void step(struct writer *w, const char *format, ...) {
  va_list args;
  if (w->wait_ms > 0) fprintf(w->file, "step = wait %lldms\n", w->wait_ms);
  w->wait_ms = 0;
  va_start(args, format);
  fputs("step = ", w->file);
  vfprintf(w->file, format, args);
  fputc('\n', w->file);
  va_end(args);
}

/* ---- what is where ----------------------------------------------------------------------------------- */

static bool is_fault(const struct lb_directed_item *item) { return item->kind == LB_DIRECTED_DO || item->kind == LB_DIRECTED_UNDO; }
static bool is_kept(const struct writer *w, const struct lb_directed_item *item) { return !is_fault(item) || w->keep[item->fault]; }

static size_t place_of(const struct writer *w, enum lb_directed_kind kind) {
  size_t i = 0;
  while (i < w->d->item_count && w->d->item[i].kind != kind) i++;
  return i;
}

/* A fault that is kept begins or ends between the two. */
static bool parted(const struct writer *w, size_t from, size_t to) {
  for (size_t i = from + 1; i < to; i++)
    if (is_fault(&w->d->item[i]) && is_kept(w, &w->d->item[i])) return true;
  return false;
}

/* Client 1 stands still while it holds. */
static bool stops_1(const struct writer *w, const struct lb_directed_item *item, size_t place) {
  const struct lb_directed_fault *f = &w->d->fault[item->fault];
  return item->kind == LB_DIRECTED_DO && w->keep[item->fault] && f->client == 1 && f->step.verb == LB_STEP_PAUSE && place > place_of(w, LB_DIRECTED_HOLDS_1);
}

static bool ever_stops_1(const struct writer *w) {
  for (size_t i = 0; i < w->d->item_count; i++)
    if (stops_1(w, &w->d->item[i], i)) return true;
  return false;
}

void lb_directed_waits(const struct lb_directed *directed, const bool keep[], bool ret[LB_DIRECTED_ITEMS_MAX]) {
  struct writer w = {.d = directed, .keep = keep};
  size_t held = place_of(&w, LB_DIRECTED_HOLDS_1), met = place_of(&w, LB_DIRECTED_HOLDS_2);
  bool begun = false;
  for (size_t i = 0; i < directed->item_count; i++) {
    const struct lb_directed_item *item = &directed->item[i];
    bool kept = is_kept(&w, item);
    ret[i] = kept && begun && i < met && (item->within < 0 || keep[item->within]);
    begun |= kept && (is_fault(item) || i == held || (i < held && parted(&w, i, held)));
  }
}

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

static bool names_primary(struct lb_role role) { return role.kind == LB_ROLE_PRIMARY || role.kind == LB_ROLE_CURRENT_PRIMARY; }

/* Whom a fault hits, in words of this timeline. */
static void target(struct writer *w, const struct lb_directed_fault *f, char ret[ROLE]) {
  bool one = !strchr(f->host, ',') && (f->decided || names_primary(f->step.a));
  if (f->client) snprintf(ret, ROLE, "client %d", f->client);
  else if (one && (!w->first || strcmp(w->first, f->host) == 0)) w->first = f->host, snprintf(ret, ROLE, "primary");
  else if (one || f->step.a.kind == LB_ROLE_NODE) snprintf(ret, ROLE, "node %d", node_of(w, f->host));
  else lb_role_format(f->step.a, ret, ROLE);
}

const struct lb_directed_fault *lb_directed_after_takeover(const struct lb_directed *d) {
  const char *first = NULL;
  for (size_t i = 0; i < d->fault_count; i++) {
    const struct lb_directed_fault *f = &d->fault[i];
    if (f->client || strchr(f->host, ',') || !(f->decided || names_primary(f->step.a))) continue;
    if (first && strcmp(first, f->host) != 0) return f;
    first = f->host;
  }
  return NULL;
}

/* ---- faults ------------------------------------------------------------------------------------------ */

/* A cut names the other side by its role, where that is still what it was; else each of its servers. */
static void cut(struct writer *w, const struct lb_directed_fault *f, const char *a) {
  const char *word = f->step.verb == LB_STEP_CUT_TO ? "to" : "from";
  char b[ROLE], hosts[sizeof f->from], *rest = NULL;
  lb_role_format(f->step.b, b, sizeof b);
  if (strncmp(a, "node ", 5) != 0 || lb_role_is_client(f->step.b) || f->step.b.kind == LB_ROLE_ALL) return step(w, "cut %s %s %s", a, word, b);
  snprintf(hosts, sizeof hosts, "%s", f->from);
  for (char *host = strtok_r(hosts, ", ", &rest); host; host = strtok_r(NULL, ", ", &rest)) step(w, "cut %s %s node %d", a, word, node_of(w, host));
}

static void take(struct writer *w, size_t fault) {
  const struct lb_directed_fault *f = &w->d->fault[fault];
  if (f->step.a.kind != LB_ROLE_HOLDER || w->acquired[fault]) return;
  w->acquired[fault] = true;
  step(w, "client %d acquire within %dms", f->client, PROLOGUE_MS);
}

/* Before somebody asks in vain, whoever is hit as holder until client 1 holds has to hold. */
static void take_ahead(struct writer *w, size_t from) {
  for (size_t i = from; i < place_of(w, LB_DIRECTED_HOLDS_1); i++)
    if (w->d->item[i].kind == LB_DIRECTED_DO && w->keep[w->d->item[i].fault]) take(w, w->d->item[i].fault);
}

static void fault_begins(struct writer *w, size_t place) {
  size_t fault = w->d->item[place].fault;
  const struct lb_directed_fault *f = &w->d->fault[fault];
  char a[ROLE];
  if (place < place_of(w, LB_DIRECTED_HOLDS_1)) take(w, fault);
  target(w, f, a);
  switch (f->step.verb) {
    case LB_STEP_CUT: case LB_STEP_CUT_TO: cut(w, f, a); break;
    case LB_STEP_KILL: step(w, "kill %s", a); break;
    case LB_STEP_PAUSE: step(w, "pause %s", a); break;
    case LB_STEP_CLOCK_JUMP: step(w, "clock %s %s%+lldms", a, f->step.monotonic ? "monotonic " : "", (long long)f->step.offset_ms); break;
    case LB_STEP_CLOCK_RATE: step(w, "clock %s rate %g", a, f->step.rate); break;
    default: break; /* a campaign draws no other */
  }
}

/* A clock stays as it was set, as in the campaign. */
static void fault_ends(struct writer *w, size_t fault) {
  const struct lb_directed_fault *f = &w->d->fault[fault];
  char a[ROLE];
  target(w, f, a);
  if (f->step.verb == LB_STEP_CUT || f->step.verb == LB_STEP_CUT_TO) step(w, "heal");
  if (f->step.verb == LB_STEP_KILL && f->client) step(w, "%s start within %dms", a, PROLOGUE_MS);
  if (f->step.verb == LB_STEP_KILL && !f->client) step(w, "restart %s", a);
  if (f->step.verb == LB_STEP_PAUSE) step(w, "resume %s", a);
  if (f->step.verb == LB_STEP_PAUSE && w->acquired[fault]) step(w, "%s release within %dms", a, RELEASE_MS);
}

/* ---- clients ----------------------------------------------------------------------------------------- */

static void ask_2(struct writer *w) {
  if (w->started_2) return;
  w->started_2 = true;
  step(w, "client 2 %sbegin section within %lldms", w->d->fresh ? "open and " : "", 2 * w->of->ttl_ms + PROLOGUE_MS);
}

static void end_1(struct writer *w) {
  if (w->ended_1) return;
  w->ended_1 = true;
  step(w, "client 1 write");
  step(w, "client 1 release within %dms", RELEASE_MS);
}

static void hold_1(struct writer *w, size_t place) {
  size_t asked_1 = place_of(w, LB_DIRECTED_ASKS_1), asked_2 = place_of(w, LB_DIRECTED_ASKS_2);
  if (parted(w, asked_1, place)) step(w, "let client 1 hold within %lldms", w->of->ttl_ms + PROLOGUE_MS);
  else step(w, "client 1 acquire within %lldms", w->of->ttl_ms + PROLOGUE_MS);
  step(w, "client 1 read");
  if (asked_2 < place) ask_2(w);
  if (!w->d->late || ever_stops_1(w)) return;
  ask_2(w);
  w->wait_ms += (long long)w->of->hold_ms;
  end_1(w);
}

/* Client 2 is given the time to show that it holds. Of an overlap after the lease only while a fault keeps client 1 from going on. */
static void hold_2(struct writer *w) {
  ask_2(w);
  if (!w->d->late) step(w, "let client 2 write within %lldms", w->of->ttl_ms);
  else if (ever_stops_1(w) && !w->ended_1) step(w, "let client 2 write within %lldms", w->of->ttl_ms * 3 / 2 + 1000);
}

/* ---- all of it --------------------------------------------------------------------------------------- */

static void play(struct writer *w, size_t i) {
  const struct lb_directed_item *item = &w->d->item[i];
  size_t held = place_of(w, LB_DIRECTED_HOLDS_1);
  bool begins = i < held && parted(w, i, held);
  if (!is_kept(w, item)) return;
  if (w->waits[i]) w->wait_ms += item->gap_ms;
  switch (item->kind) {
    case LB_DIRECTED_DO: fault_begins(w, i); break;
    case LB_DIRECTED_UNDO: fault_ends(w, item->fault); break;
    case LB_DIRECTED_ASKS_1:
      if (begins) take_ahead(w, i), step(w, "client 1 begin acquire within %lldms", w->of->ttl_ms + 2 * PROLOGUE_MS);
      break;
    case LB_DIRECTED_HOLDS_1: hold_1(w, i); break;
    case LB_DIRECTED_ASKS_2:
      if (begins) take_ahead(w, i);
      if (begins || i > held) ask_2(w);
      break;
    case LB_DIRECTED_HOLDS_2: hold_2(w); break;
  }
}

void lb_directed_steps(const struct lb_directed *directed, const bool keep[], const struct lb_directed_of *of, FILE *file) {
  struct writer writer = {.d = directed, .of = of, .keep = keep, .file = file}, *w = &writer;
  lb_directed_waits(directed, keep, w->waits);
  for (int n = 1; n <= (w->d->fresh ? 1 : 2); n++) {
    step(w, "client %d acquire within %dms", n, PROLOGUE_MS);
    step(w, "client %d release within %dms", n, RELEASE_MS);
  }
  for (size_t i = 0; i < w->d->item_count; i++) play(w, i);
  end_1(w);
}
