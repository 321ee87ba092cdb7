/* SPDX-License-Identifier: MIT
 *
 * results.h - a run as files (results/SCHEMA.md) and as the array of cells of `--json`.
 */
#ifndef LB_RESULTS_H
#define LB_RESULTS_H

#include <jansson.h>

#include "base/error.h"
#include "about.h"
#include "tally.h"

/* The array of cells. A new reference, NULL when out of memory. */
json_t *lb_results_cells(const struct lb_tally *tally);
/* A scenario as it is run, with all settings applied. A new reference, NULL when out of memory. */
json_t *lb_results_scenario(const struct lb_scenario *scenario);
/* Writes run.json, trials.csv, latency.csv and series.csv of the trials that are done into `dir` (parts/ there is
 * read). Starts no program. 0 or -errno with one line in err. */
int lb_results_write(const struct lb_tally *tally, const struct lb_run_info *info, const char *dir,
                     struct lb_error *err);
/* A JUnit file, which CI servers read: a testcase per cell (junit.c). What fails: a cell against its expectation; of a
 * plan that is judged (judging.h) a cell in which the lock was violated or stuck, and a statement that does not hold;
 * its guards are left out. What was not decided is an error. What was not played is skipped, with the reason. `dir` is the results folder, which the text of
 * a failure names. 0 or -errno. */
int lb_junit_write(const struct lb_tally *tally, const char *dir, const char *path);
#define LB_JUNIT_OF_JUDGE "lockbench judge" /* the name of the suite in it; of other commands "lockbench" */

#endif
