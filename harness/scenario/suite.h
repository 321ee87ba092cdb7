/* SPDX-License-Identifier: MIT
 *
 * suite.h - which scenarios are run together, and what is changed in each of them (scenarios/suites).
 */
#ifndef LB_SUITE_H
#define LB_SUITE_H

#include <stddef.h>

#include "base/error.h"
#include "scenario.h"

struct lb_suite {
  char *name, *path;             /* "quick", and its file */
  char *title, *question;        /* [suite] */
  struct lb_scenario *scenarios; /* in the order of the file, as they were read and as the suite sets them */
  char **varied;                 /* of each what is varied, "key=value,value key=..." ("" = nothing) */
  unsigned *own_guards;          /* of each scenario, a bit each, of `guards`; 0 = all of them */
  size_t count;
  char *systems;    /* "a@x,b@y", NULL = those that the scenarios name */
  unsigned guards;  /* one bit each, 0 = all */
  int guard_trials; /* under a guard at most so many of each cell; 0 = as many as without */
};

/* Reads a file. `folder` has the scenarios that are named, not given as a path. 0; -EINVAL with one line in err for bad content, of the
 * suite or of a scenario; other -errno with err. On error *ret is empty. */
int lb_suite_load(const char *path, const char *folder, struct lb_suite *ret, struct lb_error *err);
/* The same from memory, data[size] is NUL; `path` stands for the file. For tests and fuzzing. */
int lb_suite_parse(const char *path, const char *data, size_t size, const char *folder, struct lb_suite *ret,
                   struct lb_error *err);
void lb_suite_clear(struct lb_suite *suite);

#endif
