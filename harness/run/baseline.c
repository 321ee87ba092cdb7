/* SPDX-License-Identifier: MIT
 *
 * A baseline is rows: a question or a statement, and how bad it came out. From JUnit it reads what junit.c writes: tags
 * without text that matters, in the order testcase, then what became of it.
 */
#include "baseline.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "judging.h"
#include "junit.h"
#include "results.h"
#include "base/files.h"
#include "base/need.h"

/* In the order of how bad. */
enum rank { UNKNOWN, GOOD, STUCK, VIOLATED };
static const char *const rank_names[] = {"undecided", "safe", "stuck", "violated"};

struct row {
  char what[100], name[260]; /* scenario and system; the check and its statement */
  enum rank rank;
};
struct lb_baseline {
  const char *path;
  bool of_judge; /* not of another command, which asks other questions */
  struct row *row;
  size_t count;
};

enum { BYTES_MAX = 64 << 20 };

static void add(struct lb_baseline *b, const char *what, const char *name, enum rank rank) {
  struct row *row = &LB_APPEND(b->row, b->count);
  *row = (struct row){.rank = rank};
  snprintf(row->what, sizeof row->what, "%s", what);
  snprintf(row->name, sizeof row->name, "%s", name);
}

/* ---- a results folder ------------------------------------------------------------------------ */

static const char *text_of(const json_t *o, const char *key) {
  const char *text = json_string_value(json_object_get(o, key));
  return text ? text : "";
}

static void read_cells(struct lb_baseline *b, const json_t *run) {
  size_t i;
  json_t *cell;
  json_array_foreach(json_object_get(run, "cells"), i, cell) {
    const char *verdict = text_of(cell, "verdict");
    json_t *usual = json_object_get(json_object_get(run, "usual"), verdict); /* of a run that is published */
    if (usual) json_object_update_missing(cell, usual);
    bool good = strcmp(verdict, "safe") == 0 || json_integer_value(json_object_get(cell, "delayed")) > 0;
    if (strcmp(text_of(cell, "guard"), "none") != 0 || json_integer_value(json_object_get(cell, "trials")) == 0)
      continue;
    add(b, text_of(cell, "scenario"), text_of(cell, "system"),
        json_integer_value(json_object_get(cell, "violated")) > 0 ? VIOLATED
        : json_integer_value(json_object_get(cell, "stuck")) > 0  ? STUCK
        : good                                                    ? GOOD
                                                                  : UNKNOWN);
  }
  json_array_foreach(json_object_get(json_object_get(run, "check"), "failed"), i, cell)
    add(b, text_of(json_object_get(run, "check"), "command"), json_string_value(cell) ? json_string_value(cell) : "",
        VIOLATED);
}

static int read_folder(struct lb_baseline *b, struct lb_error *err) {
  char path[4096];
  json_error_t why;
  snprintf(path, sizeof path, "%s/run.json", b->path);
  if (access(path, R_OK) < 0)
    return lb_refuse(err, "%s: expected a results folder, which has a run.json, or a JUnit file", b->path);
  json_t *run = json_load_file(path, 0, &why);
  if (!run) return lb_refuse(err, "%s:%d: %s", path, why.line, why.text);
  int r = json_is_array(json_object_get(run, "cells"))
              ? 0
              : lb_refuse(err, "%s: 'cells' is missing, expected a list", path);
  const char *command = json_string_value(json_array_get(json_object_get(run, "argv"), 0));
  b->of_judge = command && strcmp(command, "judge") == 0;
  if (r == 0) read_cells(b, run);
  json_decref(run);
  return r;
}

/* ---- JUnit ----------------------------------------------------------------------------------- */

/* The value of an attribute of the tag that begins at `tag`, with its entities; false = it has none. */
static bool attribute(const char *tag, const char *name, char *buf, size_t size) {
  static const char *const entity[][2] = {
      {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&apos;", "'"}};
  size_t length = strlen(name), at = 0;
  const char *end = strchr(tag, '>'), *c = tag;
  while ((c = strstr(c, name)) && (c > end || c[length] != '=' || c[-1] != ' ')) c++;
  if (!c || !end || (c[length + 1] != '"' && c[length + 1] != '\'')) return false;
  char quote = c[length + 1];
  for (c += length + 2; *c && *c != quote && at + 1 < size;) {
    size_t e = 0;
    while (e < 5 && strncmp(c, entity[e][0], strlen(entity[e][0])) != 0) e++;
    buf[at++] = e < 5 ? *entity[e][1] : *c;
    c += e < 5 ? strlen(entity[e][0]) : 1;
  }
  buf[at] = '\0';
  return *c == quote;
}

/* What stands between this testcase and the next one. */
static enum rank rank_of(const char *at, const char *next) {
  char type[40];
  const char *failure = strstr(at, "<failure"), *error = strstr(at, "<error"), *skipped = strstr(at, "<skipped");
  const char *known = strstr(at, LB_JUNIT_KNOWN);
  if (failure && failure < next)
    return attribute(failure, "type", type, sizeof type) && strcmp(type, "stuck") == 0 ? STUCK : VIOLATED;
  if (known && known < next)
    return strncmp(known + strlen(LB_JUNIT_KNOWN), rank_names[STUCK], strlen(rank_names[STUCK])) == 0 ? STUCK
                                                                                                      : VIOLATED;
  return (error && error < next) || (skipped && skipped < next) ? UNKNOWN : GOOD;
}

/* "exec:mine@redis none" is without its guard the name of a system. */
static void cut_guard(char *name) {
  size_t length = strlen(name);
  if (length > 5 && strcmp(name + length - 5, " none") == 0) name[length - 5] = '\0';
}

static int read_junit(struct lb_baseline *b, const char *text, struct lb_error *err) {
  static const char tag[] = "<testcase ", whole[] = "<testsuite ";
  char suite[60], what[100], name[260];
  const char *first = strstr(text, whole);
  if (!first) return lb_refuse(err, "%s: is no JUnit file, expected <testsuite>", b->path);
  if (!attribute(first, "name", suite, sizeof suite) || strcmp(suite, LB_JUNIT_OF_JUDGE) != 0)
    return lb_refuse(err, "%s: is not of `judge`: expected <testsuite name=\"" LB_JUNIT_OF_JUDGE "\">", b->path);
  b->of_judge = true;
  for (const char *at = strstr(first, tag); at;) {
    const char *next = strstr(at + 1, tag), *end = next ? next : at + strlen(at);
    if (!attribute(at, "classname", what, sizeof what) || !attribute(at, "name", name, sizeof name))
      return lb_refuse(err, "%s: testcase %zu: expected classname and name", b->path, b->count + 1);
    cut_guard(name);
    add(b, what, name, rank_of(at, end));
    at = next;
  }
  return strstr(first, "</testsuite>") ? 0 : lb_refuse(err, "%s: is cut off, expected </testsuite>", b->path);
}

static int read_file(struct lb_baseline *b, struct lb_error *err) {
  char *text = NULL;
  size_t size = 0;
  struct stat about;
  int fd = open(b->path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &about) < 0) {
    int error = errno;
    if (fd >= 0) close(fd);
    return lb_refuse(err, "%s: %s", b->path, strerror(error));
  }
  int r = !S_ISREG(about.st_mode)     ? lb_refuse(err, "%s: is no file and no results folder", b->path)
          : about.st_size > BYTES_MAX ? lb_refuse(err, "%s: is larger than 64 MiB, expected a JUnit file", b->path)
                                      : lb_files_read_all(fd, BYTES_MAX, &text, &size);
  close(fd);
  if (r == 0) r = read_junit(b, text, err);
  else if (r != -EINVAL) lb_refuse(err, "%s: %s", b->path, strerror(-r));
  free(text);
  return r;
}

const struct lb_baseline *lb_baseline_load(const char *path, struct lb_error *err) {
  struct stat about;
  struct lb_baseline *b = lb_need(calloc(1, sizeof *b));
  b->path = path;
  int r = stat(path, &about) == 0 && S_ISDIR(about.st_mode) ? read_folder(b, err) : read_file(b, err);
  if (r == 0 && b->count == 0) r = lb_refuse(err, "%s: has no question that was asked", path);
  if (r == 0) return b;
  free(b->row);
  free(b);
  return NULL;
}

const char *lb_baseline_path(const struct lb_baseline *b) { return b->path; }

/* ---- compared -------------------------------------------------------------------------------- */

static const struct row *find(const struct lb_baseline *b, const char *what, const char *name) {
  for (size_t i = 0; i < b->count; i++)
    if (strcmp(b->row[i].what, what) == 0 && strcmp(b->row[i].name, name) == 0) return &b->row[i];
  return NULL;
}

bool lb_baseline_fits(const struct lb_baseline *b, const struct lb_plan *plan, struct lb_error *err) {
  for (size_t i = 0; i < plan->cell_count; i++)
    if (find(b, plan->cells[i].scenario->name, plan->cells[i].system)) return true;
  lb_refuse(err, "%s: is of %s, expected one of %s", b->path, b->row[0].name,
            plan->cell_count ? plan->cells[0].system : "this lock");
  return false;
}

static enum rank rank_now(const struct lb_cell_sum *cell) {
  switch (lb_fate_of(cell)) {
    case LB_FATE_HELD:
    case LB_FATE_LATE: return GOOD;
    case LB_FATE_STUCK: return STUCK;
    case LB_FATE_BROKEN: return VIOLATED;
    case LB_FATE_NONE:
    case LB_FATE_OPEN: break;
  }
  return UNKNOWN;
}

enum lb_versus lb_baseline_versus(const struct lb_baseline *b, const struct lb_cell_sum *cell) {
  const struct lb_cell *c = cell->cell;
  const struct row *there = find(b, c->scenario->name, c->system);
  enum rank was = there ? there->rank : UNKNOWN, is = rank_now(cell);
  if (c->predicted && c->prediction.verdict == LB_ANY) return LB_VERSUS_NONE;
  if (c->guard == LB_GUARD_NONE && cell->verdict == LB_SKIPPED && was != UNKNOWN) return LB_VERSUS_AWAY;
  if (lb_fate_of(cell) == LB_FATE_NONE) return LB_VERSUS_NONE;
  if (is == UNKNOWN && was != UNKNOWN) return LB_VERSUS_OPEN;
  return is > GOOD && is > was ? LB_VERSUS_WORSE : LB_VERSUS_AS_IT;
}

bool lb_baseline_failed(const struct lb_baseline *b, const char *check, const char *statement) {
  const struct row *there = find(b, check, statement);
  return there && there->rank == VIOLATED;
}

static void compare_cell(const struct lb_baseline *b, const struct lb_cell_sum *cell, struct lb_worse *ret) {
  const struct lb_cell *c = cell->cell;
  const struct row *there = find(b, c->scenario->name, c->system);
  enum lb_versus versus = lb_baseline_versus(b, cell);
  if (versus == LB_VERSUS_OPEN && ret->open++ == 0)
    snprintf(ret->first_open, sizeof ret->first_open, "%s", c->scenario->name);
  if (versus == LB_VERSUS_AWAY && ret->away++ == 0)
    snprintf(ret->first_away, sizeof ret->first_away, "%s", c->scenario->name);
  if (versus == LB_VERSUS_WORSE && ret->count++ == 0)
    snprintf(ret->first, sizeof ret->first, "%s is %s, there %s", c->scenario->name, rank_names[rank_now(cell)],
             there ? rank_names[there->rank] : "not asked");
}

static bool plans_system(const struct lb_plan *plan, const char *system) {
  for (size_t i = 0; i < plan->cell_count; i++)
    if (strcmp(plan->cells[i].system, system) == 0) return true;
  return false;
}

static bool plans_question(const struct lb_plan *plan, const struct row *row) {
  for (size_t i = 0; i < plan->cell_count; i++)
    if (strcmp(plan->cells[i].system, row->name) == 0 && strcmp(plan->cells[i].scenario->name, row->what) == 0)
      return true;
  return false;
}

/* Not those of servers that the user left out, of a guard, or about a statement: these have a blank in their name. */
const char *lb_baseline_gone(const struct lb_baseline *b, const struct lb_plan *plan, size_t *at, const char **system) {
  while (b->of_judge && *at < b->count) {
    const struct row *row = &b->row[(*at)++];
    if (row->rank == UNKNOWN || strchr(row->name, ' ') || plans_question(plan, row)) continue;
    if (plan->judging->chosen && !plans_system(plan, row->name)) continue;
    *system = row->name;
    return row->what;
  }
  return NULL;
}

void lb_baseline_compare(const struct lb_baseline *b, const struct lb_tally *tally, const struct lb_judging *judging,
                         struct lb_worse *ret) {
  *ret = (struct lb_worse){0};
  for (size_t i = 0; i < tally->plan->cell_count; i++) compare_cell(b, &tally->cells[i], ret);
  const char *question, *system;
  for (size_t at = 0; (question = lb_baseline_gone(b, tally->plan, &at, &system));)
    if (ret->away++ == 0) snprintf(ret->first_away, sizeof ret->first_away, "%s on %s", question, system);
  for (int i = 0; i < judging->statements && i < LB_STATEMENTS_MAX; i++) {
    const char *text = judging->statement[i].text;
    if (judging->statement[i].holds || lb_baseline_failed(b, judging->check, text) || ret->count++) continue;
    snprintf(ret->first, sizeof ret->first, "%s fails: %s", judging->check, text);
  }
}
