/* SPDX-License-Identifier: MIT
 *
 * pairs.h - numbers the pairs (client, key) of a history in order of first use, so that what is
 * known about each can stand in a plain array. A hash table, because clients times keys may be far
 * more than the pairs that occur.
 */
#ifndef LB_PAIRS_H
#define LB_PAIRS_H

#include <stddef.h>
#include <stdint.h>

struct lb_pairs { /* all zero = empty */
  uint32_t count;
  uint64_t *pair;  /* by number: client << 32 | key */
  uint32_t *slots; /* number plus one, 0 = empty */
  size_t slot_count;
};

/* The number of a pair, which is `count - 1` if it is new; UINT32_MAX when memory is exhausted. */
uint32_t lb_pairs_number(struct lb_pairs *pairs, uint32_t client, uint32_t key);
void lb_pairs_clear(struct lb_pairs *pairs);

#endif
