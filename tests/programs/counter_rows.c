/* SPDX-License-Identifier: MIT
 *
 * Prints the table of counters (check/counter.h), a row a line, for tests of the pages that repeat parts of it: where
 * it stands (trials, cells, check), its name there, its type, its unit, whether it may be missing, whether a cell is
 * the sum of its trials, what it means; a tab between them.
 */
#include <stdio.h>

#include "check/counter.h"

static void print_row(const struct lb_counter *row, enum lb_counter_place place, const char *where, bool optional) {
  bool summed =
      row->add == LB_ADD_SUM && !row->decimals && !row->only && row->places & LB_IN_TRIALS && row->places & LB_IN_CELLS;
  if (!(row->places & place)) return;
  printf("%s\t%s\t%s\t%s\t%d\t%d\t%s\n", where, lb_counter_name_in(row, place), row->decimals ? "number" : "whole",
         row->unit && place == LB_IN_TRIALS ? row->unit : "", optional, summed, row->help);
}

int main(void) {
  for (size_t i = 0; i < lb_counter_row_count; i++) {
    const struct lb_counter *row = &lb_counter_rows[i];
    print_row(row, LB_IN_TRIALS, "trials.csv", row->only != 0);
    print_row(row, LB_IN_CELLS, "run.json: cells", true);
    print_row(row, LB_IN_CHECK, "check --json", row->only & LB_IF_SEEN);
  }
  return 0;
}
