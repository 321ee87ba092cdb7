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
#endif
