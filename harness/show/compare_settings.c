/* SPDX-License-Identifier: MIT
 *
 * Whether two runs measured under the same conditions, as far as their run.json says. Members are
 * compared whatever they are called, but for those that are of one run only (its id, its time): so
 * what a later version adds to its settings is compared as well.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare_parts.h"

enum { VALUE_SHOWN = 80 };

/* Names of members that are not compared, the last one NULL. */
#define NAMES_MAX 40
typedef const char *names[NAMES_MAX];

/* Of one run, or looked at in its own way. `tool` is what one wants to compare. */
static const names of_one_run = {"schema_version", "id",        "tool",  "argv",    "started_utc", "seconds",  "seed", "jobs",
                                 "trials",         "machine",   "cells", "control", "verdict",     "exit_code", "scenarios"};
static const names of_one_moment = {"load_before", "load_after"};
static const names of_people = {"name", "title", "question", "refuted", "file", "base", "varied", "workload"};
static const names nothing = {NULL};

static bool is_one_of(const char *key, const char *const *list) {
  for (; *list; list++)
    if (strcmp(key, *list) == 0) return true;
  return false;
}

void lb_remark(struct lb_remarks *remarks, const char *format, ...) {
  char *line = NULL;
  va_list args;
  va_start(args, format);
  if (vasprintf(&line, format, args) < 0) abort();
  va_end(args);
  for (size_t i = 0; i < remarks->count; i++) {
    if (strcmp(remarks->line[i], line) != 0) continue;
    free(line);
    return;
  }
  char **more = realloc(remarks->line, (remarks->count + 1) * sizeof *more);
  if (!more) abort();
  remarks->line = more;
  more[remarks->count++] = line;
}

/* "nothing", or the value as JSON, cut where it is long. */
static void show_value(const json_t *value, char *buf, size_t size) {
  char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
  snprintf(buf, size, "%s", text ? text : "nothing");
  for (char *at = buf; *at; at++)
    if ((unsigned char)*at < ' ' || *at == 127) *at = '?';
  free(text);
}

static void compare_value(const char *place, const json_t *a, const json_t *b, struct lb_remarks *ret) {
  char a_text[VALUE_SHOWN], b_text[VALUE_SHOWN];
  if (a && b && (json_equal(a, b) || (json_is_number(a) && json_is_number(b) && !(json_number_value(a) < json_number_value(b)) &&
                                      !(json_number_value(a) > json_number_value(b)))))
    return;
  show_value(a, a_text, sizeof a_text);
  show_value(b, b_text, sizeof b_text);
  lb_remark(ret, "%s: %s in A, %s in B", place, a_text, b_text);
}

/* Members of `a`, then those that only `b` has. `common`: only what both have. */
static void compare_members(const char *place, const json_t *a, const json_t *b, const char *const *but, bool common, struct lb_remarks *ret) {
  const char *key;
  json_t *value;
  char name[300];
  json_object_foreach((json_t *)a, key, value) {
    const json_t *other = json_object_get(b, key);
    if (is_one_of(key, but) || (common && !other)) continue;
    snprintf(name, sizeof name, "%s%s%s", place, *place ? "." : "", key);
    compare_value(name, value, other, ret);
  }
  json_object_foreach((json_t *)b, key, value) {
    if (is_one_of(key, but) || common || json_object_get(a, key)) continue;
    snprintf(name, sizeof name, "%s%s%s", place, *place ? "." : "", key);
    compare_value(name, NULL, value, ret);
  }
}

/* Of what is kept by topology (versions, settings of servers), one run may have more than the other:
 * what it has alone is not compared. */
void lb_compare_runs(const struct lb_run *a, const struct lb_run *b, struct lb_remarks *ret) {
  const char *key;
  json_t *value;
  compare_members("machine", json_object_get(a->json, "machine"), json_object_get(b->json, "machine"), of_one_moment, false, ret);
  json_object_foreach(a->json, key, value) {
    const json_t *other = json_object_get(b->json, key);
    if (is_one_of(key, of_one_run) || !other) continue;
    if (json_is_object(value) && json_is_object(other)) compare_members(key, value, other, nothing, true, ret);
    else compare_value(key, value, other, ret);
  }
}

/* Adds the keys that a scenario varies; of a protocol's option its name alone. */
static void add_varied(const json_t *scenario, names list) {
  const char *key;
  json_t *value;
  size_t count = 0;
  while (list[count]) count++;
  json_object_foreach(json_object_get(scenario, "varied"), key, value) {
    const char *dot = strchr(key, '.');
    if (count + 1 < NAMES_MAX) list[count++] = dot ? dot + 1 : key;
  }
}

/* The number of clients is that of the row. Runs of older versions do not say their options. */
void lb_compare_cells(const struct lb_run *a, const struct lb_run_trial *a_cell, const struct lb_run *b, const struct lb_run_trial *b_cell,
                      struct lb_remarks *ret) {
  const json_t *x = lb_run_scenario(a, a_cell->scenario), *y = lb_run_scenario(b, b_cell->scenario);
  const json_t *x_options = json_object_get(lb_run_cell(a, a_cell), "options"), *y_options = json_object_get(lb_run_cell(b, b_cell), "options");
  names on_purpose = {"clients"};
  if (a == b) add_varied(x, on_purpose), add_varied(y, on_purpose);
  compare_members(b_cell->scenario, x, y, of_people, false, ret);
  compare_members(b_cell->scenario, json_object_get(x, "workload"), json_object_get(y, "workload"), on_purpose, false, ret);
  if (x_options && y_options) compare_members(b_cell->system, x_options, y_options, on_purpose, false, ret);
}
