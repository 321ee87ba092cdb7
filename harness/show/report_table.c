/* SPDX-License-Identifier: MIT
 *
 * What was found, as tables: the truth table (no guard; a row per scenario, a column per system),
 * what each guard changes, the rates of campaigns. A verdict is said by word, glyph and fill. What
 * differs from the expectation is marked in its cell and listed below, with the reason the scenario
 * gives; so is what stayed undecided or was skipped.
 */
#include <stdlib.h>
#include <string.h>

#include "html.h"
#include "report_parts.h"

#define NBSP "\xC2\xA0" /* cells are narrow: a line ends elsewhere */
enum { FIT_IN_A_WINDOW = 8 };

struct names { /* texts of the run, each once, in the order they come */
  const char **name;
  size_t count;
};

struct table { /* borrowed from the run */
  const json_t *cells, *scenarios;
  struct names scenario, system, guard;
};

/* ---- rows and columns ---------------------------------------------------------------------------------- */

static void add_name(struct names *names, const char *name) {
  for (size_t i = 0; i < names->count; i++)
    if (strcmp(names->name[i], name) == 0) return;
  names->name[names->count++] = name;
}

static bool is(const json_t *object, const char *key, const char *text) {
  return strcmp(lb_report_string(object, key), text) == 0;
}

static bool has_guard(const struct table *table, const char *guard) {
  size_t i;
  const json_t *cell;
  json_array_foreach(table->cells, i, cell) if (is(cell, "guard", guard)) return true;
  return false;
}

/* Scenarios in the order of the run, then those that only cells name; systems in the order of the
 * cells; guards in the order of how much they do, unknown ones last. */
static bool layout(const json_t *run, struct table *ret) {
  static const char *const guards[] = {"none", "deadline", "recheck", "fence"};
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

/* The first cell of these; NULL stands for any. */
static const json_t *find_cell(const struct table *table, const char *scenario, const char *system, const char *guard) {
  size_t i;
  const json_t *cell;
  json_array_foreach(table->cells, i, cell) if ((!system || is(cell, "system", system)) &&
                                                (!scenario || is(cell, "scenario", scenario)) &&
                                                (!guard || is(cell, "guard", guard))) return cell;
  return NULL;
}

/* True if the scenario was also run with a guard, by this system (NULL: by any). */
static bool is_guarded(const struct table *table, const char *scenario, const char *system) {
  for (size_t g = 0; g < table->guard.count; g++)
    if (strcmp(table->guard.name[g], "none") != 0 && find_cell(table, scenario, system, table->guard.name[g]))
      return true;
  return false;
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
    lb_html_textf(out, "0/%lld (≤" NBSP "%.1f" NBSP "%%)", (long long)decided,
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

/* What happened at the resource, as far as something did: what a guard is there for. */
static void write_damage(FILE *out, const json_t *cell) {
  static const char *const counts[][2] = {{"lost_updates", "lost update"},
                                          {"stale_writes", "stale write"},
                                          {"fenced_off", "fenced off"},
                                          {"token_regressions", "token regression"}};
  const char *between = "<small>";
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    json_int_t count = count_of(cell, counts[i][0]);
    if (count <= 0) continue;
    fprintf(out, "%s%lld %s%s", between, (long long)count, counts[i][1],
            count == 1 || strcmp(counts[i][1], "fenced off") == 0 ? "" : "s");
    between = ", ";
  }
  if (*between == ',') fputs("</small>", out);
}

static void write_cell(FILE *out, const json_t *cell, bool with_damage) {
  if (!cell) {
    fputs("<td class=\"none\" title=\"not run\"></td>", out);
    return;
  }
  const char *verdict = lb_report_string(cell, "verdict");
  fprintf(out, "<td class=\"%s%s\" title=\"", verdict, differs(cell) ? " differs" : "");
  write_reasons(out, cell);
  fprintf(out, "\"><span>%s" NBSP "%s</span> <span>", glyph(verdict), verdict);
  write_count(out, cell);
  fputs("</span>", out);
  if (with_damage) write_damage(out, cell);
  if (differs(cell)) {
    fputs("<small>≠ expected ", out);
    lb_report_value(out, cell, "expected", "safe");
    fputs("</small>", out);
  }
  fputs("</td>", out);
}

/* ---- the truth table ------------------------------------------------------------------------------------- */

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
    if (!is(scenario, "name", name) || !title || !*title) continue;
    fputs("<small>", out);
    lb_html_text(out, title);
    fputs("</small>", out);
  }
  fputs("</th>", out);
}

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
        write_cell(out, find_cell(table, scenarios->name[s], systems->name[i], "none"), false);
    fputs("</tr>\n", out);
  }
  fputs("</tbody></table></div>\n<p class=\"soft\">Without a guard: a client that was granted the lock trusts it. k/n: "
        "violated (or stuck) of decided trials; (≤ p %): 95 % upper bound of the violation rate; a frame and ≠: not as "
        "the scenario expects; empty: not run. Hold the pointer over a cell for the reason.</p>\n",
        out);
}

/* ---- what each guard changes ------------------------------------------------------------------------------ */

static void write_guard_row(FILE *out, const struct table *table, const char *scenario, const char *system) {
  if (!is_guarded(table, scenario, system)) return; /* nothing to compare */
  fputs("<tr><th>", out);
  lb_html_text(out, scenario);
  fputs("<small>", out);
  lb_html_text(out, system);
  fputs("</small></th>", out);
  for (size_t g = 0; g < table->guard.count; g++)
    write_cell(out, find_cell(table, scenario, system, table->guard.name[g]), true);
  fputs("</tr>\n", out);
}

static void write_guard_table(FILE *out, const struct table *table) {
  bool any = false;
  for (size_t s = 0; s < table->scenario.count; s++) {
    if (!is_guarded(table, table->scenario.name[s], NULL)) continue;
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
          "whether the resource was damaged (lost updates, writes of an overtaken holder).</p>\n",
          out);
}

/* ---- campaigns and the control ----------------------------------------------------------------------------- */

static void write_rate(FILE *out, const json_t *cell) {
  const json_t *rate = json_object_get(cell, "violations_per_1000");
  fputs("<td class=\"number\">", out);
  if (json_is_number(rate))
    lb_html_textf(out, "%.3g [%.3g, %.3g]", json_number_value(rate),
                  json_number_value(json_object_get(cell, "violations_per_1000_low")),
                  json_number_value(json_object_get(cell, "violations_per_1000_high")));
  fputs("</td>", out);
}

static void write_campaign(FILE *out, const json_t *cell) {
  static const char *const texts[] = {"scenario", "system", "guard", "verdict"};
  static const char *const numbers[] = {"trials", "undecided", "decided_handoffs", "faults", "violations"};
  fputs("<tr>", out);
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
    fputs("<td>", out);
    lb_report_value(out, cell, texts[k], "");
    fputs("</td>", out);
  }
  for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
    fputs("<td class=\"number\">", out);
    lb_report_value(out, cell, numbers[k], "");
    fputs("</td>", out);
  }
  write_rate(out, cell);
  fputs("</tr>\n", out);
}

static void write_campaigns(FILE *out, const json_t *cells) {
  size_t i;
  const json_t *cell;
  bool any = false;
  json_array_foreach(cells, i, cell) {
    if (!json_is_number(json_object_get(cell, "faults"))) continue;
    if (!any)
      fputs(
          "<h2>Random faults under load</h2>\n<div class=\"scroll\"><table class=\"plain\">\n<thead><tr>"
          "<th>scenario</th><th>system</th><th>guard</th><th>verdict</th><th>trials</th>"
          "<th>undecided</th><th>hand-offs</th><th>faults proved</th><th>violations</th><th>per 1000 hand-offs [95 %]</th></tr></thead>\n<tbody>\n",
          out);
    any = true;
    write_campaign(out, cell);
  }
  if (any)
    fputs("</tbody></table></div>\n<p class=\"soft\">Faults drawn at random from the seed, one after the other. "
          "Hand-offs, violations and their rate are of decided trials; the interval is the exact one of a "
          "Poisson count.</p>\n",
          out);
}

static void write_control(FILE *out, const json_t *run) {
  const json_t *control = json_object_get(run, "control");
  if (!json_is_object(control)) return;
  fputs("<p>No-fault control: ", out);
  lb_report_value(out, control, "handoffs", "?");
  fputs(" hand-offs, ", out);
  lb_report_value(out, control, "violations", "?");
  fputs(" violations, in ", out);
  lb_report_value(out, control, "trials", "?");
  fputs(" trials (", out);
  lb_report_value(out, control, "undecided", "?");
  lb_html_textf(out, " undecided); longest stall of the harness %.1f ms.",
                json_number_value(json_object_get(control, "max_stall_ms")));
  fputs("</p>\n", out);
}

/* ---- lists of what needs a look ------------------------------------------------------------------------ */

static bool is_open(const json_t *cell) {
  bool undecided = is(cell, "verdict", "undecided"), skipped = is(cell, "verdict", "skipped");
  return undecided || (skipped && !json_is_true(json_object_get(cell, "as_expected")));
}

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

/* ---- the whole ------------------------------------------------------------------------------------------- */

void lb_report_cells(FILE *out, const json_t *run) {
  struct table table;
  if (layout(run, &table)) {
    write_truth_table(out, &table);
    write_control(out, run);
    write_list(out, table.cells, differs, "Not as expected");
    write_list(out, table.cells, is_open, "Undecided or skipped");
    write_guard_table(out, &table);
    write_campaigns(out, table.cells);
    lb_report_numbers(out, table.cells);
  } else {
    fputs("<p>Out of memory: no truth table.</p>\n", out);
  }
  free(table.scenario.name);
  free(table.system.name);
  free(table.guard.name);
}
