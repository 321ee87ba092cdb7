/* SPDX-License-Identifier: MIT
 *
 * screen.h - a run of many cells on one screen: what is wrong first, then a table of a word per cell, three
 * sentences on what it means, and what to type next. The long tables are in display.h.
 */
#ifndef LB_SCREEN_H
#define LB_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "run/tally.h"

enum { LB_SCREEN_LINES = 24, LB_SCREEN_COLUMNS = 100 };

struct lb_screen {
  const struct lb_tally *tally;
  const char *verdict; /* the first line */
  const char *dir;     /* results folder, for the command that explains a violation */
  const char *longer;  /* a suite to run next, and its time; "" = none */
  size_t after;        /* lines that the caller prints below */
};

/* At most LB_SCREEN_LINES - after lines of LB_SCREEN_COLUMNS columns, fewer on a narrow terminal. Only a path can be
 * longer. Scenarios and systems that do not fit are left out, those with the fewest losses first; how many is said. */
void lb_screen_print(const struct lb_screen *screen, FILE *out);

/* A line with the command that explains the cell whose history is worth reading first; nothing where none was lost or
 * unexpected. */
void lb_screen_see_one(const struct lb_tally *tally, const char *dir, FILE *out);

#endif
