/* SPDX-License-Identifier: MIT
 *
 * exit.h - what the exit code of a command says, and which one a run ends with.
 */
#ifndef LB_EXIT_H
#define LB_EXIT_H

#include <stdbool.h>
#include <stddef.h>

#include "tally.h"

struct lb_tally;

/* Scripts rely on these numbers. Between several that apply, the first of UNEXPECTED, UNDECIDED,
 * MISSING is taken: a surprise has to be looked at even if the run is incomplete. */
enum lb_exit {
  LB_EXIT_OK = 0,      /* something was asked, and all of it is as expected */
  LB_EXIT_FAILURE = 1, /* the harness failed */
  LB_EXIT_USAGE = 2,   /* usage or bad input */
  LB_EXIT_UNEXPECTED =
      3, /* a verdict differs from its expectation (with --strict: its prediction), or a violation where none is stated */
  LB_EXIT_UNDECIDED = 4,
  /* A needed server or permission is missing. For a run: what could be run is as expected, or nothing was asked, as
   * every cell is n/a or skipped. */
  LB_EXIT_MISSING = 5,
  /* Stopped before its end, by a signal or a full disk: what is decided is kept. As a shell says of SIGINT. */
  LB_EXIT_STOPPED = 130,
  /* For every command: the reader of its output went away before the end (`| head`), as a shell says of SIGPIPE. Output
   * that could not be written for another reason is LB_EXIT_FAILURE. Results are kept in both cases. */
  LB_EXIT_PIPE = 141,
};

/* The exit code of a finished run, and into `line` the first line of its summary. For the user's own lock, or a run of
 * a single system, the verdict comes first (lb_exit_lock_verdict()). What was expected comes after it. */
enum lb_exit lb_exit_of_run(const struct lb_tally *tally, char *line, size_t size);

/* The same for a run that may have been stopped: LB_EXIT_STOPPED, unless all of it was done by then. A shard that has
 * played its part has LB_EXIT_OK, whatever came of it: the merge of the shards says that. One that ended `on_time`, as
 * its budget was over, has the code of what is decided. The line begins with how much that is. */
enum lb_exit lb_exit_of_stopped(const struct lb_tally *tally, bool on_time, char *line, size_t size);

/* ---- What a run says of the user's own lock: one that came by --plugin or --exec, or one on
 * servers of the user's own. A user who brings a lock asks about the lock, not about our expectation. ---- */

/* The verdict of all the user's locks together. It is that without a guard, unless a lock was only run under guards.
 * LB_VIOLATED = one trial is enough; LB_SAFE = every cell that means something was run and is safe; LB_VERDICT_NONE =
 * the run has no such lock. */
enum lb_verdict lb_exit_lock_verdict(const struct lb_tally *tally);

#endif
