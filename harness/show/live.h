/* SPDX-License-Identifier: MIT
 *
 * live.h - the one line that says how far a command is: done, left, elapsed, time left, violations. On a terminal it is
 * overwritten in place; elsewhere it is a line every half a minute.
 */
#ifndef LB_LIVE_H
#define LB_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { LB_LIVE_COLUMNS = 80, LB_LIVE_LINE = 400 };

struct lb_live_state {
  size_t done, all; /* trials, or timelines of a hunt */
  double elapsed_s;
  double left_s;     /* < 0 = unknown */
  size_t violations; /* so far */
  const char *what;  /* that runs now; "" = nothing to name. It is what is cut where the line is too long */
};
/* "[12/555] 543 left, 1m02s, about 11 min left, 3 violations, WHAT", in less than `columns`. */
void lb_live_line(const struct lb_live_state *state, int columns, char ret[LB_LIVE_LINE]);
/* "about 12 min": rounded as one would say it. At least one second. */
void lb_live_about(double s, char *ret, size_t size);

struct lb_live_out {
  FILE *out;
  bool terminal;
  uint64_t said_ns; /* without a terminal: when the latest line was written, or the begin */
};
/* Whether a line of it can be overwritten: a terminal, and not TERM=dumb, as in an editor. */
bool lb_live_terminal(FILE *out);
/* Columns of the terminal that `out` is; 0 = it is none, or does not say. */
int lb_live_columns(FILE *out);
/* Shows it, or, without a terminal, writes it if the latest one is half a minute old. */
void lb_live_show(struct lb_live_out *out, const struct lb_live_state *state);
/* Takes it away, so that something else can be written. Nothing without a terminal. */
void lb_live_hide(const struct lb_live_out *out);

#endif
