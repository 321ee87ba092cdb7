/* SPDX-License-Identifier: MIT
 *
 * What `which` takes from a run folder. Columns are found by name: a run of another version may have more
 * of them, or lack a metric, which then has no value.
 *
 * A quantile of few samples is one of luck. It has a value only if ten samples lie above it, as in
 * the figures of speed.
 */
#include "compare_run.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "left_out.h"

enum { TAIL_SAMPLES = 10 };

/* Columns beside the metrics. */
enum { SCENARIO, SYSTEM, GUARD, CLIENTS, VERDICT, GRANTS, HANDOFFS, MEASURED_S, GRANTS_PER_S, COLUMNS };
static const char *const column_name[COLUMNS] = {"scenario", "system",   "guard",      "clients",     "verdict",
                                                 "grants",   "handoffs", "measured_s", "grants_per_s"};

struct columns {
  int index[COLUMNS];
  int metric[LB_METRICS_MAX]; /* -1 = this run has no such column */
};

const struct lb_counter *lb_metric_at(size_t index) {
  for (size_t i = 0; i < lb_counter_row_count; i++)
    if (lb_counter_rows[i].faster != LB_FASTER_NO && index-- == 0) return &lb_counter_rows[i];
  return NULL;
}

static int fail(int error, const char *path, char *err, size_t err_size) {
  snprintf(err, err_size, "%.400s: %s", path, strerror(-error));
  return error;
}

/* ---- run.json -------------------------------------------------------------------------------- */

static int load_json(const char *dir, struct lb_run *run, char *err, size_t err_size) {
  char path[PATH_MAX];
  json_error_t why;
  if (snprintf(path, sizeof path, "%s/run.json", dir) >= (int)sizeof path)
    return fail(-ENAMETOOLONG, dir, err, err_size);
  FILE *file = lb_open_file(path);
  if (!file) return fail(-errno, path, err, err_size);
  run->json = json_loadf(file, JSON_REJECT_DUPLICATES, &why);
  fclose(file);
  if (!run->json) return snprintf(err, err_size, "%.400s:%d: %s", path, why.line, why.text), -EINVAL;
  const char *missing = !json_is_array(json_object_get(run->json, "scenarios")) ? "scenarios"
                        : !json_is_array(json_object_get(run->json, "cells"))   ? "cells"
                                                                                : NULL;
  if (missing) return snprintf(err, err_size, "%.400s: '%s' is missing, expected a list", path, missing), -EINVAL;
  lb_fill_cells(run->json);
  return 0;
}

static bool is(const json_t *object, const char *key, const char *text) {
  const char *value = json_string_value(json_object_get(object, key));
  return value && strcmp(value, text) == 0;
}

static const json_t *run_scenario(const struct lb_run *run, const char *name) {
  size_t i;
  const json_t *scenario;
  json_array_foreach(json_object_get(run->json, "scenarios"), i,
                     scenario) if (is(scenario, "name", name)) return scenario;
  return NULL;
}

static bool measures(const json_t *scenario) {
  return scenario && json_array_size(json_object_get(scenario, "steps")) == 0 &&
         !json_is_object(json_object_get(scenario, "campaign"));
}

/* ---- trials.csv ------------------------------------------------------------------------------ */

static int find_columns(const struct lb_csv *csv, struct columns *ret, char *err, size_t err_size) {
  char unused[200];
  for (int i = 0; i < COLUMNS; i++)
    if ((ret->index[i] = lb_csv_column(csv, column_name[i], err, err_size)) < 0) return ret->index[i];
  for (size_t m = 0; m < LB_METRICS_MAX; m++) {
    const struct lb_counter *metric = lb_metric_at(m);
    int column = metric ? lb_csv_column(csv, metric->name, unused, sizeof unused) : -1;
    ret->metric[m] = column < 0 ? -1 : column;
  }
  return 0;
}

/* An empty field is a number that does not apply. */
static int take_number(const struct lb_csv *csv, int column, double *ret, char *err, size_t err_size) {
  const char *text = csv->field[column];
  char *end;
  *ret = *text ? strtod(text, &end) : NAN;
  if (!*text || (*end == '\0' && isfinite(*ret) && *ret >= 0)) return 0;
  snprintf(err, err_size, "%s:%d: %s is '%.60s', expected a number of at least 0, or nothing", csv->path, csv->line,
           csv->header[column], text);
  return -EINVAL;
}

/* About as many samples as the measured window had: the hand-offs are counted over the whole trial. */
static double samples(const struct lb_counter *metric, const double column[COLUMNS]) {
  double grants = column[GRANTS_PER_S] * column[MEASURED_S];
  return metric->of_handoffs && column[GRANTS] > 0 ? grants * column[HANDOFFS] / column[GRANTS] : grants;
}

static int take_trial(const struct lb_csv *csv, const struct columns *columns, struct lb_run_trial *ret, char *err,
                      size_t err_size) {
  const char **text[] = {&ret->scenario, &ret->system, &ret->guard, &ret->clients, &ret->verdict};
  double column[COLUMNS] = {0};
  int r = 0;
  for (int i = SCENARIO; i <= VERDICT; i++) *text[i] = csv->field[columns->index[i]];
  for (int i = GRANTS; r == 0 && i < COLUMNS; i++) r = take_number(csv, columns->index[i], &column[i], err, err_size);
  for (size_t m = 0; r == 0 && m < LB_METRICS_MAX; m++) {
    const struct lb_counter *metric = lb_metric_at(m);
    ret->value[m] = NAN;
    if (columns->metric[m] < 0) continue;
    r = take_number(csv, columns->metric[m], &ret->value[m], err, err_size);
    if (metric->beyond > 0 && !(metric->beyond * samples(metric, column) >= TAIL_SAMPLES)) ret->value[m] = NAN;
  }
  return r;
}

/* Room for one more, in steps that double. */
static bool grow(struct lb_run *run) {
  if (run->count & (run->count - 1)) return true;
  struct lb_run_trial *more = realloc(run->trial, (run->count ? 2 * run->count : 1) * sizeof *more);
  if (more) run->trial = more;
  return more;
}

static int load_trials(struct lb_run *run, char *err, size_t err_size) {
  struct columns columns;
  int r = lb_csv_open(run->path, &run->csv, err, err_size);
  if (r == 0) r = find_columns(&run->csv, &columns, err, err_size);
  while (r >= 0 && (r = lb_csv_next(&run->csv, err, err_size)) > 0) {
    if (!grow(run)) return fail(-ENOMEM, run->path, err, err_size);
    struct lb_run_trial *trial = &run->trial[run->count];
    r = take_trial(&run->csv, &columns, trial, err, err_size);
    if (measures(run_scenario(run, trial->scenario))) run->count++;
  }
  return r;
}

int lb_run_load(const char *dir, struct lb_run *ret, char *err, size_t err_size) {
  *ret = (struct lb_run){0};
  int r = load_json(dir, ret, err, err_size);
  if (r == 0 && snprintf(ret->path, sizeof ret->path, "%s/trials.csv", dir) >= (int)sizeof ret->path)
    r = fail(-ENAMETOOLONG, dir, err, err_size);
  if (r == 0) r = load_trials(ret, err, err_size);
  if (r < 0) lb_run_clear(ret);
  return r;
}

void lb_run_clear(struct lb_run *run) {
  lb_csv_close(&run->csv);
  free(run->trial);
  json_decref(run->json);
  *run = (struct lb_run){0};
}
