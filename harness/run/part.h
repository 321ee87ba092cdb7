/* SPDX-License-Identifier: MIT
 *
 * part.h - what is kept of a run that stopped before its end: results of the trials that are done, and what
 * is needed to resume it.
 */
#ifndef LB_PART_H
#define LB_PART_H

#include "journal.h"
#include "rundir.h"

/* Removes what trials that are not done have left, writes the results of the others, and gives the folder
 * its name. 0; -ENOENT = nothing is done, so nothing is kept; other -errno with one line in err: the tables
 * could not be written, and the journal alone is kept. All trials have to be dead. */
int lb_part_keep(const struct lb_tally *tally, struct lb_run_info *info, struct lb_rundir *dir, char *err, size_t err_size);

struct lb_part_of { /* what the guardian needs for that; has to live as long as the run */
  const struct lb_plan *plan;
  struct lb_run_info *info;
  struct lb_rundir *dir;
};
/* The rescue of lb_rundir_set_rescue(), of a struct lb_part_of: keeps what the journal has. */
void lb_part_rescue(void *of);

#endif
