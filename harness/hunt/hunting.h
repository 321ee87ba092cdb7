/* SPDX-License-Identifier: MIT
 *
 * hunting.h - a hunt that is going on, for the files that play its parts: the search (hunt.c) and what follows it (follow.c).
 */
#ifndef LB_HUNT_HUNTING_H
#define LB_HUNT_HUNTING_H

#include "base/clock.h"
#include "hunt.h"

struct lb_hunting {
  const struct lb_hunt_order *order;
  struct lb_hunt *h;
  struct lb_hunt_gun gun;
  struct lb_hunt_live live;
  lb_ns begin;
  struct lb_hunt_ahead ahead;
  lb_ns estimated; /* when live.left_s was */
  double share; /* of the budget: what is played now may take until then */
  char *err; /* one line, where a function below fails */
  size_t err_size;
};

/* Seconds since the begin. */
double lb_hunting_spent(const struct lb_hunting *g);
/* True if this share of the budget (1 = all of it) is used up; never where there is none. */
bool lb_hunting_is_over(const struct lb_hunting *g, double share);
/* What it is of, as the first line of its journal says. */
void lb_hunting_describe(const struct lb_hunt_order *order, char *ret, size_t size);
/* True if a trial of the timeline was decided. */
bool lb_hunting_knows(const struct lb_hunting *g, size_t timeline);
/* Whether a minimal set that breaks within the lease is in it, and it is more than that. */
bool lb_hunting_is_held(const struct lb_hunting *g, size_t timeline);
/* For the live line. */
void lb_hunting_count_breaking(struct lb_hunting *g);
/* Reads the sets off the book again. 0 or -ENOMEM. */
int lb_hunting_find_sets(struct lb_hunting *g);

/* Plays it. 0; -EINTR, which is an end (h->end), not an error; -errno with one line in err. */
int lb_hunting_fire(struct lb_hunting *g, const struct lb_hunt_volley *volley);
/* Plays all of them at once, as lb_hunting_fire(). */
int lb_hunting_fire_together(struct lb_hunting *g, const struct lb_hunt_volley volley[], size_t count);
/* False if so many of its trials under this guard were undecided, or for one reason, that nobody asks again, nor does a hunt that goes on. */
bool lb_hunting_may_ask(const struct lb_hunting *g, size_t timeline, enum lb_guard guard);
/* Plays those of which fewer than `repeats` trials are decided, and what is undecided again (`again` is not looked at). As lb_hunting_fire(), or -ENOMEM. */
int lb_hunting_fire_decided(struct lb_hunting *g, const struct lb_hunt_volley *volley);

#endif
