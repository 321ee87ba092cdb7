/* SPDX-License-Identifier: MIT
 *
 * replay.h - a set is called minimal only if its published form comes out the same again: twenty times of twenty, under
 * other seeds on fresh servers; ten times of ten in a hunt with a budget.
 */
#ifndef LB_HUNT_REPLAY_H
#define LB_HUNT_REPLAY_H

#include "simplify.h"

/* Decided trials of each set. What breaks in nine of ten passes ten of them once in three times, twenty once in eight. */
enum { LB_HUNT_REPLAYS = 20, LB_HUNT_REPLAYS_IN_TIME = 10 };

/* Replays each minimal set in its simplest form, the first of each mechanism before the others, and enters in the
 * journal what agreed in class. One that agreed every time stays minimal; one of which too few were decided is
 * LB_HUNT_NOT_REPLAYED. A simpler form that does not agree is given up for the form in which the set was found. Where
 * that does not agree either, the set is refuted in the journal: from then on it is LB_HUNT_SOMETIMES there, or none if
 * it never agreed. How many were refuted; negative: what `play` returned. */
int lb_hunt_replay(struct lb_hunt_journal *journal, struct lb_hunt_sets *sets, const struct lb_hunt_player *player);

struct lb_hunt_replays {          /* of a hunt */
  unsigned sets, agreed, decided; /* sets that were replayed; trials */
  unsigned refuted, gone;         /* of these sets: those that did not agree every time; those that never did */
};
struct lb_hunt_replays lb_hunt_replay_count(const struct lb_hunt_journal *journal);

#endif
