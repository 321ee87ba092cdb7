/* SPDX-License-Identifier: MIT
 *
 * Campaigns, and the control that they are compared with. Faults drawn at random violate most locks
 * sooner or later, so the verdict says little: what tells locks apart is after how many of
 * the faults exclusion was lost, with an interval that says how far to believe it.
 */
#include "html.h"
#include "report_parts.h"

/* Empty where nothing was decided: a rate of 0 would be a result. Of 0 only the bound says anything. */
static void write_rate(FILE *out, const json_t *cell, const char *name) {
  char low[64], high[64];
  const json_t *rate = json_object_get(cell, name);
  snprintf(low, sizeof low, "%s_low", name);
  snprintf(high, sizeof high, "%s_high", name);
  double from = json_number_value(json_object_get(cell, low)), to = json_number_value(json_object_get(cell, high));
  fputs("<td class=\"number\">", out);
  if (json_is_number(rate) && json_number_value(rate) > 0)
    lb_html_textf(out, "%.3g [%.3g, %.3g]", json_number_value(rate), from, to);
  else if (json_is_number(rate)) lb_html_textf(out, "0 (below %.3g)", to);
  fputs("</td>", out);
}

static void write_campaign(FILE *out, const json_t *cell) {
  static const char *const texts[] = {"scenario", "system", "guard", "verdict"};
  static const char *const numbers[] = {"trials", "undecided", "faults", "faults_overlapped", "faults_within_lease", "faults_damaged"};
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
  static const char *const rates[] = {"overlapped_per_fault", "damaged_per_fault", "violations_per_hour", "violations_per_1000"};
  for (size_t k = 0; k < sizeof rates / sizeof *rates; k++) write_rate(out, cell, rates[k]);
  fputs("</tr>\n", out);
}

/* `faults` is a number only in cells whose campaign ran. */
void lb_report_campaigns(FILE *out, const json_t *cells) {
  size_t i;
  const json_t *cell;
  bool any = false;
  json_array_foreach(cells, i, cell) {
    if (!json_is_number(json_object_get(cell, "faults"))) continue;
    if (!any)
      fputs(
          "<h2>Random faults under load</h2>\n<div class=\"scroll\"><table class=\"plain\">\n<thead><tr>"
          "<th>scenario</th><th>system</th><th>guard</th><th>verdict</th><th>trials</th>"
          "<th>undecided</th><th>faults proved</th><th>two held after</th><th>within a lease</th><th>damage after</th>"
          "<th>two held, per fault [95 %]</th><th>damage, per fault [95 %]</th><th>violations per hour [95 %]</th>"
          "<th>per 1000 useful hand-offs [95 %]</th></tr></thead>\n<tbody>\n",
          out);
    any = true;
    write_campaign(out, cell);
  }
  if (any)
    fputs("</tbody></table></div>\n<p class=\"soft\">Faults drawn at random from the seed, one after the other. "
          "Hand-offs, violations and their rates are of decided trials. The intervals allow for trials that differ and for faults "
          "that cost many violations, as far as several trials show it: of one trial nothing is known of that.</p>\n",
          out);
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
