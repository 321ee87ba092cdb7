/* SPDX-License-Identifier: MIT
 *
 * admit.h - which trial may start beside those that run. The engine asks for each one; the estimate (estimate.h) asks
 * how many of a kind it would let in.
 *
 * A trial mostly waits, but its servers take all the processor they can get while they start: three JVMs 1.4 s of it.
 * Eight such ensembles that start at once are so late that their trials are no longer about the lock.
 */
#ifndef LB_RUN_ADMIT_H
#define LB_RUN_ADMIT_H

#include <stdbool.h>
#include <stdint.h>

struct lb_protocol;
struct lb_topology;

#define LB_JOBS_MOST 64 /* more are not played side by side, whatever is asked for */

/* How many trials run side by side: `always` so many, up to `most` while the machine has time left. */
struct lb_jobs {
  int always, most;
};
#define LB_JOBS_ALONE ((struct lb_jobs){1, 1})

/* Processor time until the servers of a trial and its clients are there: a foreign lock has a program for each
 * client. */
int lb_admit_start_ms(const struct lb_protocol *protocol, const struct lb_topology *topology, int clients);

struct lb_crowd { /* what runs now, and what the machine has left */
  struct lb_jobs jobs;
  int cores;       /* processors of this machine */
  int running;     /* processes of trials, and those that wait for another one */
  int playing;     /* of the running ones: those that have a trial */
  bool measuring;  /* one of them measures speed */
  int starting;    /* of the running ones: those whose servers and clients are not there yet, and still compute */
  int starting_ms; /* what these still cost together (lb_admit_start_left_ms()) */
  int waiting;     /* trials that have not begun */
  int serving;     /* of the running ones: those that play on servers which others of them get next */
  double spare;    /* share of the processors' time at the last look; 0 = unknown */
  bool tight;      /* memory is scarce */
  int since;       /* trials that were started since that look, which did not see them */
};

struct lb_entry { /* one that wants to begin */
  int start_ms;   /* processor time of its start */
  bool starts;    /* it needs servers of its own; else it plays on some that are there */
  bool measures;  /* speed: nothing runs beside it */
};

enum lb_admission {
  LB_ADMIT_NOW,
  LB_ADMIT_LATER, /* when the machine has more time left */
  LB_ADMIT_PLACE, /* when one of the running processes has ended */
};

/* How much of a start is left that began so long ago, where this share of the processors' time is spare. */
int lb_admit_start_left_ms(int start_ms, int64_t ago_ms, double spare);

/* Whether it may begin now. It may if there is a place for it, and what starts beside it is little enough for the
 * processors; or if nothing starts, so that the dearest one gets its turn. Beyond `always` others, the processors have
 * to stand still for half of the time if it starts servers, and for three tenths if it does not. */
enum lb_admission lb_crowd_admits(const struct lb_crowd *now, const struct lb_entry *entry);

#endif
