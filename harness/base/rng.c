/* SPDX-License-Identifier: MIT
 *
 * Seeded random numbers in independent streams: splitmix64.
 */
#include "rng.h"

#include <string.h>

void lb_rng_bytes(struct lb_rng *rng, void *buf, size_t size) {
  unsigned char *out = buf;
  while (size > 0) {
    uint64_t word = lb_rng_next(rng);
    size_t n = size < sizeof word ? size : sizeof word;
    memcpy(out, &word, n);
    out += n;
    size -= n;
  }
}
