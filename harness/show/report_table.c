/* SPDX-License-Identifier: MIT
 *
 * What was found, as tables: the truth table (no guard; a row per scenario, a column per system),
 * and what each guard changes. How a cell looks is in report_cell.c, campaigns are in
 * report_campaigns.c.
 *
 * Rows and columns are collected from the cells, not from a list of what the tool knows: the page
 * may be of a run that had scenarios or systems of which this version has never heard.
 */
#include <stdlib.h>
#include <string.h>

#include "html.h"
#include "report_parts.h"

/* Columns. With more of them a hint says that the table can be scrolled, where the window is
 * narrow. */
enum { FIT_IN_A_WINDOW = 8 };

struct names { /* texts of the run, each once, in the order they come */
  const char **name;
  size_t count;
};

struct table { /* borrowed from the run */
  const json_t *cells, *scenarios;
  struct names scenario, system, guard;
};

/* ---- rows and columns ------------------------------------------------------------------------ */

static void add_name(struct names *names, const char *name) {
  for (size_t i = 0; i < names->count; i++)
    if (strcmp(names->name[i], name) == 0) return;
  names->name[names->count++] = name;
}

static bool has_guard(const struct table *table, const char *guard) {
  size_t i;
  const json_t *cell;
  json_array_foreach(table->cells, i, cell) if (lb_report_is(cell, "guard", guard)) return true;
  return false;
}

/* Scenarios in the order of the run, then those that only cells name; systems in the order of the
 * cells; guards in the order of how much they do, unknown ones last. False: out of memory. Either
 * way the caller frees the three lists of names. */
static bool layout(const json_t *run, struct table *ret) {
  static const char *const guards[] = {"none", "deadline", "signal", "recheck", "claim", "fence"};
  size_t i;
  const json_t *scenario, *cell;
  *ret = (struct table){.cells = json_object_get(run, "cells"), .scenarios = json_object_get(run, "scenarios")};
  size_t most = json_array_size(ret->cells) + json_array_size(ret->scenarios) + sizeof guards / sizeof *guards;
  struct names *const all[] = {&ret->scenario, &ret->system, &ret->guard};
  for (i = 0; i < sizeof all / sizeof *all; i++)
    if (!(all[i]->name = calloc(most, sizeof *all[i]->name))) return false;
  json_array_foreach(ret->scenarios, i, scenario) add_name(&ret->scenario, lb_report_string(scenario, "name"));
  for (i = 0; i < sizeof guards / sizeof *guards; i++)
    if (has_guard(ret, guards[i])) add_name(&ret->guard, guards[i]);
  json_array_foreach(ret->cells, i, cell) {
    add_name(&ret->scenario, lb_report_string(cell, "scenario"));
    add_name(&ret->system, lb_report_string(cell, "system"));
    add_name(&ret->guard, lb_report_string(cell, "guard"));
  }
  return true;
}

/* The first cell of these; NULL stands for any. A walk over all cells each time: there are hundreds
 * of them, not millions. */
static const json_t *find_cell(const struct table *table, const char *scenario, const char *system, const char *guard) {
  size_t i;
  const json_t *cell;
  json_array_foreach(table->cells, i, cell) if ((!system || lb_report_is(cell, "system", system)) &&
                                                (!scenario || lb_report_is(cell, "scenario", scenario)) &&
                                                (!guard || lb_report_is(cell, "guard", guard))) return cell;
  return NULL;
}

/* True if the scenario was also run with a guard, by this system. */
static bool is_guarded(const struct table *table, const char *scenario, const char *system) {
  for (size_t g = 0; g < table->guard.count; g++)
    if (strcmp(table->guard.name[g], "none") != 0 && find_cell(table, scenario, system, table->guard.name[g]))
      return true;
  return false;
}

/* True if some system was asked under a guard there: where all of them are n/a, a table of guards
 * would say one thing many times. */
static bool is_asked(const struct table *table, const char *scenario) {
  size_t i;
  const json_t *cell;
  json_array_foreach(table->cells, i, cell) if (lb_report_is(cell, "scenario", scenario) && !lb_report_is(cell, "guard", "none") &&
                                                !lb_report_is(cell, "verdict", "n/a")) return true;
  return false;
}

/* ---- the truth table ------------------------------------------------------------------------- */

/* "PROTOCOL", and "@TOPOLOGY" in a line of its own. */
static void write_system_head(FILE *out, const char *system) {
  const char *at = strchr(system, '@');
  fputs("<th>", out);
  lb_html_textf(out, "%.*s", at ? (int)(at - system) : (int)strlen(system), system);
  if (at) {
    fputs("<small>", out);
    lb_html_text(out, at);
    fputs("</small>", out);
  }
  fputs("</th>", out);
}

static void write_scenario_head(FILE *out, const struct table *table, const char *name) {
  size_t i;
  const json_t *scenario;
  fputs("<th>", out);
  lb_html_text(out, name);
  json_array_foreach(table->scenarios, i, scenario) {
    const char *title = lb_report_string(scenario, "title");
    if (!lb_report_is(scenario, "name", name) || !title || !*title) continue;
    fputs("<small>", out);
    lb_html_text(out, title);
    fputs("</small>", out);
  }
  fputs("</th>", out);
}

/* A run that was made with guards only has no such table. A system has a column if it was run
 * without a guard at all; a cell that was not asked for stays empty. */
static void write_truth_table(FILE *out, const struct table *table) {
  const struct names *systems = &table->system, *scenarios = &table->scenario;
  if (!find_cell(table, NULL, NULL, "none") && table->guard.count) return;
  fputs("<h2>Which lock can be trusted, under which fault</h2>\n", out);
  if (systems->count > FIT_IN_A_WINDOW)
    fputs("<p class=\"soft hint\">The table is wider than this window: it goes on to the right, and scrolls.</p>\n",
          out);
  fputs("<div class=\"scroll\" tabindex=\"0\"><table class=\"truth\">\n<thead><tr><th>Scenario</th>", out);
  for (size_t i = 0; i < systems->count; i++)
    if (find_cell(table, NULL, systems->name[i], "none")) write_system_head(out, systems->name[i]);
  fputs("</tr></thead>\n<tbody>\n", out);
  for (size_t s = 0; s < scenarios->count; s++) {
    if (!find_cell(table, scenarios->name[s], NULL, "none")) continue;
    fputs("<tr>", out);
    write_scenario_head(out, table, scenarios->name[s]);
    for (size_t i = 0; i < systems->count; i++)
      if (find_cell(table, NULL, systems->name[i], "none"))
        lb_report_cell(out, find_cell(table, scenarios->name[s], systems->name[i], "none"), false);
    fputs("</tr>\n", out);
  }
  fputs("</tbody></table></div>\n<p class=\"soft\">Without a guard: a client that was granted the lock trusts it. k/n: "
        "violated (or stuck, or delayed) of decided trials; (≤ p %): 95 % upper bound of the violation rate; a frame and ≠: not as "
        "the scenario expects; a small number: why a cell is n/a, below the last table. Hold the pointer over a cell for the reason.</p>\n",
        out);
}

/* ---- what each guard changes ----------------------------------------------------------------- */

/* One line: the same scenario on the same system, without a guard and with each. */
static void write_guard_row(FILE *out, const struct table *table, const char *scenario, const char *system) {
  if (!is_guarded(table, scenario, system)) return; /* nothing to compare */
  fputs("<tr><th>", out);
  lb_html_text(out, scenario);
  fputs("<small>", out);
  lb_html_text(out, system);
  fputs("</small></th>", out);
  for (size_t g = 0; g < table->guard.count; g++)
    lb_report_cell(out, find_cell(table, scenario, system, table->guard.name[g]), true);
  fputs("</tr>\n", out);
}

/* The heading comes with the first row, so a run without guards has neither. */
static void write_guard_table(FILE *out, const struct table *table) {
  bool any = false;
  for (size_t s = 0; s < table->scenario.count; s++) {
    if (!is_asked(table, table->scenario.name[s])) continue;
    if (!any) {
      fputs("<h2>What each guard changes</h2>\n<div class=\"scroll\"><table class=\"truth\">\n<thead><tr>"
            "<th>Scenario, system</th>",
            out);
      for (size_t g = 0; g < table->guard.count; g++) {
        fputs("<th>guard: ", out);
        lb_html_text(out, table->guard.name[g]);
        fputs("</th>", out);
      }
      fputs("</tr></thead>\n<tbody>\n", out);
    }
    any = true;
    for (size_t i = 0; i < table->system.count; i++)
      write_guard_row(out, table, table->scenario.name[s], table->system.name[i]);
  }
  if (any)
    fputs("</tbody></table></div>\n<p class=\"soft\">A guard is what a client does before it touches the resource. It "
          "protects the resource, not the lock: without one the verdict says who held the lock, under a guard it says "
          "whether the resource was damaged (lost updates, writes of an overtaken holder). A client that stopped for want of an "
          "answer makes nothing safe by that alone, unless it was proved to be cut off, stood still while it asked, or had not been "
          "overtaken.</p>\n",
          out);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Without memory there is still the rest of the page, so the failure is said and not returned. */
void lb_report_cells(FILE *out, const json_t *run) {
  struct table table;
  if (layout(run, &table)) {
    write_truth_table(out, &table);
    lb_report_control(out, run);
    lb_report_lists(out, table.cells);
    write_guard_table(out, &table);
    lb_report_notes(out, table.cells);
    lb_report_campaigns(out, table.cells);
    lb_report_numbers(out, table.cells);
  } else {
    fputs("<p>Out of memory: no truth table.</p>\n", out);
  }
  free(table.scenario.name);
  free(table.system.name);
  free(table.guard.name);
}
