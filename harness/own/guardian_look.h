/* SPDX-License-Identifier: MIT
 *
 * guardian_look.h - what servers show, and what that proves. Private to the guardian.
 */
#ifndef LB_GUARDIAN_LOOK_H
#define LB_GUARDIAN_LOOK_H

#include "guardian_journal.h"

struct lb_guardian_look {
  bool accepts; /* a connection */
  bool answers; /* a request */
  bool told;    /* its identity */
  int primary;  /* the ward that decides; -1 = none, or it is not known */
  int left;     /* lb_family.left, of both ends of a link together */
  int follows;  /* which end has all of the other, as a bit each */
  bool tells;   /* an end of the link would say that it is cut */
  bool has_time;
  int64_t ahead_ms; /* of the true time */
  char identity[128];
};

/* What the proof of this verb needs. A server that does not answer is asked nothing more. */
void lb_guardian_look_at(enum lb_mandate_verb verb, const struct lb_guardian_fault *f, struct lb_guardian_look *ret);
/* Whether that look shows what the verb does. */
bool lb_guardian_look_shows(enum lb_mandate_verb verb, const struct lb_guardian_fault *f,
                            const struct lb_guardian_look *before, const struct lb_guardian_look *now);
/* What it does not show, as the end of a sentence. */
const char *lb_guardian_look_lacks(enum lb_mandate_verb verb, const struct lb_guardian_look *now);
/* Looks until it shows it. False: it did not in time; `now` is the last look. */
bool lb_guardian_look_await(enum lb_mandate_verb verb, const struct lb_guardian_fault *f,
                            const struct lb_guardian_look *before, int64_t within_ms, struct lb_guardian_look *now);
/* Whether another server answers than the one with that identity. */
bool lb_guardian_look_is_other(const struct lb_guardian_look *now, const char *identity);
/* Whether all servers are well: each answers, one decides, and the others have all of it. Else `why` names one. */
bool lb_guardian_look_are_well(char *why, size_t size);

/* Clients of others, as servers tell of them. */
struct lb_guardian_others {
  char found[300]; /* "2 of redis-1"; "" = none */
  char mute[300];  /* servers that do not tell; "" = none */
};
void lb_guardian_look_others(struct lb_guardian_others *ret);

#endif
