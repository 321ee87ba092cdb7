/* SPDX-License-Identifier: MIT
 *
 * shrink.h - cuts a directed timeline down to the smallest that still breaks the lock.
 *
 * Shrinking plays such timelines on real servers, first with fewer faults, then with shorter times, as long as a trial
 * is violated. It starts with the first of these that breaks in every trial: no fault, one fault alone, the last two
 * and more up to the whole, each in every way to play the two clients (lb_directed_way). If none does, it starts with
 * the one that broke most often; then half as often is enough. Every question is asked with new seeds.
 */
#ifndef LB_HUNT_SHRINK_H
#define LB_HUNT_SHRINK_H

#include "directed.h"
#include "run/estimate.h"
#include "run/rundir.h"

struct lb_shrink_live {
  const char *what;  /* "start", "faults", "times", "again" */
  size_t asked;      /* timelines that were played */
  size_t all;        /* that will be, as far as can be said */
  size_t violations; /* trials so far */
  double elapsed_s, left_s;
  bool ended;        /* a timeline has just ended; else a second of the clock */
  int broke, trials; /* of the latest of them */
  size_t faults;     /* that are left in the smallest so far */
  long long ms;      /* that it waits in all */
};
struct lb_shrink_order {
  const struct lb_directed_of *of; /* borrowed */
  const struct lb_rundir *dir;     /* scratch */
  int trials;                      /* of each timeline; the last one is played four times as often */
  struct lb_jobs jobs;             /* so many side by side */
  uint64_t seed;
  double budget_s;     /* 0 = as long as it takes */
  struct lb_room room; /* of the machine, for the estimate */
  void (*begin)(void *display, size_t timelines,
                double seconds); /* before the first one, about so many, of so long; no longer than the budget */
  void (*tick)(void *display, const struct lb_shrink_live *live); /* after each timeline, and about once a second */
  void *display;
};
enum lb_shrink_end {
  LB_SHRINK_WHOLE,
  LB_SHRINK_OUT_OF_BUDGET,
  LB_SHRINK_INTERRUPTED,   /* the smallest so far is there: `broke` is what it broke at least */
  LB_SHRINK_NEVER,         /* no directed timeline broke */
  LB_SHRINK_NEVER_IN_TIME, /* none of those for which there was time */
};
struct lb_shrunk {
  enum lb_shrink_end end;
  bool keep[LB_DIRECTED_FAULTS_MAX];
  size_t faults;     /* that are kept */
  int broke, trials; /* of the smallest, at the end, with seeds of its own */
  size_t asked;      /* timelines that were played */
  char why[400];     /* of NEVER: what the latest undecided trial said; may be empty */
};

/* Cuts it down in place (its times, and the way to play it) and into *ret. 0; -EINTR before one broke; other -errno
 * with one line in err. */
int lb_shrink(const struct lb_shrink_order *order, struct lb_directed *directed, struct lb_shrunk *ret,
              struct lb_error *err);

/* ---- Delta debugging: the smallest part of a list that still does what the whole did. Pure: what "does" means is the
 * caller's.
 *
 * Source: Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", IEEE TSE 2002. What belongs
 * together (a fault and its undo) is one element, as in DEMi (NSDI 2016). ---- */

/* Whether those with keep[i] alone do it: 1 or 0; anything below 0 ends the search. */
typedef int (*lb_shrink_ddmin_test)(void *of, const bool keep[]);

/* Those with keep[i] are known to do it. In the end they still do, and without any single one of them they do not:
 * 1-minimal. The empty list is never asked about: its caller has. 0; what the test said if that is below 0, then keep
 * is the smallest list known to do it. */
int lb_shrink_ddmin(bool keep[], size_t count, lb_shrink_ddmin_test test, void *of);

/* The smallest of value, value/2, value/4 ... that still does it, but `least` at least, or 0 if that does: what times
 * are cut down with. test(of, v) as above; value itself is known to do it. Into *value. 0, or what the test said if
 * that is below 0 (then *value is the smallest known to do it). */
int lb_shrink_halve(long long *value, long long least, int (*test)(void *of, long long value), void *of);

#endif
