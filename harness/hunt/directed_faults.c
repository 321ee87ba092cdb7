/* SPDX-License-Identifier: MIT
 *
 * The faults of a directed timeline as steps, and whom they hit in its words.
 *
 * The first fault of a server that decided names it `primary`, and so do later ones of the same server while it led. One that hit a server that had taken
 * over is of `primary 2`: which server that is when it is played again, the servers choose. Another server is a node.
 */
#include <stdlib.h>
#include <string.h>

#include "directed_parts.h"

enum { ROLE = 64 };

/* ---- roles ------------------------------------------------------------------------------------------- */

static int number_in(const char *host) {
  const char *dash = strrchr(host, '-');
  return dash ? atoi(dash + 1) : 0;
}

/* Which server leads at first is not drawn: where another one than the first did, the two change places. */
static int node_of(const struct lb_directed_writer *w, const char *host) {
  int number = number_in(host), first = w->first ? number_in(w->first) : 1;
  return number == first ? 1 : number == 1 ? first : number;
}

/* How many servers led before the one that this fault hit, of those that the faults which are kept hit. */
static int reigns_before(const struct lb_directed_writer *w, const struct lb_directed_fault *f) {
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
static void target(struct lb_directed_writer *w, const struct lb_directed_fault *f, char ret[ROLE]) {
  int before = f->reign >= 0 ? reigns_before(w, f) : 0;
  if (f->reign >= 0 && !w->first) w->first = f->host;
  if (f->client) snprintf(ret, ROLE, "client %d", f->client);
  else if (f->reign >= 0 && before < LB_PRIMARIES_MAX) lb_role_format((struct lb_role){LB_ROLE_PRIMARY, before ? before + 1 : 0}, ret, ROLE);
  else if (f->reign >= 0 || f->step.a.kind == LB_ROLE_NODE) snprintf(ret, ROLE, "node %d", node_of(w, f->host));
  else lb_role_format(f->step.a, ret, ROLE);
}

/* ---- faults ------------------------------------------------------------------------------------------ */

/* A cut names the other side by its role, where that is still what it was; else each of its servers. */
static void cut(struct lb_directed_writer *w, const struct lb_directed_fault *f, const char *a) {
  const char *word = f->step.verb == LB_STEP_CUT_TO ? "to" : "from";
  char b[ROLE], hosts[sizeof f->from], *rest = NULL;
  lb_role_format(f->step.b, b, sizeof b);
  if (strncmp(a, "node ", 5) != 0 || lb_role_is_client(f->step.b) || f->step.b.kind == LB_ROLE_ALL) return lb_directed_step(w, "cut %s %s %s", a, word, b);
  snprintf(hosts, sizeof hosts, "%s", f->from);
  for (char *host = strtok_r(hosts, ", ", &rest); host; host = strtok_r(NULL, ", ", &rest)) lb_directed_step(w, "cut %s %s node %d", a, word, node_of(w, host));
}

static void take(struct lb_directed_writer *w, size_t fault) {
  const struct lb_directed_fault *f = &w->d->fault[fault];
  if (f->step.a.kind != LB_ROLE_HOLDER || w->acquired[fault]) return;
  w->acquired[fault] = true;
  lb_directed_step(w, "client %d acquire within %dms", f->client, LB_DIRECTED_PROLOGUE_MS);
}

void lb_directed_take_ahead(struct lb_directed_writer *w, size_t from) {
  for (size_t i = from; i < lb_directed_place(w->d, LB_DIRECTED_HOLDS_1); i++)
    if (w->d->item[i].kind == LB_DIRECTED_DO && w->keep[w->d->item[i].fault]) take(w, w->d->item[i].fault);
}

void lb_directed_begin_fault(struct lb_directed_writer *w, size_t place) {
  size_t fault = w->d->item[place].fault;
  const struct lb_directed_fault *f = &w->d->fault[fault];
  char a[ROLE];
  if (place < lb_directed_place(w->d, LB_DIRECTED_HOLDS_1)) take(w, fault);
  target(w, f, a);
  switch (f->step.verb) {
    case LB_STEP_CUT: case LB_STEP_CUT_TO: cut(w, f, a); break;
    case LB_STEP_KILL: lb_directed_step(w, "kill %s", a); break;
    case LB_STEP_PAUSE: lb_directed_step(w, "pause %s", a); break;
    case LB_STEP_CLOCK_JUMP: lb_directed_step(w, "clock %s %s%+lldms", a, f->step.monotonic ? "monotonic " : "", (long long)f->step.offset_ms); break;
    case LB_STEP_CLOCK_RATE: lb_directed_step(w, "clock %s rate %g", a, f->step.rate); break;
    default: break; /* a campaign draws no other */
  }
}

/* A clock stays as it was set, as in the campaign. */
void lb_directed_end_fault(struct lb_directed_writer *w, size_t fault) {
  const struct lb_directed_fault *f = &w->d->fault[fault];
  char a[ROLE];
  target(w, f, a);
  if (f->step.verb == LB_STEP_CUT || f->step.verb == LB_STEP_CUT_TO) lb_directed_step(w, "heal");
  if (f->step.verb == LB_STEP_KILL && f->client) lb_directed_step(w, "%s start within %dms", a, LB_DIRECTED_PROLOGUE_MS);
  if (f->step.verb == LB_STEP_KILL && !f->client) lb_directed_step(w, "restart %s", a);
  if (f->step.verb == LB_STEP_PAUSE) lb_directed_step(w, "resume %s", a);
  if (f->step.verb == LB_STEP_PAUSE && w->acquired[fault]) lb_directed_step(w, "%s release within %dms", a, LB_DIRECTED_RELEASE_MS);
}
