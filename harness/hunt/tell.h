/* SPDX-License-Identifier: MIT
 *
 * tell.h - what a person sees of a hunt: its table, and the files that are kept: hunt.csv and a scenario file for each
 * set.
 */
#ifndef LB_HUNT_TELL_H
#define LB_HUNT_TELL_H

#include "base/error.h"
#include "base/machine.h"
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

/* Writes folder/hunt.csv and folder/hunt/NN.ini. 0, or -errno with one line in err. */
int lb_hunt_keep(const struct lb_hunt *hunt, const char *folder, struct lb_error *err);

/* One call of a hunt: when, how called, where, on which servers. A hunt that goes on has several. */

struct lb_hunt_sitting {
  const char *const *argv; /* borrowed */
  int argc;
  char started_utc[32];
  struct lb_machine before;
  char namespaces[300]; /* "root", "user", or "none: why" */
  char servers[700];    /* their version; empty where they do not say it */
};

/* Adds the sitting to order->folder/hunt.json, behind those that are there. 0, or -errno with one line in err. */
int lb_hunt_keep_sitting(const struct lb_hunt_sitting *sitting, const struct lb_hunt *hunt,
                         const struct lb_hunt_order *order, struct lb_error *err);

#endif
