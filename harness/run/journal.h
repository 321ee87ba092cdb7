/* SPDX-License-Identifier: MIT
 *
 * journal.h - what a run keeps of itself while it goes on, so that it can be resumed: how it was called
 * (resume.json) and the outcome of every trial that has ended (resume.bin), both in its folder.
 *
 * An outcome is appended before it is shown. A record that was cut off is none. Nothing is synced: the journal outlives
 * the tool, not a loss of power.
 */
#ifndef LB_JOURNAL_H
#define LB_JOURNAL_H

#include <jansson.h>

#include "base/error.h"
#include "about.h"
#include "rundir.h"
#include "tally.h"

struct lb_journal {
  int fd;            /* of resume.bin; -1 = closed */
  double before_s;   /* how long earlier sittings took, up to their last outcome */
  uint64_t begin_ns; /* of this sitting, CLOCK_MONOTONIC */
};

/* Starts the journal of a new run in `folder`, and reserves disk space for all of it and for the files
 * of results. Takes seed and jobs from the plan; argv, started_utc and versions from `info`. 0 (release
 * with lb_journal_close()) or -errno with one line in err. */
int lb_journal_begin(struct lb_journal *journal, const char *folder, const struct lb_plan *plan,
                     const struct lb_run_info *info, struct lb_error *err);
/* Reads the journal of a run of this plan back into a tally of which nothing is done, and goes on with
 * it. Sets started_utc, sittings and machines in `info`. 0 (release likewise); -EINVAL with one line in err if it
 * is of another build, plan or server version, or broken, or would measure a scenario on a second machine; other -errno with err. */
int lb_journal_resume(struct lb_journal *journal, const char *folder, struct lb_tally *tally, struct lb_run_info *info,
                      struct lb_error *err);
/* Merges a shard: adds the outcomes in its folder `from` to the tally, and its files to `folder`. The journal has them
 * after lb_journal_add_all(). 0; -EINVAL with one line in err if it is of another build, plan or server version, or has
 * a trial that is there already; other -errno with err. */
int lb_journal_take(struct lb_journal *journal, const char *folder, const char *from, struct lb_tally *tally,
                    struct lb_run_info *info, struct lb_error *err);
/* Writes down all that is done, and the machines. 0 or -errno with err. */
int lb_journal_add_all(const struct lb_journal *journal, const char *folder, const struct lb_tally *tally,
                       const struct lb_run_info *info, struct lb_error *err);
/* Appends the outcome of a job of the tally's plan. 0 or -errno: that trial is then played again. */
int lb_journal_add(const struct lb_journal *journal, const struct lb_tally *tally, const struct lb_job_result *result);
/* How long all sittings took until now. */
double lb_journal_seconds(const struct lb_journal *journal);
/* Does not remove its files; lb_rundir_commit() does. */
void lb_journal_close(struct lb_journal *journal);

/* How a stopped run was called: resume.json with "argv", "cwd", "seed". A new reference, or NULL with
 * one line in err. */
json_t *lb_journal_read(const char *folder, struct lb_error *err);

/* ---- What is kept of a run that stopped before its end: results of the trials that are done, and what
 * is needed to resume it. ---- */

/* Removes what trials that are not done have left, writes the results of the others, and gives the folder
 * its name. 0; -ENOENT = nothing is done, so nothing is kept; other -errno with one line in err: the tables
 * could not be written, and the journal alone is kept. All trials have to be dead. */
int lb_journal_keep_part(const struct lb_tally *tally, struct lb_run_info *info, struct lb_rundir *dir,
                         struct lb_error *err);

struct lb_part_of { /* what the guardian needs for that; has to live as long as the run */
  const struct lb_plan *plan;
  struct lb_run_info *info;
  struct lb_rundir *dir;
};
/* The rescue of lb_rundir_set_rescue(), of a struct lb_part_of: keeps what the journal has. */
void lb_journal_rescue_part(void *of);

#endif
