/* SPDX-License-Identifier: MIT
 *
 * A hunt from its order to its result: the search, by numbers of faults where there is a budget and all at once where there is none, and what follows it.
 */
#include "hunt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "at_once.h"
#include "base/refuse.h"
#include "by_faults.h"
#include "follow.h"
#include "order.h"

/* ---- a hunt ---------------------------------------------------------------------------------------------------------- */

/* Not what a bound leaves out and was run as a part of a set. */
static void count_ran(struct lb_hunt *h) {
  for (size_t i = 0; i < h->space.count; i++)
    h->ran[h->space.timeline[i].fault_count] += h->space.timeline[i].pruned == LB_HUNT_RUN && lb_hunt_decided(lb_hunt_seen(&h->book, i)) > 0;
}

static int hunt_all(struct lb_hunting *g) {
  size_t *order, count;
  int r = lb_hunt_order(&g->h->space, g->order->seed, &order, &count);
  if (r < 0) return r;
  if (g->order->budget_s > 0) r = lb_hunting_by_faults(g, order, count);
  int refuted = 1;
  while (r == 0 && refuted > 0) {
    r = g->order->budget_s > 0 ? lb_hunting_find_sets(g) : lb_hunting_at_once(g, order, count);
    if (r == 0) r = refuted = lb_hunting_settle(g, true, -1);
    if (r > 0) r = 0;
  }
  if (r == 0) r = lb_hunting_audit(g, order, count);
  if (r == 0) r = lb_hunting_ask_guards(g);
  if (r == 0) r = lb_hunting_audit_guards(g, order, count);
  free(order);
  return r;
}

/* One timeline by its id, as often as it takes to be sure, whether the space would run it or not. */
static int hunt_one(struct lb_hunting *g) {
  struct lb_hunt_timeline timeline;
  int r = lb_hunt_of_id(g->order->only, &timeline, g->err, g->err_size);
  if (r < 0) return r;
  ptrdiff_t at = lb_hunt_find(&g->h->space, &timeline);
  if (at < 0) return lb_refuse(g->err, g->err_size, "--only %s: %s has no such timeline of at most %d faults", g->order->only, g->order->system, g->order->faults_max);
  size_t one = (size_t)at;
  g->live.faults = timeline.fault_count;
  struct lb_hunt_volley volley = {.timeline = &one, .count = 1, .guards = 1u << g->order->guard, .repeats = LB_HUNT_SURE, .jobs = g->order->jobs};
  r = lb_hunting_fire(g, &volley);
  if (r == 0) r = lb_hunting_find_sets(g);
  if (r == 0) r = lb_hunting_settle(g, true, at);
  return r < 0 ? r : 0;
}

static int prepare(const struct lb_hunt_order *order, struct lb_hunt *h, char *err, size_t err_size) {
  struct lb_hunt_system system;
  char path[4000], of[300];
  lb_hunt_system_of(order->protocol, order->topology, &system);
  int r = lb_hunt_space_make(&system, order->faults_max, &order->switches, &h->space);
  if (r < 0) return lb_refuse(err, err_size, "no space of timelines: %s", strerror(-r)), r;
  snprintf(path, sizeof path, "%s/trials.csv", order->folder);
  lb_hunting_describe(order, of, sizeof of);
  r = lb_hunt_book_open(&h->book, &h->space, path, of, err, err_size);
  if (r < 0) lb_hunt_space_clear(&h->space);
  h->book.guard = order->guard;
  return r;
}

/* At most once a second, as all that is left is played for it. */
static void estimate(struct lb_hunting *g) {
  lb_ns now = lb_clock_ns();
  if (g->estimated && now - g->estimated < LB_NS_PER_S) return;
  g->estimated = now;
  g->live.left_s = lb_hunt_ahead_left_s(&g->ahead, &g->h->book, g->live.elapsed_s, g->order->budget_s);
}

static void tick(void *to, size_t done, size_t count) {
  struct lb_hunting *g = to;
  g->live.done = done;
  g->live.count = count;
  g->live.undecided = g->h->book.undecided;
  g->live.elapsed_s = lb_hunting_spent(g);
  if (g->order->only) {
    g->live.known = done, g->live.all = count;
  } else {
    g->live.known = lb_hunt_ahead_known(&g->h->book, &g->live.all);
    estimate(g);
  }
  if (g->order->tick) g->order->tick(g->order->display, &g->live);
}

static void trial(void *to, size_t timeline, enum lb_guard guard, const struct lb_outcome *outcome) {
  const struct lb_hunting *g = to;
  char id[LB_HUNT_ID_MAX];
  if (!g->order->trial) return;
  lb_hunt_id(&g->h->space.timeline[timeline], id);
  struct lb_hunt_trial ended = {id, guard, lb_hunt_came_of(outcome), outcome->why, (double)outcome->trial_ns / 1e9};
  g->order->trial(g->order->display, &ended);
}

static void begin(struct lb_hunting *g) {
  size_t all, known = lb_hunt_ahead_known(&g->h->book, &all);
  lb_hunt_ahead_begin(&g->h->book, &g->order->room, &g->ahead);
  double s = g->ahead.look_s + g->ahead.follow_s, budget_s = g->order->budget_s;
  if (g->order->begin) g->order->begin(g->order->display, all - known, budget_s > 0 && budget_s < s ? budget_s : s);
}

static double left_s(void *clock) {
  const struct lb_hunting *g = clock;
  return g->order->budget_s * g->share - lb_hunting_spent(g);
}

/* Of what was interrupted: the sets as far as they are known. */
static int close_off(struct lb_hunting *g) {
  int r;
  do {
    r = lb_hunting_find_sets(g);
    if (r == 0) r = lb_hunting_settle(g, false, -1);
  } while (r > 0);
  return r;
}

int lb_hunt_run(const struct lb_hunt_order *order, struct lb_hunt *ret, char *err, size_t err_size) {
  *ret = (struct lb_hunt){0};
  int r = prepare(order, ret, err, err_size);
  if (r < 0) return r;
  struct lb_hunting g = {.order = order, .h = ret, .begin = lb_clock_ns(), .share = 1, .err = err, .err_size = err_size, .live = {.what = "looking", .left_s = -1}};
  g.gun = (struct lb_hunt_gun){.space = &ret->space, .book = &ret->book, .dir = order->dir, .settings = order->settings, .setting_count = order->setting_count,
                               .seed = order->seed, .tick = tick, .trial = trial, .display = &g, .left_s = order->budget_s > 0 ? left_s : NULL, .clock = &g, .fired = (unsigned)ret->book.trials};
  if (!order->only) begin(&g);
  r = order->only ? hunt_one(&g) : hunt_all(&g);
  if (r == -EINTR) r = close_off(&g);
  count_ran(ret);
  ret->seconds = lb_hunting_spent(&g);
  if (r < 0) lb_hunt_clear(ret);
  return r;
}

void lb_hunt_clear(struct lb_hunt *hunt) {
  if (hunt->book.file) lb_hunt_book_close(&hunt->book);
  lb_hunt_audit_clear(&hunt->audit);
  lb_hunt_sets_clear(&hunt->sets);
  lb_hunt_space_clear(&hunt->space);
}
