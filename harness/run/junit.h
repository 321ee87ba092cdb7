/* SPDX-License-Identifier: MIT
 *
 * junit.h - a JUnit file, which CI servers read.
 */
#ifndef LB_JUNIT_H
#define LB_JUNIT_H

#include "tally.h"

/* A testcase per cell. What fails: a cell against its expectation; of a plan that is judged (judging.h) a cell in which
 * the lock was violated or stuck, and a statement that does not hold; its guards are left out. What was not decided is an
 * error. What was not played is skipped, with the reason. With a baseline red is what its exit code speaks of: what was
 * as bad there passes and is noted, what was undecided there, too, is skipped, and a question that had an answer there
 * and is skipped, or not asked any more, is an error. `dir` is the results folder, which the text of a failure names. 0 or -errno. */
int lb_junit_write(const struct lb_tally *tally, const char *dir, const char *path);
#define LB_JUNIT_OF_JUDGE "lockbench judge"  /* the name of the suite in it; of other commands "lockbench" */
#define LB_JUNIT_KNOWN "<system-out>known: " /* then the verdict: as bad as in the baseline, or a race */

#endif
