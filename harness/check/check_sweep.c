/* SPDX-License-Identifier: MIT
 *
 * What the sweep remembers of clients and keys.
 */
#include "check_sweep.h"

#include <stdlib.h>

void *lb_check_grown(void *array, size_t count, size_t *capacity, size_t item) {
  if (count < *capacity) return array;
  size_t wanted = *capacity ? *capacity * 2 : 8;
  void *more = realloc(array, wanted * item);
  if (more) *capacity = wanted;
  return more;
}

struct pair *lb_check_pair(struct sweep *s, uint32_t client, uint32_t key) {
  uint32_t before = s->numbers.count, number = lb_pairs_number(&s->numbers, client, key);
  if (number == UINT32_MAX) return NULL;
  if (s->numbers.count > before) {
    struct pair *more = lb_check_grown(s->pairs, number, &s->pair_capacity, sizeof *more);
    if (!more) return NULL;
    s->pairs = more;
    s->pairs[number] =
        (struct pair){.client = client, .key = key, .end_t = NEVER, .shared_end_t = NEVER, .episode = NO_EPISODE};
  }
  return &s->pairs[number];
}
