/* SPDX-License-Identifier: MIT
 *
 * deeds.h - a scenario that somebody has written, in the words of the hunt: what is done to whom, in which slot of the program, and until when. Client 1 is
 * the one that holds, from its last acquire before it writes.
 */
#ifndef LB_HUNT_DEEDS_H
#define LB_HUNT_DEEDS_H

#include "alphabet.h"
#include "scenario/scenario.h"

/* Why a scenario and the hunt cannot be held against each other, or differ. */
enum lb_hunt_why {
  LB_HUNT_NO_WHY,
  LB_HUNT_WHY_VERB,   /* a fault that is not in the alphabet */
  LB_HUNT_WHY_PART,   /* done to hosts that the hunt does not tell apart */
  LB_HUNT_WHY_LONGER, /* taken back when every lease is over, and by then nobody else took over */
  LB_HUNT_WHY_START,  /* a dead client starts again */
  LB_HUNT_WHY_OPTION, /* an option of the lock that the hunt did not set */
  LB_HUNT_WHY_ENDS,   /* a lease that nobody renews ends while its holder works */
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
  struct lb_hunt_fault deed[LB_HUNT_DEEDS_MAX]; /* in their order. What is done when client 1 is dead is not among them: nobody holds beside it then */
  size_t count;
  enum lb_hunt_why foreign; /* what of it the hunt does not know; LB_HUNT_NO_WHY = all of it is there */
  const char *form;         /* of LB_HUNT_WHY_VERB: of which verb (lb_step_row); else "". Static */
  bool renews;              /* leases are renewed */
  bool ends;                /* they are not, and one may end between the grant and the release of client 1 */
};
/* Reads it off the steps, as they are played on this system: a step without a host there is none. Options of the scenario are not looked at. */
struct lb_hunt_deeds lb_hunt_deeds_of(const struct lb_scenario *scenario, const struct lb_hunt_system *system);

#endif
