/* SPDX-License-Identifier: MIT
 *
 * display_parts.h - what the tables of the terminal share: how a cell is written, and lines of
 * columns. Private to display*.c.
 */
#ifndef LB_DISPLAY_PARTS_H
#define LB_DISPLAY_PARTS_H

#include <stdio.h>

#include "run/tally.h"

/* How much room a cell takes. The tables try the first and fall back on the second. */
enum lb_display_style { LB_DISPLAY_WORDS, LB_DISPLAY_SHORT }; /* "VIOLATED 2/3", "VIOL 2/3" */

/* Verdict and count of a cell, with a `!` where it differs from the expectation: "safe 3" = all of
 * 3 trials, "safe 15 of 21" = only these were decided, "VIOLATED 2/3" = 2 of 3 decided ones, "undecided 1/3" = 1 of all 3, "n/a 2" = for the
 * second of the reasons below the tables. 64 bytes are enough
 * for `buf`. */
void lb_display_cell_text(const struct lb_cell_sum *cell, enum lb_display_style style, char *buf, size_t size);
/* What a terminal is sent before such a text; "\033[0m" ends it. */
const char *lb_display_colour(enum lb_verdict verdict);
/* The cell of these three; NULL = it was not asked for. */
const struct lb_cell_sum *lb_display_cell_at(const struct lb_tally *tally, const struct lb_scenario *scenario,
                                             const char *system, enum lb_guard guard);

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

/* What each guard changes; nothing if the run has no guard (display_guards.c). */
void lb_display_guards(const struct lb_tally *tally, FILE *out);

#endif
