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

struct lb_crowd { /* what runs now */
  int running, most; /* trials, and how many may run side by side */
  int starting;      /* of the running ones: those whose servers and clients are not there yet */
  int starting_ms;   /* what these cost together (lb_topology.start_ms) */
  int cores;         /* processors of this machine */
  int waiting;       /* trials that have not been started */
  int serving;       /* of the running ones: those whose servers serve others of them next */
};

/* Whether a trial whose start takes `start_ms` of processor time may start now: there is a place for it, and what starts
 * beside it is little enough for the processors; or nothing starts, so that the dearest one gets its turn. */
bool lb_admits(const struct lb_crowd *now, int start_ms);

#endif
