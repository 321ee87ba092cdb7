/* SPDX-License-Identifier: MIT
 *
 * estimate.h - how long trials took, as it was measured: scenarios/times.csv, which scenarios/times.py makes out of run
 * folders (results/SCHEMA.md).
 */
#ifndef LB_RUN_ESTIMATE_H
#define LB_RUN_ESTIMATE_H

#include "base/error.h"
#include "admit.h"
#include "tally.h"
#include "trial/trial.h"

struct lb_times_row { /* medians over trials of a scenario on a system with so many clients */
  char scenario[100], system[100];
  int clients;
  double asked_s;         /* of a load or a campaign: how long it was told to take; 0 = a timeline */
  double start_s, rest_s; /* until servers and clients were there, and from then on */
};
struct lb_times {
  struct lb_times_row *row; /* owned */
  size_t count;
};

/* 0 (release with lb_times_clear()); -EINVAL or other -errno with one line in err, and then *ret is empty:
 * lb_times_find() guesses. */
int lb_times_read(const char *path, struct lb_times *ret, struct lb_error *err);
void lb_times_clear(struct lb_times *times);

struct lb_took {
  double start_s, rest_s;
};
/* How long this trial takes: as it took, else as its scenario took on the same topology, or on any; else as timelines
 * of that topology take. */
struct lb_took lb_times_find(const struct lb_times *times, const struct lb_trial_plan *plan);
/* The same of every job of a plan, by its index. */
void lb_times_find_all(const struct lb_times *times, const struct lb_plan *plan, struct lb_took ret[]);

/* How long a run will take here, before it starts and while it goes on: the sum of what each trial takes of the machine.
 * What there is least of bounds the run. How many share the places and the starts: as many of a kind as the engine lets
 * in (admit.h). */

struct lb_effort {             /* of one trial, as it is alone on a machine */
  double start_s, start_cpu_s; /* until its servers and clients are there, and the processor time in it */
  double rest_s, rest_cpu_s;   /* and from then on until its outcome is there */
  int start_ms;                /* what lb_crowd_admits() goes by (lb_topology.start_ms) */
  bool alone;                  /* it measures */
};

struct lb_room { /* what the machine has for a run */
  int cores;
  double others; /* processes of others that want a processor */
  struct lb_jobs jobs;
};

/* What trials take of a run, as if nothing else were scarce. */
struct lb_share {
  double alone_s;                   /* of those that measure */
  double places_s, starts_s, cpu_s; /* of the others: of the places side by side, of starts, of the processors */
  double longest_s;                 /* no run of them ends before its longest */
};
struct lb_share lb_estimate_share(const struct lb_effort *effort, const struct lb_room *room);
void lb_estimate_add(struct lb_share *sum, struct lb_share share);
/* Seconds until all that were added are done. */
double lb_estimate_of(struct lb_share sum);

struct lb_estimate {      /* of a run that goes on. Filled by lb_estimate_begin() */
  struct lb_share *share; /* by the position in the plan's order */
  size_t count;
  double whole_s; /* of what was not done at the begin */
};

/* What the tally has already is done. `times` is not needed afterwards. Release with lb_estimate_end(). */
void lb_estimate_begin(const struct lb_tally *tally, const struct lb_times *times, const struct lb_room *room,
                       struct lb_estimate *ret);
/* Seconds until the end of the run, `elapsed_s` after its begin: what is left by the measured times, corrected by how
 * right these were so far. */
double lb_estimate_left_s(const struct lb_estimate *estimate, const struct lb_tally *tally, double elapsed_s);
void lb_estimate_end(struct lb_estimate *estimate);

/* Corrects: `expected_s` were expected for what took `elapsed_s`, of `whole_s` in all. At the begin nothing is better
 * known than what was measured before. */
double lb_estimate_corrected(double left_s, double expected_s, double elapsed_s, double whole_s);

#endif
