/* SPDX-License-Identifier: MIT
 *
 * The truth table of the report: a row per system, a column per (scenario, guard). A verdict is said by word, glyph and
 * fill. What differs from the expectation is marked in its cell and listed below, with the reason the scenario gives;
 * so is what stayed undecided or was skipped.
 */
#include <stdlib.h>
#include <string.h>

#include "html.h"
#include "report_parts.h"

struct column {
  const char *scenario, *guard;
  const json_t *about; /* the scenario's object, NULL if the run does not describe it */
};

struct table { /* borrowed from the run */
  const json_t *cells;
  struct column *columns;
  const char **systems;
  size_t column_count, system_count;
};

/* ---- rows and columns ---------------------------------------------------------------------------------- */

/* Guards in the order of how much they do; unknown ones last. */
static size_t guard_rank(const char *guard) {
  static const char *const order[] = {"none", "deadline", "recheck", "fence"};
  size_t i = 0;
  while (i < sizeof order / sizeof *order && strcmp(guard, order[i]) != 0) i++;
  return i;
}

static void add_system(struct table *table, const char *system) {
  for (size_t i = 0; i < table->system_count; i++)
    if (strcmp(table->systems[i], system) == 0) return;
  table->systems[table->system_count++] = system;
}

/* Adds a column unless it is there; columns of one scenario (from `first` on) stay sorted by guard. */
static void add_column(struct table *table, size_t first, const json_t *about, const char *scenario,
                       const char *guard) {
  size_t i;
  for (i = 0; i < table->column_count; i++)
    if (strcmp(table->columns[i].scenario, scenario) == 0 && strcmp(table->columns[i].guard, guard) == 0) return;
  for (i = table->column_count; i > first && guard_rank(table->columns[i - 1].guard) > guard_rank(guard); i--)
    table->columns[i] = table->columns[i - 1];
  table->columns[i] = (struct column){.scenario = scenario, .guard = guard, .about = about};
  table->column_count++;
}

static void add_columns_of(struct table *table, const json_t *about, const char *scenario) {
  size_t i, first = table->column_count;
  const json_t *cell;
  json_array_foreach(table->cells, i, cell) {
    if (strcmp(lb_report_string(cell, "scenario"), scenario) == 0)
      add_column(table, first, about, scenario, lb_report_string(cell, "guard"));
  }
}

/* Scenarios in the order of the run, then those that only cells name; systems in the order of the cells. */
static bool layout(const json_t *run, struct table *ret) {
  size_t i;
  const json_t *scenario, *cell;
  *ret = (struct table){.cells = json_object_get(run, "cells")};
  size_t most = json_array_size(ret->cells) + 1;
  ret->columns = calloc(most, sizeof *ret->columns);
  ret->systems = calloc(most, sizeof *ret->systems);
  if (!ret->columns || !ret->systems) return false;
  json_array_foreach(json_object_get(run, "scenarios"), i, scenario)
    add_columns_of(ret, scenario, lb_report_string(scenario, "name"));
  json_array_foreach(ret->cells, i, cell) {
    add_columns_of(ret, NULL, lb_report_string(cell, "scenario"));
    add_system(ret, lb_report_string(cell, "system"));
  }
  return true;
}

static bool is(const json_t *object, const char *key, const char *text) {
  return strcmp(lb_report_string(object, key), text) == 0;
}

static const json_t *find_cell(const struct table *table, const char *system, const struct column *column) {
  size_t i;
  const json_t *cell;
  json_array_foreach(table->cells, i, cell)
    if (is(cell, "system", system) && is(cell, "scenario", column->scenario) && is(cell, "guard", column->guard))
      return cell;
  return NULL;
}

/* ---- a cell -------------------------------------------------------------------------------------------- */

static json_int_t count_of(const json_t *cell, const char *key) {
  return json_integer_value(json_object_get(cell, key));
}

static bool differs(const json_t *cell) { return json_is_false(json_object_get(cell, "as_expected")); }

static const char *glyph(const char *verdict) {
  switch (verdict[0]) {
    case 'v': return "✗";
    case 'u': return "?";
    default: return verdict[1] == 'a' ? "✓" : verdict[1] == 't' ? "■" : "–"; /* safe, stuck, skipped */
  }
}

static void write_count(FILE *out, const json_t *cell) {
  json_int_t trials = count_of(cell, "trials"), undecided = count_of(cell, "undecided"), decided = trials - undecided;
  if (is(cell, "verdict", "safe"))
    lb_html_textf(out, "0/%lld (≤ %.1f %%)", (long long)decided,
                  100 * json_number_value(json_object_get(cell, "upper95")));
  else if (is(cell, "verdict", "violated"))
    lb_html_textf(out, "%lld/%lld", (long long)count_of(cell, "violated"), (long long)decided);
  else if (is(cell, "verdict", "undecided")) lb_html_textf(out, "%lld/%lld", (long long)undecided, (long long)trials);
  else if (is(cell, "verdict", "stuck") && json_is_integer(json_object_get(cell, "stuck")))
    lb_html_textf(out, "%lld/%lld", (long long)count_of(cell, "stuck"), (long long)decided);
  if (undecided > 0 && !is(cell, "verdict", "undecided")) lb_html_textf(out, " +%lld undecided", (long long)undecided);
}

/* "why it was not decided; expected safe: a majority is left", as far as there is something to say. */
static void write_reasons(FILE *out, const json_t *cell) {
  const char *expected = lb_report_string(cell, "expected"), *reason = lb_report_string(cell, "reason");
  const char *why = lb_report_string(cell, "why");
  bool has_why = why && *why, has_reason = reason && *reason;
  if (has_why) lb_html_text(out, why);
  if (expected)
    lb_html_textf(out, "%sexpected %s%s%s", has_why ? "; " : "", expected, has_reason ? ": " : "",
                  has_reason ? reason : "");
  if (!has_why && !expected) lb_html_text(out, "nothing expected");
}

static void write_cell(FILE *out, const json_t *cell) {
  if (!cell) {
    fputs("<td class=\"none\" title=\"not run\"></td>", out);
    return;
  }
  const char *verdict = lb_report_string(cell, "verdict");
  fprintf(out, "<td class=\"%s%s\" title=\"", verdict, differs(cell) ? " differs" : "");
  write_reasons(out, cell);
  fprintf(out, "\"><span>%s %s</span> <span>", glyph(verdict), verdict);
  write_count(out, cell);
  fputs("</span>", out);
  if (differs(cell)) {
    fputs("<small>≠ expected ", out);
    lb_report_value(out, cell, "expected", "safe");
    fputs("</small>", out);
  }
  fputs("</td>", out);
}

/* ---- the table ----------------------------------------------------------------------------------------- */

static bool has_guards(const struct table *table, const char *scenario) {
  for (size_t i = 0; i < table->column_count; i++)
    if (strcmp(table->columns[i].scenario, scenario) == 0 && strcmp(table->columns[i].guard, "none") != 0) return true;
  return false;
}

static void write_head(FILE *out, const struct table *table) {
  fputs("<thead><tr><th>System</th>", out);
  for (size_t i = 0; i < table->column_count; i++) {
    const struct column *column = &table->columns[i];
    fputs("<th>", out);
    lb_html_text(out, column->scenario);
    fputs("<small>", out);
    if (column->about) lb_report_value(out, column->about, "title", "");
    fputs("</small>", out);
    if (has_guards(table, column->scenario)) {
      fputs("<small>guard: ", out);
      lb_html_text(out, column->guard);
      fputs("</small>", out);
    }
    fputs("</th>", out);
  }
  fputs("</tr></thead>\n", out);
}

static void write_truth_table(FILE *out, const struct table *table) {
  fputs("<h2>Which lock can be trusted, under which fault</h2>\n<div class=\"scroll\"><table class=\"truth\">\n", out);
  write_head(out, table);
  fputs("<tbody>\n", out);
  for (size_t r = 0; r < table->system_count; r++) {
    fputs("<tr><th>", out);
    lb_html_text(out, table->systems[r]);
    fputs("</th>", out);
    for (size_t i = 0; i < table->column_count; i++)
      write_cell(out, find_cell(table, table->systems[r], &table->columns[i]));
    fputs("</tr>\n", out);
  }
  fputs(
      "</tbody></table></div>\n<p class=\"soft\">k/n: violated (or stuck) of decided trials; (≤ p %): 95 % upper "
      "bound of the violation rate; a frame and ≠: not as the scenario expects; empty: not run. Hold the pointer over "
      "a cell for the reason.</p>\n",
      out);
}

/* ---- lists of what needs a look ------------------------------------------------------------------------ */

static bool is_open(const json_t *cell) { return is(cell, "verdict", "undecided") || is(cell, "verdict", "skipped"); }

static void write_list(FILE *out, const json_t *cells, bool (*chosen)(const json_t *cell), const char *heading) {
  size_t i;
  const json_t *cell;
  bool any = false;
  json_array_foreach(cells, i, cell) {
    if (!chosen(cell)) continue;
    if (!any) fprintf(out, "<h3>%s</h3>\n<ul>\n", heading);
    any = true;
    fputs("<li>", out);
    lb_html_textf(out, "%s, %s", lb_report_string(cell, "scenario"), lb_report_string(cell, "system"));
    if (!is(cell, "guard", "none")) lb_html_textf(out, ", guard %s", lb_report_string(cell, "guard"));
    fputs(": <strong>", out);
    lb_report_value(out, cell, "verdict", "");
    fputc(' ', out);
    write_count(out, cell);
    fputs("</strong> (", out);
    write_reasons(out, cell);
    fputs(")</li>\n", out);
  }
  if (any) fputs("</ul>\n", out);
}

/* ---- all cells in numbers ------------------------------------------------------------------------------ */

static void write_numbers(FILE *out, const json_t *cells) {
  static const char *const texts[] = {"scenario", "system", "guard", "verdict", "expected"};
  /* clang-format off */
  static const char *const numbers[][2] = {
      {"trials", "trials"}, {"violated", "violated"}, {"undecided", "undecided"}, {"double_holds", "double holds"},
      {"double_hold_ms", "double hold, ms"}, {"depth", "depth"}, {"dirty_accesses", "dirty accesses"},
      {"lost_updates", "lost updates"}, {"fenced_off", "fenced off"}, {"token_regressions", "token regressions"},
      {"unavailable_ms", "unavailable, ms"}, {"orphan_ms", "orphan time, ms"}, {"blind_ms", "blind window, ms"},
      {"grants", "grants"}, {"handoffs", "hand-offs"}, {"max_stall_ms", "longest stall, ms"}, {"seed", "seed"},
  };
  /* clang-format on */
  size_t i;
  const json_t *cell;
  fputs("<details><summary>All cells in numbers</summary>\n<div class=\"scroll\"><table class=\"plain\">\n<thead><tr>",
        out);
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) fprintf(out, "<th>%s</th>", texts[k]);
  for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) fprintf(out, "<th>%s</th>", numbers[k][1]);
  fputs("</tr></thead>\n<tbody>\n", out);
  json_array_foreach(cells, i, cell) {
    fputs("<tr>", out);
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
      fputs("<td>", out);
      lb_report_value(out, cell, texts[k], "-");
      fputs("</td>", out);
    }
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
      fputs("<td class=\"number\">", out);
      lb_report_value(out, cell, numbers[k][0], "");
      fputs("</td>", out);
    }
    fputs("</tr>\n", out);
  }
  fputs("</tbody></table></div></details>\n", out);
}

void lb_report_cells(FILE *out, const json_t *run) {
  struct table table;
  if (layout(run, &table)) {
    write_truth_table(out, &table);
    write_list(out, table.cells, differs, "Not as expected");
    write_list(out, table.cells, is_open, "Undecided or skipped");
    write_numbers(out, table.cells);
  } else {
    fputs("<p>Out of memory: no truth table.</p>\n", out);
  }
  free(table.columns);
  free(table.systems);
}
