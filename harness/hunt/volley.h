/* SPDX-License-Identifier: MIT
 *
 * volley.h - some timelines of a hunt, played side by side by the runner as the cells of a plan, each from its scenario file, and their outcomes
 * entered in the book.
 */
#ifndef LB_HUNT_VOLLEY_H
#define LB_HUNT_VOLLEY_H

#include "book.h"
#include "run/rundir.h"
#include "run/runner.h"
#include "write.h"

struct lb_hunt_gun { /* what all volleys of a hunt have in common */
  const struct lb_hunt_space *space;
  struct lb_hunt_book *book;
  const struct lb_rundir *dir; /* scratch: scenario files, histories, logs. It is never committed */
  const char *const *settings; /* "PROTOCOL.OPTION=VALUE" */
  size_t setting_count;
  uint64_t seed;
  int jobs;
  const struct lb_hunt_settings *change; /* what is played otherwise than the program says; NULL = nothing */
  bool fresh; /* every trial has servers of its own; else timelines share them where that is sound (trial/share.h) */
  /* Called when a trial has ended and about once a second, with how many of this volley are done. May be NULL. */
  void (*tick)(void *display, size_t done, size_t count);
  void *display;
  unsigned fired; /* volleys so far: each draws new seeds */
};

/* Plays each of these timelines `repeats` times under the guard. 0; -EINTR (what had ended is in the book); -errno with one line in err. A timeline that
 * this machine or system cannot play is entered as undecided, with the reason. */
int lb_hunt_fire(struct lb_hunt_gun *gun, const size_t timeline[], size_t count, enum lb_guard guard, int repeats, int jobs, char *err, size_t err_size);
/* The scenario file of a timeline, written at this path. 0 or -errno. */
int lb_hunt_write_file(const struct lb_hunt_space *space, size_t timeline, enum lb_guard guard, const struct lb_hunt_settings *settings,
                       const char *expected, const char *path);

#endif
