/* SPDX-License-Identifier: MIT
 *
 * Holds run folders against results/SCHEMA.md: its tables say which columns and keys there are, in which order, of
 * which type; and the page against the table of counters (check/counter.h), of which it repeats names, types and
 * units. Beyond the form: cells are the sums of their trials, and every file that a row names is there. Usage:
 * schema-check [--fresh] SCHEMA.md RUN..., or schema-check --check SCHEMA.md FILE... (what `check --json` printed), or
 * --compare (`compare --json`). A fresh run has all that the page names. A published one has few histories. One line per breach on stdout; exit 0, 1 (a breach), 2 (usage, or no such
 * file).
 */
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "base/csv.h"
#include "check/counter.h"
#include "show/explain_cell.h"
#include "show/explain_run.h"

enum { KEYS_MAX = 100, SECTIONS_MAX = 64, BREACHES_SHOWN = 20 };

struct key {
  char name[40], type[16], unit[8];
  char meaning[600];
  bool optional; /* may be null, or empty */
};

struct section {
  char title[60];
  char header[400]; /* of a section without a table: its first words in backquotes */
  struct key key[KEYS_MAX];
  size_t count;
};

static struct section sections[SECTIONS_MAX];
static size_t section_count;
static int breaches;

static void breach(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void breach(const char *format, ...) {
  va_list args;
  va_start(args, format);
  if (breaches++ < BREACHES_SHOWN) vprintf(format, args), putchar('\n');
  va_end(args);
}

/* ---- the page ---------------------------------------------------------------------------------------------------- */

/* "| `name` † | type or null | meaning |", or with a unit before the meaning. */
static void take_row(struct section *section, const char *line) {
  struct key *key = &section->key[section->count];
  const char *type = strstr(line, "` "), *rest;
  char cell[60];
  if (section->count == KEYS_MAX || sscanf(line, "| `%39[a-z0-9_]` ", key->name) != 1 || !type) return;
  if (!(type = strstr(type, "| ")) || sscanf(type, "| %59[a-z ]", cell) != 1) return;
  key->optional = strstr(cell, " or null") || strstr(cell, " or empty");
  sscanf(cell, "%15s", key->type);
  rest = strchr(type + 2, '|');
  if (rest && strcmp(section->title, "trials.csv") == 0) {
    sscanf(rest, "| %7[a-zA-Z0-9/]", key->unit);
    rest = strchr(rest + 1, '|');
  }
  if (rest) sscanf(rest, "| %599[^|\n]", key->meaning);
  section->count++;
}

static bool read_page(const char *path) {
  char line[2000];
  FILE *file = fopen(path, "re");
  struct section *section = NULL;
  if (!file) return false;
  while (fgets(line, sizeof line, file)) {
    if (strncmp(line, "## ", 3) == 0) {
      if (section_count == SECTIONS_MAX) return fclose(file), false; /* else the rest would go unchecked */
      section = &sections[section_count++];
      sscanf(line, "## %59[^\n]", section->title);
    } else if (section && strncmp(line, "| `", 3) == 0) {
      take_row(section, line);
    } else if (section && line[0] == '`' && !section->header[0]) {
      sscanf(line, "`%399[^`]", section->header);
    }
  }
  fclose(file);
  return true;
}

static const struct section *section_of(const char *title) {
  for (size_t i = 0; i < section_count; i++)
    if (strcmp(sections[i].title, title) == 0) return &sections[i];
  breach("the page has no section '%s'", title);
  return NULL;
}

/* ---- the page and the table of counters -------------------------------------------------------------------------- */

static const struct key *key_of(const struct section *section, const char *name) {
  for (size_t i = 0; section && i < section->count; i++)
    if (strcmp(section->key[i].name, name) == 0) return &section->key[i];
  return NULL;
}

/* A row of the page: its meaning is in docs/columns.md, and here at most what the table does not say. */
static const struct key *check_counter(const struct lb_counter *row, const struct section *section,
                                       enum lb_counter_place place, bool optional) {
  const struct key *key = key_of(section, lb_counter_name_in(row, place));
  const char *type = row->decimals ? "number" : "whole", *unit = row->unit && place == LB_IN_TRIALS ? row->unit : "";
  if (!section) return NULL;
  if (!key) return breach("%s: no row for %s", section->title, lb_counter_name_in(row, place)), NULL;
  if (strcmp(key->type, type) != 0 || key->optional != optional)
    breach("%s: %s is %s%s, the table of counters says %s%s", section->title, key->name, key->type,
           key->optional ? ", or nothing" : "", type, optional ? ", or nothing" : "");
  if (strcmp(key->unit, unit) != 0)
    breach("%s: the unit of %s is '%s', expected '%s'", section->title, key->name, key->unit, unit);
  if (strstr(key->meaning, row->help))
    breach("%s: %s repeats what the table of counters says", section->title, key->name);
  return key;
}

static void check_counters(void) {
  const struct section *trials = section_of("trials.csv"), *cells = section_of("run.json: cells"),
                       *check = section_of("check --json");
  const struct key *last = NULL, *key;
  for (size_t i = 0; i < lb_counter_row_count; i++) {
    const struct lb_counter *row = &lb_counter_rows[i];
    if (row->places & LB_IN_CELLS) check_counter(row, cells, LB_IN_CELLS, true);
    if (row->places & LB_IN_CHECK) check_counter(row, check, LB_IN_CHECK, row->only & LB_IF_SEEN);
    if (!(row->places & LB_IN_TRIALS)) continue;
    key = check_counter(row, trials, LB_IN_TRIALS, row->only != 0);
    if (key && last && key != last + 1) breach("trials.csv: %s is not behind %s", key->name, last->name);
    if (key) last = key;
  }
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

static bool is_one_of(const char *text, const char *words) {
  const char *at = text && *text ? strstr(words, text) : NULL;
  return at && (at == words || at[-1] == ' ') && (at[strlen(text)] == ' ' || !at[strlen(text)]);
}

/* A word of a closed list; true for other types. */
static bool fits_word(const char *type, const char *text) {
  if (strcmp(type, "verdict") == 0)
    return is_one_of(text, "safe violated stuck delayed mixed undecided skipped n/a none");
  if (strcmp(type, "expectation") == 0)
    return is_one_of(text, "safe violated stuck delayed mixed skipped n/a any race");
  if (strcmp(type, "guard") == 0) return is_one_of(text, "none deadline signal recheck claim fence");
  return true;
}

static bool fits_json(const struct key *key, const json_t *value) {
  const char *type = key->type;
  if (json_is_null(value)) return key->optional;
  if (strcmp(type, "whole") == 0) return json_is_integer(value) && json_integer_value(value) >= 0;
  if (strcmp(type, "number") == 0) return json_is_number(value) && json_number_value(value) >= 0;
  if (strcmp(type, "truth") == 0) return json_is_boolean(value);
  if (strcmp(type, "list") == 0) return json_is_array(value);
  if (strcmp(type, "object") == 0) return json_is_object(value);
  return json_is_string(value) && fits_word(type, json_string_value(value));
}

static bool fits_field(const struct key *key, const char *text) {
  char *end = NULL;
  if (!*text) return key->optional;
  if (strcmp(key->type, "whole") == 0) return text[strspn(text, "0123456789")] == '\0';
  if (strcmp(key->type, "number") == 0) return strtod(text, &end) >= 0 && *end == '\0' && !strpbrk(text, "naf");
  return fits_word(key->type, text);
}

/* ---- run.json ---------------------------------------------------------------------------------------------------- */

struct run {
  const char *dir;
  char file[PATH_MAX]; /* of the JSON */
  json_t *json;
  bool fresh;
  bool published; /* plots/publish.py has made its folder: it has no schedules and no series.csv */
};

/* Every key of the section, in its order, and no other. */
static void check_object(const struct run *run, const char *title, const char *place, const json_t *object) {
  const struct section *section = section_of(title);
  void *at = json_object_iter((json_t *)object);
  for (size_t i = 0; section && i < section->count; i++) {
    const struct key *key = &section->key[i];
    const char *found = at ? json_object_iter_key(at) : "nothing";
    if (strcmp(found, key->name) != 0 && !run->fresh) continue; /* it is older */
    if (strcmp(found, key->name) != 0) {
      breach("%s: %s: '%s', expected '%s'", run->file, place, found, key->name);
      return;
    }
    if (!fits_json(key, json_object_iter_value(at))) {
      char *text = json_dumps(json_object_iter_value(at), JSON_ENCODE_ANY | JSON_COMPACT);
      breach("%s: %s: %s is %.60s, expected %s%s", run->file, place, key->name, text, key->type,
             key->optional ? " or null" : "");
      free(text);
    }
    at = json_object_iter_next((json_t *)object, at);
  }
  if (at) breach("%s: %s: '%s' is not on the page", run->file, place, json_object_iter_key(at));
}

static void check_list(const struct run *run, const char *key, const char *title) {
  size_t i;
  const json_t *item;
  char place[60];
  json_array_foreach(json_object_get(run->json, key), i, item) {
    snprintf(place, sizeof place, "%s %zu", key, i + 1);
    check_object(run, title, place, item);
  }
}

static const char *text_of(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

static long long count_of(const json_t *object, const char *key) {
  return (long long)json_integer_value(json_object_get(object, key));
}

/* What the tables cannot say of a cell. */
static void check_cell(const struct run *run, const json_t *cell) {
  size_t i;
  const json_t *scenario;
  bool known = false, safe = strcmp(text_of(cell, "verdict"), "safe") == 0;
  bool bounded = json_is_number(json_object_get(cell, "upper95"));
  json_array_foreach(json_object_get(run->json, "scenarios"), i, scenario)
    known = known || strcmp(text_of(scenario, "name"), text_of(cell, "scenario")) == 0;
  if (!known) breach("%s/run.json: scenario '%s' of a cell is not described", run->dir, text_of(cell, "scenario"));
  if (safe != bounded)
    breach("%s/run.json: %s %s: upper95 is for safe cells, and for all of them", run->dir, text_of(cell, "scenario"),
           text_of(cell, "system"));
}

static void check_run(const struct run *run) {
  size_t i;
  const json_t *cell, *control = json_object_get(run->json, "control");
  check_object(run, "run.json", "the run", run->json);
  check_object(run, "run.json: machine", "machine", json_object_get(run->json, "machine"));
  check_list(run, "settings", "run.json: settings");
  check_list(run, "scenarios", "run.json: scenarios");
  check_list(run, "cells", "run.json: cells");
  if (json_is_object(control)) check_object(run, "run.json: control", "control", control);
  json_array_foreach(json_object_get(run->json, "cells"), i, cell) check_cell(run, cell);
}

/* ---- csv --------------------------------------------------------------------------------------------------------- */

static const char *field(const struct lb_csv *csv, const char *column) {
  for (size_t i = 0; i < csv->columns; i++)
    if (strcmp(csv->header[i], column) == 0) return csv->field[i];
  return "";
}

/* Counts that stand in trials.csv and, added up, in a cell. */
static bool is_summed(const struct lb_counter *row) {
  return row->add == LB_ADD_SUM && !row->decimals && !row->only && row->places & LB_IN_TRIALS &&
         row->places & LB_IN_CELLS;
}

struct sum {                                                              /* of the trials of a cell */
  long long trials, violated, stuck, delayed, undecided, count[KEYS_MAX]; /* count: by row of the table of counters */
};

static void check_columns(const struct run *run, const struct lb_csv *csv, const struct section *section) {
  size_t column = 0;
  for (size_t i = 0; i < section->count; i++) {
    const char *found = column < csv->columns ? csv->header[column] : "nothing";
    if (strcmp(found, section->key[i].name) != 0 && !run->fresh) continue;
    if (strcmp(found, section->key[i].name) != 0) {
      breach("%s:1: column %zu is '%s', expected '%s'", csv->path, column + 1, found, section->key[i].name);
      return;
    }
    column++;
  }
  if (column < csv->columns) breach("%s:1: column '%s' is not on the page", csv->path, csv->header[column]);
}

static void check_file(const struct run *run, const struct lb_csv *csv, const char *name) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/%s", run->dir, name);
  if (access(path, R_OK) < 0) breach("%s:%d: %s is not in the folder", csv->path, csv->line, name);
}

static void check_row(const struct run *run, const struct lb_csv *csv, const struct section *section) {
  size_t column = 0;
  char name[300];
  for (size_t i = 0; i < section->count && column < csv->columns; i++) {
    if (strcmp(csv->header[column], section->key[i].name) != 0) continue;
    const char *text = csv->field[column++];
    if (!fits_field(&section->key[i], text))
      breach("%s:%d: %s is '%s', expected %s%s", csv->path, csv->line, section->key[i].name, text, section->key[i].type,
             section->key[i].optional ? " or nothing" : "");
  }
  if (*field(csv, "history") && !run->published) check_file(run, csv, field(csv, "history"));
  snprintf(name, sizeof name, "schedules/%s.%s.%s.c%s.t%s.txt", field(csv, "scenario"), field(csv, "system"),
           field(csv, "guard"), field(csv, "clients"), field(csv, "trial"));
  if (*field(csv, "faults") && !run->published) check_file(run, csv, name);
}

static void add_row(const struct run *run, const struct lb_csv *csv, struct sum *sums) {
  size_t i;
  const json_t *cell;
  const char *verdict = field(csv, "verdict");
  if (is_one_of(verdict, "mixed skipped n/a none"))
    breach("%s:%d: verdict is '%s', which only a cell has", csv->path, csv->line, verdict);
  json_array_foreach(json_object_get(run->json, "cells"), i, cell) {
    if (strcmp(text_of(cell, "scenario"), field(csv, "scenario")) != 0 ||
        strcmp(text_of(cell, "system"), field(csv, "system")) != 0 ||
        strcmp(text_of(cell, "guard"), field(csv, "guard")) != 0)
      continue;
    sums[i].trials++;
    sums[i].violated += strcmp(verdict, "violated") == 0;
    sums[i].stuck += strcmp(verdict, "stuck") == 0;
    sums[i].delayed += strcmp(verdict, "delayed") == 0;
    sums[i].undecided += strcmp(verdict, "undecided") == 0;
    for (size_t k = 0; k < lb_counter_row_count; k++)
      if (is_summed(&lb_counter_rows[k])) sums[i].count[k] += atoll(field(csv, lb_counter_rows[k].name));
    return;
  }
  breach("%s:%d: no such cell in run.json", csv->path, csv->line);
}

static void compare(const struct run *run, const json_t *cell, const char *key, long long sum) {
  if (json_is_null(json_object_get(cell, key)) || count_of(cell, key) == sum) return;
  breach("%s/run.json: %s %s %s: %s is %lld, its trials say %lld", run->dir, text_of(cell, "scenario"),
         text_of(cell, "system"), text_of(cell, "guard"), key, count_of(cell, key), sum);
}

static void check_sums(const struct run *run, const struct sum *sums) {
  size_t i;
  const json_t *cell;
  json_array_foreach(json_object_get(run->json, "cells"), i, cell) {
    compare(run, cell, "trials", sums[i].trials);
    compare(run, cell, "violated", sums[i].violated);
    compare(run, cell, "stuck", sums[i].stuck);
    compare(run, cell, "delayed", sums[i].delayed);
    compare(run, cell, "undecided", sums[i].undecided);
    for (size_t k = 0; k < lb_counter_row_count; k++) {
      const char *name = lb_counter_rows[k].name; /* check_object() misses it, where it has to be */
      if (is_summed(&lb_counter_rows[k]) && json_object_get(cell, name)) compare(run, cell, name, sums[i].count[k]);
    }
  }
}

static void check_trials(const struct run *run) {
  struct lb_error err;
  char path[PATH_MAX];
  struct lb_csv csv;
  const struct section *section = section_of("trials.csv");
  struct sum *sums = calloc(json_array_size(json_object_get(run->json, "cells")) + 1, sizeof *sums);
  snprintf(path, sizeof path, "%s/trials.csv", run->dir);
  int r = lb_csv_open(path, &csv, &err);
  if (r == 0 && section && sums) {
    check_columns(run, &csv, section);
    while ((r = lb_csv_next(&csv, &err)) > 0) {
      check_row(run, &csv, section);
      add_row(run, &csv, sums);
    }
    check_sums(run, sums);
  }
  if (r < 0) breach("%s", err.text);
  lb_csv_close(&csv);
  free(sums);
}

/* A table whose columns the page names in one line. */
static void check_table(const struct run *run, const char *name) {
  struct lb_error err;
  char path[PATH_MAX], header[400] = "";
  struct lb_csv csv;
  const struct section *section = section_of(name);
  snprintf(path, sizeof path, "%s/%s", run->dir, name);
  int r = lb_csv_open(path, &csv, &err);
  for (size_t i = 0; r == 0 && i < csv.columns; i++) {
    size_t n = strlen(header);
    snprintf(header + n, sizeof header - n, "%s%s", i ? "," : "", csv.header[i]);
  }
  if (r == 0 && section && strcmp(header, section->header) != 0)
    breach("%s:1: %s, expected %s", path, header, section->header);
  while (r >= 0 && (r = lb_csv_next(&csv, &err)) > 0) {
  }
  if (r < 0) breach("%s", err.text);
  lb_csv_close(&csv);
}

/* ---- a folder ---------------------------------------------------------------------------------------------------- */

static bool load(struct run *run) {
  json_error_t why;
  run->json = json_load_file(run->file, JSON_REJECT_DUPLICATES, &why);
  if (!run->json) fprintf(stderr, "%s:%d: %s\n", run->file, why.line, why.text);
  return run->json;
}

/* What `check --json` printed. */
static bool check_judgement(const char *file) {
  struct run run = {.fresh = true};
  snprintf(run.file, sizeof run.file, "%s", file);
  if (!load(&run)) return false;
  check_object(&run, "check --json", "the judgement", run.json);
  check_list(&run, "episodes", "check --json: episodes");
  json_decref(run.json);
  return true;
}

/* What `compare --json` printed. */
static bool check_comparison(const char *file) {
  struct run run = {.fresh = true};
  snprintf(run.file, sizeof run.file, "%s", file);
  if (!load(&run)) return false;
  check_object(&run, "compare --json", "the comparison", run.json);
  check_list(&run, "rows", "compare --json: rows");
  json_decref(run.json);
  return true;
}

/* One that was published with its verdicts alone has none. */
static bool has_trials(const char *dir) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/trials.csv", dir);
  return access(path, F_OK) == 0;
}

static bool check_folder(const char *dir, bool fresh) {
  struct run run = {.dir = dir, .fresh = fresh};
  snprintf(run.file, sizeof run.file, "%s/run.json", dir);
  if (!load(&run)) return false;
  run.published = !fresh && json_object_get(run.json, "usual");
  lb_fill_cells(run.json);
  check_run(&run);
  if (!run.published || has_trials(dir)) {
    check_trials(&run);
    check_table(&run, "latency.csv");
  }
  if (!run.published) check_table(&run, "series.csv");
  json_decref(run.json);
  return true;
}

int main(int argc, char **argv) {
  bool fresh = argc > 1 && strcmp(argv[1], "--fresh") == 0, judgement = argc > 1 && strcmp(argv[1], "--check") == 0;
  bool comparison = argc > 1 && strcmp(argv[1], "--compare") == 0;
  int first = fresh || judgement || comparison ? 2 : 1;
  if (argc < first + 2 || !read_page(argv[first])) {
    fprintf(stderr,
            "usage: schema-check [--fresh] SCHEMA.md RUN..., or schema-check --check|--compare SCHEMA.md FILE...\n");
    return 2;
  }
  check_counters();
  for (int i = first + 1; i < argc; i++)
    if (!(judgement ? check_judgement(argv[i]) : comparison ? check_comparison(argv[i]) : check_folder(argv[i], fresh)))
      return 2;
  if (breaches > BREACHES_SHOWN) printf("and %d more\n", breaches - BREACHES_SHOWN);
  return breaches ? 1 : 0;
}
