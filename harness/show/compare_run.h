/* SPDX-License-Identifier: MIT
 *
 * compare_run.h - what `which` takes from a run folder: run.json, and of trials.csv the metrics of every
 * trial that measured speed.
 */
#ifndef LB_COMPARE_RUN_H
#define LB_COMPARE_RUN_H

#include <jansson.h>
#include <limits.h>

#include "base/csv.h"
#include "history/counter.h"

enum { LB_METRICS_MAX = 32 };

/* The counters that say something of speed, in the order of their table; NULL behind the last. */
const struct lb_counter *lb_metric_at(size_t index);

struct lb_run_trial { /* texts point into the CSV */
  const char *scenario, *system, *guard, *clients, *verdict;
  double value[LB_METRICS_MAX]; /* NAN: not measured, or of too few samples for this quantile */
};

struct lb_run {
  char path[PATH_MAX]; /* of trials.csv */
  json_t *json;        /* run.json */
  struct lb_csv csv;
  struct lb_run_trial *trial; /* in the order of the file: those of a cell and number of clients are neighbours */
  size_t count;
};

/* A run folder. Trials of timelines and campaigns are left out: they measure no speed. 0 (release with lb_run_clear()),
 * -EINVAL or other -errno, with one line in err. */
int lb_run_load(const char *dir, struct lb_run *ret, char *err, size_t err_size);
void lb_run_clear(struct lb_run *run);

#endif
