/* SPDX-License-Identifier: MIT
 *
 * Row by row of B: the cell of A that it belongs to, the medians of both, their ratio.
 *
 * The words follow from the interval alone. An interval knows the spread of the repeats of a run. It
 * does not know what changed on the machine between two runs, so two values of a setting are better
 * interleaved in one run (`-s KEY=X,Y`), and two builds better run in turns (`--against`), than measured
 * one after the other. What was measured in the same round is compared in pairs, from so many pairs on
 * that all of them lie on one side by chance once in 128.
 */
#include "compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare_parts.h"
#include "scenario/scenario.h"

const char *lb_difference_name(enum lb_difference difference) {
  static const char *const names[LB_DIFFERENCE_COUNT] = {"same", "faster", "slower", "unknown"};
  return names[difference];
}

static const char *text(const json_t *object, const char *key) {
  const char *value = json_string_value(json_object_get(object, key));
  return value ? value : "";
}

/* ---- which cell of A ------------------------------------------------------------------------- */

/* In one run: the first scenario of the same base; NULL for that one itself, and for what has no
 * variants. */
static const char *first_variant(const struct lb_run *run, const char *name) {
  const json_t *scenario = lb_run_scenario(run, name), *other;
  size_t i;
  json_array_foreach(json_object_get(run->json, "scenarios"), i, other) {
    if (!*text(scenario, "base") || strcmp(text(scenario, "base"), text(other, "base")) != 0) continue;
    return strcmp(text(other, "name"), name) == 0 ? NULL : text(other, "name");
  }
  return NULL;
}

/* The group of A that this trial of B is compared with; a->count = none. */
static size_t find_group(const struct lb_run *a, const char *scenario, const struct lb_run_trial *b) {
  for (size_t i = 0; i < a->count; i = lb_run_group_end(a, i)) {
    const struct lb_run_trial *x = &a->trial[i];
    if (strcmp(x->scenario, scenario) == 0 && strcmp(x->system, b->system) == 0 && strcmp(x->guard, b->guard) == 0 &&
        strcmp(x->clients, b->clients) == 0)
      return i;
  }
  return a->count;
}

/* ---- one metric ------------------------------------------------------------------------------ */

static bool is_verdict(const struct lb_run_trial *trial, enum lb_verdict verdict) {
  return strcmp(trial->verdict, lb_verdict_name(verdict)) == 0;
}

/* Of the trials of a group that were decided safe; `ret` has room for all of them. */
static size_t take_values(const struct lb_run *run, size_t from, size_t metric, double *ret) {
  size_t end = lb_run_group_end(run, from), count = 0;
  for (size_t i = from; i < end; i++)
    if (is_verdict(&run->trial[i], LB_SAFE) && !isnan(run->trial[i].value[metric])) ret[count++] = run->trial[i].value[metric];
  return count;
}

static enum lb_difference difference_of(const struct lb_counter *metric, const struct lb_ratio *ratio) {
  if (isnan(ratio->low)) return LB_DIFFERENCE_UNKNOWN;
  if (ratio->low <= 1 && ratio->high >= 1) return LB_DIFFERENCE_NONE;
  return (ratio->low > 1) == (metric->faster == LB_FASTER_IF_MORE) ? LB_DIFFERENCE_FASTER : LB_DIFFERENCE_SLOWER;
}

/* Fewer pairs say less than the medians of their sides. */
enum { PAIRS_MIN = 8 };

static bool has_rounds(const struct lb_run *a, const struct lb_run *b) { return a == b || (a->rounds && a->rounds == b->rounds); }

/* Of the rounds in which both sides were decided and measured it. */
static size_t take_pairs(const struct lb_run *a, size_t a_from, const struct lb_run *b, size_t b_from, size_t metric, double *a_ret, double *b_ret) {
  size_t length = lb_run_group_end(a, a_from) - a_from, count = 0;
  if (!has_rounds(a, b) || lb_run_group_end(b, b_from) - b_from != length) return 0;
  for (size_t i = 0; i < length; i++) {
    const struct lb_run_trial *x = &a->trial[a_from + i], *y = &b->trial[b_from + i];
    if (!is_verdict(x, LB_SAFE) || !is_verdict(y, LB_SAFE) || isnan(x->value[metric]) || isnan(y->value[metric])) continue;
    a_ret[count] = x->value[metric], b_ret[count] = y->value[metric];
    count++;
  }
  return count;
}

/* What one of the two did not measure is no row. `room` has place for the values of both, twice. */
static int add_row(struct lb_comparison *ret, const struct lb_run *a, size_t a_from, const struct lb_run *b, size_t b_from, size_t metric,
                   double *room) {
  size_t a_count = take_values(a, a_from, metric, room);
  double *b_values = room + a_count;
  size_t b_count = take_values(b, b_from, metric, b_values);
  if (a_count == 0 || b_count == 0) return 0;
  struct lb_compared row = {.a = &a->trial[a_from],
                            .b = &b->trial[b_from],
                            .metric = lb_metric_at(metric),
                            .a_repeats = a_count,
                            .b_repeats = b_count,
                            .ratio = {NAN, NAN, NAN}};
  double *a_pairs = b_values + b_count, *b_pairs = a_pairs + a_count;
  size_t pairs = take_pairs(a, a_from, b, b_from, metric, a_pairs, b_pairs);
  row.paired = pairs >= PAIRS_MIN;
  int r = row.paired ? lb_ratio_of_pairs(a_pairs, b_pairs, pairs, &row.ratio) : lb_ratio_of_medians(room, a_count, b_values, b_count, &row.ratio);
  if (r < 0 && r != -ERANGE) return r;
  row.a_median = lb_median(room, a_count);
  row.b_median = lb_median(b_values, b_count);
  row.difference = difference_of(row.metric, &row.ratio);
  struct lb_compared *more = realloc(ret->row, (ret->count + 1) * sizeof *more);
  if (!more) return -ENOMEM;
  ret->row = more;
  more[ret->count++] = row;
  ret->differences[row.difference]++;
  return 0;
}

/* ---- one cell -------------------------------------------------------------------------------- */

/* The lock was violated, or stuck, in one of its trials: what it did faster was not the same. */
static const struct lb_run_trial *failed(const struct lb_run *run, size_t from) {
  size_t end = lb_run_group_end(run, from);
  for (size_t i = from; i < end; i++)
    if (!is_verdict(&run->trial[i], LB_SAFE) && !is_verdict(&run->trial[i], LB_UNDECIDED)) return &run->trial[i];
  return NULL;
}

static void leave_out(struct lb_comparison *ret, const struct lb_run_trial *cell, const char *why) {
  lb_remark(&ret->left_out, "%s.%s.%s, %s client%s: %s", cell->scenario, cell->system, cell->guard, cell->clients,
            strcmp(cell->clients, "1") == 0 ? "" : "s", why);
}

static int compare_group(struct lb_comparison *ret, const struct lb_run *a, size_t a_from, const struct lb_run *b, size_t b_from,
                         double *room) {
  const struct lb_run_trial *a_failed = failed(a, a_from), *b_failed = failed(b, b_from);
  int r = 0;
  if (a_failed || b_failed) {
    char why[60];
    snprintf(why, sizeof why, "%s in %s", a_failed ? a_failed->verdict : b_failed->verdict, a_failed ? "A" : "B");
    leave_out(ret, &b->trial[b_from], why);
    return 0;
  }
  size_t before = ret->count;
  for (size_t m = 0; r == 0 && m < LB_METRICS_MAX && lb_metric_at(m); m++) r = add_row(ret, a, a_from, b, b_from, m, room);
  if (r == 0 && ret->count == before) leave_out(ret, &b->trial[b_from], "no trial was decided in both");
  if (ret->count > before) lb_compare_cells(a, &a->trial[a_from], b, &b->trial[b_from], &ret->differs);
  return r;
}

int lb_compare(const struct lb_run *a, const struct lb_run *b, struct lb_comparison *ret) {
  double *room = calloc(2 * (a->count + b->count) + 1, sizeof *room);
  int r = room ? 0 : -ENOMEM;
  *ret = (struct lb_comparison){0};
  for (size_t i = 0; r == 0 && i < b->count; i = lb_run_group_end(b, i)) {
    const char *scenario = a == b ? first_variant(b, b->trial[i].scenario) : b->trial[i].scenario;
    if (!scenario) continue;
    size_t other = find_group(a, scenario, &b->trial[i]);
    if (other < a->count) r = compare_group(ret, a, other, b, i, room);
    else leave_out(ret, &b->trial[i], "A did not measure it");
  }
  free(room);
  if (r == 0 && a != b && ret->count > 0) lb_compare_runs(a, b, ret);
  if (r < 0) lb_comparison_clear(ret);
  return r;
}

static void clear(struct lb_remarks *remarks) {
  for (size_t i = 0; i < remarks->count; i++) free(remarks->line[i]);
  free(remarks->line);
}

void lb_comparison_clear(struct lb_comparison *comparison) {
  clear(&comparison->differs);
  clear(&comparison->left_out);
  free(comparison->row);
  *comparison = (struct lb_comparison){0};
}
