/* SPDX-License-Identifier: MIT
 *
 * hunt.h - the hunt for the faults that break a lock: all timelines of at most k faults over one fixed program
 * (space.h), on real servers; then the smallest sets of them that break exclusion, confirmed with new seeds, every
 * proper subset run.
 *
 * Sources of the ideas: bounds that tighten with the number of faults, CrashMonkey/ACE (OSDI 2018); few faults and few
 * nodes are enough, Yuan et al. (OSDI 2014); minimal cuts of what a promise rests on, lineage-driven fault injection
 * (SIGMOD 2015). Failure is not monotone: a further fault may hide what two did, so what contains a breaking set is not
 * taken to break.
 */
#ifndef LB_HUNT_HUNT_H
#define LB_HUNT_HUNT_H

#include "base/error.h"
#include "audit.h"
#include "run/estimate.h"
#include "run/shard.h"
#include "simplify.h"
#include "batch.h"

struct lb_hunt_live {       /* for the live line */
  size_t faults;            /* timelines with so many faults are being run ... */
  const char *what;         /* "looking", "confirming", "asking again", "guards" */
  size_t done, count;       /* of these */
  size_t breaking;          /* timelines so far that broke once or more */
  size_t undecided;         /* trials so far */
  size_t known, all;        /* timelines that are run: those with a decided trial, and all */
  double elapsed_s, left_s; /* since the begin; until the end, estimated */
};
struct lb_hunt_trial { /* one that has ended */
  const char *id;      /* of its timeline */
  enum lb_guard guard;
  enum lb_hunt_outcome outcome;
  const char *why; /* of an undecided one */
  double seconds;
};
struct lb_hunt_order { /* what is wanted. Texts and tables are borrowed */
  const struct lb_protocol *protocol;
  const struct lb_topology *topology;
  const char *system; /* as it was typed */
  const char *const *settings;
  size_t setting_count;
  struct lb_hunt_switches switches;
  int faults_max;
  enum lb_guard guard; /* under which the sets are looked for */
  uint64_t seed;
  double budget_s;  /* 0 = as long as it takes */
  const char *only; /* the id of one timeline; NULL = all */
  /* One of several hunts that share the timelines with two faults or more, and only look at them; who puts their
   * journals together goes on with what follows. of == 0: it is not shared. */
  struct lb_shard shard;
  struct lb_jobs jobs; /* trials side by side */
  const char *folder;  /* of results: it is there */
  const struct lb_rundir *dir;
  struct lb_room room; /* of the machine, for the estimate */
  /* Before the first trial: it has so many timelines to look at, and takes so long, or as long as its budget. */
  void (*begin)(void *display, size_t timelines, double seconds);
  void (*tick)(void *display, const struct lb_hunt_live *live);
  void (*trial)(void *display, const struct lb_hunt_trial *trial); /* may be NULL */
  void *display;
};

enum lb_hunt_end { LB_HUNT_WHOLE, LB_HUNT_OUT_OF_BUDGET, LB_HUNT_INTERRUPTED };

struct lb_hunt { /* its result. Released with lb_hunt_clear() */
  struct lb_hunt_space space;
  struct lb_hunt_journal journal;
  struct lb_hunt_sets sets;
  struct lb_hunt_audit audit; /* of what it does not run */
  enum lb_hunt_end end;
  double seconds;
  size_t wanted[LB_HUNT_FAULTS_MAX + 1]; /* timelines with so many faults that the space would run */
  size_t ran[LB_HUNT_FAULTS_MAX + 1];    /* those that were */
  size_t held[LB_HUNT_FAULTS_MAX + 1];   /* not run, as they contain a minimal set: LB_HUNT_LEASE */
  size_t first;                          /* of the order, chosen by lineage */
  size_t audited, audit_new;             /* of those a sample was run all the same; so many of it did not break */
  unsigned stopped_by
      [LB_GUARD_COUNT]; /* of the minimal sets within a lease: those under this guard that did no damage in any trial */
  unsigned asked_of[LB_GUARD_COUNT]; /* ... of so many that could be asked */
};

/* Hunts; the journal is in folder/trials.csv, and a hunt goes on from what is there. 0, also if it was interrupted or
 * ran out of budget (hunt->end); -EINVAL or other -errno with one line in err. */
int lb_hunt_run(const struct lb_hunt_order *order, struct lb_hunt *ret, struct lb_error *err);
void lb_hunt_clear(struct lb_hunt *hunt);

#endif
