/* SPDX-License-Identifier: MIT
 *
 * write.h - a timeline of a hunt as a scenario file: complete, so that `lockbench run FILE` plays it
 * again.
 */
#ifndef LB_HUNT_WRITE_H
#define LB_HUNT_WRITE_H

#include <stdio.h>

#include "scenario/scenario.h"
#include "space.h"

/* What is changed in the program; all 0 = as the table of times says. */
struct lb_hunt_settings {
  bool no_client_3; /* simplified: no client opens its session late */
  bool no_renewal;  /* simplified: regime short without renewal */
  const char *note; /* more of the header, one line or several; NULL = none: "breaks 5 of 5" */
};
/* The times of a system in a regime, in ms (0 in settings = this). */
struct lb_hunt_times {
  int64_t ttl_ms;
  bool renew;
  int64_t acquire_ms;  /* ACQ: client 1's acquire */
  int64_t section_ms;  /* S: how long clients 2 and 3 try where no client stands still */
  int64_t write_ms;    /* W: how long a contender is given to write */
  int64_t failover_ms; /* D: patience for a takeover */
  int64_t mid_ms;      /* how long what is undone before a takeover lasts */
  int64_t pause_ms;    /* a client stands still until a contender has written, but no longer */
};
struct lb_hunt_times lb_hunt_times_of(const struct lb_hunt_system *system, enum lb_hunt_regime regime,
                                      const struct lb_hunt_settings *settings);

/* About how long a timeline takes to be played, in ms: what is waited for because it may never happen. To play the long
 * ones first, and none that would not be done in time. */
int64_t lb_hunt_write_takes_ms(const struct lb_hunt_system *system, const struct lb_hunt_timeline *timeline);

/* Writes the scenario of a timeline; `expected` is the word of [expect] ("race" while hunting, "violated" of a set that
 * was found). settings may be NULL. 0, or -errno of the file. */
int lb_hunt_write(const struct lb_hunt_timeline *timeline, const struct lb_hunt_system *system, enum lb_guard guard,
                  const struct lb_hunt_settings *settings, const char *expected, FILE *file);

/* The program of the hunt as the steps of a scenario, with the faults of one timeline in
 * their slots. Only write.c includes it. */

struct lb_hunt_program {
  const struct lb_hunt_timeline *timeline;
  const struct lb_hunt_system *system;
  struct lb_hunt_times times;
  bool client_3;
  FILE *file;
  bool dead[4]; /* by number of the client */
  bool spent_2; /* client 2 may have done its section by now: only another one shows anything */
};

#endif
