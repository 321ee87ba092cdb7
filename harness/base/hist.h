/* SPDX-License-Identifier: MIT
 *
 * hist.h - a histogram of times from nanoseconds to centuries.
 */
#ifndef LB_HIST_H
#define LB_HIST_H

#include <stdint.h>

/* Histogram with 64 linear buckets per power of two: error below 1/64 of the value, exact merge by
 * adding, no clamp. Shape as fio's and HdrHistogram's. All zero = empty. */
#define LB_HIST_SUB 64
#define LB_HIST_BUCKETS ((64 - 6 + 1) * LB_HIST_SUB)
struct lb_hist {
  uint64_t count;
  uint64_t min, max; /* 0 when empty */
  double sum;
  uint32_t bucket[LB_HIST_BUCKETS];
};
void lb_hist_init(struct lb_hist *hist);
void lb_hist_add(struct lb_hist *hist, uint64_t value);
/* Value at quantile q in [0,1]: the middle of the bucket that holds the ceil(q * count)-th
 * smallest, clamped to [min,max]. 0 when empty. */
uint64_t lb_hist_quantile(const struct lb_hist *hist, double q);
/* Smallest and largest value that fall into bucket i. */
uint64_t lb_hist_bucket_low(unsigned i);
uint64_t lb_hist_bucket_high(unsigned i);

#endif
