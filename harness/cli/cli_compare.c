/* SPDX-License-Identifier: MIT
 *
 * `lockbench compare A B`: what the second run did faster or slower than the first. `lockbench
 * compare RUN`: the same of the variants of a scenario that one run interleaved. `run --against` ends
 * here, too.
 *
 * Runs of other machines or settings are refused with what differs, because a ratio of two causes
 * would be quoted as if it were one. Who knows better says --anyway, and then the differences stand
 * above the table.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/called.h"
#include "cli.h"
#include "show/compare.h"

/* ---- for people ------------------------------------------------------------------------------ */

static void print_count(size_t count, const char *one, const char *many) { printf("%zu %s", count, count == 1 ? one : many); }

/* The other reason for `unknown` is a value of 0, which no number of repeats mends. */
static bool too_few(const struct lb_compared *row) {
  return row->difference == LB_DIFFERENCE_UNKNOWN && !isnan(row->ratio.value);
}

/* The first line is the answer. */
static void print_answer(const struct lb_comparison *c) {
  const size_t *n = c->differences;
  printf("%zu of ", n[LB_DIFFERENCE_SLOWER]);
  print_count(c->count, "metric", "metrics");
  printf(" slower, %zu faster, %zu cannot be told apart", n[LB_DIFFERENCE_FASTER], n[LB_DIFFERENCE_NONE]);
  if (n[LB_DIFFERENCE_UNKNOWN]) printf(", %zu of too few repeats", n[LB_DIFFERENCE_UNKNOWN]);
  puts("");
}

/* The next command, where the runs were too short: a ratio that is shown beside no interval is easily quoted. */
static void print_too_few(const struct lb_comparison *c) {
  for (size_t i = 0; i < c->count; i++) {
    if (!too_few(&c->row[i])) continue;
    printf("too few repeats to tell: it takes %d on either side, so measure again with -n %d\n", LB_RATIO_REPEATS, LB_RATIO_REPEATS);
    return;
  }
}

static void print_run(const char *name, const char *dir, const struct lb_run *run) {
  const json_t *tool = json_object_get(run->json, "tool");
  const char *version = json_string_value(json_object_get(tool, "version")), *commit = json_string_value(json_object_get(tool, "commit"));
  lb_say("%s: %s, lockbench %s (%s)", name, dir, version ? version : "?", commit ? commit : "?");
}

/* As fine as three or four digits need. */
static void print_value(double value, int width) { printf("%*.*f", width, value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3, value); }

static bool same_cell(const struct lb_compared *x, const struct lb_compared *y) { return x->a == y->a && x->b == y->b; }

static void print_cell(const struct lb_compared *row) {
  bool other = strcmp(row->a->scenario, row->b->scenario) != 0;
  puts("");
  lb_say("%s, %s, guard %s, %s client%s%s%s", row->b->scenario, row->b->system, row->b->guard, row->b->clients, strcmp(row->b->clients, "1") == 0 ? "" : "s",
         other ? "; A is " : "", other ? row->a->scenario : "");
}

static void print_row(const struct lb_compared *row) {
  static const char *const words[LB_DIFFERENCE_COUNT] = {"cannot be told apart", "faster", "slower", "unknown"};
  printf("  %-16s", row->metric->name);
  print_value(row->a_median, 10);
  print_value(row->b_median, 10);
  if (isnan(row->ratio.value)) printf("  %6s", "");
  else printf("  %6.3f", row->ratio.value);
  if (isnan(row->ratio.low)) printf("  %-16s", "");
  else printf("  [%.3f, %.3f]", row->ratio.low, row->ratio.high);
  printf("  %s", words[row->difference]);
  if (too_few(row)) printf(": too few repeats (%zu and %zu of %d)", row->a_repeats, row->b_repeats, LB_RATIO_REPEATS);
  else if (row->difference == LB_DIFFERENCE_UNKNOWN) printf(": a value is 0");
  puts("");
}

static void print_remarks(const char *label, const struct lb_remarks *remarks) {
  for (size_t i = 0; i < remarks->count; i++) printf("%s: %s\n", label, remarks->line[i]);
}

static void print_table(const struct lb_comparison *c) {
  for (size_t i = 0; i < c->count; i++) {
    if (i == 0 || !same_cell(&c->row[i - 1], &c->row[i])) print_cell(&c->row[i]);
    if (i == 0) printf("  %-16s%10s%10s  %6s\n", "median of repeats", "A", "B", "B / A");
    print_row(&c->row[i]);
  }
  bool paired = c->count > 0 && c->row[0].paired;
  printf("\n[...]: %d %% bootstrap interval of B / A over %s\n", LB_RATIO_PERCENT,
         paired ? "pairs of repeats that were measured in turn; B / A is the median of theirs."
                : "repeats. It knows nothing of what changed on the machine between two runs.");
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static json_t *number_or_null(double value) { return isnan(value) ? json_null() : json_real(value); }

static json_t *row_json(const struct lb_compared *row) {
  return json_pack("{s:s, s:s, s:s, s:s, s:i, s:s, s:s, s:f, s:f, s:I, s:I, s:b, s:o, s:o, s:o, s:s}", "scenario", row->b->scenario, "beside",
                   row->a->scenario, "system", row->b->system, "guard", row->b->guard, "clients", atoi(row->b->clients), "metric",
                   row->metric->name, "unit", row->metric->unit ? row->metric->unit : "", "a", row->a_median, "b", row->b_median, "a_repeats",
                   (json_int_t)row->a_repeats, "b_repeats", (json_int_t)row->b_repeats, "paired", row->paired, "ratio", number_or_null(row->ratio.value), "low",
                   number_or_null(row->ratio.low), "high", number_or_null(row->ratio.high), "difference",
                   lb_difference_name(row->difference));
}

static json_t *lines_json(const struct lb_remarks *remarks) {
  json_t *lines = json_array();
  for (size_t i = 0; i < remarks->count; i++) json_array_append_new(lines, json_string(remarks->line[i]));
  return lines;
}

static int print_json(const struct lb_comparison *c) {
  json_t *rows = json_array();
  for (size_t i = 0; i < c->count; i++) json_array_append_new(rows, row_json(&c->row[i]));
  json_t *root = json_pack("{s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "slower", (json_int_t)c->differences[LB_DIFFERENCE_SLOWER], "faster",
                           (json_int_t)c->differences[LB_DIFFERENCE_FASTER], "same", (json_int_t)c->differences[LB_DIFFERENCE_NONE], "unknown",
                           (json_int_t)c->differences[LB_DIFFERENCE_UNKNOWN], "differs", lines_json(&c->differs), "left_out",
                           lines_json(&c->left_out), "rows", rows);
  int r = root ? json_dumpf(root, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : -1;
  puts("");
  json_decref(root);
  return r;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* Slower is what somebody has to look at. Where nothing could be said, nothing is as expected. */
static int exit_of(const struct lb_comparison *c) {
  if (c->differences[LB_DIFFERENCE_SLOWER]) return LB_EXIT_UNEXPECTED;
  return c->differences[LB_DIFFERENCE_UNKNOWN] == c->count ? LB_EXIT_UNDECIDED : LB_EXIT_OK;
}

static int print(const struct lb_args *args, const char *const names[2], const struct lb_run *a, const struct lb_run *b,
                 const struct lb_comparison *c) {
  int r = 0;
  if (args->json) {
    r = print_json(c);
  } else {
    print_answer(c);
    print_too_few(c);
    puts("");
    print_run(a == b ? "run" : "A", names[0], a);
    if (a != b) print_run("B", names[1], b);
    print_remarks("differs", &c->differs);
    print_remarks("left out", &c->left_out);
    print_table(c);
  }
  if (r < 0 && !ferror(stdout)) return lb_complain(LB_EXIT_FAILURE, "cannot write the JSON: %s", strerror(ENOMEM));
  return exit_of(c);
}

static int refuse(const struct lb_comparison *c) {
  for (size_t i = 0; i < c->differs.count; i++) lb_complain(0, "differs: %s", c->differs.line[i]);
  return lb_complain(LB_EXIT_USAGE, "not compared: the runs differ in machine or settings; --anyway compares them all the same");
}

/* What there was to compare, and why none of it was. */
static int nothing(const struct lb_comparison *c, bool one_run) {
  for (size_t i = 0; i < c->left_out.count; i++) lb_complain(0, "left out: %s", c->left_out.line[i]);
  if (one_run && c->left_out.count == 0)
    return lb_complain(LB_EXIT_USAGE, "compare: this run has no variants of a scenario: expected two results folders, or a run of "
                                      "`%s run SCENARIO -s KEY=VALUE,VALUE`", lb_called());
  return lb_complain(LB_EXIT_USAGE, "compare: the runs have no measured cell in common");
}

static int compare(const struct lb_args *args, const char *const names[2], const struct lb_run *a, const struct lb_run *b) {
  struct lb_comparison c;
  if (lb_compare(a, b, &c) < 0) return lb_complain(LB_EXIT_FAILURE, "out of memory");
  int code = c.count == 0                             ? nothing(&c, a == b)
             : c.differs.count > 0 && !args->anyway ? refuse(&c)
                                                      : print(args, names, a, b, &c);
  lb_comparison_clear(&c);
  return code;
}

static int load(const char *dir, struct lb_run *ret) {
  char err[1000];
  int r = lb_run_load_side(dir, ret, err, sizeof err);
  return r < 0 ? lb_complain(r == -ENOMEM ? LB_EXIT_FAILURE : LB_EXIT_USAGE, "%s", err) : 0;
}

int lb_compare_folders(const struct lb_args *args, const char *a_dir, const char *b_dir) {
  static struct lb_run a, b;
  const char *names[2] = {a_dir, b_dir};
  int code = load(a_dir, &a);
  if (code) return code;
  if (b_dir) code = load(b_dir, &b);
  if (code == 0) code = compare(args, names, &a, b_dir ? &b : &a);
  lb_run_clear(&a);
  lb_run_clear(&b);
  return code;
}

int lb_cli_compare(const struct lb_args *args) {
  if (args->word_count < 1 || args->word_count > 2)
    return lb_complain(LB_EXIT_USAGE, "compare: expected two results folders, or one");
  return lb_compare_folders(args, args->words[0], args->word_count == 2 ? args->words[1] : NULL);
}
