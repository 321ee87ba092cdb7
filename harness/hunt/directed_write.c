/* SPDX-License-Identifier: MIT
 *
 * A directed timeline as a scenario file: what stands around its steps.
 */
#include "directed.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { PROLOGUE_MS = 10000, RELEASE_MS = 2000 };

struct writer {
  const struct lb_directed *d;
  const struct lb_directed_of *of;
  const bool *keep;
  FILE *file;
  const char *first;                     /* the host that `primary` stands for; NULL = nobody yet */
  bool acquired[LB_DIRECTED_FAULTS_MAX]; /* the holder that this fault hits has the lock */
  bool began[3];                         /* client 1, 2 has begun to ask */
  bool ended_1;                          /* client 1 has written and released */
  bool waits[LB_DIRECTED_ITEMS_MAX];     /* before each item */
  long long wait_ms;                     /* before the next step */
};

/* What is to be waited for before it becomes a line of its own, and only then: at the end nobody waits. */

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

/* The faults of a directed timeline as steps, and whom they hit in its words.
 *
 * The first fault of a server that decided names it `primary`, and so do later ones of the same server while it led.
 * One that hit a server that had taken over is of `primary 2`: which server that is when it is played again, the
 * servers choose. Another server is a node. */

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

/* Whom a fault hits, in words of this timeline. */
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

/* Before somebody asks in vain, whoever is hit as holder from this place on until client 1 holds has to hold. */
static void take_ahead(struct writer *w, size_t from) {
  for (size_t i = from; i < lb_directed_place(w->d, LB_DIRECTED_HOLDS_1); i++)
    if (w->d->item[i].kind == LB_DIRECTED_DO && w->keep[w->d->item[i].fault]) take(w, w->d->item[i].fault);
}

static void begin_fault(struct writer *w, size_t place) {
  size_t fault = w->d->item[place].fault;
  const struct lb_directed_fault *f = &w->d->fault[fault];
  char a[ROLE];
  if (place < lb_directed_place(w->d, LB_DIRECTED_HOLDS_1)) take(w, fault);
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

/* The steps of a directed timeline: its items in their order, those of faults that are left out skipped.
 *
 * A client's request is a step of its own only where a fault lies between it and its answer, else client 1 acquires
 * where it was granted, and client 2 asks when client 1 holds. */

/* A fault that is kept stops client 1 while it holds. */
static bool stops_1(const struct lb_directed *d, const bool keep[]) {
  for (size_t i = lb_directed_place(d, LB_DIRECTED_HOLDS_1) + 1; i < d->item_count; i++) {
    const struct lb_directed_fault *f = &d->fault[d->item[i].fault];
    if (d->item[i].kind == LB_DIRECTED_DO && keep[d->item[i].fault] && f->client == 1 && f->step.verb == LB_STEP_PAUSE)
      return true;
  }
  return false;
}

static bool is_fresh(const struct writer *w, int client) { return lb_directed_is_fresh(w->d, w->keep, client); }
static bool is_stopped(const struct writer *w) { return stops_1(w->d, w->keep); }

/* ---- clients ----------------------------------------------------------------------------------------- */

static void ask_2(struct writer *w) {
  if (w->began[2]) return;
  w->began[2] = true;
  step(w, "client 2 %sbegin section within %lldms", is_fresh(w, 2) ? "open and " : "", 2 * w->of->ttl_ms + PROLOGUE_MS);
}

/* What begins behind this item. */
static void begin(struct writer *w, size_t place) {
  bool before = place < lb_directed_place(w->d, LB_DIRECTED_HOLDS_1);
  for (int client = 1; client <= 2; client++) {
    if (lb_directed_begins(w->d, w->keep, client) != place) continue;
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
  if (!w->began[1] && is_fresh(w, 1)) step(w, "client 1 reopen within %dms", PROLOGUE_MS);
  if (w->began[1]) step(w, "let client 1 hold within %lldms", within);
  else step(w, "client 1 acquire within %lldms", within);
  step(w, "client 1 read");
  if (lb_directed_place(w->d, LB_DIRECTED_ASKS_2) < place) ask_2(w);
  if (!w->d->late || is_stopped(w)) return;
  ask_2(w);
  w->wait_ms += (long long)w->of->hold_ms;
  end_1(w);
}

/* Client 2 is given the time to show that it holds. Of an overlap after the lease only while a fault keeps client 1
 * from going on. */
static void hold_2(struct writer *w) {
  ask_2(w);
  if (!w->d->late) step(w, "let client 2 write within %lldms", w->of->ttl_ms);
  else if (is_stopped(w) && !w->ended_1) step(w, "let client 2 write within %lldms", w->of->ttl_ms * 3 / 2 + 1000);
}

/* ---- all of it --------------------------------------------------------------------------------------- */

static void write_item(struct writer *w, size_t i) {
  const struct lb_directed_item *item = &w->d->item[i];
  if (!lb_directed_is_kept(w->keep, item)) return;
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
  for (int n = 1; n <= (is_fresh(w, 2) ? 1 : 2); n++) {
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
  fprintf(w->file, "refuted = It comes out otherwise than when it was cut down.\ntrials = 5\nmin_handoffs = 0\n\n");
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
  fprintf(file, "%s = %s: as in the campaign that it was cut down from\n", of->system, expected);
  return fflush(file) != 0 || ferror(file) ? -EIO : 0;
}
