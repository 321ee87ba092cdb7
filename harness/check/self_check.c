/* SPDX-License-Identifier: MIT
 *
 * First the time that clients were inside, by one pass over the events; then one function a check, from numbers to a
 * verdict.
 */
#include "self_check.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/need.h"

/* ---- inside ---- */

enum place { OUTSIDE, ASKS, HOLDS, RELEASES };

struct client {
  enum place place;
  bool scheduled;       /* of an open loop: by when it was due */
  uint64_t since;       /* outside no more */
  uint64_t mark;        /* from then on no histogram has it, if it ends now */
  double inside;        /* ns */
  uint64_t starts, due; /* in the window; of an open loop the second are those that were due in it */
};

struct pass {
  uint64_t begin, end; /* the window */
  struct lb_inside *ret;
};

static double seconds(double ns) { return ns / 1e9; }

static void leave(const struct pass *p, struct client *c, uint64_t t, bool counted) {
  if (c->place == OUTSIDE) return;
  uint64_t from = c->since > p->begin ? c->since : p->begin, to = t < p->end ? t : p->end;
  bool cut = (c->since < p->begin && t > p->begin) || (c->since < p->end && t > p->end);
  if (to > from) c->inside += (double)(to - from);
  if (cut) p->ret->edge_s += seconds((double)(t - c->since));
  if (!counted && c->mark >= p->begin && c->mark < p->end) p->ret->uncounted_s += seconds((double)(t - c->mark));
  c->place = OUTSIDE;
}

static void enter(const struct pass *p, struct client *c, const struct lb_event *e) {
  uint64_t t = e->t, due = e->flags & LB_EVF_DUE ? e->due : t;
  if (c->place == ASKS) return; /* another try of the same attempt */
  leave(p, c, t, false);
  c->place = ASKS;
  c->scheduled = e->flags & LB_EVF_DUE;
  c->since = c->mark = t;
  if (t < p->begin || t >= p->end) return;
  c->starts++;
  c->due += due >= p->begin;
}

/* A confirmation while it asks is that of an older debt. */
static void step(const struct pass *p, struct client *c, const struct lb_event *e) {
  switch (e->kind) {
    case LB_EV_ACQUIRE: enter(p, c, e); break;
    case LB_EV_GRANTED:
      if (c->place == ASKS) c->place = HOLDS, c->mark = e->t;
      break;
    case LB_EV_RELEASE:
      if (c->place == HOLDS) c->place = RELEASES, c->mark = e->t;
      break;
    case LB_EV_RELEASED:
      if (c->place == RELEASES) leave(p, c, e->t, true);
      break;
    case LB_EV_BUSY:
    case LB_EV_TIMEOUT:
    case LB_EV_UNKNOWN: leave(p, c, e->t, c->place == ASKS && !c->scheduled); break; /* a wait (stats.h) */
    case LB_EV_LOST:
    case LB_EV_CRASH: leave(p, c, e->t, false); break;
    default: break;
  }
}

void lb_inside_measure(const struct lb_history *h, const struct lb_stats *stats, struct lb_inside *ret) {
  struct client *clients = lb_need(calloc(h->clients.count + 1, sizeof *clients));
  struct pass p = {stats->begin_ns, stats->end_ns, ret};
  double most = (double)(p.end - p.begin) * LB_SELF_IDLE / 100;
  *ret = (struct lb_inside){0};
  for (size_t i = 0; i < h->count; i++)
    if (h->events[i].client < h->clients.count) step(&p, &clients[h->events[i].client], &h->events[i]);
  for (size_t i = 0; i < h->clients.count; i++) {
    struct client *c = &clients[i];
    if (h->count) leave(&p, c, h->events[h->count - 1].t, false);
    ret->inside_s += seconds(c->inside);
    ret->starts += c->starts;
    if (c->inside >= most) continue;
    ret->idle++;
    ret->idle_starts += c->due;
  }
  free(clients);
}

double lb_self_latency_s(const struct lb_stats *st) {
  bool open = st->service.count > 0;
  return seconds((open ? st->service.sum : st->wait.sum) + st->hold.sum + st->release.sum);
}

double lb_self_longest_s(const struct lb_stats *st) {
  uint64_t most = st->wait.max;
  const struct lb_hist *others[] = {&st->service, &st->hold, &st->handoff, &st->release};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (others[i]->max > most) most = others[i]->max;
  return seconds((double)most);
}

/* ---- the checks ---- */

static void fail(struct lb_self_verdict *v, enum lb_self_check check, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void fail(struct lb_self_verdict *v, enum lb_self_check check, const char *format, ...) {
  size_t length = 0;
  while (v->why[length]) length++;
  if (v->failed) length += (size_t)snprintf(v->why + length, sizeof v->why - length, "; ");
  va_list args;
  va_start(args, format);
  if (length < sizeof v->why) vsnprintf(v->why + length, sizeof v->why - length, format, args);
  va_end(args);
  v->failed |= 1u << check;
}

/* Rate times latency is how many clients are inside. In a closed loop that is all but those who think; else the clients
 * lost their time somewhere between two calls, and the rate is that of the harness. In an open loop the events say it.
 * What the window cuts in two may be in one number and not in the other. */
static void check_little(const struct lb_self_facts *f, struct lb_self_verdict *v) {
  double starts = (double)f->inside.starts, open = f->asked_per_s > 0;
  double thinking = f->think_s * starts / f->seconds, spread = 4 * f->think_s * sqrt(starts) / f->seconds;
  v->busy = open ? f->inside.inside_s / f->seconds : fmax(f->clients - thinking, 0);
  v->by_latency = (f->latency_s + f->inside.uncounted_s) / f->seconds;
  double most = LB_SELF_LITTLE / 100.0 * (open ? v->busy : f->clients) + f->inside.edge_s / f->seconds + spread;
  if (f->has_servers && fabs(v->busy - v->by_latency) > most)
    fail(v, LB_CHECK_LITTLE, "%.2f clients should be inside a call and by rate times latency %.2f are", v->busy,
         v->by_latency);
}

/* Clients that were busy nearly all the time could not start when they should: the system is saturated. What the others
 * did not start is the harness's affair. A random schedule may differ by four standard deviations. */
static void check_rate(const struct lb_self_facts *f, struct lb_self_verdict *v) {
  if (f->asked_per_s <= 0) return;
  double asked = f->asked_per_s * f->seconds, idle = asked * (double)f->inside.idle / f->clients;
  double off = fabs((double)f->inside.idle_starts - idle), chance = 4 * sqrt(asked);
  double most = fmax(LB_SELF_RATE / 100.0 * asked, chance), missing = asked - (double)f->inside.starts;
  if (off > most)
    fail(v, LB_CHECK_RATE, "of %.0f starts per s clients that were not busy had to make %.0f and made %.0f",
         f->asked_per_s, idle / f->seconds, (double)f->inside.idle_starts / f->seconds);
  v->saturated = off <= most && missing > most;
}

static void check_cpu(const struct lb_self_facts *f, struct lb_self_verdict *v) {
  double had = f->cores * f->seconds;
  if (f->has_servers && had > 0 && f->cpu_s >= LB_SELF_CPU / 100.0 * had)
    fail(v, LB_CHECK_CPU, "the clients used %.0f %% of %g processors: they were measured and not the lock",
         100 * f->cpu_s / had, f->cores);
}

/* A histogram has room for all values, so what is out of range is a time that ran backwards. */
static void check_range(const struct lb_self_facts *f, struct lb_self_verdict *v) {
  if (f->longest_s > f->history_s + 1) /* an acquire may be late before the first event */
    fail(v, LB_CHECK_RANGE, "a latency of %.3g s in a history of %.3g s", f->longest_s, f->history_s);
}

static bool too_few(int64_t count, uint64_t least) {
  return count >= 0 && (double)count < LB_SELF_COUNT / 100.0 * (double)least;
}

/* A grant or a confirmed release needs a request at the servers: too few requests mean that a counter is wrong. */
static void check_counters(const struct lb_self_facts *f, struct lb_self_verdict *v) {
  if (f->counted_back) fail(v, LB_CHECK_COUNTERS, "a counter of the servers became smaller");
  if (too_few(f->requests, f->grants + f->releases))
    fail(v, LB_CHECK_COUNTERS, "the servers counted %lld requests for %llu grants and %llu releases",
         (long long)f->requests, (unsigned long long)f->grants, (unsigned long long)f->releases);
  if (f->writes && too_few(f->commits, f->grants))
    fail(v, LB_CHECK_COUNTERS, "the servers counted %lld writes for %llu grants", (long long)f->commits,
         (unsigned long long)f->grants);
}

static void check_steal(const struct lb_self_facts *f, struct lb_self_verdict *v) {
  if (f->steal > LB_SELF_STEAL / 100.0)
    fail(v, LB_CHECK_STEAL, "the hypervisor took %.0f %% of the time that this machine wanted", 100 * f->steal);
}

/* A client without a connection waits, too, and would pass for a client of a slow lock. */
static void check_answers(const struct lb_self_facts *f, struct lb_self_verdict *v) {
  if (f->unanswered > 0) fail(v, LB_CHECK_ANSWERS, "%d of %d clients never got an answer", f->unanswered, f->clients);
}

void lb_self_check(const struct lb_self_facts *facts, struct lb_self_verdict *ret) {
  *ret = (struct lb_self_verdict){0};
  if (facts->seconds <= 0 || facts->clients <= 0) return;
  check_answers(facts, ret);
  check_little(facts, ret);
  check_rate(facts, ret);
  check_cpu(facts, ret);
  check_range(facts, ret);
  check_counters(facts, ret);
  check_steal(facts, ret);
}
