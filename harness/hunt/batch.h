/* SPDX-License-Identifier: MIT
 *
 * batch.h - plays some timelines of a hunt side by side, each from its scenario file, and enters their outcomes in the
 * journal.
 */
#ifndef LB_HUNT_BATCH_H
#define LB_HUNT_BATCH_H

#include "base/error.h"
#include "journal.h"
#include "run/admit.h"
#include "run/rundir.h"
#include "write.h"

struct lb_hunt_batches { /* what all batches of a hunt have in common */
  const struct lb_hunt_space *space;
  struct lb_hunt_journal *journal;
  struct lb_jobs jobs;         /* trials side by side */
  const struct lb_rundir *dir; /* scratch: scenario files, histories, logs. It is never committed */
  const char *const *settings; /* "PROTOCOL.OPTION=VALUE" */
  size_t setting_count;
  uint64_t seed;
  bool fresh; /* every trial has servers of its own; else timelines share them where that is sound (trial/site.h) */
  /* Called when a trial has ended and about once a second, with how many of this batch are done. May be NULL. */
  void (*tick)(void *display, size_t done, size_t count);
  /* Called before that of each trial that has ended. May be NULL. */
  void (*trial)(void *display, size_t timeline, enum lb_guard guard, const struct lb_outcome *outcome);
  /* Called when the history of a trial is there, with its path. May be NULL. */
  void (*history)(void *display, const char *path);
  void *display;
  /* Seconds that are left: no trial is begun that would not be done in them. NULL = as many as it takes. */
  double (*left_s)(void *clock);
  void *clock;
  bool late;       /* set when one was not begun for that */
  unsigned played; /* batches so far: each draws new seeds */
};
struct lb_hunt_batch {
  const size_t *timeline; /* `count` of them */
  size_t count;
  unsigned guards; /* each timeline under each of these: 1 << enum lb_guard */
  int repeats;     /* how many trials of each have to be decided */
  int again;       /* trials more at most, for undecided ones */
  bool as_given;   /* in this order; else the longest come first, so that the end does not wait for them */
  bool alone;      /* one trial at a time */
  bool fresh;      /* each on servers of its own, whatever the others have */
  struct lb_hunt_journal *journal;       /* into which they are entered; NULL = that of all batches */
  const struct lb_hunt_settings *change; /* what is played otherwise than the program says; NULL = nothing */
};

/* Plays all of them at once: none waits for the end of another one. They are `alone` if the first is. 0; -EINTR (what had
 * ended is in the journal); -errno with one line in err. A timeline that this machine or system cannot play is entered
 * as undecided, with the reason. What the time does not reach is not in the journal. */
int lb_hunt_batches_play(struct lb_hunt_batches *batches, const struct lb_hunt_batch batch[], size_t count,
                         struct lb_error *err);
/* The scenario file of a timeline, written at this path. 0 or -errno. */
int lb_hunt_batch_write_file(const struct lb_hunt_space *space, size_t timeline, enum lb_guard guard,
                             const struct lb_hunt_settings *settings, const char *expected, const char *path);

#endif
