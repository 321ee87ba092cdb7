/* SPDX-License-Identifier: MIT
 *
 * rundir.h - the folder of a run: written under a temporary name, renamed when it is whole, and
 * removed by a guardian process if the tool dies before that, be it by SIGKILL. Should somebody
 * kill the guardian as well, the next run that comes to the same place removes what nobody owns any
 * more.
 */
#ifndef LB_RUNDIR_H
#define LB_RUNDIR_H

#include <stddef.h>

struct lb_rundir {
  char id[128];       /* name of the final folder */
  char partial[3000]; /* absolute path while it is written */
  char final[3000];   /* absolute path afterwards */
  int guard_pipe;     /* write end: closes when the tool dies */
  int alive;          /* read end that the trials watch (see lb_sandbox_fork) */
  int trials_pipe;    /* write end that every trial inherits: the guardian waits until all of them are gone */
  int lock;           /* of the partial folder: held as long as the tool or a trial lives */
  int guardian;       /* pid */
};

/* Makes the folder with histories/, logs/, parts/ and scratch/cache/ and starts its guardian.
 * `results` is the folder of all runs (made if missing), `label` ends the name; `exact` != NULL is
 * the final path asked for by the user instead. 0; -EEXIST, -EACCES, -ENOSPC ... with one line in
 * err. */
int lb_rundir_open(struct lb_rundir *dir, const char *results, const char *label, const char *exact, char *err,
                   size_t err_size);
/* Removes scratch/ and parts/ and empty folders, renames to the final name. 0 or -errno with err;
 * the guardian then removes the rest. */
int lb_rundir_commit(struct lb_rundir *dir, char *err, size_t err_size);
/* Removes it (unless committed) and ends the guardian. */
void lb_rundir_close(struct lb_rundir *dir);

#endif
