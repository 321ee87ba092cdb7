/* SPDX-License-Identifier: MIT
 *
 * What a lock cost in the reference runs that are kept with the sources.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "cli_which.h"
#include "show/compare_run.h"

enum { RUNS = 2, TRIALS_MAX = 100 };
/* The first one that has a lock says what it costs. */
static const char *const folders[RUNS] = {"results/reference-speed", "results/reference"};
static struct lb_run runs[RUNS];
static bool tried[RUNS];

/* NULL = it is not there. */
static const struct lb_run *run_at(size_t i) {
  char path[4096], err[600];
  snprintf(path, sizeof path, "%s/%s", lb_root(), folders[i]);
  if (!tried[i] && lb_run_load(path, &runs[i], err, sizeof err) < 0) runs[i] = (struct lb_run){0};
  tried[i] = true;
  return runs[i].json ? &runs[i] : NULL;
}

void lb_which_cost_end(void) {
  for (size_t i = 0; i < RUNS; i++) {
    if (runs[i].json) lb_run_clear(&runs[i]);
    tried[i] = false;
  }
}

static size_t metric_of(const char *name) {
  size_t i = 0;
  while (lb_metric_at(i) && strcmp(lb_metric_at(i)->name, name) != 0) i++;
  return i;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The median over the trials of this number of clients, null if there is none. */
static json_t *median(const struct lb_run *run, const char *system, const char *clients, const char *name) {
  double values[TRIALS_MAX];
  size_t count = 0, metric = metric_of(name);
  for (size_t i = 0; i < run->count && count < TRIALS_MAX && metric < LB_METRICS_MAX; i++) {
    const struct lb_run_trial *t = &run->trial[i];
    bool fits = strcmp(t->scenario, "contention") == 0 && strcmp(t->system, system) == 0 && strcmp(t->guard, "none") == 0 && strcmp(t->clients, clients) == 0;
    if (fits && isfinite(t->value[metric])) values[count++] = t->value[metric];
  }
  qsort(values, count, sizeof *values, by_value);
  return count ? json_real((values[(count - 1) / 2] + values[count / 2]) / 2) : json_null();
}

json_t *lb_which_cost(const char *system) {
  for (size_t i = 0; i < RUNS; i++) {
    const struct lb_run *run = run_at(i);
    json_t *cost = run ? json_pack("{s:s, s:o, s:o, s:o}", "run", folders[i], "grants_per_s_1", median(run, system, "1", "grants_per_s"), "grants_per_s_16",
                                   median(run, system, "16", "grants_per_s"), "handoff_us_16", median(run, system, "16", "handoff_p50_us"))
                       : NULL;
    if (cost && (json_is_real(json_object_get(cost, "grants_per_s_1")) || json_is_real(json_object_get(cost, "grants_per_s_16")))) return cost;
    json_decref(cost);
  }
  return json_null();
}
