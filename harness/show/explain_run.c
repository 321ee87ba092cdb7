/* SPDX-License-Identifier: MIT
 *
 * From a results folder and a few words to one trial, and to the command that makes it once more. run.json names
 * the cells, trials.csv the trials and their histories.
 *
 * trials.csv is read in two passes, and no table is made of it: only one of the trials is told.
 * Which number of clients counts is known only when the trial has been chosen, so counting comes
 * second. Nothing is decided anew here: the verdict is what the file says.
 */
#include "explain_run.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/process.h"
#include "base/csv.h"
#include "base/files.h"
#include "base/json.h"
#include "explain_cell.h"

#define HISTORIES "histories/"

/* What every step needs: where to look, what is filled in, where to complain. */
struct finder {
  const char *dir;
  struct lb_story *told;
  struct lb_error *err;
};

/* ---- the cell -------------------------------------------------------------------------------- */

/* The folder is checked before its content: the usual mistake is a path that is no run. What the
 * rest reads is looked at where it is read, so that a run of an older version can still be told. */
static int load_run(const struct finder *f) {
  char path[PATH_MAX];
  json_error_t why;
  snprintf(path, sizeof path, "%s/run.json", f->dir);
  FILE *file = lb_files_open(path);
  if (!file) {
    int r = -errno;
    return lb_error(f->err, r, "%s: expected a results folder with run.json: %s", f->dir, strerror(-r));
  }
  f->told->run = json_loadf(file, JSON_REJECT_DUPLICATES, &why);
  fclose(file);
  lb_explain_fill_cells(f->told->run);
  if (f->told->run && json_is_array(json_object_get(f->told->run, "cells"))) return 0;
  if (f->told->run) lb_refuse(f->err, "%s: expected an object with a list 'cells'", path);
  else lb_refuse(f->err, "%s:%d: %s", path, why.line, why.text);
  return -EINVAL;
}

/* The scenario's own entry gives title and workload. It may be missing: then the story has no
 * title. */
static void find_scenario(struct lb_story *told) {
  const json_t *scenario;
  size_t i;
  told->scenario = NULL;
  json_array_foreach(json_object_get(told->run, "scenarios"), i, scenario) {
    if (strcmp(lb_text_of(scenario, "name"), lb_text_of(told->cell, "scenario")) == 0) told->scenario = scenario;
  }
}

static int choose_cell(const struct finder *f, const char *const *words, int count) {
  const json_t *cells = json_object_get(f->told->run, "cells");
  f->told->cell = lb_explain_cell_named(cells, words, count, f->err);
  if (!f->told->cell) return -EINVAL;
  find_scenario(f->told);
  return 0;
}

/* ---- the trial ------------------------------------------------------------------------------- */

/* clang-format off */
enum { SCENARIO, SYSTEM, GUARD, CLIENTS, TRIAL, SEED, VERDICT, WHY, HISTORY, COLUMNS };
static const char *const column_name[COLUMNS] = {
  "scenario", "system", "guard", "clients", "trial", "seed", "verdict", "why", "history",
};
/* clang-format on */

/* One record as a trial; texts are copied, because those of the reader end with it. The history's
 * name comes from a file that somebody may have been sent, so it must not lead out of the folder. */
static int take(const struct finder *f, const struct lb_csv *csv, const int column[COLUMNS],
                struct lb_told_trial *ret) {
  const char *history = csv->field[column[HISTORY]];
  *ret = (struct lb_told_trial){0};
  snprintf(ret->clients, sizeof ret->clients, "%s", csv->field[column[CLIENTS]]);
  snprintf(ret->trial, sizeof ret->trial, "%s", csv->field[column[TRIAL]]);
  snprintf(ret->seed, sizeof ret->seed, "%s", csv->field[column[SEED]]);
  snprintf(ret->verdict, sizeof ret->verdict, "%s", csv->field[column[VERDICT]]);
  snprintf(ret->why, sizeof ret->why, "%s", csv->field[column[WHY]]);
  if (!*history) return 0;
  if (strncmp(history, HISTORIES, strlen(HISTORIES)) != 0 || strchr(history + strlen(HISTORIES), '/'))
    return lb_refuse(f->err, "%s:%d: history is '%.60s', expected histories/NAME, or nothing", csv->path, csv->line,
                     history);
  snprintf(ret->history, sizeof ret->history, "%s/%s", f->dir, history);
  ret->is_there = access(ret->history, F_OK) == 0;
  return 0;
}

static bool is_of_cell(const json_t *cell, const struct lb_csv *csv, const int column[COLUMNS]) {
  return strcmp(csv->field[column[SCENARIO]], lb_text_of(cell, "scenario")) == 0 &&
         strcmp(csv->field[column[SYSTEM]], lb_text_of(cell, "system")) == 0 &&
         strcmp(csv->field[column[GUARD]], lb_text_of(cell, "guard")) == 0;
}

/* The smaller, the more there is to tell. A violated trial without its history still goes before a
 * safe one with it: to show that one instead would be misleading. */
static int rank_of(const struct lb_told_trial *trial) {
  return (strcmp(trial->verdict, "violated") == 0 ? 0 : 2) + (trial->is_there ? 0 : 1);
}

/* The better one of the chosen and this line, so that of equals the first stays. */
static int choose_better(const struct finder *f, const struct lb_csv *csv, const int column[COLUMNS], int number) {
  struct lb_told_trial x;
  int r = take(f, csv, column, &x);
  if (r < 0 || (number > 0 && atoi(x.trial) != number)) return r;
  if (f->told->found && rank_of(&x) >= rank_of(&f->told->trial)) return 0;
  f->told->found = true;
  f->told->trial = x;
  return 0;
}

/* The first pass, over the lines of the cell.
 * `number` > 0 leaves only trials of that number, one for each number of clients. */
static int choose_from(const struct finder *f, struct lb_csv *csv, const int column[COLUMNS], int number) {
  int r;
  while ((r = lb_csv_next(csv, f->err)) > 0) {
    if (!is_of_cell(f->told->cell, csv, column)) continue;
    r = choose_better(f, csv, column, number);
    if (r < 0) return r;
  }
  return r;
}

/* The second pass: how many trials the cell has with the chosen number of clients. If none was
 * chosen: how many it has at all, for the message. */
static int count_from(const struct finder *f, struct lb_csv *csv, const int column[COLUMNS]) {
  int r;
  while ((r = lb_csv_next(csv, f->err)) > 0)
    f->told->trials += is_of_cell(f->told->cell, csv, column) &&
                       (!f->told->found || strcmp(csv->field[column[CLIENTS]], f->told->trial.clients) == 0);
  return r;
}

/* On an error the file is closed. `column` says where each name stands: an added column moves
 * nothing. */
static int open_trials(const struct finder *f, const char *path, struct lb_csv *csv, int column[COLUMNS]) {
  int r = lb_csv_open(path, csv, f->err);
  for (int c = 0; c < COLUMNS && r >= 0; c++) {
    column[c] = r = lb_csv_column(csv, column_name[c], f->err);
    if (r < 0) lb_csv_close(csv);
  }
  return r < 0 ? r : 0;
}

/* Not finding a trial is an error only if the user asked for a number: a skipped cell has none, and its headline says
 * why. */
static int choose_trial(const struct finder *f, int number) {
  char path[PATH_MAX];
  struct lb_csv csv;
  int column[COLUMNS];
  snprintf(path, sizeof path, "%s/trials.csv", f->dir);
  for (int pass = 0; pass < 2; pass++) {
    int r = open_trials(f, path, &csv, column);
    if (r < 0) return r;
    r = pass == 0 ? choose_from(f, &csv, column, number) : count_from(f, &csv, column);
    lb_csv_close(&csv);
    if (r < 0) return r;
  }
  if (f->told->found || number == 0) return 0;
  return lb_refuse(f->err, "--trial %d: this cell has %zu trials%s", number, f->told->trials,
                   f->told->trials ? "" : ", it was skipped");
}

int lb_story_find(const char *dir, const char *const *words, int count, int number, struct lb_story *ret,
                  struct lb_error *err) {
  struct finder f = {.dir = dir, .told = ret, .err = err};
  *ret = (struct lb_story){0};
  int r = load_run(&f);
  if (r == 0) r = choose_cell(&f, words, count);
  if (r == 0) r = choose_trial(&f, number);
  if (r < 0) lb_story_clear(ret);
  return r;
}

/* The cell of this line, NULL = the run does not have it. Lines are in the order of the plan, so it is mostly that of
 * the line before, or the next one. */
static void follow_cell(struct lb_story *told, size_t *at, const struct lb_csv *csv, const int column[COLUMNS]) {
  const json_t *cells = json_object_get(told->run, "cells");
  size_t count = json_array_size(cells);
  told->cell = NULL;
  for (size_t i = 0; i < count && !told->cell; i++) {
    const json_t *cell = json_array_get(cells, (*at + i) % count);
    if (!is_of_cell(cell, csv, column)) continue;
    told->cell = cell;
    *at = (*at + i) % count;
  }
  told->found = false;
  if (told->cell) find_scenario(told);
}

static int tell_each(const struct finder *f, struct lb_csv *csv, const int column[COLUMNS],
                     int (*tell)(const struct lb_story *told, void *arg), void *arg) {
  size_t at = 0;
  int r, said = 0;
  while ((r = lb_csv_next(csv, f->err)) > 0) {
    if (!f->told->cell || !is_of_cell(f->told->cell, csv, column)) {
      if (f->told->found && (said = tell(f->told, arg)) != 0) return said;
      follow_cell(f->told, &at, csv, column);
    }
    if (f->told->cell && (r = choose_better(f, csv, column, 0)) < 0) return r;
  }
  return r < 0 || !f->told->found ? r : tell(f->told, arg);
}

int lb_story_each(const char *dir, int (*tell)(const struct lb_story *told, void *arg), void *arg,
                  struct lb_error *err) {
  struct lb_story told = {0};
  struct finder f = {.dir = dir, .told = &told, .err = err};
  char path[PATH_MAX];
  struct lb_csv csv;
  int column[COLUMNS];
  snprintf(path, sizeof path, "%s/trials.csv", dir);
  int r = load_run(&f);
  if (r == 0) r = open_trials(&f, path, &csv, column);
  if (r == 0) {
    r = tell_each(&f, &csv, column, tell, arg);
    lb_csv_close(&csv);
  }
  lb_story_clear(&told);
  return r;
}

void lb_story_clear(struct lb_story *told) {
  json_decref(told->run);
  *told = (struct lb_story){0};
}

/* ---- the headline ---------------------------------------------------------------------------- */

/* As everywhere: nothing in a file may move a terminal's cursor. */
static void put(const char *string, FILE *out) {
  for (; *string; string++) fputc((unsigned char)*string < ' ' || *string == 127 ? '?' : *string, out);
}

/* The verdict of the trial, or of the cell where there is no trial. Behind it the reason that the
 * file has, or else how usual this verdict is in the cell. */
static void print_verdict(const struct lb_story *told, FILE *out) {
  const json_t *cell = told->cell;
  const char *verdict = told->found ? told->trial.verdict : lb_text_of(cell, "verdict");
  const char *why = told->found ? told->trial.why : lb_text_of(cell, "why");
  long long violated = json_integer_value(json_object_get(cell, "violated")),
            trials = json_integer_value(json_object_get(cell, "trials"));
  put(verdict, out);
  fputs(": ", out);
  if (*why) put(why, out);
  else if (violated == 0) fprintf(out, "no trial of this cell was violated, of %lld", trials);
  else fprintf(out, "%lld of %lld trials of this cell were violated", violated, trials);
  fputc('\n', out);
}

/* Only a definite `false` is a contradiction: null means that nothing was decided. */
static void print_expectation(const json_t *cell, FILE *out) {
  const json_t *as_expected = json_object_get(cell, "as_expected");
  const char *expected = lb_text_of(cell, "expected");
  if (!*expected) {
    fputs("  expected: nothing is stated for this cell\n", out);
    return;
  }
  fputs(json_is_false(as_expected) ? "  NOT AS EXPECTED, which was " : "  expected ", out);
  put(expected, out);
  fputs(": ", out);
  put(lb_text_of(cell, "reason"), out);
  fputc('\n', out);
}

/* "2 clients, trial 1 of 3, seed 77" */
static void print_trial(const struct lb_story *told, FILE *out) {
  const struct lb_told_trial *x = &told->trial;
  if (!told->found) return;
  fputs(", ", out);
  put(x->clients, out);
  fputs(strcmp(x->clients, "1") == 0 ? " client, trial " : " clients, trial ", out);
  put(x->trial, out);
  fprintf(out, " of %zu, seed ", told->trials);
  put(x->seed, out);
}

/* All texts go through put(), those that seem harmless as well. */
void lb_story_print(const struct lb_story *told, FILE *out) {
  const char *title = lb_text_of(told->scenario, "title");
  print_verdict(told, out);
  fputs("  ", out);
  put(lb_text_of(told->cell, "scenario"), out);
  fputs(*title ? ": " : "", out);
  put(title, out);
  fputs("\n  ", out);
  put(lb_text_of(told->cell, "system"), out);
  fputs(", guard ", out);
  put(lb_text_of(told->cell, "guard"), out);
  print_trial(told, out);
  fputc('\n', out);
  print_expectation(told->cell, out);
}

/* ---- the command that makes it once more ---------------------------------------------------------
 *
 * It is put together from what the run says of itself: the cell, the workload of its scenario, and the options that
 * the run was started with. What only a suite of somebody's own has changed is not known here (of the shipped ones,
 * everything is in the workload): for those the command is a beginning. */

struct command {
  char *text;
  size_t size;
};

/* Text that does not fit is cut. */
static void append(struct command *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void append(struct command *c, const char *format, ...) {
  size_t used = strlen(c->text);
  va_list args;
  va_start(args, format);
  vsnprintf(c->text + used, c->size - used, format, args);
  va_end(args);
}

/* One word of a shell, quoted where a shell would take it apart. It comes from a file that somebody
 * may have been sent, so control characters become question marks. */
static void append_word(struct command *c, const char *word) {
  static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
  const char *quote = *word && strspn(word, plain) == strlen(word) ? "" : "'";
  append(c, " %s", quote);
  for (; *word; word++) {
    if (*word == '\'') append(c, "'\\''");
    else append(c, "%c", (unsigned char)*word < ' ' || *word == 127 ? '?' : *word);
  }
  append(c, "%s", quote);
}

/* A scenario that was shipped is known by its name, any other by its file. Older runs have `file` without the folder of
 * its theme. A variant comes back with the others of its base: its trials are drawn by its name, which the list of
 * values makes. */
static void append_scenario(struct command *c, const struct lb_story *told) {
  const char *file = lb_text_of(told->scenario, "file");
  bool shipped = !*file || strncmp(file, "scenarios/", 10) == 0;
  const char *base = lb_text_of(told->scenario, "base");
  append_word(c, !shipped ? file : *base ? base : lb_text_of(told->cell, "scenario"));
}

/* Keys that suites change, as the run had them. A timeline has one number of clients, which its
 * file states. */
static void append_workload(struct command *c, const struct lb_story *told) {
  static const char *const keys[] = {"duration_s", "warmup_s", "settle_s"};
  const json_t *workload = json_object_get(told->scenario, "workload"), *value;
  if (json_array_size(json_object_get(told->scenario, "steps")) == 0) {
    append(c, " -s");
    char clients[40];
    snprintf(clients, sizeof clients, "clients=%s", told->trial.clients);
    append_word(c, clients);
  }
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if ((value = json_object_get(workload, keys[i])) && json_number_value(value) > 0)
      append(c, " -s %s=%.15g", keys[i], json_number_value(value));
}

/* True for what append_workload() and the seed have said already: that is exact where argv may
 * speak of several numbers of clients. */
static bool is_said(const char *setting) {
  static const char *const said[] = {"clients=", "duration_s=", "warmup_s=", "settle_s=", "trials="};
  for (size_t i = 0; i < sizeof said / sizeof *said; i++)
    if (strncmp(setting, said[i], strlen(said[i])) == 0) return true;
  return false;
}

/* Each -s and --plugin, with the value that stands behind it. */
static void append_options(struct command *c, const struct lb_story *told) {
  const json_t *argv = json_object_get(told->run, "argv");
  for (size_t i = 0; i + 1 < json_array_size(argv); i++) {
    const char *option = json_string_value(json_array_get(argv, i)),
               *value = json_string_value(json_array_get(argv, i + 1));
    if (!option || !value) continue;
    bool plugin = strcmp(option, "--plugin") == 0, set = strcmp(option, "-s") == 0 || strcmp(option, "--set") == 0;
    if (!plugin && (!set || is_said(value))) continue;
    append(c, plugin ? " --plugin" : " -s");
    append_word(c, value);
    i++;
  }
}

/* Trials are numbered from 1, so `-n TRIAL` makes all up to the chosen one, which has the same seed
 * again. */
void lb_story_again(const struct lb_story *told, char *ret, size_t size) {
  struct command c = {ret, size};
  const json_t *seed = json_object_get(told->run, "seed");
  *ret = '\0';
  append(&c, "%s run", lb_process_called());
  append_scenario(&c, told);
  append(&c, " -b");
  append_word(&c, lb_text_of(told->cell, "system"));
  append(&c, " -g");
  append_word(&c, lb_text_of(told->cell, "guard"));
  append(&c, " -n");
  append_word(&c, told->trial.trial);
  append_workload(&c, told);
  append_options(&c, told);
  if (json_is_integer(seed)) append(&c, " --seed %lld", (long long)json_integer_value(seed));
}
