/* SPDX-License-Identifier: MIT
 *
 * display.h - what a person sees of a run: a live line (live.h), the truth table, the figures.
 *
 * Everything here reads a tally and writes to the stream that it is given. Nothing is decided here:
 * verdicts, expectations and rates come from run/tally.h.
 */
#ifndef LB_DISPLAY_H
#define LB_DISPLAY_H

#include <stdio.h>

#include "live.h"
#include "run/estimate.h"
#include "run/runner.h"
#include "run/tally.h"

struct lb_display {
  /* Stderr as a rule: stdout is for results, which the user may pipe into a program. */
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

/* Callbacks for a run, with *display filled in; the run begins now. It is borrowed, and has to live
 * as long as the run. */
struct lb_progress lb_display_progress(struct lb_display *display);
/* Takes the live line away. To be called once the run has ended, before a table or an error
 * is printed. */
void lb_display_end(struct lb_display *display);

/* Verdicts of all cells, in as many columns as the terminal has (120 in a log): without a guard, rows: scenarios,
 * columns: systems; then what each guard changes; then lb_display_rates(). A `!` marks what lb_display_remarks()
 * repeats with its reason. */
void lb_display_truth_table(const struct lb_tally *tally, FILE *out);
/* A line per cell of a campaign: hand-offs, faults, rate of violations; then one for all trials
 * without faults. */
void lb_display_rates(const struct lb_tally *tally, FILE *out);
/* One line per measured (scenario, system, clients): throughput, fairness, wait, hold and hand-off;
 * medians over trials. Then one per cell in which a holder died: how long its lock stayed taken. */
void lb_display_figures(const struct lb_tally *tally, FILE *out);
/* True if `out` is a terminal that may be sent colours (NO_COLOR is not set). */
bool lb_display_has_colour(FILE *out);
/* One line for each cell of a lock that was brought and is not as predicted: at most 5, then how many more. */
void lb_display_unpredicted(const struct lb_tally *tally, FILE *out);
/* One line for each cell that differs, then for each that is undecided or skipped, with its reason. */
void lb_display_remarks(const struct lb_tally *tally, FILE *out);

/* ---- what the tables of the terminal share: how a cell is written, and lines of columns ---- */

/* How much room a cell takes. The tables try the first and fall back on the second. */
enum lb_display_style { LB_DISPLAY_WORDS, LB_DISPLAY_SHORT }; /* "VIOLATED 2/3", "VIOL 2/3" */

/* Verdict and count of a cell, with a `!` where it differs from the expectation: "safe 3" = all of
 * 3 trials, "safe 15 of 21" = only these were decided, "VIOLATED 2/3" = 2 of 3 decided ones, "undecided 1/3" = 1 of all
 * 3, "n/a 2" = for the second of the reasons below the tables. 64 bytes are enough
 * for `buf`. */
void lb_display_cell_text(const struct lb_cell_sum *cell, enum lb_display_style style, char *buf, size_t size);
/* What a terminal is sent before such a text; "\033[0m" ends it. */
const char *lb_display_colour(enum lb_verdict verdict);

/* A line of fields. Blanks are owed, and only written before the next text: no line ends with
 * blanks, which a log or a test would show as a difference. A new line begins with {0}, or with its
 * indent as `pending`. */
struct lb_display_line {
  /* blanks owed */
  size_t pending;
};

/* Appends text in a field of `width` bytes; a longer text makes the line longer. All texts here are
 * ASCII, so bytes are columns. `colour` NULL = none; it ends with the text, not with the field. The
 * caller ends the line. */
void lb_display_field(struct lb_display_line *line, const char *text, size_t width, const char *colour, FILE *out);

/* Columns that there are: COLUMNS of the environment, or those of the terminal, 120 at most; 120 where
 * `out` is no terminal, so that two logs of a run have the same lines. */
size_t lb_display_width(FILE *out);
/* Text for people in lines of at most lb_display_width(), broken at blanks: the first one behind `first`
 * blanks, the others behind `rest`. Ends with a newline. */
void lb_display_wrap(const char *text, size_t first, size_t rest, FILE *out);
/* The same in lines of `width`. */
void lb_display_wrap_at(const char *text, size_t width, size_t first, size_t rest, FILE *out);

#endif
