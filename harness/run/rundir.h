/* SPDX-License-Identifier: MIT
 *
 * rundir.h - the folder of a run: written under a temporary name, renamed when it is whole.
 *
 * If the tool dies before that, be it by SIGKILL, a guardian process clears up: it removes the folder, or, where
 * outcomes of trials are kept (resume.bin, see journal.h), gives it its name. If the guardian is killed as well, the
 * next run that comes to the same place does that.
 */
#ifndef LB_RUNDIR_H
#define LB_RUNDIR_H

#include <stdbool.h>
#include <stddef.h>
#include "base/error.h"

struct lb_rundir {
  char id[128];       /* name of the final folder */
  char partial[3000]; /* absolute path while it is written */
  char final[3000];   /* absolute path afterwards */
  int guard_pipe;     /* write end: closes when the tool dies */
  int alive;          /* read end that the trials watch (see lb_sandbox_fork) */
  int trials_pipe;    /* write end that every trial inherits: the guardian waits until all of them are gone */
  int trials_gone;    /* its read end */
  int lock;           /* of the partial folder: held as long as the tool or a trial lives */
  int guardian;       /* pid */
};

/* Makes the folder with histories/, logs/, parts/ and scratch/cache/ and starts its guardian.
 * `results` is the folder of all runs (made if missing), `label` ends the name; `exact` != NULL is
 * the final path asked for by the user instead. 0; -EEXIST, -EACCES, -ENOSPC ... with one line in
 * err. */
int lb_rundir_open(struct lb_rundir *dir, const char *results, const char *label, const char *exact,
                   struct lb_error *err);
/* Opens the folder of a stopped run again, which gets its temporary name back. 0; -ENOENT or -EBUSY (another process
 * writes it) with one line in err, and nothing is changed; other -errno with err. */
int lb_rundir_reopen(struct lb_rundir *dir, const char *path, struct lb_error *err);
/* Removes tables, page and figures of an earlier sitting: they are not those of the whole run. */
void lb_rundir_forget_results(const struct lb_rundir *dir);
/* What a trial has in the folder of its run: FOLDER/TRIAL ENDING. A file that trials write has its row there. */
struct lb_rundir_file {
  const char *folder, *ending;
  enum { LB_RUNDIR_KEPT, LB_RUNDIR_LOGS, LB_RUNDIR_SCRATCH } kind; /* scratch: only until the trial is over */
};
extern const struct lb_rundir_file lb_rundir_files[]; /* behind the last, folder is NULL */
/* Removes the files of a trial from the folder of a run, and its servers' logs if `logs_too`. No process may write them
 * any more. */
void lb_rundir_forget(const char *folder, const char *trial, bool logs_too);
/* From now on the guardian calls `rescue` when the tool has died, before it clears up. It does so in its own process,
 * with the memory of this moment. 0 or -errno. */
int lb_rundir_set_rescue(struct lb_rundir *dir, void (*rescue)(void *data), void *data);
/* Removes scratch/ and empty folders, renames to the final name. `whole`: also parts/ and what a resumed run would
 * need. 0 or -errno with err; the guardian then clears up. */
int lb_rundir_commit(struct lb_rundir *dir, bool whole, struct lb_error *err);
/* Clears up, as the guardian does (unless committed), and ends the guardian. */
void lb_rundir_close(struct lb_rundir *dir);

#endif
