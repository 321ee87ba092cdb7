/* SPDX-License-Identifier: MIT
 *
 * stats.h - figures of speed out of a history: histograms of wait, hold and hand-off, throughput
 * per second, fairness.
 *
 * wait    = granted - the first `acquire` of the attempt (a blocking acquire writes one acquire
 *           event, at its start). Where that acquire has a `due`, wait counts from there: a client
 *           of an open loop that is late because its attempt before took long has made a request
 *           wait, and a figure without that time would hide it (coordinated omission). `busy`,
 *           `timeout` and `unknown` end an attempt (a refused try inside an acquire is no event); a
 *           grant that still comes after these belongs to the attempt. A client that gives up has
 *           waited at least until then. This is its one wait: else the slowest would be missing.
 * service = granted - `acquire`, of an attempt with a `due`: what is left of its wait without the time that
 *           it was late.
 * hold    = release - granted; not counted where `lost` or `crash` ended it
 * handoff = granted - the first `release` after the new holder's `acquire` by the client that had the key
 *           before, and after which no client held it: what a waiter waits for when the holder has let go.
 *           If that client took the lock again meanwhile, these holds are part of it.
 * release = `released` - `release`: one write at the service and the way there and back, under the
 *           same load as the hand-off. A hand-off cannot be shorter than the part of it that the
 *           service needs.
 *
 * A grant is a hand-off if the grant of its key before it was another client's, and a re-grant if it
 * was the same client's. Re-grants pass a lock to no other client, so they say little of what a lock
 * costs that several clients want. (The histogram `handoff` has fewer: those for which a client was waiting.)
 *
 * no grant = the longest time for which a key was asked for and not granted: from the latest grant of the
 * key (from the first `acquire` after it, if no client was waiting then) to the next one. Clients that
 * give up meanwhile do not end it. It ends at the latest when the last client stops asking.
 *
 * Only what is granted between the facts `phase` `measure` and `phase` `end` counts; without them,
 * everything. A missing `measure` stands for the first event, a missing `end` for the last.
 */
#ifndef LB_STATS_H
#define LB_STATS_H

#include "base/hist.h"
#include "counter.h"
#include "history/history.h"

struct lb_second { /* one second of the measured window */
  uint32_t second; /* from its begin */
  uint64_t grants, busy, timeouts, unknowns;
  uint64_t wait_p50_ns, wait_p99_ns;
};

struct lb_stats {
  double seconds;            /* length of the measured window (`measure` to `end`, or first to last event) */
  uint64_t begin_ns, end_ns; /* ... which is this, by the clock of the events */
  uint64_t grants, busy, timeouts, unknowns;
  uint64_t handoffs, regrants; /* of the grants; the first one of a key is neither */
  double grants_per_s, handoffs_per_s;
  /* Jain's index over the grants of each client that asked in the window, or was waiting when it
   * began: 1 = fair, 1/n = one got all; 0 = no grants. */
  double jain;
  uint64_t client_min, client_max; /* grants of the least and most lucky client */
  struct lb_hist wait, hold, handoff, release;
  struct lb_hist service;   /* wait without the time that an acquire was late; only of those that were due */
  int64_t no_grant_ns;      /* -1 = no client waited */
  int64_t no_grant_open_ns; /* the same of keys that were not granted again; -1 = all were */
  struct lb_no_grant {
    uint32_t key;
    uint64_t since, until;   /* of the clock of the events */
  } no_grant, no_grant_open; /* these times, the first of the longest; all zero if no client waited */
  /* For one client as a reader or as a writer: from its first request after its latest grant to its latest refusal, or
   * to its next grant. A request alone counts if it was granted. */
  struct lb_turn {
    int64_t ns; /* -1 = none */
    uint32_t client;
    bool shared;    /* it asked as a reader */
    uint64_t since; /* by the clock of the events */
  } longest;
  struct lb_turn left_out;      /* the longest in which others were granted the key that they could not share with it */
  struct lb_turn left_out_open; /* the same of a client that was not granted it again */
  uint32_t unanswered;          /* clients that asked, and never were granted a key nor refused one */
  uint32_t never_granted;       /* clients that were refused, and never granted any */
  struct lb_second *series;     /* every second of the window, the last one perhaps cut short */
  size_t series_count;          /* 0 if the window is longer than LB_STATS_SECONDS_MAX */
};
#define LB_STATS_SECONDS_MAX 604800 /* a week; bounds the memory that a file with wild times can ask for */

/* Release with lb_stats_clear(). */
void lb_stats_history(const struct lb_history *history, struct lb_stats *ret);
void lb_stats_clear(struct lb_stats *stats);
/* Fills in the counters with LB_FROM_STATS. */
void lb_stats_counters(const struct lb_stats *stats, struct lb_counters *ret);

#endif
