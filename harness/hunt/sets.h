/* SPDX-License-Identifier: MIT
 *
 * sets.h - the minimal breaking sets in a book: which faults it takes, none of them too many. Nothing is run here.
 *
 * A set is minimal in its class if its timeline broke in every decided trial, at least LB_HUNT_SURE of them, and every proper subset, run as often, did
 * not break in that class once. Nothing is assumed of supersets: a further fault can hide what two did.
 */
#ifndef LB_HUNT_SETS_H
#define LB_HUNT_SETS_H

#include "book.h"

#define LB_HUNT_SURE 5 /* n of n */

enum lb_hunt_standing {
  LB_HUNT_MINIMAL,      /* n of n, and no proper subset breaks; when the hunt is over also: it agreed in every replay (replay.h) */
  LB_HUNT_NOT_REPLAYED, /* minimal but for that: there was no time, or too few replays were decided */
  LB_HUNT_OPEN,         /* n of n, but a proper subset, or itself, has not been decided often enough */
  LB_HUNT_SOMETIMES,    /* k of n, there or in its replays; or a proper subset breaks k of n */
};
enum { LB_HUNT_WITHOUT_CLIENT_3 = 1 << 0, LB_HUNT_WITHOUT_RENEWAL = 1 << 1, LB_HUNT_WITHOUT_COUNT = 1 << 2 };
struct lb_hunt_form { /* how a timeline is played: what of the program is left out (simplify.h); 0 = nothing */
  size_t timeline;
  unsigned without;
};
enum lb_hunt_length { LB_HUNT_OF_MID, LB_HUNT_OF_WRITE };
struct lb_hunt_range { /* of lengths at which a set breaks (narrow.h) */
  bool known;
  enum lb_hunt_length length; /* of what */
  int64_t from_ms, to_ms;
  bool from_open, to_open; /* nothing shorter, or longer, was tried */
};
struct lb_hunt_set {
  size_t timeline;
  enum lb_hunt_came class; /* LB_HUNT_CLASS_FIRST .. LB_HUNT_CLASS_LAST */
  enum lb_hunt_standing standing;
  unsigned broke, decided;
  unsigned agreed, replayed; /* decided replays, and those of its class */
  unsigned open; /* subsets that were not decided often enough */
  struct lb_hunt_form simplest; /* in which it still breaks n of n; as found, it is itself */
  struct lb_hunt_range range;   /* of lengths, if it was narrowed */
};
struct lb_hunt_sets {
  struct lb_hunt_set *set; /* by class, number of faults, then the order of the space */
  size_t count;
};

/* "minimal", "not replayed", "open", "sometimes". */
const char *lb_hunt_standing_name(enum lb_hunt_standing standing);
/* Finds them, under the guard of the book. 0 (release with lb_hunt_sets_clear()) or -ENOMEM. */
int lb_hunt_sets_find(const struct lb_hunt_book *book, struct lb_hunt_sets *ret);
void lb_hunt_sets_clear(struct lb_hunt_sets *sets);
/* True if the timeline has all faults of one of the minimal sets of this class, replayed or not, and more. */
bool lb_hunt_sets_contained(const struct lb_hunt_sets *sets, const struct lb_hunt_space *space, size_t timeline, enum lb_hunt_came class);
/* True if a proper subset of the timeline broke in this class, once or more. */
bool lb_hunt_part_broke(const struct lb_hunt_book *book, size_t timeline, enum lb_hunt_came class);
/* True if two sets show the same mechanism: the same class, and the same things done to the same hosts, whenever, until whenever and in whatever
 * regime. */
bool lb_hunt_alike(const struct lb_hunt_space *space, const struct lb_hunt_set *a, const struct lb_hunt_set *b);
/* True if no set before this one, of the same standing, shows the same mechanism, nor a minimal one where this was only not replayed. */
bool lb_hunt_is_first(const struct lb_hunt_sets *sets, const struct lb_hunt_space *space, size_t index);
/* How often a timeline broke in a class. A trial counts in the worst class only. */
unsigned lb_hunt_breaks(const struct lb_hunt_book *book, size_t timeline, enum lb_hunt_came class);
/* The share of the common core (lb_hunt_is_core()) that breaks a lock within a lease: of so many timelines that were decided, so many broke once or more. What is
 * pruned is not counted. */
struct lb_hunt_share {
  unsigned broke, decided;
};
struct lb_hunt_share lb_hunt_core(const struct lb_hunt_book *book);
/* What has to be run before the sets with `faults` faults are known: timelines that broke once, and their proper subsets, decided less often than
 * LB_HUNT_SURE times. `firsts`: of each mechanism within a lease only one, for which no other is known to be minimal. Indices, malloc'd, each once,
 * into *ret. How many, or -ENOMEM. */
ptrdiff_t lb_hunt_sets_wanting(const struct lb_hunt_book *book, const struct lb_hunt_sets *sets, size_t faults, bool firsts, size_t **ret);

#endif
