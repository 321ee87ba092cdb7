/* SPDX-License-Identifier: MIT
 *
 * journal.h - what came of the timelines of a hunt: outcomes, their journal, and the minimal sets in it.
 *
 * A set is minimal in its class if its timeline broke in every decided trial, at least LB_HUNT_SURE of them. Each proper
 * subset was run as often, and broke in that class in at most half of its trials. (With ten replays of the set beside
 * 3 of 6 of a part, chance alone does that once in 66 times; where a part may not break at all, a race that is won now
 * and then hides what always breaks.) Nothing follows for supersets: a further fault can hide what two did.
 */
#ifndef LB_HUNT_JOURNAL_H
#define LB_HUNT_JOURNAL_H

#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "scenario/scenario.h"
#include "space.h"
#include "trial/trial.h"

enum lb_hunt_outcome {
  LB_HUNT_SAFE,
  LB_HUNT_LEASE,   /* two held, and the leases of both ran */
  LB_HUNT_EXPIRED, /* two held, but the earlier lease was over */
  LB_HUNT_DAMAGE,  /* no two held at once, but the resource was damaged */
  LB_HUNT_NUMBERS, /* only a fencing token that repeats or goes backwards */
  LB_HUNT_BLOCKED, /* the lock could not be had while it mattered, or again at the end. Not safe: no answer */
  LB_HUNT_UNDECIDED,
  LB_HUNT_OUTCOME_COUNT
};
/* "safe", "lease", "expired", "damage", "numbers", "blocked", "undecided". */
const char *lb_hunt_outcome_name(enum lb_hunt_outcome outcome);
/* The one of that name, or -1. */
int lb_hunt_outcome_find(const char *name);

/* The classes of a violation, the worst first: a trial is of the worst that happened in it. */
enum { LB_HUNT_CLASS_FIRST = LB_HUNT_LEASE, LB_HUNT_CLASS_LAST = LB_HUNT_NUMBERS };

/* Behind "broke 5 of 5": "within a lease", "after the lease", "only at the resource", "in numbers only". */
const char *lb_hunt_outcome_class_text(enum lb_hunt_outcome class);

/* Which one a trial is. */
enum lb_hunt_outcome lb_hunt_outcome_of(const struct lb_outcome *outcome);

struct lb_hunt_count { /* of the trials of one timeline under one guard */
  uint16_t of[LB_HUNT_OUTCOME_COUNT];
};
/* Trials that were decided: all but undecided ones. */
unsigned lb_hunt_count_decided(const struct lb_hunt_count *count);
/* Whether one of them lost exclusion: two held, within the earlier lease or after it. */
bool lb_hunt_count_broke(const struct lb_hunt_count *count);
/* How many were violated, in any class. */
unsigned lb_hunt_count_violated(const struct lb_hunt_count *count);

/* What a hunt has seen so far: for every timeline and guard how often it came out how. Each trial is a line of a file
 * as soon as it has ended. So a hunt that is interrupted or killed keeps what it has, and can go on. */

struct lb_hunt_doubt {
  uint64_t why;  /* of the latest undecided trial: a number for its words */
  unsigned same; /* so many of them in a row had these */
};
struct lb_hunt_replay { /* of a set in the form in which it is published */
  uint16_t agreed, decided;
  bool refuted; /* it did not come out so every time */
};
struct lb_hunt_journal {
  const struct lb_hunt_space *space;             /* borrowed */
  enum lb_guard guard;                           /* of the hunt: sets are those under it */
  struct lb_hunt_count (*count)[LB_GUARD_COUNT]; /* by the index of the timeline, and guard */
  char (*why)[160];                              /* by the index of the timeline: of its latest undecided trial */
  struct lb_hunt_doubt (*doubt)[LB_GUARD_COUNT]; /* by the index of the timeline, and guard */
  struct lb_hunt_replay *replay;                 /* by the index of the timeline */
  size_t trials, undecided;                      /* of all of them */
  bool seen;                                     /* a trial said what the grant rests on: ... */
  unsigned rests;                                /* ... bits of rests.h ... */
  char said[200];                                /* ... and what it said */
  FILE *file;
  bool failed; /* a line could not be written */
};

/* Opens the file, or makes it, and takes what is in it. The first line says what it is of: `of`, as in
 * "PROTOCOL@TOPOLOGY, seed 42, at most 2 faults"; a file of anything else is refused. Its guard is none until the
 * caller says otherwise. 0 (release with lb_hunt_journal_close()), or -errno with one line in err. */
int lb_hunt_journal_open(struct lb_hunt_journal *journal, const struct lb_hunt_space *space, const char *path,
                         const char *of, struct lb_error *err);
/* One more trial, in memory and in the file. */
void lb_hunt_journal_add(struct lb_hunt_journal *journal, size_t timeline, enum lb_guard guard,
                         enum lb_hunt_outcome outcome, const char *why);
/* What a trial said the grant rests on, in memory and in the file: a hunt that goes on keeps its order. */
void lb_hunt_journal_note(struct lb_hunt_journal *journal, unsigned rests, const char *said);
/* What came of a timeline under the guard of the hunt. */
const struct lb_hunt_count *lb_hunt_journal_seen(const struct lb_hunt_journal *journal, size_t timeline);
/* True if its latest undecided trials had the same reason to the letter: then another one would have it, too. (What is
 * late is late by another number of milliseconds each time.) */
bool lb_hunt_journal_is_hopeless(const struct lb_hunt_journal *journal, size_t timeline, enum lb_guard guard);
/* 0, or -errno if something could not be written. */
int lb_hunt_journal_close(struct lb_hunt_journal *journal);

#define LB_HUNT_SURE 5 /* n of n */

enum lb_hunt_standing {
  LB_HUNT_MINIMAL,      /* n of n, and no proper subset mostly breaks; when the hunt is over also: all replays agreed */
  LB_HUNT_NOT_REPLAYED, /* minimal but for that: there was no time, or too few replays were decided */
  LB_HUNT_OPEN,         /* n of n, but a proper subset, or itself, has not been decided often enough */
  LB_HUNT_SOMETIMES,    /* k of n, there or in its replays; or a proper subset breaks in more than half of its trials.
                         * Listed is the smallest of them */
};
enum { LB_HUNT_WITHOUT_CLIENT_3 = 1 << 0, LB_HUNT_WITHOUT_RENEWAL = 1 << 1, LB_HUNT_WITHOUT_COUNT = 1 << 2 };
struct lb_hunt_form { /* how a timeline is played: what of the program is left out (simplify.h); 0 = nothing */
  size_t timeline;
  unsigned without;
};
struct lb_hunt_set {
  size_t timeline;
  enum lb_hunt_outcome class; /* LB_HUNT_CLASS_FIRST .. LB_HUNT_CLASS_LAST */
  enum lb_hunt_standing standing;
  unsigned broke, decided;
  unsigned agreed, replayed;    /* decided replays, and those of its class */
  unsigned open;                /* subsets that were not decided often enough */
  struct lb_hunt_form simplest; /* in which it still breaks n of n; as found, it is itself */
};
struct lb_hunt_sets {
  struct lb_hunt_set *set; /* by class, number of faults, then the order of the space */
  size_t count;
};

/* Finds them, under the guard of the journal. Release with lb_hunt_sets_clear(). */
void lb_hunt_sets_find(const struct lb_hunt_journal *journal, struct lb_hunt_sets *ret);
void lb_hunt_sets_clear(struct lb_hunt_sets *sets);
/* True if the timeline has all faults of one of the minimal sets of this class, replayed or not, and more. */
bool lb_hunt_sets_contained(const struct lb_hunt_sets *sets, const struct lb_hunt_space *space, size_t timeline,
                            enum lb_hunt_outcome class);
/* True if a proper subset of the timeline broke in this class, once or more. */
bool lb_hunt_journal_part_broke(const struct lb_hunt_journal *journal, size_t timeline, enum lb_hunt_outcome class);
/* True if two sets show the same mechanism: the same class, and the same things done to the same hosts, whenever, until
 * whenever and in whatever regime. */
bool lb_hunt_set_alike(const struct lb_hunt_space *space, const struct lb_hunt_set *a, const struct lb_hunt_set *b);
/* True if no set before this one, of the same standing, shows the same mechanism, nor a minimal one where this was only
 * not replayed. */
bool lb_hunt_sets_is_first(const struct lb_hunt_sets *sets, const struct lb_hunt_space *space, size_t index);
/* The share of the common core (lb_hunt_timeline_is_core()) that breaks a lock within a lease: of so many timelines that were
 * decided, so many broke once or more. What is pruned is not counted. */
struct lb_hunt_share {
  unsigned broke, decided;
};
struct lb_hunt_share lb_hunt_journal_core(const struct lb_hunt_journal *journal);
/* What has to be run before the sets with `faults` faults are known: timelines that broke once, and their proper
 * subsets, decided less often than LB_HUNT_SURE times. `firsts`: of each mechanism within a lease only one, for which
 * no other is known to be minimal. Indices, malloc'd, each once, into *ret. How many. */
size_t lb_hunt_sets_wanting(const struct lb_hunt_journal *journal, const struct lb_hunt_sets *sets, size_t faults,
                            bool firsts, size_t **ret);

#endif
