/* SPDX-License-Identifier: MIT
 *
 * display.h - what a person sees of a run: a live line (live.h), the truth table, the figures.
 *
 * Everything here reads a tally and writes to the stream that it is given. Nothing is decided here:
 * verdicts and expectations come from run/tally.h, rates from run/tally.h.
 */
#ifndef LB_DISPLAY_H
#define LB_DISPLAY_H

#include <stdio.h>

#include "live.h"
#include "run/estimate.h"
#include "run/runner.h"

struct lb_display {
  /* Stderr as a rule: stdout is for results, which somebody may pipe into a program. */
  struct lb_live_out live;
  /* A line for every trial that has ended, too. */
  bool verbose;
  /* For the time that is left; NULL = it is not said. Borrowed. */
  const struct lb_estimate *estimate;
  /* Its own: when the run began; the time left at `left_ns`, and whether trials have ended since. */
  uint64_t begin_ns, left_ns;
  double left_s;
  bool stale;
};

/* Callbacks for the runner, with *display filled in; the run begins now. It is borrowed, and has to live
 * as long as the run. */
struct lb_progress lb_display_progress(struct lb_display *display);
/* Takes the live line away. To be called once the runner has returned, before a table or an error
 * is printed. */
void lb_display_end(struct lb_display *display);

/* Verdicts of all cells, in as many columns as the terminal has (120 in a log): without a guard, rows: scenarios, columns:
 * systems; then what each guard changes; then lb_print_rates(). A `!` marks what lb_print_remarks()
 * repeats with its reason. */
void lb_print_truth_table(const struct lb_tally *tally, FILE *out);
/* A line per cell of a campaign: hand-offs, faults, rate of violations; then one for all trials
 * without faults. */
void lb_print_rates(const struct lb_tally *tally, FILE *out);
/* One line per measured (scenario, system, clients): throughput, fairness, wait, hold and hand-off;
 * medians over trials. Then one per cell in which a holder died: how long its lock stayed taken. */
void lb_print_figures(const struct lb_tally *tally, FILE *out);
/* True if `out` is a terminal that may be sent colours (NO_COLOR is not set). */
bool lb_display_has_colour(FILE *out);
/* One line for each cell of a lock that was brought and is not as predicted: at most 5, then how many more. */
void lb_print_unpredicted(const struct lb_tally *tally, FILE *out);
/* One line for each cell that differs, then for each that is undecided or skipped, with its reason. */
void lb_print_remarks(const struct lb_tally *tally, FILE *out);

#endif
