/* SPDX-License-Identifier: MIT
 *
 * audit.h - does the hunt leave out what it may? It runs a share of the timelines that it leaves out for a sound
 * reason. Each has to come out as the one that stands for it (lb_hunt_prune_stand_in()).
 *
 * These trials have a journal of their own and count nowhere else: no set and no share comes from them.
 */
#ifndef LB_HUNT_AUDIT_H
#define LB_HUNT_AUDIT_H

#include "journal.h"

#define LB_HUNT_AUDITED 0.05 /* of each reason, rounded up; at least LB_HUNT_AUDITED_LEAST, as far as there are any */
enum { LB_HUNT_AUDITED_LEAST = 25 };

enum lb_hunt_answer {
  LB_HUNT_NOT_DRAWN,
  LB_HUNT_SAME,      /* it came out as the other one */
  LB_HUNT_OTHER,     /* one broke in every trial, the other in none: the reason is wrong */
  LB_HUNT_UNCLEAR,   /* one broke in some of its trials, the other in none: a race, or a mistake */
  LB_HUNT_NO_ANSWER, /* one of the two was not decided, or not often enough to say */
  LB_HUNT_ANSWER_COUNT
};

struct lb_hunt_drawn { /* both as indices of the space */
  size_t timeline, stand_in;
};
/* The sample: of each sound reason a share of those with so many faults, or LB_HUNT_AUDITED_LEAST, drawn by the seed;
 * malloc'd, into *ret. It leaves out a timeline without a stand-in, and one that would need an answer of a dead client or server. */
void lb_hunt_audit_draw(const struct lb_hunt_space *space, uint64_t seed, size_t faults, double share,
                        struct lb_hunt_drawn **ret, size_t *ret_count);

struct lb_hunt_audit {
  struct lb_hunt_journal journal; /* of its own trials. journal.file == NULL = there was none */
  struct lb_hunt_drawn *drawn;
  size_t count;
};
/* What the trials of both journals say of one that was drawn. `sure` trials of each are enough to call it wrong. */
enum lb_hunt_answer lb_hunt_audit_answer(const struct lb_hunt_audit *audit, const struct lb_hunt_journal *hunt,
                                         const struct lb_hunt_drawn *drawn);
/* How often a timeline was run in both journals. */
struct lb_hunt_count lb_hunt_audit_seen(const struct lb_hunt_audit *audit, const struct lb_hunt_journal *hunt,
                                        size_t timeline);
size_t lb_hunt_audit_count(const struct lb_hunt_audit *audit, const struct lb_hunt_journal *hunt,
                           enum lb_hunt_answer answer);

#endif
