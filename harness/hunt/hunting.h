/* SPDX-License-Identifier: MIT
 *
 * hunting.h - a hunt that is going on: its time, what it knows, and how a timeline gets a trial that is decided. The
 * search, the samples and what follows them share it.
 */
#ifndef LB_HUNT_HUNTING_H
#define LB_HUNT_HUNTING_H

#include "ahead.h"
#include "base/clock.h"
#include "hunt.h"

enum { LB_HUNTING_AGAIN = 2 }; /* so often is asked again beside others what was undecided */

struct lb_hunting {
  const struct lb_hunt_order *order;
  struct lb_hunt *h;
  struct lb_hunt_batches batches;
  struct lb_hunt_live live;
  lb_ns begin;
  struct lb_hunt_ahead ahead;
  lb_ns estimated;      /* when live.left_s was */
  size_t first;         /* timelines of the order that come first by lineage, behind the controls */
  double share;         /* of the budget: what is played now may take until then */
  struct lb_error *err; /* one line, where a function below fails */
};

/* Seconds since the begin. */
double lb_hunting_spent(const struct lb_hunting *g);
/* True if this share of the budget (1 = all of it) is used up; never where there is none. */
bool lb_hunting_is_over(const struct lb_hunting *g, double share);
/* What it is of, as the first line of its journal says. */
void lb_hunting_describe(const struct lb_hunt_order *order, char *ret, size_t size);
/* True if a trial of the timeline was decided. */
bool lb_hunting_knows(const struct lb_hunting *g, size_t timeline);
/* Whether another trial of it under this guard may be decided. */
bool lb_hunting_may_ask(const struct lb_hunting *g, size_t timeline, enum lb_guard guard);
/* Whether a minimal set that breaks within the lease is in it, and it is more than that. */
bool lb_hunting_is_held(const struct lb_hunting *g, size_t timeline);
/* Reads the sets off the journal again. */
void lb_hunting_find_sets(struct lb_hunting *g);

/* Plays all of them at once. 0; -EINTR, which is an end (h->end), not an error; -errno with one line in err. */
int lb_hunting_play(struct lb_hunting *g, const struct lb_hunt_batch batch[], size_t count);
/* Plays those of which fewer than `repeats` trials are decided, and what is undecided again (`again` is not looked at).
 * As lb_hunting_play(). */
int lb_hunting_play_decided(struct lb_hunting *g, const struct lb_hunt_batch *batch);

#endif
