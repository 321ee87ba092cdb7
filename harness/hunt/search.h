/* SPDX-License-Identifier: MIT
 *
 * search.h - a hunt that is going on: in which order timelines are looked at, the search, what follows it, and how long
 * all of that will take.
 */
#ifndef LB_HUNT_SEARCH_H
#define LB_HUNT_SEARCH_H

#include "base/clock.h"
#include "base/error.h"
#include "hunt.h"

#define LB_HUNT_CONTROLS 20 /* how often a timeline without faults is run */

/* Indices into space->timeline, malloc'd, into *ret: those without faults LB_HUNT_CONTROLS times in turns of their
 * regimes, all with one fault (shuffled by the seed), then those with two round-robin over pairs of kinds and shuffled
 * inside, then those with three likewise. Only what is run (LB_HUNT_RUN). The same space and seed give the same order.
 * 0 or -ENOMEM. */
int lb_hunt_order(const struct lb_hunt_space *space, uint64_t seed, size_t **ret, size_t *ret_count);

/* ---- how long it takes ------------------------------------------------------------------------------------------- */

/* Which timelines are looked at is known before the start; what follows is taken to be as much as in other hunts. */
struct lb_hunt_ahead {
  struct lb_room room;
  double look_s;   /* what was to be looked at when it began */
  double follow_s; /* what was taken to follow */
  bool looked;     /* the last of them was looked at ... */
  double looked_s; /* ... when so much had elapsed */
};

/* Timelines of the space that are run (`ret_all`), and of these those with a decided trial. */
size_t lb_hunt_ahead_known(const struct lb_hunt_journal *journal, size_t *ret_all);
/* A hunt begins, or goes on, with this journal. ret->look_s + ret->follow_s is how long it takes, without a budget. */
void lb_hunt_ahead_begin(const struct lb_hunt_journal *journal, const struct lb_room *room, struct lb_hunt_ahead *ret);
/* Seconds that are left, `elapsed_s` after that; with `budget_s` > 0 of them in all no more than are left of it. */
double lb_hunt_ahead_left_s(struct lb_hunt_ahead *ahead, const struct lb_hunt_journal *journal, double elapsed_s,
                            double budget_s);

/* ---- the search -------------------------------------------------------------------------------------------------- */

struct lb_hunting {
  const struct lb_hunt_order *order;
  struct lb_hunt *h;
  struct lb_hunt_batches batches;
  struct lb_hunt_live live;
  lb_ns begin;
  struct lb_hunt_ahead ahead;
  lb_ns estimated;      /* when live.left_s was */
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
/* Whether a minimal set that breaks within the lease is in it, and it is more than that. */
bool lb_hunting_is_held(const struct lb_hunting *g, size_t timeline);
/* Reads the sets off the journal again. 0 or -ENOMEM. */
int lb_hunting_find_sets(struct lb_hunting *g);

/* Plays all of them at once. 0; -EINTR, which is an end (h->end), not an error; -errno with one line in err. */
int lb_hunting_play(struct lb_hunting *g, const struct lb_hunt_batch batch[], size_t count);
/* Plays those of which fewer than `repeats` trials are decided, and what is undecided again (`again` is not looked at).
 * As lb_hunting_play(), or -ENOMEM. */
int lb_hunting_play_decided(struct lb_hunting *g, const struct lb_hunt_batch *batch);

/* Looks at the timelines of the order, confirms what broke, asks guards of minimal sets and runs the audit of what is
 * soundly pruned, until nothing of this is open: whatever is known to be wanted is played at once. With a budget,
 * looking ends at a part of it, so that the rest is for what was found; h->end says whether something was left. 0;
 * -EINTR; -ENOMEM; -errno with one line in err. */
int lb_hunting_search(struct lb_hunting *g, const size_t order[], size_t count);

/* ---- what follows ------------------------------------------------------------------------------------------------ */

enum {
  LB_HUNTING_SAMPLE_MAX = 60,
  LB_HUNTING_GUARD_TRIALS = 3,
  LB_HUNTING_OTHER_GUARDS = ((1 << LB_GUARD_COUNT) - 1) & ~(1 << LB_GUARD_NONE)
};

/* Samples of the order, for the two audits below: which timelines they are depends on the seed and on what they are
 * asked about, not on which of them have been run. How many. */
size_t lb_hunting_draw_held(const struct lb_hunting *g, const size_t order[], size_t count,
                            size_t ret[LB_HUNTING_SAMPLE_MAX]);
size_t lb_hunting_draw_safe(const struct lb_hunting *g, const size_t order[], size_t count,
                            size_t ret[LB_HUNTING_SAMPLE_MAX]);
/* Draws a sample of the timelines with so many faults that are soundly pruned (audit.h). 0; -ENOMEM; -errno with one
 * line in err. */
int lb_hunting_audit_draw(struct lb_hunting *g, size_t faults);
/* Of all samples that were drawn: what has to be run once, as nobody else does; and what has to be run again, as the
 * two of a pair differ. How many; ret has room for the space. */
size_t lb_hunting_audit_open(const struct lb_hunting *g, size_t ret[]);
size_t lb_hunting_audit_closer(const struct lb_hunting *g, size_t ret[]);

#endif
