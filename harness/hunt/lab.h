/* SPDX-License-Identifier: MIT
 *
 * lab.h - timelines of a hunt in forms that are not of its space: without client 3, without renewal, with other times. What comes of them is not mixed
 * with the book of the hunt: each kind of form has a journal of its own beside it.
 */
#ifndef LB_HUNT_LAB_H
#define LB_HUNT_LAB_H

#include "simplify.h"
#include "volley.h"

struct lb_hunt_lab {
  struct lb_hunt_gun *gun; /* of the hunt; borrowed */
  const char *folder, *of; /* where journals are, and what they are of; borrowed */
  struct lb_hunt_book book[LB_HUNT_WITHOUT_COUNT]; /* the first one is not used: that is the book of the hunt */
  bool (*is_over)(void *clock); /* the time of the hunt */
  void *clock;
  char *err;
  size_t err_size;
};

/* The player of lb_hunt_simplify(): `of` is a lab. */
struct lb_hunt_player lb_hunt_lab_player(struct lb_hunt_lab *lab);
/* 0, or -errno if something could not be written. */
int lb_hunt_lab_close(struct lb_hunt_lab *lab);

#endif
