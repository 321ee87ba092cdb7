/* SPDX-License-Identifier: MIT
 *
 * rng.h - a small seeded random stream (splitmix64), one per purpose and process, so that one seed
 * replays a run. Not for secrets. Source: Steele, Lea, Flood, "Fast splittable pseudorandom number
 * generators", OOPSLA 2014.
 */
#ifndef LB_RNG_H
#define LB_RNG_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct lb_rng {
  uint64_t state;
};

static inline uint64_t lb_rng_next(struct lb_rng *rng) {
  uint64_t z = (rng->state += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* A stream of its own for (seed, purpose, index). */
static inline struct lb_rng lb_rng_fork(uint64_t seed, uint64_t purpose, uint64_t index) {
  struct lb_rng a = {seed}, b = {lb_rng_next(&a) ^ (purpose * UINT64_C(0xff51afd7ed558ccd))};
  struct lb_rng c = {lb_rng_next(&b) ^ (index * UINT64_C(0xc4ceb9fe1a85ec53))};
  return (struct lb_rng){lb_rng_next(&c)};
}

/* Uniform in [0, bound); 0 when bound is 0. The bias is below 2^-32 for every bound used here. */
static inline uint64_t lb_rng_below(struct lb_rng *rng, uint64_t bound) {
  return bound ? (uint64_t)(((unsigned __int128)lb_rng_next(rng) * bound) >> 64) : 0;
}

/* Exponential, rounded down. */
uint64_t lb_rng_exponential(struct lb_rng *rng, uint64_t mean);
/* In [0, count), where i has the weight 1 / (i + 1)^skew; 0 when count is 0. */
uint64_t lb_rng_zipf(struct lb_rng *rng, uint64_t count, double skew);

static inline void lb_rng_bytes(struct lb_rng *rng, void *buf, size_t size) {
  unsigned char *out = buf;
  while (size > 0) {
    uint64_t word = lb_rng_next(rng);
    size_t n = size < sizeof word ? size : sizeof word;
    memcpy(out, &word, n);
    out += n;
    size -= n;
  }
}

#endif
