/* SPDX-License-Identifier: MIT
 *
 * display.h - what a person sees of a run: a live line on a terminal (plain lines in a log), the truth table, the figures.
 */
#ifndef LB_DISPLAY_H
#define LB_DISPLAY_H

#include <stdio.h>

#include "runner.h"

struct lb_display {
  FILE *out;     /* stderr: stdout is for results */
  bool terminal; /* the live line can be overwritten */
  bool quiet;
};

/* Callbacks for the runner, with *display filled in. */
struct lb_progress lb_display_progress(struct lb_display *display);
/* Takes the live line away. */
void lb_display_end(struct lb_display *display);

/* First line of a summary and the exit code that goes with it. */
int lb_summary_line(const struct lb_plan *plan, char *buf, size_t size);
/* Rows: systems; columns: scenarios. */
void lb_print_truth_table(const struct lb_plan *plan, FILE *out);
/* One line per measured (scenario, system, clients): throughput, fairness, wait, hold and hand-off; medians over trials. */
void lb_print_figures(const struct lb_plan *plan, FILE *out);
/* One line for each cell that differs, is undecided or skipped, with its reason. */
void lb_print_remarks(const struct lb_plan *plan, FILE *out);

#endif
