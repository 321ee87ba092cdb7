/* SPDX-License-Identifier: MIT
 *
 * results.h - a finished plan as files (results/SCHEMA.md) and as the array of cells of `--json`.
 */
#ifndef LB_RESULTS_H
#define LB_RESULTS_H

#include <jansson.h>

#include "base/machine.h"
#include "plan.h"

struct lb_run_info {
  const char *id;
  const char *const *argv;
  int argc;
  char started_utc[32];
  double seconds;
  int jobs;
  struct lb_machine before;
  double load_after;
  const char *verdict; /* first line of the summary */
  int exit_code;
};

/* The array of cells. A new reference, NULL when out of memory. */
json_t *lb_results_cells(const struct lb_plan *plan);
/* Writes run.json, trials.csv, latency.csv and series.csv into `dir` (parts/ there is read). 0 or -errno with one line in err. */
int lb_results_write(const struct lb_plan *plan, const struct lb_run_info *info, const char *dir, char *err,
                     size_t err_size);

#endif
