/* SPDX-License-Identifier: MIT
 *
 * The order of a hunt with a budget: timelines without faults, then those with one, with two ...; after each number what broke is run again with new seeds, and so are
 * its proper subsets. A timeline with a minimal set in it is not run: that it breaks would be no news, and if a further fault hides it, that is told by a
 * sample of them.
 */
#include "by_faults.h"

#include <errno.h>
#include <stdlib.h>

#include "follow.h"
#include "order.h"

/* CHUNK: most timelines at a time; those that are still undecided are played alone between two chunks. Of the budget a part is kept for what follows the search, and of that a part for replays. */
enum { CHUNK = 400, AGAIN = 2 };
#define KEPT 0.4
#define CONFIRM_UNTIL 0.7

/* ---- the search ------------------------------------------------------------------------------------------------------ */

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
    volley.as_given = true; /* where it ends has to be a fair sample */
    r = lb_hunting_fire_decided(g, &volley);
    lb_hunting_count_breaking(g);
  }
  return r;
}

/* The timelines of the order with so many faults, without those that contain a minimal set. Each once. */
static size_t pick(struct lb_hunting *g, const size_t order[], size_t count, size_t faults, size_t *ret) {
  size_t some = 0;
  for (size_t i = 0; i < count; i++) {
    if (g->h->space.timeline[order[i]].fault_count != faults) continue;
    g->h->wanted[faults]++;
    if (lb_hunting_is_held(g, order[i])) g->h->held[faults]++;
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
  g->share = CONFIRM_UNTIL;
  if (r == 0) r = confirm(g, faults);
  if (r == 0 && g->gun.late) g->h->end = LB_HUNT_OUT_OF_BUDGET; /* also where only the end of the last chunk was not begun, or of what confirms it */
  g->share = 1;
  free(picked);
  return r;
}

int lb_hunting_by_faults(struct lb_hunting *g, const size_t order[], size_t count) {
  int r = 0;
  for (int k = 0; k <= g->order->faults_max && r == 0 && g->h->end == LB_HUNT_WHOLE; k++) {
    r = look(g, order, count, (size_t)k);
    if (r == 0) r = lb_hunting_audit_pruned(g, (size_t)k);
  }
  return r;
}
