/* SPDX-License-Identifier: MIT
 *
 * hash.h - FNV-1a with 64 bits: a number for a name, the same on every machine. Seeds and digests are made of it.
 */
#ifndef LB_HASH_H
#define LB_HASH_H

#include <stddef.h>
#include <stdint.h>

#define LB_HASH_BEGIN UINT64_C(0xcbf29ce484222325)

/* What `hash` becomes with these bytes behind what it is of; LB_HASH_BEGIN = of nothing. */
static inline uint64_t lb_hash(uint64_t hash, const void *data, size_t size) {
  for (const unsigned char *byte = data; size > 0; size--) hash = (hash ^ *byte++) * UINT64_C(0x100000001b3);
  return hash;
}

#endif
