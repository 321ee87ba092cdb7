/* SPDX-License-Identifier: MIT
 *
 * compare.h - a hand-written scenario in the words of the hunt: what is done to which host, in which slot of the
 * program, and until when. Client 1 is the one that holds, from its last acquire before it writes.
 *
 * A hunt says three things of such scenarios: whether a set explains each violation that they expect, whether a set
 * contradicts what they call safe, and which sets are in none of them.
 *
 * A set is in a scenario if the scenario has its faults in their order. Each is in the same slot and undone in the same
 * part of the program (struct lb_hunt_deeds). Only expectations under the guard of the hunt count.
 */
#ifndef LB_HUNT_COMPARE_H
#define LB_HUNT_COMPARE_H

#include "base/error.h"
#include "alphabet.h"
#include "hunt.h"
#include "scenario/scenario.h"

/* Why a scenario and the hunt cannot be held against each other, or differ. */
enum lb_hunt_why {
  LB_HUNT_NO_WHY,
  LB_HUNT_WHY_VERB,   /* a fault that is not in the alphabet */
  LB_HUNT_WHY_PART,   /* done to hosts that the hunt does not tell apart */
  LB_HUNT_WHY_LONGER, /* taken back when every lease is over, without a failover by then */
  LB_HUNT_WHY_START,  /* a dead client starts again */
  LB_HUNT_WHY_OPTION, /* an option of the lock that the hunt did not set */
  LB_HUNT_WHY_ENDS,   /* a lease without renewal ends while its holder works */
  LB_HUNT_WHY_UNRUN,  /* the hunt has not run that timeline: out of its bounds, or of its budget */
  LB_HUNT_WHY_SAFE,   /* it has, and it was safe there */
  LB_HUNT_WHY_MORE,   /* the scenario does more than the set, which may hide it */
  LB_HUNT_WHY_SAME,   /* it does the same */
  LB_HUNT_WHY_COUNT
};
/* A part of a sentence, behind a colon. */
const char *lb_hunt_why_text(enum lb_hunt_why why);

#define LB_HUNT_DEEDS_MAX 16
struct lb_hunt_deeds {
  struct lb_hunt_fault
      deed[LB_HUNT_DEEDS_MAX]; /* in their order, without those after client 1 died: it holds no more */
  size_t count;
  enum lb_hunt_why foreign; /* what of it the hunt does not know; LB_HUNT_NO_WHY = all of it is there */
  const char *form;         /* of LB_HUNT_WHY_VERB: of which verb (lb_step_row); else "". Static */
  bool renews;              /* leases are renewed */
  bool ends;                /* they are not, and one may end between the grant and the release of client 1 */
};
/* Reads it off the steps, as they are played on this system: a step without a host there is none. Options of the
 * scenario are not looked at. */
struct lb_hunt_deeds lb_hunt_deeds_of(const struct lb_scenario *scenario, const struct lb_hunt_system *system);

enum lb_hunt_relation {
  LB_HUNT_EXPLAINED, /* violated, and a set that broke every time is in it, or at least one that broke in some trials */
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
  bool *
      written; /* of each set: a scenario that expects a violation has it, its simplest form, or one of the same mechanism */
};

/* Reads the scenarios of a folder and compares those that state something for the system of the hunt, which was played
 * with these settings ("PROTOCOL.OPTION=VALUE"). 0 (release with lb_hunt_comparison_clear()), or -errno with one line
 * in err. */
int lb_hunt_compare(const struct lb_hunt *hunt, const char *const settings[], size_t setting_count, const char *folder,
                    struct lb_hunt_comparison *ret, struct lb_error *err);
void lb_hunt_comparison_clear(struct lb_hunt_comparison *comparison);

/* What the hunt says of the scenarios: each by name, with why the two differ, and the sets that no scenario has. */
void lb_hunt_tell_scenarios(const struct lb_hunt *hunt, const struct lb_hunt_comparison *comparison, FILE *out);
/* The same as folder/scenarios.csv. 0 or -errno. */
int lb_hunt_keep_scenarios(const struct lb_hunt *hunt, const struct lb_hunt_comparison *comparison, const char *folder);

#endif
