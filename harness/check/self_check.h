/* SPDX-License-Identifier: MIT
 *
 * self_check.h - whether a measured window says something of the lock, or of the instrument. Reads numbers and histories.
 *
 * A trial that fails a check has no figures of speed: its columns are empty, so they cannot be averaged. Its verdict on
 * exclusion stands. Without servers the clients are the lock, so neither their processors nor the time between two
 * calls is held against them.
 */
#ifndef LB_SELF_CHECK_H
#define LB_SELF_CHECK_H

#include "stats.h"

/* In per cent. */
enum {
  LB_SELF_LITTLE = 10, /* clients inside a call: by the load, and by rate times latency (Little's law) */
  LB_SELF_RATE = 5,    /* open loop: starts asked for, and starts made */
  LB_SELF_IDLE = 95,   /* a client that is busy for less of the time is not what the schedule waits for */
  LB_SELF_CPU = 95,    /* processor time of the clients, of what they could have had */
  LB_SELF_STEAL = 5,   /* time that the hypervisor took from this machine */
  LB_SELF_COUNT = 95,  /* the servers' counters, of what the clients were granted */
};

/* What the clients did in the window, from the events alone. A client is inside from `acquire` until its release is
 * confirmed, or until it has given up. */
struct lb_inside {
  double inside_s;    /* of all clients, cut off where the window begins and ends */
  double uncounted_s; /* of attempts that no histogram has: lost, not confirmed, of an open loop given up */
  double edge_s;      /* of attempts that the begin or the end of the window cuts in two */
  uint64_t starts;    /* attempts begun in it */
  uint64_t idle,
      idle_starts; /* clients that were inside for less than LB_SELF_IDLE of it, and their starts that were due in it */
};
void lb_inside_measure(const struct lb_history *history, const struct lb_stats *stats, struct lb_inside *ret);

struct lb_self_facts {
  double seconds;
  int clients, unanswered; /* the second: of them, those that were never granted a lock nor refused one */
  bool has_servers;
  double asked_per_s; /* open loop; 0 = closed */
  double think_s;     /* mean, between two attempts of a closed loop */
  struct lb_inside inside;
  double latency_s;            /* sum of all waits (open loop: services), holds and releases */
  double longest_s, history_s; /* the largest value of a histogram, and the length of the history */
  double cpu_s;                /* of the clients' processes; -1 = unknown */
  double cores;                /* that they could use */
  double steal;                /* share of the machine's time; -1 = unknown */
  uint64_t grants, releases;   /* confirmed ones */
  int64_t requests, commits;   /* of the servers; -1 = they do not say */
  bool writes;                 /* each grant is a record that a server wrote */
  bool counted_back;           /* a count of theirs became smaller */
};

struct lb_self_verdict {
  unsigned failed;         /* a bit for each check that failed, 1 << enum lb_self_check */
  bool saturated;          /* open loop: clients were busy when the next start was due, so fewer came than asked */
  double busy, by_latency; /* clients inside: by the load, by rate times latency */
  char why[300];           /* "A; B" */
};
enum lb_self_check {
  LB_CHECK_LITTLE,
  LB_CHECK_RATE,
  LB_CHECK_CPU,
  LB_CHECK_RANGE,
  LB_CHECK_COUNTERS,
  LB_CHECK_STEAL,
  LB_CHECK_ANSWERS
};

void lb_self_check(const struct lb_self_facts *facts, struct lb_self_verdict *ret);

/* The sum of all waits (open loop: services), holds and releases, and the largest of them, in s. */
double lb_self_latency_s(const struct lb_stats *stats);
double lb_self_longest_s(const struct lb_stats *stats);

#endif
