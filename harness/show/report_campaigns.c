/* SPDX-License-Identifier: MIT
 *
 * Campaigns, and the control that they are compared with. Faults drawn at random violate most locks
 * sooner or later, so the verdict says little: what tells locks apart is after how many of
 * the faults exclusion was lost, with an interval that says how far to believe it.
 *
 * A run of an older version has not all the members of a cell: its cells stay empty.
 */
#include "campaign_text.h"
#include "html.h"
#include "report_parts.h"

/* ---- a row --------------------------------------------------------------------------------------------------------- */

static double number_of(const json_t *cell, const char *name) { return json_number_value(json_object_get(cell, name)); }

static bool has(const json_t *cell, const char *name) { return json_is_number(json_object_get(cell, name)); }

static struct lb_rate rate_of(const json_t *cell, const char *name) {
  char low[64], high[64];
  snprintf(low, sizeof low, "%s_low", name);
  snprintf(high, sizeof high, "%s_high", name);
  return (struct lb_rate){number_of(cell, name), number_of(cell, low), number_of(cell, high)};
}

static void write_number(FILE *out, const char *text) {
  fputs("<td class=\"number\">", out);
  lb_html_text(out, text);
  fputs("</td>", out);
}

/* Empty where nothing was decided: a rate of 0 would be a result. */
static void write_share(FILE *out, const json_t *cell, const char *name) {
  char text[80] = "";
  struct lb_rate rate = rate_of(cell, name);
  if (has(cell, name)) lb_campaign_share_text(&rate, true, text, sizeof text);
  write_number(out, text);
}

/* Empty in a run of a version that did not keep it. */
static void write_measured(FILE *out, const json_t *cell) {
  char text[40] = "";
  if (has(cell, "decided_hours")) lb_campaign_seconds_text(number_of(cell, "decided_hours"), text, sizeof text);
  write_number(out, text);
}

static int decided(const json_t *cell) { return (int)(number_of(cell, "trials") - number_of(cell, "undecided")); }

static void write_rate(FILE *out, const json_t *cell, enum lb_campaign_exposure of) {
  const char *name = of == LB_PER_HOUR ? "violations_per_hour" : "violations_per_1000";
  const char *exposure = of == LB_PER_HOUR ? "decided_hours" : "decided_handoffs";
  char text[80] = "";
  struct lb_campaign_rate rate = {of, rate_of(cell, name), (uint64_t)number_of(cell, "violations"), number_of(cell, exposure), decided(cell)};
  bool stands_still = lb_report_is(cell, "verdict", "stuck") || lb_report_is(cell, "verdict", "delayed"); /* that is what was measured, in older runs, too */
  if (stands_still) rate.exposure = 0;
  if (has(cell, name) || stands_still) lb_campaign_rate_text(&rate, text, sizeof text);
  write_number(out, text);
}

static void write_verdict(FILE *out, const json_t *cell) {
  int undecided = (int)number_of(cell, "undecided"), bad = (int)(number_of(cell, "violated") + number_of(cell, "stuck") + number_of(cell, "delayed"));
  bool safe = lb_report_is(cell, "verdict", "safe");
  fputs("<td>", out);
  lb_report_value(out, cell, "verdict", "");
  if (decided(cell) > 0) fprintf(out, " %d/%d", safe ? decided(cell) : bad, decided(cell));
  if (undecided > 0) fprintf(out, " (+%d ?)", undecided);
  fputs("</td>", out);
}

static void write_campaign(FILE *out, const json_t *cell) {
  static const char *const texts[] = {"scenario", "system", "guard"};
  fputs("<tr>", out);
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
    fputs("<td>", out);
    lb_report_value(out, cell, texts[k], "");
    fputs("</td>", out);
  }
  write_verdict(out, cell);
  fputs("<td class=\"number\">", out);
  lb_report_value(out, cell, has(cell, "decided_faults") ? "decided_faults" : "faults", "");
  fputs("</td>", out);
  write_measured(out, cell);
  write_share(out, cell, "overlapped_per_fault");
  write_share(out, cell, "within_lease_per_fault");
  write_share(out, cell, "damaged_per_fault");
  write_rate(out, cell, LB_PER_HOUR);
  write_rate(out, cell, LB_PER_1000);
  fputs("</tr>\n", out);
}

/* ---- the table ----------------------------------------------------------------------------------------------------- */

/* `faults` is a number only in cells whose campaign ran. */
static bool is_campaign(const json_t *cell) { return has(cell, "faults"); }

static void write_head(FILE *out) {
  fputs("<h2>Random faults under load</h2>\n<div class=\"scroll\"><table class=\"plain\">\n<thead><tr>", out);
  for (size_t i = 0; i < LB_CAMPAIGN_COLUMNS; i++) {
    fputs("<th>", out);
    lb_html_textf(out, "%s %s", lb_campaign_columns[i].what, lb_campaign_columns[i].per);
    fputs("</th>", out);
  }
  fputs("</tr></thead>\n<tbody>\n", out);
}

static json_int_t sum_of(json_t *kinds) {
  const char *kind;
  json_t *proved;
  json_int_t sum = 0;
  json_object_foreach(kinds, kind, proved) sum += json_integer_value(proved);
  return sum;
}

/* A control has no faults, and nothing to be compared with. */
static void note(const json_t *cell, struct lb_campaign_notes *notes) {
  const char *kind, *system = lb_report_string(cell, "system"), *guard = lb_report_string(cell, "guard");
  json_t *proved, *kinds = json_object_get(cell, "faults_of");
  const json_t *above = json_object_get(cell, "above_control");
  if (!json_is_object(kinds) || sum_of(kinds) == 0) return;
  json_object_foreach(kinds, kind, proved) lb_campaign_note_kind(notes, kind, (uint64_t)json_integer_value(proved));
  if (number_of(cell, "violations") > 0)
    lb_campaign_note_control(notes, system ? system : "", guard ? guard : "none", json_is_boolean(above) ? json_is_true(above) : -1);
}

static void write_notes(FILE *out, const char *scenario, const struct lb_campaign_notes *notes) {
  char text[1400];
  lb_campaign_kinds_text(notes, text, sizeof text);
  if (!*text) return;
  fputs("<p class=\"soft\">", out);
  lb_html_textf(out, "%s: %s.", scenario, text);
  lb_campaign_control_text(notes, text, sizeof text);
  if (*text) lb_html_textf(out, " %s", text);
  fputs("</p>\n", out);
}

/* Cells of a scenario follow one another. */
static void write_all_notes(FILE *out, const json_t *cells) {
  struct lb_campaign_notes notes = {0};
  const char *scenario = "";
  const json_t *cell;
  size_t i;
  json_array_foreach(cells, i, cell) {
    if (!is_campaign(cell)) continue;
    if (!lb_report_is(cell, "scenario", scenario)) {
      write_notes(out, scenario, &notes);
      notes = (struct lb_campaign_notes){0};
      scenario = lb_report_string(cell, "scenario");
    }
    note(cell, &notes);
  }
  write_notes(out, scenario, &notes);
}

/* Whether it counts as faults those that were followed by a grant before the next one. */
static bool recorded(const json_t *cells) {
  size_t i;
  const json_t *cell;
  json_array_foreach(cells, i, cell) {
    if (json_object_get(cell, "lost_per_1000")) return true;
  }
  return false;
}

void lb_report_campaigns(FILE *out, const json_t *cells) {
  size_t i;
  const json_t *cell;
  bool any = false;
  json_array_foreach(cells, i, cell) {
    if (!is_campaign(cell)) continue;
    if (!any) write_head(out);
    any = true;
    write_campaign(out, cell);
  }
  if (!any) return;
  fputs("</tbody></table></div>\n", out);
  write_all_notes(out, cells);
  fputs("<p class=\"soft\">", out);
  if (!recorded(cells)) lb_html_text(out, "This run is older: it counts faults after which anything was granted, ever. ");
  lb_html_text(out, lb_campaign_caption);
  fputs("</p>\n", out);
}

/* Trials without faults, of all locks that are meant to exclude. A violation or a long stall in
 * them says that the harness itself disturbs what it measures. */
void lb_report_control(FILE *out, const json_t *run) {
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
