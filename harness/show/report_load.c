/* SPDX-License-Identifier: MIT
 *
 * Reads run.json and checks, before a word is written, everything the report later relies on: a
 * page made of half a run would look like a result.
 *
 * Only what is used without a second look is checked. A member that the page can do without may be
 * missing: it is shown as unknown. Messages name the file, the entry and what was expected, because
 * run.json may have been edited or cut short.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "report_parts.h"
#include "scenario/scenario.h"

struct place { /* where in the file, for messages */
  const char *path;
  const char *list; /* "cell", "scenario", NULL = the run itself */
  size_t index;     /* from 0 */
  char *err;
  size_t err_size;
};

/* Puts the place before the text. -EINVAL, to be returned as it is. */
static int __attribute__((format(printf, 2, 3))) refuse(const struct place *at, const char *format, ...) {
  char what[300], where[64] = "";
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  if (at->list) snprintf(where, sizeof where, " %s %zu:", at->list, at->index + 1);
  snprintf(at->err, at->err_size, "%s:%s %s", at->path, where, what);
  return -EINVAL;
}

/* The same for a member, with the value that was found. */
static int refuse_member(const struct place *at, const json_t *object, const char *key, const char *expected) {
  json_t *value = json_object_get(object, key);
  char *found = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
  int r = refuse(at, "'%s' is %.60s, expected %s", key, found ? found : "missing", expected);
  free(found);
  return r;
}

static int want_string(const struct place *at, const json_t *object, const char *key) {
  return lb_report_string(object, key) ? 0 : refuse_member(at, object, key, "a text");
}

static int want_count(const struct place *at, const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  return json_is_integer(value) && json_integer_value(value) >= 0
             ? 0
             : refuse_member(at, object, key, "a number of trials");
}

/* Verdicts become names of classes in the page, so no other word may pass. */
static bool known_verdict(const char *name) {
  for (int v = 0; v < LB_VERDICT_NONE; v++)
    if (strcmp(name, lb_verdict_name((enum lb_verdict)v)) == 0) return true;
  return false;
}

/* Counts of which parts of the page make fractions have to be numbers. A safe cell has to say its
 * upper bound. */
static int check_cell(const struct place *at, const json_t *cell) {
  static const char *const strings[] = {"scenario", "system", "guard", "verdict"};
  static const char *const counts[] = {"trials", "violated", "undecided"};
  int r = json_is_object(cell) ? 0 : refuse(at, "expected an object");
  for (size_t i = 0; r == 0 && i < sizeof strings / sizeof *strings; i++) r = want_string(at, cell, strings[i]);
  for (size_t i = 0; r == 0 && i < sizeof counts / sizeof *counts; i++) r = want_count(at, cell, counts[i]);
  if (r < 0) return r;
  const char *verdict = lb_report_string(cell, "verdict");
  if (!known_verdict(verdict)) return refuse_member(at, cell, "verdict", "safe, violated, stuck, delayed, mixed, undecided, skipped or n/a");
  if (strcmp(verdict, "safe") == 0 && !json_is_number(json_object_get(cell, "upper95")))
    return refuse_member(at, cell, "upper95", "a number from 0 to 1");
  return 0;
}

static int check_scenario(const struct place *at, const json_t *scenario) {
  return json_is_object(scenario) ? want_string(at, scenario, "name") : refuse(at, "expected an object");
}

/* `at` is a copy: each item is refused by its own number, a missing list without one. */
static int check_list(struct place at, const json_t *run, const char *key,
                      int (*check)(const struct place *, const json_t *)) {
  const json_t *list = json_object_get(run, key), *item;
  if (!json_is_array(list)) {
    at.list = NULL;
    return refuse_member(&at, run, key, "a list");
  }
  json_array_foreach(list, at.index, item) {
    int r = check(&at, item);
    if (r < 0) return r;
  }
  return 0;
}

/* An unknown version of the schema is refused first: of such a file nothing else is known. */
static int check_run(struct place at, const json_t *run) {
  if (!json_is_object(run)) return refuse(&at, "expected an object");
  if (json_integer_value(json_object_get(run, "schema_version")) != 1)
    return refuse_member(&at, run, "schema_version", "1");
  int r = want_string(&at, run, "id");
  at.list = "scenario";
  if (r == 0) r = check_list(at, run, "scenarios", check_scenario);
  at.list = "cell";
  if (r == 0) r = check_list(at, run, "cells", check_cell);
  return r;
}

int lb_report_load(const char *run_dir, json_t **ret_run, char *err, size_t err_size) {
  char path[PATH_MAX];
  if (snprintf(path, sizeof path, "%s/run.json", run_dir) >= (int)sizeof path) {
    snprintf(err, err_size, "%.100s...: %s", run_dir, strerror(ENAMETOOLONG));
    return -ENAMETOOLONG;
  }
  FILE *file = lb_open_file(path);
  if (!file) {
    int r = -errno;
    snprintf(err, err_size, "%s: %s", path, strerror(-r));
    return r;
  }
  json_error_t why;
  json_t *run = json_loadf(file, JSON_REJECT_DUPLICATES, &why);
  fclose(file);
  if (!run) {
    snprintf(err, err_size, "%s:%d: %s", path, why.line, why.text);
    return -EINVAL;
  }
  int r = check_run((struct place){.path = path, .err = err, .err_size = err_size}, run);
  if (r == 0) *ret_run = run;
  else json_decref(run);
  return r;
}
