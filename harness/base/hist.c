/* SPDX-License-Identifier: MIT
 *
 * The histogram: buckets grow with the value, so that the relative error is the same from
 * nanoseconds to centuries. Values below 64 have a bucket each; from there every power of two is
 * cut into 64.
 */
#include <math.h>
#include <string.h>

#include "hist.h"

enum { SUB_BITS = 6 };
_Static_assert(LB_HIST_SUB == 1 << SUB_BITS, "the number of buckets per power of two is itself one");

static unsigned bucket_of(uint64_t value) {
  if (value < LB_HIST_SUB) return (unsigned)value;
  unsigned shift = 63 - (unsigned)__builtin_clzll(value) - SUB_BITS;
  return shift * LB_HIST_SUB + (unsigned)(value >> shift); /* the shifted value is in [64,128) */
}

uint64_t lb_hist_bucket_low(unsigned i) {
  if (i < LB_HIST_SUB) return i;
  unsigned shift = i / LB_HIST_SUB - 1;
  return (uint64_t)(LB_HIST_SUB + i % LB_HIST_SUB) << shift;
}

uint64_t lb_hist_bucket_high(unsigned i) {
  if (i < LB_HIST_SUB) return i;
  return lb_hist_bucket_low(i) + ((UINT64_C(1) << (i / LB_HIST_SUB - 1)) - 1);
}

void lb_hist_init(struct lb_hist *hist) { memset(hist, 0, sizeof *hist); }

void lb_hist_add(struct lb_hist *hist, uint64_t value) {
  if (hist->count == 0 || value < hist->min) hist->min = value;
  hist->count++;
  hist->sum += (double)value;
  if (value > hist->max) hist->max = value;
  hist->bucket[bucket_of(value)]++;
}

/* ceil(q * count) as meant in decimal: 0.07 * 100 is 7, not the 8 that its binary rounding would
 * give. */
static uint64_t rank_of(double q, uint64_t count) {
  double rank = ceil(q * (double)count * (1 - 1e-12));
  if (!(rank > 1)) return 1;
  return rank < (double)count ? (uint64_t)rank : count;
}

uint64_t lb_hist_quantile(const struct lb_hist *hist, double q) {
  if (hist->count == 0) return 0;
  uint64_t rank = rank_of(q, hist->count), seen = 0;
  unsigned i = 0;
  while (i < LB_HIST_BUCKETS - 1 && (seen += hist->bucket[i]) < rank) i++;
  uint64_t low = lb_hist_bucket_low(i), value = low + (lb_hist_bucket_high(i) - low) / 2;
  return value < hist->min ? hist->min : value > hist->max ? hist->max : value;
}
