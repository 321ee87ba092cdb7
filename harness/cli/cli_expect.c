/* SPDX-License-Identifier: MIT
 *
 * `lockbench list expectations`: every expected cell of the whole table, before anything has run. A row for each
 * scenario, system and guard for which a verdict, or `n/a`, is known: the words a script would cut off come first.
 */
#include <stdio.h>

#include "cli.h"
#include "cli_table.h"

static int tell(void *data, struct lb_plan *plan) {
  (void)data;
  for (size_t i = 0; i < plan->cell_count; i++) {
    const struct lb_cell *cell = &plan->cells[i];
    struct lb_told told = lb_table_told(cell);
    if (told.verdict == LB_VERDICT_NONE) continue;
    printf("%-26s %-34s %-9s %-9s %-22s %s\n", cell->scenario->name, cell->system, lb_guard_name(cell->guard), lb_verdict_name(told.verdict), told.source, told.reason);
  }
  return 0;
}

int lb_list_expectations(const char *named) { return lb_table_walk(&(struct lb_table){.systems = named ? named : LB_TABLE_SYSTEMS, .visit = tell}); }
