/* SPDX-License-Identifier: MIT
 *
 * admit.h - which trial may start beside those that run.
 *
 * A trial mostly waits, but its servers take all the processor they can get while they start: three JVMs 1.4 s of it.
 * Eight such ensembles that start at once are so late that their trials are no longer about the lock.
 */
#ifndef LB_RUN_ADMIT_H
#define LB_RUN_ADMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/machine.h"

struct lb_protocol;
struct lb_topology;

#define LB_JOBS_MOST 64 /* more are not played side by side, whatever is asked for */

/* Processor time until the servers of a trial and its clients are there: a foreign lock has a program for each
 * client. */
int lb_start_ms(const struct lb_protocol *protocol, const struct lb_topology *topology, int clients);

struct lb_crowd {  /* what runs now */
  int running;     /* processes of trials, and those that wait for another one */
  int most;        /* so many may */
  int starting;    /* of the running ones: those whose servers and clients are not there yet, and still compute */
  int starting_ms; /* what these still cost together (lb_start_left_ms()) */
  int cores;       /* processors of this machine */
  int waiting;     /* trials that have not begun */
  int serving;     /* of the running ones: those that play on servers which others of them get next */
};

/* How much of a start is left that began so long ago, where this share of the processors' time is spare. */
int lb_start_left_ms(int start_ms, int64_t ago_ms, double spare);

/* Whether a trial whose start takes `start_ms` of processor time may start now: there is a place for it, and what
 * starts beside it is little enough for the processors; or nothing starts, so that the dearest one gets its turn. */
bool lb_admits(const struct lb_crowd *now, int start_ms);

/* How many trials run side by side by default: `always` so many, up to `most` while the machine has time left. */
struct lb_jobs {
  int always, most;
};
#define LB_JOBS_ALONE ((struct lb_jobs){1, 1})

struct lb_pace {
  struct lb_jobs jobs;
  struct lb_spare spare; /* of the processors' time, at the last look */
  int since;             /* trials that were started since that look, which did not see them */
  int cores;
};

struct lb_pace lb_pace_begin(struct lb_jobs jobs);
/* Takes another look at the machine, if the last one is long enough ago. */
void lb_pace_look(struct lb_pace *pace);
/* Whether one more may be played beside `playing` others. One that needs servers of its own (`starts`) may where the
 * processors stand still for half of the time; one on servers that are there, unless less than three tenths of the time
 * is left. */
bool lb_pace_allows(const struct lb_pace *pace, int playing, bool starts);

#endif
