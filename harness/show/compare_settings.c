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
                                 "servers",        "trials",         "machine",   "cells", "control", "verdict",     "exit_code", "scenarios"};
static const names of_one_moment = {"load_before", "load_after"};
static const names of_people = {"name", "title", "question", "refuted", "upstream", "file", "base", "varied", "workload"};
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
  char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
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

/* ---- what a run says of itself as a whole ---------------------------------------------------- */

/* Whether a metric of this system, or of one on this topology, is compared. */
static bool is_compared(const struct lb_comparison *c, const char *name) {
  for (size_t i = 0; i < c->count; i++) {
    const char *system = c->row[i].b->system, *at = strchr(system, '@');
    if (strcmp(system, name) == 0 || (at && strcmp(at + 1, name) == 0)) return true;
  }
  return false;
}

/* Members by which an entry of a list is found again in the other run. */
static const char *const entry_names[] = {"system", "topology"};

static const char *name_of(const json_t *entry) {
  for (size_t i = 0; i < sizeof entry_names / sizeof *entry_names; i++) {
    const char *name = json_string_value(json_object_get(entry, entry_names[i]));
    if (name) return name;
  }
  return NULL;
}

static bool is_measured(const json_t *entry) { return !json_is_false(json_object_get(entry, "measured")); }

/* A topology has an entry of its own for each storage that a load of the run asks for. */
static bool is_entry_of(const json_t *entry, const char *name, const json_t *storage) {
  const char *own = name_of(entry);
  const json_t *own_storage = json_object_get(entry, "storage");
  return own && strcmp(own, name) == 0 && (!storage || !own_storage || json_equal(own_storage, storage));
}

/* Entries of systems and topologies that are compared; what a server is told where nobody measures
 * does not matter. */
static void compare_entries(const char *place, const json_t *a, const json_t *b, const struct lb_comparison *c, struct lb_remarks *ret) {
  size_t i, k;
  const json_t *entry, *other;
  json_array_foreach(a, i, entry) {
    const char *name = name_of(entry);
    if (!name || !is_compared(c, name) || !is_measured(entry)) continue;
    json_array_foreach(b, k, other) {
      char at[200];
      if (!is_entry_of(other, name, json_object_get(entry, "storage")) || !is_measured(other)) continue;
      snprintf(at, sizeof at, "%s.%s", place, name);
      compare_members(at, entry, other, nothing, false, ret);
    }
  }
}

/* Versions of servers stand by topology. Of anything else a member that one run does not have is one
 * that its version did not say. */
void lb_compare_runs(const struct lb_run *a, const struct lb_run *b, struct lb_comparison *c) {
  const char *key, *topology;
  json_t *value, *version;
  compare_members("machine", json_object_get(a->json, "machine"), json_object_get(b->json, "machine"), of_one_moment, false, &c->differs);
  json_object_foreach(json_object_get(a->json, "servers"), topology, version) {
    char place[200];
    snprintf(place, sizeof place, "servers.%s", topology);
    if (is_compared(c, topology)) compare_value(place, version, json_object_get(json_object_get(b->json, "servers"), topology), &c->differs);
  }
  json_object_foreach(a->json, key, value) {
    const json_t *other = json_object_get(b->json, key);
    if (is_one_of(key, of_one_run) || !other) continue;
    if (json_is_array(value)) compare_entries(key, value, other, c, &c->differs);
    else if (json_is_object(value)) compare_members(key, value, other, nothing, true, &c->differs);
    else compare_value(key, value, other, &c->differs);
  }
}

/* ---- what a cell was run with ---------------------------------------------------------------- */

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
