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
size_t lb_hunt_simpler(const struct lb_hunt_space *space, const struct lb_hunt_form *form, enum lb_hunt_outcome class,
                       struct lb_hunt_form ret[LB_HUNT_SIMPLER_MAX]);

/* Plays forms, with new seeds on fresh servers, and knows the results of all that were played. */
struct lb_hunt_player {
  /* Each of these timelines so many times without what `without` says. 0; 1 = no more, as the time is over; -EINTR and
   * other -errno. */
  int (*play)(void *of, unsigned without, const size_t timeline[], size_t count, int repeats);
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
bool lb_hunt_is_simplified(const struct lb_hunt_set *set);
/* ", without client 3 and without renewal", or "". */
const char *lb_hunt_without_text(unsigned without);

/* From how long to how long a fault, or the wait for a write, has to last for a set to break: by bisection, to a tenth
 * of a second. */

enum { LB_HUNT_TENTH_MS = 100, LB_HUNT_NARROW_TRIALS = 3 /* n of n, at each length that is tried */ };

/* Which length of a timeline is worth it: that of what is undone before a takeover (LB_HUNT_OF_MID) where there is such
 * a fault, else W (LB_HUNT_OF_WRITE). */
enum lb_hunt_length lb_hunt_length_of(const struct lb_hunt_timeline *timeline);

/* Whether it breaks n of n at this length: 1 or 0; -ETIME when the time is over, -EINTR or other -errno. */
typedef int lb_hunt_probe(void *of, int64_t ms);
/* Looks on both sides of `start_ms`, from a tenth of a second to `most_ms`. It assumes at most one end on each side. 0,
 * with ret->known false if it does not break at start_ms (rounded to a tenth); or what `probe` stopped with, and
 * ret->known is false. */
int lb_hunt_narrow(lb_hunt_probe *probe, void *of, int64_t start_ms, int64_t most_ms, struct lb_hunt_range *ret);

/* True if there is something to tell: it is known, and of W that it has an end at all. */
bool lb_hunt_range_tells(const struct lb_hunt_range *range);
/* "breaks if what is undone before a takeover lasts from 1.1 to 1.6 s". 160 bytes are enough. */
void lb_hunt_range_say(const struct lb_hunt_range *range, char *buf, size_t size);

/* A set is called minimal only if its published form comes out the same again: ten times of ten, under another seed on
 * fresh servers. */

#define LB_HUNT_REPLAYS 10 /* decided trials of each set */

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
struct lb_hunt_replays lb_hunt_replays_of(const struct lb_hunt_journal *journal);

/* Timelines of a hunt in forms that are not of its space: without client 3, without renewal, with other times. What
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
  struct lb_error *err;
};

/* The player of lb_hunt_simplify(), or of lb_hunt_replay() where the lab replays: `of` is a lab. */
struct lb_hunt_player lb_hunt_lab_player(struct lb_hunt_lab *lab);
/* Sets `range` of each minimal set that is the first of its mechanism, in its simplest form; with only >= 0 of the set
 * of that timeline, minimal or not, if it broke every time. Nothing shorter than a tenth of a second and nothing longer
 * than three times the usual is tried. A length at which a trial is undecided twice counts as one at which it does not
 * break. No journal has these trials. 0, also when the time is over; -EINTR or other -errno with one line in
 * lab->err. */
int lb_hunt_lab_narrow(struct lb_hunt_lab *lab, struct lb_hunt_sets *sets, ptrdiff_t only);

#endif
