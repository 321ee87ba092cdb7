/* SPDX-License-Identifier: MIT
 *
 * Two run folders, or one with variants, written by hand: which cells meet, which trials count, which word a metric gets, and
 * what of machine and settings is found to differ.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/csv.h"
#include "base/files.h"
#include "show/compare.h"

struct side { /* a run folder while it is written */
  char dir[80];
  char trials[16000], scenarios[2000], cells[2000], more[600];
  struct lb_run run;
  bool loaded;
};

struct world {
  char dir[64];
  struct side a, b;
  struct lb_comparison c;
  bool compared;
};

static int set_up(void **state) {
  struct world *w = calloc(1, sizeof *w);
  if (!w) return -1;
  *state = w;
  snprintf(w->dir, sizeof w->dir, "/tmp/test-compare-XXXXXX");
  if (!mkdtemp(w->dir)) return -1;
  snprintf(w->a.dir, sizeof w->a.dir, "%s/a", w->dir);
  snprintf(w->b.dir, sizeof w->b.dir, "%s/b", w->dir);
  return mkdir(w->a.dir, 0755) || mkdir(w->b.dir, 0755);
}

static int tear_down(void **state) {
  struct world *w = *state;
  if (w->compared) lb_comparison_clear(&w->c);
  if (w->a.loaded) lb_run_clear(&w->a.run);
  if (w->b.loaded) lb_run_clear(&w->b.run);
  lb_remove_tree(w->dir);
  free(w);
  return 0;
}

/* ---- writing runs ------------------------------------------------------------------------------------------------- */

#define HEADER "scenario,system,guard,clients,verdict,grants,handoffs,measured_s,grants_per_s,wait_p50_us,wait_p99_us,handoff_p50_us\n"
#define MACHINE "{\"hostname\":\"h\",\"cpu\":\"c\",\"cores\":2,\"load_before\":%s}"

static void append(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void append(char *text, size_t size, const char *format, ...) {
  size_t used = strlen(text);
  va_list args;
  va_start(args, format);
  int n = vsnprintf(text + used, size - used, format, args);
  va_end(args);
  assert_true(n >= 0 && (size_t)n < size - used);
}

static void load_of(struct side *s, const char *name, const char *more) {
  append(s->scenarios, sizeof s->scenarios, "%s{\"name\":\"%s\",\"title\":\"%p\",\"steps\":[],\"workload\":{\"clients\":[4],\"hold_ms\":0,\"keys\":1},\"campaign\":null%s}",
         *s->scenarios ? "," : "", name, (void *)s, more);
}

static void row(struct side *s, const char *cell, const char *verdict, double rate, double wait) {
  append(s->trials, sizeof s->trials, "%s,%s,4000,2000,2.000,%.3f,%.3f,%.3f,%.3f\n", cell, verdict, rate, wait, 3 * wait, wait);
}

#define CELL "load,x@y,none,4"

/* Five repeats around these values, a percent apart. */
static void five(struct side *s, const char *cell, double rate, double wait) {
  for (int i = -2; i <= 2; i++) row(s, cell, "safe", rate * (1 + 0.01 * i), wait * (1 + 0.01 * i));
}

static void write_file(const struct side *s, const char *name, const char *text) {
  char path[120];
  snprintf(path, sizeof path, "%s/%s", s->dir, name);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

/* `machine` is the value of that member. */
static void finish(struct side *s, const char *machine) {
  static char text[20000];
  char err[1000];
  snprintf(text, sizeof text, "{\"id\":\"%p\",\"tool\":{\"commit\":\"%p\"},\"machine\":%s,\"scenarios\":[%s],\"cells\":[%s]%s}", (void *)s, (void *)s,
           machine, s->scenarios, s->cells, s->more);
  write_file(s, "run.json", text);
  snprintf(text, sizeof text, HEADER "%s", s->trials);
  write_file(s, "trials.csv", text);
  int r = lb_run_load(s->dir, &s->run, err, sizeof err);
  if (r < 0) fail_msg("%s", err);
  s->loaded = true;
}

static void compare(struct world *w) {
  char machine[200];
  snprintf(machine, sizeof machine, MACHINE, "0.5");
  finish(&w->a, machine);
  snprintf(machine, sizeof machine, MACHINE, "7.5");
  finish(&w->b, machine);
  assert_int_equal(lb_compare(&w->a.run, &w->b.run, &w->c), 0);
  w->compared = true;
}

static void compare_one(struct world *w) {
  finish(&w->a, "{}");
  assert_int_equal(lb_compare(&w->a.run, &w->a.run, &w->c), 0);
  w->compared = true;
}

/* ---- reading what came of it -------------------------------------------------------------------------------------- */

static const struct lb_compared *metric(const struct world *w, const char *name) {
  for (size_t i = 0; i < w->c.count; i++)
    if (strcmp(w->c.row[i].metric->name, name) == 0) return &w->c.row[i];
  fail_msg("no row for %s", name);
  return NULL;
}

static void is(const struct world *w, const char *name, const char *difference) {
  assert_string_equal(lb_difference_name(metric(w, name)->difference), difference);
}

static void says(const struct lb_remarks *remarks, const char *line) {
  for (size_t i = 0; i < remarks->count; i++)
    if (strcmp(remarks->line[i], line) == 0) return;
  fail_msg("expected \"%s\", the first of %zu is \"%s\"", line, remarks->count, remarks->count ? remarks->line[0] : "");
}

/* ---- words -------------------------------------------------------------------------------------------------------- */

static void more_grants_are_faster_and_longer_waits_slower(void **state) {
  struct world *w = *state;
  load_of(&w->a, "load", ""), load_of(&w->b, "load", "");
  five(&w->a, CELL, 1000, 50);
  five(&w->b, CELL, 1100, 60);
  compare(w);
  is(w, "grants_per_s", "faster");
  is(w, "wait_p50_us", "slower");
  is(w, "handoff_p50_us", "slower");
  assert_true(fabs(metric(w, "grants_per_s")->ratio.value - 1.1) < 1e-6);
  assert_int_equal(metric(w, "grants_per_s")->a_repeats, 5);
  assert_int_equal(w->c.differences[LB_DIFFERENCE_SLOWER], 3);
  assert_int_equal(w->c.differences[LB_DIFFERENCE_FASTER], 1);
  assert_int_equal(w->c.differs.count, 0); /* load, id and commit are of a run */
}

static void fewer_grants_are_slower_and_shorter_waits_faster(void **state) {
  struct world *w = *state;
  load_of(&w->a, "load", ""), load_of(&w->b, "load", "");
  five(&w->a, CELL, 1000, 50);
  five(&w->b, CELL, 900, 40);
  compare(w);
  is(w, "grants_per_s", "slower");
  is(w, "wait_p50_us", "faster");
}

static void what_overlaps_cannot_be_told_apart(void **state) {
  struct world *w = *state;
  load_of(&w->a, "load", ""), load_of(&w->b, "load", "");
  five(&w->a, CELL, 1000, 50);
  five(&w->b, CELL, 1005, 50.2);
  compare(w);
  is(w, "grants_per_s", "same");
  is(w, "wait_p50_us", "same");
  assert_int_equal(w->c.differences[LB_DIFFERENCE_NONE], w->c.count);
}

static void too_few_repeats_are_unknown(void **state) {
  struct world *w = *state;
  load_of(&w->a, "load", ""), load_of(&w->b, "load", "");
  five(&w->a, CELL, 1000, 50);
  for (int i = 0; i < 4; i++) row(&w->b, CELL, "safe", 5000, 5);
  compare(w);
  is(w, "grants_per_s", "unknown");
  assert_true(isnan(metric(w, "grants_per_s")->ratio.low));
}

/* 2 s at 100 grants/s are 200 waits, and half as many hand-offs: two beyond the 99 %, a hundred beyond the median. */
static void a_quantile_of_few_samples_is_no_metric(void **state) {
  struct world *w = *state;
  load_of(&w->a, "load", ""), load_of(&w->b, "load", "");
  five(&w->a, CELL, 100, 50);
  five(&w->b, CELL, 100, 50);
  compare(w);
  for (size_t i = 0; i < w->c.count; i++) assert_string_not_equal(w->c.row[i].metric->name, "wait_p99_us");
  metric(w, "wait_p50_us");
  metric(w, "handoff_p50_us");
}

static void the_samples_of_a_handoff_are_handoffs(void **state) {
  struct world *w = *state;
  load_of(&w->a, "load", ""), load_of(&w->b, "load", "");
  five(&w->a, CELL, 15, 50); /* 30 waits, 15 hand-offs, of which 7 beyond the median */
  five(&w->b, CELL, 15, 50);
  compare(w);
  metric(w, "wait_p50_us");
  for (size_t i = 0; i < w->c.count; i++) assert_string_not_equal(w->c.row[i].metric->name, "handoff_p50_us");
}

/* ---- which trials ------------------------------------------------------------------------------------------------- */

static void an_undecided_trial_does_not_count(void **state) {
  struct world *w = *state;
  load_of(&w->a, "load", ""), load_of(&w->b, "load", "");
  five(&w->a, CELL, 1000, 50);
  five(&w->b, CELL, 1000, 50);
  row(&w->b, CELL, "undecided", 1, 9999);
  compare(w);
  assert_int_equal(metric(w, "grants_per_s")->b_repeats, 5);
}

static void a_lock_that_did_not_exclude_has_no_speed(void **state) {
  struct world *w = *state;
  load_of(&w->a, "load", ""), load_of(&w->b, "load", "");
  five(&w->a, CELL, 1000, 50);
  five(&w->b, CELL, 9000, 5);
  row(&w->b, CELL, "violated", 9000, 5);
  compare(w);
  assert_int_equal(w->c.count, 0);
  says(&w->c.left_out, "load.x@y.none, 4 clients: violated in B");
}

static void cells_meet_by_scenario_system_guard_and_clients(void **state) {
  struct world *w = *state;
  load_of(&w->a, "load", ""), load_of(&w->b, "load", "");
  five(&w->a, "load,x@y,none,4", 1000, 50);
  five(&w->a, "load,x@y,none,1", 2000, 25);
  five(&w->b, "load,x@y,none,1", 2000, 25);
  five(&w->b, "load,x@z,none,1", 3000, 10);
  compare(w);
  for (size_t i = 0; i < w->c.count; i++) assert_string_equal(w->c.row[i].b->clients, "1");
  is(w, "grants_per_s", "same");
  assert_int_equal(w->c.left_out.count, 1);
  says(&w->c.left_out, "load.x@z.none, 1 client: A did not measure it");
}

static void timelines_and_campaigns_measure_nothing(void **state) {
  struct world *w = *state;
  for (struct side *s = &w->a;; s = &w->b) {
    append(s->scenarios, sizeof s->scenarios, "{\"name\":\"steps\",\"steps\":[\"kill primary\"],\"campaign\":null},");
    append(s->scenarios, sizeof s->scenarios, "{\"name\":\"storm\",\"steps\":[],\"campaign\":{}}");
    five(s, "steps,x@y,none,4", 1000, 50);
    five(s, "storm,x@y,none,4", 1000, 50);
    if (s == &w->b) break;
  }
  compare(w);
  assert_int_equal(w->c.count + w->c.left_out.count, 0);
}

/* ---- what differs ------------------------------------------------------------------------------------------------- */

#define SETTING(topology, measured, text) "{\"topology\":\"" topology "\",\"measured\":" measured ",\"differs\":[\"" text "\"]}"

/* Not of a topology that is not compared, nor where nobody measures. */
static void another_machine_or_setting_is_named(void **state) {
  struct world *w = *state;
  load_of(&w->a, "load", ""), load_of(&w->b, "load", ",\"settle\":3");
  char *at = strstr(w->b.scenarios, "\"hold_ms\":0");
  assert_non_null(at);
  at[strlen("\"hold_ms\":")] = '7';
  strcpy(w->a.cells, "{\"scenario\":\"load\",\"system\":\"x@y\",\"guard\":\"none\",\"options\":{\"wake\":false}}");
  strcpy(w->b.cells, "{\"scenario\":\"load\",\"system\":\"x@y\",\"guard\":\"none\",\"options\":{\"wake\":true}}");
  strcpy(w->a.more, ",\"servers\":{\"y\":\"1.0\",\"z\":\"1\"},\"jit\":\"full\",\"settings\":[" SETTING("y", "true", "a") "," SETTING("y", "false", "a") ","
                    SETTING("z", "true", "a") "]");
  strcpy(w->b.more, ",\"servers\":{\"y\":\"1.1\",\"z\":\"2\"},\"jit\":\"fast\",\"settings\":[" SETTING("z", "true", "b") "," SETTING("y", "false", "b") ","
                    SETTING("y", "true", "b") "]");
  five(&w->a, CELL, 1000, 50);
  five(&w->b, CELL, 1000, 50);
  finish(&w->a, "{\"cpu\":\"c\",\"cores\":2}");
  finish(&w->b, "{\"cpu\":\"d\",\"cores\":2}");
  assert_int_equal(lb_compare(&w->a.run, &w->b.run, &w->c), 0);
  w->compared = true;
  says(&w->c.differs, "machine.cpu: \"c\" in A, \"d\" in B");
  says(&w->c.differs, "servers.y: \"1.0\" in A, \"1.1\" in B");
  says(&w->c.differs, "settings.y.differs: [\"a\"] in A, [\"b\"] in B");
  says(&w->c.differs, "jit: \"full\" in A, \"fast\" in B");
  says(&w->c.differs, "load.hold_ms: 0 in A, 7 in B");
  says(&w->c.differs, "load.settle: nothing in A, 3 in B");
  says(&w->c.differs, "x@y.wake: false in A, true in B");
  assert_int_equal(w->c.differs.count, 7);
  metric(w, "grants_per_s"); /* compared all the same: the user decides */
}

static void settings_of_what_is_not_compared_do_not_matter(void **state) {
  struct world *w = *state;
  load_of(&w->a, "load", ""), load_of(&w->b, "load", "");
  load_of(&w->a, "other", ",\"settle\":1"), load_of(&w->b, "other", ",\"settle\":2");
  five(&w->a, CELL, 1000, 50);
  five(&w->b, CELL, 1000, 50);
  compare(w);
  assert_int_equal(w->c.differs.count, 0);
}

/* A topology that two loads want on a disk and in memory has two entries, in any order. */
static void settings_are_compared_with_those_of_the_same_storage(void **state) {
  struct world *w = *state;
#define STORED(storage, differs) "{\"topology\":\"y\",\"measured\":true,\"storage\":\"" storage "\",\"differs\":[\"" differs "\"]}"
  load_of(&w->a, "load", ""), load_of(&w->b, "load", "");
  five(&w->a, CELL, 1000, 50);
  five(&w->b, CELL, 1000, 50);
  strcpy(w->a.more, ",\"settings\":[" STORED("disk", "a") "," STORED("memory", "b") "]");
  strcpy(w->b.more, ",\"settings\":[" STORED("memory", "b") "," STORED("disk", "c") "]");
  compare(w);
  says(&w->c.differs, "settings.y.differs: [\"a\"] in A, [\"c\"] in B");
  assert_int_equal(w->c.differs.count, 1);
}

/* Not in the 17 digits of a double: 0.3 has never been 0.29999999999999999 for whoever typed it. */
static void what_differs_is_said_in_the_digits_that_were_typed(void **state) {
  struct world *w = *state;
  load_of(&w->a, "load", ",\"settle\":0.3,\"list\":[0.1]"), load_of(&w->b, "load", ",\"settle\":1.7,\"list\":[0.7]");
  five(&w->a, CELL, 1000, 50);
  five(&w->b, CELL, 1000, 50);
  compare(w);
  says(&w->c.differs, "load.settle: 0.3 in A, 1.7 in B");
  says(&w->c.differs, "load.list: [0.1] in A, [0.7] in B");
}

/* ---- variants of one run ------------------------------------------------------------------------------------------ */

static void a_variant_is_compared_with_the_first_of_its_scenario(void **state) {
  struct world *w = *state;
  load_of(&w->a, "load~hold_ms=0", ",\"base\":\"load\",\"varied\":{\"hold_ms\":\"0\"}");
  load_of(&w->a, "load~hold_ms=7", ",\"base\":\"load\",\"varied\":{\"hold_ms\":\"7\"}");
  load_of(&w->a, "other", ",\"base\":\"other\",\"varied\":{}");
  char *at = strstr(strstr(w->a.scenarios, "hold_ms=7"), "\"hold_ms\":0");
  assert_non_null(at);
  at[strlen("\"hold_ms\":")] = '7';
  five(&w->a, "load~hold_ms=0,x@y,none,4", 1000, 50);
  five(&w->a, "load~hold_ms=7,x@y,none,4", 100, 500);
  five(&w->a, "other,x@y,none,4", 1000, 50);
  compare_one(w);
  is(w, "grants_per_s", "slower");
  for (size_t i = 0; i < w->c.count; i++) {
    assert_string_equal(w->c.row[i].a->scenario, "load~hold_ms=0");
    assert_string_equal(w->c.row[i].b->scenario, "load~hold_ms=7");
  }
  assert_int_equal(w->c.differs.count, 0); /* varied on purpose */
  assert_int_equal(w->c.left_out.count, 0);
}

static void a_run_without_variants_has_nothing_to_compare(void **state) {
  struct world *w = *state;
  load_of(&w->a, "load", ""), load_of(&w->a, "more", ""); /* as older runs have them: they name no base */
  load_of(&w->a, "other", ",\"base\":\"other\",\"varied\":{}");
  five(&w->a, CELL, 1000, 50);
  five(&w->a, "more,x@y,none,4", 1000, 50);
  five(&w->a, "other,x@y,none,4", 1000, 50);
  compare_one(w);
  assert_int_equal(w->c.count + w->c.left_out.count, 0);
}

/* ---- rounds ------------------------------------------------------------------------------------------------------- */

enum { ROUNDS = 9 };

/* The machine becomes three times as slow while they last, and B is a tenth slower than A. */
static double rate_of_round(int round, bool b) { return (b ? 900 : 1000) * (1 + 0.002 * (round % 3)) / (1 + 2.0 * round / ROUNDS); }

static void in_one_run_the_repeats_of_a_round_are_pairs(void **state) {
  struct world *w = *state;
  load_of(&w->a, "load~hold_ms=0", ",\"base\":\"load\",\"varied\":{\"hold_ms\":\"0\"}");
  load_of(&w->a, "load~hold_ms=7", ",\"base\":\"load\",\"varied\":{\"hold_ms\":\"7\"}");
  for (int i = 0; i < ROUNDS; i++) row(&w->a, "load~hold_ms=0,x@y,none,4", "safe", rate_of_round(i, false), 50);
  for (int i = 0; i < ROUNDS; i++) row(&w->a, "load~hold_ms=7,x@y,none,4", "safe", rate_of_round(i, true), 50);
  compare_one(w);
  is(w, "grants_per_s", "slower");
  assert_true(metric(w, "grants_per_s")->paired);
}

static void two_runs_one_after_the_other_have_no_pairs(void **state) {
  struct world *w = *state;
  load_of(&w->a, "load", ""), load_of(&w->b, "load", "");
  for (int i = 0; i < ROUNDS; i++) row(&w->a, CELL, "safe", rate_of_round(i, false), 50), row(&w->b, CELL, "safe", rate_of_round(i, true), 50);
  compare(w);
  is(w, "grants_per_s", "same");
  assert_false(metric(w, "grants_per_s")->paired);
}

/* A side with so many rounds, a trial of each of two cells in each. */
static void write_rounds(struct side *side, int count, bool b, int undecided) {
  char dir[sizeof side->dir];
  snprintf(dir, sizeof dir, "%s", side->dir);
  for (int i = 0; i < count; i++) {
    *side = (struct side){0};
    snprintf(side->dir, sizeof side->dir, "%.60s/%d", dir, i + 1);
    assert_int_equal(mkdir(side->dir, 0755), 0);
    load_of(side, "load", "");
    row(side, CELL, i < undecided ? "undecided" : "safe", rate_of_round(i, b), 50);
    row(side, "load,z@y,none,4", "safe", rate_of_round(i, false), 50);
    finish(side, "{}");
    lb_run_clear(&side->run);
  }
  char err[1000];
  if (lb_run_load_side(dir, &side->run, err, sizeof err) < 0) fail_msg("%s", err);
}

static void compare_rounds(struct world *w, int a_count, int b_count, int undecided) {
  write_rounds(&w->a, a_count, false, undecided);
  write_rounds(&w->b, b_count, true, 0);
  assert_int_equal(lb_compare(&w->a.run, &w->b.run, &w->c), 0);
  w->compared = true;
}

static void rounds_of_two_builds_are_pairs(void **state) {
  struct world *w = *state;
  compare_rounds(w, ROUNDS, ROUNDS, 0);
  is(w, "grants_per_s", "slower");
  assert_true(metric(w, "grants_per_s")->paired);
  assert_int_equal(metric(w, "grants_per_s")->a_repeats, ROUNDS);
  assert_string_equal(w->c.row[w->c.count - 1].b->system, "z@y");
  assert_int_equal(w->c.row[w->c.count - 1].difference, LB_DIFFERENCE_NONE);
}

static void a_round_that_is_undecided_on_one_side_is_no_pair(void **state) {
  struct world *w = *state;
  compare_rounds(w, ROUNDS, ROUNDS, 2);
  assert_int_equal(metric(w, "grants_per_s")->a_repeats, ROUNDS - 2);
  assert_false(metric(w, "grants_per_s")->paired); /* seven are too few */
}

static void rounds_of_another_number_are_no_pairs(void **state) {
  struct world *w = *state;
  compare_rounds(w, ROUNDS, ROUNDS - 1, 0);
  assert_false(metric(w, "grants_per_s")->paired);
  is(w, "grants_per_s", "same");
}

/* ---- bad folders -------------------------------------------------------------------------------------------------- */

static void refused(struct world *w, const char *json, const char *trials, const char *expected) {
  char err[1000] = "";
  struct lb_run run;
  write_file(&w->a, "run.json", json);
  write_file(&w->a, "trials.csv", trials);
  assert_true(lb_run_load(w->a.dir, &run, err, sizeof err) < 0);
  if (!strstr(err, expected)) fail_msg("\"%s\", expected \"%s\"", err, expected);
}

static void a_folder_that_is_no_run_is_refused_with_the_place(void **state) {
  struct world *w = *state;
  const char *good = "{\"scenarios\":[{\"name\":\"load\"}],\"cells\":[]}";
  refused(w, "{", HEADER, "run.json:1: ");
  refused(w, "{\"cells\":[]}", HEADER, "run.json: 'scenarios' is missing, expected a list");
  refused(w, "{\"scenarios\":[]}", HEADER, "run.json: 'cells' is missing, expected a list");
  refused(w, good, "", "trials.csv:1: empty");
  refused(w, good, HEADER "load,x@y\n", "trials.csv:2: 2 fields, expected 12");
  refused(w, good, HEADER "\"a\nb\",x@y,none,4,safe,1,1,1,5,1,1,1\n\"open", "trials.csv:4: a stray or unclosed quote");
  refused(w, good, "scenario,system\n", "trials.csv:1: no column 'guard'");
  refused(w, good, HEADER CELL ",safe,1,1,1,-5,1,1,1\n", "trials.csv:2: grants_per_s is '-5', expected a number of at least 0");
  refused(w, good, HEADER CELL ",safe,1,1,1,5,x,1,1\n", "trials.csv:2: wait_p50_us is 'x'");
  char err[1000];
  struct lb_run run;
  assert_true(lb_run_load("/nonexistent", &run, err, sizeof err) < 0);
  assert_string_equal(err, "/nonexistent/run.json: No such file or directory");
}

/* Reads them as a run's files are read. */
static void quoted_fields_may_hold_commas_quotes_and_line_ends(void **state) {
  struct world *w = *state;
  struct lb_csv csv;
  char path[120], err[400];
  write_file(&w->a, "x.csv", "a,b\r\n\"1,\"\"2\"\"\n3\",\r\n,\"\"\n4,5");
  snprintf(path, sizeof path, "%s/x.csv", w->a.dir);
  assert_int_equal(lb_csv_open(path, &csv, err, sizeof err), 0);
  assert_int_equal(lb_csv_column(&csv, "b", err, sizeof err), 1);
  assert_int_equal(lb_csv_next(&csv, err, sizeof err), 1);
  assert_string_equal(csv.field[0], "1,\"2\"\n3");
  assert_string_equal(csv.field[1], "");
  assert_int_equal(lb_csv_next(&csv, err, sizeof err), 1);
  assert_int_equal(csv.line, 4);
  assert_string_equal(csv.field[0], "");
  assert_string_equal(csv.field[1], "");
  assert_int_equal(lb_csv_next(&csv, err, sizeof err), 1);
  assert_string_equal(csv.field[0], "4");
  assert_string_equal(csv.field[1], "5");
  assert_int_equal(lb_csv_next(&csv, err, sizeof err), 0);
  lb_csv_close(&csv);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(more_grants_are_faster_and_longer_waits_slower),
      TEST(fewer_grants_are_slower_and_shorter_waits_faster),
      TEST(what_overlaps_cannot_be_told_apart),
      TEST(too_few_repeats_are_unknown),
      TEST(a_quantile_of_few_samples_is_no_metric),
      TEST(the_samples_of_a_handoff_are_handoffs),
      TEST(an_undecided_trial_does_not_count),
      TEST(a_lock_that_did_not_exclude_has_no_speed),
      TEST(cells_meet_by_scenario_system_guard_and_clients),
      TEST(timelines_and_campaigns_measure_nothing),
      TEST(another_machine_or_setting_is_named),
      TEST(settings_of_what_is_not_compared_do_not_matter),
      TEST(settings_are_compared_with_those_of_the_same_storage),
      TEST(what_differs_is_said_in_the_digits_that_were_typed),
      TEST(a_variant_is_compared_with_the_first_of_its_scenario),
      TEST(a_run_without_variants_has_nothing_to_compare),
      TEST(in_one_run_the_repeats_of_a_round_are_pairs),
      TEST(two_runs_one_after_the_other_have_no_pairs),
      TEST(rounds_of_two_builds_are_pairs),
      TEST(a_round_that_is_undecided_on_one_side_is_no_pair),
      TEST(rounds_of_another_number_are_no_pairs),
      TEST(a_folder_that_is_no_run_is_refused_with_the_place),
      TEST(quoted_fields_may_hold_commas_quotes_and_line_ends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
