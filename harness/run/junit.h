/* SPDX-License-Identifier: MIT
 *
 * junit.h - a run as a JUnit file, which CI servers read: a testcase per cell.
 */
#ifndef LB_JUNIT_H
#define LB_JUNIT_H

#include <stdbool.h>

#include "tally.h"

/* What fails: a cell against its expectation; with `safety`, as `judge` asks, a cell in which the lock was violated or
 * stuck, and its guards are left out. What was not decided is an error. What was not played is skipped, with the reason. `dir` is the results
 * folder, which the text of a failure names. 0 or -errno. */
int lb_junit_write(const struct lb_tally *tally, bool safety, const char *dir, const char *path);

#endif
