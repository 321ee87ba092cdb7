/* SPDX-License-Identifier: MIT
 *
 * compare.h - what a hunt says of the scenarios that people have written: does a set explain each violation that they expect, does one contradict what
 * they call safe, and which sets has nobody written down?
 *
 * A set is in a scenario if its faults are among those of the scenario, in their order, each in the same slot and undone in the same part of the program
 * (deeds.h). Where the two differ it says why. Expectations under the guard of the hunt only.
 */
#ifndef LB_HUNT_COMPARE_H
#define LB_HUNT_COMPARE_H

#include "deeds.h"
#include "hunt.h"

enum lb_hunt_relation {
  LB_HUNT_EXPLAINED,    /* violated, and a set that broke every time is in it, or at least one that broke in some trials */
  LB_HUNT_UNEXPLAINED,  /* violated, and none is */
  LB_HUNT_AGREES,       /* safe, and no such set is in it */
  LB_HUNT_CONTRADICTED, /* safe, and one is */
  LB_HUNT_FOREIGN,      /* it has something that the hunt does not know, so nothing can be said */
  LB_HUNT_RELATION_COUNT
};
/* "explained", "unexplained", "agrees", "contradicted", "not comparable". */
const char *lb_hunt_relation_name(enum lb_hunt_relation relation);

struct lb_hunt_told { /* of a scenario */
  char name[64];
  enum lb_verdict expected; /* safe or violated */
  enum lb_hunt_relation relation;
  enum lb_hunt_why why; /* of UNEXPLAINED, CONTRADICTED and FOREIGN */
  const char *form;     /* of LB_HUNT_WHY_VERB: of which verb, as in "slow A to B T"; else "". Static */
  size_t set;           /* of EXPLAINED and CONTRADICTED: its index */
};
struct lb_hunt_comparison {
  struct lb_hunt_told *scenario;
  size_t count;
  bool *written; /* of each set: a scenario that expects a violation has it, its simplest form, or one of the same mechanism */
};

/* Reads the scenarios of a folder and compares those that state something for the system of the hunt, which was played with these settings
 * ("PROTOCOL.OPTION=VALUE"). 0 (release with lb_hunt_comparison_clear()), or -errno with one line in err. */
int lb_hunt_compare(const struct lb_hunt *hunt, const char *const settings[], size_t setting_count, const char *folder, struct lb_hunt_comparison *ret,
                    char *err, size_t err_size);
void lb_hunt_comparison_clear(struct lb_hunt_comparison *comparison);

#endif
