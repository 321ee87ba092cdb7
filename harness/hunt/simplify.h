/* SPDX-License-Identifier: MIT
 *
 * simplify.h - a minimal set in its simplest form: what is undone sooner, done to fewer servers, without the client that comes late, without renewal, as
 * long as it still breaks every time. The set stays what it is in hunt.csv; its scenario file is written in that form.
 */
#ifndef LB_HUNT_SIMPLIFY_H
#define LB_HUNT_SIMPLIFY_H

#include "sets.h"

/* Forms one step simpler, the ones to be tried first in front: for each fault gone -> back -> mid, for each all -> P -> f, without client 3, without
 * renewal. Only timelines that the space would run, so that a set without its `without` is one that the hunt has looked at; and of those that break only
 * after the lease none without renewal, for then every lease ends. How many, at most LB_HUNT_SIMPLER_MAX. */
#define LB_HUNT_SIMPLER_MAX (LB_HUNT_FAULTS_MAX * 4 + 2)
size_t lb_hunt_simpler(const struct lb_hunt_space *space, const struct lb_hunt_form *form, enum lb_hunt_came class, struct lb_hunt_form ret[LB_HUNT_SIMPLER_MAX]);

/* Who plays forms, with new seeds on fresh servers, and knows what came of all that were played. */
struct lb_hunt_player {
  /* Each of these timelines so many times without what `without` says. 0; 1 = no more, as the time is over; -EINTR and other -errno. */
  int (*play)(void *of, unsigned without, const size_t timeline[], size_t count, int repeats);
  /* NULL = it was never played. Valid until the next call of play. */
  const struct lb_hunt_count *(*seen)(void *of, const struct lb_hunt_form *form);
  void *of;
  /* Trials of a form that was never played: 1, so that one that fails costs no more, or LB_HUNT_SURE, so that one that does not fail takes no second round. */
  int first;
};
/* Sets `simplest` of each minimal set that is the first of its mechanism: a step is made where the simpler form breaks n of n in the class of the set, and no smaller
 * minimal set is in it. One that could not be decided is not simpler. 0; what `play` returned when it stopped (sets are as simple as they are by then); -ENOMEM. */
int lb_hunt_simplify(const struct lb_hunt_space *space, struct lb_hunt_sets *sets, const struct lb_hunt_player *player);

/* True if a simpler form than that in which it was found breaks as well. */
bool lb_hunt_is_simplified(const struct lb_hunt_set *set);
/* ", without client 3 and without renewal", or "". */
const char *lb_hunt_without_text(unsigned without);

#endif
