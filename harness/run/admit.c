/* SPDX-License-Identifier: MIT
 *
 * Whether a trial may start now: by what its servers cost to start, and by what the processors have left.
 */
#include "admit.h"

#include "backends/foreign/foreign.h"
#include "servers/topology.h"

/* Starts side by side end about when the processors are through with all of them. So what they cost
 * together is bounded by what the processors do in TOGETHER_MS: servers that start ask each other and are
 * asked, and an answer that is late by that much is still in time.
 *
 * Where servers serve one trial after the other, others are started only if there is enough left for all of them: each
 * has to be worth its start. */

enum { TOGETHER_MS = 500 };
/* A trial that waits for its turn is about processors and not about the lock. Two that are threads of one core do
 * little more together than one alone, and count as busy all the same: what is more than half busy may have nothing
 * left. Trials of ensembles ended no sooner at 96 % than at 61 %, and more of them were undecided. */
#define SPARE_LEAST 0.5
#define SPARE_NONE 0.3

int lb_admit_start_ms(const struct lb_protocol *protocol, const struct lb_topology *topology, int clients) {
  return topology->start_ms + (protocol->traits & LB_TRAIT_FOREIGN ? clients * lb_foreign_start_ms(protocol) : 0);
}

/* One that has had more time than it computes, while a processor stood still, waits for something else: for its peers,
 * or for a lease. Where none stands still it may not have got its time yet. */
#define SPARE_SOME 0.1

int lb_admit_start_left_ms(int start_ms, int64_t ago_ms, double spare) {
  if (spare < SPARE_SOME) return start_ms;
  return ago_ms < start_ms ? start_ms - (int)ago_ms : 0;
}

static int at_least_1(int value) { return value < 1 ? 1 : value; }

/* What was started since the last look is not in it yet: one for each processor, then it is looked again. */
static bool has_time_left(const struct lb_crowd *now, bool starts) {
  if (now->playing < at_least_1(now->jobs.always)) return true;
  if (now->tight) return false;
  if (!starts) return now->spare > SPARE_NONE;
  return now->spare > SPARE_LEAST && now->since < at_least_1(now->cores);
}

static bool may_start_beside(const struct lb_crowd *now, int start_ms) {
  if (now->serving > 0 && now->waiting * TOGETHER_MS <= now->serving * start_ms) return false;
  return now->starting == 0 || now->starting_ms + start_ms <= at_least_1(now->cores) * TOGETHER_MS;
}

enum lb_admission lb_crowd_admits(const struct lb_crowd *now, const struct lb_entry *entry) {
  if (now->playing >= at_least_1(now->jobs.most)) return LB_ADMIT_PLACE;
  if (!has_time_left(now, entry->starts)) return LB_ADMIT_LATER;
  bool alone = entry->measures || now->measuring;
  if (now->running >= at_least_1(now->jobs.most) || (alone && now->running > 0)) return LB_ADMIT_PLACE;
  return !entry->starts || may_start_beside(now, entry->start_ms) ? LB_ADMIT_NOW : LB_ADMIT_LATER;
}
