/* SPDX-License-Identifier: MIT
 *
 * Open addressing with linear probing, at most half full; nothing is ever removed. The pairs
 * themselves stand in order of first use, and the slots only point there: growing moves no number.
 */
#include "pairs.h"

#include <stdbool.h>
#include <stdlib.h>

static size_t home(const struct lb_pairs *pairs, uint64_t pair) {
  uint64_t h = pair * UINT64_C(0x9e3779b97f4a7c15); /* the high bits depend on all of the pair */
  return (size_t)(h >> 32) & (pairs->slot_count - 1);
}

static uint32_t *find_slot(const struct lb_pairs *pairs, uint64_t pair) {
  size_t i = home(pairs, pair);
  while (pairs->slots[i] && pairs->pair[pairs->slots[i] - 1] != pair) i = (i + 1) & (pairs->slot_count - 1);
  return &pairs->slots[i];
}

/* False = no memory; then everything is as it was. */
static bool grow(struct lb_pairs *pairs) {
  size_t slot_count = pairs->slot_count ? pairs->slot_count * 2 : 64;
  uint32_t *slots = calloc(slot_count, sizeof *slots);
  uint64_t *pair = realloc(pairs->pair, slot_count / 2 * sizeof *pair);
  if (pair) pairs->pair = pair;
  if (!slots || !pair) {
    free(slots);
    return false;
  }
  free(pairs->slots);
  pairs->slots = slots;
  pairs->slot_count = slot_count;
  for (uint32_t i = 0; i < pairs->count; i++) *find_slot(pairs, pairs->pair[i]) = i + 1;
  return true;
}

uint32_t lb_pairs_number(struct lb_pairs *pairs, uint32_t client, uint32_t key) {
  uint64_t pair = (uint64_t)client << 32 | key;
  if (pairs->count >= pairs->slot_count / 2 && !grow(pairs)) return UINT32_MAX;
  uint32_t *slot = find_slot(pairs, pair);
  if (*slot == 0) {
    pairs->pair[pairs->count++] = pair;
    *slot = pairs->count;
  }
  return *slot - 1;
}

void lb_pairs_clear(struct lb_pairs *pairs) {
  free(pairs->pair);
  free(pairs->slots);
  *pairs = (struct lb_pairs){0};
}
