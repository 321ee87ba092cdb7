/* SPDX-License-Identifier: MIT
 *
 * book.h - what a hunt has seen so far: for every timeline and guard how often it came out how. Each trial is a line of a file as soon as it has
 * ended, so a hunt that is interrupted, or killed, keeps what it has and can go on from there.
 */
#ifndef LB_HUNT_BOOK_H
#define LB_HUNT_BOOK_H

#include <stdint.h>
#include <stdio.h>

#include "came.h"
#include "scenario/guard.h"
#include "space.h"

struct lb_hunt_doubt {
  uint64_t why;  /* of the latest undecided trial: a number for its words */
  unsigned same; /* so many of them in a row had these */
};
struct lb_hunt_replay { /* of a set in the form in which it is published (replay.h) */
  uint16_t agreed, decided;
  bool refuted; /* it did not come out so every time */
};
struct lb_hunt_book {
  const struct lb_hunt_space *space; /* borrowed */
  enum lb_guard guard;               /* of the hunt: sets are those under it */
  struct lb_hunt_count (*count)[LB_GUARD_COUNT]; /* by the index of the timeline, and guard */
  char (*why)[160];                  /* by the index of the timeline: of its latest undecided trial */
  struct lb_hunt_doubt (*doubt)[LB_GUARD_COUNT]; /* by the index of the timeline, and guard */
  struct lb_hunt_replay *replay;     /* by the index of the timeline */
  size_t trials, undecided;          /* of all of them */
  size_t read;                       /* of these, those that were in the file already */
  FILE *file;
};

/* Opens the file, or makes it, and takes what is in it. The first line says what it is of: `of`, as in "PROTOCOL@TOPOLOGY, seed 42, at most 2 faults"; a file of anything
 * else is refused. Its guard is none until the caller says otherwise. 0 (release with lb_hunt_book_close()), or -errno with one line in err. */
int lb_hunt_book_open(struct lb_hunt_book *book, const struct lb_hunt_space *space, const char *path, const char *of, char *err, size_t err_size);
/* One more trial, in memory and in the file. */
void lb_hunt_book_add(struct lb_hunt_book *book, size_t timeline, enum lb_guard guard, enum lb_hunt_came came, const char *why);
/* What came of a timeline under the guard of the hunt. */
const struct lb_hunt_count *lb_hunt_seen(const struct lb_hunt_book *book, size_t timeline);
/* True if its latest undecided trials had the same reason to the letter: then another one would have it, too. (What is late is late by another number of
 * milliseconds each time.) */
bool lb_hunt_is_hopeless(const struct lb_hunt_book *book, size_t timeline, enum lb_guard guard);
/* 0, or -errno if something could not be written. */
int lb_hunt_book_close(struct lb_hunt_book *book);

#endif
