/* SPDX-License-Identifier: MIT
 *
 * An audit of what a hunt does not run, played: each timeline that was drawn, and who stands for it if the hunt has not run that. Where the two differ both are
 * run again, until it is sure that they do.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "follow.h"
#include "sets.h"

/* What is undecided is asked once more: much of what means nothing cannot be played. */
enum { AGAIN = 1 };
/* The rest of the budget is for simpler forms, replays and guards. */
#define AUDIT_UNTIL 0.75

static int open_book(struct lb_hunting *g) {
  char path[4200], of[400];
  struct lb_hunt_book *book = &g->h->audit.book;
  if (book->file) return 0;
  snprintf(path, sizeof path, "%s/trials-audit.csv", g->order->folder);
  lb_hunting_describe(g->order, of, sizeof of);
  int r = lb_hunt_book_open(book, &g->h->space, path, of, g->err, g->err_size);
  book->guard = g->order->guard;
  return r;
}

static unsigned decided(const struct lb_hunting *g, size_t timeline) {
  struct lb_hunt_count count = lb_hunt_audit_seen(&g->h->audit, &g->h->book, timeline);
  return lb_hunt_decided(&count);
}

/* The trials go into the book of the audit, with seeds that no other volley has. */
static int fire(struct lb_hunting *g, const size_t timeline[], size_t count, int repeats) {
  struct lb_hunt_gun gun = g->gun;
  struct lb_hunt_volley volley = {.timeline = timeline, .count = count, .guards = 1u << g->order->guard, .repeats = repeats, .again = AGAIN, .jobs = g->order->jobs};
  gun.book = &g->h->audit.book;
  int r = lb_hunt_fire(&gun, &volley, g->err, g->err_size);
  g->gun.fired = gun.fired;
  if (r == -EINTR) g->h->end = LB_HUNT_INTERRUPTED;
  return r;
}

/* One that was undecided so often is left. */
static bool may_ask(const struct lb_hunting *g, size_t timeline) {
  return lb_hunt_audit_seen(&g->h->audit, &g->h->book, timeline).of[LB_HUNT_UNDECIDED] <= AGAIN;
}

/* Those of the pairs with fewer than `least` decided trials, each once, behind the first `some`. */
static size_t collect_more(const struct lb_hunting *g, const struct lb_hunt_drawn *drawn, size_t count, unsigned least, size_t *ret, size_t some) {
  for (size_t i = 0; i < 2 * count; i++) {
    size_t timeline = i % 2 ? drawn[i / 2].stand_in : drawn[i / 2].timeline;
    bool listed = false;
    for (size_t j = 0; j < some; j++) listed |= ret[j] == timeline;
    if (!listed && decided(g, timeline) < least && may_ask(g, timeline)) ret[some++] = timeline;
  }
  return some;
}

static size_t collect(const struct lb_hunting *g, const struct lb_hunt_drawn *drawn, size_t count, unsigned least, size_t *ret) {
  return collect_more(g, drawn, count, least, ret, 0);
}

/* Until each has so many decided trials, or was asked so often. */
static int decide(struct lb_hunting *g, const struct lb_hunt_drawn *drawn, size_t count, int least) {
  size_t *timeline = malloc((2 * count + 1) * sizeof *timeline);
  if (!timeline) return -ENOMEM;
  int r = fire(g, timeline, collect(g, drawn, count, (unsigned)least, timeline), least);
  free(timeline);
  return r;
}

static bool differs(const struct lb_hunting *g, const struct lb_hunt_drawn *drawn) {
  bool known = decided(g, drawn->timeline) > 0 && decided(g, drawn->stand_in) > 0;
  return known && lb_hunt_audit_answer(&g->h->audit, &g->h->book, drawn) != LB_HUNT_SAME;
}

/* Those that differ as far as is known. */
static int look_closer(struct lb_hunting *g, const struct lb_hunt_drawn *drawn, size_t count) {
  struct lb_hunt_drawn *differ = malloc((count + 1) * sizeof *differ);
  size_t some = 0;
  if (!differ) return -ENOMEM;
  for (size_t i = 0; i < count; i++)
    if (differs(g, &drawn[i])) differ[some++] = drawn[i];
  g->gun.fresh = true; /* what a trial before it has left on the servers is no part of an answer */
  int r = decide(g, differ, some, LB_HUNT_SURE);
  g->gun.fresh = false;
  free(differ);
  return r;
}

static int run(struct lb_hunting *g, const struct lb_hunt_drawn *drawn, size_t count) {
  g->share = AUDIT_UNTIL;
  int r = lb_hunting_is_over(g, g->share) ? 0 : decide(g, drawn, count, 1);
  if (r == 0 && !lb_hunting_is_over(g, g->share)) r = look_closer(g, drawn, count);
  g->share = 1;
  return r;
}

int lb_hunting_audit_draw(struct lb_hunting *g, size_t faults) {
  struct lb_hunt_audit *a = &g->h->audit;
  struct lb_hunt_drawn *drawn;
  size_t count;
  int r = open_book(g);
  if (r == 0) r = lb_hunt_draw(&g->h->space, g->order->seed, faults, LB_HUNT_AUDITED, &drawn, &count);
  if (r < 0) return r;
  struct lb_hunt_drawn *grown = realloc(a->drawn, (a->count + count + 1) * sizeof *grown);
  if (!grown) return free(drawn), -ENOMEM;
  memcpy(grown + a->count, drawn, count * sizeof *grown);
  free(drawn);
  a->drawn = grown;
  a->count += count;
  return 0;
}

int lb_hunting_audit_pruned(struct lb_hunting *g, size_t faults) {
  struct lb_hunt_audit *a = &g->h->audit;
  size_t before = a->count;
  int r = lb_hunting_audit_draw(g, faults);
  g->live.what = "auditing";
  return r == 0 ? run(g, a->drawn + before, a->count - before) : r;
}

/* Who stands for another one is run by the hunt, unless the space leaves it out or there is a set in it. */
static bool is_run_by_the_hunt(const struct lb_hunting *g, size_t timeline) {
  const struct lb_hunt_space *space = &g->h->space;
  return space->timeline[timeline].pruned == LB_HUNT_RUN && !lb_hunt_sets_contained(&g->h->sets, space, timeline, LB_HUNT_LEASE);
}

size_t lb_hunting_audit_open(const struct lb_hunting *g, size_t ret[]) {
  const struct lb_hunt_audit *a = &g->h->audit;
  size_t some = 0;
  for (size_t i = 0, count = collect(g, a->drawn, a->count, 1, ret); i < count; i++)
    if (!is_run_by_the_hunt(g, ret[i])) ret[some++] = ret[i];
  return some;
}

size_t lb_hunting_audit_closer(const struct lb_hunting *g, size_t ret[]) {
  const struct lb_hunt_audit *a = &g->h->audit;
  size_t some = 0;
  for (size_t i = 0; i < a->count; i++)
    if (differs(g, &a->drawn[i])) some = collect_more(g, &a->drawn[i], 1, LB_HUNT_SURE, ret, some);
  return some;
}
