/* SPDX-License-Identifier: MIT
 *
 * Starts side by side end about when the processors are through with all of them. So what they cost
 * together is bounded by what the processors do in TOGETHER_MS: servers that start ask each other and are
 * asked, and an answer that is late by that much is still in time.
 *
 * Where servers serve one trial after the other, others are started only if there is enough left for all of them: each has to be worth its start.
 */
#include "admit.h"

enum { TOGETHER_MS = 500 };

bool lb_admits(const struct lb_crowd *now, int start_ms) {
  int cores = now->cores < 1 ? 1 : now->cores;
  if (now->running >= now->most) return false;
  if (now->serving > 0 && now->waiting * TOGETHER_MS <= now->serving * start_ms) return false;
  return now->starting == 0 || now->starting_ms + start_ms <= cores * TOGETHER_MS;
}
