/* SPDX-License-Identifier: MIT
 *
 * lab.h - timelines of a hunt in forms that are not of its space: without client 3, without renewal, with other times. What comes of them is not mixed
 * with the book of the hunt: each kind of form has a journal of its own beside it.
 */
#ifndef LB_HUNT_LAB_H
#define LB_HUNT_LAB_H

#include "narrow.h"
#include "simplify.h"
#include "volley.h"

struct lb_hunt_lab {
  struct lb_hunt_gun *gun; /* of the hunt; borrowed */
  struct lb_jobs jobs; /* trials side by side */
  const char *folder, *of; /* where journals are, and what they are of; borrowed */
  struct lb_hunt_book book[LB_HUNT_WITHOUT_COUNT]; /* the first one is used by replays only: else it is the book of the hunt */
  bool (*is_over)(void *clock); /* the time of the hunt */
  void *clock;
  bool hasty; /* waiting is dearer than trials */
  bool replays; /* under another seed, in journals of their own: trials-replay.csv */
  char *err;
  size_t err_size;
};

/* The player of lb_hunt_simplify(), or of lb_hunt_replay() where the lab replays: `of` is a lab. */
struct lb_hunt_player lb_hunt_lab_player(struct lb_hunt_lab *lab);
/* Sets `range` of each minimal set that is the first of its mechanism, in its simplest form; with only >= 0 of the set of that timeline, minimal or not, if it broke every time. Nothing shorter
 * than a tenth of a second and nothing longer than three times the usual is tried. A length at which a trial is undecided twice counts as one at which it does not break. No journal
 * has these trials. 0, also when the time is over; -EINTR or other -errno with one line in lab->err. */
int lb_hunt_lab_narrow(struct lb_hunt_lab *lab, struct lb_hunt_sets *sets, ptrdiff_t only);
/* 0, or -errno if something could not be written. */
int lb_hunt_lab_close(struct lb_hunt_lab *lab);

#endif
