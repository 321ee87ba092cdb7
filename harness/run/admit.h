/* SPDX-License-Identifier: MIT
 *
 * admit.h - which trial may start beside those that run. A trial mostly waits, but its servers take all the
 * processor they can get while they start: three JVMs 1.4 s of it. Started all at once, eight such ensembles
 * are late by so much that their trials are no longer about the lock.
 *
 * Decides, and knows nothing of processes: whoever starts trials (runner.c) fills in what it sees.
 */
#ifndef LB_ADMIT_H
#define LB_ADMIT_H

#include <stdbool.h>

/* How many trials run side by side: `always` so many, if there are as many; up to `most` as long as the machine has time left. */
struct lb_jobs {
  int always, most;
};
#define LB_JOBS_MOST 64 /* more are not played side by side, whatever is asked for */
#define LB_JOBS_ALONE ((struct lb_jobs){1, 1})

struct lb_protocol;
struct lb_topology;

/* Processor time until the servers of a trial and its clients are there: a foreign lock has a program for each client. */
int lb_start_ms(const struct lb_protocol *protocol, const struct lb_topology *topology, int clients);

struct lb_crowd { /* what runs now */
  int running;         /* trials, and who has servers and waits for another one */
  int playing;         /* trials alone */
  struct lb_jobs jobs; /* and how many may */
  double spare;        /* of the processors' time: what nobody used when it was looked last (spare.h) */
  int since;           /* trials that were started since that look, which did not see them */
  int freed;           /* places that somebody gave up for one that wants servers of its own, and that nobody has taken */
  int starting;      /* of the running ones: those whose servers and clients are not there yet */
  int starting_ms;   /* what these cost together (lb_start_ms()) */
  int cores;         /* processors of this machine */
  int waiting;       /* trials that have not been started */
  int serving;       /* of the running ones: those whose servers serve others of them next */
};

/* Whether a trial whose start takes `start_ms` of processor time may start now: there is a place for it, and what starts
 * beside it is little enough for the processors; or nothing starts, so that the dearest one gets its turn. Beyond `always`, a place is there where the
 * processors stood still for half of the time. */
bool lb_admits(const struct lb_crowd *now, int start_ms);
/* Whether one more may run at all, whatever its start costs. */
bool lb_admits_one(const struct lb_crowd *now);
/* Whether one that has its servers already may go on with another trial: always so many may, the others as long as the processors bear it: not if
 * less than three tenths of their time are left. Those that become free between two looks go on together. */
bool lb_admits_another(const struct lb_crowd *now);

#endif
