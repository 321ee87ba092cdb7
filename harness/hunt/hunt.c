/* SPDX-License-Identifier: MIT
 *
 * The order of a hunt: timelines without faults, then those with one, with two ...; after each number what broke is run again with new seeds, and so are
 * its proper subsets. A timeline with a minimal set in it is not run: that it breaks would be no news, and if a further fault hides it, that is told by a
 * sample of them.
 */
#include "hunt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/refuse.h"
#include "follow.h"
#include "order.h"

/* CHUNK: most timelines at a time; those that are still undecided are played alone between two chunks. A fifth of the budget is kept for what follows the search. */
enum { CHUNK = 400, AGAIN = 2 };
#define KEPT 0.2

/* ---- the search ------------------------------------------------------------------------------------------------------ */

static void count_breaking(struct lb_hunting *g) {
  g->live.breaking = 0;
  for (size_t i = 0; i < g->h->space.count; i++) g->live.breaking += lb_hunt_broke(lb_hunt_seen(&g->h->book, i));
}

static struct lb_hunt_volley volley_of(const struct lb_hunting *g, const size_t timeline[], size_t count, int repeats) {
  return (struct lb_hunt_volley){.timeline = timeline, .count = count, .guards = 1u << g->order->guard, .repeats = repeats, .jobs = g->order->jobs};
}

/* In chunks, until there is none left or the time is over. */
static int search(struct lb_hunting *g, const size_t timeline[], size_t count) {
  int r = 0;
  for (size_t at = 0, end; at < count && r == 0; at = end) {
    if (g->gun.late || lb_hunting_is_over(g, g->share)) return g->h->end = LB_HUNT_OUT_OF_BUDGET, 0;
    size_t chunk[CHUNK], some = 0;
    end = at + CHUNK < count ? at + CHUNK : count;
    for (size_t i = at; i < end; i++)
      if (!lb_hunting_knows(g, timeline[i])) chunk[some++] = timeline[i];
    g->live.what = "looking";
    struct lb_hunt_volley volley = volley_of(g, chunk, some, 1);
    volley.as_given = g->order->budget_s > 0; /* where it ends has to be a fair sample */
    r = lb_hunting_fire_decided(g, &volley);
    count_breaking(g);
  }
  return r;
}

/* The timelines of the order with so many faults, without those that contain a minimal set. Each once. */
static size_t pick(struct lb_hunting *g, const size_t order[], size_t count, size_t faults, size_t *ret) {
  size_t some = 0;
  for (size_t i = 0; i < count; i++) {
    if (g->h->space.timeline[order[i]].fault_count != faults) continue;
    g->h->wanted[faults]++;
    if (lb_hunt_sets_contained(&g->h->sets, &g->h->space, order[i], LB_HUNT_LEASE)) g->h->held[faults]++;
    else ret[some++] = order[i];
  }
  return some;
}

/* First one of each mechanism, so that a budget that ends here leaves none out; then all; then what is still not decided. */
static int confirm(struct lb_hunting *g, size_t faults) {
  size_t *wanting;
  int r = lb_hunting_find_sets(g);
  g->live.what = "confirming";
  g->gun.fresh = true; /* what a trial before it has left on the servers is no part of a set */
  for (int round = 0; r == 0 && round <= AGAIN + 1; round++) {
    ptrdiff_t count = lb_hunt_sets_wanting(&g->h->book, &g->h->sets, faults, round == 0, &wanting);
    if (count < 0) return (int)count;
    struct lb_hunt_volley volley = volley_of(g, wanting, (size_t)count, round < 2 ? LB_HUNT_SURE : 1);
    volley.again = round < 2 ? AGAIN : 0;
    r = lb_hunting_fire(g, &volley);
    free(wanting);
    if (r == 0) r = lb_hunting_find_sets(g);
    if (count == 0 && round > 0) break;
  }
  g->gun.fresh = false;
  return r;
}

/* Those without faults are run so often that what breaks by itself is seen to. */
static int look_without_faults(struct lb_hunting *g, const size_t picked[], size_t count) {
  size_t some = 0, *fresh = malloc((count + 1) * sizeof *fresh);
  if (!fresh) return -ENOMEM;
  for (size_t i = 0; i < count; i++) {
    bool seen = lb_hunting_knows(g, picked[i]);
    for (size_t j = 0; j < some; j++) seen |= fresh[j] == picked[i];
    if (!seen) fresh[some++] = picked[i];
  }
  g->live.what = "looking";
  int repeats = some > 0 ? (int)((LB_HUNT_CONTROLS + some - 1) / some) : 0;
  struct lb_hunt_volley volley = volley_of(g, fresh, some, repeats);
  int r = lb_hunting_fire_decided(g, &volley);
  free(fresh);
  return r;
}

static int look(struct lb_hunting *g, const size_t order[], size_t count, size_t faults) {
  size_t *picked = malloc((count + 1) * sizeof *picked);
  if (!picked) return -ENOMEM;
  g->live.faults = faults;
  size_t some = pick(g, order, count, faults, picked);
  g->share = 1 - KEPT;
  g->gun.late = false;
  int r = faults == 0 ? look_without_faults(g, picked, some) : search(g, picked, some);
  if (r == 0 && g->gun.late) g->h->end = LB_HUNT_OUT_OF_BUDGET; /* also where only the end of the last chunk was not begun */
  g->share = 1;
  if (r == 0) r = confirm(g, faults);
  free(picked);
  return r;
}

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
  for (int k = 0; k <= g->order->faults_max && r == 0 && g->h->end == LB_HUNT_WHOLE; k++) {
    r = look(g, order, count, (size_t)k);
    if (r == 0) r = lb_hunting_audit_pruned(g, (size_t)k);
  }
  if (r == 0) r = lb_hunting_audit(g, order, count);
  if (r == 0) r = lb_hunting_simplify(g, -1);
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
  struct lb_hunt_volley volley = volley_of(g, &one, 1, LB_HUNT_SURE);
  r = lb_hunting_fire(g, &volley);
  if (r == 0) r = lb_hunting_find_sets(g);
  return r == 0 ? lb_hunting_simplify(g, at) : r;
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

static void tick(void *to, size_t done, size_t count) {
  struct lb_hunting *g = to;
  g->live.done = done;
  g->live.count = count;
  g->live.undecided = g->h->book.undecided;
  g->live.left_s = g->order->budget_s > 0 ? g->order->budget_s - lb_hunting_spent(g) : -1;
  if (g->order->tick) g->order->tick(g->order->display, &g->live);
}

static double left_s(void *clock) {
  const struct lb_hunting *g = clock;
  return g->order->budget_s * g->share - lb_hunting_spent(g);
}

int lb_hunt_run(const struct lb_hunt_order *order, struct lb_hunt *ret, char *err, size_t err_size) {
  *ret = (struct lb_hunt){0};
  int r = prepare(order, ret, err, err_size);
  if (r < 0) return r;
  struct lb_hunting g = {.order = order, .h = ret, .begin = lb_clock_ns(), .share = 1, .err = err, .err_size = err_size, .live = {.what = "looking"}};
  g.gun = (struct lb_hunt_gun){.space = &ret->space, .book = &ret->book, .dir = order->dir, .settings = order->settings, .setting_count = order->setting_count,
                               .seed = order->seed, .tick = tick, .display = &g, .left_s = order->budget_s > 0 ? left_s : NULL, .clock = &g, .fired = (unsigned)ret->book.trials};
  r = order->only ? hunt_one(&g) : hunt_all(&g);
  if (r == -EINTR) r = lb_hunting_find_sets(&g);
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
