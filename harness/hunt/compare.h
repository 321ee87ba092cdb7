/* SPDX-License-Identifier: MIT
 *
 * compare.h - what a hunt says of the scenarios that people have written: does a set explain each violation that they expect, does one contradict what
 * they call safe, and which sets has nobody written down?
 *
 * Compared is what is done to whom, not when, so that a set "contradicts" means: look at the two. Expectations without a guard only.
 */
#ifndef LB_HUNT_COMPARE_H
#define LB_HUNT_COMPARE_H

#include "hunt.h"

enum lb_hunt_relation {
  LB_HUNT_EXPLAINED,    /* violated, and a minimal set has only faults that the scenario has */
  LB_HUNT_UNEXPLAINED,  /* violated, and none has */
  LB_HUNT_AGREES,       /* safe, and no minimal set within a lease has only its faults */
  LB_HUNT_CONTRADICTED, /* safe, and one has */
  LB_HUNT_FOREIGN,      /* it has a fault that the hunt does not know, or none at all: nothing can be said */
  LB_HUNT_RELATION_COUNT
};
/* "explained", "unexplained", "agrees", "contradicted", "not comparable". */
const char *lb_hunt_relation_name(enum lb_hunt_relation relation);

struct lb_hunt_told { /* of a scenario */
  char name[64];
  enum lb_hunt_relation relation;
  size_t set; /* of EXPLAINED and CONTRADICTED: its index */
};
struct lb_hunt_comparison {
  struct lb_hunt_told *scenario;
  size_t count;
  bool *written; /* of each set: a scenario has its faults */
};

/* Reads the scenarios of a folder and compares those that state something for the system of the hunt. 0 (release with lb_hunt_comparison_clear()), or
 * -errno with one line in err. */
int lb_hunt_compare(const struct lb_hunt *hunt, const char *folder, struct lb_hunt_comparison *ret, char *err, size_t err_size);
void lb_hunt_comparison_clear(struct lb_hunt_comparison *comparison);

#endif
