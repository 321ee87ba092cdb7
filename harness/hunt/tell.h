/* SPDX-License-Identifier: MIT
 *
 * tell.h - what a person sees of a hunt: its table.
 */
#ifndef LB_HUNT_TELL_H
#define LB_HUNT_TELL_H

#include "hunt.h"

/* The head of the table of systems, and the row of a hunt. */
void lb_hunt_tell_head(FILE *out);
void lb_hunt_tell_row(const struct lb_hunt *hunt, FILE *out);
/* What the words of the table mean, after the last row. */
void lb_hunt_tell_legend(FILE *out);
/* A line for each set: its file, how often it broke, what it is in words. Each class but `lease` has at most `max` of
 * them. */
void lb_hunt_tell_sets(const struct lb_hunt *hunt, const char *folder, size_t max, FILE *out);
/* Why it ended, what was left out by which bound, and why trials were undecided: grouped by reason. */
void lb_hunt_tell_remarks(const struct lb_hunt *hunt, const struct lb_hunt_order *order, FILE *out);
/* What became of the audit of what is not run: one line, and one for each answer but the same; and of guards over what
 * does not break. */
void lb_hunt_tell_audit(const struct lb_hunt *hunt, FILE *out);

#endif
