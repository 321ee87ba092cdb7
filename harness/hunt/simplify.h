/* SPDX-License-Identifier: MIT
 *
 * simplify.h - a minimal set in its simplest form: what is undone sooner, done to fewer servers, without the client
 * that comes late, without renewal, as long as it still breaks every time. The set stays what it is in hunt.csv; its
 * scenario file is written in that form.
 */
#ifndef LB_HUNT_SIMPLIFY_H
#define LB_HUNT_SIMPLIFY_H

#include "base/error.h"
#include "journal.h"
#include "batch.h"

/* Forms one step simpler, the ones to be tried first in front: for each fault gone -> back -> mid, for each all -> P ->
 * f, without client 3, without renewal. Only timelines that the space would run, so that a set without its `without` is
 * one that the hunt has looked at; and of those that break only after the lease none without renewal, for then every
 * lease ends. How many, at most LB_HUNT_SIMPLER_MAX. */
#define LB_HUNT_SIMPLER_MAX (LB_HUNT_FAULTS_MAX * 4 + 2)
size_t lb_hunt_simplify_forms(const struct lb_hunt_space *space, const struct lb_hunt_form *form,
                              enum lb_hunt_outcome class, struct lb_hunt_form ret[LB_HUNT_SIMPLER_MAX]);

struct lb_hunt_request { /* each of these timelines so many times, without what `without` says */
  const size_t *timeline;
  size_t count;
  unsigned without;
  int repeats;
};
/* Plays forms, with new seeds on fresh servers, and knows the results of all that were played. */
struct lb_hunt_player {
  /* All of them at once: none waits for the end of another one. 0; 1 = no more, as the time is over; -EINTR and other
   * -errno. */
  int (*play)(void *of, const struct lb_hunt_request request[], size_t count);
  /* NULL = it was never played. Valid until the next call of play. */
  const struct lb_hunt_count *(*seen)(void *of, const struct lb_hunt_form *form);
  void *of;
  /* Trials of a form that was never played: 1, so that one that fails costs no more, or LB_HUNT_SURE, so that one that
   * does not fail takes no second round. */
  int first;
};
/* Sets `simplest` of each minimal set that is the first of its mechanism: a step is made where the simpler form breaks
 * n of n in the class of the set, and no smaller minimal set is in it. One that could not be decided is not simpler. 0;
 * what `play` returned when it stopped (sets are as simple as they are by then). */
int lb_hunt_simplify(const struct lb_hunt_space *space, struct lb_hunt_sets *sets, const struct lb_hunt_player *player);

/* True if a simpler form than that in which it was found breaks as well. */
bool lb_hunt_simplify_helped(const struct lb_hunt_set *set);
/* ", without client 3 and without renewal", or "". */
const char *lb_hunt_simplify_without_text(unsigned without);

/* Timelines of a hunt in forms that are not of its space: without client 3, without renewal. What
 * comes of them is not mixed with the journal of the hunt: each kind of form has a journal of its own beside it. */

struct lb_hunt_lab {
  struct lb_hunt_batches *batches; /* of the hunt; borrowed */
  const char *folder, *of;         /* where journals are, and what they are of; borrowed */
  struct lb_hunt_journal
      journal[LB_HUNT_WITHOUT_COUNT]; /* the first one is used by replays only: else it is the journal of the hunt */
  bool (*is_over)(void *clock);       /* the time of the hunt */
  void *clock;
  bool hasty;   /* waiting is dearer than trials */
  bool replays; /* under another seed, in journals of their own: trials-replay.csv */
  /* Played with the first forms, into the journal of the hunt; NULL = nothing. Borrowed. */
  const struct lb_hunt_batch *beside;
  size_t beside_count;
  struct lb_error *err;
};

/* The player of lb_hunt_simplify(), or of lb_hunt_replay() (replay.h) where the lab replays: `of` is a lab. */
struct lb_hunt_player lb_hunt_lab_player(struct lb_hunt_lab *lab);

#endif
