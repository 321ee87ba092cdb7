/* SPDX-License-Identifier: MIT
 *
 * All cells in numbers: a column for each counter that cells have. The columns follow from the
 * table of counters (history/counter.h), so a new counter appears by itself. The table is folded
 * away: it is for who wants to look something up.
 */
#include <jansson.h>

#include "history/counter.h"
#include "report_parts.h"

enum { NUMBERS_MAX = 64 };

/* A column of the table: a member of a cell and its heading. */
struct number {
  const char *member;
  char heading[60];
};

/* "label, unit" as heading. The caller has looked whether there is room. */
static void add_number(struct number *numbers, size_t *count, const char *member, const char *label, const char *unit) {
  numbers[*count].member = member;
  snprintf(numbers[*count].heading, sizeof numbers->heading, "%s%s%s", label, unit ? ", " : "", unit ? unit : "");
  ++*count;
}

/* A run without cells gets all columns, so that the table has its heading. */
static bool some_cell_has(const json_t *cells, const char *member) {
  size_t i;
  const json_t *cell;
  json_array_foreach(cells, i, cell) if (json_object_get(cell, member)) return true;
  return json_array_size(cells) == 0;
}

/* The counters of cells. Those of campaigns stand in a table of their own; what an older run did
 * not count has no column. */
static size_t list_numbers(const json_t *cells, struct number ret[NUMBERS_MAX]) {
  static const enum lb_counter_group groups[] = {LB_COUNT_EXCLUSION, LB_COUNT_GUARD, LB_COUNT_LIVENESS, LB_COUNT_PROGRESS, LB_COUNT_GIVEN_UP,
                                                 LB_COUNT_SPEED,     LB_COUNT_TRIAL};
  size_t count = 0;
  add_number(ret, &count, "trials", "trials", NULL);
  add_number(ret, &count, "violated", "violated", NULL);
  add_number(ret, &count, "undecided", "undecided", NULL);
  for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
    for (const struct lb_counter *row = NULL; (row = lb_counter_next(row, groups[g], LB_IN_CELLS));) {
      const char *member = lb_counter_name_in(row, LB_IN_CELLS);
      if (count + 1 < NUMBERS_MAX && some_cell_has(cells, member)) add_number(ret, &count, member, row->label, row->unit);
    }
  add_number(ret, &count, "seed", "seed", NULL);
  return count;
}

/* What does not apply to a cell is null in run.json, and an empty field here. */
void lb_report_numbers(FILE *out, const json_t *cells) {
  static const char *const texts[] = {"scenario", "system", "guard", "verdict", "expected"};
  struct number numbers[NUMBERS_MAX];
  size_t i, count = list_numbers(cells, numbers);
  const json_t *cell;
  fputs("<details><summary>All cells in numbers</summary>\n<div class=\"scroll\"><table class=\"plain\">\n<thead><tr>",
        out);
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) fprintf(out, "<th>%s</th>", texts[k]);
  for (size_t k = 0; k < count; k++) fprintf(out, "<th>%s</th>", numbers[k].heading);
  fputs("</tr></thead>\n<tbody>\n", out);
  json_array_foreach(cells, i, cell) {
    fputs("<tr>", out);
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
      fputs("<td>", out);
      lb_report_value(out, cell, texts[k], "-");
      fputs("</td>", out);
    }
    for (size_t k = 0; k < count; k++) {
      fputs("<td class=\"number\">", out);
      lb_report_value(out, cell, numbers[k].member, "");
      fputs("</td>", out);
    }
    fputs("</tr>\n", out);
  }
  fputs("</tbody></table></div></details>\n", out);
}
