/* SPDX-License-Identifier: MIT
 *
 * What the report says of windows that were measured before the rate had settled. The first seconds of
 * a server understate what it does afterwards, those of one that compiles itself most of all, and
 * nothing in a table of rates would show it.
 */
#include "html.h"
#include "report_parts.h"

/* Steps have no window, and what a campaign measures is no speed. */
static bool is_load(const json_t *scenario) {
  return json_array_size(json_object_get(scenario, "steps")) == 0 && !json_is_object(json_object_get(scenario, "campaign")) &&
         json_number_value(json_object_get(json_object_get(scenario, "workload"), "duration_s")) > 0;
}

static bool asks_to_settle(const json_t *scenario) {
  return json_number_value(json_object_get(json_object_get(scenario, "workload"), "settle_s")) > 0;
}

/* The sentence begins with the first load that it names. */
static void write_not_asked(FILE *out, const json_t *run) {
  size_t i, named = 0;
  const json_t *scenario;
  json_array_foreach(json_object_get(run, "scenarios"), i, scenario) {
    if (!is_load(scenario) || asks_to_settle(scenario)) continue;
    fputs(named++ ? ", " : "<p class=\"banner\">Measured after a warm-up of fixed length, whether the rate had settled by then or not: ", out);
    lb_html_textf(out, "%s (%g s)", lb_report_string(scenario, "name"),
                  json_number_value(json_object_get(json_object_get(scenario, "workload"), "warmup_s")));
  }
  if (named) fputs(". Such rates say less of servers that have run for a while, and least of those in a JVM.</p>\n", out);
}

void lb_report_settled(FILE *out, const json_t *run, size_t unsettled) {
  write_not_asked(out, run);
  if (unsettled == 1)
    fputs("<p class=\"banner bad\">In 1 trial the rate was still changing when the measured window began.</p>\n", out);
  else if (unsettled)
    fprintf(out, "<p class=\"banner bad\">In %zu trials the rate was still changing when the measured window began.</p>\n", unsettled);
}
