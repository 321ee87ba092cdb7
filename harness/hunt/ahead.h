/* SPDX-License-Identifier: MIT
 *
 * ahead.h - how long a hunt will take.
 */
#ifndef LB_HUNT_AHEAD_H
#define LB_HUNT_AHEAD_H

#include "journal.h"
#include "run/estimate.h"

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

#endif
